-- schema.sql - the only place with CREATE. The schema is an interface; its version is
-- user_version (TL_SCHEMA_VERSION in store.c), its owner application_id.
--
-- In every table: ts and dur are integer nanoseconds, ts on the case's common clock, which is Unix
-- time; NULL means "not known"; <table>_id is the key. Add source.clock_* to learn how a ts was
-- made, ts - clock_offset_ns (clock_slope 1) is the time that the source itself wrote.
--
-- Facts are written by imports and upgraded between versions. Derived tables, indexes and views
-- are made anew from the facts whenever that is needed.

-- ==== TABLES

-- Facts: text that is met again and again, once.
CREATE TABLE string (
	string_id INTEGER PRIMARY KEY,
	text ANY NOT NULL UNIQUE -- TEXT, or BLOB where the recorded bytes are not valid UTF-8
) STRICT;

-- Facts: a machine that recordings come from.
CREATE TABLE host (
	host_id INTEGER PRIMARY KEY,
	name TEXT, -- hostname; NULL: no source of it says
	boot_id TEXT, -- of /proc/sys/kernel/random; NULL: no source of it says
	os_release TEXT, -- as uname -r says
	arch TEXT, -- as uname -m says
	cpu_description TEXT,
	cpu_count INTEGER, -- online when recorded
	memory_bytes INTEGER
) STRICT;

-- Facts: one imported recording.
CREATE TABLE source (
	source_id INTEGER PRIMARY KEY,
	host_id INTEGER NOT NULL REFERENCES host,
	path TEXT NOT NULL, -- as given to import
	importer TEXT NOT NULL, -- "perf", "perf-script", ...
	size_bytes INTEGER NOT NULL, -- of the file as it lay on disk
	fingerprint INTEGER, -- of size and parts of the content; equal for equal files
	modified_ns INTEGER, -- file date, Unix ns
	record_count INTEGER NOT NULL, -- records read
	damaged_count INTEGER NOT NULL, -- records that made no sense
	sample_count INTEGER NOT NULL, -- samples and tracepoint hits taken in
	first_ts INTEGER, -- ns, Unix, of the earliest event with a time
	last_ts INTEGER, -- ns, Unix, of the latest one
	untimed_count INTEGER NOT NULL, -- samples that have no time
	disorder_count INTEGER NOT NULL, -- samples written after a later one; a fact, no error
	clock_name TEXT, -- the source's own clock: "monotonic", "sched_clock", ...
	clock_method TEXT NOT NULL, -- exact, anchored, matched, told, assumed: of the clock_claim in force
	clock_offset_ns INTEGER NOT NULL, -- ts = slope * source time + offset
	clock_slope REAL NOT NULL, -- 1 unless fitted; dur is left as the source measured it
	clock_residual_ns INTEGER, -- uncertainty of a ts, against the reference or Unix time; NULL unknown
	clock_reference_id INTEGER REFERENCES source, -- the source whose clock was the measure; NULL: Unix time
	clock_match_count INTEGER, -- matched: happenings that both saw
	clock_rival_ratio REAL, -- matched: how many of them the second best offset would explain, as a share
	clock_why TEXT, -- what the mapping rests on
	clock_trouble TEXT, -- why it could not be matched to other sources; NULL: it was, or need not be
	is_complete INTEGER NOT NULL, -- 0: only the sums per stack were kept, no row per sample
	rank INTEGER, -- of a distributed job; NULL: not one, or not said
	world_size INTEGER, -- ranks of the job
	is_settled INTEGER NOT NULL DEFAULT 0 -- 0: the import stopped before clocks, threads and steps were derived
) STRICT;

-- Facts: the ways in which the clock of a source could be mapped; the surest is in force. One row per
-- source, method and is_set.
CREATE TABLE clock_claim (
	source_id INTEGER NOT NULL REFERENCES source,
	method TEXT NOT NULL, -- exact, anchored, matched, told, assumed
	is_set INTEGER NOT NULL, -- 1: a person said so; before all others
	offset_ns INTEGER NOT NULL,
	slope REAL NOT NULL,
	residual_ns INTEGER, -- NULL unknown
	reference_id INTEGER REFERENCES source, -- residual_ns is against its clock; NULL: against Unix time
	match_count INTEGER, -- matched: happenings that both saw
	rival_ratio REAL, -- matched: matches of the second best offset to those of the best
	why TEXT -- what it rests on
) STRICT;

-- Facts: what a clock of a machine showed at a moment of wall time. Of the sources of that host, those
-- that use the clock are mapped by it (method anchored).
CREATE TABLE clock_anchor (
	source_id INTEGER NOT NULL REFERENCES source,
	clock TEXT NOT NULL, -- as source.clock_name
	realtime_ns INTEGER NOT NULL, -- the wall clock of the machine, as it stood: not moved when source_id is mapped anew
	value_ns INTEGER NOT NULL,
	width_ns INTEGER NOT NULL -- between the two readings of the wall clock; realtime_ns is their middle
) STRICT;

-- Facts: what else the recording says of itself (command line, recorder version, ...).
CREATE TABLE source_meta (
	source_id INTEGER NOT NULL REFERENCES source,
	key TEXT NOT NULL,
	value ANY -- TEXT, or BLOB where the bytes are not valid UTF-8
) STRICT;

-- Facts: what was lost, damaged, cut off, not supported, skipped or worth a note.
CREATE TABLE lost (
	lost_id INTEGER PRIMARY KEY,
	source_id INTEGER NOT NULL REFERENCES source,
	kind TEXT NOT NULL, -- lost, damaged, truncated, unsupported, skipped, note
	what TEXT NOT NULL, -- the same words for the same thing
	count INTEGER NOT NULL, -- in `unit`s, over the whole source
	unit TEXT, -- records, bytes, samples, lines, ...
	position_kind TEXT, -- byte or line
	position INTEGER, -- of the first one: byte from 0, line from 1
	message TEXT -- one line for a person
) STRICT;

