/*
 * explain_divide.c - running time of one kind divided among what samples saw there. Declared in
 * explain_private.h.
 *
 * A step has few samples: each counts one, and one more is spread as all samples of steps of its
 * class are (good, slow, other), so that a step without any is divided like its fellows.
 */
#include "explain_private.h"

#include <stdlib.h>
#include <string.h>

static int find_bucket(struct sweep *s, const struct bucket_key *key, uint32_t *bucket,
		       struct tl_error *err)
{
	uint64_t hash = tl_hash_u64((uint64_t)key->call << 32 | key->op,
				    (uint64_t)key->is_wall << 2 | (uint64_t)key->is_gap << 1 |
					    key->is_operator);
	size_t probe = 0;
	int64_t found;
	int ret;

	while ((found = tl_index_find(&s->bucket_index, hash, &probe)) >= 0) {
		const struct bucket_key *known = &s->buckets[found].key;

		if (known->call == key->call && known->op == key->op &&
		    known->is_wall == key->is_wall && known->is_gap == key->is_gap &&
		    known->is_operator == key->is_operator) {
			*bucket = (uint32_t)found;
			return TL_OK;
		}
	}
	ret = tl_grow(&s->buckets, &s->bucket_capacity, s->bucket_count + 1, err);
	if (ret == TL_OK)
		ret = tl_index_add(&s->bucket_index, hash, (uint32_t)s->bucket_count, err);
	if (ret < 0)
		return ret;
	*bucket = (uint32_t)s->bucket_count;
	s->buckets[s->bucket_count++] = (struct bucket) { .key = *key };
	return TL_OK;
}

/* ---- what one sample saw ---- */

static enum tl_part_cause plain_cause(const struct sweep *s, const struct bucket_key *key)
{
	if (key->call)
		return tl_is_memory_call(s->parts->names.strings[key->call - 1].text)
			       ? TL_CAUSE_MEMORY_CALL
			       : TL_CAUSE_SYSCALL;
	return key->is_gap && s->has_launches ? TL_CAUSE_LAUNCH_GAP : TL_CAUSE_USER_CODE;
}

static enum tl_part_cause cause_of_memory(enum tl_memory_work work, enum tl_part_cause other)
{
	switch (work) {
	case TL_MEMORY_FAULT:
		return TL_CAUSE_PAGE_FAULT;
	case TL_MEMORY_HUGE_FAULT:
		return TL_CAUSE_HUGE_FAULT;
	case TL_MEMORY_HUGE_SPLIT:
	case TL_MEMORY_HUGE_COLLAPSE:
		return TL_CAUSE_HUGE_PAGE;
	case TL_MEMORY_MIGRATION:
		return TL_CAUSE_MIGRATION;
	case TL_MEMORY_RECLAIM:
		return TL_CAUSE_RECLAIM;
	case TL_MEMORY_COMPACTION:
		return TL_CAUSE_COMPACTION;
	case TL_MEMORY_NONE:
	case TL_MEMORY_UNMAP:
	case TL_MEMORY_WORK_COUNT:
		break;
	}
	return other;
}

static enum tl_part_cause cause_of_lock(enum tl_wait_reason reason)
{
	return reason == TL_WAIT_MMAP_LOCK || reason == TL_WAIT_VMA_LOCK ? TL_CAUSE_MMAP_LOCK
									 : TL_CAUSE_KERNEL_LOCK;
}

static int find_part(struct sweep *s, const struct bucket_key *key,
		     const struct tl_stack_facts *facts, bool has_stack, uint32_t *part,
		     struct tl_error *err)
{
	enum tl_part_cause cause = plain_cause(s, key);
	uint32_t name = key->call;
	int ret = TL_OK;

	if (!name && facts->call)
		ret = tl_parts_name(s->parts, tl_stack_name(s->parts->stacks, facts->call - 1),
				    &name, err);
	if (ret < 0)
		return ret;
	name = name ? name : key->op;
	if (!has_stack) {
		cause = key->call ? cause : TL_CAUSE_RUNNING;
	} else if (facts->is_kernel && facts->traits.is_interrupt) {
		cause = TL_CAUSE_INTERRUPT;
		name = 0;
	} else if (facts->is_kernel && facts->traits.is_spinning) {
		cause = cause_of_lock((enum tl_wait_reason)facts->traits.reason);
		if (!key->call && !facts->call && facts->traits.is_fault)
			ret = tl_parts_name(s->parts, "page fault", &name, err);
	} else if (facts->is_kernel) {
		enum tl_part_cause other = key->call || !facts->call ? cause : TL_CAUSE_SYSCALL;

		if (!key->call && !facts->call)
			other = TL_CAUSE_KERNEL;
		else if (!key->call && tl_is_memory_call(s->parts->names.strings[name - 1].text))
			other = TL_CAUSE_MEMORY_CALL;
		cause = cause_of_memory((enum tl_memory_work)facts->traits.work, other);
		/* a huge page that is not to be had is given up at once; a small one must be found */
		if (facts->is_short && cause != TL_CAUSE_HUGE_FAULT && cause != TL_CAUSE_COMPACTION)
			cause = TL_CAUSE_RECLAIM;
	}
	/* faults and memory work outside of calls need no name: they are what they are */
	return ret < 0 ? ret : tl_parts_find(s->parts, TL_PART_RUNNING, cause, name, part, err);
}

