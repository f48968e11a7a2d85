/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Internal interfaces of the files in writer/ and inprocess/ */
#ifndef AT_INTERNAL_H
#define AT_INTERNAL_H

#include <pthread.h>
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

/* --- state of the process ------------------------------------------------ */

/**
 * struct at_hot - addresses of the rings of the present back end
 * @rw: the read-write area
 * @control: the whole control area; its first page is also mapped at at_gate_
 * @rseq: offset of the C library's struct rseq from the thread pointer; 0: none
 * @epoch: changes with each registration and each start of an in-process trace; threads and names
 *	must be learned again
 * @fallback: state of the fallback ring
 *
 * Changes only while the gate is closed. A reader that finds the gate open and the same before
 * and after reading has a consistent copy. Memory that @rw ever pointed to stays mapped, possibly
 * as empty memory, because a thread may use an old address late.
 */
struct at_hot {
	char *rw;
	const char *control;
	ptrdiff_t rseq;
	uint32_t epoch;
	struct at_fallback *fallback;
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
 * CPU number of a thread that is bound to no ring. The kernel's cpu_id is a CPU number, -1
 * (RSEQ_CPU_ID_UNINITIALIZED) or -2 (RSEQ_CPU_ID_REGISTRATION_FAILED). So a critical section that
 * compares it with this value never accepts an invalid binding.
 */
#define AT_NO_CPU	(-0x7fffffff - 1)

/**
 * struct at_thread - state of the calling thread
 * @gate: the gate value under which the thread may use the rings of CPUs
 * @cpu: the CPU that @line and @data belong to, or AT_NO_CPU
 * @slot: its slot number, which its records carry
 * @sub_mask: copy of the control page's field, valid under @gate
 * @ring_mask: copy of the control page's field, valid under @gate
 * @epoch: the epoch in which @slot and @path are valid
 * @line: the ring's header line
 * @data: the ring's words
 * @rseq: the thread's struct rseq
 * @path: enum at_path
 * @reason: enum at_reason
 * @raw_clock: clock_gettime(2) must not use the vDSO, which reads a forbidden counter
 * @in_fallback: the thread, or code that its signal handler has interrupted, is writing into the
 *	fallback ring
 *
 * at_cs_bind() binds the thread to a ring: it sets @gate, @cpu, @sub_mask, @ring_mask, @line and
 * @data. A signal handler may do so at any moment, so only critical sections use these fields.
 * learn_slot() in thread.c sets @epoch, @slot, @path and @reason, and ends a binding.
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

/* --- salt.c --------------------------------------------------------------- */

/* Returns the salt of this process's ids, 1..2^20 - 1. The first call draws it at random. */
uint32_t at_salt(void);
/*
 * Returns the address of this process's salt; the salt is 0 if there is none. A forked child
 * finds this memory cleared.
 */
uint32_t *at_salt_word(void);
/* Clears the salt. For a forked child that still has one thread. */
void at_salt_forget(void);


/*
 * In-process traces have gates from AT_GENERATION_FIRST on; those that run beside a session of the
 * module, from AT_GENERATION_BESIDE on. The module's gates are smaller. The three kinds must
 * differ, because a site remembers the gate under which it learned its state.
 */
#define AT_GENERATION_FIRST	0xc0000000u
#define AT_GENERATION_BESIDE	0xe0000000u

static inline uint32_t at_gate_now(void)
{
	return __atomic_load_n(&at_gate_.gate, __ATOMIC_ACQUIRE);
}

/* Is the gate still @gate? The fence orders all earlier loads before this check. */
static inline bool at_gate_still(uint32_t gate)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return at_gate_load_() == gate;
}

/* --- mmap.c -------------------------------------------------------------- */

size_t at_page_size(void);
/*
 * Like mmap(2), but thread sanitizers do not intercept it. They would take it for a store to the
 * whole range.
 */
