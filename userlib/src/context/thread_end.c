// SPDX-License-Identifier: LGPL-2.1-or-later
/* Dropping the references of a thread to listeners and values when the thread ends */
#include <pthread.h>

#include "contexts.h"

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static bool key_exists;

static void drop_references(void *unused)
{
	(void)unused;
	at_context_thread.watched = false;
	at_listeners_drop(at_context_thread.listeners);
	at_context_thread.listeners = NULL;
	at_locals_drop(at_context_thread.locals);
	at_context_thread.locals = NULL;
	at_listeners_flush();
	at_context_thread_changed();
}

static void make_key(void)
{
	key_exists = !pthread_key_create(&key, drop_references);
}

/* If the process has no key left, the memory of threads that end is not freed. */
void at_context_thread_watch(void)
{
	if (at_context_thread.watched)
		return;
	pthread_once(&key_once, make_key);
	at_context_thread.watched = key_exists && !pthread_setspecific(key, &at_context_thread);
}
