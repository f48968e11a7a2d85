// SPDX-License-Identifier: GPL-2.0
/*
 * Page faults, mmap(2) and munmap(2) of a provider's mapping. Each fault maps one page.
 *
 * The VMAs are never VM_MIXEDMAP or VM_PFNMAP, because fork would copy their page tables: a
 * child must fault, and get pages of its own. All VMAs except that of the cells are VM_IO, so
 * that untouched pages are neither populated nor pinned. VMAs cannot be split or moved, so a
 * VMA that is closed is gone as a whole.
 */
#include <linux/asynctrace.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/vmalloc.h>

#include "base/compat.h"
#include "base/race.h"
#include "provider/cells.h"
#include "provider/provider.h"
#include "ring/user_rings.h"

/* Replaces the control page in a foreign mm, such as a forked child's: the gate says "attach". */
static struct page *at_attach_page;

/* CPUs that have been online since the module was loaded. */
static struct cpumask at_seen_cpus;
static enum cpuhp_state at_seen_state;

/* Called for a CPU that comes online, before user space runs on it. */
static int at_cpu_seen(unsigned int cpu)
{
	cpumask_set_cpu(cpu, &at_seen_cpus);
	return 0;
}

static vm_fault_t at_fault_foreign(struct vm_fault *vmf, const struct at_provider *p,
				   const struct at_place *at)
{
	if (at->area == AT_AREA_CONTROL && !at->page) {
		get_page(at_attach_page);
		vmf->page = at_attach_page;
		return 0;
	}
	/*
	 * A page of cells exists only if one of its cells was given to a thread: see
	 * at_fault_cell().
	 */
	if (at->area == AT_AREA_NONE ||
	    (at->area == AT_AREA_CELL && !at_cells_page(p, at->page)))
		return VM_FAULT_SIGBUS;
	/* A forked child or a debugger gets a private page, charged to itself. */
	vmf->page = alloc_page(GFP_HIGHUSER | __GFP_ZERO | __GFP_ACCOUNT);
	return vmf->page ? 0 : VM_FAULT_OOM;
}

static vm_fault_t at_fault_control(struct vm_fault *vmf, struct at_provider *p, u32 page)
{
	vmf->page = vmalloc_to_page((void *)p->control + page * PAGE_SIZE);
	get_page(vmf->page);
	return 0;
}

/*
 * If no page can be allocated, the provider must not be killed. So this function maps the sink
 * page, and lowers the limit of the durable ring: the provider interns no names in this page or
 * behind it.
 */
static vm_fault_t at_fault_durable(struct vm_fault *vmf, struct at_provider *p, u32 i)
{
	const u32 *generation = &p->control->durable_generation;
	struct page *page = at_durable_page(p, i), *old;
	u64 first;

	if (!page) {
		page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_RETRY_MAYFAIL |
				  __GFP_NOWARN);
		if (!page) {
			u32 words = i * (PAGE_SIZE / sizeof(u64)) -
				    (i ? ASYNCTRACE_LINE / sizeof(u64) : 0);
			u32 *limit = &p->control->durable_words;

			if (words < READ_ONCE(*limit))
				WRITE_ONCE(*limit, words);
			page = p->range[0].sink;
			goto out;
		}
		first = (u64)READ_ONCE(*generation) << ASYNCTRACE_DURABLE_GEN_SHIFT;
		if (!i)
			*at_durable_position(page) = first;
		/* Pairs with the load-acquire in at_durable_page(). */
		old = cmpxchg_release(&p->durable[i], NULL, page);
		if (old) {
			put_page(page);
			page = old;
		} else if (!i) {
			/*
			 * Pairs with the barrier in at_provider_clear_names(): either that
			 * function sees the page, or this one sees the new generation.
			 */
			smp_mb();
			cmpxchg(at_durable_position(page), first,
				(u64)READ_ONCE(*generation) << ASYNCTRACE_DURABLE_GEN_SHIFT);
		}
	}
out:
	get_page(page);
	vmf->page = page;
	return 0;
}

static struct page *at_range_page(struct at_rings *rings, const struct at_place *at)
{
	if (at->area == AT_AREA_HEADER)
		return rings->headers[at->page];
	return at_rings_ring_page(rings, at->ring, at->page);
}

static vm_fault_t at_fault_locked(struct vm_fault *vmf, struct page *page, bool lock)
{
	get_page(page);
	vmf->page = page;
	if (!lock)
		return 0;
	lock_page(page);
	return VM_FAULT_LOCKED;
}

