/*
 * command.h - what a command is: a descriptor with an option table, from which parsing, help,
 * manual pages and completion are made; and what commands share: cases, times, messages, progress.
 *
 * Knows nothing of what any one command does.
 */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis.h"

/* What the process ends with; DESIGN: 0 done, 1 found (--check), 2 trouble, 3 nothing to say. */
enum exit_status { EXIT_DONE = 0, EXIT_FOUND = 1, EXIT_TROUBLE = 2, EXIT_NOTHING = 3 };

/* ---- options ------------------------------------------------------------------------------ */

struct string_list {
	const char **items; /* borrowed from argv */
	size_t count, capacity;
};

struct integer_list {
	int64_t *items;
	size_t count, capacity;
};

enum option_kind {
	OPTION_FLAG,	 /* bool; --x sets it, --no-x clears it (and the reverse for "no-x") */
	OPTION_STRING,	 /* const char * */
	OPTION_INTEGER,	 /* int64_t within minimum ... maximum */
	OPTION_WORD,	 /* an enum: the index into words */
	OPTION_STRINGS,	 /* struct string_list; may be repeated */
	OPTION_INTEGERS, /* struct integer_list; may be repeated, "1,2,3" is three */
	OPTION_HEADING	 /* no option: `help` is a heading of the ones that follow */
};

struct command_option {
	enum option_kind kind;
	char letter;		  /* 0: none */
	const char *name;	  /* without dashes */
	const char *argument;	  /* "FILE"; NULL for flags */
	const char *help;	  /* lower case, no full stop; "; default X" where there is one */
	size_t offset;		  /* of the member in the options struct */
	const char *const *words; /* WORD: NULL-terminated, in the order of the enum */
	int64_t minimum, maximum; /* INTEGER, INTEGERS */
	/*
	 * INTEGERS: the flag (plus 1) that is set instead when neither '=' nor a number follows;
	 * 0: a number must follow.
	 */
	size_t flag_offset_plus_1;
	bool is_file; /* the argument is a path, for completion */
};

/*
 * Rows of an option table. The comparison of pointers costs nothing and lets the compiler check
 * that the member has the type that the parser writes.
 */
#define OPTION_OFFSET(type, member, kind) \
	(offsetof(type, member) + 0 * sizeof((kind *)0 == &((type *)0)->member))
#define OPTION_ROW(kind_, letter_, name_, argument_, help_, ...)                         \
	{                                                                                \
		.kind = OPTION_##kind_, .letter = letter_, .name = name_, .help = help_, \
		.argument = argument_, .offset = __VA_ARGS__                             \
	}
#define FLAG(type, member, letter, name, help) \
	OPTION_ROW(FLAG, letter, name, NULL, help, OPTION_OFFSET(type, member, bool))
#define STRING(type, member, letter, name, argument, help) \
	OPTION_ROW(STRING, letter, name, argument, help, OPTION_OFFSET(type, member, const char *))
#define FILE_NAME(type, member, letter, name, argument, help) \
	OPTION_ROW(STRING, letter, name, argument, help,      \
		   OPTION_OFFSET(type, member, const char *), .is_file = true)
#define INTEGER(type, member, letter, name, argument, minimum_, maximum_, help)                 \
	OPTION_ROW(INTEGER, letter, name, argument, help, OPTION_OFFSET(type, member, int64_t), \
		   .minimum = minimum_, .maximum = maximum_)
/* The member is an enum or an int: its size is checked, its type cannot be. */
#define WORD(type, member, letter, name, argument, words_, help)                                  \
	OPTION_ROW(WORD, letter, name, argument, help,                                            \
		   offsetof(type, member) +                                                       \
			   0 * sizeof(char[sizeof(((type *)0)->member) == sizeof(int) ? 1 : -1]), \
		   .words = words_)
#define STRINGS(type, member, letter, name, argument, help) \
	OPTION_ROW(STRINGS, letter, name, argument, help,   \
		   OPTION_OFFSET(type, member, struct string_list))
#define FILE_NAMES(type, member, letter, name, argument, help) \
	OPTION_ROW(STRINGS, letter, name, argument, help,      \
		   OPTION_OFFSET(type, member, struct string_list), .is_file = true)
#define INTEGERS(type, member, letter, name, argument, minimum_, maximum_, help)          \
	OPTION_ROW(INTEGERS, letter, name, argument, help,                                \
		   OPTION_OFFSET(type, member, struct integer_list), .minimum = minimum_, \
		   .maximum = maximum_)
