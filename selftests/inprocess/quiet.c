// SPDX-License-Identifier: GPL-2.0
/* Writes events of each kind without system calls and without malloc(): see quiet.h */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/context.h>
#include <asynctrace/operation.h>
#include <asynctrace/probe.h>

#include "common.h"
#include "quiet.h"

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

const size_t quiet_kinds = sizeof(kinds) / sizeof(*kinds);

/* --- no system call ----------------------------------------------------------------------- */

static bool has_module;

static struct shared {
	size_t at;	/* the kind at which the child is */
} *shared;

/* Does an event of kind @k ask the kernel? */
static bool calls(size_t k)
{
	return kinds[k].run == k_kernel_object || (has_module && kinds[k].run == k_alert);
}

void quiet_prepare(bool module)
{
	has_module = module;
	memset(long_text, 'x', sizeof(long_text) - 1);
	text_200 = long_text + sizeof(long_text) - 1 - 200;
	shared = shared_memory(sizeof(*shared));
}

static void run_kind(size_t k, long n)
{
	if (!calls(k))
		kinds[k].run(n);
}

void quiet_write_once(void)
{
	for (size_t k = 0; k < quiet_kinds; k++)
		run_kind(k, 1);
}

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

static void child(long n)
{
	quiet_write_once();
	if (!be_strict())
		_exit(2);
	forbidden = true;
	for (size_t k = 0; k < quiet_kinds; k++) {
		__atomic_store_n(&shared->at, k, __ATOMIC_RELAXED);
		run_kind(k, n - 1);
	}
	shared->at = quiet_kinds;
	syscall(SYS_exit, 0);
}

void quiet_child(long n)
{
	int status;
	pid_t pid;

	shared->at = quiet_kinds;
	pid = fork();
	must(pid >= 0);
	if (!pid)
		child(n);
	must(waitpid(pid, &status, 0) == pid);
	ktap_check(WIFEXITED(status) && !WEXITSTATUS(status), "ended by signal %d in %s",
		   WIFSIGNALED(status) ? WTERMSIG(status) : 0,
		   shared->at < quiet_kinds ? kinds[shared->at].name : "none");
}
