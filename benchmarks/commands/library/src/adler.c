#include "../pack.h"

uint64_t
adler_block(struct pack *p, const uint8_t *in, size_t n)
{
	uint32_t a = 1, b = 0;

	for (size_t i = 0; i < n; i++) {
		a = (a + in[i]) % 65521;
		b = (b + a) % 65521;
	}
	return (uint64_t)b << 16 | a;
}
