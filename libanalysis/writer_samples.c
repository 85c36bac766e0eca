/*
 * writer_samples.c - samples, switches and wakeups of one source: which thread, which stack, and
 * the sums per stack. Recent answers are remembered for as long as they are right.
 */
#include "writer.h"

#include <stdlib.h>
#include <string.h>

#define FRAME_MEMO_SIZE (1u << 15) /* 1.3 MiB */
#define CHAIN_MEMO_SIZE (1u << 15) /* 1.6 MiB */
#define UNWIND_MAX	127u	   /* kernel.perf_event_max_stack, perf's own limit */

/* For how long an answer holds. */
struct validity {
	int64_t from, to;
};

static void narrow(struct validity *v, int64_t from, int64_t to)
{
	if (from > v->from)
		v->from = from;
	if (to < v->to)
		v->to = to;
}

/* ---- frames ---- */

static uint32_t space_of(const struct tl_writer *w, uint32_t thread, uint8_t context, int64_t ts)
{
	if (context == TL_CONTEXT_KERNEL)
		return w->kernel_space;
	if (context != TL_CONTEXT_USER || thread == TL_NO_INDEX)
		return TL_NO_INDEX;
	return tl_writer_space(w, w->tasks.threads[thread].process, ts);
}

/* Code of a JIT that left a dump: named at once, since addresses are used again. */
static int find_jitted(struct tl_writer *w, uint32_t thread, int64_t ts,
		       struct tl_chain_frame *frame, struct tl_error *err)
{
	uint32_t process = thread == TL_NO_INDEX ? 0 : w->tasks.threads[thread].process;
	struct tl_symbol symbol;
	uint32_t dso;
	int ret;

	if (thread == TL_NO_INDEX || process >= w->jitdump_capacity || !w->jitdump_of[process])
		return 0;
	dso = w->jitdump_of[process] - 1;
	if (!w->dsos[dso].symbols)
		return 0;
	ret = tl_symbols_find(w->dsos[dso].symbols, frame->address,
			      w->is_monotonic ? ts : INT64_MIN, &symbol, err);
	if (ret <= 0)
		return ret;
	w->dsos[dso].is_used = true;
	frame->dso = dso;
	ret = tl_intern(&w->strings, symbol.name, strlen(symbol.name), &frame->symbol, err);
	return ret < 0 ? ret : 1;
}

static int make_frame(struct tl_writer *w, uint32_t thread, uint32_t space, uint64_t ip,
		      uint8_t context, int64_t ts, uint32_t *id, struct validity *valid,
		      struct tl_error *err)
{
	struct tl_chain_frame frame = { .address = ip,
					.dso = UINT32_MAX,
					.symbol = UINT32_MAX,
					.line = UINT32_MAX,
					.context = context };
	struct tl_map_found found = { .valid_from = INT64_MIN, .valid_to = INT64_MAX };

	if (space != TL_NO_INDEX && tl_space_find(&w->spaces, space, ip, ts, &found)) {
		struct tl_writer_dso *dso = &w->dsos[found.map.dso];
		int ret = 0;

		frame.dso = found.map.dso;
		switch (dso->description.kind) {
		case TL_DSO_FILE:
		case TL_DSO_MODULE:
		case TL_DSO_VDSO:
			frame.address = ip - found.map.start + found.map.file_offset;
			break;
		case TL_DSO_PERF_MAP:
		case TL_DSO_JITDUMP:
			ret = find_jitted(w, thread, ts, &frame, err);
			if (ret > 0) /* holds for this moment only */
				found.valid_from = found.valid_to = ts;
			break;
		case TL_DSO_KERNEL:
		case TL_DSO_NAMED:
		case TL_DSO_UNKNOWN:
			break;
		}
		if (ret < 0)
			return ret;
		dso->is_used = true;
	}
	narrow(valid, found.valid_from, found.valid_to);
	return tl_chains_frame(&w->chains, &frame, id, err);
}

static int find_frame(struct tl_writer *w, uint32_t thread, uint32_t space, uint64_t ip,
		      uint8_t context, int64_t ts, uint32_t *id, struct validity *valid,
		      struct tl_error *err)
{
	uint64_t hash = tl_hash_u64(ip, (uint64_t)space << 8 | context);
	struct tl_frame_memo *memo = &w->frame_memo[hash % FRAME_MEMO_SIZE];
	struct validity here = { INT64_MIN, INT64_MAX };
	int ret;

