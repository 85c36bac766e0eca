/*
 * symbols_names.c - the names of an ELF file with their addresses: its symbol tables, and the stubs
 * of its .plt, which have no symbols. Knows nothing of where files are.
 */
#include "symbols_private.h"

#include <stdlib.h>
#include <string.h>

#include <gelf.h>
#include <libelf.h>

/* ---- symbol tables ---- */

enum {
	SECTION_ALLOC = 1,  /* in memory when the program runs */
	SECTION_LABELS = 2, /* untyped symbols there are names of code or data */
};

struct section_facts {
	uint8_t *flags;
	size_t count;
};

static bool holds_labels(Elf *elf, size_t names, const GElf_Shdr *shdr)
{
	const char *name = elf_strptr(elf, names, shdr->sh_name);

	return name && (strstr(name, "text") || strstr(name, "data"));
}

/*
 * A kernel module is not linked: its symbols count from their sections, and where those went nobody
 * wrote down, but for the first with code, which is at the module's own address.
 */
static bool is_first_code(bool *has_code, const GElf_Shdr *shdr)
{
	bool is_code = shdr->sh_type == SHT_PROGBITS && (shdr->sh_flags & SHF_EXECINSTR) &&
		       (shdr->sh_flags & SHF_ALLOC) && shdr->sh_size;
	bool is_first = is_code && !*has_code;

	*has_code |= is_code;
	return is_first;
}

/* What symbols need to know of their section. A debug file's section names may be gone: then the
 * other file tells. */
static int section_facts(struct section_facts *facts, struct symbols_elf *elf,
			 struct symbols_elf *runtime, struct tl_error *err)
{
	size_t names = 0, runtime_names = 0, count = 0;
	bool has_code = false;

	memset(facts, 0, sizeof(*facts));
	if (elf_getshdrnum(elf->elf, &count) < 0 || elf_getshdrstrndx(elf->elf, &names) < 0)
		return TL_OK;
	if (elf_getshdrstrndx(runtime->elf, &runtime_names) < 0)
		runtime_names = 0;
	facts->flags = tl_alloc(count, 1, err);
	if (!facts->flags)
		return TL_NOMEM;
	facts->count = count;
	for (size_t i = 1; i < count; i++) {
		GElf_Shdr shdr;

		if (!gelf_getshdr(elf_getscn(elf->elf, i), &shdr))
			continue;
		if (shdr.sh_flags & SHF_ALLOC)
			facts->flags[i] |= SECTION_ALLOC;
		if (elf->type == ET_REL && !is_first_code(&has_code, &shdr))
			facts->flags[i] &= ~SECTION_ALLOC;
		if (shdr.sh_type == SHT_NOBITS && runtime != elf) {
			if (gelf_getshdr(elf_getscn(runtime->elf, i), &shdr) &&
			    holds_labels(runtime->elf, runtime_names, &shdr))
				facts->flags[i] |= SECTION_LABELS;
		} else if (holds_labels(elf->elf, names, &shdr)) {
			facts->flags[i] |= SECTION_LABELS;
		}
	}
	return TL_OK;
}

static void section_facts_release(struct section_facts *facts)
{
	free(facts->flags);
}

/* Marks of the assembler between code and data, not names: $a $d $t $x and $x.1 */
static bool is_mapping_symbol(const struct symbols_elf *elf, const char *name)
{
	return (elf->machine == EM_ARM || elf->machine == EM_AARCH64) && name[0] == '$' &&
	       name[1] && strchr("adtx", name[1]) && (!name[2] || name[2] == '.');
}

/* Functions, data and visible labels: the table that perf makes, so that ends agree with it. */
static bool is_wanted(const GElf_Sym *sym, const struct section_facts *facts)
{
	unsigned type = GELF_ST_TYPE(sym->st_info), visibility = GELF_ST_VISIBILITY(sym->st_other);
	uint8_t flags = sym->st_shndx < facts->count ? facts->flags[sym->st_shndx] : 0;

	if (!sym->st_name || sym->st_shndx == SHN_UNDEF || !(flags & SECTION_ALLOC))
		return false;
	if (type == STT_NOTYPE)
		return visibility != STV_HIDDEN && visibility != STV_INTERNAL &&
		       (flags & SECTION_LABELS);
	return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_OBJECT;
}

