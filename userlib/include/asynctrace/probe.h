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
 * A probe is a place in a program that writes a record and that tracers of other makers find:
 * bpftrace, perf, BCC, SystemTap, gdb. Its first argument is an id, which tells the tracer which
 * events are of one operation. A thread's id does not, because operations change their threads
 * and threads their operations.
 *
 * The record is an event of category "my_prov" and name "event-start", with the arguments
 * "arg0" (the id), "arg1", ...; `asynctrace report --pair event-start:event-done --key arg0`
 * makes operations of such events. For bpftrace it is usdt:PROGRAM:my_prov:event-start, with the
 * same arguments arg0, arg1, ...
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
 * struct at_uid - an id, to be embedded in what it identifies
 * @number_: 0: not made yet
 *
 * Costs nothing until at_uid_get() makes its number, which a probe calls only while something
 * records it. A structure of zeros is a valid one.
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
 * The number of *uid. The first call makes it: no other *uid and no operation on this machine
 * has it. Threads may share a *uid, and all get the same number. Thread-safe and
 * async-signal-safe; never 0. The first call in a process may make a few system calls, because
 * it may register the process.
 */
TRACE_INLINE_ uint64_t at_uid_get(struct at_uid *uid)
{
	const uint64_t number = __atomic_load_n(&uid->number_, __ATOMIC_RELAXED);

	return __builtin_expect(number != 0, 1) ? number : at_uid_make_(uid);
}

/* A copy that has the same number; makes the number. As safe as at_uid_get(). */
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
 * TRACE_PROBE(provider, name, id, ...): a probe with an id and up to 11 arguments: integers of
 * 8 to 64 bits, enumerations, bool, pointers, and strings, of which tracers see the address.
 * A floating-point number does not compile. The id is the first argument, of any such type.
 *
 * provider and name are identifiers. In records, and for tracers, each "__" in a name is "-".
 * Id and arguments are evaluated once, and only if the category of the provider's name is
 * recorded or a tracer is attached to the probe. Otherwise a probe costs two loads and a branch
 * that is predicted, or a few more while other categories are recorded.
 *
 * As safe as the macros of asynctrace/trace.h. With NTRACE there is no probe.
 */
#define TRACE_PROBE(provider, name, ...) \
	TRACE_PROBE_(__COUNTER__, provider, name, __VA_ARGS__)

/* Is the category of the provider's name recorded, or is a tracer attached to the probe? */
#define TRACE_PROBE_ENABLED(provider, name) \
	(TRACE_PROBE_TRACED_(__COUNTER__, TRACE_PROBE_COUNTER_(provider, name)) != 0 || \
	 TRACE_CATEGORY_TEST_(TRACE_TEXT_(provider)))

/*
 * Defines the probe's counter of tracers, of type unsigned short and named
 * provider_name_semaphore. Each probe needs it at file scope in exactly one file of each program
 * or shared library that uses the probe; otherwise that does not link.
 */
#define TRACE_PROBE_DEFINE(provider, name) \
	TRACE_PROBE_DEFINE_(TRACE_PROBE_COUNTER_(provider, name))

#endif /* ASYNCTRACE_PROBE_H */
