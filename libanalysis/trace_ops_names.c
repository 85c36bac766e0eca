/*
 * trace_ops_names.c - what the frames of folded spans are called: rows of a timeline, so that two streams
 * are told apart, and steps, so that one is like another. Knows no sums.
 */
#include "trace_ops_names.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- rows ---- */

static void trim(const char **text, size_t *length)
{
	while (*length && (*text)[*length - 1] == ' ')
		--*length;
	while (*length && **text == ' ') {
		++*text;
		--*length;
	}
}

/* "device 0 stream 7": kineto calls streams by their number only, on every device. */
static void write_device(struct tl_text *out, const struct tl_ops_row *row)
{
	const char *name = row->name;
	size_t length = row->name_length;

	trim(&name, &length);
	if (row->device >= 0)
		tl_text_printf(out, "device %lld", (long long)row->device);
	else
		tl_text_add(out, row->process, row->process_length);
	if (!length && row->stream < 0 && !row->key_tid_length)
		return;
	if (out->length)
		tl_text_puts(out, " ");
	if (length)
		tl_text_add(out, name, length);
	else if (row->stream >= 0)
		tl_text_printf(out, "stream %lld", (long long)row->stream);
	else
		tl_text_add(out, row->key_tid, row->key_tid_length);
}

/* "app-12/34" as threads are written elsewhere, or "process 12/34" */
static void write_keys(struct tl_text *out, const struct tl_ops_row *row)
{
	bool is_same = row->process_length == row->key_pid_length && row->key_pid_length &&
		       !memcmp(row->process, row->key_pid, row->key_pid_length);

	tl_text_add(out, row->process, row->process_length);
	if (!row->process_length)
		tl_text_puts(out, row->key_pid_length ? "process " : "row");
	if (row->key_pid_length && !is_same) {
		if (row->process_length)
			tl_text_puts(out, "-");
		tl_text_add(out, row->key_pid, row->key_pid_length);
	}
	if (row->is_async || !row->key_tid_length)
		return;
	tl_text_puts(out, "/");
	tl_text_add(out, row->key_tid, row->key_tid_length);
}

void tl_ops_row_text(struct tl_text *out, const struct tl_ops_row *row)
{
	if (row->is_device)
		write_device(out, row);
	else if (row->is_async)
		write_keys(out, row);
	else if (row->thread_length)
		tl_text_add(out, row->thread, row->thread_length);
	else if (row->name_length)
		tl_text_add(out, row->name, row->name_length);
	else if (row->tid >= 0)
		tl_text_printf(out, "thread %lld", (long long)row->tid);
	else
		write_keys(out, row);
}

/* ---- steps ---- */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_separator(char c)
{
	return c == ' ' || c == '#' || c == '_' || c == ':' || c == '=' || c == '-' || c == '.';
}

/* Does the text end in the word? In capitals it may follow small letters: ProfilerStep. */
static bool ends_with_word(const char *text, size_t length, const char *word)
{
	size_t size = strlen(word), at = length - size;

	return length >= size && !strncasecmp(text + at, word, size) &&
	       (!at || !is_letter(text[at - 1]) ||
		(text[at] >= 'A' && text[at] <= 'Z' && text[at - 1] >= 'a' && text[at - 1] <= 'z'));
}

size_t tl_ops_name_length(const char *name, size_t length)
{
	static const char *const words[] = { "step", "iteration", "iter" };
	size_t at = length;

	while (at && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	if (at == length)
		return length;
	while (at && is_separator(name[at - 1]))
		at--;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (ends_with_word(name, at, words[i]))
			return at;
	return length;
}

/* ---- what is asked for ---- */

int tl_ops_patterns_open(struct tl_ops_patterns *p, const char *thread, const char *const *excludes,
			 size_t exclude_count, struct tl_error *err)
{
	int ret = TL_OK;

	p->excludes = tl_alloc(exclude_count + 1, sizeof(*p->excludes), err);
	if (!p->excludes)
		return TL_NOMEM;
	if (thread) {
		ret = tl_pattern_compile(&p->thread, thread, false, err);
		p->has_thread = ret == TL_OK;
	}
	for (size_t i = 0; i < exclude_count && ret == TL_OK; i++) {
		ret = tl_pattern_compile(&p->excludes[i], excludes[i], false, err);
		p->exclude_count += ret == TL_OK;
	}
	return ret;
}

void tl_ops_patterns_release(struct tl_ops_patterns *p)
{
	for (size_t i = 0; i < p->exclude_count; i++)
		regfree(&p->excludes[i]);
	free(p->excludes);
	if (p->has_thread)
		regfree(&p->thread);
}

bool tl_ops_is_wanted(const struct tl_ops_patterns *p, const char *row)
{
	return !p->has_thread || !regexec(&p->thread, row, 0, NULL, 0);
}

bool tl_ops_is_excluded(const struct tl_ops_patterns *p, const char *frame)
{
	for (size_t i = 0; i < p->exclude_count; i++)
		if (!regexec(&p->excludes[i], frame, 0, NULL, 0))
			return true;
	return false;
}
