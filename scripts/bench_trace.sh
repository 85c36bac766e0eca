#!/bin/bash
# bench_trace.sh PROGRAM [OUTPUT] - measures the import of profiler traces beside the tools that people
# load them with, on traces it makes itself; then how cost grows with their size. Prints markdown
# tables; update_readme.sh puts them in README.md.
#
# CPU seconds are user + system of all processes of the job, memory is the largest process; both are
# medians of BENCH_RUNS (3) runs, peers and program taking turns. BENCH_TRACE_MB (200) is the size of
# the trace, BENCH_TRACE_MAX_MB (2000) that of the largest of the series, and BENCH_TRACE_GZ_MB (0)
# that of the JSON in a .json.gz behind it: 4200 make 300 MB. Peers: json.load of python3, and with the
# python of BENCH_PYTHON (python3) the packages HolisticTraceAnalysis and perfetto (with
# BENCH_TRACE_PROCESSOR, the trace_processor_shell to use), where they are; else it is said that they
# are not. BENCH_PIP=1 installs both into OUTPUT/peers first.
# The commands are run by another shell, with these names exported.
# shellcheck disable=SC2016
set -u
program=$(realpath "${1:?usage: bench_trace.sh PROGRAM [OUTPUT]}") || exit 2
[ -x "$program" ] || { echo "bench_trace.sh: $program is no program" >&2; exit 2; }
cd "$(dirname "$0")/.." || exit 2
out=${2:-$(dirname "$program")/bench}
runs=${BENCH_RUNS:-3}
size=${BENCH_TRACE_MB:-200}
size_max=${BENCH_TRACE_MAX_MB:-2000}
size_gz=${BENCH_TRACE_GZ_MB:-0}
peers=${BENCH_PYTHON:-python3}
export LC_ALL=C
mkdir -p "$out" && out=$(realpath "$out") || exit 2
for tool in /usr/bin/time awk python3; do
	command -v $tool >/dev/null 2>&1 || { echo "bench_trace.sh: $tool is missing" >&2; exit 0; }
done
if [ "${BENCH_PIP:-0}" = 1 ]; then
	if python3 -m venv "$out/peers" &&
		"$out/peers/bin/pip" install -q HolisticTraceAnalysis perfetto >&2; then
		peers=$out/peers/bin/python3
	else
		echo "bench_trace.sh: pip cannot install the peers" >&2
	fi
fi

trace=$out/trace-$size.json
[ -s "$trace" ] || python3 scripts/make_trace.py "$size" "$trace" || exit 1

# ---- measuring --------------------------------------------------------------------------------------
median() {
	sort -n | awk '{ value[NR] = $1 } END { if (NR) print value[int((NR + 1) / 2)] }'
}

# once COMMAND...: "CPU MiB WALL" of one run; its output is thrown away.
once() {
	rm -f "$out"/scratch*
	/usr/bin/time -o "$out/time" -f '%U %S %M %e' "$@" >/dev/null 2>"$out/stderr" || return 1
	awk 'END { print $1 + $2, $3 / 1024, $4 }' "$out/time"
}

names=() commands=()
job() {
	names+=("$1")
	commands+=("$2")
}

missing=
job 'traceloom import' 'exec "$program" import -q -o "$out/scratch.db" "$trace"'
job 'traceloom steps, straight from it' 'exec "$program" steps -q "$trace"'
job 'traceloom steps --breakdown, straight from it' 'exec "$program" steps -q --breakdown "$trace"'
job 'Python, json.load' 'exec python3 -c "import json, sys; json.load(open(sys.argv[1]))" "$trace"'
if "$peers" -c 'import hta' 2>/dev/null; then
	job 'HTA, TraceAnalysis' 'exec "$peers" -c "
import sys
from hta.trace_analysis import TraceAnalysis
TraceAnalysis(trace_files={0: sys.argv[1]})" "$trace"'
else
	missing="HTA (no package HolisticTraceAnalysis)"
fi
processor=${BENCH_TRACE_PROCESSOR:-}
if [ -n "$processor" ] || command -v trace_processor_shell >/dev/null 2>&1; then
	processor=${processor:-trace_processor_shell}
	job 'Perfetto, trace_processor_shell' \
		'exec "$processor" -Q "select count(*) from slice" "$trace"'
