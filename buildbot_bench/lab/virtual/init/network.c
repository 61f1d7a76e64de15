/* Interfaces and their addresses, which are written as 8 or 32 hexadecimal digits. */
#include "init.h"

#include "freebsd.h"
#include "network.h"

#define LINK_TRIES 1000 /* with the pauses, 20 s */

long
with_socket(int family, uint64_t request, void *argument)
{
	long descriptor = syscall(SOCKET, family, DATAGRAM, 0), result;

	if (descriptor < 0)
		return descriptor;
	result = syscall(IOCTL, descriptor, request, argument);
	syscall(CLOSE, descriptor);
	return result;
}

void
name_interface(char name[16], const char *word)
{
	size_t length = text_length(word);

	memset(name, 0, 16);
	memcpy(name, word, length < 15 ? length : 15);
}

static void
mask_of(uint8_t *bytes, size_t size, int64_t prefix)
{
	for (size_t i = 0; i < size; i++, prefix -= 8)
		bytes[i] = prefix >= 8 ? 0xff : prefix <= 0 ? 0 : (uint8_t)(0xff00 >> prefix);
}

/* A socket address of either family; its size, or 0. */
size_t
address_of(const char *word, void *place)
{
	uint8_t bytes[16];
	long size = hex_bytes(word, bytes, sizeof(bytes));

	if (size == 4) {
		struct address4 address = { .length = sizeof(address), .family = FAMILY_INET };

		memcpy(address.address, bytes, 4);
		memcpy(place, &address, sizeof(address));
		return sizeof(address);
	}
	if (size == 16) {
		struct address6 address = { .length = sizeof(address), .family = FAMILY_INET6 };

		memcpy(address.address, bytes, 16);
		memcpy(place, &address, sizeof(address));
		return sizeof(address);
	}
	return 0;
}

size_t
mask_address(size_t size, int64_t prefix, void *place)
{
	if (size == sizeof(struct address4)) {
		struct address4 mask = { .length = sizeof(mask), .family = FAMILY_INET };

		mask_of(mask.address, 4, prefix);
		memcpy(place, &mask, sizeof(mask));
	} else {
		struct address6 mask = { .length = sizeof(mask), .family = FAMILY_INET6 };

		mask_of(mask.address, 16, prefix);
		memcpy(place, &mask, sizeof(mask));
	}
	return size;
}

/* address INTERFACE ADDRESS PREFIX */
long
do_address(char *line)
{
	const char *name = next_word(&line), *address = next_word(&line);
	struct new_address4 four = { .vhid = 0 };
	struct new_address6 six = { .flags = UNCHECKED };
	uint8_t place[sizeof(struct address6)];
	size_t size = address_of(address, place);
	int64_t prefix;

	if (!number_of(next_word(&line), &prefix))
		return INVALID;
	if (size == sizeof(struct address4)) {
		name_interface(four.name, name);
		memcpy(&four.address, place, size);
		mask_address(size, prefix, &four.mask);
		return with_socket(FAMILY_INET, ADD_ADDRESS4, &four);
	}
	if (size == 0)
		return INVALID;
	name_interface(six.name, name);
	memcpy(&six.address, place, size);
	mask_address(size, prefix, &six.mask);
	six.valid_s = six.preferred_s = FOR_EVER;
	return with_socket(FAMILY_INET6, ADD_ADDRESS6, &six);
}

/* up INTERFACE */
long
do_up(char *line)
{
	struct interface_request request = { .name = "" };
	long result;

	name_interface(request.name, next_word(&line));
	result = with_socket(FAMILY_INET, GET_FLAGS, &request);
	if (result < 0)
		return result;
	request.value.flags[0] |= INTERFACE_UP;
	return with_socket(FAMILY_INET, SET_FLAGS, &request);
}

/* link INTERFACE: wait until its link is up */
long
do_link(char *line)
{
	static const int64_t pause[] = { 0, 20 * 1000 * 1000 }; /* s, ns */
	struct media_request request = { .name = "" };
	long result;

	name_interface(request.name, next_word(&line));
	for (int i = 0; i < LINK_TRIES; i++) {
		request.count = 0; /* of media that there is room for */
		result = with_socket(FAMILY_INET, GET_MEDIA, &request);
		if (result < 0 || (request.status & LINK_ACTIVE) != 0)
			return result;
		syscall(NANOSLEEP, pause, NULL);
	}
	return TIMED_OUT;
}
