#!/usr/bin/env python3
"""check_profiler.py PROGRAM - public profiler traces against what Python's json reads; prints TAP.

Each trace of the shared folder (TRACELOOM_SHARED, else ../shared) is imported, and each of its
events is looked for in the case: times and durations to the nanosecond, ids exactly, arguments as
objects. Then what the folder says of the traces: steps, times of collectives per rank, Ascend's sums.
Skipped where the folder is not there.
"""
import csv
import decimal
import glob
import gzip
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
FOLDER = os.path.join(os.environ.get('TRACELOOM_SHARED', os.path.join(TOP, '../shared')),
                      'corpus/profiler')
DEVICE = {'kernel', 'gpu_memcpy', 'gpu_memset', 'gpu_user_annotation', 'memcpy', 'memset'}
RANK_STEPS_US = [14455, 19901, 13017, 19313, 17979, 17797, 13091, 12509]
RANK_COLLECTIVES_US = [5798, 11336, 3492, 9774, 6587, 6251, 3558, 1746]
STEPS_US = {
    'kineto.diff-control.json.gz': (1009, '75473 76940 76212 76727 78473 81120'),
    'kineto.diff-test.json.gz': (1009, '100298 122149 166403 81971 107230 166350'),
    'kineto.ns-2024.json.gz': (101, '35115.869 72077.474 95697.341 95551.087 95699.037'),
    'kineto.2021-resnet-nw0.1623143089861.json.gz':
        (5, '176078 173992 176918 181259 176468 164261'),
    'kineto.2021-resnet-nw0.1623143566756.json.gz':
        (16, '159363 149046 148659 151733 153205 155725'),
}


def ns(us):
    return int((decimal.Decimal(us) * 1000).quantize(1, decimal.ROUND_HALF_UP))


def load(path):
    with (gzip.open if path.endswith('.gz') else open)(path, 'rt') as file:
        return json.load(file, parse_float=decimal.Decimal)


def as_floats(value):
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, list):
        return [as_floats(item) for item in value]
    if isinstance(value, dict):
        return {key: as_floats(item) for key, item in value.items()}
    return value


def signed(number):
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def step_of(event):
    found = re.match(r'ProfilerStep\s*#\s*(\d+)', str(event['name']))
    if found and event.get('ph') == 'X' and event.get('cat') not in DEVICE:
        return int(found.group(1))
    return None


def check_slices(case, events, base):
    rows = case.execute(
        "SELECT ts, dur, n.text, c.text, correlation, external_id, bytes, step, args FROM slice "
        "JOIN string n ON n.string_id = name_id LEFT JOIN string c ON c.string_id = category_id "
        "ORDER BY slice_id")
    wanted = [e for e in events if e.get('ph') in ('X', 'i')]
    count = 0
    for event, row in zip(wanted, rows):
        args = event.get('args') or {}
        correlation = args.get('correlation', args.get('connection_id'))
        external = args.get('External id', args.get('external id', args.get('correlation_id')))
        expected = [base + ns(event['ts']), ns(event['dur']) if 'dur' in event else None,
                    event['name'], event.get('cat'),
                    None if correlation is None else signed(int(correlation)),
                    None if external is None else signed(int(external))]
        if list(row[:6]) != expected:
            return 'row %d is %r, expected %r' % (count, row[:6], expected)
        if 'bytes' in args and row[6] != args['bytes']:
            return 'row %d has %r bytes, expected %r' % (count, row[6], args['bytes'])
        if row[7] != step_of(event):
            return 'row %d is of step %r, expected %r' % (count, row[7], step_of(event))
        if (json.loads(row[8]) if row[8] else {}) != as_floats(args):
            return 'row %d has the arguments %r, expected %r' % (count, row[8], args)
        count += 1
    if rows.fetchone() or count != len(wanted):
        return '%d slices are equal, of %d' % (count, len(wanted))
    return None