/* "--x 1,2" is a list, a bare "--x" is a flag. */
#define INTEGERS_OR_FLAG(type, member, flag, letter, name, argument, minimum_, maximum_, help) \
	OPTION_ROW(INTEGERS, letter, name, argument, help,                                     \
		   OPTION_OFFSET(type, member, struct integer_list), .minimum = minimum_,      \
		   .maximum = maximum_, .flag_offset_plus_1 = OPTION_OFFSET(type, flag, bool) + 1)
#define HEADING(text) OPTION_ROW(HEADING, 0, NULL, NULL, text, 0)
#define OPTIONS_END   OPTION_ROW(HEADING, 0, NULL, NULL, NULL, 0)

/* ---- commands ----------------------------------------------------------------------------- */

struct command_example {
	const char *line; /* can be pasted into a shell */
	const char *what; /* lower case, no full stop */
};

struct command {
	const char *name;
	const char *usage;			/* "traceloom info [options] CASE..." */
	const char *summary;			/* one line, lower case */
	const char *description;		/* paragraphs, separated by empty lines */
	const struct command_example *examples; /* ends with a NULL line; never empty */
	const struct command_option *options;	/* ends with OPTIONS_END */
	const void *defaults;			/* an options struct; NULL: all zero */
	size_t options_size;
	bool is_hidden; /* not in help, manual and completion */
	/*
	 * An exit status (0 and up: everything was told already), or a negative tl_status with
	 * `err` filled. `operands` are what is left of the arguments.
	 */
	int (*run)(const void *options, size_t operand_count, char **operands,
		   struct tl_error *err);
};

extern const struct command cmd_import, cmd_info, cmd_align, cmd_steps, cmd_syscalls, cmd_explain,
	cmd_thp, cmd_collapse, cmd_events, cmd_generate;

extern const struct command *const commands[];	      /* ends with NULL; shown in this order */
const struct command *command_find(const char *name); /* NULL: there is none */
/* The command whose name is nearest to what was typed; NULL when none is near. */
const struct command *command_nearest(const char *name);

/*
 * Fills *values (freed by options_release) from `argv`, which holds the arguments after the
 * command's name and is rearranged: the operands come first. *wants_help is set by --help or -h.
 */
int options_parse(const struct command *command, int argc, char **argv, void **values,
		  size_t *operand_count, bool *wants_help, struct tl_error *err);
void options_release(const struct command *command, void *values); /* accepts NULL */
/* Edits (insert, delete, replace, swap) from a to b; what "did you mean" goes by. */
size_t edit_distance(const char *a, const char *b);

/* ---- help --------------------------------------------------------------------------------- */

void help_overview(FILE *out);
void help_command(FILE *out, const struct command *command);
/* "-o, --output FILE"; a flag that is on by default is shown by what turns it off. */
void help_option_name(char *buf, size_t size, const struct command *command,
		      const struct command_option *option);
void help_version(FILE *out);

/* ---- messages and progress (terminal.c) --------------------------------------------------- */

/* "traceloom: ..." and a newline to stderr, control bytes made visible. */
void tell(const char *fmt, ...) TL_PRINTF(1, 2);
void tell_error(const struct tl_error *err);

/* Ends the program at the next call of progress_step: SIGINT, SIGTERM and SIGHUP are caught. */
void signals_catch(void);
bool signals_stopped(void);
/* Undoes signals_catch and, if one came, ends the process by it, as a shell expects. */
void signals_finish(void);

struct progress {
	const char *label;
	bool is_shown;	 /* stderr is a terminal */
	int64_t next_ns; /* not before */
	bool has_line;	 /* something must be erased */
};
void progress_begin(struct progress *progress, const char *label);
/* A tl_progress_fn; the payload is a struct progress. */
int progress_step(double fraction, uint64_t records, void *payload);
void progress_end(struct progress *progress);

/* ---- times -------------------------------------------------------------------------------- */

/*
 * A time as people write it, to Unix nanoseconds: seconds from the start of the case ("12.5",
 * "-1", "500ms"), Unix seconds ("1700000000.25": from 1973 on), or ISO 8601 ("2024-05-01T12:00:00.5Z",
 * "2024-05-01 14:00+02:00"; UTC when no zone is given).
 */
int command_parse_time(const char *text, size_t length, int64_t case_begin_ns, int64_t *ns,
		       struct tl_error *err);
/* "2026-11-29" as the Unix time of its midnight in UTC; "+08:00" as what it is ahead of UTC. */
bool command_parse_date(const char *text, size_t length, int64_t *ns);
bool command_parse_zone(const char *text, size_t length, int64_t *ahead_ns);
/* "A,B", either of which may be empty: from the first, to the last. */
int command_parse_range(const char *text, int64_t case_begin_ns, struct tl_time_range *range,
			struct tl_error *err);

