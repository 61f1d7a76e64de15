/* Hands out memory from the kernel's end upwards, and stops before the loader's own. */
#include "loader.h"

/* What a kernel takes behind `kernend` before it has page tables of its own. */
#define SLACK (8u << 20)

extern uint8_t loader_start[];

static uint32_t next;

void
place_begin(uint32_t address)
{
	next = address;
	place(0, 1);
}

uint32_t
place_end(void)
{
	return next;
}

uint32_t
place(uint32_t size, uint32_t alignment)
{
	uint32_t limit = (uint32_t)loader_start - SLACK;
	uint32_t begin = (next + alignment - 1) & ~(alignment - 1);

	if (begin > limit || size > limit - begin)
		stop("the kernel", "and its modules are too large for this loader");
	next = begin + size;
	return begin;
}
