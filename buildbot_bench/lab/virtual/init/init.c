/* The only program of a FreeBSD under test: does what /etc/commands says, then what the console does.
 *
 * Each line is a command; the console hears `ok`, or `error: ERRNO: THE LINE` unless the line begins
 * with a dash, which says that it may fail. */
#include "init.h"

#include "freebsd.h"

#define COMMANDS "/etc/commands"
#define CONSOLE "/dev/console"

struct command {
	const char *name;
	long (*run)(char *line);
};

static long
do_say(char *line)
{
	print(line);
	print("\n");
	return 0;
}

static long
do_reboot(char *line)
{
	(void)line;
	return syscall(REBOOT, 0);
}

static const struct command commands[] = {
	{ "address", do_address },
	{ "ipfw", do_ipfw },
	{ "link", do_link },
	{ "neighbour", do_neighbour },
	{ "pf", do_pf },
	{ "reboot", do_reboot },
	{ "route", do_route },
	{ "say", do_say },
	{ "sysctl", do_sysctl },
	{ "up", do_up },
};

static long
run(char *line)
{
	const char *name = next_word(&line);

	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		if (text_equal(commands[i].name, name))
			return commands[i].run(line);
	}
	return *name == '\0' ? 0 : INVALID;
}

/* Run a line, and say what came of it; what went well is said to a person only. */
static void
obey(char *line, int politely)
{
	char whole[LINE_SIZE];
	int may_fail = *line == '-';
	long result;

	memcpy(whole, line, sizeof(whole));
	result = run(line + may_fail);
	if (result < 0 && !may_fail) {
		print("error: ");
		print_number(-result);
		print(": ");
		print(whole);
		print("\n");
	} else if (politely)
		print("ok\n");
}

/* Obey each line of a file or terminal until its end. */
static void
obey_all(long descriptor, int politely)
{
	static char line[LINE_SIZE];
	size_t length = 0;
	char c;

	while (syscall(READ, descriptor, &c, (size_t)1) == 1) {
		if (c != '\n' && c != '\r') {
			if (length < sizeof(line) - 1)
				line[length++] = c;
			continue;
		}
		line[length] = '\0';
		length = 0;
		obey(line, politely);
	}
}

void
main(void)
{
	long file;

	for (int i = 0; i < 2; i++)
		syscall(OPEN, CONSOLE, READ_WRITE);
	file = syscall(OPEN, COMMANDS, 0);
	obey_all(file, 0);
	for (;;)
		obey_all(0, 1);
}
