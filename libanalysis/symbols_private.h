/*
 * symbols_private.h - private to symbols*.c: sorted tables of names, ELF files opened with care, and
 * the finders of each kind of binary. Nothing outside symbols*.c includes it.
 */
#ifndef TL_SYMBOLS_PRIVATE_H
#define TL_SYMBOLS_PRIVATE_H

#include <sys/stat.h>

#include "archive.h"
#include "memory.h"
#include "symbols.h"

/* ---- a table of names: symbols_table.c ----------------------------------------------------- */

enum {
	SYMBOLS_PLT = 1,     /* shown with "@plt" behind the name of what it calls */
	SYMBOLS_GUESSED = 2, /* had no size: reaches to the next one, whatever that is */
};

enum { SYMBOLS_LOCAL, SYMBOLS_GLOBAL, SYMBOLS_WEAK }; /* as STB_* */

/* One name; 24 bytes, because a kernel has 120 000 and a large C++ program a million. */
struct symbols_entry {
	uint64_t start;
	uint32_t size;	 /* saturates; 0: unknown, until ends are set */
	uint32_t name;	 /* offset into the strings */
	uint32_t shown;	 /* index + 1 of the name as shown; 0: nobody asked yet. Like perf, until
			    finished: as which it was added */
	uint16_t module; /* kallsyms: 0 is the kernel itself */
	uint8_t binding;
	uint8_t flags;
};

struct symbols_table {
	struct symbols_entry *entries;
	size_t count, capacity;
	char *strings; /* blocks of terminated names, one behind the other */
	size_t strings_size;
	uint32_t *wider; /* nearest entry before this one, of those with a size, that ends after it;
			    NULL: no overlaps */
	bool is_mangled; /* aliases are judged by their demangled names */
	/* as perf has it: see symbols_perf_tree.c */
	bool is_like_perf; /* set before anything is added */
	struct symbols_perf_tree *tree;
	struct symbols_stage {
		uint32_t end; /* entries that had been added then */
		bool has_aliases;
	} stages[3];
	size_t stage_count;
	struct tl_arena shown_arena;
	struct symbols_shown {
		const char *name, *linkage_name;
	} * shown;
	size_t shown_count, shown_capacity;
};

void symbols_table_release(struct symbols_table *table);
/* What was added until now came together; aliases among it are sorted out before more comes. */
void symbols_table_end_stage(struct symbols_table *table, bool has_aliases);
/* Of two names of one place, is it the first that is shown? */
bool symbols_table_prefers(const struct symbols_table *table, const struct symbols_entry *a,
			   const struct symbols_entry *b);
/* Appends `size` bytes and a terminator; *base is where they begin. */
int symbols_table_add_strings(struct symbols_table *table, const char *bytes, size_t size,
			      uint32_t *base, struct tl_error *err);
int symbols_table_add(struct symbols_table *table, const struct symbols_entry *entry,
		      struct tl_error *err);
/*
 * Sorts by address; among equal addresses the order of adding stays, because the choice between
 * aliases depends on it.
 */
int symbols_table_sort(struct symbols_table *table, struct tl_error *err);
/* Gives entries without a size the room up to the next one; sorted only. */
void symbols_table_set_ends(struct symbols_table *table);
/* Ready for lookups: call after the last change. */
int symbols_table_finish(struct symbols_table *table, struct tl_error *err);
/* The entry that names `address`, aliases resolved as perf does; NULL: none. */
struct symbols_entry *symbols_table_find(const struct symbols_table *table, uint64_t address);
/* The name as shown and as in the file; made once per entry that is asked for. */
int symbols_table_show(struct symbols_table *table, struct symbols_entry *entry,
		       const struct symbols_shown **out, struct tl_error *err);

static inline const char *symbols_table_name(const struct symbols_table *table,
					     const struct symbols_entry *entry)
{
	return table->strings + entry->name;
}

struct symbols_perf_tree;

int symbols_perf_tree_make(struct symbols_table *table, struct tl_error *err);
struct symbols_entry *symbols_perf_tree_find(const struct symbols_table *table, uint64_t address);
void symbols_perf_tree_release(struct symbols_perf_tree *tree); /* accepts NULL */

