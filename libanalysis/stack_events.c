/*
 * stack_events.c - which events of a case are folded, and in what their weights are counted.
 */
#include "stacks.h"

#include <stdlib.h>
#include <string.h>

enum {
	EVENT_ID,
	EVENT_SOURCE,
	EVENT_NAME,
	EVENT_UNIT,
	EVENT_TRACEPOINT,
	EVENT_HIDDEN,
	EVENT_SAMPLED,
	EVENT_CALLCHAIN,
	EVENT_FIRST,
	EVENT_SAMPLES,
	EVENT_OFFSET
};

static char *copy_text(struct tl_fold *fold, struct tl_statement *st, int column,
		       struct tl_error *err)
{
	size_t len;
	const char *text = tl_column_text(st, column, &len);

	return tl_arena_copy(&fold->arena, text ? text : "", text ? len : 0, err);
}

static int read_event(struct tl_fold *fold, struct tl_statement *st, struct tl_error *err)
{
	struct tl_fold_event *event;
	int ret = tl_grow(&fold->events, &fold->event_capacity, fold->event_count + 1, err);

	if (ret < 0)
		return ret;
	event = &fold->events[fold->event_count];
	event->event_id = tl_column_i64(st, EVENT_ID);
	event->source_id = tl_column_i64(st, EVENT_SOURCE);
	event->name = copy_text(fold, st, EVENT_NAME, err);
	if (!tl_column_is_null(st, EVENT_UNIT))
		event->unit = copy_text(fold, st, EVENT_UNIT, err);
	event->is_tracepoint = tl_column_i64(st, EVENT_TRACEPOINT);
	event->is_hidden = tl_column_i64(st, EVENT_HIDDEN);
	event->is_sampled = tl_column_i64(st, EVENT_SAMPLED);
	event->has_callchain = tl_column_i64(st, EVENT_CALLCHAIN);
	event->has_first_ts = !tl_column_is_null(st, EVENT_FIRST);
	event->first_ts = tl_column_i64(st, EVENT_FIRST);
	event->sample_count = (uint64_t)tl_column_i64(st, EVENT_SAMPLES);
	event->clock_offset_ns = tl_column_i64(st, EVENT_OFFSET);
	fold->event_count++;
	return event->name && (event->unit || tl_column_is_null(st, EVENT_UNIT)) ? 1 : TL_NOMEM;
}

static int load_events(struct tl_fold *fold, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, fold->store,
		"SELECT e.event_id, e.source_id, e.name, e.unit, e.is_tracepoint, e.is_hidden, "
		"e.is_sampled, e.has_callchain, e.first_ts, e.sample_count, s.clock_offset_ns "
		"FROM event e JOIN source s USING (source_id) ORDER BY e.source_id, e.position",
		"event_id source_id name unit is_tracepoint is_hidden is_sampled has_callchain "
		"first_ts sample_count clock_offset_ns",
		err);

	while (ret >= 0 && (ret = tl_statement_step(st, err)) > 0)
		ret = read_event(fold, st, err);
	tl_statement_close(st);
	for (size_t i = 0; i < fold->event_count; i++)
		for (size_t k = 0; k < fold->event_count; k++) {
			const struct tl_fold_event *other = &fold->events[k];

			if (other->source_id == fold->events[i].source_id &&
			    strlen(other->name) > fold->events[i].width)
				fold->events[i].width = strlen(other->name);
		}
	return ret;
}

static bool is_visible(const struct tl_fold_event *event)
{
	return !event->is_hidden && event->sample_count;
}

/* Samples without time come last, in the order of the recording. */
static bool is_earlier(const struct tl_fold_event *a, const struct tl_fold_event *b)
{
	if (!b || !a->has_first_ts || !b->has_first_ts)
		return !b || (a->has_first_ts && !b->has_first_ts);
	return a->first_ts < b->first_ts;
}

