/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A provider: a process that registered a name and mapped its rings.
 *
 * A provider lives until the mapping of its process goes away (exit, fatal signal, exec,
 * munmap) or its descriptor is released, whichever is first. Published records remain
 * readable until the session that recorded them has been read.
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
#include "provider/alert.h"
#include "provider/layout.h"
#include "provider/range.h"

struct file;
struct inode;
struct cred;
struct at_cells;
struct at_member;
struct mm_struct;
struct pid;
struct vm_area_struct;

/**
 * struct at_provider - a registered provider
 * @ref: references: the descriptor, session members and queued work
 * @contents: references to what only the records need (slots, names, sinks, control area):
 *	the descriptor, queued work, and members until all their records are read. Freed
 *	before the provider itself
 * @id: unique among all providers that have a reference, because sessions may still use
 *	the id
 * @serial: number of the registration since the module was loaded, from 1 on; never
 *	reused
 * @name: name as registered
 * @version: version as registered
 * @layout: layout of the mapping
 * @mm: mm of the process that registered; only compared, never accessed
 * @pid: pid of the process that registered
 * @uid: real user of the process at registration
 * @cred: credentials of the process at registration
 * @pure: at registration the real, effective and saved uids were equal, the gids too, and
 *	the process was dumpable
 * @clock_offset: offset of the process's time namespace to CLOCK_BOOTTIME, nanoseconds
 * @charge: accounts that the provider and its traced threads are charged to until it is
 *	freed
 * @salt: salt of the process's operation ids; released with @contents
 * @salt_nr: number of @salt; valid as long as the provider
 * @space: inode with the address space of the mapping, for zapping; NULL once the
 *	descriptor is closed
 * @space_lock: protects @space
 * @control: the control area
 * @durable: pages of the durable ring, each NULL until touched
 * @range: see range.h
 * @member: membership in the session that records the provider, or NULL; written under
 *	at_lock
 * @members: @member, and memberships in earlier sessions that are still being read; under
 *	at_lock
 * @entry: node in the directory while the provider lives; under at_lock
 * @part: node in the hash of live providers by process; under at_lock
 * @first: first provider of the same process and mm, possibly this one; holds a reference
 *	if it is another one
 * @parts: in @first only: number of live providers of the process and mm; under at_lock
 * @left: in @first only: value of at_left when one of the providers of the process last left a
 *	session and its threads were taken out of the table; under at_lock
 * @looked: in @first only: last round of at_tasks_add_once() that covered the threads of the
 *	process; under at_lock
 * @refused: result of the last attempt to join a session, an errno or 0; under at_lock
 * @refused_by: id of that session; under at_lock
 * @vacant: node in at_vacant, or in a user's backlog: the session has ended, and other sessions
 *	may take the provider; under at_lock
 * @offer: number of the last offer by at_offer_later(), which ends earlier offers; 0: none yet;
 *	written under at_lock
 * @slots: thread slots, by number
 * @slot_of: the same slots, by thread id
 * @slots_lock: held to change @slots, @slot_of, @next_slot and @cells
 * @next_slot: number of the next slot; written under @slots_lock
 * @slots_pruned: @next_slot when slots of exited threads were last pruned; written under
 *	at_lock
 * @cells: cells of threads, see cells.h
 * @uncelled: threads that could not be given a cell; written under @slots_lock
 * @others: a thread of another thread group has a slot; at_provider_cpus() does not find
 *	such threads
 * @dead: the provider has ended; under at_lock
 * @mapped: the read-write area has been mapped
 * @mappings: number of VMAs of that area: one, except for a moment in mremap()
 * @end_work: ends the provider if the caller must not take at_lock
 * @free_work: frees @contents
 * @known: categories that the provider announced, a name and a description of each, or
 *	NULL; under at_lock
 * @observers: threads that wait for @observed to change
 * @wake_work: wakes @observers; holds a reference to the provider
 * @observed: state shown through the descriptor: the gate in the low half, the session
 *	state in the high half; written under at_lock
 * @alerts: rate limit of alerts
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
	u32 refused_by;
	struct list_head vacant;
	u64 offer;
	struct xarray slots;
	struct xarray slot_of;
	spinlock_t slots_lock;		/* @slots, @slot_of, @next_slot, @cells */
	u32 next_slot;
	u32 slots_pruned;
	struct at_cells *cells;
	u32 uncelled;
	bool others;
	bool dead;
	bool mapped;
	atomic_t mappings;
	struct work_struct end_work;
	struct work_struct free_work;
	struct at_strings *known;
	wait_queue_head_t observers;
	struct work_struct wake_work;
	u64 observed;
	struct at_bucket alerts;
};

/**
 * struct at_file - an open descriptor of the device
 * @cookie: names the descriptor in netlink messages; 0: none yet
 * @mm: of the process that requested the cookie; only compared
 * @salt: salt that the process requested with the cookie; 0: any
 * @f: the open file
 * @provider: provider that was registered through the descriptor; set once, under at_lock
 * @session: session that the descriptor consumes; set once, under at_lock
 * @seen: value of @provider->observed that was last read from the descriptor
 */
struct at_file {
	u64 cookie;
	struct mm_struct *mm;
	u32 salt;
	struct file *f;
	struct at_provider *provider;
	struct at_session *session;
	u64 seen;
};

struct at_provider *at_provider_from(u32 *id);
int at_file_hello(struct at_file *file);
void at_file_forget(struct at_file *file);
bool at_provider_visible(const struct at_provider *p, const struct at_caller *caller);
void at_provider_get(struct at_provider *p);
void at_provider_put(struct at_provider *p);
void at_contents_get(struct at_provider *p);
void at_contents_put(struct at_provider *p);
void at_provider_end(struct at_provider *p);
void at_provider_release(struct at_provider *p);
void at_provider_end_soon(struct at_provider *p);
void at_control_set_clock(struct asynctrace_control *c, u32 clock);
void at_provider_clear_names(struct at_provider *p);
void at_provider_zap(struct at_provider *p, u64 page, u64 pages);
void at_provider_cpus(const struct at_provider *p, struct cpumask *cpus);

/* The limits of a range's rings. They lie in the control area, which user space cannot write. */
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
