/*
 * symbols_inline.c - inlined frames at an address, from DWARF. Each compilation unit that is hit is
 * walked once, into a sorted array of the ranges of its functions and inlined calls; asking libdw
 * for the scopes of every address walks the whole unit every time.
 */
#include "symbols_private.h"

#include <stdlib.h>
#include <string.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <libelf.h>

#define NONE	  UINT32_MAX
#define DEPTH_MAX 256 /* of scopes in scopes; compilers stay below 100 */

/* A function, or a call of one that was inlined. */
struct node {
	Dwarf_Off die;
	uint32_t parent; /* the scope around it, NONE: it is a function of its own */
	uint32_t call_file, call_line;
};

struct range {
	uint64_t low, high;
	uint32_t node;
	uint32_t wider; /* nearest range before this one that ends after it */
};

struct unit {
	Dwarf_Off die;
	bool is_walked;
	struct node *nodes;
	struct range *ranges;
	size_t node_count, node_capacity, range_count, range_capacity;
};

struct symbols_inlines {
	struct symbols_image image;
	Elf *elf;
	Dwarf *dwarf;
	struct unit *units;
	size_t unit_count, unit_capacity;
	struct range *unit_ranges; /* node: number of the unit */
	size_t unit_range_count, unit_range_capacity;
	struct tl_arena arena; /* names */
	struct tl_index by_die;
	struct name {
		Dwarf_Off die;
		const char *text;
	} * names;
	size_t name_count, name_capacity;
	struct tl_inline_frame *frames; /* of the last answer */
	size_t frame_capacity;
};

/* ---- ranges ---- */

static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	/* of two that begin together the outer one first: it is longer, or was met earlier */
	if (x->high != y->high)
		return x->high > y->high ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static void sort_ranges(struct range *r, size_t count)
{
	if (count)
		qsort(r, count, sizeof(*r), compare_ranges);
	for (size_t i = 0; i < count; i++) {
		uint32_t w = i ? (uint32_t)(i - 1) : NONE;

		while (w != NONE && r[w].high <= r[i].high)
			w = r[w].wider;
		r[i].wider = w;
	}
}

/* The innermost range that holds `address`; NONE: no one does. */
static uint32_t find_range(const struct range *r, size_t count, uint64_t address)
{
	size_t low = 0, high = count;
	uint32_t i;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (i = low ? (uint32_t)(low - 1) : NONE; i != NONE && r[i].high <= address;)
		i = r[i].wider;
	return i;
}

static int add_ranges(Dwarf_Die *die, uint32_t node, struct range **ranges, size_t *count,
		      size_t *capacity, struct tl_error *err)
{
	ptrdiff_t at = 0;
	Dwarf_Addr base, low, high;

	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		int ret;

		if (low >= high)
			continue;
		if (*count >= NONE)
			return tl_fail(err, TL_FORMAT, "more than 4294967294 ranges");
		ret = tl_grow(ranges, capacity, *count + 1, err);
		if (ret < 0)
			return ret;
		(*ranges)[(*count)++] = (struct range) { low, high, node, NONE };
	}
	return TL_OK;
}

/* ---- one unit ---- */

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	return dwarf_attr(die, name, &attribute) && dwarf_formudata(&attribute, &value) == 0 &&
			       value < NONE
		       ? (uint32_t)value
		       : 0;
}

static bool has_scopes(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_module:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_GNU_call_site:
	case DW_TAG_call_site:
		return true;
	default:
		return false;
	}
}

static int add_node(struct unit *unit, Dwarf_Die *die, int tag, uint32_t parent,
		    struct tl_error *err)
{
	uint32_t number = (uint32_t)unit->node_count;
	struct node *node;
	int ret;

	if (unit->node_count >= NONE)
		return tl_fail(err, TL_FORMAT, "more than 4294967294 functions in a unit");
	ret = tl_grow(&unit->nodes, &unit->node_capacity, unit->node_count + 1, err);
	if (ret < 0)
		return ret;
	node = &unit->nodes[unit->node_count++];
	node->die = dwarf_dieoffset(die);
	node->parent = tag == DW_TAG_inlined_subroutine ? parent : NONE;
	if (tag == DW_TAG_inlined_subroutine) {
		node->call_file = number_of(die, DW_AT_call_file);
		node->call_line = number_of(die, DW_AT_call_line);
	}
	return add_ranges(die, number, &unit->ranges, &unit->range_count, &unit->range_capacity,
			  err);
}

/*
 * Every DIE of the unit once, with a stack of our own. Each takes a byte at least, so that a chain
 * of siblings that bites its tail ends too.
 */
