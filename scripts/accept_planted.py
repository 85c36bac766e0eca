#!/usr/bin/env python3
"""accept_planted.py FOLDER... - was the planted cause really the cause? Of cases of record_planted.sh.

Reads what the job measured about itself and what the kernel counted (job/proof.csv, and control/proof.csv
of the control run), never what was recorded for traceloom. Prints a line a case, "accepted" or
"rejected" with the figures; the status is 1 when one was rejected.
"""
import csv
import json
import sys

# Which of the job's own figures must hold the excess of the slow steps, in nanoseconds.
CARRIER = {'compaction': ['memory_ns'], 'khugepaged': ['memory_ns'], 'lock': ['lock_ns'],
           'storage': ['storage_ns'], 'stolen': ['run_delay_ns'], 'workers': ['run_delay_ns'],
           'reclaim': ['memory_ns', 'copy_ns'], 'purge': ['purge_ns']}
# Counters that must have counted in slow steps, as a sum, at least so much more per step than in good ones.
COUNTED = {'compaction': [('compact_stall', 4)], 'khugepaged': [('thp_collapse_alloc', 4)],
           'lock': [('voluntary', 2)], 'stolen': [('involuntary', 1)],
           'workers': [('involuntary', 1)], 'purge': [('small_faults', 500)],
           'reclaim': [('allocstall', 10)]}
# Counters that must not have counted: huge pages had nothing to do with these.
SILENT = ['compact_stall', 'thp_fault_alloc', 'thp_collapse_alloc']
MIN_EXCESS = 0.15   # of a good step
MAX_HARMLESS = 0.05
MAX_RESTLESS = 0.05 # of a good step, at its 80 % quantile: what steps sees as slow
MIN_CARRIED = 0.5   # of the excess, in what the cause acts on
MAX_CONTROL = 0.34  # of the excess, in the control run


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def mean(values):
    return sum(values) / len(values)


class Run:
    """One run: its steps in good times and in those in which the cause was at work."""

    def __init__(self, folder, truth):
        with open(folder + '/proof.csv', encoding='ascii') as file:
            rows = [{key: int(value) for key, value in row.items()} for row in csv.DictReader(file)]
        first, last = truth['first_slow_step'], truth['last_slow_step']
        self.slow = [row for row in rows if first <= row['step'] <= last]
        # the first steps warm up, the checkpoint's and the one after the cause differ by themselves
        self.good = [row for row in rows if 3 <= row['step'] < first - 1 or row['step'] > last + 1]
        self.before = [row for row in rows if 3 <= row['step'] < first - 1]
        self.good_ns = median([row['duration_ns'] for row in self.good])
        self.slow_ns = mean([row['duration_ns'] for row in self.slow])
        self.excess_ns = self.slow_ns - mean([row['duration_ns'] for row in self.good])

    def more(self, key):
        return mean([row[key] for row in self.slow]) - mean([row[key] for row in self.good])

    def total(self, key):
        return sum(row[key] for row in self.slow)


def judge(folder):
    """The figures, and why the case is rejected (nothing when it is accepted)."""
    with open(folder + '/job/truth.json', encoding='utf-8') as file:
        truth = json.load(file)
    kind, run, control = truth['kind'], Run(folder + '/job', truth), Run(folder + '/control', truth)
    ratio, control_ratio = run.excess_ns / run.good_ns, control.excess_ns / control.good_ns
    figures = [f'good {run.good_ns / 1e6:.1f} ms', f'slow {run.slow_ns / 1e6:.1f} ms ({ratio:+.0%})',
               f'control {control_ratio:+.0%}']
    against = []
    if kind in CARRIER:
        carried = sum(run.more(key) for key in CARRIER[kind]) / run.excess_ns if run.excess_ns else 0
        figures.append(f'{"+".join(CARRIER[kind])} {carried:.0%} of the excess')
        if ratio < MIN_EXCESS:
            against.append(f'slow steps are not slow: {ratio:+.1%}')
        elif carried < MIN_CARRIED:
            against.append('the cause does not carry the excess')
        if control.excess_ns > MAX_CONTROL * run.excess_ns:
            against.append('the control run is slow, too')
        for key, least in COUNTED.get(kind, []):
            figures.append(f'{key} {run.more(key):+.0f} a step')
            if run.more(key) < least:
                against.append(f'{key} did not count')
    else:
        ratio = median([row['duration_ns'] for row in run.slow]) / run.good_ns - 1
        if abs(ratio) > MAX_HARMLESS:
            against.append(f'steps differ by {ratio:+.1%}')
        if kind == 'harmless':
            for key in 'thp_fault_alloc', 'thp_collapse_alloc':
                figures.append(f'{key} {run.total(key)}')
                if run.total(key) < len(run.slow):
                    against.append(f'{key} did not count')
    if kind not in ('compaction', 'khugepaged', 'harmless'):
        # who reclaims for others also compacts for others, but not for huge pages
        for key in SILENT[kind == 'reclaim':]:
            if run.total(key) > len(run.slow) / 2:
                against.append(f'{key} counted {run.total(key)}, which is another cause')
    # where nothing is planted to make steps slow, all of them are good ones
    durations = sorted(row['duration_ns'] for row in (run.good if kind in CARRIER else run.good + run.slow))
    restless = durations[len(durations) * 4 // 5] / run.good_ns - 1
    # a step of several ranks is as slow as the slowest of them
    if restless > MAX_RESTLESS * truth.get('ranks', 1) + (0.08 if kind == 'storage' else 0):
        against.append(f'the machine was restless: a fifth of the good steps took {restless:+.0%} or more')
    delay = mean([row['run_delay_ns'] for row in run.good]) / run.good_ns
    if delay > (0.25 if kind == 'storage' else 0.1): # after each wait for storage it waits for its turn
        against.append(f'the machine was busy: {delay:.0%} of a good step waited for a processor')
    return figures, against


def main():
    status = 0
    for folder in sys.argv[1:]:
        figures, against = judge(folder)
        name = folder.rstrip('/').rsplit('/', 1)[-1]
        print(f'{name}: {"rejected: " + "; ".join(against) if against else "accepted"}:', ', '.join(figures))
        status |= bool(against)
    return status


if __name__ == '__main__':
    sys.exit(main())
