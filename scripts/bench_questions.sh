#!/bin/bash
# bench_questions.sh PROGRAM CASE [OUTPUT] - measures questions about a case that enlarge_case.py makes
# of CASE, with BENCH_ROWS (10000000) rows. Prints a markdown table, measured as bench_measure.sh says.
set -u
program=$(realpath "${1:?usage: bench_questions.sh PROGRAM CASE [OUTPUT]}") || exit 2
case=$(realpath "${2:?usage: bench_questions.sh PROGRAM CASE [OUTPUT]}") || exit 2
cd "$(dirname "$0")/.." || exit 2
out=${3:-$(dirname "$program")/bench}
export LC_ALL=C
mkdir -p "$out"
out=$(realpath "$out")

. scripts/bench_measure.sh

large=$out/large.db
rm -f "$large"
rows=$(python3 scripts/enlarge_case.py "$case" "$large" "${BENCH_ROWS:-10000000}") || exit 1
self=$(q "$program") data=$(q "$large")
for command in explain thp steps; do
	job "$command" 'traceloom' "$self $command $data"
done
job 'collapse --offcpu --steps slow --diff good' 'traceloom' \
	"$self collapse -q --offcpu --steps slow --diff good $data"
measure
{
	printf '%s; median of %s runs; a case of %s MB: %s.\n\n' "$(machine)" "$runs" \
		"$(megabytes "$large")" "$rows"
	report
} | tee "$out/questions.md"
rm -f "$large"
