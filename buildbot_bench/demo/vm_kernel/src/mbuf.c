/* Buffers that hold a packet on its way: a pool, and the list of those that are free. */
#include "mbuf.h"

#include <stddef.h>

#define MBUFS 512

static struct mbuf pool[MBUFS];
static struct mbuf *free_list;

void
mbuf_init(void)
{
	for (size_t i = 0; i < MBUFS; i++)
		mbuf_free(&pool[i]);
}

struct mbuf *
mbuf_get(void)
{
	struct mbuf *mbuf = free_list;

	if (mbuf == NULL)
		return NULL;
	free_list = mbuf->next;
	mbuf->next = NULL;
	mbuf->length = 0;
	mbuf->flags = 0;
	return mbuf;
}

void
mbuf_free(struct mbuf *mbuf)
{
	mbuf->next = free_list;
	free_list = mbuf;
}
