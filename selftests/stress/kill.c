// SPDX-License-Identifier: GPL-2.0
/*
 * Killed writers and providers of the module's sessions
 */
#include "kill.h"

int main(void)
{
	struct at_ctl *ctl;

	ktap_plan(2);
	if (at_ctl_open(&ctl))
		ktap_bail("%s", at_ctl_error(ctl));
	kill_tests(ctl, amount("KT_KILLS", 30));
	at_ctl_close(ctl);
	return ktap_exit();
}
