// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of contexts: records, ids, causes, runs and misuse
 */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/context.h>

#include "kept.h"
#include "writer/operation.h"

#define ASYNC_BEGIN	ASYNCTRACE_FXT_ASYNC_BEGIN
#define ASYNC_END	ASYNCTRACE_FXT_ASYNC_END
#define BEGIN		ASYNCTRACE_FXT_DURATION_BEGIN
#define END		ASYNCTRACE_FXT_DURATION_END
#define INSTANT		ASYNCTRACE_FXT_INSTANT
#define NONE		0xabcdefULL	/* value for a missing argument */

#define TIMER	ASYNCTRACE_ASYNC_TIMER

static void end(void)
{
	kept_end();
	kept_check_contexts();
}

/* Has event @i this type, this name, and the number as its argument @key? NONE: no argument */
static bool event_is(unsigned int i, uint32_t type, const char *name, const char *key, uint64_t n)
{
	return i < nr_kept && kept_is(&kept[i], type, name) &&
	       kept_number(&kept[i], key, NONE) == n;
}

/* --- records --------------------------------------------------------------------------- */

static void whole_life(void)
{
	struct at_context a, b;

	kept_begin(NULL);
	at_context_init(&a, TIMER, NULL);
	at_context_enter(&a);
	check(at_context_current() == &a && at_context_execution() == a.operation.id);
	at_context_init(&b, ASYNCTRACE_ASYNC_NEXTTICK, NULL);
	at_context_leave(&a);
	check(!at_context_current() && !at_context_execution());
	at_context_destroy(&a);
	at_context_enter(&b);
	at_context_leave(&b);
	end();
	check(at_context_trigger(&a) == 0 && at_context_trigger(&b) == a.operation.id);
	check(event_is(0, ASYNC_BEGIN, "TIMER", "parent", 0) && kept[0].ev.id == a.operation.id);
	check(!strcmp(kept[0].category, "context"));
	check(event_is(1, BEGIN, "TIMER", "operation", a.operation.id));
	check(event_is(2, ASYNC_BEGIN, "NEXTTICK", "parent", a.operation.id) &&
	      kept[2].ev.id == b.operation.id);
	check(event_is(3, END, "TIMER", "resumed", 0));
	check(event_is(4, ASYNC_END, "TIMER", "parent", NONE) && kept[4].ev.id == a.operation.id);
	check(event_is(5, BEGIN, "NEXTTICK", "operation", b.operation.id));
	check(event_is(6, END, "NEXTTICK", "resumed", 0) && nr_kept == 7);
	done("H1_ids_are_those_of_operation_and_cause");
}

