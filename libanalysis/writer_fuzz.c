/*
 * writer_fuzz.c - any sequence of events, with values as odd as a file can hold, into a case of two
 * sources, and every question about it. Nothing of that may fail: importers have checked the form of
 * what they emit, but its values are those of the file.
 */
#include "analysis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { EVENTS_MAX = 300, FRAMES_MAX = 6 };

struct bytes {
	const uint8_t *data;
	size_t size, at;
};

struct state {
	struct bytes in;
	uint64_t payload_count; /* keys told so far */
	int64_t now;
	bool has_settled;
	struct tl_frame frames[FRAMES_MAX];
	struct tl_frame_text texts[FRAMES_MAX];
	struct tl_symbol_entry symbols[3];
	struct tl_payload payload;
	struct tl_user_stack stack;
	uint64_t regs[64];
};

static uint8_t byte(struct state *s)
{
	return s->in.at < s->in.size ? s->in.data[s->in.at++] : 0;
}

static bool flag(struct state *s)
{
	return byte(s) & 1;
}

static uint64_t any_u64(struct state *s)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | byte(s);
	return value;
}

/* Mostly what is usual, often what is on an edge, sometimes anything. */
static uint64_t odd_u64(struct state *s)
{
	static const uint64_t edges[] = { 0,	      1,
					  INT32_MAX,  INT32_MAX + 1ull,
					  UINT32_MAX, UINT32_MAX + 1ull,
					  INT64_MAX,  INT64_MAX - 1ull,
					  1ull << 63, (1ull << 63) + 1,
					  UINT64_MAX, UINT64_MAX - 1,
					  4095,	      4096,
					  1ull << 47, 0xffffffff81000000 };
	uint8_t how = byte(s);

	if (how < 128)
		return how & 15;
	if (how < 240)
		return edges[how % (sizeof(edges) / sizeof(edges[0]))];
	return any_u64(s);
}

static int64_t odd_i64(struct state *s)
{
	return (int64_t)odd_u64(s);
}

static int32_t odd_i32(struct state *s)
{
	static const int32_t edges[] = {
		-1, 0, INT32_MIN, INT32_MIN + 1, INT32_MAX, 65536, 4194304
	};
	uint8_t how = byte(s);

	return how < 128 ? how & 7 : edges[how % (sizeof(edges) / sizeof(edges[0]))];
}

static const char *text(struct state *s)
{
	static const char *const texts[] = {
		"",
		"a",
		"swapper",
		"futex",
		"kernel",
		"/usr/bin/x",
		"[kernel.kallsyms]",
		"[vdso]",
		"//anon",
		"/x (deleted)",
		"/tmp/jit-7.dump",
		"[x_module]",
		"rank",
		"7",
		"99999999999999999999",
		"hostname",
		"first_ts",
		"-1",
		"monotonic",
		"\377\376\n;",
		"ProfilerStep#3",
		"cpu-clock",
		"sched:sched_switch",
		"raw_syscalls:sys_enter",
		"raw_syscalls:sys_exit",
		"target",
		"all_cpus",
		"{\"id\":1,\"ret\":-1}",
		"{\"prev_comm\":\"x\"}",
		"arch",
		"x86_64",
		"_text",
	};

	return texts[byte(s) % (sizeof(texts) / sizeof(texts[0]))];
}

static const char *text_or_null(struct state *s)
{
	return flag(s) ? text(s) : NULL;
}

static struct tl_task task(struct state *s)
{
	int32_t pid = odd_i32(s);

	return (struct tl_task) { pid, flag(s) ? pid : odd_i32(s) };
}

static struct tl_build_id build_id(struct state *s)
{
	struct tl_build_id id = { .size = (uint8_t)(byte(s) % (TL_BUILD_ID_MAX + 1)) };

	memset(id.data, byte(s), sizeof(id.data));
	return id;
}

