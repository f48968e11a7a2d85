// SPDX-License-Identifier: GPL-2.0
/*
 * Node's tests of its async listeners (test/simple/test-asynclistener*.js), on the example loop.
 * Each test has the expectations of the original. If the original tests for a minimum number, the
 * test here is for the exact number.
 */
#include <stdlib.h>
#include <string.h>

#include "cast.h"
#include "loop.h"

static struct loop *loop;
static struct at_listener *key;

/* Makes a loop, calls @program in it, and runs the loop until nothing is left. */
static void on_loop(void (*program)(void))
{
	loop = loop_new();
	program();
	loop_run(loop);
	loop_free(loop);
	check(!at_context_current() && !at_operation_current());
}

static void add_key(struct at_listener_options o, void *data)
{
	key = listener_of(o, data, ALL);
	at_listener_add(key);
}

static void drop_key(void)
{
	at_listener_remove(key);
	at_listener_put(key);
}

/* --- an error and its listeners -------------------------------------------------------- */

/* Atomic, because threads of the pool change these, too. */
static _Atomic int caught, unhandled, expected;
static const char *_Atomic messages[20];	/* of errors that were caught */

static int throws(void *message)
{
	expected++;
	at_throw(-1, message);
}

static bool catches(void *object, void *value, const struct at_error *error, bool handled)
{
	const int n = caught++;

	(void)object, (void)value, (void)handled;
	if (n < 20)
		messages[n] = error->message;
	return true;
}

/* Fails unless each of @n thrown errors, and no other, was caught once. */
static void all_caught(const char *const *thrown, int n)
{
	check(caught == n && expected == n, "%d of %d", caught, expected);
	for (int i = 0; i < n; i++) {
		int times = 0;

		for (int j = 0; j < n && j < caught; j++)
			times += !strcmp(messages[j], thrown[i]);
		check(times == 1, "%s: %d", thrown[i], times);
	}
}

static bool takes(const struct at_error *error)
{
	say("global:%s", error->message ?: "-");
	unhandled++;
	return true;
}

static void forget(void)
{
	caught = unhandled = expected = 0;
}

static struct at_listener *pair[2];

static void *say_number(void *object, void *value)
{
	(void)object;
	say("%d", (int)(intptr_t)value);
	return NULL;
}

static bool handles_number(void *object, void *value, const struct at_error *error, bool handled)
{
	(void)error, (void)handled;
	say_number(object, value);
	return true;
}

static bool fails_number(void *object, void *value, const struct at_error *error, bool handled)
{
	handles_number(object, value, error, handled);
	return false;
}

static void *give_data(void *data, const char *type, void *object)
{
	(void)type, (void)object;
	return data;
}

static void two_and_a_tick(bool (*first)(void *, void *, const struct at_error *, bool),
			   bool (*second)(void *, void *, const struct at_error *, bool))
{
	const struct at_listener_options a = { .create = give_data, .error = first },
					 b = { .create = give_data, .error = second };

	pair[0] = listener_of(a, (void *)0, ALL);
	pair[1] = listener_of(b, (void *)1, ALL);
	at_listener_add(pair[0]);
	at_listener_add(pair[1]);
	loop_tick(loop, throws, "tick");
	for (int i = 0; i < 2; i++) {
		at_listener_remove(pair[i]);
		at_listener_put(pair[i]);
	}
}

static void both_handle(void)
{
	two_and_a_tick(handles_number, handles_number);
}

static void one_handles(void)
{
	two_and_a_tick(handles_number, fails_number);
}

static void none_handles(void)
{
	two_and_a_tick(fails_number, fails_number);
}

static void error_multiple(void)
{
	at_unhandled_set(takes);
	on_loop(both_handle);
	check(said("0 1"));
	done("N7_N22_N27_error_multiple_handled");
	on_loop(one_handles);
	check(said("0 1"));
	done("N22_N23_error_multiple_mix");
	on_loop(none_handles);
	check(said("0 1 global:tick"));
	done("N25_error_multiple_unhandled");
	at_unhandled_set(NULL);
}

/* --- errors everywhere ----------------------------------------------------------------- */

static int in_stat(void *message)
{
	return loop_stat(loop, "does not exist", throws, message);
}

static int in_tick(void *message)
{
	return loop_tick(loop, throws, message);
}

