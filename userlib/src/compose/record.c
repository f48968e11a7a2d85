// SPDX-License-Identifier: LGPL-2.1-or-later
/* Records that the composer makes. */
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

bool atc_zero_padded(const void *words, size_t bytes)
{
	const uint64_t *w = words;

	/* Little endian: the bytes behind the text are the upper bytes of its last word. */
	return !(bytes % 8) || !(w[bytes / 8] >> bytes % 8 * 8);
}

void atc_string_record(struct at_compose *c, unsigned int index, const void *text, size_t len)
{
	uint64_t *w = atc_out_record(&c->out);

	w[0] = ASYNCTRACE_FXT_STRING_HEAD(index, len);
	atc_out_done(&c->out, 1 + atc_put_text(w + 1, text, len));
}

void atc_section(struct at_compose *c, struct atc_provider *p)
{
	uint64_t *w;

	if (p->in_file != c->file)
		atc_provider_introduce(c, p);
	if (c->section == p)
		return;
	w = atc_out_record(&c->out);
	w[0] = ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_METADATA, 1) |
	       ASYNCTRACE_FXT_META_SECTION << 16 | (uint64_t)atc_file_id(p) << 20;
	atc_out_done(&c->out, 1);
	c->section = p;
}

void atc_provider_record(struct at_compose *c, struct atc_provider *p)
{
	uint64_t *w = atc_out_record(&c->out);
	size_t len = strnlen(p->name, 255);
	size_t words = 1 + atc_put_text(w + 1, p->name, len);

	w[0] = ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_METADATA, words) |
	       ASYNCTRACE_FXT_META_PROVIDER << 16 | (uint64_t)atc_file_id(p) << 20 |
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

void atc_process_record(struct at_compose *c, int32_t pid, const char *name)
{
	size_t len = strlen(name), words;
	uint64_t *w;

	atc_section(c, c->kernel);
	w = atc_out_record(&c->out);
	words = 2 + atc_put_text(w + 2, name, len);
	w[0] = ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_KERNELOBJ, words) |
	       ASYNCTRACE_FXT_OBJ_PROCESS << 16 |
	       (uint64_t)(len ? ASYNCTRACE_FXT_INLINE | len : 0) << 24;
	w[1] = pid;
	atc_out_done(&c->out, words);
}

void atc_thread_record(struct at_compose *c, int32_t pid, int32_t tid, const char *name)
{
	size_t len = strlen(name), words;
	uint64_t *w;

	atc_section(c, c->kernel);
	w = atc_out_record(&c->out);
	words = 2 + atc_put_text(w + 2, name, len);
	w[words++] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_KOID, 2,
					ASYNCTRACE_FXT_STR_PROCESS, 0);
	w[words++] = pid;
	w[0] = ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_KERNELOBJ, words) |
	       ASYNCTRACE_FXT_OBJ_THREAD << 16 | 1ULL << 40 |
	       (uint64_t)(len ? ASYNCTRACE_FXT_INLINE | len : 0) << 24;
	w[1] = tid;
	atc_out_done(&c->out, words);
}

static size_t uint64_arg(uint64_t *w, unsigned int name, uint64_t value)
{
	w[0] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_UINT64, 2, name, 0);
	w[1] = value;
	return 2;
}

/*
 * Writes an instant that relates the file's time to other clocks. @extra: words of one more
 * argument, or NULL.
 */
static void clock_record(struct at_compose *c, unsigned int name, uint64_t ns,
			 const struct asynctrace_clock_pair *pair,
			 const uint64_t *extra, size_t extra_words)
{
	unsigned int nargs = (pair ? 3 : 0) + (extra ? 1 : 0);
	size_t words = 4;
	uint64_t *w;

	atc_introduce_pseudo(c);
	atc_section(c, c->kernel);
	w = atc_out_record(&c->out);
	w[1] = ns;
	w[2] = ATC_KOID_PROCESS;
	w[3] = ATC_KOID_CLOCK;
	if (pair) {
		words += uint64_arg(w + words, ATC_STR_REALTIME, pair->realtime);
		words += uint64_arg(w + words, ATC_STR_TICKS, pair->ticks);
		w[words++] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_UINT32, 1, ATC_STR_SEGMENT,
						pair->segment);
	}
	for (size_t i = 0; i < extra_words; i++)
		w[words++] = extra[i];
	w[0] = ASYNCTRACE_FXT_EVENT_HEAD(ASYNCTRACE_FXT_INSTANT, words, nargs,
					 ATC_STR_ASYNCTRACE, name);
	atc_out_done(&c->out, words);
}

void atc_clock_record(struct at_compose *c, unsigned int name, uint64_t ns,
		      const struct asynctrace_clock_pair *pair)
{
	clock_record(c, name, ns, pair, NULL, 0);
}

void atc_continued_record(struct at_compose *c, const struct asynctrace_clock_pair *pair)
{
	uint64_t start[2];

	clock_record(c, ATC_STR_CONTINUED, pair->boottime, pair, start,
		     uint64_arg(start, ATC_STR_START, atc_clock_start(&c->clock)));
}

void atc_continues_record(struct at_compose *c)
{
	uint64_t yes = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_BOOL, 1, ATC_STR_CONTINUES, 1);

	clock_record(c, ATC_STR_END, atc_clock_end(&c->clock), NULL, &yes, 1);
}

/* Writes a switch that no record of the kernel reports: the CPU of @r went to @tid at @ns. */
void atc_inferred_switch(struct at_compose *c, struct atc_ring *r, uint64_t ns,
			 int32_t tid, int32_t weight)
{
	uint64_t *w;

	atc_section(c, c->kernel);
	w = atc_out_record(&c->out);
	w[0] = ASYNCTRACE_FXT_SWITCH_HEAD(7, 3, r->index,
		r->tid ? ASYNCTRACE_FXT_STATE_BLOCKED : ASYNCTRACE_FXT_STATE_NEW);
	w[1] = ns;
	w[2] = r->tid;
	w[3] = tid;
	w[4] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_INT32, 1, ASYNCTRACE_FXT_STR_OUTGOING,
				  r->weight);
	w[5] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_INT32, 1, ASYNCTRACE_FXT_STR_INCOMING,
				  weight);
	w[6] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_BOOL, 1, ATC_STR_INFERRED, 1);
	atc_out_done(&c->out, 7);
	r->tid = tid;
	r->weight = weight;
	c->inferred++;
}
