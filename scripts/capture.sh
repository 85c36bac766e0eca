#!/bin/sh
# capture.sh - records one case: a folder with what perf, strace and the system say of a job, the
# clocks that make one timeline of it, and a manifest of what is in it and what is missing.
#
# Sets nothing but what --set asks for, and restores that. Two processes of it watch each other: this
# one, and a sampler that ends the recording should this one be killed. Needs a POSIX shell and the
# usual small programs; traceloom-clocks (built from capture_clocks.c) makes clocks exact, and without
# it the wall clock alone is read, by date.
set -u
# A started job gets its own back.
job_umask=$(umask) job_locale=${LC_ALL-}
umask 077
LC_ALL=C
export LC_ALL

name=${0##*/}
manifest_version=1

usage() {
	cat <<END
usage: $name [options] -p PID[,PID...]
       $name [options] -- COMMAND [ARGUMENT...]

Records a running job, or one that it starts, into a folder for 'traceloom import -o case.db FOLDER'.
Works without root as far as the kernel allows; what could not be recorded is told, and in the manifest.

  -p, --pid PID         a process to record; again, or with commas, for more
      --tree            also the present descendants of these processes
  -d, --duration SEC    stop after so many seconds (running jobs: 60; started ones: when they end);
                        a started job is then ended, with all processes that it started
      --leave-running   a started job is not ended, the recording is
  -o, --output DIR      the folder to make (traceloom-HOST-TIME); it must be new, or empty

What perf records; all four when none is named, the first always:
      --cpu             where time is spent on the CPUs, by sampling
      --offcpu          where threads wait, and who wakes them: sched_switch, sched_waking
      --thp             huge pages, compaction, reclaim, migration; with what --offcpu records
      --syscalls        every system call, by raw_syscalls

      --locks           contended kernel locks; can be many events
      --no-perf         do without perf
  -F, --frequency HZ    samples a second and CPU (199)
  -g, --call-graph MODE fp, dwarf, lbr, or none (fp)
  -k, --clock CLOCK     perf's clock: monotonic, monotonic_raw, or default (monotonic)
  -e, --event EVENT     one more event for perf, as 'perf record -e' takes it; may be repeated
      --with-binaries   keep the binaries and kernel symbols that name the addresses

What else is recorded:
      --strace[=CALLS]  calls of the job with strace (all, or as 'strace -e trace=' takes them);
                        slows the job down
      --interval SEC    between samples of vmstat, pressure, meminfo, buddyinfo, settings (1)
      --add FILE        copy FILE into the folder at the end: a profiler's trace, a training log; may
                        be repeated
      --keep-output     what COMMAND prints goes to output.log in the folder

How it records:
      --set FILE=VALUE  write VALUE to FILE, below /proc/sys or /sys, while recording, and restore
                        what was there; may be repeated
      --clocks PROGRAM  traceloom-clocks, where it is not beside this script
      --max-size MIB    end the recording when the folder is as large (2048; never more than half of
                        what is free)
  -q, --quiet           say only what went wrong
  -h, --help            this text

Exit status:
  N      that of COMMAND when it ended by itself while it was recorded, 128+S when signal S ended it
  0      recorded; COMMAND, if any, was ended as asked for (-d, --max-size) or goes on
  125    nothing was recorded, or not to the end, and it is told why: arguments that make no sense, a
         full disk. COMMAND was not started, or is ended with the recording
  126    COMMAND cannot be executed: it was not started
  127    there is no COMMAND
  128+S  signal S (INT, TERM, HUP) ended the recording early, and a started job with it; the folder is
         whole all the same
  A COMMAND may itself end with any of these. The manifest tells: it is there, its "state" is
  "complete" when all was recorded, "command_status" is that of a COMMAND that ended by itself, and
  "stopped_by" tells what ended the recording else. What perf or strace could not record is no failure;
  it is listed under "missing".

Files in the folder:
  manifest.json     what was recorded of what, with which commands, and what could not be
  clocks.txt        snapshots of all clocks, by traceloom-clocks: begin, end, and in between
  perf.data         what perf recorded; perf.err what it said
  strace.log        what strace recorded; strace.err what it said
  system.log        /proc/vmstat, pressure, meminfo, buddyinfo, settings of memory, once an interval
  process/          status, maps, numa_maps of each process, at the begin and at the end; the numbers
                    of its threads inside a container, by which its own traces are joined
  dmesg.txt         what the kernel logged meanwhile; dmesg-before.txt what it had before
  capture.log       what this program said
  output.log        what COMMAND printed (--keep-output)
  buildid/          binaries and kernel symbols (--with-binaries)

Examples:
  sudo $name -p \$(pgrep -o -f train.py) --tree -d 30
  sudo $name --thp --with-binaries -o case -- python3 train.py && traceloom import -o case.db case
  $name --strace=ioctl,futex,mmap,munmap,madvise -d 20 -p 4711
  sudo $name --thp --set /sys/kernel/mm/transparent_hugepage/enabled=always -o always -- ./job
END
}

# What is said is kept, too, as far as the disk has room.
keep_words() {
	[ -z "${dir:-}" ] || { printf '%s\n' "$*" >>"$dir/capture.log"; } 2>/dev/null
}

tell() {
	printf '%s: %s\n' "$name" "$*" >&2
	keep_words "$*"
}

inform() {
	[ -n "$quiet" ] || printf '%s: %s\n' "$name" "$*" >&2
	keep_words "$*"
}

# As env(1), nohup(1) and timeout(1) have it: the job's own status tells of the job.
failed=125 not_executable=126 not_found=127

trouble() {
	tell "$*"
	exit $failed
}

misuse() {
	printf "%s: %s; see '%s --help'\n" "$name" "$*" "$name" >&2
	exit $failed
}

# missing WHAT WHY: could not be recorded.
missing() {
	{ printf '%s\t%s\n' "$1" "$2" >>"$dir/.missing"; } 2>/dev/null
	tell "not recorded: $1: $2"
}

# recorded ROLE PATH [CLOCK]
recorded() {
	printf '%s\t%s\t%s\n' "$1" "$2" "${3:-}" >>"$dir/.files"
}

is_number() {
	case $1 in
	'' | *[!0-9]*) return 1 ;;
	esac
	[ "${#1}" -le 9 ]
}

