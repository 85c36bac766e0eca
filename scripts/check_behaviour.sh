#!/bin/bash
# check_behaviour.sh PROGRAM - what a case with fixed output cannot show: signals, full disks, closed
# pipes, locales, other directories, killed imports. Prints TAP.
set -u
program=$(realpath "$1") || exit 2
cd "$(dirname "$0")/.." || exit 2
top=$PWD
recording=$top/testdata/perf/fp-threads/perf.data
work=$(mktemp -d "${TMPDIR:-/tmp}/traceloom-behaviour.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
export HOME=$work LC_ALL=C TMPDIR=$work/tmp
unset TERM
mkdir "$TMPDIR"
cd "$work" || exit 2

# verdict NAME: reads what went wrong from stdin; nothing is a pass.
verdict() {
	local trouble

	trouble=$(cat)
	if [ -z "$trouble" ]; then
		echo "ok - $1"
	else
		printf '%s\n' "$trouble" | head -n 60 | sed 's/^/| /'
		echo "not ok - $1"
	fi
}

# expect STATUS COMMAND...: its output goes to files out and err
expect() {
	local wanted=$1 status

	shift
	"$@" >out 2>err </dev/null
	status=$?
	[ $status -eq "$wanted" ] || { echo "'$*' ended with $status, not $wanted"; head -n 20 err; }
	grep -a -m 5 -e 'ERROR: .*Sanitizer' -e 'runtime error:' err
}

# ---- needs no recording ---------------------------------------------------------------------------
expect 2 "$program" | verdict 'no command is trouble'
expect 0 "$program" help | verdict 'help is none'
{
	expect 2 "$program" imprt
	grep -q "did you mean 'import'" err || echo 'no hint'
} | verdict 'a misspelt command is hinted at'
{
	expect 2 "$program" import -o case.db no-such-file
	grep -qx 'traceloom: no-such-file: .*No such file or directory' err || cat err
	[ ! -e case.db ] || echo 'left a case behind'
} | verdict 'a missing file is told, and leaves no case'
{
	: >empty
	expect 2 "$program" import -o case.db empty
	grep -q 'empty: is empty' err || cat err
	[ ! -e case.db ] || echo 'left a case behind'
} | verdict 'an empty file is told'
{
	cp "$top/testdata/strace/seconds/input.log" strace.log
	for suffix in tar tar.gz; do
		tar -caf logs.$suffix strace.log
		expect 2 "$program" import -o case.db logs.$suffix
		grep -q "logs.$suffix: is a tar archive: unpack it" err || cat err
		[ ! -e case.db ] || echo 'left a case behind'
	done
	tar --format=v7 -cf old.tar strace.log
	expect 2 "$program" import -o case.db old.tar
	grep -q 'old.tar: is a tar archive: unpack it' err || cat err
} | verdict 'an archive of recordings is not taken for one of them'
{
	printf 'hello\nworld\n' >words
	expect 2 "$program" import -o case.db words
	grep -q 'words: is no recording of a known format' err || cat err
} | verdict 'a file of no known format is told'
{
	printf 'x' >"$(printf 'evil\033[2Jname')"
	expect 2 "$program" import -o case.db "$(printf 'evil\033[2Jname')"
	grep -q "$(printf '\033')" err && echo 'an escape reached the terminal'
} | verdict 'names of files are made printable'
if [ -w /dev/full ]; then
	"$program" help >/dev/full 2>err
	{
		[ $? -eq 2 ] || echo 'status is not 2'
		grep -qx 'traceloom: standard output: No space left on device' err || cat err
	} | verdict 'results that could not be written are trouble'
fi
{
	# The reader is gone before anything is written.
	{ sleep 0.2; "$program" help 2>err; echo $? >status; } | true
	[ -s err ] && cat err
	# 128 + SIGPIPE, as of other tools
	[ "$(cat status)" = 141 ] || echo "status $(cat status)"
} | verdict 'a reader that goes away is not worth a message'

if [ ! -f "$recording" ]; then
	echo "ok - imports # SKIP no $recording"
	exit 0
fi

# ---- imports ----------------------------------------------------------------------------------------
counts() {
	grep -o '[0-9]* records of .*' err
}

expect 0 "$program" import -o case.db "$recording" | verdict 'a recording is imported'
counts >plain
{
	expect 0 "$program" import -o stdin.db "$recording"
	"$program" import -o piped.db - <"$recording" 2>err || echo "exit status $?"
	counts | cmp - plain
	dd if="$recording" bs=1000 2>/dev/null | "$program" import -o piped2.db - 2>err ||
		echo "exit status $?"
	counts | cmp - plain
} 2>&1 | verdict 'standard input is a file or a pipe'

# A question must not use up what it looks at first.
{
	"$program" collapse -q "$recording" >from_file 2>err || cat err
	mkfifo fifo
	cat "$recording" >fifo &
	timeout 20 "$program" collapse -q fifo >from_fifo 2>err || cat err
	# shellcheck disable=SC2002 # it has to be a pipe
	cat "$recording" | "$program" collapse -q /dev/stdin >from_stdin 2>err || cat err
	wait
	cmp from_file from_fifo
	cmp from_file from_stdin
} 2>&1 | verdict 'a question reads a pipe by its name once'
kernel='perf record -q -g -e cpu-clock:k -F 999'
calls=(dd if=/dev/zero of=/dev/null bs=1 count=200000 status=none)
if $kernel -o kernel.data "${calls[@]}" >err 2>&1 &&
	"$program" collapse -q kernel.data 2>err | grep -q ';do_syscall_64;'; then
	{
		$kernel -o - "${calls[@]}" 2>err | "$program" collapse -q - >out 2>>err || cat err
		grep -q ';do_syscall_64;' out || head -n 5 out
	} | verdict 'what perf writes into a pipe now is of this kernel'
else
	echo 'ok - what perf writes into a pipe now is of this kernel # SKIP it has no names here'
fi
for packer in gzip xz bzip2 zstd; do
	if command -v $packer >/dev/null 2>&1; then
		{
			$packer -c "$recording" >packed 2>&1
			expect 0 "$program" import -o $packer.db packed
			counts | cmp - plain
		} 2>&1 | verdict "a recording packed by $packer is read as it is"
	fi
done
{
	mkdir -p tree/a/b
	cp "$recording" tree/a/one.data
	"$program" import -q -o tree/a/old.db "$recording" 2>&1
	head -c 3000 "$recording" | tail -c 2900 >tree/a/b/noise
	ln -s ../../.. tree/a/b/loop
	expect 0 "$program" import -o tree.db tree
	[ "$(counts | wc -l)" -eq 1 ] || cat err
	grep -q 'skipped 2 files of no known format' err || cat err
} | verdict 'a directory is walked, and what is no recording is counted'
{
	expect 2 "$program" import -o many.db "$recording" words
	[ "$(counts | wc -l)" -eq 1 ] || cat err
	grep -q '1 of 2 recordings could not be imported' err || cat err
	[ -s many.db ] || echo 'no case'
} | verdict 'a bad recording does not keep a good one out, but is trouble'
{
	expect 2 "$program" import -o case.db "$recording"
	expect 0 "$program" import -o case.db --force "$recording"
} | verdict 'the same recording is taken twice only by force'
{
	expect 2 "$program" import -o case.db case.db
	grep -q 'is a case, not a recording' err || cat err
} | verdict 'a case is no recording'
{
	mkdir -p 'else where'
	cp "$recording" 'else where/a b.data'
	(cd 'else where' && "$program" import -o 'c d.db' 'a b.data' 2>&1 >/dev/null | grep -o '[0-9]* records of .*' | cmp - ../plain)
} 2>&1 | verdict 'other directories and blanks in names do no harm'
for locale in de_DE.UTF-8 tr_TR.UTF-8 ja_JP.eucJP; do
	expect 0 env LC_ALL=$locale "$program" import -o "$locale.db" "$recording"
	counts | cmp - plain
done 2>&1 | verdict 'no locale changes anything'
{
	for name in case.db "$TMPDIR"/*; do
		case $name in
		case.db | "$TMPDIR/*") ;;
		*) echo "left behind: $name" ;;
		esac
	done
} | verdict 'no temporary file is left behind'

{
	for wrong in '--symfs no-such-dir' '--symfs words' '--buildid-dir no-such-dir'; do
		# shellcheck disable=SC2086
		expect 2 "$program" import -o wrong.db $wrong "$recording"
		grep -q "^traceloom: $wrong: " err || cat err
		# shellcheck disable=SC2086
		expect 2 "$program" collapse $wrong "$recording"
		[ ! -e wrong.db ] || echo 'left a case behind'
	done
} | verdict 'directories of binaries that are none are refused'
{
	expect 2 "$program" collapse --window 1ns --out-dir tiny "$recording"
	grep -q 'more than 100000 windows' err || cat err
	[ ! -e tiny ] || echo 'left files behind'
	mkdir there
	expect 2 "$program" collapse --window 1ns --out-dir there "$recording"
	[ -d there ] || echo 'removed a directory that was there before'
	rmdir there || echo 'left files behind'
} | verdict 'too many windows leave nothing behind'
{
	expect 0 "$program" collapse --inline case.db
	grep -q 'no inlined functions: import it with --inline' err || cat err
	expect 2 "$program" collapse --inline --compat perl case.db
	expect 2 "$program" collapse --time 0,0 case.db
	grep -qx "traceloom: the time range '0,0' is empty" err || cat err
	"$program" collapse -q --time 0,100ms case.db >units 2>&1
	"$program" collapse -q --time 0,0.1 case.db 2>&1 | cmp - units
} 2>&1 | verdict 'options of collapse that do nothing, or too much, are told'
{
	expect 0 "$program" collapse "$top/testdata/perf/same-config/perf.data"
	grep -q '^traceloom: other events: .* sample.*; -e chooses$' err || cat err
	expect 0 "$program" import -o unnamed.db "$top/testdata/perf/symfs/perf.data"
	grep -q "samples in programs and libraries have no name; most in .*; see 'traceloom info" err ||
		cat err
	expect 0 "$program" import -q -o quiet.db "$top/testdata/perf/symfs/perf.data"
	cat err
} | verdict 'what else there is, and what has no name, is told'

# ---- stopped and killed -------------------------------------------------------------------------------
# Between the source and its settling an import may be killed, too: then that is told besides.
content() {
	"$program" collapse -q "$1" 2>&1 | grep -v 'came by an import that was stopped'
}

if ! "$program" help collapse >/dev/null 2>&1 || ! command -v python3 >/dev/null 2>&1; then
	echo 'ok - killed imports # SKIP no collapse, or no python3'
	exit 0
fi
if ! python3 "$top/scripts/perf_repeat.py" "$recording" large.data 200000 >err 2>&1; then
	verdict 'a large recording can be made' <err
	exit 1
fi
"$program" import -q --no-symbols -o original.db "$recording"
content original.db >before

# now_ms, to know how long an import takes here
now_ms() {
	echo $(($(date +%s%N) / 1000000))
}

cp original.db victim.db
begin=$(now_ms)
"$program" import -q --no-symbols -o victim.db large.data
whole=$(($(now_ms) - begin))
content victim.db >after
hits=0

# interrupt SIGNAL PERCENT: an import that gets the signal at this point of its usual time
interrupt() {
	local signal=$1 pid status

	rm -f victim.db*
	cp original.db victim.db
	# A shell has its background ignore SIGINT; a person's foreground does not.
	python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$program" import --no-symbols -o victim.db large.data >out 2>err &
	pid=$!
	sleep "$(awk "BEGIN { print $whole * $2 / 100000 }")"
	kill -"$signal" $pid 2>/dev/null
	wait $pid 2>/dev/null
	status=$?
	if [ $status -eq 0 ]; then
		return # too late: it was done
	fi
	[ $status -ge 128 ] || { echo "ended with $status, not by a signal"; cat err; }
	hits=$((hits + 1))
	# All or nothing: a signal may come when the work was done, but had not been told of yet.
	content victim.db >found
	cmp -s found after || diff found before || echo "after $signal at $2 % of $whole ms"
	if [ "$signal" != KILL ]; then
		find . -name 'victim.db-*'
		find "$TMPDIR" -type f
	fi
}

{
	for percent in 15 35 55 75 90; do
		for signal in INT TERM KILL; do
			interrupt $signal $percent
		done
	done
	[ $hits -ge 3 ] || echo "only $hits of 15 signals came in time"
} | verdict 'a stopped or killed import is in the case whole, or not at all'

# Of several sources those that came in time are kept; that their steps are not known yet is told.
{
	rm -f victim.db*
	cp original.db victim.db
	mkfifo endless
	for i in 1 2 3 4 5 6 7 8 9 10; do
		echo "step $i time 0.5 s"
	done >train.log
	"$program" import -q -o victim.db train.log endless >out 2>err &
	pid=$!
	exec 9>endless # opens once the import has come to it
	kill -TERM $pid
	wait $pid 2>/dev/null
	exec 9>&-
	expect 0 "$program" info victim.db
	grep -q "1 source came by an import that was stopped.*align --redo victim.db" err || cat err
	expect 0 "$program" align --redo victim.db
	expect 0 "$program" info victim.db
	[ -s err ] && cat err
} | verdict 'what a stopped import left to be settled is told, and settled'
