#!/usr/bin/env python3
"""compare_strace.py - imports strace and ltrace logs and compares each call with what an
independent reader says of it.

usage: compare_strace.py TRACELOOM ORACLE LOG...

ORACLE prints one line a call with --events (line, line of the end, tid, time, name, duration, how
it is known, how it ended, result, error), and facts as JSON without. It may be "": then only the
tables that strace -C made of the same run are compared, with and without it. Speaks TAP; exits 1
if a log differs.
"""
import errno, gzip, json, os, re, shutil, sqlite3, subprocess, sys, tempfile

# What the reader calls the ways a call can end, as outcomes of the case. Calls that it counts, but
# does not list, are told by outcomes 3 (killed), 4 (open) and 7 (lost).
LISTED = (0, 1, 2, 5, 6)

# What only the kernel sees: calls that will be made again.
ERESTART = {512: 'ERESTARTSYS', 513: 'ERESTARTNOINTR', 514: 'ERESTARTNOHAND',
            516: 'ERESTART_RESTARTBLOCK'}


def oracle_calls(oracle, path, by_name):
    args = [sys.executable, oracle, '--events'] + (['--tid-from-name'] if by_name else []) + [path]
    calls = []
    for row in subprocess.run(args, stdout=subprocess.PIPE, check=True).stdout.split(b'\n'):
        if row:
            line, _, tid, ts, name, dur, how, end, ret, err = row.split(b'\t')
            calls.append((int(line), name, int(tid) if tid else None, int(ts) if ts else None,
                          int(dur) if dur else None, how, end, ret, err.decode() or None))
    return calls


def oracle_facts(oracle, path, by_name):
    args = [sys.executable, oracle] + (['--tid-from-name'] if by_name else []) + [path]
    return json.loads(subprocess.run(args, stdout=subprocess.PIPE, check=True).stdout)


def value(ret):
    """A printed result as two's complement, None if it is no number."""
    try:
        if ret.startswith(b'0x'):
            n = int(ret, 16)
        elif re.fullmatch(b'0[0-7]+', ret):
            n = int(ret, 8)
        else:
            n = int(ret)
    except ValueError:
        return None
    return n - (1 << 64) if n >= 1 << 63 else n


def blob(text):
    return text if isinstance(text, bytes) or text is None else text.encode()


def case_calls(db):
    return [(line, blob(name), tid, ts, dur, timing, outcome, result, error) for
            line, name, tid, ts, dur, timing, outcome, result, error in db.execute(
                'SELECT c.line, n.text, t.tid, c.ts, c.dur, c.timing, c.outcome, c.result, e.text '
                'FROM syscall c JOIN string n ON n.string_id = c.name_id '
                'LEFT JOIN thread t USING (thread_id) '
                'LEFT JOIN string e ON e.string_id = c.error_id ORDER BY c.line, c.syscall_id')]


def end_of(want, facts):
    """The outcome and timing that the reader's words stand for."""
    _, _, _, _, dur, how, end, ret, err = want
    timing = {b'T': 0, b'derived': 1, b'': 2}[how]
    if end == b'truncated':
        return 4, 2
    if end == b'detached':
        return 5, 2
    if ret == b'unavailable':
        return 6, timing
    if end == b'noreturn':
        return 2, 2
    if err and err.startswith('ERESTART'):
        return 1, timing
    return 0, timing


def compare_calls(want, have, offset, facts, shifts):
    """First difference in words, or None."""
    listed = [h for h in have if h[6] in LISTED]
    truncated = [w for w in want if w[6] == b'truncated']
    listed += [h for h in have if h[6] == 4 and h[0] in [w[0] for w in truncated]]
    key = lambda c: (c[0], c[1], c[4] if c[4] is not None else -1)
    want, listed = sorted(want, key=key), sorted(listed, key=key)
    if len(want) != len(listed):
        return '%d calls, expected %d' % (len(listed), len(want))
    for w, h in zip(want, listed):
        outcome, timing = end_of(w, facts)
        dur, error, result = w[4], w[8], value(w[7]) if w[7] else None
        # ltrace: the reader leaves numbers of errors alone, and what the exec line ends
        if w[1].startswith(b'SYS_') and result is not None and -4096 < result < 0:
            error, result = ERESTART.get(-result) or errno.errorcode[-result], -1
            outcome = 1 if error in ERESTART.values() else outcome
        if outcome == 2 and h[6] == 0 and re.match(b'(SYS_)?exec', w[1]):
            outcome, dur, timing = 0, h[4], h[5]
        where = 'line %d: %s' % (w[0], w[1].decode('latin-1'))
        if (h[0], h[1]) != (w[0], w[1]):
            return '%s: have line %d %s' % (where, h[0], h[1])
        if w[2] is not None and h[2] != w[2]:
            return '%s: tid %s, expected %s' % (where, h[2], w[2])
        if h[6] != outcome:
            return '%s: outcome %d, expected %d' % (where, h[6], outcome)
        if dur is not None and timing == 1 and not shifts and dur < 0:
            dur, timing = None, 2
        if not (shifts and timing == 1) and (h[4], h[5]) != (dur, timing):
            return '%s: duration %s timing %d, expected %s %d' % (where, h[4], h[5], dur, timing)
        if h[8] != error:
            return '%s: error %s, expected %s' % (where, h[8], error)
        if result is not None and result != h[7]:
            return '%s: result %s, expected %s' % (where, h[7], result)
        if w[3] is not None and h[3] is not None and h[3] - offset not in \
                [w[3] + s for s in shifts + [0]]:
            return '%s: time %d, expected %d' % (where, h[3] - offset, w[3])
        if w[3] is not None and h[3] is None and 'no-times' not in facts:
            return '%s: no time, expected %d' % (where, w[3])
    return None


