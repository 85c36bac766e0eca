#!/bin/bash
# check_capture.sh PROGRAM CLOCKS - records for real with capture.sh, and imports what it recorded.
# Prints TAP. What this machine cannot record (no perf, no strace, no root) is skipped, and said so.
set -u
program=$(realpath "$1") && clocks=$(realpath "$2") || exit 2
cd "$(dirname "$0")/.." || exit 2
agreement=$PWD/scripts/check_agreement.py
work=$(mktemp -d "${TMPDIR:-/tmp}/traceloom-capture-check.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
export HOME=$work LC_ALL=C
mkdir "$work/bin" && cp scripts/capture.sh "$work/bin/capture" && cp "$clocks" "$work/bin/traceloom-clocks" || exit 2
capture=$work/bin/capture
cd "$work" || exit 2

# verdict NAME: reads what went wrong from stdin; nothing is a pass.
verdict() {
	local trouble

	trouble=$(cat)
	if [ -z "$trouble" ]; then
		echo "ok - $1"
	else
		printf '%s\n' "$trouble" | head -n 60 | sed 's/^/| /'
		echo "not ok - $1"
	fi
}

# expect STATUS COMMAND...: its output goes to files out and err
expect() {
	local wanted=$1 status

	shift
	"$@" >out 2>err </dev/null
	status=$?
	[ $status -eq "$wanted" ] || { echo "'$*' ended with $status, not $wanted"; head -n 20 err; }
}

sql() {
	sqlite3 "$@" 2>&1
}

# What still runs of this test, a while after it should have ended.
survivors() {
	local file line

	for _ in 1 2 3 4 5 6; do
		: >left
		for file in /proc/[0-9]*/cmdline; do
			{ line=$(tr '\0' ' ' <"$file"); } 2>/dev/null || continue
			case $line in
			*"$work"*) echo "still runs: $line" >>left ;;
			esac
		done
		[ -s left ] || return
		sleep 0.5
	done
	# the shell that asks is one of them
	grep -v "check_capture\|$program" left
}

# ---- arguments ------------------------------------------------------------------------------------
{
	expect 0 "$capture" --help
	grep -q '^usage: ' out || echo 'no usage'
	expect 125 "$capture"
	grep -q 'neither a process (-p) nor a command (--) was given' err || cat err
	expect 125 "$capture" --nonsense -- true
	expect 125 "$capture" -p 1x
	expect 125 "$capture" -d 0 -- true
	expect 125 "$capture" -p 1 -- true
	expect 127 "$capture" -- "$work/no-such-program"
	expect 126 "$capture" -- "$work/bin"
	expect 125 "$capture" --set "$work/bin=1" -- true
	expect 125 "$capture" --set '/proc/sys/../../etc/passwd=1' -- true
	[ -z "$(find . -name manifest.json)" ] || echo 'made a folder'
} | verdict 'what makes no sense is told, and makes no folder'
# shellcheck disable=SC2016
{
	"$capture" --help | sed -n 's/^ *\(-[A-Za-z], \)\{0,1\}\(--[a-z-]*\).*/\2/p' | sort -u >told
	sed -n '/^\tcase \$option in$/,/^\tesac$/p' "$capture" | grep -o -e '--[a-z][a-z-]*' | sort -u | diff - told
} | verdict 'every option is in the help'
{
	mkdir full && : >full/precious
	expect 125 "$capture" --no-perf -o full -- true
	[ "$(ls full)" = precious ] || ls full
} | verdict 'a folder that holds something is left alone'