is_positive() {
	is_number "$1" && [ "$1" -gt 0 ]
}

have() {
	command -v "$1" >/dev/null 2>&1
}

# For the user to paste.
shell_word() {
	case $1 in
	'' | *[!A-Za-z0-9_./:=@%+-]*) printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")" ;;
	*) printf '%s' "$1" ;;
	esac
}

shell_words() {
	separator=''
	for word in "$@"; do
		printf '%s%s' "$separator" "$(shell_word "$word")"
		separator=' '
	done
}

# One that has ended and is only not yet waited for does not live.
is_alive() {
	[ -n "$1" ] && { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
	case ${stat##*) } in
	Z* | X*) return 1 ;;
	esac
}

# The shell knows a child that was waited for already; others are looked at.
wait_gone() { # PID SECONDS
	tenths=$(($2 * 10))
	while is_alive "$1"; do
		[ "$tenths" -gt 0 ] || return 1
		tenths=$((tenths - 1))
		sleep 0.1
	done
}

stop_process() { # PID SECONDS
	is_alive "$1" || return 0
	kill -TERM "$1" 2>/dev/null
	wait_gone "$1" "$2" || kill -KILL "$1" 2>/dev/null
}

# ---- time -----------------------------------------------------------------------------------------
stamp() {
	if [ -n "$clocks" ]; then
		"$clocks" --stamp
	else
		date +%s.%N | sed 's/\.%*N*$//'
	fi
}

# snapshot LABEL: every clock, at one moment.
snapshot() {
	if [ -n "$clocks" ]; then
		"$clocks" "$1"
		return
	fi
	# /proc/uptime has hundredths, and date takes a while to start: that is the width.
	before=$(date +%s%N)
	read -r uptime _ </proc/uptime
	after=$(date +%s%N)
	case $before$after in
	*[!0-9]*) echo "absent $1 boottime date tells no nanoseconds" ;;
	*) echo "anchor $1 boottime $(((before + after) / 2)) ${uptime%.*}${uptime#*.}0000000 $((after - before + 10000000))" ;;
	esac
}

# ---- the end, whoever comes to it -------------------------------------------------------------------
# Settings were written down before they were changed. A file that offers words shows its own in brackets.
restore_settings() {
	[ -f "$dir/.restore" ] || return 0
	while IFS='	' read -r file value; do
		{ printf '%s\n' "$value" >"$file"; } 2>/dev/null || tell "$file could not be restored to $value"
	done <"$dir/.restore"
	rm -f "$dir/.restore"
}

# The recorders first: they have files to finish.
stop_recorders() {
	while read -r kind pid; do
		[ "$kind" = command ] || kill -TERM "$pid" 2>/dev/null
	done <"$dir/.pids"
	while read -r kind pid; do
		[ "$kind" = command ] || stop_process "$pid" 60
	done <"$dir/.pids"
}

# The processes of a started job: its descendants, and those that lost their parent but still carry its
# mark. Not those of another user, nor one that cleared its environment and left its parent.
job_processes() {
	[ -n "$job_mark" ] || return 0
	{
		while read -r kind pid; do
			[ "$kind" != command ] || descendants "$pid"
		done <"$dir/.pids"
		grep -lsF -e "TRACELOOM_CAPTURE=$job_mark" /proc/[0-9]*/environ | sed 's,^/proc/,,; s,/environ$,,'
	} | tr ' ' '\n' | sort -nu
}

# The command itself first: it may wind its own processes up.
stop_command() {
	[ -z "$leave_running" ] || return 0
	while read -r kind pid; do
		[ "$kind" != command ] || members=$(job_processes) || :
		[ "$kind" != command ] || stop_process "$pid" 10
	done <"$dir/.pids"
	for pid in ${members:-} $(job_processes); do
		! is_alive "$pid" || kill -TERM "$pid" 2>/dev/null
	done
	for pid in ${members:-} $(job_processes); do
		stop_process "$pid" 5
	done
}

remove_work() {
	rm -rf "$work"
	rm -f "$dir/.pids" "$dir/.files" "$dir/.missing"
}

