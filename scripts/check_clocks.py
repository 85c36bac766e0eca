#!/usr/bin/env python3
"""check_clocks.py PROGRAM [CUTS [SEED]] - can the clocks of random parts of recordings be matched? TAP.

testdata/clock holds runs seen by perf on its default clock and by strace at once, with marks that
tell the true offset (record_clocks.sh). Of these random parts are cut: both start and end somewhere, a
tenth of the records and of the lines is dropped, threads of another recording are added (one of them
under the number of a thread that perf saw too), file dates say nothing, and a quarter of the logs has
times of day of some time zone. A match must be within 50 us of the truth; what is not matched must be
rare. With the names of the calls shuffled nothing may match.
"""
import datetime
import gzip
import json
import os
import random
import re
import sqlite3
import struct
import subprocess
import sys
import tempfile

program = os.path.realpath(sys.argv[1])
cuts = int(sys.argv[2]) if len(sys.argv) > 2 else 200
seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
root = os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'testdata', 'clock')
LIMIT_NS = 50000


class Recording:
    def __init__(self, name):
        self.name = name
        folder = os.path.join(root, name)
        self.perf = gzip.open(os.path.join(folder, 'perf.data.gz')).read()
        self.lines = gzip.open(os.path.join(folder, 'strace.log.gz'), 'rt',
                               errors='surrogateescape').read().splitlines()
        self.marks = [tuple(map(int, line.split())) for line in open(os.path.join(folder, 'marks'))]
        self.samples = list(self.walk())
        self.offset, self.uncertain = self.truth()

    def walk(self):
        """(place, time, tid, body) of every sample."""
        data = self.perf
        attr_size, attrs_at, _, data_at, data_size = struct.unpack_from('<QQQQQ', data, 16)
        sample_type, = struct.unpack_from('<Q', data, attrs_at + 24)
        at, end = data_at, data_at + data_size
        while at + 8 <= end:
            kind, _, size = struct.unpack_from('<IHH', data, at)
            if kind == 9:
                field = at + 8 + 8 * bool(sample_type & 1 << 16) + 8 * bool(sample_type & 1)
                _, tid, time = struct.unpack_from('<iiQ', data, field)
                yield at, time, tid, data[field + 16:at + size]
            at += max(size, 8)

    def truth(self):
        """What to add to perf's times to get Unix time, by the marks; and how far off that may be."""
        getppid = struct.pack('<q', 110)
        by_tid = {}
        for _, time, tid, body in self.samples:
            if getppid in body:
                by_tid.setdefault(tid, []).append(time)
        self.other_tids = sorted({s[2] for s in self.samples})
        best = None
        for times in by_tid.values():
            if len(times) < 2 * len(self.marks):
                continue
            times = times[-2 * len(self.marks):]
            low = max(before - enter for (before, _), enter in zip(self.marks, times[::2]))
            high = min(after - leave for (_, after), leave in zip(self.marks, times[1::2]))
            if low <= high and (best is None or high - low < best[1] - best[0]):
                best = low, high
        if best is None:
            sys.exit(f'{self.name}: the marks are not in perf.data')
        return (best[0] + best[1]) // 2, (best[1] - best[0]) // 2


def cut_perf(recording, rng, first, last):
    data = bytearray(recording.perf)
    for at, time, _, _ in recording.samples:
        if not first <= time <= last or rng.random() < 0.1:
            struct.pack_into('<I', data, at, 250)  # a kind of record that nobody knows
    return bytes(data)


LINE = re.compile(r'(\d+)( +)(\d+\.\d+) (.*)', re.S)


def unix_ns(text):
    seconds, fraction = text.split('.')
    return int(seconds) * 10**9 + int(fraction.ljust(9, '0'))


def cut_log(recording, rng, first, last):
    """[(time, pid, rest)]"""
    kept = []
    for line in recording.lines:
        m = LINE.match(line)
        if m and first <= unix_ns(m.group(3)) <= last and rng.random() >= 0.1:
            kept.append((unix_ns(m.group(3)), int(m.group(1)), m.group(4)))
    return kept


def other_threads(other, rng, begin, tids):
    """Lines of another recording at about the same time, under numbers of their own but for one."""
    start = unix_ns(LINE.match(other.lines[0]).group(3))
    pids, added = {}, []
    for line in other.lines[:1500]:
        m = LINE.match(line)
        if not m:
            continue
        pid = pids.setdefault(m.group(1), rng.choice(tids) if not pids else 500000 + len(pids))
        added.append((unix_ns(m.group(3)) - start + begin, pid, m.group(4)))
    return added


