/*
 * strace_line.c - one line of a log: what it is, and what it does to the open calls. Lines may be
 * cut, written into by the traced program, or say only half of a call.
 */
#include "strace_log.h"

#include "reader.h"

static int read_line(struct strace_log *log, const char *text, size_t len, bool has_newline,
		     bool is_inner, struct tl_error *err);

static int resumed(struct strace_log *log, struct strace_parts *l, struct tl_error *err)
{
	struct strace_return result;
	struct strace_open *open;
	int ret;

	strace_return(l->b + l->body.rest, l->b_len - l->body.rest, log->is_ltrace, &result);
	open = strace_take_pending(log, l->prefix.tid, l->body.word, &ret, err);
	if (ret < 0)
		return ret;
	switch (result.end) {
	case STRACE_END_UNFINISHED:
		if (!open) {
			strace_note(log, STRACE_BAD_ORPHAN);
			open = strace_begin(log, l, l->body.word, result.arguments, err);
			if (!open)
				return TL_NOMEM;
			open->has_ts = false;
			return strace_push(log, l->prefix.tid, open, err);
		}
		ret = strace_open_extend(&log->tasks, open, result.arguments, log->look_bytes, err);
		if (ret < 0) {
			strace_open_release(&log->tasks, open);
			return ret;
		}
		return strace_push(log, l->prefix.tid, open, err);
	case STRACE_END_RETURNED:
	case STRACE_END_NEVER:
		break;
	case STRACE_END_DETACHED:
	case STRACE_END_PID_CHANGED:
	case STRACE_END_NO_RETURN:
	case STRACE_END_NONE:
		strace_note(log, STRACE_BAD_RESUMED);
		if (!open)
			return TL_OK;
		return strace_emit_open(log, NULL, open, TL_CALL_LOST, err);
	}
	if (!open)
		return strace_orphan_call(log, l, &result, err);
	return strace_joined_call(log, open, l, &result, l->prefix.time != STRACE_RELATIVE, err);
}

/* ---- broken lines ---------------------------------------------------------------------------- */

static int drop_broken(struct strace_log *log, struct tl_error *err)
{
	struct strace_open *open = log->broken;

	log->broken = NULL;
	if (!open)
		return TL_OK;
	strace_note_at(log, STRACE_BAD_BROKEN, open->line);
	return strace_emit_open(log, NULL, open, TL_CALL_LOST, err);
}

static struct strace_open *mend_broken(struct strace_log *log)
{
	struct strace_open *open = log->broken;

	log->broken = NULL;
	log->understood++;
	strace_note_at(log, STRACE_BAD_MENDED, open->line);
	return open;
}

/* The rest of a call whose line was written into; 1: it was, and is dealt with. */
static int continue_broken(struct strace_log *log, const struct strace_parts *l,
			   struct tl_error *err)
{
	struct strace_return result;
	const char *t = l->text;
	size_t len = l->len, blank = len && t[0] == ' ';
	struct strace_span mark = { t + blank, len - blank };
	int ret;

	if (strace_span_is(mark, "<unfinished ...>")) {
		ret = strace_push(log, log->broken_tid, mend_broken(log), err);
		return ret < 0 ? ret : 1;
	}
	if (strace_span_is(mark, "<detached ...>")) {
		ret = strace_emit_open(log, NULL, mend_broken(log), TL_CALL_DETACHED, err);
		return ret < 0 ? ret : 1;
	}
	if (len == 0 || t[0] != ')')
		return 0;
	strace_return(t, len, log->is_ltrace, &result);
	if (result.end != STRACE_END_RETURNED)
		return 0;
	ret = strace_joined_call(log, mend_broken(log), l, &result, false, err);
	return ret < 0 ? ret : 1;
}

/* A line that is only the end of a call, after one that was cut (strace -z). */
static int tail_of_cut(struct strace_log *log, const struct strace_parts *l, struct tl_error *err)
{
	struct strace_task *task = NULL;
	struct strace_open *open = log->broken;
	struct strace_return result;
	int ret;

	if (!open && log->cut_line && log->cut_line + 1 == log->line) {
		task = strace_task(&log->tasks, log->cut_tid, err);
		if (!task)
			return TL_NOMEM;
		open = task->open;
	}
	if (!open || l->prefix.time != STRACE_NO_TIME)
		return 0;
	strace_return(l->text, l->len, log->is_ltrace, &result);
	if (result.end != STRACE_END_RETURNED)
		return 0;
	if (open == log->broken)
		mend_broken(log);
	else
		strace_take(log, task, open);
	ret = strace_joined_call(log, open, l, &result, false, err);
	return ret < 0 ? ret : 1;
}

/* ---- kinds of lines -------------------------------------------------------------------------- */

