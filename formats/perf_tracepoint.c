/*
 * perf_tracepoint.c - the TRACING_DATA blob to one small program per tracepoint. The home of
 * libtraceevent, which classifies the fields of a format.
 *
 * libtraceevent 1.7 trusts its input: malformed text makes it free twice or follow NULL. So it is
 * given only what perf_format_text.c has checked and written anew, without the print fmt, which
 * perf_print_format.c reads. Must not know records, samples or hits.
 */
#include "perf_tracepoint_private.h"

#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* an enumerator beyond int */
#include <event-parse.h>
#pragma GCC diagnostic pop

#include "perf_format_text.h"
#include "reader.h"

#define FORMAT_TEXT_MAX (64u << 10) /* of one format; the kernel's largest has 6 KiB */
#define NAME_LENGTH_MAX 128u

/* ---- fields to a program ------------------------------------------------------------------- */

static bool is_text_type(const char *type)
{
	return strstr(type, "char") != NULL && strstr(type, "unsigned char") == NULL &&
	       strstr(type, "signed char") == NULL && strstr(type, "uchar") == NULL;
}

/* Of "__data_loc TYPE[]": libtraceevent knows only some. 0: no integers. */
static uint32_t element_size(const char *type, unsigned long_size)
{
	static const struct {
		const char *word;
		uint32_t size;
	} known[] = { { "long long", 8 }, { "64", 8 },	{ "32", 4 },	{ "16", 2 },
		      { "short", 2 },	  { "int", 4 }, { "pid_t", 4 }, { "unsigned", 4 } };

	if (strstr(type, "struct") || strstr(type, "union") || strstr(type, "char") ||
	    strstr(type, "8"))
		return 0;
	if (strstr(type, "cpumask") || (strstr(type, "long") && !strstr(type, "long long")))
		return long_size;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strstr(type, known[i].word))
			return known[i].size;
	return 0;
}

