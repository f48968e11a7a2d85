// SPDX-License-Identifier: GPL-2.0
/*
 * Registration of providers, and their end.
 */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <linux/vmalloc.h>
#include <linux/xarray.h>

#include "base/clock.h"
#include "base/compat.h"
#include "base/pattern.h"
#include "base/quota.h"
#include "base/threads.h"
#include "control/announced_categories.h"
#include "control/monitor.h"
#include "provider/cells.h"
#include "provider/directory.h"
#include "provider/id_salt.h"
#include "provider/mapping_inode.h"
#include "provider/old_names.h"
#include "provider/provider.h"
#include "provider/recording_state.h"
#include "provider/thread_slot_numbers.h"
#include "session/assign.h"
#include "session/member.h"
#include "session/session.h"

/*
 * Protects the control plane: providers, sessions and membership. Do not touch user
 * memory while holding this lock.
 */
DEFINE_SPINLOCK(at_lock);

/* Descriptors by the low half of their cookie; under at_lock */
static DEFINE_XARRAY_ALLOC1(at_files);
/* Live providers by process; under at_lock */
static DEFINE_HASHTABLE(at_parts, 10);
/* If a process has more threads, assume that they run on all CPUs. */
#define AT_CPUS_THREADS	1024

/* Live providers by id. The id of an ended provider stays reserved until the provider is freed. */
static DEFINE_XARRAY_ALLOC(at_provider_ids);
static u32 at_provider_next_id = AT_ID_MIN;
static atomic64_t at_provider_serials;

/**
 * at_file_hello - give a descriptor a cookie, by which netlink messages name it
 * @file: the descriptor
 *
 * Half of a cookie is random so that other processes cannot guess it.
 *
 * Return: 0, also if the descriptor has a cookie already; -ENOMEM, -EBUSY.
 */
int at_file_hello(struct at_file *file)
{
	u32 nr;
	int err;

	if (READ_ONCE(file->cookie))
		return 0;
	err = xa_alloc(&at_files, &nr, NULL, xa_limit_32b, GFP_KERNEL);
	if (err)
		return err;
	spin_lock(&at_lock);
	if (!file->cookie) {
		WRITE_ONCE(file->cookie, (u64)get_random_u32() << 32 | nr);
		mmgrab(current->mm);
		file->mm = current->mm;
		/* The entry is reserved, so this does not allocate. */
		xa_store(&at_files, nr, file, 0);
		nr = 0;
	}
	spin_unlock(&at_lock);
	if (nr)
		xa_erase(&at_files, nr);
	return 0;
}

/* Called when the descriptor is closed. */
void at_file_forget(struct at_file *file)
{
	lockdep_assert_held(&at_lock);
	if (!file->cookie)
		return;
	xa_erase(&at_files, lower_32_bits(file->cookie));
	mmdrop(file->mm);
	file->cookie = 0;
}

/**
 * at_file_by_cookie - find a descriptor by its cookie
 * @cookie: the cookie
 *
 * Return: the descriptor, or NULL. It is valid while at_lock is held.
 */
struct at_file *at_file_by_cookie(u64 cookie)
{
	struct at_file *file = xa_load(&at_files, lower_32_bits(cookie));

	lockdep_assert_held(&at_lock);
	return file && file->cookie == cookie ? file : NULL;
}

void at_provider_get(struct at_provider *p)
{
	kref_get(&p->ref);
}

static void at_provider_free(struct kref *ref)
{
	struct at_provider *p = container_of(ref, struct at_provider, ref);

	if (p->space)
		at_space_free(p->space);
	if (p->first && p->first != p)
		at_provider_put(p->first);
	/* No session uses the id any more: another provider may get it. */
	if (p->id)
		xa_erase(&at_provider_ids, p->id);
	put_pid(p->pid);
	put_cred(p->cred);
	at_charge_free(p->charge);
	kfree(p);
}

void at_provider_put(struct at_provider *p)
{
	kref_put(&p->ref, at_provider_free);
}

void at_contents_get(struct at_provider *p)
{
	kref_get(&p->contents);
}