static int stat_in_timer(void *message)
{
	return loop_timer(loop, 1, false, in_stat, message) ? 0 : -1;
}

static void everywhere(void)
{
	const struct at_listener_options o = { .error = catches };

	add_key(o, NULL);
	loop_tick(loop, throws, "tick");
	loop_timer(loop, 0, false, throws, "timer");
	loop_immediate(loop, throws, "immediate");
	loop_stat(loop, "/", throws, "fs");
	loop_stat(loop, "does not exist", throws, "no file");
	loop_work(loop, ASYNCTRACE_ASYNC_GETADDRINFO, nothing, throws, "dns");
	loop_work(loop, ASYNCTRACE_ASYNC_USER, throws, NULL, "on the pool");
	loop_timer(loop, 1, false, in_tick, "tick in a timer");
	loop_timer(loop, 1, false, in_stat, "fs in a timer");
	loop_immediate(loop, stat_in_timer, "fs in a timer in an immediate");
	loop_stat(loop, "/", in_stat, "fs in fs");
	loop_stat(loop, "/", stat_in_timer, "fs in a timer in fs");
	drop_key();
}

static void error(void)
{
	static const char *const thrown[] = {
		"tick", "timer", "immediate", "fs", "no file", "dns", "on the pool", "tick in a timer",
		"fs in a timer", "fs in a timer in an immediate", "fs in fs", "fs in a timer in fs",
	};

	forget();
	on_loop(everywhere);
	all_caught(thrown, 12);
	done("N20_error_in_each_kind_of_callback");
}

/* --- sockets --------------------------------------------------------------------------- */

static struct loop_server *server;

static int server_closed(void *unused)
{
	(void)unused;
	return throws("server closed");
}

static int server_data(struct loop_conn *conn, const char *data, size_t bytes, void *unused)
{
	(void)unused;
	loop_write(conn, data, bytes);
	loop_conn_close(conn);
	return throws("server data");
}

static int client_data(struct loop_conn *conn, const char *data, size_t bytes, void *unused)
{
	(void)conn, (void)data, (void)bytes, (void)unused;
	return throws("client data");
}

static int client_close(struct loop_conn *conn, void *unused)
{
	(void)conn, (void)unused;
	loop_server_close(server, server_closed);
	return throws("client close");
}

static int client_open(struct loop_conn *conn, void *unused)
{
	(void)unused;
	loop_write(conn, "hello", 5);
	return throws("client open");
}

static int connection(struct loop_conn *conn, void *unused)
{
	(void)conn, (void)unused;
	return throws("connection");
}

static const struct loop_conn_calls serving = { .open = connection, .data = server_data },
	asking = { .open = client_open, .data = client_data, .close = client_close };

static int listening(void *unused)
{
	(void)unused;
	loop_connect(loop, loop_server_port(server), &asking, NULL);
	return throws("listening");
}

static void net(void)
{
	const struct at_listener_options o = { .error = catches };

	add_key(o, NULL);
	server = loop_listen(loop, listening, &serving, NULL);
	drop_key();
}

static void error_net(void)
{
	static const char *const thrown[] = {
		"listening", "connection", "client open", "server data", "client data", "client close",
		"server closed",
	};

	forget();
	on_loop(net);
	all_caught(thrown, 7);
	done("N20_N52_error_net");
}

static int connection_throws_once(struct loop_conn *conn, void *unused)
{
	(void)unused;
	loop_conn_close(conn);
	loop_server_close(server, NULL);
	return throws("connection");
}

static const struct loop_conn_calls throwing = { .open = connection_throws_once }, silent;

static int connect_silent(void *unused)
{
	(void)unused;
	return loop_connect(loop, loop_server_port(server), &silent, NULL) ? 0 : -1;
}

static void accept_once(void)
{
	const struct at_listener_options o = { .error = catches };

	add_key(o, NULL);
	server = loop_listen(loop, connect_silent, &throwing, NULL);
	drop_key();
}

static void run_error_once(void)
{
	forget();
	on_loop(accept_once);
	check(caught == 1, "%d", caught);
	done("N33_run_error_once");
}

/* --- the context of an error ----------------------------------------------------------- */

static void *wanted_object;
static int intervals;

