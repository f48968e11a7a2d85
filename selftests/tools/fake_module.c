// SPDX-License-Identifier: GPL-2.0
/* A module that is made up: see fake_module.h */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <asynctrace/session.h>
#include <linux/asynctrace.h>
#include <linux/asynctrace_fxt.h>

#include "fake_module.h"

#define PROVIDER	1

struct fake_module fake;

static struct at_session_info session = {
	.id = 1, .ring_size = 1 << 20, .sub_size = 1 << 16, .name = "fake",
};
static int in = -1, feed = -1;
static sem_t stopped;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
}

/* --- what the recorder reads --------------------------------------------------------------- */

/* Makes the result of a read(2). A recorder that has closed the session gets no more. */
static void put(uint32_t kind, uint32_t provider, uint64_t delivered, const void *payload,
		size_t bytes)
{
	static char buffer[ASYNCTRACE_READ_MIN];
	struct asynctrace_chunk chunk = {
		.size = sizeof(chunk), .kind = kind, .bytes = bytes, .provider = provider,
		.records = kind == ASYNCTRACE_CHUNK_EVENTS ? FAKE_EVENTS : 1,
		.delivered = delivered, .ticks = now(), .boottime = now(),
	};

	memcpy(buffer, &chunk, sizeof(chunk));
	memcpy(buffer + sizeof(chunk), payload, bytes);
	if (send(feed, buffer, sizeof(chunk) + bytes, MSG_NOSIGNAL) < 0)
		pthread_exit(NULL);
}

static void put_names(void)
{
	struct asynctrace_clock_pair pair = {
		.ticks = now(), .boottime = now(), .realtime = now(),
		.what = ASYNCTRACE_MOMENT_START,
	};
	struct asynctrace_provider_info program = {
		.id = PROVIDER, .pid = getpid(), .salt = 7, .serial = 1, .name = "program",
	};
	struct asynctrace_thread thread = {
		.slot = 1, .tid = getpid(), .pid = getpid(), .comm = "program",
	};
	uint64_t string[2] = { ASYNCTRACE_FXT_STRING_HEAD(1, 8) };

	memcpy(&string[1], "category", 8);
	put(ASYNCTRACE_CHUNK_CLOCK, 0, 0, &pair, sizeof(pair));
	put(ASYNCTRACE_CHUNK_PROVIDER, PROVIDER, 0, &program, sizeof(program));
	put(ASYNCTRACE_CHUNK_THREADS, PROVIDER, 0, &thread, sizeof(thread));
	put(ASYNCTRACE_CHUNK_STRINGS, PROVIDER, 0, string, sizeof(string));
}

static void *write_records(void *arg)
{
	static uint64_t words[3 * FAKE_EVENTS];

	if (fake.chunks)
		put_names();
	for (unsigned int c = 1; c <= fake.chunks; c++) {
		for (uint64_t *w = words; w < words + 3 * FAKE_EVENTS; w += 3) {
			w[0] = ASYNCTRACE_FXT_EVENT_HEAD(ASYNCTRACE_FXT_INSTANT, 3, 0, 1, 1);
			w[1] = now();
			w[2] = 1;
		}
		put(ASYNCTRACE_CHUNK_EVENTS, PROVIDER, (uint64_t)c * FAKE_EVENTS, words,
		    sizeof(words));
	}
	if (!fake.destroyed)
		sem_wait(&stopped);
	close(feed);
	return arg;
}

/* @wait: read(2) waits for records, so that it returns 0 only after the last one. */
static int open_records(bool wait)
{
	int fds[2];
	pthread_t t;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return -errno;
	in = fds[0];
	feed = fds[1];
	if (!wait)
		fcntl(in, F_SETFL, O_NONBLOCK);
	if (pthread_create(&t, NULL, write_records, NULL))
		return -EAGAIN;
	pthread_detach(t);
	return in;
}

int at_session_open_stream(struct at_ctl *ctl, uint32_t id)
{
	(void)ctl, (void)id;
	return open_records(session.state == ASYNCTRACE_SESSION_STATE_STOPPED);
}

int at_session_open_snapshot(struct at_ctl *ctl, uint32_t id)
{
	(void)ctl, (void)id;
	sem_post(&stopped);
	return open_records(true);
}

/* --- requests -------------------------------------------------------------------------------- */

