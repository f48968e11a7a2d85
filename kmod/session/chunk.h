/* SPDX-License-Identifier: GPL-2.0 */
/* Chunks, which a session's reader makes in the consumer's memory */
#ifndef AT_CHUNK_H
#define AT_CHUNK_H

#include <linux/types.h>

#include <linux/asynctrace.h>

/* Most entries of a table in one chunk */
#define AT_BATCH	256

struct at_cursor;
struct at_session;
struct at_span;

/**
 * struct at_out - a chunk that is being made
 * @buf: the consumer's memory
 * @chunk: head of the chunk
 * @scratch: room for AT_BATCH entries of any table
 */
struct at_out {
	char __user *buf;
	struct asynctrace_chunk chunk;
	void *scratch;
};

static inline void __user *at_payload(const struct at_out *out)
{
	return out->buf + sizeof(out->chunk);
}

void at_chunk_ledger(struct at_out *out, const struct at_cursor *c, const struct at_span *span);
ssize_t at_chunk_finish(const struct at_session *s, struct at_out *out);
ssize_t at_chunk_table(const struct at_session *s, struct at_out *out, u32 kind, u32 provider,
		       u32 n, size_t size);

#endif /* AT_CHUNK_H */
