// SPDX-License-Identifier: GPL-2.0
/*
 * Whose things are one's own: the rule for providers and for sessions. It is that of
 * ptrace(2) for reading, see __ptrace_may_access() and cap_ptrace_access_check().
 */
#include <linux/cred.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "control/control.h"

/* Who made a user namespace, or one around it, has all rights in there. */
static bool at_caller_made(const struct at_caller *caller, const struct user_namespace *ns)
{
	for (; ns->level > caller->user_ns->level; ns = ns->parent)
		if (ns->parent == caller->user_ns && uid_eq(ns->owner, caller->uid))
			return true;
	return false;
}

/**
 * at_caller_of - as whom somebody asks
 * @cred: his credentials, which are not given back before the result is
 *
 * Return: that, without what he may as administrator.
 */
struct at_caller at_caller_of(const struct cred *cred)
{
	return (struct at_caller) {
		.uid = cred->uid,
		.gid = cred->gid,
		.user_ns = cred->user_ns,
		.caps = cred->cap_permitted,
	};
}

/**
 * at_caller_is - is it the same user?
 * @caller: who asks
 * @whom: who it would be
 *
 * From within a user namespace what is outside is another's, also where that has the
 * same number.
 *
 * Return: whether.
 */
bool at_caller_is(const struct at_caller *caller, const struct at_caller *whom)
{
	return uid_eq(whom->uid, caller->uid) &&
	       (whom->user_ns == caller->user_ns || at_caller_made(caller, whom->user_ns));
}

/**
 * at_caller_covers - may one see all that another may?
 * @caller: who asks
 * @whom: the other
 *
 * Return: whether.
 */
bool at_caller_covers(const struct at_caller *caller, const struct at_caller *whom)
{
	if (caller->privileged)
		return true;
	if (whom->privileged || !at_caller_is(caller, whom))
		return false;
	/* Groups and capabilities of different namespaces do not compare. */
	if (whom->user_ns != caller->user_ns)
		return true;
	return gid_eq(whom->gid, caller->gid) && cap_issubset(whom->caps, caller->caps);
}
