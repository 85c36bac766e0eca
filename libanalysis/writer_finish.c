/*
 * writer_finish.c - the end of a source: what is known only when all of it was read becomes rows, other
 * tables are derived from them, and the transaction is committed or rolled back.
 */
#include "writer.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "mm_activity.h"
#include "reader.h"
#include "slice_nesting.h"

void tl_writer_abort(struct tl_writer *w)
{
	if (!w)
		return;
	tl_rows_close(w->rows);
	tl_store_rollback(w->store);
	tl_symbols_close(w->symbols);
	tl_unwinder_close(w->unwinder);
	tl_tasks_release(&w->tasks);
	tl_spaces_release(&w->spaces);
	tl_chains_release(&w->chains);
	tl_interner_release(&w->strings);
	tl_index_release(&w->cgroup_index);
	tl_index_release(&w->dso_index);
	tl_index_release(&w->build_id_index);
	tl_index_release(&w->known_by_tid);
	tl_index_release(&w->known_by_pid);
	tl_index_release(&w->sum_index);
	tl_arena_release(&w->arena);
	tl_writer_release_calls(w);
	tl_sample_blocks_release(&w->blocks);
	free(w->string_ids);
	free(w->meta);
	free(w->types);
	free(w->tracks);
	free(w->step_spans);
	free(w->cgroups);
	free(w->diagnostics);
	tl_index_release(&w->diagnostic_index);
	free(w->pending);
	free(w->jitdump_of);
	free(w->dsos);
	free(w->build_ids);
	free(w->known);
	free(w->frame_memo);
	free(w->chain_memo);
	free(w->chain_frames);
	free(w->unwound);
	free(w->sums);
	free(w);
}

static void bind_string(struct tl_statement *st, int parameter, const char *text)
{
	if (text)
		tl_bind_text(st, parameter, text, strlen(text));
	else
		tl_bind_null(st, parameter);
}

static int put_meta(struct tl_writer *w, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, w->store, "INSERT INTO source_meta(source_id, key, value) VALUES(?, ?, ?)",
		NULL, err);

	for (size_t i = 0; i < w->meta_count && ret == TL_OK; i++) {
		tl_bind_i64(st, 1, w->source_id);
		bind_string(st, 2, w->meta[i].key);
		tl_bind_bytes(st, 3, w->meta[i].value, strlen(w->meta[i].value));
		ret = tl_statement_run(st, err);
	}
	tl_statement_close(st);
	return ret;
}

static int put_diagnostics(struct tl_writer *w, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, w->store,
		"INSERT INTO lost(source_id, kind, what, count, unit, position_kind, position, "
		"message) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
		NULL, err);

	for (size_t i = 0; i < w->diagnostic_count && ret == TL_OK; i++) {
		const struct tl_writer_diagnostic *d = &w->diagnostics[i];

		tl_bind_i64(st, 1, w->source_id);
		bind_string(st, 2, tl_diagnostic_kind_name(d->kind));
		bind_string(st, 3, d->what);
		tl_bind_i64(st, 4, (int64_t)d->count);
		bind_string(st, 5, d->unit);
		bind_string(st, 6,
			    d->position_kind == TL_POSITION_NONE   ? NULL
			    : d->position_kind == TL_POSITION_BYTE ? "byte"
								   : "line");
		if (d->position_kind == TL_POSITION_NONE)
			tl_bind_null(st, 7);
		else
			tl_bind_i64(st, 7, (int64_t)d->position);
		bind_string(st, 8, d->message);
		ret = tl_statement_run(st, err);
	}
	tl_statement_close(st);
	return ret;
}

static void bind_u64_or_null(struct tl_statement *st, int parameter, uint64_t value)
{
	if (value)
		tl_bind_i64(st, parameter, (int64_t)value);
	else
		tl_bind_null(st, parameter);
}

static int put_types(struct tl_writer *w, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, w->store,
				    "INSERT INTO event(event_id, source_id, position, name, type, "
				    "config, fixed_period, "
				    "frequency_hz, unit, is_tracepoint, is_hidden, is_sampled, "
				    "sample_count, period_sum, "
				    "detail, has_callchain, first_ts) VALUES(?, ?, ?, ?, ?, ?, ?, "
				    "?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
				    NULL, err);

	for (size_t i = 0; i < w->type_count && ret == TL_OK; i++) {
		const struct tl_writer_type *t = &w->types[i];

		tl_bind_i64(st, 1, t->row_id);
		tl_bind_i64(st, 2, w->source_id);
		tl_bind_i64(st, 3, (int64_t)i);
		bind_string(st, 4, t->name ? t->name : "unknown");
		tl_bind_i64(st, 5, t->type);
		tl_bind_i64(st, 6, (int64_t)t->config);
		bind_u64_or_null(st, 7, t->period);
		bind_u64_or_null(st, 8, t->freq);
		bind_string(st, 9, t->unit);
		tl_bind_i64(st, 10, t->is_tracepoint);
		tl_bind_i64(st, 11, t->is_hidden);
		tl_bind_i64(st, 12, t->is_sampled);
		tl_bind_i64(st, 13, (int64_t)t->sample_count);
		tl_bind_i64(st, 14, (int64_t)t->period_sum);
		bind_string(st, 15, t->detail);
		tl_bind_i64(st, 16, t->has_callchain);
		if (t->has_first_ts)
			tl_bind_i64(st, 17, tl_writer_unix(w, t->first_ts));
		else
			tl_bind_null(st, 17);
		ret = tl_statement_run(st, err);
	}
	tl_statement_close(st);
	return ret;
}

