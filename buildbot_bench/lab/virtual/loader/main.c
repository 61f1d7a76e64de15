/* Loads a FreeBSD kernel for amd64 and what goes with it, which QEMU has put into memory.
 *
 * Each Multiboot module is a file, its text `FILE KIND NAME`; the kernel is the first one. */
#include "loader.h"
#include "multiboot.h"
#include "records.h"

#define MOST_FILES 64
#define MOST_RANGES 64
#define RANGE_SIZE 20u

#define PRESENT 1u
#define WRITABLE 2u
#define LARGE 0x80u
#define LARGE_SIZE (2u << 20)
#define TABLE_SIZE 512

void enter(uint32_t entry, uint32_t tables, uint32_t modulep, uint32_t kernend)
    __attribute__((noreturn));
void load(uint32_t magic, const struct multiboot *told) __attribute__((noreturn));

static struct file files[MOST_FILES];
static uint32_t file_count;
static uint64_t top[TABLE_SIZE] __attribute__((aligned(4096)));
static uint64_t gigabytes[TABLE_SIZE] __attribute__((aligned(4096)));
static uint64_t large_pages[TABLE_SIZE] __attribute__((aligned(4096)));

/* Cut a text at its first space; returns what follows. */
static char *
cut(char *text)
{
	while (*text != '\0' && *text != ' ')
		text++;
	if (*text == ' ')
		*text++ = '\0';
	return text;
}

static void
find_files(const struct multiboot *told)
{
	const struct multiboot_module *modules = (const struct multiboot_module *)told->modules;

	if ((told->flags & HAS_MODULES) == 0 || told->module_count > MOST_FILES)
		stop("QEMU", "handed over no files, or too many");
	file_count = told->module_count;
	for (uint32_t i = 0; i < file_count; i++) {
		char *kind = cut(modules[i].text);

		files[i].name = cut(kind);
		files[i].kind = kind;
		files[i].content = (uint8_t *)modules[i].begin;
		files[i].size = modules[i].end - modules[i].begin;
	}
	if (file_count == 0 || !text_equal(files[0].kind, "kernel"))
		stop("the first file", "is no kernel");
}

/* Load a file that goes with the kernel; returns the type by which the kernel knows it. */
static const char *
load_file(struct file *file)
{
	if (text_equal(file->kind, "module")) {
		load_module(file);
		return "elf obj module";
	}
	file->address = place(file->size, PAGE_SIZE);
	file->length = file->size;
	memcpy((void *)file->address, file->content, file->size);
	return text_equal(file->kind, "image") ? "md_image" : NULL;
}

static void
tell_memory(const struct multiboot *told)
{
	static uint8_t ranges[MOST_RANGES * RANGE_SIZE];
	uint32_t size = 0, end = told->memory_map + told->memory_map_size;
	const struct multiboot_range *range;

	if ((told->flags & HAS_MEMORY_MAP) == 0)
		stop("QEMU", "does not say what memory there is");
	for (uint32_t at = told->memory_map; at < end; at += range->size + 4) {
		range = (const struct multiboot_range *)at;
		if (size + RANGE_SIZE > sizeof(ranges))
			stop("QEMU", "has too many ranges of memory");
		memcpy(ranges + size, &range->base, RANGE_SIZE);
		size += RANGE_SIZE;
	}
	metadata(RECORD_MEMORY_MAP, ranges, size);
}

/* The first GiB twice: at its own addresses, and where the kernel sees it. */
static uint32_t
map_memory(void)
{
	for (uint32_t i = 0; i < TABLE_SIZE; i++)
		large_pages[i] = (i * LARGE_SIZE) | PRESENT | WRITABLE | LARGE;
	gigabytes[0] = gigabytes[TABLE_SIZE - 2] = (uint32_t)large_pages | PRESENT | WRITABLE;
	top[0] = top[TABLE_SIZE - 1] = (uint32_t)gigabytes | PRESENT | WRITABLE;
	return (uint32_t)top;
}

void
load(uint32_t magic, const struct multiboot *told)
{
	const char *types[MOST_FILES] = { "elf kernel" };
	const uint32_t howto = HOWTO_SERIAL;
	const uint64_t unknown = 0;
	uint64_t *kenv, *kernend, *modulep;

	console_init();
	if (magic != MULTIBOOT_BOOTED)
		stop("this", "is to be booted by Multiboot");
	find_files(told);
	load_kernel(&files[0]);
	for (uint32_t i = 1; i < file_count; i++)
		types[i] = load_file(&files[i]);

	metadata_begin();
	metadata_file(&files[0], types[0]);
	metadata(RECORD_HOWTO, &howto, sizeof(howto));
	kenv = metadata(RECORD_KENV, &unknown, sizeof(unknown));
	kernend = metadata(RECORD_KERNEND, &unknown, sizeof(unknown));
	modulep = metadata(RECORD_MODULEP, &unknown, sizeof(unknown));
	tell_memory(told);
	for (uint32_t i = 1; i < file_count; i++) {
		if (types[i] == NULL)
			*kenv = files[i].address;
		else
			metadata_file(&files[i], types[i]);
	}
	*modulep = metadata_end();
	*kernend = place(0, PAGE_SIZE);
	enter(files[0].entry, map_memory(), (uint32_t)*modulep, (uint32_t)*kernend);
}
