/*
 * perf_feature.c - what the features of a perf.data header say, and the records that say the same in
 * a pipe.
 *
 * Collects facts; makes no events and knows no files.
 */
#include "perf.h"

#include <stdlib.h>
#include <string.h>

#define EVENT_TYPE_NAME_SIZE 64u
#define EVENT_UPDATE_NAME    2u	    /* PERF_EVENT_UPDATE__NAME */
#define BUILD_ID_FIELD_SIZE  24u    /* 20 bytes of the id, its size, reserved */
#define ATTR_SIZE_MIN	     64u    /* PERF_ATTR_SIZE_VER0 */
#define FACT_COUNT_MAX	     65536u /* of one kind: more is an attack */

static int too_many(const char *what, struct tl_error *err)
{
	return tl_fail(err, TL_FORMAT, "more than %u %s", FACT_COUNT_MAX, what);
}

/* ---- collecting ---- */

int perf_facts_meta(struct perf_facts *facts, const char *key, const char *value, size_t len,
		    struct tl_error *err)
{
	const char *key_copy, *value_copy;
	int ret;

	len = strnlen(value, len);
	if (!len)
		return TL_OK; /* not known */
	if (facts->meta_count >= FACT_COUNT_MAX)
		return too_many("facts", err);
	ret = tl_grow(&facts->metas, &facts->meta_capacity, facts->meta_count + 1, err);
	if (ret < 0)
		return ret;
	key_copy = tl_arena_copy(&facts->arena, key, strlen(key), err);
	value_copy = tl_arena_copy(&facts->arena, value, len, err);
	if (!key_copy || !value_copy)
		return TL_NOMEM;
	facts->metas[facts->meta_count].key = key_copy;
	facts->metas[facts->meta_count].value = value_copy;
	facts->meta_count++;
	return TL_OK;
}

static int add_meta_u64(struct perf_facts *facts, const char *key, uint64_t value,
			struct tl_error *err)
{
	char text[24];
	int len = snprintf(text, sizeof(text), "%llu", (unsigned long long)value);

	return perf_facts_meta(facts, key, text, (size_t)len, err);
}

static int add_text(struct perf_facts *facts, const char *key, struct tl_text *text,
		    struct tl_error *err)
{
	int ret = text->failed ? tl_fail(err, TL_NOMEM, "out of memory") : TL_OK;

	if (ret == TL_OK && text->length)
		ret = perf_facts_meta(facts, key, text->data, text->length, err);
	tl_text_release(text);
	return ret;
}

int perf_facts_name(struct perf_facts *facts, const struct perf_event_name *name, const char *text,
		    size_t len, struct tl_error *err)
{
	const char *copy;
	int ret;

	if (facts->name_count >= FACT_COUNT_MAX)
		return too_many("names of events", err);
	ret = tl_grow(&facts->names, &facts->name_capacity, facts->name_count + 1, err);
	if (ret < 0)
		return ret;
	copy = tl_arena_copy(&facts->arena, text, strnlen(text, len), err);
	if (!copy)
		return TL_NOMEM;
	facts->names[facts->name_count] = *name;
	facts->names[facts->name_count].name = copy;
	facts->name_count++;
	return TL_OK;
}

void perf_facts_release(struct perf_facts *facts)
{
	free(facts->metas);
	free(facts->build_ids);
	free(facts->pmus);
	free(facts->names);
	tl_arena_release(&facts->arena);
	tl_index_release(&facts->build_id_index);
	memset(facts, 0, sizeof(*facts));
}

const char *perf_facts_pmu(const struct perf_facts *facts, uint32_t type)
{
	for (size_t i = 0; i < facts->pmu_count; i++)
		if (facts->pmus[i].type == type)
			return facts->pmus[i].name;
	return NULL;
}

/* ---- texts ---- */

struct span {
	const char *text; /* not terminated */
	size_t length;	  /* up to the first NUL: behind it may be junk */
};

