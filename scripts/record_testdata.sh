#!/bin/sh
# Records the perf.data files of testdata/perf anew, all or those named, with what must be found in
# them. Needs root, perf, gcc, g++, python3 and a kernel that lets perf record; the committed set
# was made by it. Nothing of `make check` needs it.
#
#   scripts/record_testdata.sh [CASE...]
#   REFRESH=yes scripts/record_testdata.sh [CASE...]   only what must be found, on the machine that
#                                                      recorded and before it boots again
# FLAMEGRAPH=DIR, a checkout of the FlameGraph scripts, is needed for what --compat perl must print.
#
# Cases are called by name, $lab has no blanks, and recorded commands are expanded when they run:
# shellcheck disable=SC2317,SC2086,SC2016,SC2046
set -u
self=$(readlink -f "$0")

top=$(cd "$(dirname "$self")/.." && pwd)
out=$top/testdata/perf
lab=/srv/tl-lab
expect=$top/scripts/perf_expect.py

if [ "${TL_INSIDE:-}" != yes ]; then
	[ "$(id -u)" = 0 ] || { echo "record_testdata.sh: needs root" >&2; exit 2; }
	[ ! -e $lab ] || { echo "record_testdata.sh: $lab is in the way" >&2; exit 2; }
	TL_INSIDE=yes exec unshare --uts --mount sh "$self" "$@"
fi
hostname tl-lab
mkdir -p $lab/run $lab/home
# The kernel's list of thread names goes into every recording of a tracepoint: none of others.
cmdlines=/sys/kernel/tracing/saved_cmdlines_size
cmdlines_before=$(cat $cmdlines)
echo 1 >$cmdlines
trap 'rm -rf $lab; echo $cmdlines_before >$cmdlines' EXIT
HOME=$lab/home PATH=$lab:$PATH
export HOME PATH
cd $lab/run || exit 2

# What a recording may mention: nothing else that runs on the machine belongs in here.
may_mention='^([\[(/]?(swapper|perf|perf-exec|kworker|ksoftirqd|rcu_|migration|cpuhp|kcompactd|khugepaged'
may_mention="$may_mention"'|kswapd|kthreadd|jbd2|watchdogd|ksmd|kdamond|hwrng|irq/|idle_inject|unshare|sh$|sleep$|chrt|taskset'
may_mention="$may_mention"'|bash$|make$|cc1|as$|ld$|collect2|gcc|clang|cc$|sed$|grep$|git$|sort$|cat$|awk$'
may_mention="$may_mention"'|chain|gone|sleeper|family|pages|names|jit|bpfload|unwind|noops)'
may_mention="$may_mention"'|/srv/tl-lab/|/usr/bin/(perf|dash|bash|sleep|unshare|chrt|taskset)$|/usr/lib/x86_64-linux-gnu/lib|/usr/lib/x86_64-linux-gnu/ld-'
may_mention="$may_mention"'|//anon|\[|/anon_hugepage|/?$|/usr/lib/locale|napper$|answerer$|worker [0-9]|fork only|first life|second life|symbols$)'

freestanding="-Wall -Wextra -Werror -O1 -fno-optimize-sibling-calls -fno-stack-protector
	-fcf-protection=none -ffreestanding -nostdlib -static -no-pie
	-Wl,--build-id=sha1 -Wl,-z,norelro -Wl,-z,noseparate-code"

build() {
	cp -r "$top/testdata/programs" $lab/src
	cd $lab/src || exit 2 # the paths that debug information holds
	for source in *.c *.cc; do
		program=$(basename "${source%.*}")
		case $program in
		names) g++ $freestanding -fno-omit-frame-pointer -fno-exceptions -fno-rtti -o $lab/names "$source" ;;
		unwind) gcc $freestanding -O2 -g -fomit-frame-pointer -o $lab/unwind "$source" ;;
		*) gcc $freestanding -fno-omit-frame-pointer -o "$lab/$program" "$source" ;;
		esac || exit 2
	done
	cd $lab/run || exit 2
}

fail=0
complain() {
	echo "record_testdata.sh: $*" >&2
	fail=1
}

# allowed RECORDING: it mentions nothing but what may_mention lists (and threads of names.cc)
allowed() {
	case $case_name in names*) return 0 ;; esac
	python3 "$expect" names "$1" | grep -Ev "$may_mention" >$lab/strangers
	[ ! -s $lab/strangers ]
}

# keep FILE: the recording just made becomes the case, with how.txt and facts.txt
keep() {
	dir=$out/$case_name
	rm -rf "$dir"
	mkdir -p "$dir"
	cp -r "$1" "$dir/perf.data"
	find "$dir/perf.data" -type f -exec chmod 644 {} +
	find "$dir/perf.data" -type d -exec chmod 755 {} +
	{
		echo "shows: $shows"
		echo "command: $command"
		echo "kernel: $(uname -r), perf: $(perf --version | cut -d' ' -f3)"
	} >"$dir/how.txt"
	python3 "$expect" facts "$dir/perf.data" >"$dir/facts.txt" || complain "$case_name: no facts"
	: >"$dir/folds"
}

# verify: what perf itself reads must be what perf_expect.py reads
verify() {
	python3 "$expect" check "$out/$case_name/perf.data" >$lab/differences ||
		complain "$case_name: $(head -3 $lab/differences)"
	perf report -i "$out/$case_name/perf.data" --stats 2>/dev/null |
		sed -n '1,/^ *$/d; s/^ *\([A-Z_0-9]*\) events: *\([0-9]*\).*/records.\1=\2/p' |
		grep -v -E 'TOTAL' | awk -F= '!seen[$1]++' | sort >$lab/theirs
	grep ^records. "$out/$case_name/facts.txt" | sort >$lab/ours
	grep -v -x -F -f $lab/ours $lab/theirs >$lab/differences &&
		complain "$case_name: perf report --stats says $(tr '\n' ' ' <$lab/differences)"
}

