// SPDX-License-Identifier: GPL-2.0
/*
 * A server on the example loop that keeps each request in local storage. A request arrives at a
 * socket and passes through a timer, the pool, an immediate and a tick. Each callback may fail in
 * one of three ways.
 *
 * REQUESTS=N sets the number of requests. KT_SEED=N repeats the errors of a run.
 */
#include <stdlib.h>
#include <string.h>

#include <asynctrace/local.h>

#include "cast.h"
#include "loop.h"

#define CLIENTS		32

struct request {
	uint64_t id;
	struct loop_conn *conn;
};

/* An end of a connection, of the client or of the server */
struct end {
	uint64_t id;
	char bytes[sizeof(uint64_t)];
	size_t got;
};

static struct loop *loop;
static struct loop_server *server;
static struct at_local *local;
static uint64_t asked, answered, to_ask;
static unsigned int open_clients;

static uint64_t made, released, creates, destroys, befores, afters, thrown, reported, wrong, runs;

#define COUNT(n) __atomic_fetch_add(&(n), 1, __ATOMIC_RELAXED)

/* The request whose callback is about to fail */
static __thread struct request *failing;

static void expect(bool ok, const char *where)
{
	if (!ok && COUNT(wrong) < 10)
		printf("# wrong store: %s\n", where);
}

static uint32_t first_seed, threads;

static uint32_t some(uint32_t n)
{
	static __thread uint32_t state;

	if (!state)
		state = (first_seed + __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED)) | 1;
	return rnd(&state, n);
}

/* Fails at random, in one of three ways. */
static int perhaps_fail(struct request *r)
{
	switch (some(16)) {
	case 0:
		failing = r;
		COUNT(thrown);
		at_throw(-1, "thrown");
	case 1:
		failing = r;
		COUNT(thrown);
		at_context_fail(-2, "reported");
		return 0;
	case 2:
		failing = r;
		COUNT(thrown);
		return -3;
	default:
		return 0;
	}
}

/* --- the listener, whose value is the request ------------------------------------------ */

static void *on_create(void *data, const char *type, void *object)
{
	(void)data, (void)type, (void)object;
	COUNT(creates);
	return at_local_get(local);
}

static void on_before(void *object, void *value)
{
	(void)object;
	COUNT(befores);
	expect(value == at_local_get(local), "before");
}

static void on_after(void *object, void *value)
{
	(void)object;
	COUNT(afters);
	expect(value == at_local_get(local), "after");
}

static bool on_error(void *object, void *value, const struct at_error *error, bool handled)
{
	(void)object, (void)value, (void)error, (void)handled;
	COUNT(reported);
	expect(failing == at_local_get(local), "error");
	failing = NULL;
	return true;
}

static void on_destroy(void *object, void *value)
{
	(void)object, (void)value;
	COUNT(destroys);
}

/* --- the server ------------------------------------------------------------------------ */

static int in_request(struct request *r, const char *where)
{
	COUNT(runs);
	expect(at_local_get(local) == r, where);
	return perhaps_fail(r);
}

static int reply(void *arg)
{
	struct request *r = arg;

	loop_write(r->conn, &r->id, sizeof(r->id));
	return in_request(r, "tick");
}

static int then_tick(void *r)
{
	loop_tick(loop, reply, r);
	return in_request(r, "immediate");
}

static int worked(void *r)
{
	loop_immediate(loop, then_tick, r);
	return in_request(r, "after the pool");
}

static int work(void *r)
{
	return in_request(r, "pool");
}

static int then_work(void *r)
{
	loop_work(loop, ASYNCTRACE_ASYNC_USER, work, worked, r);
	return in_request(r, "timer");
}

static int serve(void *arg)
{
	loop_timer(loop, 0, false, then_work, arg);
	return in_request(arg, "request");
}

static void release(void *value)
{
	COUNT(released);
	free(value);
}

static struct end *end_of(struct loop_conn *conn)
{
	struct end *e = loop_conn_user(conn);

	if (!e) {
		e = calloc(1, sizeof(*e));
		if (!e)
			abort();
		loop_conn_set(conn, e);
	}
	return e;
}

