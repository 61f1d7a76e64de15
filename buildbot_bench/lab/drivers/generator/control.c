/*
 * The control: a forwarder that never changes. The DUT is measured in turns with it, so that what
 * the machine does to both of them cancels. It is used as a kernel is: `control --forward-to PORT`.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "burst.h"

static uint8_t packets[WINDOW][PACKET_SIZE];

int
main(int argc, char **argv)
{
	struct burst burst = {.packets = packets};
	uint16_t port;
	int rx_socket, tx_socket;

	if (argc != 3 || strcmp(argv[1], "--forward-to") != 0)
		errx(64, "usage: control --forward-to PORT");
	tx_socket = burst_connect(strtol(argv[2], NULL, 10));
	rx_socket = burst_listen(&port);
	printf("control: listening on port %u\n", (unsigned)port);
	fflush(stdout);
	for (;;) {
		int count = burst_receive(rx_socket, &burst, MSG_WAITFORONE);

		for (int i = 0; i < count; i++)
			packet_route(packets[i]);
		if (count > 0)
			(void)burst_send(tx_socket, &burst, count); /* a full queue drops */
	}
}