static size_t frames(struct state *s, bool has_texts)
{
	size_t count = byte(s) % (FRAMES_MAX + 1);

	for (size_t i = 0; i < count; i++) {
		s->frames[i] = (struct tl_frame) {
			.ip = odd_u64(s),
			.context = byte(s) % (TL_CONTEXT_GUEST_USER + 1),
			.is_marked = byte(s) & TL_FRAME_ADJUSTED,
		};
		if (!has_texts)
			continue;
		s->texts[i] = (struct tl_frame_text) {
			.symbol = text_or_null(s),
			.dso = text_or_null(s),
			.source_line = text_or_null(s),
			.is_inlined = flag(s),
			.has_symbol_offset = flag(s),
			.symbol_offset = odd_u64(s),
		};
	}
	return count;
}

static const struct tl_payload *payload(struct state *s)
{
	uint8_t how = byte(s);

	if (how & 1)
		return NULL;
	s->payload.key = s->payload_count;
	s->payload.json = NULL;
	s->payload.json_length = 0;
	s->payload.is_raw = how >> 3 & 1;
	if (how & 6 && s->payload_count) {
		s->payload.key = byte(s) % s->payload_count;
	} else {
		s->payload.json = text(s);
		s->payload.json_length = strlen(s->payload.json);
		s->payload_count++;
	}
	return &s->payload;
}

static const struct tl_user_stack *user_stack(struct state *s)
{
	if (byte(s) < 200)
		return NULL;
	for (int i = 0; i < 64; i++)
		s->regs[i] = odd_u64(s);
	s->stack = (struct tl_user_stack) {
		.abi = byte(s) % 4,
		.mask = odd_u64(s),
		.regs = s->regs,
		.bytes = s->in.data + s->in.at,
		.size = s->in.size - s->in.at,
		.is_big_endian = flag(s),
	};
	return &s->stack;
}

static void fill_sample(struct state *s, struct tl_event_sample *e)
{
	bool has_texts = flag(s);

	e->type_index = byte(s) % 5;
	e->task = task(s);
	e->real_tid = flag(s) ? TL_ID_NONE : odd_i32(s);
	e->cpu = odd_i32(s);
	e->period = odd_u64(s);
	e->context = byte(s) % (TL_CONTEXT_GUEST_USER + 1);
	e->has_ip = flag(s);
	e->has_address = flag(s);
	e->has_physical = e->has_data_source = e->has_weight = e->has_transaction = flag(s);
	e->has_data_page_size = e->has_code_page_size = flag(s);
	e->has_cgroup = flag(s);
	e->ip = odd_u64(s);
	e->address = e->physical_address = e->weight = odd_u64(s);
	e->data_source = e->transaction = e->data_page_size = e->code_page_size = odd_u64(s);
	e->cgroup = odd_u64(s);
	e->frame_count = frames(s, has_texts);
	e->frames = s->frames;
	e->has_callchain = e->frame_count || flag(s);
	e->texts = has_texts ? s->texts : NULL;
	e->comm = text_or_null(s);
	e->user_stack = user_stack(s);
	e->payload = payload(s);
}

static void fill_call(struct state *s, struct tl_event_syscall *e)
{
	bool has_texts = true;

	e->task = task(s);
	e->kind = byte(s) % 2;
	e->timing = byte(s) % 3;
	e->outcome = byte(s) % (TL_CALL_LOST + 1);
	e->has_end = flag(s);
	e->duration_ns = flag(s) ? -1 : odd_i64(s);
	if (e->duration_ns < 0)
		e->duration_ns = -1;
	e->name = text(s);
	e->name_length = strlen(e->name);
	e->arguments = text_or_null(s);
	e->arguments_length = e->arguments ? strlen(e->arguments) : 0;
	e->arguments_full_length = odd_u64(s);
	e->has_result = flag(s);
	e->result = odd_i64(s);
	e->error = text_or_null(s);
	e->error_length = e->error ? strlen(e->error) : 0;
	e->operation = text_or_null(s);
	e->operation_length = e->operation ? strlen(e->operation) : 0;
	e->has_fd = flag(s);
	e->fd = odd_i32(s);
	e->path = text_or_null(s);
	e->path_length = e->path ? strlen(e->path) : 0;
	e->has_timeout = flag(s);
	e->timeout_ns = odd_i64(s);
	e->frame_count = frames(s, has_texts);
	e->frames = s->frames;
	e->texts = has_texts ? s->texts : NULL;
	e->position = odd_u64(s);
}

