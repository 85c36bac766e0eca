/*
 * folded_text.c - native names that every reader of folded text takes as they are meant, and the
 * text of `perf script`, from which the compat rules of folded_perl.c and folded_inferno.c work.
 */
#include "folded_text.h"

#include <stdlib.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/*
 * Bytes of the longest beginning of a valid sequence, at least 1: what decoders that follow the
 * Unicode standard replace by one U+FFFD.
 */
static size_t broken_length(const unsigned char *p, size_t len)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t need;

	if (p[0] >= 0xc2 && p[0] < 0xe0)
		need = 2;
	else if (p[0] >= 0xe0 && p[0] < 0xf0)
		need = 3;
	else if (p[0] >= 0xf0 && p[0] < 0xf5)
		need = 4;
	else
		return 1;
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	for (size_t i = 1; i < need; i++) {
		if (i == len || p[i] < low || p[i] > high)
			return i;
		low = 0x80;
		high = 0xbf;
	}
	return need;
}

void tl_folded_utf8(struct tl_text *out, const char *text, size_t len)
{
	size_t plain = 0, at = 0;

	while (at < len) {
		size_t n = tl_utf8_length(text + at, len - at);

		if (n) {
			at += n;
			continue;
		}
		tl_text_add(out, text + plain, at - plain);
		tl_text_add(out, REPLACEMENT, 3);
		at += broken_length((const unsigned char *)text + at, len - at);
		plain = at;
	}
	tl_text_add(out, text + plain, len - plain);
}

/* ---- native ---- */

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/*
 * What one character becomes; NULL: it stays. Controls (C0, DEL, C1) and the separators U+2028 and
 * U+2029, which end a line for JavaScript, break readers or their XML; so do the non-characters
 * U+FFFE and U+FFFF.
 */
static const char *safe_character(const unsigned char *p, size_t n, bool is_root)
{
	if (!n)
		return REPLACEMENT;
	if (n == 1 && *p == ';')
		return ":";
	if (n == 1 && is_root && is_blank((char)*p))
		return "_";
	if ((n == 1 && (*p < 0x20 || *p == 0x7f)) || (n == 2 && p[0] == 0xc2 && p[1] < 0xa0))
		return "?";
	if (n == 3 && p[0] == 0xe2 && p[1] == 0x80 && (p[2] == 0xa8 || p[2] == 0xa9))
		return "?";
	if (n == 3 && p[0] == 0xef && p[1] == 0xbf && p[2] >= 0xbe)
		return REPLACEMENT;
	return NULL;
}

static void add_safe(struct tl_text *out, const char *text, size_t len, bool is_root)
{
	size_t plain = 0, at = 0;

	while (at < len) {
		const unsigned char *p = (const unsigned char *)text + at;
		size_t n = tl_utf8_length(text + at, len - at);
		const char *instead = safe_character(p, n, is_root);

		if (!instead) {
			at += n;
			continue;
		}
		tl_text_add(out, text + plain, at - plain);
		tl_text_puts(out, instead);
		at += n ? n : broken_length(p, len - at);
		plain = at;
	}
	tl_text_add(out, text + plain, len - plain);
}

void tl_native_plain(struct tl_text *out, const char *text, size_t len)
{
	if (!len)
		tl_text_puts(out, "[empty]");
	else
		add_safe(out, text, len, false);
}

void tl_native_root(struct tl_text *out, const struct tl_folded_rules *rules,
		    const struct tl_folded_sample *sample)
{
	if (!sample->comm_length)
		tl_text_puts(out, "[empty]");
	else
		add_safe(out, sample->comm, sample->comm_length, true);
	if (rules->root == TL_ROOT_TID)
		tl_text_printf(out, "-%d/%d", sample->pid, sample->tid);
	else if (rules->root == TL_ROOT_PID)
		tl_text_printf(out, "-%d", sample->pid);
}

static bool ends_with(const char *text, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && !memcmp(text + len - n, end, n);
}

/* Kernel text by the name of its binary: "[kernel.kallsyms]", "[nf_conntrack]", vmlinux, x.ko. */
static bool is_kernel_binary(const char *dso)
{
	static const char *const user[] = { "[unknown]", "[vdso]", "[heap]", "[stack]",
					    "[vsyscall]" };

	if (dso[0] == '[') {
		for (size_t i = 0; i < sizeof(user) / sizeof(*user); i++)
			if (!strcmp(dso, user[i]))
				return false;
		return true;
	}
	return ends_with(dso, strlen(dso), ".ko") || strstr(dso, "vmlinux");
}

