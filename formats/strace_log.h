/*
 * strace_log.h - private to the importer of strace and ltrace logs: what it remembers between
 * lines, and the steps from a line's parts to events.
 */
#ifndef STRACE_LOG_H
#define STRACE_LOG_H

#include "strace.h"

#define STRACE_ARGUMENT_BYTES 256u  /* kept of a call's arguments unless told otherwise */
#define STRACE_LOOK_BYTES     4096u /* needed of an open call's arguments to look into them */
#define STRACE_OPEN_MAX	      65536u
#define STRACE_CLONES_MAX     16u
#define STRACE_NAMES	      128u
#define STRACE_NAMES_MAX      16384u /* different calls of one log; ltrace has thousands */

enum strace_bad {
	STRACE_BAD_LINE,
	STRACE_BAD_BROKEN,
	STRACE_BAD_MENDED,
	STRACE_BAD_RESUMED,
	STRACE_BAD_LOST,
	STRACE_BAD_MISMATCH,
	STRACE_BAD_ORPHAN,
	STRACE_BAD_DEEP,
	STRACE_BAD_STACK,
	STRACE_BAD_NEGATIVE,
	STRACE_BAD_CUT,
	STRACE_BAD_FRONT_CUT,
	STRACE_BAD_DURATION,
	STRACE_BAD_SUMMARY,
	STRACE_BAD_DUMP,
	STRACE_BAD_LONG,
	STRACE_BAD_NAMES,
	STRACE_BAD_KINDS
};

/* What is known of a call by its name, looked up once. */
struct strace_name {
	char text[32];
	uint8_t length;
	bool is_clone, is_exec, is_prctl, is_getpid, is_library;
	bool is_function; /* and no system call of that name is known */
	const struct strace_traits *traits;
};

/* A call on its way out. */
struct strace_call {
	struct strace_task *task; /* whose it is; NULL: not known */
	bool has_ts, has_end;
	int64_t ts, duration_ns;
	int64_t end_ns; /* time of the line that ended it; ts if there is none */
	uint64_t line;
	struct strace_span name, arguments;
	uint64_t full_length;
	enum tl_call_timing timing;
	enum tl_call_outcome outcome;
	const struct strace_return *ret; /* NULL: none */
};

/* Counted by word: signals, exit statuses. */
struct strace_count {
	char word[40];
	uint64_t count;
};

struct strace_held; /* strace_stack.c */

/* The parts of a line. */
struct strace_parts {
	const char *text; /* all of it */
	size_t len;
	bool has_newline;
	struct strace_prefix prefix;
	struct strace_body body;
	const char *b; /* the body */
	size_t b_len;
	bool has_ts;
	int64_t ts;
};

struct strace_log {
	struct tl_input *in;
	struct tl_import_options opt;
	struct tl_sink *sink; /* of the call of read at hand */
	size_t keep_bytes;    /* of arguments in events */
	size_t look_bytes;    /* of open calls' arguments */
	bool is_ltrace, has_clock, has_pids, has_brackets;
	struct tl_event_clock clock_told; /* as emitted last */
	bool has_peeked;
	int64_t peeked_ns; /* time of day of the last line, looked up in advance */
	struct strace_clock clock;
	struct strace_tasks tasks;
	struct strace_name names[STRACE_NAMES];
	struct tl_interner known_names; /* all of them; bounded */
	int32_t file_tid;      /* of a log without pids, from its file's name; TL_ID_NONE unknown */
	int32_t main_tid;      /* whose the lines without pid are, once known */
	uint64_t orphan_calls; /* emitted without a thread */
	int32_t clones[STRACE_CLONES_MAX]; /* tids with an open clone */
	size_t clone_count;

	struct strace_open *broken; /* its line was written into; not in any task's list */
	int32_t broken_tid;
	uint64_t cut_line; /* the newest line that ended in "<unfinished ...>" */
	int32_t cut_tid;
	bool in_summary, has_function_table;
	bool has_front, is_front_cut;
	unsigned indentation;
	/* a call on the line before, if what follows may say that it was none: see strace_line.c */
	char *waiting;
	size_t waiting_length, waiting_capacity;
	bool is_waiting, is_written_into;
	uint64_t waiting_line;

	struct strace_held *held;
	uint64_t line; /* at hand */
	uint64_t understood, calls, tables;
	uint64_t relative_line; /* where the deltas ceased to add up */
	uint8_t duration_digits;
	bool has_durations;
	struct {
		uint64_t count, first;
	} bad[STRACE_BAD_KINDS];
	char first_bad[96]; /* printable, for the refusal */
	char path[4096];    /* unescaped, of the call at hand */
	char error[24];	    /* of the call at hand */
	struct strace_count *counts;
	size_t count_count, count_capacity;
};

static inline void strace_note_at(struct strace_log *log, enum strace_bad kind, uint64_t line)
{
	if (log->bad[kind].count++ == 0)
		log->bad[kind].first = line;
}

static inline void strace_note(struct strace_log *log, enum strace_bad kind)
{
	strace_note_at(log, kind, log->line);
}

