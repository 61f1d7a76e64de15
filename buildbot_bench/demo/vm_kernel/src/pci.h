/* The PCI bus, by its configuration ports. */
#ifndef PCI_H
#define PCI_H

#include <stdint.h>

#define PCI_BASE_0 0x10
#define PCI_COMMAND 0x04
#define PCI_INTERRUPT 0x3c

/* Finds the n-th device of that vendor and model on the first bus; its slot, or -1. */
int pci_find(uint32_t id, int n);
uint32_t pci_read(int slot, uint8_t offset);
void pci_write(int slot, uint8_t offset, uint32_t value);

#endif
