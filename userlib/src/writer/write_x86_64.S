/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The common case of writing a small record on x86-64: at_write_3_() to
 * at_write_6_(), at_duration_4_() and at_duration_5_(). What they do is what
 * write.c does with AT_CS_PUT() elsewhere, and rseq_x86_64.h with any record.
 *
 * In assembly, because gcc (12) saves every operand of an asm goto in a register
 * of the caller's, for the sake of the branch that is never taken: a third of
 * the instructions.
 *
 * Registers: edi the gate value, rsi word 0, and of the words that the caller
 * gives the first in rdx (then r9: the counter takes rdx), the second in rcx,
 * the third in r8. fs:r10 is at_thread, r11 the record's place. The counter goes to
 * r8, or, where that is taken, below the stack.
 *
 * The counter is read first thing: what follows then runs while the processor
 * fetches it (measured: 1 ns of 12 less than just before it is stored).
 */
#ifdef __CET__
#include <cet.h>
#else
#define _CET_ENDBR
#endif

/* Offsets; rseq.h asserts that they are right. */
#define THREAD_GATE	0
#define THREAD_CPU	4
#define THREAD_SLOT	8
#define THREAD_SUB_MASK	12
#define THREAD_RING_MASK 16
#define THREAD_LINE	24
#define THREAD_DATA	32
#define THREAD_RSEQ	40
#define RSEQ_CPU	4
#define RSEQ_CS		8

/*
 * first, second, third: the words of the record that the operands are; 0: there
 * is no such operand.
 */
.macro writer name, words, stamp, first, second, third
	.globl	\name
	.type	\name, @function
	.p2align 5
\name:
	.cfi_startproc
	_CET_ENDBR
	movq	at_thread@gottpoff(%rip), %r10
	leaq	.Lcs_\name(%rip), %rax
	movq	%rdx, %r9
	movq	%fs:THREAD_RSEQ(%r10), %r11
	cmpl	%edi, %fs:THREAD_GATE(%r10)
	jne	.Lslow_\name
	movq	%rax, RSEQ_CS(%r11)
.Lbegin_\name:
	rdtsc
	shlq	$32, %rdx
.if \third
	orq	%rdx, %rax
	movq	%rax, -8(%rsp)
.else
	leaq	(%rax,%rdx), %r8
.endif
	/* This CPU's ring, and still the record's run? */
	movl	RSEQ_CPU(%r11), %eax
	cmpl	%fs:THREAD_CPU(%r10), %eax
	jne	.Lslow_\name
	movq	at_gate_@GOTPCREL(%rip), %r11
	cmpl	%edi, (%r11)
	jne	.Lslow_\name
#ifdef AT_TEST_HOOKS
	movq	at_race_delay_early(%rip), %rax
	testq	%rax, %rax
	jz	.Lin_\name
.Lwait_\name:
	decq	%rax
	jz	.Lin_\name
	cmpq	$0, at_race_delay_early(%rip)
	jne	.Lwait_\name
.Lin_\name:
#endif
	/* The word before the record and its last one in the same sub-buffer? */
	movq	%fs:THREAD_LINE(%r10), %rdx
	movq	(%rdx), %r11
	leal	-1(%r11), %eax
	leal	\words-1(%r11), %edx
	xorl	%edx, %eax
	cmpl	%eax, %fs:THREAD_SUB_MASK(%r10)
	jb	.Lslow_\name
	movq	%fs:THREAD_DATA(%r10), %rdx
	andl	%fs:THREAD_RING_MASK(%r10), %r11d
	leaq	(%rdx,%r11,8), %r11
	movl	%fs:THREAD_SLOT(%r10), %eax
	movq	%rsi, (%r11)
	movq	%rax, 16(%r11)
.if \first
	movq	%r9, 8*\first(%r11)
.endif
.if \second
	movq	%rcx, 8*\second(%r11)
.endif
.if \third
	movq	%r8, 8*\third(%r11)
.endif
.if \third
	movq	-8(%rsp), %rax
	movq	%rax, 8*\stamp(%r11)
.else
	movq	%r8, 8*\stamp(%r11)
.endif
#ifdef AT_TEST_HOOKS
	movq	at_race_delay(%rip), %rax
	testq	%rax, %rax
	jz	.Lgo_\name
.Lspin_\name:
	decq	%rax
	jz	.Lgo_\name
	cmpq	$0, at_race_delay(%rip)
	jne	.Lspin_\name
.Lgo_\name:
#endif
	movq	%fs:THREAD_LINE(%r10), %rdx
	movabsq	$((1 << 48) + \words), %rax
	addq	%rax, (%rdx)
.Lend_\name:
	ret

	/* The signature that the kernel looks for, as an instruction: ud1. */
	.byte	0x0f, 0xb9, 0x3d
	.long	0x53053053
.Labort_\name:
.Lslow_\name:
	movq	%r9, %rdx
	movl	$(\words | \stamp << 8), %r9d
	jmp	at_write_slowly
	.cfi_endproc
	.size	\name, . - \name

	.pushsection __rseq_cs, "aw"
	.balign	32
.Lcs_\name:
	.long	0, 0
	.quad	.Lbegin_\name, .Lend_\name - .Lbegin_\name, .Labort_\name
	.popsection
.endm

	.text
	.hidden	at_thread
	.hidden	at_write_slowly
#ifdef AT_TEST_HOOKS
	.hidden	at_race_delay
	.hidden	at_race_delay_early
#endif

	writer	at_write_3_, 3, 1, 0, 0, 0
	writer	at_write_4_, 4, 1, 3, 0, 0
	writer	at_write_5_, 5, 1, 3, 4, 0
	writer	at_write_6_, 6, 1, 3, 4, 5
	writer	at_duration_4_, 4, 3, 1, 0, 0
	writer	at_duration_5_, 5, 4, 1, 3, 0

	.section .note.GNU-stack, "", @progbits
