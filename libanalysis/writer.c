/*
 * writer.c - one source into a case: the transaction, the dispatch of events, and what the source says
 * of itself; writer_finish.c ends it. Knows no format.
 */
#include "writer.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"

#define COUNTER_REAL_MASK (1u << 4) /* counter.value */

static const char *const insert_sql[INSERT_COUNT] = {
	[INSERT_STRING] = "INSERT INTO string(string_id, text) VALUES(?, ?)",
	[INSERT_SAMPLE] = "INSERT INTO sample(sample_id, ts, event_id, thread_id, name_id, cpu, "
			  "period, stack_id, payload_id, recorded_pid, recorded_tid, cgroup_id, "
			  "extra_id) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[INSERT_SAMPLE_EXTRA] =
		"INSERT INTO sample_extra(extra_id, address, physical_address, data_source, "
		"weight, "
		"transaction_flags, data_page_size, code_page_size) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
	[INSERT_PAYLOAD] = "INSERT INTO payload(payload_id, event_id, fields) VALUES(?, ?, ?)",
	[INSERT_SWITCH] =
		"INSERT INTO sched_switch(source_id, ts, cpu, prev_thread_id, prev_state, "
		"next_thread_id, prev_name_id, stack_id, told_by) "
		"VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[INSERT_WAKEUP] =
		"INSERT INTO sched_wakeup(source_id, ts, cpu, waker_thread_id, wakee_thread_id, "
		"target_cpu, is_waking, waker_name_id, stack_id) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[INSERT_SYSCALL] =
		/* its key is left to SQLite, which gives next_syscall: appending needs no search */
	"INSERT INTO syscall(source_id, thread_id, ts, dur, name_id, kind, "
	"timing, outcome, result, error_id, operation_id, fd, path_id, timeout_ns, "
	"stack_id, "
	"args_length, line, args) "
	"VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[INSERT_CALL_BLOCK] = TL_CALL_BLOCK_INSERT,
	[INSERT_SYSCALL_ZONE] = TL_CALL_ZONE_INSERT,
	[INSERT_CALL_STACK_SUM] = TL_CALL_SUM_INSERT,
	[INSERT_SLICE] =
		"INSERT INTO slice(slice_id, track_id, ts, dur, name_id, category_id, class, "
		"flags, correlation, external_id, bytes, step, stream, args) "
		"VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[INSERT_FLOW] = "INSERT INTO flow(flow_id, track_id, ts, phase, id, category_id) "
			"VALUES(?, ?, ?, ?, ?, ?)",
	[INSERT_COUNTER] =
		"INSERT INTO counter(track_id, ts, name_id, unit_id, value) VALUES(?, ?, ?, ?, ?)",
	[INSERT_CALL_SUMMARY] =
		"INSERT INTO call_summary(source_id, thread_id, name_id, kind, "
		"call_count, dur_sum, dur_min, dur_max) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
	[INSERT_STEP_MARK] = "INSERT INTO step_mark(source_id, number, rank, ts, dur, step_count, "
			     "detail) VALUES(?, ?, ?, ?, ?, ?, ?)",
	[INSERT_LOG] = "INSERT INTO log(log_id, source_id, ts, line, level_id, text) VALUES(?, ?, "
		       "?, ?, ?, ?)",
	[INSERT_CLOCK_ANCHOR] = "INSERT INTO clock_anchor(source_id, realtime_ns, value_ns, "
				"width_ns, clock) VALUES(?, ?, ?, ?, ?)",
	[INSERT_GAP] = "INSERT INTO gap(source_id, ts, cpu, event_id, count, kind) VALUES(?, ?, ?, "
		       "?, ?, ?)",
	[INSERT_PROCESS] =
		"INSERT INTO process(process_id, host_id, pid, inner_pid, parent_process_id, "
		"start_ts, end_ts) VALUES(?, ?, ?, ?, ?, ?, ?)",
	[INSERT_THREAD] =
		"INSERT INTO thread(thread_id, process_id, tid, name_id, start_ts, end_ts) "
		"VALUES(?, ?, ?, ?, ?, ?)",
	[INSERT_THREAD_NAME] = "INSERT INTO thread_name(source_id, thread_id, ts, name_id, "
			       "is_exec) VALUES(?, ?, ?, ?, ?)",
	[INSERT_THREAD_LIFE] =
		"INSERT INTO thread_life(source_id, thread_id, process_id, parent_process_id, tid, "
		"pid, inner_pid, name_id, start_ts, end_ts, process_start_ts, process_end_ts) "
		"VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[INSERT_CGROUP] =
		"INSERT INTO cgroup(cgroup_id, source_id, kernel_id, path) VALUES(?, ?, ?, ?)",
	[INSERT_SYMBOL] = "INSERT INTO symbol(symbol_id, dso_id, name_id, linkage_name_id, start, "
			  "size) VALUES(?, ?, ?, ?, ?, ?)",
	[INSERT_FRAME] = "INSERT INTO frame(frame_id, dso_id, symbol_id, address, line_id, "
			 "context) VALUES(?, ?, ?, ?, ?, ?)",
	[INSERT_FRAME_INLINE] = "INSERT INTO frame_inline(frame_id, depth, name_id, call_line, "
				"call_file) VALUES(?, ?, ?, ?, ?)",
	[INSERT_STACK] =
		"INSERT INTO stack(stack_id, parent_id, frame_id, depth) VALUES(?, ?, ?, ?)",
	[INSERT_STACK_SUM] =
		"INSERT INTO stack_sum(sum_id, event_id, thread_id, name_id, stack_id, "
		"recorded_pid, recorded_tid, cgroup_id, sample_count, period_sum) "
		"VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	[INSERT_SAMPLE_BLOCK] =
		"INSERT INTO sample_block(source_id, sample_count, base_ts, first_ts, last_ts, "
		"samples) VALUES(?, ?, ?, ?, ?, ?)",
};

