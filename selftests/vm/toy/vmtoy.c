// SPDX-License-Identifier: GPL-2.0
/*
 * A module that misbehaves as its parameter says, to test the test machine: each way must make a
 * run fail
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

static char *bug = "none";
module_param(bug, charp, 0444);
MODULE_PARM_DESC(bug, "none, warn, oops, pin, uaf, bounds, atomic, locks, context, leak or forget");

static DEFINE_SPINLOCK(toy_spin);
static DEFINE_RAW_SPINLOCK(toy_raw);
static DEFINE_MUTEX(toy_a);
static DEFINE_MUTEX(toy_b);
static void *toy_lost;

static noinline void toy_uaf(void)
{
	char *p = kmalloc(64, GFP_KERNEL);

	if (!p)
		return;
	kfree(p);
	/* Hide the use after free from the compiler, which would reject it. */
	OPTIMIZER_HIDE_VAR(p);
	WRITE_ONCE(p[3], 1);
}

static noinline void toy_bounds(void)
{
	static int array[4];
	unsigned int i = 4;

	OPTIMIZER_HIDE_VAR(i);
	/*
	 * Do not use WRITE_ONCE(). It takes the address, and the sanitizer allows the address of
	 * the element past the end.
	 */
	array[i & 7]++;
	pr_info("vmtoy: %d\n", array[0]);
}

static noinline void toy_atomic(void)
{
	spin_lock(&toy_spin);
	msleep(20);
	spin_unlock(&toy_spin);
}

static noinline void toy_locks(void)
{
	mutex_lock(&toy_a);
	mutex_lock(&toy_b);
	mutex_unlock(&toy_b);
	mutex_unlock(&toy_a);
	mutex_lock(&toy_b);
	mutex_lock(&toy_a);
	mutex_unlock(&toy_a);
	mutex_unlock(&toy_b);
}

/* Takes a spinlock under a raw spinlock: allowed on most kernels, but not with PREEMPT_RT */
static noinline void toy_context(void)
{
	raw_spin_lock(&toy_raw);
	spin_lock(&toy_spin);
	spin_unlock(&toy_spin);
	raw_spin_unlock(&toy_raw);
}

static noinline void toy_leak(void)
{
	WRITE_ONCE(toy_lost, kmalloc(100, GFP_KERNEL));
	WRITE_ONCE(toy_lost, NULL);
}

/* Allocates memory that becomes a leak when the module is unloaded, with its pointer to it. */
static noinline void toy_forget(void)
{
	WRITE_ONCE(toy_lost, kmalloc(100, GFP_KERNEL));
}

static int __init toy_init(void)
{
	int *nowhere = NULL;

	pr_info("vmtoy: bug=%s\n", bug);
	if (!strcmp(bug, "warn"))
		WARN_ON(1);
	else if (!strcmp(bug, "oops"))
		WRITE_ONCE(*nowhere, 1);
	else if (!strcmp(bug, "pin"))
		__module_get(THIS_MODULE);
	else if (!strcmp(bug, "uaf"))
		toy_uaf();
	else if (!strcmp(bug, "bounds"))
		toy_bounds();
	else if (!strcmp(bug, "atomic"))
		toy_atomic();
	else if (!strcmp(bug, "locks"))
		toy_locks();
	else if (!strcmp(bug, "context"))
		toy_context();
	else if (!strcmp(bug, "leak"))
		toy_leak();
	else if (!strcmp(bug, "forget"))
		toy_forget();
	return 0;
}
module_init(toy_init);

static void __exit toy_exit(void)
{
	pr_info("vmtoy: gone\n");
}
module_exit(toy_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Misbehaves on request");
