/*
 * training_log_pattern.c - a regular expression by which a person tells what a step looks like in
 * a log that nobody else knows. The only file that knows PCRE2.
 */
#include "training_log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "reader.h"

/* What a line may cost: a pattern that needs more backtracking does not fit the log. */
enum { MATCH_LIMIT = 100000, HEAP_LIMIT_KIB = 20480 };

enum part { PART_DETAIL, PART_STEP, PART_TIME, PART_RATE, PART_TS, PART_RANK };

struct named_part {
	enum part part;
	int64_t unit_ns; /* TIME, RATE, TS; 0: not told */
	uint32_t group;
	char name[36]; /* PCRE2 allows 32 */
};

struct training_log_pattern {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
	struct named_part *parts;
	size_t part_count;
};

static int64_t unit_of_suffix(const char *suffix)
{
	static const struct {
		const char *suffix;
		int64_t unit_ns;
	} units[] = {
		{ "_s", 1000000000 }, { "_sec", 1000000000 }, { "_seconds", 1000000000 },
		{ "_ms", 1000000 },   { "_us", 1000 },	      { "_ns", 1 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(suffix, units[i].suffix))
			return units[i].unit_ns;
	return 0;
}

/* "time", "time_ms", ...; an unknown suffix makes it another part. */
static bool is_part(const char *name, const char *part, int64_t *unit_ns)
{
	size_t n = strlen(part);

	if (strncmp(name, part, n) != 0)
		return false;
	*unit_ns = unit_of_suffix(name + n);
	return !name[n] || *unit_ns;
}

static void name_part(struct named_part *p)
{
	if (!strcmp(p->name, "step") || !strcmp(p->name, "iteration"))
		p->part = PART_STEP;
	else if (!strcmp(p->name, "rank"))
		p->part = PART_RANK;
	else if (is_part(p->name, "time", &p->unit_ns) || is_part(p->name, "duration", &p->unit_ns))
		p->part = PART_TIME;
	else if (is_part(p->name, "rate", &p->unit_ns))
		p->part = PART_RATE;
	else if (is_part(p->name, "ts", &p->unit_ns))
		p->part = PART_TS;
}

static int read_names(struct training_log_pattern *p, struct tl_error *err)
{
	uint32_t count = 0, size = 0;
	PCRE2_SPTR table = NULL;

	pcre2_pattern_info(p->code, PCRE2_INFO_NAMECOUNT, &count);
	pcre2_pattern_info(p->code, PCRE2_INFO_NAMEENTRYSIZE, &size);
	pcre2_pattern_info(p->code, PCRE2_INFO_NAMETABLE, &table);
	p->parts = tl_alloc(count ? count : 1, sizeof(*p->parts), err);
	if (!p->parts)
		return TL_NOMEM;
	for (uint32_t i = 0; i < count; i++, table += size) {
		struct named_part *part = &p->parts[p->part_count++];

		part->group = (uint32_t)table[0] << 8 | table[1];
		snprintf(part->name, sizeof(part->name), "%s", (const char *)table + 2);
		name_part(part);
	}
	return TL_OK;
}

static bool has_part(const struct training_log_pattern *p, enum part part)
{
	for (size_t i = 0; i < p->part_count; i++)
		if (p->parts[i].part == part)
			return true;
	return false;
}

static int compile(struct training_log_pattern *p, const char *regex, struct tl_error *err)
{
	PCRE2_SIZE offset = 0;
	int code = 0;

	p->code = pcre2_compile((PCRE2_SPTR)regex, PCRE2_ZERO_TERMINATED, PCRE2_DUPNAMES, &code,
				&offset, NULL);
	if (!p->code) {
		char why[128] = "";

		pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof(why));
		return tl_fail(err, TL_USAGE, "pattern '%s': %s at character %zu", regex, why,
			       (size_t)offset + 1);
	}
	p->data = pcre2_match_data_create_from_pattern(p->code, NULL);
	p->context = pcre2_match_context_create(NULL);
	if (!p->data || !p->context)
		return tl_fail(err, TL_NOMEM, "out of memory");
	pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE); /* only speed; not everywhere to be had */
	pcre2_set_match_limit(p->context, MATCH_LIMIT);
	pcre2_set_heap_limit(p->context, HEAP_LIMIT_KIB);
	return TL_OK;
}

int training_log_pattern_open(struct training_log_pattern **out, const char *regex,
			      struct tl_error *err)
{
	struct training_log_pattern *p = tl_alloc(1, sizeof(*p), err);
	int ret;

