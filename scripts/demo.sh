#!/bin/sh
# demo.sh PROGRAM - shows the way from a recording to a flame graph, on one kept in testdata.
set -eu
program=$(realpath "$1")
cd "$(dirname "$0")/.."
recording=testdata/perf/clock-mono/perf.data
cache=testdata/perf/clock-mono/buildid
out=$(dirname "$1")/demo
mkdir -p "$out"
rm -f "$out/demo.db"

# say COMMAND LINE: as a person would type it
say() {
	printf '\n$ traceloom %s\n' "$*"
}

say import -o "$out/demo.db" --buildid-dir $cache $recording
"$program" import -o "$out/demo.db" --buildid-dir $cache $recording 2>&1
say info "$out/demo.db"
"$program" info "$out/demo.db"
say collapse "$out/demo.db" '>' "$out/demo.folded"
{ "$program" collapse "$out/demo.db" >"$out/demo.folded"; } 2>&1
printf '\nThe heaviest stacks of %s:\n' "$out/demo.folded"
awk '{ print $NF, $0 }' "$out/demo.folded" | sort -k 1,1nr -k 2 | head -n 8 | sed 's/^[0-9]* //'
printf '\nTo draw it, with flamegraph.pl of https://github.com/brendangregg/FlameGraph:\n'
printf '  flamegraph.pl %s > demo.svg\n' "$out/demo.folded"
printf 'and for a recording of your own, in one line:\n'
printf '  perf record -g -- sleep 1; %s collapse perf.data | flamegraph.pl > out.svg\n' "$1"