def shuffle_names(lines, rng):
    where = [i for i, (_, _, rest) in enumerate(lines) if re.match(r'\w+\(', rest)]
    names = [lines[i][2].split('(', 1)[0] for i in where]
    rng.shuffle(names)
    for i, name in zip(where, names):
        time, pid, rest = lines[i]
        lines[i] = (time, pid, name + '(' + rest.split('(', 1)[1])


def write_log(path, lines, zone_hours):
    lines.sort(key=lambda line: line[0])
    with open(path, 'w', errors='surrogateescape') as log:
        for time, pid, rest in lines:
            stamp = f'{time // 10**9}.{time % 10**9 // 1000:06d}'
            if zone_hours is not None:
                local = time // 10**9 + zone_hours * 3600
                stamp = (f'{local // 3600 % 24:02d}:{local // 60 % 60:02d}:{local % 60:02d}'
                         f'.{time % 10**9 // 1000:06d}')
            log.write(f'{pid} {stamp} {rest}\n')


def align(folder):
    case = os.path.join(folder, 'case.db')
    if os.path.exists(case):
        os.unlink(case)
    files = [os.path.join(folder, 'perf.data'), os.path.join(folder, 'strace.log')]
    subprocess.run([program, 'import', '-q', '--no-symbols', '-o', case] + files, check=True)
    out = subprocess.run([program, 'align', '--json', case], check=True, capture_output=True)
    return {c['importer']: c for c in json.loads(out.stdout)['clocks']}


def error_ns(clocks, recording, first_line_ns, zone_hours, at):
    """How far the two are off against each other, where perf's clock shows `at`."""
    strace = 0
    if zone_hours is not None:  # its times count from the midnight before its first line
        local = first_line_ns + zone_hours * 3600 * 10**9
        strace = first_line_ns - local % (86400 * 10**9)
    perf = round((clocks['perf']['clock_slope'] - 1) * at)
    log = round((clocks['strace']['clock_slope'] - 1) * (at + recording.offset - strace))
    return (clocks['perf']['clock_offset_ns'] + perf - recording.offset) - \
        (clocks['strace']['clock_offset_ns'] + log - strace)


def one(recordings, rng, folder, is_shuffled):
    recording, other = rng.sample(recordings, 2)
    times = [time for _, time, _, _ in recording.samples]
    begin = unix_ns(LINE.match(recording.lines[0]).group(3)) - recording.offset
    end = unix_ns(LINE.match(recording.lines[-1]).group(3)) - recording.offset
    begin, end = max(begin, min(times)), min(end, max(times))
    span = end - begin
    middle = begin + int(span * rng.uniform(0.2, 0.8))  # in both parts
    ranges = [(middle - int(span * rng.uniform(0.15, 0.6)), middle + int(span * rng.uniform(0.15, 0.6)))
              for _ in range(2)]
    zone = rng.choice([None, None, None, rng.randint(-11, 13)])
    with open(os.path.join(folder, 'perf.data'), 'wb') as perf:
        perf.write(cut_perf(recording, rng, *ranges[0]))
    lines = cut_log(recording, rng, *(t + recording.offset for t in ranges[1]))
    own = len(lines)
    if is_shuffled:
        shuffle_names(lines, rng)
    lines += other_threads(other, rng, lines[0][0], recording.other_tids)
    write_log(os.path.join(folder, 'strace.log'), lines, zone)
    for name in 'perf.data', 'strace.log':
        date = rng.uniform(1.6e9, 1.9e9)
        os.utime(os.path.join(folder, name), (date, date))
    clocks = align(folder)
    matched = [c for c in clocks.values() if c['clock_method'] == 'matched']
    # what the first line was is known after sorting
    both = [max(r[0] for r in ranges), min(r[1] for r in ranges)]
    error = max((error_ns(clocks, recording, lines[0][0], zone, at) for at in both), key=abs)
    return recording, own, matched[0] if matched else None, error, \
        '; '.join(filter(None, (c['clock_trouble'] for c in clocks.values())))


