// SPDX-License-Identifier: GPL-2.0
/*
 * Table of traced tasks, compared with a plain list while the table grows and shrinks.
 * The task pointers are never dereferenced.
 */
#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "sched/task_table.h"

#define TASKS	3000
#define STEPS	20000

/* Distance of the task addresses: like objects of a slab, they differ in few bits. */
#define APART	8192

/**
 * struct at_table_model - expected content of the table
 * @e: all entries
 * @in: whether the entry is in the table
 * @nr: number of entries in the table
 */
struct at_table_model {
	struct at_task e[TASKS];
	bool in[TASKS];
	u32 nr;
};

static bool at_model_put(struct at_table_model *m, u32 i)
{
	unsigned long flags;
	bool ok;

	raw_spin_lock_irqsave(&at_tasks_lock, flags);
	ok = at_task_table_put(&m->e[i]);
	raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	m->in[i] = ok;
	m->nr += ok;
	return ok;
}

static void at_model_remove(struct at_table_model *m, u32 i)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&at_tasks_lock, flags);
	at_task_table_remove(&m->e[i]);
	raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	m->in[i] = false;
	m->nr--;
}

static struct at_task *at_model_find(const struct at_task *e)
{
	struct at_task *found;

	rcu_read_lock();
	found = at_task_find(e->task);
	rcu_read_unlock();
	return found;
}

static void at_model_count(struct at_task *e, void *arg)
{
	struct at_table_model *m = arg;

	/* Tasks of a session on this machine may be in the table, too. */
	if (e >= m->e && e < m->e + TASKS)
		m->nr--;
}

/* Returns the number of entries that are wrongly in the table or missing from it. */
static u32 at_model_differences(struct at_table_model *m)
{
	u32 i, wrong = 0, nr = m->nr;

	for (i = 0; i < TASKS; i++)
		wrong += at_model_find(&m->e[i]) != (m->in[i] ? &m->e[i] : NULL);
	at_task_table_each(at_model_count, m);
	wrong += abs((s32)m->nr);
	m->nr = nr;
	return wrong;
}

static struct at_table_model *at_model_new(struct kunit *test)
{
	struct at_table_model *m = vzalloc(sizeof(*m));
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, m);
	for (i = 0; i < TASKS; i++)
		m->e[i].task = (struct task_struct *)(PAGE_OFFSET + (unsigned long)i * APART);
	return m;
}

static void at_model_free(struct at_table_model *m)
{
	u32 i;

	for (i = 0; i < TASKS; i++)
		if (m->in[i])
			at_model_remove(m, i);
	at_task_table_adapt();
	vfree(m);
}

/* Make room for tasks once. */
static void at_make_room(u32 tasks)
{
	at_task_table_reserve(tasks);
	at_task_table_unreserve(tasks);
}

static void table_grows_and_shrinks_with_its_tasks(struct kunit *test)
{
	struct at_table_model *m = at_model_new(test);
	u32 i, refused = 0;

	for (i = 0; i < TASKS; i++) {
		at_make_room(1);
		refused += !at_model_put(m, i);
	}
	KUNIT_EXPECT_EQ(test, refused, 0);
	KUNIT_EXPECT_EQ(test, at_model_differences(m), 0);
	for (i = 0; i < TASKS; i++) {
		if (i % 100)
			at_model_remove(m, i);
		at_task_table_adapt();
	}
	KUNIT_EXPECT_EQ(test, m->nr, TASKS / 100);
	KUNIT_EXPECT_EQ(test, at_model_differences(m), 0);
	at_model_free(m);
}

static void random_changes_agree_with_a_list(struct kunit *test)
{
	struct at_table_model *m = at_model_new(test);
	u32 seed = get_random_u32(), i, n, refused = 0;
	struct rnd_state random;

	kunit_info(test, "seed %u", seed);
	prandom_seed_state(&random, seed);
	for (n = 0; n < STEPS; n++) {
		i = prandom_u32_state(&random) % TASKS;
		if (m->in[i])
			at_model_remove(m, i);
		else
			refused += !at_model_put(m, i);
		if (!(prandom_u32_state(&random) % 64))
			at_make_room(prandom_u32_state(&random) % TASKS);
	}
	/* No put may fail: the limit is half of the slots, and far fewer are used. */
	KUNIT_EXPECT_EQ(test, refused, 0);
	KUNIT_EXPECT_EQ(test, at_model_differences(m), 0);
	at_model_free(m);
}

