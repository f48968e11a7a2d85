// SPDX-License-Identifier: GPL-2.0
/*
 * Giving cells to threads, and taking them back from threads that have left. A thread has left if
 * it has ended, or if it has executed another program. The provider lives on when a child that
 * shares its mm by vfork(2) or clone(2) executes a program.
 *
 * No probe reports that an untraced thread leaves. So at_cells_reuse() looks for threads that have
 * left when no cell is free and enough threads have needed a cell since the last look. A traced
 * task may switch once more after its thread id was freed. Its entry in the table of tasks holds
 * the cell until no probe can find the entry.
 */
#include <linux/bitmap.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "base/race.h"
#include "provider/cells.h"
#include "provider/provider.h"

/* Charged to the provider's memory cgroup; must not invoke the OOM killer at its limit. */
#define AT_GFP	(GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/*
 * After this number of threads has needed a cell, look for ended threads. Wait for more threads
 * if many cells are in use: see at_cells_reuse().
 */
#define AT_LOOK_AFTER	64

/**
 * struct at_cell_page - a page of cells
 * @ref: counts the provider and each hold
 * @page: the memory of the cells, which the provider maps
 * @used: bitmap of the cells that have an owner; protected by slots_lock
 * @owner: thread id of each cell's owner, with a reference, or NULL; written under slots_lock
 * @holds: number of holds of each cell
 */
struct at_cell_page {
	struct kref ref;
	struct page *page;
	DECLARE_BITMAP(used, AT_CELLS_EACH);
	struct pid *owner[AT_CELLS_EACH];
	atomic_t holds[AT_CELLS_EACH];
};

static struct asynctrace_cell *at_cell(const struct at_cell_page *page, u32 i)
{
	return (struct asynctrace_cell *)page_address(page->page) + i;
}

static void at_cell_page_free(struct kref *ref)
{
	struct at_cell_page *page = container_of(ref, struct at_cell_page, ref);
	u32 i;

	for (i = 0; i < AT_CELLS_EACH; i++)
		put_pid(page->owner[i]);
	put_page(page->page);
	kfree(page);
}

static struct at_cell_page *at_cell_page_new(void)
{
	struct at_cell_page *page = kzalloc(sizeof(*page), AT_GFP);

	if (!page)
		return NULL;
	page->page = alloc_page(AT_GFP);
	if (!page->page) {
		kfree(page);
		return NULL;
	}
	kref_init(&page->ref);
	return page;
}

/*
 * Allocate the structure for a provider's cells, at first without any page. Returns NULL if
 * there is no memory.
 */
struct at_cells *at_cells_new(void)
{
	return kzalloc(sizeof(struct at_cells), AT_GFP);
}

/*
 * Drops the provider's references. Pages stay as long as entries of traced tasks hold their cells.
 * @cells may be NULL.
 */
void at_cells_destroy(struct at_cells *cells)
{
	u32 i;

	for (i = 0; cells && i < cells->nr; i++)
		kref_put(&cells->page[i]->ref, at_cell_page_free);
	kfree(cells);
}

/* Returns page @i of the area of cells, or NULL if no cell of the page has been given. */
struct page *at_cells_page(const struct at_provider *p, u32 i)
{
	/* Pairs with the store-release in at_cells_grow(). */
	if (i >= smp_load_acquire(&p->cells->nr))
		return NULL;
	return p->cells->page[i]->page;
}

/*
 * Has the thread with this id ended, or does it run another program? Such a thread does not write
 * to the cell any more. It may still switch.
 */
static bool at_thread_left(const struct at_provider *p, struct pid *pid)
{
	const struct task_struct *task;
	bool left;

	rcu_read_lock();
	task = pid_task(pid, PIDTYPE_PID);
	left = !task || READ_ONCE(task->mm) != p->mm;
	rcu_read_unlock();
	return left;
}

/* Take cells of a page back from threads that have left. Returns the number still in use. */
static u32 at_cells_look(const struct at_provider *p, struct at_cell_page *page)
{
	struct pid *owner;
	u32 i, used = 0;

	for_each_set_bit(i, page->used, AT_CELLS_EACH) {
		owner = page->owner[i];
		used++;
		if (!at_thread_left(p, owner))
			continue;
		WRITE_ONCE(page->owner[i], NULL);
		/*
		 * Pairs with the barrier in at_cell_hold(): either that function sees no
		 * owner, or this function sees the hold.
		 */
		smp_mb();
		/* The unlock orders this load before the next owner's use: see at_cell_drop(). */
		if (atomic_read(&page->holds[i])) {
			WRITE_ONCE(page->owner[i], owner);
			continue;
		}
		__clear_bit(i, page->used);
		put_pid(owner);
		used--;
	}
	return used;
}

/*
 * Take cells back from threads that have left, unless too few threads have needed a cell since the
 * last time. Returns true if this function looked for such threads.
 *
 * @full: no page can be added. If pages can be added, the required number of threads grows with
 * the number of cells in use. So the cost of looking is constant for each thread.
 */
