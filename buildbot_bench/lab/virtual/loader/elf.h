/* ELF files of 64 bits, as the System V ABI has them (elf(5)). */
#ifndef ELF_H
#define ELF_H

#include <stdint.h>

#define ELF_IDENT 0x00010102464c457full /* magic, 64 bits, little-endian, version 1, any ABI */
#define ELF_IDENT_MASK 0x00ffffffffffffffull
#define ELF_X86_64 62
#define ELF_RELOCATABLE 1
#define ELF_EXECUTABLE 2

#define SEGMENT_LOAD 1

#define SECTION_PROGRAM 1
#define SECTION_SYMBOLS 2
#define SECTION_STRINGS 3
#define SECTION_RELA 4
#define SECTION_NOBITS 8
#define SECTION_REL 9
#define SECTION_INIT_ARRAY 14
#define SECTION_FINI_ARRAY 15
#define SECTION_UNWIND 0x70000001 /* x86-64 */
#define SECTION_ALLOCATED 2	  /* a flag */

struct elf {
	uint64_t ident;
	uint64_t padding;
	uint16_t type;
	uint16_t machine;
	uint32_t version;
	uint64_t entry;
	uint64_t segments; /* offset */
	uint64_t sections; /* offset */
	uint32_t flags;
	uint16_t size;
	uint16_t segment_size;
	uint16_t segment_count;
	uint16_t section_size;
	uint16_t section_count;
	uint16_t names; /* the section that has the names of sections */
};

struct segment {
	uint32_t type;
	uint32_t flags;
	uint64_t offset;
	uint64_t address;
	uint64_t physical;
	uint64_t size; /* in the file */
	uint64_t length; /* in memory */
	uint64_t alignment;
};

struct section {
	uint32_t name;
	uint32_t type;
	uint64_t flags;
	uint64_t address;
	uint64_t offset;
	uint64_t size;
	uint32_t link;
	uint32_t info;
	uint64_t alignment;
	uint64_t entry_size;
};

struct file;

/* elf.c */
struct elf *elf_header(struct file *file, uint16_t type);
struct section *elf_section(struct file *file, uint32_t number);
uint8_t *elf_content(struct file *file, uint64_t offset, uint64_t size);

#endif