static void at_contents_free(struct work_struct *work)
{
	struct at_provider *p = container_of(work, struct at_provider, free_work);
	struct mm_struct *mm = p->mm;
	u32 i;

	for (i = 0; i < AT_RANGES; i++)
		at_range_destroy(&p->range[i]);
	at_slots_destroy(p);
	for (i = 0; p->durable && i < p->layout.durable_pages; i++)
		if (p->durable[i])
			put_page(p->durable[i]);
	kfree(p->durable);
	at_cells_destroy(p->cells);
	at_strings_put(p->known);
	vfree(p->control);
	if (p->salt)
		at_salt_put(p->salt, p->charge);
	/* at_task_left() compares p->mm: clear it before mmdrop() frees the address for reuse. */
	WRITE_ONCE(p->mm, NULL);
	mmdrop(mm);
	at_provider_put(p);
}

/* Freeing many pages takes long, and the caller may hold at_lock: leave it to a worker. */
static void at_contents_release(struct kref *ref)
{
	struct at_provider *p = container_of(ref, struct at_provider, contents);

	at_provider_get(p);
	INIT_WORK(&p->free_work, at_contents_free);
	queue_work(at_wq, &p->free_work);
}

void at_contents_put(struct at_provider *p)
{
	kref_put(&p->contents, at_contents_release);
}

static void at_provider_end_fn(struct work_struct *work)
{
	struct at_provider *p = container_of(work, struct at_provider, end_work);

	spin_lock(&at_lock);
	at_provider_end(p);
	spin_unlock(&at_lock);
	at_provider_put(p);
}

static u32 at_durable_generations;

/* Skip 0: a page that has not been written has generation 0. */
static u32 at_next_durable(void)
{
	lockdep_assert_held(&at_lock);
	return ++at_durable_generations ?: ++at_durable_generations;
}

/**
 * at_provider_clear_names - make a provider intern its names anew
 * @p: the provider, its gate shut
 *
 * Sessions that the provider has left may still need the present names, so these are
 * copied.
 */
void at_provider_clear_names(struct at_provider *p)
{
	u32 generation = at_next_durable();
	struct page *page;

	at_names_keep(p);
	/*
	 * Order the copy of the names before the new generation. Pairs with the read barrier in
	 * at_tell_strings().
	 */
	smp_store_release(&p->control->durable_generation, generation);
	/*
	 * Pairs with the barrier in at_fault_durable(): either that function sees the new
	 * generation, or this one sees the page.
	 */
	smp_mb();
	page = at_durable_page(p, 0);
	if (page)
		xchg(at_durable_position(page), (u64)generation << ASYNCTRACE_DURABLE_GEN_SHIFT);
}

/**
 * at_control_set_clock - tell a provider's process which clock to use
 * @c: the control page; its gate is shut
 * @clock: enum asynctrace_clock
 */
void at_control_set_clock(struct asynctrace_control *c, u32 clock)
{
	c->clock = clock;
	at_clock_scale(clock, &c->clock_mult, &c->clock_shift);
}

/* Fill in the control page of a new provider. at_member_start() fills in what a run needs. */
static void at_control_init(struct at_provider *p)
{
	const struct at_layout *l = &p->layout;
	struct asynctrace_control *c = p->control;
	u64 rw = l->control_pages;

	BUILD_BUG_ON(sizeof(struct asynctrace_cell) != ASYNCTRACE_LINE);
	c->nr_rings = l->nr_rings;
	c->ring_stride = (u64)l->ring_pages * PAGE_SIZE;
	c->magic = ASYNCTRACE_CONTROL_MAGIC;
	c->abi = ASYNCTRACE_ABI_VERSION;
	c->size = sizeof(*c);
	c->provider = p->id;
	c->salt = p->salt_nr;
	c->control_size = l->control_pages * PAGE_SIZE;
	c->categories = l->categories;
	c->rw_offset = rw * PAGE_SIZE;
	c->rw_size = (at_layout_cells(l) - rw) * PAGE_SIZE;
	c->durable = (at_layout_durable(l) - rw) * PAGE_SIZE;
	c->durable_words = AT_DURABLE_WORDS;
	c->durable_generation = at_next_durable();
	c->cells = at_layout_cells(l) * PAGE_SIZE;
	c->nr_cells = AT_CELLS_MAX;
	at_control_set_clock(c, at_clock_best());
}

