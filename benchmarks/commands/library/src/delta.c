#include "../pack.h"

uint64_t
delta_block(struct pack *p, const uint8_t *in, size_t n)
{
	uint64_t sum = 0;
	uint8_t last = 0;

	for (size_t i = 0; i < n; i++) {
		uint8_t step = in[i] - last;

		last = in[i];
		p->out[i] = step & 0x80 ? (uint8_t)~step << 1 | 1 : step << 1;
		sum = sum * 31 + p->out[i];
	}
	return sum;
}
