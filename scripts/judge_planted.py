#!/usr/bin/env python3
"""judge_planted.py [--cases | --tap] PROGRAM FOLDER... - are planted causes found? Of cases of record_planted.sh.

Imports each accepted FOLDER/case into a new case file, asks `steps`, `explain` and `thp`, and holds the
answers against what was planted. Prints Markdown: a row for each kind with what was found how often, and
with --cases one for each case, too; with --tap a test for each case instead. The status is 1 when fewer than 95 % of the answers are right, or
when huge pages are confirmed where they are not the cause.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile
import time

# What explain may name first, and what thp must say. Where nothing is planted, explain may tell of the
# odd step that the machine made slow, but not of memory management.
NO_CAUSE = {'no slow steps', 'user_code', 'cpu_other', 'cpu_kernel', 'cpu_unseen', 'interrupt', 'kernel', 'unknown'}
EXPECTED = {
    # what a huge page costs: compacting for it, and zeroing it, which takes long where the host must find
    # the memory first; which of the two is more differs from run to run
    'compaction': ({'compaction', 'huge_page_fault'}, {'confirmed'}),
    'khugepaged': ({'mmap_lock'}, {'confirmed'}),
    'lock': ({'futex'}, {'not supported'}),
    'storage': ({'storage'}, {'not supported'}),
    'stolen': ({'cpu_other'}, {'not supported'}),
    'workers': ({'cpu_own'}, {'not supported'}),
    'reclaim': ({'direct_reclaim'}, {'not supported'}),
    'purge': ({'memory_call', 'page_fault'}, {'not supported'}),
    'nothing': (NO_CAUSE, {'no slow steps', 'not supported'}),
    'harmless': (NO_CAUSE, {'no slow steps', 'not supported'}),
}
STEP_TOLERANCE = 2
MIN_RIGHT = 0.95
NOTHING = 3  # exit status: nothing to answer from

Answer = collections.namedtuple('Answer', 'kind name steps late cause verdict seconds')


def has(program, command):
    return subprocess.run([program, 'help', command], capture_output=True, check=False).returncode == 0


def ask(program, command, case):
    """The document of a command; None where there is nothing to answer from; raises when it fails."""
    if not has(program, command):
        raise RuntimeError(f'{program} has no command {command}')
    done = subprocess.run([program, command, '--json', case], capture_output=True, text=True, check=False)
    if done.returncode == NOTHING:
        return None
    if done.returncode != 0:
        raise RuntimeError(f'{command}: {done.stderr.strip()}')
    return json.loads(done.stdout)


def first_row(document, table):
    """A table of one row is an object, of more a list."""
    rows = document.get(table) or []
    return rows if isinstance(rows, dict) else rows[0] if rows else {}


def answer(program, command, case, table, column):
    document = ask(program, command, case)
    return first_row(document, table).get(column, 'none') if document else 'no slow steps'


def episode(document, truth):
    """'found', 'missed', 'elsewhere' or 'false alarm': the slow steps of the profiler's series."""
    raised = [row for row in document['episodes'] if row['series'] == 1 and
              row['kind'] in ('transient', 'shift', 'ongoing') and row['confidence'] != 'low']
    if not truth['slow']:
        return 'false alarm' if raised else 'none'
    if not raised:
        return 'missed'
    costly = max(raised, key=lambda row: row['excess_ns'])
    slow = [row for row in document['phases'] if row['series'] == 1 and row['kind'] in ('regression', 'recovery') and
            costly['first_step'] <= row['first_step'] and row['last_step'] <= costly['last_step']]
    if not slow:
        return 'elsewhere'
    # The checkpoint's step may belong to the episode, and so may the one in which all is put back. What
    # fades is a regression down to half of the peak, then a recovery: the cause ends in between.
    fades = [row['last_step'] for row in slow if row['kind'] == 'regression'][-1:] or [slow[0]['first_step']]
    begins = truth['checkpoint_step'] - STEP_TOLERANCE <= slow[0]['first_step'] <= \
        truth['first_slow_step'] + STEP_TOLERANCE
    ends = fades[0] <= truth['last_slow_step'] + 1 + STEP_TOLERANCE and \
        truth['last_slow_step'] - STEP_TOLERANCE <= slow[-1]['last_step']
    return 'found' if begins and ends else 'elsewhere'


def late_rank(document, truth):
    """'right', 'wrong' or 'not told': of several ranks the cause is in rank 0, and the others wait; None: there is one."""
    if truth.get('ranks', 1) < 2:
        return None
    rows = [row for row in document['rank_steps'] if truth['first_slow_step'] <= row['step'] <= truth['last_slow_step']]
    told = [row['late_rank'] for row in rows if row['late_rank'] is not None]
    if not truth['slow'] or len(told) < len(rows) / 2:
        return 'not told'
    return 'right' if told.count(0) > 0.8 * len(told) else 'wrong'


