// SPDX-License-Identifier: GPL-2.0
/*
 * steps: executes probes. Each line of the standard input is a command:
 *
 *	start N		event N starts
 *	done N		event N is done, on another thread
 *	traced		says whether a tracer is attached to each probe
 *	recording	says whether a session records the probes
 *	values		a probe with values of each width, and a text
 */
#include <stdio.h>
#include <string.h>

#include <asynctrace/probe.h>

TRACE_PROBE_DEFINE(my_prov, event__start);
TRACE_PROBE_DEFINE(my_prov, event__done);
TRACE_PROBE_DEFINE(my_prov, values);

extern volatile unsigned short my_prov_event__start_semaphore, my_prov_event__done_semaphore;

static struct at_uid uids[100];

static void *finish(void *arg)
{
	struct at_uid *uid = arg;

	TRACE_PROBE(my_prov, event__done, at_uid_get(uid), (int)(uid - uids) - 50);
	return NULL;
}

static void values(uint64_t id, signed char c, unsigned short us, int i, long l, const char *text)
{
	TRACE_PROBE(my_prov, values, id, c, us, i, l, text);
}

int main(void)
{
	unsigned int n = 0;
	pthread_t thread;
	char line[64];

	setlinebuf(stdout);
	/* The first macro registers the process, so that a session finds it. */
	printf("ready %d\n", TRACE_ENABLED());
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "start %u", &n) == 1 && n < 100) {
			TRACE_PROBE(my_prov, event__start, at_uid_get(&uids[n]));
		} else if (sscanf(line, "done %u", &n) == 1 && n < 100) {
			pthread_create(&thread, NULL, finish, &uids[n]);
			pthread_join(thread, NULL);
		} else if (!strcmp(line, "values\n")) {
			values(at_uid_get(&uids[0]), -5, 65000, -70000, -5000000000, "some text");
		} else if (!strcmp(line, "traced\n")) {
			printf("traced %u %u\n", my_prov_event__start_semaphore,
			       my_prov_event__done_semaphore);
			continue;
		} else if (!strcmp(line, "recording\n")) {
			printf("recording %d\n", TRACE_CATEGORY_ENABLED("my_prov"));
			continue;
		} else {
			return 2;
		}
		printf("did %s", line);
	}
	return 0;
}
