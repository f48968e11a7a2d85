// SPDX-License-Identifier: GPL-2.0
/* dump and validate without the rest of the command, to be built with sanitizers */
#include <string.h>

#include "../../tools/tool.h"

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	int (*command)(int argc, char **argv) = !strcmp(name, "dump") ? dump_main :
						!strcmp(name, "validate") ? validate_main : NULL;

	if (!command)
		return 2;
	tool_begin(name, argv + 1);
	return tool_end(command(argc - 1, argv + 1));
}
