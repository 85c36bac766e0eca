/*
 * formats.c - the table of importers and the probe. A new format is one line here.
 */
#include "formats.h"

#include "ascend.h"
#include "ascend_db.h"
#include "capture.h"
#include "chrome.h"
#include "csv.h"
#include "folded.h"
#include "perf.h"
#include "perf_script.h"
#include "perf_trace_text.h"
#include "strace.h"
#include "torch.h"
#include "training_log.h"

const struct tl_importer *const tl_importers[] = {
	&perf_importer,
	&perf_script_importer,
	&strace_importer,
	&ltrace_importer,
	&perf_trace_text_importer,
	&torch_importer,
	&ascend_importer,
	&chrome_importer,
	&training_log_importer,
	&csv_importer,
	&folded_importer,
	&ascend_db_importer,
	&capture_manifest_importer,
	&capture_clocks_importer,
	&capture_system_importer,
	&capture_dmesg_importer,
	NULL,
};

/* The first bytes say it of nearly all files; of others, what came before a log's first line. */
#define HEAD_SHORT 4096u
#define SURE	   50

static const struct tl_importer *find_surest(const uint8_t *head, size_t len, int *best)
{
	const struct tl_importer *surest = NULL;

	*best = 0;
	for (size_t i = 0; tl_importers[i]; i++) {
		int certainty = tl_importers[i]->probe(head, len);

		if (certainty > *best) {
			*best = certainty;
			surest = tl_importers[i];
		}
	}
	return surest;
}

const struct tl_importer *tl_importer_probe(const uint8_t *head, size_t len)
{
	const struct tl_importer *surest, *later;
	int best, later_best;

	if (!len) /* nothing is no format, and head may be NULL */
		return NULL;
	surest = find_surest(head, len < HEAD_SHORT ? len : HEAD_SHORT, &best);
	if (best >= SURE || len <= HEAD_SHORT)
		return surest;
	later = find_surest(head, len, &later_best);
	return later_best > best ? later : surest;
}
