#!/bin/bash
# fuzz.sh [--brief] [BUILD] - runs every fuzzer on the recordings of testdata.
#
# Each gets FUZZ_SECONDS (60); what it finds is kept in BUILD/findings, for testdata/damaged. With
# --brief the corpus is replayed once, as TAP. Without a fuzzing compiler that is all there is.
set -u
cd "$(dirname "$0")/.." || exit 2
brief=no
if [ "${1:-}" = --brief ]; then
	brief=yes
	shift
fi
build=${1:-build-fuzz}
seconds=${FUZZ_SECONDS:-60}
cpus=$(nproc 2>/dev/null || echo 1)
work=$(mktemp -d "${TMPDIR:-/tmp}/traceloom-fuzz.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
shopt -s nullglob

printf 'int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n);
int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { return n && d[0] == 0; }\n' >"$work/try.c"
if clang -fsanitize=fuzzer,address,undefined -o "$work/try" "$work/try.c" 2>/dev/null; then
	how=(CC=clang FUZZING=1)
else
	how=(CC="${CC:-cc}")
	echo "# no compiler with libFuzzer: the corpus is replayed" >&2
fi
if ! make -s -j"$cpus" BUILD="$build" "${how[@]}" SANITIZE=address,undefined CFLAGS='-O1 -g' fuzzers \
	>"$work/make" 2>&1; then
	cat "$work/make"
	[ $brief = yes ] && echo 'not ok - build fuzzers'
	exit 1
fi

# Seeds: files that could be an input of any importer, without expectations and recipes.
mkdir -p "$work/seeds"
count=0
while IFS= read -r -d '' file; do
	count=$((count + 1))
	cp "$file" "$work/seeds/$count"
done < <(find testdata -type f -size -600k ! -name '*.txt' ! -name args ! -name stdout ! -name stderr \
	! -name status ! -name folds ! -name '*.c' ! -name '*.cc' ! -name '*.h' ! -path '*/buildid/*' -print0)

fuzzers=("$build"/{libanalysis,formats,cmd}/*_fuzz)
if [ ${#fuzzers[@]} -eq 0 ]; then
	[ $brief = yes ] && echo 'ok - fuzzers # SKIP there are none'
	exit 0
fi
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1
limits=(-timeout=20 -rss_limit_mb=2048 -malloc_limit_mb=1024)
failed=0
for fuzzer in "${fuzzers[@]}"; do
	name=${fuzzer#"$build/"}
	if [ $brief = yes ]; then
		mkdir -p "$build/findings/${name##*/}"
		if timeout 300 "$fuzzer" "${limits[@]}" -runs=0 \
			-artifact_prefix="$build/findings/${name##*/}/" "$work/seeds" >"$work/log" 2>&1; then
			echo "ok - $name"
		else
			tail -n 60 "$work/log"
			echo "not ok - $name"
			failed=1
		fi
		continue
	fi
	corpus=$build/corpus/${name##*/}
	findings=$build/findings/${name##*/}
	mkdir -p "$corpus" "$findings"
	echo "$name: $seconds s" >&2
	"$fuzzer" "${limits[@]}" -max_total_time="$seconds" -max_len=600000 -print_final_stats=1 \
		-artifact_prefix="$findings/" "$corpus" "$work/seeds" 2>&1 | tee "$work/log" |
		grep -E '^(==|SUMMARY|stat::|#[0-9]+.*(DONE|INITED)|artifact_prefix)' >&2
	if [ "${PIPESTATUS[0]}" -ne 0 ]; then
		echo "$name: a finding, kept in $findings" >&2
		tail -n 40 "$work/log" >&2
		failed=1
	fi
done
exit $failed
