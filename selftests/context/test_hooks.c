// SPDX-License-Identifier: GPL-2.0
/*
 * Node's tests of async_hooks and AsyncLocalStorage, on the example loop. Graphs of causes are
 * compared with the records of the trace.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <asynctrace/local.h>

#include "cast.h"
#include "kept.h"
#include "loop.h"

static struct loop *loop;

static void begin(void)
{
	kept_begin(NULL);
	loop = loop_new();
}

static void end(void)
{
	loop_run(loop);
	loop_free(loop);
	kept_end();
	kept_check_contexts();
}

/* --- graphs of causes ------------------------------------------------------------------ */

/* Returns the begin of the @nr-th context of this name, or NULL. */
static const struct kept *context(const char *name, int nr)
{
	for (unsigned int i = 0; i < nr_kept; i++)
		if (kept_is(&kept[i], ASYNCTRACE_FXT_ASYNC_BEGIN, name) && !nr--)
			return &kept[i];
	return NULL;
}

/*
 * Fails unless context @nr of @name was caused by context @of of @cause, or by no context if @cause
 * is NULL.
 */
static void caused(const char *name, int nr, const char *cause, int of)
{
	const struct kept *c = context(name, nr), *by = cause ? context(cause, of) : NULL;

	check(c && kept_number(c, "parent", 1) == (by ? by->ev.id : 0) && (by || !cause), "%s %d", name,
	      nr);
}

static int third_timer(void *unused)
{
	(void)unused;
	return 0;
}

static int second_timer(void *unused)
{
	return loop_timer(loop, 1, false, third_timer, unused) ? 0 : -1;
}

static int first_timer(void *unused)
{
	return loop_timer(loop, 1, false, second_timer, unused) ? 0 : -1;
}

static int stat_again(void *unused)
{
	return loop_stat(loop, "/", nothing, unused);
}

static int immediate(void *unused)
{
	loop_tick(loop, nothing, unused);
	return loop_immediate(loop, nothing, unused) ? 0 : -1;
}

static struct loop_timer *outer, *inner;

static int stop_both(void *unused)
{
	(void)unused;
	loop_timer_stop(outer);
	loop_timer_stop(inner);
	return loop_immediate(loop, nothing, NULL) ? 0 : -1;
}

static int start_inner(void *unused)
{
	if (!inner)
		inner = loop_timer(loop, 1, true, stop_both, unused);
	return 0;
}

static struct loop_server *server;

static int make_immediate(void *unused)
{
	return loop_immediate(loop, nothing, unused) ? 0 : -1;
}

static int close_server(struct loop_conn *conn, void *unused)
{
	(void)conn;
	loop_server_close(server, make_immediate);
	return loop_tick(loop, nothing, unused);
}

static int close_it(struct loop_conn *conn, void *unused)
{
	(void)unused;
	loop_conn_close(conn);
	return 0;
}

static const struct loop_conn_calls closing = { .open = close_it },
				    closed = { .close = close_server };

static int connect_and_close(void *unused)
{
	return loop_connect(loop, loop_server_port(server), &closing, unused) ? 0 : -1;
}

static int close_both(struct loop_conn *conn, const char *data, size_t bytes, void *unused)
{
	(void)data, (void)bytes, (void)unused;
	loop_conn_close(conn);
	loop_server_close(server, NULL);
	loop_immediate(loop, nothing, NULL);
	return 0;
}

static int greet(struct loop_conn *conn, void *unused)
{
	(void)unused;
	return loop_write(conn, "hello", 5);
}

static const struct loop_conn_calls serving = { .data = close_both }, greeting = { .open = greet };

static int connect_it(void *unused)
{
	return loop_connect(loop, loop_server_port(server), &greeting, unused) ? 0 : -1;
}

static char path[64];

static int connect_path(void *unused)
{
	return loop_connect_path(loop, path, &greeting, unused) ? 0 : -1;
}

static struct loop_udp *udp;

