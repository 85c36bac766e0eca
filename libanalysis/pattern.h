/*
 * pattern.h - private: regular expressions of options, Perl's as in --log-pattern: PCRE2 behind the
 * interface of POSIX (regexec, regfree).
 */
#ifndef TL_PATTERN_H
#define TL_PATTERN_H

#include <pcre2posix.h>

#include "analysis.h"

/* TL_USAGE, in words, when text is none. regfree it else. `has_groups`: spans of groups are asked for. */
int tl_pattern_compile(regex_t *out, const char *text, bool has_groups, struct tl_error *err);

#endif
