/*
 * clock.c - moves the rows of one source along the time axis.
 */
#include "clock.h"

#include "clock_blocks.h"
#include "writer.h"

/*
 * Threads of other sources keep their times: only rows that this source alone wrote move.
 * ?1 offset, ?2 slope until now; ?3, ?4 from now on; ?5 source.
 */
#define MOVED(column) column " = clock_moved(" column ", ?1, ?2, ?3, ?4)"
#define OF_SOURCE     " WHERE source_id = ?5"
#define OF_TRACK      " WHERE track_id IN (SELECT track_id FROM track WHERE source_id = ?5)"

static const char *const updates[] = {
	"UPDATE sample SET " MOVED("ts") " WHERE event_id IN (SELECT event_id FROM event "
					 "WHERE source_id = ?5)",
	"UPDATE syscall SET " MOVED("ts") OF_SOURCE,
	"UPDATE slice SET " MOVED("ts") OF_TRACK,
	"UPDATE flow SET " MOVED("ts") OF_TRACK,
	"UPDATE counter SET " MOVED("ts") OF_TRACK,
	"UPDATE step_mark SET " MOVED("ts") OF_SOURCE,
	"UPDATE log SET " MOVED("ts") OF_SOURCE,
	"UPDATE gap SET " MOVED("ts") OF_SOURCE,
	"UPDATE sched_switch SET " MOVED("ts") OF_SOURCE,
	"UPDATE sched_wakeup SET " MOVED("ts") OF_SOURCE,
	"UPDATE thread_state SET " MOVED("ts") OF_SOURCE,
	"UPDATE mm_activity SET " MOVED("ts") OF_SOURCE,
	"UPDATE thread_name SET " MOVED("ts") OF_SOURCE,
	"UPDATE thread_life SET " MOVED("start_ts") ", " MOVED("end_ts") ", " MOVED(
		"process_start_ts") ", " MOVED("process_end_ts") OF_SOURCE,
	"UPDATE event SET " MOVED("first_ts") OF_SOURCE,
	"UPDATE source SET " MOVED("first_ts") ", " MOVED(
		"last_ts") ", clock_offset_ns = ?3, clock_slope = ?4" OF_SOURCE,
};

/* Times in blocks are differences: they stay as they are unless these grow or shrink. */
static const char *const block_updates[] = {
	"UPDATE sample_block SET " MOVED("base_ts") ", " MOVED("first_ts") ", " MOVED("last_ts")
		OF_SOURCE,
	"UPDATE call_block SET " MOVED("base_ts") ", " MOVED("first_ts") ", " MOVED("last_ts")
		OF_SOURCE,
	"UPDATE syscall_zone SET " MOVED("first_end_ts") ", " MOVED("last_end_ts") OF_SOURCE,
};

static int run(struct tl_store *store, const char *sql, int64_t source_id,
	       struct tl_clock_line from, struct tl_clock_line to, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, store, sql, NULL, err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, from.offset_ns);
	tl_bind_double(st, 2, from.slope);
	tl_bind_i64(st, 3, to.offset_ns);
	tl_bind_double(st, 4, to.slope);
	tl_bind_i64(st, 5, source_id);
	ret = tl_statement_run(st, err);
	tl_statement_close(st);
	return ret;
}

int tl_clock_move(struct tl_store *store, int64_t source_id, struct tl_clock_line from,
		  struct tl_clock_line to, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; i < sizeof(updates) / sizeof(updates[0]) && ret == TL_OK; i++)
		ret = run(store, updates[i], source_id, from, to, err);
	if (ret == TL_OK && from.slope != to.slope)
		return tl_clock_move_blocks(store, source_id, from, to, err);
	for (size_t i = 0; i < sizeof(block_updates) / sizeof(block_updates[0]) && ret == TL_OK;
	     i++)
		ret = run(store, block_updates[i], source_id, from, to, err);
	return ret;
}

int tl_clock_shift(struct tl_store *store, int64_t source_id, int64_t from_ns, int64_t to_ns,
		   struct tl_error *err)
{
	return tl_clock_move(store, source_id, (struct tl_clock_line) { from_ns, 1 },
			     (struct tl_clock_line) { to_ns, 1 }, err);
}
