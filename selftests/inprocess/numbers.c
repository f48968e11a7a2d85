// SPDX-License-Identifier: GPL-2.0
#include <stdlib.h>
#include <string.h>

#include <asynctrace/trace.h>

#include "numbers.h"

#define NB_RINGS	1025

void nb_init(struct numbers *n)
{
	memset(n, 0, sizeof(*n));
	memset(n->lowest, 0xff, sizeof(n->lowest));
	n->next = calloc(NB_RINGS, sizeof(*n->next));
	if (!n->next)
		abort();
}

void nb_free(struct numbers *n)
{
	free(n->next);
}

static uint64_t mix(uint32_t writer, uint64_t number)
{
	uint64_t x = (number + 1) * 0x9e3779b97f4a7c15ull ^ (uint64_t)writer * 0xff51afd7ed558ccdull;

	return x ^ x >> 29;
}

/* Some text of 0 to 63 bytes. */
static size_t prose(char *buf, uint64_t m)
{
	size_t len = m % 64;

	for (size_t i = 0; i < len; i++)
		buf[i] = 'a' + (m >> (i % 40)) % 26;
	return len;
}

/* As TRACE_ASYNC_END, but as if there were no room for the names in the durable ring. */
static void write_inline(uint64_t id, uint64_t m, const char *text, size_t len)
{
	const uint32_t gate = at_gate_load_();
	struct at_here_ here;
	uint64_t found;

	if (!gate)
		return;
	here = TRACE_SITE_("numbers", "inline", 0, "m", TA_UINT64(m), "s", TA_CHAR_ARRAY(text, len));
	found = at_site_test_(here.site, gate);
	if (found >> 32)
		at_event_(here.site, here.refs,
			  TRACE_FOUND_(TRACE_SITE_INLINE_, (uint32_t)found),
			  ASYNCTRACE_FXT_ASYNC_END | TRACE_EXTRA_, id,
			  TRACE_ARGS_(0, "m", TA_UINT64(m), "s", TA_CHAR_ARRAY(text, len)), 2);
}

void nb_write(uint32_t writer, uint64_t number)
{
	const uint64_t m = mix(writer, number), id = (uint64_t)writer << 48 | number;
	char buf[64];
	size_t len;

	switch (m >> 8 & 15) {
	case 0:
		TRACE_ASYNC_BEGIN("numbers", "bare", id);
		break;
	case 1:
		TRACE_ASYNC_END("numbers", "two", id, "m", TA_UINT64(m), "n", TA_INT32((int)writer));
		break;
	case 2:
		TRACE_COUNTER("numbers", "counter", id, "a", TA_UINT64(m), "b", TA_UINT64(~m),
			      "c", TA_DOUBLE((double)number));
		break;
	case 3: {
		TRACE_DURATION("numbers", "scope", "id", TA_UINT64(id), "m", TA_UINT64(m));
		break;
	}
	case 4:
		TRACE_COUNTER("numbers", "six", id, "m", TA_UINT64(m));
		break;
	case 5:
		TRACE_INSTANT("numbers", "plain", TRACE_SCOPE_THREAD);
		break;
	case 6: {
		TRACE_DURATION("numbers", "plain");
		break;
	}
	case 7: {
		TRACE_DURATION("numbers", "plain", "m", TA_UINT32((uint32_t)m));
		break;
	}
	case 8:
	case 9:
		len = prose(buf, m);
		TRACE_FLOW_STEP("numbers", "prose", id, "s", TA_CHAR_ARRAY(buf, len), "m",
				TA_UINT64(m));
		break;
	case 10: {
		len = prose(buf, m);
		TRACE_DURATION("numbers", "words", "id", TA_UINT64(id), "s", TA_CHAR_ARRAY(buf, len));
		break;
	}
	case 11:
		len = prose(buf, m);
		TRACE_ASYNC_INSTANT("numbers", "texts", id, "s", TA_CHAR_ARRAY(buf, len), "t",
				    TA_CHAR_ARRAY(buf + len / 2, len - len / 2), "w",
				    TA_UINT32(writer), "u", TA_CHAR_ARRAY(buf, len / 4));
		break;
	case 12:
		len = prose(buf, m);
		write_inline(id, m, buf, len);
		break;
	default:
		TRACE_ASYNC_BEGIN("numbers", "one", id, "m", TA_UINT32((uint32_t)m));
	}
}

