/*
 * analysis.h - the public interface of libtraceloom: errors, events and the sinks that take them,
 * importers, the timeline file (a "case"), and the questions that can be asked of it.
 *
 * Names no file format and no command. Everything an event points to is borrowed until emit
 * returns. Functions that can fail return TL_OK (0) or a negative status and fill `err`.
 */
#ifndef TL_ANALYSIS_H
#define TL_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TL_VERSION "0.1.0"

/* ---- errors ---------------------------------------------------------------------------- */

enum tl_status {
	TL_OK = 0,
	TL_NOMEM = -1,	     /* out of memory */
	TL_IO = -2,	     /* the system refused: open, read, write */
	TL_FORMAT = -3,	     /* the bytes are not what they claim to be */
	TL_UNSUPPORTED = -4, /* understood, but not handled; err says what would be */
	TL_STORE = -5,	     /* the timeline file: not ours, newer, locked, full */
	TL_USAGE = -6,	     /* the caller asked for something that makes no sense */
	TL_NOTHING = -7,     /* nothing to answer from: no such events, steps, threads */
	TL_STOPPED = -8,     /* the caller's progress function said stop */
};

enum tl_position { TL_POSITION_NONE, TL_POSITION_BYTE, TL_POSITION_LINE };

struct tl_error {
	int status;
	enum tl_position position_kind;
	uint64_t position; /* byte offset from 0, or line from 1 */
	char source[256];  /* the file, printable; "" if none */
	char text[512];	   /* lower case, no full stop, printable */
};

#define TL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Fill `err` (may be NULL) unless it already holds a failure; return `status`. */
int tl_fail(struct tl_error *err, int status, const char *fmt, ...) TL_PRINTF(3, 4);
int tl_fail_at(struct tl_error *err, int status, uint64_t byte, const char *fmt, ...)
	TL_PRINTF(4, 5);
int tl_fail_line(struct tl_error *err, int status, uint64_t line, const char *fmt, ...)
	TL_PRINTF(4, 5);
/* Names the file of a failure, once: later calls do not change it. */
void tl_error_source(struct tl_error *err, const char *source);
void tl_error_clear(struct tl_error *err);
/* "run.perf: byte 20480: record size 4 is smaller than its header" into `buf`; returns buf. */
char *tl_error_format(const struct tl_error *err, char *buf, size_t size);
/*
 * Copies `len` bytes of foreign text so that a terminal is safe: control bytes and invalid UTF-8
 * become '?'. Always terminates; returns the length written.
 */
size_t tl_printable(char *out, size_t out_size, const char *text, size_t len);
/* Bytes of the valid UTF-8 sequence (RFC 3629) at text, or 0. len > 0. */
size_t tl_utf8_length(const char *text, size_t len);

/* ---- events: what importers make of a file ----------------------------------------------- */

enum tl_event_kind {
	TL_EVENT_META,	       /* a fact about the recording: host, kernel, command line */
	TL_EVENT_CLOCK,	       /* how the source's time maps to Unix time */
	TL_EVENT_TYPE,	       /* a kind of sample that the source holds */
	TL_EVENT_DSO,	       /* the build-id of a binary, from a table of the file */
	TL_EVENT_DSO_SYMBOLS,  /* symbols of a binary, carried by the file itself */
	TL_EVENT_FORK,	       /* a process or thread began */
	TL_EVENT_EXIT,	       /* a thread ended */
	TL_EVENT_COMM,	       /* a thread was named, or a process executed another program */
	TL_EVENT_MMAP,	       /* memory was mapped */
	TL_EVENT_KSYMBOL,      /* kernel text came or went: BPF programs, trampolines */
	TL_EVENT_NAMESPACE,    /* the id of a process inside its own pid namespace */
	TL_EVENT_CGROUP,       /* path of a control group id */
	TL_EVENT_SIDEBAND_END, /* all FORK ... CGROUP events were emitted; samples follow */
	TL_EVENT_SAMPLE,       /* a sample, or a tracepoint hit */
	TL_EVENT_SWITCH,       /* a CPU went from one thread to another */
	TL_EVENT_WAKEUP,       /* a thread was made runnable by another */
	TL_EVENT_SYSCALL,      /* a system call, or a traced library call, with its duration */
	TL_EVENT_CALL_SUMMARY, /* calls of a thread that are known only as sums */
	TL_EVENT_TRACK,	       /* a row of a timeline: a thread, a device stream, counters */
	TL_EVENT_SLICE,	       /* something that took a while, or happened, on a track */
	TL_EVENT_FLOW,	       /* an arrow's end: from a launch to what it started */
	TL_EVENT_COUNTER,      /* a value that changes over time */
	TL_EVENT_STEP,	       /* a training step that the source itself names as one */
	TL_EVENT_LOG,	       /* a line of a log with a time */
	TL_EVENT_CLOCK_ANCHOR, /* what a clock of the machine showed at a moment of wall time */
	TL_EVENT_GAP,	       /* the recorder lost records, or was throttled, at a known time */
	TL_EVENT_DIAGNOSTIC,   /* something was lost, damaged, unsupported or skipped */
	TL_EVENT_KIND_COUNT
};