def check_sleeps(folder):
    """The whole case: what perf saw asleep lies in calls of strace, as mapped."""
    case = os.path.join(folder, 'sleeps.db')
    subprocess.run([program, 'import', '-q', '--no-symbols', '-o', case] +
                   [os.path.join(root, 'sleeps', name) for name in ('perf.data.gz', 'strace.log.gz')], check=True)
    db = sqlite3.connect(case)
    residual, = db.execute('SELECT max(clock_residual_ns) FROM source').fetchone()
    slack = residual + 100000  # strace's own work lies between the time that it writes and what it measures
    sleeps = db.execute("""SELECT w.thread_id, w.ts, w.ts + w.dur FROM thread_state w WHERE w.state = 'sleeping'
        AND w.dur > 300000 AND w.ts > (SELECT first_ts FROM source WHERE importer = 'strace')
        AND w.thread_id IN (SELECT thread_id FROM syscall) ORDER BY w.ts""").fetchall()
    inside = 0
    for thread, begin, end in sleeps:
        inside += db.execute("""SELECT count(*) FROM syscall WHERE thread_id = ? AND ts - ? <= ? AND
            (dur IS NULL OR ts + dur + ? >= ?)""", (thread, residual, begin, slack, end)).fetchone()[0] > 0
    db.close()
    print(f'# {inside} of {len(sleeps)} sleeps lie in a call; residual {residual / 1e3:.1f} us')
    return len(sleeps) > 100 and inside >= 0.98 * len(sleeps)


def check_spans(recordings, rng, folder):
    """A profiler's spans around calls, on a clock of its own, are matched with perf."""
    recording = recordings[0]
    base = unix_ns(LINE.match(recording.lines[0]).group(3)) - 10**9 * rng.randint(5, 50)
    events = []
    for line in recording.lines:
        m = LINE.match(line)
        took = re.search(r'<(\d+\.\d+)>$', line)
        if not m or not took or 'resumed' in line:
            continue
        begin = unix_ns(m.group(3)) - base - rng.randint(1000, 9000)
        duration = round(float(took.group(1)) * 1e9) + rng.randint(20000, 50000)
        events.append({'ph': 'X', 'pid': int(m.group(1)), 'tid': int(m.group(1)), 'name': f'op{len(events) % 7}',
                       'cat': 'cpu_op', 'ts': begin / 1e3, 'dur': duration / 1e3})
    paths = [os.path.join(folder, name) for name in ('spans.json', 'perf.data', 'spans.db')]
    with open(paths[0], 'w') as trace:
        json.dump({'traceEvents': events}, trace)
    with open(paths[1], 'wb') as perf:
        perf.write(recording.perf)
    subprocess.run([program, 'import', '-q', '--no-symbols', '-o', paths[2]] + paths[:2], check=True)
    out = subprocess.run([program, 'align', '--json', paths[2]], check=True, capture_output=True)
    clocks = {c['importer'] == 'perf': c for c in json.loads(out.stdout)['clocks']}
    error = (clocks[True]['clock_offset_ns'] - recording.offset) - (clocks[False]['clock_offset_ns'] - base)
    match = [c for c in clocks.values() if c['clock_method'] == 'matched']
    print(f'# {len(events)} spans: {match[0]["match_count"] if match else 0} matches, error '
          f'{error / 1e3:.1f} us, residual {match[0]["clock_residual_ns"] / 1e3 if match else 0:.1f} us '
          f'{[c["clock_trouble"] for c in clocks.values() if c["clock_trouble"]]}')
    return bool(match) and abs(error) <= match[0]['clock_residual_ns'] + 50000


def matches_of(folder, names):
    """How each of these files was mapped."""
    case = os.path.join(folder, 'two.db')
    if os.path.exists(case):
        os.unlink(case)
    subprocess.run([program, 'import', '-q', '--no-symbols', '-o', case] +
                   [os.path.join(folder, name) for name in names], check=True)
    out = subprocess.run([program, 'align', '--json', case], check=True, capture_output=True)
    return [next(c for c in json.loads(out.stdout)['clocks'] if c['path'].endswith(name)) for name in names]


