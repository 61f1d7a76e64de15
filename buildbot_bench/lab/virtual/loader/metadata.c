/* Tells the kernel what was loaded: records of a type, a size and data, each at a multiple of 8.
 *
 * FreeBSD's sys/linker.h has the types and subr_module.c says how they are read. */
#include "elf.h"
#include "loader.h"

#include "records.h"

static uint32_t begin;

void
metadata_begin(void)
{
	begin = place(0, PAGE_SIZE);
}

/* One record; returns where its data lie, to be written anew when more is known. */
void *
metadata(uint32_t type, const void *data, uint32_t size)
{
	uint32_t *record = (uint32_t *)place(8 + size, 8);

	record[0] = type;
	record[1] = size;
	memcpy(record + 2, data, size);
	return record + 2;
}

void
metadata_text(uint32_t type, const char *text)
{
	metadata(type, text, (uint32_t)text_length(text) + 1);
}

static void
metadata_address(uint32_t type, uint32_t address)
{
	uint64_t wide = address;

	metadata(type, &wide, sizeof(wide));
}

/* What is told of any file: the name comes first, it begins a file. */
void
metadata_file(const struct file *file, const char *type)
{
	metadata_text(RECORD_NAME, file->name);
	metadata_text(RECORD_TYPE, type);
	metadata_address(RECORD_ADDRESS, file->address);
	metadata_address(RECORD_SIZE, file->length);
	if (file->sections_size != 0) {
		metadata(RECORD_ELF_HEADER, file->content, sizeof(struct elf));
		metadata(RECORD_ELF_SECTIONS, file->content + file->sections, file->sections_size);
	}
	if (file->symbols != 0) {
		metadata_address(RECORD_SYMBOLS, file->symbols);
		metadata_address(RECORD_SYMBOLS_END, file->symbols_end);
	}
}

/* Ends the list; returns where it begins. */
uint32_t
metadata_end(void)
{
	metadata(RECORD_END, NULL, 0);
	return begin;
}