/* 0 and -1 are real values on the wire (idle, exited); "not recorded" is TL_ID_NONE. */
#define TL_ID_NONE INT32_MIN

struct tl_task {
	int32_t pid; /* thread group id in the recorder's pid namespace */
	int32_t tid;
};

/* Keys: hostname os_release arch cpu_desc cpuid cmdline recorder_version cpus_online
 * cpus_available memory_kib first_ts last_ts rank world_size target (all_cpus or tasks) ...; free
 * text, stored as it is. */
#define TL_META_RESOLUTION "clock.resolution_ns" /* its times are multiples of that, cut off */

struct tl_event_meta {
	const char *key, *value;
};

enum tl_clock_method { /* surest first, DESIGN: exact, anchored, matched, told, assumed */
		       TL_CLOCK_EXACT,
		       TL_CLOCK_ANCHORED,
		       TL_CLOCK_MATCHED,
		       TL_CLOCK_TOLD,
		       TL_CLOCK_ASSUMED
};

struct tl_event_clock {
	const char *name; /* "monotonic", "sched_clock", ... */
	enum tl_clock_method method;
	int64_t offset_ns;   /* Unix time = source time + offset_ns */
	int64_t residual_ns; /* uncertainty; -1 unknown */
	const char *why;     /* one phrase: "CLOCK_DATA of the file", "file date" */
};

struct tl_event_type {
	uint32_t index; /* 0, 1, ... in the source; samples name it */
	const char *name;
	uint32_t type;	 /* perf attr.type, or 0 */
	uint64_t config; /* perf attr.config, or 0 */
	uint64_t period; /* fixed period, 0 if by frequency or unknown */
	uint64_t freq;	 /* samples per second asked for, 0 if by period */
	bool is_tracepoint, is_hidden /* dummy: never shown as an event */;
	const char *unit; /* of the period: "ns" for clocks, "events" otherwise; NULL unknown */
	const char
		*detail; /* JSON object of what else is known (modifiers, sample_type), or NULL */
};

#define TL_BUILD_ID_MAX 20

struct tl_build_id {
	uint8_t size; /* bytes used, 0 = unknown */
	uint8_t data[TL_BUILD_ID_MAX];
};

enum tl_context {
	TL_CONTEXT_UNKNOWN,
	TL_CONTEXT_USER,
	TL_CONTEXT_KERNEL,
	TL_CONTEXT_HYPERVISOR,
	TL_CONTEXT_GUEST_KERNEL,
	TL_CONTEXT_GUEST_USER
};

struct tl_event_dso {
	const char *path;
	struct tl_build_id build_id;
	enum tl_context context;
	int32_t pid; /* -1: any process */
};

struct tl_symbol_entry {
	uint64_t address; /* in the ELF file's own address space (st_value) */
	uint64_t size;
	const char *name;
};

struct tl_event_dso_symbols {
	const char *path;
	enum tl_context context;
	bool has_segment;	 /* the two next are known */
	uint64_t segment_vaddr;	 /* of the executable segment */
	uint64_t segment_offset; /* its offset in the file */
	const struct tl_symbol_entry *symbols;
	size_t symbol_count;
};

struct tl_event_fork {
	struct tl_task child, parent;
};

struct tl_event_exit {
	struct tl_task task;
};

struct tl_event_comm {
	struct tl_task task;
	const char *name; /* bytes as recorded, any encoding */
	bool is_exec;	  /* the old address space is gone */
	bool is_hearsay;  /* somebody else's event says so: for threads that never had a name */
};

struct tl_event_mmap {
	struct tl_task task;	 /* pid -1: the kernel's own map */
	enum tl_context context; /* KERNEL for kernel text and modules */
	uint64_t start, length, file_offset;
	bool is_exec;	  /* executable; data maps must never shadow these */
	const char *path; /* as recorded: "//anon", "[vdso]", "... (deleted)" */
	struct tl_build_id build_id;
	bool has_inode;
	uint32_t major, minor;
	uint64_t inode, inode_generation;
	const char
		*reference_symbol; /* kernel: symbol that file_offset is the address of, or NULL */
};

struct tl_event_ksymbol {
	uint64_t address, length;
	const char *name;
	bool is_removed;
	bool is_bpf;
};

struct tl_event_namespace {
	struct tl_task task;
	int32_t inner_pid; /* TL_ID_NONE unknown */
	uint64_t pid_namespace_inode;
};

struct tl_event_cgroup {
	uint64_t id;
	const char *path;
};

struct tl_frame {
	uint64_t ip;
	uint8_t context;   /* enum tl_context */
	uint8_t is_marked; /* the recorder's own marks: TL_FRAME_* */
};

#define TL_FRAME_ADJUSTED 1u /* ip is already that of the call, not of the return */

/* What a source that symbolised by itself (perf script text) says of a frame. NULL = unknown. */
struct tl_frame_text {
	const char *symbol; /* without offset */
	const char *dso;
	const char *source_line; /* "file.c:12" */
	bool is_inlined;	 /* inlined into the next outer frame */
	bool has_symbol_offset;
	uint64_t symbol_offset;
};