def compare_facts(db, facts):
    meta = dict(db.execute('SELECT key, value FROM source_meta'))
    count = lambda sql: db.execute(sql).fetchone()[0]
    outcomes = dict(db.execute('SELECT outcome, count(*) FROM syscall GROUP BY outcome'))
    truncated = facts['calls'].get('truncated', 0)
    have = {
        'open_at_end': outcomes.get(4, 0) - truncated,
        'open_at_exit': outcomes.get(3, 0) - facts['other'].get('open_dropped_superseded', 0),
        'open_lost': outcomes.get(7, 0) - facts['other'].get('broken_at_end', 0) -
                     facts['other'].get('resumed_bad', 0),
        'signals': {k[7:]: int(v) for k, v in meta.items() if k.startswith('signal ')},
        'exit_codes': {k[12:]: int(v) for k, v in meta.items() if k.startswith('exit status ')},
        'killed': {k[10:]: int(v) for k, v in meta.items() if k.startswith('killed by ')},
        'errno_calls': count('SELECT count(error_id) FROM syscall JOIN string ON string_id = name_id '
                             "WHERE text NOT GLOB 'SYS_*'"),
        'with_T': count('SELECT count(*) FROM syscall WHERE timing = 0'),
        'total_T_ns': count('SELECT coalesce(sum(dur), 0) FROM syscall WHERE timing = 0'),
        'unparsed': count("SELECT coalesce(sum(count), 0) FROM lost "
                          "WHERE what = 'line that is none of the tracer''s'") +
                    int(meta.get('called exec', 0)),
    }
    want = {k: facts.get(k) for k in have}
    want['unparsed'] = facts['other'].get('line_unparsed', 0)
    for k in have:
        if have[k] != want[k]:
            return '%s: %s, expected %s' % (k, have[k], want[k])
    return None


def printed_table(path):
    """What strace -C counted itself: name -> (calls, errors, seconds); {} if there is no table."""
    rows, inside = {}, False
    for line in open(path, 'rb').read().split(b'\n'):
        words = line.decode('latin-1').split()
        if words[:2] == ['%', 'time']:
            inside = True
        elif inside and words and words[-1] == 'total':
            inside = False
        elif inside and len(words) in (5, 6) and re.fullmatch(r'[\d.]+', words[0]):
            errors = int(words[4]) if len(words) == 6 else 0
            rows[words[-1]] = (int(words[3]), errors, float(words[1]))
    return rows


def compare_table(db, path):
    rows = printed_table(path)
    if not rows:
        return None
    # calls that did not come back are not counted there; one that will be restarted is an error
    have = {name: (calls, errors, (total or 0) / 1e9) for name, calls, errors, total in db.execute(
        'SELECT n.text, count(*), count(c.error_id), sum(c.dur) FROM syscall c '
        'JOIN string n ON n.string_id = c.name_id WHERE c.outcome IN (0, 1) GROUP BY 1')}
    timed = db.execute('SELECT count(*) FROM syscall WHERE timing = 0').fetchone()[0]
    how = os.path.join(os.path.dirname(path), 'how.txt')
    timed = timed and os.path.exists(how) and ' -w ' in open(how).read()
    for name in sorted(set(rows) | set(have)):
        if name.startswith('syscall_0x'): # numbers without a name are not in strace's tables
            continue
        want, got = rows.get(name), have.get(name)
        if not want or not got or want[:2] != got[:2]:
            return 'table: %s: %s, strace counted %s' % (name, got, want)
        # each duration is cut to a microsecond; without -w the table has system time
        if timed and not -2e-6 <= want[2] - got[2] <= want[0] * 2e-6 + 2e-6:
            return 'table: %s: %s, strace counted %s' % (name, got, want)
    return None


