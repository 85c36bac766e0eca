/*
 * perf.h - what the files of the perf.data importer share: numbers of the format, decoded attributes
 * and records, the events of a recording, the walk over its records.
 *
 * Private to formats/perf*.c, but for `perf_importer`. Numbers carry the names they have in
 * linux/perf_event.h (records below 64), tools/perf's event.h and header.h (records from 64,
 * features), and simpleperf's record.h (records from 32768, features from 128).
 */
#ifndef PERF_H
#define PERF_H

#include "memory.h"
#include "reader.h"

extern const struct tl_importer perf_importer;

/* ---- numbers of the format ------------------------------------------------------------------ */

enum perf_record_type {
	PERF_RECORD_MMAP = 1,
	PERF_RECORD_LOST = 2,
	PERF_RECORD_COMM = 3,
	PERF_RECORD_EXIT = 4,
	PERF_RECORD_THROTTLE = 5,
	PERF_RECORD_UNTHROTTLE = 6,
	PERF_RECORD_FORK = 7,
	PERF_RECORD_READ = 8,
	PERF_RECORD_SAMPLE = 9,
	PERF_RECORD_MMAP2 = 10,
	PERF_RECORD_AUX = 11,
	PERF_RECORD_ITRACE_START = 12,
	PERF_RECORD_LOST_SAMPLES = 13,
	PERF_RECORD_SWITCH = 14,
	PERF_RECORD_SWITCH_CPU_WIDE = 15,
	PERF_RECORD_NAMESPACES = 16,
	PERF_RECORD_KSYMBOL = 17,
	PERF_RECORD_BPF_EVENT = 18,
	PERF_RECORD_CGROUP = 19,
	PERF_RECORD_TEXT_POKE = 20,
	PERF_RECORD_AUX_OUTPUT_HW_ID = 21,
	PERF_RECORD_CALLCHAIN_DEFERRED = 22,
	PERF_RECORD_KERNEL_MAX = 63, /* records below carry a sample id, those above do not */
	PERF_RECORD_HEADER_ATTR = 64,
	PERF_RECORD_HEADER_EVENT_TYPE = 65,
	PERF_RECORD_HEADER_TRACING_DATA = 66,
	PERF_RECORD_HEADER_BUILD_ID = 67,
	PERF_RECORD_FINISHED_ROUND = 68,
	PERF_RECORD_ID_INDEX = 69,
	PERF_RECORD_AUXTRACE_INFO = 70,
	PERF_RECORD_AUXTRACE = 71,
	PERF_RECORD_AUXTRACE_ERROR = 72,
	PERF_RECORD_THREAD_MAP = 73,
	PERF_RECORD_CPU_MAP = 74,
	PERF_RECORD_STAT_CONFIG = 75,
	PERF_RECORD_STAT = 76,
	PERF_RECORD_STAT_ROUND = 77,
	PERF_RECORD_EVENT_UPDATE = 78,
	PERF_RECORD_TIME_CONV = 79,
	PERF_RECORD_HEADER_FEATURE = 80,
	PERF_RECORD_COMPRESSED = 81,
	PERF_RECORD_FINISHED_INIT = 82,
	PERF_RECORD_COMPRESSED2 = 83,
	PERF_RECORD_BPF_METADATA = 84,
	PERF_RECORD_SCHEDSTAT_CPU = 85,
	PERF_RECORD_SCHEDSTAT_DOMAIN = 86,
	SIMPLE_PERF_RECORD_KERNEL_SYMBOL = 32769,
	SIMPLE_PERF_RECORD_EVENT_ID = 32774,
	SIMPLE_PERF_RECORD_TRACING_DATA = 32777,
	SIMPLE_PERF_RECORD_MAX = 32800
};

#define PERF_RECORD_HEADER_SIZE 8u /* u32 type, u16 misc, u16 size */

