/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Differences between kernels from 6.1 on. Each entry names the release that brought the
 * change; code elsewhere is written for the newest kernel. kmod/Kbuild defines AT_HAVE_*
 * by what it finds in the kernel's headers.
 */
#ifndef AT_COMPAT_H
#define AT_COMPAT_H

#include <linux/lockdep.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/netlink.h>
#include <linux/skbuff.h>
#include <net/genetlink.h>

/* 6.3: a VMA's flags are written by helpers only. */
#ifndef AT_HAVE_VM_FLAGS_SET
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

/* 6.3: a reference of a cgroup is taken without asking for CONFIG_MEMCG. */
static inline void at_memcg_get(struct mem_cgroup *memcg)
{
#ifdef AT_HAVE_MEM_CGROUP_TRYGET
	/* The caller has a reference, so this does not fail. */
	mem_cgroup_tryget(memcg);
#elif defined(CONFIG_MEMCG)
	if (memcg)
		css_get(&memcg->css);
#endif
}

/* 6.6: a dump's info holds the request's genl_info. */
static inline struct nlattr **at_dump_attrs(struct netlink_callback *cb)
{
#ifdef AT_HAVE_GENL_INFO_DUMP
	return genl_info_dump(cb)->attrs;
#else
	return genl_dumpit_info(cb)->attrs;
#endif
}

/* 6.18: a workqueue says that its work is to run on the CPU it is queued for. */
#ifndef AT_HAVE_WQ_PERCPU
#define WQ_PERCPU	0
#endif

/*
 * 6.3: an extended ack has room for a formatted message. Before, it only
 * points at one, which must live until the ack has been sent; that is after
 * the handler returned and dropped at_mutex. So the text is written to a buffer
 * that at_mutex guards, and at_extack_keep() hangs a copy of it on the
 * request, which the sender's system call frees after the ack.
 */
#ifdef NL_SET_ERR_MSG_FMT
#define AT_ERR_MSG_FMT NL_SET_ERR_MSG_FMT

static inline void at_extack_keep(struct sk_buff *request,
				  struct netlink_ext_ack *extack)
{
}
#else
#define NETLINK_MAX_FMTMSG_LEN	80
#define AT_EXTACK_TEXT
extern char at_extack_text[NETLINK_MAX_FMTMSG_LEN];
extern struct mutex at_mutex;

/* at_mutex is held. At most NETLINK_MAX_FMTMSG_LEN - 1 bytes arrive. */
#define AT_ERR_MSG_FMT(extack, fmt, ...) do {				\
	struct netlink_ext_ack *__extack = (extack);			\
									\
	lockdep_assert_held(&at_mutex);					\
	if (__extack) {							\
		snprintf(at_extack_text, sizeof(at_extack_text), fmt,	\
			 ##__VA_ARGS__);				\
		__extack->_msg = at_extack_text;			\
	}								\
} while (0)

static inline void at_extack_keep(struct sk_buff *request,
				  struct netlink_ext_ack *extack)
{
	struct sk_buff *copy;
	size_t len;

	lockdep_assert_held(&at_mutex);
	if (!extack || extack->_msg != at_extack_text)
		return;
	/*
	 * A request's list of fragments is empty (netlink copies a message into
	 * one buffer), nobody counts what is put there, and it goes with the
	 * request's last reference. Only a buffer that is too large for
	 * kmalloc(), or that nlmon looks at, has no such list to give.
	 */
	len = strlen(at_extack_text) + 1;
	copy = NULL;
	if (!is_vmalloc_addr(request->head) && !skb_cloned(request))
		copy = alloc_skb(len, GFP_KERNEL);
	if (!copy) {
		NL_SET_ERR_MSG(extack, "refused, and no room to say why");
		return;
	}
	extack->_msg = skb_put_data(copy, at_extack_text, len);
	copy->next = skb_shinfo(request)->frag_list;
	skb_shinfo(request)->frag_list = copy;
}
#endif

/* The same, and the attribute that is to blame. */
#define AT_ERR_ATTR_FMT(extack, attr, fmt, ...) do {			\
	struct netlink_ext_ack *__ack = (extack);			\
									\
	NL_SET_BAD_ATTR(__ack, attr);					\
	AT_ERR_MSG_FMT(__ack, fmt, ##__VA_ARGS__);			\
} while (0)

#endif /* AT_COMPAT_H */