	if (memo->is_used && memo->ip == ip && memo->space == space && memo->context == context &&
	    ts >= memo->valid_from && ts < memo->valid_to) {
		*id = memo->frame;
		narrow(valid, memo->valid_from, memo->valid_to);
		return TL_OK;
	}
	ret = make_frame(w, thread, space, ip, context, ts, id, &here, err);
	if (ret < 0)
		return ret;
	*memo = (struct tl_frame_memo) { .ip = ip,
					 .valid_from = here.from,
					 .valid_to = here.to,
					 .space = space,
					 .frame = *id,
					 .context = context,
					 .is_used = true };
	narrow(valid, here.from, here.to);
	return TL_OK;
}

/* ---- chains ---- */

static int need_scratch(struct tl_writer *w, size_t frames, struct tl_error *err)
{
	if (!w->frame_memo) {
		w->frame_memo = tl_alloc(FRAME_MEMO_SIZE, sizeof(*w->frame_memo), err);
		w->chain_memo = tl_alloc(CHAIN_MEMO_SIZE, sizeof(*w->chain_memo), err);
		if (!w->frame_memo || !w->chain_memo)
			return TL_NOMEM;
	}
	return tl_grow(&w->chain_frames, &w->chain_frame_capacity, frames, err);
}

/* Pushes chain_frames[0, count), innermost first, as a path from the outermost. */
static int push_chain(struct tl_writer *w, size_t count, uint32_t *node, struct tl_error *err)
{
	*node = TL_NO_NODE;
	while (count) {
		int ret = tl_chains_push(&w->chains, *node, w->chain_frames[--count], node, err);

		if (ret < 0)
			return ret;
	}
	return TL_OK;
}

/* Looks up every frame of a raw chain behind chain_frames[at]. */
static int find_frames(struct tl_writer *w, uint32_t thread, const struct tl_frame *frames,
		       size_t count, size_t at, int64_t ts, struct validity *valid,
		       struct tl_error *err)
{
	uint32_t user_space = space_of(w, thread, TL_CONTEXT_USER, ts);

	for (size_t i = 0; i < count; i++) {
		uint8_t context = frames[i].context;
		uint32_t space = context == TL_CONTEXT_USER	? user_space
				 : context == TL_CONTEXT_KERNEL ? w->kernel_space
								: TL_NO_INDEX;
		int ret = find_frame(w, thread, space, frames[i].ip, context, ts,
				     &w->chain_frames[at + i], valid, err);

		if (ret < 0)
			return ret;
	}
	return TL_OK;
}

static int raw_chain(struct tl_writer *w, uint32_t thread, const struct tl_frame *frames,
		     size_t count, int64_t ts, uint32_t *node, struct tl_error *err)
{
	uint32_t space = space_of(w, thread, TL_CONTEXT_USER, ts);
	uint64_t hash = space, check = count;
	struct validity valid = { INT64_MIN, INT64_MAX };
	struct tl_chain_memo *memo;
	int ret;

	/* two independent hashes of 64 bits stand for the chain */
	for (size_t i = 0; i < count; i++) {
		uint64_t ip = frames[i].ip ^ (uint64_t)frames[i].context << 56;

		hash = (hash ^ ip) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
		check = (check << 7 | check >> 57) + ip * 0xc2b2ae3d27d4eb4fu;
	}
	memo = &w->chain_memo[hash % CHAIN_MEMO_SIZE];
	if (memo->is_used && memo->hash == hash && memo->check == check && memo->space == space &&
	    ts >= memo->valid_from && ts < memo->valid_to) {
		*node = memo->node;
		return TL_OK;
	}
	ret = find_frames(w, thread, frames, count, 0, ts, &valid, err);
	if (ret == TL_OK)
		ret = push_chain(w, count, node, err);
	if (ret < 0)
		return ret;
	*memo = (struct tl_chain_memo) { .hash = hash,
					 .check = check,
					 .valid_from = valid.from,
					 .valid_to = valid.to,
					 .space = space,
					 .node = *node,
					 .is_used = true };
	return TL_OK;
}

/* ---- unwinding ---- */

struct unwind_place {
	struct tl_writer *w;
	uint32_t space;
	int64_t ts;
};