# ---- without perf: works everywhere ------------------------------------------------------------------
{
	expect 0 "$capture" --no-perf -o plain --keep-output -- sh -c 'echo said; sleep 2.2'
	grep -qx said plain/output.log || echo 'the output is not in output.log'
	[ -z "$(find plain -name '.*' ! -name plain)" ] || find plain -name '.*'
	expect 0 "$program" import -o plain.db plain
	survivors
} | verdict 'a recording without perf is imported'
if command -v sqlite3 >/dev/null; then
	{
		sql plain.db "SELECT path || ': ' || clock_method || ', ' || ifnull(clock_residual_ns, 'residual unknown')
			FROM source WHERE first_ts NOT NULL AND clock_residual_ns IS NOT 0 AND clock_name = 'realtime'"
		[ "$(sql plain.db "SELECT count(DISTINCT host_id) FROM source")" = 1 ] || echo 'more than one host'
		[ "$(sql plain.db "SELECT count(*) FROM clock_anchor WHERE clock = 'monotonic'")" -ge 2 ] ||
			echo 'fewer than two snapshots of the clocks'
		[ "$(sql plain.db "SELECT count(DISTINCT ts) FROM counter_view WHERE track = 'vmstat'")" -ge 2 ] ||
			echo 'fewer than two samples of vmstat'
		[ "$(sql plain.db "SELECT count(*) FROM counter_rate_view WHERE name = 'pgfault' AND per_second > 0")" -ge 1 ] ||
			echo 'no rate of page faults'
		for fact in capture.state=complete cmdline="sh -c 'echo said; sleep 2.2'"; do
			[ "$(sql plain.db "SELECT value FROM source_meta WHERE key = '${fact%%=*}'")" = "${fact#*=}" ] ||
				echo "source_meta does not have $fact, but $(sql plain.db "SELECT value FROM source_meta WHERE key = '${fact%%=*}'")"
		done
	} | verdict 'clocks, samples and facts are in the case'
	{
		[ ! -r /sys/kernel/mm/transparent_hugepage/enabled ] ||
			[ -n "$(sql plain.db "SELECT value FROM source_meta WHERE key = 'thp.enabled'")" ] ||
			echo 'no thp.enabled'
		[ -n "$(sql plain.db "SELECT value FROM source_meta WHERE key LIKE 'process.%.Name'")" ] ||
			echo 'no name of the process'
	} | verdict 'settings and processes are facts of the case'
else
	echo 'ok - facts # SKIP no sqlite3'
fi
{
	expect 0 "$capture" --no-perf -q -o odd -- sh -c $': "\\ \'\t\377\n \303\244"' '</a>'
	expect 0 "$program" events odd/manifest.json
	grep -q 'meta key="cmdline"' out || cat out
} | verdict 'a command of odd bytes is in a valid manifest'
{
	mkdir alone && cp bin/capture alone/
	expect 0 env PATH=/usr/bin:/bin:/usr/sbin:/sbin alone/capture --no-perf -o fallback -- sleep 1
	grep -q '^anchor begin boottime ' fallback/clocks.txt || cat fallback/clocks.txt
	grep -q 'not recorded: exact clocks' err || cat err
	expect 0 "$program" import -o fallback.db fallback
} | verdict 'without traceloom-clocks there are coarse clocks, and it is told'

{
	sh -c 'sleep 20 & sleep 21; :' &
	parent=$!
	sleep 0.5
	expect 0 "$capture" --no-perf -q -d 1 --tree -o tree -p $parent
	[ "$(sed -n 's/.*"pids": \[\(.*\)\].*/\1/p' tree/manifest.json | tr ',' '\n' | grep -c .)" = 3 ] ||
		grep pids tree/manifest.json
	kill -0 $parent || echo 'the job was ended'
	for pid in $(sed -n 's/.*"pids": \[\(.*\)\].*/\1/p' tree/manifest.json | tr ',' ' '); do
		kill "$pid"
	done 2>/dev/null
	wait $parent 2>/dev/null
} 2>&1 | verdict 'a running job is recorded with its descendants, and goes on'

# ---- what the job itself says ------------------------------------------------------------------------
{
	expect 3 "$capture" --no-perf -q -o three -- sh -c 'exit 3'
	grep -q '"command_status": 3,' three/manifest.json || grep status three/manifest.json
	grep -q '"state": "complete"' three/manifest.json || grep state three/manifest.json
	grep -q 'it is recorded; the command itself ended with status 3$' err || cat err
	expect 139 "$capture" --no-perf -q -o crash -- sh -c 'kill -SEGV $$'
	grep -q 'status 139: SIGSEGV$' err || cat err
} | verdict "a job's own status is passed on"
{
	expect 0 "$capture" --no-perf -o daemon -- sh -c 'sleep 77 >/dev/null 2>&1 & echo $! >pid'
	kill "$(cat pid)" 2>/dev/null || echo 'what the job left behind was ended'
	grep -q "processes that it started go on: $(cat pid); -p records them" err || cat err
} | verdict 'what the job leaves behind is left alone, and told'
{
	mkdir one two && echo 1 >one/trace.json && echo 2 >two/trace.json && echo 3 >manifest.json
	expect 0 "$capture" --no-perf -q --add one/trace.json --add two/trace.json --add manifest.json --add one -o "odd ' dir, of
lines" -- true
	cat "odd ' dir, of
lines"/*trace.json "odd ' dir, of
lines"/*-manifest.json >found
	printf '1\n2\n3\n' | sort | diff - <(sort found)
	grep -q 'not recorded: one: it cannot be copied' err || cat err
} | verdict 'files of one name are all added, and nothing is overwritten'
{
	cat >zone.sh <<-'EOF'
		for i in 1 2 3 4 5 6 7 8 9; do
			sleep 0.05
			echo "$(date '+%Y-%m-%d %H:%M:%S.%3N') step $i time 0.05 s" >>zone.log
		done
	EOF
	TZ=XYZ-9:30 expect 0 "$capture" --no-perf -q --add zone.log -o zone -- sh zone.sh
	expect 0 "$program" import -q -o zone.db zone
	expect 0 "$program" align --json zone.db
	grep zone.log out | grep -q '"clock_method": "told".*"clock_offset_ns": -34200000000000,' || cat out
} | verdict "local times of the job's log are of the job's time zone"