static void names(void)
{
	static const struct {
		uint32_t provider;
		const char *name;
	} of[] = {
		{ 1u << 0, "CRYPTO" }, { 1u << 1, "FSEVENT" }, { 1u << 2, "FS" },
		{ 1u << 3, "GETADDRINFO" }, { 1u << 4, "PIPE" }, { 1u << 5, "PROCESS" },
		{ 1u << 6, "QUERY" }, { 1u << 7, "SHUTDOWN" }, { 1u << 8, "SIGNAL" },
		{ 1u << 9, "STATWATCHER" }, { 1u << 10, "TCP" }, { 1u << 11, "TIMER" },
		{ 1u << 12, "TLS" }, { 1u << 13, "TTY" }, { 1u << 14, "UDP" }, { 1u << 15, "ZLIB" },
		{ 1u << 16, "URING" }, { 1u << 17, "THREADPOOL" }, { 1u << 18, "HTTP" },
		{ 1u << 27, "USER" }, { ~0u, "NEXTTICK" },
		/* Numbers that belong to no provider */
		{ 0, "USER" }, { 3, "USER" }, { 1u << 19, "USER" },
	};
	struct at_context c;

	kept_begin(NULL);
	for (unsigned int i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		at_context_init(&c, of[i].provider, NULL);
		at_context_destroy(&c);
	}
	end();
	check(nr_kept == 2 * sizeof(of) / sizeof(of[0]));
	for (unsigned int i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		check(kept_is(&kept[2 * i], ASYNC_BEGIN, of[i].name) &&
		      kept_is(&kept[2 * i + 1], ASYNC_END, of[i].name), "%s", of[i].name);
	check(ASYNCTRACE_ASYNC_ALL == 0x0fffffff && ASYNCTRACE_ASYNC_NONE == 0 &&
	      ASYNCTRACE_ASYNC_NEXTTICK == (uint32_t)-1);
	done("N60_providers_have_nodes_bits_and_names");
}

TRACE_CONTEXT_TYPE(job_type, ASYNCTRACE_ASYNC_USER, "Job");

static void types(void)
{
	struct at_context parent, c;

	kept_begin(NULL);
	at_context_init(&parent, TIMER, NULL);
	at_context_init_type(&c, &job_type, &parent, &parent);
	at_context_enter(&c);
	at_context_leave(&c);
	at_context_destroy(&c);
	end();
	check(c.object == &parent && c.provider == ASYNCTRACE_ASYNC_USER);
	check(event_is(1, ASYNC_BEGIN, "Job", "parent", parent.operation.id));
	check(event_is(2, BEGIN, "Job", "operation", c.operation.id));
	check(event_is(3, END, "Job", "resumed", 0) && kept_is(&kept[4], ASYNC_END, "Job"));
	check(nr_kept == 5);
	done("H1_type_and_trigger_of_an_embedder");
}

/* Ids, causes and current contexts must not depend on whether something is recorded. */
static void while_off(void)
{
	struct at_context a, b;

	at_context_init(&a, TIMER, NULL);
	at_context_enter(&a);
	check(at_context_current() == &a && at_operation_current() == a.operation.id);
	at_context_init(&b, TIMER, NULL);
	at_context_enter(&b);
	check(at_context_current() == &b && at_operation_current() == b.operation.id);
	at_context_leave(&b);
	check(at_context_current() == &a && at_operation_current() == a.operation.id);
	at_context_leave(&a);
	check(!at_context_current() && !at_operation_current());
	check(b.operation.parent == a.operation.id && a.operation.id != b.operation.id);
	/* A trace that begins after at_context_init() must have the runs, with the same ids. */
	at_context_enter(&a);
	kept_begin(NULL);
	at_context_enter(&b);
	TRACE_LOG("log", "in b");
	at_context_leave(&b);
	at_context_leave(&a);
	at_context_destroy(&b);
	end();
	check(event_is(0, BEGIN, "TIMER", "operation", b.operation.id));
	check(event_is(1, INSTANT, "log", "operation", b.operation.id));
	check(event_is(2, END, "TIMER", "resumed", a.operation.id));
	check(kept_is(&kept[3], ASYNC_END, "TIMER") && nr_kept == 4);
	done("H7_ids_are_given_out_while_nothing_is_on");
}

/*
 * The kernel reads a thread's current operation from its cell. Runs must store it there even if
 * nothing is recorded and the thread has neither listeners nor local storage.
 */
static void cell_of_light_runs(void)
{
	uint64_t cell = 1, other = 1;
	struct at_context a, b;

	at_context_init(&a, TIMER, NULL);
	at_context_enter(&a);
	at_cell_set(&cell);
	check(cell == a.operation.id && at_operation_current() == a.operation.id);
	at_context_leave(&a);
	check(!cell && !at_operation_current());
	for (int i = 0; i < 2; i++) {
		at_context_enter(&a);
		check(cell == a.operation.id && at_context_current() == &a);
		at_context_init(&b, TIMER, NULL);
		check(b.operation.parent == a.operation.id);
		at_context_enter(&b);
		check(cell == b.operation.id && at_context_current() == &b);
		at_context_leave(&b);
		check(cell == a.operation.id);
		at_context_leave(&a);
		check(!cell && !at_context_current());
		{
			TRACE_OPERATION_SCOPE(7, "scope", "around");
			at_context_enter(&a);
			check(cell == a.operation.id);
			at_context_leave(&a);
			check(cell == 7 && at_operation_current() == 7);
		}
		check(!cell);
	}
	at_context_enter(&a);
	at_cell_set(&other);
	check(!cell && other == a.operation.id);
	at_context_leave(&a);
	check(!other);
	at_cell_set(NULL);
	at_context_enter(&a);
	check(!other);
	at_context_leave(&a);
	done("H1_cell_has_the_id_of_each_run");
}

/*
 * A scope of operation 0 must not hide any operation after the scope's end, even if a context ran
 * within the scope.
 */
static void scope_of_no_operation(void)
{
	struct at_context c;

	{
		TRACE_OPERATION_SCOPE(7, "scope", "around");
		{
			TRACE_OPERATION_SCOPE(0, "scope", "none");
			at_context_init(&c, TIMER, NULL);
			check(!c.operation.parent);
			at_context_enter(&c);
			at_context_leave(&c);
			check(!at_operation_current());
		}
		check(at_operation_current() == 7);
		at_context_init(&c, TIMER, NULL);
		check(c.operation.parent == 7);
		at_context_enter(&c);
		check(at_operation_current() == c.operation.id);
		at_context_leave(&c);
		check(at_operation_current() == 7);
	}
	check(!at_operation_current());
	at_context_init(&c, TIMER, NULL);
	check(!c.operation.parent);
	done("G41_scope_of_no_operation_and_contexts");
}

static void other_category(void)
{
	struct at_context c;

	kept_begin("other");
	at_context_init(&c, TIMER, NULL);
	at_context_enter(&c);
	check(at_operation_current() == c.operation.id);
	at_context_leave(&c);
	at_context_destroy(&c);
	check(!at_operation_current());
	end();
	check(!nr_kept);
	done("A14_unrecorded_contexts_are_entered");
}

static void scopes_within(void)
{
	struct at_context c, child;

	kept_begin(NULL);
	at_context_init(&c, TIMER, NULL);
	{
		TRACE_OPERATION_SCOPE(7, "scope", "around");
		TRACE_CONTEXT_SCOPE(&c);
		{
			TRACE_OPERATION_SCOPE(8, "scope", "within");
			at_context_init(&child, TIMER, NULL);
			check(at_context_current() == &c);
		}
		check(at_operation_current() == c.operation.id);
	}
	check(!at_context_current() && !at_operation_current());
	end();
	check(child.operation.parent == 8);
	check(event_is(2, BEGIN, "TIMER", "operation", c.operation.id));
	check(event_is(6, END, "TIMER", "resumed", 7) && event_is(7, END, "around", "resumed", 0));
	/* The scope of a context must enter its operation even if nothing is recorded. */
	at_context_init(&c, TIMER, NULL);
	{
		TRACE_OPERATION_SCOPE(7, "scope", "around");
		TRACE_CONTEXT_SCOPE(&c);
		check(at_operation_current() == c.operation.id);
	}
	check(!at_operation_current() && !at_context_current());
	done("G41_contexts_and_scopes_nest");
}

/* --- threads --------------------------------------------------------------------------- */

static void *run_elsewhere(void *c)
{
	at_context_enter(c);
	check(at_context_current() == c);
	at_context_leave(c);
	check(!at_context_current());
	return NULL;
}

static void moves(void)
{
	struct at_context c;
	pthread_t th;

	kept_begin(NULL);
	at_context_init(&c, TIMER, NULL);
	run_elsewhere(&c);
	pthread_create(&th, NULL, run_elsewhere, &c);
	pthread_join(th, NULL);
	run_elsewhere(&c);
	at_context_destroy(&c);
	end();
	check(nr_kept == 8 && kept[1].ev.slot == kept[2].ev.slot &&
	      kept[3].ev.slot == kept[4].ev.slot &&
	      kept[1].ev.slot != kept[3].ev.slot);
	for (unsigned int i = 1; i < 7; i += 2)
		check(event_is(i, BEGIN, "TIMER", "operation", c.operation.id) &&
		      event_is(i + 1, END, "TIMER", "resumed", 0), "%u", i);
	done("G27_context_runs_on_one_thread_and_another");
}

/* A signal handler makes and enters a context at any instruction of the program. */
static volatile unsigned int handled;
static uint64_t own[1 << 16], handlers[1 << 16];

static void on_alarm(int sig)
{
	struct at_context c;

	(void)sig;
	at_context_init(&c, TIMER, NULL);
	at_context_enter(&c);
	at_context_leave(&c);
	if (handled < 1 << 16)
		handlers[handled++] = c.operation.id;
	at_context_destroy(&c);
}

static int by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void in_handlers(void)
{
	const struct timeval often = { .tv_usec = 20 }, never = { .tv_usec = 0 };
	struct sigaction act = { .sa_handler = on_alarm };
	static uint64_t ids[1 << 17];
	const uint64_t misuses = at_context_misuses();
	unsigned int wrong = 0, twice = 0, n = 0;
	struct at_context c, again;

	at_context_init(&again, TIMER, NULL);
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &(struct itimerval){ often, often }, NULL);
	for (unsigned int i = 0; i < 1 << 16 || handled < 100; i++) {
		at_context_init(&c, TIMER, NULL);
		at_context_enter(&c);
		wrong += at_context_current() != &c || at_operation_current() != c.operation.id;
		at_context_leave(&c);
		wrong += at_context_current() || at_operation_current();
		at_context_destroy(&c);
		own[i % (1 << 16)] = c.operation.id;
		at_context_enter(&again);
		wrong += at_operation_current() != again.operation.id;
		at_context_leave(&again);
	}
	setitimer(ITIMER_REAL, &(struct itimerval){ never, never }, NULL);
	for (unsigned int i = 0; i < 1 << 16; i++)
		ids[n++] = own[i];
	for (unsigned int i = 0; i < handled; i++)
		ids[n++] = handlers[i];
	qsort(ids, n, sizeof(*ids), by_number);
	for (unsigned int i = 1; i < n; i++)
		twice += ids[i] == ids[i - 1];
	at_context_destroy(&again);
	check(!wrong && at_context_misuses() == misuses, "%u", wrong);
	check(!twice, "%u of %u ids twice", twice, n);
	done("G21_handlers_take_ids_of_their_own");
}