/* PowerPC ELFv1: a function's symbol is in .opd, which holds the address of its code. */
struct opd {
	const uint8_t *data;
	size_t size, section;
	uint64_t address;
};

static struct opd read_opd(struct symbols_elf *runtime)
{
	struct opd opd = { 0 };
	GElf_Shdr shdr;
	Elf_Scn *section = runtime->opd ? elf_getscn(runtime->elf, runtime->opd) : NULL;
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;

	if (runtime->machine != EM_PPC64 || !data || !data->d_buf || !gelf_getshdr(section, &shdr))
		return opd;
	opd.data = data->d_buf;
	opd.size = data->d_size;
	opd.address = shdr.sh_addr;
	opd.section = runtime->opd;
	return opd;
}

static uint64_t get_u64(bool is_big_endian, const uint8_t *p)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | p[is_big_endian ? i : 7 - i];
	return value;
}

static void follow_opd(const struct opd *opd, const struct symbols_elf *runtime, GElf_Sym *sym)
{
	uint64_t at = sym->st_value - opd->address;

	if (opd->section && sym->st_shndx == opd->section && opd->size >= 8 && at <= opd->size - 8)
		sym->st_value = get_u64(runtime->is_big_endian, opd->data + at);
}

/* *base is where the names of this table begin among the strings. */
static int load_one_table(struct symbols_table *table, struct symbols_elf *elf,
			  struct symbols_elf *runtime, size_t section_index, uint32_t *base,
			  struct tl_error *err)
{
	Elf_Scn *section = elf_getscn(elf->elf, section_index);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL, *strings;
	struct opd opd = read_opd(runtime);
	struct section_facts facts = { 0 };
	GElf_Shdr shdr;
	size_t count;
	int ret;

	if (!data || !gelf_getshdr(section, &shdr) || !shdr.sh_entsize)
		return tl_fail(err, TL_FORMAT, "%s: symbol table cannot be read: %s", elf->path,
			       elf_errmsg(-1));
	strings = elf_getdata(elf_getscn(elf->elf, shdr.sh_link), NULL);
	if (!strings || !strings->d_buf)
		return tl_fail(err, TL_FORMAT, "%s: names of the symbol table cannot be read: %s",
			       elf->path, elf_errmsg(-1));
	ret = symbols_table_add_strings(table, strings->d_buf, strings->d_size, base, err);
	if (ret == TL_OK)
		ret = section_facts(&facts, elf, runtime, err);
	count = data->d_size / gelf_fsize(elf->elf, ELF_T_SYM, 1, EV_CURRENT);
	for (size_t i = 0; ret == TL_OK && i < count; i++) {
		struct symbols_entry entry = { 0 };
		unsigned bind;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym) || sym.st_name >= strings->d_size ||
		    !table->strings[*base + sym.st_name] || !is_wanted(&sym, &facts) ||
		    is_mapping_symbol(elf, table->strings + *base + sym.st_name))
			continue;
		follow_opd(&opd, runtime, &sym);
		if (elf->machine == EM_ARM && GELF_ST_TYPE(sym.st_info) == STT_FUNC)
			sym.st_value &= ~UINT64_C(1); /* says Thumb, is no address */
		bind = GELF_ST_BIND(sym.st_info);
		entry.start = sym.st_value;
		entry.size = sym.st_size > UINT32_MAX ? UINT32_MAX : (uint32_t)sym.st_size;
		entry.name = *base + sym.st_name;
		entry.binding = bind == STB_WEAK     ? SYMBOLS_WEAK
				: bind == STB_GLOBAL ? SYMBOLS_GLOBAL
						     : SYMBOLS_LOCAL;
		ret = symbols_table_add(table, &entry, err);
	}
	section_facts_release(&facts);
	if (ret == TL_OK)
		ret = symbols_table_sort(table, err);
	if (ret == TL_OK)
		symbols_table_set_ends(table);
	return ret;
}

/* ---- .plt ---- */

struct plt {
	uint64_t address, size, header, entry;
};

