/*
 * call_pairs.c - system calls of the tracepoints that are hit when one begins and when it ends:
 * raw_syscalls:sys_enter and sys_exit, or syscalls:sys_enter_NAME and sys_exit_NAME.
 *
 * Reads the samples of one source in order of thread and time. What has only one end is counted,
 * never guessed.
 */
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

#define RAW_ENTER   "raw_syscalls:sys_enter"
#define RAW_EXIT    "raw_syscalls:sys_exit"
#define NAMED_ENTER "syscalls:sys_enter_"
#define NAMED_EXIT  "syscalls:sys_exit_"
#define ERRNO_MAX   4095
#define ARGUMENTS   6
#define MS_NS	    1000000

enum side { SIDE_NONE, SIDE_ENTER, SIDE_EXIT };

static bool begins_with(const char *text, const char *word)
{
	return !strncmp(text, word, strlen(word));
}

/* *name: of the call, where the event's own name says it. */
static enum side side_of(const char *event, const char **name)
{
	*name = NULL;
	if (!strcmp(event, RAW_ENTER))
		return SIDE_ENTER;
	if (!strcmp(event, RAW_EXIT))
		return SIDE_EXIT;
	if (begins_with(event, NAMED_ENTER)) {
		*name = event + strlen(NAMED_ENTER);
		return SIDE_ENTER;
	}
	if (begins_with(event, NAMED_EXIT)) {
		*name = event + strlen(NAMED_EXIT);
		return SIDE_EXIT;
	}
	return SIDE_NONE;
}

bool tl_call_is_tracepoint(const char *event_name)
{
	const char *name;

	return side_of(event_name, &name) != SIDE_NONE;
}

/* ---- what a hit says -------------------------------------------------------------------------- */

struct hit {
	enum side side;
	int64_t thread_id, ts, stack_id; /* stack 0: none */
	int64_t number, result;
	const char *name; /* from the event; NULL: the number says it */
	uint64_t arguments[ARGUMENTS];
	unsigned argument_count;
	bool has_operation;
	uint64_t operation;
};

/* A JSON number, or a number in quotes, in base 10 or 0x16. */
static bool read_number(const char *at, const char *end, uint64_t *value)
{
	bool is_negative = false;

	while (at < end && (*at == ' ' || *at == '"'))
		at++;
	if (at < end && *at == '-') {
		is_negative = true;
		at++;
	}
	if (end - at > 2 && at[0] == '0' && at[1] == 'x') {
		if (!tl_parse_u64(at + 2, (size_t)(end - at) - 2, 16, value))
			return false;
	} else if (!tl_parse_u64(at, (size_t)(end - at), 10, value)) {
		return false;
	}
	if (is_negative)
		*value = 0 - *value;
	return true;
}

/* Behind "key": in a flat JSON object; NULL: there is no such key. */
static const char *find_value(const char *json, size_t length, const char *key)
{
	char quoted[40];
	int n = snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	const char *found = n > 0 ? memmem(json, length, quoted, (size_t)n) : NULL;

	return found ? found + n : NULL;
}

static bool find_number(const char *json, size_t length, const char *key, uint64_t *value)
{
	const char *at = find_value(json, length, key);

	return at && read_number(at, json + length, value);
}

static void read_arguments(struct hit *hit, const char *json, size_t length)
{
	const char *at = find_value(json, length, "args");
	const char *end = json + length;

	if (!at || at == end || *at != '[')
		return;
	while (at && hit->argument_count < ARGUMENTS &&
	       read_number(at + 1, end, &hit->arguments[hit->argument_count])) {
		const char *comma = memchr(at + 1, ',', (size_t)(end - at - 1));
		const char *close = memchr(at + 1, ']', (size_t)(end - at - 1));

		hit->argument_count++;
		at = comma && close && comma < close ? comma : NULL;
	}
}