#define PERF_RECORD_MISC_CPUMODE_MASK	  7u
#define PERF_RECORD_MISC_MMAP_DATA	  (1u << 13)
#define PERF_RECORD_MISC_COMM_EXEC	  (1u << 13)
#define PERF_RECORD_MISC_SWITCH_OUT	  (1u << 13)
#define PERF_RECORD_MISC_SWITCH_PREEMPT	  (1u << 14)
#define PERF_RECORD_MISC_MMAP_BUILD_ID	  (1u << 14)
#define PERF_RECORD_MISC_BUILD_ID_SIZE	  (1u << 15)
#define PERF_RECORD_MISC_LOST_SAMPLES_BPF (1u << 15)
#define PERF_RECORD_KSYMBOL_UNREGISTER	  (1u << 0)
#define PERF_RECORD_KSYMBOL_TYPE_BPF	  1u
#define PERF_AUX_PROT_JIT_SYMFILE_MAP	  0x4000u /* simpleperf: addresses are absolute */

enum perf_attr_type {
	PERF_TYPE_HARDWARE,
	PERF_TYPE_SOFTWARE,
	PERF_TYPE_TRACEPOINT,
	PERF_TYPE_HW_CACHE,
	PERF_TYPE_RAW,
	PERF_TYPE_BREAKPOINT
};
#define PERF_COUNT_SW_CPU_CLOCK	 0u
#define PERF_COUNT_SW_TASK_CLOCK 1u
#define PERF_COUNT_SW_DUMMY	 9u

#define PERF_SAMPLE_IP		   (1u << 0)
#define PERF_SAMPLE_TID		   (1u << 1)
#define PERF_SAMPLE_TIME	   (1u << 2)
#define PERF_SAMPLE_ADDR	   (1u << 3)
#define PERF_SAMPLE_READ	   (1u << 4)
#define PERF_SAMPLE_CALLCHAIN	   (1u << 5)
#define PERF_SAMPLE_ID		   (1u << 6)
#define PERF_SAMPLE_CPU		   (1u << 7)
#define PERF_SAMPLE_PERIOD	   (1u << 8)
#define PERF_SAMPLE_STREAM_ID	   (1u << 9)
#define PERF_SAMPLE_RAW		   (1u << 10)
#define PERF_SAMPLE_BRANCH_STACK   (1u << 11)
#define PERF_SAMPLE_REGS_USER	   (1u << 12)
#define PERF_SAMPLE_STACK_USER	   (1u << 13)
#define PERF_SAMPLE_WEIGHT	   (1u << 14)
#define PERF_SAMPLE_DATA_SRC	   (1u << 15)
#define PERF_SAMPLE_IDENTIFIER	   (1u << 16)
#define PERF_SAMPLE_TRANSACTION	   (1u << 17)
#define PERF_SAMPLE_REGS_INTR	   (1u << 18)
#define PERF_SAMPLE_PHYS_ADDR	   (1u << 19)
#define PERF_SAMPLE_AUX		   (1u << 20)
#define PERF_SAMPLE_CGROUP	   (1u << 21)
#define PERF_SAMPLE_DATA_PAGE_SIZE (1u << 22)
#define PERF_SAMPLE_CODE_PAGE_SIZE (1u << 23)
#define PERF_SAMPLE_WEIGHT_STRUCT  (1u << 24)
#define PERF_SAMPLE_KNOWN	   ((1u << 25) - 1)

#define PERF_SAMPLE_BRANCH_HW_INDEX (1u << 17)
#define PERF_SAMPLE_BRANCH_COUNTERS (1u << 19)

#define PERF_FORMAT_TOTAL_TIME_ENABLED (1u << 0)
#define PERF_FORMAT_TOTAL_TIME_RUNNING (1u << 1)
#define PERF_FORMAT_ID		       (1u << 2)
#define PERF_FORMAT_GROUP	       (1u << 3)
#define PERF_FORMAT_LOST	       (1u << 4)
#define PERF_FORMAT_KNOWN	       ((1u << 5) - 1)