/* u32 length, padded, then as many bytes. */
static struct span get_span(struct tl_cursor *c)
{
	uint32_t size = tl_get_u32(c);
	const uint8_t *bytes = tl_get_bytes(c, size);
	struct span s = { (const char *)bytes, bytes ? strnlen((const char *)bytes, size) : 0 };

	return s;
}

static int decode_string(struct perf_facts *facts, const char *key, struct tl_cursor *c,
			 struct tl_error *err)
{
	struct span s = get_span(c);
	int ret = tl_cursor_check(c, key, err);

	return ret < 0 ? ret : perf_facts_meta(facts, key, s.text ? s.text : "", s.length, err);
}

/* Arguments as a shell would take them again. */
static void add_argument(struct tl_text *out, struct span arg)
{
	bool is_plain = arg.length > 0;

	for (size_t i = 0; i < arg.length; i++)
		is_plain &= !strchr(" \t\n\"'\\$`;&|<>()*?[]{}!#~", arg.text[i]);
	if (out->length)
		tl_text_puts(out, " ");
	if (is_plain) {
		tl_text_add(out, arg.text, arg.length);
		return;
	}
	tl_text_puts(out, "'");
	for (size_t i = 0; i < arg.length; i++) {
		if (arg.text[i] == '\'')
			tl_text_puts(out, "'\\''");
		else
			tl_text_add(out, arg.text + i, 1);
	}
	tl_text_puts(out, "'");
}

static int decode_cmdline(struct perf_facts *facts, struct tl_cursor *c, struct tl_error *err)
{
	uint32_t count = tl_get_u32(c);
	struct tl_text text = { 0 };
	int ret;

	for (uint32_t i = 0; i < count && !c->failed; i++) {
		struct span arg = get_span(c);

		if (!c->failed)
			add_argument(&text, arg);
	}
	ret = add_text(facts, "cmdline", &text, err);
	return ret < 0 ? ret : tl_cursor_check(c, "CMDLINE", err);
}

/* ---- events ---- */

static int decode_event_desc(struct perf_facts *facts, struct tl_cursor *c, struct tl_error *err)
{
	uint32_t count = tl_get_u32(c), attr_size = tl_get_u32(c);

	if (count && !c->failed && attr_size < ATTR_SIZE_MIN)
		return tl_fail_at(err, TL_FORMAT, c->base + c->position - 4,
				  "EVENT_DESC has attributes of %u bytes, expected %u or more: its "
				  "names of %u events are not used",
				  attr_size, ATTR_SIZE_MIN, count);
	for (uint32_t i = 0; i < count && !c->failed; i++) {
		struct perf_event_name name = { .source = PERF_NAME_EVENT_DESC, .index = i };
		uint32_t id_count;
		const uint8_t *ids;
		struct span text;
		int ret;

		tl_skip(c, attr_size);
		id_count = tl_get_u32(c);
		text = get_span(c);
		ids = tl_get_array(c, id_count, 8);
		if (c->failed)
			break;
		if (id_count && ids)
			name.id = perf_load_u64(ids, c->is_big_endian);
		ret = perf_facts_name(facts, &name, text.text, text.length, err);
		if (ret < 0)
			return ret;
	}
	return tl_cursor_check(c, "EVENT_DESC", err);
}

int perf_event_type_decode(struct perf_facts *facts, struct tl_cursor *c, struct tl_error *err)
{
	struct perf_event_name name = { .source = PERF_NAME_EVENT_TYPE,
					.has_config = true,
					.type = UINT32_MAX };
	const char *text;
	size_t size;
	int ret;

	/* listed in the order of the events, as far as they have one of their own */
	name.index = facts->event_type_count++;
	name.config = tl_get_u64(c);
	/* a section has all 64 bytes of each name, a record only as many as it needs */
	size = tl_cursor_left(c) < EVENT_TYPE_NAME_SIZE ? tl_cursor_left(c) : EVENT_TYPE_NAME_SIZE;
	text = (const char *)tl_get_bytes(c, size);
	ret = tl_cursor_check(c, "EVENT_TYPE", err);
	return ret < 0 || !size ? ret : perf_facts_name(facts, &name, text, size, err);
}

