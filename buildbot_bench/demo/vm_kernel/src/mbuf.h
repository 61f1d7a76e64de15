/* Buffers that hold a packet on its way. */
#ifndef MBUF_H
#define MBUF_H

#include <stdint.h>

#define CLUSTER_SIZE 2048

struct mbuf {
	struct mbuf *next;
	uint32_t length;
	uint32_t interface; /* on which it came in, then by which it goes out */
	uint32_t flags;
	uint8_t data[CLUSTER_SIZE];
};

void mbuf_init(void);

/* A buffer, or NULL when all are in use. */
struct mbuf *mbuf_get(void);
void mbuf_free(struct mbuf *mbuf);

#endif