# ---- processes of a job, by their parents ----------------------------------------------------------------
list_parents() {
	for stat in /proc/[0-9]*/stat; do
		{ read -r line <"$stat"; } 2>/dev/null || continue
		# behind the name, which may hold anything: state, parent
		rest=${line##*) }
		rest=${rest#* }
		echo "${line%% *} ${rest%% *}"
	done
}

# descendants PID...: these, and all below them
descendants() {
	# without a file between them: the disk may be full
	list_parents | awk -v roots="$*" -v self=$$ '
		$1 == self { next } # this may be started by what it records
		{ children[$2] = children[$2] " " $1 }
		END {
			n = split(roots, queue, " ")
			for (i = 1; i <= n; i++) {
				if (queue[i] in seen)
					continue
				seen[queue[i]] = 1
				printf "%s%s", (i > 1 ? " " : ""), queue[i]
				count = split(children[queue[i]], more, " ")
				for (k = 1; k <= count; k++)
					queue[++n] = more[k]
			}
			print ""
		}'
}

# ---- the sampler, which also watches over this process ------------------------------------------------
# Words of a file, each an argument: none of them has a blank.
sample_loop() {
	trap 'is_over=yes' TERM
	trap '' INT HUP
	is_over='' count=0
	# shellcheck disable=SC2046
	set -- $(cat "$work/system-files")
	while [ -z "$is_over" ]; do
		if ! is_alive "$main_pid"; then
			# killed: nobody else is left to end this
			tell 'was killed; the recording ends'
			stop_command
			stop_recorders
			restore_settings
			snapshot killed >>"$dir/clocks.txt"
			remove_work
			return
		fi
		# After a write that failed nothing more is written; this still watches. A file can be removed
		# from a full disk, but not made.
		[ ! -f "$work/has-room" ] || { echo "@ $(stamp)" && { grep -Hs '' "$@" || :; }; } 2>/dev/null || rm -f "$work/has-room"
		count=$((count + 1))
		[ ! -f "$work/has-room" ] || [ $((count % 10)) -ne 0 ] || { snapshot "at-$count" >>"$dir/clocks.txt"; } 2>/dev/null
		size=$(du -sk "$dir" 2>/dev/null) size=${size%%[!0-9]*}
		if [ "${size:-0}" -gt "$max_kib" ]; then
			: >"$work/full"
		fi
		[ -n "$is_over" ] || sleep "$interval"
	done
}

# What the sampler must know. It has a session of its own: who kills the whole group of this process
# must not keep settings from being restored.
if [ "${1-}" = --be-sampler ]; then
	shift
	dir=$1 main_pid=$2 interval=$3 max_kib=$4 clocks=$5 leave_running=$6 job_mark=$7
	work=$dir/.work
	sample_loop
	exit
fi

start_sampler() {
	set -- "$dir" "$main_pid" "$interval" "$max_kib" "$clocks" "$leave_running" "$job_mark"
	if have setsid && [ -r "$0" ]; then
		setsid sh "$0" --be-sampler "$@" >"$dir/system.log" 2>>"$dir/capture.log" </dev/null &
		sampler_pid=$!
		return
	fi
	# a group of its own, where the shell can do that without a terminal
	set -m 2>/dev/null
	sample_loop >"$dir/system.log" 2>>"$dir/capture.log" </dev/null &
	sampler_pid=$!
	set +m
}

# ---- the arguments ------------------------------------------------------------------------------
pids='' tree='' duration='' leave_running='' dir='' out='' strace='' strace_calls='' perf=yes
frequency=199 graph=fp clock=monotonic binaries='' interval=1 max_mib=2048 quiet='' keep_output=''
want_offcpu='' want_thp='' want_syscalls='' want_locks='' is_chosen=''
newline='
'
extra_events='' settings='' additions='' command_status='' stopped_by='' clocks=''

while [ $# -gt 0 ]; do
	option=$1
	case $option in
	--strace=*) ;;
	--*=*)
		shift
		set -- "${option%%=*}" "${option#*=}" "$@"
		option=$1
		;;
	esac
	case $option in
	-p | --pid | -d | --duration | -o | --output | -F | --frequency | -g | --call-graph | -k | --clock | \
		-e | --event | --interval | --add | --set | --max-size | --clocks)
		[ $# -ge 2 ] || misuse "$option needs a value"
		value=$2
		shift
		;;
	esac
	case $option in
	-p | --pid) pids="$pids $(printf '%s' "$value" | tr ',' ' ')" ;;
	--tree) tree=yes ;;
	-d | --duration) duration=$value ;;
	--leave-running) leave_running=yes ;;
	-o | --output) out=$value ;;
	--cpu) is_chosen=yes ;;
	--offcpu) is_chosen=yes want_offcpu=yes ;;
	--thp) is_chosen=yes want_thp=yes want_offcpu=yes ;;
	--syscalls) is_chosen=yes want_syscalls=yes ;;
	--locks) want_locks=yes ;;
	--no-perf) perf='' ;;
	-F | --frequency) frequency=$value ;;
	-g | --call-graph) graph=$value ;;
	-k | --clock) clock=$value ;;
	-e | --event) extra_events="$extra_events$value$newline" ;;
	--with-binaries) binaries=yes ;;
	--strace) strace=yes ;;
	--strace=*) strace=yes strace_calls=${option#--strace=} ;;
	--interval) interval=$value ;;
	--add) additions="$additions$value$newline" ;;
	--keep-output) keep_output=yes ;;
	--set) settings="$settings$value$newline" ;;
	--max-size) max_mib=$value ;;
	--clocks) clocks=$value ;;
	-q | --quiet) quiet=yes ;;
	-h | --help)
		usage
		exit 0
		;;
	--)
		shift
		break
		;;
	-*) misuse "there is no option $option" ;;
	*) misuse "'$option' is no option; a command to start stands behind --" ;;
	esac
	shift
done

for pid in $pids; do
	is_number "$pid" || misuse "-p: '$pid' is no process id"
	[ -d "/proc/$pid" ] || trouble "there is no process $pid"