static int pool(struct bucket *b, uint32_t part, enum tl_step_class class_, struct tl_error *err)
{
	size_t i = 0;
	int ret;

	while (i < b->pooled_count && b->pooled[i].part != part)
		i++;
	if (i == b->pooled_count) {
		ret = tl_grow(&b->pooled, &b->pooled_capacity, b->pooled_count + 1, err);
		if (ret < 0)
			return ret;
		b->pooled[b->pooled_count++].part = part;
	}
	b->pooled[i].count[class_]++;
	return TL_OK;
}

static int take_sample(struct sweep *s, uint32_t bucket, uint32_t step, struct tl_error *err)
{
	const struct tl_view_sample *sample = &s->view->samples[s->sample];
	struct tl_stack_facts facts;
	uint32_t part;
	int ret = tl_stacks_facts(s->parts->stacks, sample->stack_id, &facts, err);

	if (ret == TL_OK)
		ret = find_part(s, &s->buckets[bucket].key, &facts, sample->stack_id != 0, &part,
				err);
	if (ret == TL_OK)
		ret = pool(&s->buckets[bucket], part, s->view->steps[step].class_, err);
	if (ret == TL_OK)
		ret = tl_grow(&s->seen, &s->seen_capacity, s->seen_count + 1, err);
	if (ret < 0)
		return ret;
	s->seen[s->seen_count++] = (struct seen) { step, bucket, part, sample->weight_ns };
	s->parts->sample_part[s->sample] = part + 1;
	s->parts->sample_step[s->sample] = step;
	s->parts->sample_function[s->sample] = facts.function;
	return TL_OK;
}

int tl_sweep_divisible(struct sweep *s, const struct bucket_key *key, uint32_t step,
		       int64_t begin_ns, int64_t end_ns, bool is_starved, struct tl_error *err)
{
	const struct tl_step_view *v = s->view;
	uint32_t bucket;
	size_t i;
	int ret = find_bucket(s, key, &bucket, err);

	if (ret < 0)
		return ret;
	if (!s->share_count || s->shares[s->share_count - 1].step != step)
		s->step_first_share = s->share_count;
	for (i = s->step_first_share; i < s->share_count; i++)
		if (s->shares[i].bucket == bucket)
			break;
	if (i == s->share_count) {
		ret = tl_grow(&s->shares, &s->share_capacity, s->share_count + 1, err);
		if (ret < 0)
			return ret;
		s->shares[s->share_count++] = (struct share) { .step = step, .bucket = bucket };
	}
	s->shares[i].ns += end_ns - begin_ns;
	s->shares[i].starved_ns += is_starved ? end_ns - begin_ns : 0;
	while (s->sample < v->sample_count && v->samples[s->sample].ts < begin_ns)
		s->sample++;
	for (; ret == TL_OK && s->sample < v->sample_count && v->samples[s->sample].ts < end_ns;
	     s->sample++)
		ret = take_sample(s, bucket, step, err);
	return ret;
}

/* ---- dividing ---- */

/* Time of which neither switches nor calls nor samples tell: the profiler's spans alone. */
static enum tl_part_cause cause_of_spans(const struct sweep *s, const struct bucket_key *key)
{
	if (key->is_operator)
		return TL_CAUSE_OPERATOR;
	if (key->is_gap)
		return s->has_launches ? TL_CAUSE_LAUNCH_GAP : TL_CAUSE_OUTSIDE;
	return TL_CAUSE_UNKNOWN;
}

