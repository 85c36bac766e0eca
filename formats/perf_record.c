/*
 * perf_record.c - the bytes of one perf.data record to a struct.
 *
 * Keeps no state and opens nothing; perf.c knows where records are and what becomes of them.
 */
#include "perf.h"

#include <string.h>

#define ATTR_SIZE_VER0 64u /* what attr.size 0 means: the first published layout */

/*
 * The bit field is laid out from the least bit up on little-endian machines, from the most
 * significant bit down on big-endian ones: the same flag has the mirrored place.
 */
static uint64_t reverse_bits(uint64_t v)
{
	uint64_t out = 0;

	for (int i = 0; i < 64; i++)
		out |= (v >> i & 1) << (63 - i);
	return out;
}

/* An attribute that stops short leaves the rest 0: it is older than the field. */
static uint64_t u64_if_there(struct tl_cursor *c)
{
	return tl_cursor_left(c) >= sizeof(uint64_t) ? tl_get_u64(c) : 0;
}

static uint32_t u32_if_there(struct tl_cursor *c)
{
	return tl_cursor_left(c) >= sizeof(uint32_t) ? tl_get_u32(c) : 0;
}

void perf_attr_decode(struct tl_cursor *c, struct perf_attr *attr)
{
	struct tl_cursor head = *c, a;

	memset(attr, 0, sizeof(*attr));
	attr->position = c->base + c->position;
	attr->type = tl_get_u32(&head);
	attr->size = tl_get_u32(&head);
	if (!attr->size)
		attr->size = ATTR_SIZE_VER0;
	a = tl_cursor_sub(c, attr->size);
	tl_skip(&a, 8);
	attr->config = u64_if_there(&a);
	attr->sample_period = u64_if_there(&a);
	attr->sample_type = u64_if_there(&a);
	attr->read_format = u64_if_there(&a);
	attr->flags = u64_if_there(&a);
	if (a.is_big_endian)
		attr->flags = reverse_bits(attr->flags);
	u32_if_there(&a); /* wakeup_events */
	attr->breakpoint_type = u32_if_there(&a);
	attr->config1 = u64_if_there(&a);
	attr->config2 = u64_if_there(&a);
	attr->branch_sample_type = u64_if_there(&a);
	attr->sample_regs_user = u64_if_there(&a);
	attr->sample_stack_user = u32_if_there(&a);
	attr->clockid = (int32_t)u32_if_there(&a);
	attr->sample_regs_intr = u64_if_there(&a);
	/* aux_watermark and all behind it say nothing about the records */
}

size_t perf_trailer_size(const struct perf_attr *attr)
{
	const uint64_t parts = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
			       PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;

	if (!(attr->flags & PERF_ATTR_SAMPLE_ID_ALL))
		return 0;
	return 8 * (size_t)__builtin_popcountll(attr->sample_type & parts);
}

int perf_sample_time_position(const struct perf_attr *attr)
{
	const uint64_t before = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID;

	if (!(attr->sample_type & PERF_SAMPLE_TIME))
		return -1;
	return 8 * __builtin_popcountll(attr->sample_type & before);
}

int perf_sample_id_position(const struct perf_attr *attr)
{
	const uint64_t before =
		PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;

	if (attr->sample_type & PERF_SAMPLE_IDENTIFIER)
		return 0;
	if (!(attr->sample_type & PERF_SAMPLE_ID))
		return -1;
	return 8 * __builtin_popcountll(attr->sample_type & before);
}

enum tl_context perf_context_of_misc(uint16_t misc)
{
	switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
	case 1:
		return TL_CONTEXT_KERNEL;
	case 2:
		return TL_CONTEXT_USER;
	case 3:
		return TL_CONTEXT_HYPERVISOR;
	case 4:
		return TL_CONTEXT_GUEST_KERNEL;
	case 5:
		return TL_CONTEXT_GUEST_USER;
	}
	return TL_CONTEXT_UNKNOWN;
}

bool perf_context_of_marker(uint64_t ip, enum tl_context *context)
{
	if (ip < PERF_CONTEXT_MAX)
		return false;
	switch (ip) {
	case PERF_CONTEXT_HV:
		*context = TL_CONTEXT_HYPERVISOR;
		break;
	case PERF_CONTEXT_KERNEL:
		*context = TL_CONTEXT_KERNEL;
		break;
	case PERF_CONTEXT_USER:
	case PERF_CONTEXT_USER_DEFERRED:
		*context = TL_CONTEXT_USER;
		break;
	case PERF_CONTEXT_GUEST_KERNEL:
		*context = TL_CONTEXT_GUEST_KERNEL;
		break;
	case PERF_CONTEXT_GUEST_USER:
		*context = TL_CONTEXT_GUEST_USER;
		break;
	default: /* also PERF_CONTEXT_GUEST, which does not say which half of the guest */
		*context = TL_CONTEXT_UNKNOWN;
	}
	return true;
}