static bool unwind_lookup(uint64_t ip, struct tl_unwind_map *map, void *payload)
{
	struct unwind_place *place = payload;
	struct tl_map_found found;

	if (place->space == TL_NO_INDEX ||
	    !tl_space_find(&place->w->spaces, place->space, ip, place->ts, &found))
		return false;
	map->dso = place->w->dsos[found.map.dso].symbols;
	map->start = found.map.start;
	map->length = found.map.end - found.map.start;
	map->file_offset = found.map.file_offset;
	return true;
}

static int need_unwinder(struct tl_writer *w, struct tl_error *err)
{
	struct tl_error why = { 0 };
	int ret;

	if (w->unwinder || w->is_unwind_refused)
		return TL_OK;
	ret = tl_unwinder_open(&w->unwinder, w->recording.arch, TL_UNWIND_AS_PERF, &why);
	if (ret == TL_UNSUPPORTED) {
		w->is_unwind_refused = true;
		return tl_writer_note(w, TL_DIAGNOSTIC_UNSUPPORTED, "unwinding of user stacks", 1,
				      "sources", why.text, err);
	}
	if (ret < 0 && err && err->status == TL_OK)
		*err = why;
	return ret;
}

/* The recorded (kernel) frames, then the user frames made of registers and stack. */
static int unwound_chain(struct tl_writer *w, uint32_t thread, const struct tl_event_sample *s,
			 int64_t ts, uint32_t *node, struct tl_error *err)
{
	struct unwind_place place = { w, space_of(w, thread, TL_CONTEXT_USER, ts), ts };
	struct validity valid = { INT64_MIN, INT64_MAX };
	int count = 0, ret = need_unwinder(w, err);

	if (ret == TL_OK)
		ret = tl_grow(&w->unwound, &w->unwound_capacity, UNWIND_MAX, err);
	if (ret == TL_OK && w->unwinder) {
		count = tl_unwind(w->unwinder, s->user_stack, unwind_lookup, &place, w->unwound,
				  UNWIND_MAX, err);
		ret = count < 0 ? count : TL_OK;
	}
	if (ret == TL_OK)
		ret = need_scratch(w, s->frame_count + (size_t)count, err);
	if (ret == TL_OK)
		ret = find_frames(w, thread, s->frames, s->frame_count, 0, ts, &valid, err);
	if (ret == TL_OK)
		ret = find_frames(w, thread, w->unwound, (size_t)count, s->frame_count, ts, &valid,
				  err);
	if (ret < 0)
		return ret;
	return push_chain(w, s->frame_count + (size_t)count, node, err);
}

/* ---- frames that the source named ---- */

static enum tl_dso_kind kind_of_name(const char *name, uint8_t context)
{
	size_t len = strlen(name);

	if (!strncmp(name, "[kernel", 7) || !strncmp(name, "[guest.kernel", 13))
		return TL_DSO_KERNEL;
	if (!strcmp(name, "[vdso]"))
		return TL_DSO_VDSO;
	if (!strncmp(name, "/tmp/perf-", 10) && len > 4 && !strcmp(name + len - 4, ".map"))
		return TL_DSO_PERF_MAP;
	if (!strncmp(name, "bpf_", 4))
		return TL_DSO_NAMED;
	if (!strncmp(name, "[stack", 6) || !strncmp(name, "[heap", 5) || !strncmp(name, "//", 2))
		return TL_DSO_UNKNOWN;
	if (*name == '[' && context != TL_CONTEXT_USER)
		return TL_DSO_MODULE;
	return TL_DSO_FILE;
}

static int text_frame(struct tl_writer *w, const struct tl_frame *frame,
		      const struct tl_frame_text *text, uint32_t *id, struct tl_error *err)
{
	struct tl_chain_frame f = { .address = frame->ip,
				    .dso = UINT32_MAX,
				    .symbol = UINT32_MAX,
				    .line = UINT32_MAX,
				    .context = frame->context };
	int ret = TL_OK;

	if (text->dso && strcmp(text->dso, "[unknown]") != 0) {
		struct tl_dso_description d = { .kind = kind_of_name(text->dso, frame->context),
						.path = text->dso,
						.pid = TL_ID_NONE,
						.inner_pid = TL_ID_NONE };

		ret = tl_writer_dso(w, &d, text->dso, &f.dso, err);
		if (ret < 0)
			return ret;
		w->dsos[f.dso].is_used = true;
		w->dsos[f.dso].status = "as recorded";
	}
	if (text->symbol && strcmp(text->symbol, "[unknown]") != 0)
		ret = tl_intern(&w->strings, text->symbol, strlen(text->symbol), &f.symbol, err);
	if (ret == TL_OK && text->source_line)
		ret = tl_intern(&w->strings, text->source_line, strlen(text->source_line), &f.line,
				err);
	return ret < 0 ? ret : tl_chains_frame(&w->chains, &f, id, err);
}