-- Facts: when the recorder lost records or was throttled.
CREATE TABLE gap (
	gap_id INTEGER PRIMARY KEY,
	source_id INTEGER NOT NULL REFERENCES source,
	ts INTEGER,
	cpu INTEGER,
	kind TEXT NOT NULL, -- lost, lost_samples, throttle, unthrottle
	event_id INTEGER REFERENCES event,
	count INTEGER -- records lost; NULL for throttling
) STRICT;

-- Derived from thread_life: a process (thread group), one row per lifetime: pids are used again.
CREATE TABLE process (
	process_id INTEGER PRIMARY KEY,
	host_id INTEGER NOT NULL REFERENCES host,
	pid INTEGER, -- in the recorder's pid namespace; NULL: only the tid is known
	inner_pid INTEGER, -- in its own pid namespace (container), where known
	parent_process_id INTEGER REFERENCES process,
	start_ts INTEGER, -- NULL: began before the recording
	end_ts INTEGER -- NULL: ended after it, or nobody saw it
) STRICT;

-- Derived from thread_life: an operating-system thread, one row per lifetime, whichever sources saw
-- it.
CREATE TABLE thread (
	thread_id INTEGER PRIMARY KEY,
	process_id INTEGER NOT NULL REFERENCES process,
	tid INTEGER NOT NULL,
	name_id INTEGER REFERENCES string, -- its last name (comm)
	start_ts INTEGER, -- NULL: began before the recording
	end_ts INTEGER
) STRICT;

-- Facts: what one source tells of a thread and of its process. One row per source and thread.
CREATE TABLE thread_life (
	source_id INTEGER NOT NULL REFERENCES source,
	thread_id INTEGER NOT NULL REFERENCES thread,
	process_id INTEGER NOT NULL REFERENCES process,
	parent_process_id INTEGER REFERENCES process,
	tid INTEGER NOT NULL,
	pid INTEGER, -- as in process
	inner_pid INTEGER,
	name_id INTEGER REFERENCES string, -- its last name there
	start_ts INTEGER, -- NULL: began before that recording
	end_ts INTEGER,
	process_start_ts INTEGER,
	process_end_ts INTEGER,
	next_thread_id INTEGER -- while threads are joined: the thread that it turned out to be; else NULL
) STRICT;
-- There from the start: joining threads asks for them in every case, and lives are few.
CREATE INDEX thread_life_by_thread ON thread_life(thread_id);
CREATE INDEX thread_life_by_process ON thread_life(process_id);

-- Facts: the names that a thread has had, as each source tells.
CREATE TABLE thread_name (
	source_id INTEGER NOT NULL REFERENCES source,
	thread_id INTEGER NOT NULL REFERENCES thread,
	ts INTEGER, -- from when on; NULL: from before the recording
	name_id INTEGER NOT NULL REFERENCES string,
	is_exec INTEGER NOT NULL -- 1: another program was executed
) STRICT;

-- Facts: control groups.
CREATE TABLE cgroup (
	cgroup_id INTEGER PRIMARY KEY,
	source_id INTEGER NOT NULL REFERENCES source,
	kernel_id INTEGER NOT NULL, -- the kernel's number, as two's complement
	path TEXT -- NULL: the recording does not say
) STRICT;

-- Facts: a binary, or another origin of code, of one source.
CREATE TABLE dso (
	dso_id INTEGER PRIMARY KEY,
	source_id INTEGER NOT NULL REFERENCES source,
	kind TEXT NOT NULL, -- file, kernel, module, vdso, perf_map, jitdump, named, unknown
	name_id INTEGER NOT NULL REFERENCES string, -- as perf names it: path, [kernel.kallsyms], ...
	build_id TEXT, -- hexadecimal
	symbol_status TEXT, -- ok, or why its addresses have no names
	symbol_file TEXT, -- where the names came from
	symbol_reason TEXT, -- one line for a person
	load_address INTEGER -- modules: frame.address plus this is the instruction pointer; two's complement
) STRICT;

-- Facts: a function.
CREATE TABLE symbol (
	symbol_id INTEGER PRIMARY KEY,
	dso_id INTEGER REFERENCES dso, -- NULL: the source names the function, but no file
	name_id INTEGER NOT NULL REFERENCES string, -- demangled
	linkage_name_id INTEGER REFERENCES string, -- as in the file, where it differs
	start INTEGER, -- same unit as frame.address, two's complement
	size INTEGER -- bytes
) STRICT;

-- Facts: a code address, as it stands in call chains.
CREATE TABLE frame (
	frame_id INTEGER PRIMARY KEY,
	dso_id INTEGER REFERENCES dso, -- NULL: nothing was mapped there
	symbol_id INTEGER REFERENCES symbol, -- NULL: no name
	address INTEGER, -- offset in the file, or the instruction pointer for kernel text, JIT and unknown; two's complement
	context TEXT NOT NULL, -- user, kernel, hypervisor, guest_kernel, guest_user, unknown
	line_id INTEGER REFERENCES string -- file:line, where the source itself gave it
) STRICT;

-- Facts: functions that the compiler inlined at a frame's address.
CREATE TABLE frame_inline (
	frame_id INTEGER NOT NULL REFERENCES frame,
	depth INTEGER NOT NULL, -- 0 is the innermost; the frame's own symbol is outside all of them
	name_id INTEGER NOT NULL REFERENCES string,
	call_file TEXT, -- where it was inlined into the next outer one
	call_line INTEGER
) STRICT;

