// SPDX-License-Identifier: GPL-2.0
/* Two threads that pass a byte to each other. Each burst overflows a small ring. */
#include <fcntl.h>
#include <unistd.h>

#include "truth.h"

#define BURST	400

static int there[2], back[2];
static pthread_t threads[2];
static bool over;

static void *sends(void *arg)
{
	char byte = 0;

	(void)arg;
	for (unsigned int i = 1; !__atomic_load_n(&over, __ATOMIC_SEQ_CST); i++) {
		/* Pause, so that the reader catches up and the next records are not lost. */
		if (i % BURST == 0)
			nap(10 * MS);
		TRACE_INSTANT("truth", "noise", TRACE_SCOPE_THREAD);
		must(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1);
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

void noise_start(void)
{
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