int tl_writer_put(struct tl_writer *w, enum tl_insert insert, const int64_t *values, unsigned count,
		  uint64_t null_mask, const char *text, size_t text_length, struct tl_error *err)
{
	return tl_rows_put(w->rows, w->inserts[insert], values, count, null_mask, text, text_length,
			   err);
}

/* Does the case know this text from another source? 0: no. */
static int find_old_string(struct tl_writer *w, const struct tl_interned *s, int64_t *row_id,
			   struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_rows_drain(w->rows, err);

	if (ret == TL_OK)
		ret = tl_statement_open(&st, w->store,
					"SELECT string_id FROM string WHERE text = ?", "string_id",
					err);
	if (ret < 0)
		return ret;
	tl_bind_bytes(st, 1, s->text, s->length);
	ret = tl_statement_step(st, err);
	*row_id = ret > 0 ? tl_column_i64(st, 0) : 0;
	tl_statement_close(st);
	return ret < 0 ? ret : TL_OK;
}

int tl_writer_string(struct tl_writer *w, uint32_t interned, int64_t *row_id, struct tl_error *err)
{
	const struct tl_interned *s = &w->strings.strings[interned];
	int64_t *id;
	int ret = tl_grow(&w->string_ids, &w->string_id_capacity, w->strings.count, err);

	if (ret < 0)
		return ret;
	id = &w->string_ids[interned];
	if (!*id && w->has_old_strings)
		ret = find_old_string(w, s, id, err);
	if (ret == TL_OK && !*id) {
		*id = w->next_string++;
		ret = tl_writer_put(w, INSERT_STRING, id, 1, 0, s->text, s->length, err);
	}
	*row_id = *id;
	return ret;
}

/* ---- what the source says of itself ---- */

static char *keep(struct tl_writer *w, const char *text, struct tl_error *err)
{
	return tl_arena_copy(&w->arena, text, strlen(text), err);
}

/* NULL stays NULL. */
static int keep_optional(struct tl_writer *w, char **out, const char *text, struct tl_error *err)
{
	*out = text ? keep(w, text, err) : NULL;
	return text && !*out ? TL_NOMEM : TL_OK;
}

const char *tl_writer_meta_value(const struct tl_writer *w, const char *key)
{
	for (size_t i = 0; i < w->meta_count; i++)
		if (!strcmp(w->meta[i].key, key))
			return w->meta[i].value;
	return NULL;
}