/*
 * Not with TSan. Its instrumentation takes locks at many instructions. If the handler interrupts
 * the program there, the handler's own instrumentation waits for the lock for ever.
 */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define STEPS_INSTRUCTIONS

/* Sets or clears the trap flag: SIGTRAP after each instruction. Keeps off the red zone. */
#define SINGLE_STEP() \
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $256, (%%rsp); popfq; " \
			 "lea 128(%%rsp), %%rsp" : : : "memory", "cc")
#define SINGLE_STEP_END() \
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; andq $-257, (%%rsp); popfq; " \
			 "lea 128(%%rsp), %%rsp" : : : "memory", "cc")

/* Like on_alarm(), but in the scope of an operation. */
static void on_trap_in_scope(int sig)
{
	TRACE_OPERATION_SCOPE(7, "scope", "handler");

	on_alarm(sig);
}

/* The handler makes, enters and leaves a context after each instruction. */
static void step_with(void (*handler)(int sig))
{
	struct sigaction act = { .sa_handler = handler };
	const uint64_t misuses = at_context_misuses();
	struct at_context c[8];
	static uint64_t ids[(1 << 16) + 8];
	unsigned int wrong = 0, twice = 0, n = 0;

	handled = 0;
	sigaction(SIGTRAP, &act, NULL);
	for (unsigned int i = 0; i < 8; i++) {
		SINGLE_STEP();
		at_context_init(&c[i], TIMER, NULL);
		at_context_enter(&c[i]);
		at_context_leave(&c[i]);
		at_context_enter(&c[i]);
		at_context_leave(&c[i]);
		SINGLE_STEP_END();
		wrong += at_context_current() || at_operation_current();
		ids[n++] = c[i].operation.id;
	}
	signal(SIGTRAP, SIG_DFL);
	for (unsigned int i = 0; i < handled; i++)
		ids[n++] = handlers[i];
	qsort(ids, n, sizeof(*ids), by_number);
	for (unsigned int i = 1; i < n; i++)
		twice += ids[i] == ids[i - 1];
	check(handled > 100, "%u handlers", handled);
	check(!wrong && !twice, "%u wrong, %u of %u ids twice", wrong, twice, n);
	check(at_context_misuses() == misuses);
}

