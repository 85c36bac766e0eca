#!/bin/bash
# record_cuts.sh [KIND...] - records the small cases of testdata/planted anew: as record_planted.sh does,
# of a machine called tl-lab, with few steps, and cut to what the job and the kernel's threads did.
set -u
if [ "${TL_INSIDE:-}" != yes ]; then
	TL_INSIDE=yes exec unshare --uts bash "$0" "$@"
fi
cd "$(dirname "$0")/.." || exit 2
lab=/srv/tl-lab
out=testdata/planted
seed=7
arguments='--at 22 --slow 8 --steps 42'
[ ! -e $lab ] || { echo "record_cuts.sh: $lab is in the way" >&2; exit 2; }
hostname tl-lab
# The kernel's list of thread names goes into every recording of a tracepoint: none of others.
cmdlines=/sys/kernel/tracing/saved_cmdlines_size
cmdlines_before=$(cat $cmdlines)
echo 1 >$cmdlines
trap 'rm -rf $lab; echo "$cmdlines_before" >$cmdlines' EXIT
trap 'exit 130' INT TERM
# lock-r2: of two ranks
[ $# -gt 0 ] || set -- compaction khugepaged lock storage stolen workers reclaim purge nothing harmless lock-r2

build_id() {
	readelf -n "$1" | sed -n 's/.*Build ID: //p'
}

# link BUILD-ID FOLDER: as perf's own cache does
link() {
	mkdir -p "$out/buildid/.build-id/${1:0:2}"
	ln -sfn "../../$2/$1" "$out/buildid/.build-id/${1:0:2}/${1:2}"
}

# merge FROM: names of the kernel's functions are kept once for all cases, and the program, too
merge() {
	local file to id

	for file in "$1"/buildid/*/*/kallsyms; do
		[ -f "$file" ] || continue
		to=$out${file#"$1"}
		mkdir -p "$(dirname "$to")"
		cat "$file" "$to" 2>/dev/null | sort -u >"$lab/kallsyms"
		cp "$lab/kallsyms" "$to"
		link "$(basename "$(dirname "$to")")" '[kernel.kallsyms]'
	done
	id=$(build_id $lab/bin/trainload)
	to=$out/buildid$lab/bin/trainload/$id
	mkdir -p "$to"
	link "$id" "${lab#/}/bin/trainload"
	strip -g -o "$to/elf" $lab/bin/trainload
	rm -rf "$1/buildid"
}

bad=0
for kind; do
	case $kind in
	*-r[2-9]) ranks=${kind##*-r} ;;
	*) ranks=1 ;;
	esac
	if scripts/record_planted.sh -o $lab -k "${kind%-r[2-9]}" -r "$ranks" -s $seed -a "$arguments"; then
		python3 scripts/cut_planted.py "$lab/$kind-$seed" "$out/$kind" && merge "$out/$kind" &&
			{
				echo "shows: $(sed -n 's/.*"cause": "\(.*\)",/\1/p' "$out/$kind/job/truth.json")"
				echo "command: scripts/record_cuts.sh $kind"
				echo "kernel: $(uname -r), perf: $(perf --version | cut -d' ' -f3)"
			} >"$out/$kind/how.txt"
	else
		bad=1
	fi
done
exit $bad