static void call(void (*fn)(void))
{
	if (fn)
		fn();
}

int at_ctl_open(struct at_ctl **ctl)
{
	*ctl = (struct at_ctl *)&session;
	session.mode = ASYNCTRACE_MODE_CIRCULAR;
	session.state = ASYNCTRACE_SESSION_STATE_STARTED;
	session.uid = geteuid();
	return sem_init(&stopped, 0, 0);
}

void at_ctl_close(struct at_ctl *ctl)
{
	(void)ctl;
}

const char *at_ctl_error(const struct at_ctl *ctl)
{
	(void)ctl;
	return "the module is made up";
}

int at_info(struct at_ctl *ctl, struct at_info *info)
{
	(void)ctl;
	*info = (struct at_info){
		.size = sizeof(*info), .abi = ASYNCTRACE_ABI_VERSION,
		.clock = ASYNCTRACE_CLOCK_BOOTTIME, .nr_cpus = 1, .online_cpus = 1,
		.privileged = 1, .memory_limit = UINT64_C(1) << 34,
	};
	return 0;
}

int at_session_create(struct at_ctl *ctl, const struct at_session_options *opts, uint32_t *id)
{
	(void)ctl;
	*id = session.id;
	session.mode = opts->mode;
	session.sched = opts->sched;
	session.state = ASYNCTRACE_SESSION_STATE_READY;
	return 0;
}

int at_session_init(struct at_ctl *ctl, uint32_t id)
{
	(void)ctl, (void)id;
	call(fake.at_init);
	return 0;
}

int at_session_start(struct at_ctl *ctl, uint32_t id, const struct at_start_options *opts)
{
	(void)ctl, (void)id, (void)opts;
	session.state = ASYNCTRACE_SESSION_STATE_STARTED;
	call(fake.at_start);
	return 0;
}

int at_session_stop(struct at_ctl *ctl, uint32_t id)
{
	(void)ctl, (void)id;
	call(fake.at_stop);
	if (fake.destroyed)
		return -ENOENT;
	session.state = ASYNCTRACE_SESSION_STATE_STOPPED;
	if (in >= 0)
		fcntl(in, F_SETFL, 0);
	sem_post(&stopped);
	return 0;
}

int at_session_update(struct at_ctl *ctl, uint32_t id, size_t nr, const char *const *categories)
{
	(void)ctl, (void)id, (void)nr, (void)categories;
	return 0;
}

int at_session_destroy(struct at_ctl *ctl, uint32_t id)
{
	(void)ctl, (void)id;
	return 0;
}

int at_session_get(struct at_ctl *ctl, uint32_t id, at_session_fn fn, void *arg)
{
	(void)ctl, (void)id;
	return fn(&session, arg);
}

int at_for_each_session(struct at_ctl *ctl, at_session_fn fn, void *arg)
{
	(void)ctl;
	return fn(&session, arg);
}

int at_for_each_ring(struct at_ctl *ctl, uint32_t id, at_ring_fn fn, void *arg)
{
	(void)ctl, (void)id, (void)fn, (void)arg;
	return 0;
}

int at_for_each_provider(struct at_ctl *ctl, at_provider_fn fn, void *arg)
{
	(void)ctl, (void)fn, (void)arg;
	return 0;
}

int at_for_each_category(struct at_ctl *ctl, at_category_fn fn, void *arg)
{
	(void)ctl, (void)fn, (void)arg;
	return 0;
}

/* --- notifications -------------------------------------------------------------------------- */

int at_notifications_open(struct at_notifications **n, uint32_t kinds, uint32_t id)
{
	(void)kinds, (void)id;
	*n = (struct at_notifications *)&session;
	return 0;
}

void at_notifications_close(struct at_notifications *n)
{
	(void)n;
}

const char *at_notifications_error(const struct at_notifications *n)
{
	(void)n;
	return "";
}

int at_notifications_fd(const struct at_notifications *n)
{
	(void)n;
	return -1;
}

int at_notifications_next(struct at_notifications *n, struct at_notification *e)
{
	(void)n;
	if (!fake.refused)
		return -EAGAIN;
	fake.refused--;
	*e = (struct at_notification){
		.size = sizeof(*e), .kind = ASYNCTRACE_NOTIFICATION_KINDS_STARTED,
		.provider = PROVIDER + 1, .status = ENOMEM, .name = "program",
	};
	return 0;
}