/* Registers and stack bytes to unwind a user stack from. */
struct tl_user_stack {
	uint32_t abi;	      /* 1: 32 bit, 2: 64 bit (PERF_SAMPLE_REGS_ABI_*) */
	uint64_t mask;	      /* which registers, in the kernel's perf_regs.h numbering */
	const uint64_t *regs; /* popcount(mask) values */
	const uint8_t *bytes; /* memory from the stack pointer up, in the source's byte order */
	size_t size;
	bool is_big_endian;
};

/*
 * Fields of a tracepoint hit. Equal payloads are common: `key` numbers the distinct ones from 0 in
 * the order met; `json` is set when a key is used for the first time and NULL afterwards.
 */
struct tl_payload {
	uint64_t key;
	const char *json; /* {"prev_comm":"x","prev_pid":12,...}; see schema.sql, table payload */
	size_t json_length;
	bool is_raw; /* no format known: json holds {"raw":"<hex>"} */
};

struct tl_event_sample {
	uint32_t type_index;
	struct tl_task task; /* as the sample says; TL_ID_NONE if not recorded */
	int32_t real_tid; /* when task.tid is -1 (exiting) but the payload knows; else TL_ID_NONE */
	int32_t cpu;	  /* -1 not recorded */
	uint64_t period;  /* weight in the unit of the type */
	enum tl_context context; /* of the ip */
	bool has_ip, has_address, has_physical, has_data_source, has_weight, has_cgroup,
		has_transaction;
	bool has_data_page_size, has_code_page_size;
	uint64_t ip, address, physical_address, data_source, weight, cgroup, transaction;
	uint64_t data_page_size, code_page_size;
	const struct tl_frame *frames; /* innermost first; markers already turned into contexts */
	size_t frame_count;	       /* 0: no call chain was recorded, or it was empty */
	bool has_callchain;	       /* a chain was recorded, though it may be empty */
	const struct tl_frame_text *texts; /* NULL, or frame_count of them */
	const char *comm; /* what the source itself calls the thread (text), or NULL */
	const struct tl_user_stack *user_stack; /* NULL, or what to unwind */
	const struct tl_payload *payload;	/* NULL, or the tracepoint's fields */
};

/* Why a thread left the CPU. */
enum tl_switch_state {
	TL_SWITCH_UNKNOWN,  /* the source does not say */
	TL_SWITCH_RUNNABLE, /* preempted, or yielded: still wants to run */
	TL_SWITCH_SLEEPING,
	TL_SWITCH_UNINTERRUPTIBLE,
	TL_SWITCH_STOPPED, /* stopped or traced */
	TL_SWITCH_EXITING, /* dead or zombie */
	TL_SWITCH_PARKED,
	TL_SWITCH_IDLE /* TASK_IDLE: uninterruptible, not counted as load */
};

struct tl_event_switch {
	int32_t cpu;		   /* -1 unknown */
	bool has_prev, has_next;   /* one of them may be unknown: records of one process only */
	struct tl_task prev, next; /* pid TL_ID_NONE where only the tid is known */
	enum tl_switch_state prev_state;
	bool is_sampled; /* 1 in many was recorded: no intervals may be made of it */
	bool is_arrival; /* told by the thread that came, after the one that left told the same */
	bool has_sample; /* belongs to the TL_EVENT_SAMPLE emitted just before: same stack */
};

struct tl_event_wakeup {
	int32_t cpu;	      /* where the waker ran */
	int32_t target_cpu;   /* -1 unknown */
	struct tl_task waker; /* current task; TL_ID_NONE unknown */
	int32_t wakee_tid;
	bool is_sampled;
	bool is_waking; /* sched_waking (in the waker's context) rather than sched_wakeup */
	bool has_sample;
};

enum tl_call_kind { TL_CALL_SYSTEM, TL_CALL_LIBRARY };

/* How the duration of a call is known. */
enum tl_call_timing {
	TL_CALL_MEASURED, /* the tracer measured it (strace -T) */
	TL_CALL_DERIVED,  /* end line minus begin line: a little too long */
	TL_CALL_UNTIMED	  /* not known */
};

enum tl_call_outcome {
	TL_CALL_RETURNED,
	TL_CALL_RESTARTED,   /* ERESTART*: the kernel will call it again */
	TL_CALL_NO_RETURN,   /* exit, exit_group: never comes back */
	TL_CALL_KILLED,	     /* the thread ended inside it */
	TL_CALL_OPEN,	     /* still inside when the log ends: often the finding */
	TL_CALL_DETACHED,    /* the tracer left */
	TL_CALL_UNAVAILABLE, /* the tracer could not read the result */
	TL_CALL_LOST	     /* its end is missing: the log is damaged there */
};

