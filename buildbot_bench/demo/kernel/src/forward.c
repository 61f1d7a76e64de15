/* What is done to each packet between the receiving and the sending interface. */
#include <arpa/inet.h>
#include <stdbool.h>

#include "packet.h"
#include "route.h"

/* Mends the checksum for a time to live that is one less, as RFC 1624 shows. */
static void
decrement_ttl(struct header *header)
{
	uint32_t sum = (uint16_t)~ntohs(header->checksum) + 0xfffeu;

	header->ttl--;
	sum = (sum & 0xffff) + (sum >> 16);
	header->checksum = htons((uint16_t)~sum);
}

static bool
forward(struct packet *packet)
{
	struct header *header = &packet->data.header;

	if (packet->length < sizeof(*header) || header->version != 4 || header->ttl <= 1)
		return false;
	if (!route_lookup(ntohl(header->destination)))
		return false;
	decrement_ttl(header);
	return true;
}

int
forward_burst(struct packet *packets, int count)
{
	int kept = 0;

	for (int i = 0; i < count; i++) {
		if (!forward(&packets[i]))
			continue;
		if (kept != i) {
			packets[kept].length = packets[i].length;
			packets[kept].data = packets[i].data;
		}
		kept++;
	}
	return kept;
}