/* strace_calls.c: from parts to events */
void strace_set_ltrace(struct strace_log *log);
void strace_break_relative(struct strace_log *log);
/* NULL: there are too many different ones, or no memory. */
const struct strace_name *strace_name(struct strace_log *log, struct strace_span name);
/* Whose a line is: of its own number, or of the one thread it can be of; NULL: nobody knows. */
struct strace_task *strace_owner(struct strace_log *log, int32_t tid, struct tl_error *err);
int strace_emit_call(struct strace_log *log, const struct strace_call *call, struct tl_error *err);
/* A thread was met: tells of its birth if a clone that made it is open, and of its name. */
int strace_meet(struct strace_log *log, const struct strace_prefix *prefix, int64_t ts,
		struct tl_error *err);
/* A thread that was not alive is: another life of its number. */
void strace_revive(struct strace_log *log, struct strace_task *task);
/* A leader's life ends in the exec of another thread, which goes on by its number. */
int strace_replace(struct strace_log *log, struct strace_task *leader, bool has_ts, int64_t ts,
		   struct tl_error *err);
int strace_emit_exit(struct strace_log *log, struct strace_task *task, bool has_ts, int64_t ts,
		     struct tl_error *err);
/* An open call that will not end: emitted with this outcome, and released. */
int strace_emit_open(struct strace_log *log, struct strace_task *task, struct strace_open *open,
		     enum tl_call_outcome outcome, struct tl_error *err);

/* strace_open.c: calls that are open, and how they end */
int strace_stamp(struct strace_log *log, struct strace_parts *l, int64_t duration_ns,
		 struct tl_error *err);
struct strace_open *strace_begin(struct strace_log *log, const struct strace_parts *l,
				 struct strace_span name, struct strace_span arguments,
				 struct tl_error *err);
/* Opens a call of a thread; takes `open` in any case. */
int strace_push(struct strace_log *log, int32_t tid, struct strace_open *open,
		struct tl_error *err);
void strace_take(struct strace_log *log, struct strace_task *task, struct strace_open *open);
/* The open call that a resumed line ends; NULL with *ret TL_OK: none is known. */
struct strace_open *strace_take_pending(struct strace_log *log, int32_t tid,
					struct strace_span name, int *ret, struct tl_error *err);
/* strace has one call at a time per thread: another begin means that an end is missing. */
int strace_lose_open(struct strace_log *log, struct strace_task *task, struct tl_error *err);
/* All open calls of a task end with this outcome. */
int strace_end_all(struct strace_log *log, struct strace_task *task, enum tl_call_outcome outcome,
		   struct tl_error *err);
/* A call on one line; one whose begin was on an earlier line (releases `open`); only an end. */
int strace_whole_call(struct strace_log *log, const struct strace_parts *l,
		      const struct strace_return *ret, struct tl_error *err);
int strace_joined_call(struct strace_log *log, struct strace_open *open,
		       const struct strace_parts *l, const struct strace_return *ret,
		       bool is_derivable, struct tl_error *err);
int strace_orphan_call(struct strace_log *log, const struct strace_parts *l,
		       const struct strace_return *ret, struct tl_error *err);
bool strace_is_exec(struct strace_span name); /* of the system or the library */

/* strace_lives.c: lives of threads */
int strace_exit_line(struct strace_log *log, struct strace_parts *l, struct tl_error *err);
int strace_superseded_line(struct strace_log *log, struct strace_parts *l, struct tl_error *err);
int strace_exec_line(struct strace_log *log, struct strace_parts *l, struct tl_error *err);
int strace_message_line(struct strace_log *log, const char *text, size_t len, struct tl_error *err);

size_t strace_blanks(const char *text, size_t len); /* at its begin */
/* strace_table.c: 1: the line is one of a table */
int strace_table_line(struct strace_log *log, const char *text, size_t len);

/* strace_stack.c: calls held back until their stack has been read */
int strace_hold_open(struct strace_held **out, struct tl_error *err);
void strace_hold_close(struct strace_held *held); /* accepts NULL */
/* Emits the event, or keeps it until strace_hold_flush if stacks may follow. */
int strace_hold(struct strace_log *log, const struct tl_event *ev, struct tl_error *err);
int strace_hold_flush(struct strace_log *log, struct tl_error *err);
/* " > /usr/lib/libc.so.6(__mmap+0x13) [0x1019b3]" */
int strace_hold_frame(struct strace_log *log, const char *text, size_t len, struct tl_error *err);

/* strace_line.c: one line */
int strace_line(struct strace_log *log, const char *text, size_t len, bool has_newline,
		struct tl_error *err);
/* The call that waits for its next line, if one does: that line says that it went on, or not. */
int strace_settle_waiting(struct strace_log *log, bool is_broken, struct tl_error *err);

/* strace_end.c: what is told when the log has ended */
int strace_finish(struct strace_log *log, struct tl_error *err);
/* Fails if no line so far was one of the tracer's. */
int strace_refuse_early(const struct strace_log *log, struct tl_error *err);
int strace_count(struct strace_log *log, const char *prefix, const char *word, size_t len,
		 struct tl_error *err);
int strace_emit_clock(struct strace_log *log, struct tl_error *err);

#endif
