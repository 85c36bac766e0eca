/*
 * thp_calls.c - system calls that take mmap_lock: how long they took, and, where stacks do not name
 * what they waited for, how much longer than usual while a collapse held that lock.
 */
#include "thp.h"

#include <stdlib.h>
#include <string.h>

#include "stats.h"

#define USUAL_CALLS 10 /* undisturbed calls of a name, for their usual time to be known */

static bool is_memory_call(const char *name)
{
	static const char *const names[] = { "mmap",	"munmap",     "mremap", "brk",
					     "madvise", "mprotect",   "mlock",	"mlock2",
					     "munlock", "mmap_pgoff", "mbind",	"shmat",
					     "shmdt" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return false;
}

struct calls {
	bool *is_memory;     /* by name */
	double *usual;	     /* by name: median of those that no collapse met; negative: too few */
	double *undisturbed; /* scratch */
};

static bool is_disturbed(const struct tl_thp_work *w, const struct tl_view_call *c)
{
	return tl_ranges_inside_ns(&w->holds, c->begin_ns, c->end_ns) > 0;
}

static double find_usual(const struct tl_thp_work *w, struct calls *calls, uint32_t name)
{
	size_t n = 0;

	for (size_t i = 0; i < w->view.call_count; i++) {
		const struct tl_view_call *c = &w->view.calls[i];

		if (c->name == name && !is_disturbed(w, c))
			calls->undisturbed[n++] = (double)(c->end_ns - c->begin_ns);
	}
	return n >= USUAL_CALLS ? tl_median(calls->undisturbed, n) : -1;
}

/*
 * What of a call is both beyond the usual and in a collapse. A call that is longer without one is
 * told apart, so that chance can be taken out.
 */
static int add_call(struct tl_thp_work *w, const struct calls *calls, const struct tl_view_call *c,
		    struct tl_error *err)
{
	int64_t beyond = c->end_ns - c->begin_ns - (int64_t)calls->usual[c->name];
	int64_t met = tl_ranges_inside_ns(&w->holds, c->begin_ns, c->end_ns);

	if (calls->usual[c->name] < 0 || beyond <= 0)
		return TL_OK;
	met = met < beyond ? met : beyond;
	if (met > 0)
		tl_thp_add(w, TL_PART_LOCK_CALLS, c->end_ns - met, c->end_ns);
	if (beyond > met)
		tl_thp_add(w, TL_PART_LOCK_ELSEWHERE, c->end_ns - beyond, c->end_ns - met);
	return tl_ranges_add(&w->stalls, c->end_ns - beyond, c->end_ns, err);
}

/* Stacks with names know better what was waited for. */
static bool is_wanted(const struct tl_thp_work *w)
{
	unsigned stacks = TL_VIEW_SAMPLES | TL_VIEW_STACKS | TL_VIEW_KERNEL_SYMBOLS;

	return w->holds.count && w->view.has & TL_VIEW_COLLAPSE && (w->view.has & stacks) != stacks;
}

static int add_disturbed(struct tl_thp_work *w, struct calls *calls, struct tl_error *err)
{
	int ret = TL_OK;

	for (uint32_t i = 0; i < w->view.texts.count; i++)
		calls->usual[i] = calls->is_memory[i] ? find_usual(w, calls, i) : -1;
	for (size_t i = 0; i < w->view.call_count && ret == TL_OK; i++)
		ret = add_call(w, calls, &w->view.calls[i], err);
	return ret;
}

int tl_thp_gather_calls(struct tl_thp_work *w, struct tl_error *err)
{
	const struct tl_step_view *v = &w->view;
	struct calls calls = { .is_memory = tl_alloc(v->texts.count + 1, sizeof(bool), err),
			       .usual = tl_alloc(v->texts.count + 1, sizeof(double), err),
			       .undisturbed = tl_alloc(v->call_count + 1, sizeof(double), err) };
	int ret = calls.is_memory && calls.usual && calls.undisturbed ? TL_OK : TL_NOMEM;

	for (size_t i = 0; ret == TL_OK && i < v->texts.count; i++)
		calls.is_memory[i] = is_memory_call(tl_view_text(v, (uint32_t)i));
	for (size_t i = 0; ret == TL_OK && i < v->call_count; i++) {
		const struct tl_view_call *c = &v->calls[i];

		if (calls.is_memory[c->name])
			tl_thp_add(w, TL_PART_MEMORY_CALLS, c->begin_ns, c->end_ns);
	}
	if (ret == TL_OK && is_wanted(w))
		ret = add_disturbed(w, &calls, err);
	free(calls.is_memory);
	free(calls.usual);
	free(calls.undisturbed);
	return ret;
}
