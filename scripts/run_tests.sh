#!/bin/bash
# run_tests.sh - runs every test: builds with gcc, with clang and with sanitizers, unit tests,
# command, golden and damaged cases, source checks, installation, and each fuzzer briefly.
#
# Every part speaks TAP ("ok 1 - name", "not ok 2 - name", "ok 3 - name # SKIP why"; a test that cannot
# give a reason there prints "# skipped because: why" before). What is being done is told on standard
# error. Prints a line and the output of each failing test; the last line is "N passed, N failed, N
# skipped".
set -u
cd "$(dirname "$0")/.." || exit 2
LC_ALL=C
TZ=UTC0
export LC_ALL TZ CMOCKA_MESSAGE_OUTPUT=TAP
exec </dev/null
unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS LDFLAGS BUILD SANITIZE WERROR DESTDIR PREFIX

root=${CHECK_BUILD:-build-check}
cpus=$(nproc 2>/dev/null || echo 1)
[ "$cpus" -le 8 ] || cpus=8
work=$(mktemp -d "${TMPDIR:-/tmp}/traceloom-check.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1

names=()
job_count=0

# stage WHAT: it takes minutes; whoever waits wants to know for what.
stage() {
	echo "check: $1" >&2
}

# start NAME COMMAND...: in the background, when there is room for it.
start() {
	local number=$job_count

	job_count=$((job_count + 1))
	names[number]=$1
	shift
	while [ "$(jobs -pr | wc -l)" -ge "$cpus" ]; do
		wait -n
	done
	(
		"$@" >"$work/$number.out" 2>&1
		echo $? >"$work/$number.status"
	) &
}

# One test of its own: it has passed if the command has.
single() {
	local name=$1 log=$work/single.$BASHPID # in a redirection it would be the process of the command

	shift
	if "$@" >"$log" 2>&1; then
		echo "ok - $name"
	else
		cat "$log"
		echo "not ok - $name"
	fi
}

build() {
	local variant=$1

	shift
	single "build $variant" make -s -k -j"$cpus" BUILD="$root/$variant" "$@"
}

# Reads the TAP of a job; prints failures; leaves its counts in the file counts.
digest() {
	awk -v job="${names[$1]}" -v status="$(cat "$work/$1.status")" -v counts="$work/counts" '
		function flush_failure() {
			if (failing != "")
				printf "FAIL %s: %s\n%s\n", job, failing, detail
			failing = detail = ""
		}
		sub(/^# skipped because: /, "") {
			why = $0
			next
		}
		/^(not )?ok( |$)/ {
			flush_failure()
			name = $0
			sub(/^(not )?ok *[0-9]* *(- )?/, "", name)
			if (/# *[Ss][Kk][Ii][Pp]/) {
				skipped++
				if (!sub(/^# *[Ss][Kk][Ii][Pp] */, "", name)) # cmocka: the name follows
					sub(/ *# *[Ss][Kk][Ii][Pp] */, ": ", name)
				if (why != "")
					name = name ": " why
				printf "skip %s: %s\n", job, name
			} else if (/^not/) {
				failed++
				failing = name
				detail = before
			} else {
				passed++
			}
			before = why = ""
			lines = 0
			next
		}
		/^1\.\.[0-9]+$/ || /^# (not )?ok - / { next }
		{
			if (failing != "" && /^#/)
				detail = detail "    " $0 "\n"
			else if (lines++ < 400)
				before = before "    " $0 "\n"
		}
		END {
			flush_failure()
			if (status != 0 && !failed) {
				failed++
				printf "FAIL %s: ended with status %s\n%s\n", job, status, before
			} else if (!passed && !failed && !skipped) {
				failed++
				printf "FAIL %s: ran no test\n%s\n", job, before
			}
			print passed + 0, failed + 0, skipped + 0 > counts
		}' "$work/$1.out"
}

passed=0 failed=0 skipped=0 digested=0

# Waits for all jobs started so far and tells how they went, in the order they were started.
finish() {
	local p f s

	wait
	while [ $digested -lt $job_count ]; do
		[ -f "$work/$digested.status" ] || echo 'killed' >"$work/$digested.status"
		[ -f "$work/$digested.out" ] || : >"$work/$digested.out"
		digest $digested
		read -r p f s <"$work/counts"
		passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
		digested=$((digested + 1))
	done
}

have() {
	command -v "$1" >/dev/null 2>&1
}

unit_tests() {
	local variant=$1 program

	for program in "$root/$variant"/{libanalysis,formats,cmd}/*_test; do
		[ -x "$program" ] && start "$variant ${program#"$root/$variant/"}" timeout 300 "$program"
	done
}

# Logs of testdata and of the shared folder against the independent reader that lies there; without
# it those of testdata against the tables that strace printed itself.
compare_logs() {
	local shared=${TRACELOOM_SHARED:-../shared} oracle="" logs

	have python3 || { echo 'ok - logs # SKIP no python3'; return; }
	[ ! -f "$shared/oracle/strace_oracle.py" ] || oracle=$shared/oracle/strace_oracle.py
	[ -n "$oracle" ] || echo 'ok - logs beside an independent reader # SKIP it is not there'
	mapfile -t logs < <(find testdata/strace "$shared/corpus/strace" -type f \
		\( -path '*/strace/*/input.log*' -o -path '*/corpus/strace/*' \) ! -name '*.md' 2>/dev/null | sort)
	scripts/compare_strace.py "$1" "$oracle" "${logs[@]}"
}

# make demo is the first thing that people run: it ends well, and shows what README.md shows.
demo() {
	local got=$work/demo.got wanted=$work/demo.wanted

	if ! bash scripts/demo.sh "$1" >"$got" 2>&1; then
		cat "$got"
		echo 'not ok - the demo runs to its end'
		return
	fi
	echo 'ok - the demo runs to its end'
	sed -i "s|$(dirname "$1")|build|g" "$got"
	awk '/^<!-- demo:end -->/ { inside = 0 } inside && !/^```/; /^<!-- demo:begin -->/ { inside = 1 }' \
		README.md >"$wanted"
	if sed '1{/^$/d;}' "$got" | diff "$wanted" -; then
		echo 'ok - README.md shows what the demo prints'
	else
		echo "the block demo is out of date: 'scripts/update_readme.sh build/traceloom' renews it"
		echo 'not ok - README.md shows what the demo prints'
	fi
}

cc=gcc
have gcc || cc=cc

# ---- builds, one after the other: each uses all processors ----------------------------------------
stage "source checks, and the build with $cc"
start 'source' scripts/check_source.sh
start 'gcc' build gcc CC=$cc WERROR=1 all tests
finish
# Instrumented code makes gcc see what is not there; the other builds are the ones held to warnings.
stage 'the build with sanitizers'
start 'sanitized' build sanitized CC=$cc SANITIZE=address,undefined CFLAGS='-O1 -g' all tests
finish
if have clang; then
	stage 'the build with clang'
	start 'clang' build clang CC=clang WERROR=1 all tests
	finish
else
	start 'clang' echo 'ok - build clang # SKIP no clang'
fi

# ---- tests ------------------------------------------------------------------------------------------
for variant in gcc sanitized; do
	stage "unit tests ($variant)"
	unit_tests $variant
	if [ ! -x "$root/$variant/traceloom" ]; then
		start "$variant cases" echo "not ok - there is no $root/$variant/traceloom"
		continue
	fi
	stage "commands and recordings ($variant)"
	start "$variant cases" scripts/check_cases.sh "$root/$variant/traceloom"
	start "$variant recordings" scripts/test_perf_cases.sh "$root/$variant/traceloom"
	start "$variant behaviour" scripts/check_behaviour.sh "$root/$variant/traceloom"
	if have python3; then
		start "$variant profiler" scripts/check_profiler.py "$root/$variant/traceloom"
		start "$variant steps" scripts/check_steps.py "$root/$variant/traceloom"
		start "$variant explain" scripts/check_explain.py "$root/$variant/traceloom"
		start "$variant planted" scripts/judge_planted.py --tap "$root/$variant/traceloom" testdata/planted/*/
	else
		start "$variant profiler" echo 'ok - profiler # SKIP no python3'
	fi
	start "$variant logs" compare_logs "$root/$variant/traceloom"
	start "$variant archives" scripts/check_archives.sh "$root/$variant/traceloom"
done
stage 'clocks, comparison with other programs, installation'
if have python3; then
	start 'clocks' scripts/check_clocks.py "$root/gcc/traceloom" 60
	start 'order' scripts/check_order.py "$root/gcc/traceloom"
	start 'explained' scripts/compare_explain.py "$root/gcc/traceloom" \
		"${TRACELOOM_SHARED:-../shared}/oracle/stepstats_oracle.py" testdata/planted/*/job/..
else
	start 'order' echo 'ok - order # SKIP no python3'
	start 'explained' echo 'ok - explained # SKIP no python3'
	start 'clocks' echo 'ok - clocks # SKIP no python3'
fi
start 'demo' demo "$root/gcc/traceloom"
start 'peers' scripts/compare_folded.sh "$root/gcc/traceloom"
start 'install' scripts/check_install.sh "$root/gcc" $cc
stage 'recording for real'
start 'capture' scripts/check_capture.sh "$root/gcc/traceloom" "$root/gcc/traceloom-clocks"
stage "fuzzers: build, and their corpus once"
start 'fuzzers' scripts/fuzz.sh --brief "$root/fuzz"
finish

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
