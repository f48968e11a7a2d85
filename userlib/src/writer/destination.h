/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where a record is written to: the rings of one back end, and the calling thread's binding to them
 *
 * Normally there is one destination, which at_gate_ and at_hot describe. Beside a session of the
 * module, an in-process trace has rings of its own, and each record goes to both: see beside.h.
 */
#ifndef AT_DESTINATION_H
#define AT_DESTINATION_H

#include "internal.h"

#pragma GCC visibility push(hidden)

/**
 * struct at_fallback - the part of a fallback ring's state that is outside of the ring's memory
 * @lock: 1 while a thread writes
 * @users: number of threads that may store: from before their check of the gate until after their
 *	last store
 * @collisions: number of records dropped because the lock was held, either by another thread, or by
 *	the code that the calling signal handler had interrupted
 */
struct at_fallback {
	uint32_t lock;
	uint32_t users;
	uint32_t collisions;
};

/**
 * struct at_destination - rings of one back end, as the calling thread sees them
 * @control: the first page of the control area
 * @area: the whole control area
 * @rw: the read-write area
 * @gate: the gate's word, which also begins the control page
 * @thread: the thread's slot and path, and its binding to the ring of a CPU
 * @fallback: state of the fallback ring
 */
struct at_destination {
	const volatile struct asynctrace_control *control;
	const char *area;
	char *rw;
	const uint32_t *gate;
	struct at_thread *thread;
	struct at_fallback *fallback;
};

extern struct at_fallback at_fallback_module, at_fallback_inprocess;

/* The destination that at_gate_ and at_hot describe. Valid while the gate does not change. */
static inline struct at_destination at_destination_present(void)
{
	return (struct at_destination){
		.control = at_control(), .area = at_control_area(), .rw = at_rw(),
		.gate = &at_gate_.gate, .thread = &at_thread,
		.fallback = __atomic_load_n(&at_hot.fallback, __ATOMIC_RELAXED),
	};
}

/* Is the destination's gate still @gate? The fence orders all earlier loads before this check. */
static inline bool at_destination_still(const struct at_destination *d, uint32_t gate)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(d->gate, __ATOMIC_RELAXED) == gate;
}

/* Do the format and this run's sub-buffers allow a record of this many words? */
static inline bool at_record_fits(const volatile struct asynctrace_control *c, unsigned int words)
{
	return words <= ASYNCTRACE_FXT_WORDS_MAX &&
	       words + ASYNCTRACE_SUBBUF_WORDS - 1 <= c->sub_mask;
}

/*
 * Writes a record into the ring of the thread's CPU or into the fallback ring, or counts it as
 * dropped. The thread must have learned its slot and path. Returns false if the gate has changed.
 * Then the record is neither written nor counted.
 */
bool at_destination_write(const struct at_destination *d, uint32_t gate,
			  const struct at_record *rec);
/* Counts a dropped record. Returns false and changes nothing if the gate has changed. */
bool at_destination_drop(const struct at_destination *d, uint32_t gate);
/* Each returns false and changes nothing if the gate has changed. */
bool at_fallback_put(const struct at_destination *d, uint32_t gate, const struct at_record *rec);
bool at_fallback_count(const struct at_destination *d, uint32_t gate, uint32_t n);

#pragma GCC visibility pop

#endif /* AT_DESTINATION_H */
