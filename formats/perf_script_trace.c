/*
 * perf_script_trace.c - the text that perf prints for a tracepoint's fields: as JSON, and what it
 * says of switches and wakeups. Text made by print formats is for people; only what can have one
 * meaning is taken apart, the whole is kept beside it.
 */
#include <string.h>

#include "perf_script.h"
#include "perf_switch_state.h"
#include "reader.h"

#define KEYS_MAX 64 /* of one text */

static bool is_key_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* The next "key=" at a word's begin, from `at`; false if there is none. *value: behind the "=". */
static bool next_key(struct perf_span text, size_t at, struct perf_span *key, size_t *value)
{
	while (at < text.length) {
		size_t begin = at;

		while (at < text.length && is_key_char(text.text[at]))
			at++;
		if (at > begin && at < text.length && text.text[at] == '=' &&
		    (text.text[begin] < '0' || text.text[begin] > '9') &&
		    (begin == 0 || text.text[begin - 1] == ' ')) {
			*key = (struct perf_span) { text.text + begin, at - begin };
			*value = at + 1;
			return true;
		}
		const char *blank = memchr(text.text + at, ' ', text.length - at);
		if (blank == NULL)
			return false;
		at = blank + 1 - text.text;
	}
	return false;
}

static bool ends_with(struct perf_span s, const char *end)
{
	size_t len = strlen(end);

	return s.length >= len && memcmp(s.text + s.length - len, end, len) == 0;
}

/*
 * "12", "-1", "0x1f"; of CPUs also "001". Other leading zeros may be octal: such values stay text.
 */
static bool add_number(struct perf_span key, struct perf_span v, struct tl_text *out)
{
	bool is_hex = v.length > 2 && v.text[0] == '0' && v.text[1] == 'x';
	size_t at = is_hex ? 2 : v.length && v.text[0] == '-';
	uint64_t value;

	if (!is_hex && v.length > at + 1 && v.text[at] == '0' && !ends_with(key, "cpu"))
		return false;
	if (at == v.length ||
	    tl_parse_u64(v.text + at, v.length - at, is_hex ? 16 : 10, &value) != v.length - at ||
	    (at == 1 && value > INT64_MAX))
		return false;
	if (at == 1)
		tl_text_add(out, "-", 1);
	tl_text_u64(out, value);
	return true;
}

/*
 * A value ends where the next key begins, a comma or arrow between left out. With blanks in it only
 * a comm is sure to be whole.
 */
static bool clean_value(struct perf_span key, bool is_last, struct perf_span *v)
{
	while (v->length && v->text[v->length - 1] == ' ')
		v->length--;
	if (ends_with(*v, " ==>"))
		v->length -= 4;
	else if (!is_last && ends_with(*v, ","))
		v->length--;
	return ends_with(key, "comm") || memchr(v->text, ' ', v->length) == NULL;
}

/* Fields that perf prints by name: the number is not known, so it is not the field itself. */
static bool is_named_field(struct perf_span key)
{
	return perf_span_is(key, "prev_state") || perf_span_is(key, "status") ||
	       perf_span_is(key, "gfp_flags");
}

static void add_pair(struct perf_span key, struct perf_span v, struct tl_text *out)
{
	size_t start = out->length;

	tl_text_add(out, ",", 1);
	tl_text_json(out, key.text, key.length);
	tl_text_add(out, ":", 1);
	if (add_number(key, v, out) || out->failed)
		return;
	if (is_named_field(key)) {
		out->length = start;
		tl_text_add(out, ",\"", 2);
		tl_text_add(out, key.text, key.length);
		tl_text_puts(out, "_name\":");
	}
	tl_text_json(out, v.text, v.length);
}

void perf_script_trace_json(struct perf_span text, struct tl_text *out)
{
	struct perf_span keys[KEYS_MAX], key, after;
	size_t count = 0, value, next;
	bool has_next = next_key(text, 0, &key, &value);

	out->length = 0;
	tl_text_puts(out, "{\"text\":");
	tl_text_json(out, text.text, text.length);
	while (has_next && count < KEYS_MAX) {
		bool is_used = perf_span_is(key, "text");

		has_next = next_key(text, value, &after, &next);
		struct perf_span v = { text.text + value,
				       (has_next ? (size_t)(after.text - text.text) : text.length) -
					       value };
		for (size_t i = 0; i < count && !is_used; i++)
			is_used = keys[i].length == key.length &&
				  memcmp(keys[i].text, key.text, key.length) == 0;
		if (!is_used && clean_value(key, !has_next, &v)) {
			keys[count++] = key;
			add_pair(key, v, out);
		}
		key = after;
		value = next;
	}
	tl_text_add(out, "}", 1);
}