done
if [ $# -eq 0 ]; then
	[ -n "$pids" ] || misuse 'neither a process (-p) nor a command (--) was given'
	[ -z "$keep_output$leave_running" ] || misuse '--keep-output and --leave-running are for commands'
	[ -n "$duration" ] || duration=60
else
	[ -z "$pids" ] || misuse 'either processes (-p) or a command (--), not both'
	if ! have "$1"; then
		tell "there is no command '$1'"
		exit $not_found
	fi
	case $1 in
	*/*)
		if [ -d "$1" ] || [ ! -x "$1" ]; then
			tell "'$1' cannot be executed"
			exit $not_executable
		fi
		;;
	esac
fi
[ -z "$duration" ] || is_positive "$duration" || misuse "-d: '$duration' is no number of seconds"
is_positive "$frequency" || misuse "-F: '$frequency' is no number"
is_positive "$interval" || misuse "--interval: '$interval' is no number of seconds"
is_positive "$max_mib" || misuse "--max-size: '$max_mib' is no number of MiB"
case $graph in
fp | dwarf | dwarf,* | lbr | none) ;;
*) misuse "-g: '$graph' is neither fp, dwarf, lbr nor none" ;;
esac
case $clock in
monotonic | monotonic_raw | default) ;;
*) misuse "-k: '$clock' is neither monotonic, monotonic_raw nor default" ;;
esac
IFS=$newline
for setting in $settings; do
	file=${setting%%=*}
	case $file in
	*..*) misuse "--set: '$file' must not hold .." ;;
	/proc/sys/* | /sys/*) ;;
	*) misuse "--set: '$file' is neither below /proc/sys nor below /sys" ;;
	esac
	[ "$file" != "$setting" ] || misuse "--set: '$setting' is not FILE=VALUE"
	[ -f "$file" ] || trouble "--set: there is no $file"
	[ -w "$file" ] || trouble "--set: $file cannot be written; that takes root"
done
unset IFS
if [ -z "$is_chosen" ]; then
	want_offcpu=yes want_thp=yes want_syscalls=yes
fi

for tool in mkfifo date grep tr sed awk sort sleep df du timeout; do
	have $tool || trouble "there is no program '$tool', which this script needs"
done
[ -z "$clocks" ] || [ -x "$clocks" ] || trouble "--clocks: there is no program $clocks"
for candidate in "${0%/*}/traceloom-clocks" "${0%/*}/../build/traceloom-clocks" "$(command -v traceloom-clocks)"; do
	if [ -z "$clocks" ] && [ -x "$candidate" ]; then
		clocks=$candidate
	fi
done

host=$(uname -n)
[ -n "$out" ] || out=traceloom-$host-$(date -u +%Y%m%dT%H%M%SZ)
if [ -e "$out" ] && { [ ! -d "$out" ] || [ -n "$(ls -A "$out")" ]; }; then
	trouble "$out is there already, and is no empty folder"
fi
case $out in
/*) ;;
*) out=./$out ;; # it may begin with a dash
esac
is_new=yes
[ ! -d "$out" ] || is_new=''
mkdir -p "$out" || exit $failed
dir=$(cd "$out" >/dev/null && pwd) || exit $failed
out=${out#./}
work=$dir/.work
mkdir "$work" "$dir/process" && : >"$work/has-room" && : >"$dir/.files" && : >"$dir/.missing" && : >"$dir/.pids" || exit $failed

# ---- settings, and what is sampled ---------------------------------------------------------------------
setting_of() { # FILE
	value=$(cat "$1")
	case $value in
	*\[*\]*) value=${value#*\[} value=${value%%\]*} ;;
	esac
	printf '%s' "$value"
}

apply_settings() {
	IFS=$newline
	for setting in $settings; do
		file=${setting%%=*}
		printf '%s\t%s\n' "$file" "$(setting_of "$file")" >>"$work/restore"
	done
	unset IFS
	[ -f "$work/restore" ] || return 0
	# last set, first restored
	sed -n '1!G;h;$p' "$work/restore" >"$dir/.restore"
	IFS=$newline
	for setting in $settings; do
		file=${setting%%=*} value=${setting#*=}
		{ printf '%s\n' "$value" >"$file"; } 2>/dev/null || trouble "--set: $file does not take '$value'"
	done
	unset IFS
}

# "@ TIME", then FILE:LINE of each file. What changes by being read is not among them.
system_files() {
	for file in /proc/vmstat /proc/meminfo /proc/buddyinfo /proc/loadavg /proc/pressure/memory \
		/proc/pressure/cpu /proc/pressure/io; do
		[ ! -r "$file" ] || echo "$file"
	done
	[ -r /proc/pressure/memory ] || missing 'pressure (PSI)' 'this kernel has none, or not for this user'
	thp=/sys/kernel/mm/transparent_hugepage
	for file in "$thp"/enabled "$thp"/defrag "$thp"/shmem_enabled "$thp"/use_zero_page \
		"$thp"/hpage_pmd_size "$thp"/shrink_underused "$thp"/khugepaged/* "$thp"/hugepages-*/enabled; do
		[ ! -r "$file" ] || echo "$file"
	done
	[ -r $thp/enabled ] || missing 'settings of huge pages' "there is no $thp"
	for file in compaction_proactiveness compact_unevictable_allowed extfrag_threshold min_free_kbytes \
		watermark_scale_factor watermark_boost_factor zone_reclaim_mode swappiness dirty_ratio \
		dirty_background_ratio dirty_bytes dirty_background_bytes overcommit_memory nr_hugepages \
		drop_caches; do
		[ ! -r /proc/sys/vm/$file ] || echo /proc/sys/vm/$file
	done
	for file in /proc/sys/kernel/numa_balancing /proc/sys/kernel/perf_event_max_sample_rate; do
		[ ! -r "$file" ] || echo "$file"
	done
	true
}

# ---- what perf records ----------------------------------------------------------------------------------
tracing=''
for candidate in /sys/kernel/tracing /sys/kernel/debug/tracing; do
	if [ -z "$tracing" ] && [ -r "$candidate/events" ]; then
		tracing=$candidate
	fi
done

# The events, one a line, in $work/events; with "FILTER" behind a tab where one is needed.
tracepoint() { # SYSTEM:NAME [FILTER] [TERMS]
	if [ -d "$tracing/events/${1%%:*}/${1#*:}" ]; then
		printf '%s\t%s\n' "$1${3:-}" "${2:-}" >>"$work/events"
	else
		missing "event $1" 'this kernel does not have it'
	fi
}

choose_tracepoints() {
	# perf's own calls would feed on themselves, those of strace are not the job's
	others='COMM != "perf" && COMM != "strace"'
	plain=''
	[ "$graph" = none ] || plain=/call-graph=no/
	if [ -n "$want_offcpu" ]; then
		tracepoint sched:sched_switch
		tracepoint sched:sched_waking
	fi
	if [ -n "$want_thp" ]; then
		# Left out, as they come by the million: what khugepaged scans when it does not sleep, page
		# faults, mmap_lock:*, of which --locks has the contended ones.
		for event in huge_memory:mm_collapse_huge_page huge_memory:mm_collapse_huge_page_isolate \
			huge_memory:mm_collapse_huge_page_swapin huge_memory:mm_khugepaged_collapse_file \
			compaction:mm_compaction_begin compaction:mm_compaction_end \
			compaction:mm_compaction_try_to_compact_pages compaction:mm_compaction_kcompactd_wake \
			compaction:mm_compaction_kcompactd_sleep compaction:mm_compaction_migratepages \
			vmscan:mm_vmscan_direct_reclaim_begin vmscan:mm_vmscan_direct_reclaim_end \
			vmscan:mm_vmscan_kswapd_wake vmscan:mm_vmscan_kswapd_sleep \
			vmscan:mm_vmscan_throttled migrate:mm_migrate_pages migrate:mm_migrate_pages_start; do
			tracepoint $event
		done
		# Reclaim for the limit of a control group, or of a node: where the kernel has such.
		for event in vmscan:mm_vmscan_memcg_reclaim_begin vmscan:mm_vmscan_memcg_reclaim_end \
			vmscan:mm_vmscan_memcg_softlimit_reclaim_begin vmscan:mm_vmscan_memcg_softlimit_reclaim_end \
			vmscan:mm_vmscan_node_reclaim_begin vmscan:mm_vmscan_node_reclaim_end; do
			[ ! -d "$tracing/events/${event%%:*}/${event#*:}" ] || tracepoint $event
		done
		[ -d "$tracing/events/vmscan/mm_vmscan_memcg_reclaim_begin" ] ||
			missing 'reclaim for control groups' 'this kernel has no events of it'
	fi
	if [ -n "$want_locks" ]; then
		# sleeping locks only where they begin: 2 for reading, 4 for writing, 32 a mutex
		tracepoint lock:contention_begin 'flags == 2 || flags == 4 || flags == 32'
		tracepoint lock:contention_end '' "$plain"
	fi
	if [ -n "$want_syscalls" ]; then
		# old kernels cannot tell by name
		try_perf raw_syscalls:sys_enter ${is_all:+-a} --filter "$others" || others=perf
		tracepoint raw_syscalls:sys_enter "$others"
		tracepoint raw_syscalls:sys_exit "$others" "$plain"
	fi
}

