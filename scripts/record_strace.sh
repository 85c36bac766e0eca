#!/bin/sh
# Records the logs of testdata/strace anew, all or those named: strace's and ltrace's output of one
# small program, once for each way in which it is printed. Needs root, strace, ltrace, perf, gcc.
# The committed set was made by it. Nothing of `make check` needs it.
#
#   scripts/record_strace.sh [CASE...]
#
# Cases are called by name, and recorded commands are expanded when they run:
# shellcheck disable=SC2317,SC2086
set -u
self=$(readlink -f "$0")
top=$(cd "$(dirname "$self")/.." && pwd)
out=$top/testdata/strace
lab=/srv/tl-lab

if [ "${TL_INSIDE:-}" != yes ]; then
	[ "$(id -u)" = 0 ] || { echo "record_strace.sh: needs root" >&2; exit 2; }
	[ ! -e $lab ] || { echo "record_strace.sh: $lab is in the way" >&2; exit 2; }
	# numbers and the environment are those of a small machine, not of this one
	mkdir $lab
	TL_INSIDE=yes exec unshare --uts --mount env -i PATH="$PATH" TL_INSIDE=yes sh "$self" "$@"
fi
trap 'rm -rf $lab' EXIT
gcc -O1 -static -pthread -o $lab/calls "$out/calls.c" || exit 2
gcc -O1 -pthread -o $lab/dynamic "$out/calls.c" || exit 2
cd $lab || exit 2

# record CASE COMMAND: the command writes input.log (or input.log.N, or input.log.gz) here.
record() {
	case=$1
	shift
	[ -z "$wanted" ] || case " $wanted " in *" $case "*) ;; *) return 0 ;; esac
	mkdir -p "$out/$case"
	rm -f "$out/$case"/input* input*
	sh -c "$*" </dev/null >/dev/null 2>stderr
	for log in input*; do
		# nothing of the person who records
		cp "$log" "$out/$case/$log"
	done
	printf '%s\n' "$*" >"$out/$case/how.txt"
}
wanted=$*

record epoch 'strace -f -ttt -T -C -w -o input.log ./calls'
record epoch-only 'strace -ttt -o input.log ./calls few'
record time-of-day 'strace -f -tt -T -C -w -o input.log ./calls'
record seconds 'strace -t -T -o input.log ./calls few'
record relative 'strace -r -T -o input.log ./calls few'
record relative-too 'strace -ttt -r -o input.log ./calls few'
record time-of-day-relative-too 'strace -tt -r -T -o input.log ./calls few'
record nanoseconds 'strace -f --absolute-timestamps=format:unix,precision:ns --syscall-times=ns -o input.log ./calls'
record milliseconds 'strace --absolute-timestamps=format:time,precision:ms --syscall-times=ms -o input.log ./calls few'
record whole-seconds 'strace --absolute-timestamps=format:unix,precision:s --syscall-times=s -o input.log ./calls few'
record no-times 'strace -f -C -w -o input.log ./calls'
record durations-only 'strace -T -o input.log ./calls few'
record derived 'strace -f -ttt -o input.log ./calls'
record names 'strace -f -ttt -T --decode-pids=comm -yy -o input.log ./calls'
record stderr 'strace -f -ttt -T ./calls 2>input.log'
record stderr-names 'strace -f -tt -T --decode-pids=comm ./calls 2>input.log'
record stacks 'strace -f -ttt -T -k -o input.log ./calls few'
record numbers-pointers 'strace -n -i -f -ttt -T -o input.log ./calls few'
record failed-only 'strace -f -ttt -T -Z -o input.log ./calls'
record successful-only 'strace -f -tt -T -z -o input.log ./calls'
record split 'strace -ff -ttt -T -o input.log ./calls'
record split-relative 'strace -ff -r -T -o input.log ./calls'
record merged 'strace -ff -ttt -T -o part ./calls; strace-log-merge part >input.log; rm part.*'
record dump 'strace -e write=3 -ttt -T -o input.log ./calls few'
record hexadecimal 'strace -xx -ttt -T -o input.log ./calls few'
record raw 'strace -e raw=all -ttt -T -o input.log ./calls few'
record appended 'strace -tt -T -o input.log ./calls few; strace -A -ttt -T -o input.log ./calls few'
record interleaved 'strace -ttt -T sh -c "echo hello = 3 \<0.1\>; printf x; echo y >&2" >input.log 2>&1'
record attached 'sleep 0.4 & sleep 0.1; strace -ttt -T -f -p $! -o input.log'
record detached 'sleep 1 & sleep 0.1; timeout -s INT 0.3 strace -ttt -T -p $! -o input.log'
record killed 'sleep 1 & sleep 0.1; timeout -s KILL 0.3 strace -tt -T -p $! -o input.log'
record carriage-returns 'strace -f -ttt -T -o input.log ./calls few; sed -i "s/$/\r/" input.log'
record colours 'strace -f -ttt -T -o input.log ./calls few; sed -i "s/\([a-z_0-9]*\)(/\x1b[33m\1\x1b[0m(/" input.log'
record gzip 'strace -f -ttt -T -o input.log ./calls; gzip -9n input.log'
record zstd 'strace -f -tt -T -o input.log ./calls; zstd -q --rm input.log'
record ltrace 'ltrace -f -ttt -T -o input.log ./dynamic'
record ltrace-system 'ltrace -f -S -ttt -T -o input.log ./dynamic few'
record summary-only 'strace -c -f -o input.log ./calls'
record perf-trace 'perf trace -S -o input.log ./calls 2>/dev/null'
