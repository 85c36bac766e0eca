#!/bin/bash
# check_archives.sh PROGRAM - names from archives of build-id caches: packed by GNU tar in its forms and
# by every packer, cut, hostile, stopped; and one that perf archive made. Prints TAP.
set -u
program=$(realpath "$1") || exit 2
cd "$(dirname "$0")/.." || exit 2
top=$PWD
recording=$top/testdata/perf/clock-mono/perf.data
cache=$top/testdata/perf/clock-mono/buildid
work=$(mktemp -d "${TMPDIR:-/tmp}/traceloom-archives.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
export HOME=$work/home LC_ALL=C TMPDIR=$work/tmp
unset TERM
mkdir "$HOME" "$TMPDIR" "$work/empty"
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

# fold STATUS ARGUMENTS...: to files out and err; nothing but what is given can name an address
fold() {
	local wanted=$1 status

	shift
	"$program" collapse --symfs empty "$@" >out 2>err </dev/null
	status=$?
	[ $status -eq "$wanted" ] || { echo "'collapse $*' ended with $status, not $wanted"; head -n 20 err; }
	grep -a -m 5 -e 'ERROR: .*Sanitizer' -e 'runtime error:' err
}

# told REGEX...: these lines, and nothing else but the summary, are on stderr
told() {
	local line

	grep -v 'samples on' err >notes
	for line in "$@"; do
		grep -qxE "$line" notes || { echo "not told: $line"; cat notes; }
	done
	[ "$(wc -l <notes)" -eq $# ] || { echo "told $(wc -l <notes) lines, not $#"; cat notes; }
}

if [ ! -f "$recording" ] || [ ! -d "$cache" ]; then
	echo "ok - archives # SKIP no $recording"
	exit 0
fi
{
	fold 0 "$recording"
	grep -q 'chain;\[chain\]' out || echo 'this machine names the recording anyway'
	fold 0 --buildid-dir "$cache" "$recording"
	grep -q ';work;descend;' out || { echo 'the cache does not name the recording'; head -n 3 out; }
	cp out named
} | verdict 'the directory names what nothing else does'

# ---- forms ------------------------------------------------------------------------------------------
for form in gnu oldgnu pax ustar v7; do
	{
		tar --format=$form -cf $form.tar -C "$cache" .build-id '[kernel.kallsyms]' srv 2>&1
		fold 0 --buildid-dir $form.tar "$recording"
		told
		cmp out named
	} 2>&1 | verdict "tar --format=$form"
done
for packer in gzip bzip2 xz zstd; do
	if ! command -v $packer >/dev/null 2>&1; then
		echo "ok - packed by $packer # SKIP no $packer"
		continue
	fi
	{
		$packer -c <gnu.tar >packed
		fold 0 --buildid-dir packed "$recording"
		told
		cmp out named
	} 2>&1 | verdict "packed by $packer"
done
{
	tar -cf below.tar -C "${cache%/*}" "${cache##*/}"
	fold 0 --buildid-dir below.tar "$recording"
	cmp out named
	tar -cf twice.tar -C "$cache" .build-id '[kernel.kallsyms]' srv srv .build-id
	fold 0 --buildid-dir twice.tar "$recording"
	told
	cmp out named
} 2>&1 | verdict 'below another directory, and with everything twice'
{
	tar -cf one.tar -C "$cache" '[kernel.kallsyms]'
	tar -cf two.tar -C "$cache" srv
	fold 0 --buildid-dir one.tar --buildid-dir two.tar "$recording"
	cmp out named
	"$program" import -q --symfs empty -o one.db --buildid-dir gnu.tar "$recording" 2>&1
	"$program" collapse -q one.db | cmp - named
} 2>&1 | verdict 'several archives, and into a case'
{
	mkdir -p several
	cp "$recording" several/a.data
	{ cat "$recording"; echo; } >several/b.data
	"$program" import -q --symfs empty -o several.db --buildid-dir gnu.tar several/a.data several/b.data
	python3 -c 'import sqlite3
for row in sqlite3.connect("several.db").execute("SELECT symbol_file FROM dso WHERE symbol_status = \"ok\" ORDER BY 1"):
	print(row[0])' >files
	sed 's/chain.*/chain/; s/kallsyms].*/kallsyms]/' files | uniq -c | sed 's/^ *//' >counted
	printf '2 gnu.tar:%s\n' '[kernel.kallsyms]' srv/tl-lab/chain | cmp - counted || cat files
} 2>&1 | verdict 'one archive for several recordings; the case tells where its names are from'

# ---- trouble ----------------------------------------------------------------------------------------
{
	size=$(stat -c %s gnu.tar)
	for cut in 100 511 512 1000 $((size / 4)) $((size / 2)); do
		head -c "$cut" gnu.tar >cut.tar
		wanted=0
		[ "$cut" -ge 512 ] || wanted=2
		fold $wanted --buildid-dir cut.tar "$recording"
		grep -q 'cut.tar: .*the archive ends' err || { echo "cut at $cut:"; cat err; }
	done
	# Of gzip inflates what is there, of bzip2 nothing until a block is whole.
	gzip -c <gnu.tar | head -c 1500 >cut.tar.gz
	fold 0 --buildid-dir cut.tar.gz "$recording"
	grep -q 'compressed data ends too early' err || cat err
	bzip2 -c <gnu.tar | head -c 1500 >cut.tar.bz2
	fold 2 --buildid-dir cut.tar.bz2 "$recording"
	grep -q 'is no tar archive: the compressed data ends too early' err || cat err
} 2>&1 | verdict 'a cut archive says so'
{
	fold 2 --buildid-dir "$recording" "$recording"
	told '.*perf.data: is no tar archive: .*; --buildid-dir takes a directory, or a tar archive'
	fold 2 --buildid-dir no-such-file "$recording"
	grep -q 'no-such-file: No such file or directory' err || cat err
	: >nothing
	fold 2 --buildid-dir nothing "$recording"
	told '.*nothing: is no tar archive: .*'
} | verdict 'what is no archive is told'
{
	mkdir -p evil/in
	cp -r "$cache/srv" evil/in/srv
	(cd evil/in && tar -P --transform "s,^srv,../../../traceloom-evil-$$," -cf ../up.tar srv)
	(cd evil/in && tar -P --transform "s,^srv,$work/absolute," -cf ../absolute.tar srv)
	fold 0 --buildid-dir evil/up.tar "$recording"
	told '.*up.tar: byte [0-9]*: [0-9]+ members? left out: the name leads elsewhere or is too long' \
		'.*up.tar: holds no file that is named by a build-id'
	fold 0 --buildid-dir evil/absolute.tar "$recording"
	told
	grep -q ';work;descend;' out || head -n 3 out # as tar does: without the leading slash
	[ ! -e absolute ] || echo 'wrote to an absolute name'
	[ ! -e "${work%/*}/traceloom-evil-$$" ] || echo 'wrote outside'
} 2>&1 | verdict 'names that lead elsewhere'
{
	mkdir -p linked/.build-id/b1
	ln -s "$cache"/srv/tl-lab/chain/* linked/.build-id/b1/9c8740ab1562dc18b0ce918615cf947bd415b9
	[ -e "$(find linked -type l)/elf" ] || echo 'the link leads nowhere: this shows nothing'
	tar -cf linked.tar -C linked .build-id
	fold 0 --buildid-dir linked.tar "$recording"
	grep -q 'descend' out && echo 'a link was followed out of the archive'
} 2>&1 | verdict 'links that lead out of the archive'
if command -v zstd >/dev/null 2>&1; then
	{
		truncate -s 300M zeros
		tar -cf - zeros -C "$cache" srv | zstd -q >bomb.tar.zst
		rm zeros
		fold 0 --buildid-dir bomb.tar.zst "$recording"
		grep -q 'inflates to more than 2000 times its size: refused' err || cat err
	} 2>&1 | verdict 'a small file that inflates to a large one is refused'
fi
for form in gnu pax; do
	{
		fold 0 --buildid-dir "$top/testdata/archive/$form.tar" "$recording"
		told
	} | verdict "testdata/archive/$form.tar"
done
{
	fold 0 --buildid-dir "$top/testdata/archive/sparse.tar" "$recording"
	told '.*sparse.tar: byte 0: 1 member left out: stored with holes \(tar --sparse\)'
} | verdict 'testdata/archive/sparse.tar'

# ---- nothing is left behind ---------------------------------------------------------------------------
if command -v python3 >/dev/null 2>&1; then
	{
		# Random bytes: packed as fast as they come, and unpacked slowly enough to be stopped.
		head -c 30000000 /dev/urandom >filler
		tar -cf - filler -C "$cache" srv | bzip2 -1 >slow.tar.bz2
		rm filler
		hits=0
		for signal in INT TERM KILL; do
			# A shell has its background ignore SIGINT; a person's foreground does not.
			python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$program" collapse --symfs empty --buildid-dir slow.tar.bz2 "$recording" >out 2>err &
			pid=$!
			sleep 0.4
			kill -$signal $pid 2>/dev/null
			wait $pid 2>/dev/null
			[ $? -lt 128 ] || hits=$((hits + 1))
			find "$TMPDIR" -type f
		done
		[ $hits -gt 0 ] || echo 'no signal came in time'
	} 2>&1 | verdict 'a stopped command leaves nothing behind'
fi
{
	find "$TMPDIR" -type f
} | verdict 'no temporary file is left behind'

# ---- perf archive ----------------------------------------------------------------------------------
if ! command -v perf >/dev/null 2>&1 || ! command -v gcc >/dev/null 2>&1; then
	echo 'ok - perf archive # SKIP no perf, or no gcc'
	exit 0
fi
mkdir -p there/home
cat >there/spin.c <<'END'
static __attribute__((noinline)) unsigned turn(unsigned n)
{
	for (unsigned i = 0; i < 1000; i++)
		n = n * 1664525 + 1013904223;
	return n;
}
__attribute__((noinline)) unsigned spin_for_archive(unsigned n)
{
	for (unsigned i = 0; i < 100000; i++)
		n ^= turn(n + i);
	return n;
}
int main(int argc, char **argv)
{
	(void)argv;
	return spin_for_archive(argc) == 7;
}
END
if ! gcc -O1 -g -fno-omit-frame-pointer -o there/spin there/spin.c 2>err ||
	! HOME=$work/there/home perf record -q -g -e cpu-clock:u -F 499 -o there/perf.data there/spin >err 2>&1 ||
	! (cd there && HOME=$work/there/home perf archive perf.data) >err 2>&1; then
	echo "ok - perf archive # SKIP $(tail -n 1 err)"
	exit 0
fi
mv there/perf.data here.data
mv there/perf.data.tar.bz2 here.tar.bz2
rm -rf there
{
	fold 0 here.data
	grep -q ';turn ' out && echo 'named by something else'
	fold 0 --buildid-dir here.tar.bz2 here.data
	told
	grep -q ';turn ' out || head -n 5 out
} | verdict 'perf archive: another home, the program gone'
