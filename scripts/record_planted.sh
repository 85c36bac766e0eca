#!/bin/bash
# record_planted.sh - records training jobs that go wrong in a known way, and accepts a recording only
# when counters and a control run prove that the cause really was the cause.
#
#   scripts/record_planted.sh [-o FOLDER] [-k "KIND..."] [-s "SEED..."] [-r RANKS] [-a "ARGUMENT..."] [-n]
#
# Each case is FOLDER/KIND-SEED, or FOLDER/KIND-rRANKS-SEED where the job has several: case/ is what was recorded, for `traceloom import`; job/ with
# truth.json and proof.csv, control/ and verdict.txt are what it is judged by. -a: arguments of trainload,
# after those of the kind. -r: so many processes that meet after each step; the cause is in the first, and
# the others wait for it. -n: no recorder, to try a cause. Needs root, perf, gcc and python3. The
# machine's settings are put back at the end, however it ends.
set -u
cd "$(dirname "$0")/.." || exit 2
out=/tmp/cases
kinds='compaction khugepaged lock storage stolen workers reclaim purge nothing harmless'
seeds='1 2'
recorder=yes
ranks=1
more=()
while getopts o:k:s:a:r:n option; do
	case $option in
	o) out=$OPTARG ;;
	k) kinds=$OPTARG ;;
	s) seeds=$OPTARG ;;
	r) ranks=$OPTARG ;;
	a) read -ra more <<<"$OPTARG" ;;
	n) recorder=no ;;
	*) exit 2 ;;
	esac
done

die() {
	echo "record_planted.sh: $*" >&2
	exit 2
}

[ "$(id -u)" = 0 ] || die 'needs root'
mkdir -p "$out/bin" "$out/scratch" || die "cannot make $out"
exec 9>"$out/lock"
flock -n 9 || die 'is running already'

# ---- settings, and how they are put back ---------------------------------------------------------------
thp=/sys/kernel/mm/transparent_hugepage
cpu_group=/sys/fs/cgroup/cpu/trainload
saved=()
companions=

# put FILE VALUE: what was there is remembered once
put() {
	local entry

	for entry in "${saved[@]}"; do
		[ "${entry%% *}" != "$1" ] || { echo "$2" >"$1"; return; }
	done
	saved+=("$1 $(sed 's/.*\[\(.*\)\].*/\1/' "$1")")
	echo "$2" >"$1"
}

# hurry_khugepaged NICE: the thread comes and goes with the setting
hurry_khugepaged() {
	local pid

	pid=$(pgrep -x khugepaged) && renice -n "$1" -p "$pid" >/dev/null
}

settle() {
	local entry

	for entry in "${saved[@]}"; do
		echo "${entry#* }" >"${entry%% *}"
	done
	saved=()
	rm -f "$out/scratch/filler"
	hurry_khugepaged 19
}

# shellcheck disable=SC2317 # called by the trap
finish() {
	stop_companions
	settle
	sleep 0.2
	rmdir "$cpu_group" 2>/dev/null
}
trap finish EXIT
trap 'exit 130' INT TERM

# ---- what each cause needs -------------------------------------------------------------------------------
# Page cache, which anybody may have back, takes all but so many MB of what is free.
fill_memory() {
	"$out/bin/trainload" --fill "$1" "$out/scratch" || die 'cannot fill memory'
}

# prepare KIND SEED: sets $arguments and the machine
prepare() {
	arguments=()
	put $thp/enabled madvise
	put $thp/defrag madvise
	put $thp/khugepaged/scan_sleep_millisecs 60000
	put /proc/sys/vm/compaction_proactiveness 0
	case $1 in
	compaction)
		[ $(($2 % 2)) = 1 ] || put $thp/enabled always
		[ $(($2 % 2)) = 1 ] || put $thp/defrag always
		fill_memory 2600
		;;
	khugepaged)
		put $thp/khugepaged/alloc_sleep_millisecs 0
		put $thp/khugepaged/pages_to_scan 65536
		hurry_khugepaged -20
		# a huge page takes it about half a millisecond: work for a second or so
		arguments=(--arena $((2560 + 256 * ($2 % 3))) --slow $((9 + $2 % 2)))
		;;
	harmless)
		put $thp/enabled always
		put $thp/defrag always
		put $thp/khugepaged/scan_sleep_millisecs 10
		put $thp/khugepaged/pages_to_scan 16384
		hurry_khugepaged -10
		# Where a host takes free memory back, as balloons do, new huge pages are slow to copy into:
		# the lock is held for as long as on machines with slow memory or larger pages.
		sleep 8
		arguments=(--arena 64 --helpers 1)
		;;
	reclaim)
		arguments=(--helpers 1)
		fill_memory 220
		;;
	storage)
		arguments=(--helpers 2)
		;;
	esac
}