static int on_meta(struct tl_writer *w, const struct tl_event_meta *ev, struct tl_error *err)
{
	struct tl_writer_meta *m;
	int ret = tl_grow(&w->meta, &w->meta_capacity, w->meta_count + 1, err);

	if (ret < 0)
		return ret;
	m = &w->meta[w->meta_count];
	m->key = keep(w, ev->key, err);
	m->value = keep(w, ev->value ? ev->value : "", err);
	if (!m->key || !m->value)
		return TL_NOMEM;
	w->meta_count++;
	return TL_OK;
}

static int on_clock(struct tl_writer *w, const struct tl_event_clock *ev, struct tl_error *err)
{
	int ret = keep_optional(w, &w->clock_name, ev->name, err);

	if (ret == TL_OK)
		ret = keep_optional(w, &w->clock_why, ev->why, err);
	w->is_monotonic = ev->name && !strcmp(ev->name, "monotonic");
	w->clock_method = ev->method;
	w->clock_residual_ns = ev->residual_ns;
	w->has_clock = true;
	if (w->has_rows)
		w->late_offset_ns =
			(int64_t)((uint64_t)ev->offset_ns - (uint64_t)w->clock_offset_ns);
	else
		w->clock_offset_ns = ev->offset_ns;
	return ret;
}

static int need_type(struct tl_writer *w, uint32_t index, struct tl_error *err)
{
	/* importers number types from 0 as they come: a wild number is their mistake */
	if (index > w->type_count + 65536)
		return tl_fail(err, TL_USAGE, "event type %u out of order", index);
	if (index < w->type_count)
		return TL_OK;
	if (tl_grow(&w->types, &w->type_capacity, (size_t)index + 1, err) < 0)
		return TL_NOMEM;
	for (; w->type_count <= index; w->type_count++)
		w->types[w->type_count].row_id = w->next_event++;
	return TL_OK;
}

static int on_type(struct tl_writer *w, const struct tl_event_type *ev, struct tl_error *err)
{
	struct tl_writer_type *t;
	int ret = need_type(w, ev->index, err);

	if (ret < 0)
		return ret;
	t = &w->types[ev->index];
	t->type = ev->type;
	t->config = ev->config;
	t->period = ev->period;
	t->freq = ev->freq;
	t->is_tracepoint = ev->is_tracepoint;
	t->is_hidden = ev->is_hidden;
	t->is_known = true;
	ret = keep_optional(w, &t->name, ev->name, err);
	if (ret == TL_OK)
		ret = keep_optional(w, &t->unit, ev->unit, err);
	if (ret == TL_OK)
		ret = keep_optional(w, &t->detail, ev->detail, err);
	return ret;
}

/* Enough for any recording; a made one could have a kind of its own in every record. */
#define DIAGNOSTICS_MAX 1000u

static uint64_t hash_diagnostic(const struct tl_event_diagnostic *ev)
{
	return tl_hash(ev->what, strlen(ev->what), (uint64_t)ev->kind);
}

static struct tl_writer_diagnostic *find_diagnostic(const struct tl_writer *w,
						    const struct tl_event_diagnostic *ev)
{
	size_t probe = 0;
	int64_t found;

	while ((found = tl_index_find(&w->diagnostic_index, hash_diagnostic(ev), &probe)) >= 0) {
		struct tl_writer_diagnostic *d = &w->diagnostics[found];

		if (d->kind == ev->kind && !strcmp(d->what, ev->what))
			return d;
	}
	return NULL;
}

static int on_diagnostic(struct tl_writer *w, const struct tl_event_diagnostic *ev,
			 struct tl_error *err)
{
	struct tl_event_diagnostic other = *ev;
	struct tl_writer_diagnostic *d = find_diagnostic(w, ev);
	int ret;

