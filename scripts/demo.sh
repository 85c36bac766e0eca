#!/bin/sh
# demo.sh PROGRAM - shows the way from a recording to a flame graph, on one kept in testdata.
set -eu
program=$(realpath "$1")
cd "$(dirname "$0")/.."
recording=testdata/perf/fp-threads/perf.data
cache=testdata/perf/fp-threads/buildid
out=$(dirname "$program")/demo
mkdir -p "$out"
rm -f "$out/demo.db"

# show COMMAND...: says it, runs it
show() {
	printf '\n$ %s\n' "$*" | sed "s|$program|traceloom|"
	"$@"
}

show "$program" import -o "$out/demo.db" --buildid-dir $cache $recording
show "$program" info "$out/demo.db"
show "$program" collapse -o "$out/demo.folded" "$out/demo.db"
printf '\nThe heaviest stacks of %s:\n' "$out/demo.folded"
awk '{ print $NF, $0 }' "$out/demo.folded" | sort -k 1,1nr -k 2 | head -n 8 | sed 's/^[0-9]* //'
printf '\nTo draw it, with flamegraph.pl of https://github.com/brendangregg/FlameGraph:\n'
printf '  flamegraph.pl %s > demo.svg\n' "$out/demo.folded"
printf 'and for a recording of your own, in one line:\n'
printf '  perf record -g -- sleep 1; %s collapse perf.data | flamegraph.pl > out.svg\n' "$1"
