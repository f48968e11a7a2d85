// SPDX-License-Identifier: GPL-2.0
/*
 * Salts: numbers that make the operation ids of different processes distinct.
 *
 * A process may have made ids before it registers, and may register several times. Therefore the
 * process proposes the salt that its ids carry. It gets that salt unless another process has it,
 * or the salt rests (see below). A process has several salts if it has several copies of the
 * library.
 *
 * If a process has no provider left, its last salts are kept for it until it ends. There are only
 * 2^20 salts, so the salt of an ended process must be given to another process at some time. Before
 * that, at least AT_SALTS_TURN other salts end. Until then the salt rests.
 *
 * Quotas keep users without CAP_SYS_RESOURCE from using up the salts. A salt in use belongs to a
 * provider that is charged, and kept salts have the limits below. If a user is above a limit, the
 * salt that was kept longest for this user ends, although its process lives. If that process
 * registers again, it gets another salt.
 */
#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "base/quota.h"
#include "base/race.h"
#include "provider/layout.h"
#include "provider/id_salt.h"

/* Salts that are kept for one process. */
#define AT_SALTS_KEPT	8
/* Salts that are kept for one user without CAP_SYS_RESOURCE, and for all such users. */
#define AT_SALTS_OF_USER	4096
#define AT_SALTS_OF_USERS	(16 * AT_SALTS_OF_USER)
/*
 * Time is divided into turns. A turn ends when this number of salts has begun to rest in it. Then
 * the salts of the turn before stop resting.
 */
#define AT_SALTS_TURN	BIT(18)

/* Salts that processes have, by number. The array's lock also protects all variables below. */
static DEFINE_XARRAY(at_salts);
static u32 at_salt_next = AT_ID_MIN;
/* Salts that are kept, by mm; the newest is first. */
static DEFINE_HASHTABLE(at_salts_kept, 10);
/* Number of kept salts of users without CAP_SYS_RESOURCE */
static u32 at_nr_kept;
/* The numbers in at_salts */
static DECLARE_BITMAP(at_salts_used, AT_ID_MAX + 1);
/*
 * Salts that rest. at_salts_rest[at_turns % 2] has those that began to rest in the present turn.
 * The other bitmap has those of the turn before.
 */
static DECLARE_BITMAP(at_salts_rest[2], AT_ID_MAX + 1);
static u32 at_turns;
/* The number of salts that have begun to rest in the present turn */
static u32 at_nr_rest;

static bool at_salt_rests(u32 nr)
{
	return test_bit(nr, at_salts_rest[0]) || test_bit(nr, at_salts_rest[1]);
}

/*
 * Returns the first salt from @nr on that no process has and that does not rest, or 0. Compares
 * words of the bitmaps: users choose their salts, and so could make a walk over salts long.
 */
static u32 at_salt_find(u32 nr)
{
	unsigned long free;
	u32 i;

	for (; nr <= AT_ID_MAX; nr = round_down(nr, BITS_PER_LONG) + BITS_PER_LONG) {
		i = BIT_WORD(nr);
		free = ~(at_salts_used[i] | at_salts_rest[0][i] | at_salts_rest[1][i]);
		free &= BITMAP_FIRST_WORD_MASK(nr);
		if (free)
			return round_down(nr, BITS_PER_LONG) + __ffs(free);
	}
	return 0;
}

/* Keep a salt for its process. @user: from at_charge_salts(); takes over the reference. */
static void at_salt_keep(struct at_salt *salt, struct at_user_salts *user)
{
	hash_add(at_salts_kept, &salt->kept, (unsigned long)salt->mm);
	salt->user = user;
	if (!user)
		return;
	list_add_tail(&salt->of_user, &user->list);
	user->nr++;
	at_nr_kept++;
}

/* Undo at_salt_keep(). @salt->user keeps its reference. */
static void at_salt_unkeep(struct at_salt *salt)
{
	hash_del(&salt->kept);
	if (!salt->user)
		return;
	list_del(&salt->of_user);
	salt->user->nr--;
	at_nr_kept--;
}

/* Take a kept salt away from its process, and let it rest. */
static void at_salt_end(struct at_salt *salt, struct hlist_head *ended)
{
	if (at_nr_rest >= at_limit(AT_LIMIT_SALTS, AT_SALTS_TURN)) {
		at_turns++;
		bitmap_zero(at_salts_rest[at_turns % 2], AT_ID_MAX + 1);
		at_nr_rest = 0;
	}
	__set_bit(salt->nr, at_salts_rest[at_turns % 2]);
	at_nr_rest++;
	__xa_erase(&at_salts, salt->nr);
	__clear_bit(salt->nr, at_salts_used);
	at_salt_unkeep(salt);
	hlist_add_head(&salt->kept, ended);
}

/*
 * In the bucket of @mm in the table of kept salts, end the salts of ended processes, and those of
 * @mm beyond AT_SALTS_KEPT. This is called whenever a salt is added to the bucket. So salts of
 * ended processes, which pin their mm, do not accumulate.
 */
