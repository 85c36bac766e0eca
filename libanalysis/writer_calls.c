/*
 * writer_calls.c - system calls and library calls of one source, as rows.
 */
#include "writer.h"

#include <string.h>

int tl_writer_text(struct tl_writer *w, const char *text, size_t len, int64_t *row_id,
		   struct tl_error *err)
{
	uint32_t interned;
	int ret;

	*row_id = 0;
	if (!text)
		return TL_OK;
	ret = tl_intern(&w->strings, text, len, &interned, err);
	return ret < 0 ? ret : tl_writer_string(w, interned, row_id, err);
}

static int thread_row(struct tl_writer *w, int64_t ts, const struct tl_event_syscall *c,
		      int64_t *row_id, struct tl_error *err)
{
	uint32_t thread;
	int ret;

	*row_id = 0;
	if (c->task.tid == TL_ID_NONE)
		return TL_OK;
	ret = tl_tasks_thread(&w->tasks, ts, c->task, &thread, err);
	return ret < 0 ? ret : tl_writer_thread_row(w, thread, row_id, err);
}

int tl_writer_syscall(struct tl_writer *w, const struct tl_event *ev, struct tl_error *err)
{
	const struct tl_event_syscall *c = &ev->syscall;
	uint32_t node = TL_NO_NODE;
	int64_t values[18] = { 0 };
	uint64_t nulls;
	int ret = w->is_settled ? TL_OK : tl_writer_settle_sideband(w, err);

	if (ret == TL_OK)
		ret = thread_row(w, ev->ts, c, &values[2], err);
	if (ret == TL_OK)
		ret = tl_writer_text(w, c->name, c->name_length, &values[5], err);
	if (ret == TL_OK)
		ret = tl_writer_text(w, c->error, c->error_length, &values[10], err);
	if (ret == TL_OK)
		ret = tl_writer_text(w, c->operation, c->operation_length, &values[11], err);
	if (ret == TL_OK)
		ret = tl_writer_text(w, c->path, c->path_length, &values[13], err);
	if (ret == TL_OK && c->frame_count)
		ret = tl_writer_text_stack(w, c->frames, c->texts, c->frame_count, &node, err);
	if (ret < 0)
		return ret;
	values[1] = w->source_id;
	values[3] = tl_writer_unix(w, ev->ts);
	values[4] = c->duration_ns;
	values[6] = (int64_t)c->kind;
	values[7] = (int64_t)c->timing;
	values[8] = (int64_t)c->outcome;
	values[9] = c->result;
	values[12] = c->fd;
	values[14] = c->timeout_ns;
	values[15] = w->next_stack + node;
	values[16] = (int64_t)c->arguments_full_length;
	values[17] = (int64_t)c->position;
	nulls = (uint64_t)!values[2] << 2 | (uint64_t)!ev->has_ts << 3 |
		(uint64_t)(c->duration_ns < 0) << 4 | (uint64_t)!c->has_result << 9 |
		(uint64_t)!values[10] << 10 | (uint64_t)!values[11] << 11 |
		(uint64_t)!c->has_fd << 12 | (uint64_t)!values[13] << 13 |
		(uint64_t)!c->has_timeout << 14 | (uint64_t)(node == TL_NO_NODE) << 15;
	w->syscall_count++;
	tl_writer_note_time(w, ev);
	return tl_writer_put(w, INSERT_SYSCALL, values + 1, 17, nulls >> 1, c->arguments,
			     c->arguments_length, err);
}
