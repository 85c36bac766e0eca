#!/usr/bin/env python3
"""check_order.py PROGRAM - a case does not depend on the order in which it was made. TAP.

The same recordings are imported in many orders, at once and one by one; what the case then says, with
ids joined to what they stand for, must be the same.
"""
import itertools
import os
import random
import sqlite3
import subprocess
import sys
import tempfile

program = os.path.realpath(sys.argv[1])
root = os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'testdata')

THREAD = """(SELECT coalesce(h.name, '?') || ' ' || coalesce(p.pid, '?') || '/' || t.tid || ' ' || coalesce(n.text, '?') || ' '
    || coalesce(t.start_ts, '?') || ' ' || coalesce(t.end_ts, '?') FROM thread t JOIN process p USING (process_id)
    JOIN host h USING (host_id) LEFT JOIN string n ON n.string_id = t.name_id WHERE t.thread_id = {})"""
SOURCE = '(SELECT path FROM source s WHERE s.source_id = {})'
TEXT = '(SELECT text FROM string n WHERE n.string_id = {})'


def thread(column):
    return THREAD.format(column)


def source(column):
    return SOURCE.format(column)


def text(column):
    return TEXT.format(column)


QUERIES = {
    'hosts': 'SELECT name, boot_id, os_release, arch, cpu_description, cpu_count, memory_bytes FROM host',
    'sources': f'''SELECT path, h.name, first_ts, last_ts, sample_count, clock_name, clock_method,
        clock_offset_ns, clock_slope, clock_residual_ns, {source("x.clock_reference_id")}, clock_match_count,
        clock_rival_ratio, clock_why, clock_trouble FROM source x JOIN host h USING (host_id)''',
    'claims': f'''SELECT {source("x.source_id")}, method, is_set, offset_ns, slope, residual_ns,
        {source("x.reference_id")}, match_count, why FROM clock_claim x''',
    'processes': '''SELECT h.name, p.pid, p.inner_pid, q.pid, p.start_ts, p.end_ts FROM process p
        JOIN host h USING (host_id) LEFT JOIN process q ON q.process_id = p.parent_process_id''',
    'threads': f'SELECT {thread("x.thread_id")} FROM thread x',
    'names': f'SELECT {source("x.source_id")}, {thread("x.thread_id")}, ts, {text("x.name_id")}, is_exec FROM thread_name x',
    'lives': f'''SELECT {source("x.source_id")}, {thread("x.thread_id")}, start_ts, end_ts, process_start_ts,
        next_thread_id FROM thread_life x''',
    'samples': f'''SELECT {source("e.source_id")}, a.ts, e.name, {thread("a.thread_id")}, {text("a.name_id")},
        a.cpu, a.period, y.fields FROM sample a JOIN event e USING (event_id)
        LEFT JOIN payload y USING (payload_id)''',
    'sums': f'''SELECT e.name, {source("e.source_id")}, {thread("z.thread_id")}, {text("z.name_id")},
        z.sample_count, z.period_sum FROM stack_sum z JOIN event e USING (event_id)''',
    'calls': f'''SELECT {source("x.source_id")}, {thread("x.thread_id")}, ts, dur, {text("x.name_id")}, outcome, result,
        {text("x.error_id")}, {text("x.operation_id")}, line, args FROM syscall x''',
    'blocks': f'''SELECT {source("x.source_id")}, {thread("x.thread_id")}, {text("x.name_id")},
        {text("x.operation_id")}, call_count, dur_sum, base_ts, first_ts, last_ts, hex(calls) FROM call_block x''',
    'switches': f'''SELECT {source("x.source_id")}, ts, cpu, {thread("x.prev_thread_id")}, prev_state,
        {thread("x.next_thread_id")}, {text("x.prev_name_id")} FROM sched_switch x''',
    'wakeups': f'''SELECT {source("x.source_id")}, ts, cpu, {thread("x.waker_thread_id")},
        {thread("x.wakee_thread_id")} FROM sched_wakeup x''',
    'states': f'''SELECT {source("x.source_id")}, {thread("x.thread_id")}, ts, dur, state, cpu,
        {thread("x.waker_thread_id")} FROM thread_state x''',
    'tracks': f'SELECT {source("x.source_id")}, kind, {thread("x.thread_id")}, name, process FROM track x',
    'slices': f'''SELECT {source("k.source_id")}, k.name, a.ts, a.dur, {text("a.name_id")}, a.step
        FROM slice a JOIN track k USING (track_id)''',
    'steps': f'SELECT {source("x.source_id")}, rank, {thread("x.thread_id")}, position, number, ts, dur, class FROM step x',
    'marks': f'SELECT {source("x.source_id")}, number, rank, ts, dur FROM step_mark x',
    'losses': f'SELECT {source("x.source_id")}, kind, what, count, message FROM lost x',
}


def dump(case):
    db = sqlite3.connect(case)
    try:
        return {what: sorted(map(repr, db.execute(query))) for what, query in QUERIES.items()}
    finally:
        db.close()


def make(folder, files, at_once):
    case = os.path.join(folder, 'case.db')
    if os.path.exists(case):
        os.unlink(case)
    for part in [files] if at_once else [[f] for f in files]:
        subprocess.run([program, 'import', '-q', '--no-symbols', '-o', case] + part, check=True, cwd=root)
    return dump(case)


def differences(a, b):
    for what in QUERIES:
        if a[what] != b[what]:
            extra = sorted(set(b[what]) - set(a[what]))[:2]
            missing = sorted(set(a[what]) - set(b[what]))[:2]
            yield f'{what}: {len(a[what])} and {len(b[what])} rows; missing {missing}; more {extra}'


def check(name, files, folder, rng):
    orders = list(itertools.permutations(files))
    if len(orders) > 8:
        orders = [orders[0]] + rng.sample(orders[1:], 7)
    first = make(folder, list(orders[0]), True)
    trouble = [f'{what} is empty' for what in ('threads', 'sources') if not first[what]]
    for i, order in enumerate(orders):
        for at_once in (True, False) if i < 2 else (i % 2 == 0,):
            found = list(differences(first, make(folder, list(order), at_once)))
            if found:
                trouble += [f'{", ".join(order)} {"at once" if at_once else "one by one"}:'] + found
    for line in trouble[:12]:
        print(f'# {line[:700]}')
    print(f'{"not ok" if trouble else "ok"} - order: {name} ({len(orders)} orders)')


def main():
    rng = random.Random(1)
    clock = 'clock/load/perf.data.gz', 'clock/load/strace.log.gz'
    with tempfile.TemporaryDirectory(prefix='traceloom-order.') as folder:
        check('perf and strace of one run', clock, folder, rng)
        check('and a recording of another machine', clock + ('perf/clock-mono/perf.data',), folder, rng)
        check('and of another run, sleeps and a log of steps',
              clock + ('clock/sleeps/perf.data.gz', 'clock/sleeps/strace.log.gz',
                       'training_log/checkpoint/train.log'), folder, rng)
        check('two machines and logs that name none',
              ('perf/clock-mono/perf.data',) + clock + ('strace/planted-futex/trace.log.gz',), folder, rng)


main()