static bool at_cells_reuse(struct at_provider *p, bool full)
{
	struct at_cells *cells = p->cells;
	u32 i, used = 0;
	bool look;

	spin_lock(&p->slots_lock);
	look = cells->needed >= AT_LOOK_AFTER + (full ? 0 : cells->in_use);
	if (look)
		cells->needed = 0;
	spin_unlock(&p->slots_lock);
	if (!look)
		return false;
	/* Take the lock for one page at a time, because a session's reader waits for it. */
	for (i = 0; i < READ_ONCE(cells->nr); i++) {
		spin_lock(&p->slots_lock);
		used += at_cells_look(p, cells->page[i]);
		spin_unlock(&p->slots_lock);
		cond_resched();
	}
	spin_lock(&p->slots_lock);
	cells->in_use = used;
	spin_unlock(&p->slots_lock);
	return true;
}

/*
 * Add a page, unless there are more than @nr pages: then another thread has just added a page,
 * which has free cells. Returns false if the provider has all pages, or there is no memory.
 */
static bool at_cells_grow(struct at_provider *p, u32 nr)
{
	struct at_cells *cells = p->cells;
	struct at_cell_page *page;
	bool more;

	if (nr == ARRAY_SIZE(cells->page))
		return false;
	page = at_cell_page_new();
	spin_lock(&p->slots_lock);
	if (page && cells->nr == nr) {
		cells->page[nr] = page;
		page = NULL;
		/* Pairs with the load-acquires in at_cells_page() and at_cell_hold(). */
		smp_store_release(&cells->nr, nr + 1);
	}
	more = cells->nr > nr;
	spin_unlock(&p->slots_lock);
	if (page)
		kref_put(&page->ref, at_cell_page_free);
	return more;
}

/* Returns the number of a free cell, which now belongs to @pid; 0: none is free. */
static u32 at_cell_take(struct at_provider *p, struct pid *pid)
{
	struct at_cells *cells = p->cells;
	u32 n, i, number = 0;

	spin_lock(&p->slots_lock);
	for (n = 0; n < cells->nr && !number; n++) {
		struct at_cell_page *page = cells->page[n];

		i = find_first_zero_bit(page->used, AT_CELLS_EACH);
		if (i == AT_CELLS_EACH)
			continue;
		/* The new owner must not appear to work on the operation of the last owner. */
		memset(at_cell(page, i), 0, sizeof(struct asynctrace_cell));
		__set_bit(i, page->used);
		/* Pairs with the load-acquire in at_cell_hold(): the cell is empty. */
		smp_store_release(&page->owner[i], get_pid(pid));
		number = n * AT_CELLS_EACH + i + 1;
	}
	spin_unlock(&p->slots_lock);
	return number;
}

/**
 * at_cell_give - give a thread a cell
 * @p: the provider
 * @pid: id of the thread, which has no cell of this provider
 *
 * May sleep. The caller counts a thread that gets no cell.
 *
 * Return: the cell's number, from 1 on; 0 if memory is short, or if all cells are in use.
 */
u32 at_cell_give(struct at_provider *p, struct pid *pid)
{
	u32 number, nr;

	spin_lock(&p->slots_lock);
	p->cells->needed++;
	spin_unlock(&p->slots_lock);
	do {
		nr = READ_ONCE(p->cells->nr);
		number = at_cell_take(p, pid);
	} while (!number && (at_cells_reuse(p, false) || at_cells_grow(p, nr) ||
			     at_cells_reuse(p, true)));
	return number;
}

/**
 * at_cell_hold - hold a thread's cell for its entry in the table of traced tasks
 * @p: the provider; the caller has a reference to its contents
 * @number: number of the cell; 0: the thread has none
 * @pid: id of the thread
 * @hold: set to the hold, which at_cell_drop() drops
 *
 * May be called in any context.
 *
 * Return: the kernel's address of the cell; NULL if the thread has no cell or has ended.
 */
struct asynctrace_cell *at_cell_hold(struct at_provider *p, u32 number, const struct pid *pid,
				     struct at_cell_hold *hold)
{
	u32 n = (number - 1) / AT_CELLS_EACH, i = (number - 1) % AT_CELLS_EACH;
	struct at_cell_page *page;

	hold->page = NULL;
	/* Pairs with the store-release in at_cells_grow(). */
	if (!number || n >= smp_load_acquire(&p->cells->nr))
		return NULL;
	page = p->cells->page[n];
	kref_get(&page->ref);
	atomic_inc(&page->holds[i]);
	/* Pairs with the barrier in at_cells_look(). */
	smp_mb__after_atomic();
	hold->page = page;
	hold->i = i;
	/* Pairs with the store-release in at_cell_take(). */
	if (smp_load_acquire(&page->owner[i]) == pid)
		return at_cell(page, i);
	at_cell_drop(hold);
	return NULL;
}

/*
 * Drop a hold; @hold may have no cell. May be called in any context, if the provider's contents
 * have a reference. Otherwise this may be the last reference to the page, so the caller must not
 * hold a raw spinlock.
 */
void at_cell_drop(struct at_cell_hold *hold)
{
	struct at_cell_page *page = hold->page;

	hold->page = NULL;
	if (!page)
		return;
	/*
	 * Orders the caller's accesses to the cell before the decrement. Pairs with the release
	 * of slots_lock after at_cells_look() has seen that there is no hold.
	 */
	smp_mb__before_atomic();
	atomic_dec(&page->holds[hold->i]);
	kref_put(&page->ref, at_cell_page_free);
}