/* Bits of perf_event_attr behind read_format, as on a little-endian machine. */
#define PERF_ATTR_INHERIT	 (1ull << 1)
#define PERF_ATTR_EXCLUDE_USER	 (1ull << 4)
#define PERF_ATTR_EXCLUDE_KERNEL (1ull << 5)
#define PERF_ATTR_EXCLUDE_HV	 (1ull << 6)
#define PERF_ATTR_FREQ		 (1ull << 10)
#define PERF_ATTR_PRECISE_SHIFT	 15 /* two bits */
#define PERF_ATTR_SAMPLE_ID_ALL	 (1ull << 18)
#define PERF_ATTR_EXCLUDE_HOST	 (1ull << 19)
#define PERF_ATTR_EXCLUDE_GUEST	 (1ull << 20)
#define PERF_ATTR_USE_CLOCKID	 (1ull << 25)

/* Not addresses, but what the addresses behind them are. */
#define PERF_CONTEXT_HV		   ((uint64_t)-32)
#define PERF_CONTEXT_KERNEL	   ((uint64_t)-128)
#define PERF_CONTEXT_USER	   ((uint64_t)-512)
#define PERF_CONTEXT_USER_DEFERRED ((uint64_t)-640) /* a cookie follows, not an address */
#define PERF_CONTEXT_GUEST	   ((uint64_t)-2048)
#define PERF_CONTEXT_GUEST_KERNEL  ((uint64_t)-2176)
#define PERF_CONTEXT_GUEST_USER	   ((uint64_t)-2560)
#define PERF_CONTEXT_MAX	   ((uint64_t)-4095)

enum perf_feature {
	HEADER_TRACING_DATA = 1,
	HEADER_BUILD_ID = 2,
	HEADER_HOSTNAME = 3,
	HEADER_OSRELEASE = 4,
	HEADER_VERSION = 5,
	HEADER_ARCH = 6,
	HEADER_NRCPUS = 7,
	HEADER_CPUDESC = 8,
	HEADER_CPUID = 9,
	HEADER_TOTAL_MEM = 10,
	HEADER_CMDLINE = 11,
	HEADER_EVENT_DESC = 12,
	HEADER_PMU_MAPPINGS = 16,
	HEADER_GROUP_DESC = 17,
	HEADER_SAMPLE_TIME = 21,
	HEADER_CLOCKID = 23,
	HEADER_DIR_FORMAT = 24,
	HEADER_COMPRESSED = 27,
	HEADER_CLOCK_DATA = 29,
	SIMPLEPERF_FEATURE_FILE = 128,
	SIMPLEPERF_FEATURE_META_INFO = 129,
	SIMPLEPERF_FEATURE_FILE2 = 132,
	PERF_FEATURE_MAX = 256
};

/* ---- one record's bytes (perf_record.c) ----------------------------------------------------- */

struct perf_attr {	   /* perf_event_attr; what the file does not have is 0 */
	uint64_t position; /* in the file */
	uint32_t type, size;
	uint64_t config;
	uint64_t sample_period; /* or frequency, with PERF_ATTR_FREQ */
	uint64_t sample_type, read_format, flags;
	uint32_t breakpoint_type;
	uint64_t config1, config2, branch_sample_type, sample_regs_user;
	uint32_t sample_stack_user;
	int32_t clockid;
	uint64_t sample_regs_intr;
};

/* A record as it lies in the data: its header read, its body borrowed. */
struct perf_raw {
	uint32_t type;
	uint16_t misc;
	const uint8_t *body; /* behind the header */
	size_t body_size;
	uint64_t offset;  /* in the file; of the compressed record if it was inside one */
	bool is_inflated; /* came out of a compressed record */
	bool is_big_endian;
	uint64_t payload_offset, payload_size; /* bytes that belong to it, but follow it */
};

struct perf_sample {
	uint64_t id, ip, time, address, stream_id, period;
	int32_t pid, tid;
	uint32_t cpu;
	uint64_t read_count; /* counter values: one, or one a member of the group */
	const uint8_t *read_values;
	const uint8_t *chain;
	uint64_t chain_count;
	const uint8_t *raw;
	size_t raw_size;
	uint64_t branch_count;
	uint64_t user_abi, intr_abi;
	const uint8_t *user_regs;
	const uint8_t *stack;
	size_t stack_size; /* bytes that were really copied */
	uint64_t weight;
	bool has_more_weights; /* WEIGHT_STRUCT: its second and third part are not 0 */
	uint64_t data_source, transaction, physical_address, cgroup;
	uint64_t data_page_size, code_page_size, aux_size;
	size_t unread_size; /* bytes behind the last known field */
};