/* Sizes of what linkers write; on x86 lld leaves sh_entsize 0. */
static void plt_sizes(const struct symbols_elf *elf, const GElf_Shdr *shdr, bool like_perf,
		      struct plt *plt)
{
	plt->address = shdr->sh_addr;
	plt->size = shdr->sh_size;
	plt->header = plt->entry = shdr->sh_entsize;
	switch (elf->machine) {
	case EM_ARM:
		plt->header = 20;
		plt->entry = 12;
		break;
	case EM_AARCH64:
		plt->header = 32;
		plt->entry = 16;
		break;
	case EM_RISCV:
	case EM_LOONGARCH:
		if (!like_perf) {
			plt->header = 32;
			plt->entry = 16;
		}
		break;
	case EM_SPARC:
		plt->header = 48;
		plt->entry = 12;
		break;
	case EM_SPARCV9:
		plt->header = 128;
		plt->entry = 32;
		break;
	case EM_386:
	case EM_X86_64:
		if (!like_perf && shdr->sh_entsize <= 4)
			plt->header = plt->entry = 16;
		break;
	default:
		break;
	}
}

struct plt_slot {
	uint64_t got, addend;
	uint32_t symbol; /* 0: an indirect function of this file, whose resolver is at the addend */
};

static int compare_slots(const void *a, const void *b)
{
	const struct plt_slot *x = a, *y = b;

	return x->got < y->got ? -1 : x->got > y->got;
}

/* The relocations of the PLT in the order of their stubs, which is that of their GOT slots. */
static int read_slots(struct symbols_elf *elf, Elf_Scn *section, bool has_addend, bool like_perf,
		      struct plt_slot **out, size_t *count, struct tl_error *err)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t size = gelf_fsize(elf->elf, has_addend ? ELF_T_RELA : ELF_T_REL, 1, EV_CURRENT);
	struct plt_slot *slots;

	*out = NULL;
	*count = data && data->d_buf && size ? data->d_size / size : 0;
	if (!*count)
		return TL_OK;
	slots = tl_alloc(*count, sizeof(*slots), err);
	if (!slots)
		return TL_NOMEM;
	for (size_t i = 0; i < *count; i++) {
		GElf_Rela rela;
		GElf_Rel rel;

		if (has_addend && gelf_getrela(data, (int)i, &rela)) {
			slots[i].got = rela.r_offset;
			slots[i].addend = (uint64_t)rela.r_addend;
			slots[i].symbol = (uint32_t)GELF_R_SYM(rela.r_info);
		} else if (!has_addend && gelf_getrel(data, (int)i, &rel)) {
			slots[i].got = rel.r_offset;
			slots[i].symbol = (uint32_t)GELF_R_SYM(rel.r_info);
		}
	}
	if (!like_perf)
		qsort(slots, *count, sizeof(*slots), compare_slots);
	*out = slots;
	return TL_OK;
}

/* The name of what a stub calls, as an offset into the strings; false: it has none. */
static bool stub_name(const struct symbols_table *table, Elf_Data *symbols,
		      const struct plt_slot *slot, uint32_t base, uint32_t *name)
{
	const struct symbols_entry *target;
	GElf_Sym sym;

	if (slot->symbol || table->is_like_perf) {
		if (!symbols || !gelf_getsym(symbols, (int)slot->symbol, &sym) ||
		    (!sym.st_name && !table->is_like_perf) ||
		    base + (uint64_t)sym.st_name >= table->strings_size)
			return false;
		*name = base + sym.st_name;
		return true;
	}
	target = slot->addend ? symbols_table_find(table, slot->addend) : NULL;
	if (!target || target->start != slot->addend)
		return false;
	*name = target->name;
	return true;
}

