// SPDX-License-Identifier: GPL-2.0
/*
 * Events only write records. 1,000,000 events of each kind run while the process may neither make a
 * system call nor allocate. attach/test_quiet.c is the same with the module.
 */
#include "quiet.h"
#include "tape.h"

static void ignore(const struct tape_event *ev, void *unused)
{
	(void)ev;
	(void)unused;
}

/* Returns the number of records that the kinds write if each kind runs once. */
static uint64_t records_of_one_round(void)
{
	const struct tape_options o = { .mode = ASYNCTRACE_MODE_ONESHOT, .ring_size = 1 << 20 };
	struct tape t;
	uint64_t n;

	tape_new(&t, &o, ignore, NULL);
	tape_attach(&t);
	tape_gate(&t, true);
	quiet_write_once();
	tape_end(&t, true);
	n = t.result.delivered;
	check(n >= quiet_kinds - 1 && !t.result.dropped, "%llu of %zu", (unsigned long long)n,
	      quiet_kinds);
	tape_free(&t);
	return n;
}

static void quiet(bool on, long n)
{
	const struct tape_options o = {
		.mode = ASYNCTRACE_MODE_CIRCULAR, .ring_size = 1 << 20,
		.categories = on ? NULL : "none",
	};
	const uint64_t each = on ? records_of_one_round() : 0;
	struct tape t;
	uint64_t sum;

	tape_new(&t, &o, ignore, NULL);
	tape_attach(&t);
	tape_gate(&t, true);
	quiet_child(n);
	tape_end(&t, true);
	/* The child's slots are strangers, because this process has not read its threads. */
	t.strangers = 0;
	tape_check(&t);
	sum = t.result.delivered + t.result.overwritten;
	/* With the category "none", only the blob is recorded, because it has no category. */
	check(on ? sum == each * n && !t.result.dropped : sum == (uint64_t)n,
	      "%llu of %llu records", (unsigned long long)sum, (unsigned long long)(each * n));
	tape_free(&t);
}

int main(void)
{
	const long n = scale("EVENTS", 1000000);

	quiet_prepare(false);
	quiet(true, n);
	done("I9_no_system_call_or_malloc_in_any_kind");
	quiet(false, n);
	done("I9_no_system_call_if_another_is_recorded");
	return finish();
}
