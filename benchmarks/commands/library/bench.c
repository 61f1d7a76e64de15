/* Packs a made-up text, and prints MB packed in a second of processor time. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "pack.h"

#define BLOCKS 8

static uint8_t text[BLOCKS][PACK_BLOCK];
static struct pack state;

static double
now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
	return at.tv_sec + at.tv_nsec / 1e9;
}

int
main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 400;
	uint32_t seed = 12345;
	uint64_t sum = 0;
	double began, took;

	for (size_t i = 0; i < sizeof(text); i++) {
		seed = seed * 1664525 + 1013904223;
		((uint8_t *)text)[i] = "etaoin shrdlu\n"[(seed >> 24) % 14] ^ (seed >> 30 == 3 ? 0x80 : 0);
	}
	began = now();
	for (long i = 0; i < count; i++)
		sum = 31 * sum + pack_block(&state, text[i % BLOCKS], PACK_BLOCK);
	took = now() - began;
	printf("sum %016llx, errors %llu\n", (unsigned long long)sum,
	    (unsigned long long)state.errors);
	printf("speed: %.3f\n", count * (double)PACK_BLOCK / took / 1e6);
	return 0;
}
