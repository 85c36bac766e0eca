/*
 * training_log_json.c - lines of a log that a collector or a JSON formatter wrapped into an object:
 * {"log": "...", "time": "..."} of containers, {"message": ..., "asctime": ..., "levelname": ...}.
 */
#include "training_log.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "csv.h"

struct training_log_wrapping {
	struct csv_record keys, values;
	struct tl_text buffer;
};

static const struct csv_field *member(const struct training_log_wrapping *w,
				      const char *const *names)
{
	for (; *names; names++) {
		int at = csv_column(&w->keys, *names);

		if (at >= 0 && w->values.fields[at].length)
			return &w->values.fields[at];
	}
	return NULL;
}

/* What is left of escapes: control characters, and the one that begins colours. */
static void add_unescaped(struct tl_text *out, const struct csv_field *field)
{
	static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";

	for (size_t i = 0; i < field->length; i++) {
		const char *t = field->text + i, *which;

		if (*t == '\\' && i + 1 < field->length && (which = memchr(from, t[1], 5))) {
			tl_text_add(out, &to[which - from], 1);
			i++;
		} else if (field->length - i >= 6 && !strncasecmp(t, "\\u001b", 6)) {
			tl_text_puts(out, "\033");
			i += 5;
		} else {
			tl_text_add(out, t, 1);
		}
	}
}

static void add_front(struct tl_text *out, const char *before, const struct csv_field *field,
		      const char *after)
{
	if (!field)
		return;
	tl_text_puts(out, before);
	tl_text_add(out, field->text, field->length);
	tl_text_puts(out, after);
}

int training_log_unwrap(struct training_log_wrapping **wrapping, const char *text, size_t len,
			struct tl_text *out, struct tl_error *err)
{
	static const char *const messages[] = { "message", "msg", "log", "event", "text", NULL };
	static const char *const times[] = { "asctime", "time",	      "timestamp",
					     "ts",	"@timestamp", NULL };
	static const char *const levels[] = { "levelname", "level", "severity", NULL };
	static const char *const ranks[] = { "rank", "global_rank", NULL };
	struct training_log_wrapping *w = *wrapping;
	const struct csv_field *message;

	if (len < 2 || text[0] != '{' || !memchr("\" \t", text[1], 3))
		return 0;
	if (!w)
		w = *wrapping = tl_alloc(1, sizeof(*w), err);
	if (!w)
		return TL_NOMEM;
	if (!csv_split_json(text, len, &w->keys, &w->values, &w->buffer))
		return w->buffer.failed ? tl_fail(err, TL_NOMEM, "out of memory") : 0;
	message = member(w, messages);
	if (!message)
		return 0;
	out->length = 0;
	add_front(out, "", member(w, times), " ");
	add_front(out, "[rank", member(w, ranks), "]: ");
	add_front(out, "[", member(w, levels), "] ");
	add_unescaped(out, message);
	while (out->length && strchr("\r\n", out->data[out->length - 1]))
		out->length--;
	return out->failed ? tl_fail(err, TL_NOMEM, "out of memory") : 1;
}

void training_log_release_wrapping(struct training_log_wrapping *w)
{
	if (w)
		tl_text_release(&w->buffer);
	free(w);
}
