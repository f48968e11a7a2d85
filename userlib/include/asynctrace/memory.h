/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * asynctrace: memory of the process, and collections of garbage
 *
 *	at_collection_begin("mark-sweep-compact", 0, NULL);
 *	collect();
 *	at_collection_end(NULL);
 *
 * A runtime that collects garbage reports its collections, and listeners in the same process
 * are told of them. In a trace, a collection is a duration of category "memory", named after
 * its type, and a counter "heap" at its end. What the kernel reclaims and compacts for a
 * program is in a trace with `asynctrace record -k reclaim`.
 *
 * Unless a listener exists or category "memory" is recorded, a collection costs two loads and
 * two branches. All functions are thread-safe, but not for signal handlers.
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
 * @heap_size_limit: that it may have: the lowest of the process's limit on address space
 *	and the limits of its control groups; UINT64_MAX: none
 * @total_heap_size: that the allocator has from the kernel
 * @total_heap_size_executable: private memory of the process that can be executed
 * @total_physical_size: memory of the process that is resident
 * @used_heap_size: in blocks that are allocated
 */
struct at_heap {
	uint64_t heap_size_limit;
	uint64_t total_heap_size;
	uint64_t total_heap_size_executable;
	uint64_t total_physical_size;
	uint64_t used_heap_size;
};

/*
 * Fills in *stats for the process and the allocator of the C library. Reads files in /proc and
 * the control group: some ten microseconds. Returns 0, or -EINVAL if stats is NULL, or the
 * negative errno of a file in /proc; *stats is unchanged then.
 */
int at_heap_stats(struct at_heap *stats);

/**
 * struct at_collection - one side of a collection
 * @type: as the runtime names it, such as "scavenge" or "mark-sweep-compact"
 * @flags: of the runtime
 * @time: nanoseconds of CLOCK_BOOTTIME
 * @heap: sizes at that moment
 */
struct at_collection {
	const char *type;
	uint32_t flags;
	uint64_t time;
	struct at_heap heap;
};

/*
 * Told of a collection after its end, on the thread that ended it, and before
 * at_collection_end() returns. A collection that begins in a listener is recorded, and no
 * listener is told of it.
 */
typedef void (*at_collection_fn)(const struct at_collection *before,
				 const struct at_collection *after, void *arg);

#define ASYNCTRACE_COLLECTION_LISTENERS	16

/*
 * Adds a listener, which is told of the collections that begin later. Listeners are told in the
 * order in which they were added. Returns 0, -EINVAL: fn is NULL; -EEXIST: the same fn and arg
 * are listening; -ENOSPC: ASYNCTRACE_COLLECTION_LISTENERS are; -ENOMEM.
 */
int at_collection_listen(at_collection_fn fn, void *arg);
/*
 * Removes a listener. It is not called after that; a call on another thread is waited for. A
 * listener may remove itself and others. Returns 0, or -ENOENT: it does not listen.
 */
int at_collection_unlisten(at_collection_fn fn, void *arg);

/*
 * For a runtime whose own hooks cost something: the library calls hook(1, arg) before the first
 * listener is added, hook(0, arg) after the last one is removed, and hook(1, arg) at once if
 * there are listeners. The runtime reports collections in between. A session that records
 * category "memory" does not call the hook. The hook must not call functions of this header.
 * A process has one hook; NULL removes it. Returns 0, or -EBUSY: there is one.
 */
int at_collection_hook(void (*hook)(int on, void *arg), void *arg);

/*
 * A runtime reports the begin and the end of a collection, on the same thread. type stays valid
 * until the end; it has at most 100 bytes. heap: sizes of the runtime's own heap; NULL: those of
 * at_heap_stats(). A collection that begins within another one of the thread is part of that.
 */
void at_collection_begin(const char *type, uint32_t flags, const struct at_heap *heap);
void at_collection_end(const struct at_heap *heap);

/*
 * As malloc_trim(3), reported as a collection of type "trim". Returns 1 if memory went back to
 * the kernel, otherwise 0.
 */
int at_heap_trim(size_t pad);

#ifdef __cplusplus
}
#endif

#endif /* ASYNCTRACE_MEMORY_H */
