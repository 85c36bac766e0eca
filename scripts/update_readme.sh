#!/bin/sh
# update_readme.sh PROGRAM - renews what README.md shows of the program: the text between lines
# "<!-- NAME:begin -->" and "<!-- NAME:end -->".
#
# NAME is help (what 'traceloom help' prints), align (two recordings put on one clock), demo (what make demo prints), steps (a log of
# testdata asked which steps were slow), breakdown and ranks (traces of testdata), explain (a planted case
# asked why), syscalls (one asked which system calls cost time), sql (questions to a recording of testdata),
# capture (what capture.sh --help prints), rates (counters of a recorded folder), or a table that make bench
# left beside the program (bench, scale, traces, tracescale, logs, logs_scale, questions), what labelled_series.py
# printed (labelled), and judge_planted.py (planted, in bench/planted.md). What there is nothing new for
# stays as it is.
set -eu
program=$(realpath "${1:?usage: update_readme.sh PROGRAM}")
cd "$(dirname "$0")/.."
LC_ALL=C
export LC_ALL
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fenced() {
	printf '```\n'
	cat
	printf '```\n'
}

"$program" help | fenced >"$work/help"
if sh scripts/demo.sh "$program" >"$work/output" 2>&1; then
	sed "s|$(dirname "$program")|build|g" "$work/output" | sed '1{/^$/d;}' | fenced >"$work/demo"
else
	echo "update_readme.sh: the demo failed; its output stays as it was" >&2
fi
{
	echo '$ traceloom align perf.data.gz strace.log.gz'
	(cd testdata/clock/load && "$program" align -q perf.data.gz strace.log.gz)
} 2>&1 | fenced >"$work/align"
{
	echo '$ traceloom steps train.log'
	(cd testdata/training_log/checkpoint && "$program" steps train.log)
} 2>&1 | fenced >"$work/steps"
if [ -d testdata/planted/khugepaged/case ]; then
	{
		echo '$ traceloom explain --top 4 run.db'
		rm -f "$work/run.db"
		"$program" import -q -o "$work/run.db" --buildid-dir testdata/planted/buildid \
			testdata/planted/khugepaged/case 2>"$work/output"
		"$program" explain --top 4 "$work/run.db" >"$work/output"
		head -n 1 "$work/output" | fold -s -w 118 | sed "s, *$,,"
		sed -e 1d -e 's|testdata/planted/khugepaged/||' "$work/output"
		rm -f "$work/run.db"
	} | fenced >"$work/explain"
fi
{
	echo '$ traceloom steps --breakdown trace_view.json'
	(cd testdata/timeline/steps-breakdown && "$program" steps -q --breakdown trace_view.json |
		sed -n '/^Breakdown/,$p')
} 2>&1 | fenced >"$work/breakdown"
{
	echo '$ traceloom steps traces/'
	(cd testdata/timeline/steps-ranks && "$program" steps -q traces | sed -n '/^Across ranks/,$p')
} 2>&1 | fenced >"$work/ranks"
gunzip -c testdata/strace/planted-futex/trace.log.gz >"$work/trace.log"
{
	echo '$ traceloom syscalls --top 4 trace.log'
	(cd "$work" && "$program" syscalls --top 4 trace.log)
} 2>&1 | fenced >"$work/syscalls"

planted=testdata/planted/khugepaged
if [ -d $planted/case ]; then
	{
		echo '$ traceloom thp case'
		(cd $planted && "$program" thp -q --buildid-dir ../buildid case)
	} 2>&1 | fenced >"$work/thp"
fi

# ask QUERY: as a person would type it
ask() {
	printf '$ sqlite3 -column -header run.db "\n%s"\n' "$(printf '%s' "$1" | sed 's/\$/\\$/g')"
	sqlite3 -column -header "$work/run.db" "$1" | sed 's/ *$//'
}

case_dir=testdata/perf/offcpu
if command -v sqlite3 >/dev/null 2>&1 && "$program" import -q -o "$work/run.db" --symfs "$case_dir" \
	--buildid-dir $case_dir/buildid $case_dir/perf.data 2>"$work/output"; then
	{
		ask "SELECT printf('%.6f', (ts - (SELECT min(first_ts) FROM source)) / 1e9) AS at_s,
  dur / 1000 AS us, cpu
FROM thread_state_view WHERE name = 'napper' AND state = 'running' ORDER BY ts LIMIT 4;"
		echo
		ask "SELECT waker_name, name, count(*) AS wakeups, sum(dur) / 1000 AS waited_us
FROM thread_state_view WHERE waker_name IS NOT NULL AND state <> 'runnable'
GROUP BY waker_name, name ORDER BY wakeups DESC, waker_name LIMIT 4;"
		echo
		ask "SELECT json_extract(fields, '$.prev_comm') AS thread,
  json_extract(fields, '$.prev_state_name') AS state, count(*) AS times
FROM tracepoint WHERE event = 'sched:sched_switch'
GROUP BY thread, state ORDER BY times DESC, thread LIMIT 4;"
		echo
		ask "WITH RECURSIVE up AS (
  SELECT * FROM stack WHERE stack_id = (SELECT stack_id FROM thread_state_view
    WHERE name = 'napper' AND state = 'sleeping' ORDER BY ts LIMIT 1)
  UNION ALL
  SELECT k.* FROM stack k JOIN up ON k.stack_id = up.parent_id)
SELECT depth, symbol, dso FROM up JOIN frame_view USING (frame_id) ORDER BY depth;"
	} | fenced >"$work/sql"
else
	echo "update_readme.sh: no sqlite3, or no recording; its output stays as it was" >&2
fi
{
	echo '$ traceloom-capture --help'
	sh scripts/capture.sh --help | sed 's/capture\.sh/traceloom-capture/g'
} | fenced >"$work/capture"
rm -f "$work/run.db"
if command -v sqlite3 >/dev/null 2>&1 && "$program" import -q -o "$work/run.db" \
	testdata/timeline/recorded-folder/folder 2>"$work/output"; then
	ask "SELECT ts, dur, name, per_second, unit FROM counter_rate_view
WHERE name IN ('compact_stall', 'some total') ORDER BY ts;" | fenced >"$work/rates"
fi
for table in bench scale logs logs_scale traces tracescale labelled planted questions; do
	file=$(dirname "$program")/bench/$table.md
	[ ! -s "$file" ] || cp "$file" "$work/$table"
done

awk -v work="$work" '
	/^<!-- [a-z_]+:end -->$/ { skipping = 0 }
	!skipping
	/^<!-- [a-z_]+:begin -->$/ {
		file = work "/" substr($2, 1, length($2) - 6)
		if ((getline line < file) > 0) {
			print line
			while ((getline line < file) > 0)
				print line
			skipping = 1
		}
	}' README.md >"$work/README.md"
cmp -s "$work/README.md" README.md || cat "$work/README.md" >README.md