struct tl_event_syscall {
	struct tl_task task; /* pid TL_ID_NONE where only the tid is known; both: no thread known */
	enum tl_call_kind kind;
	enum tl_call_timing timing;
	enum tl_call_outcome outcome;
	bool has_end; /* only the end was seen (attached while inside): ts = end - duration */
	int64_t duration_ns; /* -1 unknown; the event's ts is the begin */
	const char *name;
	size_t name_length;
	const char *arguments;	 /* as printed, both halves joined; may be cut; NULL not kept */
	size_t arguments_length; /* of what is given */
	uint64_t arguments_full_length; /* as it was in the log */
	bool has_result;
	int64_t result;	   /* two's complement of what was printed */
	const char *error; /* "ENOENT", "ERESTARTSYS", ...; NULL none */
	size_t error_length;
	const char *operation; /* futex operation, ioctl request, fcntl command, ...; NULL none */
	size_t operation_length;
	bool has_fd;
	int32_t fd;	  /* first argument, where it is a file descriptor */
	const char *path; /* its path (-y), or the path argument; NULL unknown */
	size_t path_length;
	bool has_timeout;
	int64_t timeout_ns;	       /* the wait asked for; INT64_MAX: without limit */
	const struct tl_frame *frames; /* stack at the call (-k), innermost first */
	const struct tl_frame_text *texts;
	size_t frame_count;
	uint64_t position; /* line from 1 of its begin, or file position */
};

enum tl_track_kind {
	TL_TRACK_THREAD,  /* an operating-system thread: task is set */
	TL_TRACK_DEVICE,  /* a stream or queue of an accelerator */
	TL_TRACK_COUNTER, /* holds counters */
	TL_TRACK_OTHER,	  /* layers, annotations, overlap summaries, process-wide rows */
	TL_TRACK_ASYNC /* slices that are begun here and ended there: those of one external_id nest */
};

/* Sources key tracks by (pid, tid) of any type; importers number them from 0 and tell once each. */
struct tl_event_track {
	uint32_t index;
	enum tl_track_kind kind;
	struct tl_task task; /* THREAD; pid TL_ID_NONE unknown */
	const char *name; /* "stream 7", "Ascend Hardware", ...; NULL unknown; may be told again */
	const char *process; /* name of the process or layer it belongs to; NULL unknown */
	const char *key_pid, *key_tid; /* as the source wrote them */
	int32_t device, stream;	       /* DEVICE; -1 unknown */
};

/* What kind of work a slice is, whatever its producer calls it. */
enum tl_slice_class {
	TL_SLICE_OTHER,
	TL_SLICE_OPERATOR,	    /* cpu_op */
	TL_SLICE_ANNOTATION,	    /* user_annotation, record_function, ProfilerStep */
	TL_SLICE_RUNTIME,	    /* cudaLaunchKernel, AscendCL@..., driver calls */
	TL_SLICE_KERNEL,	    /* on the device: computing */
	TL_SLICE_COMMUNICATION,	    /* on the device: collectives */
	TL_SLICE_MEMORY_COPY,	    /* memcpy, memset on the device */
	TL_SLICE_DEVICE_ANNOTATION, /* gpu_user_annotation */
	TL_SLICE_SYNC,		    /* stream, event or device synchronisation */
	TL_SLICE_PYTHON,	    /* python_function */
	TL_SLICE_OS_CALL,	    /* OS Runtime API: system and library calls */
	/* how the profiler itself sums time up: the whole recording; Computing, Communication,
	 * Communication(Not Overlapped), Free */
	TL_SLICE_OVERLAP,
	TL_SLICE_OVERHEAD, /* the profiler's own */
	TL_SLICE_GARBAGE_COLLECTION
};

/* No times: how many calls there were in the whole recording, and how long they took together. */
struct tl_event_call_summary {
	struct tl_task task;
	enum tl_call_kind kind;
	const char *name;
	size_t name_length;
	int64_t count, total_ns;
	int64_t min_ns, max_ns; /* -1 unknown */
};

struct tl_event_slice {
	uint32_t track;
	enum tl_slice_class class_;
	bool is_instant;     /* a moment: no duration is missing */
	bool is_suspect;     /* negative, absurdly long or without a time: out of statistics */
	int64_t duration_ns; /* -1 unknown: never ended, or not given */
	const char *name;
	size_t name_length;
	const char *category; /* as written; NULL none */
	size_t category_length;
	bool has_correlation, has_external_id, has_bytes, has_step;
	int64_t correlation; /* launch <-> device work; two's complement of an unsigned 64-bit id */
	int64_t external_id; /* operator <-> device work; on an ASYNC track, what the slice belongs to */
	int64_t bytes;	     /* moved or reduced */
	int64_t step;	     /* N of ProfilerStep#N */
	int32_t stream;	     /* of a launch or of device work; -1 unknown */
	const char *arguments; /* JSON object; NULL none kept */
	size_t arguments_length;
};

enum tl_flow_phase { TL_FLOW_BEGIN, TL_FLOW_STEP, TL_FLOW_END };

struct tl_event_flow {
	uint32_t track;
	enum tl_flow_phase phase;
	uint64_t id; /* exact if an integer, else a hash of the text: the same for both ends */
	const char *category; /* NULL none */
	size_t category_length;
};

struct tl_event_counter {
	uint32_t track;
	const char *name;
	size_t name_length;
	double value;
	const char *unit; /* NULL unknown */
};

struct tl_event_step {
	int64_t number;	     /* where it stands for several: of the last of them */
	int32_t rank;	     /* -1 unknown */
	int64_t duration_ns; /* of all that it stands for, together; -1 unknown */
	/*
	 * JSON object of what else the source says (loss, tokens, ...), or NULL. How the source itself
	 * splits the step: computing_ns, communication_ns, exposed_ns, free_ns, stage_ns, preparing_ns
	 * (see struct tl_step_parts).
	 */
	const char *detail;
	int64_t count; /* steps that it stands for: a log need not have a line for each; 0: one */
};

