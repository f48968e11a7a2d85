// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz: runs programs by a seed, for a number of seconds. Programs that reach new code are kept and
 * changed further. One process runs them, another supervises it. After each program the kernel log
 * is checked for complaints; a program that caused one is printed and stored for --replay.
 *
 * Runs in the VM on the debug kernel, called by selftests/fuzz/run.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "execute.h"
#include "raw.h"
#include "spec.h"

#define CORPUS_MAX	4096
#define BATCH		400	/* programs that one process runs */
#define STUCK		400	/* seconds for a program; vm/run gives up later */
#define DEATHS_MAX	5
#define ENOUGH		20000	/* programs until the required code must have been reached */

static struct shared {
	struct signal signal;
	struct rng rng;
	uint64_t executions;
	unsigned int seeds, nr_corpus;
	bool over;
	struct program current, corpus[CORPUS_MAX];
} *shared;

static struct {
	uint64_t seed, seconds;
	unsigned int points, times;
	const char *found, *replay;
} options = { .seconds = 60, .times = 100, .found = "found" };

static int kmsg;

static time_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/*
 * Has the kernel complained since the last call? The list is incomplete: after the run, vm/klog
 * checks the whole kernel log.
 */
static bool complained(void)
{
	static const char *const words[] = {
		"WARNING:", "BUG:", "Oops", "KASAN:", "UBSAN:", "ODEBUG:", "cut here", "lockdep",
		"INFO: possible", "general protection", "refcount_t", "list_add corruption",
		"list_del corruption", "Bad page", "Bad rss", "bad unlock", "held lock freed",
		"Invalid wait context", "scheduling while atomic", "page_table_check", "lockup", "stall",
		"blocked for more than",
	};
	char line[8192];
	bool found = false;
	ssize_t n;

	while ((n = read(kmsg, line, sizeof(line) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		line[n > 0 ? n : 0] = 0;
		for (size_t i = 0; i < ARRAY(words); i++)
			if (strstr(line, words[i])) {
				if (!found)
					printf("# the kernel: %.*s", (int)strcspn(line, "\n") + 1, line);
				found = true;
			}
	}
	return found;
}

static void store(const char *why)
{
	int fd = open(options.found, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	printf("# %s, program %llu of seed %llu:\n", why, (unsigned long long)shared->executions,
	       (unsigned long long)options.seed);
	show(stdout, &shared->current);
	if (fd < 0 || write(fd, &shared->current, sizeof(shared->current)) < 0)
		printf("# %s: %s\n", options.found, strerror(errno));
	else
		printf("# repeat it with selftests/fuzz/run --replay %s\n", options.found);
	close(fd);
}

/* --- the process that runs programs ---------------------------------------------- */

static const struct program *kept(struct rng *r)
{
	unsigned int a = below(r, shared->nr_corpus), b = below(r, shared->nr_corpus);

	/* Prefer later programs: fewer variants of them have run. */
	return &shared->corpus[a > b ? a : b];
}

static void next_program(void)
{
	struct rng *r = &shared->rng;

	if (generate_seed(r, &shared->current, shared->seeds)) {
		shared->seeds++;
	} else if (!shared->nr_corpus || one_in(r, 16)) {
		generate(r, &shared->current);
	} else {
		shared->current = *kept(r);
		mutate(r, &shared->current, kept(r));
	}
}

static void keep(void)
{
	unsigned int at = shared->nr_corpus;

	if (at < CORPUS_MAX)
		shared->nr_corpus++;
	else
		at = below(&shared->rng, CORPUS_MAX);
	shared->corpus[at] = shared->current;
}

static void run_programs(unsigned int count)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	cover_init();
	execute_init();
	netlink_end_all();
	for (unsigned int i = 0; i < count && !shared->over; i++) {
		uint32_t before = shared->signal.pairs;

		if (!options.replay)
			next_program();
		shared->executions++;
		execute(&shared->current);
		if (complained())
			_exit(3);
		if (shared->signal.pairs != before && !options.replay)
			keep();
	}
	_exit(0);
}

/* --- required coverage ----------------------------------------------------------------- */

/* If no request for an operation ever succeeded, the code behind it was not fuzzed. */
static bool every_operation(void)
{
	for (unsigned int i = 0; i < spec_nr_ops; i++) {
		const uint8_t cmd = spec_ops[i].cmd;

		if (!shared->signal.done[cmd] && !shared->signal.unsupported[cmd])
			return false;
	}
	return true;
}

static void show_operations(void)
{
	for (unsigned int i = 0; i < spec_nr_ops; i++) {
		const uint8_t cmd = spec_ops[i].cmd;

		if (!shared->signal.done[cmd])
			printf("# %s %s\n", spec_ops[i].name, shared->signal.unsupported[cmd] ?
			       "is not supported yet" : "never succeeded");
	}
}

static bool a_third(void)
{
	return shared->signal.points && shared->signal.points >= options.points / 3;
}

/*
 * May the run end? On a slow machine it lasts longer than --seconds: until it has reached a third
 * of the module and each operation has succeeded, or until ENOUGH programs have run.
 */
static bool has_reached(void)
{
	return options.replay || shared->executions >= ENOUGH || (a_third() && every_operation());
}

/* --- the supervisor --------------------------------------------------------------- */

static void progress(time_t start)
{
	time_t s = now() - start;

	printf("# %llds: %llu programs, %u points, %u pairs, corpus %u\n", (long long)s,
	       (unsigned long long)shared->executions, shared->signal.points,
	       shared->signal.pairs, shared->nr_corpus);
}

/* Waits for the process. Returns its status, or -1 if it hangs. */
static int watch(pid_t pid, time_t start)
{
	static time_t told;
	time_t last = now();
	uint64_t seen = 0;
	int status;

	for (;;) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		usleep(50000);
		if (now() - start >= (time_t)options.seconds && has_reached())
			shared->over = true;
		if (now() - told >= 15) {
			progress(start);
			told = now();
		}
		if (shared->executions != seen) {
			seen = shared->executions;
			last = now();
		} else if (now() - last > STUCK) {
			return -1;
		}
	}
}

/* Returns true if no problem was found. */
static bool fuzz(time_t start)
{
	unsigned int deaths = 0;

	while (!shared->over) {
		pid_t pid = fork();
		int status;

		if (pid < 0)
			err(1, "fork");
		if (!pid)
			run_programs(options.replay ? options.times : BATCH);
		status = watch(pid, start);
		if (status == -1) {
			store("no program ends");
			return false;
		}
		if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
			exit(1);	/* it has printed the reason */
		if ((WIFEXITED(status) && WEXITSTATUS(status) == 3) || complained()) {
			store("the kernel complained");
			return false;
		}
		if (options.replay)
			return !status;
		if (status) {
			store("the process died");
			printf("# its status was %#x\n", status);
			if (++deaths == DEATHS_MAX)
				return false;
		}
	}
	return true;
}

/* --- results --------------------------------------------------------------------------- */

static unsigned int passed, failed;

static void test(bool ok, const char *name)
{
	printf("%s %u %s\n", ok ? "ok" : "not ok", passed + failed + 1, name);
	ok ? passed++ : failed++;
}

static void parse(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "seconds", required_argument, NULL, 't' },
		{ "points", required_argument, NULL, 'p' },
		{ "found", required_argument, NULL, 'f' },
		{ "replay", required_argument, NULL, 'r' },
		{ "times", required_argument, NULL, 'n' },
		{ 0 }
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 's':
			options.seed = strtoull(optarg, NULL, 0);
			break;
		case 't':
			options.seconds = strtoull(optarg, NULL, 0);
			break;
		case 'p':
			options.points = strtoul(optarg, NULL, 0);
			break;
		case 'f':
			options.found = optarg;
			break;
		case 'r':
			options.replay = optarg;
			break;
		case 'n':
			options.times = strtoul(optarg, NULL, 0);
			break;
		default:
			errx(2, "usage: fuzz [--seed N] [--seconds N] [--points N] [--found FILE] [--replay FILE] [--times N]");
		}
	}
}