def check_flows(case, events, base):
    rows = case.execute("SELECT ts, phase, id, c.text FROM flow LEFT JOIN string c "
                        "ON c.string_id = category_id ORDER BY flow_id").fetchall()
    wanted = [(base + ns(e['ts']), 'stf'.index(e['ph']), int(e['id']), e.get('cat'))
              for e in events if e.get('ph') in ('s', 't', 'f')]
    hashes = {}  # of ids that 64 bits cannot hold: any number, the same for the same id
    for number, (row, want) in enumerate(zip(rows, wanted)):
        number64 = hashes.setdefault(want[2], row[2]) if want[2] >> 64 else signed(want[2])
        if row != (want[0], want[1], number64, want[3]):
            return 'flow %d is %r, expected %r' % (number, row, want)
    if len(set(hashes.values())) != len(hashes):
        return 'ids that differ became the same'
    return None if len(rows) == len(wanted) else '%d flows, expected %d' % (len(rows), len(wanted))


def check_counters(case, events):
    wanted = sorted((ns(e['ts']), float(next(iter(e['args'].values()))))
                    for e in events if e.get('ph') == 'C')
    rows = sorted(case.execute("SELECT ts, value FROM counter"))
    return None if rows == wanted else '%d counters, expected %d' % (len(rows), len(wanted))


def check_counts(case, events):
    wanted = dict(Counter(e['ph'] for e in events if 'ph' in e))
    found = json.loads(case.execute("SELECT value FROM source_meta WHERE key = 'events_by_phase'")
                       .fetchone()[0])
    if found != wanted:
        return 'events by phase are %r, expected %r' % (found, wanted)
    records, rank = case.execute("SELECT record_count, rank FROM source").fetchone()
    return None if records == len(events) else '%d records, expected %d' % (records, len(events))


def check_collectives(case, events):
    """Sums per stream of what runs as a kernel and is called nccl..."""
    wanted = Counter()
    for e in events:
        if e.get('ph') == 'X' and str(e.get('cat', '')).lower() == 'kernel' and \
                e['name'].lower().startswith('nccl'):
            wanted[e['args']['stream']] += ns(e['dur'])
    found = dict(case.execute("SELECT k.stream, sum(a.dur) FROM slice a JOIN track k USING (track_id) "
                              "JOIN string c ON c.string_id = a.category_id "
                              "WHERE class = 5 AND c.text LIKE 'kernel' GROUP BY 1"))
    return None if found == dict(wanted) else 'sums are %r, expected %r' % (found, dict(wanted))


def check_tracks(case, events):
    """Host rows are on a thread with their ids, device rows on a stream with theirs."""
    wanted = Counter()
    for e in events:
        if e.get('ph') != 'X' or not isinstance(e.get('cat'), str):
            continue
        if e['cat'].lower() in DEVICE:
            stream = (e.get('args') or {}).get('stream', e['tid'])
            wanted['device', int(e['pid']), stream] += 1
        elif e['cat'].lower() in ('cpu_op', 'operator', 'cuda_runtime', 'runtime') and \
                int(e['tid']) > 0:
            wanted['thread', int(e['pid']), int(e['tid'])] += 1
    found = Counter()
    for kind, pid, tid, device, stream, count in case.execute(
            "SELECT k.kind, p.pid, t.tid, k.device, k.stream, count(*) FROM slice a "
            "JOIN track k USING (track_id) LEFT JOIN thread t USING (thread_id) "
            "LEFT JOIN process p USING (process_id) JOIN string c ON c.string_id = a.category_id "
            "WHERE dur IS NOT NULL AND lower(c.text) IN ('cpu_op', 'operator', 'cuda_runtime', "
            "'runtime', 'kernel', 'gpu_memcpy', 'gpu_memset', 'gpu_user_annotation', 'memcpy', "
            "'memset') AND k.kind IN ('thread', 'device') GROUP BY 1, 2, 3, 4, 5"):
        found[(kind, pid, tid) if kind == 'thread' else (kind, device, stream)] += count
    return None if found == wanted else 'rows per track are %r, expected %r' % (found, wanted)


