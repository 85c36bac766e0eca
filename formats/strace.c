/*
 * strace.c - the importer of strace and ltrace logs: opens, reads lines, recognises. What a line
 * says and does is in strace_line.c and its siblings.
 *
 * Streams: what is remembered is the threads, their open calls, and one call held back for its
 * stack.
 */
#include <stdlib.h>

#include "formats.h"
#include "reader.h"
#include "strace_log.h"

#define HOPELESS_LINES 10000u	    /* without one of a tracer's: not a log */
#define LONG_HEAD      (256u << 10) /* kept of a line that is too long: its begin */
#define LONG_TAIL      (64u << 10)  /* and its end, where the result is */
#define PEEK_BYTES     (64u << 10)

/* ---- lines that are too long ----------------------------------------------------------------- */

struct long_line {
	char *data;
	size_t head, tail; /* bytes used of each */
};

static void add_tail(struct long_line *l, const char *text, size_t len)
{
	char *tail = l->data + LONG_HEAD;

	if (len >= LONG_TAIL) {
		memcpy(tail, text + len - LONG_TAIL, LONG_TAIL);
		l->tail = LONG_TAIL;
		return;
	}
	if (l->tail + len > LONG_TAIL) {
		size_t keep = LONG_TAIL - len;

		memmove(tail, tail + l->tail - keep, keep);
		l->tail = keep;
	}
	memcpy(tail + l->tail, text, len);
	l->tail += len;
}

/* Begin and end of a line that comes in pieces, as one line. */
static int read_long(struct strace_log *log, struct tl_line *line, struct tl_error *err)
{
	struct long_line l = { .data = tl_alloc(LONG_HEAD + LONG_TAIL, 1, err) };
	int ret = 1;

	if (!l.data)
		return TL_NOMEM;
	strace_note(log, STRACE_BAD_LONG);
	l.head = line->length < LONG_HEAD ? line->length : LONG_HEAD;
	memcpy(l.data, line->text, l.head);
	add_tail(&l, line->text + l.head, line->length - l.head);
	while (line->is_partial && (ret = tl_input_line(log->in, line, err)) > 0)
		add_tail(&l, line->text, line->length);
	memmove(l.data + l.head, l.data + LONG_HEAD, l.tail);
	if (ret >= 0)
		ret = strace_line(log, l.data, l.head + l.tail, line->has_newline, err);
	free(l.data);
	return ret;
}

/* ---- the importer ---------------------------------------------------------------------------- */

/* Without terminal control sequences: strace --color. */
static int read_coloured(struct strace_log *log, const struct tl_line *line, struct tl_error *err)
{
	char *plain = tl_alloc(line->length + 1, 1, err);
	int ret;

	if (!plain)
		return TL_NOMEM;
	ret = strace_line(log, plain, strace_plain(plain, line->text, line->length),
			  line->has_newline, err);
	free(plain);
	return ret;
}

static int log_read(void *state, struct tl_sink *sink, struct tl_error *err)
{
	struct strace_log *log = state;
	struct tl_line line;
	int ret = tl_input_line(log->in, &line, err);

	log->sink = sink;
	if (ret < 0)
		return ret;
	if (ret == 0) {
		ret = strace_finish(log, err);
		return ret < 0 ? ret : TL_READ_END;
	}
	log->line = line.number;
	if (line.number == 1 && line.length >= 3 && !memcmp(line.text, "\xef\xbb\xbf", 3)) {
		line.text += 3; /* a byte order mark, by an editor */
		line.length -= 3;
	}
	if (line.is_partial)
		ret = read_long(log, &line, err);
	else if (memchr(line.text, '\033', line.length))
		ret = read_coloured(log, &line, err);
	else
		ret = strace_line(log, line.text, line.length, line.has_newline, err);
	if (ret == TL_OK && log->line == HOPELESS_LINES)
		ret = strace_refuse_early(log, err);
	return ret < 0 ? ret : TL_READ_MORE;
}

static void log_close(void *state)
{
	struct strace_log *log = state;

	if (!log)
		return;
	strace_open_release(&log->tasks, log->broken);
	strace_tasks_release(&log->tasks);
	strace_hold_close(log->held);
	tl_interner_release(&log->known_names);
	free(log->counts);
	free(log->waiting);
	free(log);
}

