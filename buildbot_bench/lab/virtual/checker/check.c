/* Says what preload metadata a kernel was handed: by FreeBSD's sys/linker.h and machine/metadata.h,
 * read anew and not by the loader's own tables. */
#include "checker.h"

#define USABLE 1
#define RANGE_SIZE 20
#define OWN_NAME "/boot/kernel/kernel"

extern const uint8_t build_id[];

static volatile uint64_t initialised = 0x0123456789abcdef;
static volatile uint64_t zero[512];

static void
print_line(const char *label, const char *text)
{
	print(label);
	print(text);
	print("\n");
}

static void
print_build_id(void)
{
	print("build-id: ");
	for (int i = 16; i < 36; i++) {
		print_number(build_id[i] >> 4, 16);
		print_number(build_id[i] & 15, 16);
	}
	print("\n");
}

static void
print_map(const uint8_t *map, uint32_t size)
{
	uint64_t usable = 0;

	expect(size % RANGE_SIZE == 0 && size >= 2 * RANGE_SIZE, "the size of the memory map");
	for (const uint8_t *range = map; range < map + size; range += RANGE_SIZE) {
		if (*(const uint32_t *)(range + 16) == USABLE)
			usable += *(const uint64_t *)(range + 8);
	}
	print("memory: ");
	print_number(usable >> 20, 10);
	print(" MiB\n");
}

static void
print_environment(uint64_t address)
{
	const char *text = (const char *)(address + KERNBASE);

	while (address != 0 && *text != '\0') {
		print_line("kenv: ", text);
		while (*text++ != '\0')
			;
	}
}

static void
print_image(const struct file *file)
{
	expect(file->address % 4096 == 0, "an image's alignment");
	print("image: ");
	print((const char *)(file->address + KERNBASE));
	print(" ");
	print_number(file->length, 10);
	print("\n");
}

/* What is told of every file. */
static void
check_common(struct file *file, uint32_t type, const void *data)
{
	uint64_t end = file->address + file->length;

	switch (type) {
	case 1:
		file->name = data;
		print_line("name: ", data);
		break;
	case 2:
		print_line("type: ", data);
		break;
	case 3:
		file->address = *(const uint64_t *)data;
		expect(file->address >= end, "files that overlap");
		break;
	case 4:
		file->length = *(const uint64_t *)data;
		if (equal(file->name, "/image"))
			print_image(file);
		break;
	default:
		expect(0, "a record of an unknown type");
	}
}

/* What is told of a kernel or a module; returns whether that is known. */
static int
check_program(struct file *file, uint32_t type, const void *data, uint32_t size)
{
	const uint64_t *numbers = data;

	switch (type) {
	case 0x8002:
		expect((numbers[0] & 0xffffffffffffff) == 0x00010102464c457f && size == 64, "ELF header");
		print("elf header\n");
		return 1;
	case 0x8003:
		file->symbols = *numbers;
		return 1;
	case 0x8004:
		check_symbols(file->symbols, *numbers);
		return 1;
	case 0x8009:
		print("sections\n");
		if (!equal(file->name, OWN_NAME))
			check_module(file, data, size);
		return 1;
	default:
		return 0;
	}
}

/* What is told of the kernel alone; returns whether that is known. */
static int
check_kernel(uint32_t type, const void *data, uint32_t size, const uint32_t ends[2])
{
	uint64_t number = *(const uint64_t *)data;

	switch (type) {
	case 0x8006:
		print_environment(number);
		return 1;
	case 0x8007:
		print("howto: ");
		print_number(*(const uint32_t *)data, 16);
		print("\n");
		return 1;
	case 0x8008:
		expect(number == ends[1], "kernend");
		print("kernend\n");
		return 1;
	case 0x9001:
		print_map(data, size);
		return 1;
	case 0x9006:
		expect(number == ends[0], "modulep");
		print("modulep\n");
		return 1;
	default:
		return 0;
	}
}

static void
check_memory(uint32_t modulep, uint32_t kernend)
{
	expect(*(const uint32_t *)(uintptr_t)modulep == *(const uint32_t *)(modulep + KERNBASE),
	    "memory at its own addresses");
	expect(initialised == 0x0123456789abcdef, ".data");
	for (int i = 0; i < 512; i++)
		expect(zero[i] == 0, ".bss");
	zero[7] = 1;
	expect(kernend % 4096 == 0 && modulep % 8 == 0 && kernend > modulep, "modulep and kernend");
}

void
check(uint32_t modulep, uint32_t kernend)
{
	const uint32_t *record = (const uint32_t *)(modulep + KERNBASE);
	const uint32_t ends[] = { modulep, kernend };
	struct file file = { .name = "" };

	print_build_id();
	check_memory(modulep, kernend);
	while (record[0] != 0 || record[1] != 0) {
		const void *data = record + 2;

		if (!check_kernel(record[0], data, record[1], ends) &&
		    !check_program(&file, record[0], data, record[1]))
			check_common(&file, record[0], data);
		record = (const uint32_t *)((uintptr_t)data + ((record[1] + 7) & ~7u));
	}
	expect((uintptr_t)(record + 2) <= kernend + KERNBASE, "metadata behind kernend");
	expect(modulep >= file.address + file.length, "metadata among the files");
	print("checked\n");
	if (!wrong && and_then != NULL)
		and_then();
}
