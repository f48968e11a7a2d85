// SPDX-License-Identifier: GPL-2.0
/* Freeing the rings of a provider */
#include <kunit/test.h>
#include <linux/mm.h>

#include "base/lock.h"
#include "base/quiesce.h"
#include "ring/user_rings.h"

/*
 * With so many rings, struct at_rings is vmalloc memory, which must not be freed under a spinlock.
 */
#define RINGS	((KMALLOC_MAX_SIZE + PAGE_SIZE) / sizeof(struct at_uring))

static void last_reference_can_be_put_under_at_lock(struct kunit *test)
{
	struct at_rings *r = at_rings_new(RINGS, NULL);

	KUNIT_ASSERT_NOT_NULL(test, r);
	KUNIT_ASSERT_TRUE(test, is_vmalloc_addr(r));
	spin_lock(&at_lock);
	at_rings_put(r);
	spin_unlock(&at_lock);
	flush_workqueue(at_wq);
}

static struct kunit_case at_user_rings_cases[] = {
	KUNIT_CASE(last_reference_can_be_put_under_at_lock),
	{}
};

static struct kunit_suite at_user_rings_suite = {
	.name = "asynctrace_user_rings",
	.test_cases = at_user_rings_cases,
};

kunit_test_suite(at_user_rings_suite);