/* `named` entries are sorted already; stubs are added behind them. */
static int add_stubs(struct symbols_table *table, size_t named, struct symbols_elf *elf,
		     const struct plt *plt, const struct plt_slot *slots, size_t count,
		     uint32_t base, struct tl_error *err)
{
	Elf_Data *symbols = elf_getdata(elf_getscn(elf->elf, elf->dynsym), NULL);
	uint64_t at = plt->address + plt->header;
	int ret = TL_OK;

	if (!plt->address || (!plt->entry && !table->is_like_perf) || plt->entry > UINT32_MAX)
		return TL_OK;
	for (size_t i = 0; ret == TL_OK && i < count; i++) {
		struct symbols_entry entry = { .start = at,
					       .size = (uint32_t)plt->entry,
					       .binding = SYMBOLS_GLOBAL,
					       .flags = SYMBOLS_PLT };
		struct symbols_table sorted = *table;

		if (at - plt->address >= plt->size && !table->is_like_perf)
			break;
		at += plt->entry;
		sorted.count = named;
		if (stub_name(&sorted, symbols, &slots[i], base, &entry.name))
			ret = symbols_table_add(table, &entry, err);
	}
	return ret;
}

/* Stubs have no symbols: the n-th belongs to the n-th relocation. */
static int load_plt(struct symbols_table *table, struct symbols_elf *elf, bool has_base,
		    uint32_t base, struct tl_error *err)
{
	struct plt plt = { 0 }, second = { 0 };
	struct plt_slot *slots = NULL;
	Elf_Scn *section = NULL, *relocations = NULL;
	size_t names = 0, count = 0;
	size_t named = table->count;
	bool has_addend = false;
	Elf_Data *strings;
	GElf_Shdr shdr;
	int ret;

	if (!elf->dynsym || elf_getshdrstrndx(elf->elf, &names) < 0)
		return TL_OK;
	while ((section = elf_nextscn(elf->elf, section))) {
		const char *name;

		if (!gelf_getshdr(section, &shdr) ||
		    !(name = elf_strptr(elf->elf, names, shdr.sh_name)))
			continue;
		if (!strcmp(name, ".plt") && shdr.sh_type == SHT_PROGBITS) {
			plt_sizes(elf, &shdr, table->is_like_perf, &plt);
		} else if (!strcmp(name, ".plt.sec") && shdr.sh_type == SHT_PROGBITS &&
			   !table->is_like_perf) {
			plt_sizes(elf, &shdr, table->is_like_perf, &second);
			second.header = 0;
		} else if ((!strcmp(name, ".rela.plt") || !strcmp(name, ".rel.plt")) &&
			   shdr.sh_link == elf->dynsym) {
			relocations = section;
			has_addend = shdr.sh_type == SHT_RELA;
		}
	}
	if (!relocations || !gelf_getshdr(elf_getscn(elf->elf, elf->dynsym), &shdr) ||
	    !(strings = elf_getdata(elf_getscn(elf->elf, shdr.sh_link), NULL)) || !strings->d_buf)
		return TL_OK;
	ret = read_slots(elf, relocations, has_addend, table->is_like_perf, &slots, &count, err);
	if (ret == TL_OK && !has_base)
		ret = symbols_table_add_strings(table, strings->d_buf, strings->d_size, &base, err);
	if (ret == TL_OK)
		ret = add_stubs(table, named, elf, &plt, slots, count, base, err);
	if (ret == TL_OK)
		ret = add_stubs(table, named, elf, &second, slots, count, base, err);
	free(slots);
	return ret;
}

int symbols_elf_load(struct symbols_table *table, struct symbols_elf *syms,
		     struct symbols_elf *runtime, struct tl_error *err)
{
	uint32_t symtab_base, dynsym_base = 0;
	bool has_base = false;
	int ret = TL_OK;

	if (syms->symtab)
		ret = load_one_table(table, syms, runtime, syms->symtab, &symtab_base, err);
	symbols_table_end_stage(table, true);
	if (ret == TL_OK && syms->dynsym) {
		ret = load_one_table(table, syms, runtime, syms->dynsym, &dynsym_base, err);
		has_base = syms == runtime;
	}
	symbols_table_end_stage(table, true);
	if (ret == TL_OK && (table->count || !table->is_like_perf))
		ret = load_plt(table, runtime, has_base, dynsym_base, err);
	symbols_table_end_stage(table, false);
	if (ret == TL_OK)
		ret = symbols_table_sort(table, err);
	if (ret == TL_OK)
		ret = symbols_table_finish(table, err);
	return ret;
}
