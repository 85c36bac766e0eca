/*
 * writer_calls.c - system calls and library calls of one source: as rows, as blocks by column, and as
 * sums per stack.
 */
#include "writer.h"

#include <stdlib.h>
#include <string.h>

#define DISTINCT_BYTES_MAX \
	(12u << 20) /* of paths and other texts; real logs have some hundred KiB */

int tl_writer_text(struct tl_writer *w, const char *text, size_t len, int64_t *row_id,
		   struct tl_error *err)
{
	uint32_t interned;
	int ret;

	*row_id = 0;
	if (!text)
		return TL_OK;
	ret = tl_intern(&w->strings, text, len, &interned, err);
	return ret < 0 ? ret : tl_writer_string(w, interned, row_id, err);
}

static int thread_row(struct tl_writer *w, int64_t ts, const struct tl_event_syscall *c,
		      int64_t *row_id, struct tl_error *err)
{
	uint32_t thread;
	int ret;

	*row_id = 0;
	if (c->task.tid == TL_ID_NONE)
		return TL_OK;
	ret = tl_tasks_thread(&w->tasks, ts, c->task, &thread, err);
	return ret < 0 ? ret : tl_writer_thread_row(w, thread, row_id, err);
}

/* What a call is known by, and its traits, which are looked up once a name. */
static int name_of(struct tl_writer *w, const struct tl_event_syscall *c, int64_t *row_id,
		   struct tl_call_traits *traits, struct tl_error *err)
{
	uint32_t interned;
	int ret = tl_intern(&w->strings, c->name, c->name_length, &interned, err);

	if (ret == TL_OK)
		ret = tl_writer_string(w, interned, row_id, err);
	if (ret == TL_OK)
		ret = tl_grow(&w->call_traits, &w->call_trait_capacity, (size_t)interned + 1, err);
	if (ret < 0)
		return ret;
	if (!w->call_traits[interned].is_known) {
		w->call_traits[interned].traits = tl_call_traits(c->name, c->name_length);
		w->call_traits[interned].is_known = true;
	}
	*traits = w->call_traits[interned].traits;
	return TL_OK;
}

/*
 * A text that may be another one with each call: a path, a request. Those of a log from which the
 * memory would grow without end are left out; the arguments hold them.
 */
static int optional_text(struct tl_writer *w, const char *text, size_t len, int64_t *row_id,
			 struct tl_error *err)
{
	uint32_t interned;

	if (text && w->strings.arena.total > DISTINCT_BYTES_MAX &&
	    !tl_interned(&w->strings, text, len, &interned)) {
		*row_id = 0;
		w->left_out_texts++;
		return TL_OK;
	}
	return tl_writer_text(w, text, len, row_id, err);
}

static int put_block(void *payload, const struct tl_call_block *block, struct tl_error *err)
{
	struct tl_writer *w = payload;
	int64_t values[12];
	uint64_t nulls = tl_call_block_values(block, w->source_id, values);

	return tl_writer_put(w, INSERT_CALL_BLOCK, values, 12, nulls, block->bytes, block->length,
			     err);
}

static int put_zone(struct tl_writer *w, struct tl_error *err)
{
	int64_t values[5];

	tl_call_zone_values(&w->call_zone, w->source_id, values);
	w->call_zone = (struct tl_call_zone) { 0 };
	return tl_writer_put(w, INSERT_SYSCALL_ZONE, values, 5, 0, NULL, 0, err);
}