int perf_event_update_decode(struct perf_facts *facts, struct tl_cursor *c, struct tl_error *err)
{
	struct perf_event_name name = { .source = PERF_NAME_EVENT_UPDATE, .index = UINT32_MAX };
	uint64_t what = tl_get_u64(c);
	const uint8_t *text;
	size_t left;
	int ret;

	name.id = tl_get_u64(c);
	ret = tl_cursor_check(c, "EVENT_UPDATE", err);
	if (ret < 0 || what != EVENT_UPDATE_NAME)
		return ret; /* units, scales and CPUs of counters say nothing of samples */
	left = tl_cursor_left(c);
	text = tl_get_bytes(c, left);
	return left ? perf_facts_name(facts, &name, (const char *)text, left, err) : TL_OK;
}

static int decode_pmu_mappings(struct perf_facts *facts, struct tl_cursor *c, struct tl_error *err)
{
	uint32_t count = tl_get_u32(c);
	struct tl_text all = { 0 };
	int ret = TL_OK;

	for (uint32_t i = 0; i < count && !c->failed && ret == TL_OK; i++) {
		uint32_t type = tl_get_u32(c);
		struct span name = get_span(c);
		const char *copy;

		if (c->failed)
			break;
		if (facts->pmu_count >= FACT_COUNT_MAX) {
			ret = too_many("PMUs", err);
			break;
		}
		ret = tl_grow(&facts->pmus, &facts->pmu_capacity, facts->pmu_count + 1, err);
		copy = ret < 0 ? NULL
			       : tl_arena_copy(&facts->arena, name.text ? name.text : "",
					       name.length, err);
		if (!copy) {
			ret = TL_NOMEM;
			break;
		}
		facts->pmus[facts->pmu_count].type = type;
		facts->pmus[facts->pmu_count].name = copy;
		facts->pmu_count++;
		tl_text_printf(&all, "%s%s=%u", all.length ? "," : "", copy, type);
	}
	if (ret < 0) {
		tl_text_release(&all);
		return ret;
	}
	ret = add_text(facts, "pmus", &all, err);
	return ret < 0 ? ret : tl_cursor_check(c, "PMU_MAPPINGS", err);
}

static int decode_group_desc(struct perf_facts *facts, struct tl_cursor *c, struct tl_error *err)
{
	uint32_t count = tl_get_u32(c);
	struct tl_text all = { 0 };
	int ret;

	for (uint32_t i = 0; i < count && !c->failed; i++) {
		struct span name = get_span(c);
		uint32_t leader = tl_get_u32(c), members = tl_get_u32(c);

		if (c->failed)
			break;
		tl_text_puts(&all, all.length ? "," : "");
		tl_text_add(&all, name.text, name.length);
		tl_text_printf(&all, "=%u+%u", leader, members);
	}
	ret = add_text(facts, "groups", &all, err);
	return ret < 0 ? ret : tl_cursor_check(c, "GROUP_DESC", err);
}

/* ---- build-ids ---- */

static bool is_zero(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i])
			return false;
	return true;
}

static bool has_build_id(struct perf_facts *facts, const struct perf_build_id *id, uint64_t hash)
{
	size_t probe = 0;
	int64_t found;

	while ((found = tl_index_find(&facts->build_id_index, hash, &probe)) >= 0) {
		const struct perf_build_id *other = &facts->build_ids[found];

		if (other->pid == id->pid && other->context == id->context &&
		    other->build_id.size == id->build_id.size &&
		    !memcmp(other->build_id.data, id->build_id.data, TL_BUILD_ID_MAX) &&
		    !strcmp(other->path, id->path))
			return true;
	}
	return false;
}

/*
 * The byte behind the id is its size only if a flag says so. Without, shorter ids (MD5 has 16 bytes,
 * what lld makes 8) are filled up with zeros.
 */
