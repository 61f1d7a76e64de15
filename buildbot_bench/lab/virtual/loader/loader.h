/* What the parts of the loader know of each other. All addresses are physical ones, below 4 GiB. */
#ifndef LOADER_H
#define LOADER_H

#include <stddef.h>
#include <stdint.h>

#include "../freestanding/freestanding.h"

#define PAGE_SIZE 4096u
#define KERNBASE 0x80000000u /* the lower half of where a kernel's memory begins for itself */

/* A file that QEMU handed over, and then what was made of it in memory. */
struct file {
	const char *kind; /* "kernel", "module", "image" or "kenv" */
	const char *name; /* by which the kernel knows it */
	uint8_t *content;
	uint32_t size;
	uint32_t address; /* where it was loaded, and how much of it there is */
	uint32_t length;
	uint32_t entry;	   /* of the kernel: the lower half of its address */
	uint32_t sections; /* of an ELF file: the offset of its section headers, and their size */
	uint32_t sections_size;
	uint32_t symbols; /* of the kernel: where its symbols begin and end; 0 when it has none */
	uint32_t symbols_end;
};

/* console.c */
void console_init(void);
void say(const char *text);
void stop(const char *name, const char *why) __attribute__((noreturn));

/* memory.c */
void place_begin(uint32_t address);
uint32_t place_end(void);
uint32_t place(uint32_t size, uint32_t alignment);

/* kernel.c, module.c */
void load_kernel(struct file *file);
void load_module(struct file *file);

/* metadata.c */
void metadata_begin(void);
void *metadata(uint32_t type, const void *data, uint32_t size);
void metadata_text(uint32_t type, const char *text);
void metadata_file(const struct file *file, const char *type);
uint32_t metadata_end(void);

#endif