static void fill_slice(struct state *s, struct tl_event_slice *e)
{
	e->track = byte(s) % 6;
	e->class_ = byte(s) % (TL_SLICE_GARBAGE_COLLECTION + 1);
	e->is_instant = flag(s);
	e->is_suspect = flag(s);
	e->duration_ns = flag(s) ? -1 : odd_i64(s);
	if (e->duration_ns < 0)
		e->duration_ns = -1;
	e->name = text(s);
	e->name_length = strlen(e->name);
	e->category = text_or_null(s);
	e->category_length = e->category ? strlen(e->category) : 0;
	e->has_correlation = e->has_external_id = flag(s);
	e->has_bytes = flag(s);
	e->has_step = flag(s);
	e->correlation = e->external_id = odd_i64(s);
	e->bytes = odd_i64(s);
	e->step = odd_i64(s);
	e->stream = odd_i32(s);
	e->arguments = flag(s) ? "{\"a\":1}" : NULL;
	e->arguments_length = e->arguments ? strlen(e->arguments) : 0;
}

static void fill_mmap(struct state *s, struct tl_event_mmap *e)
{
	e->task = task(s);
	e->context = flag(s) ? TL_CONTEXT_USER : TL_CONTEXT_KERNEL;
	e->start = odd_u64(s);
	e->length = odd_u64(s);
	e->file_offset = odd_u64(s);
	e->is_exec = flag(s);
	e->path = text(s);
	e->build_id = build_id(s);
	e->has_inode = flag(s);
	e->major = e->minor = byte(s);
	e->inode = e->inode_generation = odd_u64(s);
	e->reference_symbol = text_or_null(s);
}

static void fill_switch(struct state *s, struct tl_event_switch *e)
{
	uint8_t flags = byte(s);

	e->cpu = odd_i32(s);
	e->has_prev = flags & 1;
	e->has_next = flags & 2;
	e->prev = task(s);
	e->next = task(s);
	e->prev_state = byte(s) % (TL_SWITCH_IDLE + 1);
	e->is_sampled = (flags & 0x1c) == 0x1c;
	e->is_arrival = flags & 32;
	e->has_sample = flags & 64;
}

static void fill_track(struct state *s, struct tl_event_track *e)
{
	e->index = byte(s) % 6;
	e->kind = byte(s) % (TL_TRACK_ASYNC + 1);
	e->task = task(s);
	e->name = text_or_null(s);
	e->process = text_or_null(s);
	e->key_pid = text_or_null(s);
	e->key_tid = text_or_null(s);
	e->device = odd_i32(s);
	e->stream = odd_i32(s);
}

static void fill_dso_symbols(struct state *s, struct tl_event_dso_symbols *e)
{
	e->path = text(s);
	e->context = flag(s) ? TL_CONTEXT_USER : TL_CONTEXT_KERNEL;
	e->has_segment = flag(s);
	e->segment_vaddr = odd_u64(s);
	e->segment_offset = odd_u64(s);
	e->symbol_count = byte(s) % 4;
	e->symbols = s->symbols;
	for (size_t i = 0; i < e->symbol_count; i++)
		s->symbols[i] = (struct tl_symbol_entry) { odd_u64(s), odd_u64(s), text(s) };
}

static void fill_type(struct state *s, struct tl_event_type *e)
{
	e->index = byte(s) % 5;
	e->name = text(s);
	e->type = (uint32_t)odd_u64(s);
	e->config = odd_u64(s);
	e->period = odd_u64(s);
	e->freq = odd_u64(s);
	e->is_tracepoint = flag(s);
	e->is_hidden = flag(s);
	e->unit = flag(s) ? "ns" : text_or_null(s);
	e->detail = flag(s) ? "{\"clock\":\"monotonic\"}" : NULL;
}

