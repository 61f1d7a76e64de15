/* The machines on the two wires: one on each. */
#include "neighbour.h"

#include "e1000.h"

static const uint8_t addresses[INTERFACES][6] = {
	{ 0x52, 0x54, 0x00, 0x00, 0x01, 0x00 }, /* the sender */
	{ 0x52, 0x54, 0x00, 0x00, 0x01, 0x01 }, /* the receiver */
};

const uint8_t *
neighbour(int interface)
{
	return addresses[interface];
}
