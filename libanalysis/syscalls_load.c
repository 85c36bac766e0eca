/*
 * syscalls_load.c - what a question about calls needs of the case before it looks at any call:
 * threads, sources, steps, and which blocks there are.
 */
#include "syscalls.h"

#include <stdlib.h>
#include <string.h>

/* What two tracers say of when a call began may differ by so much. */

static char *keep(struct tl_syscall_question *q, const char *text, size_t length,
		  struct tl_error *err)
{
	return tl_arena_copy(q->arena, text, length, err);
}

/* ---- texts ---- */

static bool matches(const regex_t *pattern, bool has_pattern, const char *text)
{
	return !has_pattern || (text && !regexec(pattern, text, 0, NULL, 0));
}

static int read_text(struct tl_syscall_question *q, int64_t string_id, const char **text,
		     struct tl_error *err)
{
	size_t length;
	const char *found;
	int ret;

	tl_bind_i64(q->find_text, 1, string_id);
	ret = tl_statement_step(q->find_text, err);
	found = ret > 0 ? tl_column_text(q->find_text, 0, &length) : NULL;
	*text = found ? keep(q, found, length, err) : "";
	tl_statement_reset(q->find_text);
	if (ret == 0)
		return tl_fail(err, TL_STORE, "the text %lld is not there: damaged",
			       (long long)string_id);
	return ret < 0 ? ret : *text ? TL_OK : TL_NOMEM;
}

int tl_syscalls_text(struct tl_syscall_question *q, int64_t string_id, const char **text,
		     bool *is_wanted, struct tl_error *err)
{
	uint64_t hash = tl_hash_u64((uint64_t)string_id, 1);
	struct tl_text_slot slot = { .string_id = string_id };
	size_t probe = 0;
	int64_t found;
	int ret;

	*text = NULL;
	if (!string_id)
		return TL_OK;
	while ((found = tl_index_find(&q->text_index, hash, &probe)) >= 0) {
		const struct tl_text_slot *known = &q->text_slots[found];

		if (known->string_id != string_id)
			continue;
		*text = known->text;
		if (is_wanted)
			*is_wanted = known->is_wanted;
		return TL_OK;
	}
	ret = read_text(q, string_id, &slot.text, err);
	if (ret == TL_OK)
		ret = tl_grow(&q->text_slots, &q->text_slot_capacity, q->text_slot_count + 1, err);
	if (ret == TL_OK)
		ret = tl_index_add(&q->text_index, hash, (uint32_t)q->text_slot_count, err);
	if (ret < 0)
		return ret;
	slot.is_wanted = matches(&q->name_pattern, q->has_name_pattern, slot.text);
	q->text_slots[q->text_slot_count++] = slot;
	*text = slot.text;
	if (is_wanted)
		*is_wanted = slot.is_wanted;
	return TL_OK;
}

static int compile(regex_t *pattern, bool *has_pattern, const char *text, struct tl_error *err)
{
	int ret = text ? tl_pattern_compile(pattern, text, false, err) : TL_OK;

	*has_pattern = text && ret == TL_OK;
	return ret;
}

/* ---- threads ---- */

enum { THREAD_ID, THREAD_TID, THREAD_PID, THREAD_NAME };

static int add_thread(struct tl_syscall_question *q, const struct tl_call_thread *thread,
		      size_t *index, struct tl_error *err)
{
	int ret = tl_grow(&q->threads, &q->thread_capacity, q->thread_count + 1, err);

	if (ret == TL_OK)
		ret = tl_index_add(&q->thread_index, tl_hash_u64((uint64_t)thread->thread_id, 2),
				   (uint32_t)q->thread_count, err);
	if (ret < 0)
		return ret;
	*index = q->thread_count;
	q->threads[q->thread_count++] = *thread;
	return TL_OK;
}

/* Where several logs name no thread, each is called by its file: "(trace.log)". */
static int name_by_source(struct tl_syscall_question *q, int64_t source_id, char **name,
			  struct tl_error *err)
{
	const struct tl_call_source *source = tl_syscalls_source(q, source_id);
	const char *file, *slash;
	size_t size;

	if (!source || q->nameless_count < 2)
		return TL_OK;
	slash = strrchr(source->answer.path, '/');
	file = slash ? slash + 1 : source->answer.path;
	size = strlen(file) + sizeof("()");
	*name = tl_arena_alloc(q->arena, size, err);
	if (*name)
		snprintf(*name, size, "(%s)", file);
	return *name ? TL_OK : TL_NOMEM;
}