struct tl_event_log {
	const char *level; /* NULL unknown */
	const char *text;
	size_t text_length;
	uint64_t position; /* line from 1 */
};

/* The event's ts is the wall clock of the same machine, the middle of two readings. */
struct tl_event_clock_anchor {
	const char *clock; /* as tl_event_clock.name of sources that use it */
	int64_t value_ns;  /* what it showed */
	int64_t width_ns;  /* the two readings of the wall clock were so far apart */
};

enum tl_gap_kind { TL_GAP_LOST, TL_GAP_LOST_SAMPLES, TL_GAP_THROTTLE, TL_GAP_UNTHROTTLE };

struct tl_event_gap {
	enum tl_gap_kind kind;
	int32_t cpu;	     /* -1 unknown */
	uint32_t type_index; /* UINT32_MAX unknown */
	uint64_t count;	     /* records lost; 0 for throttling */
};

enum tl_diagnostic_kind {
	TL_DIAGNOSTIC_LOST,	   /* the recorder could not keep it */
	TL_DIAGNOSTIC_DAMAGED,	   /* the bytes make no sense */
	TL_DIAGNOSTIC_TRUNCATED,   /* the file ends in the middle */
	TL_DIAGNOSTIC_UNSUPPORTED, /* this program cannot use it */
	TL_DIAGNOSTIC_SKIPPED,	   /* left out on purpose */
	TL_DIAGNOSTIC_NOTE	   /* worth knowing: sampled tracepoint, out of order, ... */
};

struct tl_event_diagnostic {
	enum tl_diagnostic_kind kind;
	const char *what; /* short and stable, groups equal ones: "record of unknown type 99" */
	uint64_t count;	  /* how many, in `unit`s */
	const char *unit; /* "records", "bytes", "samples", "lines" */
	enum tl_position position_kind;
	uint64_t position;   /* of the first */
	const char *message; /* one line for a person; NULL: `what` says it all */
};

struct tl_event {
	enum tl_event_kind kind;
	/*
	 * Many sources have records without a time: stored as NULL, file order kept. `ts` is then still
	 * the ordering key among side-band and samples of the source: INT64_MIN for what was so
	 * before the recording began (synthesized records), the file position in a source that has
	 * no times at all.
	 */
	bool has_ts;
	int64_t ts; /* ns on the source's own clock */
	union {
		struct tl_event_meta meta;
		struct tl_event_clock clock;
		struct tl_event_type type;
		struct tl_event_dso dso;
		struct tl_event_dso_symbols dso_symbols;
		struct tl_event_fork fork;
		struct tl_event_exit exit;
		struct tl_event_comm comm;
		struct tl_event_mmap mmap;
		struct tl_event_ksymbol ksymbol;
		struct tl_event_namespace ns;
		struct tl_event_cgroup cgroup;
		struct tl_event_sample sample;
		struct tl_event_switch sched_switch;
		struct tl_event_wakeup wakeup;
		struct tl_event_syscall syscall;
		struct tl_event_call_summary call_summary;
		struct tl_event_track track;
		struct tl_event_slice slice;
		struct tl_event_flow flow;
		struct tl_event_counter counter;
		struct tl_event_step step;
		struct tl_event_log log;
		struct tl_event_clock_anchor clock_anchor;
		struct tl_event_gap gap;
		struct tl_event_diagnostic diagnostic;
	};
};

/* "sample", "mmap", ...: the name of a kind, for messages and tests. */
const char *tl_event_kind_name(enum tl_event_kind kind);
const char *tl_diagnostic_kind_name(enum tl_diagnostic_kind kind); /* "lost", "damaged", ... */
const char *tl_clock_method_name(enum tl_clock_method method);	   /* "exact", "assumed", ... */
const char *tl_track_kind_name(enum tl_track_kind kind);	   /* "thread", "device", ... */
const char *tl_slice_class_name(enum tl_slice_class class_);	   /* "operator", "kernel", ... */
const char *tl_call_timing_name(enum tl_call_timing timing);	   /* "measured", "derived", ... */
const char *tl_call_outcome_name(enum tl_call_outcome outcome);	   /* "returned", "open", ... */
const char *tl_switch_state_name(enum tl_switch_state state);	   /* "sleeping", ... */
/* One line of text, stable, for golden files; no newline at its end. */
void tl_event_print(FILE *out, const struct tl_event *ev);

/* A database, a text file and a test's array are the same thing to an importer. */
struct tl_sink {
	/* Returns TL_OK, or a negative status that ends the import. */
	int (*emit)(struct tl_sink *sink, const struct tl_event *ev, struct tl_error *err);
};

/* ---- importers -------------------------------------------------------------------------- */

struct tl_input; /* reader.h */

