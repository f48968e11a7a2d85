/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A provider: a process that registered a name and mapped its rings.
 *
 * It lives until its process' mapping goes (exit, any signal, exec, munmap) or
 * its descriptor is released, whichever is first. What it published stays until
 * the session that recorded it has been read.
 */
#ifndef AT_PROVIDER_H
#define AT_PROVIDER_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "control/control.h"
#include "provider/layout.h"
#include "provider/observe.h"
#include "provider/range.h"

struct file;
struct inode;
struct cred;
struct at_member;
struct mm_struct;
struct pid;
struct vm_area_struct;

/**
 * struct at_provider - see above
 * @ref: held by the descriptor, by a session's member, by queued work
 * @contents: held by the descriptor, and by members until all of theirs was read: what
 *	only records need, which is most of it, goes before who the provider was
 * @id: not another's while there is a reference: some session may remember it
 * @serial: of all providers since the module was loaded, from 1 on; never used again
 * @name: as registered
 * @version: as registered
 * @layout: of its mapping
 * @mm: that of the process that registered: identity only
 * @pid: of that process
 * @uid: its real user at registration
 * @cred: its credentials then
 * @pure: real, effective and saved user were one then, and so were the groups; and
 *	it could be dumped
 * @clock_offset: of its CLOCK_BOOTTIME, by its time namespace, nanoseconds
 * @charge: the accounts that it is charged to until it is freed, and its threads
 * @salt: of the operation ids of its process, until @contents are freed
 * @salt_nr: its number; stays
 * @space: has the address space of its mapping, to zap in; NULL once the descriptor is gone
 * @space_lock: protects @space
 * @control: the control area
 * @sink: where its late stores go
 * @durable: pages of the durable ring, each NULL until touched
 * @range: see range.h
 * @member: its place in the session that records it; under at_lock
 * @members: that, and those it had in sessions that are still read; under at_lock
 * @entry: in the directory, while it lives; under at_lock
 * @part: among live providers, by process; under at_lock
 * @first: of the providers of its process and memory the one that came first, maybe itself;
 *	with a reference where not
 * @parts: of the first: those of them that live; under at_lock
 * @left: of the first: number of the last time that one of them left a session and took
 *	threads along; under at_lock
 * @looked: of the first: round of looks in which their threads were looked for last; under
 *	at_lock
 * @refused: why the session that was to take it last did not; under at_lock
 * @vacant: its session has ended, and it is to be offered to others; under at_lock
 * @slots: thread slots, by number
 * @slot_of: the same, by the id of the thread that has one
 * @slots_lock: @slots, @slot_of and @next_slot are changed under it
 * @next_slot: number of the next; changed under @slots_lock
 * @slots_pruned: @next_slot when those of threads that are gone were last looked for;
 *	changed under at_lock
 * @others: threads of other thread groups have a slot: at_provider_cpus() does not find them
 * @dead: it has ended; under at_lock
 * @mapped: its read-write area has been mapped
 * @mappings: of that area: one, but for a moment in mremap()
 * @end_work: ends it, where that cannot be done on the spot
 * @free_work: frees @contents
 * @known: the categories that it announced, a name and a description of each, or NULL;
 *	under at_lock
 * @observers: wait for @observed to change
 * @observed: what its descriptor tells: the gate, and above it the state of the
 *	session that has it; changed under at_lock
 * @alerts: that it may raise
 */
struct at_provider {
	struct kref ref;
	struct kref contents;
	u32 id;
	u64 serial;
	char name[ASYNCTRACE_NAME_MAX + 1];
	u32 version;
	struct at_layout layout;
	struct mm_struct *mm;
	struct pid *pid;
	kuid_t uid;
	const struct cred *cred;
	bool pure;
	s64 clock_offset;
	struct at_charge *charge;
	struct at_salt *salt;
	u32 salt_nr;
	struct inode *space;
	struct mutex space_lock;	/* @space */
	struct asynctrace_control *control;
	struct page *sink;
	struct page **durable;
	struct at_range range[AT_RANGES];
	struct at_member *member;
	struct list_head members;
	struct rb_node entry;
	struct hlist_node part;
	struct at_provider *first;
	u32 parts;
	u64 left;
	u64 looked;
	int refused;
	struct list_head vacant;
	struct xarray slots;
	struct xarray slot_of;
	spinlock_t slots_lock;		/* @slots, @slot_of, @next_slot */
	u32 next_slot;
	u32 slots_pruned;
	bool others;
	bool dead;
	bool mapped;
	atomic_t mappings;
	struct work_struct end_work;
	struct work_struct free_work;
	struct at_strings *known;
	wait_queue_head_t observers;
	u64 observed;
	struct at_bucket alerts;
};

/**
 * struct at_file - an open descriptor of the device
 * @node: among those that have a cookie; under at_lock
 * @cookie: names it in netlink messages; 0: none yet
 * @mm: of the process that asked for the cookie: identity only
 * @salt: that the process asked for with the cookie; 0: any
 * @f: the descriptor
 * @provider: registered through it; set once, under at_lock
 * @session: whose consumer it is; set once, under at_lock
 * @seen: what of the provider's state was last read from it
 */
struct at_file {
	struct hlist_node node;
	u64 cookie;
	struct mm_struct *mm;
	u32 salt;
	struct file *f;
	struct at_provider *provider;
	struct at_session *session;
	u64 seen;
};

struct at_provider *at_provider_from(u32 *id);
void at_file_hello(struct at_file *file);
void at_file_forget(struct at_file *file);
bool at_provider_visible(const struct at_provider *p, const struct at_caller *caller);
void at_provider_get(struct at_provider *p);
void at_provider_put(struct at_provider *p);
void at_contents_get(struct at_provider *p);
void at_contents_put(struct at_provider *p);
void at_provider_end(struct at_provider *p);
void at_provider_release(struct at_provider *p);
void at_provider_end_soon(struct at_provider *p);
void at_provider_clear_names(struct at_provider *p);
void at_provider_zap(struct at_provider *p, u64 page, u64 pages);
void at_provider_cpus(const struct at_provider *p, struct cpumask *cpus);

/* A range's array of limits in the control area; what user space reads there is ours. */
static inline u64 *at_range_limits(const struct at_range *range)
{
	const struct at_provider *p = range->provider;

	return (void *)p->control + at_layout_limits(&p->layout, range - p->range);
}

/* A page of the durable ring, or NULL. */
static inline struct page *at_durable_page(const struct at_provider *p, u32 i)
{
	/* Pairs with the cmpxchg_release() in at_fault_durable(). */
	return smp_load_acquire(&p->durable[i]);
}

static inline u64 *at_durable_position(struct page *first)
{
	return &((struct asynctrace_ring_header *)page_address(first))->position;
}

/* mapping.c */
int at_mmap(struct at_provider *p, struct vm_area_struct *vma);
int at_mapping_init(void);
void at_mapping_exit(void);

#endif /* AT_PROVIDER_H */