static void at_each_instruction(void)
{
	step_with(on_alarm);
	done("G21_handler_after_each_instruction_takes_ids");
	step_with(on_trap_in_scope);
	done("G41_scope_at_each_instruction_restores");
}
#endif

/* --- misuse ---------------------------------------------------------------------------- */

/* Fails unless the trace has one record of misuse, whose text contains @what. */
static void one_misuse(const char *what, uint64_t id)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < nr_kept; i++) {
		if (!kept_is(&kept[i], INSTANT, "misuse"))
			continue;
		n++;
		check(strstr(kept_text(&kept[i], "what"), what), "%s", kept_text(&kept[i], "what"));
		check(kept_number(&kept[i], "operation", NONE) == id);
	}
	check(n == 1, "%u of %s", n, what);
}

static void *enter_only(void *c)
{
	at_context_enter(c);
	return NULL;
}

static void leave_without_enter(void)
{
	const uint64_t before = at_context_misuses();
	struct at_context c, other;

	kept_begin(NULL);
	at_context_init(&c, TIMER, NULL);
	at_context_init(&other, TIMER, NULL);
	at_context_enter(&other);
	at_context_leave(&c);
	check(at_context_current() == &other);
	at_context_leave(&other);
	end();
	check(at_context_misuses() == before + 1);
	one_misuse("was not entered", c.operation.id);
	done("H6_after_without_before_is_found");

	/* Misuse must also count while nothing is recorded and no context is entered. */
	at_context_leave(&c);
	check(at_context_misuses() == before + 2);
	done("H6_misuse_counts_while_nothing_is_on");
}

