/* What the checking kernel turns into when all is well: another kernel, of 32 bits. */
#define AT 0x100000		/* where it is linked */
#define ROOM 0x800000		/* with what it does not initialise */
#define STUB 0x8000		/* what of this runs when there are no pages any more */

	.section .rodata
kernel:
	.incbin THEN
kernel_end:
ready:
	.asciz "bench: ready\n"

	.text
	.global and_then
and_then:
	movq $ready, %rdi
	call print
	movl $AT, %edi
	movl $ROOM, %ecx
	xorl %eax, %eax
	rep stosb
	movl $AT, %edi
	movq $kernel, %rsi
	movl $(kernel_end - kernel), %ecx
	rep movsb
	movl $STUB, %edi
	movq $stub, %rsi
	movl $(stub_end - stub), %ecx
	rep movsb
	movl $STUB, %eax
	jmp *%rax

stub:
	lgdt STUB + pointer - stub
	pushq $8
	pushq $(STUB + compatible - stub)
	lretq
	.code32
compatible:
	movl %cr0, %eax
	andl $0x7fffffff, %eax
	movl %eax, %cr0
	movl $0xc0000080, %ecx
	rdmsr
	andl $~0x100, %eax
	wrmsr
	movl $16, %eax
	movl %eax, %ds
	movl %eax, %es
	movl %eax, %ss
	movl $THEN_ENTRY, %eax
	jmp *%eax
	.align 8
table:
	.quad 0, 0x00cf9a000000ffff, 0x00cf92000000ffff
pointer:
	.word 23
	.quad STUB + table - stub
stub_end:
	.code64
	.section .note.GNU-stack, "", @progbits
