// SPDX-License-Identifier: GPL-2.0
/*
 * Checks what the example server would trace:
 *
 *   - each async id has one begin, on the accept thread, and one end, on a
 *     worker; instants only in between;
 *   - each flow id has one begin, on the accept thread, and one end, on a
 *     worker; steps only in between; each of the three inside a duration;
 *   - a flow ends inside the duration in which the request ends, and any duration with a flow
 *     event also has an event of a request;
 *   - durations end in the reverse order of their beginnings, thread by thread;
 *   - a counter goes in steps of one, never below zero, and ends at zero.
 *
 * At exit it prints the number of each kind of event to standard error, and how many requests ended
 * with which status. A violation makes the exit status 99.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <asynctrace/trace.h>

#define NAMES_MAX	8
#define DEPTH_MAX	16

struct track {
	uint64_t id;
	bool flow;
	int begins, ends;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last_id, scopes, errors;
static uint64_t counts[STANDIN_COUNTER + 1];
static uint64_t statuses[600];
static struct track *table;
static size_t table_size, table_used;
static struct {
	const char *name;
	int64_t value;
} counters[NAMES_MAX];

static __thread const char *stack[DEPTH_MAX];
static __thread int depth;
static __thread uint64_t outermost;
static __thread bool flow_seen, async_seen;	/* in the outermost duration */
/*
 * Number of the outermost duration in which a flow last ended on this thread. The end of its
 * request must follow in the same one, and sets this to 0.
 */
static __thread uint64_t flow_ended_in;

