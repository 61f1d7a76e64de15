#include "../pack.h"

uint64_t
runs_block(struct pack *p, const uint8_t *in, size_t n)
{
	uint8_t *out = p->out;

	for (size_t i = 0; i < n;) {
		size_t length = 1;

		while (i + length < n && length < 255 && in[i + length] == in[i])
			length++;
		*out++ = length;
		*out++ = in[i];
		i += length;
	}
	return out[-2] + (uint64_t)(out - p->out);
}