static void read_fields(struct hit *hit, const char *json, size_t length)
{
	static const char *const operations[] = { "op", "cmd" };
	uint64_t value;

	hit->number = -1;
	if (find_number(json, length, hit->name ? "__syscall_nr" : "id", &value))
		hit->number = (int64_t)value;
	if (hit->side == SIDE_EXIT) {
		if (find_number(json, length, "ret", &value))
			hit->result = (int64_t)value;
		return;
	}
	read_arguments(hit, json, length);
	if (hit->argument_count > 1) {
		hit->has_operation = true;
		hit->operation = hit->arguments[1];
	}
	for (size_t i = 0; i < 2 && hit->name && !hit->has_operation; i++)
		hit->has_operation = find_number(json, length, operations[i], &hit->operation);
}

/* ---- names of operations ---------------------------------------------------------------------- */

/* As tracers print it. */
static void name_operation(struct tl_text *out, const char *name, size_t length,
			   const struct hit *enter)
{
	bool is_futex = length == 5 && !memcmp(name, "futex", 5);
	const char *known;

	if (!enter->has_operation || (!is_futex && !(length == 5 && !memcmp(name, "ioctl", 5))))
		return;
	known = tl_call_operation_name(name, length, enter->operation);
	if (known)
		tl_text_puts(out, known);
	else
		tl_text_printf(out, "0x%llx", (unsigned long long)(enter->operation & UINT32_MAX));
}

static bool is_name(const char *name, size_t length, const char *word)
{
	return length == strlen(word) && !memcmp(name, word, length);
}

/* Time-outs that are numbers; others are behind pointers, which were not followed. */
static bool find_timeout(const char *name, size_t length, const struct hit *enter, int64_t *ns)
{
	unsigned at;
	int32_t ms;

	if (is_name(name, length, "epoll_wait") || is_name(name, length, "epoll_pwait"))
		at = 3;
	else if (is_name(name, length, "poll"))
		at = 2;
	else
		return false;
	if (enter->argument_count <= at)
		return false;
	ms = (int32_t)(uint32_t)enter->arguments[at];
	*ns = ms < 0 ? INT64_MAX : (int64_t)ms * MS_NS;
	return true;
}

/* ---- pairs ------------------------------------------------------------------------------------ */

struct event {
	int64_t event_id;
	enum side side;
	char *name; /* of the call, or NULL */
};

struct pairing {
	struct tl_store *store;
	const struct tl_call_pairs_options *opt;
	struct tl_call_pairs_result *result;
	struct tl_arena arena;
	struct event *events;
	size_t event_count, event_capacity;
	struct tl_statement *insert, *insert_block, *insert_zone, *insert_sum, *insert_string,
		*find_string;
	struct tl_interner texts;
	int64_t *text_ids;
	size_t text_id_capacity;
	struct tl_call_blocks blocks;
	struct tl_call_zone zone;
	int64_t next_id; /* syscall.syscall_id */
	struct tl_call_sums sums;
	struct hit enter; /* open call of the thread at hand; side NONE: none */
	bool is_first;	  /* no call of this thread was seen so far */
	int64_t last_ts;
};

static int text_row(struct pairing *p, const char *text, size_t length, int64_t *row_id,
		    struct tl_error *err)
{
	uint32_t interned;
	int ret = tl_intern(&p->texts, text, length, &interned, err);

	if (ret == TL_OK)
		ret = tl_grow(&p->text_ids, &p->text_id_capacity, p->texts.count, err);
	if (ret < 0)
		return ret;
	*row_id = p->text_ids[interned];
	if (*row_id)
		return TL_OK;
	tl_bind_bytes(p->insert_string, 1, text, length);
	ret = tl_statement_run(p->insert_string, err);
	if (ret < 0)
		return ret;
	tl_bind_bytes(p->find_string, 1, text, length);
	ret = tl_statement_step(p->find_string, err);
	if (ret > 0)
		*row_id = p->text_ids[interned] = tl_column_i64(p->find_string, 0);
	tl_statement_reset(p->find_string);
	return ret < 0 ? ret : TL_OK;
}