static uint8_t build_id_size(const uint8_t *bytes, uint16_t misc)
{
	uint8_t size = TL_BUILD_ID_MAX;

	if (misc & PERF_RECORD_MISC_BUILD_ID_SIZE && bytes[TL_BUILD_ID_MAX] <= TL_BUILD_ID_MAX)
		return bytes[TL_BUILD_ID_MAX];
	while (size >= 4 && is_zero(bytes + size - 4, 4))
		size -= 4;
	return size;
}

int perf_build_id_decode(struct perf_facts *facts, struct tl_cursor *c, uint16_t misc, bool has_pid,
			 struct tl_error *err)
{
	struct perf_build_id id = { .pid = has_pid ? (int32_t)tl_get_u32(c) : -1 };
	const uint8_t *bytes = tl_get_bytes(c, BUILD_ID_FIELD_SIZE);
	size_t left = tl_cursor_left(c);
	const char *path = (const char *)tl_get_bytes(c, left);
	uint64_t hash;
	int ret = tl_cursor_check(c, "build-id", err);

	if (ret < 0)
		return ret;
	id.build_id.size = build_id_size(bytes, misc);
	memcpy(id.build_id.data, bytes, id.build_id.size);
	id.context = perf_context_of_misc(misc);
	left = path ? strnlen(path, left) : 0;
	if (is_zero(bytes, TL_BUILD_ID_MAX))
		return TL_OK; /* says nothing */
	if (!left)
		return tl_fail_at(err, TL_FORMAT, c->base,
				  "entry of BUILD_ID has no path, expected one behind its %u bytes",
				  BUILD_ID_FIELD_SIZE + 4);
	if (facts->build_id_count >= FACT_COUNT_MAX)
		return too_many("build-ids", err);
	id.path = tl_arena_copy(&facts->arena, path, left, err);
	if (!id.path)
		return TL_NOMEM;
	hash = tl_hash(id.path, left, tl_hash(id.build_id.data, TL_BUILD_ID_MAX, 0));
	if (has_build_id(facts, &id, hash))
		return TL_OK;
	ret = tl_grow(&facts->build_ids, &facts->build_id_capacity, facts->build_id_count + 1, err);
	if (ret == TL_OK)
		ret = tl_index_add(&facts->build_id_index, hash, (uint32_t)facts->build_id_count,
				   err);
	if (ret == TL_OK)
		facts->build_ids[facts->build_id_count++] = id;
	return ret;
}

/* The next entry of the table: false at its end, and where none can be. */
static bool next_build_id(struct tl_cursor *table, uint16_t *misc, struct tl_cursor *entry)
{
	struct tl_cursor header = *table;
	uint16_t size;

	tl_skip(&header, 4);
	*misc = tl_get_u16(&header);
	size = tl_get_u16(&header);
	if (header.failed || size < PERF_RECORD_HEADER_SIZE ||
	    size - PERF_RECORD_HEADER_SIZE > tl_cursor_left(&header))
		return false;
	*table = header;
	*entry = tl_cursor_sub(table, size - PERF_RECORD_HEADER_SIZE);
	return true;
}

/* Where there is no next entry nothing may be left but padding. */
static int check_build_ids_end(struct tl_cursor *table, struct tl_error *err)
{
	uint64_t position = table->base + table->position;
	size_t left = tl_cursor_left(table);

	if (is_zero(table->data + table->position, left))
		return TL_OK;
	if (left < PERF_RECORD_HEADER_SIZE)
		return tl_fail_at(err, TL_FORMAT, position,
				  "BUILD_ID ends with %zu bytes, expected entries of 8 or more",
				  left);
	tl_skip(table, 6);
	return tl_fail_at(err, TL_FORMAT, position,
			  "entry of BUILD_ID has size %u, expected 8 to %zu: the %zu bytes from "
			  "here on are not used",
			  tl_get_u16(table), left, left);
}

/*
 * The first tables had no pid before the id. Read with one, the kernel's name then lacks its first
 * four characters, which nothing else can explain.
 */
