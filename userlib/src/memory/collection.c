// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Collections of garbage: reports of runtimes, records, and calls of listeners
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include <asynctrace/memory.h>
#include <asynctrace/trace.h>

#include "inprocess/flight.h"
#include "writer/internal.h"
#include "writer/operation.h"

#define CATEGORY	"memory"

struct listener {
	at_collection_fn fn;
	void *arg;
	uint64_t since;		/* value of begun when the listener was added */
};

/*
 * Protects the variables below. Listeners are called under the lock, so that a removal by another
 * thread waits for them. The lock is recursive, because listeners may add and remove listeners.
 * Listeners may also start and stop traces: take this lock before that of at_inproc_lock().
 */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
/*
 * A listener that removes others leaves gaps until the end of the calls. So there is room for as
 * many new listeners.
 */
static struct listener listeners[2 * ASYNCTRACE_COLLECTION_LISTENERS];
static unsigned int nr_listeners;	/* with gaps */
static unsigned int nr_gaps;
static bool emitting;		/* listeners are being called */
static uint64_t begun;		/* number of collections that have begun with listeners */
static void (*hook)(int on, void *arg);
static void *hook_arg;

/* The collection that the thread is in */
static __thread struct {
	unsigned int depth;	/* number of collections that have begun within each other */
	bool calling;		/* a listener runs on this thread */
	bool listened;		/* the end calls listeners */
	uint32_t gate;		/* gate under which the begin was recorded, or 0 */
	int mode;		/* mode of the site of the begin */
	uint64_t number;	/* value of begun for this collection */
	struct at_collection before;
} own;

/*
 * Listeners and the hook run under the lock and may be cancellation points. A thread that is
 * cancelled there would leave the lock locked, so cancellation waits until the lock is free.
 */
static int take_lock(void)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&lock);
	return cancel;
}

static void drop_lock(int cancel)
{
	pthread_mutex_unlock(&lock);
	pthread_setcancelstate(cancel, NULL);
}

/* --- listeners --------------------------------------------------------------------------- */

static struct listener *find(at_collection_fn fn, void *arg)
{
	for (unsigned int i = 0; i < nr_listeners; i++)
		if (listeners[i].fn == fn && listeners[i].arg == arg)
			return &listeners[i];
	return NULL;
}

/* Closes the gaps that removed listeners have left. */
static void close_gaps(void)
{
	const unsigned int before = nr_listeners;
	unsigned int n = 0;

	for (unsigned int i = 0; i < before; i++)
		if (listeners[i].fn)
			listeners[n++] = listeners[i];
	__atomic_store_n(&nr_listeners, n, __ATOMIC_RELAXED);
	nr_gaps = 0;
	if (before && !n && hook)
		hook(0, hook_arg);
}

/*
 * fork(2) takes the lock, so that the child finds the variables consistent. The child cannot
 * unlock the lock, because its thread has another id: it initializes the lock again.
 */
static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

AT_PUBLIC int at_collection_listen(at_collection_fn fn, void *arg)
{
	static bool fork_handled;
	int err = 0, cancel;

	if (!fn)
		return -EINVAL;
	cancel = take_lock();
	if (!fork_handled)
		err = at_inproc_fork_first() ?:
		      -pthread_atfork(before_fork, after_fork, in_child);
	fork_handled = !err;
	if (err) {
		/*
		 * Add no listener without the handler of fork(2): a forked child could wait
		 * forever for the lock.
		 */
	} else if (find(fn, arg)) {
		err = -EEXIST;
	} else if (nr_listeners - nr_gaps == ASYNCTRACE_COLLECTION_LISTENERS ||
		   nr_listeners == sizeof(listeners) / sizeof(listeners[0])) {
		err = -ENOSPC;
	} else {
		if (!nr_listeners && hook)
			hook(1, hook_arg);
		listeners[nr_listeners] = (struct listener){ .fn = fn, .arg = arg, .since = begun };
		__atomic_store_n(&nr_listeners, nr_listeners + 1, __ATOMIC_RELAXED);
	}
	drop_lock(cancel);
	return err;
}

AT_PUBLIC int at_collection_unlisten(at_collection_fn fn, void *arg)
{
	struct listener *l;
	int cancel;

	if (!fn)
		return -ENOENT;
	cancel = take_lock();
	l = find(fn, arg);
	if (l) {
		l->fn = NULL;
		nr_gaps++;
		/*
		 * If call_listeners() is walking the listeners, they must not move: it closes the
		 * gaps later.
		 */
		if (!emitting)
			close_gaps();
	}
	drop_lock(cancel);
	return l ? 0 : -ENOENT;
}

