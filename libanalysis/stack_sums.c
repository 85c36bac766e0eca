/*
 * stack_sums.c - sums per distinct line, and the lines they become. Knows no table of a case.
 */
#include "stacks.h"

#include <stdlib.h>
#include <string.h>

int tl_fold_add(struct tl_fold *fold, const struct tl_fold_sum *key, uint64_t weight,
		struct tl_error *err)
{
	uint64_t hash = tl_hash_u64((uint64_t)key->root << 32 | key->node,
				    (uint64_t)key->waker << 32 | key->waker_node);
	struct tl_fold_sum *sum;
	size_t probe = 0;
	int64_t found;
	int ret;

	hash += key->state;
	while ((found = tl_index_find(&fold->sum_index, hash, &probe)) >= 0) {
		sum = &fold->sums[found];
		if (sum->root == key->root && sum->node == key->node && sum->waker == key->waker &&
		    sum->waker_node == key->waker_node && sum->state == key->state) {
			if (__builtin_add_overflow(sum->weight, weight, &sum->weight))
				sum->weight = UINT64_MAX;
			return TL_OK;
		}
	}
	ret = tl_grow(&fold->sums, &fold->sum_capacity, fold->sum_count + 1, err);
	if (ret == TL_OK)
		ret = tl_index_add(&fold->sum_index, hash, (uint32_t)fold->sum_count, err);
	if (ret < 0)
		return ret;
	fold->sums[fold->sum_count] = *key;
	fold->sums[fold->sum_count++].weight = weight;
	return TL_OK;
}

static void add_root_text(const struct tl_fold *fold, uint32_t root, struct tl_text *out)
{
	tl_text_add(out, fold->roots.strings[root].text, fold->roots.strings[root].length);
}

/* "root;outer;inner", "...;[S]", "...;--;inner_[w];outer_[w];waker_[w]" */
static void write_line(const struct tl_fold *fold, const struct tl_fold_sum *sum,
		       struct tl_text *out)
{
	add_root_text(fold, sum->root, out);
	tl_tree_text(fold->tree, sum->node, out);
	if (sum->state) {
		tl_text_puts(out, ";");
		add_root_text(fold, sum->state - 1, out);
	}
	if (sum->waker) {
		tl_text_puts(out, ";--");
		tl_tree_waker_text(fold->tree, sum->waker_node, out);
		tl_text_puts(out, ";");
		add_root_text(fold, sum->waker - 1, out);
		tl_text_puts(out, "_[w]");
	}
	/* without a root the separator before the outermost frame is one too many */
	if (fold->opt->root == TL_ROOT_NONE && out->length && out->data[0] == ';')
		memmove(out->data, out->data + 1, out->length--);
	if (!out->length && fold->opt->compat == TL_COMPAT_NATIVE)
		tl_text_puts(out, "[no stack]");
	if (!out->failed && out->length && fold->opt->compat == TL_COMPAT_NATIVE)
		tl_native_guard(out->data, out->length);
}

/* Lines in the order of LC_ALL=C sort, their counts included. */
static int by_bytes(const void *left, const void *right)
{
	const struct tl_folded_line *a = left, *b = right;
	const char *p = a->text, *q = b->text;
	char rest_a[24] = "", rest_b[24] = "";

	while (*p && *p == *q) {
		p++;
		q++;
	}
	if (!*p) {
		snprintf(rest_a, sizeof(rest_a), " %llu", (unsigned long long)a->weight);
		p = rest_a;
	}
	if (!*q) {
		snprintf(rest_b, sizeof(rest_b), " %llu", (unsigned long long)b->weight);
		q = rest_b;
	}
	return strcmp(p, q);
}

static int by_text(const void *left, const void *right)
{
	const struct tl_folded_line *a = left, *b = right;

	return strcmp(a->text, b->text);
}