# Other processes of the cause are no children of the job, and there before the recording begins.
start_companions() {
	rm -f "$out/scratch/shared"
	sh -c "echo \$\$ >$cpu_group/cgroup.procs; exec \"\$@\"" sh "${job[@]}" --companions >"$out/scratch/companions" 9>&- &
	companions=$!
}

stop_companions() {
	[ -z "$companions" ] || { kill "$companions"; wait "$companions"; } 2>/dev/null
	companions=
}

# run FOLDER KIND SEED MORE...: the job, in groups of its own so that others on the machine do not matter;
# into FOLDER goes what the job writes, into FOLDER/../case what is recorded, unless it is a control run
run() {
	local folder=$1 kind=$2 seed=$3 job status

	shift 3
	mkdir -p "$folder" $cpu_group
	# others together weigh no more than a hundredth of this
	echo 262144 >$cpu_group/cpu.shares
	job=("$out/bin/trainload" --kind "$kind" --seed "$seed" --scratch "$out/scratch"
		--shared "$out/scratch/shared" --ranks "$ranks" "${arguments[@]}" "${more[@]}" "$@" "$folder")
	start_companions
	if [ "$recorder" = yes ] && [[ $folder != */control ]]; then
		record "${folder%/*}/case" "${job[@]}"
	else
		in_cpu_group "${job[@]}"
	fi
	status=$?
	stop_companions
	return $status
}

in_cpu_group() {
	sh -c "echo \$\$ >$cpu_group/cgroup.procs; exec \"\$@\"" sh "$@"
}

# record FOLDER JOB...: what the job writes is kept beside, and copied into the recording
record() {
	local folder=$1 dir rank added=()

	shift
	dir=$(dirname "$folder")
	for ((rank = 0; rank < ranks; rank++)); do
		added+=(--add "$dir/job/rank$rank.pt.trace.json")
		# the others write the same times into theirs
		[ "$rank" != 0 ] || added+=(--add "$dir/job/train.log")
	done
	in_cpu_group scripts/capture.sh -q -o "$folder" --clocks "$out/bin/traceloom-clocks" \
		--max-size 512 --cpu --offcpu --thp --syscalls \
		"${added[@]}" -- "$@" >"$dir/capture.out" 2>&1 &&
		[ -s "$dir/job/rank0.pt.trace.json" ]
}

# one KIND SEED: the case, its control, its acceptance
one() {
	local dir=$out/$1-$2 control=()

	[ "$ranks" = 1 ] || dir=$out/$1-r$ranks-$2
	rm -rf "$dir"
	mkdir -p "$dir"
	prepare "$1" "$2"
	run "$dir/job" "$1" "$2" || { echo "$1-$2: rejected: not recorded"; return 1; }
	case $1 in
	compaction | khugepaged)
		prepare "$1" "$2"
		put $thp/enabled never # the same job, without huge pages
		;;
	*) control=(--off) ;;
	esac
	run "$dir/control" "$1" "$2" "${control[@]}" || { echo "$1-$2: rejected: no control"; return 1; }
	settle
	python3 scripts/accept_planted.py "$dir" | tee "$dir/verdict.txt"
	return "${PIPESTATUS[0]}"
}

gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -O2 -g -fno-omit-frame-pointer -pthread \
	-o "$out/bin/trainload.new" scripts/trainload/*.c || die 'trainload does not compile'
cmp -s "$out/bin/trainload.new" "$out/bin/trainload" || mv "$out/bin/trainload.new" "$out/bin/trainload"
rm -f "$out/bin/trainload.new"
gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -O2 -o "$out/bin/traceloom-clocks" scripts/capture_clocks.c ||
	die 'capture_clocks.c does not compile'
bad=0
for seed in $seeds; do
	for kind in $kinds; do
		# whatever else runs on the machine can spoil a case
		for try in 1 2 3; do
			one "$kind" "$seed" && break
			[ $try -lt 3 ] || bad=1
		done
	done
done
exit $bad
