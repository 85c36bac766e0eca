/*
 * symbols_table.c - a sorted table of names and the lookup in it, with the choice between aliases
 * that perf makes. Knows neither files nor formats.
 */
#include "symbols_private.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

void symbols_table_release(struct symbols_table *table)
{
	free(table->entries);
	free(table->strings);
	free(table->wider);
	free(table->shown);
	symbols_perf_tree_release(table->tree);
	tl_arena_release(&table->shown_arena);
	memset(table, 0, sizeof(*table));
}

int symbols_table_add_strings(struct symbols_table *table, const char *bytes, size_t size,
			      uint32_t *base, struct tl_error *err)
{
	size_t need;
	char *strings;

	if (__builtin_add_overflow(table->strings_size, size, &need) || need >= UINT32_MAX - 1)
		return tl_fail(err, TL_FORMAT, "more than 4 GiB of symbol names");
	strings = realloc(table->strings, need + 1);
	if (!strings)
		return tl_fail(err, TL_NOMEM, "out of memory: %zu bytes of symbol names", need);
	table->strings = strings;
	*base = (uint32_t)table->strings_size;
	if (size)
		memcpy(strings + table->strings_size, bytes, size);
	strings[need] = '\0';
	table->strings_size = need + 1;
	return TL_OK;
}

int symbols_table_add(struct symbols_table *table, const struct symbols_entry *entry,
		      struct tl_error *err)
{
	int ret;

	if (table->count >= NONE)
		return tl_fail(err, TL_FORMAT, "more than 4294967294 symbols in one table");
	ret = tl_grow(&table->entries, &table->capacity, table->count + 1, err);
	if (ret < 0)
		return ret;
	table->entries[table->count++] = *entry;
	if (table->is_like_perf)
		table->entries[table->count - 1].shown = (uint32_t)table->count;
	return TL_OK;
}

void symbols_table_end_stage(struct symbols_table *table, bool has_aliases)
{
	if (table->stage_count < sizeof(table->stages) / sizeof(table->stages[0]))
		table->stages[table->stage_count++] =
			(struct symbols_stage) { (uint32_t)table->count, has_aliases };
}

/* ---- sorting ---- */

/* The end of the run that begins at `from`: entries that are in order already. */
static size_t run_end(const struct symbols_entry *e, size_t from, size_t count)
{
	size_t i = from + 1;

	while (i < count && e[i - 1].start <= e[i].start)
		i++;
	return i < count ? i : count;
}

static void merge(struct symbols_entry *out, const struct symbols_entry *in, size_t a, size_t b,
		  size_t end)
{
	size_t i = a, j = b, k = a;

	while (i < b && j < end)
		out[k++] = in[j].start < in[i].start ? in[j++] : in[i++];
	memcpy(out + k, in + i, (b - i) * sizeof(*in));
	memcpy(out + k + (b - i), in + j, (end - j) * sizeof(*in));
}

/*
 * Natural merge sort: stable, and one pass over what is sorted already, as kallsyms nearly is.
 * Runs are made at least 8 long by insertion first, for the symbol tables that are in no order.
 */
static void make_runs(struct symbols_entry *e, size_t count)
{
	for (size_t from = 0; from < count;) {
		size_t end = run_end(e, from, count);
		size_t want = from + 8 < count ? from + 8 : count;

		for (; end < want; end++) {
			struct symbols_entry moved = e[end];
			size_t j = end;

			for (; j > from && moved.start < e[j - 1].start; j--)
				e[j] = e[j - 1];
			e[j] = moved;
		}
		from = end;
	}
}

int symbols_table_sort(struct symbols_table *table, struct tl_error *err)
{
	struct symbols_entry *from = table->entries, *to, *spare;
	size_t count = table->count;

	if (count < 2 || run_end(from, 0, count) == count)
		return TL_OK;
	spare = malloc(count * sizeof(*spare));
	if (!spare)
		return tl_fail(err, TL_NOMEM, "out of memory: %zu symbols to sort", count);
	to = spare;
	make_runs(from, count);
	for (;;) {
		size_t runs = 0;

		for (size_t a = 0; a < count; runs++) {
			size_t b = run_end(from, a, count);
			size_t end = b < count ? run_end(from, b, count) : count;

			merge(to, from, a, b, end);
			a = end;
		}
		struct symbols_entry *swap = from;

		from = to;
		to = swap;
		if (runs <= 1)
			break;
	}
	table->entries = from;
	table->capacity = count;
	free(to);
	return TL_OK;
}