void *at_mmap(void *addr, size_t bytes, int prot, int flags, int fd, off_t offset);
/* Replaces the memory at @addr by empty, private memory. Returns false if that fails. */
bool at_void_map(void *addr, size_t bytes);
/* Replaces the page at @page by a private page that begins with this value, in one step. */
bool at_page_replace(void *page, uint32_t value);

/* --- gate.c -------------------------------------------------------------- */

/* The at_gate_ of this copy of the library, not subject to symbol interposition. */
extern union at_gate_ at_gate_own;

/*
 * May a control page be mapped over the gate? Returns 0, -ENOTSUP or -EBUSY. Call it with the
 * back end's lock held, before the mapping.
 */
int at_gate_prepare(void);
/* Maps the first page of the control area, at the start of @fd, over the gate. */
int at_gate_map(int fd);
/*
 * Replaces the gate's page by a private page with this value, in one step. The caller holds the
 * back end's lock. Returns -ENOMEM if the gate is unchanged, and -EBUSY if the gate is another
 * copy's (see load.c).
 */
int at_gate_reset(uint32_t value);

/*
 * Returns true if the dynamic linker gave this copy of the library the gate of another copy, but
 * not its functions. A plug-in has such a copy if it is linked with -Bsymbolic-functions and the
 * program exports its symbols. This copy records nothing.
 */
bool at_library_mixed(void);

/* --- load.c -------------------------------------------------------------- */

/* Runs before all other functions of the library: before main() or in dlopen(3). */
void at_library_loaded(void);

/* --- signals.c ----------------------------------------------------------- */

/* Blocks all signals except those that the kernel forces on a thread and those of the C library. */
void at_signals_block(uint64_t *old);
void at_signals_restore(const uint64_t *old);

/* --- backend_lock.c: the back end's lock --------------------------------- */

/*
 * The holder may change at_hot, the gate and the registration. A thread that holds the lock takes
 * no signals and cannot be cancelled. All are async-signal-safe except at_backend_lock(), which
 * may wait for ever.
 */
bool at_backend_trylock(void);
void at_backend_lock(void);
/* Like at_backend_unlock(), but does not settle missed records. */
void at_backend_release(void);
/*
 * Sleeps until the lock is free. Returns false if the holder has made no step for too long, or if
 * the calling thread is the holder.
 */
bool at_backend_wait(void);
/*
 * Does thread @tid of this process run, or wait for a CPU or a lock of the kernel? Otherwise the
 * thread waits for an event from outside, which may never come, or it is stopped or has ended.
 * Returns false also if /proc cannot be read. Async-signal-safe.
 */
bool at_thread_is_busy(uint32_t tid);
/* The holder calls this after each step that may take long, so that other threads wait on. */
void at_backend_step(void);
/* Does a thread hold the lock now? */
bool at_backend_held(void);
/*
 * Frees the back end's lock and clears the salt. For a forked child that still has one thread. The
 * next holder of the lock frees the other locks.
 */
void at_backend_forked(void);

/* --- missed.c: records that did not wait for the registration ------------ */

/* Counts @n missed records of @category. NULL: a category that the back end's run records. */
void at_missed_count(const char *category, uint32_t n);
/* Returns true if there may be missed records that have not been settled. */
bool at_missed_pending(void);
/* Must missed records wait until the process is registered? */
bool at_missed_must_wait(void);
/* Adds missed records to the dropped records. The caller holds the back end's lock. */
void at_missed_drop(void);
/* Clears all counters, for a forked child. */
void at_missed_forget(void);

/* --- missed_settle.c ----------------------------------------------------- */

/* Counts missed records like at_missed_count(), and settles missed records. */
void at_missed_add(const char *category, uint32_t n);
/*
 * Counts missed records as dropped, unless the process has still to register or another thread
 * holds the back end's lock. at_backend_unlock() tries again.
 */