static bool is_integer_size(uint64_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

static void classify_dynamic(const struct tep_format_field *from, unsigned long_size,
			     struct perf_field *f)
{
	if (from->size != 4 && from->size != 2) {
		f->kind = PERF_FIELD_BYTES;
		return;
	}
	f->is_dynamic = true;
	f->is_relative = from->flags & TEP_FIELD_IS_RELATIVE;
	f->element_size = element_size(from->type, long_size);
	f->kind = from->size == 2 || is_text_type(from->type) ? PERF_FIELD_TEXT
		  : f->element_size			      ? PERF_FIELD_ARRAY
							      : PERF_FIELD_BYTES;
}

static void classify_array(const struct tep_format_field *from, struct perf_field *f)
{
	if (from->size == 0)
		f->kind = is_text_type(from->type) ? PERF_FIELD_REST_TEXT : PERF_FIELD_REST_BYTES;
	else if (is_text_type(from->type))
		f->kind = PERF_FIELD_TEXT;
	else if (from->arraylen && is_integer_size((unsigned)from->size / from->arraylen) &&
		 (unsigned)from->size % from->arraylen == 0 && !strstr(from->type, "struct"))
		f->kind = PERF_FIELD_ARRAY;
	else
		f->kind = PERF_FIELD_BYTES;
	f->element_size = from->arraylen ? (unsigned)from->size / from->arraylen : 0;
}

static void classify(const struct tep_format_field *from, unsigned long_size, struct perf_field *f)
{
	bool is_struct =
		!(from->flags & TEP_FIELD_IS_POINTER) &&
		(strncmp(from->type, "struct", 6) == 0 || strncmp(from->type, "union", 5) == 0);

	f->offset = from->offset;
	f->size = from->size;
	f->is_signed = from->flags & TEP_FIELD_IS_SIGNED;
	if (from->flags & TEP_FIELD_IS_DYNAMIC)
		classify_dynamic(from, long_size, f);
	else if (from->flags & TEP_FIELD_IS_ARRAY)
		classify_array(from, f);
	else
		f->kind = !is_struct && is_integer_size(f->size) ? PERF_FIELD_INTEGER
								 : PERF_FIELD_BYTES;
}

static char *json_key(const char *before, const char *name, struct tl_error *err)
{
	struct tl_text text = { 0 };
	char *key;

	tl_text_puts(&text, before);
	tl_text_json(&text, name, strlen(name));
	tl_text_add(&text, ":", 1);
	key = text.failed ? NULL : tl_strdup_n(text.data, text.length, err);
	tl_text_release(&text);
	if (key == NULL)
		tl_fail(err, TL_NOMEM, "out of memory");
	return key;
}

static bool has_key(const struct perf_program *p, const char *key)
{
	for (size_t i = 0; i < p->field_count; i++)
		if (p->fields[i].key && strcmp(p->fields[i].key, key) == 0)
			return true;
	for (size_t i = 0; i < p->shown_count; i++)
		if (strcmp(p->shown[i].key + 1, key) == 0)
			return true;
	return false;
}

/* "NAME_name", or "NAME_name_2" ... if the format has a field of that name. */
static char *shown_key(const struct perf_program *p, const char *name, struct tl_error *err)
{
	char text[NAME_LENGTH_MAX + 32];

	for (unsigned n = 1;; n++) {
		snprintf(text, sizeof(text), n == 1 ? "%s_name" : "%s_name_%u", name, n);
		char *key = json_key(",", text, err);
		if (key == NULL || !has_key(p, key + 1))
			return key;
		free(key);
	}
}

/* Which fields the print fmt gives names to; they are stored by field, in the order shown. */
static int read_print_format(struct perf_program *p, const struct perf_print_field *names,
			     struct perf_text text, unsigned long_size, struct tl_error *err)
{
	int ret = perf_print_format_parse(&p->print_format, text.at, text.end - text.at, names,
					  p->field_count, long_size, err);
	if (ret < 0)
		return ret;
	size_t count = perf_print_format_count(p->print_format);
	p->shown = tl_alloc(count ? count : 1, sizeof(*p->shown), err);
	if (p->shown == NULL)
		return TL_NOMEM;
	for (size_t i = 0; i < p->field_count; i++) {
		struct perf_field *f = &p->fields[i];

		f->shown_first = p->shown_count;
		for (size_t k = 0; k < count; k++) {
			if (perf_print_format_field(p->print_format, k) != i)
				continue;
			char *key = shown_key(p, names[i].name, err);
			if (key == NULL)
				return TL_NOMEM;
			p->shown[p->shown_count++] = (struct perf_shown) { .index = k, .key = key };
			f->shown_count++;
		}
	}
	return TL_OK;
}

static void note_common(struct perf_one_tracepoint *t, const struct tep_format_field *from)
{
	uint32_t end = from->offset + from->size;

	if (end > t->program.header_size)
		t->program.header_size = end;
	if (strcmp(from->name, "common_pid") == 0 && from->size == 4)
		t->common = (struct perf_field) { .offset = from->offset, .size = 4 };
}

static int make_fields(struct perf_one_tracepoint *t, const struct tep_event *event,
		       unsigned long_size, struct perf_print_field *names, struct tl_error *err)
{
	struct perf_program *p = &t->program;
	struct perf_field *f = p->fields;

	for (const struct tep_format_field *c = event->format.common_fields; c; c = c->next)
		note_common(t, c);
	p->minimum_size = p->header_size;
	for (const struct tep_format_field *from = event->format.fields; from; from = from->next) {
		classify(from, long_size, f);
		if (f->offset + f->size > p->minimum_size)
			p->minimum_size = f->offset + f->size;
		f->key = json_key("", from->name, err);
		if (f->key == NULL)
			return TL_NOMEM;
		names->name = from->name;
		names->is_integer = f->kind == PERF_FIELD_INTEGER;
		names++;
		f++;
		p->field_count++;
	}
	return TL_OK;
}

static int make_program(struct perf_tracepoints *tp, struct perf_one_tracepoint *t,
			const struct tep_event *event, struct perf_text print_format,
			struct tl_error *err)
{
	struct perf_program *p = &t->program;
	size_t count = event->format.nr_fields > 0 ? event->format.nr_fields : 0;
	struct perf_print_field *names = tl_alloc(count + 1, sizeof(*names), err);
	int ret = TL_NOMEM;

	p->is_big_endian = tp->is_big_endian;
	p->fields = tl_alloc(count + 1, sizeof(*p->fields), err);
	if (names == NULL || p->fields == NULL)
		goto out;
	ret = make_fields(t, event, tp->long_size, names, err);
	if (ret < 0)
		goto out;
	ret = read_print_format(p, names, print_format, tp->long_size, err);
out:
	free(names);
	return ret;
}

static const struct perf_field *find_integer(const struct perf_program *p, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < p->field_count; i++) {
		const struct perf_field *f = &p->fields[i];

		if (f->kind == PERF_FIELD_INTEGER && strlen(f->key) == len + 3 &&
		    memcmp(f->key + 1, name, len) == 0)
			return f;
	}
	return NULL;
}

