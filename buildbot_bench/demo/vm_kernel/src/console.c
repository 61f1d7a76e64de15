/* The serial console: a 16550 at its usual place. */
#include "console.h"

#include "io.h"

#define COM1 0x3f8
#define LINE_STATUS (COM1 + 5)
#define TRANSMITTER_EMPTY 0x20
#define KEYBOARD 0x64
#define RESET 0xfe

void
console_init(void)
{
	out8(COM1 + 1, 0);    /* no interrupts */
	out8(COM1 + 3, 0x80); /* the divisor: 115200 baud */
	out8(COM1 + 0, 1);
	out8(COM1 + 1, 0);
	out8(COM1 + 3, 3); /* 8n1 */
	out8(COM1 + 2, 1);
}

static void
put(char character)
{
	while ((in8(LINE_STATUS) & TRANSMITTER_EMPTY) == 0)
		;
	out8(COM1, (uint8_t)character);
}

void
print(const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '\n')
			put('\r');
		put(*text);
	}
}

void
print_hex(uint32_t value, int digits)
{
	while (digits-- > 0)
		put("0123456789abcdef"[(value >> (4 * digits)) & 0xf]);
}

void
panic(const char *why, uint32_t where)
{
	interrupts_off();
	print("panic: ");
	print(why);
	print(" at 0x");
	print_hex(where, 8);
	print("\n");
	for (;;)
		out8(KEYBOARD, RESET);
}
