// SPDX-License-Identifier: GPL-2.0
/*
 * Access to providers and sessions of other users. The rule is that of ptrace(2) for reading,
 * see __ptrace_may_access() and cap_ptrace_access_check().
 */
#include <linux/cred.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "control/control.h"

/*
 * Did the caller create @ns or one of its ancestors, from the caller's own namespace? The
 * creator of a user namespace has all capabilities in it, see cap_capable().
 */
static bool at_caller_made(const struct at_caller *caller, const struct user_namespace *ns)
{
	for (; ns->level > caller->user_ns->level; ns = ns->parent)
		if (ns->parent == caller->user_ns && uid_eq(ns->owner, caller->uid))
			return true;
	return false;
}

/**
 * at_caller_of - describe a task by its credentials
 * @cred: the credentials; must stay referenced while the result is in use
 *
 * Return: the description. @admin and @privileged are false.
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
 * at_caller_is - is the caller the same user as another task?
 * @caller: the caller
 * @whom: the other task
 *
 * A caller inside a user namespace is never the same user as a task outside, even if both
 * have the same uid.
 *
 * Return: true if they are the same user.
 */
bool at_caller_is(const struct at_caller *caller, const struct at_caller *whom)
{
	return uid_eq(whom->uid, caller->uid) &&
	       (whom->user_ns == caller->user_ns || at_caller_made(caller, whom->user_ns));
}

/**
 * at_caller_covers - may the caller see everything that another task may see?
 * @caller: the caller
 * @whom: the other task
 *
 * Return: true if the caller may.
 */
bool at_caller_covers(const struct at_caller *caller, const struct at_caller *whom)
{
	if (caller->privileged)
		return true;
	if (whom->privileged || !at_caller_is(caller, whom))
		return false;
	/* @caller created @whom's namespace or an ancestor, and has all capabilities in it. */
	if (whom->user_ns != caller->user_ns)
		return true;
	return gid_eq(whom->gid, caller->gid) && cap_issubset(whom->caps, caller->caps);
}
