/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The critical sections: restartable sequences on one CPU's ring
 *
 * If a thread is preempted, migrated or interrupted by a signal inside a section, the kernel
 * moves it to the section's abort label. So unless a section is aborted, no other thread runs on
 * its CPU in user space between the check of the CPU and the last instruction. The last
 * instruction is the store that publishes. All earlier stores are to words that no reader uses
 * yet.
 *
 * Each architecture defines
 *
 *	AT_CS_PUT()	writes a record whose words are in registers (x86-64:
 *			write_x86_64.S)
 *	at_cs_put()	writes any record
 *	at_cs_bind()	binds the thread to the ring of its CPU, for those two
 *	at_cs_enter()	writes the header of the next sub-buffer
 *	at_cs_drop()	counts one dropped record
 *	at_counter()	reads the machine's counter
 *
 * The C library registers the struct rseq of each thread. The library must not register its own,
 * because the kernel allows one per thread.
 */
#ifndef AT_RSEQ_H
#define AT_RSEQ_H

#include "destination.h"
#include "internal.h"

enum at_cs_result {
	AT_CS_DONE,
	AT_CS_ABORTED,	/* try again; the thread may now be on another CPU */
	AT_CS_STALE,	/* the gate has changed: the record belongs to no run */
	AT_CS_FULL,	/* the record does not fit into the sub-buffer */
};

/* Offsets of the used words of struct rseq. They are part of the kernel's ABI. */
#define AT_RSEQ_CPU_START	0
#define AT_RSEQ_CPU		4
#define AT_RSEQ_CS		8

/**
 * struct at_ring - one CPU's ring, and the run that a writer belongs to
 * @line: the ring's header line
 * @data: the ring's words
 * @cpu: the ring's CPU
 * @gate: the gate value under which these fields and the record are valid
 * @sub_mask: words of a sub-buffer - 1
 * @ring_mask: words of the ring - 1
 * @now: address of the word that contains the present gate value
 * @thread: the thread's binding
 */
struct at_ring {
	uint64_t *line;
	uint64_t *data;
	uint32_t cpu;
	uint32_t gate;
	uint32_t sub_mask;
	uint32_t ring_mask;
	const uint32_t *now;
	struct at_thread *thread;
};

/* Operands of at_cs_put(). They are in memory, because there are not enough registers. */
struct at_put {
	const struct at_piece *pieces;
	const struct at_piece *end;
	uint64_t words;
	uint64_t stamp;		/* offset of the stamp in the record, bytes */
};

/* Operands of at_cs_enter(). */
struct at_enter {
	uint64_t *line;
	uint64_t *to;		/* address of the new header */
	uint64_t old;		/* position before the sub-buffer is entered */
	uint64_t pos;		/* position after the sub-buffer is entered */
	uint64_t head[ASYNCTRACE_SUBBUF_WORDS];
};

#ifdef AT_TEST_HOOKS
/*
 * Number of loops that each critical section waits before its last instruction. Sections that
 * write records on x86-64 also wait after their check of the gate, for at_race_delay_early. The
 * waiting ends when the variable becomes 0.
 */
extern uint64_t at_race_delay __attribute__((visibility("hidden")));
extern uint64_t at_race_delay_early __attribute__((visibility("hidden")));
#endif

/* The offsets that assembly uses. */
_Static_assert(offsetof(struct asynctrace_control, gate) == 0, "asm");
_Static_assert(offsetof(struct at_thread, gate) == 0, "asm");
_Static_assert(offsetof(struct at_thread, cpu) == 4, "asm");
_Static_assert(offsetof(struct at_thread, slot) == 8, "asm");
_Static_assert(offsetof(struct at_thread, sub_mask) == 12, "asm");
_Static_assert(offsetof(struct at_thread, ring_mask) == 16, "asm");
_Static_assert(offsetof(struct at_thread, line) == 24, "asm");
_Static_assert(offsetof(struct at_thread, data) == 32, "asm");
_Static_assert(offsetof(struct at_thread, rseq) == 40, "asm");
_Static_assert(offsetof(struct at_ring, line) == 0, "asm");
_Static_assert(offsetof(struct at_ring, data) == 8, "asm");
_Static_assert(offsetof(struct at_ring, gate) == 20, "asm");
_Static_assert(offsetof(struct at_ring, sub_mask) == 24, "asm");
_Static_assert(offsetof(struct at_ring, ring_mask) == 28, "asm");
_Static_assert(offsetof(struct at_put, pieces) == 0, "asm");
_Static_assert(offsetof(struct at_put, end) == 8, "asm");
_Static_assert(offsetof(struct at_put, words) == 16, "asm");
_Static_assert(offsetof(struct at_put, stamp) == 24, "asm");
_Static_assert(offsetof(struct at_enter, line) == 0, "asm");
_Static_assert(offsetof(struct at_enter, to) == 8, "asm");
_Static_assert(offsetof(struct at_enter, old) == 16, "asm");
_Static_assert(offsetof(struct at_enter, pos) == 24, "asm");
_Static_assert(offsetof(struct at_enter, head) == 32, "asm");
_Static_assert(ASYNCTRACE_POS_BITS == 48, "asm");

static inline char *at_rseq_area(void)
{
	return (char *)__builtin_thread_pointer() + at_hot.rseq;
}

static inline uint32_t at_rseq_cpu_start(void)
{
	return *(volatile uint32_t *)(at_rseq_area() + AT_RSEQ_CPU_START);
}

/*
 * Returns the CPU that the thread runs on. It is negative while the thread has no registered
 * struct rseq.
 */
static inline int32_t at_rseq_cpu(void)
{
	return *(volatile int32_t *)(at_rseq_area() + AT_RSEQ_CPU);
}

#if defined(__x86_64__)
#include "rseq_x86_64.h"
#elif defined(__aarch64__)
#include "rseq_aarch64.h"
#else
#error "asynctrace knows x86-64 and arm64 only"
#endif

#endif /* AT_RSEQ_H */
