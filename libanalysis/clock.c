/*
 * clock.c - moves the rows of one source along the time axis.
 */
#include "writer.h"

int tl_clock_shift(struct tl_store *store, int64_t source_id, int64_t delta_ns,
		   struct tl_error *err)
{
	/* threads of other sources keep their times: only rows that this source alone wrote move */
	static const char *const updates[] = {
		"UPDATE sample SET ts = ts + ?1 WHERE event_id IN "
		"(SELECT event_id FROM event WHERE source_id = ?2)",
		"UPDATE syscall SET ts = ts + ?1 WHERE source_id = ?2",
		"UPDATE slice SET ts = ts + ?1 WHERE track_id IN "
		"(SELECT track_id FROM track WHERE source_id = ?2)",
		"UPDATE flow SET ts = ts + ?1 WHERE track_id IN "
		"(SELECT track_id FROM track WHERE source_id = ?2)",
		"UPDATE counter SET ts = ts + ?1 WHERE track_id IN "
		"(SELECT track_id FROM track WHERE source_id = ?2)",
		"UPDATE step_mark SET ts = ts + ?1 WHERE source_id = ?2",
		"UPDATE log SET ts = ts + ?1 WHERE source_id = ?2",
		"UPDATE sample_block SET base_ts = base_ts + ?1, first_ts = first_ts + ?1, "
		"last_ts = last_ts + ?1 WHERE source_id = ?2",
		"UPDATE call_block SET base_ts = base_ts + ?1, first_ts = first_ts + ?1, "
		"last_ts = last_ts + ?1 WHERE source_id = ?2",
		"UPDATE gap SET ts = ts + ?1 WHERE source_id = ?2",
		"UPDATE sched_switch SET ts = ts + ?1 WHERE source_id = ?2",
		"UPDATE sched_wakeup SET ts = ts + ?1 WHERE source_id = ?2",
		"UPDATE thread_state SET ts = ts + ?1 WHERE source_id = ?2",
		"UPDATE event SET first_ts = first_ts + ?1 WHERE source_id = ?2",
		"UPDATE source SET first_ts = first_ts + ?1, last_ts = last_ts + ?1, "
		"clock_offset_ns = clock_offset_ns + ?1 WHERE source_id = ?2",
	};

	for (size_t i = 0; i < sizeof(updates) / sizeof(updates[0]); i++) {
		struct tl_statement *st;
		int ret = tl_statement_open(&st, store, updates[i], NULL, err);

		if (ret < 0)
			return ret;
		tl_bind_i64(st, 1, delta_ns);
		tl_bind_i64(st, 2, source_id);
		ret = tl_statement_run(st, err);
		tl_statement_close(st);
		if (ret < 0)
			return ret;
	}
	return TL_OK;
}