/* ---- samples -------------------------------------------------------------------------------- */

static void get_read(struct tl_cursor *c, const struct perf_attr *attr, struct perf_sample *out)
{
	uint64_t format = attr->read_format;
	size_t times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
		       !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	size_t more = !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);

	if (format & PERF_FORMAT_GROUP) {
		out->read_count = tl_get_u64(c);
		tl_skip(c, 8 * times);
		out->read_values = tl_get_array(c, out->read_count, 8 * (1 + more));
	} else { /* the times stand between the value and its id */
		out->read_count = 1;
		out->read_values = tl_get_bytes(c, 8 * (1 + times + more));
	}
}

static void get_branch_stack(struct tl_cursor *c, const struct perf_attr *attr,
			     struct perf_sample *out)
{
	out->branch_count = tl_get_u64(c);
	if (attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		tl_skip(c, 8);
	tl_get_array(c, out->branch_count, 24);
	if (attr->branch_sample_type & PERF_SAMPLE_BRANCH_COUNTERS)
		tl_get_array(c, out->branch_count, 8);
}

static const uint8_t *get_registers(struct tl_cursor *c, uint64_t mask, uint64_t *abi)
{
	*abi = tl_get_u64(c);
	return *abi ? tl_get_array(c, (uint64_t)__builtin_popcountll(mask), 8) : NULL;
}

static void get_user_stack(struct tl_cursor *c, struct perf_sample *out)
{
	uint64_t size = tl_get_u64(c), copied;

	if (!size)
		return;
	out->stack = tl_get_array(c, size, 1);
	copied = tl_get_u64(c);
	if (out->stack)
		out->stack_size = (size_t)(copied < size ? copied : size);
}

static void get_weights(struct tl_cursor *c, uint64_t type, struct perf_sample *out)
{
	if (type & PERF_SAMPLE_WEIGHT_STRUCT) {
		/* one u64 on the wire, whose parts are in the machine's own order */
		uint32_t low = tl_get_u32(c);
		uint32_t high = tl_get_u32(c);

		out->weight = c->is_big_endian ? high : low;
		out->has_more_weights = c->is_big_endian ? low : high;
	} else if (type & PERF_SAMPLE_WEIGHT) {
		out->weight = tl_get_u64(c);
	}
}

/* Fields behind the stack, in the order of the kernel's perf_output_sample. */
static void get_rare_fields(struct tl_cursor *c, const struct perf_attr *attr,
			    struct perf_sample *out)
{
	uint64_t type = attr->sample_type;

	if (type & PERF_SAMPLE_BRANCH_STACK)
		get_branch_stack(c, attr, out);
	if (type & PERF_SAMPLE_REGS_USER)
		out->user_regs = get_registers(c, attr->sample_regs_user, &out->user_abi);
	if (type & PERF_SAMPLE_STACK_USER)
		get_user_stack(c, out);
	get_weights(c, type, out);
	if (type & PERF_SAMPLE_DATA_SRC)
		out->data_source = tl_get_u64(c);
	if (type & PERF_SAMPLE_TRANSACTION)
		out->transaction = tl_get_u64(c);
	if (type & PERF_SAMPLE_REGS_INTR)
		get_registers(c, attr->sample_regs_intr, &out->intr_abi);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		out->physical_address = tl_get_u64(c);
	if (type & PERF_SAMPLE_CGROUP)
		out->cgroup = tl_get_u64(c);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		out->data_page_size = tl_get_u64(c);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		out->code_page_size = tl_get_u64(c);
	if (type & PERF_SAMPLE_AUX) {
		out->aux_size = tl_get_u64(c);
		tl_get_array(c, out->aux_size, 1);
	}
}

int perf_sample_decode(const struct perf_raw *raw, const struct perf_attr *attr,
		       struct perf_sample *out, struct tl_error *err)
{
	const uint64_t common = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
				PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
				PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
				PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW;
	uint64_t type = attr->sample_type;
	struct tl_cursor c;

