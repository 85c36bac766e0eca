#!/bin/bash
# check_source.sh - what STYLE asks of the sources and a machine can see; prints TAP.
#
# Include direction, the home of each library, banned calls, who may print and exit, headers that
# compile alone, formatting, lengths, white space, scripts.
set -u
cd "$(dirname "$0")/.." || exit 2
export LC_ALL=C
shopt -s nullglob

# verdict NAME: reads findings from stdin; none is a pass.
verdict() {
	local findings

	findings=$(cat)
	if [ -z "$findings" ]; then
		echo "ok - $1"
	else
		printf '%s\n' "$findings" | head -n 60
		echo "not ok - $1"
	fi
}

all=(libanalysis/*.[ch] formats/*.[ch] cmd/*.[ch] scripts/*.[ch] scripts/*/*.[ch])
code=()
for file in "${all[@]}"; do
	case $file in
	*_test.c | *_fuzz.c | scripts/*) ;;
	*) code+=("$file") ;;
	esac
done
library=()
for file in "${code[@]}"; do
	[[ $file == cmd/* ]] || library+=("$file")
done

# includes KIND FILE...: "file:line header", KIND is < or "
includes() {
	local kind=$1 close='>'

	shift
	[ "$kind" = '"' ] && close='"'
	grep -nHE "^[[:space:]]*#[[:space:]]*include[[:space:]]*$kind" "$@" |
		sed -E "s/^([^:]*:[0-9]*):[^$kind]*$kind([^$close]*)$close.*/\\1 \\2/"
}

