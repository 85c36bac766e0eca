/*
 * import.c - runs one importer over one input into one sink. Here, and nowhere else, it is
 * decided whether damage is counted or fatal.
 */
#include "analysis.h"

#include <inttypes.h>
#include <string.h>

#include "reader.h"

#define PROGRESS_RECORDS 4096u /* a look at the clock costs less than reading so many */

/* Stands between the importer and the real sink: counts, and is strict when asked to be. */
struct gate {
	struct tl_sink sink;
	struct tl_sink *inner;
	struct tl_import_result *result;
	bool is_strict;
};

static bool is_damage(const struct tl_event *ev)
{
	return ev->kind == TL_EVENT_DIAGNOSTIC && (ev->diagnostic.kind == TL_DIAGNOSTIC_DAMAGED ||
						   ev->diagnostic.kind == TL_DIAGNOSTIC_TRUNCATED);
}

static int fail_strict(const struct tl_event_diagnostic *d, struct tl_error *err)
{
	const char *text = d->message ? d->message : d->what;

	switch (d->position_kind) {
	case TL_POSITION_NONE:
		break;
	case TL_POSITION_BYTE:
		return tl_fail_at(err, TL_FORMAT, d->position, "%s", text);
	case TL_POSITION_LINE:
		return tl_fail_line(err, TL_FORMAT, d->position, "%s", text);
	}
	return tl_fail(err, TL_FORMAT, "%s", text);
}

static int gate_emit(struct tl_sink *sink, const struct tl_event *ev, struct tl_error *err)
{
	struct gate *gate = (struct gate *)sink;

	gate->result->events[ev->kind]++;
	if (gate->is_strict && is_damage(ev))
		return fail_strict(&ev->diagnostic, err);
	return gate->inner->emit(gate->inner, ev, err);
}

static int emit_damage(struct gate *gate, const struct tl_error *damage, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };

	ev.diagnostic.kind = TL_DIAGNOSTIC_DAMAGED;
	ev.diagnostic.what = damage->text;
	ev.diagnostic.count = 1;
	ev.diagnostic.unit = "records";
	ev.diagnostic.position_kind = damage->position_kind;
	ev.diagnostic.position = damage->position;
	return gate->sink.emit(&gate->sink, &ev, err);
}

static int emit_input_damage(struct gate *gate, const char *message, struct tl_error *err)
{
	struct tl_event ev = { .kind = TL_EVENT_DIAGNOSTIC };

	ev.diagnostic.kind = TL_DIAGNOSTIC_TRUNCATED;
	ev.diagnostic.what = message;
	ev.diagnostic.count = 1;
	ev.diagnostic.unit = "streams";
	return gate->sink.emit(&gate->sink, &ev, err);
}

static int read_all(const struct tl_importer *importer, void *state, struct tl_input *in,
		    const struct tl_import_options *opt, struct gate *gate, struct tl_error *err)
{
	struct tl_import_result *result = gate->result;
	struct tl_error damage = { 0 };

	for (;;) {
		int ret = importer->read(state, &gate->sink, &damage);

		if (ret < 0) {
			if (err && err->status == TL_OK)
				*err = damage;
			return ret;
		}
		if (ret == TL_READ_END)
			return TL_OK;
		result->records++;
		if (ret == TL_READ_SKIPPED) {
			tl_error_source(&damage, tl_input_name(in));
			if (!result->damaged++)
				result->first_damage = damage;
			ret = emit_damage(gate, &damage, err);
			if (ret < 0)
				return ret;
		}
		if (damage.status != TL_OK)
			tl_error_clear(&damage);
		if (opt->progress && result->records % PROGRESS_RECORDS == 0 &&
		    opt->progress(tl_input_fraction(in), result->records, opt->progress_payload))
			return tl_fail(err, TL_STOPPED, "stopped");
	}
}

int tl_import(const struct tl_importer *importer, struct tl_input *in,
	      const struct tl_import_options *opt, struct tl_sink *sink,
	      struct tl_import_result *result, struct tl_error *err)
{
	struct tl_import_options all = opt ? *opt : (struct tl_import_options) { 0 };
	struct gate gate = {
		.sink.emit = gate_emit, .inner = sink, .result = result, .is_strict = all.is_strict
	};
	void *state = NULL;
	int ret;

	memset(result, 0, sizeof(*result));
	if (!all.want)
		all.want = TL_WANT_ALL;
	ret = importer->open(&state, in, &all, err);
	if (ret == TL_OK)
		ret = read_all(importer, state, in, &all, &gate, err);
	importer->close(state);
	if (ret == TL_OK && tl_input_damage(in))
		ret = emit_input_damage(&gate, tl_input_damage(in), err);
	if (ret < 0)
		tl_error_source(err, tl_input_name(in));
	return ret;
}
