/*
 * call_zones.c - where among the rows of calls one that ended at some time may lie: what an index
 * would tell, for the price of a row in some thousand.
 */
#include "calls.h"

#include <stdlib.h>

#define ROWS_MAX 2048 /* reading them takes half a millisecond */

bool tl_call_zone_add(struct tl_call_zone *zone, int64_t id, int64_t ts, int64_t duration_ns)
{
	int64_t end = tl_call_end(ts, duration_ns);

	if (!zone->first_id) {
		*zone = (struct tl_call_zone) { id, id, end, end };
		return false;
	}
	zone->last_id = id;
	if (end < zone->first_end)
		zone->first_end = end;
	if (end > zone->last_end)
		zone->last_end = end;
	return id - zone->first_id + 1 >= ROWS_MAX;
}

void tl_call_zone_values(const struct tl_call_zone *zone, int64_t source_id, int64_t values[5])
{
	values[0] = source_id;
	values[1] = zone->first_id;
	values[2] = zone->last_id;
	values[3] = zone->first_end;
	values[4] = zone->last_end;
}

int tl_call_zone_put(struct tl_statement *st, const struct tl_call_zone *zone, int64_t source_id,
		     struct tl_error *err)
{
	int64_t values[5];

	tl_call_zone_values(zone, source_id, values);
	for (int i = 0; i < 5; i++)
		tl_bind_i64(st, i + 1, values[i]);
	return tl_statement_run(st, err);
}

static int renew(struct tl_statement *rows, struct tl_statement *insert, int64_t source_id,
		 struct tl_error *err)
{
	struct tl_call_zone zone = { 0 };
	int ret;

	tl_bind_i64(rows, 1, source_id);
	while ((ret = tl_statement_step(rows, err)) > 0) {
		if (!tl_call_zone_add(&zone, tl_column_i64(rows, 0), tl_column_i64(rows, 1),
				      tl_column_i64(rows, 2)))
			continue;
		ret = tl_call_zone_put(insert, &zone, source_id, err);
		if (ret < 0)
			return ret;
		zone = (struct tl_call_zone) { 0 };
	}
	return ret == 0 && zone.first_id ? tl_call_zone_put(insert, &zone, source_id, err) : ret;
}

int tl_call_zones_renew(struct tl_store *store, int64_t source_id, struct tl_error *err)
{
	struct tl_statement *remove = NULL, *rows = NULL, *insert = NULL;
	int ret = tl_statement_open(&remove, store, "DELETE FROM syscall_zone WHERE source_id = ?",
				    NULL, err);

	if (ret == TL_OK) {
		tl_bind_i64(remove, 1, source_id);
		ret = tl_statement_run(remove, err);
	}
	if (ret == TL_OK)
		ret = tl_statement_open(
			&rows, store,
			"SELECT syscall_id, ts, dur FROM syscall WHERE source_id = ? "
			"AND ts NOT NULL AND dur NOT NULL ORDER BY syscall_id",
			"syscall_id ts dur", err);
	if (ret == TL_OK)
		ret = tl_statement_open(&insert, store, TL_CALL_ZONE_INSERT, NULL, err);
	if (ret == TL_OK)
		ret = renew(rows, insert, source_id, err);
	tl_statement_close(remove);
	tl_statement_close(rows);
	tl_statement_close(insert);
	return ret;
}

int tl_call_zones_load(struct tl_call_zones *zones, struct tl_store *store, struct tl_error *err)
{
	struct tl_statement *st = NULL;
	int ret = tl_statement_open(&st, store,
				    "SELECT first_id, last_id, first_end_ts, last_end_ts FROM "
				    "syscall_zone ORDER BY first_id",
				    "first_id last_id first_end_ts last_end_ts", err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = tl_grow(&zones->zones, &zones->capacity, zones->count + 1, err);

		if (status < 0)
			ret = status;
		else
			zones->zones[zones->count++] =
				(struct tl_call_zone) { tl_column_i64(st, 0), tl_column_i64(st, 1),
							tl_column_i64(st, 2),
							tl_column_i64(st, 3) };
	}
	tl_statement_close(st);
	return ret;
}

bool tl_call_zone_may_hold(const struct tl_call_zone *zone, int64_t ts, int64_t duration_ns)
{
	int64_t end = tl_call_end(ts, duration_ns);

	return zone->first_end <= end && end <= zone->last_end;
}

void tl_call_zones_release(struct tl_call_zones *zones)
{
	free(zones->zones);
	*zones = (struct tl_call_zones) { 0 };
}