/* The part of time in the bucket that no sample tells of. */
static int find_rest(struct sweep *s, struct bucket *b, struct tl_error *err)
{
	enum tl_part_cause cause = plain_cause(s, &b->key);

	if (b->key.is_wall && !b->key.call)
		cause = s->has_weights ? TL_CAUSE_WAITING : cause_of_spans(s, &b->key);
	else if (!b->key.call && cause == TL_CAUSE_USER_CODE)
		cause = TL_CAUSE_RUNNING;
	return tl_parts_find(s->parts,
			     !b->key.is_wall		 ? TL_PART_RUNNING
			     : cause == TL_CAUSE_WAITING ? TL_PART_OFF
			     : cause == TL_CAUSE_UNKNOWN ? TL_PART_UNKNOWN
							 : TL_PART_WALL,
			     cause, b->key.call ? b->key.call : b->key.op, &b->rest, err);
}

/* Weights of the parts in b->pooled, and last of the rest. */
static void weigh(struct sweep *s, const struct share *share, const struct bucket *b,
		  const struct seen *seen, size_t seen_count, uint64_t *weights)
{
	enum tl_step_class class_ = s->view->steps[share->step].class_;
	uint64_t pooled = 0, seen_ns = 0, all[3] = { 0 };
	bool is_counted = false;

	memset(weights, 0, (b->pooled_count + 1) * sizeof(*weights));
	for (size_t i = 0; i < b->pooled_count; i++) {
		pooled += b->pooled[i].count[class_];
		for (int k = 0; k < 3; k++)
			all[0] += b->pooled[i].count[k];
	}
	for (size_t k = 0; k < seen_count; k++) {
		size_t i = 0;

		if (seen[k].bucket != share->bucket)
			continue;
		while (b->pooled[i].part != seen[k].part)
			i++;
		weights[i] += b->key.is_wall ? (uint64_t)seen[k].weight_ns : (pooled ? pooled : 1);
		seen_ns += (uint64_t)seen[k].weight_ns;
		is_counted = true;
	}
	if (b->key.is_wall) {
		/* what samples do not stand for was spent off the CPU */
		weights[b->pooled_count] =
			seen_ns < (uint64_t)share->ns ? (uint64_t)share->ns - seen_ns : 0;
		if (!seen_ns)
			weights[b->pooled_count] = 1;
		return;
	}
	for (size_t i = 0; i < b->pooled_count; i++) {
		if (pooled)
			weights[i] += b->pooled[i].count[class_];
		else if (!is_counted)
			for (int k = 0; k < 3; k++)
				weights[i] += b->pooled[i].count[k];
	}
	weights[b->pooled_count] = all[0] ? 0 : 1;
}

static int divide(struct sweep *s, const struct share *share, const struct seen *seen,
		  size_t seen_count, uint64_t *weights, int64_t *ns, struct tl_error *err)
{
	const struct bucket *b = &s->buckets[share->bucket];
	size_t n = b->pooled_count + 1;
	int ret;

	weigh(s, share, b, seen, seen_count, weights);
	ret = tl_apportion(ns, share->ns, weights, n, err);
	for (size_t i = 0; i < n && ret == TL_OK; i++)
		s->parts->parts[i < n - 1 ? b->pooled[i].part : b->rest].ns[share->step] += ns[i];
	if (ret < 0 || !s->parts->device)
		return ret;
	ret = tl_apportion(ns, share->starved_ns, weights, n, err);
	for (size_t i = 0; i < n && ret == TL_OK; i++)
		s->parts->parts[i < n - 1 ? b->pooled[i].part : b->rest].starved_ns[share->step] +=
			ns[i];
	return ret;
}

int tl_sweep_divide(struct sweep *s, struct tl_error *err)
{
	uint64_t *weights;
	size_t most = 0, first = 0, end = 0;
	int64_t *ns;
	int ret = TL_OK;

	for (size_t i = 0; i < s->bucket_count && ret == TL_OK; i++) {
		most = s->buckets[i].pooled_count > most ? s->buckets[i].pooled_count : most;
		ret = find_rest(s, &s->buckets[i], err);
	}
	if (ret < 0)
		return ret;
	weights = tl_alloc(most + 1, sizeof(*weights), err);
	ns = tl_alloc(most + 1, sizeof(*ns), err);
	ret = weights && ns ? TL_OK : TL_NOMEM;
	for (size_t i = 0; i < s->share_count && ret == TL_OK; i++) {
		const struct share *share = &s->shares[i];

		if (!i || s->shares[i - 1].step != share->step) {
			for (first = end;
			     first < s->seen_count && s->seen[first].step < share->step;)
				first++;
			for (end = first; end < s->seen_count && s->seen[end].step == share->step;)
				end++;
		}
		ret = divide(s, share, s->seen_count ? s->seen + first : NULL, end - first, weights,
			     ns, err);
	}
	free(weights);
	free(ns);
	return ret;
}
