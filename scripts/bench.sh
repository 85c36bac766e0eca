#!/bin/bash
# bench.sh PROGRAM [OUTPUT] - measures the program beside the tools that people use for the same
# job, on recordings it makes itself. Prints markdown tables; update_readme.sh puts them in README.md.
#
# Measured as bench_measure.sh says. Peers are measured when they are there: perf,
# stackcollapse-perf.pl in $FLAMEGRAPH_DIR, inferno-collapse-perf, hotspot-perfparser. BENCH_SECONDS
# (30) of recording; BENCH_SAMPLES_MAX (10000000) of the series.
# BENCH_RECORDING names a recording to take instead of a new one.
set -u
program=$(realpath "${1:?usage: bench.sh PROGRAM [OUTPUT]}") || exit 2
[ -x "$program" ] || { echo "bench.sh: $program is no program" >&2; exit 2; }
cd "$(dirname "$0")/.." || exit 2
out=${2:-$(dirname "$program")/bench}
seconds=${BENCH_SECONDS:-30}
samples_max=${BENCH_SAMPLES_MAX:-10000000}
export LC_ALL=C
mkdir -p "$out"
out=$(realpath "$out")

. scripts/bench_measure.sh

for tool in /usr/bin/time awk gcc; do
	have $tool || { echo "bench.sh: $tool is missing" >&2; exit 2; }
done

# ---- recordings -------------------------------------------------------------------------------------
# No -F on the command line: it would make the tracepoint a sampled one, too.
record() {
	have perf || { echo "bench.sh: perf is missing" >&2; return 1; }
	gcc -std=c11 -D_GNU_SOURCE -O2 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread \
		-o "$out/bench_load" scripts/bench_load.c || return 1
	"$out/bench_load" 1
	echo "recording for $seconds s" >&2
	perf record -q -k CLOCK_MONOTONIC -m 4096 -g -e cpu-clock/freq=5000/ "$@" -- \
		"$out/bench_load" "$seconds" >&2
}

recording=${BENCH_RECORDING:-$out/mixed.data}
if [ -z "${BENCH_RECORDING:-}" ] && [ ! -s "$recording" ]; then
	record -e sched:sched_switch -o "$recording" || exit 1
fi
recording=$(realpath "$recording")

data=$(q "$recording") self=$(q "$program")
fold='fold, names included'
import='import into a case'
job "$fold" 'traceloom collapse' "$self collapse -q $data"
if [ -z "${BENCH_RECORDING:-}" ]; then
	# perf folds all events at once; this is the whole work twice.
	job "$fold" 'traceloom collapse, once for each of the two events' \
		"$self collapse -q $data && $self collapse -q -e sched:sched_switch $data"
fi
if have perf; then
	job "$fold" 'perf report -g folded' \
		"perf report -i $data --stdio --no-children -g folded,0,caller,count --sort comm"
	collapse=${FLAMEGRAPH_DIR:-/usr/share/FlameGraph}/stackcollapse-perf.pl
	if [ -f "$collapse" ]; then
		job "$fold" 'perf script, stackcollapse-perf.pl' \
			"perf script --no-inline -i $data | perl $(q "$collapse")"
	fi
	if have inferno-collapse-perf; then
		job "$fold" 'perf script, inferno' \
			"perf script --no-inline -i $data | inferno-collapse-perf"
	fi
fi
job "$import" 'traceloom import' "$self import -q -o $(q "$out/scratch.db") $data"
for parser in hotspot-perfparser /usr/lib/x86_64-linux-gnu/libexec/hotspot-perfparser; do
	if have $parser; then
		job "$import" 'hotspot-perfparser' "$parser --input $data --output $(q "$out/scratch.bin")"
		break
	fi
done
measure

{
	samples=$("$program" collapse -q --weight count "$recording" 2>/dev/null |
		awk '{ sum += $NF } END { print sum + 0 }')
	printf '%s, %s; median of %s runs; %s MB with %s samples of the first event.\n\n' "$(machine)" \
		"$(perf --version 2>/dev/null)" "$runs" "$(($(stat -c %s "$recording") / 1000000))" "$samples"
	report
} | tee "$out/bench.md"

# ---- how cost grows ---------------------------------------------------------------------------------
have python3 || exit 0
if [ ! -s "$out/clock.data" ]; then
	seconds=4 record -o "$out/clock.data" || exit 1
fi

series() {
	local samples=10000 what cpu rss times

	echo '| samples | recording MB | collapse: us CPU each | peak RSS MiB | import: us CPU each | peak RSS MiB | case MB |'
	echo '|---:|---:|---:|---:|---:|---:|---:|'
	while [ "$samples" -le "$samples_max" ]; do
		python3 scripts/perf_repeat.py "$out/clock.data" "$out/series.data" "$samples" || return 1
		printf '| %s | %.1f' "$samples" \
			"$(awk "BEGIN { print $(stat -c %s "$out/series.data") / 1e6 }")"
		for what in "collapse -q" "import -q -o $(q "$out/scratch.db")"; do
			# time(1) counts in hundredths of a second: short runs are repeated.
			times=1
			[ "$samples" -gt 100000 ] || times=10
			/usr/bin/time -o "$out/time" -f '%U %S %M' sh -c "for i in \$(seq $times); do
				rm -f $(q "$out")/scratch*
				$self $what $(q "$out/series.data") || exit 1
			done" >/dev/null || return 1
			read -r cpu rss < <(awk -v n="$((samples * times))" '{ print ($1 + $2) * 1e6 / n, $3 / 1024 }' "$out/time")
			printf ' | %.2f | %.0f' "$cpu" "$rss"
		done
		printf ' | %.1f |\n' "$(awk "BEGIN { print $(stat -c %s "$out/scratch.db") / 1e6 }")"
		samples=$((samples * 10))
	done
	rm -f "$out/series.data" "$out"/scratch*
}

echo
series | tee "$out/scale.md"
