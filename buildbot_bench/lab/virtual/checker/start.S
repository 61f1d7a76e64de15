/* A kernel that is entered as FreeBSD's is: in long mode, two words behind the return address. */
	.text
	.global btext
btext:
	movl 4(%rsp), %edi		/* modulep */
	movl 8(%rsp), %esi		/* kernend */
	movq $stack_end, %rsp
	call check
	movb $0xfe, %al			/* the keyboard controller resets the machine */
	outb %al, $0x64
	cli
	hlt

	.bss
	.align 16
	.skip 16384
stack_end:
	.section .note.GNU-stack, "", @progbits
