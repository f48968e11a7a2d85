// SPDX-License-Identifier: GPL-2.0
/*
 * Operations that are slow for a known reason
 *
 *	truth SEED PLAN DIRECTORY [noise]
 *
 * Runs each scene once, in an order and with durations by SEED. Writes to PLAN what asynctrace why
 * must find: a JSON object per line, for one operation each. The program measures all times by
 * CLOCK_BOOTTIME, because an emulated CPU has no constant speed. DIRECTORY is on a disk. noise: the
 * parent process is the recorder; stop it again and again, and fill its ring while it is stopped.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "truth.h"

const char *directory;

static FILE *plan;
static pthread_mutex_t plan_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t state;

uint64_t rnd(uint64_t from, uint64_t to)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return from + state % (to - from + 1);
}

uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	must(!clock_gettime(clock, &ts));
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

uint64_t now(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

int tid(void)
{
	return syscall(SYS_gettid);
}

void burn(uint64_t ns)
{
	const uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

void nap(uint64_t ns)
{
	struct timespec ts = { ns / 1000000000, ns % 1000000000 };

	must(!nanosleep(&ts, NULL));
}

void start(pthread_t *t, void *(*fn)(void *), void *arg)
{
	must(!pthread_create(t, NULL, fn, arg));
}

void expect(uint64_t id, const char *scene, const char *fmt, ...)
{
	va_list args;

	pthread_mutex_lock(&plan_lock);
	fprintf(plan, "{\"id\":\"0x%" PRIx64 "\",\"scene\":\"%s\",", id, scene);
	va_start(args, fmt);
	vfprintf(plan, fmt, args);
	va_end(args);
	fputs("}\n", plan);
	must(!fflush(plan));
	pthread_mutex_unlock(&plan_lock);
}

int main(int argc, char **argv)
{
	void (*scenes[])(void) = {
		scene_lock, scene_convoy, scene_spinner, scene_fsync, scene_timer, scene_queue,
		scene_fan, scene_pipe, scene_socket, scene_file_fault, scene_user_fault,
	};
	const size_t nr = sizeof(scenes) / sizeof(scenes[0]);
	bool noise = argc == 5 && !strcmp(argv[4], "noise");

	must(argc == 4 || noise);
	state = strtoull(argv[1], NULL, 0) * 2 + 1;
	for (int i = 0; i < 10; i++)
		rnd(0, 1);
	plan = fopen(argv[2], "we");
	must(plan);
	directory = argv[3];
	servers_start();
	for (size_t i = nr - 1; i > 0; i--) {
		size_t k = rnd(0, i);
		void (*swap)(void) = scenes[i];

		scenes[i] = scenes[k];
		scenes[k] = swap;
	}
	if (noise)
		noise_start(getppid());
	for (size_t i = 0; i < nr; i++)
		scenes[i]();
	if (noise)
		noise_stop();
	servers_stop();
	must(!fclose(plan));
	return 0;
}
