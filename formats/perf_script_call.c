/*
 * perf_script_call.c - the text of tracepoints that are hit when a system call begins or ends, as the
 * fields that a recording of them has: number, arguments and result.
 *
 * Knows the print formats of the kernel's trace/events/syscalls.h and trace_syscalls.c.
 */
#include <string.h>

#include "perf_script.h"
#include "reader.h"

#define ARGUMENTS_MAX 6u

static bool begins_with(struct perf_span s, size_t at, const char *word)
{
	size_t n = strlen(word);

	return s.length >= at && s.length - at >= n && memcmp(s.text + at, word, n) == 0;
}

/* "257", "-1"; returns where it ends, 0 if it is none. */
static size_t signed_number(struct perf_span s, size_t at, int64_t *value)
{
	bool is_negative = begins_with(s, at, "-");
	uint64_t magnitude;
	size_t used;

	at += is_negative;
	used = at < s.length ? tl_parse_u64(s.text + at, s.length - at, 10, &magnitude) : 0;
	if (used == 0 || magnitude > INT64_MAX)
		return 0;
	*value = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
	return at + used;
}

static void add_signed(struct tl_text *out, int64_t value)
{
	if (value < 0)
		tl_text_add(out, "-", 1);
	tl_text_u64(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

static void begin_json(struct perf_span text, struct tl_text *out)
{
	out->length = 0;
	tl_text_puts(out, "{\"text\":");
	tl_text_json(out, text.text, text.length);
}

/* "NR 257 (ffffff9c, 7fcacef7b0b1, 80000, 0, 0, 558999f387c6)" */
static bool raw_enter(struct perf_span text, struct tl_text *out)
{
	uint64_t arguments[ARGUMENTS_MAX];
	unsigned count = 0;
	int64_t number;
	size_t at = begins_with(text, 0, "NR ") ? signed_number(text, 3, &number) : 0;

	if (!at || !begins_with(text, at, " ("))
		return false;
	at += 2;
	while (count < ARGUMENTS_MAX && at < text.length) {
		size_t used = tl_parse_u64(text.text + at, text.length - at, 16, &arguments[count]);

		if (used == 0)
			return false;
		count++;
		at += used;
		if (begins_with(text, at, ")"))
			break;
		if (!begins_with(text, at, ", "))
			return false;
		at += 2;
	}
	begin_json(text, out);
	tl_text_puts(out, ",\"id\":");
	add_signed(out, number);
	tl_text_puts(out, ",\"args\":[");
	for (unsigned i = 0; i < count; i++) {
		if (i)
			tl_text_add(out, ",", 1);
		tl_text_u64(out, arguments[i]);
	}
	tl_text_puts(out, "]}");
	return true;
}

/* "NR 257 = -2" */
static bool raw_exit(struct perf_span text, struct tl_text *out)
{
	int64_t number, result;
	size_t at = begins_with(text, 0, "NR ") ? signed_number(text, 3, &number) : 0;

	if (!at || !begins_with(text, at, " = ") || !signed_number(text, at + 3, &result))
		return false;
	begin_json(text, out);
	tl_text_puts(out, ",\"id\":");
	add_signed(out, number);
	tl_text_puts(out, ",\"ret\":");
	add_signed(out, result);
	tl_text_add(out, "}", 1);
	return true;
}

static size_t key_length(struct perf_span text, size_t at)
{
	size_t from = at;

	while (at < text.length &&
	       (text.text[at] == '_' || (text.text[at] >= 'a' && text.text[at] <= 'z') ||
		(text.text[at] >= 'A' && text.text[at] <= 'Z') ||
		(at > from && text.text[at] >= '0' && text.text[at] <= '9')))
		at++;
	return at - from;
}

/* "dfd: 0xffffff9c, filename: 0x7fcacef7b0b1, flags: 0x00080000": strings may follow a pointer */
static bool named_enter(struct perf_span text, struct tl_text *out)
{
	size_t at = 0;

	begin_json(text, out);
	for (unsigned i = 0; i < ARGUMENTS_MAX && at < text.length; i++) {
		struct perf_span key = { text.text + at, key_length(text, at) };
		const char *comma;
		uint64_t value;
		size_t used;

		at += key.length;
		if (!key.length || perf_span_is(key, "text") || !begins_with(text, at, ": 0x"))
			return false;
		at += 4;
		used = tl_parse_u64(text.text + at, text.length - at, 16, &value);
		if (!used)
			return false;
		tl_text_add(out, ",", 1);
		tl_text_json(out, key.text, key.length);
		tl_text_add(out, ":", 1);
		tl_text_u64(out, value);
		at += used;
		if (at < text.length && !begins_with(text, at, ", "))
			break; /* a string, which may hold anything */
		comma = memchr(text.text + at, ',', text.length - at);
		at = comma ? (size_t)(comma + 2 - text.text) : text.length;
	}
	tl_text_add(out, "}", 1);
	return true;
}

/* "0x3", "0xfffffffffffffffe" */
static bool named_exit(struct perf_span text, struct tl_text *out)
{
	uint64_t value;

	if (!begins_with(text, 0, "0x") ||
	    tl_parse_u64(text.text + 2, text.length - 2, 16, &value) != text.length - 2)
		return false;
	begin_json(text, out);
	tl_text_puts(out, ",\"ret\":");
	add_signed(out, (int64_t)value);
	tl_text_add(out, "}", 1);
	return true;
}

bool perf_script_call_json(const char *event, struct perf_span text, struct tl_text *out)
{
	static const struct {
		const char *name;
		bool (*read)(struct perf_span text, struct tl_text *out);
	} events[] = {
		{ "raw_syscalls:sys_enter", raw_enter },
		{ "raw_syscalls:sys_exit", raw_exit },
		{ "syscalls:sys_enter_", named_enter },
		{ "syscalls:sys_exit_", named_exit },
	};

	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		if (!strncmp(event, events[i].name, strlen(events[i].name)))
			return events[i].read(text, out);
	return false;
}
