/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writing a record without text on x86-64. The words are in registers, except for at_write_n_().
 * On other architectures, write.c does this with AT_CS_PUT() and at_cs_put().
 */
#include "critical_section_x86_64.h"

/*
 * In: edi = gate value, rsi = word 0; rdx, rcx, r8 = up to three other words. first, second,
 * third: indexes of these words; 0: no such operand. stamp: index of the word that gets the
 * counter. The counter is kept in r8, or below the stack if r8 is an operand.
 */
.macro writer name, words, stamp, first, second, third
	function \name
	movq	%rdx, %r9
	section_begin \name
.if \third
	orq	%rdx, %rax
	movq	%rax, -8(%rsp)
.else
	leaq	(%rax,%rdx), %r8
.endif
	section_place \name, "\words-1(%r11)"
	movq	%rsi, (%r11)
.if \first
	movq	%r9, 8*\first(%r11)
.endif
.if \second
	movq	%rcx, 8*\second(%r11)
.endif
.if \third
	movq	%r8, 8*\third(%r11)
	movq	-8(%rsp), %rax
	movq	%rax, 8*\stamp(%r11)
.else
	movq	%r8, 8*\stamp(%r11)
.endif
	section_end \name, \words
	movq	%r9, %rdx
	movl	$(\words | \stamp << 8), %r9d
	jmp	at_write_slowly
	function_end \name
.endm

	.text
	.hidden	at_write_slowly
	.hidden	at_write_n_slowly

	writer	at_write_3_, 3, 1, 0, 0, 0
	writer	at_write_4_, 4, 1, 3, 0, 0
	writer	at_write_5_, 5, 1, 3, 4, 0
	writer	at_write_6_, 6, 1, 3, 4, 5
	writer	at_duration_4_, 4, 3, 1, 0, 0
	writer	at_duration_5_, 5, 4, 1, 3, 0

/*
 * In: edi = gate value, rsi = words, edx = number of words, at least 3, ecx = index of the stamp.
 */
	function at_write_n_
	movl	%edx, %r9d
	movl	%ecx, %ecx
	section_begin at_write_n_
	leaq	(%rax,%rdx), %r8
	section_place at_write_n_, "-1(%r11,%r9)"
	movq	(%rsi), %rax
	movq	%rax, (%r11)
	movq	8(%rsi), %rax
	movq	%rax, 8(%r11)
	movl	$4, %eax
	jmp	2f
	/* Two words at a time, the ones before rax. If one word remains, it is the last one. */
1:
	movq	-8(%rsi,%rax,8), %rdx
	movq	%rdx, -8(%r11,%rax,8)
	movq	(%rsi,%rax,8), %rdx
	movq	%rdx, (%r11,%rax,8)
	addl	$2, %eax
2:
	cmpl	%r9d, %eax
	jb	1b
	ja	3f
	movq	-8(%rsi,%rax,8), %rdx
	movq	%rdx, -8(%r11,%rax,8)
3:
	movq	%r8, (%r11,%rcx,8)
	section_end at_write_n_, , %r9
	movl	%r9d, %edx
	jmp	at_write_n_slowly
	function_end at_write_n_

	.section .note.GNU-stack, "", @progbits
