/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Critical sections of arm64. A store-release publishes a record. A load barrier (dmb ishld)
 * precedes the check of the gate, because all earlier loads must belong to the run that the gate
 * shows. rseq.h asserts the offsets.
 */
#ifndef AT_RSEQ_AARCH64_H
#define AT_RSEQ_AARCH64_H

static inline uint64_t at_counter(void)
{
	uint64_t t;

	/* Without isb, the processor may read the counter early. */
	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(t) : : "memory");
	return t;
}

static inline void at_counter_fence(void)
{
	/* Empty: the isb in at_counter() has this effect. */
}

/* Tells the processor that the thread waits for another one. */
static inline void at_pause(void)
{
	/* isb waits some tens of cycles; yield does nothing on most processors. */
	__asm__ volatile("isb" : : : "memory");
}

#ifdef AT_TEST_HOOKS
#define AT_CS_HOOK \
	"adrp x13, at_race_delay\n\t" \
	"ldr x13, [x13, :lo12:at_race_delay]\n\t" \
	"cbz x13, 9f\n" \
	"8:\n\t" \
	"subs x13, x13, #1\n\t" \
	"b.eq 9f\n\t" \
	"adrp x9, at_race_delay\n\t" \
	"ldr x9, [x9, :lo12:at_race_delay]\n\t" \
	"cbnz x9, 8b\n" \
	"9:\n\t"
#else
#define AT_CS_HOOK
#endif

/* Arms the section from label 1 to label 2, with the abort handler at label 4. */
#define AT_CS_ARM(rseq) \
	".pushsection __rseq_cs, \"aw\"\n\t" \
	".balign 32\n" \
	"7:\n\t" \
	".long 0, 0\n\t" \
	".quad 1f, 2f - 1f, 4f\n\t" \
	".popsection\n\t" \
	"adrp x9, 7b\n\t" \
	"add x9, x9, :lo12:7b\n\t" \
	"str x9, [" rseq ", #8]\n" \
	"1:\n\t"

/*
 * Must follow the store that publishes. The kernel checks the signature, which is the 4 bytes
 * before the abort handler. The signature is a brk instruction.
 */
#define AT_CS_END \
	"2:\n\t" \
	".pushsection __rseq_failure, \"ax\"\n\t" \
	".inst 0xd428bc00\n" \
	"4:\n\t" \
	"b %l[aborted]\n\t" \
	".popsection\n\t"

/*
 * Begins a section that writes a record; see rseq_x86_64.h. n = operand: number of the record's
 * words. Out: x14 = header line, x11 = position, x10 = address of the record.
 */
#define AT_CS_PLACE(n) \
	"ldr x10, [%[t], #40]\n\t" \
	AT_CS_ARM("x10") \
	"ldr w9, [x10, #4]\n\t" \
	"ldr w12, [%[t], #4]\n\t" \
	"cmp w9, w12\n\t" \
	"b.ne %l[aborted]\n\t" \
	"dmb ishld\n\t" \
	"ldr w9, [%[now]]\n\t" \
	"cmp w9, %w[gate]\n\t" \
	"b.ne %l[stale]\n\t" \
	"ldp x14, x15, [%[t], #24]\n\t" \
	"ldp w9, w12, [%[t], #12]\n\t" \
	"ldr x11, [x14]\n\t" \
	"sub w13, w11, #1\n\t" \
	"add w10, w13, " n "\n\t" \
	"eor w10, w10, w13\n\t" \
	"cmp w10, w9\n\t" \
	"b.hi %l[full]\n\t" \
	"and w12, w11, w12\n\t" \
	"add x10, x15, x12, lsl #3\n\t"

#define AT_CS_STORE(i) "str %[w" #i "], [x10, #8*" #i "]\n\t"

/*
 * Writes a record of n words from registers. stores: AT_CS_STORE of each word that is an operand.
 * The slot goes into word 2, the counter into word stamp. Falls through when the record is
 * written; otherwise jumps to aborted, stale or full.
 */