static bool same_object(void *object, void *value, const struct at_error *error, bool handled)
{
	(void)value, (void)handled;
	say(object == wanted_object && error->context && error->context->object == object ? "same" :
								     "other");
	return true;
}

static int nested_function(void *message)
{
	return throws(message);
}

static int in_a_nested_function(void *message)
{
	return nested_function(message);
}

static struct loop_timer *interval;

static int from_interval(void *message)
{
	loop_timer_stop(interval);
	return throws(message);
}

static int start_interval(void *message)
{
	wanted_object = interval = loop_timer(loop, 1, true, from_interval, message);
	intervals++;
	return 0;
}

static void timer_throws(void)
{
	const struct at_listener_options o = { .error = same_object };

	add_key(o, NULL);
	wanted_object = loop_timer(loop, 1, false, throws, "timer");
	drop_key();
}

static void nested_throws(void)
{
	const struct at_listener_options o = { .error = same_object };

	add_key(o, NULL);
	wanted_object = loop_timer(loop, 1, false, in_a_nested_function, "nested");
	drop_key();
}

static void interval_throws(void)
{
	const struct at_listener_options o = { .error = same_object };

	add_key(o, NULL);
	loop_immediate(loop, start_interval, "interval");
	drop_key();
}

static void error_context(void)
{
	on_loop(timer_throws);
	on_loop(nested_throws);
	on_loop(interval_throws);
	check(said("same same same") && intervals == 1);
	done("N21_error_context");
}

/* --- errors of listeners --------------------------------------------------------------- */

static void throw_value(void *object, void *value)
{
	(void)object;
	at_throw(-1, value);
}

static bool say_message(void *object, void *value, const struct at_error *error, bool handled)
{
	(void)object, (void)value, (void)handled;
	say("error:%s", error->message);
	return true;
}

static int say_ran(void *unused)
{
	(void)unused;
	say("ran");
	return 0;
}

static void tick_with(struct at_listener_options o, const char *data)
{
	struct at_listener *l = listener_of(o, (void *)(uintptr_t)data, ALL);

	at_listener_add(l);
	at_listener_put(l);
}

static void after_throws(void)
{
	const struct at_listener_options o = { .after = throw_value, .error = say_message };

	tick_with(o, "1");
	loop_tick(loop, say_ran, NULL);
}

static void before_throws(void)
{
	const struct at_listener_options o = { .before = throw_value, .error = say_message };

	tick_with(o, "1");
	loop_tick(loop, say_ran, NULL);
}

static void two_before_throw(void)
{
	const struct at_listener_options o = { .before = throw_value, .error = say_message };

	tick_with(o, "1");
	tick_with(o, "2");
	loop_tick(loop, say_ran, NULL);
}

static int befores;

static void count_and_throw(void *object, void *value)
{
	befores++;
	throw_value(object, value);
}

static void before_throws_unheard(void)
{
	const struct at_listener_options o = { .before = count_and_throw };

	tick_with(o, "1");
	loop_tick(loop, say_ran, NULL);
}

static void error_throw_in_callbacks(void)
{
	at_unhandled_set(takes);
	on_loop(after_throws);
	check(said("ran error:1 global:1"));
	done("N29_error_throw_in_after");
	on_loop(before_throws);
	check(said("error:1 global:1"));
	done("N29_error_throw_in_before");
	on_loop(two_before_throw);
	check(said("error:1 error:1 global:1"));
	done("N30_error_throw_in_before_multiple");
	on_loop(before_throws_unheard);
	check(said("global:1") && befores == 1, "%d", befores);
	done("N32_throw_before_infinite_recursion");
	at_unhandled_set(NULL);
}

static bool throw_in_error(void *object, void *value, const struct at_error *error, bool handled)
{
	(void)object, (void)value, (void)error, (void)handled;
	at_throw(-2, "error in error");
}

static void on_exit_say(int status, void *unused)
{
	(void)unused;
	fprintf(stderr, "exit %d\n", status);
}

static bool not_reached(const struct at_error *error)
{
	(void)error;
	fprintf(stderr, "unhandled\n");
	return true;
}

static void error_throws(void)
{
	const struct at_listener_options o = { .error = throw_in_error };

	on_exit(on_exit_say, NULL);
	at_unhandled_set(not_reached);
	tick_with(o, NULL);
	loop_tick(loop, throws, "first");
}

