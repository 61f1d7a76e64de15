/* The processor's own instructions. */
#ifndef IO_H
#define IO_H

#include <stdint.h>

static inline __attribute__((always_inline)) void
out8(uint16_t port, uint8_t value)
{
	__asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

static inline __attribute__((always_inline)) uint8_t
in8(uint16_t port)
{
	uint8_t value;

	__asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
	return value;
}

static inline __attribute__((always_inline)) void
out32(uint16_t port, uint32_t value)
{
	__asm__ volatile("outl %0, %1" : : "a"(value), "Nd"(port));
}

static inline __attribute__((always_inline)) uint32_t
in32(uint16_t port)
{
	uint32_t value;

	__asm__ volatile("inl %1, %0" : "=a"(value) : "Nd"(port));
	return value;
}

static inline __attribute__((always_inline)) void
interrupts_off(void)
{
	__asm__ volatile("cli" : : : "memory");
}

/* Lets interrupts in and sleeps until one comes; none is lost between the two. */
static inline __attribute__((always_inline)) void
wait_for_interrupt(void)
{
	__asm__ volatile("sti; hlt; cli" : : : "memory");
}

#endif
