// SPDX-License-Identifier: GPL-2.0
/*
 * Two threads that pass a byte to each other. The recorder is stopped during each burst, so each
 * burst overflows a small ring.
 */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "truth.h"

#define BURST	150

static int there[2], back[2];
static pthread_t threads[2];
static pid_t recorder;
static bool over;

static void *sends(void *arg)
{
	char byte = 0;

	(void)arg;
	while (!__atomic_load_n(&over, __ATOMIC_SEQ_CST)) {
		uint64_t ns = now();

		must(!kill(recorder, SIGSTOP));
		for (int i = 0; i < BURST; i++) {
			TRACE_INSTANT("truth", "noise", TRACE_SCOPE_THREAD);
			must(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1);
		}
		must(!kill(recorder, SIGCONT));
		/* Pause most of the time, so that the recorder loses records only in bursts. */
		ns = now() - ns;
		nap(50 * MS + 10 * ns);
	}
	close(there[1]);
	return NULL;
}

static void *returns(void *arg)
{
	char byte;

	(void)arg;
	while (read(there[0], &byte, 1) == 1)
		must(write(back[1], &byte, 1) == 1);
	return NULL;
}

void noise_start(pid_t pid)
{
	recorder = pid;
	must(!pipe2(there, O_CLOEXEC) && !pipe2(back, O_CLOEXEC));
	start(&threads[0], sends, NULL);
	start(&threads[1], returns, NULL);
}

void noise_stop(void)
{
	__atomic_store_n(&over, true, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}