-- Facts: call chains as a prefix tree from the outermost frame.
CREATE TABLE stack (
	stack_id INTEGER PRIMARY KEY,
	parent_id INTEGER REFERENCES stack, -- the caller's; NULL for the outermost frame
	frame_id INTEGER NOT NULL REFERENCES frame,
	depth INTEGER NOT NULL -- 1 for the outermost frame
) STRICT;

-- Facts: a kind of sample: cpu-clock, sched:sched_switch, ...
CREATE TABLE event (
	event_id INTEGER PRIMARY KEY,
	source_id INTEGER NOT NULL REFERENCES source,
	position INTEGER NOT NULL, -- order in the source, from 0
	name TEXT NOT NULL,
	type INTEGER, -- perf_event_attr.type
	config INTEGER, -- perf_event_attr.config, two's complement
	fixed_period INTEGER, -- one sample per so many events; NULL: by frequency, or unknown
	frequency_hz INTEGER, -- samples a second asked for; NULL: by period
	unit TEXT, -- of a period: ns, events; NULL unknown
	is_tracepoint INTEGER NOT NULL,
	is_hidden INTEGER NOT NULL, -- carries only side-band records (dummy)
	has_callchain INTEGER NOT NULL, -- 1: its samples carry call chains, though some may be empty
	first_ts INTEGER, -- ns, Unix, of its earliest sample; NULL: none, or none with a time
	is_sampled INTEGER NOT NULL, -- a tracepoint of which only one in `period` was recorded
	sample_count INTEGER NOT NULL,
	period_sum INTEGER NOT NULL,
	detail TEXT -- JSON: what else is known
) STRICT;

-- Facts: the fields of tracepoint hits; equal ones are shared.
CREATE TABLE payload (
	payload_id INTEGER PRIMARY KEY,
	event_id INTEGER NOT NULL REFERENCES event,
	fields TEXT NOT NULL -- JSON object; NAME_name holds the word for an enumerated or flags field
) STRICT;

-- Facts: one sample or one tracepoint hit.
CREATE TABLE sample (
	sample_id INTEGER PRIMARY KEY,
	ts INTEGER, -- NULL: recorded without time
	event_id INTEGER NOT NULL REFERENCES event,
	thread_id INTEGER REFERENCES thread,
	name_id INTEGER REFERENCES string, -- the thread's name at that moment
	cpu INTEGER,
	period INTEGER NOT NULL, -- weight, in event.unit
	stack_id INTEGER REFERENCES stack, -- NULL: neither call chain nor address
	payload_id INTEGER REFERENCES payload,
	recorded_pid INTEGER, -- where the record's own ids are not those of the thread:
	recorded_tid INTEGER, -- -1 for a thread that is exiting
	cgroup_id INTEGER REFERENCES cgroup,
	extra_id INTEGER REFERENCES sample_extra
) STRICT;

-- Facts: what few samples carry.
CREATE TABLE sample_extra (
	extra_id INTEGER PRIMARY KEY,
	address INTEGER, -- data address, two's complement
	physical_address INTEGER,
	data_source INTEGER, -- bits of PERF_MEM_*
	weight INTEGER, -- cost of the access, or the hardware's weight word
	transaction_flags INTEGER, -- bits of PERF_TXN_*
	data_page_size INTEGER, -- bytes
	code_page_size INTEGER -- bytes
) STRICT;

-- Facts: sums of all samples per event, thread, name and stack: whole-case questions read these
-- few rows instead of `sample`.
CREATE TABLE stack_sum (
	sum_id INTEGER PRIMARY KEY,
	event_id INTEGER NOT NULL REFERENCES event,
	thread_id INTEGER REFERENCES thread,
	name_id INTEGER REFERENCES string,
	stack_id INTEGER REFERENCES stack,
	recorded_pid INTEGER, -- as in sample
	recorded_tid INTEGER,
	cgroup_id INTEGER REFERENCES cgroup,
	sample_count INTEGER NOT NULL,
	period_sum INTEGER NOT NULL -- in event.unit
) STRICT;

-- The samples that have a time once more, by column: questions about times read these few bytes a
-- sample and no row of it. Bytes: sample_blocks.c.
CREATE TABLE sample_block (
	source_id INTEGER NOT NULL REFERENCES source,
	sample_count INTEGER NOT NULL,
	base_ts INTEGER NOT NULL, -- of the first sample in the block
	first_ts INTEGER NOT NULL, -- earliest
	last_ts INTEGER NOT NULL, -- latest
	samples BLOB NOT NULL -- times, sums (stack_sum.sum_id) and periods
) STRICT;

-- Facts: a CPU left one thread for another.
CREATE TABLE sched_switch (
	source_id INTEGER NOT NULL REFERENCES source,
	ts INTEGER NOT NULL,
	cpu INTEGER,
	prev_thread_id INTEGER REFERENCES thread, -- NULL: the record tells only of next
	prev_state INTEGER, -- 0 unknown, 1 runnable, 2 sleeping, 3 uninterruptible, 4 stopped, 5 exiting, 6 parked, 7 idle
	next_thread_id INTEGER REFERENCES thread, -- NULL: the record tells only of prev
	prev_name_id INTEGER REFERENCES string, -- prev's name at that moment
	stack_id INTEGER REFERENCES stack, -- where prev left
	told_by INTEGER NOT NULL -- 0 a tracepoint; a context switch record: 1 of the thread that left, 2 of the one that came: these tell again, some microseconds later, what the others told
) STRICT;