	memset(out, 0, sizeof(*out));
	tl_cursor_init(&c, raw->body, raw->body_size, raw->offset + PERF_RECORD_HEADER_SIZE,
		       raw->is_big_endian);
	if (type & PERF_SAMPLE_IDENTIFIER)
		out->id = tl_get_u64(&c);
	if (type & PERF_SAMPLE_IP)
		out->ip = tl_get_u64(&c);
	if (type & PERF_SAMPLE_TID) {
		out->pid = (int32_t)tl_get_u32(&c);
		out->tid = (int32_t)tl_get_u32(&c);
	}
	if (type & PERF_SAMPLE_TIME)
		out->time = tl_get_u64(&c);
	if (type & PERF_SAMPLE_ADDR)
		out->address = tl_get_u64(&c);
	if (type & PERF_SAMPLE_ID)
		out->id = tl_get_u64(&c);
	if (type & PERF_SAMPLE_STREAM_ID)
		out->stream_id = tl_get_u64(&c);
	if (type & PERF_SAMPLE_CPU) {
		out->cpu = tl_get_u32(&c);
		tl_skip(&c, 4);
	}
	out->period = type & PERF_SAMPLE_PERIOD ? tl_get_u64(&c) : attr->sample_period;
	if (type & PERF_SAMPLE_READ)
		get_read(&c, attr, out);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		out->chain_count = tl_get_u64(&c);
		out->chain = tl_get_array(&c, out->chain_count, 8);
	}
	if (type & PERF_SAMPLE_RAW) {
		out->raw_size = tl_get_u32(&c);
		out->raw = tl_get_bytes(&c, out->raw_size);
	}
	if (type & ~common)
		get_rare_fields(&c, attr, out);
	out->unread_size = tl_cursor_left(&c);
	return tl_cursor_check(&c, "sample", err);
}

/* ---- other records -------------------------------------------------------------------------- */

static void get_trailer(struct tl_cursor *c, const struct perf_attr *attr, struct perf_trailer *out)
{
	uint64_t type = attr->sample_type;

	if (type & PERF_SAMPLE_TID) {
		out->pid = (int32_t)tl_get_u32(c);
		out->tid = (int32_t)tl_get_u32(c);
	}
	if (type & PERF_SAMPLE_TIME)
		out->time = tl_get_u64(c);
	if (type & PERF_SAMPLE_ID)
		out->id = tl_get_u64(c);
	if (type & PERF_SAMPLE_STREAM_ID)
		out->stream_id = tl_get_u64(c);
	if (type & PERF_SAMPLE_CPU) {
		out->cpu = tl_get_u32(c);
		tl_skip(c, 4);
	}
	if (type & PERF_SAMPLE_IDENTIFIER)
		out->id = tl_get_u64(c);
}

/* The rest of the body, a text. Borrowed if it is terminated, else copied. */
static const char *rest_as_text(struct tl_cursor *c, struct perf_record *out)
{
	size_t left = tl_cursor_left(c);
	const uint8_t *text = tl_get_bytes(c, left);

	if (text && memchr(text, '\0', left))
		return (const char *)text;
	if (left >= sizeof(out->text))
		left = sizeof(out->text) - 1;
	if (text && left)
		memcpy(out->text, text, left);
	out->text[text ? left : 0] = '\0';
	return out->text;
}

static void get_mmap(struct tl_cursor *c, const struct perf_raw *raw, struct perf_record *out)
{
	out->mmap.pid = (int32_t)tl_get_u32(c);
	out->mmap.tid = (int32_t)tl_get_u32(c);
	out->mmap.start = tl_get_u64(c);
	out->mmap.length = tl_get_u64(c);
	out->mmap.file_offset = tl_get_u64(c);
	out->mmap.has_inode = out->mmap.has_odd_build_id = false;
	out->mmap.protection = 0;
	out->mmap.build_id.size = 0;
	if (raw->type == PERF_RECORD_MMAP2) {
		if (raw->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
			struct tl_cursor id = tl_cursor_sub(c, 24);
			uint8_t size = tl_get_u8(&id);
			const uint8_t *bytes;

			tl_skip(&id, 3);
			bytes = tl_get_bytes(&id, TL_BUILD_ID_MAX);
			out->mmap.has_odd_build_id = size > TL_BUILD_ID_MAX;
			if (bytes && size <= TL_BUILD_ID_MAX) {
				memcpy(out->mmap.build_id.data, bytes, TL_BUILD_ID_MAX);
				out->mmap.build_id.size = size;
			}
		} else {
			out->mmap.has_inode = true;
			out->mmap.major = tl_get_u32(c);
			out->mmap.minor = tl_get_u32(c);
			out->mmap.inode = tl_get_u64(c);
			out->mmap.inode_generation = tl_get_u64(c);
		}
		out->mmap.protection = tl_get_u32(c);
		tl_skip(c, 4); /* flags */
	}
	out->mmap.path = rest_as_text(c, out);
}

