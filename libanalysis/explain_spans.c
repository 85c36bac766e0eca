/*
 * explain_spans.c - the innermost of nested spans, as time goes on. Declared in explain_parts.h; the
 * same rule as tl_partition's: latest start, then earliest end, then last in the array.
 */
#include "explain_parts.h"

#include <stdlib.h>

int tl_span_at(struct tl_span_cursor *c, int64_t ns, uint32_t *label, int64_t *until_ns,
	       struct tl_error *err)
{
	while (c->next < c->count && c->spans[c->next].begin_ns <= ns) {
		if (c->spans[c->next].end_ns > ns) {
			int ret = tl_grow(&c->open, &c->open_capacity, c->open_count + 1, err);

			if (ret < 0)
				return ret;
			c->open[c->open_count++] = c->next;
		}
		c->next++;
	}
	/* those below that ended meanwhile are met when they become the innermost */
	while (c->open_count && c->spans[c->open[c->open_count - 1]].end_ns <= ns)
		c->open_count--;
	*label = TL_SPAN_NONE;
	*until_ns = c->next < c->count ? c->spans[c->next].begin_ns : INT64_MAX;
	if (c->open_count) {
		const struct tl_span *top = &c->spans[c->open[c->open_count - 1]];

		*label = top->label;
		*until_ns = top->end_ns < *until_ns ? top->end_ns : *until_ns;
	}
	return TL_OK;
}

void tl_span_release(struct tl_span_cursor *c)
{
	free(c->open);
	c->open = NULL;
	c->open_count = c->open_capacity = 0;
}
