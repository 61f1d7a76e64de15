/* What interfaces and routes have in common. */
#ifndef NETWORK_H
#define NETWORK_H

#include <stddef.h>
#include <stdint.h>

#define ETHERNET 6 /* IFT_ETHER, and the bytes of an address */

long with_socket(int family, uint64_t request, void *argument);
void name_interface(char name[16], const char *word);
size_t address_of(const char *word, void *place);
size_t mask_address(size_t size, int64_t prefix, void *place);

#endif
