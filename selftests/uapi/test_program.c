// SPDX-License-Identifier: GPL-2.0
/*
 * A process that shares a provider's memory runs another program while the provider lives on
 *
 * Either the process that registered runs the program, and a child of clone(2) keeps the memory.
 * Or such a child runs the program.
 *
 * The program may have more rights than its user. It is no part of the provider: the provider's
 * owner must not learn its activity or its name.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ktap.h"
#include "raw.h"

#define NOBODY	65534
#define STRIDE	(64 * 1024)
#define RING	(256 * 1024)
#define WORD	8

/* Shared by all processes */
static struct shared {
	char word[WORD + 1];	/* the program's name */
	atomic_int provider;	/* its id */
	atomic_uint failed;
	int tid;		/* the thread that will run the program */
} *shared;

/* A check in a child process */
#define SO(what) do {							\
	if (!(what)) {							\
		printf("# %s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #what, strerror(errno)); \
		atomic_fetch_add(&shared->failed, 1);			\
		return 1;						\
	}								\
} while (0)

#define NAP_ARGUMENT	"--nap"

/* Sleeps again and again until a byte can be read. */
static int nap(int fd)
{
	struct pollfd fds = { fd, POLLIN, 0 };

	while (!poll(&fds, 1, 1))
		;
	return 0;
}

static int go_on[2], gone_on[2];	/* pipes */

static void run_program(void)
{
	char file[64], until[16], byte;

	snprintf(file, sizeof(file), "/tmp/%s", shared->word);
	snprintf(until, sizeof(until), "%d", gone_on[0]);
	if (read(go_on[0], &byte, 1) == 1)
		execl(file, file, NAP_ARGUMENT, until, NULL);
	_exit(99);
}

static int device;
static char stack[65536] __attribute__((aligned(16)));

/*
 * Keeps the provider's memory in a child, which shares the memory of the process that registered,
 * but has its own descriptors.
 */
static int keep_memory(void *arg)
{
	char byte;

	(void)arg;
	return read(gone_on[0], &byte, 1) != 1;
}

static int be_traced_and_run(void *arg)
{
	(void)arg;
	raw_ioctl(device, ASYNCTRACE_IOC_THREAD, NULL);
	run_program();
	return 0;
}

/* Runs the program in the process, or in a child that shares its memory. */
static int run_one(void *arg)
{
	bool child = *(bool *)arg;
	struct raw_provider p;
	char byte;
	pid_t pid;

	SO(!raw_provider(&p, "own", STRIDE));
	device = p.fd;
	close(gone_on[1]);
	close(go_on[1]);
	/* Without CLONE_FILES, exec closes only the descriptors of the process that calls it. */
	pid = clone(child ? be_traced_and_run : keep_memory, stack + sizeof(stack),
		    CLONE_VM | SIGCHLD, NULL);
	SO(pid > 0);
	shared->tid = child ? pid : getpid();
	atomic_store(&shared->provider, p.id);
	if (!child)
		run_program();
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return read(gone_on[0], &byte, 1) != 1;
}

static unsigned int words_seen;

/* Returns the number of records that involve the thread. */
static uint64_t records_of(int fd, int tid)
{
	static char buf[ASYNCTRACE_READ_MIN];
	const struct asynctrace_chunk *head = (const void *)buf;
	uint64_t n = 0;

	while (read(fd, buf, sizeof(buf)) > 0) {
		const uint64_t *w = (const void *)(buf + sizeof(*head));
		unsigned int left = head->bytes / 8, words;

		words_seen += !!memmem(buf, sizeof(*head) + head->bytes, shared->word, WORD);
		if (head->kind != ASYNCTRACE_CHUNK_SCHED)
			continue;
		for (; left && (words = ASYNCTRACE_FXT_WORDS(*w)) && words <= left;
		     w += words, left -= words)
			n += w[2] == (uint64_t)tid ||
			     (w[0] >> 60 == ASYNCTRACE_FXT_SCHED_SWITCH && w[3] == (uint64_t)tid);
	}
	return n;
}

static int open_session(struct raw_nl *nl, const char *name)
{
	int err = 0, fd, session = raw_session(nl, name, ASYNCTRACE_MODE_STREAMING,
					       ASYNCTRACE_SCHED_TARGETS, RING, "own");

	if (session < 0)
		err = session;
	if (!err)
		err = raw_session_do(nl, ASYNCTRACE_CMD_SESSION_INIT, session);
	if (!err)
		err = raw_session_do(nl, ASYNCTRACE_CMD_SESSION_START, session);
	if (err) {
		printf("# session %s: %d is %s\n", name, session, strerror(-err));
		return -1;
	}
	fd = open("/dev/" ASYNCTRACE_DEVICE, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 || raw_consume(fd, session) ? -1 : fd;
}

static bool runs_program(int pid)
{
	char path[64], comm[64] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, comm, sizeof(comm) - 1) < 0)
		comm[0] = 0;
	close(fd);
	return !strncmp(comm, shared->word, WORD);
}

/* @arg: true if a child that shares the memory runs the program */
static int watch(void *arg)
{
	static struct raw_nl nl;
	uint64_t before = 0, after;
	int fd, tid, status;
	pid_t pid;

	words_seen = 0;
	SO(!raw_nl_open(&nl));
	fd = open_session(&nl, "while");
	SO(fd >= 0 && !pipe2(go_on, 0) && !pipe2(gone_on, 0));
	pid = fork();
	if (!pid)
		_exit(run_one(arg));
	close(gone_on[0]);
	while (!atomic_load(&shared->provider) && !atomic_load(&shared->failed))
		usleep(1000);
	tid = shared->tid;
	for (int i = 0; !before && i < 10000; i++) {
		usleep(1000);
		before = records_of(fd, tid);
	}
	SO(write(go_on[1], "x", 1) == 1);
	while (!runs_program(tid) && !atomic_load(&shared->failed))
		usleep(1000);
	/* From now on the thread belongs to another program, which sleeps. */
	records_of(fd, tid);
	usleep(100000);
	after = records_of(fd, tid);
	printf("# %llu records of it before, %llu after; the word: %u\n",
	       (unsigned long long)before, (unsigned long long)after,
	       words_seen);
	SO(runs_program(tid));
	SO(before > 0 && !after && !words_seen);
	/* A session that starts now does not see the thread either. */
	close(fd);
	raw_nl_close(&nl);
	SO(!raw_nl_open(&nl));
	fd = open_session(&nl, "after");
	SO(fd >= 0);
	usleep(100000);
	after = records_of(fd, tid);
	SO(runs_program(tid));
	SO(!after && !words_seen);
	close(fd);
	raw_nl_close(&nl);
	SO(write(gone_on[1], "xxx", 3) == 3);
	while (waitpid(pid, &status, 0) < 0)
		SO(errno == EINTR);
	SO(!status);
	return 0;
}

static void who_runs_another_program(bool child)
{
	char file[64], self[4096];
	ssize_t n;

	memset(shared, 0, sizeof(*shared));
	for (int i = 0; i < WORD; i++)
		shared->word[i] = 'A' + rand() % 26;
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	NEED(n > 0);
	self[n] = 0;
	snprintf(file, sizeof(file), "/tmp/%s", shared->word);
	NEED(!symlink(self, file));
	EXPECT_IS(raw_child(watch, &child, NOBODY), 0);
}

static void a_program_is_not_its_providers(void)
{
	who_runs_another_program(false);
}

static void a_childs_program_is_not_its_providers(void)
{
	who_runs_another_program(true);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(a_program_is_not_its_providers),
	KTAP_TEST(a_childs_program_is_not_its_providers),
};

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], NAP_ARGUMENT))
		return nap(atoi(argv[2]));
	srand(time(NULL));
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return 1;
	return ktap_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : NULL);
}