int tl_writer_text_stack(struct tl_writer *w, const struct tl_frame *frames,
			 const struct tl_frame_text *texts, size_t count, uint32_t *node,
			 struct tl_error *err)
{
	int ret = need_scratch(w, count, err);

	for (size_t i = 0; i < count && ret == TL_OK; i++)
		ret = text_frame(w, &frames[i], &texts[i], &w->chain_frames[i], err);
	return ret < 0 ? ret : push_chain(w, count, node, err);
}

static int find_stack(struct tl_writer *w, uint32_t thread, const struct tl_event_sample *s,
		      int64_t ts, uint32_t *node, struct tl_error *err)
{
	struct tl_frame alone = { .ip = s->ip, .context = (uint8_t)s->context };
	int ret = need_scratch(w, s->frame_count + 1, err);

	*node = TL_NO_NODE;
	if (ret < 0)
		return ret;
	if (s->texts)
		return tl_writer_text_stack(w, s->frames, s->texts, s->frame_count, node, err);
	if (s->user_stack)
		return unwound_chain(w, thread, s, ts, node, err);
	if (s->frame_count)
		return raw_chain(w, thread, s->frames, s->frame_count, ts, node, err);
	/* a chain that was recorded empty stays so; without one the address is the stack */
	if (s->has_ip && !s->has_callchain)
		return raw_chain(w, thread, &alone, 1, ts, node, err);
	return TL_OK;
}

/* ---- samples ---- */

static int find_thread(struct tl_writer *w, const struct tl_event_sample *s, int64_t ts,
		       uint32_t *thread, bool *is_other, struct tl_error *err)
{
	struct tl_task task = s->task;

	*thread = TL_NO_INDEX;
	*is_other = false;
	if (task.tid == TL_ID_NONE)
		return TL_OK;
	if (task.tid < 0) {
		if (s->real_tid == TL_ID_NONE)
			return TL_OK;
		*is_other = true;
		task.tid = s->real_tid;
	}
	return tl_tasks_thread(&w->tasks, ts, task, thread, err);
}

static int find_name(struct tl_writer *w, const struct tl_event_sample *s, uint32_t thread,
		     int64_t ts, uint32_t *name, struct tl_error *err)
{
	char id[16];

	*name = TL_NO_INDEX;
	if (s->comm)
		return tl_intern(&w->strings, s->comm, strlen(s->comm), name, err);
	if (s->task.tid < 0 && s->task.tid != TL_ID_NONE) {
		snprintf(id, sizeof(id), ":%d", (int)s->task.tid);
		return tl_intern(&w->strings, id, strlen(id), name, err);
	}
	if (thread == TL_NO_INDEX)
		return TL_OK;
	return tl_tasks_name(&w->tasks, thread, ts, name, err);
}

static int find_cgroup(struct tl_writer *w, uint64_t kernel_id, uint32_t *cgroup,
		       struct tl_error *err)
{
	uint64_t hash = tl_hash_u64(kernel_id, 4);
	size_t probe = 0;
	int64_t found;
	int ret;

	while ((found = tl_index_find(&w->cgroup_index, hash, &probe)) >= 0) {
		if (w->cgroups[found].kernel_id == kernel_id) {
			*cgroup = (uint32_t)found;
			return TL_OK;
		}
	}
	ret = tl_grow(&w->cgroups, &w->cgroup_capacity, w->cgroup_count + 1, err);
	if (ret < 0)
		return ret;
	*cgroup = (uint32_t)w->cgroup_count;
	w->cgroups[w->cgroup_count++] =
		(struct tl_writer_cgroup) { .kernel_id = kernel_id, .path = TL_NO_INDEX };
	return tl_index_add(&w->cgroup_index, hash, *cgroup, err);
}

