// SPDX-License-Identifier: GPL-2.0
/*
 * An unprivileged user who tries to delay other users
 *
 * usage: attack ATTACK ordinary|hostile COUNT USER
 *
 * names	COUNT providers with names of 100 bytes, and sessions with 100 patterns
 * high		COUNT processes that send 16 requests at a time; the suite puts them into a memory
 *		cgroup whose memory.high they exceed
 * strides	COUNT children that have populated page tables for strides of 1 GiB
 * threads	COUNT traced threads, or as many as the system permits
 * brief	COUNT providers, repeatedly, that end as soon as they have registered
 * quota	COUNT processes that make requests; the suite gives them 1 % of a CPU
 * fifo		COUNT processes that make requests on the CPU that a FIFO thread occupies
 *
 * "ordinary" is the control: the same processes and threads make system calls that do not reach the
 * module. The program prints "ready" when it is prepared, and attacks until a signal ends it. Root
 * starts it; it becomes USER, a number.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/genetlink.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "raw.h"

#define STRIDE_MIN	(64 << 10)
#define PATTERNS	100
#define BATCH		16
#define FIFO_CPU	1
#define PAGE		4096
#define PAGE_TABLE	(2UL << 20)	/* bytes that one page table maps */

static struct raw_nl nl;
static bool hostile;
static int count;

/* Shared by all processes */
static struct shared {
	volatile int unready;	/* processes that are not ready yet */
	unsigned int done;	/* finished requests or batches of requests */
	unsigned int refused;	/* requests that failed */
} *shared;

static void die(const char *what, int err)
{
	fprintf(stderr, "attack: %s: %s\n", what, strerror(-err));
	exit(1);
}

static void be_ready(void)
{
	if (!__atomic_sub_fetch(&shared->unready, 1, __ATOMIC_SEQ_CST)) {
		puts("ready");
		fflush(stdout);
	}
}

/* Counts a request. Returns true if it succeeded. */
static bool did(int err)
{
	__atomic_add_fetch(err < 0 ? &shared->refused : &shared->done, 1, __ATOMIC_RELAXED);
	return err >= 0;
}

static void end(int sig)
{
	(void)sig;
	printf("%u done, %u refused\n", shared->done, shared->refused);
	fflush(stdout);
	_exit(0);
}

/* Runs @fn in @processes children, which end with this process. */
static void fork_all(int processes, void (*fn)(int number))
{
	pid_t parent = getpid();

	shared->unready = processes;
	for (int i = 0; i < processes; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork", -errno);
		if (pid)
			continue;
		signal(SIGTERM, SIG_DFL);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		if (raw_nl_open(&nl))
			die("netlink", -errno);
		fn(i);
		_exit(1);
	}
}

/* --- netlink messages, many at a time ----------------------------------------------- */

static void session_name(char name[32])
{
	static unsigned int serial;

	snprintf(name, 32, "attack-%d-%u", (int)getpid(), serial++);
}

/* Sends 16 requests at once, and closes the socket, which ends the sessions. */
static void send_batch(bool to_module)
{
	static char batch[65536] __attribute__((aligned(8)));
	struct mnl_socket *socket = mnl_socket_open(NETLINK_GENERIC);
	char name[32];
	size_t bytes = 0;

	if (!socket)
		return;
	for (int i = 0; i < BATCH; i++) {
		struct nlmsghdr *nlh = mnl_nlmsg_put_header(batch + bytes);
		struct genlmsghdr *genl;

		nlh->nlmsg_type = to_module ? nl.family : GENL_ID_CTRL;
		nlh->nlmsg_flags = NLM_F_REQUEST;
		nlh->nlmsg_seq = i + 1;
		genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
		genl->version = 1;
		if (to_module) {
			genl->cmd = ASYNCTRACE_CMD_SESSION_CREATE;
			session_name(name);
			mnl_attr_put_strz(nlh, ASYNCTRACE_A_SESSION_NAME, name);
			mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_MODE, ASYNCTRACE_MODE_ONESHOT);
			mnl_attr_put_u64(nlh, ASYNCTRACE_A_SESSION_RING_SIZE,
					 ASYNCTRACE_RING_MIN);
		} else {
			genl->cmd = CTRL_CMD_GETFAMILY;
			mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, "nlctrl");
		}
		bytes += MNL_ALIGN(nlh->nlmsg_len);
	}
	did(mnl_socket_sendto(socket, batch, bytes));
	mnl_socket_close(socket);
}

/* --- ordinary work ----------------------------------------------------------------- */

/* Makes system calls of the same kinds as a program that makes requests to the module. */
static void work(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	void *at = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	if (at != MAP_FAILED) {
		memset(at, 1, 16 * PAGE);
		munmap(at, 16 * PAGE);
	}
	close(fd);
	send_batch(false);
}

static void work_forever(int number)
{
	(void)number;
	be_ready();
	for (;;)
		work();
}

/* --- requests ----------------------------------------------------------------------- */

