/* The forwarding table, kept sorted by prefix length so that the first match is the longest. */
#include "route.h"

#include <stddef.h>

#include "console.h"

#define ROUTES 64

struct route {
	uint32_t network;
	uint32_t mask;
	int interface;
};

static struct route table[ROUTES];
static size_t routes;

static void
route_add(uint32_t network, int prefix_length, int interface)
{
	if (routes == ROUTES)
		panic("the forwarding table is full", network);
	table[routes].network = network;
	table[routes].mask = prefix_length == 0 ? 0 : ~UINT32_C(0) << (32 - prefix_length);
	table[routes].interface = interface;
	routes++;
}

void
route_init(void)
{
	for (uint32_t i = 0; i < 40; i++)
		route_add(0xac100000 + (i << 8), 24, 0); /* 172.16.0.0/24 and its neighbours */
	route_add(0xc6120000, 16, 0); /* 198.18.0.0/16, where the sender is (RFC 2544) */
	route_add(0xc6130000, 16, 1); /* 198.19.0.0/16, where the receiver is */
}

int
route_lookup(uint32_t destination)
{
	for (size_t i = 0; i < routes; i++) {
		if ((destination & table[i].mask) == table[i].network)
			return table[i].interface;
	}
	return NO_ROUTE;
}
