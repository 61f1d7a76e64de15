#include "pack.h"

static uint64_t
stages(struct pack *p, const uint8_t *in, size_t n)
{
	uint64_t sum = 0;

	sum += adler_block(p, in, n);
	sum += base64_block(p, in, n);
	sum += cipher_block(p, in, n);
	sum += crc_block(p, in, n);
	sum += delta_block(p, in, n);
	sum += fnv_block(p, in, n);
	sum += histogram_block(p, in, n);
	sum += match_block(p, in, n);
	sum += runs_block(p, in, n);
	sum += sort_block(p, in, n);
	sum += utf8_block(p, in, n);
	sum += varint_block(p, in, n);
	return sum;
}

uint64_t
pack_block(struct pack *p, const uint8_t *in, size_t n)
{
	uint64_t sum = stages(p, in, n);

	/* after a block */
	return sum;
}
