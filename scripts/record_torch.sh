#!/bin/bash
# record_torch.sh PYTHON - records testdata/planted/torch anew: train_torch.py under perf, strace and its
# own profiler at once, on a machine called tl-lab. PYTHON has torch installed. Needs root.
set -u
if [ "${TL_INSIDE:-}" != yes ]; then
	TL_INSIDE=yes exec unshare --uts bash "$0" "$@"
fi
python=${1:?usage: record_torch.sh PYTHON}
cd "$(dirname "$0")/.." || exit 2
lab=/srv/tl-lab
group=/sys/fs/cgroup/cpu/trainload # others on the machine do not matter
[ ! -e $lab ] || { echo "record_torch.sh: $lab is in the way" >&2; exit 2; }
hostname tl-lab
cmdlines=/sys/kernel/tracing/saved_cmdlines_size
cmdlines_before=$(cat $cmdlines)
echo 1 >$cmdlines
trap 'rm -rf $lab; rmdir $group; echo "$cmdlines_before" >$cmdlines' EXIT
trap 'exit 130' INT TERM
mkdir -p $lab/torch/job $group
echo 65536 >$group/cpu.shares
cc -std=c11 -D_GNU_SOURCE -O2 -o $lab/clocks scripts/capture_clocks.c || exit 2
cp scripts/train_torch.py $lab

cd $lab || exit 2
sh -c "echo \$\$ >$group/cgroup.procs; exec \"\$@\"" sh \
	"$python" train_torch.py torch/job 320 2>torch/job/stderr &
job=$!
# what it reads to begin with does not matter
until [ -s torch/job/train.log ]; do
	kill -0 $job 2>/dev/null || { cat torch/job/stderr >&2; exit 2; }
	sleep 0.05
done
"$OLDPWD/scripts/capture.sh" -q -o torch/case -p $job -d 120 --clocks $lab/clocks --cpu --offcpu --thp --syscalls \
	--strace=futex,write,openat,fsync,mmap,munmap,madvise,brk \
	--add torch/job/train.log --add torch/job/rank0.pt.trace.json.gz || exit 2
wait $job || exit 2
cd "$OLDPWD" || exit 2
python3 scripts/cut_planted.py $lab/torch testdata/planted/torch || exit 2
# names of the kernel's functions are kept once for all cases
for file in testdata/planted/torch/buildid/*/*/kallsyms; do
	to=testdata/planted/${file#testdata/planted/torch/}
	mkdir -p "$(dirname "$to")"
	cat "$file" "$to" 2>/dev/null | sort -u >$lab/kallsyms
	cp $lab/kallsyms "$to"
done
rm -rf testdata/planted/torch/buildid
{
	echo "shows: a real job, recorded by perf, strace and PyTorch's profiler at once; a checkpoint in step 160"
	echo "command: scripts/record_torch.sh PYTHON, with torch $("$python" -c 'import torch; print(torch.__version__)')"
	echo "kernel: $(uname -r), perf: $(perf --version | cut -d' ' -f3), $(strace --version | head -n 1)"
} >testdata/planted/torch/how.txt
