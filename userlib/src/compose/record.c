// SPDX-License-Identifier: LGPL-2.1-or-later
/* Writes the head of a file, and records of providers and strings. */
#include <string.h>

#include "composer.h"

#define TICKS_PER_SECOND	1000000000

static const struct {
	unsigned int index;
	const char *text;
} fixed_strings[] = {
	{ ASYNCTRACE_FXT_STR_PROCESS, "process" },
	{ ASYNCTRACE_FXT_STR_INCOMING, "incoming_weight" },
	{ ASYNCTRACE_FXT_STR_OUTGOING, "outgoing_weight" },
	{ ASYNCTRACE_FXT_STR_WEIGHT, "weight" },
	{ ASYNCTRACE_FXT_STR_WAKER, "waker" },
	{ ASYNCTRACE_FXT_STR_STATE, "state" },
	{ ASYNCTRACE_FXT_STR_IN_OPERATION, "incoming_operation" },
	{ ASYNCTRACE_FXT_STR_OUT_OPERATION, "outgoing_operation" },
	{ ASYNCTRACE_FXT_STR_OPERATION, "operation" },
	{ ASYNCTRACE_FXT_STR_WAKER_OPERATION, "waker_operation" },
	{ ASYNCTRACE_FXT_STR_OFF_CPU, "off_cpu" },
	{ ASYNCTRACE_FXT_STR_SYSCALL, "syscall" },
	{ ASYNCTRACE_FXT_STR_SYSCALL_ARG, "syscall_argument" },
	{ ATC_STR_ASYNCTRACE, "asynctrace" },
	{ ATC_STR_LOST, "lost records" },
	{ ATC_STR_DROPPED, "dropped" },
	{ ATC_STR_OVERWRITTEN, "overwritten" },
	{ ATC_STR_MALFORMED, "malformed" },
	{ ATC_STR_PROVIDER, "provider" },
	{ ATC_STR_INFERRED, "inferred" },
	{ ATC_STR_TICKS, "ticks" },
	{ ATC_STR_REALTIME, "realtime" },
	{ ATC_STR_SEGMENT, "segment" },
	{ ATC_STR_START, "session start" },
	{ ATC_STR_STOP, "session stop" },
	{ ATC_STR_RESUME, "clock resumed" },
	{ ATC_STR_END, "trace end" },
	{ ATC_STR_CONTINUED, "session continued" },
	{ ATC_STR_CONTINUES, "continues" },
	{ ATC_STR_STATE_SINCE, "state_since" },
	{ ATC_STR_READ_FROM, "read_from" },
	{ ATC_STR_READ_UNTIL, "read_until" },
	{ ATC_STR_TRACEPOINTS, "tracepoints" },
};

size_t atc_put_text(uint64_t *w, const void *text, size_t len)
{
	size_t words = ASYNCTRACE_FXT_TEXT_WORDS(len);

	if (words) {
		w[words - 1] = 0;
		memcpy(w, text, len);
	}
	return words;
}

void atc_string_record(struct at_compose *c, unsigned int index, const void *text, size_t len)
{
	uint64_t *w = atc_out_record(&c->out);

	w[0] = ASYNCTRACE_FXT_STRING_HEAD(index, len);
	atc_out_done(&c->out, 1 + atc_put_text(w + 1, text, len));
}

void atc_provider_record(struct at_compose *c, struct atc_provider *p)
{
	uint64_t *w = atc_out_record(&c->out);
	size_t len = strnlen(p->name, 255);
	size_t words = 1 + atc_put_text(w + 1, p->name, len);

	w[0] = ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_METADATA, words) |
	       ASYNCTRACE_FXT_META_PROVIDER << 16 | (uint64_t)p->file_id << 20 |
	       (uint64_t)len << 52;
	w[words] = ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_INIT, 2);
	w[words + 1] = TICKS_PER_SECOND;
	atc_out_done(&c->out, words + 2);
	c->section = p;
}

void atc_head(struct at_compose *c)
{
	*atc_out_record(&c->out) = ASYNCTRACE_FXT_MAGIC;
	atc_out_done(&c->out, 1);
	c->kernel->in_file = c->file;
	atc_provider_record(c, c->kernel);
	for (size_t i = 0; i < sizeof(fixed_strings) / sizeof(fixed_strings[0]); i++) {
		const char *text = fixed_strings[i].text;
		unsigned int index = fixed_strings[i].index;

		atc_string_record(c, index, text, strlen(text));
		c->kernel->strings[index / 64] |= 1ULL << index % 64;
	}
}