static int put_block(void *payload, const struct tl_call_block *block, struct tl_error *err)
{
	struct pairing *p = payload;
	int64_t values[12];
	uint64_t nulls = tl_call_block_values(block, p->opt->source_id, values);

	for (int i = 0; i < 12; i++) {
		if (nulls >> i & 1)
			tl_bind_null(p->insert_block, i + 1);
		else
			tl_bind_i64(p->insert_block, i + 1, values[i]);
	}
	tl_bind_bytes(p->insert_block, 13, block->bytes, block->length);
	return tl_statement_run(p->insert_block, err);
}

static void bind_id(struct tl_statement *st, int parameter, int64_t id)
{
	if (id)
		tl_bind_i64(st, parameter, id);
	else
		tl_bind_null(st, parameter);
}

static int note_zone(struct pairing *p, int64_t id, int64_t ts, int64_t duration_ns,
		     struct tl_error *err)
{
	int ret;

	if (duration_ns < 0 || !tl_call_zone_add(&p->zone, id, ts, duration_ns))
		return TL_OK;
	ret = tl_call_zone_put(p->insert_zone, &p->zone, p->opt->source_id, err);
	p->zone = (struct tl_call_zone) { 0 };
	return ret;
}

static int put_row(struct pairing *p, const struct tl_event_syscall *call,
		   const struct tl_call_key *key, const struct hit *enter, struct tl_error *err)
{
	struct tl_statement *st = p->insert;
	char error[24];
	int64_t error_id = 0;
	int ret = TL_OK;

	if (call->error) {
		memcpy(error, call->error, call->error_length);
		ret = text_row(p, error, call->error_length, &error_id, err);
	}
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, p->opt->source_id);
	tl_bind_i64(st, 2, key->thread_id);
	tl_bind_i64(st, 3, enter->ts);
	if (call->duration_ns >= 0)
		tl_bind_i64(st, 4, call->duration_ns);
	else
		tl_bind_null(st, 4);
	tl_bind_i64(st, 5, key->name_id);
	tl_bind_i64(st, 6, call->duration_ns >= 0 ? TL_CALL_MEASURED : TL_CALL_UNTIMED);
	tl_bind_i64(st, 7, (int64_t)call->outcome);
	if (call->has_result)
		tl_bind_i64(st, 8, call->result);
	else
		tl_bind_null(st, 8);
	bind_id(st, 9, error_id);
	bind_id(st, 10, key->operation_id);
	if (call->has_timeout)
		tl_bind_i64(st, 11, call->timeout_ns);
	else
		tl_bind_null(st, 11);
	bind_id(st, 12, enter->stack_id);
	ret = tl_statement_run(st, err);
	return ret < 0 ? ret : note_zone(p, p->next_id++, enter->ts, call->duration_ns, err);
}

static int count_call(struct pairing *p, const struct tl_event_syscall *call,
		      struct tl_call_traits traits, const struct tl_call_key *key,
		      const struct hit *enter, bool *is_notable, struct tl_error *err)
{
	const struct tl_call_entry entry = {
		.ts = enter->ts,
		.duration_ns = call->duration_ns,
		.flags = (uint8_t)((call->error ? TL_CALL_ERROR : 0) |
				   (tl_call_is_timer_end(traits, call) ? TL_CALL_TIMER : 0)),
	};
	int ret = tl_call_blocks_add(&p->blocks, key, true, &entry, is_notable, err);

	p->result->call_count++;
	p->result->unnamed_count += !enter->name && !p->opt->arch;
	if (ret == TL_OK && enter->stack_id)
		ret = tl_call_sums_add(&p->sums, key->thread_id, key->name_id, enter->stack_id,
				       call->duration_ns, 1, err);
	return ret;
}

/* The number's name is the one that programs know; events are called by functions of the kernel. */
static const char *name_of(const struct pairing *p, const struct hit *enter, size_t *length)
{
	const char *name = tl_call_number_name(p->opt->arch, enter->number, length);

	if (!name && enter->name) {
		name = enter->name;
		*length = strlen(name);
	}
	return name;
}

