// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Instants that mark begin and end of the recording, and relate the file's time to other clocks
 */
#include "composer.h"

static size_t put_uint64_arg(uint64_t *w, unsigned int name, uint64_t value)
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
		words += put_uint64_arg(w + words, ATC_STR_REALTIME, pair->realtime);
		words += put_uint64_arg(w + words, ATC_STR_TICKS, pair->ticks);
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
		     put_uint64_arg(start, ATC_STR_START, atc_clock_start(&c->clock)));
}

void atc_continues_record(struct at_compose *c)
{
	uint64_t yes = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_BOOL, 1, ATC_STR_CONTINUES, 1);

	clock_record(c, ATC_STR_END, atc_clock_end(&c->clock), NULL, &yes, 1);
}