def check_tracers(recording, rng, folder, rounds=10):
    """What perf trace printed and what strace wrote of one run: both tell of calls, neither looks closer by rule."""
    text = gzip.open(os.path.join(root, recording.name, 'trace.txt.gz'), 'rt', errors='replace').read().splitlines()
    times = [round(float(line.split(' ', 1)[0]) * 1e6) for line in (t.lstrip() for t in text) if line[:1].isdigit()]
    good, errors, residuals = 0, [], []
    for _ in range(rounds):
        middle = rng.uniform(0.3, 0.7) * (times[-1] - times[0]) + times[0]
        first, last = (int(middle + sign * rng.uniform(0.15, 0.5) * (times[-1] - times[0])) for sign in (-1, 1))
        with open(os.path.join(folder, 'trace.txt'), 'w') as trace:
            trace.writelines(line + '\n' for line in text if line.lstrip()[:1].isdigit() and rng.random() >= 0.1 and
                             first <= round(float(line.split(None, 1)[0]) * 1e6) <= last)
        lines = cut_log(recording, rng, recording.offset + times[0], recording.offset + times[-1])
        write_log(os.path.join(folder, 'tracer.log'), lines, None)
        os.utime(os.path.join(folder, 'trace.txt'), (1.7e9, 1.7e9))
        trace, _ = matches_of(folder, ['trace.txt', 'tracer.log'])
        error = max((trace['clock_offset_ns'] + round((trace['clock_slope'] - 1) * at) - recording.offset
                     for at in (times[0], times[-1])), key=abs)
        errors.append(abs(error))
        residuals.append(trace['clock_residual_ns'] or 0)
        good += trace['clock_method'] == 'matched' and abs(error) <= (trace['clock_residual_ns'] or 0) + recording.uncertain
    print(f'# perf trace and strace: {good} of {rounds} within the residual; errors up to {max(errors) / 1e3:.1f} us, '
          f'residuals up to {max(residuals) / 1e3:.1f} us')
    return good == rounds


def write_trace(path, spans, base):
    with open(path, 'w') as trace:
        json.dump({'traceEvents': [{'ph': 'X', 'pid': 7, 'tid': tid, 'name': name, 'cat': 'cpu_op',
                                    'ts': (begin - base) / 1e3, 'dur': (end - begin) / 1e3}
                                   for tid, name, begin, end in spans]}, trace)


def check_profilers(rng, folder):
    """Two profilers that tell of the same spans; and two that do so at an even pace, where nothing tells which is which."""
    good = True
    for is_even in False, True:
        now, spans = 10**12, []
        for i in range(400):
            now += 10**6 if is_even else rng.randint(100000, 2000000)
            spans.append((7 + i % 2, 'op' if is_even else f'op{rng.randrange(9)}', now, now + (50000 if is_even else rng.randint(5000, 90000))))
        write_trace(os.path.join(folder, 'one.json'), [s for s in spans if rng.random() >= 0.1], 10**12 - 5 * 10**9)
        seen = [(tid, name, begin + rng.randint(0, 400), end + rng.randint(500, 900))
                for tid, name, begin, end in spans[40:] if rng.random() >= 0.1]
        write_trace(os.path.join(folder, 'two.json'), seen, 10**12 + 3 * 10**9)
        clocks = matches_of(folder, ['one.json', 'two.json'])
        error = clocks[1]['clock_offset_ns'] - clocks[0]['clock_offset_ns'] - 8 * 10**9
        matched = [c for c in clocks if c['clock_method'] == 'matched']
        print(f'# two profilers{" at an even pace" if is_even else ""}: {len(matched)} matched, error {error / 1e3:.1f} us, '
              f'{[c["clock_residual_ns"] for c in matched]} {[c["clock_trouble"] for c in clocks if c["clock_trouble"]]}')
        good &= not matched if is_even else bool(matched) and abs(error) <= matched[0]['clock_residual_ns']
    return good


