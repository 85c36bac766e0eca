/*
 * strace_ltrace.c - what only ltrace writes: by it a log is known as one of library calls, since the
 * lines of both tracers look alike.
 */
#include "strace.h"

#define LINES_MAX 4096u /* looked at in advance */

static bool starts_with(struct strace_span s, const char *word)
{
	size_t n = strlen(word);

	return s.length >= n && memcmp(s.text, word, n) == 0;
}

bool strace_is_library_name(struct strace_span name)
{
	/* no system call of any machine is called so, or begins so */
	static const char *const fronts[] = { "pthread_", "sem_",  "str",   "memc",  "memset",
					      "memmove",  "__",	   "_Z",    "Py",    "wcs",
					      "dlopen",	  "dlsym", "fopen", "fread", "fwrite",
					      "printf",	  "posix_" };
	static const char *const names[] = {
		"malloc",      "free",		"calloc",	  "realloc",	"abort",
		"atexit",      "atoi",		"atol",		  "bcmp",	"bzero",
		"cfree",       "closedir",	"fclose",	  "fflush",	"fgets",
		"fileno",      "fprintf",	"fputc",	  "fputs",	"fscanf",
		"fseek",       "ftell",		"getenv",	  "getopt",	"localtime",
		"gmtime",      "mktime",	"opendir",	  "perror",	"putchar",
		"puts",	       "qsort",		"rand",		  "raise",	"random",
		"readdir",     "rewind",	"setlocale",	  "sleep",	"snprintf",
		"sprintf",     "srand",		"sscanf",	  "stpcpy",	"toupper",
		"tolower",     "usleep",	"vfprintf",	  "vsnprintf",	"valloc",
		"memalign",    "aligned_alloc", "bindtextdomain", "textdomain", "dcgettext",
		"getopt_long", "isatty",	"sysconf",	  "error",
	};
	/* "malloc@libc.so.6", "program->malloc" */
	if (memchr(name.text, '@', name.length) || memmem(name.text, name.length, "->", 2))
		return true;
	for (size_t i = 0; i < sizeof(fronts) / sizeof(*fronts); i++)
		if (starts_with(name, fronts[i]))
			return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strace_span_is(name, names[i]))
			return true;
	return false;
}

/* "SYS_read", but not the "SYS_318" of an old strace */
static bool is_system_name(struct strace_span name)
{
	return starts_with(name, "SYS_") && name.length > 4 && name.text[4] >= 'a' &&
	       name.text[4] <= 'z';
}

static bool ends_with(struct strace_span s, const char *word)
{
	size_t n = strlen(word);

	return s.length >= n && memcmp(s.text + s.length - n, word, n) == 0;
}

bool strace_is_of_ltrace(const char *text, size_t len)
{
	struct strace_prefix prefix;
	struct strace_body body;
	struct strace_return result;
	struct strace_span line = { text, len };

	strace_prefix(text, len, &prefix);
	strace_body(text + prefix.length, len - prefix.length, &body);
	switch (body.kind) {
	case STRACE_CALL:
		if (ends_with(line, "<no return ...>") || memmem(text, len, ") = <void>", 10))
			return true;
		/* "free(): invalid pointer" is what a program says */
		strace_return(text + prefix.length + body.rest, len - prefix.length - body.rest,
			      true, &result);
		return result.end != STRACE_END_NONE &&
		       (strace_is_library_name(body.word) || is_system_name(body.word));
	case STRACE_RESUMED:
		return strace_is_library_name(body.word) || is_system_name(body.word);
	case STRACE_EXITED:
		return memmem(text, len, "exited (status ", 15) != NULL;
	case STRACE_EXEC:
		return true;
	case STRACE_KILLED:
	case STRACE_SUPERSEDED:
	case STRACE_SIGNAL:
	case STRACE_MESSAGE:
	case STRACE_FOREIGN:
		break;
	}
	return false;
}

bool strace_looks_like_ltrace(const char *text, size_t len)
{
	const char *at = text, *end = len ? text + len : text;

	if (len && strace_is_table_head(text, len)) /* of -c */
		return false;
	for (unsigned i = 0; at < end && i < LINES_MAX; i++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((newline ? newline : end) - at);

		while (n && (at[n - 1] == ' ' || at[n - 1] == '\r'))
			n--;
		if (newline && n && strace_is_of_ltrace(at, n))
			return true;
		at = newline ? newline + 1 : end;
	}
	return false;
}
