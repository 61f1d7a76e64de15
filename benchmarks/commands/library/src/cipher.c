#include "../pack.h"

uint64_t
cipher_block(struct pack *p, const uint8_t *in, size_t n)
{
	uint64_t state = 0x9e3779b97f4a7c15, sum = 0;

	for (size_t i = 0; i < n; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		p->out[i] = in[i] ^ (uint8_t)state;
		sum += p->out[i];
	}
	return sum;
}
