/* Some 60 ms of a compiled program: it makes text, finds its repeats by hashes, and sorts them. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 1 << 20, SLOTS = 1 << 15, ROUNDS = 8 };

static unsigned char text[SIZE];
static uint32_t last[SLOTS], lengths[SIZE / 4];

static uint32_t next(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	return *state ^= *state << 5;
}

static int ascending(const void *one, const void *other)
{
	uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
	return a < b ? -1 : a > b;
}

int main(void)
{
	uint32_t state = 2463534242u, sum = 0;

	for (int round = 0; round < ROUNDS; round++) {
		size_t found = 0;

		for (size_t at = 0; at < SIZE; at++)
			text[at] = "etaoin shrdlu"[next(&state) % 13];
		memset(last, 0, sizeof last);
		for (size_t at = 0; at + 4 < SIZE;) {
			uint32_t four, slot, length = 0;

			memcpy(&four, text + at, 4);
			slot = four * 2654435761u >> 17;
			while (last[slot] && at + length < SIZE &&
			       text[last[slot] + length] == text[at + length])
				length++;
			last[slot] = (uint32_t)at;
			if (length >= 4)
				lengths[found++] = length;
			at += length ? length : 1;
		}
		qsort(lengths, found / 8, sizeof *lengths, ascending);
		sum += lengths[found / 16] + (uint32_t)found;
	}
	printf("%u\n", sum);
	return 0;
}
