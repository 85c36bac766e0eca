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
	SELECT 'on_cpu_ns.' || tid || '=' || sum(dur) || char(10)
		|| 'on_cpu_count.' || tid || '=' || count(*)
		FROM thread_state JOIN thread USING (thread_id)
		WHERE state = 'running' AND dur IS NOT NULL GROUP BY tid;
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
