/* Exceptions end in a panic; interrupts go to the driver that asked for them. */
#include "trap.h"

#include <stddef.h>

#include "console.h"
#include "io.h"

#define VECTORS 48
#define FIRST_INTERRUPT 32
#define LINES 16
#define HANDLERS 4
#define PIC1 0x20
#define PIC2 0xa0
#define TIMER_COMMAND 0x43

struct gate {
	uint16_t low;
	uint16_t selector;
	uint16_t type;
	uint16_t high;
};

struct frame {
	uint32_t registers[8];
	uint32_t vector;
	uint32_t error;
	uint32_t where;
};

struct handler {
	uint8_t line;
	void (*call)(void *);
	void *argument;
};

extern const uint8_t trap_vectors[];
void trap(struct frame *frame);

static struct gate gates[VECTORS];
static struct handler handlers[HANDLERS];
static size_t handler_count;

/* Flat segments, as the loader had them; its own table may be overwritten. */
static const uint64_t segments[] = { 0, 0x00cf9a000000ffff, 0x00cf92000000ffff };

static void
load_tables(void)
{
	struct {
		uint16_t limit;
		const void *base;
	} __attribute__((packed)) gdt = { sizeof(segments) - 1, segments },
				  idt = { sizeof(gates) - 1, gates };

	__asm__ volatile("lgdt %0; ljmp $8, $1f; 1:"
			 "mov %2, %%ds; mov %2, %%es; mov %2, %%ss; lidt %1"
			 :
			 : "m"(gdt), "m"(idt), "r"(16)
			 : "memory");
}

/* Moves the interrupts behind the exceptions, all of them masked but the second controller. */
static void
remap_interrupts(void)
{
	out8(PIC1, 0x11);
	out8(PIC2, 0x11);
	out8(PIC1 + 1, FIRST_INTERRUPT);
	out8(PIC2 + 1, FIRST_INTERRUPT + 8);
	out8(PIC1 + 1, 4);
	out8(PIC2 + 1, 2);
	out8(PIC1 + 1, 1);
	out8(PIC2 + 1, 1);
	out8(PIC1 + 1, 0xfb);
	out8(PIC2 + 1, 0xff);
}

void
trap_init(void)
{
	for (int i = 0; i < VECTORS; i++) {
		uint32_t entry = (uint32_t)(trap_vectors + 16 * i);

		gates[i] = (struct gate){ (uint16_t)entry, 8, 0x8e00, (uint16_t)(entry >> 16) };
	}
	load_tables();
	remap_interrupts();
	out8(TIMER_COMMAND, 0x30); /* nobody counts the firmware's ticks: stop them */
}

void
interrupt_establish(uint8_t line, void (*handler)(void *), void *argument)
{
	uint16_t mask = line < 8 ? PIC1 + 1 : PIC2 + 1;

	if (line >= LINES || handler_count == HANDLERS)
		panic("no such interrupt line", line);
	handlers[handler_count++] = (struct handler){ line, handler, argument };
	out8(mask, in8(mask) & (uint8_t)~(1u << (line & 7)));
}

void
trap(struct frame *frame)
{
	uint32_t line = frame->vector - FIRST_INTERRUPT;

	if (frame->vector < FIRST_INTERRUPT)
		panic("trap in the kernel", frame->where);
	for (size_t i = 0; i < handler_count; i++) {
		if (handlers[i].line == line)
			handlers[i].call(handlers[i].argument);
	}
	if (line >= 8)
		out8(PIC2, 0x20);
	out8(PIC1, 0x20);
}