/* What the reader of a source wants of it; cheap sources may ignore it. */
#define TL_WANT_SAMPLES	 1u  /* samples with stacks */
#define TL_WANT_PAYLOADS 2u  /* tracepoint fields as JSON */
#define TL_WANT_SWITCHES 4u  /* switch and wakeup events */
#define TL_WANT_SYSCALLS 8u  /* system calls */
#define TL_WANT_SLICES	 16u /* slices, flows, counters */
#define TL_WANT_STEPS	 32u /* steps, and the slices that are steps */
#define TL_WANT_ALL	 (~0u)

/* `fraction` 0..1 of the source read so far, or negative if unknown. Non-zero stops the import. */
typedef int (*tl_progress_fn)(double fraction, uint64_t records, void *payload);

struct tl_import_options {
	unsigned want;		 /* TL_WANT_*; 0 means all */
	bool is_strict;		 /* the first damage is an error */
	tl_progress_fn progress; /* may be NULL */
	void *progress_payload;
	/* For sources that do not say it themselves. */
	/* Of each call's arguments to keep: 0 the usual 256; of slices: all. < 0 none. */
	int64_t argument_bytes;
	int32_t pid; /* of the process that was traced; 0 unknown */
	bool has_date, has_timezone;
	int64_t date_ns;	 /* Unix time of the date's midnight in UTC */
	int64_t timezone_ns;	 /* what local time was ahead of UTC */
	const char *log_pattern; /* Perl regular expression of the lines of a log that are steps */
	bool has_rank;
	int32_t rank; /* of a distributed job */
};

enum tl_read {
	TL_READ_MORE = 1,    /* one record done */
	TL_READ_SKIPPED = 2, /* it was damaged, its end was known, err says why */
	TL_READ_END = 3	     /* nothing is left, or nothing more can be understood (diagnosed) */
};

struct tl_importer {
	const char *name, *summary;
	/* 0 no ... 100 certain, from the first bytes (4 KiB or all there is, decompressed). */
	int (*probe)(const uint8_t *head, size_t len);
	int (*open)(void **state, struct tl_input *in, const struct tl_import_options *opt,
		    struct tl_error *err);
	/* One record: enum tl_read, or a negative status. Consumes at least a byte or ends. */
	int (*read)(void *state, struct tl_sink *sink, struct tl_error *err);
	void (*close)(void *state); /* accepts NULL */
};

struct tl_import_result {
	uint64_t records; /* read */
	uint64_t events[TL_EVENT_KIND_COUNT];
	uint64_t damaged;	      /* TL_READ_SKIPPED */
	struct tl_error first_damage; /* status 0 if none */
};

/*
 * Runs one importer over one input into one sink. A skipped record is counted, and emitted as a
 * diagnostic; with opt->is_strict it, and any damage, truncation or loss of sync that the importer
 * diagnoses, is an error.
 */
int tl_import(const struct tl_importer *importer, struct tl_input *in,
	      const struct tl_import_options *opt, struct tl_sink *sink,
	      struct tl_import_result *result, struct tl_error *err);

/* ---- where names of addresses come from --------------------------------------------------- */

/*
 * A build-id cache of perf in a tar archive, as 'perf archive' packs it, compressed or not. Its files
 * are unpacked into a temporary file without a name (in $TMPDIR), within bounds. What was damaged or
 * left out is told by the notes; opening fails only when it is no archive at all, or stopped.
 */
struct tl_archive;
int tl_archive_open(struct tl_archive **out, const char *path, tl_progress_fn progress,
		    void *progress_payload, struct tl_error *err);
void tl_archive_close(struct tl_archive *archive); /* accepts NULL */
/* The n-th of what was damaged or left out, one line each; NULL: no more. */
const char *tl_archive_note(const struct tl_archive *archive, size_t n);

struct tl_symbol_options {
	const char *symfs;		 /* root of another machine's files; NULL: this machine's */
	const char *const *buildid_dirs; /* perf caches (or unpacked perf archives), tried first */
	size_t buildid_dir_count;
	const struct tl_archive *const *archives; /* tried next; borrowed until the end of it all */
	size_t archive_count;
	const char *
		home_cache; /* the user's own cache; NULL: .debug of the home that the system knows */
	bool no_default_dirs; /* do not look into ~/.debug and /usr/lib/debug */
	bool want_inlines;    /* store inlined frames too */
	bool no_symbols;      /* name nothing */
	/*
	 * Names as perf 6.1 prints them, right or wrong: stubs of .plt in the order of their
	 * relocations, and where names overlap the one that its tree meets first.
	 */
	bool like_perf;
};

/* ---- the timeline file -------------------------------------------------------------------- */

struct tl_store;  /* an open case */
struct tl_writer; /* one source on its way into a case: one transaction */

enum tl_store_mode { TL_STORE_READ, TL_STORE_CREATE /* or extend */ };

/* Opens a case. READ never changes it. Refuses files that are not cases, or newer, in words. */
int tl_store_open(struct tl_store **out, const char *path, enum tl_store_mode mode,
		  struct tl_error *err);
/* A private case that vanishes on close: for questions put to raw recordings. */
int tl_store_open_temporary(struct tl_store **out, struct tl_error *err);
void tl_store_close(struct tl_store *store);
/* 1 if the first bytes are those of a case (an SQLite file with our application id). */
bool tl_store_probe(const uint8_t *head, size_t len);
int tl_store_schema_version(void);

