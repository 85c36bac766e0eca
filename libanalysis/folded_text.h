/*
 * folded_text.h - private: from what a sample says of itself and of its frames to the text of a
 * folded line, by three sets of rules: native (correct), and those of stackcollapse-perf.pl and of
 * inferno-collapse-perf, which see only what `perf script` prints. Pure functions: no database, no
 * file, no sums.
 */
#ifndef TL_FOLDED_TEXT_H
#define TL_FOLDED_TEXT_H

#include "memory.h"

struct tl_folded_rules {
	enum tl_fold_compat compat;
	enum tl_fold_root root; /* COMM, PID and TID; the others exist in native only */
	bool annotate_kernel, annotate_jit, show_addresses;
};

/* A sample without its frames, as `perf script` would print it. */
struct tl_folded_sample {
	const char *comm;
	size_t comm_length;
	int32_t pid, tid;
	int32_t cpu;	 /* -1 not recorded */
	int64_t time_ns; /* on the clock of the recording */
	uint64_t period;
	const char *event;
	size_t event_width; /* length of the longest event name of the recording */
	bool has_callchain; /* events of this kind carry call chains */
	bool has_trace;	    /* a tracepoint: plain `perf script` prints its fields, no period */
};

struct tl_folded_frame {
	const char *symbol, *dso; /* NULL unknown */
	uint64_t address;	  /* as `perf script` prints it */
	bool has_offset;
	uint64_t offset; /* of the address in the symbol */
};

/* ---- native ---- */

/* Names that no reader of folded text can misread; the same text for equal names. */
void tl_native_root(struct tl_text *out, const struct tl_folded_rules *rules,
		    const struct tl_folded_sample *sample);
void tl_native_frame(struct tl_text *out, const struct tl_folded_rules *rules,
		     const struct tl_folded_frame *frame);
/* A frame of any other origin: a control group, a thread state. */
void tl_native_plain(struct tl_text *out, const char *text, size_t len);
/*
 * A last frame that ends in a blank and a number would be read as a line with two counts: the
 * blank becomes '_'. `line` is a whole line without its count.
 */
void tl_native_guard(char *line, size_t len);

/* ---- compat: rules that work on printed text ---- */

enum tl_folded_head {
	TL_HEAD_STACK,	    /* *root is the first frame */
	TL_HEAD_LOST,	    /* the line is not taken for a sample: its frames are lost */
	TL_HEAD_FILTERED,   /* a sample of another event */
	TL_HEAD_PER_SAMPLE, /* time or period leak into the name: only the reader below can tell */
};

/*
 * What the head of a sample becomes. `filter`: event asked for, or that of the first sample.
 * *uses_period tells whether the sample's weight is its period (if not 0) or 1.
 */
enum tl_folded_head tl_compat_head(const struct tl_folded_rules *rules, const char *filter,
				   const struct tl_folded_sample *sample, struct tl_text *root,
				   bool *uses_period);
/*
 * One frame: "a", or "outer;inner_[i]" where the rules split a name. False: the rules drop it.
 * `is_java`: the first frame of the line begins with "java".
 */
bool tl_compat_frame(struct tl_text *out, const struct tl_folded_rules *rules,
		     const struct tl_folded_sample *sample, const struct tl_folded_frame *frame,
		     bool is_java);
/* What event of `sample` becomes the filter when none is set: true and its name in *filter. */
bool tl_compat_filter(const struct tl_folded_rules *rules, const struct tl_folded_sample *sample,
		      struct tl_text *filter);

/* The text that `perf script` prints, as the rules were told to expect it. */
void tl_script_head(struct tl_text *out, enum tl_fold_compat compat,
		    const struct tl_folded_sample *sample);
void tl_script_frame(struct tl_text *out, enum tl_fold_compat compat, bool has_callchain,
		     const struct tl_folded_frame *frame);

/*
 * Reads printed text line by line, keeping every quirk of its model. `emit` gets each finished
 * stack.
 */
typedef int (*tl_folded_emit_fn)(const char *text, size_t len, uint64_t weight, void *payload,
				 struct tl_error *err);
struct tl_folded_reader {
	struct tl_folded_rules rules;
	tl_folded_emit_fn emit;
	void *payload;
	bool has_filter, has_root, in_event, is_skipping;
	struct tl_text filter, root;
	uint64_t weight;
	struct tl_text frames; /* innermost first, as `ends` divides them */
	size_t *ends, end_count, end_capacity;
	struct tl_text scratch;
	uint64_t lost_lines; /* neither head nor frame */
};
/* Zero the reader, then set rules, emit, payload, and has_filter with filter. Text has no newline. */
int tl_folded_read_line(struct tl_folded_reader *reader, const char *line, size_t len,
			struct tl_error *err);
int tl_folded_read_end(struct tl_folded_reader *reader, struct tl_error *err);
void tl_folded_reader_release(struct tl_folded_reader *reader);

/* ---- for folded_perl.c and folded_inferno.c only ---- */

enum tl_folded_head tl_perl_head(const struct tl_folded_rules *rules, const char *filter,
				 const struct tl_folded_sample *sample, struct tl_text *root,
				 bool *uses_period);
bool tl_perl_frame(struct tl_text *out, const struct tl_folded_rules *rules, const char *line,
		   size_t len, bool is_java);
bool tl_perl_filter(const char *line, size_t len, struct tl_text *filter);
int tl_perl_read_line(struct tl_folded_reader *reader, const char *line, size_t len,
		      struct tl_error *err);

enum tl_folded_head tl_inferno_head(const struct tl_folded_rules *rules, const char *filter,
				    const struct tl_folded_sample *sample, struct tl_text *root,
				    bool *uses_period);
bool tl_inferno_frame(struct tl_text *out, const struct tl_folded_rules *rules, const char *line,
		      size_t len, bool is_java);
bool tl_inferno_filter(const char *line, size_t len, struct tl_text *filter);
int tl_inferno_read_line(struct tl_folded_reader *reader, const char *line, size_t len,
			 struct tl_error *err);

void tl_folded_script_ids(struct tl_text *out, enum tl_fold_compat compat,
			  const struct tl_folded_sample *sample);
/* What was added to reader->frames is a frame. */
int tl_folded_reader_mark(struct tl_folded_reader *reader, struct tl_error *err);
int tl_folded_reader_flush(struct tl_folded_reader *reader, struct tl_error *err);
/* As Rust and Python decode: every maximal part of a broken sequence becomes U+FFFD. */
void tl_folded_utf8(struct tl_text *out, const char *text, size_t len);

#endif