static int broken_call(struct strace_log *log, struct strace_parts *l,
		       const struct strace_return *result, struct tl_error *err)
{
	struct strace_open *open;
	int ret = drop_broken(log, err);

	if (ret < 0)
		return ret;
	open = strace_begin(log, l, l->body.word, result->arguments, err);
	if (!open)
		return TL_NOMEM;
	if (!l->has_newline) { /* the log ends inside it */
		strace_note(log, STRACE_BAD_CUT);
		return strace_emit_open(log, NULL, open, TL_CALL_OPEN, err);
	}
	log->broken = open;
	log->broken_tid = l->prefix.tid;
	return TL_OK;
}

/* Marks of ltrace in a line that strace's grammar does not fit. */
static bool is_ltrace_result(const char *text, size_t len)
{
	return memmem(text, len, ") = <void>", 10) || memmem(text, len, " = <void>", 9);
}

static int call_line(struct strace_log *log, struct strace_parts *l, bool is_glued,
		     struct tl_error *err)
{
	struct strace_return result;
	struct strace_open *open;
	struct strace_task *task;
	int ret;

	strace_return(l->b + l->body.rest, l->b_len - l->body.rest, log->is_ltrace, &result);
	if (result.end == STRACE_END_NONE && !log->is_ltrace && is_ltrace_result(l->b, l->b_len)) {
		strace_set_ltrace(log);
		strace_return(l->b + l->body.rest, l->b_len - l->body.rest, true, &result);
	}
	log->understood += result.end != STRACE_END_NONE;
	ret = strace_stamp(log, l, 0, err);
	if (ret < 0)
		return ret;
	switch (result.end) {
	case STRACE_END_UNFINISHED:
	case STRACE_END_PID_CHANGED:
		open = strace_begin(log, l, l->body.word, result.arguments, err);
		if (!open)
			return TL_NOMEM;
		if (result.end == STRACE_END_UNFINISHED) {
			log->cut_line = log->line;
			log->cut_tid = l->prefix.tid;
		}
		return strace_push(log, l->prefix.tid, open, err);
	case STRACE_END_NO_RETURN:
		if (!log->is_ltrace)
			strace_set_ltrace(log);
		if (!strace_is_exec(l->body.word))
			return strace_whole_call(log, l, &result, err);
		open = strace_begin(log, l, l->body.word, result.arguments, err);
		if (!open)
			return TL_NOMEM;
		open->is_exec = true;
		return strace_push(log, l->prefix.tid, open, err);
	case STRACE_END_NEVER:
	case STRACE_END_DETACHED:
		return strace_whole_call(log, l, &result, err);
	case STRACE_END_NONE:
		return broken_call(log, l, &result, err);
	case STRACE_END_RETURNED:
		break;
	}
	if (is_glued || log->is_written_into)
		return broken_call(log, l, &result, err);
	task = strace_task(&log->tasks, l->prefix.tid, err);
	ret = task ? strace_lose_open(log, task, err) : TL_NOMEM;
	return ret < 0 ? ret : strace_whole_call(log, l, &result, err);
}

static int foreign_line(struct strace_log *log, struct strace_parts *l, bool is_inner,
			struct tl_error *err)
{
	size_t bracket;
	int ret = tail_of_cut(log, l, err);

	if (ret != 0)
		return ret < 0 ? ret : TL_OK;
	bracket = is_inner ? 0 : strace_find_bracket(l->text, l->len);
	if (bracket > 0 && bracket < l->len)
		return read_line(log, l->text + bracket, l->len - bracket, l->has_newline, true,
				 err);
	if (log->bad[STRACE_BAD_LINE].count == 0)
		tl_printable(log->first_bad, sizeof(log->first_bad), l->text,
			     l->len < 60 ? l->len : 60);
	strace_note(log, STRACE_BAD_LINE);
	return TL_OK;
}

static int dispatch(struct strace_log *log, struct strace_parts *l, bool is_inner,
		    struct tl_error *err)
{
	struct strace_return result;
	size_t glued;
	int ret;

	log->understood += l->body.kind < STRACE_MESSAGE && l->body.kind != STRACE_CALL;
	switch (l->body.kind) {
	case STRACE_CALL:
		glued = strace_find_glued(l->b, l->b_len);
		if (glued == l->b_len)
			return call_line(log, l, false, err);
		ret = strace_message_line(log, l->b + glued, l->b_len - glued, err);
		l->b_len = glued;
		while (l->b_len && l->b[l->b_len - 1] == ' ')
			l->b_len--;
		return ret < 0 ? ret : call_line(log, l, true, err);
	case STRACE_RESUMED:
		strace_return(l->b + l->body.rest, l->b_len - l->body.rest, false, &result);
		ret = strace_stamp(log, l, result.duration_ns, err);
		return ret < 0 ? ret : resumed(log, l, err);
	case STRACE_EXITED:
	case STRACE_KILLED:
		return strace_exit_line(log, l, err);
	case STRACE_SUPERSEDED:
		return strace_superseded_line(log, l, err);
	case STRACE_EXEC:
		return strace_exec_line(log, l, err);
	case STRACE_SIGNAL:
		ret = strace_stamp(log, l, 0, err);
		return ret < 0 ? ret
			       : strace_count(log, "signal ", l->body.word.text,
					      l->body.word.length, err);
	case STRACE_MESSAGE:
		return strace_message_line(log, l->b, l->b_len, err);
	case STRACE_FOREIGN:
		break;
	}
	return foreign_line(log, l, is_inner, err);
}

