/*
 * calls.h - private: what is known of calls by their names, calls by column (blocks), and calls made
 * of tracepoints that are hit when one begins and when it ends.
 *
 * A question about millions of calls reads blocks: some thousand calls of one thread, name and
 * operation in a few bytes each, in the order they were met. Table syscall holds the same calls
 * with all that is known of each.
 */
#ifndef TL_CALLS_H
#define TL_CALLS_H

#include "call_numbers.h"
#include "memory.h"
#include "store.h"

/* ---- waits and timers (call_traits.c) ------------------------------------------------------- */

enum tl_call_wait {
	TL_WAIT_NEVER,
	TL_WAIT_ALWAYS,	   /* poll, nanosleep, wait4, ... */
	TL_WAIT_OPERATION, /* futex: with an operation that waits */
	TL_WAIT_FD,	   /* read: from a socket, a pipe, an eventfd or a timerfd */
	TL_WAIT_RING,	   /* io_uring_enter: with completions to wait for */
};

/* What the end of a call says when it was its own timer that ended it. */
enum tl_call_timer {
	TL_TIMER_NONE,
	TL_TIMER_SLEEP, /* returned 0, about when it was asked to */
	TL_TIMER_ZERO,	/* returned 0: nothing was ready */
	TL_TIMER_EAGAIN /* failed with EAGAIN */
};

struct tl_call_traits {
	enum tl_call_wait wait;
	enum tl_call_timer timer;
};

struct tl_call_traits tl_call_traits(const char *name, size_t length);
/* exit, exit_group: the thread ends in it. */
bool tl_call_is_exit(const char *name, size_t length);
bool tl_call_is_wait(struct tl_call_traits traits, const struct tl_event_syscall *call);
/*
 * Ended by the time-out it asked for: ETIMEDOUT, a poll that returned 0, a sleep that lasted as
 * long as requested within 20 % or 100 us (or, where the request is not known, was not cut short).
 */
bool tl_call_is_timer_end(struct tl_call_traits traits, const struct tl_event_syscall *call);

/* When it was over: INT64_MAX if that is too late for a number; its begin if dur is below 0, unknown. */
static inline int64_t tl_call_end(int64_t ts, int64_t duration_ns)
{
	int64_t end;

	return __builtin_add_overflow(ts, duration_ns > 0 ? duration_ns : 0, &end) ? INT64_MAX
										   : end;
}

/* It came back to its caller, as far as one can know: what is counted. */
static inline bool tl_call_has_ended(enum tl_call_outcome outcome)
{
	return outcome == TL_CALL_RETURNED || outcome == TL_CALL_RESTARTED ||
	       outcome == TL_CALL_UNAVAILABLE;
}

/* ---- blocks (call_blocks.c) ------------------------------------------------------------------ */

#define TL_CALL_BLOCK_MAX 4096u /* calls */

/* Rows of one block belong to one of these. Ids of rows; 0: NULL. */
struct tl_call_key {
	int64_t thread_id, name_id, operation_id;
	uint8_t kind;	/* enum tl_call_kind */
	uint8_t timing; /* enum tl_call_timing */
	bool is_wait;
};

#define TL_CALL_ERROR 1u /* failed */
#define TL_CALL_TIMER 2u /* ended by its own timer */

struct tl_call_entry {
	int64_t ts;	     /* begin; only where the block has times */
	int64_t duration_ns; /* -1 unknown */
	uint8_t flags;	     /* TL_CALL_* */
};

/* One row of table call_block. */
struct tl_call_block {
	struct tl_call_key key;
	uint32_t count;
	bool has_times;
	int64_t first_ts, last_ts; /* earliest and latest begin */
	int64_t base_ts;	   /* begin of the first call in the block */
	int64_t duration_sum_ns;
	const char *bytes;
	size_t length;
};

typedef int (*tl_call_block_fn)(void *payload, const struct tl_call_block *block,
				struct tl_error *err);

#define TL_CALL_LONGEST 8u

/* What every call touches comes first: with thousands of groups each call is a cache miss. */
struct tl_call_group {
	struct tl_call_key key;
	uint8_t *bytes; /* of the block being filled */
	uint32_t length, capacity, count;
	bool has_times;
	int64_t last_begin;
	int64_t base_ts;
	int64_t longest[TL_CALL_LONGEST]; /* plus 1; the last is the shortest of them */
};

struct tl_call_blocks {
	struct tl_call_group *groups;
	size_t group_count, group_capacity;
	struct tl_index index;
	uint32_t last;	 /* group of the call before */
	size_t buffered; /* bytes of all blocks being filled, with what they may grow by */
	struct tl_call_entry *scratch;
	tl_call_block_fn put;
	void *payload;
};

