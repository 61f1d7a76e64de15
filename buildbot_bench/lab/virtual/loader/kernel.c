/* Puts a kernel's segments and symbols where it expects them. */
#include "elf.h"
#include "loader.h"

#define LOWEST 0x100000u

/* The physical address of a kernel's virtual one; a kernel lies in the topmost 2 GiB. */
static uint32_t
physical(const struct file *file, uint64_t address)
{
	uint32_t low = (uint32_t)address - KERNBASE;

	if ((uint32_t)(address >> 32) != 0xffffffffu || (uint32_t)address < KERNBASE + LOWEST)
		stop(file->name, "is linked for an address that this loader does not know");
	return low;
}

static void
load_segment(struct file *file, const struct segment *segment)
{
	uint32_t address = physical(file, segment->address);
	const uint8_t *content = elf_content(file, segment->offset, segment->size);

	if (segment->length < segment->size || segment->length > UINT32_MAX - address)
		stop(file->name, "has a segment that is larger in its file than in memory");
	place_begin(address);
	place((uint32_t)segment->length, 1); /* or there is not so much memory */
	memcpy((void *)address, content, (uint32_t)segment->size);
	memset((uint8_t *)address + (uint32_t)segment->size, 0,
	    (uint32_t)(segment->length - segment->size));
	if (file->length == 0 || address < file->address)
		file->address = address;
	if (place_end() > file->length)
		file->length = place_end(); /* its end, for now */
}

/* Behind the kernel: a table's size as 64 bits, and the table. */
static void
load_table(struct file *file, const struct section *section)
{
	const uint8_t *content = elf_content(file, section->offset, section->size);
	uint32_t address = place(8 + (uint32_t)section->size, 8);

	*(uint64_t *)address = section->size;
	memcpy((void *)(address + 8), content, (uint32_t)section->size);
	if (file->symbols == 0)
		file->symbols = address;
}

static void
load_symbols(struct file *file)
{
	for (uint32_t i = 0; i < file->sections_size / sizeof(struct section); i++) {
		const struct section *section = elf_section(file, i);

		if (section->type != SECTION_SYMBOLS || section->size == 0)
			continue;
		load_table(file, section);
		load_table(file, elf_section(file, section->link));
		file->symbols_end = place(0, 8);
		return;
	}
}

void
load_kernel(struct file *file)
{
	struct elf *header = elf_header(file, ELF_EXECUTABLE);

	for (uint32_t i = 0; i < header->segment_count; i++) {
		const struct segment *segment = (const struct segment *)elf_content(
		    file, header->segments + i * sizeof(struct segment), sizeof(struct segment));

		if (segment->type == SEGMENT_LOAD && segment->length != 0)
			load_segment(file, segment);
	}
	if (file->length == 0)
		stop(file->name, "has nothing to load");
	file->entry = physical(file, header->entry) + KERNBASE;
	place_begin(file->length);
	place(0, 8);
	load_symbols(file);
	file->length = place_end() - file->address;
}
