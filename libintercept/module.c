/* module.c - see module.h. Any thread; never blocks but for the loader's list lock. */
#include <elf.h>
#include <string.h>

#include "libintercept/module.h"

void wt_module_from_info(const struct dl_phdr_info *info, struct wt_module *ret_module)
{
	struct wt_module module = {
	        .name = info->dlpi_name ? info->dlpi_name : "",
	        .base = info->dlpi_addr,
	        .begin = UINTPTR_MAX,
	};

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + phdr->p_vaddr;

		if (phdr->p_type == PT_DYNAMIC)
			module.dynamic = (const ElfW(Dyn) *)begin;
		if (phdr->p_type != PT_LOAD)
			continue;
		if (begin < module.begin)
			module.begin = begin;
		if (begin + phdr->p_memsz > module.end)
			module.end = begin + phdr->p_memsz;
	}
	*ret_module = module;
}

bool wt_module_is(const struct wt_module *module, const char *prefix)
{
	const char *slash = strrchr(module->name, '/');
	const char *file = slash ? slash + 1 : module->name;

	return !strncmp(file, prefix, strlen(prefix));
}

/* The dynamic section's tables, as addresses. */
struct tables {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *gnu_hash;
	const uint32_t *sysv_hash;
};

/* glibc relocates these pointers in place for most libraries, but not for all (the vDSO). */
static const void *table_at(const struct wt_module *module, uintptr_t value)
{
	return (const void *)(value < module->begin ? module->base + value : value);
}

static bool read_tables(const struct wt_module *module, struct tables *ret_tables)
{
	struct tables t = {0};

	if (!module->dynamic)
		return false;
	for (const ElfW(Dyn) *dyn = module->dynamic; dyn->d_tag != DT_NULL; dyn++) {
		switch (dyn->d_tag) {
		case DT_SYMTAB:
			t.symbols = table_at(module, dyn->d_un.d_ptr);
			break;
		case DT_STRTAB:
			t.strings = table_at(module, dyn->d_un.d_ptr);
			break;
		case DT_GNU_HASH:
			t.gnu_hash = table_at(module, dyn->d_un.d_ptr);
			break;
		case DT_HASH:
			t.sysv_hash = table_at(module, dyn->d_un.d_ptr);
			break;
		default:
			break;
		}
	}
	*ret_tables = t;
	return t.symbols && t.strings && (t.gnu_hash || t.sysv_hash);
}

/* Not strcmp: a sanitizer has one of its own, which calls dlsym, which calls us. */
static bool is_same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

/* The address if symbol `idx` is a defined, plain function of that name. */
static void *match(const struct wt_module *module, const struct tables *t, uint32_t idx,
                   const char *symbol)
{
	const ElfW(Sym) *sym = &t->symbols[idx];

	if (sym->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(sym->st_info) != STT_FUNC ||
	    !is_same(t->strings + sym->st_name, symbol))
		return NULL;
	return (void *)(module->base + sym->st_value);
}

static void *find_gnu(const struct wt_module *module, const struct tables *t, const char *symbol)
{
	const uint32_t bucket_count = t->gnu_hash[0], first = t->gnu_hash[1];
	const uint32_t bloom_words = t->gnu_hash[2], bloom_shift = t->gnu_hash[3];
	const ElfW(Addr) *bloom = (const ElfW(Addr) *)(t->gnu_hash + 4);
	const uint32_t *buckets = (const uint32_t *)(bloom + bloom_words);
	const uint32_t *chain = buckets + bucket_count;
	const unsigned bits = 8 * sizeof(*bloom);
	uint32_t hash = 5381;
	ElfW(Addr) word;

	for (const unsigned char *at = (const unsigned char *)symbol; *at; at++)
		hash = hash * 33 + *at;
	word = bloom[hash / bits % bloom_words];
	if (!(word >> (hash % bits) & word >> ((hash >> bloom_shift) % bits) & 1))
		return NULL;
	for (uint32_t idx = buckets[hash % bucket_count]; idx >= first; idx++) {
		uint32_t entry = chain[idx - first];
		void *address = (entry | 1) == (hash | 1) ? match(module, t, idx, symbol) : NULL;

		if (address)
			return address;
		if (entry & 1) /* the end of this bucket's chain */
			break;
	}
	return NULL;
}

static void *find_sysv(const struct wt_module *module, const struct tables *t, const char *symbol)
{
	const uint32_t bucket_count = t->sysv_hash[0];
	const uint32_t *buckets = t->sysv_hash + 2;
	const uint32_t *chain = buckets + bucket_count;
	uint32_t hash = 0;

	for (const unsigned char *at = (const unsigned char *)symbol; *at; at++) {
		hash = (hash << 4) + *at;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
	}
	for (uint32_t idx = buckets[hash % bucket_count]; idx; idx = chain[idx]) {
		void *address = match(module, t, idx, symbol);

		if (address)
			return address;
	}
	return NULL;
}

void *wt_module_symbol(const struct wt_module *module, const char *symbol)
{
	struct tables t;

	if (!read_tables(module, &t))
		return NULL;
	return t.gnu_hash ? find_gnu(module, &t, symbol) : find_sysv(module, &t, symbol);
}
