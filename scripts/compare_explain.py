#!/usr/bin/env python3
"""compare_explain.py PROGRAM ORACLE CASE... - explain and thp on recorded cases against an oracle; prints TAP.

ORACLE is stepstats_oracle.py. What perf script prints of the recording of CASE is turned into states,
waits and system calls of the thread by the oracle's functions alone (sched_states, decompose, steal);
steps come from the profiler's JSON. Held against it, to the nanosecond: every interval of the thread's
states, who had the CPU in each step, the means of the parts by state and system call, and what the
thread compacted and reclaimed itself. The oracle's thp judges the same steps, with lock waits counted
from the samples that perf names; the verdict must be the same and the share near.
"""
import collections
import gzip
import importlib.util
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

STATES = {'RUN': 'running', 'RQ': 'runnable', 'S': 'sleeping', 'D': 'uninterruptible'}
DAEMONS = ('khugepaged', 'kcompactd', 'kswapd')
HEADER = '/usr/include/x86_64-linux-gnu/asm/unistd_64.h'
LOCK = re.compile(r'\b(rwsem_spin_on_owner|osq_lock|rwsem_optimistic_spin|rwsem_down_\w+)\b')
MMAP = re.compile(r'\b(mmap_read_lock\w*|mmap_write_lock\w*|lock_mm_and_find_vma|__vm_munmap|vm_mmap_pgoff|do_madvise|'
                  r'do_user_addr_fault|ksys_mmap_pgoff|__x64_sys_munmap)\b')
HUGE_ORDER = 9
SHARE_TOLERANCE = 0.12
MAX_DOUBT = 0.1


def load_oracle(path):
    spec = importlib.util.spec_from_file_location('oracle', path)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


def verdict(name, trouble):
    for line in trouble[:8]:
        print(f'| {line}')
    print(f'{"not ok" if trouble else "ok"} - {name}')


def ns(text):
    seconds, fraction = text.split('.')
    return int(seconds) * 1000000000 + int(fraction)


def call_names():
    with open(HEADER, encoding='ascii') as file:
        return {int(number): name for name, number in re.findall(r'#define __NR_(\w+) (\d+)', file.read())}


def perf_script(recording, *options):
    return subprocess.run(['perf', 'script', '-i', recording, '--ns', *options], capture_output=True, text=True,
                          errors='replace', check=True).stdout


EVENT = re.compile(r'\s*(-?\d+)/(-?\d+)\s+\[(\d+)\]\s+(\d+\.\d+):\s+(\S+):\s?(.*)')


def covered(intervals, a, b):
    return sum(max(0, min(b, q) - max(a, p)) for p, q in intervals)


