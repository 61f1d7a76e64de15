/* What the compiler expects of its surroundings, as the C standard has it. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t length);
void *memset(void *at, int value, size_t length);

#endif
