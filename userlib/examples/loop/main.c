// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * loop EXAMPLE: runs an example from the documentation of Node's AsyncListener, on this loop
 *
 *	errors		a listener handles an error in a tick
 *	masks		a listener of timers is called for timers that a file operation made
 *	below		a listener of sockets handles an error in a file operation that a socket's
 *			callback has started
 *	removed		a removed listener is still called for contexts that had inherited it
 *	unhandled	an error that no listener handles; a function of on_exit(3) sees the status
 *	locals		local storage: each request's user, in timers, pool work and ticks
 *
 * With ASYNCTRACE_OUT=trace.fxt, the example also writes a trace: see asynctrace report tree.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <asynctrace/listener.h>
#include <asynctrace/local.h>

#include "loop.h"

static struct loop *loop;

/* Ends the program if @err is a negative errno. */
static void must(int err)
{
	if (err >= 0)
		return;
	fprintf(stderr, "loop: %s\n", strerror(-err));
	exit(2);
}

/* Ends the program if @made is NULL, which sets errno. */
static void must_have(const void *made)
{
	if (!made)
		must(-errno);
}

static struct at_listener *listen_to(struct at_listener_options *options, void *data,
				     uint32_t providers)
{
	struct at_listener *listener;

	options->size = sizeof(*options);
	must(at_listener_new(&listener, options, data, providers));
	return listener;
}

static int nothing(void *unused)
{
	(void)unused;
	return 0;
}

/* --- errors ---------------------------------------------------------------------------- */

static void *number(void *counter, const char *type, void *object)
{
	(void)type, (void)object;
	return (void *)(intptr_t)(*(int *)counter)++;
}

static void about_to_run(void *object, void *uid)
{
	(void)object;
	printf("uid: %d is about to run\n", (int)(intptr_t)uid);
}

static void ran(void *object, void *uid)
{
	(void)object;
	printf("uid: %d ran\n", (int)(intptr_t)uid);
}

static bool handle_known(void *object, void *uid, const struct at_error *error, bool handled)
{
	(void)object, (void)uid, (void)handled;
	if (!error->message || strcmp(error->message, "everything is fine"))
		return false;
	printf("handled error just threw:\nError: %s\n", error->message);
	return true;
}

static int throw_fine(void *unused)
{
	(void)unused;
	at_throw(-1, "everything is fine");
}

static void errors(void)
{
	static int counter;
	struct at_listener *l = listen_to(&(struct at_listener_options){
		.create = number, .before = about_to_run, .after = ran, .error = handle_known,
	}, &counter, ASYNCTRACE_ASYNC_ALL);

	must(at_listener_add(l));
	must(loop_tick(loop, throw_fine, NULL));
	at_listener_remove(l);
	at_listener_put(l);
}

/* --- masks ----------------------------------------------------------------------------- */

static void *say_type(void *data, const char *type, void *object)
{
	(void)data, (void)object;
	printf("create: %s\n", type);
	return ASYNCTRACE_KEEP;
}

static int start_timer(void *unused)
{
	(void)unused;
	return loop_timer(loop, 1, false, nothing, NULL) ? 0 : -errno;
}

static int start_stat(void *unused)
{
	(void)unused;
	return loop_stat(loop, "/", start_timer, NULL);
}

static void masks(void)
{
	struct at_listener *l = listen_to(&(struct at_listener_options){ .create = say_type }, NULL,
					  ASYNCTRACE_ASYNC_TIMER);

	must(at_listener_add(l));
	must_have(loop_immediate(loop, start_stat, NULL));
	at_listener_put(l);
}

/* --- below ----------------------------------------------------------------------------- */

static struct loop_server *server;
static struct loop_conn *client;

static bool handle_all(void *object, void *value, const struct at_error *error, bool handled)
{
	(void)object, (void)value, (void)handled;
	printf("caught: %s\n", error->message);
	return true;
}

static int throw_from_fs(void *unused)
{
	(void)unused;
	loop_server_close(server, NULL);
	if (client)
		loop_conn_close(client);
	at_throw(-1, "from fs");
}

/* The client is freed after it has received the end of the server's connection. */
static int client_closed(struct loop_conn *conn, void *unused)
{
	(void)conn, (void)unused;
	client = NULL;
	return 0;
}

static int accepted(struct loop_conn *conn, void *unused)
{
	(void)unused;
	loop_conn_close(conn);
	return loop_stat(loop, "/", throw_from_fs, NULL);
}