static int walk(struct unit *unit, Dwarf_Die *root, size_t bytes, struct tl_error *err)
{
	struct {
		Dwarf_Die die;
		uint32_t scope; /* the function or call around it */
	} stack[DEPTH_MAX];
	size_t depth = 1;
	int ret = TL_OK;

	stack[0].scope = NONE;
	if (dwarf_child(root, &stack[0].die) != 0)
		return TL_OK;
	for (size_t left = bytes; ret == TL_OK && depth && left; left--) {
		Dwarf_Die *die = &stack[depth - 1].die, child;
		uint32_t scope = stack[depth - 1].scope;
		int tag = dwarf_tag(die);

		if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
			ret = add_node(unit, die, tag, scope, err);
			scope = (uint32_t)(unit->node_count - 1);
		}
		if (ret == TL_OK && depth < DEPTH_MAX && has_scopes(tag) &&
		    dwarf_child(die, &child) == 0) {
			stack[depth].die = child;
			stack[depth].scope = scope;
			depth++;
			continue;
		}
		while (depth && dwarf_siblingof(&stack[depth - 1].die, &stack[depth - 1].die) != 0)
			depth--;
	}
	if (ret == TL_OK)
		sort_ranges(unit->ranges, unit->range_count);
	return ret;
}

static int ensure_walked(struct symbols_inlines *in, struct unit *unit, struct tl_error *err)
{
	Dwarf_Die root;

	if (unit->is_walked)
		return TL_OK;
	unit->is_walked = true;
	if (!dwarf_offdie(in->dwarf, unit->die, &root))
		return TL_OK;
	return walk(unit, &root, in->image.size, err);
}

/* ---- names ---- */

static bool is_plain_c(Dwarf_Die *die)
{
	Dwarf_Die root;

	if (!dwarf_diecu(die, &root, NULL, NULL))
		return false;
	switch (dwarf_srclang(&root)) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_Mips_Assembler:
		return true;
	default:
		return false;
	}
}

/*
 * "outer::inner::" of what a DIE without a linkage name stands in. libdw walks the unit to find out:
 * once per name, and not for C, where nothing stands in anything.
 */
static void add_scopes(struct tl_text *text, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die declaration, *scopes;
	int count;

	if (is_plain_c(die))
		return;

	if (dwarf_attr(die, DW_AT_specification, &attribute) &&
	    dwarf_formref_die(&attribute, &declaration))
		die = &declaration;
	count = dwarf_getscopes_die(die, &scopes);
	for (int i = count - 1; i > 0; i--) {
		int tag = dwarf_tag(&scopes[i]);
		const char *name = dwarf_diename(&scopes[i]);

		if (tag == DW_TAG_namespace && !name)
			name = "(anonymous namespace)";
		if (name && (tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
			     tag == DW_TAG_structure_type || tag == DW_TAG_union_type))
			tl_text_printf(text, "%s::", name);
	}
	if (count > 0)
		free(scopes);
}

static char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name;

	if (!dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) &&
	    !dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		return NULL;
	name = dwarf_formstring(&attribute);
	return name ? strdup(name) : NULL;
}

static const char *make_name(struct symbols_inlines *in, Dwarf_Die *die, struct tl_error *err)
{
	char *linkage = linkage_name(die), *shown = linkage ? tl_demangle(linkage) : NULL;
	struct tl_text text = { 0 };
	const char *name = dwarf_diename(die), *result;

	if (linkage) {
		tl_text_puts(&text, shown ? shown : linkage);
	} else if (name) {
		add_scopes(&text, die);
		tl_text_puts(&text, name);
	} else {
		tl_text_puts(&text, "[unknown]");
	}
	free(linkage);
	free(shown);
	result = text.failed ? NULL : tl_arena_copy(&in->arena, text.data, text.length, err);
	tl_text_release(&text);
	return result;
}

/* Of the function that was inlined, which every call of it names as its origin. */
static const char *name_of(struct symbols_inlines *in, Dwarf_Off die_offset, struct tl_error *err)
{
	Dwarf_Die die, origin;
	Dwarf_Attribute attribute;
	size_t probe = 0;
	uint64_t hash;
	int64_t i;
	const char *text;

	if (!dwarf_offdie(in->dwarf, die_offset, &die))
		return "[unknown]";
	if (dwarf_attr(&die, DW_AT_abstract_origin, &attribute) &&
	    dwarf_formref_die(&attribute, &origin))
		die = origin;
	hash = tl_hash_u64(dwarf_dieoffset(&die), (uintptr_t)dwarf_cu_getdwarf(die.cu));
	while ((i = tl_index_find(&in->by_die, hash, &probe)) >= 0)
		if (in->names[i].die == dwarf_dieoffset(&die))
			return in->names[i].text;
	text = make_name(in, &die, err);
	if (!text || tl_grow(&in->names, &in->name_capacity, in->name_count + 1, err) < 0 ||
	    tl_index_add(&in->by_die, hash, (uint32_t)in->name_count, err) < 0)
		return NULL;
	in->names[in->name_count++] = (struct name) { dwarf_dieoffset(&die), text };
	return text;
}