__attribute__((format(printf, 1, 2)))
static void wrong(const char *format, ...)
{
	va_list args;

	if (errors++ >= 20)
		return;
	fputs("trace-check: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

static struct track *slot(struct track *in, size_t size, uint64_t id)
{
	size_t i = id * 0x9e3779b97f4a7c15u >> 20;

	while (in[i & (size - 1)].id && in[i & (size - 1)].id != id)
		i++;
	return &in[i & (size - 1)];
}

static struct track *find(uint64_t id)
{
	struct track *t;

	if (table_used * 2 >= table_size) {
		size_t size = table_size ? table_size * 2 : 1024;
		struct track *bigger = calloc(size, sizeof(*bigger));

		if (!bigger)
			abort();
		for (size_t i = 0; i < table_size; i++)
			if (table[i].id)
				*slot(bigger, size, table[i].id) = table[i];
		free(table);
		table = bigger;
		table_size = size;
	}
	t = slot(table, table_size, id);
	if (!t->id) {
		t->id = id;
		table_used++;
	}
	return t;
}

uint64_t standin_id(void)
{
	uint64_t id;

	pthread_mutex_lock(&lock);
	id = ++last_id;
	pthread_mutex_unlock(&lock);
	return id;
}

static bool on_thread(const char *prefix)
{
	char name[16] = "";

	pthread_getname_np(pthread_self(), name, sizeof(name));
	return !strncmp(name, prefix, strlen(prefix));
}

static void check_args(const char *name, int nargs, const struct standin_arg *args)
{
	if (nargs > 15)
		wrong("%s: %d arguments", name, nargs);
	for (int i = 0; i < nargs; i++)
		if (!args[i].key[0] || !args[i].value.type ||
		    (args[i].value.type == STANDIN_STRING && !args[i].value.s))
			wrong("%s: argument %d is none", name, i);
}

static void check_counter(const char *name, int nargs, const struct standin_arg *args)
{
	int64_t now;
	int i = 0;

	if (nargs != 1 || args[0].value.type != STANDIN_I32) {
		wrong("counter %s: one TA_INT32 expected", name);
		return;
	}
	while (i < NAMES_MAX && counters[i].name && strcmp(counters[i].name, name))
		i++;
	if (i == NAMES_MAX) {
		wrong("counter %s: too many counters", name);
		return;
	}
	counters[i].name = name;
	now = args[0].value.i;
	if (now < 0 || (now != counters[i].value + 1 && now != counters[i].value - 1))
		wrong("counter %s: from %ld to %ld", name, (long)counters[i].value, (long)now);
	counters[i].value = now;
}

static void check_status(int nargs, const struct standin_arg *args)
{
	if (nargs != 2 || strcmp(args[0].key, "status") || args[0].value.type != STANDIN_I32 ||
	    strcmp(args[1].key, "bytes") || args[1].value.type != STANDIN_U64)
		wrong("a request's end needs status and bytes");
	else if (args[0].value.i < 200 || args[0].value.i > 599)
		wrong("a request ended with status %ld", (long)args[0].value.i);
	else
		statuses[args[0].value.i]++;
}

static void check_track(enum standin_kind kind, const char *name, uint64_t id, bool flow)
{
	bool begins = kind == STANDIN_ASYNC_BEGIN || kind == STANDIN_FLOW_BEGIN;
	bool ends = kind == STANDIN_ASYNC_END || kind == STANDIN_FLOW_END;
	struct track *t;

	if (!id) {
		wrong("%s: id 0", name);
		return;
	}
	t = find(id);
	if (begins)
		t->flow = flow;
	if (t->begins != !begins || t->ends)
		wrong("%s %lu: kind %d after %d begins and %d ends", name, (unsigned long)id,
		      kind, t->begins, t->ends);
	if (t->flow != flow)
		wrong("%s %lu: both an async id and a flow id", name, (unsigned long)id);
	if (flow && !depth)
		wrong("%s %lu: flow event of kind %d outside of a duration", name,
		      (unsigned long)id, kind);
	if (begins && !on_thread("accept"))
		wrong("%s %lu: does not begin on the accept thread", name, (unsigned long)id);
	if (ends && !on_thread("worker-"))
		wrong("%s %lu: does not end on a worker", name, (unsigned long)id);
	t->begins += begins;
	t->ends += ends;
}

void standin_event(enum standin_kind kind, const char *category, const char *name, uint64_t id,
		   int nargs, const struct standin_arg *args)
{
	bool flow = kind >= STANDIN_FLOW_BEGIN && kind <= STANDIN_FLOW_END;

	pthread_mutex_lock(&lock);
	counts[kind]++;
	if (strcmp(category, "http"))
		wrong("%s: category %s", name, category);
	check_args(name, nargs, args);
	if (kind == STANDIN_COUNTER)
		check_counter(name, nargs, args);
	else
		check_track(kind, name, id, flow);
	flow_seen |= flow;
	async_seen |= kind <= STANDIN_ASYNC_END;
	if (kind == STANDIN_FLOW_END)
		flow_ended_in = outermost;
	if (kind == STANDIN_ASYNC_END) {
		check_status(nargs, args);
		if (!depth || flow_ended_in != outermost)
			wrong("request %lu: its flow did not end in its last duration",
			      (unsigned long)id);
		flow_ended_in = 0;
	}
	pthread_mutex_unlock(&lock);
}

struct standin_scope standin_enter(const char *category, const char *name,
				   int nargs, const struct standin_arg *args)
{
	struct standin_scope scope = { name, depth };

	pthread_mutex_lock(&lock);
	scopes++;
	if (!depth) {
		outermost = scopes;
		flow_seen = async_seen = false;
	}
	if (strcmp(category, "http"))
		wrong("%s: category %s", name, category);
	check_args(name, nargs, args);
	pthread_mutex_unlock(&lock);
	if (depth == DEPTH_MAX)
		abort();
	stack[depth++] = name;
	return scope;
}

void standin_leave(struct standin_scope *scope)
{
	depth--;
	pthread_mutex_lock(&lock);
	if (depth != scope->depth || stack[depth] != scope->name)
		wrong("%s: ends before what it encloses", scope->name);
	if (!depth && flow_seen && !async_seen)
		wrong("%s: a flow event, but no event of a request", scope->name);
	pthread_mutex_unlock(&lock);
}

__attribute__((destructor))
static void report(void)
{
	if (!scopes)
		return;		/* The server never ran: --help, or a wrong option */
	for (size_t i = 0; i < table_size; i++)
		if (table[i].id && (table[i].begins != 1 || table[i].ends != 1))
			wrong("%s %lu: %d begins, %d ends", table[i].flow ? "flow" : "request",
			      (unsigned long)table[i].id, table[i].begins, table[i].ends);
	for (int i = 0; i < NAMES_MAX; i++)
		if (counters[i].value)
			wrong("counter %s ends at %ld", counters[i].name, (long)counters[i].value);
	if (counts[STANDIN_ASYNC_BEGIN] != counts[STANDIN_FLOW_BEGIN])
		wrong("not one flow per request");
	fprintf(stderr, "trace-check: %lu begun, %lu ended, %lu instants, %lu steps, %lu durations, "
		"%lu counts, %lu errors\nstatuses:",
		(unsigned long)counts[STANDIN_ASYNC_BEGIN],
		(unsigned long)counts[STANDIN_ASYNC_END],
		(unsigned long)counts[STANDIN_ASYNC_INSTANT],
		(unsigned long)counts[STANDIN_FLOW_STEP],
		(unsigned long)scopes, (unsigned long)counts[STANDIN_COUNTER],
		(unsigned long)errors);
	for (int i = 0; i < 600; i++)
		if (statuses[i])
			fprintf(stderr, " %d=%lu", i, (unsigned long)statuses[i]);
	fputc('\n', stderr);
	free(table);
	if (errors) {
		fflush(NULL);
		_exit(99);
	}
}
