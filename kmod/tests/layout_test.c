// SPDX-License-Identifier: GPL-2.0
/*
 * Layout of a mapping: each page belongs to one area, and the offsets given to user space
 * match those that the fault handler uses.
 */
#include <kunit/test.h>

#include "provider/layout.h"

static void i2_each_page_is_one_place(struct kunit *test)
{
	static const u32 cpus[] = { 1, 2, 63, 64, 127, 8192 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cpus); i++) {
		struct at_place last = {};
		struct at_layout l;
		u64 page, step;

		KUNIT_ASSERT_TRUE(test, at_layout_init(&l, cpus[i], 1 << 16));
		step = max_t(u64, l.pages / 100000, 1);
		for (page = 0; page < l.pages; page += step) {
			struct at_place at = at_layout_find(&l, page);
			u64 back = 0;

			KUNIT_ASSERT_GE(test, at.area, last.area);
			switch (at.area) {
			case AT_AREA_CONTROL:
				back = at.page;
				break;
			case AT_AREA_HEADER:
				back = at_layout_headers(&l, at.range) + at.page;
				break;
			case AT_AREA_DURABLE:
				back = at_layout_durable(&l) + at.page;
				break;
			case AT_AREA_RING:
				KUNIT_ASSERT_LE(test, at.ring, l.nr_rings);
				back = at_layout_rings(&l, at.range) +
				       (u64)at.ring * l.ring_pages + at.page;
				break;
			case AT_AREA_CELL:
				back = at_layout_cells(&l) + at.page;
				break;
			case AT_AREA_NONE:
				break;
			}
			KUNIT_ASSERT_NE(test, at.area, AT_AREA_NONE);
			KUNIT_ASSERT_EQ(test, back, page);
			last = at;
		}
		KUNIT_EXPECT_EQ(test, at_layout_find(&l, l.pages).area, AT_AREA_NONE);
		KUNIT_EXPECT_EQ(test, at_layout_find(&l, U64_MAX).area, AT_AREA_NONE);
	}
}

static void i2_too_large_is_refused(struct kunit *test)
{
	struct at_layout l;

	KUNIT_EXPECT_FALSE(test, at_layout_init(&l, 8192, ASYNCTRACE_RING_MAX));
	KUNIT_EXPECT_FALSE(test, at_layout_init(&l, 1, PAGE_SIZE / 2));
	KUNIT_EXPECT_TRUE(test, at_layout_init(&l, 1024, ASYNCTRACE_RING_MAX));
}

static struct kunit_case at_layout_cases[] = {
	KUNIT_CASE(i2_each_page_is_one_place),
	KUNIT_CASE(i2_too_large_is_refused),
	{}
};

static struct kunit_suite at_layout_suite = {
	.name = "asynctrace_layout",
	.test_cases = at_layout_cases,
};

kunit_test_suite(at_layout_suite);
