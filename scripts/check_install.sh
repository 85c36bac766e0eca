#!/bin/bash
# check_install.sh BUILD CC - installs what was built into an empty directory, and uses it as somebody
# else would: pkg-config, a program of ten lines against both libraries, manual, completion. TAP.
set -u
build=$1 cc=$2
cd "$(dirname "$0")/.." || exit 2
work=$(mktemp -d "${TMPDIR:-/tmp}/traceloom-install.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
root=$work/root prefix=/opt/traceloom
at=$root$prefix

# verdict NAME: reads what went wrong from stdin; nothing is a pass.
verdict() {
	local trouble

	trouble=$(cat)
	if [ -z "$trouble" ]; then
		echo "ok - $1"
	else
		printf '%s\n' "$trouble" | head -n 60
		echo "not ok - $1"
	fi
}

quietly() {
	"$@" >"$work/output" 2>&1 || { echo "'$*' failed:"; tail -n 20 "$work/output"; }
}

quietly make -s CC="$cc" BUILD="$build" WERROR=1 DESTDIR="$root" PREFIX=$prefix install |
	verdict 'make install' | tee "$work/verdict"
# Nothing below says anything of its own without an installation.
tail -n 1 "$work/verdict" | grep -q '^ok' || exit 1

{
	for file in bin/traceloom bin/traceloom-capture bin/traceloom-clocks lib/libtraceloom.a lib/libtraceloom.so lib/pkgconfig/traceloom.pc \
		include/traceloom/analysis.h include/traceloom/analysis_machine.h include/traceloom/analysis_syscalls.h include/traceloom/analysis_thp.h \
		include/traceloom/reader.h include/traceloom/formats.h \
		share/man/man1/traceloom.1 share/man/man1/traceloom-import.1 \
		share/man/man1/traceloom-capture.1 share/man/man1/traceloom-clocks.1 \
		share/bash-completion/completions/traceloom share/zsh/site-functions/_traceloom \
		share/fish/vendor_completions.d/traceloom.fish; do
		[ -s "$at/$file" ] || echo "not installed: $file"
	done
	find "$root" -type f ! -path "$at/*" | sed 's/$/: outside of PREFIX/'
	grep -rlF "$root" "$root" | sed 's/$/: knows DESTDIR/'
} | verdict 'everything is installed below DESTDIR and PREFIX'

nm -D --defined-only "$at/lib/libtraceloom.so" | awk '$3 !~ /^tl_/ && $2 != "A" { print "exports " $3 }' |
	verdict 'the shared library exports tl_ only'

nm -g --defined-only "$at/lib/libtraceloom.a" 2>/dev/null |
	awk 'NF == 3 && $3 !~ /^tl_/ { print "exports " $3 }' | verdict 'the static library exports tl_ only'

{
	readelf -d "$at/lib/libtraceloom.so" | grep -q 'SONAME.*\[libtraceloom\.so\.[0-9]*\]' ||
		echo 'no soname'
} | verdict 'the shared library has a soname'

"$at/bin/traceloom" --version 2>&1 |
	grep -vxE 'traceloom [0-9]+\.[0-9]+\.[0-9]+ \(case schema [0-9]+\)' | verdict '--version shows both versions'

awk '/^<!-- help:end -->/ { inside = 0 } inside && !/^```/; /^<!-- help:begin -->/ { inside = 1 }' README.md |
	{ diff -q - <("$at/bin/traceloom" help) >"$work/output" ||
		echo "the block help is out of date: 'scripts/update_readme.sh build/traceloom' renews it"; } |
	verdict 'README.md shows what help prints'

# ---- a program of somebody else ----------------------------------------------------------------------
# It is the one that README.md shows.
awk '/^```$/ { inside = 0 } inside; /^```c$/ { inside = 1 }' README.md >"$work/other.c"
pkg() {
	PKG_CONFIG_PATH=$at/lib/pkgconfig pkg-config --define-variable=prefix="$at" "$@" traceloom
}
recording=testdata/perf/fp-threads/perf.data
if [ -f $recording ] && "$at/bin/traceloom" help collapse >/dev/null 2>&1; then
	{
		quietly "$at/bin/traceloom" import -q -o "$work/case.db" $recording
		"$at/bin/traceloom" collapse "$work/case.db" >"$work/expected" 2>"$work/output" ||
			cat "$work/output"
	} | verdict 'the installed program imports and folds'
	for kind in shared static; do
		{
			if [ $kind = shared ]; then
				# shellcheck disable=SC2046
				quietly "$cc" -Wall -Wextra -Werror -o "$work/$kind" "$work/other.c" $(pkg --cflags --libs)
			else
				# shellcheck disable=SC2046
				quietly "$cc" -Wall -Wextra -Werror -o "$work/$kind" "$work/other.c" $(pkg --cflags) \
					"$at/lib/libtraceloom.a" $(pkg --static --libs | sed 's/-ltraceloom//')
			fi
			LD_LIBRARY_PATH=$at/lib "$work/$kind" "$work/case.db" >"$work/found" 2>"$work/output" ||
				cat "$work/output"
			[ -s "$work/found" ] || echo 'it printed nothing'
			cmp "$work/expected" "$work/found" 2>&1
		} | verdict "a program of ten lines reads a case with the $kind library"
	done
else
	echo "ok - a program of ten lines reads a case # SKIP no $recording, or no collapse"
fi

# ---- manual and completion ----------------------------------------------------------------------------
if command -v man >/dev/null 2>&1; then
	for page in "$at"/share/man/man1/*; do
		MANWIDTH=80 man --warnings -E UTF-8 -l "$page" 2>&1 >/dev/null | sed "s|^|${page##*/}: |"
	done | verdict 'manual pages render without warnings'
