/*
 * pattern.c - a regular expression that a person wrote, or what is wrong with it.
 */
#include "pattern.h"

#include <string.h>

int tl_pattern_compile(regex_t *out, const char *text, bool has_groups, struct tl_error *err)
{
	int code = regcomp(out, text, has_groups ? 0 : REG_NOSUB);
	char why[200];
	size_t length;

	if (!code)
		return TL_OK;
	regerror(code, out, why, sizeof(why));
	for (length = strlen(why); length && why[length - 1] == ' ';) /* it pads its numbers */
		why[--length] = '\0';
	return tl_fail(err, TL_USAGE, "'%.200s' is no regular expression: %s", text, why);
}