/* ---- lines that are no calls ----------------------------------------------------------------- */

static int read_line(struct strace_log *log, const char *text, size_t len, bool has_newline,
		     bool is_inner, struct tl_error *err)
{
	struct strace_parts l;
	int ret;

	l.text = text;
	l.len = len;
	l.has_newline = has_newline;
	l.has_ts = false;
	l.ts = 0;
	if (log->broken) {
		l.prefix = (struct strace_prefix) { .tid = TL_ID_NONE };
		ret = continue_broken(log, &l, err);
		if (ret != 0)
			return ret < 0 ? ret : TL_OK;
	}
	strace_prefix(text, len, &l.prefix);
	l.b = text + l.prefix.length;
	l.b_len = len - l.prefix.length;
	while (log->is_ltrace && l.b_len && l.b[0] == ' ') { /* calls inside others: ltrace -n */
		l.b++;
		l.b_len--;
	}
	while (l.b_len && l.b[l.b_len - 1] == ' ')
		l.b_len--;
	strace_body(l.b, l.b_len, &l.body);
	return dispatch(log, &l, is_inner, err);
}

/* ---- lines that the next one explains -------------------------------------------------------- */

/*
 * What a program writes where strace writes, too, comes before the end of its own call, and may look
 * like one: "write(2, \"a) = 7\", 8a) = 7". Only logs that are not files of strace's own (-o) have
 * that: those that print "[pid 7]", or no numbers.
 */
static bool may_be_written_into(const struct strace_log *log, const char *text, size_t len)
{
	if (log->is_ltrace)
		return false;
	if (text[0] == '[')
		return true;
	return !log->has_pids && memmem(text, len < 64 ? len : 64, "write", 5);
}

/* The rest of a call, on a line of its own: the one before was no call's end. */
static bool is_rest_of_call(const struct strace_log *log, const char *text, size_t len)
{
	struct strace_return result;

	while (len && text[len - 1] == ' ')
		len--;
	if (strace_span_is((struct strace_span) { text, len }, " <unfinished ...>") ||
	    strace_span_is((struct strace_span) { text, len }, " <detached ...>"))
		return true;
	if (len == 0 || text[0] != ')')
		return false;
	strace_return(text, len, log->is_ltrace, &result);
	return result.end == STRACE_END_RETURNED;
}

static int wait_for_next(struct strace_log *log, const char *text, size_t len, struct tl_error *err)
{
	int ret = tl_grow(&log->waiting, &log->waiting_capacity, len + 1, err);

	if (ret < 0)
		return ret;
	memcpy(log->waiting, text, len);
	log->waiting_length = len;
	log->waiting_line = log->line;
	log->is_waiting = true;
	return TL_OK;
}

int strace_settle_waiting(struct strace_log *log, bool is_broken, struct tl_error *err)
{
	uint64_t line = log->line;
	int ret;

	if (!log->is_waiting)
		return TL_OK;
	log->is_waiting = false;
	log->line = log->waiting_line;
	log->is_written_into = is_broken;
	ret = read_line(log, log->waiting, log->waiting_length, true, false, err);
	log->is_written_into = false;
	log->line = line;
	return ret;
}

int strace_line(struct strace_log *log, const char *text, size_t len, bool has_newline,
		struct tl_error *err)
{
	size_t front;
	int ret;

	if (log->has_front) {
		front = strace_front(log->indentation, text, len);
		text += front;
		len -= front;
	}
	ret = log->is_waiting ? strace_settle_waiting(log, is_rest_of_call(log, text, len), err)
			      : TL_OK;
	if (ret < 0)
		return ret;
	if (len >= 3 && text[0] == ' ' && text[2] == ' ') {
		if (text[1] == '>')
			return strace_hold_frame(log, text + 3, len - 3, err);
		if (text[1] == '|' || text[1] == '*') {
			strace_note(log, STRACE_BAD_DUMP);
			return TL_OK;
		}
	}
	ret = strace_hold_flush(log, err);
	if (ret < 0)
		return ret;
	if (strace_blanks(text, len) == len)
		return TL_OK;
	if ((log->in_summary || !strace_is_digit(text[0])) && strace_table_line(log, text, len))
		return TL_OK;
	if (log->is_front_cut && log->line == 1) {
		strace_note(log, STRACE_BAD_FRONT_CUT);
		return TL_OK;
	}
	if (has_newline && may_be_written_into(log, text, len))
		return wait_for_next(log, text, len, err);
	return read_line(log, text, len, has_newline, false, err);
}
