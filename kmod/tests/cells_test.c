// SPDX-License-Identifier: GPL-2.0
/*
 * Cells: no two live threads have the same cell, the cell of an ended thread is given to another
 * thread unless a traced task still holds it, and the number of cells is limited.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/pid.h>
#include <linux/slab.h>

#include "provider/cells.h"
#include "provider/provider.h"

#define THREADS	66

/**
 * struct at_test_cells - a provider of which only the cells are in use, and its threads
 * @p: the provider
 * @thread: the threads; NULL: ended
 * @pid: their ids, with references
 * @cell: numbers of their cells
 */
struct at_test_cells {
	struct at_provider p;
	struct task_struct *thread[THREADS];
	struct pid *pid[THREADS];
	u32 cell[THREADS];
};

static int at_test_thread(void *arg)
{
	while (!kthread_should_stop())
		schedule_timeout_interruptible(HZ);
	return 0;
}

static void at_test_begin(struct kunit *test, struct at_test_cells *t, u32 i)
{
	t->thread[i] = kthread_run(at_test_thread, NULL, "at_cells/%u", i);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t->thread[i]);
	t->pid[i] = get_task_pid(t->thread[i], PIDTYPE_PID);
}

/* End a thread, and wait until its id is free. */
static void at_test_end(struct kunit *test, struct at_test_cells *t, u32 i)
{
	struct task_struct *left;
	u32 tries = 0;

	kthread_stop(t->thread[i]);
	t->thread[i] = NULL;
	do {
		left = get_pid_task(t->pid[i], PIDTYPE_PID);
		if (left) {
			put_task_struct(left);
			msleep(20);
		}
	} while (left && tries++ < 1000);
	KUNIT_ASSERT_NULL(test, left);
}

static struct at_test_cells *at_test_cells(struct kunit *test)
{
	struct at_test_cells *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	spin_lock_init(&t->p.slots_lock);
	t->p.cells = at_cells_new();
	KUNIT_ASSERT_NOT_NULL(test, t->p.cells);
	return t;
}

static void at_test_cells_end(struct kunit *test, struct at_test_cells *t)
{
	u32 i;

	for (i = 0; i < THREADS; i++) {
		if (t->thread[i])
			at_test_end(test, t, i);
		put_pid(t->pid[i]);
	}
	at_cells_destroy(t->p.cells);
}

static struct asynctrace_cell *at_test_hold(struct at_test_cells *t, u32 i,
					    struct at_cell_hold *hold)
{
	return at_cell_hold(&t->p, t->cell[i], t->pid[i], hold);
}

static void cells_of_live_threads_differ(struct kunit *test)
{
	struct at_test_cells *t = at_test_cells(test);
	u32 i, j;

	KUNIT_EXPECT_NULL(test, at_cells_page(&t->p, 0));
	for (i = 0; i < THREADS; i++) {
		at_test_begin(test, t, i);
		t->cell[i] = at_cell_give(&t->p, t->pid[i]);
		KUNIT_ASSERT_NE(test, t->cell[i], 0);
		for (j = 0; j < i; j++)
			KUNIT_ASSERT_NE(test, t->cell[i], t->cell[j]);
		KUNIT_ASSERT_NOT_NULL(test, at_cells_page(&t->p,
							  (t->cell[i] - 1) / AT_CELLS_EACH));
	}
	/* Live threads take no more pages than they need. */
	KUNIT_EXPECT_EQ(test, t->p.cells->nr, DIV_ROUND_UP(THREADS, AT_CELLS_EACH));
	KUNIT_EXPECT_NULL(test, at_cells_page(&t->p, t->p.cells->nr));
	at_test_cells_end(test, t);
}

/**
 * struct at_test_taker - a thread that asks for a cell at the same time as others
 * @p: the provider
 * @go: completed when all threads have begun
 * @done: completed when the thread has asked
 * @cell: number of the thread's cell
 */
struct at_test_taker {
	struct at_provider *p;
	struct completion *go;
	struct completion done;
	u32 cell;
};

