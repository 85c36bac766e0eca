/*
 * strace.h - private to the importer of strace and ltrace logs: the parts of one line, the clock of
 * a log, its threads with their open calls, and what is known of system calls' arguments.
 */
#ifndef STRACE_H
#define STRACE_H

#include <string.h>

#include "memory.h"

extern const struct tl_importer strace_importer, ltrace_importer;

/* Part of a line: borrowed, not terminated. `text` NULL: not there. */
struct strace_span {
	const char *text;
	size_t length;
};

static inline bool strace_span_is(struct strace_span s, const char *word)
{
	return s.length == strlen(word) && memcmp(s.text, word, s.length) == 0;
}

/* "clone" of "clone", and of ltrace's "SYS_clone" */
static inline bool strace_name_ends(struct strace_span name, const char *word)
{
	if (name.length > 4 && memcmp(name.text, "SYS_", 4) == 0)
		name = (struct strace_span) { name.text + 4, name.length - 4 };
	return strace_span_is(name, word);
}

static inline bool strace_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* ---- the front of a line (strace_prefix.c) -------------------------------------------------- */

#define STRACE_PID_MAX 4194304 /* PID_MAX_LIMIT of the kernel: what is above is a time */

enum strace_time { STRACE_NO_TIME, STRACE_TIME_OF_DAY, STRACE_EPOCH, STRACE_RELATIVE };

/* "[pid 7<sh>] 11:07:47.788720 (+     0.000951) [ 257] [00007fd30c74bb1d] " */
struct strace_prefix {
	int32_t tid; /* TL_ID_NONE: the line has none */
	bool is_bracketed, has_relative_too, has_number, has_ip;
	enum strace_time time;
	uint8_t time_digits;	 /* behind the point */
	int64_t time_ns;	 /* since midnight, since 1970, or since the line before */
	struct strace_span comm; /* as printed: '<', '>' and controls are escaped in octal */
	size_t length;		 /* of it all: the body begins here */
};

void strace_prefix(const char *text, size_t len, struct strace_prefix *out);
/* Digits and, behind a point, decimals, as nanoseconds; bytes used, 0 if it is none. */
size_t strace_decimal(const char *text, size_t len, int64_t *ns, uint8_t *digits);
/* Where "[pid N] " stands in a line that something else was written into; len if nowhere. */
size_t strace_find_bracket(const char *text, size_t len);

/* ---- the body of a line (strace_body.c) ----------------------------------------------------- */

enum strace_body_kind {
	STRACE_CALL,	   /* name(... */
	STRACE_RESUMED,	   /* <... name resumed> */
	STRACE_EXITED,	   /* +++ exited with 0 +++ */
	STRACE_KILLED,	   /* +++ killed by SIGKILL +++ */
	STRACE_SUPERSEDED, /* +++ superseded by execve in pid 7 +++ */
	STRACE_SIGNAL,	   /* --- SIGCHLD {...} --- */
	STRACE_EXEC,	   /* --- Called exec() ---, of ltrace */
	STRACE_MESSAGE,	   /* strace: Process 7 attached */
	STRACE_FOREIGN	   /* nothing of a tracer */
};

struct strace_body {
	enum strace_body_kind kind;
	struct strace_span word; /* name of the call, or of the signal */
	size_t rest;		 /* CALL, RESUMED: where what follows the '(' or '>' begins */
	int64_t number;		 /* exit status; or the other pid */
	bool is_core_dumped;
};

void strace_body(const char *text, size_t len, struct strace_body *out);
/* "Process 7 attached" and its like, with or without "strace: "; *pid is 0 if it names none. */
bool strace_message(const char *text, size_t len, int32_t *pid, bool *is_attached);
/* Where strace's own message, glued to the end of a line, begins; len if there is none. */
size_t strace_find_glued(const char *text, size_t len);

/* ---- library calls (strace_ltrace.c) -------------------------------------------------------- */

/* No tracer of system calls prints such a name. */
bool strace_is_library_name(struct strace_span name);
/* Is the line one that only ltrace writes? Is one of these? */
bool strace_is_of_ltrace(const char *text, size_t len);
bool strace_looks_like_ltrace(const char *text, size_t len);