static int got(struct loop_udp *u, const char *data, size_t bytes, void *unused)
{
	(void)data, (void)bytes, (void)unused;
	loop_udp_close(u);
	return loop_tick(loop, nothing, NULL);
}

static void graphs(void)
{
	begin();
	loop_timer(loop, 1, false, first_timer, NULL);
	end();
	caused("TIMER", 0, NULL, 0);
	caused("TIMER", 1, "TIMER", 0);
	caused("TIMER", 2, "TIMER", 1);
	done("H1_graph_timers");

	begin();
	inner = NULL;
	outer = loop_timer(loop, 1, true, start_inner, NULL);
	end();
	caused("TIMER", 0, NULL, 0);
	caused("TIMER", 1, "TIMER", 0);
	/* The immediate is made in the first run of the inner interval. */
	caused("TIMER", 2, "TIMER", 1);
	done("H1_graph_intervals");

	begin();
	loop_stat(loop, "/", stat_again, NULL);
	end();
	caused("FS", 0, NULL, 0);
	caused("THREADPOOL", 0, "FS", 0);
	caused("FS", 1, "FS", 0);
	caused("THREADPOOL", 1, "FS", 1);
	done("H1_graph_fsreq");

	begin();
	loop_immediate(loop, immediate, NULL);
	end();
	caused("NEXTTICK", 0, "TIMER", 0);
	caused("TIMER", 1, "TIMER", 0);
	done("H1_graph_immediate_and_tick");

	begin();
	server = loop_listen(loop, connect_it, &serving, NULL);
	end();
	caused("TCP", 0, NULL, 0);
	caused("NEXTTICK", 0, NULL, 0);
	caused("TCP", 1, "NEXTTICK", 0);
	/* The server causes the accepted connection, which causes its immediate. */
	caused("TCP", 2, "TCP", 0);
	caused("TIMER", 0, "TCP", 2);
	done("H1_N52_graph_tcp");

	begin();
	snprintf(path, sizeof(path), "/tmp/test_hooks.%d", getpid());
	server = loop_listen_path(loop, path, connect_path, &serving, NULL);
	end();
	caused("PIPE", 0, NULL, 0);
	caused("NEXTTICK", 0, NULL, 0);
	caused("PIPE", 1, "NEXTTICK", 0);
	caused("PIPE", 2, "PIPE", 0);
	caused("TIMER", 0, "PIPE", 2);
	check(access(path, F_OK));
	done("H1_N52_graph_pipeconnect");

	begin();
	server = loop_listen(loop, connect_and_close, &closed, NULL);
	end();
	caused("TCP", 1, "NEXTTICK", 0);
	caused("TCP", 2, "TCP", 0);
	/* The end of the accepted connection causes the tick. The server causes the immediate. */
	caused("NEXTTICK", 1, "TCP", 2);
	caused("TIMER", 0, "TCP", 0);
	done("H1_graph_shutdown");

	begin();
	udp = loop_udp(loop, got, NULL);
	loop_udp_send(udp, loop_udp_port(udp), "x", 1);
	end();
	caused("UDP", 0, NULL, 0);
	caused("NEXTTICK", 0, "UDP", 0);
	done("H1_graph_udp");
}

static int make_ticks(void *other)
{
	struct at_context tick;

	loop_tick(loop, nothing, NULL);
	at_context_init_under(&tick, TICK, NULL, other);
	at_context_destroy(&tick);
	return 0;
}

static void default_trigger(void)
{
	struct at_context other;

	begin();
	at_context_init(&other, FS, NULL);
	loop_immediate(loop, make_ticks, &other);
	end();
	at_context_destroy(&other);
	caused("NEXTTICK", 0, "TIMER", 0);
	caused("NEXTTICK", 1, "FS", 0);
	done("H1_nexttick_default_trigger");
}

/* --- enabling and disabling ------------------------------------------------------------ */

static struct at_listener *hook;

static int add_hook(void *unused)
{
	(void)unused;
	at_listener_add(hook);
	return 0;
}

static int remove_hook(void *unused)
{
	(void)unused;
	at_listener_remove(hook);
	return 0;
}