void nb_write_gate(uint32_t writer, uint64_t number)
{
	/* The value is taken after the macro's own look at the gate, never before. */
	TRACE_ASYNC_BEGIN("numbers", "gate", (uint64_t)writer << 48 | number, "gate",
			  TA_UINT32(at_gate_load_()));
}

static bool named(const struct tape_event *ev, const char *name)
{
	return ev->name_len == strlen(name) && !memcmp(ev->name, name, ev->name_len) &&
	       ev->category_len == 7 && !memcmp(ev->category, "numbers", 7);
}

static bool text_is(const struct tape_arg *a, const char *text, size_t len)
{
	return a->type == ASYNCTRACE_FXT_ARG_STRING && a->value == len &&
	       !memcmp(a->text, text, len);
}

static bool intact(const struct tape_event *ev, uint64_t id)
{
	const uint64_t number = id & 0xffffffffffffull, m = mix(id >> 48, number);
	const struct tape_arg *a = ev->args;
	double d = number;
	char buf[64];
	uint64_t bits;
	size_t len;

	switch (m >> 8 & 15) {
	case 0:
		return named(ev, "bare") && ev->type == ASYNCTRACE_FXT_ASYNC_BEGIN && !ev->nargs;
	case 1:
		return named(ev, "two") && ev->type == ASYNCTRACE_FXT_ASYNC_END && ev->nargs == 2 &&
		       a->value == m && a[1].value == id >> 48;
	case 2:
		memcpy(&bits, &d, 8);
		return named(ev, "counter") && ev->nargs == 3 && a->value == m &&
		       a[1].value == ~m && a[2].value == bits;
	case 3:
		return named(ev, "scope") && ev->nargs == 2 && a[1].value == m && ev->time <= ev->id;
	case 4:
		return named(ev, "six") && ev->nargs == 1 && a->value == m;
	case 8:
	case 9:
		len = prose(buf, m);
		return named(ev, "prose") && ev->nargs == 2 && text_is(a, buf, len) &&
		       a[1].value == m;
	case 10:
		len = prose(buf, m);
		return named(ev, "words") && ev->nargs == 2 && text_is(a + 1, buf, len) &&
		       ev->time <= ev->id;
	case 11:
		len = prose(buf, m);
		return named(ev, "texts") && ev->nargs == 4 && text_is(a, buf, len) &&
		       text_is(a + 1, buf + len / 2, len - len / 2) && a[2].value == id >> 48 &&
		       text_is(a + 3, buf, len / 4);
	case 12:
		len = prose(buf, m);
		return named(ev, "inline") && ev->nargs == 2 && a->value == m &&
		       text_is(a + 1, buf, len);
	case 5 ... 7:
		return false;
	default:
		return named(ev, "one") && ev->nargs == 1 && a->value == (uint32_t)m;
	}
}

void nb_take(const struct tape_event *ev, void *arg)
{
	struct numbers *n = arg;
	const bool scope = ev->type == ASYNCTRACE_FXT_DURATION;
	const uint64_t id = scope && ev->nargs ? ev->args[0].value : ev->id;
	const uint64_t writer = id >> 48, number = id & 0xffffffffffffull;

	if (named(ev, "plain")) {
		n->plain++;
		return;
	}
	if (writer >= NB_WRITERS || ev->ring >= NB_RINGS ||
	    (!named(ev, "gate") && !intact(ev, id))) {
		n->spoilt++;
		return;
	}
	if (named(ev, "gate") && ev->args[0].value && ev->args[0].value != n->gate)
		n->foreign++;
	n->of[writer]++;
	if (number < n->lowest[writer])
		n->lowest[writer] = number;
	if (number < n->next[ev->ring][writer])
		n->disordered++;
	n->next[ev->ring][writer] = number + 1;
}

void nb_check(const struct numbers *n)
{
	check(!n->spoilt, "%llu events spoilt", (unsigned long long)n->spoilt);
	check(!n->foreign, "%llu came through another gate", (unsigned long long)n->foreign);
	check(!n->disordered, "%llu out of order", (unsigned long long)n->disordered);
}
