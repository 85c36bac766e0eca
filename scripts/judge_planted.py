#!/usr/bin/env python3
"""judge_planted.py [--cases] PROGRAM FOLDER... - are planted causes found? Of cases of record_planted.sh.

Imports each accepted FOLDER/case into a new case file, asks `steps`, `explain` and `thp`, and holds the
answers against what was planted. Prints Markdown: a row for each kind with what was found how often, and
with --cases one for each case, too. The status is 1 when fewer than 95 % of the answers are right, or
when huge pages are confirmed where they are not the cause.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile
import time

# What explain may name first, and what thp must say.
EXPECTED = {
    'compaction': ({'compaction'}, {'confirmed'}),
    'khugepaged': ({'mmap_lock'}, {'confirmed'}),
    'lock': ({'futex'}, {'not supported'}),
    'storage': ({'storage'}, {'not supported'}),
    'stolen': ({'cpu_other', 'cpu_family'}, {'not supported'}),
    'workers': ({'cpu_own'}, {'not supported'}),
    'reclaim': ({'direct_reclaim'}, {'not supported'}),
    'purge': ({'memory_call', 'page_fault'}, {'not supported'}),
    'nothing': ({'no slow steps'}, {'no slow steps'}),
    'harmless': ({'no slow steps'}, {'no slow steps'}),
}
STEP_TOLERANCE = 2
MIN_RIGHT = 0.95
NOTHING = 3  # exit status: nothing to answer from

Answer = collections.namedtuple('Answer', 'kind name steps cause verdict seconds')


def ask(program, command, case):
    """The document of a command; None where there is nothing to answer from; raises when it fails."""
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


def episode(document, truth):
    """'found', 'missed', 'elsewhere' or 'false alarm': the slow steps of the profiler's series."""
    raised = [row for row in document['episodes'] if row['series'] == 1 and
              row['kind'] in ('transient', 'shift', 'ongoing') and row['confidence'] != 'low']
    if not truth['slow']:
        return 'false alarm' if raised else 'none'
    # the step of the checkpoint may belong to the episode
    first, last = truth['first_slow_step'], truth['last_slow_step']
    for row in raised:
        if first - 1 - STEP_TOLERANCE <= row['first_step'] <= first + STEP_TOLERANCE and \
                last - STEP_TOLERANCE <= row['last_step'] <= last + 1 + STEP_TOLERANCE:
            return 'found'
    return 'elsewhere' if raised else 'missed'


def judge(program, folder, scratch):
    with open(os.path.join(folder, 'job/truth.json'), encoding='utf-8') as file:
        truth = json.load(file)
    case = os.path.join(scratch, 'case.db')
    begin = time.monotonic()
    subprocess.run([program, 'import', '-o', case, os.path.join(folder, 'case')], check=True,
                   stderr=subprocess.DEVNULL)
    try:
        steps = episode(ask(program, 'steps', case), truth)
        document = ask(program, 'explain', case)
        cause = first_row(document, 'causes').get('cause', 'none') if document else 'no slow steps'
        document = ask(program, 'thp', case)
        verdict = first_row(document, 'verdict').get('verdict', 'none') if document else 'no slow steps'
    finally:
        os.remove(case)
    return Answer(truth['kind'], os.path.basename(os.path.normpath(folder)), steps, cause, verdict,
                  time.monotonic() - begin)


def is_right(answer):
    causes, verdicts = EXPECTED[answer.kind]
    return answer.steps in ('found', 'none'), answer.cause in causes, answer.verdict in verdicts


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
        print(f'| {a.name} | {a.steps} | {a.cause} | {a.verdict} | {"yes" if all(is_right(a)) else "**no**"} '
              f'| {a.seconds:.1f} |')


def main():
    arguments = sys.argv[1:]
    with_cases = '--cases' in arguments
    arguments = [argument for argument in arguments if argument != '--cases']
    if len(arguments) < 2:
        sys.exit(__doc__)
    answers = []
    with tempfile.TemporaryDirectory() as scratch:
        for folder in arguments[1:]:
            try:
                with open(os.path.join(folder, 'verdict.txt'), encoding='utf-8') as file:
                    if ': accepted: ' not in file.read():
                        print(f'{folder}: not accepted, not judged', file=sys.stderr)
                        continue
                answers.append(judge(arguments[0], folder, scratch))
            except (OSError, RuntimeError, subprocess.CalledProcessError) as trouble:
                sys.exit(f'{folder}: {trouble}')
    print_kinds(answers)
    if with_cases:
        print_cases(answers)
    right = [sum(column) for column in zip(*(is_right(answer) for answer in answers))]
    confirmed = [a.name for a in answers if a.verdict == 'confirmed' and 'confirmed' not in EXPECTED[a.kind][1]]
    print(f'\n{len(answers)} cases: right are {right[0]} of the slow steps, {right[1]} of the first causes, '
          f'{right[2]} of the verdicts; {len(confirmed)} falsely confirmed.')
    return int(bool(confirmed) or min(right) < MIN_RIGHT * len(answers))


if __name__ == '__main__':
    sys.exit(main())
