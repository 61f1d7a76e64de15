/* Exceptions and interrupts. */
#ifndef TRAP_H
#define TRAP_H

#include <stdint.h>

void trap_init(void);

/* Calls `handler` with `argument` whenever the interrupt comes. */
void interrupt_establish(uint8_t line, void (*handler)(void *), void *argument);

#endif
