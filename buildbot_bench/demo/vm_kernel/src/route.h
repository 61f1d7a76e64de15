/* The forwarding table: longest prefix match over IPv4 destinations. */
#ifndef ROUTE_H
#define ROUTE_H

#include <stdint.h>

#define NO_ROUTE (-1)

void route_init(void);

/* The interface that leads to a destination (host byte order), or NO_ROUTE. */
int route_lookup(uint32_t destination);

#endif
