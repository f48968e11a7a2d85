/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * asynctrace: memory of the process, and collections of garbage
 *
 *	at_collection_begin("mark-sweep-compact", 0, NULL);
 *	collect();
 *	at_collection_end(NULL);
 *
 * A runtime that collects garbage reports its collections, and listeners in the same process
 * are called for them. In a trace, a collection is a duration of category "memory", named after
 * its type, and a counter "heap" at its end. What the kernel reclaims and compacts for a
 * program is in a trace with `asynctrace record -k reclaim`.
 *
 * Unless a listener exists or category "memory" is recorded, a collection costs two loads and
 * two branches. All functions are thread-safe, and are no cancellation points. A thread cannot be
 * cancelled in a listener or in the hook. Signal handlers must not call the functions.
 */
#ifndef ASYNCTRACE_MEMORY_H
#define ASYNCTRACE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct at_heap - sizes of a heap, in bytes
 * @heap_size_limit: the lowest of the process's limit on address space and the limits of its
 *	control groups in the unified hierarchy; UINT64_MAX: there is no limit
 * @total_heap_size: memory that the allocator has got from the kernel
 * @total_heap_size_executable: private executable memory of the process
 * @total_physical_size: resident memory of the process
 * @used_heap_size: memory in allocated blocks
 */
struct at_heap {
	uint64_t heap_size_limit;
	uint64_t total_heap_size;
	uint64_t total_heap_size_executable;
	uint64_t total_physical_size;
	uint64_t used_heap_size;
};

/*
 * Fills in *stats for the process and the allocator of the C library. Reads files in /proc and in
 * the control group, which takes some ten microseconds. Returns 0; -EINVAL if stats is NULL; or
 * the negative errno of reading a file in /proc. After an error, *stats is unchanged.
 */
int at_heap_stats(struct at_heap *stats);

/**
 * struct at_collection - the begin or the end of a collection
 * @type: the runtime's name of the collection, such as "scavenge" or "mark-sweep-compact"
 * @flags: flags that the runtime passed to at_collection_begin()
 * @time: time of the begin or end, in nanoseconds of CLOCK_BOOTTIME
 * @heap: sizes at that time
 */
struct at_collection {
	const char *type;
	uint32_t flags;
	uint64_t time;
	struct at_heap heap;
};

/*
 * A listener. at_collection_end() calls it after the end of a collection, on the same thread. A
 * collection that begins in a listener is recorded, but no listener is called for it. longjmp(3),
 * pthread_exit(3) and exceptions of C++ must not leave a listener or the hook.
 */
typedef void (*at_collection_fn)(const struct at_collection *before,
				 const struct at_collection *after, void *arg);

/* Largest number of listeners of a process */
#define ASYNCTRACE_COLLECTION_LISTENERS	16

/*
 * Adds a listener, which is called for collections that begin later. Listeners are called in the
 * order in which they were added. Returns 0; -EINVAL: fn is NULL; -EEXIST: fn has been added with
 * this arg; -ENOSPC: there are ASYNCTRACE_COLLECTION_LISTENERS; -ENOMEM.
 */
int at_collection_listen(at_collection_fn fn, void *arg);
/*
 * Removes a listener. If another thread is calling the listener, waits for the end of the call. A
 * listener may remove itself and others. Returns 0, or -ENOENT: fn has not been added with arg.
 */
int at_collection_unlisten(at_collection_fn fn, void *arg);

/*
 * Sets the hook of a runtime to which reporting collections is expensive. The library calls
 * hook(1, arg) before the first listener is added, and hook(0, arg) after the last one is removed.
 * If there are listeners already, it calls hook(1, arg) at once. The runtime need only report
 * collections between these two calls. A session that records category "memory" does not call the
 * hook. The hook must not call functions of this header. A process has one hook; NULL removes it.
 * Returns 0, or -EBUSY if there is a hook.
 */
int at_collection_hook(void (*hook)(int on, void *arg), void *arg);

/*
 * Report the begin and the end of a collection, on the same thread. type has at most 100 bytes,
 * which stay valid until the end; NULL stands for "collection". heap: sizes of the runtime's own
 * heap; NULL: those of at_heap_stats(). A collection that begins within another one of the same
 * thread is not reported by itself.
 */
void at_collection_begin(const char *type, uint32_t flags, const struct at_heap *heap);
void at_collection_end(const struct at_heap *heap);

/*
 * Calls malloc_trim(3) with pad, the bytes to keep free at the top of the heap, and reports a
 * collection of type "trim". Returns 1 if memory was returned to the kernel, otherwise 0.
 */
int at_heap_trim(size_t pad);

#ifdef __cplusplus
}
#endif

#endif /* ASYNCTRACE_MEMORY_H */