	if (!d && w->diagnostic_count >= DIAGNOSTICS_MAX) {
		other.what = "findings of further kinds";
		other.unit = "findings";
		other.message = NULL;
		ev = &other;
		d = find_diagnostic(w, ev);
	}
	if (d) {
		if (__builtin_add_overflow(d->count, ev->count, &d->count) || d->count > INT64_MAX)
			d->count = INT64_MAX;
		return TL_OK;
	}
	ret = tl_grow(&w->diagnostics, &w->diagnostic_capacity, w->diagnostic_count + 1, err);
	if (ret < 0)
		return ret;
	d = &w->diagnostics[w->diagnostic_count];
	d->kind = ev->kind;
	d->count = ev->count < INT64_MAX ? ev->count : INT64_MAX;
	d->position_kind = ev->position_kind;
	d->position = ev->position;
	ret = keep_optional(w, &d->what, ev->what, err);
	if (ret == TL_OK)
		ret = keep_optional(w, &d->unit, ev->unit, err);
	if (ret == TL_OK)
		ret = keep_optional(w, &d->message, ev->message, err);
	if (ret == TL_OK)
		ret = tl_index_add(&w->diagnostic_index, hash_diagnostic(ev),
				   (uint32_t)w->diagnostic_count, err);
	if (ret == TL_OK)
		w->diagnostic_count++;
	return ret;
}

int tl_writer_note(struct tl_writer *w, enum tl_diagnostic_kind kind, const char *what,
		   uint64_t count, const char *unit, const char *message, struct tl_error *err)
{
	struct tl_event_diagnostic d = {
		.kind = kind, .what = what, .count = count, .unit = unit, .message = message
	};

	return on_diagnostic(w, &d, err);
}

static int on_gap(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err)
{
	static const char *const kinds[] = { [TL_GAP_LOST] = "lost",
					     [TL_GAP_LOST_SAMPLES] = "lost_samples",
					     [TL_GAP_THROTTLE] = "throttle",
					     [TL_GAP_UNTHROTTLE] = "unthrottle" };
	const struct tl_event_gap *gap = &ev->gap;
	bool is_loss = gap->kind == TL_GAP_LOST || gap->kind == TL_GAP_LOST_SAMPLES;
	bool has_type = gap->type_index != UINT32_MAX;
	int64_t values[5];
	uint64_t nulls = 0;
	int ret = has_type ? need_type(w, gap->type_index, err) : TL_OK;

	if (ret < 0)
		return ret;
	values[0] = w->source_id;
	values[1] = tl_writer_unix(w, ev->ts);
	values[2] = gap->cpu;
	values[3] = has_type ? w->types[gap->type_index].row_id : 0;
	values[4] = (int64_t)gap->count;
	nulls = (uint64_t)!ev->has_ts << 1 | (uint64_t)(gap->cpu < 0) << 2 |
		(uint64_t)!has_type << 3 | (uint64_t)!is_loss << 4;
	w->has_rows |= ev->has_ts;
	return tl_writer_put(w, INSERT_GAP, values, 5, nulls, kinds[gap->kind],
			     strlen(kinds[gap->kind]), err);
}

/* Not mapped: it is what the source says, and others are mapped by it. */
static int on_clock_anchor(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err)
{
	const struct tl_event_clock_anchor *a = &ev->clock_anchor;
	const int64_t values[4] = { w->source_id, ev->ts, a->value_ns, a->width_ns };

	if (!ev->has_ts || !a->clock)
		return TL_OK;
	tl_writer_note_time(w, ev);
	return tl_writer_put(w, INSERT_CLOCK_ANCHOR, values, 4, 0, a->clock, strlen(a->clock), err);
}

/* Without root switches may be all that perf records: the source has a time all the same. */
static void widen(struct tl_writer *w, const struct tl_event *ev)
{
	if (!ev->has_ts)
		return;
	w->first_ts = ev->ts < w->first_ts ? ev->ts : w->first_ts;
	w->last_ts = ev->ts > w->last_ts ? ev->ts : w->last_ts;
}