/* A full table refuses tasks without losing any. */
static void full_table_refuses_tasks(struct kunit *test)
{
	struct at_table_model *m = at_model_new(test);
	u32 i;

	at_task_table_adapt();
	for (i = 0; i < TASKS && at_model_put(m, i); i++)
		;
	KUNIT_EXPECT_LT(test, i, TASKS);
	KUNIT_EXPECT_EQ(test, at_model_differences(m), 0);
	at_make_room(1);
	KUNIT_EXPECT_TRUE(test, at_model_put(m, i));
	KUNIT_EXPECT_EQ(test, at_model_differences(m), 0);
	at_model_free(m);
}

/* Room that a caller has reserved stays, also if another caller adapts the size meanwhile. */
static void reserved_room_stays(struct kunit *test)
{
	struct at_table_model *m = at_model_new(test);
	u32 i, refused = 0;

	at_task_table_reserve(TASKS);
	for (i = 0; i < TASKS; i++) {
		at_task_table_adapt();
		refused += !at_model_put(m, i);
	}
	at_task_table_unreserve(TASKS);
	KUNIT_EXPECT_EQ(test, refused, 0);
	KUNIT_EXPECT_EQ(test, at_model_differences(m), 0);
	at_model_free(m);
}

/* Number of slots that look-ups pass although they have no task, in 1,000 slots */
static u32 at_marks_per_thousand(void)
{
	struct at_task_table *t;
	unsigned long flags, at;
	u32 marks = 0;

	raw_spin_lock_irqsave(&at_tasks_lock, flags);
	t = container_of(at_task_slots_get(), struct at_task_table, slot[0]);
	for (at = 0; at <= t->mask; at++)
		marks += t->slot[at] == &at_task_gone;
	marks = marks * 1000 / (t->mask + 1);
	raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
	return marks;
}

/*
 * Among 100 tasks that stay, other tasks come and go, one at a time. The table is adapted when
 * at_task_table_is_tight() says so, as by at_tasks_fn().
 */
static void tasks_that_come_and_go_leave_few_marks(struct kunit *test)
{
	struct at_table_model *m = at_model_new(test);
	u32 seed = get_random_u32(), i, n, refused = 0, most = 0;
	struct rnd_state random;
	unsigned long flags;
	bool tight;

	kunit_info(test, "seed %u", seed);
	prandom_seed_state(&random, seed);
	for (i = 0; i < TASKS; i += TASKS / 100)
		refused += !at_model_put(m, i);
	for (n = 0; n < STEPS; n++) {
		i = prandom_u32_state(&random) % TASKS;
		if (m->in[i])
			continue;
		if (at_model_put(m, i))
			at_model_remove(m, i);
		else
			refused++;
		raw_spin_lock_irqsave(&at_tasks_lock, flags);
		tight = at_task_table_is_tight();
		raw_spin_unlock_irqrestore(&at_tasks_lock, flags);
		if (tight)
			at_make_room(1);
		if (!(n % 64))
			most = max(most, at_marks_per_thousand());
	}
	KUNIT_EXPECT_EQ(test, refused, 0);
	KUNIT_EXPECT_LE(test, most, 126);
	KUNIT_EXPECT_EQ(test, at_model_differences(m), 0);
	at_model_free(m);
}

static struct kunit_case at_task_table_cases[] = {
	KUNIT_CASE(table_grows_and_shrinks_with_its_tasks),
	KUNIT_CASE(random_changes_agree_with_a_list),
	KUNIT_CASE(full_table_refuses_tasks),
	KUNIT_CASE(reserved_room_stays),
	KUNIT_CASE(tasks_that_come_and_go_leave_few_marks),
	{}
};

static struct kunit_suite at_task_table_suite = {
	.name = "asynctrace_task_table",
	.test_cases = at_task_table_cases,
};

kunit_test_suite(at_task_table_suite);