def check_steps(case, name):
    if name not in STEPS_US:
        return None
    first, durations = STEPS_US[name]
    wanted = [(first + i, ns(us)) for i, us in enumerate(durations.split())]
    found = case.execute("SELECT step, dur FROM slice WHERE step IS NOT NULL ORDER BY ts").fetchall()
    return None if found == wanted else 'steps are %r, expected %r' % (found, wanted)


def check_overlap(case, path):
    """Ascend's own sums of a step, to the nanosecond."""
    sums = path.replace('.trace_view.json', '.step_trace_time.csv')
    if sums == path or not os.path.exists(sums):
        return None
    with open(sums) as file:
        row = next(csv.DictReader(file))
    for column in ('Computing', 'Communication', 'Communication(Not Overlapped)', 'Free'):
        found = case.execute("SELECT sum(dur) FROM slice JOIN string ON string_id = name_id "
                             "WHERE class = 11 AND text = ?", (column,)).fetchone()[0]
        if found != ns(row[column]):
            return '%s is %r, expected %d' % (column, found, ns(row[column]))
    return None


def check(program, path, work):
    case_path = os.path.join(work, 'case.db')
    if os.path.exists(case_path):
        os.unlink(case_path)
    done = subprocess.run([program, 'import', '-q', '-o', case_path, path],
                          stderr=subprocess.PIPE, text=True)
    if done.returncode or done.stderr:
        return done.stderr or 'exit status %d' % done.returncode
    document = load(path)
    events = document if isinstance(document, list) else document['traceEvents']
    base = 0 if isinstance(document, list) else document.get('baseTimeNanoseconds', 0)
    case = sqlite3.connect(case_path)
    try:
        trouble = check_slices(case, events, base) or check_flows(case, events, base) or \
            check_counters(case, events) or check_counts(case, events) or \
            check_collectives(case, events) or check_tracks(case, events) or \
            check_steps(case, os.path.basename(path)) or check_overlap(case, path)
        if not trouble and isinstance(document, dict) and document.get('distributedInfo'):
            rank = case.execute("SELECT rank FROM source").fetchone()[0]
            if rank != document['distributedInfo']['rank']:
                trouble = 'rank is %r' % rank
        return trouble
    finally:
        case.close()


def check_ranks(program, work):
    case_path = os.path.join(work, 'ranks.db')
    subprocess.run([program, 'import', '-q', '-o', case_path,
                    os.path.join(FOLDER, 'kineto.dlrm-8ranks')], check=True)
    case = sqlite3.connect(case_path)
    steps = case.execute("SELECT rank, dur / 1000 FROM slice JOIN track USING (track_id) JOIN source "
                         "USING (source_id) WHERE step = 10 ORDER BY rank").fetchall()
    sums = case.execute("SELECT rank, sum(dur) / 1000 FROM slice JOIN track USING (track_id) JOIN "
                        "source USING (source_id) WHERE class = 5 GROUP BY rank").fetchall()
    case.close()
    if steps != list(enumerate(RANK_STEPS_US)):
        return 'steps are %r' % steps
    if sums != list(enumerate(RANK_COLLECTIVES_US)):
        return 'collectives take %r' % sums
    return None


def tell(name, trouble):
    if trouble:
        print(str(trouble)[:2000])
    print('%s - %s' % ('not ok' if trouble else 'ok', name), flush=True)
    return bool(trouble)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = os.path.abspath(sys.argv[1])
    paths = sorted(glob.glob(os.path.join(FOLDER, '**/*.json*'), recursive=True))
    if not paths:
        print('ok - profiler traces # SKIP %s is not there' % FOLDER)
        return 0
    failed = False
    with tempfile.TemporaryDirectory() as work:
        for path in paths:
            failed |= tell(os.path.relpath(path, FOLDER), check(program, path, work))
        failed |= tell('eight ranks of one job', check_ranks(program, work))
    return failed


if __name__ == '__main__':
    sys.exit(main())
