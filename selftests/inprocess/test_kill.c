// SPDX-License-Identifier: GPL-2.0
/*
 * Killed writers in a process that traces itself
 */
#include "kill.h"
#include "tape.h"

int main(void)
{
#ifdef AT_TEST_HOOKS
	at_race_delay = scale("DELAY", 300);
#endif
	ktap_plan(2);
	kill_tests(NULL, amount("KT_KILLS", 50));
	return ktap_exit();
}
