#include "../pack.h"

uint64_t
varint_block(struct pack *p, const uint8_t *in, size_t n)
{
	uint8_t *out = p->out;

	for (size_t i = 0; i + 2 <= n; i += 2) {
		uint32_t value = in[i] << 6 ^ in[i + 1];

		while (value >= 128) {
			*out++ = value | 128;
			value >>= 7;
		}
		*out++ = value;
	}
	return out[-1] + (uint64_t)(out - p->out);
}
