/* The serial console. */
#ifndef CONSOLE_H
#define CONSOLE_H

#include <stdint.h>

void console_init(void);
void print(const char *text);
void print_hex(uint32_t value, int digits);

/* Says why and resets the machine, as a kernel does that was told to reboot after a panic. */
void panic(const char *why, uint32_t where) __attribute__((noreturn));

#endif
