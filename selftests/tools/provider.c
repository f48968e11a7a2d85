// SPDX-License-Identifier: GPL-2.0
/*
 * A program to record: its threads write three events per turn
 *
 * usage: provider [THREADS [TURNS [MICROSECONDS [STATUS [TURN [FLOOD]]]]]]
 *
 * A turn is an async operation and an instant, then a sleep of MICROSECONDS. In turn number TURN,
 * each thread raises FLOOD alerts "noise" and then the alert "late". If FLOOD is not 0, it raises
 * one more "noise" after 200 ms, when alerts are accepted again. Exits with STATUS.
 * Events without alerts: 3 * THREADS * TURNS, 2 of 3 in the category "http", the others in "disk".
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <asynctrace/provider.h>
#include <asynctrace/trace.h>

static long turns = 1000, pause_us, alert_at = -1, flood;

static void raise_alerts(void)
{
	for (long i = 0; i < flood; i++)
		TRACE_ALERT("http", "noise");
	TRACE_ALERT("http", "late");
	if (!flood)
		return;
	usleep(200000);
	TRACE_ALERT("http", "noise");
}

static void *run(void *arg)
{
	for (long i = 0; i < turns; i++) {
		uint64_t id = at_nonce();

		TRACE_ASYNC_BEGIN("http", "request", id, "turn", TA_INT64(i));
		TRACE_INSTANT("disk", "phase", TRACE_SCOPE_THREAD);
		TRACE_ASYNC_END("http", "request", id);
		if (i == alert_at)
			raise_alerts();
		if (pause_us)
			usleep(pause_us);
	}
	return arg;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	pthread_t thread[64];

	if (threads < 1 || threads > 64)
		return 2;
	if (argc > 2)
		turns = atol(argv[2]);
	if (argc > 3)
		pause_us = atol(argv[3]);
	if (argc > 5)
		alert_at = atol(argv[5]);
	if (argc > 6)
		flood = atol(argv[6]);
	at_provider_announce((const struct at_category[]){
		{ "http", "requests" }, { "disk", "what they wait for" } }, 2);
	/* Register first: threads may drop events while another thread registers the process. */
	at_provider_register(NULL);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, run, NULL))
			return 2;
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return argc > 4 ? atoi(argv[4]) : 0;
}
