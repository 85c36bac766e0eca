/*
 * folded.c - the importer of folded stacks as py-spy writes them (its raw format): a line each,
 * "outer (file.py:3);...;inner (file.py:7) 12". There are no times: the number of a line is how many
 * samples had the stack. Folded stacks without places are what other programs make of recordings; the
 * recordings themselves know more, so those are left alone.
 */
#include "folded.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "reader.h"

#define FRAMES_MAX 4096 /* more is no call chain */

struct folded {
	struct tl_input *in;
	unsigned want;
	struct tl_frame *frames;
	struct tl_frame_text *texts;
	size_t capacity, text_capacity;
	struct tl_text line; /* of the record, cut at its separators */
	bool has_begun;
};

/* ---- one line ---- */

/* The stack of "stack 12" without blanks around; false: it is no such line. */
static bool split_line(const char *text, size_t len, size_t *stack_length, uint64_t *count)
{
	size_t end = len, digits;

	while (end && (text[end - 1] == '\r' || text[end - 1] == ' '))
		end--;
	for (digits = end; digits && text[digits - 1] >= '0' && text[digits - 1] <= '9';)
		digits--;
	if (digits == end || digits < 2 || text[digits - 1] != ' ' ||
	    tl_parse_u64(text + digits, end - digits, 10, count) != end - digits)
		return false;
	for (end = digits - 1; end && text[end - 1] == ' ';)
		end--;
	*stack_length = end;
	return end > 0;
}

/* "name (file:12)" or "name (library.so)". */
static bool has_place(const char *frame, size_t len)
{
	const char *open = len ? memrchr(frame, '(', len) : NULL;
	size_t digits = len ? len - 1 : 0;

	if (!open || open == frame || open[-1] != ' ' || frame[len - 1] != ')')
		return false;
	while (digits && frame[digits - 1] >= '0' && frame[digits - 1] <= '9')
		digits--;
	return (digits < len - 1 && frame + digits - 1 > open && frame[digits - 1] == ':') ||
	       memmem(open, (size_t)(frame + len - open), ".so", 3);
}

/* The innermost frame decides: the outer ones may name processes and threads. */
static bool line_has_place(const char *stack, size_t len)
{
	const char *last = memrchr(stack, ';', len);

	return last ? has_place(last + 1, len - (size_t)(last + 1 - stack)) : has_place(stack, len);
}

/* ---- the importer ---- */

/* Most whole lines of the head are one. */
static int folded_probe(const uint8_t *head, size_t len)
{
	const char *at = (const char *)head, *end = at + len;
	size_t lines = 0, stacks = 0, nested = 0;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((newline ? newline : end) - at), stack;
		uint64_t count;

		if (!newline && lines)
			break; /* may be cut */
		if (length) {
			lines++;
			if (split_line(at, length, &stack, &count) && line_has_place(at, stack)) {
				stacks++;
				nested += memchr(at, ';', stack) != NULL;
			}
		}
		at += length + 1;
	}
	if (!stacks || stacks * 2 < lines)
		return 0;
	return nested && stacks == lines ? 85 : 65;
}

static int begin(struct folded *f, struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_TYPE };
	int ret;

	f->has_begun = true;
	ev.type.name = "samples";
	ev.type.unit = "samples";
	ret = sink->emit(sink, &ev, err);
	if (ret < 0)
		return ret;
	memset(&ev, 0, sizeof(ev));
	ev.kind = TL_EVENT_SIDEBAND_END;
	return sink->emit(sink, &ev, err);
}

/* "process 4242:"python train.py"" */
static int32_t pid_of(const char *frame)
{
	uint64_t pid;

	if (strncmp(frame, "process ", 8) != 0 ||
	    tl_parse_u64(frame + 8, strlen(frame + 8), 10, &pid) == 0 || pid > INT32_MAX)
		return TL_ID_NONE;
	return (int32_t)pid;
}

