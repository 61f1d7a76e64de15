/* What the compiler expects of its surroundings. */
#include "memory.h"

void *
memcpy(void *restrict to, const void *restrict from, size_t length)
{
	void *start = to;
	size_t words = length / 4;

	__asm__ volatile("rep movsl" : "+D"(to), "+S"(from), "+c"(words) : : "memory");
	length &= 3;
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(length) : : "memory");
	return start;
}

void *
memset(void *at, int value, size_t length)
{
	void *start = at;

	__asm__ volatile("rep stosb" : "+D"(at), "+c"(length) : "a"(value) : "memory");
	return start;
}
