// SPDX-License-Identifier: GPL-2.0
/*
 * Events only write records. 1,000,000 events of each kind run under a seccomp filter that kills
 * the process at any system call but exit. malloc() is forbidden, too. The test does not use
 * seccomp's strict mode, because that also forbids reading the processor's counter, as events do.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/context.h>
#include <asynctrace/operation.h>
#include <asynctrace/probe.h>

#include "tape.h"

TRACE_PROBE_DEFINE(quiet, probe);

/* --- no allocation ------------------------------------------------------------------------ */

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *p, size_t bytes);

static bool forbidden;

static void allocated(void)
{
	if (forbidden)
		abort();
}

void *malloc(size_t bytes)
{
	allocated();
	return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
	allocated();
	return __libc_calloc(n, bytes);
}

void *realloc(void *p, size_t bytes)
{
	allocated();
	return __libc_realloc(p, bytes);
}

/* --- kinds of events ---------------------------------------------------------------------- */

/* Texts of events.h; volatile, so that no length is a constant */
static const char *volatile text_0 = "", *volatile text_3 = "abc", *volatile text_11 = "eleven byte";
static const char *volatile text_40 = "forty bytes of text, as they say: 456789";
static char long_text[1001];
static const char *volatile text_200, *volatile text_1000 = long_text;
static volatile size_t length_11 = 11;

static const char *text_random(void)
{
	static unsigned int n;

	return text_40 + n++ % 32;
}

#define CAT		"quiet"
#define PROVIDER	quiet
#define EVENT(name, needs, limit, statement, lttng) \
	static void k_##name(long n) \
	{ \
		const uint64_t id = 1; \
		for (long i = 0; i < n; i++) { \
			statement; \
		} \
		(void)id; \
	}
#include "../bench/events.h"
#include "../bench/other_events.h"

/* Kinds that the benchmark does not have; NEEDS is the number of records. */
#define OTHER_EVENTS \
	EVENT(blob_event, 1, 0, TRACE_BLOB_EVENT(CAT, "b", text_40, 40, "n", TA_INT64(i)), ) \
	EVENT(named, 1, 0, ASYNCTRACE_EVENT(ASYNCTRACE_FXT_INSTANT, CAT, text_3, 0, NULL, 0), ) \
	EVENT(operation_at_run_time, 4, 0, run_time_operation(), ) \
	EVENT(logf_text, 1, 0, TRACE_LOGF(CAT, "%ld of %s", i, text_11), ) \
	EVENT(log_function, 2, 0, log_functions(i), ) \
	EVENT(alert, 1, 0, TRACE_ALERT(CAT, "alert"), ) \
	EVENT(context, 4, 0, context(), ) \
	EVENT(unique_id, 1, 0, unique_id(), ) \
	EVENT(probe_of_12, 1, 0, \
	      TRACE_PROBE(quiet, probe, id, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, text_3), )

static void run_time_operation(void)
{
	struct at_operation op;
	struct at_entered e;

	at_operation_begin(&op, CAT, text_3);
	TRACE_OPERATION_ENTER(&e, op.id, CAT, "work");
	at_operation_leave(&e);
	at_operation_end(&op, CAT, text_3);
}

static void context(void)
{
	struct at_context c;

	at_context_init(&c, ASYNCTRACE_ASYNC_USER, NULL);
	{
		TRACE_CONTEXT_SCOPE(&c);
	}
	at_context_destroy(&c);
}

static void log_functions(long i)
{
	at_log(CAT, text_40);
	at_logf(CAT, "%ld", i);
}

static void unique_id(void)
{
	struct at_uid uid = ASYNCTRACE_UID_INIT, copy = at_uid_share(&uid);

	TRACE_PROBE(quiet, probe, at_uid_get(&copy));
}

OTHER_EVENTS
#undef EVENT

static const struct {
	const char *name;
	void (*run)(long n);
} kinds[] = {
#define EVENT(name, needs, limit, statement, lttng) { #name, k_##name },
#include "../bench/events.h"
#include "../bench/other_events.h"
	OTHER_EVENTS
#undef EVENT
};

#define KINDS	(sizeof(kinds) / sizeof(*kinds))

/* Runs kind @k @n times, except the kind that has to ask the kernel (TRACE_KERNEL_OBJECT). */
static void run_kind(size_t k, long n)
{
	if (kinds[k].run != k_kernel_object)
		kinds[k].run(n);
}

/* --- the test ----------------------------------------------------------------------------- */

static struct shared {
	uint64_t at;	/* the kind at which the child is */
} *shared;

static bool be_strict(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog prog = { .len = sizeof(code) / sizeof(*code), .filter = code };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

/* Runs each kind once, so that its names are known. Then runs all kinds without system calls. */
static void child(long n)
{
	for (size_t k = 0; k < KINDS; k++)
		run_kind(k, 1);
	if (!be_strict())
		_exit(2);
	forbidden = true;
	for (size_t k = 0; k < KINDS; k++) {
		__atomic_store_n(&shared->at, k, __ATOMIC_RELAXED);
		run_kind(k, n - 1);
	}
	shared->at = KINDS;
	syscall(SYS_exit, 0);
}

static void ignore(const struct tape_event *ev, void *unused)
{
	(void)ev;
	(void)unused;
}

/* Returns the number of records that the kinds write if each kind runs once. */
static uint64_t records_of_one_round(void)
{
	const struct tape_options o = { .mode = ASYNCTRACE_MODE_ONESHOT, .ring_size = 1 << 20 };
	struct tape t;
	uint64_t n;

	tape_new(&t, &o, ignore, NULL);
	tape_attach(&t);
	tape_gate(&t, true);
	for (size_t k = 0; k < KINDS; k++)
		run_kind(k, 1);
	tape_end(&t, true);
	n = t.result.delivered;
	check(n >= KINDS - 1 && !t.result.dropped, "%llu of %zu", (unsigned long long)n, KINDS);
	tape_free(&t);
	return n;
}

static void quiet(bool on, long n)
{
	const struct tape_options o = {
		.mode = ASYNCTRACE_MODE_CIRCULAR, .ring_size = 1 << 20,
		.categories = on ? NULL : "none",
	};
	const uint64_t each = on ? records_of_one_round() : 0;
	struct tape t;
	uint64_t sum;
	int status;
	pid_t pid;

	tape_new(&t, &o, ignore, NULL);
	tape_attach(&t);
	tape_gate(&t, true);
	shared->at = 0;
	pid = fork();
	if (!pid)
		child(n);
	waitpid(pid, &status, 0);
	check(WIFEXITED(status) && !WEXITSTATUS(status), "ended by signal %d in %s",
	      WIFSIGNALED(status) ? WTERMSIG(status) : 0,
	      shared->at < KINDS ? kinds[shared->at].name : "none");
	tape_end(&t, true);
	/* The child's slots are strangers, because this process has not read its threads. */
	t.strangers = 0;
	tape_check(&t);
	sum = t.result.delivered + t.result.overwritten;
	/* With the category "none", only the blob is recorded, because it has no category. */
	check(on ? sum == each * n && !t.result.dropped : sum == (uint64_t)n,
	      "%llu of %llu records", (unsigned long long)sum, (unsigned long long)(each * n));
	tape_free(&t);
}

int main(void)
{
	const long n = scale("EVENTS", 1000000);

	memset(long_text, 'x', sizeof(long_text) - 1);
	text_200 = long_text + sizeof(long_text) - 1 - 200;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	quiet(true, n);
	done("I9_no_system_call_or_malloc_in_any_kind");
	quiet(false, n);
	done("I9_no_system_call_if_another_is_recorded");
	return finish();
}
