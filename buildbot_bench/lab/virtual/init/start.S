/* The way into a FreeBSD program for amd64, and from it into the kernel. */
#define TAG_ABI 1		/* NT_FREEBSD_ABI_TAG, elf(5) */
#define OLDEST 1200000		/* __FreeBSD_version of the interfaces that are used */

	.section .note.tag, "a", @note
	.align 4
	.long 8
	.long 4
	.long TAG_ABI
	.asciz "FreeBSD"
	.long OLDEST

	.text
	.global start
start:
	xorl %ebp, %ebp
	andq $-16, %rsp
	call main
	hlt

/*
 * long syscall(long number, ...six arguments at most)
 *
 * The kernel sets the carry flag when it returns an error's number; that is returned as negative.
 */
	.global syscall
syscall:
	movq %rdi, %rax
	movq %rsi, %rdi
	movq %rdx, %rsi
	movq %rcx, %rdx
	movq %r8, %r10
	movq %r9, %r8
	movq 8(%rsp), %r9
	syscall
	jnc 1f
	negq %rax
1:	ret

	.section .note.GNU-stack, "", @progbits
