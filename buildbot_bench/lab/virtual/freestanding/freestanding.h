/* Memory and words where there is no C library; compilers call the first two by themselves. */
#ifndef FREESTANDING_H
#define FREESTANDING_H

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
size_t text_length(const char *text);
int text_equal(const char *one, const char *other);

#endif
