// SPDX-License-Identifier: GPL-2.0
/*
 * A provider's writers killed at each instruction
 */
#include "step.h"

int main(void)
{
	const struct at_provider_options opts = { .size = sizeof(opts), .name = STEP_PROVIDER };
	struct at_ctl *ctl;

	if (at_ctl_open(&ctl))
		ktap_bail("%s", at_ctl_error(ctl));
	must(!at_provider_register(&opts));
	step_tests(ctl, fallback_expected(ctl), amount("KT_FEW", 0));
	at_ctl_close(ctl);
	return ktap_exit();
}
