// SPDX-License-Identifier: GPL-2.0
/*
 * Three event loops with meters, two of them with one name. Prints what each meter has: name,
 * rounds, idle and active nanoseconds, the longest delay.
 */
#include <poll.h>
#include <stdio.h>
#include <time.h>

#include <asynctrace/loop.h>
#include <asynctrace/trace.h>

static struct at_loop loops[] = {
	ASYNCTRACE_LOOP_INIT("server"), ASYNCTRACE_LOOP_INIT("server"), ASYNCTRACE_LOOP_INIT("timers"),
};

static void work(long us)
{
	struct timespec from, now;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - from.tv_sec) * 1000000000 + now.tv_nsec - from.tv_nsec < us * 1000);
}

static void *run(void *arg)
{
	struct at_loop *loop = arg;
	const int number = loop - loops;

	at_loop_enable(loop);
	for (int i = 0; i < 20 + 10 * number; i++) {
		at_loop_poll_begin(loop);
		poll(NULL, 0, 1);
		at_loop_poll_end(loop);
		TRACE_DURATION("loops", "round");
		work(100 * i);
	}
	at_loop_poll_begin(loop);
	return NULL;
}

int main(void)
{
	pthread_t thread[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, run, &loops[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 3; i++) {
		const struct at_loop_use use = at_loop_utilization(&loops[i]);
		const struct at_loop_delay d = at_loop_delays(&loops[i]);

		printf("%s %llu %llu %llu %llu\n", loops[i].name, (unsigned long long)d.count,
		       (unsigned long long)use.idle, (unsigned long long)use.active,
		       (unsigned long long)d.max);
	}
	return 0;
}