# try EVENT [ARGUMENT...]: whether perf can record it here.
try_perf() {
	event=$1
	shift
	timeout 20 perf record -q -o /dev/null -N -e "$event" "$@" -- true >/dev/null 2>"$work/try"
}

why_of() { # FILE: the first line that says something
	grep -v -e '^[[:space:]]*$' -e '^Error:$' "$1" 2>/dev/null | head -n 1 | cut -c 1-200 | tr '\t' ' '
}

choose_events() {
	is_all='' suffix=''
	if ! have perf; then
		missing perf 'there is no program perf'
		perf=''
		return
	fi
	if try_perf cpu-clock -a; then
		is_all=yes
	elif try_perf cpu-clock:k; then # without the k perf would leave out the kernel and not say so
		missing 'other processes and the kernel threads' "perf may not record all CPUs: kernel.perf_event_paranoid is $(cat /proc/sys/kernel/perf_event_paranoid)"
	elif try_perf cpu-clock:u; then
		suffix=u
		missing 'kernel code, other processes' "kernel.perf_event_paranoid is $(cat /proc/sys/kernel/perf_event_paranoid)"
	else
		missing perf "perf may not record here: $(why_of "$work/try")"
		perf=''
		return
	fi
	sampled=cpu-clock
	# where there are no counters, perf would take another event without a word
	if timeout 20 perf stat -x, -e cycles:u true 2>&1 | grep -q '^[1-9][0-9]*,'; then
		sampled=cycles
	fi
	printf '%s/freq=%s/%s\t\n' "$sampled" "$frequency" "$suffix" >"$work/events"
	if [ -n "$suffix" ] || [ -z "$tracing" ] || ! try_perf sched:sched_switch ${is_all:+-a}; then
		if [ -n "$want_thp" ]; then
			missing 'events of huge pages, compaction and reclaim' 'tracepoints take root'
		fi
		[ -z "$want_syscalls" ] || missing 'system calls by perf' 'tracepoints take root; --strace records them'
		[ -z "$want_locks" ] || missing 'contended locks' 'tracepoints take root'
		if [ -n "$want_offcpu" ]; then
			missing 'who wakes whom' 'tracepoints take root'
			: >"$work/switch-events"
		fi
	else
		choose_tracepoints
	fi
	printf '%s' "$extra_events" | while IFS= read -r event; do
		if try_perf "$event" ${is_all:+-a}; then
			printf '%s\t\n' "$event" >>"$work/events"
		else
			missing "event $event" "$(why_of "$work/try")"
		fi
	done
}

# Memory for a second or two of many events; root may lock as much, others have a small allowance.
buffer_pages() {
	cpus=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
	pages=2048
	while [ $((pages * cpus)) -gt 65536 ] && [ $pages -gt 128 ]; do
		pages=$((pages / 2))
	done
	echo $pages
}

start_perf() {
	set --
	if [ -n "$binaries" ]; then
		set -- --buildid-dir "$dir/buildid"
	fi
	set -- "$@" record -q -o "$dir/perf.data"
	[ -n "$binaries" ] || set -- "$@" -N
	case $clock in
	monotonic) set -- "$@" -k CLOCK_MONOTONIC ;;
	monotonic_raw) set -- "$@" -k CLOCK_MONOTONIC_RAW ;;
	esac
	[ "$graph" = none ] || set -- "$@" --call-graph "$graph"
	if [ -n "$is_all" ]; then
		set -- "$@" -a
	else
		set -- "$@" -p "$(echo "$pids" | tr -s ' ' ',' | sed 's/^,//; s/,$//')"
	fi
	[ "$(id -u)" != 0 ] || set -- "$@" -m "$(buffer_pages)"
	[ ! -f "$work/switch-events" ] || set -- "$@" --switch-events
	if perf record -h 2>&1 | grep -q -e --max-size; then
		set -- "$@" --max-size "$max_mib"M
	fi
	while IFS='	' read -r event filter; do
		set -- "$@" -e "$event"
		case $filter in
		'') ;;
		perf) set -- "$@" --exclude-perf ;;
		*) set -- "$@" --filter "$filter" ;;
		esac
	done <"$work/events"
	is_controlled=''
	if perf record -h 2>&1 | grep -q -e --control; then
		is_controlled=yes
		mkfifo "$work/control" "$work/ack"
		exec 5<>"$work/control" 6<>"$work/ack"
		# by number: a path may hold a comma
		set -- "$@" -D -1 --control fd:5,6
	fi
	perf "$@" >"$dir/perf.err" 2>&1 </dev/null &
	perf_pid=$!
	echo "perf $perf_pid" >>"$dir/.pids"
	shell_words perf "$@" >"$work/perf-command"
	wait_for_perf
}

# Recording begins when perf says so, or, where it cannot, when its file has grown for a while.
wait_for_perf() {
	if [ -n "$is_controlled" ]; then
		echo enable >&5
		# it may end instead of answering
		tries=0
		while [ $tries -lt 60 ] && is_alive "$perf_pid"; do
			timeout 1 sh -c 'IFS= read -r line' <&6 && break
			tries=$((tries + 1))
		done
	else
		tries=0
		while [ $tries -lt 100 ] && is_alive "$perf_pid" && [ ! -s "$dir/perf.data" ]; do
			sleep 0.1
			tries=$((tries + 1))
		done
		sleep 1
	fi
	is_alive "$perf_pid"
}

# One event that perf does not take keeps all others from being recorded: find it.
drop_bad_events() {
	: >"$work/good"
	while IFS='	' read -r event filter; do
		if try_perf "$event" ${is_all:+-a}; then
			printf '%s\t%s\n' "$event" "$filter" >>"$work/good"
		else
			missing "event $event" "$(why_of "$work/try")"
		fi
	done <"$work/events"
	cmp -s "$work/good" "$work/events" && return 1
	mv "$work/good" "$work/events"
	[ -s "$work/events" ]
}