static const char *file_name(struct symbols_inlines *in, const struct unit *unit, uint32_t number)
{
	Dwarf_Files *files;
	Dwarf_Die root;
	size_t count;

	if (!dwarf_offdie(in->dwarf, unit->die, &root) ||
	    dwarf_getsrcfiles(&root, &files, &count) != 0 || number >= count)
		return NULL;
	return dwarf_filesrc(files, number, NULL, NULL);
}

/* ---- asking ---- */

int symbols_inlines_find(struct symbols_inlines *in, uint64_t address,
			 const struct tl_inline_frame **out, struct tl_error *err)
{
	uint32_t found = find_range(in->unit_ranges, in->unit_range_count, address);
	struct unit *unit;
	size_t count = 0;
	uint32_t n;
	int ret;

	*out = NULL;
	if (found == NONE)
		return 0;
	unit = &in->units[in->unit_ranges[found].node];
	ret = ensure_walked(in, unit, err);
	if (ret < 0)
		return ret;
	found = find_range(unit->ranges, unit->range_count, address);
	if (found == NONE)
		return 0;
	for (n = unit->ranges[found].node; unit->nodes[n].parent != NONE;
	     n = unit->nodes[n].parent) {
		const struct node *node = &unit->nodes[n];
		struct tl_inline_frame *frame;

		ret = tl_grow(&in->frames, &in->frame_capacity, count + 1, err);
		if (ret < 0)
			return ret;
		frame = &in->frames[count++];
		frame->function = name_of(in, node->die, err);
		frame->file = file_name(in, unit, node->call_file);
		frame->line = node->call_line;
		if (!frame->function)
			return TL_NOMEM;
	}
	*out = in->frames;
	return (int)count;
}

/* ---- opening ---- */

static int list_units(struct symbols_inlines *in, struct tl_error *err)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die root;
	uint8_t kind;
	int ret = TL_OK;

	while (ret == TL_OK && dwarf_get_units(in->dwarf, cu, &cu, NULL, &kind, &root, NULL) == 0) {
		uint32_t number = (uint32_t)in->unit_count;

		if (kind != DW_UT_compile || dwarf_tag(&root) != DW_TAG_compile_unit)
			continue;
		ret = tl_grow(&in->units, &in->unit_capacity, in->unit_count + 1, err);
		if (ret < 0)
			break;
		in->units[in->unit_count++].die = dwarf_dieoffset(&root);
		ret = add_ranges(&root, number, &in->unit_ranges, &in->unit_range_count,
				 &in->unit_range_capacity, err);
	}
	sort_ranges(in->unit_ranges, in->unit_range_count);
	return ret;
}

int symbols_inlines_open(struct symbols_inlines **out, struct symbols_image *image,
			 struct tl_error *err)
{
	struct symbols_inlines *in = tl_alloc(1, sizeof(*in), err);
	int ret = TL_OK;

	*out = NULL;
	if (!in) {
		symbols_image_close(image);
		return TL_NOMEM;
	}
	in->image = *image;
	memset(image, 0, sizeof(*image));
	elf_version(EV_CURRENT);
	if (in->image.data)
		in->elf = elf_memory((char *)(uintptr_t)in->image.data, in->image.size);
	if (in->elf)
		in->dwarf = dwarf_begin_elf(in->elf, DWARF_C_READ, NULL);
	if (in->dwarf)
		ret = list_units(in, err);
	if (ret < 0) {
		symbols_inlines_close(in);
		return ret;
	}
	*out = in;
	return TL_OK;
}

void symbols_inlines_close(struct symbols_inlines *in)
{
	if (!in)
		return;
	for (size_t i = 0; i < in->unit_count; i++) {
		free(in->units[i].nodes);
		free(in->units[i].ranges);
	}
	free(in->units);
	free(in->unit_ranges);
	free(in->names);
	free(in->frames);
	tl_index_release(&in->by_die);
	tl_arena_release(&in->arena);
	if (in->dwarf)
		dwarf_end(in->dwarf);
	if (in->elf)
		elf_end(in->elf);
	symbols_image_close(&in->image);
	free(in);
}