int tl_syscalls_thread(struct tl_syscall_question *q, int64_t thread_id, size_t *index,
		       struct tl_error *err)
{
	struct tl_call_thread none = { .thread_id = thread_id, .pid = -1, .tid = -1 };
	size_t probe = 0;
	int64_t found;

	while ((found = tl_index_find(&q->thread_index, tl_hash_u64((uint64_t)thread_id, 2),
				      &probe)) >= 0) {
		if (q->threads[found].thread_id == thread_id) {
			*index = (size_t)found;
			return TL_OK;
		}
	}
	if (thread_id < 0 && name_by_source(q, -thread_id, &none.name, err) < 0)
		return err->status;
	return add_thread(q, &none, index, err);
}

static int load_threads(struct tl_syscall_question *q, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, q->store,
				    "SELECT t.thread_id, t.tid, p.pid, n.text AS name "
				    "FROM thread t JOIN process p USING (process_id) "
				    "LEFT JOIN string n ON n.string_id = t.name_id",
				    "thread_id tid pid name", err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		struct tl_call_thread thread = { .thread_id = tl_column_i64(st, THREAD_ID),
						 .tid = tl_column_i64(st, THREAD_TID),
						 .pid = tl_column_is_null(st, THREAD_PID)
								? -1
								: tl_column_i64(st, THREAD_PID) };
		size_t length, index;
		const char *name = tl_column_text(st, THREAD_NAME, &length);
		int status;

		thread.name = name ? keep(q, name, length, err) : NULL;
		status = name && !thread.name ? TL_NOMEM : add_thread(q, &thread, &index, err);
		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	return ret;
}

bool tl_syscalls_thread_wanted(const struct tl_syscall_question *q,
			       const struct tl_call_thread *thread)
{
	bool is_listed = q->opt->tid_count == 0;

	for (size_t i = 0; i < q->opt->tid_count && !is_listed; i++)
		is_listed = q->opt->tids[i] == thread->tid;
	return is_listed && matches(&q->thread_pattern, q->has_thread_pattern, thread->name);
}

int tl_syscalls_use_thread(struct tl_syscall_question *q, size_t index, uint32_t *out,
			   struct tl_error *err)
{
	struct tl_call_thread *thread = &q->threads[index];
	struct tl_syscalls *answer = q->out;
	int ret;

	if (!thread->is_used) {
		ret = tl_grow(&answer->threads, &q->thread_out_capacity, answer->thread_count + 1,
			      err);
		if (ret < 0)
			return ret;
		thread->is_used = true;
		thread->index = (uint32_t)answer->thread_count;
		answer->threads[answer->thread_count++] =
			(struct tl_syscall_thread) { .name = thread->name,
						     .pid = thread->pid,
						     .tid = thread->tid,
						     .is_step_thread = thread->is_step_thread };
	}
	*out = thread->index;
	return TL_OK;
}

/* ---- sources ---- */

enum {
	SOURCE_ID,
	SOURCE_PATH,
	SOURCE_IMPORTER,
	SOURCE_LAST,
	SOURCE_REFERENCE,
	SOURCE_TRACEPOINT,
	SOURCE_TIME_DIGITS,
	SOURCE_DURATION_DIGITS
};

/* Of what a log prints with so many digits behind the point. */
static int64_t unit_of(struct tl_statement *st, int column)
{
	int64_t digits = tl_column_i64(st, column), unit = 1000000000;

	if (tl_column_is_null(st, column) || digits < 0)
		return 0;
	for (; digits && unit > 1; digits--)
		unit /= 10;
	return unit;
}

static int load_sources(struct tl_syscall_question *q, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, q->store,
		"SELECT source_id, path, importer, last_ts, clock_reference_id, "
		"EXISTS (SELECT 1 FROM event e WHERE e.source_id = "
		"s.source_id) AS is_tracepoint, "
		"(SELECT CAST(value AS INTEGER) FROM source_meta m WHERE m.source_id = s.source_id "
		"AND key = 'tracer_time_digits') AS time_digits, "
		"(SELECT CAST(value AS INTEGER) FROM source_meta m WHERE m.source_id = s.source_id "
		"AND key = 'tracer_duration_digits') AS duration_digits "
		"FROM source s ORDER BY source_id",
		"source_id path importer last_ts clock_reference_id is_tracepoint time_digits "
		"duration_digits",
		err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		struct tl_call_source source = { .has_times = !tl_column_is_null(st, SOURCE_LAST),
						 .last_ts = tl_column_i64(st, SOURCE_LAST),
						 .reference_id =
							 tl_column_i64(st, SOURCE_REFERENCE) };
		size_t length;
		const char *text = tl_column_text(st, SOURCE_PATH, &length);
		int status;

		source.answer.source_id = tl_column_i64(st, SOURCE_ID);
		source.answer.min_ns = -1;
		source.answer.is_tracepoint = tl_column_i64(st, SOURCE_TRACEPOINT) != 0;
		source.answer.time_unit_ns = unit_of(st, SOURCE_TIME_DIGITS);
		source.answer.duration_unit_ns = unit_of(st, SOURCE_DURATION_DIGITS);
		source.answer.path = keep(q, text ? text : "", text ? length : 0, err);
		text = tl_column_text(st, SOURCE_IMPORTER, &length);
		source.answer.importer = keep(q, text ? text : "", text ? length : 0, err);
		status = source.answer.path && source.answer.importer
				 ? tl_grow(&q->sources, &q->source_capacity, q->source_count + 1,
					   err)
				 : TL_NOMEM;
		if (status == TL_OK)
			q->sources[q->source_count++] = source;
		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	return ret;
}