struct tl_source_description {
	const char *path;     /* as given; shown in messages */
	const char *importer; /* importer's name */
	uint64_t size_bytes;
	int64_t modified_ns;  /* file date, Unix ns; 0 unknown */
	int64_t end_unix_ns;  /* when it had surely ended; 0: its date */
	const char *hostname; /* of the machine, where the user told it; NULL: as the source says */
	/* Another source of the case, recorded by the same run: on the same machine. NULL: none. */
	const char *recorded_with;
	bool is_duplicate_allowed; /* else a source with the same path, size and content is refused */
	uint64_t fingerprint;	   /* hash of size and of some of its bytes; 0 unknown */
};

struct tl_writer_options {
	struct tl_symbol_options symbols;
	bool aggregate_only; /* only sums; no row per sample, rows of the longest calls only */
	unsigned want;	     /* TL_WANT_*: what will be asked of it; 0: all */
};

/* Begins a transaction. The writer is a sink; its events go nowhere until commit. */
int tl_writer_begin(struct tl_writer **out, struct tl_store *store,
		    const struct tl_source_description *source, const struct tl_writer_options *opt,
		    struct tl_error *err);
struct tl_sink *tl_writer_sink(struct tl_writer *writer);
/*
 * Names addresses, derives states, stores counts, publishes. Frees the writer in any case. After the
 * last source call tl_clock_settle.
 */
int tl_writer_commit(struct tl_writer *writer, const struct tl_import_result *result,
		     struct tl_error *err);
void tl_writer_abort(struct tl_writer *writer); /* accepts NULL */

struct tl_time_range {
	int64_t begin_ns, end_ns; /* begin <= t < end, on the case's clock */
};

/* When the sources of a case begin and end, Unix ns. TL_NOTHING if none of them has times. */
int tl_store_span(struct tl_store *store, struct tl_time_range *span, struct tl_error *err);

/* ---- questions: folded stacks -------------------------------------------------------------- */

enum tl_fold_what { TL_FOLD_EVENT, TL_FOLD_OFFCPU, TL_FOLD_WAKEUP, TL_FOLD_CALLS };
enum tl_fold_weight { TL_WEIGHT_PERIOD, TL_WEIGHT_COUNT, TL_WEIGHT_NS, TL_WEIGHT_US };
enum tl_fold_root { TL_ROOT_COMM, TL_ROOT_NONE, TL_ROOT_PID, TL_ROOT_TID, TL_ROOT_CGROUP };
enum tl_fold_compat {
	TL_COMPAT_NATIVE,     /* correct */
	TL_COMPAT_PERL,	      /* as perf script -F ...,period,event,... | stackcollapse-perf.pl */
	TL_COMPAT_PERL_TRACE, /* as plain perf script | stackcollapse-perf.pl: trace text leaks */
	TL_COMPAT_INFERNO     /* as ... | inferno-collapse-perf */
};

struct tl_fold_options {
	enum tl_fold_what what;
	const char *event; /* NULL: the first one with samples */
	enum tl_fold_weight weight;
	enum tl_fold_root root;
	enum tl_fold_compat compat;
	bool annotate_kernel, annotate_jit; /* _[k], _[j] */
	bool show_addresses;		    /* of unknown frames */
	bool user_only, kernel_only, no_idle, show_inlined, show_state;
	const char *comm_pattern;	     /* Perl regular expression, or NULL */
	const char *const *exclude_patterns; /* stacks with a matching frame are left out */
	size_t exclude_count;
	const int32_t *tids;
	size_t tid_count;
	const struct tl_time_range *ranges; /* none: everything, also samples without time */
	size_t range_count;
	uint32_t max_depth;  /* 0: all; keeps the outermost */
	uint64_t min_weight; /* lines below are left out, and counted */
};

struct tl_folded_line {
	char *text;	 /* "comm;outer;inner", safe for every known reader */
	uint64_t weight; /* in `unit` */
};

struct tl_folded {
	struct tl_folded_line *lines; /* sorted by bytes, no duplicates */
	size_t line_count;
	char unit[32];	       /* "ns", "us", "samples", "events", "intervals" */
	char event[128];       /* which event was folded */
	char others[256];      /* "cycles (12 samples), ...": events that were not; "" none */
	uint64_t sample_count; /* samples, or intervals, inside */
	uint64_t total_weight;
	uint64_t outside_count;	      /* of the event, but outside the ranges */
	uint64_t without_time_count;  /* could not be placed in a range */
	uint64_t without_end_count;   /* off-CPU intervals, or calls, without an end: not counted */
	uint64_t without_begin_count; /* threads woken that nobody saw leave: not counted */
	uint64_t excluded_count, below_min_count;
	/* of the excluded: threads not asked for, no frame of the side asked for, a frame excluded */
	uint64_t excluded_thread_count, excluded_side_count, excluded_frame_count;
	uint64_t rule_lost_count; /* compat: what the program to be compatible with loses */
	uint64_t lost_count;	  /* samples the recorder lost (all events) */
	/* spans: repeated on a device or summed up by the profiler; longer than a day, or too deep */
	uint64_t repeated_count, suspect_count;
	bool is_sampled;	  /* a sampled tracepoint: counts are estimates */
	bool lacks_inlines;	  /* inlined functions were to be shown, and the case has none */
	int64_t begin_ns, end_ns; /* first and last time seen */
};

