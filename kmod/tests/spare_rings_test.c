// SPDX-License-Identifier: GPL-2.0
/*
 * Spare memory for kernel rings: each spare is taken once, and few are kept when no CPU needs
 * them.
 */
#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "base/quiesce.h"
#include "ring/spare_rings.h"

#define AT_TEST_WORDS	(3 * PAGE_SIZE / sizeof(u64))
#define AT_TEST_CALM	1U

/* Returns an empty struct at_spares. Not on the stack, because it has a work item. */
static struct at_spares *at_test_spares(struct kunit *test)
{
	struct at_spares *sp = kunit_kzalloc(test, sizeof(*sp), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, sp);
	at_spares_init(sp, AT_TEST_WORDS, AT_TEST_CALM, at_wq, NULL);
	return sp;
}

static u64 *at_test_take(struct at_spares *sp)
{
	unsigned long flags;
	u64 *data;

	local_irq_save(flags);
	data = at_spares_take(sp);
	local_irq_restore(flags);
	return data;
}

static void each_spare_is_taken_once(struct kunit *test)
{
	u32 all = max(min(AT_SPARES, num_online_cpus()), min(AT_TEST_CALM, num_possible_cpus()));
	u64 *taken[AT_SPARES] = {}, *data;
	struct at_spares *sp = at_test_spares(test);
	u32 i, n = 0;

	/* Pretend that the worker was asked already, so that it adds no spares meanwhile. */
	sp->asked = true;
	KUNIT_EXPECT_PTR_EQ(test, at_test_take(sp), NULL);
	KUNIT_ASSERT_EQ(test, at_spares_prepare(sp), 0);
	KUNIT_EXPECT_EQ(test, at_spares_pages(sp), 3 * all);
	sp->asked = true;
	while (n < AT_SPARES && (data = at_test_take(sp))) {
		for (i = 0; i < n; i++)
			KUNIT_EXPECT_PTR_NE(test, data, taken[i]);
		KUNIT_EXPECT_PTR_EQ(test, memchr_inv(data, 0, AT_TEST_WORDS * sizeof(u64)), NULL);
		data[0] = 1;
		taken[n++] = data;
	}
	KUNIT_EXPECT_EQ(test, n, all);
	KUNIT_EXPECT_EQ(test, at_spares_pages(sp), 0);
	at_spares_destroy(sp);
	while (n)
		vfree(taken[--n]);
}

/* Pretend that no CPU has taken a spare for a while. */
static void at_test_wait(struct at_spares *sp)
{
	sp->busy = jiffies - 2 * HZ;
	sp->filled = sp->busy;
	at_spares_look(sp);
	flush_work(&sp->fill);
}

static void few_spares_are_kept_when_calm(struct kunit *test)
{
	struct at_spares *sp = at_test_spares(test);

	KUNIT_ASSERT_EQ(test, at_spares_prepare(sp), 0);
	at_test_wait(sp);
	KUNIT_EXPECT_EQ(test, at_spares_pages(sp), 3 * AT_TEST_CALM);
	/* All CPUs have taken their spares. */
	atomic_set(&sp->taken, num_possible_cpus());
	at_test_wait(sp);
	KUNIT_EXPECT_EQ(test, at_spares_pages(sp), 0);
	at_spares_destroy(sp);
}

static void missing_memory_is_asked_for_again(struct kunit *test)
{
	struct at_spares *sp = at_test_spares(test);

	sp->failed = true;
	KUNIT_EXPECT_PTR_EQ(test, at_test_take(sp), NULL);
	/* After a failure, probes must not ask the worker for each record. */
	KUNIT_EXPECT_FALSE(test, sp->asked);
	at_test_wait(sp);
	KUNIT_EXPECT_FALSE(test, sp->failed);
	KUNIT_EXPECT_EQ(test, at_spares_pages(sp), 3 * AT_TEST_CALM);
	at_spares_destroy(sp);
}

static struct kunit_case at_spares_cases[] = {
	KUNIT_CASE(each_spare_is_taken_once),
	KUNIT_CASE(few_spares_are_kept_when_calm),
	KUNIT_CASE(missing_memory_is_asked_for_again),
	{}
};

static struct kunit_suite at_spares_suite = {
	.name = "asynctrace_spare_rings",
	.test_cases = at_spares_cases,
};

kunit_test_suite(at_spares_suite);