static void get_namespaces(struct tl_cursor *c, struct perf_record *out)
{
	const uint64_t pid_namespace = 3; /* PID_NS_INDEX: net, uts, ipc, pid, user, mnt, cgroup */
	const uint8_t *links;
	uint64_t count;

	out->namespaces.pid = (int32_t)tl_get_u32(c);
	out->namespaces.tid = (int32_t)tl_get_u32(c);
	count = tl_get_u64(c);
	links = tl_get_array(c, count, 16); /* device, inode */
	out->namespaces.pid_inode =
		links && count > pid_namespace
			? perf_load_u64(links + 16 * pid_namespace + 8, c->is_big_endian)
			: 0;
}

static void get_body(struct tl_cursor *c, const struct perf_raw *raw, struct perf_record *out)
{
	switch (raw->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		get_mmap(c, raw, out);
		break;
	case PERF_RECORD_COMM:
		out->comm.pid = (int32_t)tl_get_u32(c);
		out->comm.tid = (int32_t)tl_get_u32(c);
		out->comm.name = rest_as_text(c, out);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		out->task.pid = (int32_t)tl_get_u32(c);
		out->task.parent_pid = (int32_t)tl_get_u32(c);
		out->task.tid = (int32_t)tl_get_u32(c);
		out->task.parent_tid = (int32_t)tl_get_u32(c);
		out->task.time = tl_get_u64(c);
		break;
	case PERF_RECORD_LOST:
		out->lost.id = tl_get_u64(c);
		out->lost.count = tl_get_u64(c);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		out->lost.id = 0;
		out->lost.count = tl_get_u64(c);
		break;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		out->throttle.time = tl_get_u64(c);
		out->throttle.id = tl_get_u64(c);
		break;
	case PERF_RECORD_SWITCH_CPU_WIDE:
		out->other.pid = (int32_t)tl_get_u32(c);
		out->other.tid = (int32_t)tl_get_u32(c);
		break;
	case PERF_RECORD_NAMESPACES:
		get_namespaces(c, out);
		break;
	case PERF_RECORD_KSYMBOL:
		out->ksymbol.address = tl_get_u64(c);
		out->ksymbol.length = tl_get_u32(c);
		out->ksymbol.type = tl_get_u16(c);
		out->ksymbol.flags = tl_get_u16(c);
		out->ksymbol.name = rest_as_text(c, out);
		break;
	case PERF_RECORD_CGROUP:
		out->cgroup.id = tl_get_u64(c);
		out->cgroup.path = rest_as_text(c, out);
		break;
	case PERF_RECORD_CALLCHAIN_DEFERRED:
		out->deferred.cookie = tl_get_u64(c);
		out->deferred.count = tl_get_u64(c);
		out->deferred.ips = tl_get_array(c, out->deferred.count, 8);
		break;
	}
}

int perf_record_decode(const struct perf_raw *raw, const struct perf_attr *attr,
		       struct perf_record *out, struct tl_error *err)
{
	size_t trailer_size = attr ? perf_trailer_size(attr) : 0;
	const char *name = perf_record_name(raw->type);
	struct tl_cursor c, body;

	memset(&out->trailer, 0, sizeof(out->trailer));
	tl_cursor_init(&c, raw->body, raw->body_size, raw->offset + PERF_RECORD_HEADER_SIZE,
		       raw->is_big_endian);
	if (raw->body_size < trailer_size)
		return tl_fail_at(err, TL_FORMAT, raw->offset,
				  "%s record of %zu bytes has no room for its sample id of %zu",
				  name ? name : "unknown", raw->body_size + PERF_RECORD_HEADER_SIZE,
				  trailer_size);
	body = tl_cursor_sub(&c, raw->body_size - trailer_size);
	get_body(&body, raw, out);
	if (trailer_size)
		get_trailer(&c, attr, &out->trailer);
	return tl_cursor_check(&body, name ? name : "record", err);
}