/* Runs a session from its creation to its end, over the providers that @pattern matches. */
static void session(const char *pattern, uint32_t sched)
{
	char name[32];
	int id;

	session_name(name);
	id = raw_session(&nl, name, ASYNCTRACE_MODE_ONESHOT, sched, ASYNCTRACE_RING_MIN, pattern);
	if (!did(id))
		return;
	if (did(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id))) {
		did(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id));
		did(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, id));
	}
	raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id);
}

static void register_and_close(const char *name)
{
	int fd = raw_open();

	if (fd < 0)
		return;
	if (!raw_hello(fd, NULL))
		did(raw_register(fd, name, STRIDE_MIN));
	close(fd);
}

/* Registers a provider, runs a session, and lists the providers and the sessions. */
static void request_all(void)
{
	register_and_close("attack");
	session("attack*", ASYNCTRACE_SCHED_TARGETS);
	raw_nl_begin(&nl, ASYNCTRACE_CMD_PROVIDER_GET, NLM_F_DUMP);
	raw_nl_ask(&nl);
	raw_nl_begin(&nl, ASYNCTRACE_CMD_SESSION_GET, NLM_F_DUMP);
	raw_nl_ask(&nl);
}

static void request_forever(int number)
{
	struct raw_provider p;
	bool have = !raw_provider(&p, "attack", STRIDE_MIN);

	(void)number;
	be_ready();
	for (;;) {
		request_all();
		if (have && p.control->gate > ASYNCTRACE_GATE_ATTACH)
			raw_write(&p, 0, 1);
	}
}

/* --- names and patterns --------------------------------------------------------------- */

#define NAMES_PROCESSES	4

/* The names and patterns share a prefix, so that each comparison goes through 92 bytes. */
static void long_name(char name[ASYNCTRACE_NAME_MAX + 1], int number)
{
	memset(name, 'n', ASYNCTRACE_NAME_MAX - 8);
	snprintf(name + ASYNCTRACE_NAME_MAX - 8, 9, "%08d", number);
}

static int create_with_patterns(void)
{
	char name[ASYNCTRACE_NAME_MAX + 1];
	struct nlmsghdr *nlh;
	int err;

	nlh = raw_nl_begin(&nl, ASYNCTRACE_CMD_SESSION_CREATE, 0);
	session_name(name);
	mnl_attr_put_strz(nlh, ASYNCTRACE_A_SESSION_NAME, name);
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_MODE, ASYNCTRACE_MODE_ONESHOT);
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_SCHED, ASYNCTRACE_SCHED_OFF);
	mnl_attr_put_u64(nlh, ASYNCTRACE_A_SESSION_RING_SIZE, ASYNCTRACE_RING_MIN);
	for (int i = 0; i < PATTERNS; i++) {
		long_name(name, i);
		/* Only the last pattern matches a provider. */
		if (i < PATTERNS - 1)
			strcpy(name + ASYNCTRACE_NAME_MAX - 4, "x*");
		else
			strcpy(name + ASYNCTRACE_NAME_MAX - 8, "*");
		mnl_attr_put_strz(nlh, ASYNCTRACE_A_SESSION_PROVIDER, name);
	}
	err = raw_nl_ask(&nl);
	return err ? err : (int)raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_ID);
}

/* Replaces the session's categories by PATTERNS patterns that begin with a provider's name. */
static void update_with_patterns(int id)
{
	char text[ASYNCTRACE_CATEGORY_MAX + 1];
	struct nlmsghdr *nlh = raw_nl_begin(&nl, ASYNCTRACE_CMD_SESSION_UPDATE, 0);

	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_ID, id);
	for (int i = 0; i < PATTERNS; i++) {
		memset(text, 'n', 80);
		snprintf(text + 80, 20, "*/category%d", i);
		mnl_attr_put_strz(nlh, ASYNCTRACE_A_SESSION_CATEGORY, text);
	}
	did(raw_nl_ask(&nl));
}

static void names(int number)
{
	const int mine = (count + NAMES_PROCESSES - 1) / NAMES_PROCESSES;
	char name[ASYNCTRACE_NAME_MAX + 1];
	int id;

	for (int i = 0; i < mine; i++) {
		int fd = raw_open();

		long_name(name, number * mine + i);
		if (fd < 0 || raw_hello(fd, NULL) || raw_register(fd, name, STRIDE_MIN) < 0) {
			fprintf(stderr, "attack: process %d has %d providers: %s\n", number, i,
				strerror(errno));
			break;
		}
	}
	be_ready();
	for (;;) {
		id = create_with_patterns();
		if (!did(id))
			die("patterns", id);
		did(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id));
		did(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id));
		update_with_patterns(id);
		did(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, id));
		did(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id));
	}
}

/* --- above memory.high ------------------------------------------------------------------ */

static void high(int number)
{
	char *memory = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	(void)number;
	/*
	 * Use more memory than the limit that the suite sets when all attackers are ready. Then the
	 * kernel delays each allocation.
	 */
	for (size_t i = 0; memory != MAP_FAILED && i < 4 << 20; i += PAGE)
		memory[i] = 1;
	be_ready();
	for (;;)
		send_batch(hostile);
}