static bool table_lacks_pid(struct tl_cursor table)
{
	const char *chopped = "nel.kallsyms]";
	struct tl_cursor entry;
	uint16_t misc;

	while (next_build_id(&table, &misc, &entry)) {
		char name[16];

		tl_skip(&entry, 4 + BUILD_ID_FIELD_SIZE);
		tl_get_text(&entry, tl_cursor_left(&entry), name, sizeof(name));
		if (!strcmp(name, chopped))
			return true;
	}
	return false;
}

/* A damaged entry says nothing against those behind it. */
static int decode_build_ids(struct perf_facts *facts, struct tl_cursor *c, struct tl_error *err)
{
	bool has_pid = !table_lacks_pid(*c);
	struct tl_cursor entry;
	int ret, first = TL_OK;
	uint16_t misc;

	while (next_build_id(c, &misc, &entry)) {
		ret = perf_build_id_decode(facts, &entry, misc, has_pid, err);
		if (ret < 0 && ret != TL_FORMAT)
			return ret;
		if (first == TL_OK)
			first = ret;
	}
	ret = check_build_ids_end(c, err);
	return first < 0 ? first : ret;
}

/* ---- small ones ---- */

static int decode_nrcpus(struct perf_facts *facts, struct tl_cursor *c, struct tl_error *err)
{
	uint32_t available = tl_get_u32(c), online = tl_get_u32(c);
	int ret = tl_cursor_check(c, "NRCPUS", err);

	if (ret == TL_OK)
		ret = add_meta_u64(facts, "cpus_available", available, err);
	return ret < 0 ? ret : add_meta_u64(facts, "cpus_online", online, err);
}

static int decode_u64(struct perf_facts *facts, const char *key, struct tl_cursor *c,
		      struct tl_error *err)
{
	uint64_t value = tl_get_u64(c);
	int ret = tl_cursor_check(c, key, err);

	return ret < 0 ? ret : add_meta_u64(facts, key, value, err);
}

static int decode_sample_time(struct perf_facts *facts, struct tl_cursor *c, struct tl_error *err)
{
	uint64_t first = tl_get_u64(c), last = tl_get_u64(c);
	int ret = tl_cursor_check(c, "SAMPLE_TIME", err);

	if (ret < 0)
		return ret;
	if (!last)
		return TL_OK; /* a pipe, which said it before the first sample */
	facts->has_sample_time = true;
	facts->first_ns = first;
	facts->last_ns = last;
	ret = add_meta_u64(facts, "first_ts", first, err);
	return ret < 0 ? ret : add_meta_u64(facts, "last_ts", last, err);
}

static int decode_clock_data(struct perf_facts *facts, struct tl_cursor *c, struct tl_error *err)
{
	uint32_t version = tl_get_u32(c);
	uint32_t clock_id = tl_get_u32(c);
	uint64_t wall = tl_get_u64(c), clock = tl_get_u64(c);
	int ret = tl_cursor_check(c, "CLOCK_DATA", err);

	if (ret < 0)
		return ret;
	if (version != 1)
		return tl_fail_at(err, TL_UNSUPPORTED, c->base,
				  "CLOCK_DATA of version %u, expected 1", version);
	facts->has_clock_data = true;
	facts->clock_id = clock_id;
	facts->wall_clock_ns = wall;
	facts->clock_ns = clock;
	return TL_OK;
}

static int decode_compressed(struct perf_facts *facts, struct tl_cursor *c, struct tl_error *err)
{
	uint32_t type, level, ratio;
	struct tl_text text = { 0 };
	int ret;

	tl_skip(c, 4); /* version */
	type = tl_get_u32(c);
	level = tl_get_u32(c);
	ratio = tl_get_u32(c);
	ret = tl_cursor_check(c, "COMPRESSED", err);
	if (ret < 0)
		return ret;
	tl_text_printf(&text, "%s level %u ratio %u", type == 1 ? "zstd" : "unknown", level, ratio);
	return add_text(facts, "compression", &text, err);
}