def perf_trace_calls(path):
    """What perf trace printed the ends of: (tid, name) -> (calls, milliseconds)."""
    line = re.compile(rb' *(?:[\d.]+|\?) \( *([\d.]+)?(?: ms)? *\): .*/(\d+) +(?:\.\.\. \[continued\]: )?'
                      rb'(\w+)\(.*\) +=(?! *\?)')
    calls = {}
    for text in open(path, 'rb').read().split(b'\n'):
        m = line.match(text)
        if m:
            key = int(m[2]), m[3].decode()
            count, ms = calls.get(key, (0, 0.0))
            calls[key] = count + 1, ms + float(m[1] or 0)
    return calls


def compare_perf_trace(db, path):
    want = perf_trace_calls(path)
    have = {(tid, name): (count, (total or 0) / 1e6) for tid, name, count, total in db.execute(
        'SELECT t.tid, n.text, count(*), sum(c.dur) FROM syscall c JOIN thread t USING (thread_id) '
        'JOIN string n ON n.string_id = c.name_id WHERE c.outcome IN (0, 1) GROUP BY 1, 2')}
    for key in sorted(set(want) | set(have)):
        w, h = want.get(key), have.get(key)
        if not w or not h or w[0] != h[0] or abs(w[1] - h[1]) > 1e-6 * w[0]:
            return 'thread %d, %s: %s, perf trace printed %s' % (*key, h, w)
    return None


def plain_copy(path, directory):
    """The log as the reader can read it: inflated."""
    suffix = os.path.splitext(path)[1]
    if suffix not in ('.gz', '.zst'):
        return path
    plain = os.path.join(directory, 'plain')
    with open(plain, 'wb') as out:
        if suffix == '.gz':
            shutil.copyfileobj(gzip.open(path), out)
        else:
            subprocess.run(['zstd', '-dc', path], stdout=out, check=True)
    return plain


def compare(program, oracle, path, directory):
    plain = plain_copy(path, directory)
    case = os.path.join(directory, 'case.db')
    if os.path.exists(case):
        os.unlink(case)
    done = subprocess.run([program, 'import', '-q', '-o', case, path], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    importer = '' if done.returncode else \
        sqlite3.connect(case).execute('SELECT importer FROM source').fetchone()[0]
    if importer == 'perf-trace':
        return compare_perf_trace(sqlite3.connect(case), plain)
    if not oracle:
        if done.returncode and b'holds only a summary' not in done.stdout:
            return done.stdout.decode('utf-8', 'replace')
        return None if done.returncode else compare_table(sqlite3.connect(case), plain)
    pids = oracle_facts(oracle, plain, False)['pid_style']
    by_name = 'bare' not in pids and 'bracket' not in pids and \
        re.search(r'\.\d+$', plain) is not None
    facts = oracle_facts(oracle, plain, by_name)
    if done.returncode:
        # a log without anything to place is refused, in words
        if facts['calls_total'] == 0 and facts['exits'] == 0:
            return None
        return done.stdout.decode('utf-8', 'replace')
    db = sqlite3.connect(case)
    db.text_factory = lambda b: b.decode('utf-8', 'replace')
    offset = db.execute('SELECT clock_offset_ns FROM source').fetchone()[0]
    # The reader keeps the hour that summer time adds or takes; files of -ff -r have no times.
    words = ' '.join('%s %s' % row for row in db.execute('SELECT message, what FROM lost'))
    changed = re.search(r'changed by ([+-]\d+) minutes', words)
    shifts = [-int(changed.group(1)) * 60000000000] if changed else []
    if '-ff -r' in words or len(facts['ts_kind']) > 1:
        facts['no-times'] = True
    want = oracle_calls(oracle, plain, by_name)
    if 'no-times' in facts:
        want = [w[:3] + (None,) + w[4:] for w in want]
    return compare_calls(want, case_calls(db), offset, facts, shifts) or \
        compare_facts(db, facts) or compare_table(db, plain)


def main(program, oracle, *paths):
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        for i, path in enumerate(paths):
            if path.endswith('.zst') and not shutil.which('zstd'):
                print('ok %d - %s # SKIP no zstd' % (i + 1, os.path.basename(path)))
                continue
            difference = compare(program, oracle, path, directory)
            failed += difference is not None
            if difference:
                print('# ' + difference.replace('\n', '\n# '))
            print('%sok %d - %s' % ('not ' if difference else '', i + 1, os.path.basename(path)))
    print('1..%d' % len(paths))
    return failed != 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
