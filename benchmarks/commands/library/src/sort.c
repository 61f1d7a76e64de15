#include "../pack.h"

uint64_t
sort_block(struct pack *p, const uint8_t *in, size_t n)
{
	uint64_t sum = 0;

	for (size_t start = 0; start + 32 <= n; start += 128) {
		uint8_t keys[32];

		for (int i = 0; i < 32; i++) {
			int j = i;

			for (; j > 0 && keys[j - 1] > in[start + i]; j--)
				keys[j] = keys[j - 1];
			keys[j] = in[start + i];
		}
		sum = sum * 7 + keys[16];
	}
	return sum;
}