/* "cycles" for "cycles:u", "cpu-clock" for "cpu-clock/freq=99/", "sched_switch" for "sched:sched_switch" */
static bool is_short_for(const char *wanted, const char *name)
{
	size_t len = strlen(wanted), name_len = strlen(name);

	if (!len || name_len <= len)
		return false;
	if (!strncmp(name, wanted, len) && (name[len] == ':' || name[len] == '/'))
		return true;
	return !strcmp(name + name_len - len, wanted) && name[name_len - len - 1] == ':';
}

static int fail_no_event(const struct tl_fold *fold, const char *wanted, struct tl_error *err)
{
	struct tl_text names = { 0 };

	for (size_t i = 0; i < fold->event_count; i++) {
		if (!is_visible(&fold->events[i]))
			continue;
		if (names.length > 300) {
			tl_text_puts(&names, ", ...");
			break;
		}
		tl_text_printf(&names, "%s%s", names.length ? ", " : "", fold->events[i].name);
	}
	if (!names.length)
		tl_fail(err, TL_NOTHING, "the case holds no samples");
	else
		tl_fail(err, TL_NOTHING, "no samples of an event '%s'; there are: %s", wanted,
			names.data ? names.data : "");
	tl_text_release(&names);
	return TL_NOTHING;
}

/* The event whose name is `wanted`, or is meant by it; NULL: none, or more than one. */
static const struct tl_fold_event *find_named(const struct tl_fold *fold, const char *wanted)
{
	const struct tl_fold_event *found = NULL;

	for (size_t i = 0; i < fold->event_count; i++)
		if (is_visible(&fold->events[i]) && !strcmp(fold->events[i].name, wanted))
			return &fold->events[i];
	for (size_t i = 0; i < fold->event_count; i++) {
		const struct tl_fold_event *event = &fold->events[i];

		if (!is_visible(event) || !is_short_for(wanted, event->name))
			continue;
		if (found && strcmp(found->name, event->name) != 0)
			return NULL;
		found = event;
	}
	return found;
}

static const struct tl_fold_event *find_first(const struct tl_fold *fold)
{
	const struct tl_fold_event *first = NULL;

	for (size_t i = 0; i < fold->event_count; i++)
		if (is_visible(&fold->events[i]) && is_earlier(&fold->events[i], first))
			first = &fold->events[i];
	return first;
}

static int choose_native(struct tl_fold *fold, const struct tl_fold_event **chosen,
			 struct tl_error *err)
{
	const char *wanted = fold->opt->event;

	*chosen = wanted ? find_named(fold, wanted) : find_first(fold);
	if (!*chosen)
		return fail_no_event(fold, wanted ? wanted : "", err);
	for (size_t i = 0; i < fold->event_count; i++) {
		struct tl_fold_event *event = &fold->events[i];

		event->is_chosen = is_visible(event) && !strcmp(event->name, (*chosen)->name);
		event->is_read = event->is_chosen;
	}
	return TL_OK;
}

/* A sample of the event with nothing odd about it. */
static struct tl_folded_sample plain_sample(const struct tl_fold_event *event)
{
	return (struct tl_folded_sample) { .comm = "comm",
					   .comm_length = 4,
					   .pid = 1,
					   .tid = 1,
					   .cpu = -1,
					   .period = 1,
					   .event = event->name,
					   .event_width = event->width,
					   .has_callchain = event->has_callchain,
					   .has_trace = event->is_tracepoint };
}

static int by_first(const void *left, const void *right)
{
	const struct tl_fold_event *a = left, *b = right;

	if (is_earlier(a, b) != is_earlier(b, a))
		return is_earlier(a, b) ? -1 : 1;
	return a->event_id < b->event_id ? -1 : a->event_id > b->event_id;
}

/* The text rules choose by what they read: the first event line that they understand. */
static int choose_compat(struct tl_fold *fold, const struct tl_fold_event **chosen,
			 struct tl_error *err)
{
	bool leaks = false;