static int at_provider_alloc(struct at_provider *p, u32 salt)
{
	u32 i;

	for (i = 0; i < AT_RANGES; i++)
		if (at_range_init(&p->range[i], p))
			return -ENOMEM;
	p->salt = at_salt_get(salt);
	if (IS_ERR(p->salt)) {
		int err = PTR_ERR(p->salt);

		p->salt = NULL;
		return err;
	}
	p->salt_nr = p->salt->nr;
	p->space = at_space_new();
	if (IS_ERR(p->space)) {
		p->space = NULL;
		return -ENOMEM;
	}
	p->control = __vmalloc(p->layout.control_pages * PAGE_SIZE,
			       GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	p->durable = kcalloc(p->layout.durable_pages, sizeof(*p->durable), GFP_KERNEL_ACCOUNT);
	p->cells = at_cells_new();
	return p->control && p->durable && p->cells ? 0 : -ENOMEM;
}

/*
 * Does the calling process pass the part of ptrace(2)'s access check that depends only on the
 * traced process?
 */
static bool at_is_pure(const struct cred *cred)
{
	return uid_eq(cred->uid, cred->euid) && uid_eq(cred->uid, cred->suid) &&
	       gid_eq(cred->gid, cred->egid) && gid_eq(cred->gid, cred->sgid) &&
	       at_is_dumpable(current);
}

static struct at_provider *at_provider_new(const struct at_provider_args *args)
{
	struct at_provider *p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);

	if (!p)
		return NULL;
	kref_init(&p->ref);
	kref_init(&p->contents);
	INIT_LIST_HEAD(&p->members);
	INIT_LIST_HEAD(&p->vacant);
	INIT_WORK(&p->end_work, at_provider_end_fn);
	mutex_init(&p->space_lock);
	spin_lock_init(&p->slots_lock);
	xa_init_flags(&p->slots, XA_FLAGS_ACCOUNT);
	xa_init_flags(&p->slot_of, XA_FLAGS_ACCOUNT);
	p->next_slot = 1;
	at_observe_init(p);
	at_alerts_init(p);
	strscpy(p->name, args->name, sizeof(p->name));
	p->version = args->version;
	p->serial = atomic64_inc_return(&at_provider_serials);
	p->cred = get_current_cred();
	p->uid = p->cred->uid;
	p->pure = at_is_pure(p->cred);
	p->clock_offset = at_clock_namespace_offset();
	p->pid = get_pid(task_tgid(current));
	mmgrab(current->mm);
	p->mm = current->mm;
	return p;
}

/* Add a provider to the lists. Providers of one process share their threads and @first. */
static void at_provider_list(struct at_provider *p)
{
	struct at_provider *other;

	p->first = p;
	hash_for_each_possible(at_parts, other, part, (unsigned long)p->pid) {
		/* Providers from before an exec have the same pid but another mm. */
		if (other->pid != p->pid || other->mm != p->mm)
			continue;
		p->first = other->first;
		at_provider_get(p->first);
		break;
	}
	p->first->parts++;
	hash_add(at_parts, &p->part, (unsigned long)p->pid);
	at_directory_add(p);
}

/*
 * Make a provider without publishing it. At the limit of the user's memory cgroup the
 * allocations may block for as long as the user wants, so at_lock must not be held.
 */
static struct at_provider *at_provider_make(const struct at_provider_args *args, u32 salt,
					    struct netlink_ext_ack *extack)
{
	struct at_provider *p = at_provider_new(args);
	int err;

	if (!p)
		return ERR_PTR(-ENOMEM);
	/* Pages may be larger than the smallest stride that the policy allows. */
	if (args->ring_stride < PAGE_SIZE) {
		NL_SET_ERR_MSG(extack, "the stride is less than a page: use a larger stride");
		err = -EINVAL;
		goto err;
	}
	if (!at_layout_init(&p->layout, nr_cpu_ids, args->ring_stride)) {
		NL_SET_ERR_MSG(extack, "the rings of all CPUs are too large: use a smaller stride");
		err = -E2BIG;
		goto err;
	}
	p->charge = at_charge_new(p->uid, p->cred->user_ns, AT_THING_PROVIDER);
	if (IS_ERR(p->charge)) {
		err = PTR_ERR(p->charge);
		p->charge = NULL;
		at_charge_explain(err, AT_THING_PROVIDER, extack);
		goto err;
	}
	err = at_provider_alloc(p, salt);
	if (!err)
		err = xa_alloc_cyclic(&at_provider_ids, &p->id, NULL,
				      XA_LIMIT(AT_ID_MIN, AT_ID_MAX), &at_provider_next_id,
				      GFP_KERNEL);
	if (err >= 0)
		return p;
	/* xa_alloc_cyclic() may have stored an id that it could not take. */
	p->id = 0;
	if (err == -EBUSY)
		err = -ENOSPC;
	if (err == -ENOSPC)
		NL_SET_ERR_MSG(extack, "this machine has too many providers");
err:
	at_contents_put(p);
	at_provider_put(p);
	return ERR_PTR(err);
}