int perf_feature_decode(struct perf_facts *facts, unsigned feature, struct tl_cursor *c,
			struct tl_error *err)
{
	switch (feature) {
	case HEADER_BUILD_ID:
		return decode_build_ids(facts, c, err);
	case HEADER_HOSTNAME:
		return decode_string(facts, "hostname", c, err);
	case HEADER_OSRELEASE:
		return decode_string(facts, "os_release", c, err);
	case HEADER_VERSION:
		return decode_string(facts, "recorder_version", c, err);
	case HEADER_ARCH:
		return decode_string(facts, "arch", c, err);
	case HEADER_NRCPUS:
		return decode_nrcpus(facts, c, err);
	case HEADER_CPUDESC:
		return decode_string(facts, "cpu_desc", c, err);
	case HEADER_CPUID:
		return decode_string(facts, "cpuid", c, err);
	case HEADER_TOTAL_MEM:
		return decode_u64(facts, "memory_kib", c, err);
	case HEADER_CMDLINE:
		return decode_cmdline(facts, c, err);
	case HEADER_EVENT_DESC:
		return decode_event_desc(facts, c, err);
	case HEADER_PMU_MAPPINGS:
		return decode_pmu_mappings(facts, c, err);
	case HEADER_GROUP_DESC:
		return decode_group_desc(facts, c, err);
	case HEADER_SAMPLE_TIME:
		return decode_sample_time(facts, c, err);
	case HEADER_CLOCKID:
		return decode_u64(facts, "clock_resolution_ns", c, err);
	case HEADER_DIR_FORMAT:
		facts->has_dir_format = true;
		return TL_OK;
	case HEADER_COMPRESSED:
		return decode_compressed(facts, c, err);
	case HEADER_CLOCK_DATA:
		return decode_clock_data(facts, c, err);
	case SIMPLEPERF_FEATURE_META_INFO:
		facts->is_simpleperf = true;
		return perf_meta_info_decode(facts, c, err);
	}
	/* topology, caches, BPF programs, ...: nothing that the events need */
	if (perf_feature_name(feature) || !tl_cursor_left(c))
		return TL_OK;
	return tl_fail_at(err, TL_UNSUPPORTED, c->base,
			  "header feature %u is unknown: its %zu bytes are not used", feature,
			  tl_cursor_left(c));
}

const char *perf_feature_name(unsigned feature)
{
	static const char *const names[] = {
		NULL,
		"TRACING_DATA",
		"BUILD_ID",
		"HOSTNAME",
		"OSRELEASE",
		"VERSION",
		"ARCH",
		"NRCPUS",
		"CPUDESC",
		"CPUID",
		"TOTAL_MEM",
		"CMDLINE",
		"EVENT_DESC",
		"CPU_TOPOLOGY",
		"NUMA_TOPOLOGY",
		"BRANCH_STACK",
		"PMU_MAPPINGS",
		"GROUP_DESC",
		"AUXTRACE",
		"STAT",
		"CACHE",
		"SAMPLE_TIME",
		"MEM_TOPOLOGY",
		"CLOCKID",
		"DIR_FORMAT",
		"BPF_PROG_INFO",
		"BPF_BTF",
		"COMPRESSED",
		"CPU_PMU_CAPS",
		"CLOCK_DATA",
		"HYBRID_TOPOLOGY",
		"PMU_CAPS",
		"CPU_DOMAIN_INFO",
	};
	static const char *const simpleperf_names[] = {
		"FILE",	 "META_INFO",	    "DEBUG_UNWIND", "DEBUG_UNWIND_FILE",
		"FILE2", "ETM_BRANCH_LIST", "INIT_MAP",
	};
	const size_t simpleperf_count = sizeof(simpleperf_names) / sizeof(simpleperf_names[0]);

	if (feature < sizeof(names) / sizeof(names[0]))
		return names[feature];
	if (feature >= SIMPLEPERF_FEATURE_FILE &&
	    feature - SIMPLEPERF_FEATURE_FILE < simpleperf_count)
		return simpleperf_names[feature - SIMPLEPERF_FEATURE_FILE];
	return NULL;
}
