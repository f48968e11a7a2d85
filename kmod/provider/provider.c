// SPDX-License-Identifier: GPL-2.0
/*
 * Registration of providers, and their end.
 */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/idr.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/random.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <linux/vmalloc.h>

#include "base/clock.h"
#include "base/compat.h"
#include "base/quota.h"
#include "control/announce.h"
#include "control/monitor.h"
#include "provider/durable_copy.h"
#include "provider/provider.h"
#include "provider/thread_slots.h"
#include "session/assign.h"
#include "session/member.h"
#include "session/session.h"

/* The control plane: providers, sessions, who is in which; never user memory. */
DEFINE_MUTEX(at_mutex);
LIST_HEAD(at_providers);

static DEFINE_HASHTABLE(at_files, 8);
/* Live providers, by process; under at_mutex. */
static DEFINE_HASHTABLE(at_parts, 8);
static DEFINE_IDR(at_provider_ids);

/* A cookie tells nothing, and cannot be guessed. It names the descriptor to netlink. */
void at_file_hello(struct at_file *file)
{
	u64 cookie;

	lockdep_assert_held(&at_mutex);
	if (file->cookie)
		return;
	do {
		cookie = get_random_u64();
	} while (!cookie || at_file_by_cookie(cookie));
	file->cookie = cookie;
	mmgrab(current->mm);
	file->mm = current->mm;
	hash_add(at_files, &file->node, file->cookie);
}

/* The descriptor is going. */
void at_file_forget(struct at_file *file)
{
	lockdep_assert_held(&at_mutex);
	if (!file->cookie)
		return;
	hash_del(&file->node);
	mmdrop(file->mm);
	file->cookie = 0;
}

/**
 * at_file_by_cookie - the descriptor that a message names
 * @cookie: of it
 *
 * Return: the descriptor, or NULL. It stays while at_mutex is held.
 */
struct at_file *at_file_by_cookie(u64 cookie)
{
	struct at_file *file;

	lockdep_assert_held(&at_mutex);
	hash_for_each_possible(at_files, file, node, cookie)
		if (file->cookie == cookie)
			return file;
	return NULL;
}

void at_provider_get(struct at_provider *p)
{
	kref_get(&p->ref);
}

