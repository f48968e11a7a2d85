// SPDX-License-Identifier: GPL-2.0
/* Listeners that write their calls to a journal, and child processes */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cast.h"

static char journal[4096];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void say(const char *format, ...)
{
	va_list list;
	size_t n;

	pthread_mutex_lock(&lock);
	n = strlen(journal);
	if (n && n < sizeof(journal) - 1)
		journal[n++] = ' ';
	va_start(list, format);
	vsnprintf(journal + n, sizeof(journal) - n, format, list);
	va_end(list);
	pthread_mutex_unlock(&lock);
}

bool said_(const char *text, int line)
{
	const bool same = !strcmp(journal, text);

	if (!same)
		printf("# line %d: said \"%s\"\n", line, journal);
	*journal = '\0';
	return same;
}

static void *create(void *data, const char *type, void *object)
{
	(void)type, (void)object;
	say("c%s", (const char *)data);
	return ASYNCTRACE_KEEP;
}

static void before(void *object, void *value)
{
	(void)object;
	say("b%s", (const char *)value);
}

static void after(void *object, void *value)
{
	(void)object;
	say("a%s", (const char *)value);
}

static void destroy(void *object, void *value)
{
	(void)object;
	say("d%s", (const char *)value);
}

static bool fails(void *object, void *value, const struct at_error *error, bool handled)
{
	(void)object, (void)error, (void)handled;
	say("e%s", (const char *)value);
	return false;
}

bool says_handled(void *object, void *value, const struct at_error *error, bool handled)
{
	fails(object, value, error, handled);
	return true;
}

const struct at_listener_options says = {
	.size = sizeof(says), .create = create, .before = before, .after = after, .error = fails,
	.destroy = destroy,
};

struct at_listener *listener_of(struct at_listener_options o, void *data, uint32_t providers)
{
	struct at_listener *l;

	o.size = sizeof(o);
	if (at_listener_new(&l, &o, data, providers))
		exit(2);
	return l;
}

struct at_listener *listener(const char *name, uint32_t providers)
{
	return listener_of(says, (void *)(uintptr_t)name, providers);
}

struct at_listener *handler(const char *name, uint32_t providers, bool handles)
{
	struct at_listener_options o = says;

	if (handles)
		o.error = says_handled;
	return listener_of(o, (void *)(uintptr_t)name, providers);
}

int nothing(void *unused)
{
	(void)unused;
	return 0;
}

void live(uint32_t provider)
{
	struct at_context c;

	at_context_init(&c, provider, NULL);
	at_context_run(&c, nothing, NULL);
	at_context_destroy(&c);
}

int in_child_process(void (*fn)(void), char *text, size_t room)
{
	int to[2], status;
	size_t used = 0;
	ssize_t n;
	pid_t pid;

	if (pipe(to))
		exit(2);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(to[1], 2);
		close(to[0]);
		close(to[1]);
		*journal = '\0';
		fn();
		exit(0);
	}
	close(to[1]);
	while ((n = read(to[0], text + used, room - 1 - used)) > 0)
		used += n;
	text[used] = '\0';
	close(to[0]);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
