// SPDX-License-Identifier: GPL-2.0
/*
 * Records of several kinds, while in-process traces and sessions of the module change at random
 *
 * A session and a trace must each account for every record of a category that they record. KT_SEED
 * repeats the order of the changes. Runs in the test machine.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include <asynctrace/inprocess.h>
#include <asynctrace/operation.h>
#include <asynctrace/provider.h>
#include <asynctrace/trace.h>

#include "../support/common.h"
#include "beside.h"
#include "flown.h"
#include "tape.h"

#define WRITERS	3
#define u(x)	((unsigned long long)(x))

/*
 * Number of traces in session_is_exact(), and half the number of changes of the session in
 * trace_is_exact(). The environment variable BESIDE_CHANGES overrides it.
 */
static int changes;

/* Kinds of records. Each has a category of its own. */
enum kind {
	EVENT,
	TEXT,
	BLOB,
	DURATION,
	REGION,		/* two records */
	OPERATION,	/* two records */
	KINDS,
};

static const char *const categories[KINDS] = {
	"stress.event", "stress.text", "stress.blob", "stress.duration", "stress.region",
	"stress.operation",
};

static unsigned int records_of(enum kind kind)
{
	return kind == REGION || kind == OPERATION ? 2 : 1;
}

static void write_kind(enum kind kind, uint64_t n)
{
	struct at_operation op;

	switch (kind) {
	case EVENT:
		TRACE_INSTANT("stress.event", "event", TRACE_SCOPE_THREAD, "n", n, "m", n);
		return;
	case TEXT:
		TRACE_COUNTER("stress.text", "text", n, "n", n);
		return;
	case BLOB:
		TRACE_BLOB_EVENT("stress.blob", "blob", &n, sizeof(n), "text", "a text");
		return;
	case DURATION: {
		TRACE_DURATION("stress.duration", "duration", "text", "a text", "n", n);
		return;
	}
	case REGION: {
		TRACE_REGION("stress.region", "region", "n", n);
		return;
	}
	default:
		TRACE_OPERATION_BEGIN(&op, "stress.operation", "operation");
		TRACE_OPERATION_END(&op, "stress.operation", "operation");
	}
}

/* --- writers -------------------------------------------------------------------------------- */

/*
 * A writer holds the lock for reading during write_random(), so that session_is_exact() changes
 * the session only between two calls. Traces start and stop without the lock.
 */
static pthread_rwlock_t lock;
static bool enough, wanted[KINDS];
/* Records that were attempted, and those that the session wanted. */
static uint64_t attempted, in_session;

static __thread bool may_interrupt;

static void write_random(unsigned int *x)
{
	const enum kind kind = rand_r(x) % KINDS;
	const unsigned int n = records_of(kind);

	write_kind(kind, *x);
	__atomic_fetch_add(&attempted, n, __ATOMIC_RELAXED);
	if (wanted[kind])
		__atomic_fetch_add(&in_session, n, __ATOMIC_RELAXED);
}

/* Interrupts a writer at any instruction of a record. */
static void on_alarm(int sig)
{
	static unsigned int x;

	(void)sig;
	if (may_interrupt)
		write_random(&x);
}

static void *write_on(void *arg)
{
	unsigned int x = (uintptr_t)arg;

	while (!__atomic_load_n(&enough, __ATOMIC_RELAXED)) {
		pthread_rwlock_rdlock(&lock);
		may_interrupt = true;
		write_random(&x);
		may_interrupt = false;
		pthread_rwlock_unlock(&lock);
		if (!(rand_r(&x) % 8))
			usleep(100);
	}
	return NULL;
}

static pthread_t writers[WRITERS];

static void start_writers(unsigned int x)
{
	const struct itimerval often = { { 0, 500 }, { 0, 500 } };
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&lock, &attr);
	attempted = in_session = 0;
	enough = false;
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	for (uintptr_t i = 0; i < WRITERS; i++)
		check(!pthread_create(&writers[i], NULL, write_on, (void *)(x + i)));
}

static void stop_writers(void)
{
	const struct itimerval never = { 0 };

	__atomic_store_n(&enough, true, __ATOMIC_RELAXED);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	signal(SIGALRM, SIG_IGN);
}

/* --- the session ---------------------------------------------------------------------------- */

static struct {
	uint32_t id;
	bool on;
	uint64_t records;	/* of ended sessions: committed or dropped */
	uint64_t dropped;
} session;

