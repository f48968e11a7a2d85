// SPDX-License-Identifier: GPL-2.0
/* dump and validate without the rest of the command, to be built with sanitizers */
#include <string.h>

#include "../../tools/tool.h"

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "dump"))
		return tool_end(dump_main(argc - 1, argv + 1));
	if (argc > 1 && !strcmp(argv[1], "validate"))
		return tool_end(validate_main(argc - 1, argv + 1));
	return 2;
}
