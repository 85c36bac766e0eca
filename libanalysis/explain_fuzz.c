/*
 * explain_fuzz.c - anything that threads, the profiler and the device may have done around some steps:
 * every step's parts add up to it, or the answer is refused for a reason that is not ours.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS = 9, STEP_NS = 100, THREADS = 4, EVENTS_MAX = 400 };

struct bytes {
	const uint8_t *at;
	size_t left;
};

static uint8_t next(struct bytes *b)
{
	return b->left ? b->left--, *b->at++ : 0;
}

static const char *const names[] = { "futex",	"mmap",	    "khugepaged", "aten::mm",
				     "trainer", "schedule", "fdatasync",  "kswapd0" };

static void fill_slice(struct tl_event *ev, struct bytes *b)
{
	const char *name = names[next(b) % 8];

	ev->slice.track = next(b) % 2;
	ev->slice.class_ = next(b) % (TL_SLICE_GARBAGE_COLLECTION + 1);
	ev->slice.duration_ns = next(b);
	ev->slice.name = name;
	ev->slice.name_length = strlen(name);
	ev->slice.has_correlation = true;
	ev->slice.correlation = next(b) % 8;
	ev->slice.stream = -1;
}

static void fill(struct tl_event *ev, struct bytes *b)
{
	int32_t tid = next(b) % THREADS, other = next(b) % THREADS;
	const char *name = names[other];

	switch (ev->kind) {
	case TL_EVENT_SWITCH:
		ev->sched_switch = (struct tl_event_switch) {
			.cpu = next(b) % 2,
			.has_prev = true,
			.has_next = true,
			.prev = { tid, tid },
			.next = { other, other },
			.prev_state = (enum tl_switch_state)(next(b) % (TL_SWITCH_IDLE + 1)),
		};
		break;
	case TL_EVENT_WAKEUP:
		ev->wakeup = (struct tl_event_wakeup) { .cpu = next(b) % 2,
							.target_cpu = next(b) % 2,
							.waker = { other, other },
							.wakee_tid = tid,
							.is_waking = true };
		break;
	case TL_EVENT_SYSCALL:
		ev->syscall = (struct tl_event_syscall) { .task = { 1, 1 },
							  .duration_ns = next(b),
							  .name = name,
							  .name_length = strlen(name),
							  .has_result = true };
		break;
	case TL_EVENT_SAMPLE:
		ev->sample.task = (struct tl_task) { tid, tid };
		ev->sample.real_tid = TL_ID_NONE;
		ev->sample.cpu = next(b) % 2;
		ev->sample.period = next(b);
		break;
	default:
		ev->kind = TL_EVENT_SLICE;
		fill_slice(ev, b);
		break;
	}
}

static void emit_tracks(struct tl_sink *sink, struct tl_error *err)
{
	struct tl_event type = { .kind = TL_EVENT_TYPE,
				 .type = { .name = "cpu-clock", .unit = "ns" } };
	struct tl_event track = { .kind = TL_EVENT_TRACK };

	sink->emit(sink, &type, err);
	for (int32_t tid = 0; tid < THREADS; tid++)
		sink->emit(sink,
			   &(struct tl_event) {
				   .kind = TL_EVENT_COMM,
				   .ts = INT64_MIN,
				   .comm = { .task = { tid, tid }, .name = names[tid * 2] } },
			   err);
	track.track = (struct tl_event_track) { .kind = TL_TRACK_THREAD,
						.task = { 1, 1 },
						.key_pid = "1",
						.key_tid = "1",
						.device = -1,
						.stream = -1 };
	sink->emit(sink, &track, err);
	track.track = (struct tl_event_track) { .index = 1,
						.kind = TL_TRACK_DEVICE,
						.task = { TL_ID_NONE, TL_ID_NONE },
						.key_pid = "0",
						.key_tid = "7" };
	sink->emit(sink, &track, err);
}

static int fill_case(struct tl_store *store, struct bytes *b, struct tl_error *err)
{
	static const enum tl_event_kind kinds[] = { TL_EVENT_SWITCH,  TL_EVENT_WAKEUP,
						    TL_EVENT_SYSCALL, TL_EVENT_SAMPLE,
						    TL_EVENT_SLICE,   TL_EVENT_SWITCH };
	const struct tl_source_description source = { .path = "f", .importer = "fuzz" };
	const struct tl_writer_options opt = { .symbols.no_symbols = true };
	const struct tl_import_result result = { .records = 1 };
	struct tl_writer *writer;
	int64_t now = 1000;
	int ret = tl_writer_begin(&writer, store, &source, &opt, err);

	if (ret < 0)
		return ret;
	emit_tracks(tl_writer_sink(writer), err);
	for (int i = 0; i < EVENTS_MAX && b->left; i++) {
		struct tl_event ev = { .kind = kinds[next(b) % 6], .has_ts = true };

		now += next(b) % 16;
		ev.ts = now;
		fill(&ev, b);
		tl_writer_sink(writer)->emit(tl_writer_sink(writer), &ev, err);
	}
	return tl_writer_commit(writer, &result, err);
}

static int add_steps(struct tl_store *store, struct tl_error *err)
{
	int ret = TL_OK;

	for (int i = 0; i < STEPS && ret == TL_OK; i++) {
		char sql[300];

		snprintf(
			sql, sizeof(sql),
			"INSERT INTO step(series, source_id, position, number, ts, dur, thread_id, class) "
			"VALUES(9, 1, %d, %d, %d, %d, (SELECT thread_id FROM thread WHERE tid = 1), '%s')",
			i, i, 1000 + i * STEP_NS, STEP_NS, i % 3 ? "good" : "slow");
		ret = tl_store_execute(store, sql, err);
	}
	return ret;
}

static void check(const struct tl_explain *x)
{
	for (size_t i = 0; i < x->step_count; i++) {
		int64_t sum = 0;

		for (size_t c = 0; c < x->cause_count; c++)
			sum += x->steps[i].cause_ns[c];
		if (sum != x->steps[i].duration_ns)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct tl_explain_options opt = { .has_spikes = true };
	struct bytes b = { data, size };
	struct tl_store *store = NULL;
	struct tl_error err = { 0 };
	struct tl_explain x = { 0 };
	int ret;

	if (tl_store_open_temporary(&store, &err) < 0)
		return 0;
	if (fill_case(store, &b, &err) == TL_OK && add_steps(store, &err) == TL_OK) {
		memset(&err, 0, sizeof(err));
		ret = tl_explain(store, &opt, &x, &err);
		if (ret == TL_OK)
			check(&x);
		else if (ret != TL_NOTHING && ret != TL_NOMEM)
			abort();
		tl_explain_release(&x);
	}
	tl_store_close(store);
	return 0;
}
