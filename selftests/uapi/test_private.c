// SPDX-License-Identifier: GPL-2.0
/*
 * A user without rights learns nothing about the activity of other users
 *
 * On the same CPUs root's processes switch, wake, fork, rename themselves and run programs; root's
 * providers come and go, and root's sessions start and stop. All of root's names contain one random
 * word. The test searches every byte that reaches the user for this word, and every thread id must
 * be one of the user's provider.
 *
 * A session of root's in the same run contains all of that, which shows that the search would find
 * it.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/genetlink.h>

#include "notifications.h"
#include "ktap.h"

#define NOBODY	65534
#define STRIDE	(64 * 1024)
#define RING	(256 * 1024)
#define WORD	8
#define OWN	4096

/* Shared by all processes */
static struct shared {
	char word[WORD + 1];
	atomic_bool over;
	atomic_uint rounds;		/* of the noise makers */
	atomic_uint noise_providers;
	atomic_uint own_count;
	int own[OWN];			/* thread ids of the user's provider */
	atomic_int provider;		/* its id */
	atomic_uint failed;
} *shared;

static unsigned int seed;

/* A check in a child process */
#define SO(what) do {							\
	if (!(what)) {							\
		printf("# %s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #what, strerror(errno)); \
		atomic_fetch_add(&shared->failed, 1);			\
		return 1;						\
	}								\
} while (0)

#define UNKNOWN	256

/* --- what a reader receives ------------------------------------------------------ */

/**
 * struct catch - what one reader got
 * @what: name of the source, for messages
 * @bytes: number of bytes
 * @words: occurrences of the word
 * @ids: thread ids that are not the user's
 * @others: ids that stand for hidden threads
 * @own: thread ids of the user
 * @switches: number of switch records
 * @wakeups: number of wakeup records
 * @names: number of names of tasks
 * @unknown: ids to look up later: a record of a new thread may be read before the thread has
 *	announced that it is the user's
 * @nr_unknown: number of @unknown
 */
struct catch {
	const char *what;
	uint64_t bytes, words, ids, others, own, switches, wakeups, names;
	int unknown[UNKNOWN];
	unsigned int nr_unknown;
};

static void search(struct catch *c, const char *bytes, size_t len)
{
	const char *at = bytes, *end = bytes + len;

	c->bytes += len;
	while ((at = memmem(at, end - at, shared->word, WORD))) {
		c->words++;
		at += WORD;
	}
}

static void show(const struct catch *c)
{
	printf("# %s: %llu bytes, %llu switches, %llu wakeups, %llu names, ids: %llu own, %llu other, %llu foreign; the word: %llu\n",
	       c->what, (unsigned long long)c->bytes, (unsigned long long)c->switches,
	       (unsigned long long)c->wakeups, (unsigned long long)c->names,
	       (unsigned long long)c->own, (unsigned long long)c->others,
	       (unsigned long long)c->ids, (unsigned long long)c->words);
}

static bool is_own(int tid)
{
	unsigned int n = atomic_load(&shared->own_count);

	for (unsigned int i = 0; i < n && i < OWN; i++)
		if (shared->own[i] == tid)
			return true;
	return false;
}

/* Counts a thread id in a record. 0: the CPU is idle */
static bool id(struct catch *c, int64_t tid)
{
	bool other = tid > 0 && tid <= INT32_MAX && ASYNCTRACE_TID_IS_OTHER((int32_t)tid);

	if (!tid)
		return false;
	if (other)
		c->others++;
	else if (is_own(tid))
		c->own++;
	else if (c->nr_unknown < UNKNOWN)
		c->unknown[c->nr_unknown++] = tid;
	else
		c->ids++;
	return other;
}

/*
 * Counts each id in @c->unknown as one of the user's own threads, or as a leak. @wait: wait for
 * threads of the user that have not announced themselves yet.
 */
static void settle(struct catch *c, bool wait)
{
	for (unsigned int i = 0; i < c->nr_unknown; i++) {
		for (int n = 0; wait && n < 24000 && !is_own(c->unknown[i]); n++)
			usleep(10000);
		if (is_own(c->unknown[i]))
			c->own++;
		else
			c->ids++;
		wait &= !c->ids;
	}
	c->nr_unknown = 0;
}

/* Returns the 32-bit argument with this name; -1: none. @from: index of the first argument */
static int32_t arg32(const uint64_t *w, unsigned int from, unsigned int words, unsigned int name)
{
	for (; from < words && (w[from] >> 4 & 0xfff); from += w[from] >> 4 & 0xfff)
		if ((w[from] >> 16 & 0xffff) == name)
			return w[from] >> 32;
	return -1;
}

static void scheduling(struct catch *c, const uint64_t *w, unsigned int n)
{
	for (unsigned int words; n && (words = ASYNCTRACE_FXT_WORDS(*w)) && words <= n;
	     w += words, n -= words) {
		bool out, in;

		if (w[0] >> 60 == ASYNCTRACE_FXT_SCHED_WAKEUP) {
			c->wakeups++;
			/*
			 * A wakeup must name a thread of the user. If it says OTHER, the session
			 * reports too much.
			 */
			if (id(c, w[2]))
				c->ids++;
			if (words > 5)
				id(c, w[5]);
			continue;
		}
		c->switches++;
		out = id(c, w[2]);
		in = id(c, w[3]);
		/* Records of hidden threads have neither priority nor state. */
		if (out && (arg32(w, 4, words, ASYNCTRACE_FXT_STR_OUTGOING) ||
			    arg32(w, 4, words, ASYNCTRACE_FXT_STR_STATE) || w[0] >> 36 & 0xf))
			c->ids++;
		if (in && arg32(w, 4, words, ASYNCTRACE_FXT_STR_INCOMING))
			c->ids++;
	}
}

static void chunk(struct catch *c, const char *bytes, size_t len)
{
	const struct asynctrace_chunk *head = (const void *)bytes;
	const void *payload = bytes + sizeof(*head);
	const struct asynctrace_provider_info *info = payload;
	const struct asynctrace_task_name *name = payload;
	const struct asynctrace_thread *thread = payload;

	search(c, bytes, len);
	switch (head->kind) {
	case ASYNCTRACE_CHUNK_SCHED:
		scheduling(c, payload, head->bytes / 8);
		break;
	case ASYNCTRACE_CHUNK_NAMES:
		for (unsigned int i = 0; i < head->bytes / sizeof(*name); i++) {
			c->names++;
			id(c, name[i].tid);
		}
		break;
	case ASYNCTRACE_CHUNK_THREADS:
		for (unsigned int i = 0; i < head->bytes / sizeof(*thread); i++)
			id(c, thread[i].tid);
		break;
	case ASYNCTRACE_CHUNK_PROVIDER:
		if ((int)info->id != atomic_load(&shared->provider))
			c->ids++;
		break;
	}
}

/* Reads everything that can be read now. */
static int drain(struct catch *c, int fd)
{
	static char buf[ASYNCTRACE_READ_MIN];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		chunk(c, buf, n);
	return n < 0 && errno != EAGAIN ? -errno : 0;
}

static int found(const struct nlmsghdr *nlh, void *arg)
{
	search(arg, (const char *)nlh, nlh->nlmsg_len);
	return 0;
}

/* Makes each query. */
static int ask_all(struct catch *c, struct raw_nl *nl, uint32_t session)
{
	static const uint8_t lists[] = {
		ASYNCTRACE_CMD_SESSION_GET, ASYNCTRACE_CMD_PROVIDER_GET,
		ASYNCTRACE_CMD_CATEGORY_GET, ASYNCTRACE_CMD_RING_GET,
	};

	for (unsigned int i = 0; i < sizeof(lists); i++) {
		raw_nl_begin(nl, lists[i], NLM_F_DUMP);
		if (lists[i] == ASYNCTRACE_CMD_RING_GET)
			mnl_attr_put_u32(nl->request, ASYNCTRACE_A_RING_SESSION, session);
		if (raw_nl_each(nl, found, c))
			return -1;
	}
	return 0;
}

/* Asks for an id of another user: the answer must tell nothing. */
static int ask_for(struct catch *c, struct raw_nl *nl, uint32_t id)
{
	mnl_attr_put_u32(raw_nl_begin(nl, ASYNCTRACE_CMD_PROVIDER_GET, 0),
			 ASYNCTRACE_A_PROVIDER_ID, id);
	raw_nl_each(nl, found, c);
	search(c, nl->text, sizeof(nl->text));
	mnl_attr_put_u32(raw_nl_begin(nl, ASYNCTRACE_CMD_SESSION_GET, 0),
			 ASYNCTRACE_A_SESSION_ID, id);
	raw_nl_each(nl, found, c);
	search(c, nl->text, sizeof(nl->text));
	return 0;
}

static int take_notifications(struct catch *c, struct raw_nl *sub)
{
	struct notification note;
	size_t bytes;
	int err;

	while (!(err = notification_next(sub, &note, 0, &bytes))) {
		search(c, sub->reply, bytes);
		c->names++;
	}
	return err == -EAGAIN || err == -ENOBUFS ? 0 : err;
}

/* --- noise makers ---------------------------------------------------------------------- */

static void rename_as(const char *what, unsigned int n)
{
	char name[16];

	snprintf(name, sizeof(name), "%.8s%.3s%u", shared->word, what, n % 10000);
	prctl(PR_SET_NAME, name);
}

static void pin(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu % sysconf(_SC_NPROCESSORS_ONLN), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/*
 * Pipes in which a byte goes round, so that root's process and the user's thread wake each other.
 * The pipes are created before the processes.
 */
static int pass[2][4];

static int noise(int i)
{
	char byte = 0, file[64];
	unsigned int n = 0;

	pin(i);
	snprintf(file, sizeof(file), "/tmp/%s", shared->word);
	for (n = 0; !atomic_load(&shared->over); n++) {
		pid_t child;

		rename_as("a", n);
		child = fork();
		if (!child) {
			rename_as("b", n);
			sched_yield();
			/* Runs a program of that name, which ends at once. */
			if (n % 4 == 0)
				execl(file, file, NULL);
			_exit(0);
		}
		if (write(pass[i][1], &byte, 1) != 1 || read(pass[i][2], &byte, 1) != 1)
			break;
		rename_as("c", n);
		while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
		atomic_fetch_add(&shared->rounds, 1);
	}
	return 0;
}

/* Root's providers, sessions, categories and alerts come and go. */
static int control_noise(void)
{
	static struct raw_nl nl;
	char name[64], pattern[64];

	SO(!raw_nl_open(&nl));
	rename_as("d", 0);
	for (unsigned int n = 0; !atomic_load(&shared->over); n++) {
		struct asynctrace_alert alert = { .size = sizeof(alert) };
		struct raw_provider p;
		struct {
			struct nlattr nest, name;
			char text[12];	/* with the NUL and padding */
		} attrs = {
			{ 8 + WORD + 1, ASYNCTRACE_A_PROVIDER_KNOWN | NLA_F_NESTED },
			{ 4 + WORD + 1, ASYNCTRACE_A_KNOWN_NAME }, "",
		};
		struct asynctrace_attrs a = { .size = sizeof(a), .len = sizeof(attrs),
					      .attrs = (uintptr_t)&attrs };
		int session;

		snprintf(name, sizeof(name), "%s provider %u", shared->word, n);
		SO(!raw_provider(&p, name, STRIDE));
		memcpy(attrs.text, shared->word, WORD);
		SO(!raw_ioctl(p.fd, ASYNCTRACE_IOC_ANNOUNCE, &a));
		snprintf(name, sizeof(name), "%s session %u", shared->word, n);
		snprintf(pattern, sizeof(pattern), "%s provider*", shared->word);
		session = raw_session(&nl, name, ASYNCTRACE_MODE_ONESHOT,
				      ASYNCTRACE_SCHED_TARGETS, STRIDE, pattern);
		SO(session > 0 && !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, session));
		SO(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, session));
		memcpy(alert.name, shared->word, WORD);
		raw_ioctl(p.fd, ASYNCTRACE_IOC_ALERT, &alert);
		raw_write(&p, 0, 2);
		SO(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, session));
		raw_provider_end(&p);
		atomic_fetch_add(&shared->noise_providers, 1);
	}
	return 0;
}

