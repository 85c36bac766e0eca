#!/bin/bash
# compare_folded.sh PROGRAM [RECORDING...] - folded stacks beside those of the programs that people
# know: `perf script` through stackcollapse-perf.pl and inferno-collapse-perf, bit for bit, and
# through an independent native folder; time off the CPU beside `perf sched timehist`. Prints TAP.
#
# Without recordings it makes its own (perf record of scripts/odd_names.c), in many ways of
# recording; COMPARE_SYSTEM=1 adds the whole system, whatever runs there. stackcollapse-perf.pl is
# looked for in $FLAMEGRAPH_DIR and in PATH: without it all is skipped. The others are taken when they
# are there: inferno-collapse-perf in PATH, the native folder in $TRACELOOM_SHARED (../shared).
set -u
program=$(realpath "${1:?PROGRAM}") || exit 2
shift
here=$(cd "$(dirname "$0")" && pwd) || exit 2
shared=${TRACELOOM_SHARED:-$here/../../shared}
work=$(mktemp -d "${TMPDIR:-/tmp}/traceloom-folded.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
export LC_ALL=C
fields=comm,pid,tid,time,period,event,ip,sym,dso

have() {
	command -v "$1" >/dev/null 2>&1
}

if ! have perf || ! have perl; then
	echo 'ok - folded text beside peers # SKIP no perf, or no perl'
	exit 0
fi
perl_folder=${FLAMEGRAPH_DIR:+$FLAMEGRAPH_DIR/stackcollapse-perf.pl}
perl_folder=${perl_folder:-$(command -v stackcollapse-perf.pl)}
[ -f "$perl_folder" ] || perl_folder=
native_folder=$shared/oracle/folded/reffold.py
{ [ -f "$native_folder" ] && have python3; } || native_folder=
if [ -z "$perl_folder" ]; then
	echo 'ok - folded text beside peers # SKIP no stackcollapse-perf.pl; FLAMEGRAPH_DIR may tell where'
	exit 0
fi

# ---- recordings ---------------------------------------------------------------------------------
# record NAME OPTION...: makes $work/NAME of the load, if this machine lets it
record() {
	local name=$1

	shift
	perf record "$@" -o "$work/$name" -- "$work/odd_names" >/dev/null 2>"$work/record.err" &&
		recordings+=("$work/$name")
}

recordings=("$@")
if [ ${#recordings[@]} -eq 0 ]; then
	if ! ${CC:-cc} -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread \
		-o "$work/odd_names" "$here/odd_names.c" 2>"$work/cc.err"; then
		cat "$work/cc.err"
		echo 'not ok - the load can be built'
		exit 1
	fi
	record frame-pointers -F 999 -g -e cpu-clock
	record two-events -g -e cpu-clock/freq=999/ -e sched:sched_switch
	record three-events -F 999 -g -e cpu-clock:u -e cpu-clock:k -e page-faults
	record some-without-chains -e cpu-clock/freq=999,call-graph=fp/ -e page-faults
	record without-chains -F 999 -e cpu-clock
	record dwarf -F 299 --call-graph dwarf,8192 -e cpu-clock
	record compressed -F 999 -g -z -e cpu-clock
	if [ -n "${COMPARE_SYSTEM:-}" ]; then
		record system-wide -a -F 999 -g -e cpu-clock
		record switches -a -g -e sched:sched_switch -e sched:sched_wakeup
	fi
	perf record -F 999 -g -e cpu-clock -o - -- "$work/odd_names" >"$work/pipe" 2>/dev/null &&
		recordings+=("$work/pipe")
	if [ ${#recordings[@]} -eq 0 ]; then
		echo "ok - folded text beside peers # SKIP perf cannot record: $(head -n 1 "$work/record.err")"
		exit 0
	fi
fi

# ---- comparing ----------------------------------------------------------------------------------
# verdict NAME: what went wrong comes from stdin; nothing is a pass
verdict() {
	local trouble

	trouble=$(cat)
	if [ -z "$trouble" ]; then
		echo "ok - $1"
	else
		printf '%s\n' "$trouble" | cut -c 1-300 | head -n 20 | sed 's/^/| /'
		echo "not ok - $1"
	fi
}

# beside EXPECTED OPTION...: what the program prints for $recording, in any order
beside() {
	local expected=$1 status

	shift
	"$program" collapse -q "$@" "$recording" >"$work/found" 2>"$work/err"
	status=$?
	# a peer that prints nothing is matched by nothing to answer from, in words
	{ [ $status -eq 0 ] || { [ $status -eq 3 ] && [ ! -s "$expected" ]; }; } || {
		echo "exit status $status"
		cat "$work/err"
	}
	sort "$work/found" | diff "$expected" - | grep '^[<>]'
}

# perf script fills process ids up with blanks, which look like those of a name: takes them away
without_padding() {
	# shellcheck disable=SC2016
	perl -pe 's{^(.* )( *)(-?\d+)/(-?\d+)( +\d+\.\d+: )}{
		my ($name, $blanks, $pid, $tid, $rest) = ($1, $2, $3, $4, $5);
		my $text = "$name$blanks";
		for (length($pid) .. 4) { $text =~ s/ $//; }
		"$text$pid/$tid$rest"}e' "$1"
}

# Where safe names differ from the folder's, on purpose: an empty name is [empty].
safe_names() {
	perl -pe 's{^(?=;|-\d+(?:/\d+)?;)}{[empty]}'
}

compare_perl() {
	local options=$1 words

	read -ra words <<<"$options"
	perl "$perl_folder" "${words[@]}" "$work/script" 2>/dev/null | sort >"$work/expected"
	beside "$work/expected" --compat perl "${words[@]}" |
		verdict "$name: stackcollapse-perf.pl $options"
	perl "$perl_folder" "${words[@]}" "$work/plain" 2>/dev/null | sort >"$work/expected"
	beside "$work/expected" --compat perl-trace "${words[@]}" |
		verdict "$name: plain perf script, stackcollapse-perf.pl $options"
}

compare_inferno() {
	local options=$1 words

	read -ra words <<<"$options"
	inferno-collapse-perf -n 1 "${words[@]}" "$work/script" 2>/dev/null | sort >"$work/expected"
	beside "$work/expected" --compat inferno "${words[@]}" | verdict "$name: inferno $options"
}

compare_native() {
	local options=$1 words

	read -ra words <<<"$options"
	python3 "$native_folder" --mode native "${words[@]}" "$work/unpadded" | safe_names | sort \
		>"$work/expected"
	[ -s "$work/expected" ] || return # without call chains it reads nothing
	beside "$work/expected" "${words[@]}" "${event[@]}" | verdict "$name: native $options"
	sort -c "$work/found" 2>&1 | verdict "$name: native lines are sorted $options"
}

# Total weights by thread, of threads that were off the CPU for more than a tenth of a second.
compare_off_cpu() {
	"$program" collapse -q --offcpu --weight ns --root tid "$recording" >"$work/found" 2>"$work/err" ||
		cat "$work/err"
	perf sched timehist -i "$recording" 2>/dev/null | perl -ne '
		BEGIN {
			open my $found, "<", $ARGV[0] or die; shift @ARGV;
			while (<$found>) { $ours{$1} += $2 / 1e6 if m{^[^;]*-\d+/(\d+)\b.* (\d+)$}; }
		}
		$wait{$1} += $2 if m{\[(\d+)(?:/\d+)?\]\s+([\d.]+)\s+[\d.]+\s+[\d.]+\s};
		END {
			for my $tid (sort { $a <=> $b } keys %wait) {
				my ($theirs, $here) = ($wait{$tid}, $ours{$tid} // 0);
				# waits that timehist does not attribute, before an exit and at the end, may add
				printf "thread %d: %.3f ms, timehist %.3f\n", $tid, $here, $theirs
					if $theirs > 100 && $here < $theirs * 0.995;
			}
		}' "$work/found"
}

for recording in "${recordings[@]}"; do
	name=$(basename "$recording")
	perf script --no-inline --ns -F $fields -i "$recording" >"$work/script" 2>/dev/null
	perf script --no-inline -i "$recording" >"$work/plain" 2>/dev/null
	if [ ! -s "$work/script" ]; then
		echo "ok - $name # SKIP perf script cannot read it so"
		continue
	fi
	without_padding "$work/script" >"$work/unpadded"
	# the native folder reads only events with call chains, and takes the first of them
	event=()
	[ "$name" = some-without-chains ] && event=(--event "cpu-clock/freq=999,call-graph=fp/")
	for options in '' '--pid' '--tid' '--kernel' '--jit' '--all' '--addrs' '--all --addrs --tid'; do
		compare_perl "$options"
		! have inferno-collapse-perf || compare_inferno "$options"
		[ -z "$native_folder" ] || compare_native "$options"
	done
	[ -z "$native_folder" ] || compare_native '--weight count'
	if grep -q 'sched:sched_switch' "$work/plain" && [ "$name" = switches ]; then
		compare_off_cpu | verdict "$name: time off the CPU, perf sched timehist"
	fi
done
