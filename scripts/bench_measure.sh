# shellcheck shell=bash disable=SC2154 # out is the caller's
# bench_measure.sh - for bash to source: measures jobs, peers and program taking turns, and prints a
# markdown table. CPU seconds are user + system of all processes of a job, memory is the largest
# process; both are medians of BENCH_RUNS (5) runs. Wants $out, a directory.
runs=${BENCH_RUNS:-5}

have() {
	command -v "$1" >/dev/null 2>&1
}

# A word for sh.
q() {
	printf "'%s'" "$1"
}

median() {
	sort -n | awk '{ value[NR] = $1 } END { if (NR) print value[int((NR + 1) / 2)] }'
}

jobs=() tools=() commands=() sizes=()

# job NAME TOOL COMMAND [MB]: COMMAND is for sh, its standard output is thrown away. With the size of
# its input the table has megabytes per second of CPU.
job() {
	jobs+=("$1")
	tools+=("$2")
	commands+=("$3")
	sizes+=("${4:-}")
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
				echo "bench: failed: ${commands[i]}" >&2
				tail -n 5 "$out/job.$i.stderr" >&2
				continue
			fi
			awk '{ print $1 + $2, $3 / 1024, $4 }' "$out/time" >>"$out/job.$i"
		done
	done
	rm -f "$out"/scratch*
}

# column I N: the median of a column of a job's runs.
column() {
	cut -d' ' -f"$2" "$out/job.$1" | median
}

report() {
	local i has_sizes=

	for i in "${!jobs[@]}"; do
		[ -z "${sizes[i]}" ] || has_sizes=1
	done
	echo "| job | tool | CPU s |${has_sizes:+ MB per CPU s |} peak RSS MiB | wall s |"
	echo "|---|---|---:|${has_sizes:+---:|}---:|---:|"
	for i in "${!jobs[@]}"; do
		[ -s "$out/job.$i" ] || continue
		printf '| %s | %s | %.2f |' "${jobs[i]}" "${tools[i]}" "$(column "$i" 1)"
		[ -z "$has_sizes" ] ||
			awk -v mb="${sizes[i]}" -v s="$(column "$i" 1)" 'BEGIN {
				printf mb == "" || s == 0 ? "  |" : " %.0f |", s ? mb / s : 0 }'
		printf ' %.0f | %.2f |\n' "$(column "$i" 2)" "$(column "$i" 3)"
	done
}

machine() {
	printf '%s, %s processors, Linux %s' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" \
		"$(nproc)" "$(uname -r)"
}

megabytes() {
	awk -v n="$(stat -c %s "$1")" 'BEGIN { printf "%.1f", n / 1e6 }'
}