# A profiler inside of a container knows only the numbers that its threads have there.
if unshare --fork --pid true 2>/dev/null && command -v sqlite3 >/dev/null; then
	cat >inside <<-'END'
		#!/bin/sh
		# inside FOLDER: writes a trace under the number that it has here
		printf '{"schemaVersion": 1, "deviceProperties": [], "traceEvents": [{"ph": "X", "cat": "cpu_op",
			"name": "aten::mm", "pid": %s, "tid": %s, "ts": %s000000.0, "dur": 5000.0}]}\n' $$ $$ "$(date +%s)" >"$1"
		sleep 4
	END
	chmod +x inside
	for jobs in one two; do
		{
			for job in 1 2; do
				[ $jobs = two ] || [ $job = 1 ] || break
				unshare --fork --pid sh -c "true; ./inside $jobs-$job.json; true" &
			done
			sleep 0.7
			pids=$(grep -ls "^Name:.inside" /proc/[0-9]*/status | sed 's,/proc/,,; s,/status,,' | sort -n | paste -sd, -)
			expect 0 "$capture" --no-perf -q -d 1 -o contained-$jobs -p "$pids" --add $jobs-1.json
			expect 0 "$program" import -q -o $jobs.db contained-$jobs
			found=$(sql $jobs.db "SELECT DISTINCT t.tid FROM track JOIN thread t USING (thread_id)")
			if [ $jobs = one ]; then
				[ "$found" = "$pids" ] || echo "the trace is of thread $found, which is $pids outside"
				[ "$(sql one.db "SELECT inner_pid FROM process WHERE pid = $pids")" = 2 ] ||
					sql one.db 'SELECT pid, inner_pid FROM process'
			else # both are called the same inside: nothing is sure
				[ "$found" = 2 ] || echo "the trace is of thread $found; outside are $pids"
			fi
			wait
		} 2>&1 | verdict "a trace from inside $jobs container(s) joins the threads outside, if that is sure"
	done
else
	echo 'ok - containers # SKIP no pid namespaces, or no sqlite3'
fi

# ---- it ends, whatever happens ------------------------------------------------------------------------
{
	started=$SECONDS
	expect 0 "$capture" --no-perf -d 1 -o timed -- sh -c "sleep 100; : $work"
	[ $((SECONDS - started)) -lt 30 ] || echo "took $((SECONDS - started)) s"
	survivors
} | verdict 'a job that goes on is ended with the recording'
{
	expect 0 "$capture" --no-perf -q -d 1 -o family -- sh -c "(setsid sh -c 'sleep 100; : $work' &); sh -c 'sleep 100; : $work' &
		env -i /bin/sh -c 'sleep 100; : $work' & wait"
	survivors
} | verdict 'so are the processes that it started'
if mkdir small && mount -t tmpfs -o size=4m tmpfs small 2>/dev/null; then
	{
		{ sleep 2 && head -c 5000000 /dev/zero >small/fill; } 2>/dev/null &
		expect 125 "$capture" --no-perf -o small/case -- sh -c "sleep 100; : $work"
		[ "$(grep -c 'the disk is full' err)" = 1 ] || cat err
		grep -v '^capture: ' err
		survivors
		wait
		rm small/fill
		expect 0 "$program" import -q -o small.db small/case
	} | verdict 'a disk that fills up ends the recording, and it is told'
	umount small
else
	echo 'ok - a full disk # SKIP cannot mount'
fi
{
	expect 0 "$capture" --no-perf -d 1 --leave-running -o left-running -- sh -c "echo \$\$ >$work/pid; exec sleep 100"
	kill "$(cat pid)" 2>/dev/null || echo 'the job was ended'
} | verdict 'a job is left running when asked for'
{
	expect 0 "$capture" --no-perf --max-size 1 --keep-output -o bounded -- sh -c 'head -c 3000000 /dev/zero; exec sleep 100'
	grep -q '"stopped_by": "the bound of 1 MiB"' bounded/manifest.json || cat bounded/manifest.json
} | verdict 'a folder that grows too large ends the recording'