# ---- who may know whom ----------------------------------------------------------------------------
includes '"' "${all[@]}" | while read -r place header; do
	case $place in
	libanalysis/*) allowed=libanalysis ;;
	formats/*) allowed='formats libanalysis' ;;
	cmd/*) allowed='cmd formats libanalysis' ;;
	scripts/*) continue ;;
	esac
	[ "$header" = schema_sql.h ] && [[ $place == libanalysis/store.c:* ]] && continue
	found=no
	for folder in $allowed; do
		[ -f "$folder/$header" ] && found=yes
	done
	[ $found = yes ] || echo "$place: includes $header, which is not in: $allowed"
	case $place:$header in
	*_test.c:* | *_fuzz.c:*) ;;
	formats/*:store.h | cmd/*:store.h) echo "$place: only libanalysis knows the store's inside" ;;
	esac
	[[ $place == cmd/* && -f formats/$header && $header != formats.h ]] &&
		echo "$place: a command knows formats.h only, not $header"
done | verdict 'includes point downwards'

# header, and the files that are its home
homes='
sqlite3.h libanalysis/store*.c libanalysis/store_private.h
libelf.h libanalysis/symbols*.c
gelf.h libanalysis/symbols*.c
elfutils/* libanalysis/symbols*.c libanalysis/unwind*.c
dwarf.h libanalysis/symbols*.c libanalysis/unwind*.c
libiberty/* libanalysis/symbols*.c
event-parse.h formats/perf_tracepoint.c
trace-seq.h formats/perf_tracepoint.c
jansson.h formats/trace_events.c formats/capture_manifest.c cmd/output.c
zlib.h libanalysis/inflate.c libanalysis/symbols*.c
lzma.h libanalysis/inflate.c libanalysis/symbols*.c
bzlib.h libanalysis/inflate.c
pcre2.h formats/training_log_pattern.c
pcre2posix.h libanalysis/pattern.h
zstd.h libanalysis/inflate.c libanalysis/symbols*.c formats/perf*.c
'
set -f
while read -r header places; do
	[ -n "$header" ] || continue
	includes '<' "${code[@]}" | while read -r place found; do
		# shellcheck disable=SC2053,SC2254
		[[ $found == $header ]] || continue
		at_home=no
		for home in $places; do
			# shellcheck disable=SC2053
			[[ ${place%%:*} == $home ]] && at_home=yes
		done
		[ $at_home = yes ] || echo "$place: $found is included by $places only"
	done
done <<<"$homes" | verdict 'each library has its home'
set +f

# ---- what must not be called ----------------------------------------------------------------------
banned='strcpy|strcat|sprintf|vsprintf|strncpy|strncat|strtok|atoi|atol|atof|gets|alloca|system|popen|tmpnam|mktemp'
grep -nwHE "($banned) *\\(" "${all[@]}" | verdict 'no banned calls'

grep -nHE '(^|[^_[:alnum:]])(exit|_exit|abort|getenv|secure_getenv|printf|puts|putchar|perror|setlocale) *\(|(^|[^_[:alnum:]])(stderr|stdout)([^_[:alnum:]]|$)' \
	"${library[@]}" | grep -vE ':[[:space:]]*(/\*|\*)' |
	grep -v '^libanalysis/spool.c:.*getenv("TMPDIR")' | # reader.h promises it
	verdict 'only commands print, exit and read the environment'

grep -nHE '(^|[^_[:alnum:]])//' "${all[@]}" | grep -vE '"[^"]*//[^"]*"|/\*.*//|:[0-9]+:[[:space:]]*\*' |
	verdict 'comments are block comments'

# ---- shape ------------------------------------------------------------------------------------------
cc=${CC:-cc}
flags=$(pkg-config --cflags sqlite3 libtraceevent libelf libdw jansson 2>/dev/null)
for header in libanalysis/*.h formats/*.h cmd/*.h; do
	# shellcheck disable=SC2086
	printf '#include "%s"\n#include "%s"\nint unused_in_a_header_test;\n' "${header##*/}" "${header##*/}" |
		$cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Ilibanalysis \
			-Iformats -Icmd $flags -x c - 2>&1 | sed "s|^|$header: |"
done | verdict 'headers compile alone'

for header in libanalysis/analysis.h libanalysis/analysis_machine.h libanalysis/analysis_syscalls.h libanalysis/analysis_thp.h libanalysis/reader.h formats/formats.h; do
	if command -v g++ >/dev/null 2>&1; then
		printf '#include "%s"\n' "${header##*/}" | g++ -std=c++17 -Wall -Wextra -fsyntax-only \
			-Ilibanalysis -Iformats -x c++ - 2>&1
	fi
done | verdict 'public headers are good for C++ too'

format=
for candidate in clang-format-14 clang-format; do
	if [ -z "$format" ] && $candidate --version 2>/dev/null | grep -q 'version 14\.'; then
		format=$candidate
	fi
done
if [ -n "$format" ]; then
	$format --dry-run -Werror "${all[@]}" 2>&1 | grep -E '^[^ ].*(warning|error):' | verdict 'formatted by clang-format'
else
	echo 'ok - formatted by clang-format # SKIP no clang-format 14'
fi

for file in "${all[@]}"; do
	limit=1000
	[[ $file == *_test.c ]] && limit=1200
	lines=$(wc -l <"$file")
	[ "$lines" -le $limit ] || echo "$file: $lines lines; $limit are many"
done | verdict 'files are not over-long'

for file in "${code[@]}"; do
	head -n 1 "$file" | grep -q '^/\*' || echo "$file: does not open with what it is for"
done | verdict 'each file says what lives in it'

texts=()
while IFS= read -r file; do
	[ -f "$file" ] && texts+=("$file")
done < <(git ls-files 2>/dev/null | grep -E '\.(c|h|cc|sh|py|md|sql)$|^Makefile$|^\.ci/' | grep -v '^testdata/.*/')
[ ${#texts[@]} -gt 0 ] || texts=("${all[@]}")
{
	grep -nHE '[[:space:]]+$' "${texts[@]}" | sed 's/$/ <- white space at the end/'
	grep -lP '\r' "${texts[@]}" | sed 's/$/: carriage returns/'
	for file in "${texts[@]}"; do
		[ -z "$(tail -c 1 "$file")" ] || echo "$file: no newline at its end"
	done
} | verdict 'white space is in order'

scripts=()
for file in scripts/* .ci/run; do
	if [ -f "$file" ] && head -n 1 "$file" | grep -qE '^#!.*(/| )(sh|bash)$'; then
		scripts+=("$file")
	fi
done
if command -v shellcheck >/dev/null 2>&1; then
	shellcheck -x -f gcc "${scripts[@]}" 2>&1 | verdict 'scripts pass shellcheck'
else
	for file in "${scripts[@]}"; do bash -n "$file" 2>&1; done | verdict 'scripts can be parsed'
fi

pythons=(scripts/*.py)
if [ ${#pythons[@]} -gt 0 ] && command -v python3 >/dev/null 2>&1; then
	for file in "${pythons[@]}"; do
		python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read(), sys.argv[1])' "$file" 2>&1 |
			tail -n 1
	done | verdict 'python scripts can be parsed'
fi

sh scripts/embed_sql.sh libanalysis/schema.sql 2>&1 >/dev/null | verdict 'the schema has its blocks'