AT_PUBLIC int at_collection_hook(void (*fn)(int on, void *arg), void *arg)
{
	int err = 0, cancel;

	cancel = take_lock();
	if (fn && hook) {
		err = -EBUSY;
	} else {
		hook = fn;
		hook_arg = arg;
		if (hook && nr_listeners)
			hook(1, hook_arg);
	}
	drop_lock(cancel);
	return err;
}

/* Calls the listeners. Copies @own first, because a collection in a listener overwrites it. */
static void call_listeners(const struct at_collection *after)
{
	const struct at_collection before = own.before;
	const uint64_t number = own.number;
	unsigned int n;
	int cancel;

	cancel = take_lock();
	own.calling = true;
	emitting = true;
	n = nr_listeners;
	for (unsigned int i = 0; i < n; i++)
		if (listeners[i].fn && listeners[i].since < number)
			listeners[i].fn(&before, after, listeners[i].arg);
	emitting = false;
	own.calling = false;
	close_gaps();
	drop_lock(cancel);
}

/* --- records ------------------------------------------------------------------------------ */

static void write_duration(uint64_t found, unsigned int type, uint32_t flags)
{
	static const char *const keys[] = { "flags" };
	const struct at_arg_ arg = at_arg_u32_(flags);
	const struct at_site_ site = {
		.keys = keys, .category = CATEGORY, .name = own.before.type,
	};

	at_write_args_(found, &site, found >> 32, type, 0, &arg,
		       type == ASYNCTRACE_FXT_DURATION_BEGIN);
}

static void record_begin(uint32_t flags)
{
	/*
	 * Count three records if the begin is missed, because the collection then writes no
	 * counter and no end.
	 */
	const uint64_t found = at_category_find_for(CATEGORY, 3);

	own.gate = found >> 32 ? (uint32_t)found : 0;
	own.mode = found >> 32;
	if (own.gate)
		write_duration(found, ASYNCTRACE_FXT_DURATION_BEGIN, flags);
}

/* Records the end of a collection if the present run has its begin. */
static void record_end(const struct at_collection *after)
{
	const uint32_t gate = own.gate ? at_gate_renew_(own.gate) : 0;

	if (!gate)
		return;
	TRACE_COUNTER(CATEGORY, "heap", 0, "total", after->heap.total_heap_size,
		      "used", after->heap.used_heap_size,
		      "physical", after->heap.total_physical_size,
		      "used before", own.before.heap.used_heap_size);
	write_duration(TRACE_FOUND_(own.mode, gate), ASYNCTRACE_FXT_DURATION_END, 0);
}

/* --- reports of runtimes ----------------------------------------------------------------- */

static void fill_in(struct at_collection *c, const char *type, uint32_t flags,
		 const struct at_heap *heap)
{
	struct timespec ts;

	*c = (struct at_collection){ .type = type ?: "collection", .flags = flags };
	if (heap)
		c->heap = *heap;
	else
		at_heap_stats(&c->heap);
	clock_gettime(CLOCK_BOOTTIME, &ts);
	c->time = ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

AT_PUBLIC void at_collection_begin(const char *type, uint32_t flags,
				   const struct at_heap *heap)
{
	const bool listened = __atomic_load_n(&nr_listeners, __ATOMIC_RELAXED) && !own.calling;
	int cancel;

	if (own.depth++)
		return;
	own.listened = false;
	own.gate = 0;
	if (likely(!listened && !TRACE_CATEGORY_ENABLED(CATEGORY)))
		return;
	fill_in(&own.before, type, flags, heap);
	if (listened) {
		cancel = take_lock();
		own.number = ++begun;
		drop_lock(cancel);
		own.listened = true;
	}
	record_begin(flags);
}

AT_PUBLIC void at_collection_end(const struct at_heap *heap)
{
	struct at_collection after;

	if (!own.depth || --own.depth || (!own.listened && !own.gate))
		return;
	fill_in(&after, own.before.type, own.before.flags, heap);
	record_end(&after);
	if (own.listened)
		call_listeners(&after);
}

AT_PUBLIC int at_heap_trim(size_t pad)
{
	int trimmed;

	at_collection_begin("trim", 0, NULL);
	trimmed = malloc_trim(pad);
	at_collection_end(NULL);
	return trimmed;
}
