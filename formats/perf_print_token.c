/*
 * perf_print_token.c - the tokens of the C expressions in a "print fmt": numbers, words, strings and
 * operators. Must not know what they mean.
 */
#include <ctype.h>
#include <string.h>

#include "perf_print_private.h"
#include "reader.h"

static void next_number(struct perf_print_parser *p)
{
	size_t len = p->end - p->at, digits = 0, used;
	unsigned base = 10;

	p->token = T_NUMBER;
	if (len > 2 && p->at[0] == '0' && (p->at[1] | 32) == 'x') {
		digits = 2;
		base = 16;
	}
	used = tl_parse_u64(p->at + digits, len - digits, base, &p->number);
	if (used == 0)
		p->failed = true;
	if (base == 10 && p->at[0] == '0' && used > 1) { /* octal */
		p->number = 0;
		for (size_t i = 0; i < used && i < 22; i++)
			p->number = p->number << 3 | ((unsigned)(p->at[i] - '0') & 7);
	}
	p->at += digits + used;
	while (p->at < p->end && (isalnum((unsigned char)*p->at) || *p->at == '_'))
		p->at++; /* suffix: UL, ULL */
}

static void next_string(struct perf_print_parser *p, char quote)
{
	p->text = ++p->at;
	while (p->at < p->end && *p->at != quote)
		p->at += *p->at == '\\' && p->at + 1 < p->end ? 2 : 1;
	p->length = p->at - p->text;
	if (p->at == p->end)
		p->failed = true;
	else
		p->at++;
}

static void next_operator(struct perf_print_parser *p)
{
	static const struct {
		char text[3];
		int op;
	} pairs[] = { { "<<", OP_SHL }, { ">>", OP_SHR }, { "<=", OP_LE },
		      { ">=", OP_GE },	{ "==", OP_EQ },  { "!=", OP_NE },
		      { "&&", OP_AND }, { "||", OP_OR },  { "->", OP_ARROW } };

	p->token = T_OPERATOR;
	if (p->end - p->at > 1)
		for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
			if (p->at[0] == pairs[i].text[0] && p->at[1] == pairs[i].text[1]) {
				p->op = pairs[i].op;
				p->at += 2;
				return;
			}
	p->op = (unsigned char)*p->at++;
}

void perf_print_next(struct perf_print_parser *p)
{
	while (p->at < p->end && isspace((unsigned char)*p->at))
		p->at++;
	p->op = 0;
	if (p->at == p->end) {
		p->token = T_END;
		return;
	}
	unsigned char c = (unsigned char)*p->at;
	if (isdigit(c)) {
		next_number(p);
	} else if (isalpha(c) || c == '_') {
		p->token = T_WORD;
		p->text = p->at;
		while (p->at < p->end && (isalnum((unsigned char)*p->at) || *p->at == '_'))
			p->at++;
		p->length = p->at - p->text;
	} else if (c == '"') {
		p->token = T_STRING;
		next_string(p, '"');
	} else if (c == '\'') {
		next_string(p, '\'');
		p->token = T_NUMBER;
		p->number = p->length == 1 ? (unsigned char)p->text[0] : 0;
		p->failed |= p->length != 1;
	} else {
		next_operator(p);
	}
}

bool perf_print_is_word(const struct perf_print_parser *p, const char *word)
{
	return p->token == T_WORD && p->length == strlen(word) &&
	       memcmp(p->text, word, p->length) == 0;
}

void perf_print_expect(struct perf_print_parser *p, int op)
{
	if (perf_print_is_op(p, op))
		perf_print_next(p);
	else
		p->failed = true;
}

void perf_print_skip_to_close(struct perf_print_parser *p)
{
	unsigned depth = 1;

	while (p->token != T_END) {
		if (perf_print_is_op(p, '(') || perf_print_is_op(p, '[') ||
		    perf_print_is_op(p, '{'))
			depth++;
		if ((perf_print_is_op(p, ')') || perf_print_is_op(p, ']') ||
		     perf_print_is_op(p, '}')) &&
		    --depth == 0)
			break;
		perf_print_next(p);
	}
	if (p->token == T_END)
		p->failed = true;
	else
		perf_print_next(p);
}
