#!/bin/bash
# bench_logs.sh PROGRAM [OUTPUT] - measures strace logs into a case and straight into answers, beside
# what people do with such logs today; and how the cost grows with the log. Prints markdown tables.
#
# Peers are measured when they are there: strace-parser, python3, mawk, gawk, perl. BENCH_LINES
# (3000000) of the log; BENCH_LOG_MB_MAX (2000) of the series.
set -u
program=$(realpath "${1:?usage: bench_logs.sh PROGRAM [OUTPUT]}") || exit 2
cd "$(dirname "$0")/.." || exit 2
out=${2:-$(dirname "$program")/bench}
lines=${BENCH_LINES:-3000000}
mb_max=${BENCH_LOG_MB_MAX:-2000}
export LC_ALL=C
mkdir -p "$out"
out=$(realpath "$out")

. scripts/bench_measure.sh

gcc -std=c11 -O2 -o "$out/bench_log" scripts/bench_log.c || exit 1
"$out/bench_log" "$lines" >"$out/trace.log" || exit 1

# The script that many have written: a regular expression, and rows of what it finds.
cat >"$out/by_hand.py" <<'END'
import re, sqlite3, sys
line = re.compile(r'(\d+) ([\d:.]+) (\w+)\((.*)\) += (-?\w+)(?: (E\w+) .*)? <([\d.]+)>$')
db = sqlite3.connect(sys.argv[2])
db.execute('CREATE TABLE call(tid, ts, name, args, result, error, dur)')
rows = (m.groups() for m in map(line.match, open(sys.argv[1], errors='replace')) if m)
db.executemany('INSERT INTO call VALUES(?, ?, ?, ?, ?, ?, ?)', rows)
db.commit()
END
# shellcheck disable=SC2016 # awk's variables
totals='{ d = $NF; gsub(/[<>]/, "", d); n = $3; sub(/[(].*/, "", n); t[n] += d; if (d > m[n]) m[n] = d }
	END { for (n in t) print n, t[n], m[n] }'

log=$(q "$out/trace.log") self=$(q "$program") mb=$(megabytes "$out/trace.log")
import='import into a case'
ask='totals and outliers, no case kept'
job "$import" 'traceloom import' "$self import -q -o $(q "$out/scratch.db") $log" "$mb"
have python3 &&
	job "$import" 'python3, re and sqlite3 (whole lines only)' \
		"python3 $(q "$out/by_hand.py") $log $(q "$out/scratch.db")" "$mb"
job "$ask" 'traceloom syscalls' "$self syscalls $log" "$mb"
have strace-parser && job "$ask" 'strace-parser summary' "strace-parser $log summary" "$mb"
for awk in mawk gawk; do
	have $awk && job "$ask" "$awk (totals and maxima per name only)" "$awk $(q "$totals") $log" "$mb"
done
measure
"$program" import -q -o "$out/scratch.db" "$out/trace.log" || exit 1
{
	printf '%s; median of %s runs; a log of %s MB, %s lines, 444 threads.\n\n' "$(machine)" "$runs" \
		"$mb" "$lines"
	report
} | tee "$out/logs.md"

# ---- how cost grows ---------------------------------------------------------------------------------
series() {
	local size=10 what times

	echo '| log MB | syscalls: MB per CPU s | peak RSS MiB | import: MB per CPU s | peak RSS MiB | case MB | syscalls from the case: wall s |'
	echo '|---:|---:|---:|---:|---:|---:|---:|'
	while [ "$size" -le "$mb_max" ]; do
		"$out/bench_log" $((lines * size * 1000 / ${mb%.*} / 1000)) >"$out/series.log" || return 1
		printf '| %s' "$(megabytes "$out/series.log")"
		for what in syscalls "import -q -o $(q "$out/scratch.db")"; do
			# time(1) counts in hundredths of a second: short runs are repeated.
			times=1
			[ "$size" -gt 100 ] || times=10
			/usr/bin/time -o "$out/time" -f '%U %S %M' sh -c "for i in \$(seq $times); do
				rm -f $(q "$out")/scratch*
				$self $what $(q "$out/series.log") || exit 1
			done" >/dev/null || return 1
			awk -v mb="$(megabytes "$out/series.log")" -v n="$times" \
				'{ printf " | %.0f | %.0f", mb * n / ($1 + $2), $3 / 1024 }' "$out/time"
		done
		/usr/bin/time -o "$out/time" -f '%e' "$program" syscalls "$out/scratch.db" >/dev/null
		printf ' | %.0f | %s |\n' "$(megabytes "$out/scratch.db")" "$(cat "$out/time")"
		size=$((size == 10 ? 100 : size == 100 ? 500 : size * 4))
	done
	rm -f "$out/series.log" "$out"/scratch*
}

echo
series | tee "$out/logs_scale.md"
