/*
 * perf_script_header.c - the "# ..." lines of `perf script --header`: facts about the machine and
 * the recording, what is known of each event, and how its clock relates to Unix time.
 */
#include <stdlib.h>
#include <string.h>

#include "perf_script.h"
#include "reader.h"

#define EVENTS_MAX 4096

static struct perf_span trim(struct perf_span s)
{
	while (s.length && (*s.text == ' ' || *s.text == '\t')) {
		s.text++;
		s.length--;
	}
	while (s.length && (s.text[s.length - 1] == ' ' || s.text[s.length - 1] == '\t'))
		s.length--;
	return s;
}

/* What follows `word` in `s`; text NULL if it is not there. */
static struct perf_span after(struct perf_span s, const char *word)
{
	const char *found = s.length ? memmem(s.text, s.length, word, strlen(word)) : NULL;

	if (found == NULL)
		return (struct perf_span) { NULL, 0 };
	found += strlen(word);
	return (struct perf_span) { found, s.text + s.length - found };
}

static uint64_t number_after(struct perf_span s, const char *word)
{
	struct perf_span v = after(s, word);
	uint64_t value = 0;
	bool is_hex = v.length > 2 && v.text[0] == '0' && v.text[1] == 'x';

	if (v.text)
		tl_parse_u64(v.text + 2 * is_hex, v.length - 2 * is_hex, is_hex ? 16 : 10, &value);
	return value;
}

/* "name = sched:sched_switch, , id = { 14, 15 }, type = 2, size = 128, config = 0x174, ..." */
static int take_event(struct perf_script_header *h, struct perf_span value, struct tl_error *err)
{
	struct perf_span name = after(value, "name = "), rest;
	struct perf_script_event *e;

	if (name.text == NULL || h->event_count >= EVENTS_MAX)
		return TL_OK;
	rest = after(name, ", , id = ");
	if (rest.text)
		name.length = rest.text - name.text - strlen(", , id = ");
	else if ((rest = after(name, ", id = ")).text || (rest = after(name, ", type = ")).text)
		name.length = (const char *)memmem(name.text, name.length, ", ", 2) - name.text;
	else
		return TL_OK;
	int ret = tl_grow(&h->events, &h->event_capacity, h->event_count + 1, err);
	if (ret < 0)
		return ret;
	e = &h->events[h->event_count];
	memset(e, 0, sizeof(*e));
	e->name = tl_strdup_n(name.text, name.length, err);
	if (e->name == NULL)
		return TL_NOMEM;
	h->event_count++;
	struct perf_span all = { name.text + name.length,
				 value.text + value.length - name.text - name.length };
	e->type = (uint32_t)number_after(all, " type = ");
	e->config = number_after(all, ", config = ");
	uint64_t rate = number_after(all, "{ sample_period, sample_freq } = ");
	*(number_after(all, ", freq = ") ? &e->freq : &e->period) = rate;
	return TL_OK;
}

/* "... = 1796044674.115486 (TOD) = 88.716916586 (monotonic)" */
static void take_reference(struct perf_script_header *h, struct perf_span value)
{
	struct perf_span unix_time = after(value, " = "), own = after(unix_time, " (TOD) = ");
	struct perf_span name = after(own, " (");
	int64_t a, b;

	if (name.text == NULL || !tl_parse_time(unix_time.text, unix_time.length, 1000000000, &a) ||
	    !tl_parse_time(own.text, own.length, 1000000000, &b) ||
	    __builtin_sub_overflow(a, b, &h->offset_ns))
		return;
	h->has_reference = true;
	h->reference_ns = b;
	if (name.length && name.text[name.length - 1] == ')')
		name.length--;
	if (name.length < sizeof(h->clock_name)) {
		memcpy(h->clock_name, name.text, name.length);
		h->clock_name[name.length] = '\0';
	}
}

static void keep_seconds(struct perf_span value, struct tl_text *scratch)
{
	int64_t ns;

	if (tl_parse_time(value.text, value.length, 1000000000, &ns))
		tl_text_i64(scratch, ns);
}

/* Our key of a header line's; what has none is of no use to anybody who has only the text. */
static const char *key_of(struct perf_span key)
{
	static const struct {
		const char *text, *key;
	} keys[] = { { "captured on", "captured_on" },
		     { "hostname", "hostname" },
		     { "os release", "os_release" },
		     { "perf version", "recorder_version" },
		     { "arch", "arch" },
		     { "nrcpus online", "cpus_online" },
		     { "nrcpus avail", "cpus_available" },
		     { "cpudesc", "cpu_desc" },
		     { "cpuid", "cpuid" },
		     { "total memory", "memory_kib" },
		     { "cmdline", "cmdline" },
		     { "time of first sample", "first_ts" },
		     { "time of last sample", "last_ts" } };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (perf_span_is(key, keys[i].text))
			return keys[i].key;
	return NULL;
}

int perf_script_header_line(struct perf_script_header *h, const char *text, size_t len,
			    struct tl_text *scratch, struct tl_event_meta *meta, bool *has_meta,
			    struct tl_error *err)
{
	struct perf_span line = trim((struct perf_span) { text + 1, len - 1 });
	const char *colon = line.length ? memchr(line.text, ':', line.length) : NULL;

	*has_meta = false;
	if (colon == NULL)
		return TL_OK;
	struct perf_span key = trim((struct perf_span) { line.text, colon - line.text });
	struct perf_span value =
		trim((struct perf_span) { colon + 1, line.text + line.length - colon - 1 });
	if (perf_span_is(key, "event"))
		return take_event(h, value, err);
	if (perf_span_is(key, "reference time")) {
		take_reference(h, value);
		return TL_OK;
	}
	meta->key = key_of(key);
	if (meta->key == NULL)
		return TL_OK;
	h->was_seen = true;
	scratch->length = 0;
	if (strcmp(meta->key, "memory_kib") == 0 && value.length > 3 &&
	    memcmp(value.text + value.length - 3, " kB", 3) == 0)
		value.length -= 3;
	if (strcmp(meta->key, "first_ts") == 0 || strcmp(meta->key, "last_ts") == 0)
		keep_seconds(value, scratch);
	else
		tl_text_add(scratch, value.text, value.length);
	if (scratch->failed)
		return tl_fail(err, TL_NOMEM, "out of memory");
	*has_meta = scratch->length > 0;
	meta->value = scratch->data;
	return TL_OK;
}

const struct perf_script_event *perf_script_header_find(const struct perf_script_header *h,
							struct perf_span name)
{
	for (size_t i = 0; i < h->event_count; i++)
		if (perf_span_is(name, h->events[i].name))
			return &h->events[i];
	return NULL;
}

void perf_script_header_release(struct perf_script_header *h)
{
	for (size_t i = 0; i < h->event_count; i++)
		free(h->events[i].name);
	free(h->events);
	memset(h, 0, sizeof(*h));
}
