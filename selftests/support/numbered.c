// SPDX-License-Identifier: GPL-2.0
/*
 * Writes numbered events and recognizes them
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <asynctrace/trace.h>

#include "ktap.h"
#include "numbered.h"

#define NU_RINGS	1025
#define NU_TEXT		48
/* Size of nu_seen.next */
#define NEXT_BYTES	(NU_WRITERS * NU_RINGS * sizeof(uint32_t))

static uint64_t mix(uint64_t n)
{
	n = (n ^ n >> 31) * 0x9e3779b97f4a7c15ULL;
	return n ^ n >> 29;
}

static int shape_of(uint64_t number, int shapes)
{
	return mix(number ^ 0x5bd1e995) % shapes;
}

static uint32_t text_of(char *to, uint64_t number)
{
	const uint32_t bytes = mix(number) % NU_TEXT;

	for (uint32_t i = 0; i < bytes; i++)
		to[i] = 'a' + (number + i) % 26;
	return bytes;
}

/*
 * Does what the macros of asynctrace/trace.h do, but only if the gate is still @now, so that the
 * number can contain the gate. Evaluates to false if it attempted nothing.
 */
#define NU_EVENT(now, kind, nm, ...) \
	__extension__({ \
		const struct at_here_ nu_here = TRACE_SITE_("law", nm, __VA_ARGS__); \
		const uint64_t nu_found = at_site_test_(nu_here.site, now); \
		const bool nu_on = nu_found >> 32 && (uint32_t)nu_found == (now); \
		if (nu_on) \
			at_event_(nu_here.site, nu_here.refs, nu_found, kind, \
				  TRACE_LEAD_(__VA_ARGS__), TRACE_ARGS_(__VA_ARGS__), \
				  TRACE_COUNT_(__VA_ARGS__)); \
		nu_on; \
	})

uint32_t nu_gate(void)
{
	uint32_t gate = at_gate_load_();

	if (gate == ASYNCTRACE_GATE_ATTACH) {
		at_enabled_();
		gate = at_gate_load_();
	}
	return gate == ASYNCTRACE_GATE_ATTACH ? ASYNCTRACE_GATE_OFF : gate;
}

/* Writes an event as if there were no room for its names in the durable ring. */
static void emit_inline(uint32_t gate, uint64_t n, const char *text, uint32_t bytes)
{
	const struct at_here_ here = TRACE_SITE_("law", "wi", 0, "n", TA_UINT64(n), "t",
						 TA_CHAR_ARRAY(text, bytes));
	const uint64_t found = at_site_test_(here.site, gate);

	if (found >> 32)
		at_event_(here.site, here.refs,
			  TRACE_FOUND_(TRACE_SITE_INLINE_, (uint32_t)found), ASYNCTRACE_FXT_INSTANT,
			  0, TRACE_ARGS_(0, "n", TA_UINT64(n), "t", TA_CHAR_ARRAY(text, bytes)), 2);
}

static void emit_more(uint32_t gate, uint64_t n, int shape)
{
	char text[NU_TEXT];
	const uint32_t bytes = text_of(text, n);

	switch (shape) {
	case 6: {
		TRACE_DURATION("law", "wd", "n", TA_UINT64(n));
		break;
	}
	case 7: {
		TRACE_DURATION("law", "wdn", "n", TA_UINT64(n), "t", TA_CHAR_ARRAY(text, bytes));
		break;
	}
	case 8:
		emit_inline(gate, n, text, bytes);
		break;
	case 9:
		TRACE_ASYNC_BEGIN("law", "wnn", n, "s", TA_CHAR_ARRAY(text, bytes), "t",
				  TA_CHAR_ARRAY(text + bytes / 2, bytes - bytes / 2), "h",
				  TA_INT32((int32_t)mix(n)), "u", TA_CHAR_ARRAY(text, bytes / 4));
		break;
	case 10:
		TRACE_COUNTER("law", "wf", n, "h", TA_UINT64(mix(n)), "i", TA_UINT64(~n), "f",
			      TA_DOUBLE((double)NU_SEQ(n)));
		break;
	/* These records have no room for the number. */
	case 11:
		TRACE_INSTANT("law", "plain", TRACE_SCOPE_THREAD);
		break;
	case 12: {
		TRACE_DURATION("law", "plain");
		break;
	}
	case 13: {
		TRACE_DURATION("law", "plain", "h", TA_UINT32((uint32_t)mix(n)));
		break;
	}
	}
}

