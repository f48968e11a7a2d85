// SPDX-License-Identifier: GPL-2.0
/*
 * Scenes of a process that traces itself: at_trace_stop() must account for each record
 *
 * Environment: STARTS_ROUNDS, STARTS_THREADS (most threads of a scene), STARTS_SEED.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <asynctrace/inprocess.h>

#include "scene.h"

static uint64_t amount(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);

	return s && *s ? strtoull(s, NULL, 0) : otherwise;
}

/* Rings that are so small that some rounds drop records, which must be counted */
static const struct at_trace_options small = { .size = sizeof(small), .ring_size = 1 << 16 };

static void begin(void)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);

	if (fd < 0 || at_trace_start(fd, &small)) {
		perror("at_trace_start");
		_exit(7);
	}
}

static uint64_t end(void)
{
	struct at_trace_result r = { .size = sizeof(r) };

	if (at_trace_stop(&r))
		_exit(6);
	return r.delivered + r.dropped + r.overwritten;
}

static uint64_t child(bool starts)
{
	if (!starts)
		return end();
	begin();
	return 0;
}

/* Runs the scene in a child. Returns the child's wait status, which is 0 unless it failed. */
static int play(const struct scene *s, struct tally *t)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		scene_play(s, t, begin, child);
		t->process[0].accounted = end();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return status;
}

int main(void)
{
	const uint64_t rounds = amount("STARTS_ROUNDS", 100);
	const unsigned int threads = amount("STARTS_THREADS", 4096);
	const uint64_t seed = amount("STARTS_SEED", time(NULL));
	struct tally *t = mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t records = 0, processes = 0;
	unsigned int failed = 0;

	if (t == MAP_FAILED)
		return 2;
	printf("# STARTS_SEED=%llu\n", (unsigned long long)seed);
	for (uint64_t i = 0; i < rounds; i++) {
		struct scene s = scene_of(seed + i, threads);
		bool exact;
		int status;

		/* Let the scene close no descriptors: it would also close that of the trace. */
		s.closes = 0;
		*t = (struct tally){ 0 };
		status = play(&s, t);
		exact = !status;
		for (uint32_t p = 0; p < t->processes; p++) {
			exact &= t->process[p].accounted == t->process[p].written;
			records += t->process[p].written;
		}
		processes += t->processes;
		if (exact)
			continue;
		failed++;
		scene_print(&s);
		if (status > 0 && WIFSIGNALED(status))
			printf("# the process was ended by signal %d\n", WTERMSIG(status));
		else if (status)
			printf("# the process failed, wait status %#x\n", status);
		for (uint32_t p = 0; p < t->processes; p++)
			printf("# process %u wrote %llu records, its result has %llu\n", p,
			       (unsigned long long)t->process[p].written,
			       (unsigned long long)t->process[p].accounted);
	}
	printf("# %llu scenes, %llu processes, %llu records\n", (unsigned long long)rounds,
	       (unsigned long long)processes, (unsigned long long)records);
	printf("%s 1 - I20_own_trace_begins_at_once_exact\n", failed ? "not ok" : "ok");
	printf("%d passed, %d failed, 0 skipped\n", !failed, !!failed);
	return !!failed;
}
