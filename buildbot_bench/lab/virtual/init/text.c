/* Words, numbers and the console; there is no C library. */
#include "init.h"

#include "freebsd.h"

/* Cut the first word off a line; empty at its end. */
char *
next_word(char **line)
{
	char *word = *line, *end;

	while (*word == ' ')
		word++;
	for (end = word; *end != '\0' && *end != ' '; end++)
		;
	*line = end;
	if (*end == ' ') {
		*end = '\0';
		*line = end + 1;
	}
	return word;
}

static int
digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* The bytes that pairs of hexadecimal digits are; how many, or INVALID. */
long
hex_bytes(const char *text, uint8_t *bytes, size_t most)
{
	size_t count = 0;

	for (; *text != '\0'; text += 2) {
		int high = digit(text[0]), low = high < 0 ? -1 : digit(text[1]);

		if (low < 0 || count == most)
			return INVALID;
		bytes[count++] = (uint8_t)(high << 4 | low);
	}
	return (long)count;
}

/* Whether a text is a decimal number, and which. */
int
number_of(const char *text, int64_t *number)
{
	int negative = *text == '-';
	uint64_t value = 0;

	if (negative)
		text++;
	if (*text == '\0')
		return 0;
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9')
			return 0;
		value = 10 * value + (uint64_t)(*text - '0');
	}
	*number = (int64_t)(negative ? -value : value);
	return 1;
}

/* Text in parts that are printed together, when the line is complete. */
void
print(const char *text)
{
	static char line[2 * LINE_SIZE];
	static size_t length;

	for (; *text != '\0'; text++) {
		if (length < sizeof(line))
			line[length++] = *text;
		if (*text == '\n') {
			syscall(WRITE, 1, line, length);
			syscall(IOCTL, 1, DRAIN); /* or the kernel's own words come among it */
			length = 0;
		}
	}
}

void
print_number(int64_t number)
{
	char digits[24];
	char *begin = digits + sizeof(digits) - 1;
	uint64_t value = number < 0 ? -(uint64_t)number : (uint64_t)number;

	*begin = '\0';
	do
		*--begin = (char)('0' + value % 10);
	while ((value /= 10) != 0);
	if (number < 0)
		*--begin = '-';
	print(begin);
}
