/* Looks its own symbols up, and those of a module where the module's section headers say. */
#include "checker.h"

#define SYMBOLS 2 /* types of sections */
#define RELOCATIONS 4
#define NOT_IN_FILE 8
#define ALLOCATED 2 /* a flag */

struct section {
	uint32_t name, type;
	uint64_t flags, address, offset, size;
	uint32_t link, info;
	uint64_t alignment, entry_size;
};

struct symbol {
	uint32_t name;
	uint8_t info, other;
	uint16_t section;
	uint64_t value, size;
};

static const struct symbol *
find(const struct symbol *table, uint64_t size, const char *names, const char *name)
{
	for (uint64_t i = 0; i < size / sizeof(*table); i++) {
		if (equal(names + table[i].name, name))
			return &table[i];
	}
	return NULL;
}

void
check_symbols(uint64_t begin, uint64_t end)
{
	const uint64_t *size = (const uint64_t *)(begin + KERNBASE);
	const struct symbol *table = (const struct symbol *)(size + 1), *found;
	const uint64_t *names_size = (const uint64_t *)((uintptr_t)table + *size);

	expect((uintptr_t)(names_size + 1) + *names_size <= end + KERNBASE, "the symbols' end");
	found = find(table, *size, (const char *)(names_size + 1), "btext");
	expect(found != NULL && found->value == (uintptr_t)btext, "the symbol btext");
	print("symbols\n");
}

static void
check_section(const struct file *file, const struct section *section)
{
	if (section->address == 0) {
		expect((section->flags & ALLOCATED) == 0 || section->size == 0, "a section nowhere");
		return;
	}
	expect(section->address >= file->address &&
	    section->address + section->size <= file->address + file->length &&
	    (section->alignment < 2 || section->address % section->alignment == 0),
	    "a section's place");
	if (section->type == NOT_IN_FILE)
		expect(*(const uint64_t *)(section->address + KERNBASE) == 0, "a module's bss");
	if (section->type == RELOCATIONS)
		print("relocations\n");
}

/* A module has a number called `answer`. */
void
check_module(const struct file *file, const void *headers, uint32_t size)
{
	const struct section *sections = headers, *table = NULL;
	const struct symbol *found = NULL;

	for (uint32_t i = 0; i < size / sizeof(*sections); i++) {
		check_section(file, &sections[i]);
		if (sections[i].type == SYMBOLS)
			table = &sections[i];
	}
	if (table != NULL && table->address != 0)
		found = find((const void *)(table->address + KERNBASE), table->size,
		    (const char *)(sections[table->link].address + KERNBASE), "answer");
	expect(found != NULL, "a module's symbols");
	if (found == NULL)
		return;
	print("answer: ");
	print_number(*(const uint32_t *)(sections[found->section].address + found->value + KERNBASE),
	    10);
	print("\n");
}
