#!/usr/bin/env python3
"""check_facts.py - holds cases made of testdata/perf against what an independent reader found there.

    check_facts.py PROGRAM [CASE...]

Imports testdata/perf/CASE/perf.data, asks the case with SQL, and compares with the key=value lines of
facts.txt. Keys that only speak of the file (records.*) are not looked at. Prints TAP.
"""
import os
import sqlite3
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PERF = os.path.join(TOP, 'testdata', 'perf')

# fact -> SQL; the bound value is what stands after the first dot of the key, if anything does
ONE = {
    'samples': 'SELECT count(*) FROM sample',
    'samples_without_time': 'SELECT count(*) FROM sample WHERE ts IS NULL',
    'first_sample_ts': 'SELECT min(ts - clock_offset_ns) FROM sample JOIN event USING (event_id) '
                       'JOIN source USING (source_id)',
    'last_sample_ts': 'SELECT max(ts - clock_offset_ns) FROM sample JOIN event USING (event_id) '
                      'JOIN source USING (source_id)',
    'sample_cpus': "SELECT ifnull(group_concat(cpu, ','), 'none') FROM "
                   '(SELECT DISTINCT cpu FROM sample WHERE cpu >= 0 ORDER BY cpu)',
    'max_depth': 'SELECT ifnull(max(depth), 0) FROM sample JOIN stack USING (stack_id)',
    'hostname': 'SELECT name FROM host',
    'os_release': 'SELECT os_release FROM host',
    'arch': 'SELECT arch FROM host',
    'recorder_version': "SELECT value FROM source_meta WHERE key = 'recorder_version'",
    'clock_offset': 'SELECT clock_offset_ns FROM source',
    'clock': 'SELECT clock_name FROM source',
    'lost_in_all': "SELECT ifnull(sum(count), 0) FROM lost WHERE kind = 'lost' "
                   "AND unit IN ('records', 'samples')",
}
BY_EVENT = {
    'samples': 'SELECT count(*) FROM sample JOIN event USING (event_id) WHERE name = ?',
    'period': 'SELECT sum(period) FROM sample JOIN event USING (event_id) WHERE name = ?',
}
EXTRA = {'addr': 'address', 'phys': 'physical_address', 'weight': 'weight', 'data_src': 'data_source',
         'data_page': 'data_page_size', 'code_page': 'code_page_size'}


def answer(db, key):
    """What the case says to this fact; None when it is not one that a case can be asked for."""
    def ask(sql, *values):
        return db.execute(sql, values).fetchone()[0]

    if key in ONE:
        return ask(ONE[key])
    kind, _, rest = key.partition('.')
    if kind in BY_EVENT:
        return ask(BY_EVENT[kind], rest)
    if kind == 'sum':
        event, field = rest.rsplit('.', 1)
        return ask('SELECT sum(json_extract(fields, ?)) FROM sample JOIN payload USING (payload_id) '
                   'JOIN event ON event.event_id = sample.event_id WHERE name = ?',
                   f'$.{field}', event)
    if kind == 'prev_state':
        return ask("SELECT count(*) FROM sample JOIN payload USING (payload_id) "
                   "WHERE json_extract(fields, '$.prev_state') = ?", int(rest, 16))
    for prefix, function in (('samples_with_', 'count(%s)'), ('distinct_', 'count(DISTINCT %s)')):
        if key.startswith(prefix) and key[len(prefix):] in EXTRA:
            return ask('SELECT ' + function % EXTRA[key[len(prefix):]] +
                       ' FROM sample JOIN sample_extra USING (extra_id)')
        if key == prefix + 'cgroup':
            return ask('SELECT ' + function % 'cgroup_id' + ' FROM sample')
    return None


def parse_fact(line):
    """Names of events may hold '=': then the last one counts."""
    by_event = line.startswith(('samples.', 'period.', 'sum.'))
    return (line.rstrip('\n').rsplit if by_event else line.rstrip('\n').split)('=', 1)


def check(program, case, folder):
    path = os.path.join(PERF, case)
    with open(os.path.join(path, 'facts.txt'), encoding='utf-8', errors='surrogateescape') as file:
        facts = dict(parse_fact(line) for line in file if '=' in line)
    if facts.get('clock') == 'realtime' or facts.get('samples') == '0':
        # Unix time as it stands, or no time that could be mapped.
        facts.pop('clock_offset', None)
    if facts.get('samples') == '0':
        facts.pop('clock', None)
    name = os.path.join(folder, 'case.db')
    if os.path.exists(name):
        os.unlink(name)
    done = subprocess.run([program, 'import', '-q', '--no-symbols', '-o', name,
                           os.path.join(path, 'perf.data')], stdin=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode:
        return [f'import ended with {done.returncode}: {done.stderr.decode(errors="replace")[-2000:]}']
    db = sqlite3.connect(name)
    wrong = []
    for key, expected in facts.items():
        found = answer(db, key)
        if found is None and (key in ONE or key.partition('.')[0] in BY_EVENT):
            found = 'nothing'
        if found is not None and str(found) != expected:
            wrong.append(f'{key}: expected {expected}, found {found}')
    found = db.execute('PRAGMA integrity_check').fetchone()[0]
    if found != 'ok':
        wrong.append(f'integrity_check: {found}')
    found = db.execute('PRAGMA foreign_key_check').fetchall()
    if found:
        wrong.append(f'foreign_key_check: {len(found)} rows, the first {found[0]}')
    db.close()
    return wrong


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program = os.path.abspath(sys.argv[1])
    cases = sys.argv[2:] or sorted(os.listdir(PERF) if os.path.isdir(PERF) else [])
    cases = [case for case in cases if os.path.exists(os.path.join(PERF, case, 'facts.txt'))]
    if sqlite3.sqlite_version_info < (3, 37):
        print('ok - facts # SKIP python3 has an sqlite that knows no STRICT tables')
        return
    if not cases:
        print('ok - facts # SKIP there are none')
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            wrong = check(program, case, folder)
            for line in wrong:
                print(f'| {line}')
            print(f'{"not ok" if wrong else "ok"} - perf/{case} facts', flush=True)


main()