/* --- the user's provider -------------------------------------------------------------- */

static int device;

static void own_thread(void)
{
	unsigned int n = atomic_fetch_add(&shared->own_count, 1);

	if (n < OWN)
		shared->own[n] = syscall(SYS_gettid);
	raw_ioctl(device, ASYNCTRACE_IOC_THREAD, NULL);
}

static void *short_lived(void *arg)
{
	(void)arg;
	own_thread();
	prctl(PR_SET_NAME, "own-short");
	sched_yield();
	return NULL;
}

static void *answering(void *arg)
{
	int i = *(int *)arg;
	unsigned int n;
	char byte;

	own_thread();
	pin(i);
	for (n = 0; read(pass[i][0], &byte, 1) == 1; n++) {
		char name[16];
		pthread_t t;

		snprintf(name, sizeof(name), "own-%u", n);
		prctl(PR_SET_NAME, name);
		if (n % 8 == 0 && atomic_load(&shared->own_count) < OWN &&
		    !pthread_create(&t, NULL, short_lived, NULL))
			pthread_join(t, NULL);
		if (write(pass[i][3], &byte, 1) != 1)
			break;
	}
	return NULL;
}

static int own_provider(void *arg)
{
	static struct raw_provider p;
	int cpus[2] = { 0, 1 };
	pthread_t threads[2];

	(void)arg;
	own_thread();
	SO(!raw_provider(&p, "own", STRIDE));
	device = p.fd;
	atomic_store(&shared->provider, p.id);
	for (int i = 0; i < 2; i++) {
		close(pass[i][1]);
		close(pass[i][2]);
		SO(!pthread_create(&threads[i], NULL, answering, &cpus[i]));
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* --- the two readers -------------------------------------------------------------------- */

struct looker {
	const char *who;
	bool privileged;
	uint32_t mode, sched;
	const char *provider;
	unsigned int rounds;
};

static struct catch by_read, by_snapshot, by_asking, by_notifications;

static int look(void *arg)
{
	static struct raw_nl nl, sub;
	const struct looker *l = arg;
	struct asynctrace_consume c = { .size = sizeof(c), .flags = ASYNCTRACE_CONSUME_F_SNAPSHOT };
	unsigned int from = atomic_load(&shared->rounds);
	int session, fd, at;

	by_read.what = "read";
	by_snapshot.what = "snapshot";
	by_asking.what = "lists";
	by_notifications.what = "notifications";
	SO(!raw_nl_open(&nl) && !raw_nl_open(&sub));
	SO(!notification_subscribe(&sub, ALL_KINDS, 0));
	session = raw_session(&nl, l->who, l->mode, l->sched, RING, l->provider);
	SO(session > 0 && !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, session));
	SO(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, session));
	c.session = session;
	fd = open("/dev/" ASYNCTRACE_DEVICE, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	SO(fd >= 0);
	if (l->mode != ASYNCTRACE_MODE_CIRCULAR)
		SO(!raw_consume(fd, session));
	while (atomic_load(&shared->rounds) - from < l->rounds && !atomic_load(&shared->failed)) {
		if (l->mode == ASYNCTRACE_MODE_CIRCULAR) {
			at = open("/dev/" ASYNCTRACE_DEVICE, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
			SO(at >= 0 && !raw_ioctl(at, ASYNCTRACE_IOC_CONSUME, &c));
			SO(!drain(&by_snapshot, at));
			close(at);
		} else {
			SO(!drain(&by_read, fd));
		}
		SO(!ask_all(&by_asking, &nl, session));
		for (unsigned int i = 0; i < 4; i++)
			ask_for(&by_asking, &nl, session + rand() % 64 - 32);
		SO(!take_notifications(&by_notifications, &sub));
		usleep(2000);
	}
	SO(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_STOP, session));
	if (l->mode == ASYNCTRACE_MODE_CIRCULAR)
		SO(!raw_consume(fd, session));
	SO(!drain(&by_read, fd));
	SO(!take_notifications(&by_notifications, &sub));
	settle(&by_read, !l->privileged);
	settle(&by_snapshot, !l->privileged);
	show(&by_read);
	if (l->mode == ASYNCTRACE_MODE_CIRCULAR)
		show(&by_snapshot);
	show(&by_asking);
	show(&by_notifications);
	return 0;
}

/* The user may learn that there was activity, and nothing else. */
static int look_as_nobody(void *arg)
{
	const struct looker *l = arg;
	struct catch *sched = l->mode == ASYNCTRACE_MODE_CIRCULAR ? &by_snapshot : &by_read;

	if (look(arg))
		return 1;
	SO(!by_read.words && !by_snapshot.words && !by_asking.words && !by_notifications.words);
	SO(!by_read.ids && !by_snapshot.ids);
	SO(sched->switches && sched->wakeups && sched->own && sched->others && sched->names);
	SO(by_asking.bytes);
	return 0;
}

static int look_as_root(void *arg)
{
	if (look(arg))
		return 1;
	SO(by_read.words && by_asking.words && by_notifications.words);
	/*
	 * Root's reader must find foreign thread ids. Otherwise the check of the user's readers
	 * proves nothing.
	 */
	SO(by_read.ids);
	return 0;
}

/* --- all at once ---------------------------------------------------------------------------- */

static pid_t child_of(int (*fn)(void *arg), void *arg, int uid)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* If the other end of a pipe is gone, the loop ends, not the process. */
		signal(SIGPIPE, SIG_IGN);
		if (raw_become(uid))
			_exit(255);
		if (uid == NOBODY)
			prctl(PR_SET_NAME, "own");
		_exit(fn(arg));
	}
	return pid;
}