static int writer_emit(struct tl_sink *sink, const struct tl_event *ev, struct tl_error *err)
{
	struct tl_writer *w = (struct tl_writer *)sink;

	w->has_times |= ev->has_ts;
	switch (ev->kind) {
	case TL_EVENT_META:
		return on_meta(w, &ev->meta, err);
	case TL_EVENT_CLOCK:
		return on_clock(w, &ev->clock, err);
	case TL_EVENT_TYPE:
		return on_type(w, &ev->type, err);
	case TL_EVENT_DSO:
	case TL_EVENT_DSO_SYMBOLS:
	case TL_EVENT_FORK:
	case TL_EVENT_EXIT:
	case TL_EVENT_COMM:
	case TL_EVENT_MMAP:
	case TL_EVENT_KSYMBOL:
	case TL_EVENT_NAMESPACE:
	case TL_EVENT_CGROUP:
		return tl_writer_sideband(w, ev, err);
	case TL_EVENT_SIDEBAND_END:
		return tl_writer_settle_sideband(w, err);
	case TL_EVENT_SAMPLE: {
		int ret = need_type(w, ev->sample.type_index, err);

		return ret < 0 ? ret : tl_writer_sample(w, ev, err);
	}
	case TL_EVENT_SWITCH:
		widen(w, ev);
		return tl_writer_switch(w, ev, err);
	case TL_EVENT_WAKEUP:
		return tl_writer_wakeup(w, ev, err);
	case TL_EVENT_SYSCALL:
		return tl_writer_syscall(w, ev, err);
	case TL_EVENT_CALL_SUMMARY:
		return tl_writer_call_summary(w, ev, err);
	case TL_EVENT_TRACK:
		return tl_writer_track(w, &ev->track, err);
	case TL_EVENT_SLICE:
		return tl_writer_slice(w, ev, err);
	case TL_EVENT_FLOW:
		return tl_writer_flow(w, ev, err);
	case TL_EVENT_COUNTER:
		return tl_writer_counter(w, ev, err);
	case TL_EVENT_STEP:
		return tl_writer_step(w, ev, err);
	case TL_EVENT_LOG:
		return tl_writer_log(w, ev, err);
	case TL_EVENT_CLOCK_ANCHOR:
		return on_clock_anchor(w, ev, err);
	case TL_EVENT_GAP:
		return on_gap(w, ev, err);
	case TL_EVENT_DIAGNOSTIC:
		return on_diagnostic(w, &ev->diagnostic, err);
	case TL_EVENT_KIND_COUNT:
		break;
	}
	return tl_fail(err, TL_USAGE, "event of unknown kind %d", (int)ev->kind);
}

struct tl_sink *tl_writer_sink(struct tl_writer *writer)
{
	return &writer->sink;
}

/* ---- begin ---- */

static int refuse_duplicate(struct tl_writer *w, const struct tl_source_description *source,
			    struct tl_error *err)
{
	struct tl_statement *st;
	int ret;

	if (!source->fingerprint || source->is_duplicate_allowed)
		return TL_OK;
	ret = tl_statement_open(&st, w->store,
				"SELECT path FROM source WHERE fingerprint = ? AND size_bytes = ?",
				"path", err);
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, (int64_t)source->fingerprint);
	tl_bind_i64(st, 2, (int64_t)source->size_bytes);
	ret = tl_statement_step(st, err);
	if (ret > 0) {
		size_t len;
		const char *path = tl_column_text(st, 0, &len);

		ret = tl_fail(err, TL_USAGE, "is in the case already, as %.*s", (int)len, path);
		tl_error_source(err, source->path);
	}
	tl_statement_close(st);
	return ret;
}

