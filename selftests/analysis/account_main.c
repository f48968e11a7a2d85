// SPDX-License-Identifier: GPL-2.0
/*
 * account FILE...: tests in each trace that the account of each operation, which is the list of
 * states that its time was spent in, adds up to its latency.
 */
#include "account_holds.h"

int main(int argc, char **argv)
{
	bool good = argc > 1;

	for (int i = 1; i < argc; i++)
		good &= account_holds(argv[i]);
	return !good;
}