static void after_destroy(void)
{
	const uint64_t before = at_context_misuses();
	struct at_context c, child;

	at_context_init(&c, TIMER, NULL);
	at_context_destroy(&c);
	kept_begin(NULL);
	at_context_enter(&c);
	check(!at_context_current());
	end();
	one_misuse("entered a context that was destroyed", c.operation.id);
	kept_begin(NULL);
	at_context_leave(&c);
	end();
	one_misuse("left a context that was destroyed", c.operation.id);
	kept_begin(NULL);
	at_context_destroy(&c);
	end();
	one_misuse("destroyed a context twice", c.operation.id);
	check(!kept_count(ASYNC_END, "TIMER"));
	kept_begin(NULL);
	at_context_init_under(&child, TIMER, NULL, &c);
	end();
	one_misuse("the parent was destroyed", c.operation.id);
	check(!child.operation.parent);
	check(at_context_misuses() == before + 4);
	memset(&c, 0, sizeof(c));
	at_context_enter(&c);
	at_context_leave(&c);
	check(at_context_misuses() == before + 6 && !at_context_current());
	done("H6_events_after_destroy_are_found");
}

static void unbalanced(void)
{
	const uint64_t before = at_context_misuses();
	struct at_context a, b;

	at_context_init(&a, TIMER, NULL);
	at_context_init(&b, TIMER, NULL);
	kept_begin(NULL);
	at_context_enter(&a);
	at_context_enter(&b);
	at_context_leave(&a);
	check(!at_context_current() && !at_operation_current());
	end();
	check(at_context_misuses() == before + 1);
	one_misuse("left a context before one that was entered later", b.operation.id);
	check(kept_count(BEGIN, "TIMER") == 2 && kept_count(END, "TIMER") == 2);
	/* Both contexts can still be used. */
	at_context_enter(&b);
	at_context_enter(&a);
	check(at_context_current() == &a);
	at_context_leave(&a);
	at_context_leave(&b);
	check(at_context_misuses() == before + 1 && !at_context_current());
	done("H5_run_left_open_is_found_and_ended");
}

