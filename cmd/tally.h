/*
 * tally.h - private to cmd/: what went wrong while a source was read, counted and told.
 */
#ifndef CMD_TALLY_H
#define CMD_TALLY_H

#include "command.h"

enum {
	TALLY_FINDING_MAX = 24, /* different ones that are told singly */
	TALLY_UNIT_MAX = 8
};

struct finding {
	enum tl_diagnostic_kind kind;
	enum tl_position position_kind;
	uint64_t position, count; /* position: of the first */
	char unit[16];
	char what[200], message[400];
};

/* A sink that passes everything on and keeps count of the diagnostics that went by. */
struct tally {
	struct tl_sink sink;
	struct tl_sink *next;
	struct finding findings[TALLY_FINDING_MAX];
	size_t finding_count;
	uint64_t untold_count; /* findings there was no room for */
	struct tally_sum {
		enum tl_diagnostic_kind kind;
		char unit[16];
		uint64_t count;
	} sums[TL_DIAGNOSTIC_NOTE * TALLY_UNIT_MAX];
	size_t sum_count;
};

void tally_init(struct tally *tally, struct tl_sink *next);
/* Something was lost, damaged, truncated, unsupported or skipped; notes do not count. */
bool tally_has_trouble(const struct tally *tally);
/* "source: 10 records read, 8 events (5 samples); lost 3 samples, damaged 1 record" */
void tally_tell_counts(const struct tally *tally, const char *source, const char *importer,
		       const struct tl_import_result *result);
/* One line a finding: "source: byte 20480: record size 4 is smaller than its header". */
void tally_tell_findings(const struct tally *tally, const char *source);

#endif
