/* Routes, and neighbours that nobody need ask for, by messages of the routing socket. */
#include "init.h"

#include "freebsd.h"
#include "network.h"

/* A message of the routing socket, with up to three addresses, each at a multiple of 8. */
struct letter {
	struct route_message head;
	uint8_t addresses[3 * 64];
};

static void *
room(struct letter *letter, size_t size)
{
	void *place = (uint8_t *)letter + letter->head.length;

	letter->head.length += (size + 7) & ~7u;
	return place;
}

static void
begin(struct letter *letter, int32_t flags, int32_t addresses)
{
	memset(letter, 0, sizeof(*letter));
	letter->head.length = sizeof(letter->head);
	letter->head.version = ROUTE_VERSION;
	letter->head.type = ROUTE_ADD;
	letter->head.flags = ROUTE_FLAGS_STATIC | flags;
	letter->head.addresses = addresses;
}

static long
send(struct letter *letter)
{
	long descriptor = syscall(SOCKET, FAMILY_ROUTE, RAW, 0), result;

	if (descriptor < 0)
		return descriptor;
	result = syscall(WRITE, descriptor, letter, letter->head.length);
	syscall(CLOSE, descriptor);
	return result < 0 ? result : 0;
}

/* neighbour INTERFACE ADDRESS ETHERNET-ADDRESS */
long
do_neighbour(char *line)
{
	struct interface_request request = { .name = "" };
	struct address_link link = { .length = sizeof(link), .family = FAMILY_LINK };
	struct letter letter;
	uint8_t place[sizeof(struct address6)];
	size_t size;
	long result;

	name_interface(request.name, next_word(&line));
	result = with_socket(FAMILY_INET, GET_INDEX, &request);
	if (result < 0)
		return result;
	size = address_of(next_word(&line), place);
	if (size == 0 || hex_bytes(next_word(&line), link.data, ETHERNET) != ETHERNET)
		return INVALID;
	link.interface = (uint16_t)request.value.index;
	link.type = ETHERNET;
	link.address_length = ETHERNET;
	begin(&letter, ROUTE_FLAGS_HOST | ROUTE_FLAGS_LINK, WITH_DESTINATION | WITH_GATEWAY);
	memcpy(room(&letter, size), place, size);
	memcpy(room(&letter, sizeof(link)), &link, sizeof(link));
	return send(&letter);
}

/* route NETWORK PREFIX GATEWAY */
long
do_route(char *line)
{
	struct letter letter;
	uint8_t network[sizeof(struct address6)], gateway[sizeof(struct address6)];
	size_t size = address_of(next_word(&line), network);
	int64_t prefix;

	if (size == 0 || !number_of(next_word(&line), &prefix) ||
	    address_of(next_word(&line), gateway) != size)
		return INVALID;
	begin(&letter, ROUTE_FLAGS_UP | ROUTE_FLAGS_GATEWAY,
	    WITH_DESTINATION | WITH_GATEWAY | WITH_MASK);
	memcpy(room(&letter, size), network, size);
	memcpy(room(&letter, size), gateway, size);
	mask_address(size, prefix, room(&letter, size));
	return send(&letter);
}
