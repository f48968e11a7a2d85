/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libasynctrace: what its files share
 */
#ifndef AT_INTERNAL_H
#define AT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <asynctrace/detail/event.h>
#include <asynctrace/provider.h>

#pragma GCC visibility push(hidden)

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#define AT_COLD		__attribute__((cold, noinline))
#define AT_PUBLIC	__attribute__((visibility("default")))

/* --- state of the process ------------------------------------------------------ */

/**
 * struct at_hot - where the rings of the present back end are
 * @rw: the read-write area
 * @control: the whole control area; its first page also lies at at_gate_
 * @rseq: offset of the C library's struct rseq from the thread pointer; 0: none
 * @epoch: changes with every registration and with every start of a trace of
 *	the process itself: what threads and names learned from one is void
 *
 * Set while the gate is closed. Who read the gate before and after reading
 * this, and found it open both times and the same, has what belongs together.
 * What @rw ever pointed at stays mapped, if only as empty memory: a thread may
 * look there late.
 */
struct at_hot {
	char *rw;
	const char *control;
	ptrdiff_t rseq;
	uint32_t epoch;
};

extern struct at_hot at_hot;

static inline char *at_rw(void)
{
	return __atomic_load_n(&at_hot.rw, __ATOMIC_RELAXED);
}

static inline const char *at_control_area(void)
{
	return __atomic_load_n(&at_hot.control, __ATOMIC_RELAXED);
}

static inline uint32_t at_epoch(void)
{
	return __atomic_load_n(&at_hot.epoch, __ATOMIC_ACQUIRE);
}

/*
 * The CPU of a thread that is bound to no ring. The cpu_id of a struct rseq is a CPU's
 * number, -1 (RSEQ_CPU_ID_UNINITIALIZED) or -2 (RSEQ_CPU_ID_REGISTRATION_FAILED): a
 * critical section that compares the two never takes an invalid binding for a valid one.
 */
#define AT_NO_CPU	(-0x7fffffff - 1)

/**
 * struct at_thread - what a thread learned
 * @gate: the gate value under which it was found fit for the rings of CPUs
 * @cpu: the CPU whose ring @line and @data are, or AT_NO_CPU
 * @slot: its number in records
 * @sub_mask: as the control page said under @gate
 * @ring_mask: likewise
 * @epoch: the epoch in which @slot and @path are valid
 * @line: the ring's header line
 * @data: the ring's words
 * @rseq: the thread's struct rseq
 * @path: enum at_path
 * @reason: enum at_reason
 * @raw_clock: the vDSO reads a counter that it may not read
 * @in_fallback: the thread is writing into the fallback ring, perhaps below a handler
 *
 * From @gate to @data all is changed by at_cs_bind() only, and used in critical
 * sections only: a signal handler may do the same at any moment.
 */
struct at_thread {
	uint32_t gate;
	uint32_t cpu;
	uint32_t slot;
	uint32_t sub_mask;
	uint32_t ring_mask;
	uint32_t epoch;
	uint64_t *line;
	uint64_t *data;
	char *rseq;
	uint8_t path;
	uint8_t reason;
	bool raw_clock;
	bool in_fallback;
};

extern __thread struct at_thread at_thread __attribute__((tls_model("initial-exec")));

static inline const volatile struct asynctrace_control *at_control(void)
{
	return (const volatile struct asynctrace_control *)&at_gate_;
}

/* id.c: the salt of the process, drawn at random unless it has one; 1..2^20 - 1 */
uint32_t at_salt(void);

static inline uint32_t at_gate_now(void)
{
	return __atomic_load_n(&at_gate_.gate, __ATOMIC_ACQUIRE);
}

/* All loads above are done before the gate is looked at once more. */
static inline bool at_gate_still(uint32_t gate)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return at_gate_load_() == gate;
}

/* --- gate.c ------------------------------------------------------------------------ */

/* at_gate_ of this copy of the library, not subject to symbol interposition. */
extern union at_gate_ at_gate_own;

size_t at_page_size(void);
/* As mmap(2). Thread sanitizers take that for a store to all of it. */
void *at_mmap(void *addr, size_t bytes, int prot, int flags, int fd, off_t offset);
/* Under the lock, before a control page is mapped over the gate: is that possible? */
int at_gate_prepare(void);
/* Maps the first page of the control area at the start of @fd over the gate. */
int at_gate_map(int fd);
/*
 * Under the lock: puts a private page with this value there, in one step. -ENOMEM: the
 * gate shows what it showed before. -EBUSY: it is another copy's, see loaded.c.
 */
int at_gate_reset(uint32_t value);
/* Replaces the memory at @addr by empty, private memory. False: impossible. */
bool at_void_map(void *addr, size_t bytes);

/* --- loaded.c ------------------------------------------------------------------------ */

/* The first thing that the library does, before main() or in dlopen(3). */
void at_library_loaded(void);
/*
 * True if the dynamic linker gave this copy of the library the gate of another one, but
 * not its functions: then this copy records nothing.
 */
bool at_library_mixed(void);

/* --- lock.c: the back end's lock ------------------------------------------------------ */

/*
 * The holder may change at_hot, the gate and the registration. While a thread holds
 * the lock, it takes no signal and cannot be cancelled. Async-signal-safe, but for
 * at_backend_lock(), which waits without limit.
 */
