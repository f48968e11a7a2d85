// SPDX-License-Identifier: GPL-2.0
/*
 * The statements P1 to P49 about providers and sessions, each with its test.
 *
 * They are those of Fuchsia's fuchsia.tracing.provider, said for a kernel that
 * owns the buffers: what a provider is told there by a message is here on its
 * control page; what the manager is told are netlink events; sub-buffers that
 * are read in place stand for two halves that are handed over. No statement waits
 * for a provider: what it publishes after a stop is not delivered, and counted.
 */
#include <stdio.h>
#include <string.h>

#include "proto.h"

static const struct statement *const tables[] = {
	state_statements, provider_statements, category_statements, buffer_statements,
};

/* The first and last of each group. */
static const unsigned int groups[][2] = { { 1, 13 }, { 20, 25 }, { 30, 33 }, { 40, 49 } };

static bool is_there(unsigned int number)
{
	char id[8];

	snprintf(id, sizeof(id), "P%u", number);
	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
		for (const struct statement *s = tables[t]; s->id; s++)
			if (!strcmp(s->id, id))
				return true;
	return false;
}

static int left(const struct at_session_info *s, void *arg)
{
	(void)arg;
	ktap_fail("session '%s' is left", s->name);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int n = 1;

	if (argc > 1 && !strcmp(argv[1], "--first-event"))
		return emit(10) != 10;
	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
		for (const struct statement *s = tables[t]; s->id; s++)
			n += argc < 2 || !strcmp(s->id, argv[1]);
	ktap_plan(n);
	proto_init();

	ktap_begin("every statement has a test");
	for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++)
		for (unsigned int i = groups[g][0]; i <= groups[g][1]; i++)
			ktap_check(is_there(i), "P%u has none", i);
	ktap_end();

	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
		for (const struct statement *s = tables[t]; s->id; s++) {
			if (argc > 1 && strcmp(s->id, argv[1]))
				continue;
			ktap_begin("%s %s", s->id, s->text);
			s->test();
			if (at_for_each_session(ctl, left, NULL))
				ktap_bail("%s", at_ctl_error(ctl));
			ktap_end();
		}
	}
	at_ctl_close(ctl);
	return ktap_exit();
}