setting=/proc/sys/vm/stat_interval
for signal in TERM KILL group-KILL; do
	if [ ! -w $setting ]; then
		echo "ok - killed with SIG$signal # SKIP $setting cannot be written: no root"
		continue
	fi
	{
		before=$(cat $setting)
		[ $signal != group-KILL ] || set -m
		"$capture" --no-perf -o killed-$signal --set $setting=$((before + 3)) --set $setting=$((before + 6)) \
			-- sh -c "sleep 100; : $work" >out 2>err </dev/null &
		for _ in $(seq 100); do
			[ -f killed-$signal/manifest.json ] && break
			sleep 0.2
		done
		[ "$(cat $setting)" = $((before + 6)) ] || echo "not set: $(cat $setting)"
		set +m
		case $signal in
		group-*) kill -${signal#group-} -- -$! ;;
		*) kill -$signal $! ;;
		esac
		wait $! 2>/dev/null
		status=$?
		[ $signal != TERM ] || [ $status = 143 ] || echo "it ended with $status"
		for _ in $(seq 50); do
			[ "$(cat $setting)" = "$before" ] && break
			sleep 0.2
		done
		[ "$(cat $setting)" = "$before" ] || { echo "not restored: $(cat $setting), was $before"; echo "$before" >$setting; }
		survivors
		expect 0 "$program" import -o killed.db killed-$signal
		rm -f killed.db
	} | verdict "killed with SIG$signal it restores settings and leaves no process"
done
if [ -w $setting ]; then
	{
		before=$(cat $setting)
		expect 125 "$capture" --no-perf -o refused --set $setting=$((before + 3)) --set $setting=word -- sh -c "sleep 100; : $work"
		[ "$(cat err)" = "capture: --set: $setting does not take 'word'" ] || cat err
		[ "$(cat $setting)" = "$before" ] || { echo "not restored: $(cat $setting), was $before"; echo "$before" >$setting; }
		[ ! -e refused ] || ls -A refused
		survivors
	} | verdict 'a setting that the kernel refuses is told, and nothing is left'
else
	echo "ok - a setting that the kernel refuses # SKIP $setting cannot be written: no root"
fi

# ---- with perf ----------------------------------------------------------------------------------------
if ! perf record -q -a -o /dev/null -e raw_syscalls:sys_enter -- true >/dev/null 2>&1; then
	echo 'ok - perf # SKIP perf cannot record this machine'
	exit 0
fi
if ! strace -o /dev/null true 2>/dev/null; then
	echo 'ok - perf with strace # SKIP strace cannot trace'
	exit 0
fi
{
	expect 0 "$capture" -k default --syscalls --offcpu --strace --max-size 500 -o whole -- \
		sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 0.1; done'
	expect 0 "$program" import -q -o whole.db whole
	survivors
} | verdict 'perf on its own clock and strace are recorded together'
group=/sys/fs/cgroup/memory/traceloom-check
if [ -d /sys/kernel/tracing/events/vmscan/mm_vmscan_memcg_reclaim_begin ] && mkdir $group 2>/dev/null; then
	{
		echo 60000000 >$group/memory.limit_in_bytes
		expect 0 "$capture" --thp -q -o limited -- sh -c "echo \$\$ >$group/cgroup.procs
			dd if=/dev/zero of=$work/large bs=1M count=200 2>/dev/null; cat $work/large >/dev/null; rm $work/large"
		rmdir $group
		expect 0 "$program" import -q -o limited.db limited
		! command -v sqlite3 >/dev/null ||
			[ "$(sql limited.db "SELECT count(*) FROM mm_activity WHERE kind = 'direct_reclaim' AND dur > 0")" -ge 10 ] ||
			sql limited.db 'SELECT kind, count(*), count(dur) FROM mm_activity GROUP BY 1'
	} | verdict 'reclaim for the limit of a control group is reclaim of the job'
else
	echo 'ok - reclaim for a control group # SKIP no such group can be made here'
fi
{
	"$capture" --cpu --strace -o killed-all -- sh -c "sleep 100; : $work" >out 2>err </dev/null &
	for _ in $(seq 300); do
		[ -f killed-all/manifest.json ] && break
		sleep 0.2
	done
	kill -KILL $!
	wait $! 2>/dev/null
	sleep 2
	survivors
	expect 0 "$program" import -q -o killed.db killed-all
} | verdict 'killed while perf and strace record, it leaves no process, and what they had'
if ! command -v sqlite3 >/dev/null; then
	echo 'ok - clocks # SKIP no sqlite3'
	exit 0
