// SPDX-License-Identifier: GPL-2.0
/* account FILE...: tests the account of each operation in each trace. */
#include "account_holds.h"

int main(int argc, char **argv)
{
	bool good = argc > 1;

	for (int i = 1; i < argc; i++)
		good &= account_holds(argv[i]);
	return !good;
}