/* ---- switches and wakeups ------------------------------------------------------------------ */

/* Behind `word`, which is searched from `at`; SIZE_MAX if it is not there. */
static size_t find_after(struct perf_span text, size_t at, const char *word)
{
	const char *found = at <= text.length
				    ? memmem(text.text + at, text.length - at, word, strlen(word))
				    : NULL;

	return found ? (size_t)(found - text.text) + strlen(word) : SIZE_MAX;
}

/* The last such. */
static size_t find_last_after(struct perf_span text, const char *word)
{
	size_t last = SIZE_MAX;

	for (size_t at = 0; (at = find_after(text, at, word)) != SIZE_MAX;)
		last = at;
	return last;
}

static size_t read_i32(struct perf_span text, size_t at, int32_t *value)
{
	bool is_negative = at < text.length && text.text[at] == '-';
	uint64_t n;

	if (at >= text.length)
		return 0;
	size_t used =
		tl_parse_u64(text.text + at + is_negative, text.length - at - is_negative, 10, &n);
	if (used == 0 || n > INT32_MAX)
		return 0;
	*value = is_negative ? -(int32_t)n : (int32_t)n;
	return at + is_negative + used;
}

static enum tl_switch_state state_at(struct perf_span text, size_t at)
{
	const char *blank = memchr(text.text + at, ' ', text.length - at);

	return perf_switch_state(text.text + at,
				 blank ? (size_t)(blank - text.text) - at : text.length - at);
}

/* "prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_pid=2 next_prio=120" */
static bool switch_of_fields(struct perf_span text, int32_t *prev, enum tl_switch_state *state,
			     int32_t *next)
{
	/* comms may hold anything: the first for prev's, the last for next's numbers */
	size_t pid = find_after(text, 0, " prev_pid="),
	       next_pid = find_last_after(text, " next_pid=");
	size_t letters = pid == SIZE_MAX ? pid : find_after(text, pid, " prev_state=");

	if (letters == SIZE_MAX || next_pid == SIZE_MAX || !read_i32(text, pid, prev) ||
	    !read_i32(text, next_pid, next))
		return false;
	*state = state_at(text, letters);
	return true;
}

/* "a:1 [120] S ==> b:2 [120]": the text of perf's own plugin */
static bool switch_of_plugin(struct perf_span text, int32_t *prev, enum tl_switch_state *state,
			     int32_t *next)
{
	size_t arrow = find_after(text, 0, "] "), bracket, end;
	const char *colon;

	while (arrow != SIZE_MAX) { /* "] S ==> " */
		size_t letters = arrow;

		end = find_after(text, letters, " ==> ");
		if (end == SIZE_MAX)
			return false;
		if (memchr(text.text + letters, ' ', end - 5 - letters) == NULL) {
			bracket = letters - 2;
			while (bracket > 0 && text.text[bracket] != '[')
				bracket--;
			colon = memrchr(text.text, ':', bracket);
			if (colon && read_i32(text, colon + 1 - text.text, prev)) {
				*state = state_at(text, letters);
				break;
			}
		}
		arrow = find_after(text, arrow, "] ");
	}
	if (arrow == SIZE_MAX)
		return false;
	colon = memrchr(text.text + end, ':', text.length - end);
	return colon && read_i32(text, colon + 1 - text.text, next);
}

bool perf_script_switch(struct perf_span text, int32_t *prev, enum tl_switch_state *state,
			int32_t *next)
{
	return switch_of_fields(text, prev, state, next) ||
	       switch_of_plugin(text, prev, state, next);
}

/* "comm=a pid=1 prio=120 target_cpu=001", or the plugin's "a:1 [120] success=1 CPU:001" */
bool perf_script_wakeup(struct perf_span text, int32_t *wakee, int32_t *cpu)
{
	size_t pid = find_last_after(text, " pid="), target = find_last_after(text, " target_cpu=");

	*cpu = -1;
	if (pid != SIZE_MAX && read_i32(text, pid, wakee)) {
		if (target != SIZE_MAX)
			read_i32(text, target, cpu);
		return true;
	}
	size_t bracket = find_last_after(text, " [");
	const char *colon = bracket == SIZE_MAX ? NULL : memrchr(text.text, ':', bracket);
	if (colon == NULL || !read_i32(text, colon + 1 - text.text, wakee))
		return false;
	target = find_last_after(text, " CPU:");
	if (target != SIZE_MAX)
		read_i32(text, target, cpu);
	return true;
}
