/*
 * symbols.h - private: from a binary's name, build-id and an offset to a symbol's name. Finds the
 * right file, checks that it is the right one, reads its tables once.
 *
 * An "offset" is what a map makes of an instruction pointer: for user DSOs, vdso and modules
 * ip - map.start + map.file_offset (a file offset); for kernel text, perf maps and jitdumps the ip.
 */
#ifndef TL_SYMBOLS_H
#define TL_SYMBOLS_H

#include "analysis.h"

enum tl_dso_kind {
	TL_DSO_FILE,   /* an ELF file of user space */
	TL_DSO_KERNEL, /* kernel text: vmlinux or kallsyms */
	TL_DSO_MODULE, /* a kernel module */
	TL_DSO_VDSO,
	TL_DSO_PERF_MAP, /* anonymous executable memory: /tmp/perf-PID.map */
	TL_DSO_JITDUMP,	 /* addresses covered by a jit-PID.dump */
	TL_DSO_NAMED,	 /* one symbol that is known already: BPF program, trampoline */
	TL_DSO_UNKNOWN	 /* nothing can name it: [heap], [stack], unmapped */
};

struct tl_dso_description {
	enum tl_dso_kind kind;
	const char *path; /* as recorded, with " (deleted)" and all */
	struct tl_build_id build_id;
	bool has_inode;
	uint32_t major, minor;
	uint64_t inode, inode_generation;
	int32_t pid, inner_pid;	      /* PERF_MAP, JITDUMP: whose; TL_ID_NONE unknown */
	const char *reference_symbol; /* KERNEL: "_text" or "_stext" ... */
	uint64_t reference_address;   /* KERNEL: its address in the recording; 0 unknown */
	uint64_t start, length;	      /* KERNEL, MODULE: where it was loaded */
};

/* About the recording, for deciding what may be trusted. NULL and 0 = unknown. */
struct tl_recording {
	const char *arch, *os_release, *hostname;
	int64_t end_unix_ns;	   /* when it ended, at best the file's date */
	struct tl_build_id kernel; /* build-id of its kernel */
};

enum tl_dso_status {
	TL_DSO_NOT_TRIED,
	TL_DSO_OK,
	TL_DSO_NO_FILE,	 /* found nowhere */
	TL_DSO_MISMATCH, /* a file is there, but it is another build */
	TL_DSO_CHANGED,	 /* no build-id recorded, and the file is newer than the recording */
	TL_DSO_STRIPPED, /* the right file, without symbols */
	TL_DSO_WRONG_ARCH,
	TL_DSO_NOT_ELF,	       /* unreadable or damaged; the text says what */
	TL_DSO_FOREIGN_KERNEL, /* no kernel symbols of the recording's boot; the running one is not it */
	TL_DSO_NOT_APPLICABLE /* nothing could ever name it */
};

struct tl_symbol {
	const char *name; /* demangled as perf does (DMGL_NO_OPTS), lives as long as the table */
	const char *linkage_name; /* as in the file; equal to name when not mangled */
	uint64_t start, size;	  /* in the unit of "offset" */
};

struct tl_inline_frame {
	const char *function; /* demangled, or plain C name */
	const char *file;     /* where the call was inlined into the next outer; NULL unknown */
	uint32_t line;
};

struct tl_symbols;     /* all binaries of one recording */
struct tl_symbols_dso; /* one of them */

int tl_symbols_open(struct tl_symbols **out, const struct tl_symbol_options *opt,
		    const struct tl_recording *recording, struct tl_error *err);
void tl_symbols_close(struct tl_symbols *symbols); /* accepts NULL */

/* Symbols that the recording itself carried, used for `path` before any file. Copied. */
int tl_symbols_provide(struct tl_symbols *symbols, const struct tl_event_dso_symbols *table,
		       struct tl_error *err);

/* Finds or makes the DSO. Opens nothing yet. Equal descriptions give the same pointer. */
int tl_symbols_dso(struct tl_symbols *symbols, const struct tl_dso_description *description,
		   struct tl_symbols_dso **out, struct tl_error *err);

/* Opens what there is, once; tells how it went. Never fails for want of a file. */
enum tl_dso_status tl_symbols_status(struct tl_symbols_dso *dso);
const char *tl_symbols_file(struct tl_symbols_dso *dso); /* the file used, or NULL */
/* One line for `info`: "/usr/bin/x has build-id 12.., recording has 34.."; NULL when all is well. */
const char *tl_symbols_reason(struct tl_symbols_dso *dso);
const char *tl_dso_status_name(enum tl_dso_status status); /* "ok", "no file", "mismatch", ... */

/*
 * 1: found, 0: no symbol there, <0 error. `ts` matters only to JITDUMP, whose times are of
 * CLOCK_MONOTONIC: INT64_MIN when unknown, or when the source's clock is another one.
 */
int tl_symbols_find(struct tl_symbols_dso *dso, uint64_t offset, int64_t ts, struct tl_symbol *out,
		    struct tl_error *err);
/*
 * Inlined frames at `offset`, innermost first, without the outermost (the symbol itself). Count
 * (may be 0), or <0. *out is borrowed until the next call. `file`/`line` of the outermost: the
 * last entry's call site.
 */
int tl_symbols_inlines(struct tl_symbols_dso *dso, uint64_t offset,
		       const struct tl_inline_frame **out, struct tl_error *err);

/* For the unwinder: the DSO's ELF image, read-only, or NULL. offset -> ELF address for its CFI. */
struct tl_symbols_image {
	const uint8_t *data;
	size_t size;
};
const struct tl_symbols_image *tl_symbols_image(struct tl_symbols_dso *dso);
/* File offset to the ELF's own address (p_vaddr based); false when no segment covers it. */
bool tl_symbols_address(struct tl_symbols_dso *dso, uint64_t offset, uint64_t *address);

/*
 * Demangles as perf 6.x on Debian does: C++ (DMGL_NO_OPTS), Rust legacy and v0. Returns a new string, or NULL when
 * `name` is not mangled.
 */
char *tl_demangle(const char *name);

#endif
