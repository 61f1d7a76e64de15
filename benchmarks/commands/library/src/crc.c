#include "../pack.h"

uint64_t
crc_block(struct pack *p, const uint8_t *in, size_t n)
{
	uint32_t crc = 0xffffffff;

	for (uint32_t i = 0; i < 256; i++) {
		uint32_t one = i;

		for (int bit = 0; bit < 8; bit++)
			one = one & 1 ? one >> 1 ^ 0xedb88320 : one >> 1;
		p->table[i] = one;
	}
	for (size_t i = 0; i < n; i++)
		crc = crc >> 8 ^ p->table[(crc ^ in[i]) & 255];
	return crc;
}