/* `exit` NULL: it did not come back. */
static int put_call(struct pairing *p, const struct hit *enter, const struct hit *exit,
		    enum tl_call_outcome outcome, struct tl_error *err)
{
	struct tl_event_syscall call = { .outcome = outcome, .duration_ns = -1 };
	struct tl_call_key key = { .thread_id = enter->thread_id, .timing = TL_CALL_UNTIMED };
	char number[40], error[24];
	size_t length = 0;
	const char *name;
	struct tl_text operation = { 0 };
	struct tl_call_traits traits;
	bool is_notable = true;
	int ret;

	name = name_of(p, enter, &length);
	if (!name) {
		/* as strace calls it */
		length = (size_t)snprintf(number, sizeof(number), "syscall_0x%llx",
					  (unsigned long long)enter->number);
		name = number;
	}
	name_operation(&operation, name, length, enter);
	ret = operation.failed ? tl_fail(err, TL_NOMEM, "out of memory")
			       : text_row(p, name, length, &key.name_id, err);
	if (ret == TL_OK && operation.length)
		ret = text_row(p, operation.data, operation.length, &key.operation_id, err);
	traits = tl_call_traits(name, length);
	call.operation = operation.length ? operation.data : NULL;
	call.operation_length = operation.length;
	call.has_timeout = find_timeout(name, length, enter, &call.timeout_ns);
	if (exit) {
		call.duration_ns = exit->ts - enter->ts;
		call.has_result = true;
		call.result = exit->result;
		key.timing = TL_CALL_MEASURED;
	}
	if (exit && exit->result < 0 && exit->result >= -ERRNO_MAX) {
		const char *known = tl_call_error_name(-exit->result);

		call.error_length =
			(size_t)snprintf(error, sizeof(error), "%s", known ? known : "");
		if (!known)
			call.error_length = (size_t)snprintf(error, sizeof(error), "errno_%d",
							     (int)-exit->result);
		call.error = error;
		call.result = -1;
		if (tl_call_is_restart(-exit->result))
			call.outcome = TL_CALL_RESTARTED;
	}
	key.is_wait = tl_call_is_wait(traits, &call);
	if (ret == TL_OK && exit)
		ret = count_call(p, &call, traits, &key, enter, &is_notable, err);
	if (ret == TL_OK && (is_notable || !p->opt->aggregate_only))
		ret = put_row(p, &call, &key, enter, err);
	tl_text_release(&operation);
	return ret;
}

static bool is_same_call(const struct hit *enter, const struct hit *exit)
{
	if (enter->name && exit->name)
		return !strcmp(enter->name, exit->name);
	return enter->number == exit->number;
}

/* A thread's last call may go on behind the end of the recording. */
static int end_thread(struct pairing *p, struct tl_error *err)
{
	int ret = TL_OK;

	if (p->enter.side == SIDE_ENTER) {
		size_t length = 0;
		const char *name =
			p->enter.name ? p->enter.name
				      : tl_call_number_name(p->opt->arch, p->enter.number, &length);
		bool is_exit;

		length = p->enter.name ? strlen(p->enter.name) : length;
		is_exit = name &&
			  (is_name(name, length, "exit") || is_name(name, length, "exit_group"));
		ret = put_call(p, &p->enter, NULL, is_exit ? TL_CALL_NO_RETURN : TL_CALL_OPEN, err);
	}
	p->enter.side = SIDE_NONE;
	p->is_first = true;
	return ret;
}

static int on_hit(struct pairing *p, const struct hit *hit, struct tl_error *err)
{
	int ret = TL_OK;

	if (hit->side == SIDE_ENTER) {
		p->result->begin_count += p->enter.side == SIDE_ENTER;
		p->enter = *hit;
	} else if (p->enter.side == SIDE_ENTER && is_same_call(&p->enter, hit)) {
		ret = put_call(p, &p->enter, hit, TL_CALL_RETURNED, err);
		p->enter.side = SIDE_NONE;
	} else {
		/* the first end of a thread is that of a fork, or of a call begun before */
		p->result->end_count += !p->is_first;
		p->result->begin_count += p->enter.side == SIDE_ENTER;
		p->enter.side = SIDE_NONE;
	}
	p->is_first = false;
	return ret;
}

