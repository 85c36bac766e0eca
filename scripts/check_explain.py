#!/usr/bin/env python3
"""check_explain.py PROGRAM - the parts of every step of every case add up to it; prints TAP.

Every recording of testdata that holds samples or switches, and of the shared folder's cases
(TRACELOOM_SHARED, else ../shared), is imported. Where it has no steps of its own, its time is divided
into some for its busiest thread. Of what explain tells of each step, the parts must add up to its
duration to the nanosecond, and waits for a CPU to what the thread's states say. How long threads ran is
held against `perf sched timehist`, where perf is there. Answers of the cases with a known cause are
checked as their README tells them.
"""
import glob
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
CASES = os.path.join(os.environ.get('TRACELOOM_SHARED', os.path.join(TOP, '../shared')), 'cases')
NOTHING = 3
STEPS = 12
TOLERANCE = 0.005


def verdict(name, trouble=None, skip=None):
    if skip:
        print(f'ok - {name} # SKIP {skip}')
        return
    for line in trouble or []:
        print(f'| {line}')
    print(f'{"not ok" if trouble else "ok"} - {name}')


def load(program, case, files):
    if os.path.exists(case):
        os.remove(case)
    subprocess.run([program, 'import', '-q', '--no-symbols', '-o', case, *files], stderr=subprocess.DEVNULL,
                   check=False)


def ask(program, case, *options):
    """Status, and the document where there is one."""
    done = subprocess.run([program, 'explain', '--json', '--spikes', *options, case], capture_output=True,
                          text=True, check=False)
    return done.returncode, json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()


def divide(case):
    """Steps where there are none: equal ones, but that every fourth is twice as long. The thread's tid."""
    db = sqlite3.connect(case)
    if not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'step'").fetchone():
        return None
    row = db.execute('SELECT t.thread_id, t.tid, s.source_id, s.first_ts, s.last_ts FROM thread t '
                     'JOIN stack_sum z USING (thread_id) JOIN event e USING (event_id) JOIN source s USING (source_id) '
                     'WHERE t.tid > 0 AND s.first_ts IS NOT NULL GROUP BY t.thread_id, s.source_id '
                     'ORDER BY sum(z.sample_count) DESC, t.thread_id LIMIT 1').fetchone()
    if not row or db.execute('SELECT 1 FROM step WHERE ts IS NOT NULL').fetchone():
        return row and row[1]
    _, tid, source, first, last = row
    unit = (last - first + 1) // (STEPS + STEPS // 4)
    if unit < 1:
        return None
    begin = first
    for i in range(STEPS):
        slow = i % 4 == 3
        db.execute('INSERT INTO step(series, source_id, position, number, ts, dur, class) VALUES(99, ?, ?, ?, ?, ?, ?)',
                   (source, i, i, begin, unit * (1 + slow), 'slow' if slow else 'good'))
        begin += unit * (1 + slow)
    db.commit()
    return tid


def thread_of(db, document):
    about = document['explain']
    return db.execute('SELECT thread_id FROM thread t JOIN process p USING (process_id) WHERE t.tid = ? AND p.pid IS ?',
                      (about['tid'], about['pid'])).fetchone()[0]


def wrong_sums(case, document):
    steps = {}
    for row in document['steps']:
        step = steps.setdefault(row['begin_ns'], {'number': row['number'], 'duration': row['duration_ns'], 'parts': {}})
        step['parts'][row['cause']] = row['part_ns']
    trouble = []
    db = sqlite3.connect(case)
    thread = thread_of(db, document)
    # what a thread was last seen in lasted until the recording ended
    waits = db.execute("SELECT z.ts, coalesce(z.ts + z.dur, s.last_ts) FROM thread_state z JOIN source s USING "
                       "(source_id) WHERE z.thread_id = ?1 AND z.state = 'runnable' AND (z.dur > 0 OR z.dur IS NULL "
                       'AND z.ts = (SELECT max(ts) FROM thread_state WHERE thread_id = ?1))', (thread,)).fetchall()
    for begin, step in steps.items():
        end = begin + step['duration']
        total = sum(step['parts'].values())
        if total != step['duration'] or min(step['parts'].values()) < 0:
            trouble.append(f"step {step['number']}: {step['duration']} ns, parts of {total} ns")
        waited = sum(max(0, min(end, b) - max(begin, a)) for a, b in waits)
        told = sum(ns for cause, ns in step['parts'].items() if cause.startswith('cpu_'))
        if waited != told:
            trouble.append(f"step {step['number']}: waits of {waited} ns for a CPU, told are {told} ns")
    if not steps:
        trouble.append('no step is told of')
    return trouble


def check_sums(program, name, files, scratch):
    """Whether there was an answer."""
    case = os.path.join(scratch, 'case.db')
    load(program, case, files)
    if not os.path.exists(case):
        return False
    tid = divide(case)
    status, document = ask(program, case, *(['--thread', str(tid)] if tid else []))
    if status == 0:
        verdict(f'{name}: the parts of every step add up to it', wrong_sums(case, document))
    elif status != NOTHING or not document:
        verdict(f'{name}: an answer, or why not', [f'status {status}: {document}'])
    return status == 0


