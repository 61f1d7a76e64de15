/*
 * The network interfaces: Intel 82540EM, by the registers and the legacy descriptors of the "PCI/PCI-X
 * Family of Gigabit Ethernet Controllers Software Developer's Manual" (Intel 317453), chapters 3 and 13.
 */
#include "e1000.h"

#include <stddef.h>

#include "memory.h"
#include "pci.h"
#include "trap.h"

#define ID_82540EM 0x100e8086
#define RING 256
#define FRAME 1536

enum {
	ICR = 0x00c0, IMS = 0x00d0, RCTL = 0x0100, TCTL = 0x0400,
	RDBAL = 0x2800, RDBAH = 0x2804, RDLEN = 0x2808, RDH = 0x2810, RDT = 0x2818,
	TDBAL = 0x3800, TDBAH = 0x3804, TDLEN = 0x3808, TDH = 0x3810, TDT = 0x3818,
	RAL = 0x5400, RAH = 0x5404,
};
enum { RECEIVED = 1 << 7, RCTL_ENABLE = 1 << 1, RCTL_STRIP_CRC = 1 << 26 };
enum { TCTL_ENABLE = 1 << 1, TCTL_PAD = 1 << 3 };
enum { DONE = 1, END_OF_PACKET = 1, INSERT_CRC = 2, REPORT_STATUS = 8 };

struct receive_descriptor {
	uint64_t address;
	uint16_t length;
	uint16_t checksum;
	uint8_t status;
	uint8_t errors;
	uint16_t special;
};

struct transmit_descriptor {
	uint64_t address;
	uint16_t length;
	uint8_t checksum_offset;
	uint8_t command;
	uint8_t status;
	uint8_t checksum_start;
	uint16_t special;
};

struct card {
	volatile uint32_t *registers;
	volatile bool pending;
	uint32_t next_received;
	uint32_t next_sent;
	uint8_t address[6];
	struct receive_descriptor receive[RING] __attribute__((aligned(16)));
	struct transmit_descriptor transmit[RING] __attribute__((aligned(16)));
	uint8_t buffers[RING][CLUSTER_SIZE];
	uint8_t frames[RING][FRAME];
};

static struct card cards[INTERFACES];

static void
write_register(struct card *card, int offset, uint32_t value)
{
	card->registers[offset / 4] = value;
}

static void
interrupted(void *argument)
{
	struct card *card = argument;

	if (card->registers[ICR / 4] & RECEIVED)
		card->pending = true;
}

static void
start_rings(struct card *card)
{
	for (int i = 0; i < RING; i++) {
		card->receive[i].address = (uint32_t)card->buffers[i];
		card->transmit[i].address = (uint32_t)card->frames[i];
		card->transmit[i].status = DONE;
	}
	write_register(card, RDBAL, (uint32_t)card->receive);
	write_register(card, RDBAH, 0);
	write_register(card, RDLEN, sizeof(card->receive));
	write_register(card, RDH, 0);
	write_register(card, RDT, RING - 1);
	write_register(card, TDBAL, (uint32_t)card->transmit);
	write_register(card, TDBAH, 0);
	write_register(card, TDLEN, sizeof(card->transmit));
	write_register(card, TDH, 0);
	write_register(card, TDT, 0);
}

bool
e1000_attach(int n)
{
	struct card *card = &cards[n];
	int slot = pci_find(ID_82540EM, n);

	if (slot < 0)
		return false;
	pci_write(slot, PCI_COMMAND, pci_read(slot, PCI_COMMAND) | 7);
	card->registers = (volatile uint32_t *)(pci_read(slot, PCI_BASE_0) & ~0xfu);
	for (int i = 0; i < 6; i++)
		card->address[i] = (uint8_t)(card->registers[(i < 4 ? RAL : RAH) / 4] >> 8 * (i & 3));
	start_rings(card);
	interrupt_establish((uint8_t)pci_read(slot, PCI_INTERRUPT), interrupted, card);
	write_register(card, IMS, RECEIVED);
	write_register(card, TCTL, TCTL_ENABLE | TCTL_PAD);
	write_register(card, RCTL, RCTL_ENABLE | RCTL_STRIP_CRC);
	return true;
}

bool
e1000_pending(int n)
{
	bool pending = cards[n].pending;

	cards[n].pending = false;
	return pending;
}

struct mbuf *
e1000_receive(int n)
{
	struct card *card = &cards[n];
	struct receive_descriptor *slot = &card->receive[card->next_received];
	struct mbuf *mbuf;

	if ((*(volatile uint8_t *)&slot->status & DONE) == 0 || (mbuf = mbuf_get()) == NULL)
		return NULL;
	mbuf->length = slot->length;
	mbuf->interface = (uint32_t)n;
	memcpy(mbuf->data, card->buffers[card->next_received], slot->length);
	slot->status = 0;
	card->next_received = (card->next_received + 1) % RING;
	return mbuf;
}

void
e1000_transmit(int n, struct mbuf *mbuf)
{
	struct card *card = &cards[n];
	struct transmit_descriptor *slot = &card->transmit[card->next_sent];

	if ((*(volatile uint8_t *)&slot->status & DONE) != 0 && mbuf->length <= FRAME) {
		memcpy(card->frames[card->next_sent], mbuf->data, mbuf->length);
		slot->length = (uint16_t)mbuf->length;
		slot->status = 0;
		slot->command = END_OF_PACKET | INSERT_CRC | REPORT_STATUS;
		card->next_sent = (card->next_sent + 1) % RING;
	}
	mbuf_free(mbuf);
}

void
e1000_flush(int n)
{
	struct card *card = &cards[n];

	write_register(card, TDT, card->next_sent);
	write_register(card, RDT, (card->next_received + RING - 1) % RING);
}

const uint8_t *
e1000_address(int n)
{
	return cards[n].address;
}