/* ---- ends ---- */

static uint32_t saturated(uint64_t size)
{
	return size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
}

void symbols_table_set_ends(struct symbols_table *table)
{
	struct symbols_entry *e = table->entries;

	/* An alias at the same address leaves a size of 0: the last of them gets the room. */
	for (size_t i = 0; i + 1 < table->count; i++) {
		if (!e[i].size) {
			e[i].size = saturated(e[i + 1].start - e[i].start);
			e[i].flags |= SYMBOLS_GUESSED;
		}
	}
	/* Nobody knows where the last one ends; perf gives it the rest of its page and another. */
	if (table->count && !e[table->count - 1].size) {
		uint64_t start = e[table->count - 1].start;

		e[table->count - 1].size =
			(uint32_t)(((start + 4095) & ~UINT64_C(4095)) + 4096 - start);
	}
}

static uint64_t entry_end(const struct symbols_entry *e)
{
	uint64_t end;

	return __builtin_add_overflow(e->start, e->size, &end) ? UINT64_MAX : end;
}

/* Entries that came between after ends were guessed end the guess. */
static void clip_guesses(struct symbols_table *table)
{
	struct symbols_entry *e = table->entries;

	for (size_t i = 0; i + 1 < table->count; i++)
		if ((e[i].flags & SYMBOLS_GUESSED) && e[i].size > e[i + 1].start - e[i].start)
			e[i].size = (uint32_t)(e[i + 1].start - e[i].start);
}

int symbols_table_finish(struct symbols_table *table, struct tl_error *err)
{
	const struct symbols_entry *e = table->entries;
	bool overlaps = false;
	uint32_t sized = NONE;

	free(table->wider);
	table->wider = NULL;
	if (table->is_like_perf)
		return table->tree ? TL_OK : symbols_perf_tree_make(table, err);
	clip_guesses(table);
	for (size_t i = 0; i + 1 < table->count && !overlaps; i++)
		overlaps = entry_end(&e[i]) > e[i + 1].start && e[i].start != e[i + 1].start;
	if (!overlaps)
		return TL_OK;
	table->wider = malloc(table->count * sizeof(*table->wider));
	if (!table->wider)
		return tl_fail(err, TL_NOMEM, "out of memory: %zu symbols", table->count);
	for (size_t i = 0; i < table->count; i++) {
		uint32_t w = sized;

		if (!(e[i].flags & SYMBOLS_GUESSED)) {
			while (w != NONE && entry_end(&e[w]) <= entry_end(&e[i]))
				w = table->wider[w];
			sized = (uint32_t)i;
		}
		table->wider[i] = w;
	}
	return TL_OK;
}

/* ---- choosing between aliases ---- */

static size_t leading_underscores(const char *name)
{
	return strspn(name, "_");
}

/*
 * The complete and base object constructors and destructors (C1, C2, D0, D1, D2) of one class are
 * the usual aliases of C++, and demangle to one text: no need to do it to see that they are equal.
 */
static bool same_structor(const char *a, const char *b)
{
	size_t i = 0;

	while (a[i] && a[i] == b[i])
		i++;
	return i && a[i] && b[i] && (a[i - 1] == 'C' || a[i - 1] == 'D') && a[i] >= '0' &&
	       a[i] <= '9' && b[i] >= '0' && b[i] <= '9' && !strcmp(a + i + 1, b + i + 1);
}

/* -1, 0, 1: a is the better name, no difference, b is. */
static int compare_names(const struct symbols_table *table, const struct symbols_entry *a,
			 const struct symbols_entry *b)
{
	const char *na = symbols_table_name(table, a), *nb = symbols_table_name(table, b);
	char *da = NULL, *db = NULL;
	size_t la, lb, ua, ub;

	if (table->is_mangled && same_structor(na, nb))
		return 0;
	if (table->is_mangled) {
		da = tl_demangle(na);
		db = tl_demangle(nb);
	}
	na = da ? da : na;
	nb = db ? db : nb;
	ua = leading_underscores(na);
	ub = leading_underscores(nb);
	la = strlen(na);
	lb = strlen(nb);
	free(da);
	free(db);
	if (ua != ub)
		return ua < ub ? -1 : 1;
	return la == lb ? 0 : la > lb ? -1 : 1;
}