static void fill_clock(struct state *s, struct tl_event_clock *e)
{
	e->name = text(s);
	e->method = byte(s) % (TL_CLOCK_ASSUMED + 1);
	e->offset_ns = odd_i64(s);
	e->residual_ns = odd_i64(s);
	e->why = text(s);
}

static void fill_diagnostic(struct state *s, struct tl_event_diagnostic *e)
{
	e->kind = byte(s) % (TL_DIAGNOSTIC_NOTE + 1);
	e->what = text(s);
	e->count = odd_u64(s);
	e->unit = text(s);
	e->position_kind = byte(s) % 3;
	e->position = odd_u64(s);
	e->message = text_or_null(s);
}

/* A kind after the other, each with its values. */
static void fill(struct state *s, struct tl_event *ev)
{
	switch (ev->kind) {
	case TL_EVENT_META:
		ev->meta = (struct tl_event_meta) { text(s), text(s) };
		break;
	case TL_EVENT_CLOCK:
		fill_clock(s, &ev->clock);
		break;
	case TL_EVENT_TYPE:
		fill_type(s, &ev->type);
		break;
	case TL_EVENT_DSO:
		ev->dso = (struct tl_event_dso) { text(s), build_id(s), byte(s) % 6, odd_i32(s) };
		break;
	case TL_EVENT_DSO_SYMBOLS:
		fill_dso_symbols(s, &ev->dso_symbols);
		break;
	case TL_EVENT_FORK:
		ev->fork.child = task(s);
		ev->fork.parent = task(s);
		break;
	case TL_EVENT_EXIT:
		ev->exit.task = task(s);
		break;
	case TL_EVENT_COMM:
		ev->comm.task = task(s);
		ev->comm.name = text(s);
		ev->comm.is_exec = flag(s);
		ev->comm.is_hearsay = flag(s);
		break;
	case TL_EVENT_MMAP:
		fill_mmap(s, &ev->mmap);
		break;
	case TL_EVENT_KSYMBOL:
		ev->ksymbol = (struct tl_event_ksymbol) { odd_u64(s), odd_u64(s), text(s), flag(s),
							  flag(s) };
		break;
	case TL_EVENT_NAMESPACE:
		ev->ns.task = task(s);
		ev->ns.inner_pid = odd_i32(s);
		ev->ns.pid_namespace_inode = odd_u64(s);
		break;
	case TL_EVENT_CGROUP:
		ev->cgroup = (struct tl_event_cgroup) { odd_u64(s), text(s) };
		break;
	case TL_EVENT_SAMPLE:
		fill_sample(s, &ev->sample);
		break;
	case TL_EVENT_SWITCH:
		fill_switch(s, &ev->sched_switch);
		break;
	case TL_EVENT_WAKEUP:
		ev->wakeup =
			(struct tl_event_wakeup) { odd_i32(s),	 odd_i32(s), task(s), odd_i32(s),
						   byte(s) == 1, flag(s),    flag(s) };
		break;
	case TL_EVENT_SYSCALL:
		fill_call(s, &ev->syscall);
		break;
	case TL_EVENT_TRACK:
		fill_track(s, &ev->track);
		break;
	case TL_EVENT_SLICE:
		fill_slice(s, &ev->slice);
		break;
	case TL_EVENT_FLOW:
		ev->flow = (struct tl_event_flow) { byte(s) % 6, byte(s) % 3, odd_u64(s), "c", 1 };
		break;
	case TL_EVENT_COUNTER: {
		uint64_t bits = any_u64(s);

		ev->counter = (struct tl_event_counter) {
			.track = byte(s) % 6, .name = "n", .name_length = 1, .unit = text_or_null(s)
		};
		memcpy(&ev->counter.value, &bits, sizeof(bits));
		break;
	}
	case TL_EVENT_CALL_SUMMARY:
		ev->call_summary = (struct tl_event_call_summary) {
			.task = { odd_i32(s), odd_i32(s) },
			.name = "ioctl",
			.name_length = 5,
			.count = odd_i64(s),
			.total_ns = odd_i64(s),
			.min_ns = -1,
			.max_ns = odd_i64(s),
		};
		break;
	case TL_EVENT_STEP:
		ev->step = (struct tl_event_step) { odd_i64(s), odd_i32(s), odd_i64(s),
						    flag(s) ? "{}" : NULL, odd_i64(s) };
		if (ev->step.duration_ns < 0)
			ev->step.duration_ns = -1;
		break;
	case TL_EVENT_LOG:
		ev->log = (struct tl_event_log) { text_or_null(s), "line", 4, odd_u64(s) };
		break;
	case TL_EVENT_CLOCK_ANCHOR:
		ev->clock_anchor =
			(struct tl_event_clock_anchor) { text(s), odd_i64(s), odd_i64(s) };
		break;
	case TL_EVENT_GAP:
		ev->gap = (struct tl_event_gap) { byte(s) % 4, odd_i32(s),
						  flag(s) ? UINT32_MAX : byte(s) % 5, odd_u64(s) };
		break;
	case TL_EVENT_DIAGNOSTIC:
		fill_diagnostic(s, &ev->diagnostic);
		break;
	case TL_EVENT_SIDEBAND_END:
	case TL_EVENT_KIND_COUNT:
		break;
	}
}

