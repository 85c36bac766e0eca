/*
 * explain_answer.h - private: an answer of tl_explain while it is made, shared by the files that
 * compare (explain_compare.c), list functions (explain_detail.c), follow wakers
 * (explain_wakers.c) and put it in words (explain_words.c).
 */
#ifndef TL_EXPLAIN_ANSWER_H
#define TL_EXPLAIN_ANSWER_H

#include "explain_parts.h"

struct tl_explaining {
	struct tl_store *store;
	struct tl_step_view view;
	struct tl_parts parts;
	struct tl_explain *out;
	struct tl_arena *arena; /* of the answer */
	size_t *good, *slow;	/* numbers of steps */
	size_t good_count, slow_count;
	double *wall; /* per step, ns */
	size_t note_capacity;
};

/* One list to compare: values[category][step]. */
struct tl_category {
	const double *values;
	const char *cause, *state, *name, *text;
};

/* explain_compare.c: largest difference first; *out lives as long as the answer (free it) */
int tl_explain_compare(struct tl_explaining *e, const struct tl_category *categories, size_t count,
		       struct tl_explain_part **out, size_t *out_count, struct tl_error *err);

/* Time of which the recording says nothing: it is told, but names no cause. */
bool tl_explain_is_unseen(const struct tl_explain_part *part);

/* explain_detail.c */
int tl_explain_functions(struct tl_explaining *e, struct tl_error *err);
int tl_explain_operators(struct tl_explaining *e, struct tl_error *err);

/* explain_wakers.c */
int tl_explain_wakers(struct tl_explaining *e, struct tl_error *err);

/* explain_words.c */
int tl_explain_part_text(struct tl_explaining *e, const struct tl_part *part, const char **text,
			 struct tl_error *err);
int tl_explain_notes(struct tl_explaining *e, struct tl_error *err);
int tl_explain_verdict(struct tl_explaining *e, struct tl_error *err);
/* Appends "12.3 ms". */
void tl_explain_put_ns(struct tl_text *text, double ns);
const char *tl_explain_keep(struct tl_explaining *e, struct tl_text *text, struct tl_error *err);

#endif