static int copy_lines(const struct tl_fold *fold, struct tl_folded *out, struct tl_error *err)
{
	size_t count = fold->sum_count + fold->lines.count;
	struct tl_text text = { 0 };
	int ret = TL_OK;

	out->lines = tl_alloc(count, sizeof(*out->lines), err);
	if (!out->lines)
		return TL_NOMEM;
	for (size_t i = 0; i < count && ret == TL_OK; i++) {
		struct tl_folded_line *line = &out->lines[i];

		text.length = 0;
		if (i < fold->sum_count) {
			write_line(fold, &fold->sums[i], &text);
			line->weight = fold->sums[i].weight;
		} else {
			const struct tl_interned *s = &fold->lines.strings[i - fold->sum_count];

			tl_text_add(&text, s->text, s->length);
			line->weight = fold->line_weights[i - fold->sum_count];
		}
		if (text.failed)
			ret = tl_fail(err, TL_NOMEM, "out of memory while writing lines");
		else if (!(line->text = tl_strdup_n(text.data ? text.data : "", text.length, err)))
			ret = TL_NOMEM;
		else
			out->line_count++;
	}
	tl_text_release(&text);
	return ret;
}

/* Equal lines become one; then what is too small goes. */
static void merge_lines(const struct tl_fold *fold, struct tl_folded *out)
{
	bool is_us = fold->opt->weight == TL_WEIGHT_US ||
		     (fold->opt->what != TL_FOLD_EVENT && fold->opt->weight == TL_WEIGHT_PERIOD);
	uint64_t unit = is_us ? 1000 : 1, min = fold->opt->min_weight;
	size_t kept = 0, count = 0;

	qsort(out->lines, out->line_count, sizeof(*out->lines), by_text);
	for (size_t i = 0; i < out->line_count; i++) {
		struct tl_folded_line *last = count ? &out->lines[count - 1] : NULL;

		if (!last || strcmp(last->text, out->lines[i].text) != 0) {
			out->lines[count++] = out->lines[i];
			continue;
		}
		if (__builtin_add_overflow(last->weight, out->lines[i].weight, &last->weight))
			last->weight = UINT64_MAX;
		free(out->lines[i].text);
	}
	/* every reader wants counts from 1 on; inferno itself writes 0 */
	if (!min && fold->opt->compat != TL_COMPAT_INFERNO)
		min = 1;
	for (size_t i = 0; i < count; i++) {
		struct tl_folded_line *line = &out->lines[i];

		line->weight /= unit;
		if (line->weight < min) {
			out->below_min_count++;
			free(line->text);
			continue;
		}
		out->total_weight += line->weight;
		out->lines[kept++] = *line;
	}
	out->line_count = kept;
	qsort(out->lines, kept, sizeof(*out->lines), by_bytes);
}

/* Makes the result of what was summed up so far, and starts anew. */
void tl_fold_forget(struct tl_fold *fold)
{
	fold->sum_count = 0;
	tl_index_release(&fold->sum_index);
	tl_interner_release(&fold->lines);
	fold->counts.sample_count = fold->counts.excluded_count = 0;
	fold->counts.excluded_thread_count = fold->counts.excluded_side_count = 0;
	fold->counts.excluded_frame_count = fold->counts.without_begin_count = 0;
	fold->counts.without_end_count = fold->counts.rule_lost_count = 0;
	fold->has_times = false;
}

int tl_fold_finish(struct tl_fold *fold, struct tl_folded *out, struct tl_error *err)
{
	int ret;

	*out = fold->counts;
	ret = copy_lines(fold, out, err);
	if (ret == TL_OK)
		merge_lines(fold, out);
	else
		tl_folded_release(out);
	tl_fold_forget(fold);
	return ret;
}

void tl_folded_release(struct tl_folded *folded)
{
	for (size_t i = 0; i < folded->line_count; i++)
		free(folded->lines[i].text);
	free(folded->lines);
	memset(folded, 0, sizeof(*folded));
}
