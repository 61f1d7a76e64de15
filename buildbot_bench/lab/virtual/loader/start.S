/* The way in, from Multiboot; and the way out, into long mode and the kernel. */
#define PAGE_SIZE 4096
#define CODE64 8		/* the selector of the only segment in `gdt` */

#define CR4_PAE 0x20
#define CR0_PG 0x80000000
#define MSR_EFER 0xc0000080
#define EFER_LME 0x100

	.section .multiboot, "a"
	.align 4
	.long 0x1badb002		/* the Multiboot magic */
	.long 2				/* we want to know what memory there is */
	.long -(0x1badb002 + 2)

	.bss
	.align 16
stack:
	.skip 16384
stack_end:

	.data
	.align 8
gdt:
	.quad 0
	.quad 0x00209a0000000000	/* code, 64 bits, present */
gdt_end:
gdt_pointer:
	.word gdt_end - gdt - 1
	.long gdt

	.text
	.code32
	.global start
start:
	cld
	movl $stack_end, %esp
	pushl %ebx			/* what Multiboot tells */
	pushl %eax			/* its magic */
	call load
	hlt

/*
 * void enter(uint32_t entry, uint32_t tables, uint32_t modulep, uint32_t kernend)
 *
 * The kernel is linked in the topmost 2 GiB: the entry's upper half is its sign. It finds two words
 * on its stack, as from a caller of 32 bits: behind the return address modulep and kernend.
 */
	.global enter
enter:
	addl $4, %esp
	popl %edi
	popl %eax
	movl %eax, %cr3
	movl %cr4, %eax
	orl $CR4_PAE, %eax
	movl %eax, %cr4
	movl $MSR_EFER, %ecx
	rdmsr
	orl $EFER_LME, %eax
	wrmsr
	movl %cr0, %eax
	orl $CR0_PG, %eax
	movl %eax, %cr0
	lgdt gdt_pointer
	ljmp $CODE64, $long_mode

	.code64
long_mode:
	pushq $0			/* two words too many: */
	addq $4, %rsp			/* one is the return address */
	movslq %edi, %rax
	jmp *%rax

	.section .note.GNU-stack, "", @progbits
