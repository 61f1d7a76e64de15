/* The forwarding table, kept sorted by prefix length so that the first match is the longest. */
#include "route.h"

#include <stddef.h>

struct route {
	uint32_t network;
	uint32_t mask;
};

#define ROUTE_COUNT 8

static struct route table[ROUTE_COUNT];
static size_t routes;

static void
route_add(uint32_t network, int prefix_length)
{
	table[routes].network = network;
	table[routes].mask = prefix_length == 0 ? 0 : ~UINT32_C(0) << (32 - prefix_length);
	routes++;
}

void
route_init(void)
{
	route_add(0xc613c800, 24); /* 198.19.200.0/24 */
	route_add(0xc6130000, 16); /* 198.19.0.0/16, where the receiver is (RFC 2544) */
	route_add(0xc6120000, 16); /* 198.18.0.0/16, where the sender is */
	route_add(0x0a000000, 8);  /* 10.0.0.0/8 */
}

bool
route_lookup(uint32_t destination)
{
	for (size_t i = 0; i < routes; i++) {
		if ((destination & table[i].mask) == table[i].network)
			return true;
	}
	return false;
}
