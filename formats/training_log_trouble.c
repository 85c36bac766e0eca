/*
 * training_log_trouble.c - the lines of a log that warn or complain. A traceback, which is many lines,
 * is one entry.
 */
#include "training_log.h"

#include <string.h>

enum { TRACEBACK_MAX = 16 << 10 };

static int emit_log(struct training_log_trouble *t, struct tl_sink *sink, const char *level,
		    const char *text, size_t len, bool has_time, int64_t time, uint64_t line,
		    struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_LOG, .has_ts = has_time, .ts = time };

	ev.log.level = level;
	ev.log.text = text;
	ev.log.text_length = len;
	ev.log.position = line;
	t->emitted++;
	return sink->emit(sink, &ev, err);
}

int training_log_finish_trouble(struct training_log_trouble *t, struct tl_sink *sink,
				struct tl_error *err)
{
	if (!t->has_traceback)
		return TL_OK;
	t->has_traceback = false;
	if (t->traceback.failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	return emit_log(t, sink, "ERROR", t->traceback.data, t->traceback.length, t->has_time,
			t->time, t->line, err);
}

static void add_traceback(struct training_log_trouble *t, const char *text, size_t len)
{
	if (t->traceback.length + len + 1 > TRACEBACK_MAX)
		return;
	if (t->traceback.length)
		tl_text_puts(&t->traceback, "\n");
	tl_text_add(&t->traceback, text, len);
}

static int begin_traceback(struct training_log_trouble *t, const struct training_log_saying *saying,
			   const char *text, size_t len, struct tl_sink *sink, struct tl_error *err)
{
	int ret = training_log_finish_trouble(t, sink, err);

	t->has_traceback = true;
	t->traceback.length = 0;
	t->rank = saying->front->rank;
	t->line = saying->line;
	t->has_time = saying->has_time;
	t->time = saying->time;
	add_traceback(t, text, len);
	return ret;
}

/* "RuntimeError: ...", "torch.cuda.OutOfMemoryError: ..." */
static bool is_exception(const char *text, size_t len)
{
	const char *colon = memchr(text, ':', len < 96 ? len : 96);
	size_t n = colon ? (size_t)(colon - text) : 0;

	if (n < 6 || memchr(text, ' ', n))
		return false;
	return !memcmp(text + n - 5, "Error", 5) ||
	       (n > 9 && !memcmp(text + n - 9, "Exception", 9));
}

static bool has_text(const char *text, size_t len, const char *word)
{
	return memmem(text, len, word, strlen(word)) != NULL;
}

/* Marks between the front and what is said. */
static const char *body(const struct training_log_saying *saying, size_t *length)
{
	const char *text = saying->text + saying->front->length;
	size_t len = saying->length - saying->front->length;

	while (saying->front->length && len > 3 && text[0] == ' ' && memchr("-|:", text[1], 3) &&
	       text[2] == ' ') {
		text += 2;
		len -= 2;
	}
	if (saying->front->length && len && *text == ' ') {
		text++;
		len--;
	}
	*length = len;
	return text;
}

/* A traceback: its indented lines, and the exception at its end. */
int training_log_read_trouble(struct training_log_trouble *t,
			      const struct training_log_saying *saying, struct tl_sink *sink,
			      struct tl_error *err)
{
	const char *level = saying->front->level;
	size_t len;
	const char *text = body(saying, &len);

	if (t->has_traceback && t->rank == saying->front->rank) {
		bool goes_on = len == 0 || *text == ' ';

		add_traceback(t, text, len);
		return goes_on ? TL_OK : training_log_finish_trouble(t, sink, err);
	}
	if (has_text(text, len, "Traceback (most recent call last)"))
		return begin_traceback(t, saying, text, len, sink, err);
	if (has_text(text, len, "NCCL WARN") || has_text(text, len, "HCCL WARN"))
		level = "WARNING";
	else if (!level && is_exception(text, len))
		level = "ERROR";
	if (!level || (strcmp(level, "ERROR") != 0 && strcmp(level, "WARNING") != 0))
		return TL_OK;
	return emit_log(t, sink, level, text, len, saying->has_time, saying->time, saying->line,
			err);
}

void training_log_release_trouble(struct training_log_trouble *t)
{
	tl_text_release(&t->traceback);
}
