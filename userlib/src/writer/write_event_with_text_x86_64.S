/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writing a record with text on x86-64: at_write_texts_() and at_duration_texts_(). On other
 * architectures, write_event_with_text.c does this with a list of pieces.
 *
 * One section copies the texts from their original place. It reads no byte beyond a text, because
 * memory may end there. Another thread may change the bytes meanwhile, so the lengths are fixed
 * before.
 */
#include "critical_section_x86_64.h"

/* Offsets in struct at_text_; write_event_with_text.c asserts them. */
#define TEXT_SKIP	0
#define TEXT_BYTES	4
#define TEXT_FROM	8
#define TEXT_SIZE	16

#define STRING_MAX	32000
#define WORDS_MAX	4095
#define INLINE		0x8000

/* Slots below the stack. WORDS to GATE save the operands, for the slow path. */
#define COUNTER		-8(%rsp)
#define WORDS		-16(%rsp)
#define NWORDS		-24(%rsp)
#define TEXTS		-32(%rsp)
#define NTEXTS		-40(%rsp)
#define GATE		-48(%rsp)
#define WORDS_END	-56(%rsp)
#define SIZE		-64(%rsp)

/*
 * In: edi = gate value, rsi = words without the texts, edx = number of words, rcx = array of
 * struct at_text_, r8d = its length, at least 1. duration = 1: the counter is the last word, and
 * word 1 is the begin. duration = 0: the counter is word 1.
 *
 * While copying: rsi = next word, rdi = next word of the record, r10 = next text in the array, r8
 * = end of the array, r9 = next byte of the text.
 */
.macro writer name, duration
	function \name
	movl	%edx, %eax
	movl	%r8d, %r9d
	movq	%rsi, WORDS
	movl	%edx, NWORDS
	movq	%rcx, TEXTS
	movl	%r8d, NTEXTS
	movl	%edi, GATE
	leaq	-8*\duration(%rsi,%rax,8), %rdx
	movq	%rdx, WORDS_END
	shlq	$4, %r9
	leaq	(%rcx,%r9), %r8
	/* eax: the size of the record in words */
1:
	movl	TEXT_BYTES(%rcx), %edx
	cmpl	$STRING_MAX, %edx
	ja	.Lslow_\name
	addl	$7, %edx
	shrl	$3, %edx
	addl	%edx, %eax
	addq	$TEXT_SIZE, %rcx
	cmpq	%r8, %rcx
	jb	1b
	cmpl	$WORDS_MAX, %eax
	ja	.Lslow_\name
	movl	%eax, %r9d
	movq	%r9, SIZE

	section_begin \name
	orq	%rdx, %rax
	movq	%rax, COUNTER
	section_place \name, "-1(%r11,%r9)"
	shll	$4, %r9d
	orq	(%rsi), %r9
	movq	%r9, (%r11)
.if \duration
	movq	8(%rsi), %rax
.else
	movq	COUNTER, %rax
.endif
	movq	%rax, 8(%r11)
	addq	$24, %rsi
	leaq	24(%r11), %rdi
	movq	TEXTS, %r10
.Ltext_\name:
	movl	TEXT_SKIP(%r10), %ecx
	testl	%ecx, %ecx
	jz	2f
1:
	movq	(%rsi), %rax
	addq	$8, %rsi
	movq	%rax, (%rdi)
	addq	$8, %rdi
	decl	%ecx
	jnz	1b
2:
	/* The argument's header, with its size and the length of the text. */
	movl	TEXT_BYTES(%r10), %ecx
	movq	TEXT_FROM(%r10), %r9
	movq	(%rsi), %rax
	addq	$8, %rsi
	addq	$TEXT_SIZE, %r10
	testl	%ecx, %ecx
	jz	.Lstore_\name
	leal	14(%rcx,%rcx), %edx
	andl	$-16, %edx
	addq	%rdx, %rax
	leal	INLINE(%rcx), %edx
	shlq	$32, %rdx
	orq	%rdx, %rax
	movq	%rax, (%rdi)
	addq	$8, %rdi
	movl	%ecx, %r11d
	subl	$16, %ecx
	jb	4f
3:
	movups	(%r9), %xmm0
	addq	$16, %r9
	movups	%xmm0, (%rdi)
	addq	$16, %rdi
	subl	$16, %ecx
	jae	3b
4:
	testb	$8, %cl
	jz	5f
	movq	(%r9), %rax
	addq	$8, %r9
	movq	%rax, (%rdi)
	addq	$8, %rdi
5:
	/* 0 to 7 bytes are left. If the text has at least 8 bytes, read its last 8 and shift. */
	andl	$7, %ecx
	jz	.Lnext_\name
	cmpl	$8, %r11d
	jb	.Lshort_\name
	movq	-8(%r9,%rcx), %rax
	negl	%ecx
	shll	$3, %ecx
	shrq	%cl, %rax
.Lstore_\name:
	movq	%rax, (%rdi)
	addq	$8, %rdi
.Lnext_\name:
	cmpq	%r8, %r10
	jb	.Ltext_\name

	movq	at_thread@gottpoff(%rip), %r10
	movq	WORDS_END, %r8
	jmp	7f
6:
	movq	(%rsi), %rax
	addq	$8, %rsi
	movq	%rax, (%rdi)
	addq	$8, %rdi
7:
	cmpq	%r8, %rsi
	jb	6b
.if \duration
	movq	COUNTER, %rax
	movq	%rax, (%rdi)
.endif
	jmp	.Lpublish_\name

	/* Texts of less than 8 bytes: combine two reads that overlap. One byte needs one read. */
.Lshort_\name:
	cmpl	$4, %ecx
	jb	8f
	movl	(%r9), %eax
	movl	-4(%r9,%rcx), %edx
	leal	-32(,%rcx,8), %ecx
	shlq	%cl, %rdx
	orq	%rdx, %rax
	jmp	.Lstore_\name
8:
	movzbl	(%r9), %eax
	cmpl	$2, %ecx
	jb	.Lstore_\name
	movzwl	-2(%r9,%rcx), %edx
	leal	-16(,%rcx,8), %ecx
	shlq	%cl, %rdx
	orq	%rdx, %rax
	jmp	.Lstore_\name

.Lpublish_\name:
	section_end \name, , SIZE
	movl	GATE, %edi
	movq	WORDS, %rsi
	movl	NWORDS, %edx
	movq	TEXTS, %rcx
	movl	NTEXTS, %r8d
	movl	$\duration, %r9d
	jmp	at_write_texts_slowly
	function_end \name
.endm

	.text
	.hidden	at_write_texts_slowly

	writer	at_write_texts_, 0
	writer	at_duration_texts_, 1

	.section .note.GNU-stack, "", @progbits
