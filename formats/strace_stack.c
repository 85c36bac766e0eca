/*
 * strace_stack.c - stacks (strace -k, ltrace -w) follow the line of their call: the call is held
 * back until they have been read. A log that has no stacks is soon known as such, and its calls
 * are no longer held.
 */
#include <stdlib.h>

#include "reader.h"
#include "strace_log.h"

#define DECIDE_CALLS 512u /* a log with stacks has one by then */
#define FRAMES_MAX   1024u
#define TEXT_MAX     (1u << 20)

struct frame {
	uint64_t address, offset;
	size_t symbol, dso, source; /* where in text; SIZE_MAX: none */
	bool has_offset;
};

struct strace_held {
	bool has_stacks, is_holding;
	uint64_t seen;
	struct tl_event event;
	struct tl_text text; /* of the event's spans, then of the frames: terminated each */
	size_t spans[5];     /* where in text; SIZE_MAX: none */
	struct frame *frames;
	size_t frame_count, frame_capacity;
	struct tl_frame *out;
	struct tl_frame_text *out_texts;
	size_t out_capacity, out_texts_capacity;
};

int strace_hold_open(struct strace_held **out, struct tl_error *err)
{
	*out = tl_alloc(1, sizeof(**out), err);
	return *out ? TL_OK : TL_NOMEM;
}

void strace_hold_close(struct strace_held *h)
{
	if (!h)
		return;
	tl_text_release(&h->text);
	free(h->frames);
	free(h->out);
	free(h->out_texts);
	free(h);
}

/* ---- holding --------------------------------------------------------------------------------- */

/* Copies a span and a NUL; returns where. */
static size_t keep(struct strace_held *h, const char *text, size_t len)
{
	size_t at = h->text.length;

	if (!text)
		return SIZE_MAX;
	tl_text_add(&h->text, text, len);
	tl_text_add(&h->text, "", 1);
	return at;
}

static const char *kept(const struct strace_held *h, size_t at)
{
	return at == SIZE_MAX ? NULL : h->text.data + at;
}

static int hold(struct strace_held *h, const struct tl_event *ev, struct tl_error *err)
{
	const struct tl_event_syscall *c = &ev->syscall;

	h->text.length = 0;
	h->frame_count = 0;
	h->event = *ev;
	h->spans[0] = keep(h, c->name, c->name_length);
	h->spans[1] = keep(h, c->arguments, c->arguments_length);
	h->spans[2] = keep(h, c->error, c->error_length);
	h->spans[3] = keep(h, c->operation, c->operation_length);
	h->spans[4] = keep(h, c->path, c->path_length);
	if (h->text.failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	h->is_holding = true;
	return TL_OK;
}

int strace_hold_flush(struct strace_log *log, struct tl_error *err)
{
	struct strace_held *h = log->held;
	struct tl_event_syscall *c = &h->event.syscall;
	int ret;

	if (!h->is_holding)
		return TL_OK;
	h->is_holding = false;
	ret = tl_grow(&h->out, &h->out_capacity, h->frame_count, err);
	if (ret == TL_OK)
		ret = tl_grow(&h->out_texts, &h->out_texts_capacity, h->frame_count, err);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < h->frame_count; i++) {
		const struct frame *f = &h->frames[i];

		h->out[i] = (struct tl_frame) { .ip = f->address, .context = TL_CONTEXT_USER };
		h->out_texts[i] = (struct tl_frame_text) { .symbol = kept(h, f->symbol),
							   .dso = kept(h, f->dso),
							   .source_line = kept(h, f->source),
							   .has_symbol_offset = f->has_offset,
							   .symbol_offset = f->offset };
	}
	c->name = kept(h, h->spans[0]);
	c->arguments = kept(h, h->spans[1]);
	c->error = kept(h, h->spans[2]);
	c->operation = kept(h, h->spans[3]);
	c->path = kept(h, h->spans[4]);
	c->frames = h->out;
	c->texts = h->out_texts;
	c->frame_count = h->frame_count;
	return log->sink->emit(log->sink, &h->event, err);
}

int strace_hold(struct strace_log *log, const struct tl_event *ev, struct tl_error *err)
{
	struct strace_held *h = log->held;
	int ret = strace_hold_flush(log, err);

	if (ret < 0)
		return ret;
	if (!h->has_stacks && h->seen >= DECIDE_CALLS)
		return log->sink->emit(log->sink, ev, err);
	h->seen++;
	return hold(h, ev, err);
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* "symbol+0x13" inside the brackets behind the binary */
static void split_symbol(struct strace_held *h, const char *text, size_t len, struct frame *f)
{
	const char *plus = len ? memrchr(text, '+', len) : NULL;
	size_t digits = plus ? (size_t)(text + len - plus) - 1 : 0;

	if (digits > 2 && plus[1] == '0' && plus[2] == 'x' &&
	    tl_parse_u64(plus + 3, digits - 2, 16, &f->offset) == digits - 2) {
		f->has_offset = true;
		len = (size_t)(plus - text);
	}
	if (len)
		f->symbol = keep(h, text, len);
}

/* Splits "path(symbol+0x13) [0x1019b3] file.c:12"; false if it is none. */
static bool split_frame(struct strace_held *h, const char *text, size_t len, struct frame *f)
{
	const char *open = NULL, *close = text, *bracket, *end = text + len;
	size_t used;

	for (bracket = end; bracket > text; bracket--) {
		bool has_0x = end - bracket > 2 && bracket[0] == '0' && bracket[1] == 'x';

		if (bracket[-1] != '[')
			continue;
		used = tl_parse_u64(bracket + (has_0x ? 2 : 0),
				    (size_t)(end - bracket) - (has_0x ? 2 : 0), 16, &f->address);
		close = bracket + (has_0x ? 2 : 0) + used;
		if (used && close < end && *close == ']')
			break;
	}
	if (bracket == text)
		return false;
	if (end - close > 2 && close[1] == ' ')
		f->source = keep(h, close + 2, (size_t)(end - close) - 2);
	for (bracket--; bracket > text && bracket[-1] == ' ';)
		bracket--;
	if (bracket > text && bracket[-1] == ')')
		open = memchr(text, '(', (size_t)(bracket - text));
	if (open)
		split_symbol(h, open + 1, (size_t)(bracket - open) - 2, f);
	f->dso = keep(h, text, (size_t)((open ? open : bracket) - text));
	return true;
}

int strace_hold_frame(struct strace_log *log, const char *text, size_t len, struct tl_error *err)
{
	struct strace_held *h = log->held;
	struct frame frame = { .symbol = SIZE_MAX, .dso = SIZE_MAX, .source = SIZE_MAX };
	int ret;

	h->has_stacks = true;
	if (!h->is_holding) /* of a signal or an exit: there is no call to give it to */
		return TL_OK;
	if (h->frame_count == FRAMES_MAX || len > 65536 || h->text.length > TEXT_MAX ||
	    !split_frame(h, text, len, &frame)) {
		strace_note(log, STRACE_BAD_STACK);
		return TL_OK;
	}
	if (h->text.failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	ret = tl_grow(&h->frames, &h->frame_capacity, h->frame_count + 1, err);
	if (ret == TL_OK)
		h->frames[h->frame_count++] = frame;
	return ret;
}