/* A text of fixed place and size. */
static const struct perf_field *find_name(const struct perf_program *p, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < p->field_count; i++) {
		const struct perf_field *f = &p->fields[i];

		if (f->kind == PERF_FIELD_TEXT && !f->is_dynamic && f->size &&
		    strlen(f->key) == len + 3 && memcmp(f->key + 1, name, len) == 0)
			return f;
	}
	return NULL;
}

static int find_scheduler_fields(struct perf_one_tracepoint *t, struct tl_error *err)
{
	const struct perf_program *p = &t->program;

	if (strcmp(t->name, "sched:sched_switch") == 0) {
		t->prev_pid = find_integer(p, "prev_pid");
		t->next_pid = find_integer(p, "next_pid");
		t->prev_state = find_integer(p, "prev_state");
		t->prev_comm = find_name(p, "prev_comm");
		t->next_comm = find_name(p, "next_comm");
		if (t->prev_pid == NULL || t->next_pid == NULL)
			return TL_OK;
		t->memo = tl_alloc(PERF_STATE_MEMO, sizeof(*t->memo), err);
		if (t->memo == NULL)
			return TL_NOMEM;
		t->what = PERF_TRACEPOINT_SWITCH;
	}
	bool is_waking = strcmp(t->name, "sched:sched_waking") == 0;
	if (is_waking || strcmp(t->name, "sched:sched_wakeup") == 0 ||
	    strcmp(t->name, "sched:sched_wakeup_new") == 0) {
		t->pid = find_integer(p, "pid");
		t->target_cpu = find_integer(p, "target_cpu");
		t->success = find_integer(p, "success");
		t->comm = find_name(p, "comm");
		if (t->pid)
			t->what = is_waking ? PERF_TRACEPOINT_WAKING : PERF_TRACEPOINT_WAKEUP;
	}
	return TL_OK;
}

static void release_tracepoint(struct perf_one_tracepoint *t)
{
	free(t->name);
	free(t->memo);
	perf_program_release(&t->program);
	memset(t, 0, sizeof(*t));
}

static char *join_name(struct perf_text system, struct perf_text name, struct tl_error *err)
{
	struct tl_text text = { 0 };
	char *joined;

	tl_text_add(&text, system.at, system.end - system.at);
	tl_text_add(&text, ":", 1);
	tl_text_add(&text, name.at, name.end - name.at);
	joined = text.failed ? NULL : tl_strdup_n(text.data, text.length, err);
	tl_text_release(&text);
	if (joined == NULL)
		tl_fail(err, TL_NOMEM, "out of memory");
	return joined;
}

static int add_tracepoint(struct perf_tracepoints *tp, struct perf_text system,
			  const struct perf_format_text *format, const struct tep_event *event,
			  struct tl_error *err)
{
	struct perf_one_tracepoint *t;
	int ret = tl_grow(&tp->list, &tp->capacity, tp->count + 1, err);

	if (ret < 0)
		return ret;
	t = &tp->list[tp->count];
	memset(t, 0, sizeof(*t));
	t->name = join_name(system, format->name, err);
	ret = t->name ? make_program(tp, t, event, format->print_format, err) : TL_NOMEM;
	if (ret == TL_OK)
		ret = find_scheduler_fields(t, err);
	if (ret < 0) {
		release_tracepoint(t);
		return ret;
	}
	tp->by_id[format->id] = ++tp->count;
	return TL_OK;
}