/* `is_notable` (may be NULL): the call is among the longest of its group so far. */
int tl_call_blocks_add(struct tl_call_blocks *blocks, const struct tl_call_key *key, bool has_ts,
		       const struct tl_call_entry *call, bool *is_notable, struct tl_error *err);
int tl_call_blocks_flush(struct tl_call_blocks *blocks, struct tl_error *err);
void tl_call_blocks_release(struct tl_call_blocks *blocks);
/* `calls` has room for block->count. TL_STORE if the bytes are not those of such a block. */
int tl_call_block_read(const struct tl_call_block *block, struct tl_call_entry *calls,
		       struct tl_error *err);

#define TL_CALL_BLOCK_INSERT                                                                 \
	"INSERT INTO call_block(source_id, thread_id, name_id, operation_id, kind, timing, " \
	"is_wait, call_count, dur_sum, base_ts, first_ts, last_ts, calls) "                  \
	"VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
/* The 12 integers of that statement, and which of them are NULL. */
uint64_t tl_call_block_values(const struct tl_call_block *block, int64_t source_id,
			      int64_t values[12]);

/* ---- zones (call_zones.c) --------------------------------------------------------------------- */

/* One row of table syscall_zone, while it grows. All 0: there is no call in it. */
struct tl_call_zone {
	int64_t first_id, last_id;
	int64_t first_end, last_end;
};

/*
 * The row that comes next, `id`, is that of a call with a begin and a duration. True: the zone has
 * enough rows; put it and set it to 0.
 */
bool tl_call_zone_add(struct tl_call_zone *zone, int64_t id, int64_t ts, int64_t duration_ns);

#define TL_CALL_ZONE_INSERT                                                                  \
	"INSERT INTO syscall_zone(source_id, first_id, last_id, first_end_ts, last_end_ts) " \
	"VALUES(?, ?, ?, ?, ?)"
/* The 5 integers of that statement. */
void tl_call_zone_values(const struct tl_call_zone *zone, int64_t source_id, int64_t values[5]);
int tl_call_zone_put(struct tl_statement *insert, const struct tl_call_zone *zone,
		     int64_t source_id, struct tl_error *err);
/* Makes the zones of a source from its rows. */
int tl_call_zones_renew(struct tl_store *store, int64_t source_id, struct tl_error *err);

struct tl_call_zones {
	struct tl_call_zone *zones;
	size_t count, capacity;
};

/* All zones of a case. */
int tl_call_zones_load(struct tl_call_zones *zones, struct tl_store *store, struct tl_error *err);
/* Whether there may be a call in it that ended then. */
bool tl_call_zone_may_hold(const struct tl_call_zone *zone, int64_t ts, int64_t duration_ns);
void tl_call_zones_release(struct tl_call_zones *zones);

/* ---- sums per stack (call_sums.c) ------------------------------------------------------------- */

struct tl_call_sum {
	int64_t thread_id, name_id,
		stack; /* thread_id 0: NULL; stack: the caller's own numbering */
	uint64_t count, duration_sum_ns;
};

struct tl_call_sums {
	struct tl_call_sum *sums;
	size_t count, capacity;
	struct tl_index index;
};

int tl_call_sums_add(struct tl_call_sums *sums, int64_t thread_id, int64_t name_id, int64_t stack,
		     int64_t duration_ns, uint64_t count, struct tl_error *err);
/* NULL: nothing was added there. */
const struct tl_call_sum *tl_call_sums_find(const struct tl_call_sums *sums, int64_t thread_id,
					    int64_t name_id, int64_t stack);
void tl_call_sums_release(struct tl_call_sums *sums);

#define TL_CALL_SUM_INSERT                                                                 \
	"INSERT INTO call_stack_sum(source_id, thread_id, name_id, stack_id, call_count, " \
	"dur_sum) VALUES(?, ?, ?, ?, ?, ?)"

/* ---- calls made of tracepoints (call_pairs.c) ------------------------------------------------ */

/* Hits of this event begin or end system calls. */
bool tl_call_is_tracepoint(const char *event_name);

struct tl_call_pairs_options {
	int64_t source_id;
	const char *arch;    /* NULL unknown */
	bool aggregate_only; /* rows for the longest calls only */
};

struct tl_call_pairs_result {
	uint64_t call_count;  /* with begin and end */
	uint64_t begin_count; /* begins whose end was not recorded, but for those at the very end */
	uint64_t end_count;   /* ends whose begin was not recorded, but for the first of a thread */
	uint64_t unnamed_count; /* calls whose number has no name: of which machine is not known */
	bool is_sampled;   /* only one hit in several was recorded: no calls can be made of them */
	bool is_one_sided; /* only begins, or only ends, were recorded */
};

/* Rows of syscall, call_block and call_stack_sum from the samples of one source. */
int tl_call_pairs_derive(struct tl_store *store, const struct tl_call_pairs_options *opt,
			 struct tl_call_pairs_result *result, struct tl_error *err);

#endif