static void child_error_throws(void)
{
	on_loop(error_throws);
}

static void error_throw_in_error(void)
{
	char text[500];
	const int status = in_child_process(child_error_throws, text, sizeof(text));

	check(status == 7 && strstr(text, "exit 7\n") && !strstr(text, "unhandled\n"), "%d: %s", status,
	      text);
	done("N28_error_throw_in_error");
}

/* --- adding and removing --------------------------------------------------------------- */

static int remove_key(void *unused)
{
	(void)unused;
	at_listener_remove(key);
	return 0;
}

static int add_in_tick(void *unused)
{
	(void)unused;
	at_listener_add(key);
	loop_tick(loop, throws, "tick");
	at_listener_remove(key);
	return 0;
}

static int remove_then_throw(void *unused)
{
	(void)unused;
	/*
	 * This also removes the listener from the current context. So the errors go to the handler
	 * of unhandled errors.
	 */
	at_listener_remove(key);
	loop_timer(loop, 1, false, throws, "not caught");
	at_throw(-1, "not caught either");
}

static int add_in_immediate(void *unused)
{
	(void)unused;
	at_listener_add(key);
	loop_immediate(loop, throws, "immediate");
	loop_immediate(loop, remove_then_throw, NULL);
	loop_timer(loop, 1, false, throws, "sibling");
	return 0;
}

static int add_in_timer(void *unused)
{
	(void)unused;
	at_listener_add(key);
	loop_timer(loop, 1, false, remove_key, NULL);
	loop_timer(loop, 2, false, throws, "sibling of the timer that removes");
	return 0;
}

/* Removes the listener in the connection's run. The server's context keeps it. */
static int remove_in_connection(struct loop_conn *conn, const char *data, size_t bytes,
				void *unused)
{
	(void)data, (void)bytes, (void)unused;
	loop_conn_close(conn);
	at_listener_remove(key);
	loop_server_close(server, server_closed);
	loop_tick(loop, throws, "not caught in the connection's stack");
	return 0;
}

static const struct loop_conn_calls removing = { .data = remove_in_connection };

static int data_then_throw(struct loop_conn *conn, const char *data, size_t bytes, void *unused)
{
	(void)data, (void)bytes, (void)unused;
	loop_conn_close(conn);
	loop_server_close(server, NULL);
	at_listener_remove(key);
	loop_tick(loop, throws, "not caught: made after the removal");
	return 0;
}

static int accepted_then_add(struct loop_conn *conn, void *unused)
{
	(void)conn, (void)unused;
	at_listener_add(key);
	loop_immediate(loop, throws, "made in the connection callback");
	return 0;
}

static int write_hello(struct loop_conn *conn, void *unused)
{
	(void)unused;
	return loop_write(conn, "hello", 5);
}

static const struct loop_conn_calls adding = { .open = accepted_then_add, .data = data_then_throw },
	hello = { .open = write_hello };

static int connect_hello(void *unused)
{
	(void)unused;
	return loop_connect(loop, loop_server_port(server), &hello, NULL) ? 0 : -1;
}

static int add_then_listen(void *unused)
{
	(void)unused;
	at_listener_add(key);
	server = loop_listen(loop, connect_hello, &removing, NULL);
	return 0;
}

static int listen_then_add(void *unused)
{
	(void)unused;
	server = loop_listen(loop, connect_hello, &adding, NULL);
	return 0;
}

static int (*programs[])(void *unused) = {
	add_in_tick, add_in_immediate, add_in_timer, add_then_listen, listen_then_add,
};
static unsigned int program;

static void start_program(void)
{
	loop_tick(loop, programs[program], NULL);
}

static void multi_context(void)
{
	/* Numbers of errors that the listener and the handler get */
	static const int want[][2] = { { 1, 0 }, { 2, 2 }, { 1, 0 }, { 1, 1 }, { 1, 1 } };
	const struct at_listener_options o = { .error = catches };

	at_unhandled_set(takes);
	key = listener_of(o, NULL, ALL);
	for (program = 0; program < 5; program++) {
		forget();
		on_loop(start_program);
		check(caught == want[program][0] && unhandled == want[program][1], "%u: %d and %d",
		      program, caught, unhandled);
	}
	at_listener_put(key);
	check(said("global:not caught either global:not caught "
		   "global:not caught in the connection's stack "
		   "global:not caught: made after the removal"));
	at_unhandled_set(NULL);
	done("N45_N46_N50_multi_context");
}