class Recording:
    """What perf script tells, of the thread `tid` of the process `pid`."""

    def __init__(self, recording, pid, tid):
        self.switches, self.calls, self.work, self.daemons = [], [], [], []
        self.runs, self.unclear = collections.defaultdict(list), collections.defaultdict(list)  # by CPU
        self.first_switch = None
        self.pid, self.tid = pid, tid
        self.process_of, self.on, self.name_of = {}, {}, {}
        self.entered = self.begun = None
        self.order = None
        self.state, self.changed, self.doubtful = None, None, []
        for line in perf_script(recording, '-F', 'pid,tid,cpu,time,event,trace').splitlines():
            found = EVENT.match(line)
            if found:
                process, thread, cpu, time, event, rest = found.groups()
                self.process_of[int(thread)] = int(process)
                self.add(event, int(thread), int(cpu), ns(time), rest)

    def see(self, thread, cpu, ts):
        """Who has an event runs, also where a virtual machine's kernel did not record the switch to it."""
        if self.on.get(cpu, (None, 0))[0] != thread:
            self.lose(cpu, ts)
            self.on[cpu] = (thread, ts)
        if thread == self.tid and (self.state != 'in' or self.cpu != cpu):
            self.become('in', ts, cpu, True)

    def lose(self, cpu, ts):
        """Whoever was thought to run there, for how long is not known."""
        if cpu in self.on:
            self.unclear[cpu].append((self.on[cpu][1], ts))

    def become(self, what, ts, value, is_doubtful):
        """A change of the thread's state; doubtful where another must have come before it."""
        if is_doubtful and self.changed:
            self.doubtful.append((self.changed, ts))
        self.state, self.changed = what, ts
        self.cpu = value if what == 'in' else None
        self.switches.append((ts, what, value))

    def doubt(self, a, b):
        return covered(self.doubtful, a, b)

    def doubt_of_cpu(self, intervals, a, b):
        """Of the waits for a CPU between a and b, the time when it is not clear who had it."""
        return sum(covered(self.unclear[cpu], max(a, p), min(b, q)) for p, q, label, cpu in intervals
                   if label == 'RQ' and p < b and q > a)

    def add(self, event, thread, cpu, ts, rest):
        self.last = ts
        if thread >= 0:
            self.see(thread, cpu, ts)
        if event.endswith('sched_switch'):
            self.switch(cpu, ts, rest)
        elif event.endswith(('sched_waking', 'sched_wakeup')):
            woken = re.search(r'\bpid=(\d+) .*target_cpu=(\d+)', rest)
            for other, (who, _) in self.on.items():
                if who == int(woken[1]) and event.endswith('sched_waking'):  # it slept unseen
                    self.lose(other, ts)
                    self.on[other] = (None, ts)
            if int(woken[1]) == self.tid and self.state != 'in':
                self.become('wake', ts, int(woken[2]), self.state == 'wake')
        elif thread != self.tid:
            pass
        elif event.endswith('sys_enter'):
            self.entered = (ts, int(re.match(r'NR (-?\d+)', rest)[1]))
        elif event.endswith('sys_exit'):
            number = int(re.match(r'NR (-?\d+)', rest)[1])
            if self.entered and self.entered[1] == number:
                self.calls.append((self.entered[0], ts, number))
            self.entered = None
        elif event.endswith('mm_compaction_try_to_compact_pages'):
            self.order = int(re.search(r'order=(\d+)', rest)[1])
        elif event.endswith('mm_compaction_begin'):
            self.begun = ('compaction', ts)
        elif event.endswith('mm_vmscan_direct_reclaim_begin'):
            self.begun = ('direct_reclaim', ts)
            self.order = int(re.search(r'order=(\d+)', rest)[1])
        elif event.endswith(('mm_compaction_end', 'mm_vmscan_direct_reclaim_end')):
            if self.begun:
                self.work.append((self.begun[1], ts, (self.begun[0], self.order)))
            self.begun = None

    def switch(self, cpu, ts, rest):
        found = re.match(r'prev_comm=(.*) prev_pid=(\d+) prev_prio=-?\d+ prev_state=(\S+) ==> next_comm=(.*) '
                         r'next_pid=(\d+) next_prio', rest)
        previous, state, following = int(found[2]), found[3], int(found[5])
        self.first_switch = self.first_switch or ts
        if previous == self.tid:
            self.become('out', ts, state[0], self.state != 'in')
        if following == self.tid:
            self.become('in', ts, cpu, self.state == 'in')
        if cpu in self.on and self.on[cpu][0] == previous:
            begin = self.on[cpu][1]
            self.runs[cpu].append((begin, ts, previous))
            if found[1].startswith(DAEMONS):
                self.daemons.append((begin, ts))
        elif cpu in self.on:
            self.lose(cpu, ts)
        self.name_of[previous] = found[1]
        self.on[cpu] = (following, ts)

    def whose(self, thread):
        """The group of explain's causes that a thread belongs to."""
        name = self.name_of.get(thread, '')
        for daemon in DAEMONS:
            if name.startswith(daemon):
                return 'cpu_' + daemon
        if thread == 0 or thread == self.tid:
            return 'cpu_unseen'
        return 'cpu_own' if self.process_of.get(thread) == self.pid else 'cpu_others'


def grouped(cause):
    return 'cpu_others' if cause in ('cpu_family', 'cpu_kernel', 'cpu_other') else cause


def table(document, name):
    rows = document.get(name) or []
    return [rows] if isinstance(rows, dict) else rows