record_perf() {
	start_perf && return
	first_trouble=$(why_of "$dir/perf.err")
	exec 5>&- 6>&-
	rm -f "$work/control" "$work/ack" "$dir/perf.data"
	drop_bad_events && start_perf && return
	missing perf "it ended at once: $first_trouble"
	perf=''
}

# ---- strace -----------------------------------------------------------------------------------------------
start_strace() {
	if ! have strace; then
		missing 'system calls by strace' 'there is no program strace'
		strace=''
		return
	fi
	set -- -f -y -s 64 -o "$dir/strace.log"
	if strace -o /dev/null --absolute-timestamps=format:unix,precision:ns --syscall-times=ns true \
		>/dev/null 2>&1; then
		set -- "$@" --absolute-timestamps=format:unix,precision:ns --syscall-times=ns
	else
		set -- "$@" -ttt -T
	fi
	[ -z "$strace_calls" ] || set -- "$@" -e "trace=$strace_calls"
	for pid in $pids; do
		set -- "$@" -p "$pid"
	done
	: >"$dir/strace.err"
	strace "$@" >/dev/null 2>"$dir/strace.err" </dev/null &
	strace_pid=$!
	echo "strace $strace_pid" >>"$dir/.pids"
	shell_words strace "$@" >"$work/strace-command"
	tries=0
	while [ $tries -lt 100 ] && is_alive "$strace_pid" && ! grep -q ' attached' "$dir/strace.err"; do
		sleep 0.1
		tries=$((tries + 1))
	done
	is_alive "$strace_pid" && return
	missing 'system calls by strace' "$(why_of "$dir/strace.err")"
	strace=''
}

# ---- processes ----------------------------------------------------------------------------------------------
# What the kernel says of each process, begin and end. Reading numa_maps holds the process up: not more
# often than that.
# What local time is ahead of UTC for a process, as its logs will tell it: by its TZ, else by its own
# /etc/localtime; nothing where TZ names a zone that this machine does not know.
zone_of() { # PID
	tz=$({ tr '\000' '\n' <"/proc/$1/environ"; } 2>/dev/null | sed -n 's/^TZ=//p' | head -n 1)
	case $tz in
	'')
		file=/proc/$1/root/etc/localtime
		if [ -r "$file" ]; then TZ=:$file date +%z; else date +%z; fi
		;;
	UTC* | GMT* | *[0-9]*) TZ=$tz date +%z ;;
	*) [ -r "/usr/share/zoneinfo/${tz#:}" ] && TZ=$tz date +%z ;;
	esac
}

keep_process() { # WHEN
	for pid in $pids; do
		[ -n "$zone" ] || ! is_alive "$pid" || zone=$(zone_of "$pid")
		for file in status maps numa_maps cmdline; do
			kept=process/$pid.$file.$1
			{ cat "/proc/$pid/$file" >"$work/file"; } 2>/dev/null
			if [ -s "$work/file" ]; then
				mv "$work/file" "$dir/$kept"
			elif [ "$1" = begin ] && is_alive "$pid"; then
				missing "/proc/$pid/$file" 'it is empty, or may not be read'
			fi
			[ ! -f "$dir/$kept" ] || recorded "process-$file" "$kept"
		done
		keep_numbers "$pid"
		[ "$1" = begin ] || [ ! -f "$dir/process/$pid.threads" ] ||
			recorded process-threads "process/$pid.threads"
	done
}