static void load(void)
{
	int fd = open(options.replay, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, &shared->current, sizeof(shared->current)) !=
	    sizeof(shared->current) || shared->current.nr_ops > OPS_MAX)
		errx(1, "%s is no program of this fuzzer", options.replay);
	close(fd);
	show(stdout, &shared->current);
}

static void put(const char *path, const char *text)
{
	errno = -raw_put(path, text);
	if (errno)
		err(1, "%s", path);
}

static void prepare(void)
{
	/*
	 * An Oops kills only the process that caused it, so that the supervisor can print the
	 * program.
	 */
	put("/proc/sys/kernel/panic_on_oops", "0");
	/* Programs wait for grace periods most of the time: make these short. */
	put("/sys/kernel/rcu_expedited", "1");
	put("/sys/kernel/debug/failslab/ignore-gfp-wait", "N");
	put("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N");
	put("/sys/kernel/debug/fail_page_alloc/min-order", "0");
	put("/sys/kernel/debug/failslab/verbose", "0");
	put("/sys/kernel/debug/fail_page_alloc/verbose", "0");
	put("/sys/kernel/debug/fail_usercopy/verbose", "0");
	kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (kmsg < 0 || lseek(kmsg, 0, SEEK_END) < 0)
		err(1, "/dev/kmsg");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		err(1, "memory");
	cover_signal = &shared->signal;
	shared->rng.state = options.seed;
}

int main(int argc, char **argv)
{
	time_t start = now();
	bool well;

	setvbuf(stdout, NULL, _IOLBF, 0);
	parse(argc, argv);
	prepare();
	if (options.replay)
		load();
	printf("# seed %llu, %llu seconds\n", (unsigned long long)options.seed,
	       (unsigned long long)options.seconds);
	well = fuzz(start);
	netlink_end_all();
	progress(start);
	printf("# %u points in the module, %u of them reached; %u buffers were too small\n",
	       options.points, shared->signal.points, shared->signal.truncated);
	test(well, "kernel_log_has_no_complaint");
	if (!options.replay && well) {
		test(a_third(), "a_third_of_the_module_was_reached");
		show_operations();
		test(every_operation(), "every_operation_succeeded_at_least_once");
	}
	printf("%u passed, %u failed, 0 skipped\n", passed, failed);
	return failed ? 1 : 0;
}
