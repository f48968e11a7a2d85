/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Critical sections of x86-64. Stores become visible in program order, so a plain store can
 * publish. rseq.h asserts the offsets. write_x86_64.S writes small records.
 */
#ifndef AT_RSEQ_X86_64_H
#define AT_RSEQ_X86_64_H

static inline uint64_t at_counter(void)
{
	return __builtin_ia32_rdtsc();
}

/* Keeps at_counter() from being executed before the instructions that precede this call. */
static inline void at_counter_fence(void)
{
	__builtin_ia32_lfence();
}

/* Tells the processor that the thread waits for another one. */
static inline void at_pause(void)
{
	__builtin_ia32_pause();
}

#ifdef AT_TEST_HOOKS
#define AT_CS_HOOK \
	"movq at_race_delay(%%rip), %%rax\n\t" \
	"testq %%rax, %%rax\n\t" \
	"jz 9f\n" \
	"8:\n\t" \
	"decq %%rax\n\t" \
	"jz 9f\n\t" \
	"cmpq $0, at_race_delay(%%rip)\n\t" \
	"jne 8b\n" \
	"9:\n\t"
#define AT_CS_HOOK_EARLY \
	"movq at_race_delay_early(%%rip), %%rax\n\t" \
	"testq %%rax, %%rax\n\t" \
	"jz 11f\n" \
	"10:\n\t" \
	"decq %%rax\n\t" \
	"jz 11f\n\t" \
	"cmpq $0, at_race_delay_early(%%rip)\n\t" \
	"jne 10b\n" \
	"11:\n\t"
#else
#define AT_CS_HOOK
#define AT_CS_HOOK_EARLY
#endif

/* Arms the section from label 1 to label 2, with the abort handler at label 4. */
#define AT_CS_ARM(rseq) \
	".pushsection __rseq_cs, \"aw\"\n\t" \
	".balign 32\n" \
	"7:\n\t" \
	".long 0, 0\n\t" \
	".quad 1f, 2f - 1f, 4f\n\t" \
	".popsection\n\t" \
	"leaq 7b(%%rip), %%rax\n\t" \
	"movq %%rax, 8(" rseq ")\n" \
	"1:\n\t"

/*
 * Must follow the store that publishes. The kernel checks the signature, which is the 4 bytes
 * before the abort handler. The signature is part of a ud1 instruction.
 */
#define AT_CS_END \
	"2:\n\t" \
	".pushsection __rseq_failure, \"ax\"\n\t" \
	".byte 0x0f, 0xb9, 0x3d\n\t" \
	".long 0x53053053\n" \
	"4:\n\t" \
	"jmp %l[aborted]\n\t" \
	".popsection\n\t"

/*
 * Begins a section that writes a record. In: t = struct at_thread; now = the gate's word; last =
 * operand of lea that computes the index of the record's last word, if r11 is the position. Out:
 * r9 = counter, r11 = address of the record. Jumps to aborted if the thread is not bound to the
 * ring of this CPU. Jumps to stale if the gate has changed. Jumps to full unless the record's last
 * word is in the same sub-buffer as the word before the record. So a position at the end of a
 * sub-buffer, or 0, is always full.
 */
#define AT_CS_PLACE(last) \
	"movq 40(%[t]), %%r11\n\t" \
	AT_CS_ARM("%%r11") \
	"rdtsc\n\t" \
	"shlq $32, %%rdx\n\t" \
	"leaq (%%rax, %%rdx), %%r9\n\t" \
	"movl 4(%%r11), %%eax\n\t" \
	"cmpl 4(%[t]), %%eax\n\t" \
	"jne %l[aborted]\n\t" \
	"cmpl %[gate], %[now]\n\t" \
	"jne %l[stale]\n\t" \
	AT_CS_HOOK_EARLY \
	"movq 24(%[t]), %%rdx\n\t" \
	"movq (%%rdx), %%r11\n\t" \
	"leal -1(%%r11), %%eax\n\t" \
	"leal " last ", %%edx\n\t" \
	"xorl %%edx, %%eax\n\t" \
	"cmpl %%eax, 12(%[t])\n\t" \
	"jb %l[full]\n\t" \
	"movq 32(%[t]), %%rdx\n\t" \
	"andl 16(%[t]), %%r11d\n\t" \
	"leaq (%%rdx, %%r11, 8), %%r11\n\t"

