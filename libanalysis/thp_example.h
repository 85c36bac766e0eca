/*
 * thp_example.h - for tests: a job of 100 steps whose slow ones are made slow by what a test plants.
 *
 * Step i lasts 100 ms and up to 2.4 ms more; steps 40 to 55 last 25 ms longer. The thread is sampled
 * every 5 ms on CPU 0; khugepaged lives on CPU 1.
 */
#ifndef TL_THP_EXAMPLE_H
#define TL_THP_EXAMPLE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source_example.h"

#define MS INT64_C(1000000)

enum { STEPS = 100, SLOW_FIRST = 40, SLOW_LAST = 55 };
enum { SELF = 100, HOG = 200, KHUGEPAGED = 40 };
enum {
	CLOCK,
	SWITCHES,
	ISOLATE,
	COLLAPSE,
	COMPACTION_ORDER,
	COMPACTION_BEGIN,
	COMPACTION_END,
	RECLAIM_BEGIN,
	RECLAIM_END,
	MEMCG_BEGIN,
	MEMCG_END,
	EVENTS
};

/* What a recording has, beside samples of the thread. */
#define HAS_SWITCHES 1u
#define HAS_POINTS   2u /* memory tracepoints */
#define HAS_ALL_CPUS 4u
#define HAS_ALL	     7u

#define IN_MUNMAP                                                                                   \
	"k:entry_SYSCALL_64_after_hwframe k:do_syscall_64 k:__x64_sys_munmap k:__vm_munmap k:down_" \
	"write_killable k:rwsem_down_write_slowpath "
#define SPINNING IN_MUNMAP "k:rwsem_spin_on_owner"
#define ASLEEP	 IN_MUNMAP "k:schedule_preempt_disabled k:schedule k:__schedule"
#define IN_FUTEX                                                                                      \
	"k:entry_SYSCALL_64_after_hwframe k:do_syscall_64 k:__x64_sys_futex k:do_futex k:futex_wait " \
	"k:schedule k:__schedule"

static uint64_t next_key;

/* What differs from the usual case; setup puts it back. */
static int64_t excess_ns;		  /* of slow steps */
static int64_t checkpoint_ns;		  /* more in the first of them */
static int64_t checkpoint_every;	  /* steps, in a span that says so; 0 none */
static int64_t recorded_steps;		  /* by perf: so many */
static bool ends_only;			  /* of collapses; they begin with a scan */
static bool user_only;			  /* frames of the kernel have no names */
static enum tl_clock_method clock_method; /* of perf.data */

/* Chains of the samples of the thread, by time; elsewhere it runs the program's own code. */
static struct window {
	int64_t begin, end;
	const char *chain; /* NULL: asleep, no samples */
} windows[4 * STEPS];
static size_t window_count;

static inline int setup(void **state)
{
	window_count = 0;
	next_key = 0;
	excess_ns = 25 * MS;
	checkpoint_ns = 0;
	checkpoint_every = 0;
	recorded_steps = STEPS;
	ends_only = false;
	user_only = false;
	clock_method = TL_CLOCK_EXACT;
	return setup_store(state);
}

static inline bool is_slow(int64_t step)
{
	return step >= SLOW_FIRST && step <= SLOW_LAST;
}

static inline int64_t duration_of(int64_t step)
{
	return 100 * MS + step * 7919 % 13 * 200000 + (is_slow(step) ? excess_ns : 0) +
	       (step == SLOW_FIRST ? checkpoint_ns : 0);
}

static inline int64_t begin_of(int64_t step)
{
	int64_t ts = 1000 * MS;

	for (int64_t i = 0; i < step; i++)
		ts += duration_of(i);
	return ts;
}

/* ---- writing ---- */

static inline void begin_recording(const char *path)
{
	struct tl_event clock = { .kind = TL_EVENT_CLOCK };

	begin_source(path);
	clock.clock.name = "monotonic";
	clock.clock.method = strcmp(path, "perf.data") != 0 ? TL_CLOCK_EXACT : clock_method;
	clock.clock.residual_ns = clock.clock.method == TL_CLOCK_EXACT ? 1000 : -1;
	clock.clock.why = "made here";
	emit(&clock);
}

static inline void comm(int32_t tid, const char *name)
{
	emit(&(struct tl_event) { .kind = TL_EVENT_COMM,
				  .ts = INT64_MIN,
				  .comm = { .task = { tid, tid }, .name = name } });
}