static int at_test_take(void *arg)
{
	struct at_test_taker *t = arg;

	wait_for_completion(t->go);
	t->cell = at_cell_give(t->p, task_pid(current));
	complete(&t->done);
	return at_test_thread(NULL);
}

#define TAKERS	4
#define ROUNDS	30

/* More pages than the threads need would be charged to the provider for as long as it lives. */
static void threads_at_once_get_one_page(struct kunit *test)
{
	struct at_test_cells *t = at_test_cells(test);
	struct at_test_taker taker[TAKERS];
	struct task_struct *thread[TAKERS];
	u32 round, i;

	for (round = 0; round < ROUNDS; round++) {
		DECLARE_COMPLETION_ONSTACK(go);

		at_cells_destroy(t->p.cells);
		t->p.cells = at_cells_new();
		KUNIT_ASSERT_NOT_NULL(test, t->p.cells);
		for (i = 0; i < TAKERS; i++) {
			taker[i] = (struct at_test_taker){ .p = &t->p, .go = &go };
			init_completion(&taker[i].done);
			thread[i] = kthread_run_on_cpu(at_test_take, &taker[i],
						       i % num_online_cpus(), "at_taker/%u");
			KUNIT_ASSERT_NOT_ERR_OR_NULL(test, thread[i]);
		}
		complete_all(&go);
		for (i = 0; i < TAKERS; i++) {
			wait_for_completion(&taker[i].done);
			KUNIT_EXPECT_NE(test, taker[i].cell, 0);
			kthread_stop(thread[i]);
		}
		KUNIT_EXPECT_EQ(test, t->p.cells->nr, 1);
	}
	at_test_cells_end(test, t);
}

static void cell_of_ended_thread_is_given_anew(struct kunit *test)
{
	struct at_test_cells *t = at_test_cells(test);
	struct asynctrace_cell *cell;
	struct at_cell_hold hold;
	u32 i, before;

	for (i = 0; i < THREADS; i++) {
		at_test_begin(test, t, i);
		t->cell[i] = at_cell_give(&t->p, t->pid[i]);
		cell = at_test_hold(t, i, &hold);
		KUNIT_ASSERT_NOT_NULL(test, cell);
		cell->operation = i + 1;
		at_cell_drop(&hold);
	}
	before = t->p.cells->nr;
	for (i = 0; i < THREADS; i++) {
		at_test_end(test, t, i);
		put_pid(t->pid[i]);
	}
	/*
	 * All threads have ended, and as many begin. They get the cells of the ended threads,
	 * so at most the pages for 64 more cells are needed.
	 */
	for (i = 0; i < THREADS; i++) {
		at_test_begin(test, t, i);
		t->cell[i] = at_cell_give(&t->p, t->pid[i]);
		cell = at_test_hold(t, i, &hold);
		KUNIT_ASSERT_NOT_NULL(test, cell);
		KUNIT_EXPECT_EQ(test, cell->operation, 0);
		at_cell_drop(&hold);
	}
	KUNIT_EXPECT_LE(test, t->p.cells->nr, before + DIV_ROUND_UP(64, AT_CELLS_EACH));
	at_test_cells_end(test, t);
}

/*
 * Asks for cells so often that at_cell_give() must have looked for ended threads. Returns true if
 * @cell was given.
 */
static bool at_test_is_given(struct at_test_cells *t, u32 cell, struct pid *to)
{
	u32 i;

	for (i = 0; i < AT_CELLS_MAX / 4; i++)
		if (at_cell_give(&t->p, to) == cell)
			return true;
	return false;
}

