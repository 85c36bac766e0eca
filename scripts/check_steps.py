#!/usr/bin/env python3
"""check_steps.py PROGRAM - what `steps` says of public traces against sums made here; prints TAP.

Device time is summed by sweeping over every begin and end of the JSON's events, launches are joined by
correlation: slow and simple. Ascend's splits are compared with the table that its own profiler wrote,
rows of its database are counted with SQL. Skipped where the shared folder (TRACELOOM_SHARED, else
../shared) is not there.
"""
import csv
import decimal
import glob
import gzip
import json
import os
import re
import sqlite3
import statistics
import subprocess
import sys
from collections import defaultdict

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
FOLDER = os.path.join(os.environ.get('TRACELOOM_SHARED', os.path.join(TOP, '../shared')),
                      'corpus/profiler')
COPIES = {'gpu_memcpy', 'gpu_memset', 'memcpy', 'memset'}
RUNTIME = {'cuda_runtime', 'cuda_driver', 'runtime'}
RANK_COLLECTIVES_NS = [5798000, 11336000, 3492000, 9774000, 6587000, 6251000, 3558000, 1746000]


def ns(us):
    return int((decimal.Decimal(us) * 1000).quantize(1, decimal.ROUND_HALF_UP))


def steps(program, *arguments):
    done = subprocess.run([program, 'steps', '-q', '--json', *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    return json.loads(done.stdout) if done.stdout else {}, done.returncode, done.stderr


def read_events(path):
    with (gzip.open if path.endswith('.gz') else open)(path, 'rt') as file:
        document = json.load(file, parse_float=decimal.Decimal)
    base = document.get('baseTimeNanoseconds', 0)
    work, launches, windows = defaultdict(list), defaultdict(list), {}
    for e in document['traceEvents']:
        if e.get('ph') != 'X' or 'dur' not in e:
            continue
        begin, category, args = base + ns(e['ts']), str(e.get('cat')).lower(), e.get('args') or {}
        span = (begin, begin + ns(e['dur']))
        found = re.match(r'ProfilerStep\s*#\s*(\d+)', str(e['name']))
        if category == 'kernel' or category in COPIES:
            kind = 'copy' if category in COPIES else \
                'comm' if e['name'].lower().startswith('nccl') else 'comp'
            work[int(e['pid'])].append((*span, kind, args.get('correlation')))
        elif category in RUNTIME and 'correlation' in args and 'Synchronize' not in e['name']:
            launches[args['correlation']].append((*span, e['tid']))
        elif found and not category.startswith('gpu'):
            windows[int(found.group(1))] = span
    return work, launches, windows


def sweep(spans, begin, end):
    """Time in [begin, end) by what was going on: one pass over all edges."""
    edges = []
    for a, b, kind, _ in spans:
        if b > begin and a < end and b > a:
            edges += [(max(a, begin), 1, kind), (min(b, end), -1, kind)]
    edges.sort(key=lambda edge: edge[0])
    running = {'comp': 0, 'comm': 0, 'copy': 0}
    sums, now = defaultdict(int), begin
    for at, change, kind in edges + [(end, 0, 'comp')]:
        span, now = at - now, at
        sums['computing_ns'] += span * bool(running['comp'])
        sums['communication_ns'] += span * bool(running['comm'])
        sums['exposed_ns'] += span * (running['comm'] > 0 and not running['comp'])
        sums['copying_ns'] += span * (running['copy'] > 0 and not running['comp'] and
                                      not running['comm'])
        sums['idle_ns'] += span * (not any(running.values()))
        running[kind] += change
    sums['busy_ns'] = end - begin - sums['idle_ns']
    return sums


def expected_launches(spans, launches, begin, end):
    first = {}
    for a, _, _, correlation in spans:
        calls = [x for x in launches.get(correlation, []) if x[0] <= a] or \
            launches.get(correlation, [])[:1]
        if calls:
            call = max(calls)
            first[call] = min(first.get(call, a), a)
    inside = sorted((call for call in first if begin <= call[0] < end),
                    key=lambda call: (str(call[2]), call[0]))
    gaps = [max(b[0] - a[1], 0) for a, b in zip(inside, inside[1:]) if a[2] == b[2]]
    delays = [first[call] - call[0] for call in inside]
    return {'launch_count': len(inside),
            'launch_gap_max_ns': max(gaps) if gaps else None,
            'delay_ns': int(statistics.median(delays) + 0.5) if delays else None,
            'delay_max_ns': max(delays) if delays else None}


def check_breakdown(program, path):
    work, launches, windows = read_events(path)
    answer, status, trouble = steps(program, '--breakdown', path)
    if not work or not windows:
        return None if status == 3 else 'exit status %d: %s' % (status, trouble)
    rows = answer['breakdown']
    if len(rows) != len(windows) * len(work):
        return '%d rows for %d steps' % (len(rows), len(windows))
    for row in rows:
        begin, end = windows[row['step']]
        device = row['device'] if row['device'] is not None else next(iter(work))
        wanted = dict(sweep(work[device], begin, end))
        wanted.update(expected_launches(work[device], launches, begin, end))
        for key, value in wanted.items():
            if row[key] != value:
                return 'step %d: %s is %r, expected %r' % (row['step'], key, row[key], value)
        parts = row['idle_late_ns'] + row['idle_launched_ns'] + row['idle_other_ns']
        if parts != row['idle_ns'] or row['busy_ns'] + parts != row['duration_ns']:
            return 'step %d: its parts do not add up' % row['step']
    return None


def check_told(program, trace, table):
    """Equal to the profiler's own table, which went through doubles of 0.25 us for two columns."""
    exact = {'computing_ns': 'Computing', 'communication_ns': 'Communication', 'free_ns': 'Free',
             'exposed_ns': 'Communication(Not Overlapped)', 'overlapped_ns': 'Overlapped'}
    rough = {'stage_ns': 'Stage', 'preparing_ns': 'Preparing'}
    with open(table) as file:
        wanted = {int(row['Step']): row for row in csv.DictReader(file)}
    for source in (trace, table):
        rows = steps(program, '--breakdown', source)[0]['breakdown_told']
        if [row['step'] for row in rows] != sorted(wanted):
            return 'steps are %r' % rows
        for row in rows:
            for key, column in {**exact, **rough}.items():
                expected = ns(wanted[row['step']][column])
                if abs(row[key] - expected) > (250 if key in rough else 0):
                    return '%s is %r, expected %d' % (key, row[key], expected)
    return None


def check_database(program, path):
    """Computing and communication as MindStudio's OVERLAP_ANALYSIS has them; every row is there."""
    database = sqlite3.connect('file:%s?mode=ro&immutable=1' % path, uri=True)
    sums = dict(database.execute("SELECT type, sum(endNs - startNs) FROM OVERLAP_ANALYSIS GROUP BY 1"))
    rows = {table: database.execute('SELECT count(*) FROM %s' % table).fetchone()[0]
            for table in ('PYTORCH_API', 'CANN_API', 'TASK', 'STEP_TIME', 'COMMUNICATION_OP')}
    if rows != {'PYTORCH_API': 2460, 'CANN_API': 710, 'TASK': 552, 'STEP_TIME': 1,
                'COMMUNICATION_OP': 4}:
        return 'rows are %r' % rows
    answer = steps(program, '--breakdown', path)[0]['breakdown'][0]
    wanted = {'computing_ns': sums[0], 'communication_ns': sums[1], 'exposed_ns': sums[2],
              'free_ns': sums[3]}
    found = {key: answer[key] for key in wanted}
    if found != wanted:
        return '%r, expected %r' % (found, wanted)
    done = subprocess.run([program, 'events', path], stdout=subprocess.PIPE, text=True, check=True)
    slices = sum(line.startswith('slice ') for line in done.stdout.splitlines())
    expected = sum(rows.values()) - rows['STEP_TIME']  # the step is among the calls of PyTorch
    return None if slices == expected else '%d slices, expected %d' % (slices, expected)


def check_ranks(program):
    answer = steps(program, os.path.join(FOLDER, 'kineto.dlrm-8ranks'))[0]
    sums = [row['collective_ns'] for row in answer['ranks']]
    if sums != RANK_COLLECTIVES_NS:
        return 'times in collectives are %r' % sums
    across, step = answer['across_ranks'], answer['rank_steps'][0]
    if across['late_rank'] != 7 or not across['verdict'].startswith('rank 7 is late'):
        return 'it says: %s' % across['verdict']
    if (step['slowest_rank'], step['slowest_ns']) != (1, 19901000) or \
            (step['fastest_rank'], step['fastest_ns']) != (7, 12509000):
        return 'slowest and fastest are %r' % step
    return None


def check_against(program):
    """A slowdown with its interval; and the worst of its steps."""
    control, test = (os.path.join(FOLDER, 'kineto.diff-%s.json.gz' % name)
                     for name in ('control', 'test'))
    answer = steps(program, control, '--against', test)[0]['comparison']
    if answer['verdict'] != 'slower' or not 1 < answer['ratio_low'] < answer['ratio_high']:
        return 'forth: %r' % answer
    if 'slowest there: 1011 (166.4 ms), 1014 (166.3 ms), 1010' not in answer['says']:
        return 'it says: %s' % answer['says']
    answer = steps(program, test, '--against', control)[0]['comparison']
    if answer['verdict'] != 'faster' or not answer['ratio_high'] < 1:
        return 'back: %r' % answer
    one = os.path.join(FOLDER, 'ascend.level1-rank0.trace_view.json')
    answer = steps(program, one, '--against', one)[0]['comparison']
    return None if 'too few steps' in answer['verdict'] else 'one step: %r' % answer


def tell(name, trouble):
    if trouble:
        print(str(trouble)[:2000])
    print('%s - %s' % ('not ok' if trouble else 'ok', name), flush=True)
    return bool(trouble)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = os.path.abspath(sys.argv[1])
    traces = sorted(glob.glob(os.path.join(FOLDER, '**/kineto.*.json.gz'), recursive=True) +
                    glob.glob(os.path.join(FOLDER, 'kineto.*/*.json.gz')))
    if not traces:
        print('ok - steps of public traces # SKIP %s is not there' % FOLDER)
        return 0
    failed = False
    for path in traces:
        failed |= tell('breakdown of ' + os.path.relpath(path, FOLDER),
                       check_breakdown(program, path))
    ascend = os.path.join(FOLDER, 'ascend.level1-rank0.')
    failed |= tell('the split that Ascend wrote itself',
                   check_told(program, ascend + 'trace_view.json', ascend + 'step_trace_time.csv'))
    failed |= tell('the split of an Ascend database', check_database(program, ascend + 'db'))
    failed |= tell('who is late of eight ranks', check_ranks(program))
    failed |= tell('two traces beside each other', check_against(program))
    return failed


if __name__ == '__main__':
    sys.exit(main())
