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
 */
#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "base/race.h"
#include "provider/layout.h"
#include "provider/id_salt.h"

/* Salts that are kept for one process. */
#define AT_SALTS_KEPT	8
/*
 * Time is divided into turns. A turn ends when this number of salts has begun to rest in it. Then
 * the salts of the turn before stop resting.
 */
#define AT_SALTS_TURN	BIT(18)

/* Salts that processes have, by number. The array's lock also protects all variables below. */
static DEFINE_XARRAY_ALLOC(at_salts);
static u32 at_salt_next = AT_ID_MIN;
/* Salts that are kept, by mm; the newest is first. */
static DEFINE_HASHTABLE(at_salts_kept, 8);
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

/* Returns the first salt from @nr on that does not rest, or a number above AT_ID_MAX. */
static u32 at_salt_rested(u32 nr)
{
	unsigned long rested;

	for (; nr <= AT_ID_MAX; nr = round_down(nr, BITS_PER_LONG) + BITS_PER_LONG) {
		rested = ~(at_salts_rest[0][BIT_WORD(nr)] | at_salts_rest[1][BIT_WORD(nr)]);
		rested &= BITMAP_FIRST_WORD_MASK(nr);
		if (rested)
			return round_down(nr, BITS_PER_LONG) + __ffs(rested);
	}
	return nr;
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
	hash_del(&salt->kept);
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

static void at_salt_free(struct at_salt *salt)
{
	mmdrop(salt->mm);
	kfree(salt);
}

/* Returns the salt @nr if the calling process has it, or NULL. */
static struct at_salt *at_salt_share(u32 nr)
{
	struct at_salt *salt = xa_load(&at_salts, nr);

	if (!salt || salt->mm != current->mm)
		return NULL;
	if (!salt->providers++)
		hash_del(&salt->kept);
	return salt;
}

/* Give a salt the number @nr. Returns -EBUSY if another salt has the number, or if it rests. */
static int at_salt_take(struct at_salt *salt, u32 nr)
{
	/* Insert before the check for rest: __xa_insert() may release the array's lock. */
	int err = __xa_insert(&at_salts, nr, salt, GFP_KERNEL);

	if (err)
		return err;
	salt->nr = nr;
	if (!at_salt_rests(nr))
		return 0;
	__xa_erase(&at_salts, nr);
	return -EBUSY;
}

/* Give a salt the next number that is free and does not rest. Returns -EBUSY if there is none. */
static int at_salt_take_any(struct at_salt *salt)
{
	int err, wraps = 0;

	do {
		/* Allocate before the check for rest: this may release the array's lock. */
		err = __xa_alloc_cyclic(&at_salts, &salt->nr, salt, XA_LIMIT(AT_ID_MIN, AT_ID_MAX),
					&at_salt_next, GFP_KERNEL);
		if (err < 0)
			return err;
		if (!at_salt_rests(salt->nr))
			return 0;
		__xa_erase(&at_salts, salt->nr);
		at_salt_next = at_salt_rested(salt->nr);
		wraps += err;
	} while (wraps < 2);
	return -EBUSY;
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
			shared = at_salt_share(wanted);
	}
	if (err == -EBUSY && !shared)
		err = at_salt_take_any(salt);
	xa_unlock(&at_salts);
	if (!err)
		return salt;
	at_salt_free(salt);
	if (shared)
		return shared;
	return ERR_PTR(err == -EBUSY ? -ENOSPC : err);
}

/* Called when a provider no longer uses the salt. */
void at_salt_put(struct at_salt *salt)
{
	struct hlist_node *next;
	HLIST_HEAD(ended);

	xa_lock(&at_salts);
	if (!--salt->providers) {
		hash_add(at_salts_kept, &salt->kept, (unsigned long)salt->mm);
		at_salts_look(salt->mm, &ended);
	}
	xa_unlock(&at_salts);
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
