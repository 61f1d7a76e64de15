/* Says on the serial port what was found, and what is wrong. */
#include "checker.h"

#define COM1 0x3f8

int wrong;

static void
put(char c)
{
	__asm__ volatile("outb %b0, %w1" : : "a"(c), "d"(COM1));
}

void
print(const char *text)
{
	while (*text != '\0')
		put(*text++);
}

void
print_number(uint64_t number, unsigned base)
{
	char digits[20];
	int n = 0;

	do
		digits[n++] = "0123456789abcdef"[number % base];
	while ((number /= base) != 0);
	while (n > 0)
		put(digits[--n]);
}

void
expect(int right, const char *what)
{
	if (right)
		return;
	wrong = 1;
	print("WRONG: ");
	print(what);
	print("\n");
}

int
equal(const char *one, const char *other)
{
	while (*one == *other && *one != '\0') {
		one++;
		other++;
	}
	return *one == *other;
}
