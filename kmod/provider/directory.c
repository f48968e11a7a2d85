// SPDX-License-Identifier: GPL-2.0
/*
 * Directory of live providers: a tree ordered by user, name and serial number. For each
 * user, the names that match a pattern are neighbours in the tree.
 */
#include <linux/rbtree.h>
#include <linux/string.h>
#include <linux/uidgid.h>

#include "base/lock.h"
#include "base/pattern.h"
#include "control/control.h"
#include "provider/directory.h"
#include "provider/provider.h"

/* Under at_lock */
static struct rb_root at_directory = RB_ROOT;

/**
 * struct at_key - a key of the directory
 * @uid: user of the provider
 * @name: the name, which need not end with a NUL
 * @len: bytes of the name
 * @serial: serial number of the provider
 */
struct at_key {
	uid_t uid;
	const char *name;
	size_t len;
	u64 serial;
};

static struct at_provider *at_directory_entry(struct rb_node *node)
{
	return rb_entry_safe(node, struct at_provider, entry);
}

static struct at_key at_key_of(const struct at_provider *p)
{
	return (struct at_key){ __kuid_val(p->uid), p->name, strlen(p->name), p->serial };
}

/*
 * Returns a negative number if @p comes before the key, a positive one if it comes after
 * the key. Any longer name comes after a key whose name is its prefix.
 */
static int at_key_compare(const struct at_provider *p, const struct at_key *key)
{
	uid_t uid = __kuid_val(p->uid);
	int names;

	if (uid != key->uid)
		return uid < key->uid ? -1 : 1;
	names = strncmp(p->name, key->name, key->len) ?: p->name[key->len] != 0;
	if (names || p->serial == key->serial)
		return names;
	return p->serial < key->serial ? -1 : 1;
}

void at_directory_add(struct at_provider *p)
{
	struct rb_node **link = &at_directory.rb_node, *parent = NULL;
	const struct at_key key = at_key_of(p);

	lockdep_assert_held(&at_lock);
	while (*link) {
		parent = *link;
		if (at_key_compare(at_directory_entry(parent), &key) > 0)
			link = &parent->rb_left;
		else
			link = &parent->rb_right;
	}
	rb_link_node(&p->entry, parent, link);
	rb_insert_color(&p->entry, &at_directory);
}

void at_directory_remove(struct at_provider *p)
{
	lockdep_assert_held(&at_lock);
	rb_erase(&p->entry, &at_directory);
}

/* Returns the first provider that is not before a key, with a reference, or NULL. */
static struct at_provider *at_directory_get(const struct at_key *key)
{
	struct at_provider *found = NULL;
	struct rb_node *node;

	spin_lock(&at_lock);
	node = at_directory.rb_node;
	while (node) {
		struct at_provider *p = at_directory_entry(node);

		if (at_key_compare(p, key) < 0) {
			node = node->rb_right;
		} else {
			found = p;
			node = node->rb_left;
		}
	}
	if (found)
		at_provider_get(found);
	spin_unlock(&at_lock);
	return found;
}

/* Returns the key before all names that match a pattern. */
static struct at_key at_key_first(uid_t uid, const char *pattern)
{
	size_t len = strlen(pattern);

	if (len && pattern[len - 1] == '*')
		len--;
	return (struct at_key){ uid, pattern, len, 0 };
}

/*
 * Returns the first provider that is not before a key and whose name matches, with a reference,
 * or NULL. For each user the matching providers are neighbours, so this function steps from user
 * to user. For an unprivileged caller it stops after that caller's own providers.
 */
static struct at_provider *at_walk_find(const struct at_walk *w, struct at_key key)
{
	struct at_provider *p;

	/* There may be many users: at_lock is held for one step only. */
	while ((p = at_directory_get(&key))) {
		const struct at_key first = at_key_first(__kuid_val(p->uid), w->pattern);

		if (!w->caller->privileged && !uid_eq(p->uid, w->caller->uid))
			break;
		if (at_pattern_matches(w->pattern, strlen(w->pattern), p->name))
			return p;
		if (at_key_compare(p, &first) < 0) {
			key = first;
		} else {
			/* Cannot wrap: (uid_t)-1 is not a valid user. */
			key = at_key_first(first.uid + 1, w->pattern);
		}
		at_provider_put(p);
		cond_resched();
	}
	if (p)
		at_provider_put(p);
	return NULL;
}

/* Has an earlier pattern of the walk matched the provider? */
static bool at_walk_had(const struct at_walk *w, const struct at_provider *p)
{
	const char *text;

	if (!w->patterns || !w->patterns->count)
		return false;
	for (text = w->patterns->text; text < w->pattern; text += strlen(text) + 1)
		if (at_pattern_matches(text, strlen(text), p->name))
			return true;
	return false;
}

/* Go to the first or the next pattern. Returns false if there is none. */
static bool at_walk_pattern(struct at_walk *w)
{
	const struct at_strings *patterns = w->patterns;

	if (!patterns || !patterns->count) {
		if (w->pattern)
			return false;
		w->pattern = "*";
		return true;
	}
	w->pattern = w->pattern ? w->pattern + strlen(w->pattern) + 1 : patterns->text;
	return w->pattern < patterns->text + patterns->bytes;
}

/* Returns the next provider that matches the current pattern, with a reference, or NULL. */
static struct at_provider *at_walk_step(struct at_walk *w)
{
	struct at_key key;

	if (w->at) {
		key = at_key_of(w->at);
		key.serial++;
	} else {
		key = at_key_first(w->caller->privileged ? 0 : __kuid_val(w->caller->uid),
				   w->pattern);
	}
	return at_walk_find(w, key);
}

/**
 * at_walk_next - visit the next provider
 * @w: the walk
 *
 * Takes at_lock, but not while it compares names with patterns: the caller holds no lock.
 * Providers that are added meanwhile may be missed. The caller must continue a walk to its
 * end, because the walk holds a reference.
 *
 * Return: a provider that was not visited before, with a reference until the next call; NULL
 * at the end. The provider may have ended.
 */
struct at_provider *at_walk_next(struct at_walk *w)
{
	struct at_provider *p;

	lockdep_assert_not_held(&at_lock);
	if (!w->pattern && !at_walk_pattern(w))
		return NULL;
	for (;;) {
		p = at_walk_step(w);
		/* Put the last provider only after the step, whose key may point to its name. */
		if (w->at)
			at_provider_put(w->at);
		w->at = p;
		if (!p && !at_walk_pattern(w))
			return NULL;
		if (p && at_provider_visible(p, w->caller) && !at_walk_had(w, p))
			return p;
		cond_resched();
	}
}