/* TL_NOTHING when no such event, or no sample is inside. Release what it returns. */
int tl_fold(struct tl_store *store, const struct tl_fold_options *opt, struct tl_folded *out,
	    struct tl_error *err);
void tl_folded_release(struct tl_folded *folded);

/* Profiler spans by self time: "rank N;thread;operator;operator". */
struct tl_fold_ops_options {
	enum tl_fold_weight weight;	    /* TL_WEIGHT_NS, TL_WEIGHT_COUNT (of spans), else us */
	const struct tl_time_range *ranges; /* none: everything; spans are clipped to them */
	size_t range_count;
	bool has_rank;
	int32_t rank;
	const char *thread_pattern; /* rows whose text matches; NULL all */
	const char *const *exclude_patterns;
	size_t exclude_count;
	uint32_t max_depth;  /* of operators; 0 all */
	uint64_t min_weight; /* of a line; 0: 1 */
};
/* TL_NOTHING when there are no spans inside. sample_count counts spans. */
int tl_fold_ops(struct tl_store *store, const struct tl_fold_ops_options *opt,
		struct tl_folded *out, struct tl_error *err);

/*
 * The same as tl_fold, once per window of `width_ns` that holds something, in order of time; windows are
 * numbered from the start of the case, and opt->ranges must be none. `folded` is borrowed. Memory
 * is bounded by the largest window.
 */
typedef int (*tl_fold_window_fn)(const struct tl_folded *folded, const struct tl_time_range *window,
				 uint64_t number, void *payload, struct tl_error *err);
int tl_fold_windows(struct tl_store *store, const struct tl_fold_options *opt, int64_t width_ns,
		    tl_fold_window_fn fn, void *payload, struct tl_error *err);

/* ---- questions: what is in the case ---------------------------------------------------------- */

/* Texts are NULL where nothing says so; has_* tells which numbers are known. All owned by the info. */
struct tl_info_source {
	int64_t source_id;
	const char *path, *importer, *host, *os_release, *arch, *command_line, *recorder;
	int64_t size_bytes, record_count, damaged_count, sample_count, untimed_count,
		disorder_count;
	bool has_times;
	int64_t first_ts, last_ts; /* Unix ns */
	const char *clock_name, *clock_method, *clock_why;
	int64_t clock_offset_ns, clock_residual_ns; /* residual -1: unknown */
	double clock_slope, clock_rival_ratio;	    /* ratio -1: not matched; see struct tl_clock */
	int64_t clock_reference_id, clock_match_count;
	const char *clock_trouble;
	bool is_complete; /* false: only sums per stack were kept */
};

struct tl_info_event {
	int64_t source_id;
	const char *name, *unit;
	int64_t sample_count, period_sum;
	int64_t fixed_period, frequency_hz; /* 0: not so asked for */
	int64_t stack_sample_count;	    /* samples with a stack */
	bool is_tracepoint, is_sampled;
};

struct tl_info_thread {
	const char *name; /* NULL unknown */
	int64_t pid, tid; /* pid -1 unknown */
	int64_t sample_count;
	int64_t running_ns, waiting_ns, sleeping_ns; /* -1: not recorded, or only in part */
};

struct tl_info_loss {
	int64_t source_id;
	const char *kind, *what, *unit, *position_kind, *message;
	int64_t count, position; /* position -1: none */
};

struct tl_info_dso {
	int64_t source_id;
	const char *name, *kind, *build_id, *status, *file, *reason;
	int64_t frame_count, unnamed_count;	    /* distinct addresses */
	int64_t sample_count, unnamed_sample_count; /* samples whose innermost frame lies in it */
};

struct tl_info_answer {
	const char *question; /* "off-CPU time", ... */
	bool is_possible;
	const char *because; /* what it rests on, or what is missing and how to record it */
};

struct tl_info {
	struct tl_info_source *sources;
	struct tl_info_event *events;
	struct tl_info_thread *threads; /* those with the most samples, then running time */
	struct tl_info_loss *losses;
	struct tl_info_dso *dsos; /* those with the most samples first */
	struct tl_info_answer *answers;
	size_t source_count, event_count, thread_count, loss_count, dso_count, answer_count;
	int64_t total_threads, total_processes, total_stacks, total_samples;
	bool has_times;
	bool has_dates; /* some source's times are Unix times, not just its own clock's */
	int64_t first_ts, last_ts; /* of the whole case, Unix ns */
	int schema_version;
	void *memory;
};

/* At most `thread_limit` threads (0: all). Release what it returns. */
int tl_info(struct tl_store *store, size_t thread_limit, struct tl_info *out, struct tl_error *err);
/* Only out->dsos, for less. */
int tl_info_dsos(struct tl_store *store, struct tl_info *out, struct tl_error *err);
void tl_info_release(struct tl_info *info);

#ifdef __cplusplus
}
#endif
#include "analysis_clock.h"
#include "analysis_explain.h"
#include "analysis_machine.h"
#include "analysis_steps.h"
#include "analysis_syscalls.h"
#include "analysis_thp.h"

#endif