def ask(program, command, case):
    done = subprocess.run([program, command, '--json', *(['--spikes'] if command == 'explain' else []), case],
                          capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def compare_states(db, thread, r, ours):
    """Every interval of the thread that ended, as the oracle has it; but where a switch is missing."""
    wanted = [(a + r.offset, b + r.offset, STATES.get(label, 'other')) for a, b, label, _ in ours
              if not r.doubt(a, b)]
    told = [(ts, ts + dur, state if state in STATES.values() else 'other') for ts, dur, state in db.execute(
        'SELECT ts, dur, state FROM thread_state WHERE thread_id = ? AND dur > 0 ORDER BY ts', (thread,))
            if not r.doubt(ts - r.offset, ts - r.offset + dur)]
    trouble = [f'not told: {x}' for x in wanted if x not in set(told)]
    trouble += [f'told: {x}' for x in told if x not in set(wanted)]
    return trouble if len(wanted) > 0.9 * len(ours) else ['most states are in doubt']


def expected_parts(oracle, r, intervals, a, b, names):
    """Sums of a step: by state and call, by the thread's own work, by who had the CPU."""
    sums = collections.Counter()
    for begin, end, label, cpu in intervals:
        p, q = max(a, begin), min(b, end)
        if q <= p:
            continue
        state = STATES.get(label, 'other')
        if label == 'RUN':
            for what, length in oracle.decompose(p, q, [r.work_layer, r.call_layer]).items():
                sums[state, what if isinstance(what, tuple) else names.get(what, what)] += length
        elif label == 'RQ':
            had = oracle.steal([(p, q, cpu)], r.run_layer)
            for who, length in had.items():
                sums[state, who] += length
            sums[state, 'cpu_unseen'] += q - p - sum(had.values())
        else:
            for what, length in oracle.decompose(p, q, [r.call_layer]).items():
                sums[state, names.get(what, what)] += length
    return sums


def told_parts(document, which):
    """The same of explain's parts: running time in no recorded call has many names."""
    sums = collections.Counter()
    for row in table(document, 'parts'):
        state, name, value = row['state'], row['name'], row[which]
        if state == 'running':
            is_work = name and name.startswith('order ')
            sums[state, (row['cause'], int(name[6:])) if is_work else 'all'] += value
        elif state == 'runnable':
            sums[state, grouped(row['cause'])] += value
        elif state:
            sums[state, name or 'gap'] += value
        else:
            sums['rest', ''] += value
    return sums


def compare_parts(document, r, intervals, expected, steps):
    """Means over good and slow steps, within the rounding of a mean and what is in doubt."""
    trouble = []
    classes = {row['begin_ns']: row['class'] for row in table(document, 'steps')}
    if any(row['cause'] == 'other' for row in table(document, 'parts')):
        return ['there are more parts than are told one by one']
    for which in ('good', 'slow'):
        chosen = [expected[step] for step in steps if classes[step] == which]
        windows = [(step - r.offset, steps[step] - r.offset) for step in steps if classes[step] == which]
        doubt = sum(r.doubt(a, b) for a, b in windows) / len(chosen)
        of_cpu = sum(r.doubt_of_cpu(intervals, a, b) for a, b in windows) / len(chosen)
        if doubt > MAX_DOUBT * sum(b - a for a, b in windows) / len(chosen):
            trouble.append(f'{which} steps: {doubt:.0f} ns a step are in doubt')
        mean = collections.Counter()
        for sums in chosen:
            for (state, what), length in sums.items():
                if state == 'running' and not isinstance(what, tuple):
                    what = 'all'
                mean[state, what] += length
        told = told_parts(document, which + '_ns')
        rows = len(table(document, 'parts'))
        for key in set(mean) | set(told):
            wanted = mean[key] / len(chosen)
            if abs(told[key] - wanted) > rows + doubt + (of_cpu if key[0] == 'runnable' else 0):  # each is rounded to a nanosecond
                trouble.append(f'{which} steps, {key}: {told[key]} ns a step, expected {wanted:.0f}')
    return trouble


def compare_steps(document, r, intervals, expected, steps):
    """Who had the CPU in each step, to the nanosecond but for what is in doubt; and that it adds up."""
    told = collections.defaultdict(collections.Counter)
    length = {}
    for row in table(document, 'steps'):
        told[row['begin_ns']][grouped(row['cause'])] += row['part_ns']
        length[row['begin_ns']] = row['duration_ns']
    trouble = []
    for step, sums in expected.items():
        if sum(told[step].values()) != length[step]:
            trouble.append(f'{step}: the parts do not add up')
        a, b = step - r.offset, steps[step] - r.offset
        doubt = r.doubt(a, b) + r.doubt_of_cpu(intervals, a, b)
        causes = {what for state, what in sums if state == 'runnable'} | \
            {what for what in told[step] if what.startswith('cpu_')}
        trouble += [f'{step}: {what} {told[step][what]} ns, expected {sums["runnable", what]}, {doubt} in doubt'
                    for what in causes if abs(told[step][what] - sums['runnable', what]) > doubt]
    return trouble


def lock_times(recording, cache, r, intervals, steps):
    """Nanoseconds of each step in waits for mmap_lock, asleep and on the CPU, as perf names the stacks."""
    times = dict.fromkeys(steps, 0)
    asleep = {a: (a, b) for a, b, label, _ in intervals if label in ('S', 'D')}
    text = subprocess.run(['perf', '--buildid-dir', cache, 'script', '-i', recording, '--ns', '-F',
                           'tid,time,period,event,ip,sym'], capture_output=True, text=True, errors='replace',
                          check=True).stdout
    for sample in text.split('\n\n'):
        head, _, stack = sample.partition('\n')
        found = re.match(r'\s*(\d+)\s+(\d+\.\d+):\s+(\d+)\s+(\S+):', head)
        if not found or int(found[1]) != r.tid or not LOCK.search(stack) or not MMAP.search(stack):
            continue
        ts = ns(found[2])
        begin, end = asleep.get(ts, (ts, ts)) if 'sched_switch' in found[4] else (ts, ts + int(found[3]))
        if 'clock' in found[4] or 'sched_switch' in found[4]:
            for step, stop in steps.items():
                times[step] += max(0, min(stop, end + r.offset) - max(step, begin + r.offset))
    return times


NO_SLOW_STEPS = 'no slow steps to explain'  # as the oracle says it; thp calls it not supported, for that reason


def compare_thp(oracle, document, r, expected, steps, apart, lock):
    """Verdicts are one, shares are near: whether a lock wait met a collapse is not asked here."""
    order = sorted(steps)
    durations = [steps[step] - step for step in order]
    direct = [sum(v for (state, what), v in expected[step].items() if isinstance(what, tuple) and
                  what[1] == HUGE_ORDER) for step in order]
    stolen = [sum(expected[step]['runnable', 'cpu_' + daemon] for daemon in ('khugepaged', 'kcompactd'))
              for step in order]
    activity = [sum(max(0, min(steps[step], b + r.offset) - max(step, a + r.offset)) for a, b in r.daemons)
                for step in order]
    spun = [lock[step] for step in order]
    wanted = oracle.thp(durations, activity, direct, stolen, spun, [int(step in apart) for step in order])
    name = wanted['verdict'].split(':')[0]
    if not document:
        return [] if name == NO_SLOW_STEPS else [f'no slow steps, expected {name}: {wanted}']
    told = document['verdict']
    if name == NO_SLOW_STEPS:
        return [] if NO_SLOW_STEPS in told['reason'] else [f"{told['verdict']}, expected {name}: {wanted}"]
    trouble = []
    if name != told['verdict']:
        trouble.append(f"the verdict is {told['verdict']}, expected {name}: {wanted}")
    if 'share' in wanted and abs(wanted['share'] - (told['share_ratio'] or 0)) > SHARE_TOLERANCE:
        trouble.append(f"the share is {told['share_ratio']}, expected {wanted['share']:.3f}")
    for key, count in (('slow_count', wanted['slow']), ('good_count', wanted['base'])):
        if told[key] != count:
            trouble.append(f'{key} is {told[key]}, expected {count}')
    return trouble


def read_steps(path):
    """ProfilerSteps of the JSON: number to begin and duration, in ns of its clock."""
    with (gzip.open if path.endswith('.gz') else open)(path, 'rt') as file:
        document = json.load(file, parse_float=str, parse_int=str)
    base = int(document.get('baseTimeNanoseconds', 0))

    def exact(text):
        whole, _, fraction = text.partition('.')
        return int(whole) * 1000 + int((fraction + '000')[:3])

    return {int(e['name'].split('#')[1]): (base + exact(e['ts']), exact(e['dur']))
            for e in document['traceEvents'] if str(e.get('name')).startswith('ProfilerStep#') and e.get('ph') == 'X'}


def compare(program, oracle, folder, scratch, names):
    name = os.path.basename(folder)
    inside = os.path.join(folder, 'case') if os.path.isdir(os.path.join(folder, 'case')) else folder
    cache = os.path.join(os.path.dirname(folder),
                         'buildid' if inside != folder else 'buildid-cache')
    recording, case = os.path.join(scratch, 'perf.data'), os.path.join(scratch, 'case.db')
    packed = os.path.join(inside, 'perf.data.gz')
    if os.path.exists(packed):
        with gzip.open(packed) as source, open(recording, 'wb') as target:
            shutil.copyfileobj(source, target)
    else:
        shutil.copy(os.path.join(inside, 'perf.data'), recording)
    if os.path.exists(case):
        os.remove(case)
    imported = [inside] if inside != folder else [os.path.join(inside, file) for file in
                                                  ('perf.data', 'rank0.pt.trace.json.gz')]
    subprocess.run([program, 'import', '-q', '--buildid-dir', cache, '-o', case, *imported], check=True,
                   stderr=subprocess.DEVNULL)
    db = sqlite3.connect(case)
    thp = ask(program, 'thp', case)
    thread, pid, tid = db.execute('SELECT thread_id, pid, tid FROM step JOIN thread USING (thread_id) '
                                  'JOIN process USING (process_id) ORDER BY step.ts LIMIT 1').fetchone()
    if thp:
        pid, tid = thp['verdict']['pid'], thp['verdict']['tid']
        thread, = db.execute('SELECT thread_id FROM thread JOIN process USING (process_id) WHERE tid = ? AND pid = ?',
                             (tid, pid)).fetchone()
    r = Recording(recording, pid, tid)
    r.offset = db.execute('SELECT min(ts) FROM sched_switch').fetchone()[0] - r.first_switch
    intervals = [x for x in oracle.sched_states(r.switches, 0, r.last + 1) if x[1] <= r.last]
    verdict(f'{name}: {len(intervals)} states of the thread', compare_states(db, thread, r, intervals))
    trace = read_steps(os.path.join(inside, 'rank0.pt.trace.json.gz'))
    stored = {number: (ts, dur, class_) for number, ts, dur, class_ in db.execute(
        'SELECT number, ts, dur, class FROM step WHERE thread_id = ? ORDER BY ts', (thread,))}
    shift = {ts - trace[number][0] for number, (ts, _, _) in stored.items()}
    verdict(f'{name}: {len(stored)} steps as long as in the trace, moved alike', [
        f'step {number}: {dur} ns' for number, (_, dur, _) in stored.items() if dur != trace[number][1]] +
        ([] if max(shift) - min(shift) <= 1 and len(stored) == len(trace) else
         [f'{len(trace)} steps in the trace, moved by {sorted(shift)[:3]}']))
    steps = {ts: ts + dur for ts, dur, _ in stored.values()}
    r.work_layer = r.work
    r.call_layer = [(a, b, number) for a, b, number in r.calls]
    r.run_layer = {cpu: [(a, b, r.whose(who)) for a, b, who in runs] for cpu, runs in r.runs.items()}
    expected = {step: expected_parts(oracle, r, intervals, step - r.offset, stop - r.offset, names)
                for step, stop in steps.items()}
    explain = ask(program, 'explain', case)
    if explain:
        verdict(f'{name}: who had the CPU in each of {len(steps)} steps', compare_steps(explain, r, intervals, expected, steps))
        verdict(f'{name}: parts by state and system call', compare_parts(explain, r, intervals, expected, steps))
    lock = lock_times(recording, cache, r, intervals, steps)
    apart = {ts for ts, _, class_ in stored.values() if class_ in ('apart', 'spike')}
    told = thp['verdict']['verdict'] if thp else NO_SLOW_STEPS
    verdict(f'{name}: huge pages are {told}, as the oracle says',
            compare_thp(oracle, thp, r, expected, steps, apart, lock))
    return bool(explain)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    missing = [what for what in (sys.argv[2], HEADER) if not os.path.exists(what)] + \
        ([] if shutil.which('perf') else ['perf'])
    if missing:
        print(f'ok - recorded cases against the oracle # SKIP no {missing[0]}')
        return
    oracle, explained = load_oracle(sys.argv[2]), 0
    with tempfile.TemporaryDirectory() as scratch:
        for folder in map(os.path.realpath, sys.argv[3:]):
            explained += compare(os.path.realpath(sys.argv[1]), oracle, folder, scratch, call_names())
    verdict(f'{explained} of {len(sys.argv) - 3} recorded cases are explained', [] if explained else ['none'])


if __name__ == '__main__':
    main()