static void begin(void)
{
	session.id = start_session_of(NULL, 0, 256 << 10);
	session.on = true;
	for (int i = 0; i < KINDS; i++)
		wanted[i] = true;
}

static void end(void)
{
	const struct counts c = counts_of(session.id);

	session.records += c.committed + c.dropped;
	session.dropped += c.dropped;
	end_session(session.id);
	session.on = false;
	for (int i = 0; i < KINDS; i++)
		wanted[i] = false;
}

/* Chooses some categories at random, at least one. */
static void choose(unsigned int *x)
{
	const char *chosen[KINDS];
	uint32_t n = 0;

	for (int i = 0; i < KINDS; i++) {
		wanted[i] = rand_r(x) % 2 || (i == KINDS - 1 && !n);
		if (wanted[i])
			chosen[n++] = categories[i];
	}
	check(!at_session_update(ctl, session.id, n, chosen), "%s", at_ctl_error(ctl));
}

static void restart(void)
{
	check(!at_session_stop(ctl, session.id) && !at_session_start(ctl, session.id, NULL), "%s",
	      at_ctl_error(ctl));
	while (!recorded())
		usleep(100);
}

static void change_session(unsigned int *x)
{
	if (!session.on) {
		begin();
		return;
	}
	switch (rand_r(x) % 5) {
	case 0:
		end();
		return;
	case 1:
		end();
		begin();
		return;
	case 2:
		restart();
		return;
	default:
		choose(x);
	}
}

/* --- tests ---------------------------------------------------------------------------------- */

/* Checks the counts of sessions while traces start and stop at any moment, also within a record. */
static void session_is_exact(unsigned int x)
{
	uint64_t traced = 0;
	int beside = 0;

	session.records = session.dropped = 0;
	begin();
	start_writers(x);
	for (int i = 0; i < changes; i++) {
		struct at_trace_result r = { .size = sizeof(r) };
		const bool was_on = session.on;
		int fd = memory();

		check(!at_trace_start(fd, NULL));
		usleep(rand_r(&x) % 4000);
		/*
		 * If no session ran when the trace began, a session that begins during the trace
		 * gets no records.
		 */
		if (was_on) {
			pthread_rwlock_wrlock(&lock);
			change_session(&x);
			pthread_rwlock_unlock(&lock);
			usleep(rand_r(&x) % 4000);
			beside++;
		}
		check(!at_trace_stop(&r) && !r.error && !r.overwritten);
		traced += r.delivered + r.dropped;
		close(fd);
		usleep(rand_r(&x) % 2000);
		if (!(rand_r(&x) % 3)) {
			pthread_rwlock_wrlock(&lock);
			change_session(&x);
			pthread_rwlock_unlock(&lock);
		}
	}
	stop_writers();
	if (session.on)
		end();
	check(session.records == in_session && in_session, "%llu of %llu", u(session.records),
	      u(in_session));
	check(traced);
	printf("# %llu records, %llu in sessions (%llu dropped), %llu in traces, %d beside\n",
	       u(attempted), u(in_session), u(session.dropped), u(traced), beside);
	done("G12_sessions_are_exact_when_traces_start_and_stop");
}

/* Checks the counts of a trace while the session changes at any moment, also within a record. */
static void trace_is_exact(unsigned int x)
{
	struct at_trace_result r = { .size = sizeof(r) };
	int fd = memory();

	begin();
	check(!at_trace_start(fd, NULL) && backend() == ASYNCTRACE_BACKEND_INPROCESS);
	start_writers(x);
	for (int i = 0; i < 2 * changes; i++) {
		usleep(rand_r(&x) % 3000);
		change_session(&x);
		if (!(rand_r(&x) % 20))
			check(!at_provider_register(NULL));
	}
	stop_writers();
	check(!at_trace_stop(&r) && !r.error && !r.overwritten);
	check(r.delivered + r.dropped == attempted && r.delivered, "%llu + %llu of %llu",
	      u(r.delivered), u(r.dropped), u(attempted));
	check(r.dropped ? flown_valid_but_lossy(fd) : flown_valid(fd));
	close(fd);
	if (session.on)
		end();
	printf("# %llu records, %llu dropped by the trace\n", u(attempted), u(r.dropped));
	done("G12_trace_is_exact_when_sessions_change");
}

int main(void)
{
	unsigned int x = seed();

	changes = scale("BESIDE_CHANGES", 100);
	check(!at_ctl_open(&ctl));
	check(!at_provider_register(NULL));
	session_is_exact(x);
	trace_is_exact(x);
	at_ctl_close(ctl);
	return finish();
}