/* The sample id at the end of other records. */
struct perf_trailer {
	uint64_t time, id, stream_id;
	int32_t pid, tid;
	uint32_t cpu;
};

/* Anything but a sample that becomes an event. Texts are borrowed from the record or from `text`. */
struct perf_record {
	struct perf_trailer trailer;
	union {
		struct {
			int32_t pid, tid;
			uint64_t start, length, file_offset;
			bool has_inode, has_odd_build_id;
			uint32_t major, minor, protection;
			uint64_t inode, inode_generation;
			struct tl_build_id build_id;
			const char *path;
		} mmap;
		struct {
			int32_t pid, tid;
			const char *name;
		} comm;
		struct {
			int32_t pid, parent_pid, tid, parent_tid;
			uint64_t time;
		} task; /* FORK, EXIT */
		struct {
			uint64_t id, count;
		} lost; /* LOST; LOST_SAMPLES has the id in its trailer */
		struct {
			uint64_t time, id;
		} throttle;
		struct {
			int32_t pid, tid;
		} other; /* SWITCH_CPU_WIDE: next on the way out, previous on the way in */
		struct {
			int32_t pid, tid;
			uint64_t pid_inode; /* 0 not recorded */
		} namespaces;
		struct {
			uint64_t address;
			uint32_t length;
			uint16_t type, flags;
			const char *name;
		} ksymbol;
		struct {
			uint64_t id;
			const char *path;
		} cgroup;
		struct {
			uint64_t cookie, count;
			const uint8_t *ips;
		} deferred;
	};
	char text[UINT16_MAX + 1]; /* room for a text that is not terminated in the record */
};

/* Steps over attr.size bytes. */
void perf_attr_decode(struct tl_cursor *c, struct perf_attr *attr);
int perf_sample_decode(const struct perf_raw *raw, const struct perf_attr *attr,
		       struct perf_sample *out, struct tl_error *err);
/* `attr` says what the trailer holds; NULL: there is none. */
int perf_record_decode(const struct perf_raw *raw, const struct perf_attr *attr,
		       struct perf_record *out, struct tl_error *err);
/* Bytes of the trailer. */
size_t perf_trailer_size(const struct perf_attr *attr);
/* Where in the body of a sample a field is: 0, 8, ...; -1 absent. */
int perf_sample_time_position(const struct perf_attr *attr);
int perf_sample_id_position(const struct perf_attr *attr);
enum tl_context perf_context_of_misc(uint16_t misc);
/* False if `ip` is no marker. */
bool perf_context_of_marker(uint64_t ip, enum tl_context *context);
const char *perf_record_name(uint32_t type); /* "MMAP2"; NULL unknown */

static inline uint64_t perf_load_u64(const uint8_t *p, bool is_big_endian)
{
	uint64_t v;

	__builtin_memcpy(&v, p, sizeof(v));
	return is_big_endian == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) ? v : __builtin_bswap64(v);
}

/* ---- the events of a recording (perf_events.c, perf_name.c) ---------------------------------- */

enum perf_name_source { /* a later one is better */
			PERF_NAME_NONE,
			PERF_NAME_EVENT_TYPE,
			PERF_NAME_META_INFO,
			PERF_NAME_EVENT_DESC,
			PERF_NAME_EVENT_UPDATE
};

struct perf_event {
	struct perf_attr attr;
	const char *name;
	enum perf_name_source name_source;
	int time_position, id_position;
};

struct perf_id {
	uint64_t id;
	uint32_t event;
};