/* ".14008" at the end of a file's name, before the suffix of a compressed one (strace -ff). */
static int32_t tid_of_name(const char *name)
{
	static const char *const suffixes[] = { ".gz", ".zst", ".xz", ".bz2" };
	size_t len = strlen(name), from;
	uint64_t tid;

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		size_t n = strlen(suffixes[i]);

		if (len > n && memcmp(name + len - n, suffixes[i], n) == 0) {
			len -= n;
			break;
		}
	}
	for (from = len; from && strace_is_digit(name[from - 1]);)
		from--;
	if (from == len || from < 2 || name[from - 1] != '.' || len - from > 7 ||
	    !tl_parse_u64(name + from, len - from, 10, &tid) || tid == 0 || tid > STRACE_PID_MAX)
		return TL_ID_NONE;
	return (int32_t)tid;
}

/* ---- looking ahead --------------------------------------------------------------------------- */

#define AHEAD_BYTES_MAX (64u << 20) /* a log that prints numbers at all does so before */
#define AHEAD_WINDOW	(1u << 20)
#define LTRACE_WINDOW	(256u << 10)
#define AHEAD_OVERLAP	64u /* what is looked for is shorter */
#define ANNOUNCED_MAX	256u

/* The last line with a time of day, so that rows need not be moved when its date is known. */
static void peek_last(struct strace_log *log, struct tl_input *in)
{
	struct tl_error ignored = { 0 };
	const uint8_t *data;
	uint64_t size;
	size_t len;

	if (tl_input_size(in, &size, &ignored) < 0 || size == 0 ||
	    tl_input_window(in, size > PEEK_BYTES ? size - PEEK_BYTES : 0, PEEK_BYTES, &data, &len,
			    &ignored) < 0)
		return;
	while (len) {
		struct strace_prefix prefix;
		const char *text = (const char *)data, *line;
		size_t end = text[len - 1] == '\n' ? len - 1 : len;
		const char *newline = end ? memrchr(text, '\n', end) : NULL;

		line = newline ? newline + 1 : text;
		strace_prefix(line, (size_t)(text + end - line), &prefix);
		if (prefix.time == STRACE_TIME_OF_DAY) {
			log->has_peeked = true;
			log->peeked_ns = prefix.time_ns;
			return;
		}
		len = (size_t)(line - text);
	}
}

struct ahead {
	int32_t announced[ANNOUNCED_MAX];
	size_t announced_count;
};

/* "Process 7 attached" in the window */
static void note_announced(struct ahead *a, const char *text, size_t len)
{
	static const char word[] = "Process ";
	const char *at = text, *end = text + len;
	int32_t pid;
	bool is_attached;

	while (a->announced_count < ANNOUNCED_MAX &&
	       (at = memmem(at, (size_t)(end - at), word, sizeof(word) - 1))) {
		if (strace_message(at, (size_t)(end - at), &pid, &is_attached) && is_attached)
			a->announced[a->announced_count++] = pid;
		at += sizeof(word) - 1;
	}
}

static bool is_announced(const struct ahead *a, int32_t tid)
{
	for (size_t i = 0; i < a->announced_count; i++)
		if (a->announced[i] == tid)
			return true;
	return false;
}

/* The first "[pid N]" of a thread that strace did not attach to: of the one it started. */
static int32_t find_main(const struct ahead *a, const char *text, size_t len)
{
	for (size_t at = 0; (at += strace_find_bracket(text + at, len - at)) < len; at++) {
		struct strace_prefix prefix;

		strace_prefix(text + at, len - at, &prefix);
		if (prefix.tid != TL_ID_NONE && !is_announced(a, prefix.tid))
			return prefix.tid;
	}
	return TL_ID_NONE;
}

/*
 * strace leaves the number out while it traces one thread (on stderr). Lines before the second one
 * came are of the thread whose number is printed from then on, without having been announced.
 */
