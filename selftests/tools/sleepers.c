// SPDX-License-Identifier: GPL-2.0
/*
 * A program to record: its threads but one sleep all the time, each in another way
 *
 * usage: sleepers SECONDS [MORE]
 *
 * The main thread writes an event every 20 ms. Its threads are named after the system call in which
 * they sleep: read, accept, futex and epoll_wait; "spin" runs all the time. MORE further threads,
 * named "more", sleep in futex. When the threads have had time to fall asleep, prints a line: the
 * process id, then the ids of the five threads in this order.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <asynctrace/provider.h>
#include <asynctrace/trace.h>

#define NR	5

static const char *const names[NR] = { "read", "accept", "futex", "epoll_wait", "spin" };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all;
static pid_t tids[NR];
static int channel[2];

static void sleep_in(int which)
{
	const struct sockaddr_un any = { .sun_family = AF_UNIX };
	int fd;
	struct epoll_event event;
	volatile long turns = 0;
	char byte;

	switch (which) {
	case 0:
		if (read(channel[0], &byte, 1) < 0)
			abort();
		break;
	case 1:
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		if (bind(fd, (const void *)&any, sizeof(any.sun_family)) || listen(fd, 1) ||
		    accept(fd, NULL, NULL) < 0)
			abort();
		break;
	case 3:
		epoll_wait(epoll_create1(0), &event, 1, -1);
		break;
	case 4:
		for (;; turns++)
			;
	default:
		/* The main thread has the lock. */
		pthread_mutex_lock(&lock);
	}
}

static void *run(void *arg)
{
	const long which = (long)arg;

	if (which < NR)
		tids[which] = syscall(SYS_gettid);
	pthread_setname_np(pthread_self(), which < NR ? names[which] : "more");
	pthread_barrier_wait(&all);
	sleep_in(which);
	return NULL;
}

int main(int argc, char **argv)
{
	const struct timespec turn = { .tv_nsec = 20000000 };
	const double seconds = argc > 1 ? atof(argv[1]) : 1;
	const long nr = NR + (argc > 2 ? atol(argv[2]) : 0);
	pthread_attr_t small;
	pthread_t thread;

	at_provider_register(NULL);
	if (pipe(channel) || pthread_attr_init(&small) ||
	    pthread_attr_setstacksize(&small, 64 * 1024) ||
	    pthread_barrier_init(&all, NULL, nr + 1))
		return 2;
	pthread_mutex_lock(&lock);
	for (long i = 0; i < nr; i++)
		if (pthread_create(&thread, &small, run, (void *)i))
			return 2;
	pthread_barrier_wait(&all);
	/* Give all threads time to fall asleep. */
	nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
	printf("%d", (int)getpid());
	for (int i = 0; i < NR; i++)
		printf(" %d", (int)tids[i]);
	puts("");
	fflush(stdout);
	for (int i = 0; i < seconds * 50; i++) {
		TRACE_INSTANT("sleepers", "turn", TRACE_SCOPE_THREAD);
		nanosleep(&turn, NULL);
	}
	_exit(0);
}