uint32_t nu_emit(uint32_t writer, uint32_t seq, int shape)
{
	const uint32_t gate = nu_gate();
	const uint64_t n = (uint64_t)(gate & 0xffff) << 48 | (uint64_t)writer << 32 | seq;
	char text[NU_TEXT];
	bool tried = false;
	uint32_t bytes;

	if (!gate)
		return 0;
	if (shape < 0)
		shape = shape_of(n, shape == NU_ANY ? NU_ALL_SHAPES : NU_SHAPES);
	if (shape >= NU_SHAPES) {
		emit_more(gate, n, shape);
		return gate;
	}
	switch (shape) {
	case 0:	/* 4 words */
		tried = NU_EVENT(gate, ASYNCTRACE_FXT_ASYNC_INSTANT | TRACE_EXTRA_, "w4", n);
		break;
	case 1:	/* 5 words */
		tried = NU_EVENT(gate, ASYNCTRACE_FXT_INSTANT, "w5", 0, "n", TA_UINT64(n));
		break;
	case 2:	/* 5 words, the last one behind the arguments */
		tried = NU_EVENT(gate, ASYNCTRACE_FXT_COUNTER | TRACE_EXTRA_, "w5c", n, "h",
				 TA_UINT32((uint32_t)mix(n)));
		break;
	case 3:	/* 6 words */
		tried = NU_EVENT(gate, ASYNCTRACE_FXT_FLOW_STEP | TRACE_EXTRA_, "w6", n, "h",
				 TA_UINT64(mix(n)));
		break;
	case 4:	/* 8 words */
		tried = NU_EVENT(gate, ASYNCTRACE_FXT_ASYNC_END | TRACE_EXTRA_, "w8", n, "h",
				 TA_UINT64(mix(n)), "i", TA_UINT64(~n));
		break;
	case 5:	/* with text */
		bytes = text_of(text, n);
		tried = NU_EVENT(gate, ASYNCTRACE_FXT_INSTANT, "wn", 0, "n", TA_UINT64(n), "t",
				 TA_CHAR_ARRAY(text, bytes));
		break;
	}
	return tried ? gate : 0;
}