/* ---- files: symbols_file.c ------------------------------------------------------------------ */

bool symbols_build_id_equal(const struct tl_build_id *a, const struct tl_build_id *b);
/* Hex digits into `buf`, which has room for 2 * TL_BUILD_ID_MAX + 1; returns buf. */
char *symbols_build_id_text(const struct tl_build_id *id, char *buf);

/* Where bytes are: a file of the file system, or one of an archive, whose name is only for people. */
struct symbols_place {
	const char *path;
	const struct tl_archive_file *archived; /* NULL: a file */
};

/* A copy of the path is the caller's to free. */
int symbols_place_copy(struct symbols_place *out, const struct symbols_place *place,
		       struct tl_error *err);

/* Opens a regular file for reading; -1 with errno otherwise. Never waits on a FIFO or a device. */
int symbols_open_regular(const char *path, struct stat *st);
/* The whole of a regular file (or of a /proc file) up to `limit` bytes, terminated by a NUL. */
int symbols_read_file(const char *path, size_t limit, char **data, size_t *size,
		      struct tl_error *err);
int symbols_read_place(const struct symbols_place *place, size_t limit, char **data, size_t *size,
		       struct tl_error *err);

/*
 * The bytes of a file that was opened before, for those who need all of it at once. Small files are
 * copied, so that nothing can happen to them. Large ones are mapped: they would fill the memory
 * budget, and those who replace programs rename a new file over the old one or unlink it first,
 * which leaves the mapped one whole.
 */
struct symbols_image {
	const uint8_t *data; /* NULL: there is none */
	size_t size;
	uint8_t *copy;
	bool is_mapped;
};

/*
 * Nothing but the file that `st` describes: one that took its place since is not taken. Files of
 * archives stay what they are.
 */
void symbols_image_open(struct symbols_image *image, const struct symbols_place *place,
			const struct stat *st);
void symbols_image_close(struct symbols_image *image);

/* ---- ELF: symbols_elf.c --------------------------------------------------------------------- */

struct symbols_segment {
	uint64_t vaddr, offset, file_size, memory_size, align;
	bool is_exec;
};

struct symbols_elf {
	char *path;	/* for people, and to find a file again */
	struct stat st; /* of the file when it was opened; st_size 0 for memory and archives */
	int fd;		/* -1 for memory and archives */
	const struct tl_archive_file *archived;
	struct symbols_image image; /* of an archived one */
	uint8_t *memory;	    /* owned: an image that is no file */
	size_t memory_size;
	struct Elf *elf;
	uint16_t machine, type;
	bool is_64, is_big_endian;
	struct tl_build_id build_id;
	size_t symtab, dynsym, opd; /* section numbers, 0: not there */
	char debuglink[256];
	uint32_t debuglink_crc;
	size_t debugdata; /* .gnu_debugdata */
	bool has_code;	  /* machine code is in it: not a file of debug information alone */
	bool has_info;	  /* .debug_info is in it */
};

/*
 * TL_OK, TL_NOTHING (not there), TL_IO (may not be read, not regular), TL_FORMAT (not ELF, damaged)
 * or TL_NOMEM. The memory form takes over `data` (from malloc), also on failure.
 */
int symbols_elf_open(struct symbols_elf *out, const struct symbols_place *place,
		     struct tl_error *err);
int symbols_elf_open_memory(struct symbols_elf *out, const char *name, uint8_t *data, size_t size,
			    struct tl_error *err);
void symbols_elf_close(struct symbols_elf *elf); /* accepts one that was never opened (all zero) */

/*
 * Adds the names of `syms` (its .symtab, and its .dynsym) to the table and finishes it; the
 * .plt stubs and what a debug file lacks come from `runtime`, which may be the same file.
 */
int symbols_elf_load(struct symbols_table *table, struct symbols_elf *syms,
		     struct symbols_elf *runtime, struct tl_error *err);
