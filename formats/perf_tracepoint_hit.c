/*
 * perf_tracepoint_hit.c - one hit of a tracepoint: what the scheduler says in it, and its payload.
 */
#include <string.h>

#include "perf_format_text.h"
#include "perf_switch_state.h"
#include "perf_tracepoint_private.h"

static struct perf_one_tracepoint *find_tracepoint(const struct perf_tracepoints *tp,
						   uint64_t config)
{
	uint32_t i = tp && config <= PERF_EVENT_ID_MAX ? tp->by_id[config] : 0;

	return i ? &tp->list[i - 1] : NULL;
}

const char *perf_tracepoints_name(struct perf_tracepoints *tp, uint64_t config)
{
	const struct perf_one_tracepoint *t = find_tracepoint(tp, config);

	return t ? t->name : NULL;
}

static enum tl_switch_state switch_state(struct perf_tracepoints *tp, struct perf_one_tracepoint *t,
					 uint64_t value)
{
	const struct perf_field *f = t->prev_state;
	struct perf_state_memo *memo = &t->memo[tl_hash_u64(value, 0) & (PERF_STATE_MEMO - 1)];

	if (f->shown_count == 0)
		return TL_SWITCH_UNKNOWN;
	if (memo->is_set && memo->value == value)
		return memo->state;
	memo->is_set = true;
	memo->value = value;
	memo->state = TL_SWITCH_UNKNOWN;
	if (perf_print_format_text(t->program.print_format, t->program.shown[f->shown_first].index,
				   value, &tp->scratch))
		memo->state = perf_switch_state(tp->scratch.data, tp->scratch.length);
	return memo->state;
}

static uint64_t field_value(const struct perf_one_tracepoint *t, const struct perf_field *f,
			    const uint8_t *raw)
{
	return perf_load(raw + f->offset, f->size, f->is_signed, t->program.is_big_endian);
}

static struct perf_tracepoint_name field_name(const struct perf_field *f, const uint8_t *raw)
{
	struct perf_tracepoint_name name = { 0 };

	if (f) {
		name.text = (const char *)raw + f->offset;
		name.length = strnlen(name.text, f->size);
	}
	return name;
}

/* `raw` holds at least the program's minimum_size. */
static void decode_scheduler(struct perf_tracepoints *tp, struct perf_one_tracepoint *t,
			     const uint8_t *raw, struct perf_tracepoint_hit *out)
{
	out->what = t->what;
	switch (t->what) {
	case PERF_TRACEPOINT_SWITCH:
		out->prev_pid = (int32_t)field_value(t, t->prev_pid, raw);
		out->next_pid = (int32_t)field_value(t, t->next_pid, raw);
		out->prev_name = field_name(t->prev_comm, raw);
		out->next_name = field_name(t->next_comm, raw);
		if (t->prev_state)
			out->prev_state = switch_state(tp, t, field_value(t, t->prev_state, raw));
		break;
	case PERF_TRACEPOINT_WAKEUP:
	case PERF_TRACEPOINT_WAKING:
		/* kernels before 4.3 also tell of wakeups of what was awake */
		if (t->success && field_value(t, t->success, raw) == 0)
			out->what = PERF_TRACEPOINT_OTHER;
		out->wakee_pid = (int32_t)field_value(t, t->pid, raw);
		out->wakee_name = field_name(t->comm, raw);
		if (t->target_cpu)
			out->target_cpu = (int32_t)field_value(t, t->target_cpu, raw);
		break;
	case PERF_TRACEPOINT_OTHER:
		break;
	}
}

static int decode_payload(struct perf_tracepoints *tp, const struct perf_one_tracepoint *t,
			  uint64_t config, const uint8_t *raw, size_t len, struct tl_payload *out,
			  struct tl_error *err)
{
	size_t header = t && len >= t->program.minimum_size ? t->program.header_size : 0;
	uint32_t id = config <= PERF_EVENT_ID_MAX ? (uint32_t)config : PERF_EVENT_ID_MAX + 1;
	int is_new = perf_dictionary_find(&tp->dictionary, id, raw + header, len - header,
					  &out->key, err);

	out->is_raw = header == 0 && (t == NULL || len < t->program.minimum_size);
	if (is_new <= 0)
		return is_new;
	if (out->is_raw || !perf_program_run(&t->program, raw, len, &tp->scratch, &tp->json)) {
		out->is_raw = true;
		perf_payload_raw(raw, len, &tp->json);
	}
	if (tp->json.failed || tp->scratch.failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	out->json = tp->json.data;
	out->json_length = tp->json.length;
	return TL_OK;
}

int perf_tracepoint_decode(struct perf_tracepoints *tp, uint64_t config, const uint8_t *raw,
			   size_t len, bool want_json, struct perf_tracepoint_hit *out,
			   struct tl_error *err)
{
	struct perf_one_tracepoint *t = find_tracepoint(tp, config);

	*out = (struct perf_tracepoint_hit) { .common_pid = TL_ID_NONE,
					      .prev_pid = TL_ID_NONE,
					      .next_pid = TL_ID_NONE,
					      .wakee_pid = TL_ID_NONE,
					      .target_cpu = -1,
					      .payload = { .key = UINT64_MAX } };
	if (t && len >= t->program.minimum_size) {
		if (t->common.size)
			out->common_pid = (int32_t)field_value(t, &t->common, raw);
		decode_scheduler(tp, t, raw, out);
	}
	if (tp == NULL || !want_json)
		return TL_OK;
	return decode_payload(tp, t, config, raw, len, &out->payload, err);
}
