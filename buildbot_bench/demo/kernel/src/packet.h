/* The packet that the lab sends: an IPv4 header's fields, alone. Multi-byte fields are big-endian. */
#ifndef PACKET_H
#define PACKET_H

#include <stddef.h>
#include <stdint.h>

#define CLUSTER_SIZE 2048 /* bytes of one receive buffer */
#define BURST 64          /* packets taken from the interface at once */

struct header {
	uint8_t version;
	uint8_t ttl;
	uint16_t checksum; /* ones' complement sum over the header, RFC 1071 */
	uint32_t source;
	uint32_t destination;
};

struct packet {
	size_t length;
	union {
		struct header header;
		uint8_t bytes[CLUSTER_SIZE];
	} data;
};

/* Decides on the first `count` packets and leaves those to be sent at the front; returns how many. */
int forward_burst(struct packet *packets, int count);

#endif