struct perf_events {
	struct perf_event *list;
	size_t count, capacity;
	struct perf_id *ids;
	size_t id_count, id_capacity;
	struct tl_index id_index;
	uint64_t last_id;
	uint32_t last_event;
	bool has_last;
	bool is_ambiguous;     /* records cannot be told apart; see perf_events_check */
	int time_position;     /* the same in all samples; -1 none, -2 differs */
	int id_position;       /* the same in all samples; -1 none */
	bool has_identifier;   /* all events: first in samples, last in other records */
	struct tl_arena arena; /* names */
};

#define PERF_POSITION_DIFFERS -2

int perf_events_add(struct perf_events *events, const struct perf_attr *attr, struct tl_error *err);
int perf_events_add_id(struct perf_events *events, uint64_t id, uint32_t event,
		       struct tl_error *err);
int64_t perf_events_find(struct perf_events *events, uint64_t id); /* -1 unknown */
/* TL_UNSUPPORTED if samples of these events cannot be told apart; in words. */
int perf_events_check(const struct perf_events *events, struct tl_error *err);
int perf_events_rename(struct perf_events *events, uint32_t event, enum perf_name_source source,
		       const char *name, size_t len, struct tl_error *err);
/* The event of a sample, or of another record by its trailer. *is_unknown: its id is not listed. */
uint32_t perf_events_of_sample(struct perf_events *events, const struct perf_raw *raw,
			       bool *is_unknown);
uint32_t perf_events_of_record(struct perf_events *events, const struct perf_raw *raw);
void perf_events_release(struct perf_events *events);

/* As perf names an event that was not named in the file. `pmu` and `tracepoint` may be NULL. */
void perf_name_event(struct tl_text *out, const struct perf_attr *attr, const char *pmu,
		     const char *tracepoint);
/* What else is known of an event, as a JSON object. */
void perf_name_detail(struct tl_text *out, const struct perf_attr *attr);
const char *perf_clock_name(const struct perf_attr *attr); /* "monotonic", "perf" */

/* ---- facts of the header (perf_header.c, perf_feature.c) ------------------------------------- */

struct perf_section {
	uint64_t offset, size;
};

struct perf_meta {
	const char *key, *value;
};

struct perf_build_id {
	const char *path;
	struct tl_build_id build_id;
	int32_t pid;
	enum tl_context context;
};

struct perf_pmu {
	uint32_t type;
	const char *name;
};

struct perf_event_name { /* to be given to an event when all events are known */
	const char *name;
	enum perf_name_source source;
	uint32_t index; /* of the event; UINT32_MAX unknown */
	uint64_t id;	/* of the event; 0 unknown */
	bool has_config;
	uint64_t config; /* names every event of this config */
	uint32_t type;	 /* UINT32_MAX any */
};

struct perf_facts {
	struct perf_meta *metas;
	size_t meta_count, meta_capacity;
	struct perf_build_id *build_ids;
	size_t build_id_count, build_id_capacity;
	struct perf_pmu *pmus;
	size_t pmu_count, pmu_capacity;
	struct perf_event_name *names;
	size_t name_count, name_capacity;
	uint32_t event_type_count;
	bool has_clock_data, has_sample_time, has_dir_format, is_simpleperf;
	uint32_t clock_id;
	uint64_t wall_clock_ns, clock_ns; /* read together */
	uint64_t first_ns, last_ns;	  /* SAMPLE_TIME */
	struct tl_arena arena;
	struct tl_index build_id_index;
};

void perf_facts_release(struct perf_facts *facts);
int perf_facts_meta(struct perf_facts *facts, const char *key, const char *value, size_t len,
		    struct tl_error *err);
/* `name->name` is taken from `text`, up to its first NUL. */
int perf_facts_name(struct perf_facts *facts, const struct perf_event_name *name, const char *text,
		    size_t len, struct tl_error *err);
/* The content of one feature, from the table of a file or from a HEADER_FEATURE record. */
int perf_feature_decode(struct perf_facts *facts, unsigned feature, struct tl_cursor *c,
			struct tl_error *err);
/* The body of a build-id entry, of the table or of a record. */
int perf_build_id_decode(struct perf_facts *facts, struct tl_cursor *c, uint16_t misc, bool has_pid,
			 struct tl_error *err);