static void note_damage(struct perf_tracepoints *tp, uint64_t position, const char *what)
{
	if (tp->damage[0])
		return;
	snprintf(tp->damage, sizeof(tp->damage), "%s", what);
	tp->damage_position = position;
}

static void note_bad_format(struct perf_tracepoints *tp, uint64_t position, struct perf_text system,
			    const struct perf_format_text *format, const char *why)
{
	char name[160], text[256];
	char *joined = NULL;

	tp->bad_formats++;
	if (format->name.at)
		joined = join_name(system, format->name, NULL);
	if (joined)
		tl_printable(name, sizeof(name), joined, strlen(joined));
	snprintf(text, sizeof(text), "format of %s: %s", joined ? name : "a tracepoint", why);
	free(joined);
	note_damage(tp, position, text);
}

/* One format; what cannot be read is noted and left out. */
static int read_format(struct perf_tracepoints *tp, struct perf_text system, struct perf_text text,
		       uint64_t position, struct tl_error *err)
{
	struct perf_format_text format = { { NULL, NULL }, { NULL, NULL }, 0, { 0 } };
	struct tep_handle *tep = NULL;
	struct tep_event *event = NULL;
	const char *why = text.end - text.at > FORMAT_TEXT_MAX ? "longer than 64 KiB"
							       : perf_format_rewrite(text, &format);
	int ret = TL_OK;

	if (why == NULL && tp->by_id[format.id])
		why = "its id is in use";
	if (why == NULL) {
		tep = tep_alloc();
		if (tep == NULL || format.rewritten.failed) {
			ret = tl_fail(err, TL_NOMEM, "out of memory");
			goto out;
		}
		tep_set_long_size(tep, tp->long_size);
		tep_set_file_bigendian(tep, tp->is_big_endian ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
		if (tep_parse_format(tep, &event, format.rewritten.data, format.rewritten.length,
				     "x") != 0 ||
		    event == NULL || event->flags & TEP_EVENT_FL_FAILED)
			why = "libtraceevent cannot read it";
		else
			ret = add_tracepoint(tp, system, &format, event, err);
	}
	if (why)
		note_bad_format(tp, position, system, &format, why);
out:
	tep_free(tep);
	tl_text_release(&format.rewritten);
	return ret;
}

/* ---- the blob ------------------------------------------------------------------------------ */

static struct perf_text get_string(struct tl_cursor *c)
{
	const char *start = (const char *)c->data + c->position;
	size_t len = 0;

	while (tl_get_u8(c) != 0)
		len++;
	return (struct perf_text) { start, start + (c->failed ? 0 : len) };
}

static struct perf_text get_text(struct tl_cursor *c, uint64_t len)
{
	const char *at = (const char *)tl_get_array(c, len, 1);

	return at ? (struct perf_text) { at, at + len } : (struct perf_text) { NULL, NULL };
}

static bool get_word(struct tl_cursor *c, const char *word)
{
	const uint8_t *at = tl_get_bytes(c, strlen(word) + 1);

	return at && memcmp(at, word, strlen(word) + 1) == 0;
}

static int read_formats(struct perf_tracepoints *tp, struct tl_cursor *c, struct perf_text system,
			struct tl_error *err)
{
	uint32_t count = tl_get_u32(c);

	for (uint32_t i = 0; i < count && !c->failed; i++) {
		uint64_t position = c->base + c->position;
		struct perf_text text = get_text(c, tl_get_u64(c));

		if (c->failed)
			break;
		int ret = read_format(tp, system, text, position, err);
		if (ret < 0)
			return ret;
	}
	return TL_OK;
}

/* Everything behind the magic. What follows the formats is of no use here, but must be there. */
static int read_blob(struct perf_tracepoints *tp, struct tl_cursor *c, struct tl_error *err)
{
	static const char ftrace[] = "ftrace";
	struct perf_text version = get_string(c);

	tp->is_big_endian = tl_get_u8(c) != 0;
	tp->long_size = tl_get_u8(c) == 4 ? 4 : 8;
	c->is_big_endian = tp->is_big_endian;
	tl_get_u32(c); /* page size */
	bool is_known = get_word(c, "header_page");
	tl_skip(c, tl_get_u64(c));
	is_known = is_known && get_word(c, "header_event");
	tl_skip(c, tl_get_u64(c));
	if (!c->failed && !is_known) {
		note_damage(tp, c->base, "tracing data without header_page and header_event");
		return TL_OK;
	}
	int ret = read_formats(tp, c, (struct perf_text) { ftrace, ftrace + 6 }, err);
	uint32_t systems = ret < 0 ? 0 : tl_get_u32(c);
	for (uint32_t i = 0; i < systems && ret == TL_OK && !c->failed; i++) {
		struct perf_text system = get_string(c);

		ret = read_formats(tp, c, system, err);
	}
	if (ret < 0)
		return ret;
	tl_skip(c, tl_get_u32(c)); /* kallsyms */
	tl_skip(c, tl_get_u32(c)); /* printk formats */
	if (version.end - version.at == 3 && memcmp(version.at, "0.6", 3) == 0)
		tl_skip(c, tl_get_u64(c)); /* names of threads */
	return TL_OK;
}

static void conclude_damage(struct perf_tracepoints *tp, const struct tl_cursor *c)
{
	char text[sizeof(tp->damage)];

	if (c->failed) { /* worse than a format */
		tp->damage[0] = '\0';
		snprintf(text, sizeof(text),
			 "tracing data ends after %zu bytes, %zu more were expected; %zu formats "
			 "kept",
			 c->size, c->failed_want - (c->size - c->failed_at), tp->count);
		note_damage(tp, c->base + c->failed_at, text);
	} else if (tp->bad_formats > 1) {
		snprintf(text, sizeof(text), "%.200s; %llu like it", tp->damage,
			 (unsigned long long)tp->bad_formats - 1);
		memcpy(tp->damage, text, sizeof(text));
	}
}

int perf_tracepoints_open(struct perf_tracepoints **out, const uint8_t *tracing_data, size_t len,
			  struct tl_error *err)
{
	static const uint8_t magic[] = { 0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g' };
	struct tl_cursor c;
	int ret;

	*out = NULL;
	tl_cursor_init(&c, tracing_data, len, 0, false);
	if (len && (len < sizeof(magic) || memcmp(tracing_data, magic, sizeof(magic)) != 0))
		return tl_fail(err, TL_FORMAT, "tracing data does not begin with its magic");
	struct perf_tracepoints *tp = tl_alloc(1, sizeof(*tp), err);
	if (tp == NULL)
		return TL_NOMEM;
	tp->by_id = tl_alloc(PERF_EVENT_ID_MAX + 1, sizeof(*tp->by_id), err);
	ret = tp->by_id ? TL_OK : TL_NOMEM;
	tep_set_loglevel(TEP_LOG_NONE);
	if (ret == TL_OK && len) {
		tl_skip(&c, sizeof(magic));
		ret = read_blob(tp, &c, err);
		conclude_damage(tp, &c);
	}
	if (ret < 0) {
		perf_tracepoints_close(tp);
		return ret;
	}
	*out = tp;
	return TL_OK;
}

void perf_tracepoints_close(struct perf_tracepoints *tp)
{
	if (tp == NULL)
		return;
	for (size_t i = 0; i < tp->count; i++)
		release_tracepoint(&tp->list[i]);
	free(tp->list);
	free(tp->by_id);
	perf_dictionary_release(&tp->dictionary);
	tl_text_release(&tp->json);
	tl_text_release(&tp->scratch);
	free(tp);
}

const char *perf_tracepoints_damage(const struct perf_tracepoints *tp, uint64_t *position)
{
	if (tp == NULL || tp->damage[0] == '\0')
		return NULL;
	if (position)
		*position = tp->damage_position;
	return tp->damage;
}
