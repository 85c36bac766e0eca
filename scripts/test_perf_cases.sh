#!/bin/bash
# test_perf_cases.sh PROGRAM - recordings of testdata/perf end to end through the program; TAP.
#
# Each is imported, and every line of its facts.txt, which an independent reader wrote, must be what
# the case file holds. Then: imports that are killed, repeated, or made in another order.
set -u
program=$(realpath "$1") || exit 2
cd "$(dirname "$0")/../testdata/perf" || exit 2
work=$(mktemp -d "${TMPDIR:-/tmp}/traceloom-perf.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
export HOME=$work LC_ALL=C TZ=UTC0
unset PERF_BUILDID_DIR DEBUGINFOD_URLS TERM
if ! command -v sqlite3 >/dev/null; then
	echo 'ok - perf cases # SKIP there is no sqlite3 shell'
	exit 0
fi

# verdict NAME: reads what went wrong from stdin; nothing is a pass.
verdict() {
	local trouble

	trouble=$(cat)
	if [ -z "$trouble" ]; then
		echo "ok - $1"
	else
		printf '%s\n' "$trouble" | head -n 40 | sed 's/^/| /'
		echo "not ok - $1"
	fi
}

import() {
	timeout 120 "$program" import "$@" >"$work/stdout" 2>"$work/stderr" </dev/null
}

# found_in CASE: what the case file says, as lines of facts.txt. Times are those of the source.
found_in() {
	sqlite3 "$1" <<-'SQL'
	CREATE TEMP TABLE seen AS SELECT a.*, e.name, e.is_hidden, t.tid, a.ts - s.clock_offset_ns AS time
		FROM sample a JOIN event e USING (event_id) JOIN source s USING (source_id)
		LEFT JOIN thread t USING (thread_id);
	SELECT 'records_in_all=' || record_count FROM source;
	SELECT 'samples=' || count(*) FROM seen;
	SELECT 'samples.' || name || '=' || count(*) FROM seen GROUP BY name;
	SELECT 'period.' || name || '=' || sum(period) FROM seen GROUP BY name;
	SELECT 'samples_without_time=' || count(*) FROM seen WHERE ts IS NULL;
	SELECT 'first_sample_ts=' || min(time) FROM seen;
	SELECT 'last_sample_ts=' || max(time) FROM seen;
	SELECT 'sample_tids=' || count(DISTINCT tid) FROM seen WHERE recorded_tid IS NOT -1;
	SELECT 'sample_cpus=' || ifnull(group_concat(cpu), 'none')
		FROM (SELECT DISTINCT cpu FROM seen WHERE cpu IS NOT NULL ORDER BY cpu);
	SELECT 'max_depth=' || ifnull(max(depth), 0) FROM seen LEFT JOIN stack USING (stack_id);
	SELECT 'samples_with_addr=' || count(address) || char(10)
		|| 'distinct_addr=' || count(DISTINCT address) || char(10)
		|| 'samples_with_phys=' || count(physical_address) || char(10)
		|| 'distinct_phys=' || count(DISTINCT physical_address) || char(10)
		|| 'samples_with_weight=' || count(weight) || char(10)
		|| 'distinct_weight=' || count(DISTINCT weight) || char(10)
		|| 'samples_with_data_src=' || count(data_source) || char(10)
		|| 'distinct_data_src=' || count(DISTINCT data_source) || char(10)
		|| 'samples_with_data_page=' || count(data_page_size) || char(10)
		|| 'distinct_data_page=' || count(DISTINCT data_page_size) || char(10)
		|| 'samples_with_code_page=' || count(code_page_size) || char(10)
		|| 'distinct_code_page=' || count(DISTINCT code_page_size)
		FROM seen JOIN sample_extra USING (extra_id);
	SELECT 'samples_with_cgroup=' || count(cgroup_id) || char(10)
		|| 'distinct_cgroup=' || count(DISTINCT cgroup_id) FROM seen;
	SELECT 'lost_in_all=' || ifnull(sum(count), 0) FROM lost
		WHERE kind = 'lost' AND unit <> 'call chains';
	SELECT 'records.' || upper(kind) || '=' || count(*) FROM gap
		WHERE kind IN ('throttle', 'unthrottle') GROUP BY kind;
	SELECT 'sum.' || name || '.' || key || '=' || sum(value)
		FROM seen JOIN payload USING (payload_id), json_each(fields)
		WHERE json_each.type IN ('integer', 'true', 'false') GROUP BY name, key;
	SELECT printf('prev_state.0x%x=%d', json_extract(fields, '$.prev_state'), count(*))
		FROM seen JOIN payload USING (payload_id) WHERE name = 'sched:sched_switch'
		GROUP BY json_extract(fields, '$.prev_state');
	-- woken before it was seen to leave: how long it had been off is not known
	SELECT 'off_cpu_ns.' || tid || '=' || sum(dur) FROM thread_state z JOIN thread USING (thread_id)
		WHERE state <> 'running' AND dur IS NOT NULL AND NOT (state = 'runnable'
		AND waker_thread_id IS NOT NULL AND ts =
		(SELECT min(ts) FROM thread_state WHERE thread_id = z.thread_id)) GROUP BY tid;
	-- a switch to it may be missing: what a hit in its own context tells of then is no fact of switches
	SELECT 'on_cpu_ns.' || tid || '=' || sum(dur) || char(10)
		|| 'on_cpu_count.' || tid || '=' || count(*)
		FROM thread_state z JOIN thread USING (thread_id)
		WHERE state = 'running' AND dur IS NOT NULL AND EXISTS(SELECT 1 FROM sched_switch w
		WHERE w.next_thread_id = z.thread_id AND w.ts = z.ts) GROUP BY tid;
	SELECT 'hostname=' || name FROM host WHERE name IS NOT NULL;
	SELECT 'os_release=' || os_release FROM host WHERE os_release IS NOT NULL;
	SELECT 'arch=' || arch FROM host WHERE arch IS NOT NULL;
	SELECT key || '=' || value FROM source_meta WHERE key = 'recorder_version';
	SELECT 'clock=' || clock_name || char(10) || 'clock_offset=' || clock_offset_ns
		FROM source WHERE clock_method = 'exact';
	SQL
}

# Facts that the case file cannot tell, each for a reason.
#   records.TYPE   it counts records in all; THROTTLE and UNTHROTTLE are rows of gap
#   lost, lost_samples  the same losses told twice: lost_in_all
#   comm_names     names of threads that nothing happened to are not kept apart
#   off_cpu_count  a wait that a wake-up ends is two states
#   damage         in words of its own: see testdata/damaged
not_told='^(records\.|lost=|lost_samples=|comm_names=|off_cpu_count\.|damage=)'
always_told='^records\.(THROTTLE|UNTHROTTLE)='

for case in */ ../perf_script/*/; do
	case=${case%/}
	[ -f "$case/facts.txt" ] || continue
	rm -f "$work/case.db"
	input=$case/perf.data
	[ -e "$case/input.txt" ] && input=$case/input.txt
	import --no-symbols -o "$work/case.db" "$input"
	status=$?
	{
		[ $status = 0 ] || { echo "exit status $status"; cat "$work/stderr"; }
		found_in "$work/case.db" | sort >"$work/found"
		{
			grep -Ev "$not_told" "$case/facts.txt"
			grep -E "$always_told" "$case/facts.txt"
			awk -F= '/^records\./ && !/COMPRESSED/ { n += $2 } END { if (n) print "records_in_all=" n }' "$case/facts.txt"
		} | sort >"$work/expected"
		# sums of nothing are no rows
		comm -23 "$work/expected" "$work/found" | while IFS= read -r line; do
			key=${line%=*}
			# within half a percent
			if [ "${key#about.}" != "$key" ]; then
				key=${key#about.}
				grep -F -- "$key=" "$work/found" | awk -F= -v wanted="${line##*=}" '
					{ off = $2 > wanted ? $2 - wanted : wanted - $2
					  good = off * 200 <= wanted }
					END { exit !good }' && continue
			fi
			case $line in *=0) grep -qF -- "$key=" "$work/found" || continue ;; esac
			echo "expected $line"
			grep -F -- "$key=" "$work/found" | sed 's/^/   found /'
		done
	} | verdict "facts ${case#../}"
done

# ---- the same rows, however they came ---------------------------------------------------------------

# rows CASE: everything that is not a number of the case's own, sorted
rows() {
	sqlite3 "$1" <<-'SQL'
	CREATE TEMP TABLE path AS
		WITH RECURSIVE down(stack_id, path) AS (
			SELECT stack_id, ifnull(dso, '?') || '+' || ifnull(address, '?')
			FROM stack_view WHERE parent_id IS NULL
			UNION ALL
			SELECT v.stack_id, d.path || ' ' || ifnull(v.dso, '?') || '+' || ifnull(v.address, '?')
			FROM down d JOIN stack_view v ON v.parent_id = d.stack_id)
		SELECT stack_id, path FROM down;
	SELECT 'sample', a.ts, e.name, t.tid, n.text, a.cpu, a.period, y.fields, a.recorded_tid,
		(SELECT path FROM path WHERE stack_id = a.stack_id)
		FROM sample a JOIN event e USING (event_id) LEFT JOIN thread t USING (thread_id)
		LEFT JOIN string n ON n.string_id = a.name_id LEFT JOIN payload y USING (payload_id)
		ORDER BY 2, 3, 4, 5, 6, 7, 8, 9, 10;
	SELECT 'thread', pid, tid, name, start_ts, end_ts FROM thread_view ORDER BY 2, 3, 4, 5, 6;
	SELECT 'name', pid, tid, ts, name, is_exec FROM thread_name_view ORDER BY 2, 3, 4, 5, 6;
	SELECT 'state', ts, dur, pid, tid, name, state, cpu, waker_tid FROM thread_state_view
		ORDER BY 2, 3, 4, 5, 6, 7, 8, 9;
	SELECT 'event', source, name, sample_count, period_sum FROM event_view ORDER BY 2, 3, 4;
	SELECT 'dso', source, kind, name, build_id FROM dso_view ORDER BY 2, 3, 4, 5;
	SELECT 'lost', path, kind, what, count FROM lost_view ORDER BY 2, 3, 4, 5;
	SELECT 'source', path, record_count, sample_count, first_ts, last_ts FROM source ORDER BY 2;
	SQL
}

mkdir "$work/files"
for case in fp-threads exec switch-task mixed tail-synthesize; do
	cp "$case/perf.data" "$work/files/$case.data"
	touch -d '2026-01-02 03:04:05 UTC' "$work/files/$case.data"
done
{
	cd "$work/files" || exit
	import --no-symbols -o ../forward.db fp-threads.data exec.data switch-task.data mixed.data tail-synthesize.data
	for file in tail-synthesize mixed switch-task exec fp-threads; do
		import --no-symbols -o ../backward.db $file.data || cat ../stderr
	done
	rows ../forward.db >../forward
	rows ../backward.db >../backward
	[ "$(wc -l <../forward)" -gt 200 ] || echo 'too few rows to be convincing'
	diff ../forward ../backward
} | verdict 'files imported in another order make the same rows'

{
	cp "$work/forward.db" "$work/again.db"
	import --no-symbols -o "$work/again.db" "$work/files/exec.data" && echo 'was taken a second time'
	grep -q 'is in the case already' "$work/stderr" || cat "$work/stderr"
	rows "$work/again.db" | diff "$work/forward" -
} | verdict 'a file that the case has already is refused, and nothing changes'

{
	import --no-symbols -o "$work/once.db" exec/perf.data
	"$program" collapse -q "$work/once.db" >"$work/once"
	import --no-symbols --force -o "$work/once.db" exec/perf.data || cat "$work/stderr"
	"$program" collapse -q "$work/once.db" >"$work/twice"
	awk '{ n = $NF; sub(/ [0-9]+$/, ""); print $0, 2 * n }' "$work/once" | diff - "$work/twice"
} | verdict 'with --force a file counts twice'

{
	mkdir "$work/piped"
	for case in fp-threads pipe zstd-pipe big-endian-mixed; do
		"$program" collapse -q --no-symbols "$case/perf.data" >"$work/file" 2>&1
		"$program" collapse -q --no-symbols - <"$case/perf.data" 2>&1 | diff "$work/file" -
		gzip -c "$case/perf.data" >"$work/piped/perf.data.gz"
		"$program" collapse -q --no-symbols "$work/piped/perf.data.gz" 2>&1 | diff "$work/file" -
	done
} | verdict 'standard input and gzip give what the file gives'

# ---- public recordings, when they are at hand ---------------------------------------------------------
corpus=$(cd ../.. && cd "${TRACELOOM_SHARED:-../shared}/corpus/perf" 2>/dev/null && pwd)
if [ -z "$corpus" ]; then
	echo "ok - public recordings # SKIP no ${TRACELOOM_SHARED:-../shared}/corpus/perf; set TRACELOOM_SHARED"
	exit 0
fi

# public FILE: imports it and runs the SQL of stdin, which must print nothing
public() {
	rm -f "$work/case.db"
	import -o "$work/case.db" "$corpus/$1" || { echo "exit status $?"; cat "$work/stderr"; }
	sqlite3 "$work/case.db" 2>&1
}

# counts SAMPLES...: of the events, smallest first
counts() {
	sqlite3 "$work/case.db" 'SELECT sample_count FROM event ORDER BY 1' | tr '\n' ' ' >"$work/counts"
	[ "$(cat "$work/counts")" = "$* " ] || echo "samples by event: $(cat "$work/counts")"
}

public sleep.compressed.pipe.data <<'SQL' | verdict 'public: arm64, zstd in a pipe; no names of this machine'
SELECT 'samples ' || count(*) FROM sample HAVING count(*) <> 8;
SELECT 'times ' || min(ts - clock_offset_ns) || ' ' || max(ts - clock_offset_ns) FROM sample, source
	HAVING min(ts - clock_offset_ns) <> 405307462931 OR max(ts - clock_offset_ns) <> 405308418372;
SELECT 'kernel frame named ' || symbol FROM frame_view WHERE context = 'kernel' AND symbol IS NOT NULL;
SQL
public fibo.compressed2.pipe.data <<'SQL' | verdict 'public: COMPRESSED2 in a pipe, records over its borders'
SELECT 'samples ' || count(*) FROM sample HAVING count(*) <> 547;
SELECT 'lost ' || what FROM lost WHERE kind IN ('damaged', 'truncated');
SQL
public quipper.callgraph-3.4.data <<'SQL' | verdict 'public: perf 3.4, attributes of 80 bytes, no rounds'
SELECT 'samples ' || count(*) FROM sample HAVING count(*) <> 1548;
-- perf script shows 127 of them
SELECT 'depth ' || max(depth) FROM stack HAVING max(depth) <> 254;
SELECT 'pids ' || count(DISTINCT pid) FROM sample JOIN thread USING (thread_id)
	JOIN process USING (process_id) HAVING count(DISTINCT pid) <> 79;
SQL
{
	public quipper.lost_samples-4.4.data </dev/null
	counts 14 80 97
} | verdict 'public: LOST_SAMPLES of perf 4.4'
public quipper.intel_pt-4.14.data <<'SQL' | verdict 'public: AUXTRACE is skipped, and told'
SELECT 'samples ' || count(*) FROM sample JOIN event USING (event_id) WHERE name LIKE 'cycles%'
	HAVING count(*) <> 15;
SELECT 'nothing is told of AUXTRACE' WHERE NOT EXISTS
	(SELECT 1 FROM lost WHERE unit = 'bytes' AND kind IN ('skipped', 'unsupported'));
SQL
{
	public quipper.piped.target-3.8.data </dev/null
	counts 796 798 874 885 922 943
} | verdict 'public: a pipe of perf 3.8'
public quipper.piped.corrupted.zero_size_sample-3.2.data <<'SQL' |
SELECT 'nothing is told of byte 49104' WHERE NOT EXISTS
	(SELECT 1 FROM lost WHERE kind = 'damaged' AND position = 49104);
SQL
	verdict 'public: a record of size 0'
{
	public simpleperf.perf_with_two_event_types.data </dev/null
	counts 2 8
} | verdict 'public: simpleperf, two events'
public simpleperf.perf_with_jit_symbol.data <<'SQL' | verdict 'public: simpleperf, symbols in the file'
SELECT 'samples ' || count(*) FROM sample HAVING count(*) <> 151;
SELECT 'no name ' || name FROM (SELECT 'java.lang.Thread.run' AS name UNION
	SELECT 'com.android.simpleperf.debuggable.MainActivity$1.run' UNION SELECT '__start_thread')
	WHERE name NOT IN (SELECT symbol FROM frame_view WHERE symbol IS NOT NULL);
SQL
