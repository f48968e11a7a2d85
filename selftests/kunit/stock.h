/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included before each file of the modules that selftests/kunit/run builds. It enables KUnit for
 * them, after the headers whose structures must be those of a kernel without KUnit.
 */
#ifndef KUNIT_STOCK_H
#define KUNIT_STOCK_H

#include <linux/jump_label.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/task.h>

#define CONFIG_KUNIT_MODULE 1
#define CONFIG_KUNIT_DEBUGFS 1
#define CONFIG_KUNIT_DEFAULT_ENABLED 1

/* The running test, for which a stock kernel's task_struct has no field */
struct kunit_stock {
	struct kunit *kunit_test;
};

extern struct kunit_stock kunit_stock;

#undef current
#define current (&kunit_stock)
#include <kunit/test-bug.h>
#undef current
#define current get_current()

#include <kunit/test.h>

/*
 * A kernel with KUnit finds a module's suites by their section. Here the module exports each suite,
 * and suites.ko runs them.
 */
#undef kunit_test_suite
#define kunit_test_suite(suite) \
	struct kunit_suite *kunit_stock_##suite = &(suite); \
	EXPORT_SYMBOL_GPL(kunit_stock_##suite)

#endif
