#!/usr/bin/env python3
"""labelled_series.py - change points of the C code on public series that people have labelled.

usage: labelled_series.py --driver build/libanalysis/stats_compare_test --tcpd DIRECTORY
                          [--program build/traceloom]

With --program a markdown table, which has what `steps` says of the series as step times, too.

DIRECTORY is a checkout of the Turing Change Point Dataset (annotations.json, datasets/): five people
marked the changes of each series. Printed are F1 with a margin of 5 and covering, defined as in that
data set's benchmark (van den Burg and Williams, arXiv 2003.06222), beside those of "no change at
all". quality_control has negative values: they are taken as logarithms of durations.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import tempfile

SERIES = ["quality_control_%d" % i for i in range(1, 6)] + ["nile", "well_log"]
MARGIN = 5


def matches(labels, found):
    """labels that have a change point of their own within the margin"""
    left, count = set(found), 0
    for label in sorted(labels):
        near = [(abs(label - f), f) for f in left if abs(label - f) <= MARGIN]
        if near:
            count += 1
            left.remove(min(near)[1])
    return count


def f1(people, found):
    found = set(found) | {0}
    people = [set(p) | {0} for p in people]
    precision = matches(set().union(*people), found) / len(found)
    recall = sum(matches(p, found) / len(p) for p in people) / len(people)
    return 2 * precision * recall / (precision + recall)


def segments(changes, n):
    starts = sorted(set(changes) | {0})
    return list(zip(starts, starts[1:] + [n]))


def jaccard(a, b):
    both = max(0, min(a[1], b[1]) - max(a[0], b[0]))
    return both / (a[1] - a[0] + b[1] - b[0] - both)


def covering(people, found, n):
    total = 0.0
    for person in people:
        for s in segments(person, n):
            total += (s[1] - s[0]) / n * max(jaccard(s, f) for f in segments(found, n))
    return total / len(people)


def durations(name, directory):
    with open(os.path.join(directory, "datasets", name, name + ".json")) as f:
        values = [v for v in json.load(f)["series"][0]["raw"] if v is not None]
    return [math.exp(v) for v in values] if min(values) <= 0 else values


def change_points(driver, x):
    question = "steps %d %s\n" % (len(x), " ".join(repr(float(v)) for v in x))
    answer = subprocess.run([driver, "--serve"], input=question, capture_output=True, text=True,
                            check=True).stdout
    return [s[0] for s in json.loads(answer)["segments"]][1:]


def verdict(program, x):
    """The series as a table of steps whose median is one second."""
    scale = 1e9 / statistics.median(x)
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "steps.csv")
        with open(path, "w") as f:
            f.write("step,duration_ns\n")
            f.writelines("%d,%d\n" % (i, max(1, round(v * scale))) for i, v in enumerate(x))
        answer = subprocess.run([program, "steps", "-q", "--json", path], capture_output=True,
                                text=True, check=True).stdout
    return json.loads(answer)["series"][0]["verdict"]


def print_row(name, n, scores, found, says):
    if says is None:
        print("%-18s %4d %5.2f %8.3f %8.2f  %s" % (name, n, *scores, found))
    else:
        print("| %s | %d | %.2f | %.2f | %.2f | %s | %s |" % (
            name, n, *scores, " ".join(map(str, found)) or "none", says))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--driver", required=True)
    parser.add_argument("--tcpd", required=True)
    parser.add_argument("--program")
    args = parser.parse_args()
    with open(os.path.join(args.tcpd, "annotations.json")) as f:
        annotations = json.load(f)
    if args.program:
        print("| series | points | F1 | covering | F1, no change | changes at | `steps` says |")
        print("|---|---:|---:|---:|---:|---|---|")
    else:
        print("%-18s %4s %5s %8s %8s  %s" % ("series", "n", "F1", "covering", "F1 none", "changes"))
    for name in SERIES:
        x = durations(name, args.tcpd)
        people = list(annotations[name].values())
        found = change_points(args.driver, x)
        print_row(name, len(x), (f1(people, found), covering(people, found, len(x)), f1(people, [])),
                  found, verdict(args.program, x) if args.program else None)


if __name__ == "__main__":
    main()