/* Takes bytes of a number from @data. Returns true if the number is complete. */
static bool number(struct end *e, const char **data, size_t *bytes)
{
	while (*bytes && e->got < sizeof(e->bytes)) {
		e->bytes[e->got++] = *(*data)++;
		(*bytes)--;
	}
	if (e->got < sizeof(e->bytes))
		return false;
	e->got = 0;
	return true;
}

static int server_data(struct loop_conn *conn, const char *data, size_t bytes, void *unused)
{
	struct end *e = end_of(conn);

	(void)unused;
	expect(!at_local_get(local), "server");
	while (number(e, &data, &bytes)) {
		struct request *r = malloc(sizeof(*r));

		if (!r)
			abort();
		memcpy(&r->id, e->bytes, sizeof(r->id));
		r->conn = conn;
		made++;
		if (at_local_run(local, r, serve, r) == -3) {
			/* Now this callback, which belongs to no request, fails with the error. */
			failing = NULL;
			return -3;
		}
		expect(!at_local_get(local), "server, after a request");
	}
	return 0;
}

static int gone(struct loop_conn *conn, void *unused)
{
	(void)unused;
	free(loop_conn_user(conn));
	return 0;
}

static int client_gone(struct loop_conn *conn, void *unused)
{
	if (!--open_clients)
		loop_server_close(server, NULL);
	return gone(conn, unused);
}

/* --- clients --------------------------------------------------------------------------- */

static int ask(struct loop_conn *conn, void *unused)
{
	struct end *e = end_of(conn);

	(void)unused;
	if (asked == to_ask) {
		loop_conn_close(conn);
		return 0;
	}
	e->id = ++asked;
	return loop_write(conn, &e->id, sizeof(e->id));
}

static int client_data(struct loop_conn *conn, const char *data, size_t bytes, void *unused)
{
	struct end *e = end_of(conn);
	uint64_t id;

	while (number(e, &data, &bytes)) {
		memcpy(&id, e->bytes, sizeof(id));
		expect(id == e->id, "reply");
		answered++;
		ask(conn, unused);
	}
	return perhaps_fail(NULL);
}

int main(void)
{
	static const struct loop_conn_calls serving = { .data = server_data, .close = gone },
		asking = { .open = ask, .data = client_data, .close = client_gone };
	const struct at_local_options lo = { .size = sizeof(lo), .release = release };
	const struct at_listener_options o = {
		.create = on_create, .before = on_before, .after = on_after, .error = on_error,
		.destroy = on_destroy,
	};
	struct at_listener *l = listener_of(o, NULL, ALL);

	first_seed = seed();
	to_ask = scale("REQUESTS", 20000);
	loop = loop_new();
	at_local_new(&local, &lo);
	at_listener_add(l);
	server = loop_listen(loop, NULL, &serving, NULL);
	for (int i = 0; i < CLIENTS; i++)
		open_clients += !!loop_connect(loop, loop_server_port(server), &asking, NULL);
	at_listener_put(l);
	loop_run(loop);
	loop_free(loop);
	at_local_put(local);
	printf("# %lu requests, %lu callbacks, %lu errors\n", answered, befores, thrown);
	check(answered == to_ask && made == to_ask && open_clients == 0, "%lu %lu", answered, made);
	check(!wrong && !at_context_misuses(), "%lu wrong, %lu misused", wrong, at_context_misuses());
	done("H9_requests_keep_their_stores_with_errors");
	check(reported == thrown && thrown > to_ask / 16, "%lu of %lu", reported, thrown);
	done("N33_each_injected_error_is_reported_once");
	check(creates == destroys, "%lu, %lu", creates, destroys);
	check(released == made, "%lu of %lu", released, made);
	check(runs == 6 * to_ask, "%lu", runs);
	/* A run with an error has no after(), also if at_context_fail() reported the error. */
	check(befores == afters + thrown, "%lu, %lu, %lu", befores, afters, thrown);
	done("H2_each_context_is_destroyed_once");
	return finish();
}