bool at_backend_trylock(void);
void at_backend_lock(void);
void at_backend_unlock(void);
/* As at_backend_unlock(), but leaves missed records to the caller. */
void at_backend_release(void);
/*
 * Sleeps until the lock is free. False: its holder has been waited for too long, or is
 * the calling thread.
 */
bool at_backend_wait(void);
/* Blocks all signals but those that the kernel forces on a thread. */
void at_signals_block(uint64_t *old);
void at_signals_restore(const uint64_t *old);
/* The salt of this process, 0: none yet. In memory that a forked child finds cleared. */
uint32_t *at_salt_word(void);
/* In a forked child, while it has one thread: frees all locks, and forgets the salt. */
void at_backend_forked(void);

/* --- missed.c: records that did not wait for the registration --------------------------- */

/* Counts one missed record. NULL: its category is known to be recorded. */
void at_missed_add(const char *category);
/* Counts missed records as dropped, as soon as the process is registered. */
void at_missed_settle(void);
void at_missed_forget(void);

/* --- backend.c ------------------------------------------------------------------------ */

/* Under the lock, the gate closed: from here on the rings are there. */
void at_backend_set(enum at_backend backend, char *rw, const char *control);
enum at_backend at_backend(void);
void at_backend_why(enum at_reason reason, int error);
const char *at_default_name(void);

/* --- provider.c --------------------------------------------------------------------- */

/*
 * The gate was found at ATTACH: registers, or waits for the thread that does. Returns
 * the gate after that; ATTACH: the other thread took too long. Async-signal-safe.
 */
uint32_t at_attach(void);
/* Gives the calling thread a slot: > 0, or a negative errno. */
int at_module_slot(void);
/* Under the lock: shows the module's gate again, if the process is registered. */
int at_module_resume(void);
/* Under the lock: lets go of the registration that a forked child inherited. */
void at_module_forked(void);
/* Returns true if registering anew split the run of @gate, and @run is its second half. */
bool at_module_cut(uint32_t gate, uint32_t run);

/* --- site.c -------------------------------------------------------------------------- */

/* Does the run want this category? Valid if the gate is still the same afterwards. */
bool at_category_wanted(const char *category);
/*
 * The gate as it is now, if it belongs to the run of @gate, or to the run that follows
 * because the process registered anew (*@cut is set then). OFF: another run, or none.
 * ATTACH: the registration takes too long.
 */
uint32_t at_gate_same_run(uint32_t gate, bool *cut);

/* --- inprocess/slots.c --------------------------------------------------------------- */

int at_inproc_slot(void);

/* --- inprocess/trace.c --------------------------------------------------------------- */

/* Starts what ASYNCTRACE_OUT asks for. */
void at_trace_from_environment(void);

/* --- thread.c ------------------------------------------------------------------------ */

/* Where the C library keeps its struct rseq. */
void at_rseq_init(void);
/* Finds out what the calling thread may do; false: the gate has moved on. */
bool at_thread_learn(uint32_t gate);
/* The present in the clock of the run; only where the path is not NONE. */
uint64_t at_clock(uint64_t boottime_offset, uint32_t clock);

/* --- names.c ------------------------------------------------------------------------- */

/* Makes the names of @site known: 0, or a negative errno: write them inline. */
int at_site_names(struct at_site_ *site);
bool at_site_names_known(const struct at_site_ *site);
void at_names_count(uint32_t *names, uint32_t *refused);
void at_names_forked(void);

/* --- write.c, args.c, fallback.c --------------------------------------------------------------- */

/* A run of words of a record, anywhere in memory; not empty. */
struct at_piece {
	const void *from;
	uint64_t words;
};

/**
 * struct at_record - a record to be written
 * @pieces: its words in order, the first piece has at least three
 * @npieces: of them
 * @words: all of them together
 * @stamp: index of the word that is to be the moment of publishing
 * @slot: where in the first piece the thread's slot goes
 */
struct at_record {
	const struct at_piece *pieces;
	unsigned int npieces;
	unsigned int words;
	unsigned int stamp;
	uint64_t *slot;
};

/* The common case of any record; it falls back on at_write_record(). */
void at_write_pieces(uint32_t gate, const struct at_record *rec);
void at_write_record(uint32_t gate, const struct at_record *rec);
void at_write_slowly(uint32_t gate, uint64_t w0, uint64_t a, uint64_t b, uint64_t c,
		     unsigned int n_and_stamp);
void at_write_n_slowly(uint32_t gate, uint64_t *w, unsigned int n, unsigned int stamp);
/* Cuts texts that are too long. @duration: the stamp is the last word. */
void at_write_texts_slowly(uint32_t gate, uint64_t *w, unsigned int n,
			   const struct at_text_ *texts, unsigned int ntexts, int duration);
/* These return false and change nothing if the gate has changed. */
bool at_fallback_write(uint32_t gate, const struct at_record *rec);
bool at_fallback_drop(uint32_t gate);
bool at_fallback_drop_many(uint32_t gate, uint32_t n);
/* Waits until nobody is in there any more; the gate is closed. False: gave up. */
bool at_fallback_quiesce(void);
void at_fallback_forked(void);
/* Dropped records so far, of all runs, for which the ring was not full but in use. */
uint32_t at_fallback_meetings(void);

/* --- text.c ---------------------------------------------------------------------------- */

/* The longest beginning of @s within @room bytes that does not split a character. */
size_t at_text_cut(const char *s, size_t bytes, size_t room);

#pragma GCC visibility pop

#endif /* AT_INTERNAL_H */
