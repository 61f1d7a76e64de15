#include "../pack.h"

uint64_t
match_block(struct pack *p, const uint8_t *in, size_t n)
{
	uint32_t *heads = p->table;
	uint64_t sum = 0;

	for (int i = 0; i < 4096; i++)
		heads[i] = 0;
	for (size_t i = 0; i + 4 <= n; i++) {
		uint32_t word = in[i] << 16 | in[i + 1] << 8 | in[i + 2];
		uint32_t slot = word * 2654435761u >> 20;
		size_t at = heads[slot], length = 0;

		heads[slot] = i;
		while (at < i && i + length < n && length < 16 && in[at + length] == in[i + length])
			length++;
		sum += length;
	}
	return sum;
}
