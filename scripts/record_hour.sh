#!/bin/bash
# record_hour.sh [SECONDS] - records testdata/clock/hour: for an hour (or so many seconds) capture.sh records
# a program that does little, with perf on its default clock, while marks tell where that clock really is.
# Needs root, perf and strace; takes an hour and half a GB in TMPDIR, as all processes of the machine are
# seen. Kept are the snapshots of the clocks, and every thirtieth mark.
#
# A mark is a call of a process of its own between two readings of the wall clock (clock_load.c). Snapshots
# are taken by another program; so the marks are a measure of the line that is laid through these.
set -eu
cd "$(dirname "$0")/.."
top=$PWD
seconds=${1:-3600}
work=$(mktemp -d "${TMPDIR:-/tmp}/traceloom-hour.XXXXXX")
trap 'rm -rf "$work"' EXIT
cc -O1 -pthread -o "$work/clock_load" scripts/clock_load.c
cc -O2 -o "$work/traceloom-clocks" scripts/capture_clocks.c
"$work/clock_load" mark $((seconds * 5 / 2)) 400000 >"$work/marks" &
marker=$!
scripts/capture.sh --clocks "$work/traceloom-clocks" --cpu -F 1 -g none -k default --strace --interval 10 \
	-e syscalls:sys_enter_getppid -e syscalls:sys_exit_getppid \
	-e syscalls:sys_enter_clock_nanosleep -e syscalls:sys_exit_clock_nanosleep \
	-o "$work/hour" -d "$seconds" -- "$work/clock_load" doze 100000
kill "$marker" 2>/dev/null || :

out=$top/testdata/clock/hour
mkdir -p "$out"
python3 scripts/cut_hour.py "$work/hour/perf.data" "$marker" "$work/marks" "$out" 30
gzip -9nc "$work/hour/clocks.txt" >"$out/clocks.txt.gz"
{
	echo "scripts/record_hour.sh"
	echo "capture.sh -k default --strace, with marks; perf.data.gz has every thirtieth of them"
	perf --version
} >"$out/how.txt"