struct tl_call_source *tl_syscalls_source(struct tl_syscall_question *q, int64_t source_id)
{
	size_t low = 0, high = q->source_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (q->sources[middle].answer.source_id < source_id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < q->source_count && q->sources[low].answer.source_id == source_id
		       ? &q->sources[low]
		       : NULL;
}

/* ---- steps and times ---- */

enum { STEP_TS, STEP_DUR, STEP_NUMBER, STEP_CLASS, STEP_THREAD };

static int add_step(struct tl_syscall_question *q, struct tl_statement *st, struct tl_error *err)
{
	static const char *const classes[] = { "good", "slow", "apart", "spike", "other" };
	struct tl_call_step step = { .begin_ns = tl_column_i64(st, STEP_TS),
				     .has_number = !tl_column_is_null(st, STEP_NUMBER),
				     .number = tl_column_i64(st, STEP_NUMBER),
				     .class = "" };
	size_t length, index;
	const char *class = tl_column_text(st, STEP_CLASS, &length);
	int ret = tl_grow(&q->steps, &q->step_capacity, q->step_count + 1, err);

	if (__builtin_add_overflow(step.begin_ns, tl_column_i64(st, STEP_DUR), &step.end_ns))
		step.end_ns = INT64_MAX;
	for (size_t i = 0; class && i < sizeof(classes) / sizeof(*classes); i++)
		if (!step.class[0] && strlen(classes[i]) == length &&
		    !memcmp(class, classes[i], length))
			step.class = classes[i];
	if (ret == TL_OK)
		ret = tl_ranges_add(&q->all_steps, step.begin_ns, step.end_ns, err);
	if (ret == TL_OK && step.class[0] == 'g')
		ret = tl_ranges_add(&q->good_steps, step.begin_ns, step.end_ns, err);
	if (ret == TL_OK && !tl_column_is_null(st, STEP_THREAD)) {
		ret = tl_syscalls_thread(q, tl_column_i64(st, STEP_THREAD), &index, err);
		if (ret == TL_OK)
			q->threads[index].is_step_thread = true;
	}
	if (ret < 0)
		return ret;
	q->out->step_count++;
	q->out->good_step_count += step.class[0] == 'g';
	q->out->slow_step_count += !strcmp(step.class, "slow");
	q->steps[q->step_count++] = step;
	return TL_OK;
}

static int load_steps(struct tl_syscall_question *q, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, q->store,
				    "SELECT ts, dur, number, class, thread_id FROM step_placed "
				    "WHERE dur > 0 ORDER BY ts, step_id",
				    "ts dur number class thread_id", err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = add_step(q, st, err);

		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	tl_ranges_settle(&q->all_steps);
	tl_ranges_settle(&q->good_steps);
	q->has_good = q->good_steps.count > 0;
	q->is_in_steps = q->has_good;
	return ret;
}

/* Calls are laid beside steps only if their clocks are good enough for it. */
static int check_clocks(struct tl_syscall_question *q, struct tl_error *err)
{
	struct tl_clock_join join;
	int ret;

	if (!q->step_count)
		return TL_OK;
	ret = tl_clock_join_steps(q->store, q->opt->steps, TL_CLOCK_DATA_CALLS, &join, err);
	if (ret == TL_OK && join.source_count > 1)
		snprintf(q->out->clock, sizeof(q->out->clock), "%s", join.text);
	if (ret < 0 || join.is_allowed)
		return ret;
	if (q->opt->steps)
		return tl_fail(err, TL_NOTHING, "%s", join.text);
	q->out->is_clock_refused = true;
	q->step_count = 0;
	q->out->step_count = q->out->good_step_count = q->out->slow_step_count = 0;
	tl_ranges_release(&q->all_steps);
	tl_ranges_release(&q->good_steps);
	q->has_good = q->is_in_steps = false;
	for (size_t i = 0; i < q->thread_count; i++)
		q->threads[i].is_step_thread = false;
	return TL_OK;
}

static int add_all(struct tl_ranges *out, const struct tl_time_range *ranges, size_t count,
		   struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; i < count && ret == TL_OK; i++)
		ret = tl_ranges_add(out, ranges[i].begin_ns, ranges[i].end_ns, err);
	tl_ranges_settle(out);
	return ret;
}

