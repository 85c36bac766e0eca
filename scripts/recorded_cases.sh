#!/bin/sh
# recorded_cases.sh - the recordings of testdata/perf: read by record_testdata.sh, which has the verbs.
#
# Commands are expanded when they run, and cases are called by name:
# shellcheck disable=SC2317,SC2086,SC2016,SC2154,SC2034

# On one CPU: a program of lower real-time priority keeps the rest of the machine away from it.
alone='taskset -c 1 chrt -f 4 chain 9000 & filler=$!; sleep 0.2;'
on_cpu_1='taskset -c 1 chrt -f 10'

# each sets what it shows, records, and says which folds are expected

case_fp_threads() {
	shows='frame-pointer call chains of four threads with blanks and digits in their names; one event without id'
	record 'perf record -q -g -F 199 -- chain 120 3' || return
	verify
	fold folded.txt --symbols
	fold folded-count.txt --symbols --count
	fold folded-nosym.txt
	perl_fold folded-perl.txt
	perl_fold folded-perl-kernel-tid.txt --kernel --tid
	text plain us
	text ns ns --ns
	text header ns --ns --header
	text fields ns --ns -F comm,pid,tid,time,period,event,ip,sym,symoff,dso
	text nosym us -F comm,tid,time,event,ip
	python3 "$expect" fold --count perf.data >"$dir/folded.txt"
	without '\[+[^];]*\]+' '[unknown]'
	sed -i '/^period/d' "$dir/facts.txt"
}

case_symfs() {
	shows='a binary that is found below --symfs and has the recorded build-id'
	record 'perf record -q -e cpu-clock:u -g -F 199 -- chain 60 1' || return
	verify
	mkdir -p "$out/$case_name/symfs$lab"
	cp $lab/chain "$out/$case_name/symfs$lab/"
	fold folded.txt --symbols
}

case_stale() {
	shows='a binary below --symfs that was built anew since the recording: it names nothing'
	record 'perf record -q -e cpu-clock:u -g -F 199 -- chain 60 1' || return
	verify
	fold folded.txt
	mkdir -p "$out/$case_name/symfs$lab"
	gcc $freestanding -O2 -fno-omit-frame-pointer -o "$out/$case_name/symfs$lab/chain" $lab/src/chain.c
	echo 'folded.txt --symfs @/symfs' >"$out/$case_name/folds"
}

case_deep() {
	shows='call chains cut by the kernel at 127 frames'
	record 'perf record -q -g -F 199 -- chain 30 0 200' || return
	verify
	fold folded.txt --symbols
}

case_nog() {
	shows='no call chains: the sampled address alone'
	record 'perf record -q -F 499 -- chain 60 1' || return
	verify
	fold folded.txt --symbols
	text plain us
}

case_period_user() {
	shows='a fixed period and no PERIOD in the samples; user only'
	record 'perf record -q -c 1000000 -e cpu-clock:u -g -- chain 40 1' || return
	verify
	fold folded.txt --symbols
}

case_ids() {
	shows='two events with equal sample_type: ID, not IDENTIFIER'
	record 'perf record -q -F 199 -e cpu-clock,task-clock -g -- chain 60 1' || return
	verify
	fold folded.txt --symbols --event cpu-clock
	fold folded-task.txt --symbols --event task-clock
	perl_fold folded-perl.txt --event-filter=task-clock
}

case_mixed() {
	shows='three events with different sample_type: IDENTIFIER, RAW in two of three'
	record "$alone $on_cpu_1 perf record -q --buildid-all -g -e cpu-clock/freq=999/ -e sched:sched_switch -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit -- noops 12; kill \$filler" || return
	verify
	fold folded.txt --symbols
	fold folded-enter.txt --symbols --event raw_syscalls:sys_enter
	fold folded-switch.txt --symbols --event sched:sched_switch
	text trace us
}

case_same_config() {
	shows='the same type and config twice: only EVENT_DESC tells cpu-clock:u from cpu-clock:k'
	record 'perf record -q -F 499 -e cpu-clock:u -e cpu-clock:k -g -- chain 60 1' || return
	verify
	fold folded.txt --symbols --event cpu-clock:u
	fold folded-k.txt --symbols --event cpu-clock:k
}

case_per_thread() {
	shows='samples without time'
	record 'perf record -q --per-thread -F 199 -g -- chain 60 1' || return
	verify
	fold folded.txt --symbols
	text plain us
}

