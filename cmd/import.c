/*
 * import.c - the import command: recordings into a case file.
 */
#include "command.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

struct import_options {
	const char *case_path;
	int64_t rank;
	struct source_options sources;
};

static const struct import_options defaults = { .rank = -1 };

static const struct command_option options[] = {
	FILE_NAME(struct import_options, case_path, 'o', "output", "CASE",
		  "the case file to make, or to add to; required"),
	FLAG(struct import_options, sources.is_duplicate_allowed, 'f', "force",
	     "import a recording although the case has it already: all of it is then in the case "
	     "twice; samples then count twice, calls once"),
	INTEGER(struct import_options, rank, 0, "rank", "N", 0, INT32_MAX,
		"the rank in a distributed job of recordings that do not say it themselves"),
	STRING(struct import_options, sources.host, 0, "host", "NAME",
	       "the machine that was recorded, where the recordings do not say it; default: the "
	       "case's only one"),
	STRINGS(struct import_options, sources.pid_maps, 0, "pid-map", "MAP",
		"the recordings are from inside a container: its numbers of threads and those of the "
		"host, as INNER:HOST,INNER:HOST, or a file of lines 'NSpid: HOST INNER' from "
		"/proc/PID/task/TID/status; may be repeated"),
	SOURCE_OPTIONS(struct import_options, sources),
	HEADING("for logs of system calls"),
	CALL_LOG_OPTIONS(struct import_options, sources),
	OPTIONS_END,
};

static const struct command_example examples[] = {
	{ "perf record -g -o perf.data -- sleep 1 && traceloom import -o run.db perf.data",
	  "record a program and keep the recording as a case" },
	{ "traceloom import -o run.db --symfs /mnt/node17 node17.perf.data",
	  "name addresses by the files of another machine, mounted at /mnt/node17" },
	{ "traceloom import -o run.db --buildid-dir perf.data.tar.bz2 perf.data",
	  "name addresses by the binaries that 'perf archive' packed on the other machine" },
	{ "traceloom import -o run.db --pid 4242 --date 2026-11-29 --timezone +08:00 trace.log",
	  "add the log of 'strace -T -tt -p 4242 -o trace.log'" },
	{ "cat /proc/$(pidof python)/task/*/status > ids && traceloom import -o run.db --pid-map ids "
	  "trace.log",
	  "add a log of strace from inside a container; the numbers are read outside" },
	{ NULL, NULL },
};

static int check(const struct import_options *opt, size_t operand_count, struct tl_error *err)
{
	if (!opt->case_path)
		return tl_fail(err, TL_USAGE, "no case to import into was given: -o CASE");
	if (!operand_count)
		return tl_fail(err, TL_USAGE, "no recording to import was given");
	if (call_log_options_fill(&opt->sources, &(struct tl_import_options) { 0 }, err) < 0)
		return TL_USAGE;
	return source_options_check(&opt->sources, err);
}

/* A recording that was read well may still tell nothing, for want of names. */
static int tell_unnamed(struct tl_store *store, const char *case_path, struct tl_error *err)
{
	const struct tl_info_dso *most = NULL;
	int64_t sample_count = 0, unnamed_count = 0;
	const char *reason = "it has no symbols there";
	struct tl_info info;
	int ret = tl_info_dsos(store, &info, err);

	if (ret < 0)
		return ret;
	for (size_t i = 0; i < info.dso_count; i++) {
		const struct tl_info_dso *dso = &info.dsos[i];

		if (!dso->kind || strcmp(dso->kind, "file") != 0)
			continue;
		sample_count += dso->sample_count;
		unnamed_count += dso->unnamed_sample_count;
		if (!most || dso->unnamed_sample_count > most->unnamed_sample_count)
			most = dso;
	}
	if (most && most->reason && most->name) {
		size_t length = strlen(most->name);
		bool has_name =
			!strncmp(most->reason, most->name, length) && most->reason[length] == ':';

		reason = most->reason + (has_name ? length + 2 : 0);
	}
	/* a handful says nothing of the rest */
	if (unnamed_count >= 20 && unnamed_count * 20 > sample_count)
		tell("%" PRId64 " of %" PRId64 " samples in programs and libraries have no name; "
		     "most in %s: %s; see 'traceloom info %s'",
		     unnamed_count, sample_count, most->name ? most->name : "an unknown file",
		     reason, case_path);
	tl_info_release(&info);
	return TL_OK;
}

static int run(const void *values, size_t operand_count, char **operands, struct tl_error *err)
{
	const struct import_options *opt = values;
	struct case_request request = { .sources = &opt->sources,
					.want = TL_WANT_ALL,
					.has_rank = opt->rank >= 0,
					.rank = (int32_t)opt->rank };
	size_t imported_count = 0, failed_count = 0;
	struct tl_store *store = NULL;
	bool is_new;
	int ret = check(opt, operand_count, err);

	if (ret < 0)
		return ret;
	if (!strcmp(opt->case_path, "-"))
		return tl_fail(
			err, TL_USAGE,
			"a case cannot be written to standard output: name a file (./- is one)");
	is_new = access(opt->case_path, F_OK) != 0;
	ret = tl_store_open(&store, opt->case_path, TL_STORE_CREATE, err);
	if (ret == TL_OK)
		ret = source_import(store, operands, operand_count, &request, &imported_count,
				    &failed_count, err);
	if (ret == TL_OK && imported_count && !opt->sources.is_quiet && !opt->sources.no_symbols)
		ret = tell_unnamed(store, opt->case_path, err);
	tl_store_close(store);
	/* A case without a source would only look as if something had worked. */
	if (is_new && imported_count == 0)
		unlink(opt->case_path);
	if (ret < 0)
		return ret;
	if (failed_count && operand_count + imported_count > 1)
		tell("%zu of %zu recordings could not be imported", failed_count,
		     failed_count + imported_count);
	return failed_count ? EXIT_TROUBLE : EXIT_DONE;
}

const struct command cmd_import = {
	.name = "import",
	.usage = "traceloom import [options] -o CASE FILE...",
	.summary = "weave recordings into a case file",
	.description =
		"Reads each FILE, finds out by its content what it is, and adds it to the case as "
		"one source: whole, or not at all. '-' is standard input; directories are walked. "
		"Compressed files (gzip, zstd, xz, bzip2) are read as they are.\n\n"
		"Addresses are named while importing, so that the case can be sent to somebody "
		"who has none of the binaries. A binary with another build-id than the recorded "
		"one is never used.\n\n"
		"For each source it is told on standard error how many records were read, and "
		"what of them was lost, damaged or skipped. A recording that cannot be used does "
		"not keep the others from being imported, but the exit status is then 2.",
	.examples = examples,
	.options = options,
	.defaults = &defaults,
	.options_size = sizeof(struct import_options),
	.run = run,
};
