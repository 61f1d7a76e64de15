/* The forwarding table: longest prefix match over IPv4 destinations. */
#ifndef ROUTE_H
#define ROUTE_H

#include <stdbool.h>
#include <stdint.h>

void route_init(void);

/* Whether a route leads to the destination (host byte order). */
bool route_lookup(uint32_t destination);

#endif
