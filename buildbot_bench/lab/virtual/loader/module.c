/* Lays out a relocatable object as the kernel's own linker wants to find it: it does the linking.
 *
 * The section headers say where each section came to lie; 0 is nowhere. */
#include "elf.h"
#include "loader.h"

static int
is_program(const struct section *section)
{
	switch (section->type) {
	case SECTION_PROGRAM:
	case SECTION_NOBITS:
	case SECTION_UNWIND:
	case SECTION_INIT_ARRAY:
	case SECTION_FINI_ARRAY:
		return (section->flags & SECTION_ALLOCATED) != 0 && section->size != 0;
	default:
		return 0;
	}
}

static int
is_relocation(struct file *file, const struct section *section)
{
	if (section->type != SECTION_REL && section->type != SECTION_RELA)
		return 0;
	return (elf_section(file, section->info)->flags & SECTION_ALLOCATED) != 0;
}

static void
load_section(struct file *file, struct section *section)
{
	uint32_t alignment = (uint32_t)section->alignment;
	uint32_t address;

	if (alignment == 0)
		alignment = 1;
	if ((alignment & (alignment - 1)) != 0 || alignment > PAGE_SIZE)
		stop(file->name, "has a section of a strange alignment");
	if (section->size > UINT32_MAX)
		stop(file->name, "has a section that no memory holds");
	address = place((uint32_t)section->size, alignment);
	section->address = address;
	if (section->type == SECTION_NOBITS)
		memset((void *)address, 0, (uint32_t)section->size);
	else
		memcpy((void *)address, elf_content(file, section->offset, section->size),
		    (uint32_t)section->size);
}

void
load_module(struct file *file)
{
	struct elf *header = elf_header(file, ELF_RELOCATABLE);
	uint32_t count = header->section_count;
	struct section *symbols = NULL;

	file->address = place(0, PAGE_SIZE);
	for (uint32_t i = 0; i < count; i++) {
		struct section *section = elf_section(file, i);

		section->address = 0;
		if (section->type == SECTION_SYMBOLS)
			symbols = section;
	}
	if (symbols == NULL || header->names == 0)
		stop(file->name, "has no symbols, or no names of sections");
	for (uint32_t i = 0; i < count; i++) {
		if (is_program(elf_section(file, i)))
			load_section(file, elf_section(file, i));
	}
	load_section(file, symbols);
	load_section(file, elf_section(file, symbols->link));
	load_section(file, elf_section(file, header->names));
	for (uint32_t i = 0; i < count; i++) {
		if (is_relocation(file, elf_section(file, i)))
			load_section(file, elf_section(file, i));
	}
	file->length = place_end() - file->address;
}