# Which number a thread has inside its container: what the job writes, like a profiler's trace, has these.
# Of threads in no container too: one that has the number of another inside is not to be taken for it.
keep_numbers() { # PID
	cat "$dir/process/$1.threads" "/proc/$1/task"/*/status 2>/dev/null |
		awk '$1 == "NSpid:" && NF > 1 { print $1, $2, (NF > 2 ? $NF : "") }' | sort -u 2>/dev/null >"$work/threads" &&
		[ -s "$work/threads" ] && mv "$work/threads" "$dir/process/$1.threads"
}

kernel_log() {
	{ dmesg -r || dmesg; } 2>"$work/dmesg.err"
}

# What was logged while recording, and, for people, what had been before.
keep_kernel_log() {
	kernel_log >"$work/dmesg"
	if [ ! -s "$work/dmesg" ]; then
		[ ! -s "$work/dmesg.err" ] || missing 'the kernel log' "$(why_of "$work/dmesg.err")"
		return
	fi
	old=0
	if [ -s "$dir/dmesg-before.txt" ]; then
		recorded dmesg-before dmesg-before.txt
		# the last line from before; 0: the kernel has forgotten it already
		old=$(grep -nxF -e "$(tail -n 1 "$dir/dmesg-before.txt")" "$work/dmesg" | tail -n 1)
		old=${old%%:*}
	fi
	tail -n +$((${old:-0} + 1)) "$work/dmesg" >"$dir/dmesg.txt"
	if [ -s "$dir/dmesg.txt" ]; then
		recorded dmesg dmesg.txt sched_clock
	else
		rm -f "$dir/dmesg.txt"
	fi
}

start_command() {
	mkfifo "$work/go"
	if [ -n "$keep_output" ]; then
		exec 4>"$dir/output.log"
	else
		exec 4>&1
	fi
	exec 3<&0
	# it waits, so that nothing of it is missed
	# shellcheck disable=SC2016
	wait_and_run='umask "$1"; [ -n "$2" ] && LC_ALL=$2 || unset LC_ALL
		TRACELOOM_CAPTURE=$3 && export TRACELOOM_CAPTURE; shift 3
		IFS= read -r go <"$0" && exec "$@" 3<&- 4>&-'
	job_mark=$$.$begin_time
	set -- "$work/go" "$job_umask" "$job_locale" "$job_mark" "$@"
	if [ -n "$keep_output" ]; then
		sh -c "$wait_and_run" "$@" <&3 >&4 2>&4 5>&- 6>&- &
	else
		sh -c "$wait_and_run" "$@" <&3 >&4 5>&- 6>&- &
	fi
	command_pid=$!
	exec 3<&- 4>&-
	echo "command $command_pid" >>"$dir/.pids"
	pids=$command_pid
}

signal_words() { # STATUS
	[ "$1" -gt 128 ] && signal=$(kill -l "$1" 2>/dev/null) && [ -n "$signal" ] && printf ': SIG%s' "$signal"
}

# ---- the manifest ---------------------------------------------------------------------------------------------
# Text in quotes; bytes that are no plain ASCII become "?", so that no reader stumbles.
json_text() {
	printf '"%s"' "$(printf '%s' "$1" | tr '\001-\037\177-\377' '?' | sed 's/[\\"]/\\&/g')"
}

json_list() { # FILE: lines of it
	separator=''
	while IFS= read -r line; do
		printf '%s%s' "$separator" "$(json_text "$line")"
		separator=', '
	done <"$1"
}

write_manifest() { # STATE
	{
		printf '{\n\t"traceloom_capture": %s,\n\t"state": %s,\n' $manifest_version "$(json_text "$1")"
		[ -z "$stopped_by" ] || printf '\t"stopped_by": %s,\n' "$(json_text "$stopped_by")"
		printf '\t"begin": %s,\n\t"end": %s,\n' "$(json_text "$begin_time")" "$(json_text "$(stamp)")"
		printf '\t"host": {\n\t\t"hostname": %s,\n\t\t"os_release": %s,\n\t\t"arch": %s,\n' \
			"$(json_text "$host")" "$(json_text "$(uname -r)")" "$(json_text "$(uname -m)")"
		printf '\t\t"boot_id": %s,\n\t\t"cpus_online": %s,\n\t\t"page_size": %s\n\t},\n' \
			"$(json_text "$(cat /proc/sys/kernel/random/boot_id 2>/dev/null)")" \
			"$(json_text "$(getconf _NPROCESSORS_ONLN 2>/dev/null)")" \
			"$(json_text "$(getconf PAGESIZE 2>/dev/null)")"
		printf '\t"pids": [%s],\n' "$(echo "$pids" | tr -s ' ' '\n' | grep . | paste -s -d , -)"
		[ -z "$zone" ] || printf '\t"timezone": %s,\n' "$(json_text "$zone")"
		printf '\t"command": %s,\n' "$(json_text "$command_line")"
		[ -z "$command_status" ] || printf '\t"command_status": %s,\n' "$command_status"
		for tool in perf strace; do
			[ ! -s "$work/$tool-command" ] || printf '\t"%s_command": %s,\n' $tool "$(json_text "$(cat "$work/$tool-command")")"
		done
		printf '\t"settings_changed": [%s],\n' "$(printf '%s' "$settings" >"$work/settings" && json_list "$work/settings")"
		printf '\t"files": ['
		separator=''
		while IFS='	' read -r role path file_clock; do
			printf '%s\n\t\t{"role": %s, "path": %s' "$separator" "$(json_text "$role")" "$(json_text "$path")"
			[ -z "$file_clock" ] || printf ', "clock": %s' "$(json_text "$file_clock")"
			printf '}'
			separator=,
		done <"$dir/.files"
		printf '\n\t],\n\t"missing": ['
		separator=''
		while IFS='	' read -r what why; do
			printf '%s\n\t\t{"what": %s, "why": %s}' "$separator" "$(json_text "$what")" "$(json_text "$why")"
			separator=,
		done <"$dir/.missing"
		printf '\n\t]\n}\n'
	} 2>/dev/null >"$work/manifest" && mv "$work/manifest" "$dir/manifest.json" && return
	tell "the manifest could not be written"
	return 1
}

# ---- recording ------------------------------------------------------------------------------------------------
main_pid=$$
zone='' command_pid='' perf_pid='' strace_pid='' sampler_pid='' job_mark='' stop_signal='' command_line=$(shell_words "$@") begin_time=$(stamp)
free_kib=$(df -Pk "$dir" | sed -n '2s/^[^ ]* *[0-9]* *[0-9]* *\([0-9]*\).*/\1/p')
max_kib=$((max_mib * 1024))
if [ -n "$free_kib" ] && [ $((free_kib / 2)) -lt $max_kib ]; then
	max_kib=$((free_kib / 2))
	max_mib=$((max_kib / 1024 + 1))
	inform "at most $max_mib MiB, half of what is free"
fi

# Where nothing was recorded nothing is left. The folder was empty, whoever made it.
# shellcheck disable=SC2317 # called by leave
remove_all() {
	if [ -n "$is_new" ]; then
		rm -rf "$dir"
	else
		rm -rf "${dir:?}"/* "$dir"/.[!.]*
	fi
}

# Whatever happens from here on.
has_begun=''
# shellcheck disable=SC2317 # called by the trap
leave() {
	status=$?
	trap '' INT TERM HUP
	trap - EXIT
	unset IFS # it may come out of a loop over lines
	stop_command
	stop_recorders
	stop_process "$sampler_pid" 5
	restore_settings
	remove_work
	[ -n "$has_begun" ] || remove_all
	exit "$status"
}
trap leave EXIT
trap 'stopped_by=SIGINT stop_signal=2' INT
trap 'stopped_by=SIGTERM stop_signal=15' TERM
trap 'stopped_by=SIGHUP stop_signal=1' HUP

[ -n "$clocks" ] || missing 'exact clocks' 'there is no traceloom-clocks beside this script; build it from capture_clocks.c'
system_files >"$work/system-files"
kernel_log >"$dir/dmesg-before.txt"
[ -z "$perf" ] || choose_events
[ $# -eq 0 ] || start_command "$@"
# shellcheck disable=SC2086
[ -z "$tree" ] || pids=$(descendants $pids)
start_sampler
apply_settings
recorded clocks clocks.txt
recorded system system.log
[ -z "$perf" ] || record_perf
[ -z "$strace" ] || start_strace
keep_process begin
[ -z "$perf" ] || recorded perf perf.data "$clock"
[ -z "$strace" ] || recorded strace strace.log realtime
: >>"$dir/capture.log"
for file in capture.log perf.err strace.err; do
	[ ! -f "$dir/$file" ] || recorded message $file
done
write_manifest recording && snapshot begin >>"$dir/clocks.txt" || exit $failed
has_begun=yes
if [ -n "$command_pid" ] && [ -z "$stopped_by" ]; then
	echo go >"$work/go"
fi
inform "recording to $out${duration:+ for $duration s}"

is_any_alive() {
	for pid in $pids; do
		is_alive "$pid" && return 0
	done
	return 1
}

# Seconds of /proc/uptime: the wall clock may be set meanwhile.
uptime_seconds() {
	read -r uptime _ </proc/uptime
	echo "${uptime%%.*}"
}

# How much memory, how often it waited: of one that ends before we do, the last that was seen.
keep_status() {
	for pid in $pids; do
		if ! is_alive "$pid"; then
			continue
		fi
		{ cat "/proc/$pid/status" >"$work/status"; } 2>/dev/null && [ -s "$work/status" ] &&
			mv "$work/status" "$dir/process/$pid.status.end"
		keep_numbers "$pid"
	done
}

end_of() { # STATUS FILE: what it said, if anything
	why=$(grep -v ' attached$' "$2" | grep . | tail -n 1 | cut -c 1-200 | tr '\t' ' ')
	echo "${why:-with status $1$(signal_words "$1")}"
}

# What dies early is told, once; the job, which may be long, goes on with what is left.
watch_recorders() {
	if [ -n "$perf" ] && [ -n "$perf_pid" ] && ! is_alive "$perf_pid"; then
		wait "$perf_pid"
		status=$?
		perf_pid=''
		size=$(du -sk "$dir/perf.data" 2>/dev/null) size=${size%%[!0-9]*}
		if [ "${size:-0}" -ge $((max_kib * 9 / 10)) ] || grep -q 'limit reached' "$dir/perf.err"; then
			stopped_by="the bound of $max_mib MiB"
		else
			missing 'what perf would have seen later' "it ended before the job: $(end_of $status "$dir/perf.err")"
		fi
	fi
	if [ -n "$strace" ] && [ -n "$strace_pid" ] && ! is_alive "$strace_pid" && is_any_alive; then
		wait "$strace_pid"
		status=$?
		strace_pid=''
		missing 'what strace would have seen later' "it ended before the job: $(end_of $status "$dir/strace.err")"
	fi
	if [ -n "$sampler_pid" ] && ! is_alive "$sampler_pid"; then
		sampler_pid=''
		missing 'samples of the system from then on' 'the process that takes them was killed'
	fi
}

is_disk_full() {
	[ -f "$work/has-room" ] || return 0
	{ echo . >"$work/room"; } 2>/dev/null || return 0
	[ ! -s "$work/room" ]
}

trouble_at_end=''
start=$(uptime_seconds)
next_status=$((start + 2))
while [ -z "$stopped_by" ] && is_any_alive; do
	if [ -n "$duration" ] && [ $(($(uptime_seconds) - start)) -ge "$duration" ]; then
		break
	fi
	if [ -f "$work/full" ]; then
		stopped_by="the bound of $max_mib MiB"
		break
	fi
	if is_disk_full; then
		trouble_at_end='the disk is full: the recording is not whole'
		stopped_by='a full disk'
		break
	fi
	watch_recorders
	[ -z "$stopped_by" ] || break
	if [ "$(uptime_seconds)" -ge $next_status ]; then
		keep_status
		next_status=$((next_status + 10))
	fi
	sleep 0.2
done

snapshot end >>"$dir/clocks.txt"
keep_process end
# a job that has the same end as this has ended before it was asked to
was_alive=''
if [ -n "$command_pid" ]; then
	is_alive "$command_pid" && was_alive=yes
fi
stop_recorders
[ -z "$stopped_by" ] || inform "stopped by $stopped_by"
if [ -n "$command_pid" ] && [ -z "$was_alive" ]; then
	wait "$command_pid"
	command_status=$?
	left=''
	for pid in $(job_processes); do
		! is_alive "$pid" || left="$left$pid "
	done
	[ -z "$left" ] || tell "the command ended, but processes that it started go on: ${left% }; -p records them"
	job_mark='' # they are left alone
elif [ -n "$command_pid" ]; then
	stop_command
fi
stop_process "$sampler_pid" 5
restore_settings

keep_kernel_log
if [ -n "$binaries" ]; then
	[ ! -d "$dir/buildid" ] || recorded buildid buildid
	if [ -n "$(find "$dir/buildid" -name kallsyms 2>/dev/null)" ]; then
		: # perf keeps those of this boot
	elif grep -q -m 1 -v '^0* ' /proc/kallsyms 2>/dev/null; then
		cat /proc/kallsyms >"$dir/kallsyms.txt" && recorded kallsyms kallsyms.txt
	else
		missing 'kernel symbols' 'kernel.kptr_restrict hides them'
	fi
fi
[ -z "$keep_output" ] || recorded output output.log
IFS=$newline
for file in $additions; do
	# ranks may call theirs the same
	kept=${file##*/} count=2
	while [ -e "$dir/$kept" ]; do
		kept=$count-${file##*/} count=$((count + 1))
	done
	if [ -f "$file" ] && cp -p "$file" "$dir/$kept" 2>/dev/null; then
		recorded added "$kept"
	else
		missing "$file" 'it cannot be copied'
	fi
done
unset IFS
unrecorded() { # PATH
	sed "/	$1	/d" "$dir/.files" >"$work/files" && mv "$work/files" "$dir/.files"
	rm -f "${dir:?}/$1"
}
if [ -n "$perf" ] && [ ! -s "$dir/perf.data" ]; then
	missing perf "it wrote nothing: $(why_of "$dir/perf.err")"
	unrecorded perf.data
fi
if [ -n "$strace" ] && [ ! -s "$dir/strace.log" ]; then
	missing 'system calls by strace' 'the job made no such call while it was recorded'
	unrecorded strace.log
fi
[ -s "$dir/dmesg-before.txt" ] || rm -f "$dir/dmesg-before.txt"
state=complete
[ -z "$trouble_at_end" ] || state=incomplete
write_manifest $state || trouble_at_end=${trouble_at_end:-'the disk is full, or cannot be written: the recording is not whole'}
inform "recorded $(du -sh "$dir" | sed 's/[[:space:]].*//'); next: traceloom import -o $(shell_word "$out.db") $(shell_word "$out")"
[ -z "$trouble_at_end" ] || trouble "$trouble_at_end"
if [ -n "$stop_signal" ]; then
	exit $((128 + stop_signal))
fi
if [ -n "$command_status" ] && [ "$command_status" != 0 ]; then
	tell "it is recorded; the command itself ended with status $command_status$(signal_words "$command_status")"
fi
exit "${command_status:-0}"