/* Frames outermost first, those of the kernel with "k:" in front. */
static inline void sample(uint32_t type, int32_t tid, int64_t ts, const char *chain,
			  const struct tl_payload *payload)
{
	struct tl_event ev = { .kind = TL_EVENT_SAMPLE, .has_ts = true, .ts = ts };
	struct tl_frame frames[32];
	struct tl_frame_text texts[32] = { 0 };
	char words[1024], *save = NULL;
	size_t count = 0;

	snprintf(words, sizeof(words), "%s", chain);
	for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
		count++;
	snprintf(words, sizeof(words), "%s", chain);
	save = NULL;
	char *w = strtok_r(words, " ", &save);

	for (size_t i = 0; w; i++, w = strtok_r(NULL, " ", &save)) {
		size_t at = count - 1 - i;
		bool is_kernel = !strncmp(w, "k:", 2);

		frames[at] = (struct tl_frame) { .ip = 0x10 + at,
						 .context = is_kernel ? TL_CONTEXT_KERNEL
								      : TL_CONTEXT_USER };
		texts[at].symbol = is_kernel && user_only ? NULL : w + (is_kernel ? 2 : 0);
		texts[at].dso = is_kernel ? "[kernel.kallsyms]" : "/bin/job";
	}
	ev.sample.type_index = type;
	ev.sample.task = (struct tl_task) { tid, tid };
	ev.sample.real_tid = TL_ID_NONE;
	ev.sample.cpu = tid == KHUGEPAGED;
	ev.sample.period = type == CLOCK ? 5 * MS : 1;
	ev.sample.frames = frames;
	ev.sample.texts = texts;
	ev.sample.frame_count = count;
	ev.sample.has_callchain = true;
	ev.sample.payload = payload;
	emit(&ev);
}

/* A tracepoint is hit; `fields` is the JSON object. */
static inline void hit(uint32_t type, int32_t tid, int64_t ts, const char *fields)
{
	const struct tl_payload payload = { .key = next_key++,
					    .json = fields,
					    .json_length = strlen(fields) };

	sample(type, tid, ts, "k:point", &payload);
}

static inline void switch_to(int32_t cpu, int64_t ts, int32_t prev, enum tl_switch_state state,
			     int32_t next, const char *chain)
{
	struct tl_event ev = { .kind = TL_EVENT_SWITCH, .has_ts = true, .ts = ts };

	sample(SWITCHES, prev, ts, chain ? chain : "k:__schedule", NULL);
	ev.sched_switch.cpu = cpu;
	ev.sched_switch.has_prev = ev.sched_switch.has_next = true;
	ev.sched_switch.prev = (struct tl_task) { prev, prev };
	ev.sched_switch.next = (struct tl_task) { next, next };
	ev.sched_switch.prev_state = state;
	ev.sched_switch.has_sample = true;
	emit(&ev);
}

static inline void wake(int64_t ts, int32_t waker, int32_t wakee)
{
	struct tl_event ev = { .kind = TL_EVENT_WAKEUP, .has_ts = true, .ts = ts };

	ev.wakeup.cpu = waker == KHUGEPAGED;
	ev.wakeup.target_cpu = 0;
	ev.wakeup.waker = (struct tl_task) { waker, waker };
	ev.wakeup.wakee_tid = wakee;
	ev.wakeup.is_waking = true;
	emit(&ev);
}

static inline void does(int64_t begin, int64_t end, const char *chain)
{
	windows[window_count++] = (struct window) { begin, end, chain };
}

/* khugepaged runs on CPU 1, and copies pages under the lock all the time. */
static inline void collapse(int64_t begin, int64_t end)
{
	switch_to(1, begin, 0, TL_SWITCH_RUNNABLE, KHUGEPAGED, NULL);
	hit(ISOLATE, KHUGEPAGED, begin, "{\"status\":1,\"status_name\":\"succeeded\"}");
	hit(COLLAPSE, KHUGEPAGED, end, "{\"mm\":1,\"status\":1,\"status_name\":\"succeeded\"}");
	switch_to(1, end, KHUGEPAGED, TL_SWITCH_SLEEPING, 0, NULL);
}

/* The thread leaves its CPU, and comes back. */
static inline void sleep_for(int64_t begin, int64_t end, const char *chain, int32_t waker)
{
	switch_to(0, begin, SELF, TL_SWITCH_UNINTERRUPTIBLE, 0, chain);
	wake(end, waker, SELF);
	switch_to(0, end, 0, TL_SWITCH_RUNNABLE, SELF, NULL);
	does(begin, end, NULL);
}

static inline void wait_behind(int64_t begin, int64_t end, int32_t other)
{
	switch_to(0, begin, SELF, TL_SWITCH_RUNNABLE, other, NULL);
	switch_to(0, end, other, TL_SWITCH_SLEEPING, SELF, NULL);
	does(begin, end, NULL);
}

static inline void compact(int64_t begin, int64_t end, int order)
{
	char fields[64];

	snprintf(fields, sizeof(fields), "{\"order\":%d}", order);
	hit(COMPACTION_ORDER, SELF, begin, fields);
	hit(COMPACTION_BEGIN, SELF, begin, "{\"sync\":1}");
	hit(COMPACTION_END, SELF, end, "{\"status\":1}");
}

