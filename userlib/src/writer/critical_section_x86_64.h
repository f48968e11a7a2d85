/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Common parts of the critical sections in assembly
 *
 * In: edi = gate value of the record. From section_begin on, fs:r10 = at_thread. Each macro jumps
 * to .Lslow_NAME, which section_end defines, if the section cannot write the record.
 *
 * These sections are in assembly because gcc 12 saves all operands of an asm goto on the stack,
 * for branches that are never taken. Saving them would take a third of the instructions.
 */
#ifndef AT_CRITICAL_SECTION_X86_64_H
#define AT_CRITICAL_SECTION_X86_64_H

#ifdef __CET__
#include <cet.h>
#else
#define _CET_ENDBR
#endif

/* Offsets; rseq.h asserts them. */
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

#ifdef AT_TEST_HOOKS
	.hidden	at_race_delay
	.hidden	at_race_delay_early
#endif
	.hidden	at_thread

.macro function name
	.globl	\name
	.type	\name, @function
	.p2align 5
\name:
	.cfi_startproc
	_CET_ENDBR
.endm

/* Waits as many loops as the variable delay says. A test ends the waiting by clearing it. */
.macro section_hook name, delay
#ifdef AT_TEST_HOOKS
	movq	\delay(%rip), %rax
	testq	%rax, %rax
	jz	.Lgo_\delay\name
.Lwait_\delay\name:
	decq	%rax
	jz	.Lgo_\delay\name
	cmpq	$0, \delay(%rip)
	jne	.Lwait_\delay\name
.Lgo_\delay\name:
#endif
.endm

/*
 * Arms the section. Out: r11 = the thread's struct rseq, rax | rdx = counter. The counter is
 * read first, because the processor executes the following instructions meanwhile: measured, it
 * saves 1 ns of 12. The address of struct rseq is read after the check of the thread's gate value.
 * Read before the check, it may still be NULL although the check succeeds: a signal handler that
 * interrupts the thread in between may write the thread's first record.
 */
.macro section_begin name
	movq	at_thread@gottpoff(%rip), %r10
	leaq	.Lcs_\name(%rip), %rax
	cmpl	%edi, %fs:THREAD_GATE(%r10)
	jne	.Lslow_\name
	movq	%fs:THREAD_RSEQ(%r10), %r11
	movq	%rax, RSEQ_CS(%r11)
.Lbegin_\name:
	rdtsc
	shlq	$32, %rdx
.endm

/*
 * In: r11 = struct rseq; last = operand of lea that computes the index of the record's last word
 * while r11 contains the position. Out: r11 = address of the record. Destroys rax, rdx.
 */
.macro section_place name, last
	/* Is the thread bound to the ring of this CPU, and is the gate still the record's? */
	movl	RSEQ_CPU(%r11), %eax
	cmpl	%fs:THREAD_CPU(%r10), %eax
	jne	.Lslow_\name
	movq	at_gate_@GOTPCREL(%rip), %r11
	cmpl	%edi, (%r11)
	jne	.Lslow_\name
	section_hook \name, at_race_delay_early
	/* Does it fit: is its last word in the sub-buffer of the word before the record? */
	movq	%fs:THREAD_LINE(%r10), %rdx
	movq	(%rdx), %r11
	leal	-1(%r11), %eax
	leal	\last, %edx
	xorl	%edx, %eax
	cmpl	%eax, %fs:THREAD_SUB_MASK(%r10)
	jb	.Lslow_\name
	movq	%fs:THREAD_DATA(%r10), %rdx
	andl	%fs:THREAD_RING_MASK(%r10), %r11d
	leaq	(%rdx,%r11,8), %r11
	movl	%fs:THREAD_SLOT(%r10), %eax
	movq	%rax, 16(%r11)
.endm

/*
 * Publishes the record with the last instruction. constant or operand: number of its words.
 * Destroys rax, rdx. Ends the function's fast path.
 */
.macro section_end name, constant, operand
	section_hook \name, at_race_delay
	movq	%fs:THREAD_LINE(%r10), %rdx
.ifnb \constant
	movabsq	$((1 << 48) + \constant), %rax
.else
	movabsq	$(1 << 48), %rax
	addq	\operand, %rax
.endif
	addq	%rax, (%rdx)
.Lend_\name:
	ret
	/* The signature that the kernel checks, encoded as a ud1 instruction. */
	.byte	0x0f, 0xb9, 0x3d
	.long	0x53053053
.Labort_\name:
.Lslow_\name:
.endm

.macro function_end name
	.cfi_endproc
	.size	\name, . - \name

	.pushsection __rseq_cs, "aw"
	.balign	32
.Lcs_\name:
	.long	0, 0
	.quad	.Lbegin_\name, .Lend_\name - .Lbegin_\name, .Labort_\name
	.popsection
.endm

#endif /* AT_CRITICAL_SECTION_X86_64_H */