/* Check that the calling process may register a provider through a descriptor. */
static int at_file_may_register(const struct at_file *file, struct netlink_ext_ack *extack)
{
	if (!file) {
		NL_SET_ERR_MSG(extack,
			       "no descriptor of this process has the cookie; ask it with ASYNCTRACE_IOC_HELLO");
		return -ENOENT;
	}
	if (!current->mm || file->mm != current->mm) {
		NL_SET_ERR_MSG(extack,
			       "the cookie is not of a descriptor that this process asked for");
		return -EPERM;
	}
	if (file->provider || file->session) {
		NL_SET_ERR_MSG(extack, "the descriptor is in use: open the device once more");
		return -EBUSY;
	}
	return 0;
}

/* Publish a provider. Its descriptor may be closed as soon as at_lock is released. */
static int at_provider_publish(struct at_provider *p, u64 cookie,
			       struct netlink_ext_ack *extack)
{
	struct at_file *file;
	int err;

	lockdep_assert_held(&at_lock);
	/* at_lock was not held: the descriptor may be closed, or used by another provider. */
	file = at_file_by_cookie(cookie);
	err = at_file_may_register(file, extack);
	if (err)
		return err;
	/* The entry is reserved, so this does not allocate. */
	xa_store(&at_provider_ids, p->id, p, 0);
	at_control_init(p);
	/*
	 * Set before mmap(2) can find the provider. A concurrent mmap(2) that fails
	 * because there is no provider yet may be counted in the wrong address space.
	 * This affects only the calling process.
	 */
	file->f->f_mapping = p->space->i_mapping;
	at_provider_list(p);
	/* Pairs with the load-acquire in at_file_provider(), which runs without at_lock. */
	smp_store_release(&file->provider, p);
	at_notify_provider(ASYNCTRACE_NOTIFICATION_KINDS_PROVIDER_CAME, p, NULL);
	return 0;
}

/**
 * at_provider_register - register the calling process as a provider
 * @cookie: of the descriptor; the calling process must have requested it
 * @args: name, version and ring stride, as at_netlink_provider_args() has checked them
 * @id: out: id of the provider
 * @started: out: a session records the provider already
 * @extack: for the reason of a failure
 *
 * Return: 0; -ENOENT if no descriptor has the cookie, -EPERM if another process requested
 * it, -EBUSY if the descriptor is in use, -EINVAL if the ring stride is less than a page, -E2BIG
 * if the rings do not fit a mapping, -EDQUOT beyond the quota of one user, -ENOSPC if the machine
 * has too many providers or all salts are taken, -ENOMEM.
 */
int at_provider_register(u64 cookie, const struct at_provider_args *args,
			 u32 *id, bool *started, struct netlink_ext_ack *extack)
{
	struct at_provider *p;
	struct at_file *file;
	u32 salt = 0, since;
	int err;

	spin_lock(&at_lock);
	file = at_file_by_cookie(cookie);
	err = at_file_may_register(file, extack);
	if (!err)
		salt = file->salt;
	spin_unlock(&at_lock);
	if (err)
		return err;
	p = at_provider_make(args, salt, extack);
	if (IS_ERR(p))
		return PTR_ERR(p);
	/* The provider may end while it is being published. */
	at_provider_get(p);
	spin_lock(&at_lock);
	since = at_last_generation();
	err = at_provider_publish(p, cookie, extack);
	spin_unlock(&at_lock);
	if (!err)
		*started = at_offer(p, since);
	*id = p->id;
	at_provider_put(p);
	if (err) {
		at_contents_put(p);
		at_provider_put(p);
	}
	return err;
}

/**
 * at_provider_end - end a provider
 * @p: the provider
 *
 * Idempotent. Published records can still be read.
 */
void at_provider_end(struct at_provider *p)
{
	struct at_member *m = p->member, *each;

	lockdep_assert_held(&at_lock);
	if (p->dead)
		return;
	WRITE_ONCE(p->dead, true);
	hash_del(&p->part);
	at_directory_remove(p);
	p->first->parts--;
	list_del_init(&p->vacant);
	if (m)
		at_member_leave(m);
	/*
	 * A session that lost the provider to a privileged session also waits until the provider
	 * ends.
	 */
	list_for_each_entry(each, &p->members, of_provider)
		if (each == m || each->gone)
			at_member_gone(each);
	at_observe_update(p);
	at_notify_provider(ASYNCTRACE_NOTIFICATION_KINDS_PROVIDER_WENT, p, m ? m->session : NULL);
	/* Hide the provider from look-ups by id. at_provider_free() releases the id. */
	xa_store(&at_provider_ids, p->id, NULL, 0);
}

