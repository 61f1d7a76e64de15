/* The serial port, for what goes wrong before there is a kernel. */
#include "loader.h"

#define PORT 0x3f8 /* COM1 of a PC, a 16550 */
#define LINE_STATUS (PORT + 5)
#define MAY_SEND 0x20

static inline void
out(uint16_t port, uint8_t value)
{
	__asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

static inline uint8_t
in(uint16_t port)
{
	uint8_t value;

	__asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
	return value;
}

void
console_init(void)
{
	out(PORT + 1, 0);    /* no interrupts */
	out(PORT + 3, 0x80); /* the divisor's registers */
	out(PORT + 0, 1);    /* 115200 baud */
	out(PORT + 1, 0);
	out(PORT + 3, 0x03); /* 8 bits, no parity, one stop bit */
}

void
say(const char *text)
{
	for (; *text != '\0'; text++) {
		while ((in(LINE_STATUS) & MAY_SEND) == 0)
			;
		out(PORT, (uint8_t)*text);
	}
}

/* Say why there is no boot, and reset the machine: nobody waits for what will not come. */
void
stop(const char *name, const char *why)
{
	static const struct {
		uint16_t limit;
		uint32_t base;
	} __attribute__((packed)) nothing;

	say("loader: ");
	say(name);
	say(" ");
	say(why);
	say("\r\n");
	__asm__ volatile("lidt %0; int3" : : "m"(nothing));
	for (;;)
		__asm__ volatile("cli; hlt");
}