/* *index: of the sum. */
static int add_to_sum(struct tl_writer *w, const struct tl_writer_sum *key, uint64_t period,
		      size_t *index, struct tl_error *err)
{
	uint64_t hash = tl_hash_u64((uint64_t)key->thread << 32 | key->node,
				    (uint64_t)key->type << 32 | key->name);
	struct tl_writer_sum *sum;
	size_t probe = 0;
	int64_t found;
	int ret;

	hash = tl_hash_u64(hash, (uint64_t)(uint32_t)key->recorded_pid << 32 ^ key->cgroup ^
					 (uint64_t)(uint32_t)key->recorded_tid << 16);
	while ((found = tl_index_find(&w->sum_index, hash, &probe)) >= 0) {
		sum = &w->sums[found];
		if (sum->thread == key->thread && sum->node == key->node &&
		    sum->type == key->type && sum->name == key->name &&
		    sum->cgroup == key->cgroup && sum->recorded_pid == key->recorded_pid &&
		    sum->recorded_tid == key->recorded_tid) {
			sum->count++;
			sum->period += period;
			*index = (size_t)found;
			return TL_OK;
		}
	}
	ret = tl_grow(&w->sums, &w->sum_capacity, w->sum_count + 1, err);
	if (ret == TL_OK)
		ret = tl_index_add(&w->sum_index, hash, (uint32_t)w->sum_count, err);
	if (ret < 0)
		return ret;
	*index = w->sum_count++;
	w->sums[*index] = *key;
	w->sums[*index].count = 1;
	w->sums[*index].period = period;
	return TL_OK;
}

int tl_writer_sample_block(struct tl_writer *w, struct tl_error *err)
{
	const struct tl_sample_block block = tl_sample_blocks_take(&w->blocks);
	const int64_t values[5] = { w->source_id, block.count, block.base_ts, block.first_ts,
				    block.last_ts };

	if (!block.count)
		return TL_OK;
	return tl_writer_put(w, INSERT_SAMPLE_BLOCK, values, 5, 0, block.bytes, block.length, err);
}

static int add_to_block(struct tl_writer *w, const struct tl_event *ev, size_t sum,
			struct tl_error *err)
{
	const struct tl_sample_entry entry = { .ts = tl_writer_unix(w, ev->ts),
					       .sum_id = w->next_sum + (int64_t)sum,
					       .period = ev->sample.period };
	int ret = tl_sample_blocks_add(&w->blocks, &entry, err);

	return ret == TL_OK && tl_sample_blocks_is_full(&w->blocks) ? tl_writer_sample_block(w, err)
								    : ret;
}

/* 0: the sample has nothing extra. */
static int put_extra(struct tl_writer *w, const struct tl_event_sample *s, int64_t *extra_id,
		     struct tl_error *err)
{
	const int64_t values[8] = { w->next_extra,
				    (int64_t)s->address,
				    (int64_t)s->physical_address,
				    (int64_t)s->data_source,
				    (int64_t)s->weight,
				    (int64_t)s->transaction,
				    (int64_t)s->data_page_size,
				    (int64_t)s->code_page_size };
	const uint64_t has = (uint64_t)s->has_address << 1 | (uint64_t)s->has_physical << 2 |
			     (uint64_t)s->has_data_source << 3 | (uint64_t)s->has_weight << 4 |
			     (uint64_t)s->has_transaction << 5 |
			     (uint64_t)s->has_data_page_size << 6 |
			     (uint64_t)s->has_code_page_size << 7;

	*extra_id = 0;
	if (!has)
		return TL_OK;
	*extra_id = w->next_extra++;
	return tl_writer_put(w, INSERT_SAMPLE_EXTRA, values, 8, ~has & 0xfe, NULL, 0, err);
}

static int put_payload(struct tl_writer *w, const struct tl_event_sample *s, struct tl_error *err)
{
	const struct tl_payload *p = s->payload;
	int64_t values[2];

	if (!p || !p->json)
		return TL_OK;
	values[0] = w->next_payload + (int64_t)p->key;
	values[1] = w->types[s->type_index].row_id;
	return tl_writer_put(w, INSERT_PAYLOAD, values, 2, 0, p->json, p->json_length, err);
}

void tl_writer_note_time(struct tl_writer *w, const struct tl_event *ev)
{
	if (!ev->has_ts) {
		w->untimed_count++;
		return;
	}
	w->has_rows = true;
	if (ev->ts < w->newest_ts)
		w->disorder_count++;
	else
		w->newest_ts = ev->ts;
	if (ev->ts < w->first_ts)
		w->first_ts = ev->ts;
	if (ev->ts > w->last_ts)
		w->last_ts = ev->ts;
}