/* The loadable segments; *out is the caller's to free. */
int symbols_elf_segments(struct symbols_elf *elf, struct symbols_segment **out, size_t *count,
			 struct tl_error *err);
/* A file that may be compressed, inflated up to `limit` bytes. */
int symbols_elf_open_packed(struct symbols_elf *out, const struct symbols_place *place,
			    size_t limit, struct tl_error *err);
/* The GNU build-id among notes; false: none. */
bool symbols_note_build_id(const uint8_t *data, size_t size, size_t align, bool is_big_endian,
			   struct tl_build_id *id);
/* The inner ELF file of .gnu_debugdata; TL_NOTHING when there is none. */
int symbols_elf_open_debugdata(struct symbols_elf *out, struct symbols_elf *elf,
			       struct tl_error *err);

/* ---- the kernel: symbols_kernel.c ----------------------------------------------------------- */

struct symbols_kernel {
	struct symbols_table table; /* of the kernel, and of its modules when it is kallsyms */
	const char **modules;	    /* names, numbered from 1 in the entries */
	size_t module_count, module_capacity;
	uint64_t relocation; /* recorded address = address in the table + relocation */
};

/*
 * Takes over `text` (from malloc, terminated behind `size` bytes), which becomes the table's
 * strings, also on failure. TL_NOTHING: the addresses are all 0. TL_FORMAT: it is no kallsyms.
 */
int symbols_kallsyms_parse(struct symbols_kernel *k, char *text, size_t size, struct tl_error *err);
void symbols_kernel_release(struct symbols_kernel *k);
/* Was this recorded here, since the machine was started? If not, *why says what is different. */
bool symbols_is_this_boot(const struct tl_symbols *symbols, const char **why);
/* Does `pid` run since before `unix_ns`? */
bool symbols_process_is_older(int32_t pid, int64_t unix_ns);

int symbols_load_kernel(struct tl_symbols_dso *dso, struct tl_error *err);
int symbols_load_module(struct tl_symbols_dso *dso, struct tl_error *err);
/* The entry for an offset of a module, in which table, and the offset as an address of that table. */
struct symbols_entry *symbols_find_module(struct tl_symbols_dso *dso, uint64_t offset,
					  struct symbols_table **table, uint64_t *address);

/* ---- code made at run time: symbols_jit.c --------------------------------------------------- */

struct tl_input;

struct symbols_jit {
	struct symbols_table table; /* perf map: in the order of lines; jitdump: the strings only */
	struct symbols_span {
		uint64_t start;
		uint32_t entry; /* of the table; UINT32_MAX: a gap */
	} * spans;
	size_t span_count, span_capacity;
	struct symbols_jit_code {
		struct symbols_entry entry;
		int64_t time, until; /* loaded, moved away */
		uint32_t wider;	     /* nearest earlier one that ends later */
		uint32_t latest;     /* while reading: the last one of this index and address */
	} * codes;
	size_t code_count, code_capacity;
	bool is_timeless; /* times are of a clock that samples do not have */
	char *names;	  /* while reading */
	size_t names_size, name_capacity;
	struct tl_index by_code; /* while reading: first one of a code index and address */
};

/* Takes over `text` (from malloc, terminated behind `size` bytes), also on failure. */
int symbols_perf_map_parse(struct symbols_jit *jit, char *text, size_t size, struct tl_error *err);
/* `damage` is filled when a part could not be read; what came before it is kept. */
int symbols_jitdump_read(struct symbols_jit *jit, struct tl_input *in, struct tl_error *damage,
			 struct tl_error *err);
struct symbols_entry *symbols_jit_find(struct symbols_jit *jit, uint64_t ip, int64_t ts);
void symbols_jit_release(struct symbols_jit *jit);
int symbols_load_perf_map(struct tl_symbols_dso *dso, struct tl_error *err);
int symbols_load_jitdump(struct tl_symbols_dso *dso, struct tl_error *err);

/* ---- inlined calls: symbols_inline.c -------------------------------------------------------- */

struct symbols_inlines;