def names_beside(folder):
    """The cases of testdata were recorded elsewhere: what names their addresses lies beside them."""
    top = os.path.dirname(os.path.normpath(folder))
    if not os.path.isdir(top + '/buildid'):
        return []
    return ['--buildid-dir', top + '/buildid']


def judge(program, folder, scratch):
    with open(os.path.join(folder, 'job/truth.json'), encoding='utf-8') as file:
        truth = json.load(file)
    case = os.path.join(scratch, 'case.db')
    begin = time.monotonic()
    subprocess.run([program, 'import', '-o', case, *names_beside(folder), os.path.join(folder, 'case')],
                   check=True, stderr=subprocess.DEVNULL)
    try:
        document = ask(program, 'steps', case)
        steps, late = episode(document, truth), late_rank(document, truth)
        cause = answer(program, 'explain', case, 'causes', 'cause')
        verdict = answer(program, 'thp', case, 'verdict', 'verdict')
    finally:
        os.remove(case)
    return Answer(truth['kind'], os.path.basename(os.path.normpath(folder)), steps, late, cause, verdict,
                  time.monotonic() - begin)


def is_right(answer):
    causes, verdicts = EXPECTED[answer.kind]
    steps = answer.steps in ('found', 'none') and answer.late in (None, 'right')
    return steps, answer.cause in causes, answer.verdict in verdicts


def counted(values, right):
    """'compaction 3, **futex 1**': wrong ones are bold"""
    counts = collections.Counter(values).most_common()
    return ', '.join(f'{value} {count}' if value in right else f'**{value} {count}**'
                     for value, count in counts)


def print_kinds(answers):
    print('| planted | cases | slow steps | first cause by `explain` | `thp` says |')
    print('|---|---|---|---|---|')
    for kind, (causes, verdicts) in EXPECTED.items():
        of_kind = [answer for answer in answers if answer.kind == kind]
        if of_kind:
            print(f'| {kind} | {len(of_kind)} '
                  f'| {counted([a.steps for a in of_kind], {"found", "none"})} '
                  f'| {counted([a.cause for a in of_kind], causes)} '
                  f'| {counted([a.verdict for a in of_kind], verdicts)} |')


def print_cases(answers):
    print('\n| case | slow steps | first cause | thp | right | seconds |')
    print('|---|---|---|---|---|---|')
    for a in answers:
        print(f'| {a.name} | {a.steps}{f", late rank {a.late}" if a.late else ""} | {a.cause} | {a.verdict} | {"yes" if all(is_right(a)) else "**no**"} '
              f'| {a.seconds:.1f} |')


def print_tap(answers):
    for a in answers:
        print(f'# slow steps {a.steps}{f", late rank {a.late}" if a.late else ""}, first cause {a.cause}, thp {a.verdict}')
        print(f'{"ok" if all(is_right(a)) else "not ok"} - planted: {a.name}')


def is_accepted(folder):
    """Whether it was proven that what was planted was the cause; says why not."""
    if not os.path.exists(os.path.join(folder, 'job/truth.json')):
        print(f'{folder}: nothing is known to be planted, not judged', file=sys.stderr)
        return False
    with open(os.path.join(folder, 'verdict.txt'), encoding='utf-8') as file:
        if ': accepted: ' in file.read():
            return True
    print(f'{folder}: not accepted, not judged', file=sys.stderr)
    return False


def main():
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith('--')]
    if len(arguments) < 2:
        sys.exit(__doc__)
    answers = []
    with tempfile.TemporaryDirectory() as scratch:
        for folder in arguments[1:]:
            try:
                if is_accepted(folder):
                    answers.append(judge(arguments[0], folder, scratch))
            except (OSError, RuntimeError, subprocess.CalledProcessError) as trouble:
                sys.exit(f'{folder}: {trouble}')
    if not answers:
        sys.exit('no case was judged')
    if '--tap' in sys.argv:
        print_tap(answers)
        return 0
    print_kinds(answers)
    if '--cases' in sys.argv:
        print_cases(answers)
    right = [sum(column) for column in zip(*(is_right(answer) for answer in answers))]
    confirmed = [a.name for a in answers if a.verdict == 'confirmed' and 'confirmed' not in EXPECTED[a.kind][1]]
    print(f'\n{len(answers)} cases: right are {right[0]} of the slow steps, {right[1]} of the first causes, '
          f'{right[2]} of the verdicts; {len(confirmed)} falsely confirmed.')
    return int(bool(confirmed) or min(right) < MIN_RIGHT * len(answers))


if __name__ == '__main__':
    sys.exit(main())