def check_hour(folder):
    """An hour on perf's own clock: are its calls, mapped by snapshots, between the readings of the wall clock around them?"""
    hour = os.path.join(root, 'hour')
    marks = [tuple(map(int, line.split())) for line in open(os.path.join(hour, 'marks'))]
    snapshots = gzip.open(os.path.join(hour, 'clocks.txt.gz'), 'rt').read().splitlines(True)
    good = True
    for what, kept in (('all snapshots', snapshots),
                       ('two of them', [s for s in snapshots if s.split()[1] in ('begin', 'end')]),
                       ('the first', [s for s in snapshots if s.split()[1] == 'begin'])):
        with open(os.path.join(folder, 'clocks.txt'), 'w') as file:
            file.writelines(kept)
        case = os.path.join(folder, 'hour.db')
        if os.path.exists(case):
            os.unlink(case)
        subprocess.run([program, 'import', '-q', '--no-symbols', '-o', case, os.path.join(hour, 'perf.data.gz'),
                        os.path.join(folder, 'clocks.txt')], check=True)
        db = sqlite3.connect(case)
        method, residual, slope = db.execute(
            "SELECT clock_method, clock_residual_ns, clock_slope FROM source WHERE importer = 'perf'").fetchone()
        calls = db.execute('SELECT ts, ts + dur FROM syscall ORDER BY ts').fetchall()
        db.close()
        if what == 'the first':  # an hour away from it: not mapped by it, and not sure
            print(f'# an hour, {what}: {method}, residual {residual}')
            good &= method == 'assumed' and residual is None
            continue
        missed = [max(before - begin, end - after, 0) for (before, after), (begin, end) in zip(marks, calls)]
        # as it would be had the clocks one rate
        steady = [abs((1 - slope) * (begin - calls[0][0])) for begin, _ in calls]
        third = len(missed) // 3
        print(f'# an hour, {what}: drift {(slope - 1) * 1e6:+.3f} ppm, residual {residual} ns; {len(missed)} marks are missed '
              f'by at most {max(missed[:third])}, {max(missed[third:-third])}, {max(missed[-third:])} ns in its thirds; '
              f'without a drift it were {max(steady) / 1e3:.0f} us')
        good &= method == 'anchored' and len(calls) == len(marks) == 300 and max(missed) <= residual < 1500
        good &= max(steady) > 100 * residual
    return good


def main():
    rng = random.Random(seed)
    recordings = [Recording(name) for name in ('load', 'shells', 'files')]
    for r in recordings:
        print(f'# {r.name}: {len(r.samples)} samples, {len(r.lines)} lines, truth known to '
              f'{r.uncertain / 1e3:.1f} us')
    found = wrong = beyond = 0
    errors, residuals = [], []
    with tempfile.TemporaryDirectory(prefix='traceloom-clocks.') as folder:
        for cut in range(cuts):
            recording, own, match, error, trouble = one(recordings, rng, folder, False)
            if not match:
                print(f'# cut {cut} of {recording.name}, {own} lines: {trouble}')
                continue
            errors.append(abs(error))
            residuals.append(match['clock_residual_ns'])
            found += abs(error) <= LIMIT_NS
            beyond += abs(error) > match['clock_residual_ns'] + recording.uncertain
            if abs(error) > LIMIT_NS:
                wrong += 1
                print(f'# cut {cut} of {recording.name}, {own} lines: wrong by {error / 1e3:.1f} us, '
                      f'residual {match["clock_residual_ns"] / 1e3:.1f} us, '
                      f'{match["match_count"]} matches, second best {match["rival_ratio"]:.2f}')
        sleeps_agree = check_sleeps(folder)
        spans_match = check_spans(recordings, rng, folder)
        hour_holds = check_hour(folder)
        tracers_match = check_tracers(recordings[0], rng, folder)
        profilers_match = check_profilers(rng, folder)
        shuffled = [one(recordings, rng, folder, True) for _ in range(max(cuts // 10, 5))]
    errors.sort()
    residuals.sort()
    if errors:
        print(f'# {found} of {cuts} found; error median {errors[len(errors) // 2] / 1e3:.1f} us, '
              f'95 % {errors[len(errors) * 95 // 100] / 1e3:.1f} us, largest {errors[-1] / 1e3:.1f} us; '
              f'residual median {residuals[len(residuals) // 2] / 1e3:.1f} us, largest '
              f'{residuals[-1] / 1e3:.1f} us; error above residual {beyond} times')
    for what, good in ((f'at least 95 % of {cuts} cuts are matched within 50 us', found >= 0.95 * cuts),
                       ('no wrong match is taken for sure', wrong == 0),
                       ('the error is within the residual', beyond == 0),
                       ('sleeps that perf saw lie in calls that strace saw', sleeps_agree),
                       ('spans of a profiler are matched with calls', spans_match),
                       ('calls that two tracers saw are matched, within the residual', tracers_match),
                       ('spans that two profilers saw are matched, but not at an even pace', profilers_match),
                       ('an hour is mapped within the residual at its begin, middle and end', hour_holds),
                       ('shuffled names match nothing', not any(s[2] for s in shuffled))):
        print(f'{"ok" if good else "not ok"} - clocks: {what}')
    for recording, own, match, error, trouble in shuffled:
        if match:
            print(f'# shuffled {recording.name}: {match["match_count"]} matches, error {error / 1e3:.1f} us')


main()
