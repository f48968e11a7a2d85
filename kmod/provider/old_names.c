// SPDX-License-Identifier: GPL-2.0
/*
 * Names of a provider: reads them, and copies them before they are cleared.
 *
 * A session that the provider has left may still be read, and its rings use the old names. The
 * provider reuses the durable ring for the names of its present session. So the old names are
 * copied before they are cleared, once for all of these sessions.
 */
#include <linux/gfp.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "provider/old_names.h"
#include "provider/provider.h"
#include "session/member.h"
#include "session/session.h"

/* Must not sleep: at_lock is held. */
#define AT_GFP	(GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN)

/*
 * The empty copy, used if there were no names or no memory for a copy. For a session without any
 * copy, the names in the ring would be reported, which may be of a later generation.
 */
static struct at_names at_names_none = { .ref = KREF_INIT(1) };

/**
 * at_names_end - count the words of names in a durable ring
 * @p: the provider
 * @generation: generation of the names
 *
 * Return: number of words, some of which may be in pages that do not exist; 0 if the ring
 * is of another generation.
 */
u32 at_names_end(const struct at_provider *p, u32 generation)
{
	struct page *page = at_durable_page(p, 0);
	u64 position;

	if (!page)
		return 0;
	/* Pairs with the compare-and-swap that commits a name. */
	position = smp_load_acquire(at_durable_position(page));
	/* Another generation: the ring has just been cleared, or the provider has corrupted it. */
	if (position >> ASYNCTRACE_DURABLE_GEN_SHIFT != generation)
		return 0;
	return min_t(u32, position, AT_DURABLE_WORDS);
}

/**
 * at_names_read - copy names to user memory
 * @pages: pages of a durable ring; NULL: a page that was not touched, whose words are 0
 * @from: first word to copy
 * @n: number of words
 * @to: destination
 *
 * Return: 0 or -EFAULT.
 */
int at_names_read(struct page *const *pages, u32 from, u32 n, void __user *to)
{
	u32 at = ASYNCTRACE_LINE + from * sizeof(u64);
	u32 left = n * sizeof(u64);

	while (left) {
		u32 bytes = min_t(u32, left, PAGE_SIZE - at % PAGE_SIZE);
		/* Pairs with the cmpxchg_release() in at_fault_durable(). */
		struct page *page = smp_load_acquire(&pages[at / PAGE_SIZE]);

		if (page ? copy_to_user(to, page_address(page) + at % PAGE_SIZE, bytes) :
			   clear_user(to, bytes))
			return -EFAULT;
		to += bytes;
		at += bytes;
		left -= bytes;
	}
	return 0;
}

static void at_names_free(struct kref *ref)
{
	struct at_names *names = container_of(ref, struct at_names, ref);

	while (names->nr)
		__free_page(names->pages[--names->nr]);
	kfree(names);
}

/* Drop a reference; @names may be NULL. */
void at_names_put(struct at_names *names)
{
	if (names)
		kref_put(&names->ref, at_names_free);
}

static struct at_names *at_names_new(u32 pages)
{
	struct at_names *names = kzalloc(struct_size(names, pages, pages), AT_GFP);

	if (!names)
		return NULL;
	kref_init(&names->ref);
	for (; names->nr < pages; names->nr++) {
		names->pages[names->nr] = alloc_page(AT_GFP);
		if (!names->pages[names->nr]) {
			at_names_put(names);
			return NULL;
		}
	}
	return names;
}

/*
 * Copy the names. The size is bounded by the pages that exist, whatever the provider
 * claims: a name lies in a page that was touched, and all pages before it were touched,
 * too. Returns NULL if there is no memory.
 */
static struct at_names *at_names_copy(const struct at_provider *p, struct mem_cgroup *memcg)
{
	u32 generation = p->control->durable_generation;
	u32 bytes = ASYNCTRACE_LINE, words = at_names_end(p, generation), i, n = 0;
	struct mem_cgroup *old;
	struct at_names *names;

	bytes += words * sizeof(u64);
	while (n * PAGE_SIZE < bytes && at_durable_page(p, n))
		n++;
	if (!words || !n) {
		kref_get(&at_names_none.ref);
		return &at_names_none;
	}
	old = set_active_memcg(memcg);
	names = at_names_new(n);
	set_active_memcg(old);
	if (!names)
		return NULL;
	names->generation = generation;
	names->words = (min_t(u32, bytes, n * PAGE_SIZE) - ASYNCTRACE_LINE) / sizeof(u64);
	for (i = 0; i < n; i++)
		copy_page(page_address(names->pages[i]), page_address(at_durable_page(p, i)));
	return names;
}

/* Has the provider left the session of @m, while its reader may still need names? */
static bool at_names_wanted(const struct at_provider *p, const struct at_member *m)
{
	return m != p->member && !m->names && !READ_ONCE(m->done);
}

/**
 * at_names_keep - copy a provider's names for the sessions that it has left
 * @p: the provider; its names are about to be cleared
 *
 * The copy is charged to the first of these sessions that has memory for it. If none has,
 * the names are lost for all.
 */
void at_names_keep(struct at_provider *p)
{
	struct at_names *names = NULL;
	struct at_member *m;

	lockdep_assert_held(&at_lock);
	list_for_each_entry(m, &p->members, of_provider)
		if (!names && at_names_wanted(p, m))
			names = at_names_copy(p, m->session->memcg);
	list_for_each_entry(m, &p->members, of_provider) {
		struct at_names *kept = names ?: &at_names_none;

		if (!at_names_wanted(p, m))
			continue;
		kref_get(&kept->ref);
		/* Pairs with the load-acquire in at_tell_strings(). */
		smp_store_release(&m->names, kept);
	}
	at_names_put(names);
}