static void twice(void)
{
	const uint64_t before = at_context_misuses();
	struct at_context a, b;
	pthread_t th;

	at_context_init(&a, TIMER, NULL);
	at_context_init(&b, TIMER, NULL);
	kept_begin(NULL);
	at_context_enter(&a);
	at_context_enter(&b);
	at_context_enter(&a);
	check(at_context_current() == &b);
	end();
	one_misuse("is entered already", a.operation.id);
	pthread_create(&th, NULL, enter_only, &a);
	pthread_join(th, NULL);
	check(at_context_misuses() == before + 2);
	at_context_leave(&b);
	at_context_leave(&a);
	check(at_context_misuses() == before + 2 && !at_context_current());
	done("H6_context_that_runs_is_not_entered_again");
}

/* Runs @fn in a child process. Returns its wait status, and its message in @message. */
static int aborts(void (*fn)(void), char *message, size_t room)
{
	int to[2], status;
	ssize_t n;
	pid_t pid;

	if (pipe(to))
		exit(2);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(to[1], 2);
		signal(SIGABRT, SIG_DFL);
		fn();
		_exit(0);
	}
	close(to[1]);
	n = read(to[0], message, room - 1);
	message[n > 0 ? n : 0] = '\0';
	close(to[0]);
	waitpid(pid, &status, 0);
	return status;
}

static struct at_context stray;

static void improper_order(void)
{
	struct at_context other;

	at_context_debug(true);
	at_context_init(&stray, TIMER, NULL);
	at_context_init(&other, TIMER, NULL);
	at_context_enter(&other);
	at_context_leave(&stray);
}

static void improper_by_environment(void)
{
	setenv("ASYNCTRACE_DEBUG", "1", 1);
	at_context_init(&stray, TIMER, NULL);
	at_context_leave(&stray);
}

static void not_fatal(void)
{
	setenv("ASYNCTRACE_DEBUG", "1", 1);
	at_context_debug(false);
	at_context_init(&stray, TIMER, NULL);
	at_context_leave(&stray);
}

static void debug(void)
{
	char text[500], *actual;
	int status = aborts(improper_order, text, sizeof(text));

	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "%#x", status);
	actual = strstr(text, "has become corrupted (actual: 0x");
	check(actual && strstr(actual, ", expected: 0x"), "%s", text);
	status = aborts(improper_by_environment, text, sizeof(text));
	check(WIFSIGNALED(status) && strstr(text, "expected: 0"), "%#x %s", status, text);
	status = aborts(not_fatal, text, sizeof(text));
	check(!status && !*text, "%#x %s", status, text);
	done("H5_debug_mode_prints_both_ids_and_aborts");
}

/* --- unusual ends ---------------------------------------------------------------------- */