-- Facts: a thread was made runnable by another.
CREATE TABLE sched_wakeup (
	source_id INTEGER NOT NULL REFERENCES source,
	ts INTEGER NOT NULL,
	cpu INTEGER, -- where the waker ran
	waker_thread_id INTEGER REFERENCES thread, -- NULL unknown
	wakee_thread_id INTEGER NOT NULL REFERENCES thread,
	target_cpu INTEGER,
	is_waking INTEGER NOT NULL, -- 1: sched_waking (the waker's own doing), 0: sched_wakeup
	waker_name_id INTEGER REFERENCES string,
	stack_id INTEGER REFERENCES stack -- of the waker
) STRICT;

-- Facts: a system call, or a traced library call, of one thread.
CREATE TABLE syscall (
	syscall_id INTEGER PRIMARY KEY,
	source_id INTEGER NOT NULL REFERENCES source,
	thread_id INTEGER REFERENCES thread, -- NULL: the log names none (strace -p without -f)
	ts INTEGER, -- its begin; NULL: the log has no times
	dur INTEGER, -- NULL: not known, or it never returned
	name_id INTEGER NOT NULL REFERENCES string,
	kind INTEGER NOT NULL, -- 0 system call, 1 library call
	timing INTEGER NOT NULL, -- 0 measured by the tracer, 1 derived from its two lines, 2 not known
	outcome INTEGER NOT NULL, -- 0 returned, 1 restarted, 2 no_return, 3 killed, 4 open, 5 detached, 6 unavailable, 7 lost
	result INTEGER, -- two's complement
	error_id INTEGER REFERENCES string, -- ENOENT, ERESTARTSYS, ...
	operation_id INTEGER REFERENCES string, -- futex operation, ioctl request, ...
	fd INTEGER, -- first argument, where it is a file descriptor
	path_id INTEGER REFERENCES string, -- path of the fd or of the path argument
	timeout_ns INTEGER, -- the wait asked for; 9223372036854775807: without limit
	stack_id INTEGER REFERENCES stack,
	args_length INTEGER, -- bytes of the arguments in the log; more than length(args): cut
	line INTEGER, -- where it begins: line from 1, or file position
	args ANY -- as printed, TEXT or BLOB as in string; NULL: not kept
) STRICT;

-- Kept up to date by the inserts: few calls are without an end, so that this costs less than going
-- through all of them afterwards.
CREATE INDEX IF NOT EXISTS syscall_without_end ON syscall(outcome) WHERE outcome > 1;

-- Derived from syscall: the same calls by column, some thousand of one thread, name and operation in
-- a row, for questions about millions of them. Bytes: call_blocks.c.
CREATE TABLE call_block (
	source_id INTEGER NOT NULL REFERENCES source,
	thread_id INTEGER REFERENCES thread,
	name_id INTEGER NOT NULL REFERENCES string,
	operation_id INTEGER REFERENCES string,
	kind INTEGER NOT NULL, -- as in syscall
	timing INTEGER NOT NULL, -- as in syscall; 2: the durations are not known
	is_wait INTEGER NOT NULL, -- 1: calls that wait for others, for a time, or for what comes from outside
	call_count INTEGER NOT NULL,
	dur_sum INTEGER NOT NULL, -- ns
	base_ts INTEGER, -- begin of the first call in the block; NULL: no times
	first_ts INTEGER, -- earliest begin
	last_ts INTEGER, -- latest begin
	calls BLOB NOT NULL -- duration, flags and begin of each
) STRICT;

-- Derived from syscall: between which times some thousand calls in a row ended. Recordings tell of
-- calls in the order in which they end, so that these few rows do the work of an index.
CREATE TABLE syscall_zone (
	source_id INTEGER NOT NULL REFERENCES source,
	first_id INTEGER NOT NULL, -- syscall.syscall_id
	last_id INTEGER NOT NULL,
	first_end_ts INTEGER NOT NULL, -- the earliest ts + dur of them
	last_end_ts INTEGER NOT NULL -- the latest
) STRICT;

-- Derived from syscall: sums per thread, call and stack, of calls that have stacks.
CREATE TABLE call_stack_sum (
	source_id INTEGER NOT NULL REFERENCES source,
	thread_id INTEGER REFERENCES thread,
	name_id INTEGER NOT NULL REFERENCES string,
	stack_id INTEGER NOT NULL REFERENCES stack,
	call_count INTEGER NOT NULL,
	dur_sum INTEGER NOT NULL -- ns
) STRICT;

-- Facts: calls of a thread of which the source knows only how many there were and what they took, over
-- the whole recording.
CREATE TABLE call_summary (
	source_id INTEGER NOT NULL REFERENCES source,
	thread_id INTEGER REFERENCES thread, -- NULL: not said
	name_id INTEGER NOT NULL REFERENCES string,
	kind INTEGER NOT NULL, -- as in syscall
	call_count INTEGER NOT NULL,
	dur_sum INTEGER NOT NULL, -- ns
	dur_min INTEGER, -- ns
	dur_max INTEGER -- ns
) STRICT;

-- Facts: a row of a profiler's timeline: a thread, a device stream, counters, a layer.
CREATE TABLE track (
	track_id INTEGER PRIMARY KEY,
	source_id INTEGER NOT NULL REFERENCES source,
	kind TEXT NOT NULL, -- thread, device, counter, other, async (slices begun here and ended there)
	thread_id INTEGER REFERENCES thread, -- kind thread
	name TEXT, -- as the trace says
	process TEXT, -- name of the process or layer it belongs to
	key_pid TEXT, -- as the trace wrote them
	key_tid TEXT,
	device INTEGER,
	stream INTEGER
) STRICT;

-- Facts: something that took a while, or happened, on a track.
CREATE TABLE slice (
	slice_id INTEGER PRIMARY KEY,
	track_id INTEGER NOT NULL REFERENCES track,
	ts INTEGER, -- NULL: the trace gives no usable time
	dur INTEGER, -- NULL: never ended, not given, or an instant
	name_id INTEGER NOT NULL REFERENCES string,
	category_id INTEGER REFERENCES string,
	class INTEGER NOT NULL, -- 0 other, 1 operator, 2 annotation, 3 runtime, 4 kernel, 5 communication, 6 memory_copy, 7 device_annotation, 8 sync, 9 python, 10 os_call, 11 overlap, 12 overhead, 13 garbage_collection
	flags INTEGER NOT NULL, -- 1 instant, 2 suspect (out of statistics)
	correlation INTEGER, -- the same for a launch and the device work it started; two's complement
	external_id INTEGER, -- the same for an operator and its device work; on an async track, for slices that nest
	bytes INTEGER, -- moved or reduced
	step INTEGER, -- N of ProfilerStep#N
	stream INTEGER, -- of a launch or of device work
	args TEXT -- JSON object; NULL: none, or not kept
) STRICT;

-- Facts: ends of arrows; equal (source of the track, category_id, id) belong together.
CREATE TABLE flow (
	flow_id INTEGER PRIMARY KEY,
	track_id INTEGER NOT NULL REFERENCES track,
	ts INTEGER,
	phase INTEGER NOT NULL, -- 0 begin, 1 step, 2 end
	id INTEGER NOT NULL, -- two's complement, or a hash where the trace has text
	category_id INTEGER REFERENCES string
) STRICT;

-- Facts: a value over time, in force until the next one of the same track and name. A unit that ends in
-- "since boot" is of one that only ever grows; counter_rate_view has what it grew by per second.
CREATE TABLE counter (
	track_id INTEGER NOT NULL REFERENCES track,
	ts INTEGER NOT NULL,
	name_id INTEGER NOT NULL REFERENCES string,
	value REAL NOT NULL,
	unit_id INTEGER REFERENCES string
) STRICT;

-- Facts: training steps that a log or a table names as such (a profiler's own are slices).
CREATE TABLE step_mark (
	source_id INTEGER NOT NULL REFERENCES source,
	number INTEGER NOT NULL,
	rank INTEGER, -- NULL unknown
	ts INTEGER, -- its begin; NULL: the source gives durations only
	dur INTEGER, -- of all its steps; NULL: only the begin is known
	step_count INTEGER NOT NULL DEFAULT 1, -- steps that it stands for, number is that of the last: a log need not have a line for each
	detail TEXT -- JSON object: loss, tokens, ...; computing_ns, communication_ns, exposed_ns, free_ns, stage_ns, preparing_ns: how the source itself splits the step
) STRICT;

-- Facts: lines of a log.
CREATE TABLE log (
	log_id INTEGER PRIMARY KEY,
	source_id INTEGER NOT NULL REFERENCES source,
	ts INTEGER,
	level_id INTEGER REFERENCES string,
	text ANY NOT NULL, -- TEXT, or BLOB where the bytes are not valid UTF-8
	line INTEGER
) STRICT;

-- Derived from slices and step_mark: training steps, and what is said of them.
CREATE TABLE step (
	step_id INTEGER PRIMARY KEY,
	series INTEGER NOT NULL, -- one rank, of one source or of several that go on with its steps: they follow each other
	source_id INTEGER NOT NULL REFERENCES source,
	rank INTEGER,
	thread_id INTEGER REFERENCES thread, -- that carries the step; NULL: from a log
	position INTEGER NOT NULL, -- in its series, from 0
	number INTEGER, -- as the source counts; of the last of its steps
	ts INTEGER,
	dur INTEGER NOT NULL, -- of all its steps
	step_count INTEGER NOT NULL DEFAULT 1, -- steps that the row stands for: number - step_count + 1 to number
	phase_id INTEGER REFERENCES phase,
	class TEXT -- slow, good, apart, spike, other: what --steps slow and --steps good mean
) STRICT;

-- Derived: stretches of steps of one kind.
CREATE TABLE phase (
	phase_id INTEGER PRIMARY KEY,
	series INTEGER NOT NULL,
	kind TEXT NOT NULL, -- warm-up, baseline, periodic, spike, regression, recovery, shift, drift, ...
	first_position INTEGER NOT NULL,
	last_position INTEGER NOT NULL,
	median_ns REAL NOT NULL,
	change_ratio REAL, -- median against the baseline, minus 1
	excess_ns REAL -- sum over its steps of what is above the baseline
) STRICT;

-- Derived: what happened to the step times, with its certainty and cost.
CREATE TABLE episode (
	episode_id INTEGER PRIMARY KEY,
	series INTEGER NOT NULL,
	kind TEXT NOT NULL, -- transient, shift, ongoing, improvement, drift, spike, periodic
	first_position INTEGER NOT NULL,
	last_position INTEGER NOT NULL,
	confidence TEXT, -- high, medium, low
	detail TEXT NOT NULL -- JSON: effect, CI, tests, cost, recovery (see the steps command)
) STRICT;

-- Derived from sched_switch and sched_wakeup: what a thread was doing, without overlap (but for
-- the idle thread, tid 0, which runs on every CPU at once).
CREATE TABLE thread_state (
	thread_id INTEGER NOT NULL REFERENCES thread,
	ts INTEGER NOT NULL,
	dur INTEGER, -- NULL: still so when the recording ended, or its end was lost
	state TEXT NOT NULL, -- running, runnable, sleeping, uninterruptible, stopped, exited, parked, idle, blocked (off the CPU, why is not known)
	cpu INTEGER, -- running: where; runnable: where it was preempted or woken
	name_id INTEGER REFERENCES string, -- the thread's name
	stack_id INTEGER REFERENCES stack, -- off the CPU: where it left
	waker_thread_id INTEGER REFERENCES thread, -- who ended the sleep, or made it runnable
	waker_name_id INTEGER REFERENCES string,
	waker_stack_id INTEGER REFERENCES stack,
	source_id INTEGER NOT NULL REFERENCES source
) STRICT;

-- Derived from tracepoints (compaction, vmscan, huge_memory): what memory management did. Who did
-- it for itself is the thread: direct compaction and reclaim are those of threads of programs.
CREATE TABLE mm_activity (
	thread_id INTEGER NOT NULL REFERENCES thread, -- who did it
	ts INTEGER NOT NULL, -- its begin; where that was not recorded, the moment that was
	dur INTEGER, -- NULL: its begin or end was not recorded, or only a moment is told (scan)
	kind TEXT NOT NULL, -- compaction, kcompactd (compaction by that daemon), direct_reclaim, kswapd, collapse (of small pages to a huge one), scan (by khugepaged)
	cpu INTEGER,
	page_order INTEGER, -- 2^order pages were wanted at once; NULL: not told
	status TEXT, -- as the kernel calls it: succeeded, complete, ...; memcg: direct_reclaim for the limit of a control group, not of the machine; NULL: not told
	pages INTEGER, -- direct_reclaim: pages that were reclaimed
	source_id INTEGER NOT NULL REFERENCES source
) STRICT;

-- ==== INDEXES

CREATE INDEX IF NOT EXISTS sample_by_ts ON sample(ts);
CREATE INDEX IF NOT EXISTS thread_state_by_thread ON thread_state(thread_id, ts);
CREATE INDEX IF NOT EXISTS thread_state_by_cpu ON thread_state(cpu, ts) WHERE state = 'running';
CREATE INDEX IF NOT EXISTS mm_activity_by_kind ON mm_activity(kind, ts);
-- holds all that the walk along a track asks for
CREATE INDEX IF NOT EXISTS slice_timeline ON slice(track_id, ts, dur, class, flags, correlation);
CREATE INDEX IF NOT EXISTS slice_by_step ON slice(step) WHERE step IS NOT NULL;
CREATE INDEX IF NOT EXISTS thread_by_tid ON thread(tid);

-- ==== VIEWS
-- One per table, ids joined to text, for people with a shell. Times stay in ns.

CREATE VIEW source_view AS
SELECT s.source_id, h.name AS host, s.path, s.importer, s.size_bytes, s.record_count,
	s.sample_count, s.first_ts, s.last_ts, s.last_ts - s.first_ts AS span_ns, s.clock_name,
	s.clock_method, s.clock_offset_ns, s.clock_slope, s.clock_residual_ns, r.path AS clock_reference,
	s.clock_match_count, s.clock_rival_ratio, s.clock_why, s.clock_trouble
FROM source s JOIN host h USING (host_id) LEFT JOIN source r ON r.source_id = s.clock_reference_id;

CREATE VIEW lost_view AS
SELECT s.path, l.kind, l.what, l.count, l.unit, l.position_kind, l.position, l.message
FROM lost l JOIN source s USING (source_id);

CREATE VIEW gap_view AS
SELECT g.ts, s.path, g.cpu, g.kind, e.name AS event, g.count
FROM gap g JOIN source s USING (source_id) LEFT JOIN event e USING (event_id);

CREATE VIEW process_view AS
SELECT p.process_id, h.name AS host, p.pid, p.inner_pid, q.pid AS parent_pid, p.start_ts, p.end_ts
FROM process p JOIN host h USING (host_id)
LEFT JOIN process q ON q.process_id = p.parent_process_id;

CREATE VIEW thread_view AS
SELECT t.thread_id, h.name AS host, p.pid, t.tid, n.text AS name, t.start_ts, t.end_ts
FROM thread t JOIN process p USING (process_id) JOIN host h USING (host_id)
LEFT JOIN string n ON n.string_id = t.name_id;

CREATE VIEW thread_name_view AS
SELECT x.thread_id, p.pid, t.tid, x.ts, n.text AS name, x.is_exec
FROM thread_name x JOIN thread t USING (thread_id) JOIN process p USING (process_id)
JOIN string n ON n.string_id = x.name_id;

CREATE VIEW dso_view AS
SELECT d.dso_id, s.path AS source, d.kind, n.text AS name, d.build_id, d.symbol_status,
	d.symbol_file, d.symbol_reason
FROM dso d JOIN source s USING (source_id) JOIN string n ON n.string_id = d.name_id;

CREATE VIEW symbol_view AS
SELECT y.symbol_id, d.text AS dso, n.text AS name, l.text AS linkage_name, y.start, y.size
FROM symbol y LEFT JOIN dso USING (dso_id) LEFT JOIN string d ON d.string_id = dso.name_id
JOIN string n ON n.string_id = y.name_id LEFT JOIN string l ON l.string_id = y.linkage_name_id;

CREATE VIEW frame_view AS
SELECT f.frame_id, d.text AS dso, n.text AS symbol, printf('%x', f.address) AS address, f.context,
	s.text AS source_line
FROM frame f LEFT JOIN dso ON dso.dso_id = f.dso_id LEFT JOIN string s ON s.string_id = f.line_id LEFT JOIN string d ON d.string_id = dso.name_id
LEFT JOIN symbol y USING (symbol_id) LEFT JOIN string n ON n.string_id = y.name_id;

-- One frame per row; follow parent_id from a sample's stack_id to walk out to the outermost one.
CREATE VIEW stack_view AS
SELECT k.stack_id, k.parent_id, k.depth, v.dso, v.symbol, v.address, v.context
FROM stack k JOIN frame_view v USING (frame_id);

CREATE VIEW event_view AS
SELECT e.event_id, s.path AS source, e.name, e.fixed_period, e.frequency_hz, e.unit,
	e.is_tracepoint, e.is_sampled, e.sample_count, e.period_sum
FROM event e JOIN source s USING (source_id) WHERE NOT e.is_hidden;

CREATE VIEW sample_view AS
SELECT a.sample_id, a.ts, e.name AS event, p.pid, t.tid, n.text AS name, a.cpu, a.period,
	a.stack_id, v.dso, v.symbol, y.fields, x.address, x.physical_address, x.data_source,
	x.weight, c.path AS cgroup
FROM sample a JOIN event e USING (event_id) LEFT JOIN thread t USING (thread_id)
LEFT JOIN process p USING (process_id) LEFT JOIN string n ON n.string_id = a.name_id
LEFT JOIN stack k USING (stack_id) LEFT JOIN frame_view v USING (frame_id)
LEFT JOIN payload y ON y.payload_id = a.payload_id
LEFT JOIN sample_extra x USING (extra_id) LEFT JOIN cgroup c USING (cgroup_id);

-- Tracepoint hits with their fields: json_extract(fields, '$.prev_pid').
CREATE VIEW tracepoint AS
SELECT a.sample_id AS tracepoint_id, a.ts, e.name AS event, a.thread_id, p.pid, t.tid,
	n.text AS name, a.cpu, a.period, a.stack_id, y.fields
FROM sample a JOIN event e USING (event_id) JOIN payload y USING (payload_id)
LEFT JOIN thread t USING (thread_id) LEFT JOIN process p USING (process_id)
LEFT JOIN string n ON n.string_id = a.name_id;

CREATE VIEW stack_sum_view AS
SELECT e.name AS event, p.pid, t.tid, n.text AS name, z.stack_id, v.dso, v.symbol,
	z.sample_count, z.period_sum
FROM stack_sum z JOIN event e USING (event_id) LEFT JOIN thread t USING (thread_id)
LEFT JOIN process p USING (process_id) LEFT JOIN string n ON n.string_id = z.name_id
LEFT JOIN stack k USING (stack_id) LEFT JOIN frame_view v USING (frame_id);

CREATE VIEW sched_switch_view AS
SELECT w.ts, w.cpu, p.tid AS prev_tid, n.text AS prev_name,
	CASE w.prev_state WHEN 1 THEN 'runnable' WHEN 2 THEN 'sleeping' WHEN 3 THEN 'uninterruptible'
	WHEN 4 THEN 'stopped' WHEN 5 THEN 'exiting' WHEN 6 THEN 'parked' WHEN 7 THEN 'idle' END
	AS prev_state, q.tid AS next_tid, m.text AS next_name, w.stack_id
FROM sched_switch w LEFT JOIN thread p ON p.thread_id = w.prev_thread_id
LEFT JOIN thread q ON q.thread_id = w.next_thread_id
LEFT JOIN string n ON n.string_id = w.prev_name_id
LEFT JOIN string m ON m.string_id = q.name_id;

CREATE VIEW sched_wakeup_view AS
SELECT w.ts, w.cpu, p.tid AS waker_tid, n.text AS waker_name, q.tid AS wakee_tid,
	m.text AS wakee_name, w.target_cpu, w.is_waking, w.stack_id
FROM sched_wakeup w LEFT JOIN thread p ON p.thread_id = w.waker_thread_id
JOIN thread q ON q.thread_id = w.wakee_thread_id
LEFT JOIN string n ON n.string_id = w.waker_name_id
LEFT JOIN string m ON m.string_id = q.name_id;

CREATE VIEW thread_state_view AS
SELECT z.ts, z.dur, p.pid, t.tid, n.text AS name, z.state, z.cpu, z.stack_id,
	w.tid AS waker_tid, m.text AS waker_name, z.waker_stack_id
FROM thread_state z JOIN thread t USING (thread_id) JOIN process p USING (process_id)
LEFT JOIN string n ON n.string_id = z.name_id
LEFT JOIN thread w ON w.thread_id = z.waker_thread_id
LEFT JOIN string m ON m.string_id = z.waker_name_id;

CREATE VIEW mm_activity_view AS
SELECT m.ts, m.dur, m.kind, p.pid, t.tid, n.text AS name, m.cpu, m.page_order, m.status, m.pages
FROM mm_activity m JOIN thread t USING (thread_id) JOIN process p USING (process_id)
LEFT JOIN string n ON n.string_id = t.name_id;

CREATE VIEW syscall_view AS
SELECT c.syscall_id, c.ts, c.dur, p.pid, t.tid, m.text AS thread_name, n.text AS name,
	CASE c.kind WHEN 0 THEN 'system' ELSE 'library' END AS kind,
	CASE c.timing WHEN 0 THEN 'measured' WHEN 1 THEN 'derived' ELSE 'untimed' END AS timing,
	CASE c.outcome WHEN 0 THEN 'returned' WHEN 1 THEN 'restarted' WHEN 2 THEN 'no_return'
	WHEN 3 THEN 'killed' WHEN 4 THEN 'open' WHEN 5 THEN 'detached' WHEN 6 THEN 'unavailable'
	ELSE 'lost' END AS outcome,
	c.result, e.text AS error, o.text AS operation, c.fd, f.text AS path, c.timeout_ns, c.args,
	c.args_length, c.stack_id, c.line
FROM syscall c JOIN string n ON n.string_id = c.name_id LEFT JOIN thread t USING (thread_id)
LEFT JOIN process p USING (process_id) LEFT JOIN string m ON m.string_id = t.name_id
LEFT JOIN string e ON e.string_id = c.error_id LEFT JOIN string o ON o.string_id = c.operation_id
LEFT JOIN string f ON f.string_id = c.path_id;

CREATE VIEW call_summary_view AS
SELECT s.path AS source, p.pid, t.tid, m.text AS thread_name, n.text AS name,
	CASE c.kind WHEN 0 THEN 'system' ELSE 'library' END AS kind, c.call_count, c.dur_sum,
	c.dur_sum / c.call_count AS dur_mean, c.dur_min, c.dur_max
FROM call_summary c JOIN source s USING (source_id) JOIN string n ON n.string_id = c.name_id
LEFT JOIN thread t USING (thread_id) LEFT JOIN process p USING (process_id)
LEFT JOIN string m ON m.string_id = t.name_id;

CREATE VIEW track_view AS
SELECT k.track_id, s.path AS source, s.rank, k.kind, k.name, k.process, p.pid, t.tid, k.device,
	k.stream, k.key_pid, k.key_tid
FROM track k JOIN source s USING (source_id) LEFT JOIN thread t USING (thread_id)
LEFT JOIN process p USING (process_id);

CREATE VIEW slice_view AS
SELECT a.slice_id, a.ts, a.dur, s.rank, k.kind AS track_kind, k.name AS track, k.process, p.pid, t.tid,
	n.text AS name, c.text AS category,
	CASE a.class WHEN 1 THEN 'operator' WHEN 2 THEN 'annotation' WHEN 3 THEN 'runtime'
	WHEN 4 THEN 'kernel' WHEN 5 THEN 'communication' WHEN 6 THEN 'memory_copy'
	WHEN 7 THEN 'device_annotation' WHEN 8 THEN 'sync' WHEN 9 THEN 'python' WHEN 10 THEN 'os_call'
	WHEN 11 THEN 'overlap' WHEN 12 THEN 'overhead' WHEN 13 THEN 'garbage_collection'
	ELSE 'other' END AS class,
	a.flags & 1 AS is_instant, a.flags & 2 != 0 AS is_suspect, a.correlation, a.external_id, a.bytes,
	a.step, a.stream, a.args
FROM slice a JOIN track k USING (track_id) JOIN source s USING (source_id)
JOIN string n ON n.string_id = a.name_id LEFT JOIN string c ON c.string_id = a.category_id
LEFT JOIN thread t USING (thread_id) LEFT JOIN process p USING (process_id);

CREATE VIEW flow_view AS
SELECT f.flow_id, f.ts, CASE f.phase WHEN 0 THEN 'begin' WHEN 1 THEN 'step' ELSE 'end' END AS phase,
	f.id, c.text AS category, k.name AS track, k.process
FROM flow f JOIN track k USING (track_id) LEFT JOIN string c ON c.string_id = f.category_id;

CREATE VIEW counter_view AS
SELECT c.ts, k.name AS track, k.process, n.text AS name, c.value, u.text AS unit
FROM counter c JOIN track k USING (track_id) JOIN string n ON n.string_id = c.name_id
LEFT JOIN string u ON u.string_id = c.unit_id;

-- What grew, per second, between two samples of a counter that only ever grows.
CREATE VIEW counter_rate_view AS
SELECT x.ts, x.dur, k.name AS track, k.process, n.text AS name,
	CASE WHEN x.grown >= 0 THEN x.grown * 1e9 / x.dur END AS per_second, -- NULL: it began anew
	replace(x.unit, ' since boot', '') AS unit
FROM (SELECT c.track_id, c.name_id, u.text AS unit, lag(c.ts) OVER w AS ts,
	c.ts - lag(c.ts) OVER w AS dur, c.value - lag(c.value) OVER w AS grown
	FROM counter c JOIN string u ON u.string_id = c.unit_id AND u.text LIKE '% since boot'
	WINDOW w AS (PARTITION BY c.track_id, c.name_id ORDER BY c.ts)) x
JOIN track k USING (track_id) JOIN string n ON n.string_id = x.name_id WHERE x.dur > 0;

CREATE VIEW clock_anchor_view AS
SELECT s.path AS source, h.name AS host, a.clock, a.realtime_ns, a.value_ns, a.width_ns
FROM clock_anchor a JOIN source s USING (source_id) JOIN host h USING (host_id);

CREATE VIEW step_view AS
SELECT e.step_id, s.path AS source, e.rank, e.number, e.step_count, e.ts, e.dur, p.kind AS phase, e.class
FROM step e JOIN source s USING (source_id) LEFT JOIN phase p USING (phase_id);

-- Steps that may be laid beside what other sources recorded: where some are of a clock that is known,
-- not those of clocks that are only assumed; they tell of the same steps again.
CREATE VIEW step_placed AS
SELECT e.* FROM step e JOIN source s USING (source_id) WHERE e.ts NOT NULL AND
	(s.clock_method != 'assumed' OR NOT EXISTS (SELECT 1 FROM step x JOIN source y USING (source_id)
	WHERE x.ts NOT NULL AND y.clock_method != 'assumed'));

CREATE VIEW step_mark_view AS
SELECT s.path AS source, m.rank, m.number, m.step_count, m.ts, m.dur, m.detail
FROM step_mark m JOIN source s USING (source_id);

CREATE VIEW log_view AS
SELECT l.ts, s.path AS source, n.text AS level, l.text, l.line
FROM log l JOIN source s USING (source_id) LEFT JOIN string n ON n.string_id = l.level_id;

CREATE VIEW phase_view AS
SELECT p.*, min(e.number - e.step_count + 1) AS first_number, max(e.number) AS last_number
FROM phase p LEFT JOIN step e USING (phase_id) GROUP BY p.phase_id;

CREATE VIEW episode_view AS SELECT * FROM episode;
