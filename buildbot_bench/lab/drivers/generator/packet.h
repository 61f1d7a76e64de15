/* The packets of the embedded testbed: the fields of an IPv4 header, big-endian, a mark, padding. */
#ifndef PACKET_H
#define PACKET_H

#include <stdbool.h>
#include <stdint.h>

#define PACKET_SIZE 18 /* what the smallest Ethernet frame leaves behind IP and UDP headers */
#define FLOWS 2000     /* 20 sources, 100 destinations: the netbenches archive's preset */

struct header {
	uint8_t version;
	uint8_t ttl;
	uint16_t checksum; /* over the header, RFC 1071 */
	uint32_t source;
	uint32_t destination;
};

/* One packet of each flow, ready to be sent; the mark is who sends them to whom. */
void packet_make_flows(uint8_t flows[FLOWS][PACKET_SIZE], uint32_t mark);

uint32_t packet_mark(const uint8_t *packet);

/* Does to a packet what a router must: one hop less, and a checksum that says so. */
void packet_route(uint8_t *packet);

/* Whether a packet that we sent came back as a router leaves it. */
bool packet_is_routed(const uint8_t *packet, unsigned length);

#endif