case_group() {
	shows='leader sampling: one SAMPLE record carries cumulative counts of three events'
	record 'perf record -q -F 499 -g -e "{cpu-clock,page-faults,context-switches}:S" -- pages touch 30000' || return
	python3 "$expect" check "$out/$case_name/perf.data" >$lab/differences || complain "$case_name: $(head -3 $lab/differences)"
	fold folded.txt --symbols
	fold folded-faults.txt --symbols --event page-faults
}

case_read() {
	shows='READ records of inherited counters (-s -T)'
	record 'perf record -q -s -T -F 199 -g -- chain 40 2' || return
	verify
	fold folded.txt --symbols
}

case_memory() {
	shows='every address field: ADDR CPU DATA_SRC PHYS_ADDR DATA_PAGE_SIZE CODE_PAGE_SIZE WEIGHT, and data maps'
	record 'perf record -q -d -W --phys-data --data-page-size --code-page-size --sample-cpu -e page-faults -c 1 -g -- pages touch 60' || return
	verify
	fold folded.txt --symbols
}

case_registers() {
	shows='REGS_USER and REGS_INTR beside a frame-pointer chain'
	record 'perf record -q --user-regs=ax,bx,sp,ip --intr-regs=ip,sp,bp -F 199 -g -- chain 60 1' || return
	verify
	fold folded.txt --symbols
}

case_cgroups() {
	shows='CGROUP records and the cgroup of each sample'
	record 'perf record -q --all-cgroups -F 199 -g -- chain 60 1' || return
	verify
	fold folded.txt --symbols
}

case_namespaces() {
	shows='NAMESPACES records: a process in a pid namespace of its own'
	record 'perf record -q --namespaces -F 499 -g -- unshare --pid --fork --mount-proc family reuse 15' || return
	verify
	fold folded-nosym.txt
}

case_dwarf() {
	shows='user stacks to be unwound from registers and 1 KiB of stack, by .eh_frame; no frame pointers; inlines'
	record 'perf record -q --call-graph dwarf,2048 -F 199 -- unwind 80' || return
	verify
	fold folded.txt --symbols
	fold folded-inline.txt --symbols --inline
	perl_fold folded-perl.txt
	text inline us
	text srcline us -F +srcline
}

case_zstd() {
	shows='COMPRESSED records; no BUILD_ID feature'
	record 'perf record -q -z -g -F 499 -- chain 60 3' || return
	verify
	fold folded-nosym.txt
}

case_zstd_pipe() {
	shows='COMPRESSED records in pipe mode'
	record 'perf record -q -z -g -F 499 -o - -- chain 60 1 >perf.data' || return
	verify
	fold folded-nosym.txt
}

case_pipe() {
	shows='pipe mode in a regular file: attributes, names, features and tracepoint formats are records'
	record "$alone $on_cpu_1 perf record -q -g -e cpu-clock/freq=499/ -e sched:sched_switch -o - -- sleeper 4 >perf.data; kill \$filler" || return
	verify
	fold folded-nosym.txt --event cpu-clock/freq=499/
	fold folded-switch.txt --event sched:sched_switch
}

case_pipe_buildids() {
	shows='pipe mode with BUILD_ID records, as perf inject writes them'
	record 'perf record -q -g -F 199 -o - -- chain 60 1 | perf inject -b >perf.data' || return
	verify
	fold folded-nosym.txt
}

case_threads() {
	shows='directory format: data and one file per recording thread'
	record 'perf record -q --threads --synth=no -g -F 199 -- chain 60 1' || return
	verify
	fold folded-nosym.txt
}

case_threads_zstd() {
	shows='directory format, each file a zstd stream of its own'
	record 'perf record -q --threads -z --synth=no -g -F 199 -- chain 60 1' || return
	verify
	fold folded-nosym.txt
}

case_tail_synthesize() {
	shows='the maps and names of processes that ran before come after the samples'
	record 'unshare --pid --fork --mount-proc sh -c "chain 400 & sleep 0.1; perf record -q -a --tail-synthesize -g -F 99 -- sleep 0.1; wait"' || return
	verify
	fold folded-nosym.txt
}

case_attach() {
	shows='perf record -p: COMM and MMAP2 of a running process are synthesized'
	record 'chain 3000 2 & program=$!; sleep 0.1; perf record -q -p $program -g -F 199 -- sleep 0.1; kill $program' || return
	verify
	fold folded.txt --symbols
}