static int remove_and_make(void *unused)
{
	remove_hook(unused);
	loop_immediate(loop, nothing, NULL);
	return 0;
}

/* Adds and removes a hook at each event of a context, and counts its calls by phase. */
static void enable_disable(void)
{
	static const struct {
		int (*run[2])(void *unused);
		bool first;		/* the hook is added before the object is made */
		const char *said;
	} tests[] = {
		{ { nothing, nothing }, true, "cA bA aA bA aA dA" },
		{ { nothing, nothing }, false, "" },
		{ { add_hook, nothing }, false, "bA aA" },
		{ { nothing, add_hook }, false, "" },
		{ { remove_hook, nothing }, true, "cA bA aA dA" },
		{ { nothing, remove_hook }, true, "cA bA aA bA aA dA" },
		{ { remove_and_make, add_hook }, true, "cA bA aA dA" },
		{ { add_hook, remove_hook }, false, "bA aA" },
		{ { remove_hook, add_hook }, false, "" },
	};
	struct at_context c;

	for (unsigned int i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		loop = loop_new();
		hook = listener("A", ALL);
		if (tests[i].first)
			at_listener_add(hook);
		at_context_init(&c, TIMER, NULL);
		at_listener_remove(hook);
		for (int run = 0; run < 2; run++)
			at_context_run(&c, tests[i].run[run], NULL);
		at_context_destroy(&c);
		loop_run(loop);
		loop_free(loop);
		at_listener_put(hook);
		check(said(tests[i].said), "%u", i);
	}
	done("H3_enable_disable_counts_by_phase");
}

/* --- errors of hooks ------------------------------------------------------------------- */

static void throw_text(void *object, void *value)
{
	(void)object;
	at_throw(-1, value);
}

static void *throw_in_create(void *data, const char *type, void *object)
{
	(void)type, (void)object;
	at_throw(-1, data);
}

static bool debugging;

static void child_fails(void)
{
	struct at_listener_options o = { .before = throw_text };
	struct at_listener *l = listener_of(o, "before failed", ALL);
	struct at_context c;

	at_context_debug(debugging);
	at_listener_add(l);
	at_context_init(&c, TIMER, NULL);
	at_context_run(&c, nothing, NULL);
}

static int make_one(void *unused)
{
	struct at_context c;

	(void)unused;
	at_context_init(&c, TIMER, NULL);
	return 0;
}

static void child_create_fails(void)
{
	struct at_listener_options o = { .create = throw_in_create };
	struct at_listener *l = listener_of(o, "create failed", ALL);
	struct at_context c;

	at_context_init(&c, TIMER, NULL);
	at_context_enter(&c);
	at_listener_add(l);
	at_context_leave(&c);
	at_context_run(&c, make_one, NULL);
}

static void callback_error(void)
{
	char text[500];
	int status = in_child_process(child_fails, text, sizeof(text));

	check(status == 1 && strstr(text, "before failed"), "%d %s", status, text);
	status = in_child_process(child_create_fails, text, sizeof(text));
	check(status == 1 && strstr(text, "create failed"), "%d %s", status, text);
	debugging = true;
	status = in_child_process(child_fails, text, sizeof(text));
	check(status == -1 && strstr(text, "before failed"), "%d %s", status, text);
	done("H4_error_of_a_hook_ends_the_process");
}

/* --- an embedder's own type ------------------------------------------------------------ */

TRACE_CONTEXT_TYPE(resource, ASYNCTRACE_ASYNC_USER, "foobazFile");

static char type_seen[20];

static void *note_type(void *data, const char *type, void *object)
{
	(void)data, (void)object;
	snprintf(type_seen, sizeof(type_seen), "%s", type);
	say("c");
	return ASYNCTRACE_KEEP;
}