/* Keep writers out of a ring for which a page could not be allocated. */
static void at_refuse(struct at_range *range, struct at_rings *rings, u32 ring)
{
	spin_lock(&range->rings_lock);
	WRITE_ONCE(rings->ring[ring].refused, true);
	/*
	 * Pairs with the barrier in at_limit_uring(): either that function sees @refused, or its
	 * store to the limit comes before the store below.
	 */
	smp_mb();
	WRITE_ONCE(at_range_limits(range)[ring], 0);
	spin_unlock(&range->rings_lock);
}

/*
 * May pages be allocated for a ring? Not for a CPU that was never online: no correct writer
 * touches its ring, so its pages would only waste memory. A CPU that is offline now may have had a
 * writer, which accesses the ring after it was migrated. If that writer's fault mapped the sink,
 * later writers would find the sink in the ring once the CPU is online again. The last ring is the
 * fallback ring, which belongs to no CPU.
 */
static bool at_ring_open(const struct at_rings *rings, u32 ring)
{
	return ring == rings->nr - 1 || cpumask_test_cpu(ring, &at_seen_cpus);
}

/*
 * Map a ring's page, or the sink. The page is returned locked, so that a worker sees
 * that it has not been mapped yet: see range.h.
 */
static vm_fault_t at_fault_range(struct vm_fault *vmf, struct at_provider *p,
				 const struct at_place *at)
{
	struct at_range *range = &p->range[at->range];
	struct at_rings *rings, *charged = NULL;
	struct page *page, *new = NULL;
	bool sem = at_fixed(AT_FIX_RWSEM);
	enum at_race race = AT_RACE_FAULT;
	vm_fault_t ret;

retry:
	if (sem)
		at_range_enter(range);
	rings = at_range_rings(range);
	if (!rings || (at->area == AT_AREA_RING && !at_rings_wants(rings, at->ring, at->page)))
		goto sink;
	page = at_range_page(rings, at);
	if (!page && charged != rings) {
		if (READ_ONCE(rings->ring[at->ring].refused) || !at_ring_open(rings, at->ring))
			goto sink;
		WRITE_ONCE(rings->ring[at->ring].touched, true);
		/* Do not allocate under zap_sem: the worker that zaps the range needs it. */
		at_rings_get(rings);
		if (sem)
			at_range_leave(range);
		if (new)
			put_page(new);
		new = at_rings_alloc_page(rings, at->ring);
		at_rings_put(charged);
		charged = rings;
		goto retry;
	}
	if (!page && new) {
		page = at_rings_install(rings, at->ring, at->page, new);
		if (page == new)
			new = NULL;
	}
	if (!page) {
		at_refuse(range, rings, at->ring);
		goto sink;
	}
	ret = at_fault_locked(vmf, page, at_fixed(AT_FIX_LOCK_RING));
	goto out;
sink:
	ret = at_fault_locked(vmf, range->sink, at_fixed(AT_FIX_LOCK_SINK));
	race = AT_RACE_SINK;
out:
	if (sem)
		at_range_leave(range);
	/* From here on only the page lock shows that the page is being mapped. */
	at_race(race);
	if (new)
		put_page(new);
	at_rings_put(charged);
	return ret;
}

/*
 * Pages of cells are allocated when a thread is given a cell, never by a fault: core dumps
 * and MAP_POPULATE would fill the whole area.
 */
static vm_fault_t at_fault_cell(struct vm_fault *vmf, struct at_provider *p, u32 i)
{
	struct page *page = at_cells_page(p, i);

	if (!page)
		return VM_FAULT_SIGBUS;
	get_page(page);
	vmf->page = page;
	return 0;
}

static vm_fault_t at_vm_fault(struct vm_fault *vmf)
{
	struct at_provider *p = vmf->vma->vm_private_data;
	struct at_place at;

	at = at_layout_find(&p->layout, vmf->pgoff);
	/* Use the mm of the VMA: a debugger faults in the mm of another process. */
	if (vmf->vma->vm_mm != p->mm)
		return at_fault_foreign(vmf, p, &at);
	switch (at.area) {
	case AT_AREA_CONTROL:
		return at_fault_control(vmf, p, at.page);
	case AT_AREA_DURABLE:
		return at_fault_durable(vmf, p, at.page);
	case AT_AREA_HEADER:
	case AT_AREA_RING:
		return at_fault_range(vmf, p, &at);
	case AT_AREA_CELL:
		return at_fault_cell(vmf, p, at.page);
	case AT_AREA_NONE:
		break;
	}
	return VM_FAULT_SIGBUS;
}