/* "10s", "500ms", "1.5" (seconds), also us, ns, m, h; `option` is for the message. */
int command_parse_duration(const char *option, const char *text, int64_t *ns, struct tl_error *err);
/* The same, but of any sign, or zero. */
int command_parse_offset(const char *option, const char *text, int64_t *ns, struct tl_error *err);

/* ---- files of one prefix (siblings.c) ------------------------------------------------------ */

/* "PREFIX.7", "PREFIX.8.gz", ... in order of their numbers; none is TL_OK. Release them. */
int siblings_find(const char *prefix, char ***paths, size_t *count, struct tl_error *err);
void siblings_release(char **paths, size_t count);

/* ---- recordings and cases (source.c) ------------------------------------------------------- */

/* What importing needs to be told; every command that takes raw recordings has these options. */
struct source_options {
	const char *symfs;
	struct string_list buildid_dirs;
	bool want_inlines, no_symbols, is_strict, is_quiet;
	bool is_duplicate_allowed;
	const char *log_pattern;
	const char *host;		    /* machine that was recorded; NULL: not given */
	const char *args, *date, *timezone; /* of logs, as given; NULL: not */
	int64_t pid;			    /* 0: not given */
	struct string_list pid_maps;	    /* of recordings from inside a container */
};
#define SOURCE_OPTIONS(type, member)                                                                    \
	FILE_NAME(type, member.symfs, 0, "symfs", "DIR",                                                \
		  "look for binaries below DIR: the files of the machine that was recorded"),           \
		FILE_NAMES(type, member.buildid_dirs, 0, "buildid-dir", "PATH",                         \
			   "a build-id cache of perf, or an archive of it (perf.data.tar.bz2) "         \
			   "that 'perf archive' made; tried first, may be repeated"),                   \
		FLAG(type, member.want_inlines, 0, "inline",                                            \
		     "name inlined functions too, from debug information"),                             \
		FLAG(type, member.no_symbols, 0, "no-symbols", "do not name addresses"),                \
		STRING(type, member.log_pattern, 0, "log-pattern", "REGEX",                             \
		       "lines of training logs that match are the steps: a Perl regular expression "    \
		       "with parts named step, time (in s, or time_ms, time_us, time_ns), rate (steps " \
		       "a second), ts, rank, as in '(?<step>\\d+) took (?<time_ms>[\\d.]+) ms'"),       \
		FLAG(type, member.is_strict, 0, "strict",                                               \
		     "the first thing that is damaged or truncated is an error"),                       \
		FLAG(type, member.is_quiet, 'q', "quiet",                                               \
		     "do not tell what was read, lost or damaged; errors are still told")

/* TL_USAGE where a directory that was named is none: names would be missing, and nobody knew why. */
int source_options_check(const struct source_options *sources, struct tl_error *err);

/* For commands that are given logs (strace). */
#define CALL_LOG_OPTIONS(type, member)                                                             \
	STRING(type, member.args, 0, "args", "N",                                                  \
	       "bytes of each call's arguments to keep: a number, all or none; default 256"),      \
		INTEGER(type, member.pid, 0, "pid", "PID", 1, 4194304,                             \
			"the process of a log that names none (strace -p PID, without -f)"),       \
		STRING(type, member.date, 0, "date", "DATE",                                       \
		       "the day on which a log with times of day begins (2026-11-29)"),            \
		STRING(type, member.timezone, 0, "timezone", "ZONE",                               \
		       "the time zone of its times of day (+08:00, UTC, Asia/Shanghai); default: " \
		       "by the file's date")
/* The options above in terms of importers; TL_USAGE if they make no sense. */
int call_log_options_fill(const struct source_options *given, struct tl_import_options *out,
			  struct tl_error *err);

/* What a question needs of raw recordings. */
struct case_request {
	const struct source_options *sources;
	unsigned want;	     /* TL_WANT_* */
	bool aggregate_only; /* sums per stack are enough */
	bool like_perf;	     /* names as perf prints them, right or wrong */
	bool has_rank;
	int32_t rank; /* of what does not say it itself */
};

/*
 * The case to ask: a case file, or a temporary case into which the recordings are imported first.
 * Directories are walked. Several recordings make one case; several case files are an error.
 */
int command_open_case(struct tl_store **out, char **paths, size_t count,
		      const struct case_request *request, struct tl_error *err);

/*
 * Imports the recordings that `paths` name: files, "-", or directories. What is told and what is
 * counted goes to stderr. *failed_count counts those that could not be used, each told already;
 * a negative status is returned only when going on makes no sense (stopped, case is full).
 */
int source_import(struct tl_store *store, char **paths, size_t count,
		  const struct case_request *request, size_t *imported_count, size_t *failed_count,
		  struct tl_error *err);

#endif
