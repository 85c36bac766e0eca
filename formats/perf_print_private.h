/*
 * perf_print_private.h - private to perf_print_*.c, which read one "print fmt" together: tokens to
 * expressions, expressions to a tree of nodes, nodes to the text of a value.
 */
#ifndef PERF_PRINT_PRIVATE_H
#define PERF_PRINT_PRIVATE_H

#include "perf_print_format.h"

#define DEPTH_MAX	256 /* of nested brackets, two each; real ones stay below 60 */
#define HEIGHT_MAX	200 /* of a tree: what _text may recurse */
#define NAME_LENGTH_MAX 512 /* of what _text gives: gfp flags have up to 300 */
#define FIELD_NONE	UINT32_MAX
#define FIELD_MANY	(UINT32_MAX - 1)
#define ENTRIES_MAX	4096 /* of one table */
#define SHOWN_MAX	16

enum perf_print_kind {
	OPAQUE,
	CONSTANT,
	FIELD,
	UNARY,
	BINARY,
	CAST,
	CONDITION,
	TEXT,
	FLAGS,
	SYMBOL
};

/* Operators of more than one character. */
enum { OP_SHL = 128, OP_SHR, OP_LE, OP_GE, OP_EQ, OP_NE, OP_AND, OP_OR, OP_ARROW };

struct perf_print_node {
	enum perf_print_kind kind;
	int op;
	uint32_t a, b, c; /* children; FLAGS, SYMBOL: a value, b first entry, c entries */
	uint64_t value;	  /* CONSTANT; CAST: bits; TEXT and delimiter: offset in strings */
	uint32_t length;  /* of that text */
	uint32_t field;	  /* the one field below, or FIELD_NONE, FIELD_MANY */
	uint16_t height;
	bool is_signed, is_text, has_table;
};

struct perf_print_entry {
	uint64_t value;
	uint32_t text, length;
};

struct perf_print_shown {
	uint32_t field, first, count; /* parts: node numbers */
};

struct perf_print_format {
	struct perf_print_node *nodes;
	size_t node_count, node_capacity;
	struct perf_print_entry *entries;
	size_t entry_count, entry_capacity;
	struct perf_print_shown *shown;
	size_t shown_count, shown_capacity;
	uint32_t *parts;
	size_t part_count, part_capacity;
	struct tl_text strings;
};

enum perf_print_token { T_END, T_NUMBER, T_WORD, T_STRING, T_OPERATOR };

struct perf_print_parser {
	struct perf_print_format *format;
	const struct perf_print_field *fields;
	size_t field_count;
	unsigned long_size, depth;
	const char *at, *end; /* behind the token */
	enum perf_print_token token;
	const char *text; /* of the token; STRING: without quotes */
	size_t length;
	uint64_t number;
	int op;
	bool failed; /* no sense in the rest of this argument */
	int status;  /* out of memory */
	struct tl_error *err;
};

/* ---- perf_print_token.c -------------------------------------------------------------------- */

/* Goes on to the next token. */
void perf_print_next(struct perf_print_parser *p);
bool perf_print_is_word(const struct perf_print_parser *p, const char *word);
/* Over the operator, which must be there. */
void perf_print_expect(struct perf_print_parser *p, int op);
/* Over everything up to the bracket that closes the one just passed. */
void perf_print_skip_to_close(struct perf_print_parser *p);

static inline bool perf_print_is_op(const struct perf_print_parser *p, int op)
{
	return p->token == T_OPERATOR && p->op == op;
}

/* ---- perf_print_tree.c --------------------------------------------------------------------- */

static inline struct perf_print_node *perf_print_node(const struct perf_print_format *f, uint32_t i)
{
	return &f->nodes[i];
}

/*
 * These make nodes and return their numbers. Node 0 is OPAQUE: the number of whatever cannot have a
 * value, and what is returned when there is no memory. Constants are folded.
 */
uint32_t perf_print_add(struct perf_print_parser *p, struct perf_print_node node);
uint32_t perf_print_add_constant(struct perf_print_parser *p, uint64_t value);
uint32_t perf_print_add_unary(struct perf_print_parser *p, struct perf_print_node node);
uint32_t perf_print_add_binary(struct perf_print_parser *p, int op, uint32_t left, uint32_t right);
uint32_t perf_print_add_condition(struct perf_print_parser *p, uint32_t test, uint32_t yes,
				  uint32_t no);
/* Appends what node `i` says when its field has this value; false if it has no value. */
bool perf_print_text(const struct perf_print_format *f, uint32_t i, uint64_t field,
		     struct tl_text *out);

#endif
