/*
 * rows.c - inserts made by a second thread, so that reading a source and writing its rows overlap.
 * Rows travel in batches of plain integers; nothing here knows what they mean.
 */
#include "store.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

#define BATCH_BYTES   (256u << 10) /* some thousand rows: a hand-over costs less than a row */
#define BATCH_COUNT   4		   /* one being filled, one being written, two between */
#define STATEMENT_MAX 32
#define PARAMETER_MAX (TL_FEED_COLUMNS - 1)

struct batch {
	size_t used, capacity;
	char *data;
	uint32_t statements; /* bit i: it has rows for statement i */
};

/* In a batch: this, `count` values, then text_length bytes padded to 8. */
struct row {
	uint64_t null_mask;
	uint32_t text_length;
	uint16_t statement;
	uint8_t count;
	uint8_t has_text;
};

struct tl_rows {
	struct tl_feed feed; /* the writing thread's, with the three below */
	const struct batch *writing;
	size_t at;	    /* behind the row at hand */
	unsigned statement; /* that is being run */

	struct tl_store *store;
	struct tl_statement *statements[STATEMENT_MAX];
	uint64_t real_masks[STATEMENT_MAX];
	bool is_any[STATEMENT_MAX];
	unsigned statement_count;
	struct batch batches[BATCH_COUNT];
	unsigned filling; /* index of the batch being filled */
	pthread_t thread;
	bool has_thread;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under the lock: */
	unsigned queued; /* full batches behind `next` */
	unsigned next;	 /* the next batch to write */
	bool is_writing, stop;
	int status; /* first failure of the writing thread */
	struct tl_error error;
};

/* The next row of the batch that is for the statement at hand. */
static bool feed_next(struct tl_feed *feed)
{
	struct tl_rows *rows = (struct tl_rows *)feed;

	while (rows->at < rows->writing->used) {
		const struct row *row =
			(const struct row *)(const void *)(rows->writing->data + rows->at);

		rows->at += sizeof(*row) + row->count * sizeof(*feed->values) +
			    ((row->text_length + 7u) & ~(size_t)7);
		if (row->statement != rows->statement)
			continue;
		feed->values = (const int64_t *)(const void *)(row + 1);
		feed->count = row->count;
		feed->null_mask = row->null_mask;
		feed->text = row->has_text ? (const char *)(feed->values + row->count) : NULL;
		feed->text_length = row->text_length;
		return true;
	}
	return false;
}

/* Table by table: rows of a table stay in order, and one statement takes them all. */
static int write_batch(struct tl_rows *rows, const struct batch *batch, struct tl_error *err)
{
	int ret = TL_OK;

	rows->writing = batch;
	for (unsigned i = 0; i < rows->statement_count && ret == TL_OK; i++) {
		if (!(batch->statements >> i & 1))
			continue;
		rows->statement = i;
		rows->at = 0;
		rows->feed.real_mask = rows->real_masks[i];
		rows->feed.is_any = rows->is_any[i];
		ret = tl_statement_run(rows->statements[i], err);
	}
	return ret;
}

static void *writer_main(void *payload)
{
	struct tl_rows *rows = payload;

	pthread_mutex_lock(&rows->lock);
	for (;;) {
		struct tl_error error = { 0 };
		struct batch *batch;
		int ret = TL_OK;

		while (!rows->queued && !rows->stop)
			pthread_cond_wait(&rows->changed, &rows->lock);
		if (!rows->queued)
			break;
		batch = &rows->batches[rows->next];
		rows->is_writing = true;
		if (rows->status == TL_OK) {
			pthread_mutex_unlock(&rows->lock);
			ret = write_batch(rows, batch, &error);
			pthread_mutex_lock(&rows->lock);
		}
		if (ret < 0) {
			rows->status = ret;
			rows->error = error;
		}
		batch->used = 0;
		batch->statements = 0;
		rows->next = (rows->next + 1) % BATCH_COUNT;
		rows->queued--;
		rows->is_writing = false;
		pthread_cond_broadcast(&rows->changed);
	}
	pthread_mutex_unlock(&rows->lock);
	return NULL;
}

static int earlier_failure(struct tl_rows *rows, struct tl_error *err)
{
	if (rows->status < 0 && err && err->status == TL_OK)
		*err = rows->error;
	return rows->status;
}

/* Gives the batch being filled to the writing thread and takes an empty one. */
static int hand_over(struct tl_rows *rows, struct tl_error *err)
{
	int ret;

	pthread_mutex_lock(&rows->lock);
	rows->queued++;
	pthread_cond_broadcast(&rows->changed);
	while (rows->queued >= BATCH_COUNT)
		pthread_cond_wait(&rows->changed, &rows->lock);
	ret = earlier_failure(rows, err);
	pthread_mutex_unlock(&rows->lock);
	rows->filling = (rows->filling + 1) % BATCH_COUNT;
	return ret;
}

