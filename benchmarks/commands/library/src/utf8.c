#include "../pack.h"

uint64_t
utf8_block(struct pack *p, const uint8_t *in, size_t n)
{
	uint64_t letters = 0, words = 0;
	int inside = 0;

	for (size_t i = 0; i < n; i++) {
		if ((in[i] & 0xc0) != 0x80)
			letters++;
		if (in[i] == ' ' || in[i] == '\n')
			inside = 0;
		else if (!inside) {
			inside = 1;
			words++;
		}
	}
	return letters << 16 | words;
}
