/*
 * collapse_diff.c - prints two folds as one, in the columns of difffolded.pl. Means per step are not
 * scaled to equal sums: that would hide what grew.
 */
#include "collapse_diff.h"

#include <inttypes.h>
#include <string.h>

static bool is_time(const char *unit)
{
	return !strcmp(unit, "ns") || !strcmp(unit, "us");
}

static void print_mean(FILE *out, uint64_t weight, const struct collapse_side *side)
{
	double mean = (double)weight / (double)(side->step_count ? side->step_count : 1);

	if (is_time(side->folded->unit))
		fprintf(out, " %.0f", mean);
	else
		fprintf(out, " %.3f", mean);
}

uint64_t collapse_print_diff(FILE *out, const struct collapse_side *before,
			     const struct collapse_side *after)
{
	const struct tl_folded *a = before->folded, *b = after->folded;
	uint64_t count = 0;

	/* both are in the order of their bytes */
	for (size_t i = 0, k = 0; i < a->line_count || k < b->line_count; count++) {
		int order = i == a->line_count	 ? 1
			    : k == b->line_count ? -1
						 : strcmp(a->lines[i].text, b->lines[k].text);

		fputs(order <= 0 ? a->lines[i].text : b->lines[k].text, out);
		print_mean(out, order <= 0 ? a->lines[i].weight : 0, before);
		print_mean(out, order >= 0 ? b->lines[k].weight : 0, after);
		fputc('\n', out);
		i += order <= 0;
		k += order >= 0;
	}
	return count;
}
