/* The PCI bus, by its configuration ports. */
#include "pci.h"

#include "io.h"

#define ADDRESS 0xcf8
#define DATA 0xcfc
#define SLOTS 32

static void
select(int slot, uint8_t offset)
{
	out32(ADDRESS, 0x80000000u | (uint32_t)slot << 11 | offset);
}

uint32_t
pci_read(int slot, uint8_t offset)
{
	select(slot, offset);
	return in32(DATA);
}

void
pci_write(int slot, uint8_t offset, uint32_t value)
{
	select(slot, offset);
	out32(DATA, value);
}

int
pci_find(uint32_t id, int n)
{
	for (int slot = 0; slot < SLOTS; slot++) {
		if (pci_read(slot, 0) == id && n-- == 0)
			return slot;
	}
	return -1;
}