static void held_cell_is_given_to_no_other(struct kunit *test)
{
	struct at_test_cells *t = at_test_cells(test);
	struct at_cell_hold hold, late;

	at_test_begin(test, t, 0);
	at_test_begin(test, t, 1);
	t->cell[0] = at_cell_give(&t->p, t->pid[0]);
	KUNIT_ASSERT_NOT_NULL(test, at_test_hold(t, 0, &hold));
	at_test_end(test, t, 0);
	KUNIT_EXPECT_FALSE(test, at_test_is_given(t, t->cell[0], t->pid[1]));
	at_cell_drop(&hold);
	KUNIT_EXPECT_TRUE(test, at_test_is_given(t, t->cell[0], t->pid[1]));
	/*
	 * A hold of the ended thread's cell must fail, because the cell belongs to another
	 * thread.
	 */
	KUNIT_EXPECT_NULL(test, at_test_hold(t, 0, &late));
	KUNIT_EXPECT_NULL(test, late.page);
	at_test_cells_end(test, t);
}

static void hold_outlives_the_provider(struct kunit *test)
{
	struct at_test_cells *t = at_test_cells(test);
	struct asynctrace_cell *cell;
	struct at_cell_hold hold;

	at_test_begin(test, t, 0);
	t->cell[0] = at_cell_give(&t->p, t->pid[0]);
	cell = at_test_hold(t, 0, &hold);
	KUNIT_ASSERT_NOT_NULL(test, cell);
	at_test_cells_end(test, t);
	/* If the page had been freed, KASAN or page poisoning would report this access. */
	KUNIT_EXPECT_EQ(test, READ_ONCE(cell->operation), 0);
	at_cell_drop(&hold);
}

static void number_of_cells_is_limited(struct kunit *test)
{
	struct at_test_cells *t = at_test_cells(test);
	u32 i;

	at_test_begin(test, t, 0);
	at_test_begin(test, t, 1);
	for (i = 0; i < AT_CELLS_MAX; i++)
		KUNIT_ASSERT_NE(test, at_cell_give(&t->p, t->pid[0]), 0);
	KUNIT_EXPECT_EQ(test, at_cell_give(&t->p, t->pid[1]), 0);
	KUNIT_EXPECT_EQ(test, t->p.cells->nr, AT_CELL_PAGES);
	/* A free cell is found, but only after some threads have asked in vain. */
	at_test_end(test, t, 0);
	for (i = 0; i < 200 && !at_cell_give(&t->p, t->pid[1]); i++)
		;
	KUNIT_EXPECT_LT(test, i, 200);
	at_test_cells_end(test, t);
}

/* A cell of another thread, or a number that was never given, cannot be held. */
static void I2_wrong_cell_cannot_be_held(struct kunit *test)
{
	static const u32 wrong[] = { 0, 2, AT_CELLS_EACH + 1, AT_CELLS_MAX + 1, U32_MAX };
	struct at_test_cells *t = at_test_cells(test);
	struct at_cell_hold hold;
	u32 i;

	at_test_begin(test, t, 0);
	at_test_begin(test, t, 1);
	t->cell[0] = at_cell_give(&t->p, t->pid[0]);
	KUNIT_ASSERT_EQ(test, t->cell[0], 1);
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		KUNIT_EXPECT_NULL(test, at_cell_hold(&t->p, wrong[i], t->pid[0], &hold));
		KUNIT_EXPECT_NULL(test, hold.page);
	}
	KUNIT_EXPECT_NULL(test, at_cell_hold(&t->p, t->cell[0], t->pid[1], &hold));
	at_test_cells_end(test, t);
}

static struct kunit_case at_cells_cases[] = {
	KUNIT_CASE(cells_of_live_threads_differ),
	KUNIT_CASE(threads_at_once_get_one_page),
	KUNIT_CASE(cell_of_ended_thread_is_given_anew),
	KUNIT_CASE(held_cell_is_given_to_no_other),
	KUNIT_CASE(hold_outlives_the_provider),
	KUNIT_CASE(number_of_cells_is_limited),
	KUNIT_CASE(I2_wrong_cell_cannot_be_held),
	{}
};

static struct kunit_suite at_cells_suite = {
	.name = "asynctrace_cells",
	.test_cases = at_cells_cases,
};

kunit_test_suite(at_cells_suite);
