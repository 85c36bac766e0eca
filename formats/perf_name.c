/*
 * perf_name.c - what an event is called when the file does not say it: the names that perf makes of
 * type, config and the excluded modes.
 */
#include "perf.h"

static const char *const hardware_names[] = {
	"cycles",
	"instructions",
	"cache-references",
	"cache-misses",
	"branches",
	"branch-misses",
	"bus-cycles",
	"stalled-cycles-frontend",
	"stalled-cycles-backend",
	"ref-cycles",
};

static const char *const software_names[] = {
	"cpu-clock",	    "task-clock",   "page-faults",  "context-switches",
	"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
	"emulation-faults", "dummy",	    "bpf-output",   "cgroup-switches",
};

static const char *const cache_names[] = {
	"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node",
};

static const char *const cache_operations[][2] = {
	{ "loads", "load" },
	{ "stores", "store" },
	{ "prefetches", "prefetch" },
};

static const char *name_at(const char *const *names, size_t count, uint64_t at)
{
	return at < count ? names[at] : NULL;
}
#define NAME_AT(names, at) name_at(names, sizeof(names) / sizeof((names)[0]), at)

/* config: cache in bits 0-7, operation in 8-15, result (access, miss) in 16-23 */
static void add_cache_name(struct tl_text *out, uint64_t config)
{
	const char *cache = NAME_AT(cache_names, config & 0xff);
	uint64_t operation = config >> 8 & 0xff, result = config >> 16 & 0xff;

	if (!cache || operation > 2 || result > 1) {
		tl_text_printf(out, "unknown-ext-hardware-cache-%#llx", (unsigned long long)config);
		return;
	}
	if (result)
		tl_text_printf(out, "%s-%s-misses", cache, cache_operations[operation][1]);
	else
		tl_text_printf(out, "%s-%s", cache, cache_operations[operation][0]);
}

static void add_breakpoint_name(struct tl_text *out, const struct perf_attr *attr)
{
	tl_text_printf(out, "mem:0x%llx:", (unsigned long long)attr->config1);
	if (attr->breakpoint_type & 1)
		tl_text_puts(out, "r");
	if (attr->breakpoint_type & 2)
		tl_text_puts(out, "w");
	if (attr->breakpoint_type & 4)
		tl_text_puts(out, "x");
}

/* ":u", ":k", ":pp", ...: which of the modes are not excluded, when some are. */
static void add_modifiers(struct tl_text *out, const struct perf_attr *attr)
{
	const uint64_t modes =
		PERF_ATTR_EXCLUDE_KERNEL | PERF_ATTR_EXCLUDE_USER | PERF_ATTR_EXCLUDE_HV;
	unsigned precise = attr->flags >> PERF_ATTR_PRECISE_SHIFT & 3;
	bool guest_is_excluded_by_default = (attr->flags & modes) || precise;
	bool excludes_guest = attr->flags & PERF_ATTR_EXCLUDE_GUEST;
	bool excludes_host = attr->flags & PERF_ATTR_EXCLUDE_HOST;
	struct tl_text mods = { 0 };

	if (attr->flags & modes) {
		tl_text_puts(&mods, attr->flags & PERF_ATTR_EXCLUDE_KERNEL ? "" : "k");
		tl_text_puts(&mods, attr->flags & PERF_ATTR_EXCLUDE_USER ? "" : "u");
		tl_text_puts(&mods, attr->flags & PERF_ATTR_EXCLUDE_HV ? "" : "h");
	}
	tl_text_add(&mods, "ppp", precise);
	if (excludes_host || excludes_guest == guest_is_excluded_by_default) {
		tl_text_puts(&mods, excludes_host ? "" : "H");
		tl_text_puts(&mods, excludes_guest ? "" : "G");
	}
	if (mods.length) {
		tl_text_puts(out, ":");
		tl_text_add(out, mods.data, mods.length);
	}
	out->failed |= mods.failed;
	tl_text_release(&mods);
}

