#!/bin/sh
# demo.sh PROGRAM - shows the way from a recorded case to an answer, on one kept in testdata: a training
# job that is slow after a checkpoint.
set -eu
program=$(realpath "$1")
cd "$(dirname "$0")/.."
planted=testdata/planted
out=$(dirname "$1")/demo
mkdir -p "$out"
rm -f "$out/demo.db"

# say COMMAND LINE: as a person would type it
say() {
	printf '\n$ traceloom %s\n' "$*"
}

# show LINES COMMAND...: the beginning of what it prints
show() {
	lines=$1
	shift
	say "$@"
	"$program" "$@" >"$out/output" 2>&1
	head -n "$lines" "$out/output"
	[ "$(wc -l <"$out/output")" -le "$lines" ] || echo '...'
}

show 20 import -o "$out/demo.db" --buildid-dir $planted/buildid $planted/compaction/case
show 27 steps --rank 0 "$out/demo.db"
show 13 syscalls --steps slow --thread trainload --top 3 "$out/demo.db"
printf '\nStep 22 is the checkpoint itself; what is slow in the steps behind it?\n'
say collapse -e cpu-clock/freq=199/ --steps 23-30 --comm trainload "$out/demo.db" '>' "$out/slow.folded"
{ "$program" collapse -e cpu-clock/freq=199/ --steps 23-30 --comm trainload "$out/demo.db" >"$out/slow.folded"; } 2>&1
printf '\nThe heaviest stacks of %s:\n' "$out/slow.folded"
awk '{ print $NF, $0 }' "$out/slow.folded" | sort -k 1,1nr -k 2 | head -n 5 | sed 's/^[0-9]* //'
show 6 thp "$out/demo.db"
printf '\nTo draw the stacks, with flamegraph.pl of https://github.com/brendangregg/FlameGraph:\n'
printf '  flamegraph.pl %s > slow.svg\n' "$out/slow.folded"
printf 'for a recording of your own, in one line:\n'
printf '  perf record -g -- sleep 1; %s collapse perf.data | flamegraph.pl > out.svg\n' "$1"
printf 'and to record a job with all that these questions need:\n'
printf '  sudo scripts/capture.sh --thp -o case -p PID -d 60\n'