/* Cuts the stack, outermost frame first, into frames, innermost first. */
static int cut_frames(struct folded *f, size_t stack_length, size_t *count, struct tl_error *err)
{
	char *text = f->line.data;
	size_t n = 1, i;

	for (i = 0; i < stack_length; i++)
		n += text[i] == ';';
	if (n > FRAMES_MAX)
		return TL_READ_SKIPPED;
	if (tl_grow(&f->frames, &f->capacity, n, err) < 0 ||
	    tl_grow(&f->texts, &f->text_capacity, n, err) < 0)
		return TL_NOMEM;
	text[stack_length] = '\0';
	*count = n;
	for (i = n; i-- > 0;) {
		size_t length = strcspn(text, ";");

		text[length] = '\0';
		f->frames[i] = (struct tl_frame) { .context = TL_CONTEXT_USER };
		f->texts[i] = (struct tl_frame_text) { .symbol = text };
		text += length + 1;
	}
	return TL_OK;
}

static int emit_stack(struct folded *f, size_t count, uint64_t period, struct tl_sink *sink,
		      struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_SAMPLE };
	struct tl_event_sample *s = &ev.sample;

	s->task = (struct tl_task) { pid_of(f->texts[count - 1].symbol), TL_ID_NONE };
	s->real_tid = TL_ID_NONE;
	s->cpu = -1;
	s->period = period;
	s->context = TL_CONTEXT_USER;
	s->has_callchain = true;
	s->frames = f->frames;
	s->texts = f->texts;
	s->frame_count = count;
	s->comm = "python"; /* what py-spy records, whatever it is called */
	if (s->task.pid != TL_ID_NONE) {
		s->comm = f->texts[count - 1].symbol;
		s->frame_count = count - 1;
	}
	return sink->emit(sink, &ev, err);
}

static int skip_long_line(struct folded *f, struct tl_line *line, struct tl_error *err)
{
	uint64_t number = line->number;

	while (line->is_partial) {
		int ret = tl_input_line(f->in, line, err);

		if (ret < 0)
			return ret;
		if (ret == 0)
			break;
	}
	tl_fail_line(err, TL_FORMAT, number, "line of more than %u bytes", TL_INPUT_LINE_MAX);
	return TL_READ_SKIPPED;
}

static int folded_read(void *state, struct tl_sink *sink, struct tl_error *err)
{
	struct folded *f = state;
	struct tl_line line;
	size_t stack_length, count = 0;
	uint64_t period;
	int ret;

	do {
		ret = tl_input_line(f->in, &line, err);
		if (ret <= 0)
			return ret < 0 ? ret : TL_READ_END;
	} while (line.length == 0);
	if (line.is_partial)
		return skip_long_line(f, &line, err);
	if (memchr(line.text, '\0', line.length) ||
	    !split_line(line.text, line.length, &stack_length, &period) || period > INT64_MAX) {
		tl_fail_line(err, TL_FORMAT, line.number,
			     "no folded stack: expected frames and a count of samples");
		return TL_READ_SKIPPED;
	}
	if (!f->has_begun) {
		ret = begin(f, sink, err);
		if (ret < 0)
			return ret;
	}
	f->line.length = 0;
	tl_text_add(&f->line, line.text, stack_length);
	tl_text_add(&f->line, "", 1);
	if (f->line.failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	ret = cut_frames(f, stack_length, &count, err);
	if (ret == TL_READ_SKIPPED)
		tl_fail_line(err, TL_FORMAT, line.number, "stack of more than %d frames",
			     FRAMES_MAX);
	if (ret != TL_OK)
		return ret;
	if (!(f->want & TL_WANT_SAMPLES) || !period)
		return TL_READ_MORE;
	ret = emit_stack(f, count, period, sink, err);
	return ret < 0 ? ret : TL_READ_MORE;
}

static int folded_open(void **state, struct tl_input *in, const struct tl_import_options *opt,
		       struct tl_error *err)
{
	struct folded *f = tl_alloc(1, sizeof(*f), err);

	*state = f;
	if (!f)
		return TL_NOMEM;
	f->in = in;
	f->want = opt && opt->want ? opt->want : TL_WANT_ALL;
	return TL_OK;
}

static void folded_close(void *state)
{
	struct folded *f = state;

	if (!f)
		return;
	free(f->frames);
	free(f->texts);
	tl_text_release(&f->line);
	free(f);
}

const struct tl_importer folded_importer = {
	.name = "folded",
	.summary = "folded stacks of py-spy (raw), text",
	.probe = folded_probe,
	.open = folded_open,
	.read = folded_read,
	.close = folded_close,
};
