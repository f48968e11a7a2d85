/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rare or large records: blobs, kernel objects, events of virtual threads, and events with names
 * that are no literals. The library encodes them, so that little code becomes part of the
 * program.
 *
 * @refs: the references of the site, as for at_event_()
 */
#ifndef ASYNCTRACE_SPECIAL_H
#define ASYNCTRACE_SPECIAL_H

#include <pthread.h>

#include <asynctrace/detail/event.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- blobs ---------------------------------------------------------------- */

/* Formats of large blobs for at_blob_(). Smaller numbers are types of blob records. */
enum {
	TRACE_BLOB_EVENT_	= 256 + ASYNCTRACE_FXT_BLOB_EVENT,
	TRACE_BLOB_ATTACHMENT_	= 256 + ASYNCTRACE_FXT_BLOB_ATTACHMENT
};

void at_blob_(struct at_site_ *site, const uint64_t *refs, uint64_t found, unsigned int what,
	      const void *blob, size_t size, const struct at_arg_ *args, unsigned int nargs);

/* --- virtual threads ------------------------------------------------------ */

/* Bytes of a virtual thread's name that are recorded */
#define TRACE_VTHREAD_NAME_MAX_	96

/* @kind: as in at_event_(), with TRACE_EXTRA_ if there is an @id. */
void at_vthread_event_(struct at_site_ *site, const uint64_t *refs, uint64_t found,
		       unsigned int kind, uint64_t id, const char *vthread, uint64_t vthread_id,
		       uint64_t ticks, const struct at_arg_ *args, unsigned int nargs);

/* --- kernel objects ------------------------------------------------------- */

struct at_handle_ {
	int fd;			/* -1: use the thread instead */
	pthread_t thread;
};

TRACE_INLINE_ struct at_handle_ at_handle_fd_(int fd)
{
	struct at_handle_ h = TRACE_ZERO_;

	/* -1 would select the thread; -2 is no valid descriptor either. */
	h.fd = fd < 0 ? -2 : fd;
	return h;
}

TRACE_INLINE_ struct at_handle_ at_handle_thread_(pthread_t thread)
{
	struct at_handle_ h = TRACE_ZERO_;

	h.fd = -1;
	h.thread = thread;
	return h;
}

void at_object_(struct at_site_ *site, const uint64_t *refs, uint64_t found,
		struct at_handle_ handle, const struct at_arg_ *args, unsigned int nargs);

/* --- names that are no literals ------------------------------------------- */

/* An argument with its name, for TRACE_DECLARE_ARGS(). */
typedef struct at_named_arg_ {
	const char *name;
	struct at_arg_ value;
} trace_arg_t;

void at_named_event_(struct at_site_ *site, const uint64_t *refs, uint64_t found,
		     unsigned int type, uint64_t id, const char *name,
		     const struct at_named_arg_ *named, size_t num_named,
		     const struct at_arg_ *args, unsigned int nargs);

#ifdef __cplusplus
}
#endif

#endif /* ASYNCTRACE_SPECIAL_H */