static inline void reclaim(int64_t begin, int64_t end, int order)
{
	char fields[64];

	snprintf(fields, sizeof(fields), "{\"order\":%d}", order);
	hit(RECLAIM_BEGIN, SELF, begin, fields);
	hit(RECLAIM_END, SELF, end, "{\"nr_reclaimed\":32}");
}

/* ---- the case ---- */

static inline void write_trace(void)
{
	struct tl_event track = { .kind = TL_EVENT_TRACK };

	begin_recording("rank0.pt.trace.json");
	track.track.kind = TL_TRACK_THREAD;
	track.track.task = (struct tl_task) { SELF, SELF };
	track.track.device = track.track.stream = -1;
	emit(&track);
	for (int64_t i = 0; i < STEPS; i++) {
		struct tl_event ev = { .kind = TL_EVENT_SLICE, .has_ts = true, .ts = begin_of(i) };
		char name[32];

		snprintf(name, sizeof(name), "ProfilerStep#%d", (int)i);
		ev.slice.class_ = TL_SLICE_ANNOTATION;
		ev.slice.duration_ns = duration_of(i);
		ev.slice.name = name;
		ev.slice.name_length = strlen(name);
		ev.slice.has_step = true;
		ev.slice.step = i;
		ev.slice.stream = -1;
		emit(&ev);
		if (!checkpoint_every || i % checkpoint_every)
			continue;
		ev.slice.has_step = false;
		ev.slice.duration_ns /= 2;
		ev.slice.name = "save_checkpoint";
		ev.slice.name_length = strlen("save_checkpoint");
		emit(&ev);
	}
	end_source();
}

static inline const char *chain_at(int64_t ts)
{
	for (size_t i = 0; i < window_count; i++) {
		if (ts >= windows[i].begin && ts < windows[i].end)
			return windows[i].chain;
	}
	return "main work";
}

static inline void write_types(unsigned has)
{
	static const char *const names[EVENTS] = {
		[CLOCK] = "cpu-clock",
		[SWITCHES] = "sched:sched_switch",
		[ISOLATE] = "huge_memory:mm_collapse_huge_page_isolate",
		[COLLAPSE] = "huge_memory:mm_collapse_huge_page",
		[COMPACTION_ORDER] = "compaction:mm_compaction_try_to_compact_pages",
		[COMPACTION_BEGIN] = "compaction:mm_compaction_begin",
		[COMPACTION_END] = "compaction:mm_compaction_end",
		[RECLAIM_BEGIN] = "vmscan:mm_vmscan_direct_reclaim_begin",
		[RECLAIM_END] = "vmscan:mm_vmscan_direct_reclaim_end",
		[MEMCG_BEGIN] = "vmscan:mm_vmscan_memcg_reclaim_begin",
		[MEMCG_END] = "vmscan:mm_vmscan_memcg_reclaim_end",
	};

	for (uint32_t i = 0; i < EVENTS; i++) {
		struct tl_event ev = { .kind = TL_EVENT_TYPE };

		if (i > SWITCHES && !(has & HAS_POINTS))
			continue;
		ev.type.index = i;
		ev.type.name =
			i == ISOLATE && ends_only ? "huge_memory:mm_khugepaged_scan_pmd" : names[i];
		ev.type.is_tracepoint = i != CLOCK;
		ev.type.unit = i == CLOCK ? "ns" : "events";
		emit(&ev);
	}
}

static inline void write_meta(const char *key, const char *value)
{
	emit(&(struct tl_event) { .kind = TL_EVENT_META, .meta = { key, value } });
}

/* `plant` says what happens in step i, which begins at `begin`. */
static inline void make_case(void (*plant)(int64_t i, int64_t begin), unsigned has)
{
	int64_t first = begin_of(0), last = begin_of(recorded_steps);

	write_trace();
	begin_recording("perf.data");
	write_meta("arch", "x86_64");
	write_meta("target", has & HAS_ALL_CPUS ? "all_cpus" : "tasks");
	write_types(has);
	comm(SELF, "job");
	comm(HOG, "hog");
	comm(KHUGEPAGED, "khugepaged");
	comm(0, "swapper");
	if (has & HAS_SWITCHES && has & HAS_ALL_CPUS) /* told by who leaves: nobody of the job */
		switch_to(0, first - MS, 0, TL_SWITCH_RUNNABLE, SELF, NULL);
	for (int64_t i = 0; i < recorded_steps; i++)
		plant(i, begin_of(i));
	for (int64_t ts = first + 2 * MS; ts < last; ts += 5 * MS) {
		if (chain_at(ts))
			sample(CLOCK, SELF, ts, chain_at(ts), NULL);
	}
	if (has & HAS_SWITCHES)
		switch_to(0, last + MS, SELF, TL_SWITCH_SLEEPING, 0, NULL);
	end_source();
}

#endif