/* Time goes on, stands, jumps, or is what nobody would believe. */
static void fill_time(struct state *s, struct tl_event *ev)
{
	uint8_t how = byte(s);

	ev->has_ts = how % 16 != 0;
	if (how < 200)
		s->now = (int64_t)((uint64_t)s->now + (how & 127) * 1000);
	ev->ts = how < 230 ? s->now : odd_i64(s);
}

static void check(int ret, const struct tl_error *err, const char *what)
{
	if (ret == TL_OK || ret == TL_NOTHING || ret == TL_NOMEM)
		return;
	fprintf(stderr, "%s: %d: %s\n", what, ret, err->text);
	__builtin_trap();
}

static void import(struct state *s, struct tl_store *store)
{
	const struct tl_source_description source = { .path = "fuzz", .importer = "fuzz" };
	uint8_t flags = byte(s);
	const struct tl_writer_options opt = {
		.symbols = { .symfs = "/nonexistent",
			     .no_default_dirs = true,
			     .no_symbols = flags & 1 },
		.aggregate_only = (flags & 6) == 6,
	};
	struct tl_import_result result = { .records = odd_u64(s), .damaged = odd_u64(s) };
	struct tl_writer *writer;
	struct tl_error err = { 0 };
	struct tl_sink *sink;

	s->payload_count = 0;
	s->has_settled = false;
	s->now = flags & 8 ? odd_i64(s) : INT64_C(1700000000000000000);
	check(tl_writer_begin(&writer, store, &source, &opt, &err), &err, "begin");
	sink = tl_writer_sink(writer);
	for (int i = 0; i < EVENTS_MAX && s->in.at < s->in.size; i++) {
		struct tl_event ev = { .kind = byte(s) % (TL_EVENT_KIND_COUNT + 1) };

		if (ev.kind == TL_EVENT_KIND_COUNT)
			break;
		if (ev.kind == TL_EVENT_SIDEBAND_END && s->has_settled)
			continue;
		s->has_settled |= ev.kind == TL_EVENT_SIDEBAND_END;
		fill_time(s, &ev);
		fill(s, &ev);
		check(sink->emit(sink, &ev, &err), &err, tl_event_kind_name(ev.kind));
	}
	if (flags & 16)
		tl_writer_abort(writer);
	else
		check(tl_writer_commit(writer, &result, &err), &err, "commit");
}

