/* What is done to each packet between the receiving and the sending interface. */
#include "forward.h"

#include <stdbool.h>
#include <stddef.h>

#include "e1000.h"
#include "memory.h"
#include "neighbour.h"
#include "packet.h"
#include "route.h"

#define HEADERS (sizeof(struct ethernet) + sizeof(struct ip))
#define VERSION_4 0x45 /* and no options */

/* The ones' complement sum over a header, RFC 1071; that of a sound header is 0. */
static uint16_t
header_checksum(const struct ip *ip)
{
	const uint8_t *byte = (const uint8_t *)ip;
	uint32_t sum = 0;

	for (size_t i = 0; i < sizeof(*ip); i += 2)
		sum += (uint32_t)byte[i] << 8 | byte[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Mends the checksum for a time to live that is one less, as RFC 1624 shows. */
static void
decrement_ttl(struct ip *ip)
{
	uint32_t sum = (uint16_t)~swap16(ip->checksum) + 0xfeffu;

	ip->ttl--;
	sum = (sum & 0xffff) + (sum >> 16);
	ip->checksum = swap16((uint16_t)~sum);
}

static bool
is_sound(const struct mbuf *mbuf)
{
	const struct ethernet *ethernet = (const struct ethernet *)mbuf->data;
	const struct ip *ip = (const struct ip *)(ethernet + 1);

	if (mbuf->length < HEADERS || ethernet->type != swap16(ETHERTYPE_IP))
		return false;
	if (ip->version_length != VERSION_4 || ip->ttl <= 1)
		return false;
	return header_checksum(ip) == 0;
}

static void
ether_output(int interface, struct mbuf *mbuf)
{
	struct ethernet *ethernet = (struct ethernet *)mbuf->data;

	memcpy(ethernet->destination, neighbour(interface), sizeof(ethernet->destination));
	memcpy(ethernet->source, e1000_address(interface), sizeof(ethernet->source));
	e1000_transmit(interface, mbuf);
}

void
ip_forward(struct mbuf *mbuf)
{
	struct ip *ip = (struct ip *)(mbuf->data + sizeof(struct ethernet));
	int interface;

	if (!is_sound(mbuf) || (interface = route_lookup(swap32(ip->destination))) == NO_ROUTE) {
		mbuf_free(mbuf);
		return;
	}
	decrement_ttl(ip);
	ether_output(interface, mbuf);
}
