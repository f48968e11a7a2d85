// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the number of contexts of each type that the example loop makes, as in Node's
 * test-asynclistener.js, but with exact numbers. Tests of the objects that create() gets.
 */
#include <string.h>
#include <unistd.h>

#include "cast.h"
#include "loop.h"

static struct loop *loop;
static struct loop_server *server;
static struct at_listener *key;

static void on_loop(void (*program)(void))
{
	loop = loop_new();
	program();
	loop_run(loop);
	loop_free(loop);
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

static int write_hello(struct loop_conn *conn, void *unused)
{
	(void)unused;
	return loop_write(conn, "hello", 5);
}

static const struct loop_conn_calls hello = { .open = write_hello };

static int connect_hello(void *unused)
{
	(void)unused;
	return loop_connect(loop, loop_server_port(server), &hello, NULL) ? 0 : -1;
}

/* --- counts ---------------------------------------------------------------------------- */

static struct {
	const char *type;
	int creates;
} counts[10];

static void *count(void *data, const char *type, void *object)
{
	unsigned int i = 0;

	(void)data, (void)object;
	while (counts[i].type && strcmp(counts[i].type, type))
		i++;
	counts[i].type = type;
	counts[i].creates++;
	return ASYNCTRACE_KEEP;
}

static int created(const char *type)
{
	for (unsigned int i = 0; i < 10 && counts[i].type; i++)
		if (!strcmp(counts[i].type, type))
			return counts[i].creates;
	return 0;
}

static struct loop_timer *some_intervals[3];

static int stop_interval(void *number)
{
	loop_timer_stop(some_intervals[(intptr_t)number]);
	return 0;
}

static int chain_interval(void *unused)
{
	(void)unused;
	some_intervals[2] = loop_timer(loop, 1, true, stop_interval, (void *)2);
	return 0;
}

static int chain_immediate(void *unused)
{
	return loop_immediate(loop, chain_interval, unused) ? 0 : -1;
}

static int chain_timeout(void *unused)
{
	return loop_timer(loop, 1, false, chain_immediate, unused) ? 0 : -1;
}

static int just_timeout(void *unused)
{
	(void)unused;
	return loop_timer(loop, 1, false, nothing, NULL) ? 0 : -1;
}

static int immediate_then_timeout(void *unused)
{
	return loop_immediate(loop, just_timeout, unused) ? 0 : -1;
}

static void eight_objects(void)
{
	const struct at_listener_options o = { .create = count };

	add_key(o, NULL);
	for (intptr_t i = 0; i < 2; i++) {
		some_intervals[i] = loop_timer(loop, 1, true, stop_interval, (void *)i);
		loop_timer(loop, 1, false, nothing, NULL);
		loop_immediate(loop, nothing, NULL);
		loop_timer(loop, 2, false, nothing, NULL);
	}
	drop_key();
}

static void chains(void)
{
	const struct at_listener_options o = { .create = count };

	add_key(o, NULL);
	loop_tick(loop, chain_timeout, NULL);
	loop_tick(loop, immediate_then_timeout, NULL);
	drop_key();
}

static int stat_again(void *unused)
{
	(void)unused;
	return loop_stat(loop, "/", nothing, NULL);
}

static void files(void)
{
	const struct at_listener_options o = { .create = count };

	add_key(o, NULL);
	loop_stat(loop, "/", stat_again, NULL);
	drop_key();
}

static int close_all(struct loop_conn *conn, const char *data, size_t bytes, void *unused)
{
	(void)data, (void)bytes, (void)unused;
	loop_conn_close(conn);
	loop_server_close(server, NULL);
	return 0;
}

static const struct loop_conn_calls closing = { .data = close_all };

static void sockets(void)
{
	const struct at_listener_options o = { .create = count };

	add_key(o, NULL);
	server = loop_listen(loop, connect_hello, &closing, NULL);
	drop_key();
}

static struct loop_udp *udp[2];

static int got_message(struct loop_udp *from, const char *data, size_t bytes, void *unused)
{
	(void)from, (void)unused;
	check(bytes == 5 && !memcmp(data, "hello", 5));
	loop_udp_close(udp[0]);
	loop_udp_close(udp[1]);
	return 0;
}

static int send_message(void *unused)
{
	(void)unused;
	return loop_udp_send(udp[0], loop_udp_port(udp[1]), "hello", 5);
}

static void datagrams(void)
{
	const struct at_listener_options o = { .create = count };

	add_key(o, NULL);
	for (int i = 0; i < 2; i++)
		udp[i] = loop_udp(loop, got_message, NULL);
	loop_tick(loop, send_message, NULL);
	drop_key();
}

static void asynclistener(void)
{
	static const struct {
		void (*program)(void);
		int timer, tick, fs, pool, tcp, udp;
	} tests[] = {
		{ eight_objects, 8, 0, 0, 0, 0, 0 },
		{ chains, 5, 2, 0, 0, 0, 0 },
		{ files, 0, 0, 2, 2, 0, 0 },
		{ sockets, 0, 1, 0, 0, 3, 0 },
		{ datagrams, 0, 1, 0, 0, 0, 2 },
	};

	for (unsigned int i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		memset(counts, 0, sizeof(counts));
		on_loop(tests[i].program);
		check(created("TIMER") == tests[i].timer && created("NEXTTICK") == tests[i].tick &&
		      created("FS") == tests[i].fs && created("THREADPOOL") == tests[i].pool &&
		      created("TCP") == tests[i].tcp && created("UDP") == tests[i].udp,
		      "%u: %d %d %d %d %d %d", i, created("TIMER"), created("NEXTTICK"), created("FS"),
		      created("THREADPOOL"), created("TCP"), created("UDP"));
	}
	done("N44_N47_asynclistener_counts_each_type");
}

/* --- create() sees a whole object ------------------------------------------------------ */

static int conns, messages;

/* Uses the object as a program may do after it was made. The first TCP object is the server. */
static void *use(void *data, const char *type, void *object)
{
	(void)data;
	if (!strcmp(type, "UDP")) {
		check(loop_udp_port(object));
		check(!loop_udp_send(object, loop_udp_port(object), "hello", 5));
	} else if (!strcmp(type, "TIMER")) {
		loop_immediate_cancel(object);
	} else if (!strcmp(type, "TCP") && !server) {
		server = object;
		check(loop_server_port(object));
	} else if (!strcmp(type, "TCP")) {
		check(!loop_conn_user(object));
		loop_conn_set(object, server);
		/* Both ends send these bytes when the connection is made. */
		check(!loop_write(object, "hello", 5));
		conns++;
	} else if (!strcmp(type, "PIPE")) {
		loop_server_close(object, NULL);
	}
	say("%s", type);
	return ASYNCTRACE_KEEP;
}

static int never(void *unused)
{
	(void)unused;
	check(false, "a cancelled immediate was called");
	return 0;
}

static int connect_only(void *unused)
{
	static const struct loop_conn_calls none;

	(void)unused;
	return loop_connect(loop, loop_server_port(server), &none, NULL) ? 0 : -1;
}

static int got_hello(struct loop_conn *conn, const char *data, size_t bytes, void *unused)
{
	(void)unused;
	check(loop_conn_user(conn) == server && bytes == 5 && !memcmp(data, "hello", 5));
	say("data");
	loop_conn_close(conn);
	loop_server_close(server, NULL);
	return 0;
}

static int got_own(struct loop_udp *from, const char *data, size_t bytes, void *unused)
{
	(void)unused;
	check(bytes == 5 && !memcmp(data, "hello", 5));
	messages++;
	loop_udp_close(from);
	return 0;
}

static void objects_in_create(void)
{
	static const struct loop_conn_calls calls = { .data = got_hello };
	const struct at_listener_options o = { .create = use };
	char path[64];

	server = NULL;
	snprintf(path, sizeof(path), "/tmp/test_counts.%d", getpid());
	add_key(o, NULL);
	loop_immediate(loop, never, NULL);
	loop_udp(loop, got_own, NULL);
	loop_listen(loop, connect_only, &calls, NULL);
	loop_listen_path(loop, path, NULL, &calls, NULL);
	drop_key();
	check(said("TIMER UDP TCP NEXTTICK PIPE"));
}

static void create_context_check(void)
{
	on_loop(objects_in_create);
	/* The client, and the connection that the server accepts */
	check(conns == 2 && messages == 1 && said("TCP TCP data"));
	done("N5_create_context_check");
}

int main(void)
{
	asynclistener();
	create_context_check();
	return finish();
}