#define AT_CS_PUT(g, n, stamp, stores, ...) \
	__asm__ goto volatile( \
		AT_CS_PLACE("#" #n) \
		stores \
		"ldr w9, [%[t], #8]\n\t" \
		"str x9, [x10, #16]\n\t" \
		"isb\n\t" \
		"mrs x9, cntvct_el0\n\t" \
		"str x9, [x10, #8*" #stamp "]\n\t" \
		AT_CS_HOOK \
		"mov x9, #" #n "\n\t" \
		"movk x9, #1, lsl #48\n\t" \
		"add x11, x11, x9\n\t" \
		"stlr x11, [x14]\n" \
		AT_CS_END \
		: \
		: [t] "r"(&at_thread), [gate] "r"(g), [now] "r"(&at_gate_.gate), __VA_ARGS__ \
		: "x9", "x10", "x11", "x12", "x13", "x14", "x15", "memory", "cc" \
		: aborted, stale, full)

static inline enum at_cs_result at_cs_put(struct at_thread *t, const uint32_t *now, uint32_t gate,
					  const struct at_put *put)
{
	__asm__ goto volatile(
		"ldr x16, [%[put], #16]\n\t"
		AT_CS_PLACE("w16")
		"mov x15, x10\n\t"
		"ldp x12, x17, [%[put]]\n"
		"5:\n\t"
		"ldp x13, x9, [x12], #16\n"
		"6:\n\t"
		"ldr x6, [x13], #8\n\t"
		"str x6, [x15], #8\n\t"
		"subs x9, x9, #1\n\t"
		"b.ne 6b\n\t"
		"cmp x12, x17\n\t"
		"b.lo 5b\n\t"
		"ldr x12, [%[put], #24]\n\t"
		"isb\n\t"
		"mrs x9, cntvct_el0\n\t"
		"str x9, [x10, x12]\n\t"
		AT_CS_HOOK
		"movk x16, #1, lsl #48\n\t"
		"add x11, x11, x16\n\t"
		"stlr x11, [x14]\n"
		AT_CS_END
		:
		: [t] "r"(t), [gate] "r"(gate), [now] "r"(now), [put] "r"(put)
		: "x6", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17",
		  "memory", "cc"
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
	"ldr w9, [%[rseq], #4]\n\t" \
	"cmp w9, %w[cpu]\n\t" \
	"b.ne %l[aborted]\n\t" \
	"dmb ishld\n\t" \
	"ldr w9, [%[now]]\n\t" \
	"cmp w9, %w[gate]\n\t" \
	"b.ne %l[stale]\n\t"

#define AT_CS_OPERANDS(r) \
	[rseq] "r"(at_rseq_area()), [cpu] "r"((r)->cpu), [gate] "r"((r)->gate), \
	[now] "r"((r)->now)

/* Mark the binding invalid while it is updated: no struct rseq has AT_NO_CPU. */
static inline enum at_cs_result at_cs_bind(const struct at_ring *r)
{
	__asm__ goto volatile(
		AT_CS_CHECK
		"mov w9, %w[none]\n\t"
		"str w9, [%[t], #4]\n\t"
		"str %w[gate], [%[t]]\n\t"
		"ldp w9, w10, [%[r], #24]\n\t"
		"stp w9, w10, [%[t], #12]\n\t"
		"ldp x9, x10, [%[r]]\n\t"
		"stp x9, x10, [%[t], #24]\n\t"
		AT_CS_HOOK
		"str %w[cpu], [%[t], #4]\n"
		AT_CS_END
		:
		: AT_CS_OPERANDS(r), [t] "r"(r->thread), [r] "r"(r), [none] "i"(AT_NO_CPU)
		: "x9", "x10", "x13", "memory", "cc"
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
		"ldp x14, x10, [%[e]]\n\t"
		"ldp x9, x11, [%[e], #16]\n\t"
		"ldr x12, [x14]\n\t"
		"cmp x12, x9\n\t"
		"b.ne %l[aborted]\n\t"
		/* Order the commit that filled the last sub-buffer before this header. */
		"dmb ishst\n\t"
		"ldp x9, x12, [%[e], #32]\n\t"
		"stp x9, x12, [x10]\n\t"
		"ldp x9, x12, [%[e], #48]\n\t"
		"stp x9, x12, [x10, #16]\n\t"
		AT_CS_HOOK
		"stlr x11, [x14]\n"
		AT_CS_END
		:
		: AT_CS_OPERANDS(r), [e] "r"(e)
		: "x9", "x10", "x11", "x12", "x13", "x14", "memory", "cc"
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
		"add x10, %[line], #8\n\t"
		"ldr x11, [x10]\n\t"
		"add x11, x11, #1\n\t"
		AT_CS_HOOK
		"stlr x11, [x10]\n"
		AT_CS_END
		:
		: AT_CS_OPERANDS(r), [line] "r"(r->line)
		: "x9", "x10", "x11", "x13", "memory", "cc"
		: aborted, stale);
	return AT_CS_DONE;
aborted:
	return AT_CS_ABORTED;
stale:
	return AT_CS_STALE;
}

#endif /* AT_RSEQ_AARCH64_H */
