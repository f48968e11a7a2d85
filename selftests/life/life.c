// SPDX-License-Identifier: GPL-2.0
/* Runs cases, and gives them processes that count the records they write */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/inprocess.h>
#include <asynctrace/trace.h>

#include "life.h"

struct life *life;
static int life_fd;
static unsigned int self;
static int own_fd = -1;
static unsigned int passed, failed, skipped;

/* --- failures ------------------------------------------------------------------------- */

void life_fail(const char *format, ...)
{
	char text[sizeof(life->failed)];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (!life->failed[0])
		memcpy(life->failed, text, sizeof(text));
}

void life_skip(const char *why)
{
	snprintf(life->skipped, sizeof(life->skipped), "%s", why);
	_exit(0);
}

/* --- writing -------------------------------------------------------------------------- */

static void write_one(uint64_t i)
{
	switch (i % 6) {
	case 0:
		TRACE_INSTANT("life", "instant", TRACE_SCOPE_THREAD);
		break;
	case 1:
		TRACE_COUNTER("life", "counter", 1, "i", i);
		break;
	case 2:
		TRACE_INSTANT("life", "text", TRACE_SCOPE_THREAD, "text", TA_STRING("a text"));
		break;
	case 3:
		TRACE_INSTANT("life", "three", TRACE_SCOPE_THREAD, "a", 1u, "b", 2.5, "c", "d");
		break;
	case 4: {
		TRACE_DURATION("life", "duration", "text", "kept until the end");
		break;
	}
	default:
		TRACE_INSTANT("life", "number", TRACE_SCOPE_PROCESS, "i", TA_UINT64(i));
	}
}

void life_write(unsigned int records)
{
	struct life_process *p = &life->process[self];

	while (records--) {
		const uint64_t i = __atomic_fetch_add(&p->begun, 1, __ATOMIC_RELAXED);

		write_one(i);
		__atomic_fetch_add(&p->ended, 1, __ATOMIC_RELAXED);
	}
}

/* --- processes ------------------------------------------------------------------------ */

unsigned int life_number(void)
{
	const unsigned int nr = __atomic_fetch_add(&life->processes, 1, __ATOMIC_RELAXED);

	LIFE_NEED(nr < LIFE_PROCESSES);
	return nr;
}

/*
 * Opens the file by the path or below dir_fd: a process may have closed dir_fd, or its root may
 * not contain the directory.
 */
static int own_file(void)
{
	const unsigned int k = __atomic_fetch_add(&life->process[self].files, 1, __ATOMIC_RELAXED);
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%u.%u.fxt", life->dir, self, k);
	fd = openat(life->dir_fd, strrchr(path, '/') + 1, flags, 0666);
	return fd >= 0 ? fd : open(path, flags, 0666);
}

void life_enter(unsigned int nr)
{
	const struct at_trace_options o = { .size = sizeof(o), .ring_size = 4 << 20,
					  .categories = "life" };

	self = nr;
	if (life->module)
		return;
	own_fd = own_file();
	LIFE_NEED(own_fd >= 0);
	errno = -at_trace_start(own_fd, &o);
	LIFE_NEED(!errno);
}

void life_leave(void)
{
	struct at_trace_result r = { .size = sizeof(r) };
	int err;

	if (life->module)
		return;
	err = at_trace_stop(&r);
	if (err != life->error)
		life_fail("process %u: at_trace_stop: %d, not %d", self, err, life->error);
	life->process[self].delivered += r.delivered;
	life->process[self].lost += r.dropped + r.overwritten + r.malformed + r.unwritten;
	close(own_fd);
}

pid_t life_fork(void)
{
	const unsigned int nr = life_number();
	pid_t pid = fork();

	LIFE_NEED(pid >= 0);
	if (pid)
		life->process[nr].pid = pid;
	else
		life_enter(nr);
	return pid;
}

void life_reap(pid_t pid)
{
	int status = 0;
	pid_t got;

	do {
		got = waitpid(pid, &status, 0);
	} while (got < 0 && errno == EINTR);
	if (got != pid || status)
		life_fail("child %d has the status %#x", pid, status);
}