int perf_event_type_decode(struct perf_facts *facts, struct tl_cursor *c, struct tl_error *err);
int perf_event_update_decode(struct perf_facts *facts, struct tl_cursor *c, struct tl_error *err);
const char *perf_feature_name(unsigned feature); /* "HOSTNAME"; NULL unknown */
const char *perf_facts_pmu(const struct perf_facts *facts, uint32_t type);

/* What a table lacks: the first place in words, and how many there are. */
struct perf_lack {
	struct tl_error first;
	uint64_t count;
};

struct perf_header {
	bool is_pipe, is_big_endian;
	uint64_t file_size;
	struct perf_section data; /* size 0: the recorder was killed, or a pipe */
	struct perf_section event_types;
	struct {
		unsigned feature;
		struct perf_section section;
	} features[PERF_FEATURE_MAX];
	size_t feature_count;
	size_t features_expected; /* more than feature_count: the table is not there, or cut */
	struct perf_lack ids_lack, attrs_lack;
};

int perf_header_probe(const uint8_t *head, size_t len); /* as tl_importer.probe */
/* The header and, in file mode, events with their ids, and the feature table. */
int perf_header_read(struct perf_header *header, struct perf_events *events, struct tl_input *in,
		     struct tl_error *err);
/* The bytes of a section that are there, at most `limit`; *data is the caller's to free. */
int perf_section_read(struct tl_input *in, struct perf_section section, size_t limit,
		      uint8_t **data, size_t *len, struct tl_error *err);

/* simpleperf's META_INFO: key NUL value NUL ... */
int perf_meta_info_decode(struct perf_facts *facts, struct tl_cursor *c, struct tl_error *err);
/* simpleperf's FILE (128) and FILE2 (132): one event for each binary in the section. */
int perf_symbols_emit(const uint8_t *data, size_t len, uint64_t base, unsigned feature,
		      struct tl_sink *sink, struct tl_error *err);

/* ---- walking the records (perf_stream.c, perf_compressed.c) ---------------------------------- */

struct perf_inflater; /* the records inside compressed records: one stream over all of them */

int perf_inflater_open(struct perf_inflater **out, struct tl_error *err);
void perf_inflater_close(struct perf_inflater *inflater); /* accepts NULL */
/* Compressed bytes, borrowed until perf_inflater_next returned 0. */
void perf_inflater_feed(struct perf_inflater *inflater, const uint8_t *data, size_t len);
/* At least `want` bytes at *data: their number, 0 when more must be fed first, <0 damage. */
int64_t perf_inflater_peek(struct perf_inflater *inflater, size_t want, const uint8_t **data,
			   struct tl_error *err);
void perf_inflater_skip(struct perf_inflater *inflater, size_t len);
size_t perf_inflater_rest(const struct perf_inflater *inflater); /* bytes of an unfinished record */

struct perf_stream {
	struct tl_input *in;
	uint64_t offset, end;  /* of the next record; of the data */
	uint64_t declared_end; /* where the header says that they end; UINT64_MAX unknown */
	bool is_big_endian, is_pipe;
	const uint8_t *window;
	size_t window_size;
	uint64_t window_offset;
	struct perf_inflater *inflater;
	bool is_inflating;
	uint64_t compressed_offset; /* of the record being inflated */
};

enum perf_next {
	PERF_NEXT_END,
	PERF_NEXT_RECORD,
	PERF_NEXT_DAMAGED,   /* nothing can be read from here; err says why */
	PERF_NEXT_TRUNCATED, /* the data end too early; err says how */
	PERF_NEXT_TEXT	     /* text of a terminal follows the records; err says which */
};

void perf_stream_init(struct perf_stream *s, struct tl_input *in, struct perf_section data,
		      uint64_t file_size, bool is_pipe, bool is_big_endian);
/* enum perf_next, or a negative status. *raw is borrowed until the next call. */
int perf_stream_next(struct perf_stream *s, struct perf_raw *raw, struct tl_error *err);
void perf_stream_release(struct perf_stream *s);

#endif