static bool is_old_syscall_alias(const char *name)
{
	return !strncmp(name, "SyS", 3) || !strncmp(name, "compat_SyS", 10);
}

/* perf's order of preference, so that the same alias is shown. */
bool symbols_table_prefers(const struct symbols_table *table, const struct symbols_entry *a,
			   const struct symbols_entry *b)
{
	int names;

	if (!a->size != !b->size)
		return a->size != 0;
	if ((a->binding == SYMBOLS_WEAK) != (b->binding == SYMBOLS_WEAK))
		return b->binding == SYMBOLS_WEAK;
	if ((a->binding == SYMBOLS_GLOBAL) != (b->binding == SYMBOLS_GLOBAL))
		return a->binding == SYMBOLS_GLOBAL;
	names = compare_names(table, a, b);
	if (names)
		return names < 0;
	return !is_old_syscall_alias(symbols_table_name(table, a));
}

/* The best of the entries that begin where `index` does. */
static struct symbols_entry *best_alias(const struct symbols_table *table, size_t index)
{
	struct symbols_entry *e = table->entries, *best;
	size_t first = index;

	while (first && e[first - 1].start == e[index].start)
		first--;
	best = &e[first];
	for (size_t i = first + 1; i < table->count && e[i].start == best->start; i++)
		if (!symbols_table_prefers(table, best, &e[i]))
			best = &e[i];
	return best;
}

static bool covers(const struct symbols_entry *e, uint64_t address)
{
	return address - e->start < e->size;
}

struct symbols_entry *symbols_table_find(const struct symbols_table *table, uint64_t address)
{
	struct symbols_entry *e = table->entries;
	struct symbols_entry *label = NULL;
	size_t low = 0, high = table->count;
	uint32_t i;

	if (table->tree)
		return symbols_perf_tree_find(table, address);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (e[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	i = (uint32_t)(low - 1);
	/*
	 * Outwards from the nearest one before: the innermost that holds the address. A label without
	 * a size of its own does not cut a function that has one.
	 */
	while (i != NONE) {
		struct symbols_entry *best = best_alias(table, i);

		if (!covers(best, address) && covers(&e[i], address))
			best = &e[i];
		if (covers(best, address) && !(best->flags & SYMBOLS_GUESSED))
			return best;
		if (covers(best, address) && !label)
			label = best;
		if (table->wider) {
			i = table->wider[i];
			continue;
		}
		/* only aliases overlap: a shorter one may hide a longer one */
		i = !label && i && e[i - 1].start == e[i].start ? i - 1 : NONE;
	}
	return label;
}

/* ---- names as shown ---- */

int symbols_table_show(struct symbols_table *table, struct symbols_entry *entry,
		       const struct symbols_shown **out, struct tl_error *err)
{
	const char *name = symbols_table_name(table, entry), *linkage = name;
	struct symbols_shown *shown;
	char *demangled = NULL;
	int ret = TL_OK;

	if (entry->shown) {
		*out = &table->shown[entry->shown - 1];
		return TL_OK;
	}
	if (tl_grow(&table->shown, &table->shown_capacity, table->shown_count + 1, err) < 0)
		return TL_NOMEM;
	if (table->is_mangled)
		demangled = tl_demangle(name);
	if (entry->flags & SYMBOLS_PLT) {
		struct tl_text text = { 0 };

		tl_text_printf(&text, "%s@plt", demangled ? demangled : name);
		name = text.failed
			       ? NULL
			       : tl_arena_copy(&table->shown_arena, text.data, text.length, err);
		text.length = 0;
		tl_text_printf(&text, "%s@plt", linkage);
		linkage = text.failed
				  ? NULL
				  : tl_arena_copy(&table->shown_arena, text.data, text.length, err);
		tl_text_release(&text);
	} else if (demangled) {
		name = tl_arena_copy(&table->shown_arena, demangled, strlen(demangled), err);
	}
	free(demangled);
	if (!name || !linkage)
		return tl_fail(err, TL_NOMEM, "out of memory: a symbol's name");
	shown = &table->shown[table->shown_count++];
	shown->name = name;
	shown->linkage_name = linkage;
	entry->shown = (uint32_t)table->shown_count;
	*out = shown;
	return ret;
}
