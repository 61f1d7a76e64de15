/* Bursts of packets over UDP on the loopback interface. */
#ifndef BURST_H
#define BURST_H

#include <stdint.h>
#include <sys/socket.h>

#include "packet.h"

#define WINDOW 64 /* the most packets under way, so that no queue ever overflows */

struct burst {
	uint8_t (*packets)[PACKET_SIZE];
	unsigned lengths[WINDOW]; /* of packets that were received */
};

/* Sends the first `count` packets; returns how many went, or -1 with errno set. */
int burst_send(int socket, struct burst *burst, int count);

/* Takes up to WINDOW packets; `flags` as for recvmmsg(2); returns how many, or -1. */
int burst_receive(int socket, struct burst *burst, int flags);

/* A socket that sends to a port of the loopback interface. Ends the process on failure. */
int burst_connect(long port);

/* A socket that receives on a free port of the loopback interface, told in `port`. */
int burst_listen(uint16_t *port);

#endif