/* --- page tables --------------------------------------------------------------------------- */

/* Makes a page table for each 2 MiB and frees the pages. */
static void populate(char *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += PAGE_TABLE) {
		at[i] = 1;
		madvise(at + i, PAGE, MADV_DONTNEED);
	}
}

static struct raw_provider strider;

static void stride_child(int number)
{
	(void)number;
	populate(strider.rw, strider.rw_size);
	be_ready();
	for (;;)
		pause();
}

static void strides(void)
{
	const size_t ordinary = 6UL << 30;
	int err;

	if (raw_nl_open(&nl))
		die("netlink", -errno);
	if (hostile) {
		err = raw_provider(&strider, "strider", 1ULL << 30);
		if (err)
			die("strider", err);
	} else {
		strider.rw_size = ordinary;
		strider.rw = mmap(NULL, ordinary, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (strider.rw == MAP_FAILED)
			die("mmap", -errno);
	}
	fork_all(count, stride_child);
	while (shared->unready)
		usleep(1000);
	for (;;) {
		if (hostile) {
			session("strider", ASYNCTRACE_SCHED_TARGETS);
		} else {
			/* Unmaps the pages in all children, as the end of a session does. */
			madvise(strider.rw, strider.rw_size, MADV_REMOVE);
			work();
		}
	}
}

/* --- threads --------------------------------------------------------------------------------- */

#define THREADS_PROCESSES	10
#define THREAD_STACK		(16 << 10)
#define AWAKE			8	/* threads of each process that do more than sleep */

static int threads_fd = -1;

static void *thread(void *arg)
{
	const bool awake = arg;

	if (threads_fd >= 0)
		raw_ioctl(threads_fd, ASYNCTRACE_IOC_THREAD, NULL);
	for (;;) {
		if (awake)
			usleep(1000);
		else
			pause();
	}
	return NULL;
}

static void threads(int number)
{
	struct raw_provider p;
	pthread_attr_t attr;
	pthread_t id;
	int i;

	if (hostile && !raw_provider(&p, "threads", STRIDE_MIN))
		threads_fd = p.fd;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_STACK);
	pthread_attr_setguardsize(&attr, 0);
	for (i = 0; i < count / THREADS_PROCESSES; i++)
		if (pthread_create(&id, &attr, thread, i < AWAKE ? &p : NULL))
			break;
	if (!number)
		fprintf(stderr, "attack: each process has %d threads\n", i);
	be_ready();
	for (;;) {
		if (hostile)
			session("threads", ASYNCTRACE_SCHED_TARGETS);
		else
			work();
		usleep(1000);
	}
}

/* --- providers that end at once ------------------------------------------------- */

#define BRIEF_PROCESSES	4

static void brief(int number)
{
	int left = count / BRIEF_PROCESSES;

	(void)number;
	for (;; left--) {
		struct raw_provider p;

		if (!left)
			be_ready();
		if (!hostile) {
			work();
			continue;
		}
		if (did(raw_provider(&p, "brief", STRIDE_MIN)) &&
		    p.control->gate > ASYNCTRACE_GATE_ATTACH)
			raw_write(&p, 0, 1);
		raw_provider_end(&p);
	}
}

/* --- a FIFO thread -------------------------------------------------------------- */

static void pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(FIFO_CPU, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("affinity", -errno);
}

static void fifo(int number)
{
	const struct sched_param param = { .sched_priority = 50 };

	pin();
	if (number) {
		if (hostile)
			request_forever(number);
		else
			work_forever(number);
	}
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		die("SCHED_FIFO", -errno);
	be_ready();
	/* The thread also sleeps, so that it preempts others in the middle of their requests. */
	for (;;) {
		for (volatile int i = 0; i < 20000000; i++)
			;
		usleep(5000);
	}
}

int main(int argc, char **argv)
{
	if (argc != 5 || atoi(argv[3]) < 1 || atoi(argv[4]) < 1) {
		fprintf(stderr, "usage: attack ATTACK ordinary|hostile COUNT USER\n");
		return 2;
	}
	hostile = !strcmp(argv[2], "hostile");
	count = atoi(argv[3]);
	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || raw_become(atoi(argv[4])))
		die("start", -errno);
	prctl(PR_SET_NAME, "attack", 0, 0, 0);
	signal(SIGTERM, end);
	if (!strcmp(argv[1], "names"))
		fork_all(NAMES_PROCESSES, hostile ? names : work_forever);
	else if (!strcmp(argv[1], "high"))
		fork_all(count, high);
	else if (!strcmp(argv[1], "strides"))
		strides();
	else if (!strcmp(argv[1], "threads"))
		fork_all(THREADS_PROCESSES, threads);
	else if (!strcmp(argv[1], "brief"))
		fork_all(BRIEF_PROCESSES, brief);
	else if (!strcmp(argv[1], "quota"))
		fork_all(count, hostile ? request_forever : work_forever);
	else if (!strcmp(argv[1], "fifo"))
		fork_all(count + 1, fifo);
	else
		return 2;
	for (;;)
		pause();
}
