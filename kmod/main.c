// SPDX-License-Identifier: GPL-2.0
/*
 * asynctrace: loading and unloading.
 */
#include <linux/module.h>

#include "base/quiesce.h"
#include "base/race.h"
#include "chardev.h"
#include "control/netlink.h"
#include "provider/id_salt.h"
#include "provider/provider.h"
#include "sched/sched.h"
#include "session/session.h"

/* Kconfig excludes this, but a build outside of a kernel tree does not read Kconfig. */
#ifdef CONFIG_CPU_BIG_ENDIAN
#error "asynctrace supports only little-endian kernels"
#endif

static int __init at_init(void)
{
	int err;

	err = at_quiesce_init();
	if (err)
		return err;
	err = at_mapping_init();
	if (err)
		goto err_quiesce;
	err = at_sched_init();
	if (err)
		goto err_mapping;
	err = at_sessions_init();
	if (err)
		goto err_sched;
	err = at_netlink_init();
	if (err)
		goto err_sessions;
	err = at_chardev_init();
	if (err)
		goto err_netlink;
	at_race_init();
	return 0;

err_netlink:
	at_netlink_exit();
err_sessions:
	at_sessions_exit();
	at_quiesce_flush();
err_sched:
	at_sched_exit();
err_mapping:
	at_mapping_exit();
err_quiesce:
	at_quiesce_exit();
	return err;
}

/*
 * Open descriptors have a reference to the module, so no provider or consumer is left here.
 * Work that they queued may still be pending, and detached sessions may be left.
 */
static void __exit at_exit(void)
{
	at_race_exit();
	at_chardev_exit();
	at_netlink_exit();
	at_sessions_exit();
	/*
	 * Flush the queues instead of draining them: probes and timers may still queue work,
	 * which a draining workqueue rejects.
	 */
	at_quiesce_flush();
	/* Flush twice: a zap waits for writers asynchronously and may queue one more zap. */
	at_ranges_flush();
	at_quiesce_wait();
	at_ranges_flush();
	at_quiesce_wait();
	at_quiesce_flush();
	at_sched_exit();
	at_mapping_exit();
	at_quiesce_exit();
	/* The last work that used salts has run. */
	at_salts_exit();
}

module_init(at_init);
module_exit(at_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tracing of asynchronous operations");
MODULE_AUTHOR("The asynctrace authors");