static void look_ahead(struct strace_log *log, struct tl_input *in)
{
	struct ahead ahead = { .announced_count = 0 };
	struct tl_error ignored = { 0 };
	const uint8_t *data;
	uint64_t offset = 0;
	size_t len;

	while (offset < AHEAD_BYTES_MAX && log->main_tid == TL_ID_NONE &&
	       tl_input_window(in, offset, AHEAD_WINDOW, &data, &len, &ignored) == TL_OK && len) {
		note_announced(&ahead, (const char *)data, len);
		log->main_tid = find_main(&ahead, (const char *)data, len);
		if (len <= AHEAD_OVERLAP)
			break;
		offset += len - AHEAD_OVERLAP;
	}
}

/* Programs may be in calls for a while whose names are those of system calls, too. */
static void peek_ltrace(struct strace_log *log, struct tl_input *in)
{
	struct tl_error ignored = { 0 };
	const uint8_t *data;
	size_t len;

	if (!log->is_ltrace &&
	    tl_input_window(in, 0, LTRACE_WINDOW, &data, &len, &ignored) == TL_OK)
		log->is_ltrace = strace_looks_like_ltrace((const char *)data, len);
}

/* What only later parts of the file tell; of a file that can be read twice. */
static void peek(struct strace_log *log, const char *head, size_t len)
{
	struct tl_input *in = NULL;
	struct tl_error ignored = { 0 };
	const char *name = tl_input_name(log->in), *slash = strrchr(name, '/');
	struct strace_prefix first;

	if (!strcmp(name, "-") || tl_input_is_compressed(log->in) ||
	    tl_input_modified_ns(log->in) == 0 || /* a pipe */
	    tl_input_open_beside(&in, log->in, slash ? slash + 1 : name, &ignored) < 0)
		return;
	peek_last(log, in);
	peek_ltrace(log, in);
	strace_prefix(head, len, &first);
	if (first.tid == TL_ID_NONE && !log->is_ltrace)
		look_ahead(log, in);
	tl_input_close(in);
}

static int log_open(void **state, struct tl_input *in, const struct tl_import_options *opt,
		    struct tl_error *err)
{
	struct strace_log *log = tl_alloc(1, sizeof(*log), err);
	const uint8_t *head;
	const char *alike;
	size_t len;
	int ret;

	*state = log;
	if (!log)
		return TL_NOMEM;
	log->in = in;
	if (opt)
		log->opt = *opt;
	if (log->opt.argument_bytes == 0)
		log->opt.argument_bytes = STRACE_ARGUMENT_BYTES;
	log->keep_bytes = log->opt.argument_bytes > 0 ? (size_t)log->opt.argument_bytes : 0;
	log->look_bytes = log->keep_bytes > STRACE_LOOK_BYTES ? log->keep_bytes : STRACE_LOOK_BYTES;
	log->main_tid = TL_ID_NONE;
	log->file_tid = tid_of_name(tl_input_name(in));
	log->clock.is_told = log->opt.has_date && log->opt.has_timezone;
	log->clock.told_ns = log->opt.date_ns - log->opt.timezone_ns;
	ret = strace_hold_open(&log->held, err);
	if (ret == TL_OK)
		ret = tl_input_head(in, &head, &len, err);
	if (ret < 0)
		return ret;
	alike = strace_alike((const char *)head, len);
	if (alike)
		return tl_fail(err, TL_UNSUPPORTED, "is %s, not a log of strace", alike);
	log->is_ltrace = strace_looks_like_ltrace((const char *)head, len);
	log->has_front = strace_has_front((const char *)head, len, &log->indentation);
	log->is_front_cut = len && strace_is_front_cut((const char *)head, len, log->indentation,
						       log->has_front);
	if (len)
		peek(log, (const char *)head, len);
	return TL_OK;
}

const struct tl_importer strace_importer = {
	.name = "strace",
	.summary = "logs of strace",
	.probe = strace_probe,
	.open = log_open,
	.read = log_read,
	.close = log_close,
};

/* Surer of a log than strace is, if it is one of ltrace. */
static int ltrace_probe(const uint8_t *head, size_t len)
{
	int certainty = strace_probe(head, len);

	if (certainty == 0 || strace_alike((const char *)head, len))
		return 0;
	return strace_looks_like_ltrace((const char *)head, len) ? certainty + 1 : 0;
}

const struct tl_importer ltrace_importer = {
	.name = "ltrace",
	.summary = "logs of ltrace",
	.probe = ltrace_probe,
	.open = log_open,
	.read = log_read,
	.close = log_close,
};