static void at_salts_look(const struct mm_struct *mm, struct hlist_head *ended)
{
	struct hlist_node *next;
	struct at_salt *salt;
	u32 n = 0;

	hash_for_each_possible_safe(at_salts_kept, salt, next, kept, (unsigned long)mm) {
		n += salt->mm == mm;
		if (!atomic_read(&salt->mm->mm_users) || (salt->mm == mm && n > AT_SALTS_KEPT))
			at_salt_end(salt, ended);
	}
}

/* End the oldest kept salt of a user who is above a limit. One call for each new salt suffices. */
static void at_salts_limit(const struct at_user_salts *user, struct hlist_head *ended)
{
	if (user->nr <= at_limit(AT_LIMIT_KEPT, AT_SALTS_OF_USER) &&
	    at_nr_kept <= AT_SALTS_OF_USERS)
		return;
	if (user->nr)
		at_salt_end(list_first_entry(&user->list, struct at_salt, of_user), ended);
}

static void at_salt_free(struct at_salt *salt)
{
	at_user_salts_put(salt->user);
	mmdrop(salt->mm);
	kfree(salt);
}

/*
 * Returns the salt @nr if the calling process has it, or NULL. @user: out: a reference that the
 * caller drops after the array's lock.
 */
static struct at_salt *at_salt_share(u32 nr, struct at_user_salts **user)
{
	struct at_salt *salt = xa_load(&at_salts, nr);

	if (!salt || salt->mm != current->mm)
		return NULL;
	if (!salt->providers++) {
		at_salt_unkeep(salt);
		*user = salt->user;
		salt->user = NULL;
	}
	return salt;
}

/* Give a salt the number @nr. Returns -EBUSY if another salt has the number, or if it rests. */
static int at_salt_take(struct at_salt *salt, u32 nr)
{
	/* Insert before the check for rest: __xa_insert() may release the array's lock. */
	int err = __xa_insert(&at_salts, nr, salt, GFP_KERNEL);

	if (err)
		return err;
	if (at_salt_rests(nr)) {
		__xa_erase(&at_salts, nr);
		return -EBUSY;
	}
	salt->nr = nr;
	__set_bit(nr, at_salts_used);
	return 0;
}

/* Give a salt the next number that is free and does not rest. Returns -EBUSY if there is none. */
static int at_salt_take_any(struct at_salt *salt)
{
	int err = -EBUSY;
	u32 nr;

	/* A second round is needed only if at_salt_take() has released the lock. */
	while (err == -EBUSY) {
		nr = at_salt_find(at_salt_next) ?: at_salt_find(AT_ID_MIN);
		if (!nr)
			break;
		at_salt_next = nr + 1;
		err = at_salt_take(salt, nr);
	}
	return err;
}

/**
 * at_salt_get - give the calling process a salt
 * @wanted: the salt that its ids already carry; 0: any
 *
 * Sleeps.
 *
 * Return: the salt, for at_salt_put(); ERR_PTR(-ENOSPC) if each salt is in use or rests;
 * ERR_PTR(-ENOMEM).
 */
struct at_salt *at_salt_get(u32 wanted)
{
	struct at_salt *salt = kzalloc(sizeof(*salt), GFP_KERNEL_ACCOUNT), *shared = NULL;
	struct at_user_salts *user = NULL;
	int err = -EBUSY;

	if (!salt)
		return ERR_PTR(-ENOMEM);
	salt->providers = 1;
	salt->mm = current->mm;
	mmgrab(salt->mm);
	xa_lock(&at_salts);
	if (wanted && wanted <= AT_ID_MAX) {
		err = at_salt_take(salt, wanted);
		if (err == -EBUSY)
			shared = at_salt_share(wanted, &user);
	}
	if (err == -EBUSY && !shared)
		err = at_salt_take_any(salt);
	xa_unlock(&at_salts);
	at_user_salts_put(user);
	if (!err)
		return salt;
	at_salt_free(salt);
	if (shared)
		return shared;
	return ERR_PTR(err == -EBUSY ? -ENOSPC : err);
}

/**
 * at_salt_put - note that a provider no longer uses its salt
 * @salt: the salt
 * @charge: charge of the provider
 */
void at_salt_put(struct at_salt *salt, const struct at_charge *charge)
{
	struct at_user_salts *user = at_charge_salts(charge), *unused = user;
	struct hlist_node *next;
	HLIST_HEAD(ended);

	xa_lock(&at_salts);
	if (!--salt->providers) {
		unused = NULL;
		at_salt_keep(salt, user);
		at_salts_look(salt->mm, &ended);
		if (user)
			at_salts_limit(user, &ended);
	}
	xa_unlock(&at_salts);
	at_user_salts_put(unused);
	hlist_for_each_entry_safe(salt, next, &ended, kept)
		at_salt_free(salt);
}

/* Free the kept salts, at module exit. No provider is left. */
void at_salts_exit(void)
{
	struct hlist_node *next;
	struct at_salt *salt;
	u32 i;

	hash_for_each_safe(at_salts_kept, i, next, salt, kept)
		at_salt_free(salt);
	xa_destroy(&at_salts);
}