static void embedder(void)
{
	struct at_listener_options o = says;
	struct at_context parent, a, b;
	struct at_listener *l;

	o.create = note_type;
	l = listener_of(o, "A", ALL);
	at_context_init(&parent, TIMER, NULL);
	at_listener_add(l);
	at_context_init_type(&a, &resource, NULL, NULL);
	at_context_run(&a, nothing, NULL);
	at_context_run(&a, nothing, NULL);
	check(!strcmp(type_seen, "foobazFile") && at_context_trigger(&a) == 0);
	at_context_init_type(&b, &resource, NULL, &parent);
	check(at_context_trigger(&b) == parent.operation.id && a.operation.id != b.operation.id);
	at_context_run(&b, nothing, NULL);
	at_context_destroy(&a);
	at_context_destroy(&b);
	at_context_destroy(&parent);
	check(said("c bA aA bA aA dA"));
	at_listener_put(l);
	done("H1_embedder_api_async_resource");
}

/* --- local storage on a loop ----------------------------------------------------------- */

static struct at_local *stored, *other_store;

static int say_store(void *unused)
{
	(void)unused;
	say("%s", (char *)at_local_get(stored) ?: "-");
	return 0;
}

static int nested_async(void *unused)
{
	loop_tick(loop, say_store, unused);
	loop_immediate(loop, say_store, unused);
	return say_store(unused);
}

static int start_async(void *unused)
{
	loop_timer(loop, 1, false, nested_async, unused);
	return say_store(unused);
}

static int exit_and_start(void *unused)
{
	at_local_exit(stored, start_async, unused);
	return say_store(unused);
}

static int both_stores(void *unused)
{
	(void)unused;
	say("%s+%s", (char *)at_local_get(stored) ?: "-", (char *)at_local_get(other_store) ?: "-");
	return 0;
}

static int start_both(void *unused)
{
	return loop_stat(loop, "/", both_stores, unused);
}

static int run_other(void *unused)
{
	return at_local_run(other_store, "hello node", start_both, unused);
}

static int throw_error(void *unused)
{
	(void)unused;
	at_throw(-1, "err");
}

static bool error_store(void *object, void *value, const struct at_error *error, bool handled)
{
	(void)object, (void)value, (void)error, (void)handled;
	say_store(NULL);
	return true;
}

static int start_throwing(void *unused)
{
	return loop_timer(loop, 1, false, throw_error, unused) ? 0 : -1;
}

static int enter_store(void *unused)
{
	at_local_enter_with(stored, "entered");
	loop_timer(loop, 1, false, say_store, unused);
	return 0;
}

static int disable_store(void *unused)
{
	(void)unused;
	at_local_disable(stored);
	say_store(unused);
	return 0;
}

static int start_then_disable(void *unused)
{
	loop_timer(loop, 5, false, say_store, unused);
	loop_timer(loop, 1, false, disable_store, unused);
	return 0;
}

static void local_storage(void)
{
	const struct at_listener_options o = { .error = error_store };
	struct at_listener *l;

	at_local_new(&stored, NULL);
	at_local_new(&other_store, NULL);
	begin();
	at_local_run(stored, "s", start_async, NULL);
	end();
	check(said("s s s s"));
	done("H9_als_nested");
	begin();
	at_local_run(stored, "s", exit_and_start, NULL);
	end();
	check(said("- s - - -"));
	done("H9_als_exit");
	begin();
	at_local_run(stored, "hi", run_other, NULL);
	end();
	check(said("hi+hello node"));
	done("H9_als_misc_stores");
	begin();
	l = listener_of(o, NULL, ALL);
	at_listener_add(l);
	at_local_run(stored, "thrower", start_throwing, NULL);
	end();
	at_listener_put(l);
	check(said("thrower"));
	done("H9_als_errors");
	begin();
	loop_immediate(loop, enter_store, NULL);
	loop_immediate(loop, say_store, NULL);
	end();
	check(said("- entered"));
	done("H9_als_enter_with");
	begin();
	at_local_run(stored, "s", start_then_disable, NULL);
	end();
	check(said("- -"));
	done("H9_als_enable_disable");
	at_local_put(stored);
	at_local_put(other_store);
}

int main(void)
{
	graphs();
	default_trigger();
	enable_disable();
	callback_error();
	embedder();
	local_storage();
	return finish();
}