/* "/tmp/perf-<digits>.map" anywhere. */
static bool is_perf_map(const char *dso)
{
	static const char before[] = "/tmp/perf-";

	for (const char *p = dso; (p = strstr(p, before)); p++) {
		const char *digits = p + sizeof(before) - 1;
		size_t n = strspn(digits, "0123456789");

		if (n && !strncmp(digits + n, ".map", 4))
			return true;
	}
	return false;
}

/* "jitted-<digits>-... .so" anywhere: an image that was made of a jitdump. */
static bool is_jit_image(const char *dso)
{
	static const char before[] = "jitted-";

	for (const char *p = dso; (p = strstr(p, before)); p++) {
		const char *digits = p + sizeof(before) - 1;
		size_t n = strspn(digits, "0123456789");

		if (n && digits[n] == '-' && strstr(digits + n + 1, ".so"))
			return true;
	}
	return false;
}

/* A frame without a name is called by its binary: "[libc.so.6]", "[unknown]". */
static void add_unnamed(struct tl_text *out, const struct tl_folded_rules *rules,
			const struct tl_folded_frame *frame)
{
	const char *dso = frame->dso, *slash;
	size_t len;

	if (!dso || !strcmp(dso, "[unknown]"))
		dso = "unknown";
	len = strlen(dso);
	if (ends_with(dso, len, " (deleted)"))
		len -= strlen(" (deleted)");
	slash = memrchr(dso, '/', len);
	if (slash) {
		len -= (size_t)(slash + 1 - dso);
		dso = slash + 1;
	}
	tl_text_puts(out, "[");
	add_safe(out, dso, len, false);
	if (rules->show_addresses)
		tl_text_printf(out, " <%llx>", (unsigned long long)frame->address);
	tl_text_puts(out, "]");
}

void tl_native_frame(struct tl_text *out, const struct tl_folded_rules *rules,
		     const struct tl_folded_frame *frame)
{
	const char *dso = frame->dso ? frame->dso : "[unknown]";

	if (!frame->symbol || !strcmp(frame->symbol, "[unknown]"))
		add_unnamed(out, rules, frame);
	else
		tl_native_plain(out, frame->symbol, strlen(frame->symbol));
	if (rules->annotate_kernel && is_kernel_binary(dso))
		tl_text_puts(out, "_[k]");
	else if (rules->annotate_jit && (is_perf_map(dso) || is_jit_image(dso)))
		tl_text_puts(out, "_[j]");
}

static size_t before_digits(const char *line, size_t at)
{
	while (at && line[at - 1] >= '0' && line[at - 1] <= '9')
		at--;
	return at;
}

void tl_native_guard(char *line, size_t len)
{
	size_t number = before_digits(line, len);

	if (number && line[number - 1] == '.') {
		size_t whole = before_digits(line, number - 1);

		if (whole == number - 1)
			return;
		number = whole;
	}
	if (number && number < len && line[number - 1] == ' ')
		line[number - 1] = '_';
}

/* ---- what perf script prints ---- */

/* "comm pid/tid ": what stands before cpu and time. */
void tl_folded_script_ids(struct tl_text *out, enum tl_fold_compat compat,
			  const struct tl_folded_sample *s)
{
	/* only events without call chains have their names in columns */
	for (size_t i = s->comm_length; !s->has_callchain && i < 16; i++)
		tl_text_add(out, " ", 1);
	tl_text_add(out, s->comm, s->comm_length);
	if (compat == TL_COMPAT_PERL_TRACE)
		tl_text_printf(out, " %5d ", s->tid);
	else
		tl_text_printf(out, " %5d/%-5d ", s->pid, s->tid);
}

void tl_script_head(struct tl_text *out, enum tl_fold_compat compat,
		    const struct tl_folded_sample *s)
{
	unsigned long long seconds = (uint64_t)s->time_ns / 1000000000u,
			   ns = (uint64_t)s->time_ns % 1000000000u;
	bool is_plain = compat == TL_COMPAT_PERL_TRACE;

	tl_folded_script_ids(out, compat, s);
	if (is_plain && s->cpu >= 0)
		tl_text_printf(out, "[%03d] ", s->cpu);
	if (is_plain)
		tl_text_printf(out, "%5llu.%06llu: ", seconds, ns / 1000);
	else
		tl_text_printf(out, "%5llu.%09llu: ", seconds, ns);
	if (!is_plain || !s->has_trace)
		tl_text_printf(out, "%10llu ", (unsigned long long)s->period);
	tl_text_printf(out, "%*s: ", (int)s->event_width, s->event);
}

