/* The headers of a packet on the wire. Multi-byte fields are big-endian. */
#ifndef PACKET_H
#define PACKET_H

#include <stdint.h>

#define ETHERTYPE_IP 0x0800

struct ethernet {
	uint8_t destination[6];
	uint8_t source[6];
	uint16_t type;
} __attribute__((packed));

struct ip {
	uint8_t version_length;
	uint8_t service;
	uint16_t length;
	uint16_t id;
	uint16_t fragment;
	uint8_t ttl;
	uint8_t protocol;
	uint16_t checksum;
	uint32_t source;
	uint32_t destination;
} __attribute__((packed));

static inline __attribute__((always_inline)) uint16_t
swap16(uint16_t value)
{
	return (uint16_t)(value << 8 | value >> 8);
}

#define swap32(value) __builtin_bswap32(value)

#endif