	*out = NULL;
	if (!p)
		return TL_NOMEM;
	ret = compile(p, regex, err);
	if (ret == TL_OK)
		ret = read_names(p, err);
	if (ret == TL_OK && !has_part(p, PART_STEP) && !has_part(p, PART_TIME) &&
	    !has_part(p, PART_RATE))
		ret = tl_fail(err, TL_USAGE,
			      "pattern '%s' has neither (?<step>...) nor (?<time>...), "
			      "(?<time_ms>...) or (?<rate>...)",
			      regex);
	if (ret < 0) {
		training_log_pattern_close(p);
		return ret;
	}
	*out = p;
	return TL_OK;
}

void training_log_pattern_close(struct training_log_pattern *p)
{
	if (!p)
		return;
	pcre2_match_context_free(p->context);
	pcre2_match_data_free(p->data);
	pcre2_code_free(p->code);
	free(p->parts);
	free(p);
}

static bool is_number(const char *text, size_t len)
{
	int64_t ignored;

	return len && tl_parse_time(text, len, 1, &ignored) == len;
}

static void add_detail(struct tl_text *detail, const char *name, const char *text, size_t len)
{
	if (detail->length)
		tl_text_puts(detail, ",");
	tl_text_json(detail, name, strlen(name));
	tl_text_puts(detail, ":");
	if (is_number(text, len))
		training_log_number(detail, text, len);
	else
		tl_text_json(detail, text, len);
}

static void take_rate(struct training_log_match *match, const char *text, size_t len, int64_t unit)
{
	int64_t nano;

	if (tl_parse_time(text, len, 1000000000, &nano) != len || nano <= 0)
		return;
	match->duration_ns = llround((double)(unit ? unit : 1000000000) * 1e9 / (double)nano);
	match->has_duration = match->duration_ns > 0;
	match->is_rate = true;
}

/* A number of seconds (or of the unit told) since 1970, or a date and time. */
static void take_ts(struct training_log_time *time, const char *text, size_t len, int64_t unit)
{
	size_t point = 0;

	if (!unit && training_log_time(text, len, time))
		return;
	if (tl_parse_time(text, len, unit ? unit : 1000000000, &time->ns) != len)
		return;
	while (point < len && text[point] != '.')
		point++;
	time->clock = TRAINING_LOG_UNIX;
	time->digits = unit && unit != 1000000000 ? 9 : point < len ? (int)(len - point - 1) : 0;
}

static void take_part(const struct named_part *part, const char *text, size_t len,
		      struct training_log_match *match, struct tl_text *detail)
{
	uint64_t value;

	switch (part->part) {
	case PART_STEP:
		match->has_number |=
			len && tl_parse_u64(text, len, 10, &value) == len && value <= INT64_MAX;
		match->number = match->has_number ? (int64_t)value : 0;
		break;
	case PART_TIME:
		match->has_duration =
			len &&
			tl_parse_time(text, len, part->unit_ns ? part->unit_ns : 1000000000,
				      &match->duration_ns) == len &&
			match->duration_ns >= 0;
		match->is_without_unit = !part->unit_ns;
		break;
	case PART_RATE:
		take_rate(match, text, len, part->unit_ns);
		break;
	case PART_TS:
		take_ts(&match->time, text, len, part->unit_ns);
		break;
	case PART_RANK:
		match->has_rank =
			len && tl_parse_u64(text, len, 10, &value) == len && value <= INT32_MAX;
		match->rank = match->has_rank ? (int32_t)value : -1;
		break;
	case PART_DETAIL:
		add_detail(detail, part->name, text, len);
		break;
	}
}

int training_log_pattern_match(struct training_log_pattern *p, const char *text, size_t len,
			       struct training_log_match *match, struct tl_text *detail,
			       struct tl_error *err)
{
	int count = pcre2_match(p->code, (PCRE2_SPTR)text, len, 0, 0, p->data, p->context);
	const PCRE2_SIZE *spans = pcre2_get_ovector_pointer(p->data);

	memset(match, 0, sizeof(*match));
	match->rank = -1;
	if (count == PCRE2_ERROR_NOMEMORY)
		return tl_fail(err, TL_NOMEM, "out of memory");
	if (count == PCRE2_ERROR_MATCHLIMIT || count == PCRE2_ERROR_HEAPLIMIT ||
	    count == PCRE2_ERROR_JIT_STACKLIMIT)
		return tl_fail(err, TL_USAGE,
			       "the pattern tries too many ways to match a line of %zu bytes; make "
			       "it plainer",
			       len);
	if (count < 0)
		return 0;
	for (size_t i = 0; i < p->part_count; i++) {
		const PCRE2_SIZE *span = spans + 2 * (size_t)p->parts[i].group;

		if (p->parts[i].group < (uint32_t)count && span[0] != PCRE2_UNSET &&
		    span[0] <= span[1] && span[1] <= len)
			take_part(&p->parts[i], text + span[0], span[1] - span[0], match, detail);
	}
	return 1;
}
