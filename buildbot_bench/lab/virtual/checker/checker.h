/* What the parts of the checking kernel know of each other. */
#ifndef CHECKER_H
#define CHECKER_H

#include <stddef.h>
#include <stdint.h>

#define KERNBASE 0xffffffff80000000ul /* where it sees the physical memory that it was loaded to */

/* One of the files that it was handed, as the records say so far. */
struct file {
	const char *name;
	uint64_t address;
	uint64_t length;
	uint64_t symbols;
};

/* print.c */
void print(const char *text);
void print_number(uint64_t number, unsigned base);
void expect(int right, const char *what);
int equal(const char *one, const char *other);
extern int wrong; /* whether anything was */

/* elf.c */
void check_symbols(uint64_t begin, uint64_t end);
void check_module(const struct file *file, const void *headers, uint32_t size);

/* check.c */
void btext(void);
void check(uint32_t modulep, uint32_t kernend);
void and_then(void) __attribute__((weak)); /* what tests have it turn into */

#endif
