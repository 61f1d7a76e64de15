#include "../pack.h"

uint64_t
base64_block(struct pack *p, const uint8_t *in, size_t n)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint8_t *out = p->out;

	for (size_t i = 0; i + 3 <= n; i += 3) {
		uint32_t word = in[i] << 16 | in[i + 1] << 8 | in[i + 2];

		for (int shift = 18; shift >= 0; shift -= 6)
			*out++ = digits[word >> shift & 63];
	}
	return out[-1] + (uint64_t)(out - p->out);
}
