/* The network interfaces: Intel 82540EM. */
#ifndef E1000_H
#define E1000_H

#include <stdbool.h>
#include <stdint.h>

#include "mbuf.h"

#define INTERFACES 2

/* Brings the n-th card up; false when there is none. */
bool e1000_attach(int n);

/* Whether packets wait; true at most once for each that arrived. */
bool e1000_pending(int n);

/* The next packet that came in, or NULL. */
struct mbuf *e1000_receive(int n);

/* Queues a packet, which is no longer the caller's. */
void e1000_transmit(int n, struct mbuf *mbuf);

/* Hands the queued packets, and the buffers that were emptied, to the card. */
void e1000_flush(int n);

const uint8_t *e1000_address(int n);

#endif