/* Takes over the image, also on failure. Without DWARF in it, asking finds nothing. */
int symbols_inlines_open(struct symbols_inlines **out, struct symbols_image *image,
			 struct tl_error *err);
void symbols_inlines_close(struct symbols_inlines *inlines); /* accepts NULL */
/* As tl_symbols_inlines, for an address of the file. */
int symbols_inlines_find(struct symbols_inlines *inlines, uint64_t address,
			 const struct tl_inline_frame **out, struct tl_error *err);

/* ---- where files are: symbols_find.c -------------------------------------------------------- */

/* One place to look at. Return 1: enough, stop; 0: go on; <0 error. */
typedef int (*symbols_visit_fn)(const struct symbols_place *place, void *payload,
				struct tl_error *err);

/*
 * The files named `leaf` ("elf", "debug", "vdso", "kallsyms") that build-id caches hold for `id`:
 * those given, archives of them, then ~/.debug. All layouts of perf, and links that became text
 * files.
 */
int symbols_visit_caches(const struct tl_symbols *symbols, const struct tl_build_id *id,
			 const char *leaf, symbols_visit_fn visit, void *payload,
			 struct tl_error *err);
/* <cache>/[section]/<build-id>/leaf, for kernels and vdsos; of archives the above has them already. */
int symbols_visit_cache_section(const struct tl_symbols *symbols, const char *section,
				const struct tl_build_id *id, const char *leaf,
				symbols_visit_fn visit, void *payload, struct tl_error *err);
/* Separate debug files of `path`: by build-id (may be NULL), by debug link ("" none), by path. */
int symbols_visit_debug(const struct tl_symbols *symbols, const char *path,
			const struct tl_build_id *id, const char *debuglink, symbols_visit_fn visit,
			void *payload, struct tl_error *err);
/* `path` below --symfs when there is one. */
int symbols_visit_path(const struct tl_symbols *symbols, const char *path, symbols_visit_fn visit,
		       void *payload, struct tl_error *err);

/* ---- one recording, one binary: symbols.c --------------------------------------------------- */

struct symbols_provided {
	const char *path;
	enum tl_context context;
	bool has_segment;
	uint64_t segment_vaddr, segment_offset;
	struct symbols_table table;
};

struct tl_symbols {
	struct tl_arena arena; /* strings of options, recording and descriptions */
	struct tl_symbol_options options;
	struct tl_recording recording;
	const char *home_cache; /* ~/.debug, or NULL */
	bool is_other_host;	/* known to be recorded on another machine */
	bool is_same_host;	/* known to be recorded on this one */
	struct tl_symbols_dso **dsos;
	size_t dso_count, dso_capacity;
	struct tl_index index;
	struct symbols_provided *provided;
	size_t provided_count, provided_capacity;
};

struct tl_symbols_dso {
	struct tl_symbols *symbols;
	struct tl_dso_description description;
	bool is_loaded;
	int load_error; /* TL_NOMEM while loading */
	enum tl_dso_status status;
	const char *file, *reason;	   /* in the arena */
	struct symbols_provided *provided; /* names that the recording carries, or NULL */
	struct symbols_table table;
	struct symbols_segment *segments;
	size_t segment_count;
	struct symbols_jit jit;
	struct symbols_kernel kernel;
	struct tl_symbols_dso *module_kernel; /* a module named by the kernel's table */
	uint16_t module_number;
	/* for the unwinder: where the code is, and its bytes when they were asked for */
	struct symbols_place runtime, info; /* paths are owned; info: with .debug_info */
	struct stat runtime_st, info_st;
	struct symbols_image image;
	struct tl_symbols_image shown_image;
	bool is_image_tried, are_inlines_tried;
	struct symbols_inlines *inlines;
};

/* Binaries of user space and the vdso: symbols_load.c. */
int symbols_load_file(struct tl_symbols_dso *dso, struct tl_error *err);

/* Sets status and reason, unless a status that says more is there already. */
int symbols_note(struct tl_symbols_dso *dso, enum tl_dso_status status, struct tl_error *err,
		 const char *fmt, ...) TL_PRINTF(4, 5);

#endif