/* The whole text as an integer; NULL for anything else. */
static void bind_number(struct tl_statement *st, int parameter, const char *text)
{
	uint64_t value;
	size_t len = text ? strlen(text) : 0;

	if (len && tl_parse_u64(text, len, 10, &value) == len && value <= INT64_MAX)
		tl_bind_i64(st, parameter, (int64_t)value);
	else
		tl_bind_null(st, parameter);
}

static int update_source(struct tl_writer *w, const struct tl_import_result *result,
			 struct tl_error *err)
{
	struct tl_statement *st;
	bool has_times = w->first_ts != INT64_MAX;
	int ret = tl_statement_open(
		&st, w->store,
		"UPDATE source SET host_id = ?, record_count = ?, damaged_count = ?, "
		"sample_count = ?, first_ts = ?, last_ts = ?, untimed_count = ?, disorder_count = "
		"?, "
		"clock_name = ?, clock_method = ?, clock_offset_ns = ?, clock_residual_ns = ?, "
		"clock_why = ?, is_complete = ?, rank = ?, world_size = ? WHERE source_id = ?",
		NULL, err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, w->host_id);
	tl_bind_i64(st, 2, (int64_t)result->records);
	tl_bind_i64(st, 3, (int64_t)result->damaged);
	tl_bind_i64(st, 4, (int64_t)w->sample_count);
	if (has_times) {
		tl_bind_i64(st, 5, tl_writer_unix(w, w->first_ts));
		tl_bind_i64(st, 6, tl_writer_unix(w, w->last_ts));
	}
	tl_bind_i64(st, 7, (int64_t)w->untimed_count);
	tl_bind_i64(st, 8, (int64_t)w->disorder_count);
	bind_string(st, 9, w->clock_name);
	bind_string(st, 10, tl_clock_method_name(w->clock_method));
	tl_bind_i64(st, 11, w->clock_offset_ns);
	if (w->clock_residual_ns >= 0)
		tl_bind_i64(st, 12, w->clock_residual_ns);
	bind_string(st, 13, w->clock_why);
	tl_bind_i64(st, 14, !w->options.aggregate_only);
	bind_number(st, 15, tl_writer_meta_value(w, "rank"));
	bind_number(st, 16, tl_writer_meta_value(w, "world_size"));
	tl_bind_i64(st, 17, w->source_id);
	ret = tl_statement_run(st, err);
	tl_statement_close(st);
	return ret;
}

/* What the source itself says of its clock. */
static int put_claim(struct tl_writer *w, struct tl_error *err)
{
	const struct tl_clock_claim claim = { .source_id = w->source_id,
					      .method = w->clock_method,
					      .line = { w->clock_offset_ns, 1 },
					      .residual_ns = w->clock_residual_ns,
					      .match_count = -1,
					      .rival_ratio = -1,
					      .why = w->clock_why };

	return tl_clock_claim_put(w->store, &claim, err);
}

static int finish(struct tl_writer *w, const struct tl_import_result *result, struct tl_error *err)
{
	int64_t early_offset_ns = w->clock_offset_ns;
	/* of more than its steps */
	bool has_timeline = w->has_slices && (!w->options.want || w->options.want & TL_WANT_SLICES);
	int ret = TL_OK;

	if (!w->is_settled)
		ret = tl_writer_settle_sideband(w, err);
	if (ret == TL_OK)
		ret = tl_writer_call_rows(w, err);
	if (ret == TL_OK)
		ret = tl_writer_sample_block(w, err);
	if (ret == TL_OK)
		ret = tl_rows_drain(w->rows, err);
	if (ret == TL_OK)
		ret = put_types(w, err);
	/* for what is written from here on; the rows so far follow when they have their tracks */
	w->clock_offset_ns = (int64_t)((uint64_t)w->clock_offset_ns + (uint64_t)w->late_offset_ns);
	if (ret == TL_OK)
		ret = tl_writer_name_rows(w, err);
	if (ret == TL_OK)
		ret = tl_writer_track_rows(w, err);
	if (ret == TL_OK && w->late_offset_ns)
		ret = tl_rows_drain(w->rows, err);
	if (ret == TL_OK && w->late_offset_ns)
		ret = tl_clock_shift(w->store, w->source_id, early_offset_ns, w->clock_offset_ns,
				     err);
	if (ret == TL_OK)
		ret = tl_writer_task_rows(w, err);
	if (ret == TL_OK)
		ret = tl_rows_drain(w->rows, err);
	if (ret == TL_OK)
		ret = tl_writer_step_repeats(w, err);
	if (ret == TL_OK)
		ret = put_meta(w, err);
	if (ret == TL_OK)
		ret = tl_writer_derive_calls(w, err);
	if (ret == TL_OK)
		ret = put_diagnostics(w, err);
	if (ret == TL_OK)
		ret = update_source(w, result, err);
	if (ret == TL_OK)
		ret = put_claim(w, err);
	if (ret == TL_OK && w->switch_count)
		ret = tl_states_derive(w->store, w->source_id, err);
	if (ret == TL_OK && w->sample_count)
		ret = tl_mm_activity_derive(w->store, w->source_id, err);
	if (ret == TL_OK && (has_timeline || !tl_store_is_temporary(w->store)))
		ret = tl_store_index(w->store, err);
	if (ret == TL_OK && has_timeline)
		ret = tl_slices_note_crossed(w->store, w->source_id, err);
	return ret;
}

int tl_writer_commit(struct tl_writer *w, const struct tl_import_result *result,
		     struct tl_error *err)
{
	int ret = finish(w, result, err);

	if (ret == TL_OK) {
		tl_rows_close(w->rows); /* its statements must be gone before the commit */
		w->rows = NULL;
		ret = tl_store_commit(w->store, err);
	}
	tl_writer_abort(w); /* releases; rolls back what was not committed */
	return ret;
}