	if (!find_first(fold))
		return fail_no_event(fold, "", err);
	if (fold->opt->event) {
		tl_text_puts(&fold->filter, fold->opt->event);
		fold->has_filter = true;
	}
	qsort(fold->events, fold->event_count, sizeof(*fold->events), by_first);
	for (size_t i = 0; i < fold->event_count; i++) {
		struct tl_fold_event *event = &fold->events[i];
		struct tl_folded_sample sample = plain_sample(event);
		struct tl_text root = { 0 };
		bool uses_period, is_leaking;

		if (!is_visible(event))
			continue;
		if (!fold->has_filter)
			fold->has_filter = tl_compat_filter(&fold->rules, &sample, &fold->filter);
		event->is_read = true;
		event->is_chosen =
			tl_compat_head(&fold->rules, fold->has_filter ? fold->filter.data : NULL,
				       &sample, &root, &uses_period) != TL_HEAD_FILTERED;
		/* fields of tracepoints pass every filter: the unit is that of the others */
		is_leaking = fold->opt->compat == TL_COMPAT_PERL_TRACE && event->is_tracepoint;
		if (event->is_chosen && (!*chosen || (!is_leaking && leaks)))
			*chosen = event;
		leaks = *chosen == event ? is_leaking : leaks;
		tl_text_release(&root);
	}
	if (fold->filter.failed)
		return tl_fail(err, TL_NOMEM, "out of memory while choosing an event");
	if (!*chosen)
		return fail_no_event(fold, fold->opt->event ? fold->opt->event : "", err);
	return TL_OK;
}

static int set_unit(struct tl_fold *fold, const struct tl_fold_event *event, struct tl_error *err)
{
	const char *unit = event->unit ? event->unit : "events";

	if (fold->opt->weight == TL_WEIGHT_COUNT)
		unit = "samples";
	if (fold->opt->weight == TL_WEIGHT_US || fold->opt->weight == TL_WEIGHT_NS) {
		if (!event->unit || strcmp(event->unit, "ns") != 0)
			return tl_fail(err, TL_USAGE,
				       "the periods of %s count %s, not time: weigh by period or "
				       "count, or fold cpu-clock or task-clock",
				       event->name,
				       event->unit ? event->unit : "something unknown");
		unit = fold->opt->weight == TL_WEIGHT_US ? "us" : "ns";
	}
	snprintf(fold->counts.unit, sizeof(fold->counts.unit), "%s", unit);
	return TL_OK;
}

/* What there would have been to fold, too; one name in several sources is one event. */
static void note_others(struct tl_fold *fold)
{
	char *out = fold->counts.others;
	size_t size = sizeof(fold->counts.others), used = 0;

	for (size_t i = 0; i < fold->event_count; i++) {
		const struct tl_fold_event *event = &fold->events[i];
		uint64_t count = 0;
		bool is_first = true;
		int length;

		if (!is_visible(event) || event->is_chosen)
			continue;
		for (size_t k = 0; k < fold->event_count; k++) {
			if (!is_visible(&fold->events[k]) ||
			    strcmp(fold->events[k].name, event->name) != 0)
				continue;
			is_first &= k >= i;
			count += fold->events[k].sample_count;
		}
		if (!is_first)
			continue;
		length = snprintf(out + used, size - used, "%s%s (%llu sample%s)", used ? ", " : "",
				  event->name, (unsigned long long)count, count == 1 ? "" : "s");
		if (length < 0 || (size_t)length >= size - used - sizeof(", ...")) {
			snprintf(out + used, size - used, "%s", used ? ", ..." : "many");
			return;
		}
		used += (size_t)length;
	}
}

int tl_fold_choose(struct tl_fold *fold, struct tl_error *err)
{
	const struct tl_fold_event *event = NULL;
	int ret = load_events(fold, err);

	if (ret < 0 || fold->opt->what != TL_FOLD_EVENT)
		return ret;
	if (fold->opt->compat == TL_COMPAT_NATIVE)
		ret = choose_native(fold, &event, err);
	else
		ret = choose_compat(fold, &event, err);
	if (ret < 0)
		return ret;
	snprintf(fold->counts.event, sizeof(fold->counts.event), "%s", event->name);
	fold->counts.is_sampled = event->is_sampled;
	note_others(fold);
	return set_unit(fold, event, err);
}
