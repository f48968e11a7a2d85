// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the suites that another module exports. selftests/kunit/run includes this file after a
 * definition of SUITES and SUITE_COUNT.
 */
static struct kunit_suite *suites[SUITE_COUNT];

static int __init suites_init(void)
{
	struct kunit_suite *all[] = SUITES;

	memcpy(suites, all, sizeof(all));
	return __kunit_test_suites_init(suites, ARRAY_SIZE(suites));
}
module_init(suites_init);

static void __exit suites_exit(void)
{
	__kunit_test_suites_exit(suites, ARRAY_SIZE(suites));
}
module_exit(suites_exit);

MODULE_DESCRIPTION("Runs the KUnit suites of asynctrace");
MODULE_LICENSE("GPL");
