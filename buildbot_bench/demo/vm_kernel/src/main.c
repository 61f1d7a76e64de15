/* Boot: reads nothing, attaches the interfaces, forwards until power-off. */
#include <stddef.h>
#include <stdint.h>

#include "console.h"
#include "e1000.h"
#include "forward.h"
#include "io.h"
#include "mbuf.h"
#include "route.h"
#include "trap.h"

#define BUILD_ID_OFFSET 16 /* behind the note's header and name */
#define BUILD_ID_LENGTH 20

extern const uint8_t build_id[];
void kernel_main(void) __attribute__((noreturn));

static void
print_identity(void)
{
	print("build-id: ");
	for (int i = 0; i < BUILD_ID_LENGTH; i++)
		print_hex(build_id[BUILD_ID_OFFSET + i], 2);
	print("\n");
}

static void
forward_all(int interface)
{
	struct mbuf *mbuf;

	while ((mbuf = e1000_receive(interface)) != NULL)
		ip_forward(mbuf);
	for (int i = 0; i < INTERFACES; i++)
		e1000_flush(i);
}

void
kernel_main(void)
{
	console_init();
	print_identity();
	trap_init();
	mbuf_init();
	route_init();
	for (int i = 0; i < INTERFACES; i++) {
		if (!e1000_attach(i))
			panic("there is no such interface", (uint32_t)i);
	}
	print("forwarding\n");
	for (;;) {
		for (int i = 0; i < INTERFACES; i++) {
			if (e1000_pending(i))
				forward_all(i);
		}
		wait_for_interrupt();
	}
}