static int noise_of(void *arg)
{
	return noise(*(int *)arg);
}

static int control_noise_of(void *arg)
{
	(void)arg;
	return control_noise();
}

static int wait_of(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

static void draw_word(void)
{
	for (int i = 0; i < WORD; i++)
		shared->word[i] = (i % 2 ? 'a' : 'A') + rand_r(&seed) % 26;
	shared->word[WORD] = 0;
}

/* Creates a program with that name. */
static void make_program(void)
{
	char file[64];
	int fd;

	snprintf(file, sizeof(file), "/tmp/%s", shared->word);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	NEED(fd >= 0 && write(fd, "#!/bin/true\n", 12) == 12);
	close(fd);
}

static void in_the_midst_of_noise(uint32_t mode, unsigned int rounds)
{
	struct looker nobody = { "nobody's", false, mode, ASYNCTRACE_SCHED_TARGETS, NULL, rounds };
	struct looker root = { "root's", true, ASYNCTRACE_MODE_STREAMING, ASYNCTRACE_SCHED_ALL,
			       "nothing", rounds };
	static int cpus[2] = { 0, 1 };
	pid_t own, makers[3], lookers[2];

	memset(shared, 0, sizeof(*shared));
	draw_word();
	make_program();
	for (int i = 0; i < 2; i++)
		NEED(!pipe2(pass[i], O_CLOEXEC) && !pipe2(pass[i] + 2, O_CLOEXEC));
	own = child_of(own_provider, NULL, NOBODY);
	while (!atomic_load(&shared->provider) && !atomic_load(&shared->failed))
		usleep(1000);
	for (int i = 0; i < 2; i++)
		makers[i] = child_of(noise_of, &cpus[i], -1);
	makers[2] = child_of(control_noise_of, NULL, -1);
	for (int i = 0; i < 4; i++) {
		close(pass[0][i]);
		close(pass[1][i]);
	}
	lookers[0] = child_of(look_as_nobody, &nobody, NOBODY);
	lookers[1] = child_of(look_as_root, &root, -1);
	EXPECT_IS(wait_of(lookers[0]), 0);
	EXPECT_IS(wait_of(lookers[1]), 0);
	atomic_store(&shared->over, true);
	for (int i = 0; i < 3; i++)
		EXPECT_IS(wait_of(makers[i]), 0);
	EXPECT_IS(wait_of(own), 0);
	EXPECT(atomic_load(&shared->noise_providers) > 0);
	printf("# the word was %s; %u rounds, %u providers and sessions of root's, %u own threads\n",
	       shared->word, atomic_load(&shared->rounds), atomic_load(&shared->noise_providers),
	       atomic_load(&shared->own_count));
}

static unsigned int rounds(void)
{
	return amount("PRIVATE_ROUNDS", 300);
}

static void nothing_foreign_is_read(void)
{
	in_the_midst_of_noise(ASYNCTRACE_MODE_STREAMING, rounds());
}

static void nothing_foreign_is_in_a_snapshot(void)
{
	in_the_midst_of_noise(ASYNCTRACE_MODE_CIRCULAR, rounds());
}

static const struct ktap_test tests[] = {
	KTAP_TEST(nothing_foreign_is_read),
	KTAP_TEST(nothing_foreign_is_in_a_snapshot),
};

int main(int argc, char **argv)
{
	seed = amount("PRIVATE_SEED", time(NULL));
	printf("# PRIVATE_SEED=%u\n", seed);
	srand(seed);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return 1;
	return ktap_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : NULL);
}
