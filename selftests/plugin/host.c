// SPDX-License-Identifier: GPL-2.0
/*
 * host PLUGIN ROUNDS THREADS: loads a plug-in, has threads write records in it, and unloads it
 * while the threads and their descriptions of critical sections still exist. Then the kernel reads
 * these descriptions.
 *
 * Built with HOST_TRACES, the host contains a library, too, and writes one record per round.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef HOST_TRACES
#include <asynctrace/trace.h>
#endif

#define RECORDS	100

static pthread_barrier_t written, unloaded;
static void (*plug_write)(unsigned int records);

static void *member(void *arg)
{
	const struct timespec moment = { .tv_nsec = 1000 };

	plug_write(RECORDS);
	pthread_barrier_wait(&written);
	pthread_barrier_wait(&unloaded);
	/* When the thread wakes up, the kernel reads the description of its critical section. */
	for (int i = 0; i < 20; i++)
		nanosleep(&moment, NULL);
	return arg;
}

int main(int argc, char **argv)
{
	const int rounds = argc > 3 ? atoi(argv[2]) : 1, threads = argc > 3 ? atoi(argv[3]) : 1;
	pthread_t list[64];

	if (argc != 4 || threads > 64)
		return 2;
	pthread_barrier_init(&written, NULL, threads + 1);
	pthread_barrier_init(&unloaded, NULL, threads + 1);
	for (int r = 0; r < rounds; r++) {
		void *handle = dlopen(argv[1], RTLD_NOW);

		if (!handle) {
			fprintf(stderr, "%s\n", dlerror());
			return 3;
		}
#ifdef HOST_TRACES
		TRACE_INSTANT("plugin", "host", TRACE_SCOPE_THREAD);
#endif
		*(void **)&plug_write = dlsym(handle, "plug_write");
		for (int t = 0; t < threads; t++)
			pthread_create(&list[t], NULL, member, NULL);
		pthread_barrier_wait(&written);
		if (dlclose(handle))
			return 4;
		pthread_barrier_wait(&unloaded);
		for (int t = 0; t < threads; t++)
			pthread_join(list[t], NULL);
	}
	printf("%d\n", rounds * threads * RECORDS);
	return 0;
}