static inline enum at_cs_result at_cs_put(struct at_thread *t, const uint32_t *now, uint32_t gate,
					  const struct at_put *put)
{
	__asm__ goto volatile(
		"movl 16(%[put]), %%ecx\n\t"
		AT_CS_PLACE("-1(%%rcx, %%r11)")
		"movq %%r11, %%rdi\n\t"
		"movq (%[put]), %%r8\n"
		"5:\n\t"
		"movq (%%r8), %%rsi\n\t"
		"movq 8(%%r8), %%rdx\n"
		"6:\n\t"
		"movq (%%rsi), %%rax\n\t"
		"movq %%rax, (%%rdi)\n\t"
		"addq $8, %%rsi\n\t"
		"addq $8, %%rdi\n\t"
		"decq %%rdx\n\t"
		"jnz 6b\n\t"
		"addq $16, %%r8\n\t"
		"cmpq 8(%[put]), %%r8\n\t"
		"jb 5b\n\t"
		"addq 24(%[put]), %%r11\n\t"
		"movq %%r9, (%%r11)\n\t"
		AT_CS_HOOK
		/* Publish: add the record's words and 1 record to the position. */
		"movq 24(%[t]), %%rdx\n\t"
		"movabsq $(1 << 48), %%rax\n\t"
		"addq %%rcx, %%rax\n\t"
		"addq %%rax, (%%rdx)\n"
		AT_CS_END
		:
		: [t] "r"(t), [gate] "r"(gate), [now] "m"(*now), [put] "r"(put)
		: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r11", "memory", "cc"
		: aborted, stale, full);
	return AT_CS_DONE;
aborted:
	return AT_CS_ABORTED;
stale:
	return AT_CS_STALE;
full:
	return AT_CS_FULL;
}

/*
 * Begins a section that uses a ring which was found before the section. Checks that the CPU and
 * the gate have not changed since.
 */
#define AT_CS_CHECK \
	AT_CS_ARM("%[rseq]") \
	"cmpl %[cpu], 4(%[rseq])\n\t" \
	"jne %l[aborted]\n\t" \
	"cmpl %[gate], %[now]\n\t" \
	"jne %l[stale]\n\t"

#define AT_CS_OPERANDS(r) \
	[rseq] "r"(at_rseq_area()), [cpu] "r"((r)->cpu), [gate] "r"((r)->gate), \
	[now] "m"(*(r)->now)

/* Mark the binding invalid while it is updated: no struct rseq has AT_NO_CPU. */
static inline enum at_cs_result at_cs_bind(const struct at_ring *r)
{
	__asm__ goto volatile(
		AT_CS_CHECK
		"movl %[none], 4(%[t])\n\t"
		"movl %[gate], (%[t])\n\t"
		"movl 24(%[r]), %%eax\n\t"
		"movl %%eax, 12(%[t])\n\t"
		"movl 28(%[r]), %%eax\n\t"
		"movl %%eax, 16(%[t])\n\t"
		"movq (%[r]), %%rax\n\t"
		"movq %%rax, 24(%[t])\n\t"
		"movq 8(%[r]), %%rax\n\t"
		"movq %%rax, 32(%[t])\n\t"
		AT_CS_HOOK
		"movl %[cpu], 4(%[t])\n"
		AT_CS_END
		:
		: AT_CS_OPERANDS(r), [t] "r"(r->thread), [r] "r"(r), [none] "i"(AT_NO_CPU)
		: "rax", "memory", "cc"
		: aborted, stale);
	return AT_CS_DONE;
aborted:
	return AT_CS_ABORTED;
stale:
	return AT_CS_STALE;
}

static inline enum at_cs_result at_cs_enter(const struct at_ring *r, const struct at_enter *e)
{
	__asm__ goto volatile(
		AT_CS_CHECK
		"movq (%[e]), %%rcx\n\t"
		"movq 16(%[e]), %%rax\n\t"
		"cmpq %%rax, (%%rcx)\n\t"
		"jne %l[aborted]\n\t"
		"movq 8(%[e]), %%rdi\n\t"
		"movq 32(%[e]), %%rax\n\t"
		"movq %%rax, (%%rdi)\n\t"
		"movq 40(%[e]), %%rax\n\t"
		"movq %%rax, 8(%%rdi)\n\t"
		"movq 48(%[e]), %%rax\n\t"
		"movq %%rax, 16(%%rdi)\n\t"
		"movq 56(%[e]), %%rax\n\t"
		"movq %%rax, 24(%%rdi)\n\t"
		"movq 24(%[e]), %%rdx\n\t"
		AT_CS_HOOK
		"movq %%rdx, (%%rcx)\n"
		AT_CS_END
		:
		: AT_CS_OPERANDS(r), [e] "r"(e)
		: "rax", "rcx", "rdx", "rdi", "memory", "cc"
		: aborted, stale);
	return AT_CS_DONE;
aborted:
	return AT_CS_ABORTED;
stale:
	return AT_CS_STALE;
}

static inline enum at_cs_result at_cs_drop(const struct at_ring *r)
{
	__asm__ goto volatile(
		AT_CS_CHECK
		AT_CS_HOOK
		"incq 8(%[line])\n"
		AT_CS_END
		:
		: AT_CS_OPERANDS(r), [line] "r"(r->line)
		: "rax", "memory", "cc"
		: aborted, stale);
	return AT_CS_DONE;
aborted:
	return AT_CS_ABORTED;
stale:
	return AT_CS_STALE;
}

#endif /* AT_RSEQ_X86_64_H */