fi
{
	[ "$(sql whole.db "SELECT count(*) FROM source WHERE importer = 'perf' AND clock_name = 'sched_clock'
		AND clock_method = 'anchored'")" = 1 ] || echo 'perf is not anchored'
	sql whole.db "SELECT path || ': ' || clock_method || ', residual ' || ifnull(clock_residual_ns, 'unknown')
		FROM source WHERE first_ts NOT NULL AND
		(clock_method NOT IN ('exact', 'anchored') OR clock_residual_ns IS NULL OR clock_residual_ns > 1000000)"
} | verdict 'every source is mapped'
{
	mapping="SELECT importer, clock_method, clock_offset_ns, clock_slope, clock_residual_ns FROM source
		WHERE importer IN ('perf', 'strace', 'clocks', 'system') ORDER BY importer"
	sql whole.db "$mapping" >forwards
	expect 0 "$program" import -q -o reverse.db whole/system.log whole/strace.log whole/perf.data
	expect 0 "$program" import -q -o reverse.db whole/clocks.txt
	sql reverse.db "$mapping" | diff forwards -
} | verdict 'in whichever order they are imported, clocks are mapped alike'
# What the kernel logs is on perf's clock; here it is logged between two readings of the wall clock.
if [ -w /dev/kmsg ]; then
	{
		expect 0 "$capture" --no-perf -q -o kernel -- sh -c \
			"sleep 1; $work/bin/traceloom-clocks --stamp >before; echo '<6>hello from $work' >/dev/kmsg; $work/bin/traceloom-clocks --stamp >after; sleep 1"
		expect 0 "$program" import -q -o kernel.db kernel
		expect 0 "$program" align kernel.db
		sql kernel.db "SELECT l.ts - $(tr -d . <before), $(tr -d . <after) - l.ts, clock_residual_ns, clock_method
			FROM log l JOIN source USING (source_id) WHERE l.text = 'hello from $work'" >found
		awk -F'|' '$1 + $3 < 0 || $2 + $3 < 0 || $3 < 1000 || $3 > 100000 || $4 != "anchored" { print }
			END { if (NR != 1) print NR " lines" }' found
	} | verdict 'lines of the kernel log are on the clock'
else
	echo 'ok - lines of the kernel log # SKIP /dev/kmsg cannot be written'
fi
# The name that traceloom-clocks took: when it says so, and when perf saw it.
{
	differences=$(sql whole.db "SELECT abs(n.ts - l.ts) || ' ' || p.clock_residual_ns FROM log l JOIN string s ON s.text = l.text
		JOIN thread_name n ON n.name_id = s.string_id JOIN source p ON p.source_id = n.source_id
		WHERE l.source_id = (SELECT source_id FROM source WHERE importer = 'clocks')")
	[ "$(echo "$differences" | grep -c .)" -ge 2 ] || echo "markers seen by both: $differences"
	echo "$differences" | awk '$1 > $2 + 20000 { print "a marker is " $1 " ns off, residual " $2 }'
} | verdict 'markers lie where perf saw them'
# strace sees a call before perf does, and its end after: the tracer stops the thread in between.
{
	pairs=$(sql whole.db "SELECT t.ts - c.ts, c.ts + c.dur - t.ts - t.dur
		FROM syscall c JOIN source cs ON cs.source_id = c.source_id AND cs.importer = 'strace'
		JOIN syscall t ON t.thread_id = c.thread_id AND t.name_id = c.name_id
		JOIN source ts ON ts.source_id = t.source_id AND ts.importer = 'perf'
		JOIN string n ON n.string_id = c.name_id AND n.text = 'clock_nanosleep'")
	[ "$(echo "$pairs" | grep -c .)" -ge 8 ] || echo "calls seen by both: $pairs"
	echo "$pairs" | awk -F'|' '$1 < -20000 || $1 > 50000000 { print "a call begins " $1 " ns later in perf" }'
} | verdict 'calls of strace and perf are at the same time'
if ! command -v python3 >/dev/null; then
	echo 'ok - strace and switches # SKIP no python3'
	exit 0
fi
cat >waits.py <<-'EOF'
	import os, select, threading, time
	r, w = os.pipe()
	def answer():
	    while os.read(r, 1):
	        pass
	threading.Thread(target=answer, daemon=True).start()
	end = time.monotonic() + 2
	while time.monotonic() < end:
	    time.sleep(0.002)
	    os.write(w, b'x')
	    select.select([], [], [], 0.001)
EOF
{
	expect 0 "$capture" -q -o waits --strace --offcpu -- python3 waits.py
} | verdict 'a job that waits is recorded by perf and strace'
python3 "$agreement" "$program" waits