static int next_ids(struct tl_writer *w, struct tl_error *err)
{
	static const struct {
		const char *sql;
		size_t offset;
	} tables[] = {
#define NEXT(field, table) \
	{ "SELECT max(" #table "_id) + 1 FROM " #table, offsetof(struct tl_writer, field) }
		NEXT(source_id, source),
		NEXT(next_string, string),
		NEXT(next_process, process),
		NEXT(next_thread, thread),
		NEXT(next_cgroup, cgroup),
		NEXT(next_dso, dso),
		NEXT(next_symbol, symbol),
		NEXT(next_frame, frame),
		NEXT(next_stack, stack),
		NEXT(next_event, event),
		NEXT(next_payload, payload),
		NEXT(next_sample, sample),
		NEXT(next_track, track),
		NEXT(next_syscall, syscall),
		NEXT(next_slice, slice),
		NEXT(next_flow, flow),
		NEXT(next_log, log),
#undef NEXT
		{ "SELECT max(extra_id) + 1 FROM sample_extra",
		  offsetof(struct tl_writer, next_extra) },
		{ "SELECT max(sum_id) + 1 FROM stack_sum", offsetof(struct tl_writer, next_sum) },
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		int64_t *id = (int64_t *)(void *)((char *)w + tables[i].offset);
		int ret = tl_store_value(w->store, tables[i].sql, 1, id, err);

		if (ret < 0)
			return ret;
	}
	w->has_old_strings = w->next_string > 1;
	return TL_OK;
}

/* What is known of the source now; the rest is filled in by commit. */
static int insert_source(struct tl_writer *w, const struct tl_source_description *source,
			 struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, w->store,
		"INSERT INTO source(source_id, host_id, path, importer, size_bytes, fingerprint, "
		"modified_ns, record_count, damaged_count, sample_count, untimed_count, "
		"disorder_count, clock_method, clock_offset_ns, clock_slope, is_complete) "
		"VALUES(?, 0, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, '', 0, 1, 0)",
		NULL, err);
	char path[4096];

	if (ret < 0)
		return ret;
	tl_printable(path, sizeof(path), source->path, strlen(source->path));
	tl_bind_i64(st, 1, w->source_id);
	tl_bind_text(st, 2, path, strlen(path));
	tl_bind_text(st, 3, source->importer, strlen(source->importer));
	tl_bind_i64(st, 4, (int64_t)source->size_bytes);
	if (source->fingerprint)
		tl_bind_i64(st, 5, (int64_t)source->fingerprint);
	if (source->modified_ns)
		tl_bind_i64(st, 6, source->modified_ns);
	ret = tl_statement_run(st, err);
	tl_statement_close(st);
	return ret;
}

/* Names and lines as recorded, and blocks; all other text is words for people. */
static bool takes_any_text(enum tl_insert insert)
{
	return insert == INSERT_STRING || insert == INSERT_SYSCALL || insert == INSERT_LOG ||
	       insert == INSERT_CALL_BLOCK || insert == INSERT_SAMPLE_BLOCK;
}

/* What is told of the machine comes first: the first of equal keys is asked for. */
static int keep_told(struct tl_writer *w, const char *key, const char *value, struct tl_error *err)
{
	const struct tl_event_meta told = { .key = key, .value = value };

	return value ? on_meta(w, &told, err) : TL_OK;
}

int tl_writer_begin(struct tl_writer **out, struct tl_store *store,
		    const struct tl_source_description *source, const struct tl_writer_options *opt,
		    struct tl_error *err)
{
	struct tl_writer *w = tl_alloc(1, sizeof(*w), err);
	int ret;

	*out = NULL;
	if (!w)
		return TL_NOMEM;
	w->sink.emit = writer_emit;
	w->store = store;
	w->options = *opt;
	w->clock_method = TL_CLOCK_ASSUMED;
	w->clock_residual_ns = -1;
	w->recording.end_unix_ns = source->end_unix_ns ? source->end_unix_ns : source->modified_ns;
	w->recorded_with = source->recorded_with;
	w->first_ts = INT64_MAX;
	w->last_ts = w->newest_ts = INT64_MIN;
	w->last_node = w->last_thread = w->last_name = TL_NO_INDEX;
	tl_tasks_init(&w->tasks, &w->strings);
	ret = keep_told(w, "hostname", source->hostname, err);
	if (ret == TL_OK)
		ret = keep_told(w, "recorded_with", source->recorded_with, err);
	if (ret == TL_OK)
		ret = tl_spaces_add(&w->spaces, UINT32_MAX, 0, &w->kernel_space, err);
	if (ret == TL_OK)
		ret = tl_store_begin(store, err);
	if (ret == TL_OK)
		ret = refuse_duplicate(w, source, err);
	if (ret == TL_OK)
		ret = next_ids(w, err);
	if (ret == TL_OK)
		ret = insert_source(w, source, err);
	if (ret == TL_OK)
		ret = tl_rows_open(&w->rows, store, err);
	for (int i = 0; i < INSERT_COUNT && ret == TL_OK; i++)
		ret = tl_rows_prepare(w->rows, insert_sql[i],
				      i == INSERT_COUNTER ? COUNTER_REAL_MASK : 0,
				      takes_any_text((enum tl_insert)i), &w->inserts[i], err);
	if (ret < 0) {
		tl_writer_abort(w);
		return ret;
	}
	*out = w;
	return TL_OK;
}
