/* What a Multiboot 1 loader (QEMU) tells the program that it boots. */
#ifndef MULTIBOOT_H
#define MULTIBOOT_H

#include <stdint.h>

#define MULTIBOOT_BOOTED 0x2badb002u
#define HAS_MODULES 0x8u
#define HAS_MEMORY_MAP 0x40u

struct multiboot {
	uint32_t flags;
	uint32_t memory_lower;
	uint32_t memory_upper;
	uint32_t boot_device;
	uint32_t command_line;
	uint32_t module_count;
	uint32_t modules;
	uint32_t symbols[4];
	uint32_t memory_map_size;
	uint32_t memory_map;
};

struct multiboot_module {
	uint32_t begin;
	uint32_t end;
	char *text;
	uint32_t padding;
};

/* One range of memory, as the BIOS (E820) has it too: there without `size`. */
struct multiboot_range {
	uint32_t size; /* of what follows */
	uint64_t base;
	uint64_t length;
	uint32_t type;
} __attribute__((packed));

#endif