void life_again(unsigned int nr, unsigned int records, char ***argv, char ***env)
{
	static char text[3][32];
	static char *args[] = { "/proc/self/exe", NULL };
	static char *vars[] = { text[0], text[1], text[2], NULL };

	snprintf(text[0], sizeof(text[0]), "LIFE_FD=%d", life_fd);
	snprintf(text[1], sizeof(text[1]), "LIFE_NUMBER=%u", nr);
	snprintf(text[2], sizeof(text[2]), "LIFE_RECORDS=%u", records);
	*argv = args;
	*env = vars;
}

/* --- running cases --------------------------------------------------------------------- */

static void map(void)
{
	life = mmap(NULL, sizeof(*life), PROT_READ | PROT_WRITE, MAP_SHARED, life_fd, 0);
	if (life == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
}

void life_init(char **argv)
{
	const char *fd = getenv("LIFE_FD");

	(void)argv;
	if (fd) {
		life_fd = atoi(fd);
		map();
		life_enter(atoi(getenv("LIFE_NUMBER")));
		life_write(atoi(getenv("LIFE_RECORDS")));
		life_leave();
		exit(0);
	}
	/* Do not set MFD_CLOEXEC, because programs that are executed inherit the descriptor. */
	life_fd = memfd_create("life", 0);
	if (life_fd < 0 || ftruncate(life_fd, sizeof(*life))) {
		perror("memfd_create");
		exit(2);
	}
	map();
	/* Makes daemons children of this process, so that life_run() can wait for them. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

bool life_selected(const struct life_case *c, bool module, const char *part)
{
	const unsigned int other = module ? LIFE_NATIVE : LIFE_MODULE;

	return !(c->flags & other) && (__rseq_size || !(c->flags & LIFE_RSEQ)) &&
	       (!part || strstr(c->name, part));
}

void life_run(const struct life_case *c, bool module)
{
	const char *tmp = getenv("TMPDIR");
	int status;
	pid_t pid;

	memset(life, 0, sizeof(*life));
	life->module = module;
	life->processes = 1;
	snprintf(life->dir, sizeof(life->dir), "%s/life.XXXXXX", tmp && strlen(tmp) < 40 ? tmp : "/tmp");
	if (!mkdtemp(life->dir) || chmod(life->dir, 0777)) {
		perror(life->dir);
		exit(2);
	}
	life->dir_fd = open(life->dir, O_PATH | O_DIRECTORY);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		life_enter(0);
		c->run(c->arg);
		life_leave();
		_exit(0);
	}
	life->process[0].pid = pid;
	life_reap(pid);
	while (wait(&status) > 0)
		if (status)
			life_fail("a daemon has the status %#x", status);
	close(life->dir_fd);
}

void life_compare(unsigned int nr, uint64_t delivered, uint64_t lost)
{
	const struct life_process *p = &life->process[nr];

	if (delivered + lost < p->ended || delivered + lost > p->begun)
		life_fail("process %u: wrote %llu to %llu records; the ledger has %llu and %llu lost",
			  nr, (unsigned long long)p->ended, (unsigned long long)p->begun,
			  (unsigned long long)delivered, (unsigned long long)lost);
	if (lost && !life->may_drop)
		life_fail("process %u: %llu records lost", nr, (unsigned long long)lost);
}

int life_report(const struct life_case *c)
{
	const unsigned int nr = passed + failed + skipped + 1;

	if (life->skipped[0]) {
		skipped++;
		printf("ok %u - %s # SKIP %s\n", nr, c->name, life->skipped);
	} else if (life->failed[0]) {
		failed++;
		printf("# %s\nnot ok %u - %s\n", life->failed, nr, c->name);
	} else {
		passed++;
		printf("ok %u - %s\n", nr, c->name);
	}
	fflush(stdout);
	return !!life->failed[0];
}

int life_exit(void)
{
	printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
	return failed || !passed;
}