static int put_row(struct tl_writer *w, const struct tl_event *ev, const struct tl_call_key *key,
		   uint32_t node, struct tl_error *err)
{
	const struct tl_event_syscall *c = &ev->syscall;
	int64_t values[18] = { 0 };
	uint64_t nulls;
	int ret = optional_text(w, c->error, c->error_length, &values[10], err);

	if (ret == TL_OK)
		ret = optional_text(w, c->path, c->path_length, &values[13], err);
	if (ret < 0)
		return ret;
	values[1] = w->source_id;
	values[2] = key->thread_id;
	values[3] = tl_writer_unix(w, ev->ts);
	values[4] = c->duration_ns;
	values[5] = key->name_id;
	values[6] = (int64_t)c->kind;
	values[7] = (int64_t)c->timing;
	values[8] = (int64_t)c->outcome;
	values[9] = c->result;
	values[11] = key->operation_id;
	values[12] = c->fd;
	values[14] = c->timeout_ns;
	values[15] = w->next_stack + node;
	values[16] = (int64_t)c->arguments_full_length;
	values[17] = (int64_t)c->position;
	nulls = (uint64_t)!values[2] << 2 | (uint64_t)!ev->has_ts << 3 |
		(uint64_t)(c->duration_ns < 0) << 4 | (uint64_t)!c->has_result << 9 |
		(uint64_t)!values[10] << 10 | (uint64_t)!values[11] << 11 |
		(uint64_t)!c->has_fd << 12 | (uint64_t)!values[13] << 13 |
		(uint64_t)!c->has_timeout << 14 | (uint64_t)(node == TL_NO_NODE) << 15;
	ret = tl_writer_put(w, INSERT_SYSCALL, values + 1, 17, nulls >> 1, c->arguments,
			    c->arguments_length, err);
	if (ret < 0)
		return ret;
	if (!ev->has_ts || c->duration_ns < 0) {
		w->next_syscall++;
		return TL_OK;
	}
	if (!tl_call_zone_add(&w->call_zone, w->next_syscall++, values[3], c->duration_ns))
		return TL_OK;
	return put_zone(w, err);
}

/* Calls that came back are counted; the others are rows only. */
static int count_call(struct tl_writer *w, const struct tl_event *ev, const struct tl_call_key *key,
		      struct tl_call_traits traits, uint32_t node, bool *is_notable,
		      struct tl_error *err)
{
	const struct tl_event_syscall *c = &ev->syscall;
	const struct tl_call_entry entry = {
		.ts = tl_writer_unix(w, ev->ts),
		.duration_ns = c->duration_ns,
		.flags = (uint8_t)((c->error ? TL_CALL_ERROR : 0) |
				   (tl_call_is_timer_end(traits, c) ? TL_CALL_TIMER : 0)),
	};
	int ret;

	*is_notable = true;
	if (!tl_call_has_ended(c->outcome))
		return TL_OK;
	w->calls.put = put_block;
	w->calls.payload = w;
	ret = tl_call_blocks_add(&w->calls, key, ev->has_ts, &entry, is_notable, err);
	if (ret == TL_OK && node != TL_NO_NODE)
		ret = tl_call_sums_add(&w->call_sums, key->thread_id, key->name_id, node,
				       c->duration_ns, 1, err);
	return ret;
}

int tl_writer_syscall(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err)
{
	const struct tl_event_syscall *c = &ev->syscall;
	struct tl_call_key key = { .kind = (uint8_t)c->kind, .timing = (uint8_t)c->timing };
	struct tl_call_traits traits;
	uint32_t node = TL_NO_NODE;
	bool is_notable;
	int ret = w->is_settled ? TL_OK : tl_writer_settle_sideband(w, err);

	if (ret == TL_OK)
		ret = thread_row(w, ev->ts, c, &key.thread_id, err);
	if (ret == TL_OK)
		ret = name_of(w, c, &key.name_id, &traits, err);
	if (ret == TL_OK)
		ret = optional_text(w, c->operation, c->operation_length, &key.operation_id, err);
	if (ret == TL_OK && c->frame_count)
		ret = tl_writer_text_stack(w, c->frames, c->texts, c->frame_count, &node, err);
	if (ret < 0)
		return ret;
	key.is_wait = tl_call_is_wait(traits, c);
	if (c->duration_ns < 0)
		key.timing = TL_CALL_UNTIMED;
	ret = count_call(w, ev, &key, traits, node, &is_notable, err);
	w->syscall_count++;
	tl_writer_note_time(w, ev);
	if (ret < 0 || (w->options.aggregate_only && !is_notable))
		return ret;
	return put_row(w, ev, &key, node, err);
}

int tl_writer_call_summary(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err)
{
	const struct tl_event_call_summary *c = &ev->call_summary;
	int64_t values[8] = { w->source_id, 0,		 0,	    (int64_t)c->kind,
			      c->count,	    c->total_ns, c->min_ns, c->max_ns };
	uint32_t thread;
	int ret = w->is_settled ? TL_OK : tl_writer_settle_sideband(w, err);

	if (ret == TL_OK && c->task.tid != TL_ID_NONE) {
		ret = tl_tasks_thread(&w->tasks, INT64_MIN, c->task, &thread, err);
		if (ret == TL_OK)
			ret = tl_writer_thread_row(w, thread, &values[1], err);
	}
	if (ret == TL_OK)
		ret = tl_writer_text(w, c->name, c->name_length, &values[2], err);
	if (ret < 0 || c->count <= 0)
		return ret;
	return tl_writer_put(w, INSERT_CALL_SUMMARY, values, 8,
			     (uint64_t)!values[1] << 1 | (uint64_t)(c->min_ns < 0) << 6 |
				     (uint64_t)(c->max_ns < 0) << 7,
			     NULL, 0, err);
}