static int put_sample(struct tl_writer *w, const struct tl_event *ev,
		      const struct tl_writer_sum *key, struct tl_error *err)
{
	const struct tl_event_sample *s = &ev->sample;
	int64_t values[13] = { 0 };
	uint64_t nulls = 0;
	int ret = put_extra(w, s, &values[12], err);

	if (ret == TL_OK)
		ret = put_payload(w, s, err);
	if (ret == TL_OK && key->thread != TL_NO_INDEX)
		ret = tl_writer_thread_row(w, key->thread, &values[3], err);
	if (ret == TL_OK && key->name != TL_NO_INDEX)
		ret = tl_writer_string(w, key->name, &values[4], err);
	if (ret < 0)
		return ret;
	values[0] = w->next_sample++;
	values[1] = tl_writer_unix(w, ev->ts);
	values[2] = w->types[s->type_index].row_id;
	values[5] = s->cpu;
	values[6] = (int64_t)s->period;
	values[7] = w->next_stack + key->node;
	values[8] = s->payload ? w->next_payload + (int64_t)s->payload->key : 0;
	values[9] = key->recorded_pid;
	values[10] = key->recorded_tid;
	values[11] = w->next_cgroup + key->cgroup;
	nulls = (uint64_t)!ev->has_ts << 1 | (uint64_t)(key->thread == TL_NO_INDEX) << 3 |
		(uint64_t)(key->name == TL_NO_INDEX) << 4 | (uint64_t)(s->cpu < 0) << 5 |
		(uint64_t)(key->node == TL_NO_NODE) << 7 | (uint64_t)!s->payload << 8 |
		(uint64_t)(key->recorded_pid == TL_ID_NONE) << 9 |
		(uint64_t)(key->recorded_tid == TL_ID_NONE) << 10 |
		(uint64_t)(key->cgroup == TL_NO_INDEX) << 11 | (uint64_t)!values[12] << 12;
	return tl_writer_put(w, INSERT_SAMPLE, values, 13, nulls, NULL, 0, err);
}

int tl_writer_sample(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err)
{
	const struct tl_event_sample *s = &ev->sample;
	struct tl_writer_type *type = &w->types[s->type_index];
	struct tl_writer_sum key = { .type = s->type_index,
				     .cgroup = TL_NO_INDEX,
				     .recorded_pid = TL_ID_NONE,
				     .recorded_tid = TL_ID_NONE };
	bool is_other = false;
	size_t sum;
	int ret = w->is_settled ? TL_OK : tl_writer_settle_sideband(w, err);

	if (ret == TL_OK)
		ret = find_thread(w, s, ev->ts, &key.thread, &is_other, err);
	if (ret == TL_OK)
		ret = find_name(w, s, key.thread, ev->ts, &key.name, err);
	if (ret == TL_OK)
		ret = find_stack(w, key.thread, s, ev->ts, &key.node, err);
	if (ret == TL_OK && s->has_cgroup)
		ret = find_cgroup(w, s->cgroup, &key.cgroup, err);
	if (ret < 0)
		return ret;
	if (is_other || (key.thread == TL_NO_INDEX && s->task.tid != TL_ID_NONE)) {
		key.recorded_pid = s->task.pid;
		key.recorded_tid = s->task.tid;
	}
	type->sample_count++;
	type->period_sum += s->period;
	type->is_sampled |= type->is_tracepoint && s->period != 1;
	type->has_callchain |= s->has_callchain;
	if (ev->has_ts && (!type->has_first_ts || ev->ts < type->first_ts)) {
		type->has_first_ts = true;
		type->first_ts = ev->ts;
	}
	w->sample_count++;
	w->last_node = key.node;
	w->last_thread = key.thread;
	w->last_name = key.name;
	tl_writer_note_time(w, ev);
	ret = add_to_sum(w, &key, s->period, &sum, err);
	if (ret == TL_OK && ev->has_ts && !w->options.aggregate_only)
		ret = add_to_block(w, ev, sum, err);
	if (ret < 0 || (w->options.aggregate_only && !tl_writer_makes_calls_of(w, type)))
		return ret;
	return put_sample(w, ev, &key, err);
}