void nu_seen_init(struct nu_seen *s)
{
	memset(s, 0, sizeof(*s));
	/*
	 * Most of the table stays untouched. Memory of mmap(2) is zero without a write; malloc()
	 * may return used memory, and clearing it takes the debug kernel ten seconds of page
	 * faults.
	 */
	s->next = mmap(NULL, NEXT_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	must(s->next != MAP_FAILED);
}

void nu_seen_free(struct nu_seen *s)
{
	for (int i = 0; i < NU_WRITERS; i++)
		free(s->bits[i]);
	munmap(s->next, NEXT_BYTES);
}

KTAP_PRINTF(3, 4)
static void spoiled(struct nu_seen *s, const struct rd_event *ev, const char *why, ...)
{
	va_list ap;
	int n;

	if (s->spoiled++)
		return;
	n = snprintf(s->first, sizeof(s->first), "'%s' in ring %u of %u: ", ev->name, ev->ring,
		     ev->provider);
	va_start(ap, why);
	vsnprintf(s->first + n, sizeof(s->first) - n, why, ap);
	va_end(ap);
}

uint64_t nu_number(const struct rd_event *ev)
{
	static const char *const in_argument[] = { "w5", "wn", "wd", "wdn", "wi" };

	for (size_t i = 0; i < sizeof(in_argument) / sizeof(*in_argument); i++)
		if (!strcmp(ev->name, in_argument[i]))
			return ev->nargs ? ev->arg[0].value : 0;
	return ev->extra;
}

static bool is_text(const struct rd_arg *a, const char *text, uint32_t bytes)
{
	return a->type == ASYNCTRACE_FXT_ARG_STRING && a->bytes == bytes &&
	       !memcmp(a->text, text, bytes);
}

static bool intact(const struct rd_event *ev, uint64_t number)
{
	const struct rd_arg *a = ev->arg;
	char text[NU_TEXT];
	const uint32_t bytes = text_of(text, number);
	const double seq = NU_SEQ(number);

	if (!strcmp(ev->name, "w5"))
		return ev->type == ASYNCTRACE_FXT_INSTANT && ev->nargs == 1 &&
		       a[0].type == ASYNCTRACE_FXT_ARG_UINT64;
	if (!strcmp(ev->name, "wn") || !strcmp(ev->name, "wi"))
		return ev->type == ASYNCTRACE_FXT_INSTANT && ev->nargs == 2 &&
		       a[0].type == ASYNCTRACE_FXT_ARG_UINT64 && is_text(&a[1], text, bytes);
	if (!strcmp(ev->name, "w4"))
		return ev->type == ASYNCTRACE_FXT_ASYNC_INSTANT && !ev->nargs;
	if (!strcmp(ev->name, "w5c"))
		return ev->type == ASYNCTRACE_FXT_COUNTER && ev->nargs == 1 &&
		       a[0].value == (uint32_t)mix(number);
	if (!strcmp(ev->name, "w6"))
		return ev->type == ASYNCTRACE_FXT_FLOW_STEP && ev->nargs == 1 &&
		       a[0].value == mix(number);
	if (!strcmp(ev->name, "w8"))
		return ev->type == ASYNCTRACE_FXT_ASYNC_END && ev->nargs == 2 &&
		       a[0].value == mix(number) && a[1].value == ~number;
	if (!strcmp(ev->name, "wd"))
		return ev->type == ASYNCTRACE_FXT_DURATION && ev->nargs == 1 &&
		       ev->begin <= ev->ticks;
	if (!strcmp(ev->name, "wdn"))
		return ev->type == ASYNCTRACE_FXT_DURATION && ev->nargs == 2 &&
		       ev->begin <= ev->ticks && is_text(&a[1], text, bytes);
	if (!strcmp(ev->name, "wnn"))
		return ev->type == ASYNCTRACE_FXT_ASYNC_BEGIN && ev->nargs == 4 &&
		       is_text(&a[0], text, bytes) &&
		       is_text(&a[1], text + bytes / 2, bytes - bytes / 2) &&
		       a[2].value == (uint32_t)mix(number) && is_text(&a[3], text, bytes / 4);
	if (!strcmp(ev->name, "wf"))
		return ev->type == ASYNCTRACE_FXT_COUNTER && ev->nargs == 3 &&
		       a[0].value == mix(number) && a[1].value == ~number &&
		       !memcmp(&a[2].value, &seq, sizeof(seq));
	return false;
}

/* Returns true if the number was not seen before. */
static bool first_time(struct nu_seen *s, uint32_t writer, uint32_t seq)
{
	if (seq / 8 >= s->room[writer]) {
		const uint32_t room = seq / 8 * 2 + 64;

		s->bits[writer] = realloc(s->bits[writer], room);
		must(s->bits[writer]);
		memset(s->bits[writer] + s->room[writer], 0, room - s->room[writer]);
		s->room[writer] = room;
	}
	if (s->bits[writer][seq / 8] & 1 << seq % 8)
		return false;
	s->bits[writer][seq / 8] |= 1 << seq % 8;
	return true;
}

static void count_generation(struct nu_seen *s, uint32_t generation)
{
	uint32_t i;

	for (i = s->nr_generations; i--; ) {
		if (s->generation[i] == generation) {
			s->per_generation[i]++;
			return;
		}
	}
	must(s->nr_generations < 64);
	i = s->nr_generations++;
	s->generation[i] = generation;
	s->per_generation[i] = 1;
}

void nu_event(const struct rd_event *ev, void *seen)
{
	struct nu_seen *s = seen;
	const uint64_t n = nu_number(ev);
	uint32_t *next, writer, seq;

	s->events++;
	if (!strcmp(ev->name, "plain"))
		return;
	if (!intact(ev, n) || NU_WRITER(n) >= NU_WRITERS) {
		spoiled(s, ev, "contradicts its number 0x%llx", (unsigned long long)n);
		return;
	}
	must(ev->ring < NU_RINGS);
	writer = NU_WRITER(n);
	seq = NU_SEQ(n);
	next = &s->next[writer * NU_RINGS + ev->ring];
	if (seq < *next)
		spoiled(s, ev, "writer %u: number %u after %u", writer, seq, *next - 1);
	*next = seq + 1;
	if (seq >= s->max[writer])
		s->max[writer] = seq + 1;
	if (!first_time(s, writer, seq))
		spoiled(s, ev, "writer %u: number %u for the second time", writer, seq);
	if (s->slot[writer] && s->slot[writer] != ev->slot)
		spoiled(s, ev, "writer %u: has slot %u, and had %u", writer, ev->slot, s->slot[writer]);
	s->slot[writer] = ev->slot;
	s->of[writer]++;
	count_generation(s, NU_GENERATION(n));
}
