/*
 * source_ranks.c - which ranks of a job a case tells of: those of its sources, and those that lines of a
 * log name.
 */
#include "source_ranks.h"

#include <string.h>

#include "memory.h"
#include "store.h"

#define TOLD_MAX 8 /* stretches of ranks in a message */

/* "0-3, 6" of the ranks in order. */
static void add_stretch(struct tl_text *text, int64_t first, int64_t last, size_t index)
{
	if (index > TOLD_MAX)
		return;
	tl_text_puts(text, index ? ", " : "");
	if (index == TOLD_MAX)
		tl_text_puts(text, "...");
	else if (first == last)
		tl_text_printf(text, "%lld", (long long)first);
	else
		tl_text_printf(text, "%lld-%lld", (long long)first, (long long)last);
}

static int list(struct tl_store *store, int64_t rank, struct tl_text *text, bool *is_known,
		struct tl_error *err)
{
	int64_t first = 0, last = -2;
	size_t count = 0;
	struct tl_statement *st;
	int ret = tl_statement_open(&st, store,
				    "SELECT rank FROM source WHERE rank IS NOT NULL UNION SELECT "
				    "rank FROM step_mark WHERE rank IS NOT NULL ORDER BY rank",
				    "rank", err);

	*is_known = false;
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int64_t next = tl_column_i64(st, 0);

		*is_known |= next == rank;
		if (next != last + 1) {
			if (last >= 0)
				add_stretch(text, first, last, count++);
			first = next;
		}
		last = next;
	}
	tl_statement_close(st);
	if (ret == TL_OK && last >= 0)
		add_stretch(text, first, last, count);
	return ret;
}

int tl_need_rank(struct tl_store *store, int64_t rank, struct tl_error *err)
{
	struct tl_text ranks = { 0 };
	bool is_known;
	int ret = list(store, rank, &ranks, &is_known, err);

	if (ret == TL_OK && !is_known && !ranks.length)
		ret = tl_fail(err, TL_NOTHING,
			      "nothing in the case says what rank it is of: leave --rank out, or "
			      "import it with --rank");
	else if (ret == TL_OK && !is_known)
		ret = tl_fail(err, TL_NOTHING, "nothing is of rank %lld: the case has rank%s %s",
			      (long long)rank, strpbrk(ranks.data, ",-") ? "s" : "", ranks.data);
	tl_text_release(&ranks);
	return ret;
}