/* ---- the end of a call (strace_return.c) ---------------------------------------------------- */

enum strace_end {
	STRACE_END_RETURNED,	/* ") = RESULT" */
	STRACE_END_UNFINISHED,	/* "<unfinished ...>" */
	STRACE_END_NEVER,	/* "<unfinished ...>) = ?" */
	STRACE_END_DETACHED,	/* "<detached ...>" */
	STRACE_END_PID_CHANGED, /* "<pid changed to 7 ...>" */
	STRACE_END_NO_RETURN,	/* "<no return ...>", ltrace */
	STRACE_END_NONE		/* none of them: cut, or written into */
};

struct strace_return {
	enum strace_end end;
	struct strace_span arguments; /* blanks before the mark or bracket included */
	int64_t duration_ns;	      /* -1: not printed */
	uint8_t duration_digits;
	bool has_value, is_question, is_unavailable, is_odd_duration;
	int64_t value;		  /* two's complement of what was printed */
	int64_t outer_pid;	  /* of a "... in strace's PID NS" remark, or 0 */
	struct strace_span error; /* ENOENT; text NULL: none */
	struct strace_span path;  /* of a file descriptor, inside < and > */
};

/*
 * `text` begins behind "name(" or "resumed>". Strings in arguments may hold anything, so the result
 * is looked for from the right.
 */
void strace_return(const char *text, size_t len, bool is_ltrace, struct strace_return *out);

/* ---- arguments (strace_arguments.c) --------------------------------------------------------- */

/* What is worth a column of its own in the arguments of a system call. */
struct strace_arguments {
	struct strace_span operation; /* futex operation, ioctl request, ...; text NULL: none */
	struct strace_span path;      /* as printed, escaped; text NULL: none */
	bool is_path_quoted;	      /* else it is the remark on a file descriptor */
	bool has_fd, has_timeout;
	int32_t fd;
	int64_t timeout_ns; /* INT64_MAX: without limit */
};

/* Traits of a call by its name; kept by the caller so that they are looked up once a name. */
struct strace_traits;
const struct strace_traits *strace_traits(const char *name, size_t len); /* NULL: nothing known */
void strace_arguments(const struct strace_traits *traits, const char *text, size_t len,
		      struct strace_arguments *out);
bool strace_is_clone(struct strace_span name); /* fork, vfork, clone, clone2, clone3 */
/*
 * The n-th argument (from 0), outer blanks left out; text NULL if there are fewer. Commas inside
 * strings, brackets and remarks are not separators.
 */
struct strace_span strace_argument(const char *text, size_t len, unsigned n);
/* Undoes strace's escapes; returns the length written, at most size. */
size_t strace_unescape(char *out, size_t size, struct strace_span text);

/* "% time     seconds  usecs/call     calls    errors syscall": of -c, -C or -w (strace_table.c) */
bool strace_is_table_head(const char *text, size_t len);

/* ---- recognising (strace_probe.c) ------------------------------------------------------------ */

/* A whole call that begins with a time. */
bool strace_is_call(const char *text, size_t len);
int strace_probe(const uint8_t *head, size_t len);
/* Without terminal control sequences (strace --color); `out` has room for len. */
size_t strace_plain(char *out, const char *text, size_t len);
/*
 * Do others' words stand before those of the tracer: a container's name, the time of a log's
 * keeper, blanks? Then strace_front() says how many bytes of a line they are.
 */
bool strace_has_front(const char *head, size_t len, unsigned *indentation);
size_t strace_front(unsigned indentation, const char *text, size_t len);
/* The first line has less of a time than those that follow: what was kept of a log begins in it. */
bool strace_is_front_cut(const char *head, size_t len, unsigned indentation, bool has_front);

/* ---- others (strace_alike.c) ---------------------------------------------------------------- */

/* What a file whose first bytes these are is, if it only looks like strace's; else NULL. */
const char *strace_alike(const char *head, size_t len);

/* ---- time (strace_clock.c) ------------------------------------------------------------------ */

/*
 * The times of one log on one axis: seconds since 1970, or since the midnight before the first
 * line, or since the first line. Summer time that begins or ends in between is undone.
 */
