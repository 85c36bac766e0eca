#!/bin/bash
# check_cases.sh PROGRAM - runs the cases of testdata with the program, prints TAP.
#
# testdata/timeline/CASE and testdata/damaged/CASE: `args` has one call of the program a line, as a
# shell would read it, run in the directory of the case. $TMP is an empty directory. Optional are
# `stdout` and `stderr` (of all calls together, exact; $TMP is shown as TMP), and `status` (one a
# call; 0 when there is no such file). A case without `stdout` must print nothing there.
#
# testdata/FORMAT/CASE: `events.txt` is what the hidden command events prints of `input` (with any
# suffix) or perf.data. `folds` has lines "EXPECTED ARGUMENTS": collapse, with these arguments, must
# print what the file EXPECTED holds; where that is nothing, the exit status is 3. @ is the directory of
# the case; @/symfs and @/buildid are empty directories where it has none.
set -u
program=$(realpath "$1") || exit 2
cd "$(dirname "$0")/../testdata" || exit 2
top=$PWD
work=$(mktemp -d "${TMPDIR:-/tmp}/traceloom-cases.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
mkdir "$work/empty"
# Nothing of the person who runs this may change a result.
export HOME=$work LC_ALL=C
unset PERF_BUILDID_DIR DEBUGINFOD_URLS TERM

# verdict NAME: reads what went wrong from stdin; nothing is a pass.
verdict() {
	local trouble

	trouble=$(cat)
	if [ -z "$trouble" ]; then
		echo "ok - $1"
	else
		printf '%s\n' "$trouble" | head -c 20000 | head -n 100 | sed 's/^/| /'
		echo "not ok - $1"
	fi
}

# same WHAT EXPECTED ACTUAL
same() {
	cmp -s "$2" "$3" || {
		echo "$1 differs (- expected, + found):"
		diff -u "$2" "$3" | tail -n +3
	}
}

run_command_case() {
	local TMP=$work/tmp expected line

	rm -rf "$TMP"
	mkdir "$TMP"
	: >"$work/stdout"
	: >"$work/stderr"
	: >"$work/status"
	while IFS= read -r line || [ -n "$line" ]; do
		[ -n "$line" ] || continue
		eval "timeout 120 \"\$program\" $line" >>"$work/stdout" 2>>"$work/stderr" </dev/null
		echo $? >>"$work/status"
	done <args
	if [ -f status ]; then
		same 'exit status' status "$work/status"
	else
		sed 's/.*/0/' "$work/status" >"$work/zeroes"
		same 'exit status' "$work/zeroes" "$work/status"
	fi
	for stream in stdout stderr; do
		sed "s|$TMP|TMP|g" "$work/$stream" >"$work/shown"
		expected=$stream
		[ -f $stream ] || expected=/dev/null
		[ $stream = stderr ] && [ ! -f stderr ] && continue
		same $stream $expected "$work/shown"
	done
	# What a sanitizer has to say is never expected.
	grep -a -m 20 -e 'ERROR: .*Sanitizer' -e 'runtime error:' "$work/stderr"
}

for case in "$top"/timeline/*/ "$top"/damaged/*/; do
	[ -f "$case/args" ] || continue
	cd "$case" || exit 2
	name=${case#"$top/"}
	run_command_case | verdict "${name%/}"
done

for case in "$top"/*/*/; do
	[ -f "$case/events.txt" ] || continue
	cd "$case" || exit 2
	name=${case#"$top/"}
	input=perf.data
	for candidate in input*; do
		[ -e "$candidate" ] && input=$candidate
	done
	[ -e "$input" ] || continue
	{
		timeout 120 "$program" events "$input" >"$work/stdout" 2>"$work/stderr" </dev/null ||
			{ echo "exit status $?"; tail -n 20 "$work/stderr"; }
		same 'events' events.txt "$work/stdout"
	} | verdict "${name%/} events"
done

if ! "$program" help collapse >/dev/null 2>&1; then
	echo 'ok - folds # SKIP there is no collapse command'
	exit 0
fi
for case in "$top"/*/*/; do
	[ -f "$case/folds" ] || continue
	cd "$case" || exit 2
	name=${case#"$top/"}
	input=perf.data
	for candidate in input*; do
		[ -e "$candidate" ] && input=$candidate
	done
	# A checkout makes all files new; binaries that are newer than a recording are not believed.
	[ ! -d symfs ] || find symfs -type f -exec touch -d 2001-01-01 {} + 2>/dev/null
	while IFS= read -r line || [ -n "$line" ]; do
		[ -n "$line" ] || continue
		expected=${line%% *}
		arguments=${line#"$expected"}
		[ -d symfs ] || arguments=${arguments//@\/symfs/$work\/empty}
		[ -d buildid ] || arguments=${arguments//@\/buildid/$work\/empty}
		{
			# shellcheck disable=SC2086
			timeout 120 "$program" collapse ${arguments//@/${case%/}} "$case$input" \
				>"$work/stdout" 2>"$work/stderr" </dev/null
			status=$?
			wanted=0
			[ -s "$expected" ] || wanted=3
			[ $status -eq $wanted ] || { echo "exit status $status"; tail -n 20 "$work/stderr"; }
			same 'folded text' "$expected" "$work/stdout"
		} | verdict "${name%/} ${expected%.txt}"
	done <folds
done