# fold FILE OPTIONS...: expected folded stacks; without --symbols the frames have no names
fold() {
	file=$1
	shift
	python3 "$expect" fold "$out/$case_name/perf.data" "$@" >"$out/$case_name/$file" ||
		complain "$case_name: no $file"
	told=
	want_names=no
	while [ $# -gt 0 ]; do
		case $1 in
		--event) told="$told --event $2"; shift ;;
		--count) told="$told --weight count" ;;
		--symbols) want_names=yes ;;
		--inline) told="$told --inline" ;;
		--offcpu) told="$told --offcpu --weight ns --comm $2"; shift ;;
		esac
		shift
	done
	if [ $want_names = yes ]; then
		[ -d "$out/$case_name/buildid" ] || [ -d "$out/$case_name/symfs" ] ||
			python3 "$expect" cache "$out/$case_name/perf.data" "$out/$case_name/buildid"
		# with --symfs, whatever it holds, no binary of the machine that tests is looked at
		[ ! -d "$out/$case_name/buildid" ] || told="$told --buildid-dir @/buildid"
		echo "$file$told --symfs @/symfs" >>"$out/$case_name/folds"
	else
		echo "$file$told --no-symbols" >>"$out/$case_name/folds"
	fi
}

# perl FILE [OPTION...]: what stackcollapse-perf.pl makes of the recording
perl_fold() {
	file=$1
	shift
	[ -n "${FLAMEGRAPH:-}" ] || { complain "$case_name: no $file without FLAMEGRAPH"; return; }
	perf script --no-inline --ns -F comm,pid,tid,time,period,event,ip,sym,dso \
		-i "$out/$case_name/perf.data" 2>/dev/null >perf.txt
	perl "$FLAMEGRAPH/stackcollapse-perf.pl" "$@" perf.txt 2>/dev/null >"$out/$case_name/$file"
	told=$(echo "$*" | sed 's/--event-filter=/--event /')
	echo "$file --compat perl $told --buildid-dir @/buildid --symfs @/symfs" |
		tr -s ' ' >>"$out/$case_name/folds"
}

# text VARIANT UNIT OPTIONS...: the recording as perf script prints it, a case of its own; UNIT is
# that of the last digit of its times
text() {
	dir=$top/testdata/perf_script/$case_name-$1
	unit=$2
	shift 2
	rm -rf "$dir"
	mkdir -p "$dir"
	perf script -i perf.data "$@" >"$dir/input.txt" 2>/dev/null
	{
		echo "shows: testdata/perf/$case_name as perf script prints it; there: $shows"
		echo "command: perf script $*"
		echo "kernel: $(uname -r), perf: $(perf --version | cut -d' ' -f3)"
	} >"$dir/how.txt"
	python3 "$expect" facts --text "$unit" perf.data >"$dir/facts.txt"
	python3 "$expect" fold --symbols --all-names --inline perf.data | sed 's/_\[i\]//g' >"$dir/folded.txt"
	echo folded.txt >"$dir/folds"
}

# without PATTERN [REPLACEMENT]: the text just made cannot say this; equal stacks become one
without() {
	sed -E "s/$1/${2:-}/g" "$dir/folded.txt" |
		awk '{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n } END { for (k in sum) print k, sum[k] }' |
		LC_ALL=C sort >folded && mv folded "$dir/folded.txt"
}

# record COMMAND...: runs it until the recording mentions no strangers; $file is what it writes
record() {
	command=$*
	if [ "${REFRESH:-no}" = yes ]; then
		rm -rf ./*
		cp -r "$out/$case_name/perf.data" .
		case $case_name in jit*) [ ! -d "$out/$case_name/symfs" ] || cp -r "$out/$case_name/symfs/." / ;; esac
		command=$(sed -n 's/^command: //p' "$out/$case_name/how.txt")
		keep perf.data
		return
	fi
	tries=0
	: >$lab/all_strangers
	while :; do
		rm -rf ./*
		sh -c "$*" >$lab/log 2>&1 || [ -n "${may_fail:-}" ] || complain "$case_name: $(cat $lab/log)"
		[ -s "${file:=perf.data}" ] || { complain "$case_name: no $file"; return 1; }
		: >$lab/strangers
		allowed "$file" && break
		cat $lab/strangers >>$lab/all_strangers
		tries=$((tries + 1))
		[ $tries -lt 20 ] || { complain "$case_name: strangers $(sort -u $lab/all_strangers | tr '\n' ' ')"; return 1; }
		sleep 0.2
	done
	keep "$file"
}

# shellcheck source=scripts/recorded_cases.sh
. "$top/scripts/recorded_cases.sh"

lab_run() {
	case_name=$1 file=perf.data
	"case_$(echo "$1" | tr - _)"
	if [ -d "$out/$1" ]; then
		echo "$1: $(du -sb --apparent-size "$out/$1" | cut -f1) bytes, $(sed -n 's/^samples=//p' "$out/$1/facts.txt") samples"
	fi
}

export lab
build
if [ $# -eq 0 ]; then
	set -- $(sed -n 's/^case_\([a-z0-9_]*\)() {$/\1/p' "$top/scripts/recorded_cases.sh" | tr _ -)
fi
for name; do
	lab_run "$name"
done
exit $fail