const char *perf_record_name(uint32_t type)
{
	static const char *const names[] = {
		[PERF_RECORD_MMAP] = "MMAP",
		[PERF_RECORD_LOST] = "LOST",
		[PERF_RECORD_COMM] = "COMM",
		[PERF_RECORD_EXIT] = "EXIT",
		[PERF_RECORD_THROTTLE] = "THROTTLE",
		[PERF_RECORD_UNTHROTTLE] = "UNTHROTTLE",
		[PERF_RECORD_FORK] = "FORK",
		[PERF_RECORD_READ] = "READ",
		[PERF_RECORD_SAMPLE] = "SAMPLE",
		[PERF_RECORD_MMAP2] = "MMAP2",
		[PERF_RECORD_AUX] = "AUX",
		[PERF_RECORD_ITRACE_START] = "ITRACE_START",
		[PERF_RECORD_LOST_SAMPLES] = "LOST_SAMPLES",
		[PERF_RECORD_SWITCH] = "SWITCH",
		[PERF_RECORD_SWITCH_CPU_WIDE] = "SWITCH_CPU_WIDE",
		[PERF_RECORD_NAMESPACES] = "NAMESPACES",
		[PERF_RECORD_KSYMBOL] = "KSYMBOL",
		[PERF_RECORD_BPF_EVENT] = "BPF_EVENT",
		[PERF_RECORD_CGROUP] = "CGROUP",
		[PERF_RECORD_TEXT_POKE] = "TEXT_POKE",
		[PERF_RECORD_AUX_OUTPUT_HW_ID] = "AUX_OUTPUT_HW_ID",
		[PERF_RECORD_CALLCHAIN_DEFERRED] = "CALLCHAIN_DEFERRED",
		[PERF_RECORD_HEADER_ATTR] = "HEADER_ATTR",
		[PERF_RECORD_HEADER_EVENT_TYPE] = "HEADER_EVENT_TYPE",
		[PERF_RECORD_HEADER_TRACING_DATA] = "HEADER_TRACING_DATA",
		[PERF_RECORD_HEADER_BUILD_ID] = "HEADER_BUILD_ID",
		[PERF_RECORD_FINISHED_ROUND] = "FINISHED_ROUND",
		[PERF_RECORD_ID_INDEX] = "ID_INDEX",
		[PERF_RECORD_AUXTRACE_INFO] = "AUXTRACE_INFO",
		[PERF_RECORD_AUXTRACE] = "AUXTRACE",
		[PERF_RECORD_AUXTRACE_ERROR] = "AUXTRACE_ERROR",
		[PERF_RECORD_THREAD_MAP] = "THREAD_MAP",
		[PERF_RECORD_CPU_MAP] = "CPU_MAP",
		[PERF_RECORD_STAT_CONFIG] = "STAT_CONFIG",
		[PERF_RECORD_STAT] = "STAT",
		[PERF_RECORD_STAT_ROUND] = "STAT_ROUND",
		[PERF_RECORD_EVENT_UPDATE] = "EVENT_UPDATE",
		[PERF_RECORD_TIME_CONV] = "TIME_CONV",
		[PERF_RECORD_HEADER_FEATURE] = "HEADER_FEATURE",
		[PERF_RECORD_COMPRESSED] = "COMPRESSED",
		[PERF_RECORD_FINISHED_INIT] = "FINISHED_INIT",
		[PERF_RECORD_COMPRESSED2] = "COMPRESSED2",
		[PERF_RECORD_BPF_METADATA] = "BPF_METADATA",
		[PERF_RECORD_SCHEDSTAT_CPU] = "SCHEDSTAT_CPU",
		[PERF_RECORD_SCHEDSTAT_DOMAIN] = "SCHEDSTAT_DOMAIN",
	};
	static const char *const simpleperf_names[] = {
		"simpleperf KERNEL_SYMBOL", "simpleperf DSO",
		"simpleperf SYMBOL",	    "simpleperf SPLIT",
		"simpleperf SPLIT_END",	    "simpleperf EVENT_ID",
		"simpleperf CALLCHAIN",	    "simpleperf UNWINDING_RESULT",
		"simpleperf TRACING_DATA",
	};

	if (type < sizeof(names) / sizeof(names[0]))
		return names[type];
	if (type >= SIMPLE_PERF_RECORD_KERNEL_SYMBOL && type <= SIMPLE_PERF_RECORD_TRACING_DATA)
		return simpleperf_names[type - SIMPLE_PERF_RECORD_KERNEL_SYMBOL];
	return NULL;
}