elif command -v groff >/dev/null 2>&1; then
	for page in "$at"/share/man/man1/*; do
		groff -man -ww -Tutf8 "$page" 2>&1 >/dev/null
	done | verdict 'manual pages render without warnings'
else
	echo 'ok - manual pages render without warnings # SKIP neither man nor groff'
fi

{
	for command in import collapse steps; do
		page=$at/share/man/man1/traceloom-$command.1
		wanted=0
		"$at/bin/traceloom" help $command | grep -q -e '^ *--check ' && wanted=1
		found=$(grep -c '^found what was asked for' "$page")
		[ "$found" = $wanted ] || echo "$command: status 1 is listed $found times, not $wanted"
	done
} | verdict 'manual pages list exit status 1 where there is --check'

{
	for program in capture clocks; do
		page=$at/share/man/man1/traceloom-$program.1
		"$at/bin/traceloom-$program" --help | grep -o -e '^  *-.*  ' |
			grep -o -e '--[a-z][a-z-]*' | sort -u >"$work/options"
		[ "$(wc -l <"$work/options")" -ge 2 ] || echo "$program --help lists no options"
		while read -r option; do
			sed 's/\\//g' "$page" | grep -q -e "^[.]B .*$option" || echo "$page has no $option"
		done <"$work/options"
	done
} | verdict 'manual pages of the programs that record list all of their options'

# complete WORD...: what bash offers for the last word
complete_words() {
	bash --norc -c '
		source "$1" || exit
		shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_traceloom 2>&1
		printf "%s\n" "${COMPREPLY[@]}"' bash "$at/share/bash-completion/completions/traceloom" "$@"
}
{
	[ "$(complete_words traceloom imp)" = import ] || echo "imp: $(complete_words traceloom imp)"
	[ "$(complete_words traceloom import --symf)" = --symfs ] ||
		echo "--symf: $(complete_words traceloom import --symf)"
	touch "$work/a file"
	[ "$(complete_words traceloom import -o "$work/a")" = "$work/a file" ] ||
		echo "files: $(complete_words traceloom import -o "$work/a")"
} | verdict 'completion works in bash'
for shell in zsh fish; do
	case $shell in
	zsh) file=$at/share/zsh/site-functions/_traceloom ;;
	fish) file=$at/share/fish/vendor_completions.d/traceloom.fish ;;
	esac
	if command -v $shell >/dev/null 2>&1; then
		$shell -n "$file" 2>&1 | verdict "completion can be parsed by $shell"
	else
		echo "ok - completion can be parsed by $shell # SKIP no $shell"
	fi
done

# ---- and away with it -----------------------------------------------------------------------------------
{
	quietly make -s CC="$cc" BUILD="$build" DESTDIR="$root" PREFIX=$prefix uninstall
	find "$root" ! -type d | sed 's/$/: left behind/'
} | verdict 'make uninstall leaves nothing behind'