void at_missed_settle(void);
/* Releases the back end's lock, and settles missed records. */
void at_backend_unlock(void);

/* --- backend.c ----------------------------------------------------------- */

/* Publishes the rings of a back end. The caller holds the lock, and the gate is closed. */
void at_backend_set(enum at_backend backend, char *rw, const char *control);
enum at_backend at_backend(void);
void at_backend_why(enum at_reason reason, int error);
/* Returns the last reason, and its error in *@error. */
enum at_reason at_backend_reason(int *error);
/* Finds the offset of the C library's struct rseq. */
void at_rseq_init(void);
const char *at_default_name(void);

/* --- registration.c ------------------------------------------------------ */

/* Drops the registration that a forked child inherited. The caller holds the lock. */
void at_module_forked(void);
/*
 * Did the process register again during the run of @gate, and did @run begin with the new
 * registration?
 */
bool at_module_cut(uint32_t gate, uint32_t run);

/* --- provider.c ---------------------------------------------------------- */

/*
 * Registers the process, or starts the trace of a forked child (child_trace.h), or waits for the
 * thread that does. To be called if the gate is at ATTACH. Returns the new gate; ATTACH: the other
 * thread took too long. Async-signal-safe.
 */
uint32_t at_attach(void);
/* Registers the process if the gate is at ATTACH. For the start of a trace. */
void at_module_join(void);
/*
 * Gives the calling thread a slot. Returns the slot, > 0, or a negative errno. *@cell: where the
 * kernel reads the thread's operation, or NULL.
 */
int at_module_slot(uint64_t **cell);
/* Shows the module's gate again, if the process is registered. The caller holds the lock. */
int at_module_resume(void);
/*
 * Like at_attach(), for beside mode: the module's gate is at ATTACH. Returns false if the thread
 * that registers takes too long.
 */
bool at_module_attach(void);

/* --- patterns.c ---------------------------------------------------------- */

/* Does the run record this category? The answer is valid if the gate is unchanged afterwards. */
bool at_category_wanted(const char *category);
/*
 * Like at_category_wanted(), for a run that at_gate_ does not show. @control, @area: the control
 * page and the control area of that run
 */
bool at_category_wanted_by(const volatile struct asynctrace_control *control, const char *area,
			   const char *category);

/* --- inprocess_slots.c: slots of in-process traces ----------------------- */

struct asynctrace_thread;

void at_slots_forked(void);
int at_slots_init(void);
/* Gives the calling thread a slot. Returns the slot, > 0, or a negative errno. */
int at_inproc_slot(void);
/* Fills @t from slot @slot. Returns false if the slot is not ready (yet). */
bool at_slots_get(uint32_t slot, struct asynctrace_thread *t);
uint32_t at_slots_last(void);

/* --- site.c -------------------------------------------------------------- */

/*
 * Returns the present gate if it belongs to the run of @gate. Sets *@cut if the process
 * registered again during that run. OFF: another run, or none. ATTACH: the registration takes too
 * long.
 */
uint32_t at_gate_same_run(uint32_t gate, bool *cut);

/* --- inprocess/environment.c --------------------------------------------- */

/* Starts the in-process trace that the variable ASYNCTRACE_OUT asks for. */
void at_trace_from_environment(void);

/* --- thread.c ------------------------------------------------------------ */

/*
 * Decides how the calling thread writes records, enum at_path, and gets a slot for it. Returns
 * false if the gate has changed.
 */
bool at_thread_learn(uint32_t gate);

/* --- library_thread.c ---------------------------------------------------- */

/* Creates a thread of the library. Returns 0 or a positive errno. */
int at_library_thread(pthread_t *thread, void *(*fn)(void *arg), void *arg);

/* --- clock.c ------------------------------------------------------------- */

/*
 * Does PR_SET_TSC forbid the calling thread to read the counter? Reading would then be fatal. This
 * is a system call. A signal handler may call the function; it keeps errno.
 */
