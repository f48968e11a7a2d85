// SPDX-License-Identifier: GPL-2.0
/*
 * Providers and sessions that come and go, also while the module is unloaded and loaded
 *
 * churn provider SECONDS [MS]	registers, maps, writes, makes threads, ends
 * churn session SECONDS [MS]	makes sessions, starts, reads, stops and ends them
 * churn module FILE COUNT	unloads the module and loads it from FILE, COUNT times; prints how
 *				often it was unloaded
 * churn detached NAME		makes and starts a detached session with all scheduling
 * churn hold			makes and starts a session that is not detached, prints
 *				"started", and waits for a line. Meanwhile the test removes the
 *				module, so a request to stop the session must then fail
 * churn slow COUNT		writes COUNT records, one per millisecond, as a provider; prints
 *				when it is registered
 *
 * MS: longest pause of each provider or session, in milliseconds
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "raw.h"

static struct raw_nl nl;

static void *no_thread(void *arg)
{
	raw_ioctl(*(int *)arg, ASYNCTRACE_IOC_THREAD, NULL);
	return NULL;
}

static void churn_provider(void)
{
	struct raw_provider p = { 0 };
	pthread_t threads[4];
	int n;

	if (raw_provider(&p, "churn", 64 * 1024)) {
		if (p.fd >= 0)
			close(p.fd);
		usleep(2000);
		return;
	}
	for (n = 0; n < 4; n++)
		if (pthread_create(&threads[n], NULL, no_thread, &p.fd))
			break;
	for (int i = 0; i < 5; i++) {
		if (p.control->gate > ASYNCTRACE_GATE_ATTACH)
			raw_write(&p, rand() % p.control->nr_rings, 100);
		usleep(rand() % 500);
	}
	while (n--)
		pthread_join(threads[n], NULL);
	raw_provider_end(&p);
}

static void churn_session(void)
{
	static char buffer[ASYNCTRACE_READ_MIN];
	char name[32];
	int id, fd;

	snprintf(name, sizeof(name), "churn-%d", (int)getpid());
	if (raw_nl_open(&nl)) {
		if (nl.socket)
			raw_nl_close(&nl);
		usleep(2000);
		return;
	}
	id = raw_session(&nl, name, 1 + rand() % 3, rand() % 3, 64 * 1024, NULL);
	fd = raw_open();
	if (id > 0 && !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id)) {
		bool consumes = rand() % 2 && fd >= 0 && !raw_consume(fd, id);

		for (int i = rand() % 3; i >= 0; i--) {
			raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id);
			usleep(rand() % 3000);
			raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, id);
			while (consumes && read(fd, buffer, sizeof(buffer)) > 0)
				;
		}
		if (rand() % 2)
			raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id);
	}
	if (fd >= 0)
		close(fd);
	raw_nl_close(&nl);
}

static int start_session(const char *name, bool detached)
{
	struct nlmsghdr *nlh;
	int err, id;

	err = raw_nl_open(&nl);
	if (err)
		return err;
	nlh = raw_nl_begin(&nl, ASYNCTRACE_CMD_SESSION_CREATE, 0);
	mnl_attr_put_strz(nlh, ASYNCTRACE_A_SESSION_NAME, name);
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_MODE, ASYNCTRACE_MODE_CIRCULAR);
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_SCHED, ASYNCTRACE_SCHED_ALL);
	mnl_attr_put_u64(nlh, ASYNCTRACE_A_SESSION_RING_SIZE, 64 * 1024);
	if (detached)
		mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_FLAGS,
				 ASYNCTRACE_SESSION_FLAGS_DETACHED);
	err = raw_nl_ask(&nl);
	if (err)
		return err;
	id = raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_ID);
	err = raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id);
	if (!err)
		err = raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id);
	return err ? err : id;
}

static int hold(void)
{
	int id = start_session("hold", false), err;
	char line[8];

	if (id < 0)
		return 1;
	puts("started");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	err = raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, id);
	printf("stop without a module: %s\n", strerror(-err));
	return err == -ENOENT ? 0 : 1;
}

static int slow(int count)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	struct raw_provider p;

	if (raw_provider(&p, "slow", 64 * 1024))
		return 1;
	puts("registered");
	fflush(stdout);
	while (p.control->gate <= ASYNCTRACE_GATE_ATTACH)
		nanosleep(&ms, NULL);
	for (int i = 1; i <= count; i++) {
		raw_write(&p, 0, i);
		nanosleep(&ms, NULL);
	}
	raw_provider_end(&p);
	return 0;
}

static int load_and_unload(const char *file, int count)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC), gone = 0;

	for (int i = 0; i < count && fd >= 0; i++) {
		if (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST) {
			perror("load");
			return 1;
		}
		usleep(rand() % 100000);
		for (int tries = 0; tries < 10000; tries++) {
			if (!syscall(SYS_delete_module, "asynctrace", O_NONBLOCK)) {
				gone++;
				break;
			}
			usleep(1000);
		}
	}
	printf("gone %d\n", gone);
	return gone != count;
}

int main(int argc, char **argv)
{
	int pause = argc > 3 ? atoi(argv[3]) * 1000 + 1 : 1;
	time_t end;

	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "hold"))
		return hold();
	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "slow"))
		return slow(atoi(argv[2]));
	if (!strcmp(argv[1], "detached"))
		return start_session(argv[2], true) < 0;
	srand(getpid());
	if (!strcmp(argv[1], "module"))
		return load_and_unload(argv[2], argc > 3 ? atoi(argv[3]) : 1);
	end = time(NULL) + atoi(argv[2]);
	while (time(NULL) < end) {
		if (!strcmp(argv[1], "provider"))
			churn_provider();
		else
			churn_session();
		usleep(rand() % pause);
	}
	return 0;
}
