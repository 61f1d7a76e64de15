/* The first instructions, and the way into every trap. */
	.section .multiboot, "a"
	.align 4
	.long 0x1badb002		/* the Multiboot magic */
	.long 0
	.long -0x1badb002

	.section .bss
	.align 16
stack:
	.skip 16384
stack_end:

	.text
	.global start
start:
	movl $stack_end, %esp
	pushl %ebx			/* the loader's information */
	call kernel_main

/* 48 entries of 16 bytes each: the processor's exceptions, then the interrupts. */
	.global trap_vectors
	.align 16
trap_vectors:
	.set number, 0
	.rept 48
	.align 16
	.if (number != 8) && ((number < 10) || (number > 14)) && (number != 17) && (number != 21)
	pushl $0			/* the processor pushes no error code */
	.endif
	pushl $number
	jmp trap_common
	.set number, number + 1
	.endr

trap_common:
	pusha
	pushl %esp
	call trap
	addl $4, %esp
	popa
	addl $8, %esp
	iret
	.section .note.GNU-stack, "", @progbits