/* What was asked for by times, by steps, or by both. */
static int load_asked(struct tl_syscall_question *q, struct tl_error *err)
{
	struct tl_ranges times = { 0 }, steps = { 0 };
	struct tl_time_range *found = NULL;
	size_t count = 0, step_count;
	int ret = add_all(&times, q->opt->ranges, q->opt->range_count, err);

	if (ret == TL_OK && q->opt->steps)
		ret = tl_steps_ranges(q->store, q->opt->steps, &found, &count, &step_count, err);
	if (ret == TL_OK)
		ret = add_all(&steps, found, count, err);
	free(found);
	q->has_asked = q->opt->range_count || q->opt->steps;
	if (ret == TL_OK && q->opt->range_count && q->opt->steps)
		ret = tl_ranges_intersect(&q->asked, &times, &steps, err);
	else if (ret == TL_OK)
		ret = add_all(&q->asked, q->opt->steps ? steps.ranges : times.ranges,
			      q->opt->steps ? steps.count : times.count, err);
	tl_ranges_release(&times);
	tl_ranges_release(&steps);
	return ret;
}

/* ---- blocks ---- */

enum {
	PART_ROW,
	PART_SOURCE,
	PART_THREAD,
	PART_NAME,
	PART_OPERATION,
	PART_KIND,
	PART_TIMING,
	PART_WAIT,
	PART_COUNT,
	PART_SUM,
	PART_BASE,
	PART_FIRST,
	PART_LAST
};

static int add_part(struct tl_syscall_question *q, struct tl_statement *st, struct tl_error *err)
{
	struct tl_call_part part = { .row_id = tl_column_i64(st, PART_ROW),
				     .source_id = tl_column_i64(st, PART_SOURCE) };
	struct tl_call_block *b = &part.block;
	int64_t count = tl_column_i64(st, PART_COUNT);
	int ret;

	b->key = (struct tl_call_key) { .thread_id = tl_column_i64(st, PART_THREAD),
					.name_id = tl_column_i64(st, PART_NAME),
					.operation_id = tl_column_i64(st, PART_OPERATION),
					.kind = (uint8_t)tl_column_i64(st, PART_KIND),
					.timing = (uint8_t)tl_column_i64(st, PART_TIMING),
					.is_wait = tl_column_i64(st, PART_WAIT) != 0 };
	b->has_times = !tl_column_is_null(st, PART_BASE);
	b->base_ts = tl_column_i64(st, PART_BASE);
	b->first_ts = tl_column_i64(st, PART_FIRST);
	b->last_ts = tl_column_i64(st, PART_LAST);
	b->duration_sum_ns = tl_column_i64(st, PART_SUM);
	if (count < 1 || count > TL_CALL_BLOCK_MAX)
		return tl_fail(err, TL_STORE, "a block of %lld calls: damaged", (long long)count);
	b->count = (uint32_t)count;
	ret = tl_grow(&q->parts, &q->part_capacity, q->part_count + 1, err);
	if (ret == TL_OK)
		q->parts[q->part_count++] = part;
	return ret;
}

#define ORDER(a, b)                                \
	do {                                       \
		if ((a) != (b))                    \
			return (a) < (b) ? -1 : 1; \
	} while (0)

static int by_group(const void *left, const void *right)
{
	const struct tl_call_part *a = left, *b = right;
	const struct tl_call_key *x = &a->block.key, *y = &b->block.key;

	ORDER(x->thread_id, y->thread_id);
	ORDER(x->kind, y->kind);
	ORDER(x->name_id, y->name_id);
	ORDER(x->operation_id, y->operation_id);
	ORDER(x->is_wait, y->is_wait);
	ORDER(a->row_id, b->row_id);
	return 0;
}