static void at_provider_free(struct kref *ref)
{
	struct at_provider *p = container_of(ref, struct at_provider, ref);
	u32 i;

	for (i = 0; i < AT_RANGES; i++)
		at_range_destroy(&p->range[i]);
	if (p->first && p->first != p)
		at_provider_put(p->first);
	put_pid(p->pid);
	put_cred(p->cred);
	at_user_put(p->user, AT_THING_PROVIDER);
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

static void at_contents_free(struct kref *ref)
{
	struct at_provider *p = container_of(ref, struct at_provider, contents);
	struct mm_struct *mm = p->mm;
	u32 i;

	at_slots_destroy(p);
	for (i = 0; p->durable && i < p->layout.durable_pages; i++)
		if (p->durable[i])
			put_page(p->durable[i]);
	kfree(p->durable);
	kvfree(p->known);
	if (p->sink)
		put_page(p->sink);
	vfree(p->control);
	/* Nobody's, to who compares, before its address may be another's: at_task_left(). */
	WRITE_ONCE(p->mm, NULL);
	mmdrop(mm);
}

/* The descriptor's is the last but those of members: nothing is mapped any more. */
void at_contents_put(struct at_provider *p)
{
	kref_put(&p->contents, at_contents_free);
}

static void at_provider_end_fn(struct work_struct *work)
{
	struct at_provider *p = container_of(work, struct at_provider, end_work);

	mutex_lock(&at_mutex);
	at_provider_end(p);
	mutex_unlock(&at_mutex);
	at_provider_put(p);
}

static u32 at_durable_generations;

/* Never 0, which is what a page says that nobody has written. */
static u32 at_next_durable(void)
{
	lockdep_assert_held(&at_mutex);
	return ++at_durable_generations ?: ++at_durable_generations;
}

/**
 * at_provider_clear_names - a provider is to intern its names anew
 * @p: the provider, its gate shut
 *
 * Sessions that it has left may still be read, and need those that it has.
 */
void at_provider_clear_names(struct at_provider *p)
{
	u32 generation = at_next_durable();
	struct page *page;

	at_names_keep(p);
	/* Pairs with the read barrier in at_tell_strings(): they have been kept. */
	smp_store_release(&p->control->durable_generation, generation);
	/* Against at_fault_durable(): it sees the generation, or we the page. */
	smp_mb();
	page = at_durable_page(p, 0);
	if (page)
		xchg(at_durable_position(page), (u64)generation << ASYNCTRACE_DURABLE_GEN_SHIFT);
}

/* Fill in what does not change while the provider lives. */
static void at_control_init(struct at_provider *p)
{
	const struct at_layout *l = &p->layout;
	struct asynctrace_control *c = p->control;
	u64 rw = l->control_pages;

	c->nr_rings = l->nr_rings;
	c->ring_stride = (u64)l->ring_pages * PAGE_SIZE;
	c->magic = ASYNCTRACE_CONTROL_MAGIC;
	c->abi = ASYNCTRACE_ABI_VERSION;
	c->size = sizeof(*c);
	c->provider = p->id;
	c->salt = p->id;
	c->control_size = l->control_pages * PAGE_SIZE;
	c->limits = l->limits;
	c->categories = l->categories;
	c->rw_offset = rw * PAGE_SIZE;
	c->rw_size = (l->pages - rw) * PAGE_SIZE;
	c->durable = (at_layout_durable(l) - rw) * PAGE_SIZE;
	c->durable_words = AT_DURABLE_WORDS;
	c->durable_generation = at_next_durable();
	c->clock = at_clock_best();
}

static int at_provider_alloc(struct at_provider *p)
{
	u32 i;

	for (i = 0; i < AT_RANGES; i++)
		if (at_range_init(&p->range[i], p))
			return -ENOMEM;
	p->control = __vmalloc(p->layout.control_pages * PAGE_SIZE,
			       GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	p->sink = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	p->durable = kcalloc(p->layout.durable_pages, sizeof(*p->durable), GFP_KERNEL_ACCOUNT);
	return p->control && p->sink && p->durable ? 0 : -ENOMEM;
}

/* What ptrace(2) asks of a process itself, whoever wants to look at it. */
static bool at_is_pure(const struct cred *cred)
{
	return uid_eq(cred->uid, cred->euid) && uid_eq(cred->uid, cred->suid) &&
	       gid_eq(cred->gid, cred->egid) && gid_eq(cred->gid, cred->sgid) &&
	       get_dumpable(current->mm) == SUID_DUMP_USER;
}

static struct at_provider *at_provider_new(const struct at_provider_args *args)
{
	struct at_provider *p = kzalloc(sizeof(*p), GFP_KERNEL_ACCOUNT);

	if (!p)
		return NULL;
	kref_init(&p->ref);
	kref_init(&p->contents);
	INIT_LIST_HEAD(&p->node);
	INIT_LIST_HEAD(&p->members);
	INIT_LIST_HEAD(&p->vacant);
	INIT_WORK(&p->end_work, at_provider_end_fn);
	mutex_init(&p->mapping_lock);
	mutex_init(&p->slots_lock);
	xa_init_flags(&p->slots, XA_FLAGS_ACCOUNT);
	xa_init_flags(&p->slot_of, XA_FLAGS_ACCOUNT);
	p->next_slot = 1;
	at_observe_init(p);
	strscpy(p->name, args->name, sizeof(p->name));
	p->version = args->version;
	p->cred = get_current_cred();
	p->uid = p->cred->uid;
	p->pure = at_is_pure(p->cred);
	p->clock_offset = at_clock_namespace_offset();
	p->pid = get_pid(task_tgid(current));
	mmgrab(current->mm);
	p->mm = current->mm;
	return p;
}

/* A process may be several providers, which have their threads in common. */
static void at_provider_list(struct at_provider *p)
{
	struct at_provider *other;

	p->first = p;
	hash_for_each_possible(at_parts, other, part, (unsigned long)p->pid) {
		/* After an exec there may be those of the program before it, of other memory. */
		if (other->pid != p->pid || other->mm != p->mm)
			continue;
		p->first = other->first;
		at_provider_get(p->first);
		break;
	}
	p->first->parts++;
	hash_add(at_parts, &p->part, (unsigned long)p->pid);
	list_add_tail(&p->node, &at_providers);
}

/*
 * A provider that nobody knows yet. At the limit of a memory cgroup that is its user's
 * this may take as long as he likes: at_mutex, which all others wait for, is not held.
 */
static struct at_provider *at_provider_make(const struct at_provider_args *args,
					    struct netlink_ext_ack *extack)
{
	struct at_provider *p = at_provider_new(args);
	int err;

	if (!p)
		return ERR_PTR(-ENOMEM);
	if (!at_layout_init(&p->layout, nr_cpu_ids, args->ring_stride)) {
		NL_SET_ERR_MSG(extack, "the rings of all CPUs are too large: use a smaller stride");
		err = -E2BIG;
		goto err;
	}
	p->user = at_user_get(p->uid, AT_THING_PROVIDER);
	if (IS_ERR(p->user)) {
		err = PTR_ERR(p->user);
		p->user = NULL;
		if (err == -EDQUOT)
			NL_SET_ERR_MSG(extack, "this user has too many providers");
		goto err;
	}
	err = at_provider_alloc(p);
	if (!err)
		return p;
err:
	at_contents_put(p);
	at_provider_put(p);
	return ERR_PTR(err);
}

/* May the process that calls become a provider through a descriptor? */
static int at_file_may_register(const struct at_file *file, struct netlink_ext_ack *extack)
{
	if (!file || !current->mm || file->mm != current->mm) {
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

/**
 * at_provider_register - make a descriptor's process a provider
 * @file: the descriptor; asked for by the process that calls
 * @args: what it says of itself
 * @id: out: its id
 * @started: out: a session records it already
 * @extack: for the reason of a refusal
 *
 * at_mutex is let go meanwhile, and the descriptor may have been closed when this returns.
 *
 * Return: 0; -EPERM where another process asked for the cookie, -EBUSY where the
 * descriptor is in use, -EDQUOT beyond what one user may have, -E2BIG where the
 * rings do not fit the device's addresses, -ENOMEM.
 */
int at_provider_register(struct at_file *file, const struct at_provider_args *args,
			 u32 *id, bool *started, struct netlink_ext_ack *extack)
{
	struct at_provider *p;
	u64 cookie;
	int err;

	lockdep_assert_held(&at_mutex);
	err = at_file_may_register(file, extack);
	if (err)
		return err;
	if (!is_power_of_2(args->ring_stride) || args->ring_stride < ASYNCTRACE_RING_MIN ||
	    args->ring_stride > ASYNCTRACE_RING_MAX) {
		NL_SET_ERR_MSG(extack, "the ring stride is no power of two within the limits");
		return -EINVAL;
	}
	cookie = file->cookie;
	mutex_unlock(&at_mutex);
	p = at_provider_make(args, extack);
	mutex_lock(&at_mutex);
	if (IS_ERR(p))
		return PTR_ERR(p);
	/* The descriptor may be closed now, or have become another provider's. */
	file = at_file_by_cookie(cookie);
	err = at_file_may_register(file, extack);
	if (err)
		goto err;
	/* Nobody's to pay: a few bytes, which are not to be waited for either. */
	err = idr_alloc_cyclic(&at_provider_ids, p, AT_ID_MIN, AT_ID_MAX + 1, GFP_KERNEL);
	if (err < 0)
		goto err;
	p->id = err;
	at_control_init(p);
	p->mapping = file->mapping;
	at_provider_list(p);
	/* Pairs with the READ_ONCE()s of those who do not hold at_mutex. */
	smp_store_release(&file->provider, p);
	*id = p->id;
	at_notify_provider(ASYNCTRACE_EVENT_KINDS_PROVIDER_CAME, p, NULL);
	*started = at_offer(p);
	return 0;
err:
	at_contents_put(p);
	at_provider_put(p);
	return err;
}

/**
 * at_provider_end - it writes no more
 * @p: the provider
 *
 * Idempotent. What it published can still be read.
 */
void at_provider_end(struct at_provider *p)
{
	struct at_member *m = p->member;

	lockdep_assert_held(&at_mutex);
	if (p->dead)
		return;
	WRITE_ONCE(p->dead, true);
	list_del_init(&p->node);
	hash_del(&p->part);
	p->first->parts--;
	list_del_init(&p->vacant);
	if (m) {
		at_member_leave(m);
		/*
		 * Only now are the ends of its rings known, up to which to read.
		 * Pairs with the load-acquire in at_ring_final().
		 */
		smp_store_release(&m->gone, true);
		at_session_wake(m->session);
	}
	at_observe_update(p);
	at_notify_provider(ASYNCTRACE_EVENT_KINDS_PROVIDER_WENT, p, m ? m->session : NULL);
	/*
	 * The id, and with it the addresses, may go to another provider now: all
	 * that could fault in them is this mm's, and knows its provider.
	 */
	idr_remove(&at_provider_ids, p->id);
}

/**
 * at_provider_release - its descriptor is closed
 * @p: the provider, which has ended: nothing of it is mapped, and the inode may go
 *
 * A session may keep who it was for long: that is not on the user's account.
 */
void at_provider_release(struct at_provider *p)
{
	mutex_lock(&p->mapping_lock);
	p->mapping = NULL;
	mutex_unlock(&p->mapping_lock);
	at_user_put(p->user, AT_THING_PROVIDER);
	p->user = NULL;
	at_contents_put(p);
	at_provider_put(p);
}

/* at_provider_end() where at_mutex cannot be taken. */
void at_provider_end_soon(struct at_provider *p)
{
	at_provider_get(p);
	if (!queue_work(at_wq, &p->end_work))
		at_provider_put(p);
}

/* Unmap pages of the mapping, wherever they are mapped. */
void at_provider_zap(struct at_provider *p, u64 page, u64 pages)
{
	mutex_lock(&p->mapping_lock);
	if (p->mapping)
		/* Not in bytes, of which 64 bits cannot count so many where pages are large. */
		unmap_mapping_pages(p->mapping, ((u64)p->id << AT_BASE_SHIFT) + page, pages,
				    true);
	mutex_unlock(&p->mapping_lock);
}

/**
 * at_provider_visible - is a provider for somebody to see, and to record?
 * @p: the provider
 * @caller: who asks, or made a session
 *
 * Who may not is not told that there is such a provider. The rule is that of ptrace(2),
 * see at_caller_covers(): a program may have secrets, or rights, that the user who
 * started it has not.
 *
 * It is asked of what the process was when it registered: one that makes itself
 * undumpable, or gains capabilities, later and without an exec stays visible.
 *
 * Return: whether.
 */
bool at_provider_visible(const struct at_provider *p, const struct at_caller *caller)
{
	const struct at_caller was = at_caller_of(p->cred);

	return caller->privileged || (p->pure && at_caller_covers(caller, &was));
}

/**
 * at_provider_next - the live provider with the lowest id from @id on
 * @id: in: where to begin; out: its id
 * @caller: who asks: others' providers are not shown to everybody
 *
 * Return: the provider, which stays while at_mutex is held, or NULL.
 */
struct at_provider *at_provider_next(u32 *id, const struct at_caller *caller)
{
	struct at_provider *p;
	int next = *id;

	lockdep_assert_held(&at_mutex);
	/* The IDR takes no number that is negative as an int for a number. */
	if (*id > AT_ID_MAX)
		return NULL;
	for (p = idr_get_next(&at_provider_ids, &next); p;
	     next++, p = idr_get_next(&at_provider_ids, &next)) {
		if (at_provider_visible(p, caller)) {
			*id = next;
			return p;
		}
	}
	return NULL;
}
