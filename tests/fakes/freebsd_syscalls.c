/* A FreeBSD kernel for init.c, as a program of this machine: it tells what it was asked for.
 *
 * Each system call is a line: its name, its numbers, and what it was given, in hexadecimal. The
 * console is stdin and stdout; a variable's numbers are 1, its kind, and its size. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EINVAL_THERE 22
#define ENOENT_THERE 2
#define COMMANDS 7 /* a descriptor */

static FILE *commands;

static void
tell(const char *name, unsigned long number, const void *bytes, size_t size)
{
	fprintf(stderr, "%s %#lx ", name, number);
	for (size_t i = 0; i < size; i++)
		fprintf(stderr, "%02x", ((const unsigned char *)bytes)[i]);
	fprintf(stderr, "\n");
}

static long
do_read(long descriptor, char *place)
{
	int c = getc(descriptor == COMMANDS ? commands : stdin);

	if (c == EOF && descriptor == 0)
		exit(0);
	*place = (char)c;
	return c != EOF;
}

/* Of pf: the tickets of a change, and of its addresses. */
static long
do_pf(unsigned long request, unsigned char *argument)
{
	unsigned char *change;

	if (request == 0xc0104451) {
		memcpy(&change, argument + 8, sizeof(change));
		memcpy(change + 1028, (int[]){ 77 }, 4);
	}
	if (request == 0xc4704433)
		memcpy(argument + 4, (int[]){ 78 }, 4);
	return 0;
}

static int looks;

static long
do_ioctl(unsigned long request, unsigned char *argument)
{
	if (request == 0x2000745e) /* the console's TIOCDRAIN */
		return 0;
	tell("ioctl", request, argument, request >> 16 & 0x1fff);
	if ((request >> 8 & 0xff) == 'D')
		return do_pf(request, argument);
	if (memcmp(argument, "em", 2) != 0)
		return -6;
	if (request == 0xc0206920) /* SIOCGIFINDEX */
		argument[16] = 3;
	if (request == 0xc0306938) { /* SIOCGIFMEDIA: em1's link is up at the third look, em2's never */
		if (argument[32] != 0)
			return -14; /* it would write that many to a list */
		argument[24] = (unsigned char)(argument[2] == '2' ? 1 : ++looks < 3 ? 1 : 3);
		argument[32] = 5;
	}
	return 0;
}

/* One number or text for each of these names, until it is set. */
static struct {
	const char *name;
	uint32_t kind;
	size_t size;
	unsigned char value[64];
} variables[] = {
	{ "net.inet.ip.forwarding", 2, 4, { 0 } },
	{ "kern.build_id", 3, 5, "0123" },
	{ "kern.small", 12, 1, { 0xfe } },
	{ "kern.huge", 9, 8, { 0, 0, 0, 0, 1 } },
	{ "kern.opaque", 5, 8, { 0 } },
};

static long
do_sysctl(const int *numbers, size_t count, void *old, size_t *old_size, const void *new, size_t size)
{
	if (numbers[0] == 0 && numbers[1] == 3) {
		for (int i = 0; i < 5; i++) {
			if (strlen(variables[i].name) == size && memcmp(variables[i].name, new, size) == 0) {
				memcpy(old, (int[]){ 1, i }, 8);
				*old_size = 8;
				return 0;
			}
		}
		return -ENOENT_THERE;
	}
	if (numbers[0] == 0 && numbers[1] == 4) {
		memcpy(old, &variables[numbers[3]].kind, 4);
		return 0;
	}
	if (count != 2 || numbers[0] != 1)
		return -EINVAL_THERE;
	if (old != NULL) {
		memcpy(old, variables[numbers[1]].value, variables[numbers[1]].size);
		*old_size = variables[numbers[1]].size;
	}
	if (new != NULL) {
		tell("set", (unsigned long)numbers[1], new, size);
		memcpy(variables[numbers[1]].value, new, size);
	}
	return 0;
}

long
syscall(long number, ...)
{
	va_list list;
	unsigned long a[6];

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, unsigned long);
	va_end(list);
	switch (number) {
	case 3:
		return do_read((int)a[0], (char *)a[1]);
	case 4:
		if ((int)a[0] == 1)
			return (long)fwrite((void *)a[1], 1, a[2], stdout);
		tell("write", (int)a[0], (void *)a[1], a[2]);
		return (long)a[2];
	case 5:
		if (strcmp((char *)a[0], "/etc/commands") != 0)
			return 0;
		commands = fopen(getenv("COMMANDS"), "r");
		return commands == NULL ? -ENOENT_THERE : COMMANDS;
	case 6:
		return 0;
	case 54:
		return do_ioctl(a[1], (unsigned char *)a[2]);
	case 97:
		return 5;
	case 240:
		return 0;
	case 118:
		tell("getsockopt", a[2], (void *)a[3], *(uint32_t *)a[4]);
		return 0;
	case 202:
		return do_sysctl((int *)a[0], a[1], (void *)a[2], (size_t *)a[3], (void *)a[4], a[5]);
	default:
		tell("syscall", (unsigned long)number, NULL, 0);
		return -78;
	}
}