static int load_parts(struct tl_syscall_question *q, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, q->store,
		"SELECT rowid AS row, source_id, " TL_CALL_THREAD
		", name_id, operation_id, kind, timing, "
		"is_wait, call_count, dur_sum, base_ts, first_ts, last_ts FROM call_block",
		"row source_id thread_id name_id operation_id kind timing is_wait call_count "
		"dur_sum base_ts first_ts last_ts",
		err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = add_part(q, st, err);

		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	if (q->part_count)
		qsort(q->parts, q->part_count, sizeof(*q->parts), by_group);
	for (size_t i = 0; i < q->part_count && q->parts[i].block.key.thread_id < 0; i++)
		q->nameless_count += i == 0 || q->parts[i].block.key.thread_id !=
						       q->parts[i - 1].block.key.thread_id;
	return ret;
}

int tl_syscalls_read(struct tl_syscall_question *q, const struct tl_call_part *part,
		     struct tl_call_entry *calls, uint32_t *count, uint64_t *left_out,
		     struct tl_error *err)
{
	struct tl_call_block block = part->block;
	uint32_t kept = 0;
	int ret;

	*count = 0;
	tl_bind_i64(q->read_block, 1, part->row_id);
	ret = tl_statement_step(q->read_block, err);
	if (ret > 0) {
		block.bytes = tl_column_text(q->read_block, 0, &block.length);
		ret = tl_call_block_read(&block, calls, err);
	} else if (ret == 0) {
		ret = tl_fail(err, TL_STORE, "a block of calls vanished");
	}
	tl_statement_reset(q->read_block);
	for (uint32_t i = 0; i < block.count && ret == TL_OK && part->has_hidden; i++)
		if (!block.has_times ||
		    !tl_call_part_hides(part, calls[i].ts, calls[i].duration_ns))
			calls[kept++] = calls[i];
	*count = part->has_hidden ? kept : block.count;
	if (left_out)
		*left_out = block.count - *count;
	return ret;
}

bool tl_syscalls_is_asked(const struct tl_syscall_question *q, const struct tl_call_block *block,
			  const struct tl_call_entry *call)
{
	if (q->has_asked && (!block->has_times || !tl_ranges_contain(&q->asked, call->ts)))
		return false;
	if (q->opt->errors_only && !(call->flags & TL_CALL_ERROR))
		return false;
	return call->duration_ns >= q->opt->min_ns || (!q->opt->min_ns && call->duration_ns < 0);
}

/* ---- all of it ---- */

int tl_syscalls_load_texts(struct tl_syscall_question *q, struct tl_error *err)
{
	return tl_statement_open(&q->find_text, q->store,
				 "SELECT text FROM string WHERE string_id = ?", "text", err);
}

int tl_syscalls_load(struct tl_syscall_question *q, struct tl_error *err)
{
	int ret = compile(&q->thread_pattern, &q->has_thread_pattern, q->opt->thread_pattern, err);

	if (ret == TL_OK)
		ret = compile(&q->name_pattern, &q->has_name_pattern, q->opt->name_pattern, err);
	if (ret == TL_OK)
		ret = tl_syscalls_load_texts(q, err);
	if (ret == TL_OK)
		ret = tl_statement_open(&q->read_block, q->store,
					"SELECT calls FROM call_block WHERE rowid = ?", "calls",
					err);
	if (ret == TL_OK)
		ret = load_threads(q, err);
	if (ret == TL_OK)
		ret = load_sources(q, err);
	if (ret == TL_OK)
		ret = load_steps(q, err);
	if (ret == TL_OK)
		ret = check_clocks(q, err);
	if (ret == TL_OK)
		ret = load_asked(q, err);
	if (ret == TL_OK && q->is_in_steps) {
		ret = q->has_asked
			      ? tl_ranges_intersect(&q->judged, &q->all_steps, &q->asked, err)
			      : tl_ranges_intersect(&q->judged, &q->all_steps, &q->all_steps, err);
	}
	if (ret == TL_OK)
		ret = load_parts(q, err);
	if (ret == TL_OK)
		ret = tl_syscalls_hide_twice_told(q, err);
	return ret;
}

void tl_syscalls_unload(struct tl_syscall_question *q)
{
	if (q->has_thread_pattern)
		regfree(&q->thread_pattern);
	if (q->has_name_pattern)
		regfree(&q->name_pattern);
	tl_statement_close(q->find_text);
	tl_statement_close(q->read_block);
	tl_statement_close(q->find_open);
	tl_index_release(&q->source_names);
	tl_ranges_release(&q->all_steps);
	tl_ranges_release(&q->good_steps);
	tl_ranges_release(&q->asked);
	tl_ranges_release(&q->judged);
	tl_index_release(&q->thread_index);
	tl_index_release(&q->text_index);
	free(q->threads);
	free(q->sources);
	free(q->steps);
	free(q->parts);
	free(q->opens);
	free(q->text_slots);
	tl_syscalls_release_fews(q);
}
