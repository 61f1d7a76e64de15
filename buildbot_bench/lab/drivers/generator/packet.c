/* Packets as the sender makes them and the receiver expects them back. */
#include "packet.h"

#include <arpa/inet.h>
#include <string.h>

#define DESTINATIONS 100
#define SENT_TTL 64

/* The Internet checksum; zero for a header that carries its own. */
static uint16_t
checksum(const struct header *header)
{
	uint16_t words[sizeof(*header) / sizeof(uint16_t)];
	uint32_t sum = 0;

	memcpy(words, header, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		sum += words[i];
	sum = (sum & 0xffff) + (sum >> 16);
	sum += sum >> 16;
	return (uint16_t)~sum;
}

static void
seal(struct header *header)
{
	header->checksum = 0;
	header->checksum = checksum(header);
}

void
packet_make_flows(uint8_t flows[FLOWS][PACKET_SIZE], uint32_t mark)
{
	for (unsigned i = 0; i < FLOWS; i++) {
		struct header header = {
			.version = 4,
			.ttl = SENT_TTL,
			.source = htonl(0xc6120a01 + i / DESTINATIONS),      /* 198.18.10.1 and up */
			.destination = htonl(0xc6130a01 + i % DESTINATIONS), /* 198.19.10.1 and up */
		};

		seal(&header);
		memcpy(flows[i], &header, sizeof(header));
		memcpy(flows[i] + sizeof(header), &mark, sizeof(mark));
	}
}

uint32_t
packet_mark(const uint8_t *packet)
{
	uint32_t mark;

	memcpy(&mark, packet + sizeof(struct header), sizeof(mark));
	return mark;
}

void
packet_route(uint8_t *packet)
{
	struct header header;

	memcpy(&header, packet, sizeof(header));
	header.ttl--;
	seal(&header);
	memcpy(packet, &header, sizeof(header));
}

bool
packet_is_routed(const uint8_t *packet, unsigned length)
{
	struct header header;

	if (length != PACKET_SIZE)
		return false;
	memcpy(&header, packet, sizeof(header));
	return header.version == 4 && header.ttl == SENT_TTL - 1 && checksum(&header) == 0;
}
