/* The two network interfaces: bursts of packets from one socket, to another. */
#define _GNU_SOURCE /* recvmmsg and sendmmsg in glibc */
#include "netif.h"

#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static int rx_socket;
static int tx_socket;
static struct mmsghdr ring[BURST];
static struct iovec slots[BURST];

static struct sockaddr_in
loopback(uint16_t port)
{
	struct sockaddr_in address;

	memset(&address, 0, sizeof(address));
	address.sin_family = AF_INET;
	address.sin_port = htons(port);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return address;
}

uint16_t
netif_attach(uint16_t forward_to)
{
	struct sockaddr_in in = loopback(0);
	struct sockaddr_in out = loopback(forward_to);
	socklen_t length = sizeof(in);

	rx_socket = socket(AF_INET, SOCK_DGRAM, 0);
	tx_socket = socket(AF_INET, SOCK_DGRAM, 0);
	if (rx_socket < 0 || tx_socket < 0)
		err(1, "socket");
	if (bind(rx_socket, (struct sockaddr *)&in, sizeof(in)) < 0)
		err(1, "bind");
	if (getsockname(rx_socket, (struct sockaddr *)&in, &length) < 0)
		err(1, "getsockname");
	if (connect(tx_socket, (struct sockaddr *)&out, sizeof(out)) < 0)
		err(1, "connect");
	return ntohs(in.sin_port);
}

static void
fill_ring(struct packet *packets, int count)
{
	memset(ring, 0, sizeof(ring[0]) * (size_t)count);
	for (int i = 0; i < count; i++) {
		slots[i].iov_base = packets[i].data.bytes;
		slots[i].iov_len = packets[i].length;
		ring[i].msg_hdr.msg_iov = &slots[i];
		ring[i].msg_hdr.msg_iovlen = 1;
	}
}

int
netif_receive(struct packet *packets)
{
	int count;

	for (int i = 0; i < BURST; i++)
		packets[i].length = CLUSTER_SIZE;
	fill_ring(packets, BURST);
	count = (int)recvmmsg(rx_socket, ring, BURST, MSG_WAITFORONE, NULL);
	for (int i = 0; i < count; i++)
		packets[i].length = ring[i].msg_len;
	return count < 0 ? 0 : count;
}

void
netif_send(struct packet *packets, int count)
{
	int sent = 0;

	fill_ring(packets, count);
	while (sent < count) {
		int done = (int)sendmmsg(tx_socket, ring + sent, (unsigned)(count - sent), 0);

		if (done <= 0)
			return; /* a full queue drops, as a wire does */
		sent += done;
	}
}
