/* The machines on the two wires. */
#ifndef NEIGHBOUR_H
#define NEIGHBOUR_H

#include <stdint.h>

/* The Ethernet address of the machine to which an interface leads; it is fixed, as in a lab. */
const uint8_t *neighbour(int interface);

#endif
