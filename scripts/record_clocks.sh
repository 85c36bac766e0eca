#!/bin/bash
# record_clocks.sh [CASE...] - records testdata/clock: one run of a program seen by perf on its default
# clock and by strace at once, with marks that tell the true offset between the two. Needs root, perf
# and strace.
# trace.txt.gz, where the program is `load`, is the same perf.data as perf trace prints it.
#
# A mark is a call of a thread that strace does not trace, between two readings of the wall clock
# (clock_load.c): `marks` has these, a pair a line; perf.data.gz has the call.
set -eu
cd "$(dirname "$0")/.."
top=$PWD
work=$(mktemp -d "${TMPDIR:-/tmp}/traceloom-clocks.XXXXXX")
trap 'rm -rf "$work"' EXIT
cc -O1 -pthread -o "$work/clock_load" scripts/clock_load.c
cd "$work"

# stopped COMMAND...: starts it, but lets it wait for SIGCONT; its id in $started
stopped() {
	sh -c 'kill -STOP $$; exec "$@"' sh "$@" &
	started=$!
	sleep 0.1
}

# record NAME EVENTS COMMAND...
record() {
	local name=$1 events=$2 program marker other perf tracer
	shift 2

	stopped "$@" >/dev/null 2>&1
	program=$started
	stopped ./clock_load mark 60 >marks
	marker=$started
	# shellcheck disable=SC2016
	stopped sh -c 'i=0; while [ $i -lt 40 ]; do : </proc/self/stat; read -r x </proc/uptime; i=$((i + 1)); done'
	other=$started
	# shellcheck disable=SC2086
	perf record -q -o perf.data $events -p "$program,$marker,$other" 2>perf.err &
	perf=$!
	sleep 1
	strace -f -ttt -T -o strace.log -p "$program" 2>/dev/null &
	tracer=$!
	sleep 0.5
	kill -CONT "$marker" "$other" "$program"
	wait "$program" "$marker" "$other" || :
	wait "$tracer" || :
	kill -INT "$perf" 2>/dev/null || :
	wait "$perf" || :
	mkdir -p "$top/testdata/clock/$name"
	gzip -9n <perf.data >"$top/testdata/clock/$name/perf.data.gz"
	[ "$name" != load ] || perf trace -f -T -i perf.data 2>&1 >/dev/null | gzip -9n >"$top/testdata/clock/$name/trace.txt.gz"
	gzip -9n <strace.log >"$top/testdata/clock/$name/strace.log.gz"
	cp marks "$top/testdata/clock/$name/marks"
	{
		echo "scripts/record_clocks.sh $name"
		echo "perf record $events -p PROGRAM,MARKER,OTHER and strace -f -ttt -T -p PROGRAM"
		echo "of: $*"
		perf --version
		strace --version | head -n 1
	} >"$top/testdata/clock/$name/how.txt"
}

# shellcheck disable=SC2016
programs='for i in 1 2 3 4 5 6 7 8; do ls -l /usr | sort | tail -n 2; date +%N; cat /proc/uptime; done'
raw='-e raw_syscalls:sys_enter,raw_syscalls:sys_exit'
cases=${*:-load shells files even sleeps}
for name in $cases; do
	case $name in
	load) record load "$raw" ./clock_load load 200 ;;
	shells) record shells "$raw" sh -c "$programs" ;;
	files) record files "$raw" sh -c 'tar -cf - -b 8 /usr/include/linux | gzip -1 | tail -c 1' ;;
	even) record even "$raw" tar -cf /dev/null /usr/include/linux ;;
	sleeps) record sleeps '-e sched:sched_switch --switch-events' ./clock_load load 200 ;;
	*) echo "no such case: $name" >&2; exit 2 ;;
	esac
done
