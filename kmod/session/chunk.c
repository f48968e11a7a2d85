// SPDX-License-Identifier: GPL-2.0
/* Making of chunks in the consumer's memory */
#include <linux/uaccess.h>

#include "base/clock.h"
#include "ring/cursor.h"
#include "session/chunk.h"
#include "session/session.h"

/**
 * at_chunk_ledger - fill in a chunk's ledger
 * @out: the chunk
 * @c: the ring's cursor before @span
 * @span: words of the ring that are the chunk's payload, which this function describes; NULL: none
 */
void at_chunk_ledger(struct at_out *out, const struct at_cursor *c, const struct at_span *span)
{
	if (span) {
		c = &span->next;
		out->chunk.sequence = span->from;
		out->chunk.records = span->records;
		out->chunk.bytes = span->words * sizeof(u64);
		if (span->broken)
			out->chunk.flags |= ASYNCTRACE_CHUNK_F_BROKEN;
	}
	out->chunk.delivered = c->delivered;
	out->chunk.overwritten = c->overwritten;
	out->chunk.cleared = c->cleared;
}

/**
 * at_chunk_finish - copy a chunk's head to the consumer
 * @s: the session
 * @out: the chunk, whose payload is in the consumer's memory
 *
 * The head comes last, because it has the time after the payload was read.
 *
 * Return: size of the chunk, or -EFAULT.
 */
ssize_t at_chunk_finish(const struct at_session *s, struct at_out *out)
{
	struct asynctrace_chunk *c = &out->chunk;

	c->size = sizeof(*c);
	c->segment = at_clock_now(s->clock_log, &c->ticks, &c->boottime);
	if (copy_to_user(out->buf, c, sizeof(*c)))
		return -EFAULT;
	return sizeof(*c) + c->bytes;
}

/**
 * at_chunk_table - copy entries of a table to the consumer
 * @s: the session
 * @out: the chunk; the entries are in @scratch
 * @kind: kind of the chunk, enum asynctrace_chunk_kind
 * @provider: id of the provider; 0: none
 * @n: number of entries
 * @size: size of an entry
 *
 * Return: size of the chunk, or -EFAULT.
 */
ssize_t at_chunk_table(const struct at_session *s, struct at_out *out, u32 kind, u32 provider,
		       u32 n, size_t size)
{
	out->chunk.kind = kind;
	out->chunk.provider = provider;
	out->chunk.records = n;
	out->chunk.bytes = n * size;
	if (copy_to_user(at_payload(out), out->scratch, n * size))
		return -EFAULT;
	return at_chunk_finish(s, out);
}