static void *good(void *data, const char *type, void *object)
{
	(void)data, (void)type, (void)object;
	return "good";
}

static int third_level(void *unused)
{
	(void)unused;
	at_listener_remove(key);
	return 0;
}

static int second_level(void *unused)
{
	at_listener_remove(key);
	at_listener_add(key);
	loop_immediate(loop, third_level, unused);
	return 0;
}

static int first_level(void *unused)
{
	at_listener_add(key);
	loop_immediate(loop, second_level, unused);
	return 0;
}

static void start_levels(void)
{
	loop_immediate(loop, first_level, NULL);
}

static void multi_added(void)
{
	const struct at_listener_options o = { .create = good, .after = says.after };

	key = listener_of(o, "bad", ALL);
	on_loop(start_levels);
	check(said("agood agood"));
	at_listener_put(key);
	done("N11_multi_added");
}

static void two_immediates(void)
{
	const struct at_listener_options o = { .error = catches };

	add_key(o, NULL);
	loop_immediate(loop, throws, "first");
	loop_immediate(loop, throws, "second");
	drop_key();
}

static void multi_timeout(void)
{
	forget();
	on_loop(two_immediates);
	check(caught == 2);
	done("N31_multi_timeout");
}

static void remove_add(void *object, void *value)
{
	(void)object, (void)value;
	at_listener_remove(key);
	at_listener_add(key);
}

static void after_42(void *object, void *value)
{
	say_number(object, value);
}

static void *give_42(void *data, const char *type, void *object)
{
	(void)data, (void)type, (void)object;
	return (void *)42;
}

static void tick_removed_and_added(void)
{
	const struct at_listener_options o = { .create = give_42, .before = remove_add,
					       .after = after_42 };

	add_key(o, NULL);
	loop_tick(loop, nothing, NULL);
}

static void only_remove(void *object, void *value)
{
	(void)object, (void)value;
	at_listener_remove(key);
}

static void tick_removed_in_before(void)
{
	struct at_listener_options o = says;

	o.before = only_remove;
	add_key(o, "A");
	loop_tick(loop, nothing, NULL);
}

static void removed_at_once(void)
{
	add_key(says, "A");
	drop_key();
	loop_tick(loop, nothing, NULL);
}

static void removed_in_flight(void)
{
	add_key(says, "A");
	loop_tick(loop, nothing, NULL);
	drop_key();
}

static void removed_in_flight_error(void)
{
	add_key(says, "A");
	loop_tick(loop, throws, "why");
	drop_key();
}

static void removing_tests(void)
{
	on_loop(tick_removed_and_added);
	check(said("42"));
	at_listener_put(key);
	done("N15_remove_add_in_before");
	on_loop(removed_at_once);
	check(said(""));
	done("N48_remove_before");
	on_loop(tick_removed_in_before);
	check(said("cA aA dA"));
	at_listener_put(key);
	done("N51_remove_in_before");
	on_loop(removed_in_flight);
	check(said("cA bA aA dA"));
	done("N46_remove_inflight");
	at_unhandled_set(takes);
	on_loop(removed_in_flight_error);
	check(said("cA bA eA global:why dA"));
	at_unhandled_set(NULL);
	done("N27_remove_inflight_error");
}

/* --- once per event -------------------------------------------------------------------- */

static int add_and_tick(void *levels)
{
	at_listener_add(key);
	if (levels)
		loop_tick(loop, add_and_tick, (void *)((intptr_t)levels - 1));
	return 0;
}

static void ticks_at_three_levels(void)
{
	const struct at_listener_options o = { .create = says.create };

	add_key(o, "");
	loop_tick(loop, add_and_tick, (void *)3);
}

static void run_inst_once(void)
{
	on_loop(ticks_at_three_levels);
	check(said("c c c c"));
	at_listener_put(key);
	done("N42_run_inst_once");
}

int main(void)
{
	error_multiple();
	error();
	error_net();
	run_error_once();
	error_context();
	error_throw_in_callbacks();
	error_throw_in_error();
	multi_context();
	multi_added();
	multi_timeout();
	removing_tests();
	run_inst_once();
	return finish();
}
