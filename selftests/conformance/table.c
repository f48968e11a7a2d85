// SPDX-License-Identifier: GPL-2.0
/*
 * The statements P1 to P49 about providers and sessions (doc/statements.md).
 *
 * Fuchsia's fuchsia.tracing.provider makes these statements for buffers that the provider
 * owns. Here the kernel owns them. The control page replaces messages to providers, netlink
 * events replace messages to the manager, and sub-buffers replace the two halves of a buffer.
 * No request waits for a provider: records published after a stop are dropped and counted.
 *
 * usage: table [ID]
 */
#include <stdio.h>
#include <string.h>

#include "proto.h"

static const struct statement *const tables[] = {
	state_statements, provider_statements, category_statements, buffer_statements,
};

static bool proves(const struct statement *s, const char *id)
{
	const size_t length = strlen(id);

	return !strncmp(s->name, id, length) && s->name[length] == '_';
}

static int left(const struct at_session_info *s, void *arg)
{
	(void)arg;
	ktap_fail("session '%s' is left", s->name);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int n = 0;

	if (argc > 1 && !strcmp(argv[1], "--first-event"))
		return emit(10) != 10;
	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
		for (const struct statement *s = tables[t]; s->name; s++)
			n += argc < 2 || proves(s, argv[1]);
	ktap_plan(n);
	proto_init();

	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
		for (const struct statement *s = tables[t]; s->name; s++) {
			if (argc > 1 && !proves(s, argv[1]))
				continue;
			ktap_begin("%s", s->name);
			s->test();
			if (at_for_each_session(ctl, left, NULL))
				ktap_bail("%s", at_ctl_error(ctl));
			ktap_end();
		}
	}
	at_ctl_close(ctl);
	return ktap_exit();
}
