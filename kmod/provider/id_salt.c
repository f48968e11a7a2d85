// SPDX-License-Identifier: GPL-2.0
/*
 * Salts: numbers that make the operation ids of different processes distinct.
 *
 * A process may have made ids before it registers, and may register several times.
 * Therefore the process proposes the salt that its ids carry. It gets that salt unless
 * another process has it.
 */
#include <linux/err.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "provider/layout.h"
#include "provider/id_salt.h"

static DEFINE_XARRAY_ALLOC(at_salts);
static u32 at_salt_next = AT_ID_MIN;

static struct at_salt *at_salt_share(u32 nr)
{
	struct at_salt *salt;

	xa_lock(&at_salts);
	salt = xa_load(&at_salts, nr);
	if (salt && (salt->mm != current->mm || !kref_get_unless_zero(&salt->ref)))
		salt = NULL;
	xa_unlock(&at_salts);
	return salt;
}

/**
 * at_salt_get - give the calling process a salt
 * @wanted: the salt that its ids already carry; 0: any
 *
 * The caller must hold a reference to the mm_struct until at_salt_put(). Sleeps.
 *
 * Return: the salt; ERR_PTR(-ENOSPC) if all are in use, ERR_PTR(-ENOMEM).
 */
struct at_salt *at_salt_get(u32 wanted)
{
	struct at_salt *salt = kzalloc(sizeof(*salt), GFP_KERNEL_ACCOUNT), *shared;
	int err = -EBUSY;

	if (!salt)
		return ERR_PTR(-ENOMEM);
	kref_init(&salt->ref);
	salt->mm = current->mm;
	if (wanted && wanted <= AT_ID_MAX) {
		salt->nr = wanted;
		err = xa_insert(&at_salts, wanted, salt, GFP_KERNEL);
		shared = err == -EBUSY ? at_salt_share(wanted) : NULL;
		if (shared) {
			kfree(salt);
			return shared;
		}
	}
	if (err == -EBUSY)
		err = xa_alloc_cyclic(&at_salts, &salt->nr, salt, XA_LIMIT(AT_ID_MIN, AT_ID_MAX),
				      &at_salt_next, GFP_KERNEL);
	if (err >= 0)
		return salt;
	kfree(salt);
	return ERR_PTR(err == -EBUSY ? -ENOSPC : err);
}

static void at_salt_free(struct kref *ref)
{
	struct at_salt *salt = container_of(ref, struct at_salt, ref);

	xa_erase(&at_salts, salt->nr);
	kfree(salt);
}

void at_salt_put(struct at_salt *salt)
{
	kref_put(&salt->ref, at_salt_free);
}
