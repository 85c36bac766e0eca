#!/usr/bin/env python3
"""check_agreement.py PROGRAM CASE... - do strace and the kernel's switches agree over a whole case?

CASE is a folder that capture.sh recorded with both. Each time that a thread is asleep for a tenth of a
millisecond or more, strace must tell of a call of the same thread that begins before and ends behind it,
as far as the residuals of the two clocks allow. Where perf saw the call, too, it must be one of that name,
and is left out if strace was not asked for such. strace looks at the clock twice while it has stopped the
thread at the begin of a call, for the time of day and for what the call takes: the end is too early by as
much as that stop lasts. Prints TAP.
"""
import bisect
import os
import sqlite3
import subprocess
import sys
import tempfile

ASLEEP_NS = 100000
ENOUGH = 20  # waits, for a case to show anything

WAITS = '''
    SELECT w.thread_id, w.ts, w.ts + w.dur, n.text FROM thread_state w
    LEFT JOIN syscall c ON c.source_id = w.source_id AND c.thread_id = w.thread_id AND c.ts <= w.ts AND
        c.ts + c.dur >= w.ts + w.dur
    LEFT JOIN string n ON n.string_id = c.name_id
    WHERE w.state = 'sleeping' AND w.dur >= ?'''
STOPS = "SELECT thread_id, ts + dur, dur FROM thread_state WHERE state = 'stopped' AND dur > 0 ORDER BY ts"
CALLS = '''
    SELECT c.thread_id, n.text, c.ts, c.ts + c.dur FROM syscall c JOIN string n ON n.string_id = c.name_id
    JOIN source s USING (source_id) WHERE s.importer = 'strace' AND c.dur >= 0 AND c.ts IS NOT NULL'''


def compare(db):
    """Counts of waits that agree, that were compared, and what is wrong with the first of the others."""
    allowed = db.execute("SELECT sum(r) FROM (SELECT max(clock_residual_ns) AS r FROM source "
                         "WHERE importer IN ('perf', 'strace') GROUP BY importer)").fetchone()[0]
    calls = {}
    names = set()
    for thread, name, begin, end in db.execute(CALLS):
        calls.setdefault(thread, []).append((begin, end, name))
        names.add(name)
    if not calls:
        return 0, 0, 'strace tells of no call'
    stops = {}
    for thread, end, length in db.execute(STOPS):
        stops.setdefault(thread, ([], []))[0].append(end)
        stops[thread][1].append(length)
    agreed = compared = 0
    trouble = ''
    for thread, begin, end, name in db.execute(WAITS, (ASLEEP_NS,)):
        own = calls.get(thread)
        if not own or (name and name not in names) or begin < min(own)[0] or end > max(e for _, e, _ in own):
            continue
        compared += 1
        ends, lengths = stops.get(thread, ([], []))
        before = bisect.bisect_right(ends, begin) - 1
        late = allowed + (lengths[before] if before >= 0 else 0)
        if any(b - allowed <= begin and end <= e + late and name in (None, n) for b, e, n in own):
            agreed += 1
        elif not trouble:
            trouble = (f'thread {thread} was asleep in {name or "a call"} from {begin} to {end}; no call of '
                       f'strace is around that within {allowed} ns')
    return agreed, compared, trouble


def main():
    program, folders = sys.argv[1], sys.argv[2:]
    failed = False
    for folder in folders:
        name = f'agreement: {os.path.normpath(folder)}: waits lie in the calls of strace'
        with tempfile.TemporaryDirectory() as work:
            case = os.path.join(work, 'case.db')
            subprocess.run([program, 'import', '-q', '-o', case, folder], check=True)
            db = sqlite3.connect(case)
            agreed, compared, trouble = compare(db)
            db.close()
        print(f'# {agreed} of {compared} waits agree')
        if compared < ENOUGH:
            trouble = trouble or f'only {compared} waits can be compared'
        if trouble:
            failed = True
            print(f'| {trouble}\nnot ok - {name}')
        else:
            print(f'ok - {name}')
    return failed


sys.exit(main())