def timehist(recording):
    """Milliseconds that each thread ran, as perf counts them."""
    done = subprocess.run(['perf', 'sched', 'timehist', '-s', '-i', recording], capture_output=True, text=True,
                          check=False)
    return {int(m[1]): float(m[2]) for m in
            re.finditer(r'\[(\d+)(?:/\d+)?\]\s+-?\d+\s+\d+\s+([\d.]+)', done.stdout)}


def check_running(program, name, recording, scratch, tids=None):
    """Threads that ran for a millisecond; those of `tids` only where perf guesses for the others. Of some
    that exit perf does not count what they ran last.
    """
    case = os.path.join(scratch, 'case.db')
    load(program, case, [recording])
    db = sqlite3.connect(case)
    trouble = []
    expected = {tid: ms for tid, ms in timehist(recording).items() if ms >= 1 and (not tids or tid in tids)}
    for tid, ms in expected.items():
        runs = [dur / 1e6 for dur, in db.execute(
            "SELECT z.dur FROM thread_state z JOIN thread t USING (thread_id) WHERE t.tid = ? AND z.state = 'running' "
            'AND z.dur IS NOT NULL ORDER BY z.ts', (tid,))]
        told = sum(runs)
        if abs(told - ms) > TOLERANCE * ms and abs(told - runs[-1] - ms) > TOLERANCE * ms:
            trouble.append(f'thread {tid} ran for {ms} ms, told are {told:.3f} ms')
    verdict(f'{name}: running time of {len(expected)} threads as perf sched timehist has it',
            trouble if expected else ['perf sched timehist tells of no thread'])


def check_known(program):
    """The pair with a known cause, as its README tells it."""
    slow, control, cache = (os.path.join(CASES, part) for part in
                            ('khugepaged-slow', 'khugepaged-control', 'buildid-cache'))
    files = ['perf.data', 'rank0.pt.trace.json.gz', 'train.log']

    def explain(folder, command='explain'):
        return subprocess.run([program, command, '-q', '--json', '--buildid-dir', cache,
                               *(os.path.join(folder, file) for file in files)], capture_output=True, text=True,
                              check=False)

    done = explain(slow)
    trouble = [f'status {done.returncode}: {done.stderr}'] if done.returncode else []
    if not trouble:
        first = json.loads(done.stdout)['causes'][0]
        if first['cause'] != 'mmap_lock' or not 0.6 < first['share_ratio'] < 0.85:
            trouble = [f'first is {first}']
    verdict('khugepaged-slow: waiting for mmap_lock is about three quarters', trouble)
    done = explain(control)
    verdict('khugepaged-control: nothing to explain',
            [f'status {done.returncode}: {done.stdout}'] if done.returncode != NOTHING else [])
    for folder, expected in ((slow, 'confirmed'), (control, 'not supported')):
        done = explain(folder, 'thp')
        told = json.loads(done.stdout)['verdict']['verdict'] if done.returncode == 0 else f'status {done.returncode}'
        verdict(f'{os.path.basename(folder)}: thp says {expected}', [f'told is {told}'] if told != expected else [])


def main():
    program = os.path.realpath(sys.argv[1])
    answered = 0
    with tempfile.TemporaryDirectory() as scratch:
        for kind in ('perf', 'trace', 'strace', 'perf_script', 'csv', 'training_log', 'capture'):
            for folder in sorted(glob.glob(os.path.join(TOP, 'testdata', kind, '*', ''))):
                files = [f for f in glob.glob(os.path.join(folder, '*')) if os.path.basename(f).startswith(
                    ('input', 'perf.data'))] or ([folder] if kind == 'capture' else [])
                name = os.path.relpath(folder, os.path.join(TOP, 'testdata'))
                answered += bool(files) and check_sums(program, name, files, scratch)
        verdict(f'{answered} recordings of testdata are explained', [] if answered >= 20 else ['these are too few'])
        if not os.path.isdir(CASES):
            verdict('the shared cases', skip=f'there is no {CASES}')
            return
        for folder in sorted(glob.glob(os.path.join(CASES, 'khugepaged-*'))):
            for which in ('perf.data rank0.pt.trace.json.gz train.log', 'strace.log strace.pt.trace.json.gz',
                          'strace.log strace.pt.trace.json.gz perf.data'):
                name = f'{os.path.basename(folder)}, {which}'
                check_sums(program, name, [os.path.join(folder, file) for file in which.split()], scratch)
        check_known(program)
        if not shutil.which('perf'):
            verdict('running time', skip='no perf')
            return
        check_running(program, 'offcpu', os.path.join(TOP, 'testdata/perf/offcpu/perf.data'), scratch)
        # perf counts the idle time before threads whose coming was not recorded: of the job it was
        for folder, tid in (('khugepaged-slow', 31435), ('khugepaged-control', 31515)):
            check_running(program, folder, os.path.join(CASES, folder, 'perf.data'), scratch, {tid})


if __name__ == '__main__':
    main()
