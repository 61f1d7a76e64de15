/* What loader and init need of a C library, which neither has. */
#include "freestanding.h"

void *
memcpy(void *to, const void *from, size_t size)
{
	void *place = to;

	__asm__ volatile("rep movsb" : "+D"(place), "+S"(from), "+c"(size) : : "memory");
	return to;
}

void *
memset(void *to, int value, size_t size)
{
	void *place = to;

	__asm__ volatile("rep stosb" : "+D"(place), "+c"(size) : "a"(value) : "memory");
	return to;
}

size_t
text_length(const char *text)
{
	size_t length = 0;

	while (text[length] != '\0')
		length++;
	return length;
}

int
text_equal(const char *one, const char *other)
{
	for (; *one == *other; one++, other++) {
		if (*one == '\0')
			return 1;
	}
	return 0;
}