void perf_name_event(struct tl_text *out, const struct perf_attr *attr, const char *pmu,
		     const char *tracepoint)
{
	const char *name = NULL;

	switch (attr->type) {
	case PERF_TYPE_HARDWARE: /* the upper half says which kind of core */
		name = NAME_AT(hardware_names, attr->config & 0xffffffffu);
		tl_text_puts(out, name ? name : "unknown-hardware");
		break;
	case PERF_TYPE_SOFTWARE:
		name = NAME_AT(software_names, attr->config);
		tl_text_puts(out, name ? name : "unknown-software");
		break;
	case PERF_TYPE_TRACEPOINT:
		if (tracepoint)
			tl_text_puts(out, tracepoint);
		else
			tl_text_printf(out, "tracepoint:%llu", (unsigned long long)attr->config);
		return; /* modes say nothing of tracepoints */
	case PERF_TYPE_HW_CACHE:
		add_cache_name(out, attr->config);
		break;
	case PERF_TYPE_RAW:
		tl_text_printf(out, "raw 0x%llx", (unsigned long long)attr->config);
		break;
	case PERF_TYPE_BREAKPOINT:
		add_breakpoint_name(out, attr);
		break;
	default:
		if (pmu)
			tl_text_printf(out, "%s/config=0x%llx/", pmu,
				       (unsigned long long)attr->config);
		else
			tl_text_printf(out, "type%u/config=0x%llx/", attr->type,
				       (unsigned long long)attr->config);
	}
	add_modifiers(out, attr);
}

const char *perf_clock_name(const struct perf_attr *attr)
{
	if (!(attr->flags & PERF_ATTR_USE_CLOCKID))
		return "sched_clock";
	switch (attr->clockid) { /* CLOCK_* of time.h */
	case 0:
		return "realtime";
	case 1:
		return "monotonic";
	case 4:
		return "monotonic_raw";
	case 7:
		return "boottime";
	case 11:
		return "tai";
	}
	return "unknown clock";
}

void perf_name_detail(struct tl_text *out, const struct perf_attr *attr)
{
	static const char *const fields[] = {
		"IP",
		"TID",
		"TIME",
		"ADDR",
		"READ",
		"CALLCHAIN",
		"ID",
		"CPU",
		"PERIOD",
		"STREAM_ID",
		"RAW",
		"BRANCH_STACK",
		"REGS_USER",
		"STACK_USER",
		"WEIGHT",
		"DATA_SRC",
		"IDENTIFIER",
		"TRANSACTION",
		"REGS_INTR",
		"PHYS_ADDR",
		"AUX",
		"CGROUP",
		"DATA_PAGE_SIZE",
		"CODE_PAGE_SIZE",
		"WEIGHT_STRUCT",
	};
	const char *separator = "";

	tl_text_puts(out, "{\"sample_type\":\"");
	for (uint64_t bit = 0; bit < 64; bit++) {
		if (!(attr->sample_type >> bit & 1))
			continue;
		tl_text_puts(out, separator);
		separator = "|";
		if (bit < sizeof(fields) / sizeof(fields[0]))
			tl_text_puts(out, fields[bit]);
		else
			tl_text_u64(out, bit);
	}
	tl_text_printf(out, "\",\"clock\":\"%s\"", perf_clock_name(attr));
	if (attr->flags & PERF_ATTR_EXCLUDE_USER)
		tl_text_puts(out, ",\"exclude_user\":true");
	if (attr->flags & PERF_ATTR_EXCLUDE_KERNEL)
		tl_text_puts(out, ",\"exclude_kernel\":true");
	if (attr->flags >> PERF_ATTR_PRECISE_SHIFT & 3)
		tl_text_printf(out, ",\"precise\":%u",
			       (unsigned)(attr->flags >> PERF_ATTR_PRECISE_SHIFT & 3));
	tl_text_puts(out, "}");
}
