/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * asynctrace: unique ids and probes, in C11 and C++17
 *
 *	TRACE_PROBE_DEFINE(my_prov, event__start);
 *	TRACE_PROBE_DEFINE(my_prov, event__done);
 *
 *	struct event { struct at_uid uid; ... };
 *
 *	TRACE_PROBE(my_prov, event__start, at_uid_get(&event->uid), event->path);
 *	...	threads may change, and other events may begin and end
 *	TRACE_PROBE(my_prov, event__done, at_uid_get(&event->uid), result);
 *
 * A probe writes a record, and other tracers can attach to it: bpftrace, perf, BCC, SystemTap and
 * gdb. Its first argument is an id, by which a tracer finds the events of one operation. The id of
 * the thread would not do, because an operation may change threads, and a thread works on many
 * operations.
 *
 * The record is an event of category "my_prov" and name "event-start", with the arguments
 * "arg0" (the id), "arg1", ...; `asynctrace report FILE --pair event-start:event-done --key arg0`
 * makes operations of such events. For bpftrace, the probe is usdt:PROGRAM:my_prov:event-start,
 * with the same arguments arg0, arg1, ...
 */
#ifndef ASYNCTRACE_PROBE_H
#define ASYNCTRACE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include <asynctrace/detail/probe.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- unique ids ---------------------------------------------------------------------------- */

/**
 * struct at_uid - a unique id, embedded in the object that it identifies
 * @number_: the id; 0: at_uid_get() has not made it yet
 *
 * A structure of zeros is valid. at_uid_get() makes the number. A probe calls at_uid_get() only
 * while the probe is recorded or traced, so ids cost nothing until then.
 */
struct at_uid {
	uint64_t number_;
};

#ifdef __cplusplus
#define ASYNCTRACE_UID_INIT {}
#else
#define ASYNCTRACE_UID_INIT { 0 }
#endif

/*
 * Returns the number of *uid, which is never 0. The first call makes the number: no other *uid and
 * no operation of the process has the same, and none of another process either if both processes
 * are registered with the module. See struct at_operation in asynctrace/operation.h. Threads that
 * share a *uid get the same number. The first call in a process may register the process, which
 * takes a few system calls. Thread-safe and async-signal-safe.
 */
TRACE_INLINE_ uint64_t at_uid_get(struct at_uid *uid)
{
	const uint64_t number = __atomic_load_n(&uid->number_, __ATOMIC_RELAXED);

	return __builtin_expect(number != 0, 1) ? number : at_uid_make_(uid);
}

/* Returns a copy of *uid with the same number. Thread-safe and async-signal-safe. */
TRACE_INLINE_ struct at_uid at_uid_share(struct at_uid *uid)
{
	struct at_uid copy = ASYNCTRACE_UID_INIT;

	copy.number_ = at_uid_get(uid);
	return copy;
}

#ifdef __cplusplus
}
#endif

/* --- probes -------------------------------------------------------------------------------- */

/*
 * TRACE_PROBE(provider, name, id, ...): a probe with an id and up to 11 more arguments. Types of
 * id and arguments are integers of 8 to 64 bits, enumerations, bool, pointers and strings. Other
 * tracers see the address of a string. A floating-point number does not compile.
 *
 * provider and name are identifiers. In records, and for tracers, each "__" in a name is "-".
 * Id and arguments are evaluated once, and only if the category of the provider's name is
 * recorded or a tracer is attached to the probe. Otherwise a probe costs two loads and a branch
 * that is predicted, and a few more instructions while other categories are recorded.
 *
 * Thread-safe and async-signal-safe. With NTRACE there is no probe.
 */
#define TRACE_PROBE(provider, name, ...) \
	TRACE_PROBE_(__COUNTER__, provider, name, __VA_ARGS__)

/* Is the category of the provider's name recorded, or is a tracer attached to the probe? */
#define TRACE_PROBE_ENABLED(provider, name) \
	(TRACE_PROBE_TRACED_(__COUNTER__, TRACE_PROBE_COUNTER_(provider, name)) != 0 || \
	 TRACE_CATEGORY_TEST_(TRACE_TEXT_(provider)))

/*
 * Defines the probe's counter of tracers, of type unsigned short and named
 * provider_name_semaphore. It must be at file scope in exactly one file of each program or shared
 * library that uses the probe. Otherwise, the program or library does not link.
 */
#define TRACE_PROBE_DEFINE(provider, name) \
	TRACE_PROBE_DEFINE_(TRACE_PROBE_COUNTER_(provider, name))

#endif /* ASYNCTRACE_PROBE_H */
