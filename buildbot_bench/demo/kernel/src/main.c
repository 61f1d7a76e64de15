/* Boot: reads the loader's arguments, attaches the interfaces, forwards until power-off. */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netif.h"
#include "packet.h"
#include "route.h"

#ifndef BENCH_SHA
#define BENCH_SHA "unknown"
#endif

static const char version[256] = "embedded kernel " BENCH_SHA;
static struct packet packets[BURST];

static uint16_t
forward_port(int argc, char **argv)
{
	long port;

	if (argc != 3 || strcmp(argv[1], "--forward-to") != 0)
		errx(64, "usage: kernel --forward-to PORT");
	port = strtol(argv[2], NULL, 10);
	if (port < 1 || port > UINT16_MAX)
		errx(64, "not a port: %s", argv[2]);
	return (uint16_t)port;
}

/* With `options INVARIANTS` a packet that must not be sent is a panic. */
static void
check_burst(int count)
{
#ifdef INVARIANTS
	for (int i = 0; i < count; i++) {
		if (packets[i].data.header.ttl == 0)
			errx(70, "panic: a packet without time to live is sent");
	}
#else
	(void)count;
#endif
}

int
main(int argc, char **argv)
{
	uint16_t port = forward_port(argc, argv);

	puts(version);
	route_init();
	port = netif_attach(port);
	printf("netif: listening on port %u\n", (unsigned)port);
	fflush(stdout);
	for (;;) {
		int count = forward_burst(packets, netif_receive(packets));

		check_burst(count);
		netif_send(packets, count);
	}
}