/**
 * at_provider_release - drop the references of a closed descriptor
 * @p: the provider, which has ended and has no mapping, so that the inode may be freed
 *
 * Sessions may hold references to the provider for long. The provider is charged to the user
 * until these references are dropped.
 */
void at_provider_release(struct at_provider *p)
{
	struct inode *space;

	mutex_lock(&p->space_lock);
	space = p->space;
	p->space = NULL;
	mutex_unlock(&p->space_lock);
	at_space_free(space);
	at_contents_put(p);
	at_provider_put(p);
}

/* Call at_provider_end() from a worker. For a caller that must not take at_lock. */
void at_provider_end_soon(struct at_provider *p)
{
	at_provider_get(p);
	if (!queue_work(at_wq, &p->end_work))
		at_provider_put(p);
}

/* Unmap pages of the mapping in all processes. */
void at_provider_zap(struct at_provider *p, u64 page, u64 pages)
{
	mutex_lock(&p->space_lock);
	if (p->space)
		unmap_mapping_pages(p->space->i_mapping, page, pages, true);
	mutex_unlock(&p->space_lock);
}

/**
 * at_provider_cpus - find the CPUs that run threads of a provider
 * @p: the provider, its gate shut
 * @cpus: out: these CPUs are set
 *
 * A thread that is not running was switched out. When it runs again it restarts its
 * critical section and sees the gate shut.
 */
void at_provider_cpus(const struct at_provider *p, struct cpumask *cpus)
{
	struct at_threads walk = { .pid = p->pid };
	struct task_struct *t;

	/*
	 * Orders the store to the gate before the loads of p->others and on_cpu: a thread
	 * that starts to run later sees the gate shut. Pairs with the barrier in
	 * at_ioc_thread().
	 */
	smp_mb();
	rcu_read_lock();
	while (!READ_ONCE(p->others) && walk.n < AT_CPUS_THREADS && (t = at_threads_next(&walk)))
		if (at_task_runs(t))
			cpumask_set_cpu(task_cpu(t), cpus);
	rcu_read_unlock();
	if (READ_ONCE(p->others) || walk.cut || walk.n >= AT_CPUS_THREADS)
		cpumask_copy(cpus, cpu_possible_mask);
}

/**
 * at_provider_visible - may a caller see and record a provider?
 * @p: the provider
 * @caller: the caller, or the owner of a session
 *
 * To other callers the provider does not exist. The rule is that of ptrace(2), see
 * at_caller_covers(): a program may have secrets or privileges that the user who started
 * it does not have.
 *
 * The check uses the credentials at registration. A process that later becomes
 * undumpable, or gains capabilities without an exec, stays visible. If the process has become
 * undumpable, the scheduler's probes do not record why its threads leave their CPUs, unless the
 * owner of the session is privileged.
 *
 * Return: true if the caller may.
 */
bool at_provider_visible(const struct at_provider *p, const struct at_caller *caller)
{
	const struct at_caller was = at_caller_of(p->cred);

	return caller->privileged || (p->pure && at_caller_covers(caller, &was));
}

/**
 * at_provider_from - find the live provider with the lowest id not below @id
 * @id: in: lowest id; out: id of the provider
 *
 * Return: the provider, valid while at_lock is held, or NULL.
 */
struct at_provider *at_provider_from(u32 *id)
{
	unsigned long next = *id;
	struct at_provider *p;

	lockdep_assert_held(&at_lock);
	p = xa_find(&at_provider_ids, &next, AT_ID_MAX, XA_PRESENT);
	*id = next;
	return p;
}

/**
 * at_provider_next - find the visible provider with the lowest id not below @id
 * @id: in: lowest id; out: id of the provider
 * @caller: skip providers that this caller may not see
 *
 * May drop and retake at_lock, because other users may have many providers.
 *
 * Return: the provider, valid while at_lock is held, or NULL.
 */
struct at_provider *at_provider_next(u32 *id, const struct at_caller *caller)
{
	struct at_provider *p;
	u32 n = 0;

	for (; (p = at_provider_from(id)); ++*id) {
		if (at_provider_visible(p, caller))
			return p;
		at_turn(&n);
	}
	return NULL;
}
