/* FreeBSD's kernel as a program sees it: what init calls, and with what. All is for amd64.
 *
 * Numbers and layouts are those of sys/syscall.h, sys/sockio.h, net/if.h, net/route.h and others;
 * they are stable since FreeBSD 10. */
#ifndef FREEBSD_H
#define FREEBSD_H

#include <stddef.h>
#include <stdint.h>

enum { READ = 3, WRITE = 4, OPEN = 5, CLOSE = 6, IOCTL = 54, REBOOT = 55, SOCKET = 97,
       GETSOCKOPT = 118, SYSCTL = 202,
       NANOSLEEP = 240 };

long syscall(long number, ...);

#define READ_WRITE 2 /* open(2) */
#define INVALID (-22)
#define TIMED_OUT (-60)

/* An ioctl's number: in or out, the size of its argument, a group and a number in it. */
#define IOW(group, number, size) (0x80000000u | (uint32_t)(size) << 16 | (group) << 8 | (number))
#define IOR(group, number, size) (0x40000000u | (uint32_t)(size) << 16 | (group) << 8 | (number))
#define IOWR(group, number, size) (IOW(group, number, size) | 0x40000000u)

#define DRAIN 0x2000745eu /* tty(4): wait until all is out */

#define FAMILY_INET 2
#define FAMILY_ROUTE 17
#define FAMILY_LINK 18
#define FAMILY_INET6 28
#define STREAM 1
#define DATAGRAM 2
#define RAW 3
#define RAW_IP 255 /* a protocol */

struct address4 {
	uint8_t length, family;
	uint16_t port;
	uint8_t address[4];
	uint8_t zero[8];
};

struct address6 {
	uint8_t length, family;
	uint16_t port;
	uint32_t flow;
	uint8_t address[16];
	uint32_t scope;
};

struct address_link {
	uint8_t length, family;
	uint16_t interface;
	uint8_t type, name_length, address_length, selector_length;
	uint8_t data[46];
};

/* ifreq */
struct interface_request {
	char name[16];
	union {
		uint16_t flags[2];
		int32_t index;
		uint8_t whole[16];
	} value;
};

#define INTERFACE_UP 1
#define GET_FLAGS IOWR('i', 17, sizeof(struct interface_request))
#define SET_FLAGS IOW('i', 16, sizeof(struct interface_request))
#define GET_INDEX IOWR('i', 32, sizeof(struct interface_request))

/* ifmediareq */
struct media_request {
	char name[16];
	int32_t current, mask, status, active, count;
	int32_t *list;
};

#define LINK_ACTIVE 2
#define GET_MEDIA IOWR('i', 56, sizeof(struct media_request))

/* ifaliasreq */
struct new_address4 {
	char name[16];
	struct address4 address, broadcast, mask;
	int32_t vhid;
};

/* in6_aliasreq */
struct new_address6 {
	char name[16];
	struct address6 address, peer, mask;
	int32_t flags;
	int64_t expire, preferred;
	uint32_t valid_s, preferred_s;
	int32_t vhid;
};

#define FOR_EVER 0xffffffffu
#define UNCHECKED 0x20 /* no duplicate address detection */
#define ADD_ADDRESS4 IOW('i', 43, sizeof(struct new_address4))
#define ADD_ADDRESS6 IOW('i', 27, sizeof(struct new_address6))

/* rt_msghdr */
struct route_message {
	uint16_t length;
	uint8_t version, type;
	uint16_t index, spare;
	int32_t flags, addresses, process, sequence, error, mask;
	uint64_t metrics_set, metrics[14];
};

#define ROUTE_VERSION 5
#define ROUTE_ADD 1
#define ROUTE_FLAGS_UP 0x1
#define ROUTE_FLAGS_GATEWAY 0x2
#define ROUTE_FLAGS_HOST 0x4
#define ROUTE_FLAGS_LINK 0x400
#define ROUTE_FLAGS_STATIC 0x800
#define WITH_DESTINATION 0x1
#define WITH_GATEWAY 0x2
#define WITH_MASK 0x4

_Static_assert(sizeof(struct interface_request) == 32, "ifreq");
_Static_assert(sizeof(struct media_request) == 48, "ifmediareq");
_Static_assert(sizeof(struct new_address4) == 68, "ifaliasreq");
_Static_assert(sizeof(struct new_address6) == 136, "in6_aliasreq");
_Static_assert(sizeof(struct route_message) == 152, "rt_msghdr");
_Static_assert(sizeof(struct address_link) == 54, "sockaddr_dl");

#endif