bool at_counter_forbidden(void);
/* Like at_counter_forbidden(), and remembers the answer for at_counter_known_forbidden(). */
bool at_counter_learn(void);
/*
 * Returns the last answer of at_counter_learn() in this thread, and calls it if there is none. If
 * the thread has called prctl(2) since, the answer is out of date.
 */
bool at_counter_known_forbidden(void);
/* Reads the run's clock. Must not be called if the thread's path is NONE. */
uint64_t at_clock(uint64_t boottime_offset, uint32_t clock);

/* --- names.c ------------------------------------------------------------- */

/*
 * Interns the names of @site. Returns 0; or a negative errno: the record must carry the names
 * inline.
 */
int at_site_names(struct at_site_ *site);
bool at_site_names_known(const struct at_site_ *site);
void at_names_count(uint32_t *names, uint32_t *refused);
void at_names_forked(void);

/* --- write.c, write_event_with_text.c, fallback.c ------------------------ */

/* Consecutive words of a record, anywhere in memory. Not empty. */
struct at_piece {
	const void *from;
	uint64_t words;
};

/**
 * struct at_record - a record to be written
 * @pieces: its words in order; the first piece has at least three words
 * @npieces: number of pieces
 * @words: number of words in all pieces
 * @stamp: index of the word that gets the time of publishing
 * @slot: address of the word in the first piece that gets the thread's slot. Before the first
 *	attempt to write the record, the word is the mode of the record's site: see beside.h
 */
struct at_record {
	const struct at_piece *pieces;
	unsigned int npieces;
	unsigned int words;
	unsigned int stamp;
	uint64_t *slot;
};

/* Fast path for any record. Calls at_write_record() if it cannot write the record. */
void at_write_pieces(uint32_t gate, const struct at_record *rec);
void at_write_record(uint32_t gate, const struct at_record *rec);
void at_write_slowly(uint32_t gate, uint64_t w0, uint64_t a, uint64_t b, uint64_t c,
		     unsigned int n_and_stamp);
void at_write_n_slowly(uint32_t gate, uint64_t *w, unsigned int n, unsigned int stamp);
/* Cuts texts that are too long. @duration: the stamp is the last word. */
void at_write_texts_slowly(uint32_t gate, uint64_t *w, unsigned int n,
			   const struct at_text_ *texts, unsigned int ntexts, int duration);
/*
 * Like at_write_args_(), but cuts category and name to @name_max bytes. How much of a longer name
 * has room depends on the arguments.
 */
void at_write_names(uint32_t gate, const struct at_site_ *site, int mode, unsigned int kind,
		    uint64_t word, const struct at_arg_ *args, unsigned int nargs,
		    size_t name_max);
/* Each returns false and changes nothing if the gate has changed. */
bool at_fallback_drop(uint32_t gate);
bool at_fallback_drop_many(uint32_t gate, uint32_t n);
/*
 * Waits until no thread is writing into the fallback ring. The gate must be closed. Returns false
 * on timeout.
 */
bool at_fallback_quiesce(void);
void at_fallback_forked(void);
/*
 * Returns the number of records dropped because the fallback ring was locked, not full, in all
 * runs so far.
 */
uint32_t at_fallback_collisions(void);

/* --- wait_for_writers.c -------------------------------------------------- */

/*
 * Registers for membarrier(2), which aborts critical sections of other threads. Returns false if
 * that is not available.
 */
bool at_membarrier_init(void);
/* Waits until no writer is in the rings. The gate must be closed. Returns false on failure. */
bool at_writers_quiesce(void);

/* --- cut_text.c ---------------------------------------------------------- */

/*
 * Returns the length of the longest beginning of @s, at most @room bytes, that does not split a
 * character.
 */
size_t at_text_cut(const char *s, size_t bytes, size_t room);

#pragma GCC visibility pop

#endif /* AT_INTERNAL_H */
