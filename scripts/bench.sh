#!/bin/bash
# bench.sh PROGRAM [OUTPUT] - measures the program beside the tools that people use for the same
# job, on recordings it makes itself. Prints markdown tables; update_readme.sh puts them in README.md.
#
# CPU seconds are user + system of all processes of the job, memory is the largest process; both
# are medians of BENCH_RUNS (5) runs, peers and program taking turns. Peers are measured when they
# are there: perf, stackcollapse-perf.pl in $FLAMEGRAPH_DIR, inferno-collapse-perf,
# hotspot-perfparser. BENCH_SECONDS (30) of recording; BENCH_SAMPLES_MAX (10000000) of the series.
# BENCH_RECORDING names a recording to take instead of a new one.
set -u
program=$(realpath "${1:?usage: bench.sh PROGRAM [OUTPUT]}") || exit 2
[ -x "$program" ] || { echo "bench.sh: $program is no program" >&2; exit 2; }
cd "$(dirname "$0")/.." || exit 2
out=${2:-$(dirname "$program")/bench}
runs=${BENCH_RUNS:-5}
seconds=${BENCH_SECONDS:-30}
samples_max=${BENCH_SAMPLES_MAX:-10000000}
export LC_ALL=C
mkdir -p "$out"
out=$(realpath "$out")

have() {
	command -v "$1" >/dev/null 2>&1
}

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

# ---- measuring --------------------------------------------------------------------------------------
median() {
	sort -n | awk '{ value[NR] = $1 } END { if (NR) print value[int((NR + 1) / 2)] }'
}

jobs=() tools=() commands=()

# job NAME TOOL COMMAND: COMMAND is for sh, its standard output is thrown away.
job() {
	jobs+=("$1")
	tools+=("$2")
	commands+=("$3")
}

# Runs all jobs in turns, so that a change of the machine's mood meets all of them.
measure() {
	local run i

	rm -f "$out"/job.*
	for ((run = 1; run <= runs; run++)); do
		for i in "${!jobs[@]}"; do
			rm -f "$out"/scratch*
			echo "run $run of $runs: ${tools[i]}" >&2
			if ! /usr/bin/time -o "$out/time" -f '%U %S %M %e' sh -c "${commands[i]}" \
				>/dev/null 2>"$out/job.$i.stderr"; then
				echo "bench.sh: failed: ${commands[i]}" >&2
				tail -n 5 "$out/job.$i.stderr" >&2
				continue
			fi
			awk '{ print $1 + $2, $3 / 1024, $4 }' "$out/time" >>"$out/job.$i"
		done
	done
	rm -f "$out"/scratch*
}

report() {
	local i

	echo '| job | tool | CPU s | peak RSS MiB | wall s |'
	echo '|---|---|---:|---:|---:|'
	for i in "${!jobs[@]}"; do
		[ -s "$out/job.$i" ] || continue
		printf '| %s | %s | %.2f | %.0f | %.2f |\n' "${jobs[i]}" "${tools[i]}" \
			"$(cut -d' ' -f1 "$out/job.$i" | median)" "$(cut -d' ' -f2 "$out/job.$i" | median)" \
			"$(cut -d' ' -f3 "$out/job.$i" | median)"
	done
}

recording=${BENCH_RECORDING:-$out/mixed.data}
if [ -z "${BENCH_RECORDING:-}" ] && [ ! -s "$recording" ]; then
	record -e sched:sched_switch -o "$recording" || exit 1
fi
recording=$(realpath "$recording")

q() {
	printf "'%s'" "$1"
}

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
	printf '%s, %s processors, Linux %s, %s; median of %s runs; %s MB with %s samples of the first event.\n\n' \
		"$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -r)" \
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
