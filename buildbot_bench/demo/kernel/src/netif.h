/* The two network interfaces, each a UDP socket on the loopback interface. */
#ifndef NETIF_H
#define NETIF_H

#include <stdint.h>

#include "packet.h"

/* Opens both interfaces; returns the port on which packets come in. Ends the process on failure. */
uint16_t netif_attach(uint16_t forward_to);

/* Waits for packets and takes up to BURST of them; returns how many. */
int netif_receive(struct packet *packets);

void netif_send(struct packet *packets, int count);

#endif