/* ---- samples ---------------------------------------------------------------------------------- */

enum { EVENT_ID, EVENT_NAME, EVENT_SAMPLED };
enum { HIT_TS, HIT_THREAD, HIT_EVENT, HIT_STACK, HIT_FIELDS };

static const struct event *find_event(const struct pairing *p, int64_t event_id)
{
	for (size_t i = 0; i < p->event_count; i++)
		if (p->events[i].event_id == event_id)
			return &p->events[i];
	return NULL;
}

static int add_event(struct pairing *p, struct tl_statement *st, struct tl_error *err)
{
	size_t length;
	const char *text = tl_column_text(st, EVENT_NAME, &length);
	struct event event = { .event_id = tl_column_i64(st, EVENT_ID) };
	char *kept = text ? tl_arena_copy(&p->arena, text, length, err) : NULL;
	const char *name;
	int ret;

	if (text && !kept)
		return TL_NOMEM;
	event.side = kept ? side_of(kept, &name) : SIDE_NONE;
	if (event.side == SIDE_NONE)
		return TL_OK;
	event.name = name ? kept + (name - kept) : NULL;
	if (tl_column_i64(st, EVENT_SAMPLED)) {
		p->result->is_sampled = true;
		return TL_OK;
	}
	ret = tl_grow(&p->events, &p->event_capacity, p->event_count + 1, err);
	if (ret == TL_OK)
		p->events[p->event_count++] = event;
	return ret;
}

/* The raw events tell of every call: the others would tell of the same ones again. */
static void choose_events(struct pairing *p)
{
	unsigned raw = 0, named = 0, wanted = 1u << SIDE_ENTER | 1u << SIDE_EXIT;
	size_t count = 0;

	for (size_t i = 0; i < p->event_count; i++) {
		if (p->events[i].name)
			named |= 1u << p->events[i].side;
		else
			raw |= 1u << p->events[i].side;
	}
	p->result->is_one_sided = p->event_count && raw != wanted && named != wanted;
	for (size_t i = 0; i < p->event_count; i++)
		if (!p->events[i].name == (raw == wanted))
			p->events[count++] = p->events[i];
	p->event_count = p->result->is_one_sided ? 0 : count;
}

static int load_events(struct pairing *p, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, p->store,
				    "SELECT event_id, name, is_sampled FROM event "
				    "WHERE source_id = ? AND sample_count > 0 ORDER BY event_id",
				    "event_id name is_sampled", err);

	if (ret == TL_OK)
		tl_bind_i64(st, 1, p->opt->source_id);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		int status = add_event(p, st, err);

		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	if (ret == TL_OK)
		choose_events(p);
	return ret;
}

static int read_hits(struct pairing *p, struct tl_error *err)
{
	struct tl_statement *st;
	int64_t thread_id = 0;
	int ret = tl_statement_open(&st, p->store,
				    "SELECT a.ts, a.thread_id, a.event_id, a.stack_id, y.fields "
				    "FROM sample a JOIN payload y USING (payload_id) "
				    "WHERE a.event_id IN (SELECT event_id FROM event WHERE "
				    "source_id = ?) AND a.ts NOT NULL AND a.thread_id NOT NULL "
				    "ORDER BY a.thread_id, a.ts, a.sample_id",
				    "ts thread_id event_id stack_id fields", err);

	if (ret == TL_OK)
		tl_bind_i64(st, 1, p->opt->source_id);
	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0) {
		const struct event *event = find_event(p, tl_column_i64(st, HIT_EVENT));
		struct hit hit = { .ts = tl_column_i64(st, HIT_TS),
				   .thread_id = tl_column_i64(st, HIT_THREAD),
				   .stack_id = tl_column_i64(st, HIT_STACK) };
		size_t length;
		const char *fields = tl_column_text(st, HIT_FIELDS, &length);
		int status = TL_OK;

		if (!event || !fields)
			continue;
		hit.side = event->side;
		hit.name = event->name;
		read_fields(&hit, fields, length);
		if (hit.thread_id != thread_id)
			status = end_thread(p, err);
		thread_id = hit.thread_id;
		if (status == TL_OK)
			status = on_hit(p, &hit, err);
		ret = status < 0 ? status : ret;
	}
	tl_statement_close(st);
	return ret < 0 ? ret : end_thread(p, err);
}

