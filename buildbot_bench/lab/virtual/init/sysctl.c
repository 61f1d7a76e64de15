/* Reads and sets what the kernel lets one set while it runs. */
#include "init.h"

#include "freebsd.h"

/* Two of the kernel's own questions: a name's numbers, and what kind of value it has. */
static const int32_t name_to_numbers[] = { 0, 3 };
static const int32_t kind_of_numbers[] = { 0, 4 };

#define MOST_NUMBERS 24
#define KIND 0xf
#define TEXT 3

/* How many bytes a number of each kind has, less than zero when it has a sign; 0 for no number. */
static const int8_t sizes[16] = { 0, 0, -4, 0, -8, 0, 4, -8, 8, 8, 1, 2, -1, -2, -4, 4 };

static long
query(const int32_t *numbers, size_t count, void *old, size_t *old_size, const void *new, size_t size)
{
	return syscall(SYSCTL, numbers, count, old, old_size, new, size);
}

static int64_t
widened(const uint8_t *bytes, int size)
{
	size_t width = (size_t)(size < 0 ? -size : size);
	uint64_t value = 0;

	memcpy(&value, bytes, width);
	if (size < 0 && width < 8 && (value >> (8 * width - 1)) != 0)
		value |= ~UINT64_C(0) << (8 * width);
	return (int64_t)value;
}

/* A variable: its numbers, which kind of value it has, and the value, which ends in a zero. */
struct variable {
	int32_t numbers[2 + MOST_NUMBERS]; /* room for a question before them */
	size_t count;
	uint32_t kind;
	uint8_t value[LINE_SIZE];
};

static long
find(const char *name, struct variable *variable)
{
	size_t size = MOST_NUMBERS * sizeof(int32_t);
	uint32_t kind[LINE_SIZE / 4];
	long result;

	result = query(name_to_numbers, 2, variable->numbers + 2, &size, name, text_length(name));
	if (result < 0)
		return result;
	variable->count = size / sizeof(int32_t);
	memcpy(variable->numbers, kind_of_numbers, sizeof(kind_of_numbers));
	size = sizeof(kind);
	result = query(variable->numbers, variable->count + 2, kind, &size, NULL, 0);
	variable->kind = kind[0] & KIND;
	return result;
}

static long
get(struct variable *variable)
{
	size_t size = sizeof(variable->value) - 1;
	long result = query(variable->numbers + 2, variable->count, variable->value, &size, NULL, 0);

	if (result >= 0)
		variable->value[size] = '\0';
	return result;
}

static long
set(struct variable *variable, const char *text)
{
	int size = sizes[variable->kind], width = size < 0 ? -size : size;
	int64_t number;

	if (variable->kind == TEXT)
		return query(variable->numbers + 2, variable->count, NULL, NULL, text, text_length(text));
	if (width == 0 || !number_of(text, &number))
		return INVALID;
	return query(variable->numbers + 2, variable->count, NULL, NULL, &number, (size_t)width);
}

static int
is_set(const struct variable *variable, const char *text)
{
	int size = sizes[variable->kind];
	int64_t number;

	if (variable->kind == TEXT)
		return text_equal((const char *)variable->value, text);
	return size != 0 && number_of(text, &number) && widened(variable->value, size) == number;
}

static void
show(const char *name, const struct variable *variable)
{
	print(name);
	print(": ");
	if (variable->kind == TEXT)
		print((const char *)variable->value);
	else if (sizes[variable->kind] != 0)
		print_number(widened(variable->value, sizes[variable->kind]));
	print("\n");
}

/* sysctl NAME, which shows it, or NAME=VALUE, which sets it unless the loader did that */
long
do_sysctl(char *line)
{
	static struct variable variable;
	char *value = line;
	long result;

	while (*value != '\0' && *value != '=')
		value++;
	if (*value == '=')
		*value++ = '\0';
	else
		value = NULL;
	result = find(line, &variable);
	if (result >= 0 && value == NULL && (result = get(&variable)) >= 0)
		show(line, &variable);
	else if (result >= 0 && value != NULL && (get(&variable) < 0 || !is_set(&variable, value)))
		result = set(&variable, value);
	return result;
}
