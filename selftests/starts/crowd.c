// SPDX-License-Identifier: GPL-2.0
/*
 * Many threads make their first trace call at the same moment, on few CPUs
 *
 * The threads that wait must not take the CPUs from the thread that registers the process.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <asynctrace/operation.h>
#include <asynctrace/provider.h>
#include <asynctrace/trace.h>

#include "ledger.h"

#define ROUNDS	10
/* Records of a round: begin and end of an operation and of a scope, and an instant. */
#define RECORDS	5

static pthread_barrier_t barrier;

static struct {
	uint32_t pid;
	uint32_t unrecorded;	/* threads for which at_status() knows no session */
	uint32_t reason;
} *shared;

static void *member(void *arg)
{
	struct at_status_info s = { .size = sizeof(s) };
	struct at_operation op;

	pthread_barrier_wait(&barrier);
	for (int i = 0; i < ROUNDS; i++) {
		TRACE_OPERATION_BEGIN(&op, "crowd", "operation");
		{
			TRACE_OPERATION_SCOPE(op.id, "crowd", "scope");
			TRACE_INSTANT("crowd", "instant", TRACE_SCOPE_THREAD);
			usleep(1000);
		}
		TRACE_OPERATION_END(&op, "crowd", "operation");
	}
	must(!at_status(&s));
	if (!s.recording || s.reason != ASYNCTRACE_REASON_OK) {
		__atomic_fetch_add(&shared->unrecorded, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&shared->reason, s.reason, __ATOMIC_RELAXED);
	}
	return arg;
}

static void scene(unsigned int n)
{
	pthread_t *threads = calloc(n, sizeof(*threads));
	pthread_attr_t attr;

	must(threads);
	shared->pid = getpid();
	must(!pthread_barrier_init(&barrier, NULL, n));
	must(!pthread_attr_init(&attr) && !pthread_attr_setstacksize(&attr, 1 << 16));
	for (unsigned int i = 0; i < n; i++)
		must(!pthread_create(&threads[i], &attr, member, NULL));
	for (unsigned int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

static void crowd(struct at_ctl *ctl, unsigned int n)
{
	const struct at_session_options opts = {
		.size = sizeof(opts), .name = "crowd", .mode = ASYNCTRACE_MODE_ONESHOT,
		.ring_size = 8 << 20,
	};
	const uint64_t records = (uint64_t)n * ROUNDS * RECORDS;
	static struct ledger l;
	struct rd_ring sum;
	pid_t pid;

	ktap_begin("I20_crowd_begins_at_once_all_recorded");
	memset(shared, 0, sizeof(*shared));
	ledger_open(&l, ctl, &opts);
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		scene(n);
		_exit(0);
	}
	reap(pid);
	ledger_end(&l);
	sum = ledger_of(&l, shared->pid);
	ktap_check(sum.delivered == records && !sum.dropped, "%u threads: %llu of %llu delivered, %llu dropped",
		   n, (unsigned long long)sum.delivered, (unsigned long long)records,
		   (unsigned long long)sum.dropped);
	ktap_check(!shared->unrecorded, "%u threads have no session: %s", shared->unrecorded,
		   at_reason_text(shared->reason));
	ledger_close(&l);
	ktap_end();
}

int main(void)
{
	struct at_ctl *ctl;

	shared = shared_memory(sizeof(*shared));
	if (at_ctl_open(&ctl))
		ktap_bail("%s", at_ctl_error(ctl));
	ktap_plan(1);
	crowd(ctl, amount("CROWD_THREADS", 1024));
	at_ctl_close(ctl);
	return ktap_exit();
}