static void below(void)
{
	static const struct loop_conn_calls serve = { .open = accepted };
	static const struct loop_conn_calls forget = { .close = client_closed };
	struct at_listener *l = listen_to(&(struct at_listener_options){ .error = handle_all },
					  NULL, ASYNCTRACE_ASYNC_TCP);

	must(at_listener_add(l));
	server = loop_listen(loop, NULL, &serve, NULL);
	must_have(server);
	at_listener_remove(l);
	client = loop_connect(loop, loop_server_port(server), &forget, NULL);
	must_have(client);
	at_listener_put(l);
}

/* --- removed --------------------------------------------------------------------------- */

static struct at_listener *summoned;

static void *summon(void *data, const char *type, void *object)
{
	(void)data, (void)object;
	printf("You summoned me? %s\n", type);
	return ASYNCTRACE_KEEP;
}

static int then_tick(void *unused)
{
	(void)unused;
	return loop_tick(loop, nothing, NULL);
}

static int then_immediate(void *unused)
{
	(void)unused;
	return loop_immediate(loop, then_tick, NULL) ? 0 : -errno;
}

static int add_and_remove(void *unused)
{
	(void)unused;
	must(at_listener_add(summoned));
	must_have(loop_timer(loop, 1, false, then_immediate, NULL));
	at_listener_remove(summoned);
	at_listener_put(summoned);
	return 0;
}

static void removed(void)
{
	summoned = listen_to(&(struct at_listener_options){ .create = summon }, NULL,
			     ASYNCTRACE_ASYNC_ALL);
	must_have(loop_timer(loop, 100, false, add_and_remove, NULL));
}

/* --- unhandled ------------------------------------------------------------------------- */

static void at_end(int status, void *unused)
{
	(void)unused;
	printf("exit with status %d\n", status);
}

static bool handle_expected(void *object, void *value, const struct at_error *error, bool handled)
{
	(void)object, (void)value, (void)handled;
	return error->message && !strcmp(error->message, "expected message");
}

static int throw_random(void *unused)
{
	(void)unused;
	at_throw(-1, "random message");
}

static void unhandled(void)
{
	struct at_listener *l = listen_to(&(struct at_listener_options){ .error = handle_expected },
					  NULL, ASYNCTRACE_ASYNC_ALL);

	if (on_exit(at_end, NULL))
		must(-ENOMEM);
	must(at_listener_add(l));
	must(loop_tick(loop, throw_random, NULL));
	at_listener_put(l);
}

/* --- locals ---------------------------------------------------------------------------- */

static struct at_local *user;

static int say_user(void *where)
{
	printf("%s: %s\n", (const char *)where, (const char *)at_local_get(user));
	return 0;
}

static int in_pool(void *unused)
{
	(void)unused;
	return say_user("pool");
}

static int after_pool(void *unused)
{
	(void)unused;
	say_user("after the pool's work");
	return loop_tick(loop, say_user, "tick");
}

static int in_timer(void *unused)
{
	(void)unused;
	say_user("timer");
	return loop_work(loop, ASYNCTRACE_ASYNC_USER, in_pool, after_pool, NULL);
}

static int request(void *ms)
{
	return loop_timer(loop, *(unsigned int *)ms, false, in_timer, NULL) ? 0 : -errno;
}

static void locals(void)
{
	must(at_local_new(&user, NULL));
	must(at_local_run(user, "alice", request, &(unsigned int){ 1 }));
	must(at_local_run(user, "bob", request, &(unsigned int){ 100 }));
}

/* --------------------------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} examples[] = {
		{ "errors", errors }, { "masks", masks }, { "below", below }, { "removed", removed },
		{ "unhandled", unhandled }, { "locals", locals },
	};
	const unsigned int n = sizeof(examples) / sizeof(examples[0]);
	unsigned int i = 0;

	while (argc == 2 && i < n && strcmp(argv[1], examples[i].name))
		i++;
	if (argc != 2 || i == n) {
		fprintf(stderr, "usage: loop errors|masks|below|removed|unhandled|locals\n");
		return 2;
	}
	loop = loop_new();
	if (!loop) {
		perror("loop");
		return 2;
	}
	examples[i].run();
	loop_run(loop);
	loop_free(loop);
	at_local_put(user);
	return 0;
}