/* ---- questions ---- */

static int on_window(const struct tl_folded *folded, const struct tl_time_range *window,
		     uint64_t number, void *payload, struct tl_error *err)
{
	(void)folded;
	(void)window;
	(void)err;
	return number > 1000 || ++*(int *)payload > 20 ? TL_NOTHING : TL_OK;
}

static void fold(struct state *s, struct tl_store *store)
{
	struct tl_time_range range = { odd_i64(s), odd_i64(s) };

	for (int what = TL_FOLD_EVENT; what <= TL_FOLD_WAKEUP; what++)
		for (int weight = TL_WEIGHT_PERIOD; weight <= TL_WEIGHT_US; weight++) {
			const struct tl_fold_options opt = {
				.what = (enum tl_fold_what)what,
				.weight = (enum tl_fold_weight)weight,
				.root = (enum tl_fold_root)(byte(s) % (TL_ROOT_CGROUP + 1)),
				.show_inlined = true,
				.show_addresses = flag(s),
				.ranges = &range,
				.range_count = flag(s),
			};
			struct tl_error err = { 0 };
			struct tl_folded folded = { 0 };
			int ret = tl_fold(store, &opt, &folded, &err), windows = 0;

			if (ret != TL_USAGE && ret != TL_UNSUPPORTED)
				check(ret, &err, "fold");
			tl_folded_release(&folded);
			if (opt.range_count)
				continue;
			memset(&err, 0, sizeof(err));
			ret = tl_fold_windows(store, &opt, 1 + (odd_i64(s) & INT64_MAX) / 2,
					      on_window, &windows, &err);
			if (ret != TL_USAGE && ret != TL_UNSUPPORTED)
				check(ret, &err, "fold windows");
		}
}

static void ask(struct state *s, struct tl_store *store)
{
	const struct tl_fold_ops_options ops = { .weight = TL_WEIGHT_NS };
	const struct tl_syscall_options calls = { .longest_count = 3 };
	const struct tl_steps_options any_steps = { 0 };
	const struct tl_thp_options any_thread = { 0 };
	struct tl_syscalls syscalls = { 0 };
	const struct tl_explain_options any_step = { .has_spikes = true };
	struct tl_explain explain = { 0 };
	struct tl_thp thp = { 0 };
	struct tl_folded folded = { 0 };
	struct tl_time_range span;
	struct tl_steps steps = { 0 };
	struct tl_error err = { 0 };
	struct tl_info info = { 0 };

	check(tl_info(store, 0, &info, &err), &err, "info");
	tl_info_release(&info);
	check(tl_store_span(store, &span, &err), &err, "span");
	memset(&err, 0, sizeof(err));
	check(tl_fold_ops(store, &ops, &folded, &err), &err, "fold ops");
	tl_folded_release(&folded);
	memset(&err, 0, sizeof(err));
	check(tl_steps_load(store, &any_steps, &steps, &err), &err, "steps");
	tl_steps_release(&steps);
	memset(&err, 0, sizeof(err));
	check(tl_syscalls(store, &calls, &syscalls, &err), &err, "syscalls");
	tl_syscalls_release(&syscalls);
	memset(&err, 0, sizeof(err));
	check(tl_thp(store, &any_thread, &thp, &err), &err, "thp");
	tl_thp_release(&thp);
	memset(&err, 0, sizeof(err));
	check(tl_explain(store, &any_step, &explain, &err), &err, "explain");
	tl_explain_release(&explain);
	fold(s, store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct state *s = calloc(1, sizeof(*s));
	struct tl_store *store = NULL;
	struct tl_error err = { 0 };

	if (!s)
		return 0;
	s->in = (struct bytes) { data, size, 0 };
	check(tl_store_open_temporary(&store, &err), &err, "open");
	import(s, store);
	import(s, store);
	check(tl_clock_settle(store, &err), &err, "settle");
	ask(s, store);
	tl_store_close(store);
	free(s);
	return 0;
}