elif "$peers" -c 'from perfetto.trace_processor import TraceProcessor as T
T(trace="/dev/null")' >/dev/null 2>&1; then
	job 'Perfetto, trace_processor' 'exec "$peers" -c "
import sys
from perfetto.trace_processor import TraceProcessor as T
T(trace=sys.argv[1]).query(\"select count(*) from slice\")" "$trace"'
else
	missing="${missing:+$missing, }Perfetto (no trace_processor_shell)"
fi
export program out trace processor peers

rm -f "$out"/trace-job.*
for ((run = 1; run <= runs; run++)); do
	for i in "${!names[@]}"; do
		echo "run $run of $runs: ${names[i]}" >&2
		once bash -c "${commands[i]}" >>"$out/trace-job.$i" || {
			echo "bench_trace.sh: failed: ${names[i]}" >&2
			tail -n 5 "$out/stderr" >&2
		}
	done
done

{
	printf '%s, %s processors, Linux %s; median of %s runs; %s MB with %s events.\n\n' \
		"$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(uname -r)" \
		"$runs" "$(($(stat -Lc %s "$trace") / 1000000))" "$(grep -c '"ph"' "$trace")"
	echo '| tool | CPU s | peak RSS MiB | wall s |'
	echo '|---|---:|---:|---:|'
	for i in "${!names[@]}"; do
		[ -s "$out/trace-job.$i" ] || continue
		printf '| %s | %.2f | %.0f | %.2f |\n' "${names[i]}" \
			"$(cut -d' ' -f1 "$out/trace-job.$i" | median)" \
			"$(cut -d' ' -f2 "$out/trace-job.$i" | median)" \
			"$(cut -d' ' -f3 "$out/trace-job.$i" | median)"
	done
	[ -z "$missing" ] || printf '\nNot measured: %s.\n' "$missing"
} | tee "$out/traces.md"

# ---- how cost grows ---------------------------------------------------------------------------------
# row FILES MEGABYTES NAME: FILES is a trace, or a directory of them.
row() {
	local file=$1 megabytes=$2 cpu rss wall bytes

	read -r cpu rss wall < <(once "$program" import -q -o "$out/scratch.db" "$file") || return 1
	bytes=$(find -L "$file" -type f -printf '%s\n' | awk '{ n += $1 } END { print n }')
	awk -v name="$3" -v file="$bytes" -v json="$megabytes" -v cpu="$cpu" -v rss="$rss" \
		-v wall="$wall" -v db="$(stat -Lc %s "$out/scratch.db")" 'BEGIN {
		printf "| %s | %.1f | %.2f | %.2f | %.0f | %.2f | %.1f |\n", name, file / 1e6, cpu,
			cpu * 1000 / json, rss, wall, db / 1e6 }'
}

{
	echo '| trace | MB | CPU s | CPU ms a MB of JSON | peak RSS MiB | wall s | case MB |'
	echo '|---|---:|---:|---:|---:|---:|---:|'
	for ((mb = 2; mb <= size_max; mb *= 10)); do
		file=$out/trace-$mb.json
		[ -s "$file" ] || python3 scripts/make_trace.py $mb "$file" || exit 1
		row "$file" $mb 'JSON'
		[ $mb -eq "$size" ] || rm -f "$file"
	done
	for count in 20 200; do
		mkdir -p "$out/ranks"
		[ -s "$out/trace-1.json" ] || python3 scripts/make_trace.py 1 "$out/trace-1.json" || exit 1
		for ((rank = 0; rank < count; rank++)); do
			sed "s/\"rank\": [0-9]*/\"rank\": $rank/" "$out/trace-1.json" >"$out/ranks/rank$rank.json"
		done
		row "$out/ranks" $count "JSON of $count ranks, a file each"
		rm -rf "$out/ranks"
	done
	if [ "$size_gz" -gt 0 ]; then
		file=$out/trace-$size_gz.json.gz
		[ -s "$file" ] || python3 scripts/make_trace.py "$size_gz" "$file" || exit 1
		row "$file" "$size_gz" "JSON of $size_gz MB, gzip"
	fi
} | tee "$out/tracescale.md"
rm -f "$out"/scratch*