int tl_writer_call_rows(struct tl_writer *w, struct tl_error *err)
{
	int ret = tl_call_blocks_flush(&w->calls, err);

	if (ret == TL_OK && w->call_zone.first_id)
		ret = put_zone(w, err);
	if (ret == TL_OK && w->left_out_texts)
		ret = tl_writer_note(w, TL_DIAGNOSTIC_SKIPPED,
				     "path or operation, since there are too many different ones",
				     w->left_out_texts, "calls",
				     "more than 12 MiB of different paths: later ones are in the "
				     "arguments only",
				     err);
	for (size_t i = 0; i < w->call_sums.count && ret == TL_OK; i++) {
		const struct tl_call_sum *sum = &w->call_sums.sums[i];
		const int64_t values[6] = { w->source_id,	 sum->thread_id,
					    sum->name_id,	 w->next_stack + sum->stack,
					    (int64_t)sum->count, (int64_t)sum->duration_sum_ns };

		ret = tl_writer_put(w, INSERT_CALL_STACK_SUM, values, 6,
				    (uint64_t)!sum->thread_id << 1, NULL, 0, err);
	}
	return ret;
}

/* Words for what the tracepoints cannot tell. */
static int note_pairs(struct tl_writer *w, const struct tl_call_pairs_result *r,
		      struct tl_error *err)
{
	int ret = TL_OK;

	if (r->is_sampled)
		ret = tl_writer_note(w, TL_DIAGNOSTIC_NOTE, "sampled system calls", 1, "sources",
				     "only one hit in several was recorded: no system calls can be "
				     "made of them",
				     err);
	if (ret == TL_OK && r->is_one_sided)
		ret = tl_writer_note(w, TL_DIAGNOSTIC_NOTE, "one side of system calls", 1,
				     "sources",
				     "only begins, or only ends, of system calls were recorded: "
				     "both are needed to know how long they took",
				     err);
	if (ret == TL_OK && r->unnamed_count)
		ret = tl_writer_note(w, TL_DIAGNOSTIC_NOTE, "system calls without a name",
				     r->unnamed_count, "calls",
				     "what their numbers mean depends on the machine, which is not "
				     "told: perf script --header tells it",
				     err);
	if (ret == TL_OK && r->begin_count)
		ret = tl_writer_note(w, TL_DIAGNOSTIC_LOST, "ends of system calls", r->begin_count,
				     "calls", NULL, err);
	if (ret == TL_OK && r->end_count)
		ret = tl_writer_note(w, TL_DIAGNOSTIC_LOST, "begins of system calls", r->end_count,
				     "calls", NULL, err);
	return ret;
}

bool tl_writer_makes_calls_of(const struct tl_writer *w, const struct tl_writer_type *type)
{
	bool is_wanted = !w->options.want || w->options.want & TL_WANT_SYSCALLS;

	return is_wanted && type->is_tracepoint && type->name && tl_call_is_tracepoint(type->name);
}

int tl_writer_derive_calls(struct tl_writer *w, struct tl_error *err)
{
	const struct tl_call_pairs_options opt = { .source_id = w->source_id,
						   .arch = tl_writer_meta_value(w, "arch"),
						   .aggregate_only = w->options.aggregate_only };
	struct tl_call_pairs_result result;
	bool has_calls = false;
	int ret;

	for (size_t i = 0; i < w->type_count; i++)
		has_calls |= w->types[i].sample_count && tl_writer_makes_calls_of(w, &w->types[i]);
	if (!has_calls)
		return TL_OK;
	ret = tl_call_pairs_derive(w->store, &opt, &result, err);
	w->syscall_count += result.call_count;
	return ret < 0 ? ret : note_pairs(w, &result, err);
}

void tl_writer_release_calls(struct tl_writer *w)
{
	tl_call_blocks_release(&w->calls);
	tl_call_sums_release(&w->call_sums);
	free(w->call_traits);
}