struct strace_clock {
	enum strace_time kind; /* what the axis is made of: the first line with a time says it */
	uint8_t digits;	       /* most of any line */
	bool has_newest, has_offset;
	bool is_relative_broken; /* deltas count from lines of other files: no times any more */
	int64_t newest_tod;	 /* newest time of day, as printed */
	int64_t day_ns;		 /* midnights passed */
	int64_t zone_ns;	 /* clock changes undone so far */
	int64_t newest_ns;	 /* on the axis */
	int64_t last_end_ns;	 /* on the axis: when the last line was written */
	int64_t offset_ns;	 /* of the other kind of time that was met: axis = time + offset */
	int64_t told_ns;	 /* Unix time of the axis's zero, if is_told */
	bool is_told;
	uint64_t wrap_count, backward_count, zone_change_count, step_count, strange_count;
	int64_t backward_max_ns, zone_change_ns; /* the latter of the first one */
	uint64_t zone_change_line, step_line, strange_line;
};

/*
 * Takes in a line's time; *ts is on the axis. `duration_ns` is what the line says of how long a
 * call took that ends with it, else 0. False: the line has no time, or none that can be placed.
 */
bool strace_clock_stamp(struct strace_clock *c, const struct strace_prefix *prefix, uint64_t line,
			int64_t duration_ns, int64_t *ts);
/*
 * How the axis maps to Unix time: by what was told, else by the file's date, which is that of the
 * last line, `last_ns` on the axis.
 */
void strace_clock_settle(const struct strace_clock *c, const struct tl_import_options *opt,
			 int64_t modified_ns, int64_t last_ns, struct tl_event_clock *out);

/* ---- threads (strace_tasks.c) --------------------------------------------------------------- */

/* A call whose end is still to come. */
struct strace_open {
	struct strace_open *outer; /* ltrace nests calls */
	bool has_ts, is_clone;
	bool is_exec; /* ltrace: it has not returned, and will not if it goes well */
	int64_t ts;
	uint64_t line;
	int32_t tid;	      /* as printed when it began */
	uint64_t full_length; /* of the arguments in the log */
	size_t name_length, arguments_length, capacity;
	char *text; /* the name, then what is kept of the arguments */
};

static inline struct strace_span strace_open_name(const struct strace_open *open)
{
	return (struct strace_span) { open->text, open->name_length };
}

struct strace_task {
	int32_t tid;	   /* TL_ID_NONE: lines without a number */
	int32_t pid;	   /* TL_ID_NONE: not known */
	bool is_announced; /* strace said that it attached, or a clone that it was made */
	bool is_born;	   /* its birth was told */
	bool is_seen;	   /* it has lines */
	bool is_alive, has_ended;
	uint64_t first_line;	  /* of this life */
	struct strace_open *open; /* innermost first */
	uint64_t comm_hash;	  /* of the name last seen, 0: none */
};

struct strace_tasks {
	struct strace_task **tasks; /* they stay where they are */
	size_t count, capacity;
	struct tl_arena arena;
	struct tl_index index;
	struct strace_open *unused;	/* to be used again */
	struct strace_task *memo[1024]; /* asked for lately, by number */
	uint64_t open_count, clone_count, kept_bytes;
	size_t live_count; /* of those with a number */
};

/* The task of a number, made if need be. NULL: no memory. */
struct strace_task *strace_task(struct strace_tasks *tasks, int32_t tid, struct tl_error *err);
/* A call that is not yet open: at most `keep` bytes of its arguments are kept. NULL: no memory. */
struct strace_open *strace_open_new(struct strace_tasks *tasks, struct strace_span name,
				    struct strace_span arguments, size_t keep,
				    struct tl_error *err);
/* More arguments, from a later line. */
int strace_open_extend(struct strace_tasks *tasks, struct strace_open *open,
		       struct strace_span arguments, size_t keep, struct tl_error *err);
void strace_open_push(struct strace_tasks *tasks, struct strace_task *task,
		      struct strace_open *open);
/* Takes an open call out of a task's; the caller has it then. */
void strace_open_take(struct strace_tasks *tasks, struct strace_task *task,
		      struct strace_open *open);
void strace_open_release(struct strace_tasks *tasks, struct strace_open *open); /* accepts NULL */
void strace_tasks_release(struct strace_tasks *tasks);

#endif
