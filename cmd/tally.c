/*
 * tally.c - counts the diagnostics that pass on their way to the case, and tells them to people.
 * The case has them all; stderr gets the first of each kind.
 */
#include "tally.h"

#include <inttypes.h>
#include <string.h>

#include "memory.h"

static void copy_text(char *out, size_t size, const char *text)
{
	tl_printable(out, size, text ? text : "", text ? strlen(text) : 0);
}

static void add_sum(struct tally *tally, enum tl_diagnostic_kind kind, const char *unit,
		    uint64_t count)
{
	size_t limit = sizeof(tally->sums) / sizeof(tally->sums[0]);
	struct tally_sum *sum = tally->sums;

	for (; sum < tally->sums + tally->sum_count; sum++) {
		if (sum->kind == kind && !strcmp(sum->unit, unit))
			break;
	}
	if (sum == tally->sums + tally->sum_count) {
		/* Units are a handful of words of the importers. */
		if (tally->sum_count == limit)
			return;
		tally->sum_count++;
		sum->kind = kind;
		memcpy(sum->unit, unit, sizeof(sum->unit));
	}
	sum->count += count;
}

static void add_finding(struct tally *tally, const struct tl_event_diagnostic *d)
{
	struct finding *finding = tally->findings;
	char unit[16], what[200];

	copy_text(unit, sizeof(unit), d->unit);
	copy_text(what, sizeof(what), d->what);
	if (d->kind != TL_DIAGNOSTIC_NOTE)
		add_sum(tally, d->kind, unit, d->count);
	for (; finding < tally->findings + tally->finding_count; finding++) {
		if (finding->kind == d->kind && !strcmp(finding->what, what)) {
			finding->count += d->count;
			return;
		}
	}
	if (tally->finding_count == TALLY_FINDING_MAX) {
		tally->untold_count++;
		return;
	}
	tally->finding_count++;
	finding->kind = d->kind;
	finding->position_kind = d->position_kind;
	finding->position = d->position;
	finding->count = d->count;
	memcpy(finding->unit, unit, sizeof(unit));
	memcpy(finding->what, what, sizeof(what));
	copy_text(finding->message, sizeof(finding->message), d->message);
}

static int tally_emit(struct tl_sink *sink, const struct tl_event *ev, struct tl_error *err)
{
	struct tally *tally = (struct tally *)sink;

	if (ev->kind == TL_EVENT_DIAGNOSTIC)
		add_finding(tally, &ev->diagnostic);
	return tally->next->emit(tally->next, ev, err);
}

void tally_init(struct tally *tally, struct tl_sink *next)
{
	memset(tally, 0, sizeof(*tally));
	tally->sink.emit = tally_emit;
	tally->next = next;
}

bool tally_has_trouble(const struct tally *tally)
{
	return tally->sum_count > 0 || tally->untold_count > 0;
}

/* "1 record", "3 records": units are plurals. */
static void add_count(struct tl_text *text, uint64_t count, const char *unit)
{
	size_t length = strlen(unit);

	if (count == 1 && length > 1 && unit[length - 1] == 's')
		length--;
	tl_text_u64(text, count);
	tl_text_puts(text, " ");
	tl_text_add(text, unit, length);
}

void tally_tell_counts(const struct tally *tally, const char *source, const char *importer,
		       const struct tl_import_result *result)
{
	struct tl_text text = { 0 };
	uint64_t events = 0;

	for (int kind = 0; kind < TL_EVENT_KIND_COUNT; kind++)
		events += kind == TL_EVENT_DIAGNOSTIC ? 0 : result->events[kind];
	add_count(&text, result->records, "records");
	tl_text_printf(&text, " of %s read, ", importer);
	add_count(&text, events, "events");
	tl_text_puts(&text, " (");
	add_count(&text, result->events[TL_EVENT_SAMPLE], "samples");
	tl_text_puts(&text, ")");
	for (size_t i = 0; i < tally->sum_count; i++) {
		const struct tally_sum *sum = &tally->sums[i];

		tl_text_printf(&text, "%s %s ", i ? "," : ";", tl_diagnostic_kind_name(sum->kind));
		add_count(&text, sum->count, sum->unit);
	}
	if (!tally->sum_count)
		tl_text_puts(&text, "; nothing lost, damaged or skipped");
	if (!text.failed)
		tell("%s: %s", source, text.data);
	tl_text_release(&text);
}

/* "(21 records in all)", unless the words have the number already. */
static void format_count(char *buf, size_t size, const struct finding *f, const char *words)
{
	char number[24];

	buf[0] = '\0';
	snprintf(number, sizeof(number), "%" PRIu64, f->count);
	if (f->kind != TL_DIAGNOSTIC_NOTE && f->count > 1 && !strstr(words, number))
		snprintf(buf, size, " (%s %s in all)", number, f->unit);
}

void tally_tell_findings(const struct tally *tally, const char *source)
{
	for (size_t i = 0; i < tally->finding_count; i++) {
		const struct finding *f = &tally->findings[i];
		const char *words = f->message[0] ? f->message : f->what;
		char position[40] = "", count[64] = "";

		if (f->position_kind == TL_POSITION_BYTE)
			snprintf(position, sizeof(position), "byte %" PRIu64 ": ", f->position);
		else if (f->position_kind == TL_POSITION_LINE)
			snprintf(position, sizeof(position), "line %" PRIu64 ": ", f->position);
		format_count(count, sizeof(count), f, words);
		tell("%s: %s%s: %s%s", source, position, tl_diagnostic_kind_name(f->kind), words,
		     count);
	}
	if (tally->untold_count)
		tell("%s: %" PRIu64 " more findings are in the case; 'traceloom info' lists them",
		     source, tally->untold_count);
}