void tl_script_frame(struct tl_text *out, enum tl_fold_compat compat, bool has_callchain,
		     const struct tl_folded_frame *f)
{
	tl_text_printf(out, "%s%16llx ", has_callchain ? "\t" : " ",
		       (unsigned long long)f->address);
	tl_text_puts(out, f->symbol ? f->symbol : "[unknown]");
	if (compat == TL_COMPAT_PERL_TRACE && f->symbol && f->has_offset)
		tl_text_printf(out, "+0x%llx", (unsigned long long)f->offset);
	tl_text_puts(out, " (");
	tl_text_puts(out, f->dso ? f->dso : "[unknown]");
	tl_text_puts(out, ")");
}

/* ---- compat ---- */

enum tl_folded_head tl_compat_head(const struct tl_folded_rules *rules, const char *filter,
				   const struct tl_folded_sample *sample, struct tl_text *root,
				   bool *uses_period)
{
	if (memchr(sample->comm, '\n', sample->comm_length))
		return TL_HEAD_PER_SAMPLE;
	if (rules->compat == TL_COMPAT_INFERNO)
		return tl_inferno_head(rules, filter, sample, root, uses_period);
	return tl_perl_head(rules, filter, sample, root, uses_period);
}

bool tl_compat_frame(struct tl_text *out, const struct tl_folded_rules *rules,
		     const struct tl_folded_sample *sample, const struct tl_folded_frame *frame,
		     bool is_java)
{
	struct tl_text line = { 0 };
	bool is_kept = false;

	tl_script_frame(&line, rules->compat, sample->has_callchain, frame);
	if (line.failed)
		out->failed = true;
	else if (rules->compat == TL_COMPAT_INFERNO)
		is_kept = tl_inferno_frame(out, rules, line.data, line.length, is_java);
	else
		is_kept = tl_perl_frame(out, rules, line.data, line.length, is_java);
	tl_text_release(&line);
	return is_kept;
}

bool tl_compat_filter(const struct tl_folded_rules *rules, const struct tl_folded_sample *sample,
		      struct tl_text *filter)
{
	struct tl_text line = { 0 };
	bool is_found = false;

	tl_script_head(&line, rules->compat, sample);
	if (rules->compat == TL_COMPAT_PERL_TRACE && sample->has_trace)
		tl_text_puts(&line, "..."); /* the fields, whatever they are */
	if (line.failed)
		filter->failed = true;
	else if (rules->compat == TL_COMPAT_INFERNO)
		is_found = tl_inferno_filter(line.data, line.length, filter);
	else
		is_found = tl_perl_filter(line.data, line.length, filter);
	tl_text_release(&line);
	return is_found;
}

int tl_folded_read_line(struct tl_folded_reader *reader, const char *line, size_t len,
			struct tl_error *err)
{
	int ret;

	if (reader->rules.compat == TL_COMPAT_INFERNO)
		ret = tl_inferno_read_line(reader, line, len, err);
	else
		ret = tl_perl_read_line(reader, line, len, err);
	if (ret == TL_OK && (reader->filter.failed || reader->root.failed ||
			     reader->frames.failed || reader->scratch.failed))
		return tl_fail(err, TL_NOMEM, "out of memory while folding a stack");
	return ret;
}

int tl_folded_read_end(struct tl_folded_reader *reader, struct tl_error *err)
{
	/* the Perl loses a last stack that no empty line ends */
	if (reader->rules.compat != TL_COMPAT_INFERNO || !reader->end_count)
		return TL_OK;
	return tl_folded_reader_flush(reader, err);
}

int tl_folded_reader_mark(struct tl_folded_reader *reader, struct tl_error *err)
{
	int ret = tl_grow(&reader->ends, &reader->end_capacity, reader->end_count + 1, err);

	if (ret == TL_OK)
		reader->ends[reader->end_count++] = reader->frames.length;
	return ret;
}

/* Hands the stack over, outermost frame first, and forgets it. */
int tl_folded_reader_flush(struct tl_folded_reader *reader, struct tl_error *err)
{
	struct tl_text *line = &reader->scratch;

	line->length = 0;
	tl_text_add(line, reader->root.data, reader->root.length);
	for (size_t i = reader->end_count; i-- > 0;) {
		size_t begin = i ? reader->ends[i - 1] : 0;

		tl_text_add(line, ";", 1);
		tl_text_add(line, reader->frames.data + begin, reader->ends[i] - begin);
	}
	reader->end_count = 0;
	reader->frames.length = 0;
	if (line->failed || reader->frames.failed || reader->root.failed)
		return tl_fail(err, TL_NOMEM, "out of memory while folding a stack");
	return reader->emit(line->data, line->length, reader->weight, reader->payload, err);
}

void tl_folded_reader_release(struct tl_folded_reader *reader)
{
	tl_text_release(&reader->filter);
	tl_text_release(&reader->root);
	tl_text_release(&reader->frames);
	tl_text_release(&reader->scratch);
	free(reader->ends);
	memset(reader, 0, sizeof(*reader));
}
