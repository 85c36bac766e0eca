#!/usr/bin/env python3
"""enlarge_case.py CASE OUTPUT ROWS - repeats what a case holds, one time after another, until it has
about ROWS rows of what was recorded. For measuring questions about large cases; prints how many times
and how many rows.
"""
import shutil
import sqlite3
import sys

# Columns that are times, by table.
TIMES = {
    'sample': ('ts',), 'sched_switch': ('ts',), 'sched_wakeup': ('ts',), 'thread_state': ('ts',),
    'syscall': ('ts',), 'slice': ('ts',), 'mm_activity': ('ts',), 'counter': ('ts',), 'step': ('ts',),
    'sample_block': ('base_ts', 'first_ts', 'last_ts'), 'call_block': ('base_ts', 'first_ts', 'last_ts'),
}
KEYS = {'sample_id', 'syscall_id', 'slice_id', 'step_id', 'episode_id'}
PAUSE_NS = 1000000


def repeat(db, table, times, moved):
    """Adds the rows of `table` times - 1 times; `moved`: what is added to a column each time."""
    columns = [row[1] for row in db.execute(f'PRAGMA table_info({table})') if row[1] not in KEYS]
    values = ', '.join(f'{c} + {moved[c]} * ?1' if c in moved else c for c in columns)
    last = db.execute(f'SELECT max(rowid) FROM {table}').fetchone()[0] or 0
    for number in range(1, times):
        db.execute(f'INSERT INTO {table}({", ".join(columns)}) SELECT {values} FROM {table} WHERE rowid <= {last}',
                   (number,))


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    shutil.copy(sys.argv[1], sys.argv[2])
    db = sqlite3.connect(sys.argv[2])
    db.execute('PRAGMA synchronous = OFF')
    once = sum(db.execute(f'SELECT count(*) FROM {table}').fetchone()[0] for table in TIMES)
    times = max(1, round(int(sys.argv[3]) / once))
    first, last = db.execute('SELECT min(first_ts), max(last_ts) FROM source').fetchone()
    span = last - first + PAUSE_NS
    steps = db.execute('SELECT coalesce(max(position) + 1, 0) FROM step').fetchone()[0]
    indexes = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL").fetchall()
    for name, _ in indexes:
        db.execute(f'DROP INDEX {name}')
    for table, columns in TIMES.items():
        moved = {column: span for column in columns}
        if table == 'step':
            moved.update(position=steps, number=steps)
        repeat(db, table, times, moved)
    repeat(db, 'episode', times, {'first_position': steps, 'last_position': steps})
    db.execute('UPDATE source SET last_ts = last_ts + ?', (span * (times - 1),))
    for _, sql in indexes:
        db.execute(sql)
    db.execute('ANALYZE')
    db.commit()
    print(f'{times} times {once} rows are {times * once}')


if __name__ == '__main__':
    main()
