/* Many packets by one system call, and the sockets for it. */
#define _GNU_SOURCE /* recvmmsg and sendmmsg in glibc */
#include "burst.h"

#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <string.h>

static struct mmsghdr messages[WINDOW];
static struct iovec slots[WINDOW];

static void
prepare(struct burst *burst, int count)
{
	memset(messages, 0, sizeof(messages[0]) * (size_t)count);
	for (int i = 0; i < count; i++) {
		slots[i].iov_base = burst->packets[i];
		slots[i].iov_len = PACKET_SIZE;
		messages[i].msg_hdr.msg_iov = &slots[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
}

int
burst_send(int socket, struct burst *burst, int count)
{
	prepare(burst, count);
	return (int)sendmmsg(socket, messages, (unsigned)count, 0);
}

int
burst_receive(int socket, struct burst *burst, int flags)
{
	int count;

	prepare(burst, WINDOW);
	count = (int)recvmmsg(socket, messages, WINDOW, flags, NULL);
	for (int i = 0; i < count; i++)
		burst->lengths[i] = messages[i].msg_len;
	return count;
}

static struct sockaddr_in
loopback(long port)
{
	struct sockaddr_in address;

	memset(&address, 0, sizeof(address));
	address.sin_family = AF_INET;
	address.sin_port = htons((uint16_t)port);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return address;
}

int
burst_connect(long port)
{
	struct sockaddr_in address = loopback(port);
	int descriptor = socket(AF_INET, SOCK_DGRAM, 0);

	if (descriptor < 0 || connect(descriptor, (struct sockaddr *)&address, sizeof(address)) < 0)
		err(1, "ouch, cannot send to port %ld", port);
	return descriptor;
}

int
burst_listen(uint16_t *port)
{
	struct sockaddr_in address = loopback(0);
	socklen_t length = sizeof(address);
	int descriptor = socket(AF_INET, SOCK_DGRAM, 0);

	if (descriptor < 0 || bind(descriptor, (struct sockaddr *)&address, length) < 0 ||
	    getsockname(descriptor, (struct sockaddr *)&address, &length) < 0)
		err(1, "ouch, cannot receive");
	*port = ntohs(address.sin_port);
	return descriptor;
}
