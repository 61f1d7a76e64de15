/* Reads ELF files and trusts none of their numbers: what lies outside of its file stops the boot. */
#include "elf.h"

#include "loader.h"

uint8_t *
elf_content(struct file *file, uint64_t offset, uint64_t size)
{
	if (offset > file->size || size > file->size - offset)
		stop(file->name, "is cut short: a part of it lies behind its end");
	return file->content + (uint32_t)offset;
}

/* The header of an ELF file of that type, of which the section headers are known to be there. */
struct elf *
elf_header(struct file *file, uint16_t type)
{
	struct elf *header = (struct elf *)elf_content(file, 0, sizeof(struct elf));

	if ((header->ident & ELF_IDENT_MASK) != ELF_IDENT)
		stop(file->name, "is no ELF file of 64 bits");
	if (header->machine != ELF_X86_64)
		stop(file->name, "is for another processor than amd64");
	if (header->type != type)
		stop(file->name, "is an ELF file of another type than is wanted here");
	if (header->section_count != 0 && header->section_size != sizeof(struct section))
		stop(file->name, "has section headers of an unknown size");
	file->sections_size = header->section_count * (uint32_t)sizeof(struct section);
	elf_content(file, header->sections, file->sections_size);
	file->sections = (uint32_t)header->sections;
	return header;
}

struct section *
elf_section(struct file *file, uint32_t number)
{
	if (number >= file->sections_size / sizeof(struct section))
		stop(file->name, "refers to a section that it does not have");
	return (struct section *)(file->content + file->sections) + number;
}
