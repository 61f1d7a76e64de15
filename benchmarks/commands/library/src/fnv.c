#include "../pack.h"

uint64_t
fnv_block(struct pack *p, const uint8_t *in, size_t n)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ in[i]) * 0x100000001b3;
	return hash;
}