case_overwrite() {
	shows='write_backward: rounds in reverse'
	record 'perf record -q --overwrite --tail-synthesize -m 4 -F 999 -g -- chain 120 1' || return
	verify
	fold folded-nosym.txt
}

case_switch_output() {
	shows='one file of a --switch-output series'
	record 'perf record -q --switch-output=20K -m 4 -F 4999 -g -- chain 100 1; mv $(ls perf.data.* | sed -n 2p) perf.data' || return
	verify
	fold folded-nosym.txt
}

case_buildid_mmap() {
	shows='build-ids in the MMAP2 records; no BUILD_ID feature'
	record 'perf record -q --buildid-mmap -g -F 199 -- chain 60 1' || return
	verify
	fold folded.txt --symbols
}

case_switch_task() {
	shows='SWITCH records of one process, and sched_switch samples with stacks'
	record "$alone $on_cpu_1 perf record -q --buildid-all --switch-events -g -e cpu-clock/freq=199/ -e sched:sched_switch -- sleeper 6; kill \$filler" || return
	verify
	fold folded.txt --symbols --event sched:sched_switch
	text switches ns --ns --show-switch-events
}

case_switch_cpu() {
	shows='SWITCH_CPU_WIDE records of one CPU'
	record "$alone perf record -q -C 1 --synth=no --switch-events -F 49 -- $on_cpu_1 sleeper 4; kill \$filler" || return
	verify
	fold folded-nosym.txt
}

case_offcpu() {
	shows='off-CPU time of two threads on one CPU: every sched_switch, sched_wakeup and sched_waking there'
	record "$alone perf record -q -C 1 --synth=no --buildid-all -g -e sched:sched_switch -e sched:sched_wakeup -e sched:sched_waking -- $on_cpu_1 sleeper 6; kill \$filler" || return
	verify
	fold folded.txt --symbols --event sched:sched_switch
	fold folded-offcpu.txt --symbols --offcpu '^(napper|answerer)$'
	text trace ns --ns
}

case_lost() {
	shows='LOST records and LOST_SAMPLES records, which count the same losses'
	record 'perf record -q -m 1 -F 25000 -g -e cpu-clock -e page-faults/period=1/ -- pages touch 600' || return
	verify
	fold folded.txt --symbols --event cpu-clock
}

case_throttle() {
	shows='THROTTLE and UNTHROTTLE records'
	rate=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
	echo 2000 >/proc/sys/kernel/perf_event_max_sample_rate
	record 'perf record -q -c 50000 -e cpu-clock -- chain 20' || return
	echo "$rate" >/proc/sys/kernel/perf_event_max_sample_rate
	verify
	fold folded.txt --symbols
}

case_killed() {
	shows='the recorder was killed: data.size is 0, feature bits are set but there are no features'
	record 'perf record -q -F 999 -m 1 -g -- chain 400 & recorder=$!; until [ "$(stat -c %s perf.data 2>/dev/null || echo 0)" -gt 12000 ]; do sleep 0.01; done; kill -9 $recorder; wait; sleep 0.5' || return
	fold folded-nosym.txt
}

case_killed_tracepoint() {
	shows='the same with a tracepoint: its format is lost, its name too'
	record 'perf record -q -m 1 -g -e cpu-clock/freq=999/ -e raw_syscalls:sys_enter -- noops 400 & recorder=$!; until [ "$(stat -c %s perf.data 2>/dev/null || echo 0)" -gt 12000 ]; do sleep 0.01; done; kill -9 $recorder; wait; sleep 0.2' || return
	fold folded-nosym.txt
}

case_exec() {
	shows='perf-exec before exec; fork, exec and exit'
	record 'perf record -q -F 499 -g -- family 20' || return
	verify
	fold folded.txt --symbols
	text sideband ns --ns --show-task-events --show-mmap-events
}

case_pid_reuse() {
	shows='two processes, one after the other, with the same id'
	record 'unshare --pid --fork --mount-proc perf record -q -F 499 -g -- family reuse 25' || return
	verify
	fold folded.txt --symbols
}

case_container() {
	shows='the whole system as seen from a pid namespace: processes outside have pid 0 or -1'
	record 'unshare --pid --fork --mount-proc perf record -q -a -F 99 -g -- chain 60 1' || return
	verify
	fold folded-nosym.txt
	text cpu us
}