/* ---- scheduling ---- */

static int task_row(struct tl_writer *w, int64_t ts, struct tl_task task, uint32_t *thread,
		    int64_t *row_id, struct tl_error *err)
{
	int ret = tl_tasks_thread(&w->tasks, ts, task, thread, err);

	return ret < 0 ? ret : tl_writer_thread_row(w, *thread, row_id, err);
}

static int name_row(struct tl_writer *w, uint32_t thread, int64_t ts, int64_t *row_id,
		    struct tl_error *err)
{
	uint32_t name;
	int ret = tl_tasks_name_by_hearsay(&w->tasks, thread, ts, &name, err);

	return ret < 0 ? ret : tl_writer_string(w, name, row_id, err);
}

static bool is_thread(const struct tl_task *task)
{
	return task->tid >= 0;
}

int tl_writer_switch(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err)
{
	const struct tl_event_switch *s = &ev->sched_switch;
	bool has_prev = s->has_prev && is_thread(&s->prev);
	bool has_next = s->has_next && is_thread(&s->next);
	bool has_stack = s->has_sample && has_prev && w->last_node != TL_NO_NODE;
	int64_t values[9] = { w->source_id, tl_writer_unix(w, ev->ts), s->cpu };
	uint32_t thread;
	uint64_t nulls;
	int ret = w->is_settled ? TL_OK : tl_writer_settle_sideband(w, err);

	/* one in many was recorded: no intervals can be made of it, the event type says so */
	if (ret < 0 || s->is_sampled || !ev->has_ts || (!has_prev && !has_next))
		return ret;
	if (has_prev)
		ret = task_row(w, ev->ts, s->prev, &thread, &values[3], err);
	if (ret == TL_OK && has_prev)
		ret = name_row(w, thread, ev->ts, &values[6], err);
	if (ret == TL_OK && has_next)
		ret = task_row(w, ev->ts, s->next, &thread, &values[5], err);
	if (ret < 0)
		return ret;
	values[4] = (int64_t)s->prev_state;
	values[7] = has_stack ? w->next_stack + w->last_node : 0;
	values[8] = s->has_sample   ? TL_TOLD_TRACEPOINT
		    : s->is_arrival ? TL_TOLD_ARRIVAL
				    : TL_TOLD_DEPARTURE;
	nulls = (uint64_t)(s->cpu < 0) << 2 | (uint64_t)!has_prev << 3 | (uint64_t)!has_prev << 4 |
		(uint64_t)!has_next << 5 | (uint64_t)!has_prev << 6 | (uint64_t)!has_stack << 7;
	w->switch_count++;
	w->has_rows = true;
	return tl_writer_put(w, INSERT_SWITCH, values, 9, nulls, NULL, 0, err);
}

int tl_writer_wakeup(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err)
{
	const struct tl_event_wakeup *u = &ev->wakeup;
	struct tl_task wakee = { .pid = TL_ID_NONE, .tid = u->wakee_tid };
	bool has_waker = is_thread(&u->waker);
	bool has_stack = u->has_sample && w->last_node != TL_NO_NODE;
	int64_t values[9] = { w->source_id, tl_writer_unix(w, ev->ts), u->cpu };
	uint32_t thread;
	uint64_t nulls;
	int ret = w->is_settled ? TL_OK : tl_writer_settle_sideband(w, err);

	if (ret < 0 || u->is_sampled || !ev->has_ts || !is_thread(&wakee))
		return ret;
	if (has_waker)
		ret = task_row(w, ev->ts, u->waker, &thread, &values[3], err);
	if (ret == TL_OK && has_waker)
		ret = name_row(w, thread, ev->ts, &values[7], err);
	if (ret == TL_OK)
		ret = task_row(w, ev->ts, wakee, &thread, &values[4], err);
	if (ret < 0)
		return ret;
	values[5] = u->target_cpu;
	values[6] = u->is_waking;
	values[8] = has_stack ? w->next_stack + w->last_node : 0;
	nulls = (uint64_t)(u->cpu < 0) << 2 | (uint64_t)!has_waker << 3 |
		(uint64_t)(u->target_cpu < 0) << 5 | (uint64_t)!has_waker << 7 |
		(uint64_t)!has_stack << 8;
	w->has_rows = true;
	return tl_writer_put(w, INSERT_WAKEUP, values, 9, nulls, NULL, 0, err);
}