/* Is this the read-write area in the provider's own process? */
static bool at_vm_own(const struct vm_area_struct *vma)
{
	const struct at_provider *p = vma->vm_private_data;

	return vma->vm_mm == p->mm && vma->vm_flags & VM_MAYWRITE;
}

/* mremap(2) copies the VMA before ->mremap fails, and then closes the copy. */
static void at_vm_open(struct vm_area_struct *vma)
{
	struct at_provider *p = vma->vm_private_data;

	if (at_vm_own(vma))
		atomic_inc(&p->mappings);
}

/* A worker ends the provider, so that at_lock is not taken under mmap_lock. */
static void at_vm_close(struct vm_area_struct *vma)
{
	struct at_provider *p = vma->vm_private_data;

	if (at_vm_own(vma) && atomic_dec_and_test(&p->mappings))
		at_provider_end_soon(p);
}

static int at_vm_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	return -EINVAL;
}

static int at_vm_mremap(struct vm_area_struct *vma)
{
	return -EINVAL;
}

static const struct vm_operations_struct at_vm_ops = {
	.fault = at_vm_fault,
	.open = at_vm_open,
	.close = at_vm_close,
	.may_split = at_vm_may_split,
	.mremap = at_vm_mremap,
};

/* The kernel includes areas with a name in core dumps, whatever the process has chosen. */
static const char *at_vm_name(struct vm_area_struct *vma)
{
	return "[asynctrace cells]";
}

static const struct vm_operations_struct at_cells_vm_ops = {
	.fault = at_vm_fault,
	.may_split = at_vm_may_split,
	.mremap = at_vm_mremap,
	.name = at_vm_name,
};

/**
 * at_mmap - map a provider's control area, its read-write area or its cells
 * @p: the provider
 * @vma: at offset 0 any number of control pages, read-only; or at rw_offset all of the
 *	read-write area, once; or all of the cells
 *
 * The cells are not VM_IO, because a core dump reads them as a debugger would. Populating them
 * allocates nothing: see at_fault_cell().
 *
 * Return: 0; -EACCES for the provider of another process or a writable control area,
 * -EINVAL for any other offset, size or protection, -EBUSY for a second read-write area.
 */
int at_mmap(struct at_provider *p, struct vm_area_struct *vma)
{
	const struct at_layout *l = &p->layout;
	unsigned long set = VM_IO | VM_DONTEXPAND | VM_DONTDUMP, clear = VM_MAYEXEC;
	const struct vm_operations_struct *ops = &at_vm_ops;

	if (p->mm != current->mm)
		return -EACCES;
	if (!(vma->vm_flags & VM_SHARED) || vma->vm_flags & VM_EXEC)
		return -EINVAL;
	if (!vma->vm_pgoff) {
		if (vma_pages(vma) > l->control_pages)
			return -EINVAL;
		if (vma->vm_flags & VM_WRITE)
			return -EACCES;
		clear |= VM_MAYWRITE;
	} else if (vma->vm_pgoff == l->control_pages &&
		   vma_pages(vma) == at_layout_cells(l) - l->control_pages) {
		if (cmpxchg(&p->mapped, false, true))
			return -EBUSY;
		atomic_set(&p->mappings, 1);
	} else if (vma->vm_pgoff == at_layout_cells(l) && vma_pages(vma) == AT_CELL_PAGES) {
		set = VM_DONTEXPAND;
		ops = &at_cells_vm_ops;
	} else {
		return -EINVAL;
	}
	vm_flags_set(vma, set);
	vm_flags_clear(vma, clear);
	vma->vm_private_data = p;
	vma->vm_ops = ops;
	return 0;
}

int at_mapping_init(void)
{
	struct asynctrace_control *control;
	int ret;

	at_attach_page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!at_attach_page)
		return -ENOMEM;
	ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "asynctrace:seen", at_cpu_seen, NULL);
	if (ret < 0) {
		put_page(at_attach_page);
		return ret;
	}
	at_seen_state = ret;
	control = page_address(at_attach_page);
	control->gate = ASYNCTRACE_GATE_ATTACH;
	return 0;
}

void at_mapping_exit(void)
{
	cpuhp_remove_state_nocalls(at_seen_state);
	put_page(at_attach_page);
}