case_sampled_switch() {
	shows='a sampled tracepoint: -F makes sched_switch one in many, its period says how many'
	record "$alone $on_cpu_1 perf record -q --buildid-all -F 99 -g -e sched:sched_switch -- sleeper 20; kill \$filler" || return
	verify
	fold folded.txt --symbols
}

case_clock_mono() {
	shows='-k CLOCK_MONOTONIC: CLOCKID and CLOCK_DATA give exact Unix time'
	record 'perf record -q -k CLOCK_MONOTONIC -F 199 -g -- chain 40 1' || return
	verify
	fold folded.txt --symbols
}

case_clock_realtime() {
	shows='-k CLOCK_REALTIME'
	record 'perf record -q -k CLOCK_REALTIME -e cpu-clock -F 199 -g -- chain 40 1' || return
	verify
	fold folded.txt --symbols
}

case_bpf() {
	shows='KSYMBOL and BPF_EVENT records of programs that come and go'
	record "$alone perf record -q -C 1 --synth=no -F 99 -g -- $on_cpu_1 bpfload 3; kill \$filler" || return
	verify
	fold folded-nosym.txt
}

case_jit_map() {
	shows='code in anonymous memory, named in /tmp/perf-PID.map'
	record 'perf record -q --buildid-all -F 199 -g -- jit map 40' || return
	verify
	fold folded-nosym.txt
	fold folded.txt --symbols
	perl_fold folded-perl-jit.txt --jit
	pid=$(perf script -i perf.data -F pid 2>/dev/null | awk 'NF { print $1; exit }')
	mkdir -p "$out/$case_name/symfs/tmp"
	mv "/tmp/perf-$pid.map" "$out/$case_name/symfs/tmp/"
}

case_jit_dump() {
	shows='code named by a jitdump file, the first function replaced by a third at the same address'
	record 'perf record -q --buildid-all -k CLOCK_MONOTONIC -F 199 -g -- jit dump 40' || return
	verify
	fold folded-nosym.txt
	# perf names them only after it has turned the dump into ELF files
	perf inject --jit -i perf.data -o injected.data 2>/dev/null
	python3 "$expect" fold injected.data --symbols >"$out/$case_name/folded.txt"
	python3 "$expect" cache "$out/$case_name/perf.data" "$out/$case_name/buildid"
	mkdir -p "$out/$case_name/symfs$lab/run"
	mv jit-*.dump "$out/$case_name/symfs$lab/run/"
	echo 'folded.txt --symfs @/symfs --buildid-dir @/buildid' >>"$out/$case_name/folds"
}

case_jit_none() {
	shows='code in anonymous memory that nobody named'
	record 'perf record -q --buildid-all -F 199 -g -- jit none 40' || return
	verify
	fold folded.txt --symbols
}

case_deleted() {
	shows='a binary that was deleted while it ran'
	record 'cp $lab/chain gone; ./gone 3000 & program=$!; sleep 0.1; rm gone; perf record -q -p $program -F 199 -g -- sleep 0.1; kill $program' || return
	verify
	fold folded-nosym.txt
	fold folded.txt --symbols
	perl_fold folded-perl.txt
}

case_names() {
	shows='odd command names and C++ symbols'
	record 'perf record -q -F 997 -g -- names 4' || return
	verify
	fold folded.txt --symbols
	perl_fold folded-perl.txt
	perl_fold folded-perl-all-pid.txt --all --pid
	text plain us
	without '^new_line;' 'line;'
	text ids ns --ns -F comm,pid,tid,time,period,event,ip,sym,dso
	without '^new_line;' 'line;'
}

case_memory_management() {
	shows='huge_memory, compaction, migrate, vmscan and exceptions tracepoints of MADV_COLLAPSE and compaction'
	record 'perf record -q -m 512 -c 1 -e huge_memory:* -e compaction:mm_compaction_begin -e compaction:mm_compaction_end -e compaction:mm_compaction_try_to_compact_pages -e migrate:mm_migrate_pages --filter "succeeded > 31" -e vmscan:mm_vmscan_direct* -e exceptions:page_fault_user -- pages both 1' || return
	verify
	fold folded-nosym.txt --event exceptions:page_fault_user
	text trace us
	without ';.* ' ' ' # of a tracepoint hit without call chain it shows no address
}

case_stat() {
	shows='perf stat record: counters only, no samples'
	record 'perf stat record -e task-clock,page-faults -o perf.data -- chain 20' || return
}
