// SPDX-License-Identifier: GPL-2.0
/*
 * Killed writers: a process with four threads is killed (SIGKILL) at random
 * moments, again and again, and others go on in the same rings. What all of them
 * wrote is accounted for, but for the one record that each killed thread may have
 * published and not yet tallied, and no record is torn.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "numbers.h"

#define THREADS		4
#define OWN		64	/* records of this process: all shapes, so all names */

/* The tallies survive their writer. */
static struct shared {
	uint64_t written[THREADS];
	uint32_t ready;
} *shared;

static void *write_on(void *arg)
{
	const uint32_t index = (uintptr_t)arg;

	if (index & 1)
		pin(nth_cpu(index / 2));
	for (;;) {
		/* Numbers go on where those of the process before ended. */
		nb_write(index, shared->written[index]);
		__atomic_fetch_add(&shared->written[index], 1, __ATOMIC_RELEASE);
		__atomic_store_n(&shared->ready, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* They inherit the mappings, and the names that their parent has interned. */
static pid_t writers(void)
{
	pid_t pid = fork();
	pthread_t th;

	if (pid)
		return pid;
	for (uintptr_t i = 1; i < THREADS; i++)
		pthread_create(&th, NULL, write_on, (void *)i);
	write_on(NULL);
	_exit(1);
}

static void kills(uint32_t mode, long rounds, uint64_t *rng)
{
	static const char *const modes[] = { "", "one-shot", "circular", "streaming" };
	const struct tape_options o = { .mode = mode, .ring_size = 16384 };
	uint64_t torn = 0, events = 0, off = 0, most = 0;

	for (long r = 0; r < rounds; r++) {
		struct numbers n;
		struct tape t;
		int status;

		memset(shared, 0, sizeof(*shared));
		nb_init(&n);
		tape_new(&t, &o, nb_take, &n);
		tape_attach(&t);
		tape_gate(&t, true);
		for (int i = 0; i < OWN; i++)
			nb_write(THREADS, i);
		/* Three of them, one after the other, in one session. */
		for (int k = 0; k < 3; k++) {
			pid_t pid;

			shared->ready = 0;
			pid = writers();
			while (!__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE))
				usleep(100);
			usleep(rnd(rng) % 3000);
			if (mode == ASYNCTRACE_MODE_STREAMING)
				at_drain_round(&t.drain, false);
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
			for (int i = 0; i < THREADS; i++)
				/* It may have been published; the next one is another. */
				shared->written[i]++;
		}
		tape_end(&t, true);
		/* A child's threads are unknown here. */
		t.strangers = 0;
		tape_check(&t);
		nb_check(&n);
		torn += t.torn + t.miscounted + n.spoilt;
		events += t.result.delivered;

		uint64_t sum = t.result.delivered + t.result.overwritten + t.result.dropped;
		uint64_t tally = OWN;

		/* At most what was added above is too much. */
		for (int i = 0; i < THREADS; i++)
			tally += shared->written[i];
		if (!check(sum <= tally && sum + 3 * THREADS >= tally, "%llu of %llu",
			   (unsigned long long)sum, (unsigned long long)tally))
			off++;
		if (tally - sum > most)
			most = tally - sum;
		tape_free(&t);
		nb_free(&n);
	}
	done("%s: %ld kills, %llu records read, %llu torn, %llu sums off (a kill left at most %d records untallied)",
	     modes[mode], 3 * rounds, (unsigned long long)events, (unsigned long long)torn,
	     (unsigned long long)off, THREADS);
}

int main(void)
{
	const long rounds = scale("KILLS", 50) / 9 + 1;
	uint64_t rng = seed();

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
#ifdef AT_TEST_HOOKS
	at_race_delay = scale("DELAY", 300);
#endif
	for (uint32_t mode = ASYNCTRACE_MODE_ONESHOT; mode <= ASYNCTRACE_MODE_STREAMING; mode++)
		kills(mode, rounds, &rng);
	return finish();
}