static int put_sums(struct pairing *p, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; i < p->sums.count && ret == TL_OK; i++) {
		const struct tl_call_sum *sum = &p->sums.sums[i];

		tl_bind_i64(p->insert_sum, 1, p->opt->source_id);
		tl_bind_i64(p->insert_sum, 2, sum->thread_id);
		tl_bind_i64(p->insert_sum, 3, sum->name_id);
		tl_bind_i64(p->insert_sum, 4, sum->stack);
		tl_bind_i64(p->insert_sum, 5, (int64_t)sum->count);
		tl_bind_i64(p->insert_sum, 6, (int64_t)sum->duration_sum_ns);
		ret = tl_statement_run(p->insert_sum, err);
	}
	return ret;
}

static int open_statements(struct pairing *p, struct tl_error *err)
{
	int ret = tl_statement_open(
		&p->insert, p->store,
		"INSERT INTO syscall(source_id, thread_id, ts, dur, name_id, kind, timing, "
		"outcome, result, error_id, operation_id, timeout_ns, stack_id) "
		"VALUES(?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?)",
		NULL, err);

	if (ret == TL_OK)
		ret = tl_statement_open(&p->insert_block, p->store, TL_CALL_BLOCK_INSERT, NULL,
					err);
	if (ret == TL_OK)
		ret = tl_statement_open(&p->insert_zone, p->store, TL_CALL_ZONE_INSERT, NULL, err);
	if (ret == TL_OK)
		ret = tl_store_value(p->store, "SELECT max(syscall_id) + 1 FROM syscall", 1,
				     &p->next_id, err);
	if (ret == TL_OK)
		ret = tl_statement_open(&p->insert_sum, p->store, TL_CALL_SUM_INSERT, NULL, err);
	if (ret == TL_OK)
		ret = tl_statement_open(&p->insert_string, p->store,
					"INSERT OR IGNORE INTO string(text) VALUES(?)", NULL, err);
	if (ret == TL_OK)
		ret = tl_statement_open(&p->find_string, p->store,
					"SELECT string_id FROM string WHERE text = ?", "string_id",
					err);
	return ret;
}

static void release(struct pairing *p)
{
	tl_statement_close(p->insert);
	tl_statement_close(p->insert_block);
	tl_statement_close(p->insert_zone);
	tl_statement_close(p->insert_sum);
	tl_statement_close(p->insert_string);
	tl_statement_close(p->find_string);
	tl_interner_release(&p->texts);
	tl_call_blocks_release(&p->blocks);
	tl_call_sums_release(&p->sums);
	tl_arena_release(&p->arena);
	free(p->text_ids);
	free(p->events);
}

int tl_call_pairs_derive(struct tl_store *store, const struct tl_call_pairs_options *opt,
			 struct tl_call_pairs_result *result, struct tl_error *err)
{
	struct pairing p = { .store = store, .opt = opt, .result = result, .is_first = true };
	int ret;

	memset(result, 0, sizeof(*result));
	p.blocks.put = put_block;
	p.blocks.payload = &p;
	ret = load_events(&p, err);
	if (ret == TL_OK && p.event_count) {
		ret = open_statements(&p, err);
		if (ret == TL_OK)
			ret = read_hits(&p, err);
		if (ret == TL_OK)
			ret = tl_call_blocks_flush(&p.blocks, err);
		if (ret == TL_OK && p.zone.first_id)
			ret = tl_call_zone_put(p.insert_zone, &p.zone, opt->source_id, err);
		if (ret == TL_OK)
			ret = put_sums(&p, err);
	}
	release(&p);
	return ret;
}