static void destroyed_in_its_run(void)
{
	const uint64_t before = at_context_misuses();
	struct at_context a, b, c;

	kept_begin(NULL);
	at_context_init(&a, TIMER, NULL);
	at_context_init(&b, ASYNCTRACE_ASYNC_TCP, NULL);
	at_context_init(&c, ASYNCTRACE_ASYNC_UDP, NULL);
	at_context_enter(&a);
	at_context_enter(&b);
	at_context_destroy(&b);
	memset(&b, 0xa5, sizeof(b));
	check(at_context_current() == &a && at_operation_current() == a.operation.id);
	at_context_leave(&a);
	check(at_context_misuses() == before);
	end();
	check(event_is(5, END, "TCP", "resumed", a.operation.id) && kept_is(&kept[6], ASYNC_END, "TCP"));
	check(event_is(7, END, "TIMER", "resumed", 0) && nr_kept == 8);
	done("H2_context_is_destroyed_in_its_own_run");

	/* Destroys a context while an inner context, entered during its run, is current. */
	kept_begin(NULL);
	at_context_init(&b, ASYNCTRACE_ASYNC_TCP, NULL);
	at_context_enter(&a);
	at_context_enter(&b);
	at_context_enter(&c);
	at_context_destroy(&b);
	memset(&b, 0xa5, sizeof(b));
	check(at_context_current() == &c);
	at_context_leave(&c);
	check(at_context_current() == &a && at_operation_current() == a.operation.id);
	at_context_leave(&a);
	check(!at_operation_current() && at_context_misuses() == before);
	end();
	check(nr_kept == 8 && kept[5].ev.type == END);
	check(event_is(6, END, "TCP", "resumed", a.operation.id));
	check(event_is(7, END, "TIMER", "resumed", 0));
	done("H2_context_is_destroyed_within_an_inner_run");
}

static sigjmp_buf back;

static void jump(void)
{
	TRACE_OPERATION_SCOPE(2, "scope", "left");
	siglongjmp(back, 1);
}

static void run_and_jump(struct at_context *c, bool late)
{
	if (!late)
		kept_begin(NULL);
	at_context_enter(c);
	if (late)
		kept_begin(NULL);
	if (!sigsetjmp(back, 0))
		jump();
	at_context_leave(c);
	check(!at_operation_current() && !at_context_current());
	end();
}

static void scopes_left_by_a_jump(void)
{
	struct at_context c;

	at_context_init(&c, TIMER, NULL);
	run_and_jump(&c, false);
	check(nr_kept == 4 && event_is(3, END, "TIMER", "resumed", 0));
	run_and_jump(&c, true);
	check(nr_kept == 2 && kept[1].ev.type == END);
	done("H8_end_of_a_run_ends_scopes_within_it");
}

/* Enters and leaves 256 contexts in random order. Each run must record one begin and one end. */
static void random_lives(void)
{
	enum { N = 256, STEPS = 20000 };
	static struct at_context c[N];
	static unsigned int runs[N];
	struct at_context *stack[8];
	uint32_t s = seed();
	unsigned int depth = 0, begins = 0, ends = 0, ran = 0;

	kept_begin(NULL);
	for (int i = 0; i < N; i++)
		at_context_init(&c[i], TIMER, NULL);
	for (int i = 0; i < STEPS; i++) {
		const unsigned int n = rnd(&s, N);

		if (depth && (depth == 8 || rnd(&s, 2))) {
			check(at_context_current() == stack[depth - 1]);
			at_context_leave(stack[--depth]);
		} else if (!(c[n].state_ & TRACE_CONTEXT_RUNS_)) {
			at_context_enter(&c[n]);
			stack[depth++] = &c[n];
			runs[n]++;
			ran++;
		}
	}
	while (depth)
		at_context_leave(stack[--depth]);
	for (int i = 0; i < N; i++)
		at_context_destroy(&c[i]);
	end();
	for (unsigned int i = 0; i < nr_kept; i++) {
		begins += kept[i].ev.type == BEGIN;
		ends += kept[i].ev.type == END;
	}
	check(begins == ran && ends == ran && nr_kept == 2 * ran + 2 * N, "%u %u %u %u", begins, ends,
	      ran, nr_kept);
	done("N12_each_run_has_its_two_records");
}

int main(void)
{
	whole_life();
	names();
	types();
	while_off();
	cell_of_light_runs();
	scope_of_no_operation();
	other_category();
	scopes_within();
	moves();
	in_handlers();
#ifdef STEPS_INSTRUCTIONS
	at_each_instruction();
#endif
	leave_without_enter();
	after_destroy();
	unbalanced();
	twice();
	debug();
	destroyed_in_its_run();
	scopes_left_by_a_jump();
	random_lives();
	return finish();
}