int tl_rows_put(struct tl_rows *rows, unsigned statement, const int64_t *values, unsigned count,
		uint64_t null_mask, const char *text, size_t text_length, struct tl_error *err)
{
	struct batch *batch = &rows->batches[rows->filling];
	size_t padded = (text_length + 7) & ~(size_t)7;
	size_t need = sizeof(struct row) + count * sizeof(*values) + padded;
	struct row *row;
	int ret;

	if (text_length > UINT32_MAX - 8 || count > PARAMETER_MAX)
		return tl_fail(err, TL_UNSUPPORTED, "a row of %zu bytes", text_length);
	if (batch->used && batch->used + need > batch->capacity) {
		ret = hand_over(rows, err);
		if (ret < 0)
			return ret;
		batch = &rows->batches[rows->filling];
	}
	if (need > batch->capacity) {
		size_t capacity = batch->capacity;

		ret = tl_grow_((void **)&batch->data, &capacity, need, 1, err);
		if (ret < 0)
			return ret;
		batch->capacity = capacity;
	}
	row = (struct row *)(void *)(batch->data + batch->used);
	row->null_mask = null_mask;
	row->text_length = (uint32_t)text_length;
	row->statement = (uint16_t)statement;
	row->count = (uint8_t)count;
	row->has_text = text != NULL;
	memcpy(row + 1, values, count * sizeof(*values));
	if (text_length)
		memcpy((char *)(row + 1) + count * sizeof(*values), text, text_length);
	batch->used += need;
	batch->statements |= 1u << statement;
	return TL_OK;
}

/* "INSERT INTO t(a, b) VALUES(?, ?)" as an insert of all rows that the feed has. */
static int feed_sql(const char *sql, struct tl_text *out, struct tl_error *err)
{
	static const char insert[] = "INSERT ";
	const char *values = strstr(sql, " VALUES(");
	unsigned count = 0;

	for (const char *c = values; c && *c; c++)
		count += *c == '?';
	if (!values || strncmp(sql, insert, sizeof(insert) - 1) != 0 || count == 0 ||
	    count > TL_FEED_COLUMNS)
		return tl_fail(err, TL_USAGE, "no insert of values: %s", sql);
	/* a failure ends the import, which undoes more than ABORT's journal of each statement */
	tl_text_puts(out, "INSERT OR FAIL ");
	tl_text_add(out, sql + sizeof(insert) - 1, (size_t)(values - sql) - (sizeof(insert) - 1));
	for (unsigned i = 0; i < count; i++)
		tl_text_printf(out, "%s c%u", i ? "," : " SELECT", i);
	tl_text_puts(out, " FROM feed");
	return out->failed ? tl_fail(err, TL_NOMEM, "out of memory") : TL_OK;
}

int tl_rows_prepare(struct tl_rows *rows, const char *sql, uint64_t real_mask, bool is_any,
		    unsigned *statement, struct tl_error *err)
{
	struct tl_text fed = { 0 };
	int ret;

	if (rows->statement_count == STATEMENT_MAX)
		return tl_fail(err, TL_USAGE, "more than %d kinds of rows", STATEMENT_MAX);
	ret = feed_sql(sql, &fed, err);
	if (ret == TL_OK)
		ret = tl_statement_open(&rows->statements[rows->statement_count], rows->store,
					fed.data, NULL, err);
	tl_text_release(&fed);
	rows->real_masks[rows->statement_count] = real_mask;
	rows->is_any[rows->statement_count] = is_any;
	if (ret == TL_OK)
		*statement = rows->statement_count++;
	return ret;
}

int tl_rows_drain(struct tl_rows *rows, struct tl_error *err)
{
	int ret = TL_OK;

	if (rows->batches[rows->filling].used)
		ret = hand_over(rows, err);
	pthread_mutex_lock(&rows->lock);
	while (rows->queued || rows->is_writing)
		pthread_cond_wait(&rows->changed, &rows->lock);
	if (ret == TL_OK)
		ret = earlier_failure(rows, err);
	pthread_mutex_unlock(&rows->lock);
	return ret;
}

int tl_rows_open(struct tl_rows **out, struct tl_store *store, struct tl_error *err)
{
	struct tl_rows *rows = tl_alloc(1, sizeof(*rows), err);
	int ret = TL_OK;

	*out = NULL;
	if (!rows)
		return TL_NOMEM;
	rows->store = store;
	rows->feed.next = feed_next;
	pthread_mutex_init(&rows->lock, NULL);
	pthread_cond_init(&rows->changed, NULL);
	for (unsigned i = 0; i < BATCH_COUNT && ret == TL_OK; i++)
		ret = tl_grow(&rows->batches[i].data, &rows->batches[i].capacity, BATCH_BYTES, err);
	if (ret == TL_OK)
		ret = tl_feed_open(store, &rows->feed, err);
	if (ret == TL_OK && pthread_create(&rows->thread, NULL, writer_main, rows) != 0)
		ret = tl_fail(err, TL_NOMEM, "cannot start a thread");
	if (ret < 0) {
		tl_rows_close(rows);
		return ret;
	}
	rows->has_thread = true;
	*out = rows;
	return TL_OK;
}

void tl_rows_close(struct tl_rows *rows)
{
	if (!rows)
		return;
	if (rows->has_thread) {
		tl_rows_drain(rows, NULL);
		pthread_mutex_lock(&rows->lock);
		rows->stop = true;
		pthread_cond_broadcast(&rows->changed);
		pthread_mutex_unlock(&rows->lock);
		pthread_join(rows->thread, NULL);
	}
	for (unsigned i = 0; i < rows->statement_count; i++)
		tl_statement_close(rows->statements[i]);
	tl_feed_close(rows->store);
	for (unsigned i = 0; i < BATCH_COUNT; i++)
		free(rows->batches[i].data);
	pthread_cond_destroy(&rows->changed);
	pthread_mutex_destroy(&rows->lock);
	free(rows);
}
