/* A small packing library: each stage takes a block of bytes and gives a sum of what it made. */
#ifndef PACK_H
#define PACK_H

#include <stddef.h>
#include <stdint.h>

#define PACK_BLOCK 4096

struct pack {
	uint8_t out[3 * PACK_BLOCK];
	uint32_t table[4096];
	int64_t due;
	uint64_t errors;
};

uint64_t adler_block(struct pack *p, const uint8_t *in, size_t n);
uint64_t base64_block(struct pack *p, const uint8_t *in, size_t n);
uint64_t cipher_block(struct pack *p, const uint8_t *in, size_t n);
uint64_t crc_block(struct pack *p, const uint8_t *in, size_t n);
uint64_t delta_block(struct pack *p, const uint8_t *in, size_t n);
uint64_t fnv_block(struct pack *p, const uint8_t *in, size_t n);
uint64_t histogram_block(struct pack *p, const uint8_t *in, size_t n);
uint64_t match_block(struct pack *p, const uint8_t *in, size_t n);
uint64_t runs_block(struct pack *p, const uint8_t *in, size_t n);
uint64_t sort_block(struct pack *p, const uint8_t *in, size_t n);
uint64_t utf8_block(struct pack *p, const uint8_t *in, size_t n);
uint64_t varint_block(struct pack *p, const uint8_t *in, size_t n);

/* All stages, one after the other. */
uint64_t pack_block(struct pack *p, const uint8_t *in, size_t n);

#endif
