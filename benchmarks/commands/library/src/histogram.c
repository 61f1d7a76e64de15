#include "../pack.h"

uint64_t
histogram_block(struct pack *p, const uint8_t *in, size_t n)
{
	uint32_t *count = p->table;
	uint64_t sum = 0;

	for (int i = 0; i < 256; i++)
		count[i] = 0;
	for (size_t i = 0; i < n; i++)
		count[in[i]]++;
	for (int i = 0; i < 256; i++)
		sum += (uint64_t)count[i] * count[i] * i;
	return sum;
}
