// SPDX-License-Identifier: GPL-2.0
/*
 * Blobs, kernel objects and events of virtual threads in the ring; nonces; the clock of records
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asynctrace/trace.h>

#include "tape.h"

#define KEEP	2000
#define WORDS	4096

static struct tape tape;
static uint64_t got[KEEP][8];	/* the first words of each record */
static uint32_t got_words[KEEP];
static uint64_t *whole;		/* the last record */
static unsigned int ngot;

static void keep(const struct tape_event *ev, void *arg)
{
	(void)arg;
	if (ngot == KEEP)
		return;
	memcpy(got[ngot], ev->raw, 8 * (ev->words < 8 ? ev->words : 8));
	memcpy(whole, ev->raw, 8 * ev->words);
	got_words[ngot++] = ev->words;
}

static void begin(uint64_t sub_size)
{
	const struct tape_options o = { .mode = ASYNCTRACE_MODE_ONESHOT, .ring_size = 8 << 20,
					.sub_size = sub_size };

	ngot = 0;
	tape_new(&tape, &o, keep, NULL);
	tape_attach(&tape);
	tape_gate(&tape, true);
}

static void end(void)
{
	tape_end(&tape, true);
	tape_check(&tape);
	tape_free(&tape);
}

static void A18_blobs(void)
{
	static const size_t sizes[] = { 0, 1, 7, 8, 9, 256, 260, 4096, 31999, 32000 };
	/* The blob ends where the mapped memory ends: reading one more byte would fault. */
	const size_t page = sysconf(_SC_PAGESIZE);
	char *map = mmap(NULL, 9 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	char *edge = map + 8 * page;

	mprotect(edge, page, PROT_NONE);
	for (size_t i = 0; i < 8 * page; i++)
		map[i] = i % 257;	/* all values of a byte */
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const size_t size = sizes[i], words = (size + 7) / 8;
		char *blob = edge - size;

		begin(0);
		TRACE_BLOB(TRACE_BLOB_TYPE_LAST_BRANCH, "blob", blob, size);
		end();
		check(ngot == 1 && got_words[0] == 3 + words);
		check(ASYNCTRACE_FXT_TYPE(whole[0]) == ASYNCTRACE_FXT_BLOB &&
		      whole[0] >> 48 == 2 && (whole[0] >> 32 & 0xffff) == size);
		check(!memcmp(whole + 3, blob, size));

		begin(0);
		TRACE_BLOB_EVENT("special", "event", blob, size, "n", 1, "s", "text");
		end();
		check(ngot == 1 && got_words[0] == 5 + 1 + 2 + words);
		check(whole[0] >> 16 == 0 && (whole[3] >> 32 & 0xf) == 2);
		check(whole[7] == size && !memcmp(whole + 8, blob, size));

		begin(0);
		TRACE_BLOB_ATTACHMENT("special", "attachment", blob, size);
		end();
		check(ngot == 1 && got_words[0] == 5 + words);
		check(whole[0] >> 40 == 1 && whole[4] == size && !memcmp(whole + 5, blob, size));
	}
	munmap(map, 9 * page);
	done("A18_blobs_of_0_to_32000_bytes_are_whole");
}

static void A18_too_large(void)
{
	static char bytes[40000];
	const size_t room = 4096 - 4 * 8;	/* of a sub-buffer, without its header */

	begin(0);
	TRACE_BLOB(TRACE_BLOB_TYPE_DATA, "blob", bytes, 32001);
	TRACE_BLOB_EVENT("special", "event", bytes, 32001);
	TRACE_BLOB_ATTACHMENT("special", "attachment", bytes, 32001);
	TRACE_BLOB_ATTACHMENT("special", "attachment", bytes, SIZE_MAX);
	TRACE_BLOB_ATTACHMENT("special", "attachment", bytes, 32000);
	/* The largest blob fits even with 15 arguments: a record may have 4095 words. */
	TRACE_BLOB_EVENT("special", "event", bytes, 32000, "1", 1l, "2", 2l, "3", 3l, "4", 4l,
			 "5", 5l, "6", 6l, "7", 7l, "8", 8l, "9", 9l, "10", 10l, "11", 11l, "12", 12l,
			 "13", 13l, "14", 14l, "15", 15l);
	tape_end(&tape, true);
	tape_check(&tape);
	check(tape.result.dropped == 4 && tape.result.delivered == 2, "%llu dropped",
	      (unsigned long long)tape.result.dropped);
	tape_free(&tape);

	begin(4096);
	TRACE_BLOB_ATTACHMENT("special", "attachment", bytes, room - 5 * 8);
	TRACE_BLOB_ATTACHMENT("special", "attachment", bytes, room - 5 * 8 + 1);
	TRACE_BLOB(TRACE_BLOB_TYPE_DATA, "blob", bytes, room - 3 * 8);
	TRACE_BLOB(TRACE_BLOB_TYPE_DATA, "blob", bytes, room - 3 * 8 + 1);
	tape_end(&tape, true);
	tape_check(&tape);
	check(tape.result.dropped == 2 && tape.result.delivered == 2, "%llu dropped",
	      (unsigned long long)tape.result.dropped);
	check(ngot == 2 && got_words[0] == 508 && got_words[1] == 508);
	tape_free(&tape);
	done("A18_larger_blobs_are_dropped_and_counted");
}

/* Events without a category are recorded in each trace, others if their category is. */
static void categories(void)
{
	struct tape_options o = { .mode = ASYNCTRACE_MODE_ONESHOT, .ring_size = 1 << 20,
				  .categories = "other" };

	ngot = 0;
	tape_new(&tape, &o, keep, NULL);
	tape_attach(&tape);
	TRACE_BLOB(TRACE_BLOB_TYPE_DATA, "blob", "x", 1);
	TRACE_KERNEL_OBJECT(STDOUT_FILENO);
	tape_gate(&tape, true);
	TRACE_BLOB_EVENT("special", "event", "x", 1);
	TRACE_BLOB_ATTACHMENT("special", "attachment", "x", 1);
	TRACE_VTHREAD_DURATION_BEGIN("special", "d", "v", 1, at_ticks());
	check(!ngot);
	TRACE_BLOB(TRACE_BLOB_TYPE_DATA, "blob", "x", 1);
	TRACE_KERNEL_OBJECT(STDOUT_FILENO);
	end();
	check(ngot == 2, "%u", ngot);
	done("A14_blobs_without_category_need_a_recording");
}

static void virtual_threads(void)
{
	const char *name = "a name of 100 bytes ............................................"
			   "....................................";
	uint64_t before, after;

	begin(0);
	before = at_ticks();
	TRACE_VTHREAD_DURATION_BEGIN("special", "d", "fiber", 7, at_ticks(), "s", "text");
	TRACE_VTHREAD_FLOW_STEP("special", "f", name, UINT64_MAX, 11, 12345);
	TRACE_VTHREAD_DURATION_END("special", "d", (const char *)NULL, 7, at_ticks());
	after = at_ticks();
	end();
	check(ngot == 3);
	for (unsigned int i = 0; i < 3; i++)
		check((got[i][0] >> 24 & 0xff) == ASYNCTRACE_FXT_RING_VIRTUAL &&
		      got[i][1] >= before && got[i][1] <= after);
	check(got[0][3] >= before && got[0][3] <= got[0][1] && got[0][4] == 7);
	check(got[0][5] == (ASYNCTRACE_FXT_INLINE | 5) && !memcmp(&got[0][6], "fiber\0\0", 8));
	check(got[1][3] == 12345 && got[1][4] == UINT64_MAX);
	check(strlen(name) == 100 && got[1][5] == (ASYNCTRACE_FXT_INLINE | 96));
	check(got_words[1] == 6 + 12 + 1);
	check(got[2][5] == 0 && got_words[2] == 6);
	done("vthreads_have_the_programs_time_and_number");
}

static void *idle_thread(void *fd)
{
	char c;

	return read(*(int *)fd, &c, 1) == 1 ? NULL : fd;
}

static bool object_is(unsigned int i, unsigned int type, uint64_t koid, uint64_t own,
		      const char *name)
{
	const unsigned int bytes = got[i][0] >> 24 & 0x7fff;

	if (ASYNCTRACE_FXT_TYPE(got[i][0]) == ASYNCTRACE_FXT_KERNELOBJ &&
	    (got[i][0] >> 16 & 0xff) == type && got[i][3] == koid && got[i][4] == own &&
	    bytes >= strlen(name) && !memcmp(&got[i][5], name, strlen(name)))
		return true;
	printf("# object %u: type %u koid %llu own %llu\n", i, (unsigned int)(got[i][0] >> 16 & 0xff),
	       (unsigned long long)got[i][3], (unsigned long long)got[i][4]);
	return false;
}

static void objects(void)
{
	const pid_t child = fork();
	int pair[2], pidfd, event, memory;
	pthread_t thread;
	struct stat st;
	uint64_t tid;

	if (!child) {
		pause();
		_exit(0);
	}
	check(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	pidfd = syscall(SYS_pidfd_open, child, 0);
	event = eventfd(0, EFD_CLOEXEC);
	memory = memfd_create("some memory", MFD_CLOEXEC);
	check(!pthread_create(&thread, NULL, idle_thread, &pair[1]));
	pthread_setname_np(thread, "idle");
	begin(0);
	errno = 77;
	TRACE_KERNEL_OBJECT(pair[0], "n", 1);
	TRACE_KERNEL_OBJECT(event);
	TRACE_KERNEL_OBJECT(memory);
	TRACE_KERNEL_OBJECT(pidfd, "s", "text");
	TRACE_KERNEL_OBJECT(pthread_self());
	TRACE_KERNEL_OBJECT(thread);
	/* Invalid, and not recorded */
	TRACE_KERNEL_OBJECT(-1);
	TRACE_KERNEL_OBJECT(12345);
	check(errno == 77);
	/* The limit is 15 arguments, and one of them is the thread's process. */
	TRACE_KERNEL_OBJECT(thread, "1", 1, "2", 2, "3", 3, "4", 4, "5", 5, "6", 6, "7", 7, "8", 8,
			    "9", 9, "10", 10, "11", 11, "12", 12, "13", 13, "14", 14);
	TRACE_KERNEL_OBJECT(thread, "1", 1, "2", 2, "3", 3, "4", 4, "5", 5, "6", 6, "7", 7, "8", 8,
			    "9", 9, "10", 10, "11", 11, "12", 12, "13", 13, "14", 14, "15", 15);
	tape_end(&tape, true);
	tape_check(&tape);
	check(tape.result.dropped == 1);
	tape_free(&tape);
	check(ngot == 7, "%u", ngot);
	check(!fstat(pair[0], &st) && object_is(0, ASYNCTRACE_FXT_OBJ_SOCKET, st.st_ino, 0, "socket:["));
	check((got[0][0] >> 40 & 0xf) == 1);
	check(object_is(1, ASYNCTRACE_FXT_OBJ_EVENT, (uint64_t)at_salt() << 44 | event, 0,
			"anon_inode:[eventfd"));
	check(!fstat(memory, &st) && object_is(2, ASYNCTRACE_FXT_OBJ_VMO, st.st_ino, 0, "/memfd:"));
	check(object_is(3, ASYNCTRACE_FXT_OBJ_PROCESS, child, getpid(), "test_special"));
	check(object_is(4, ASYNCTRACE_FXT_OBJ_THREAD, gettid(), getpid(), "test_special"));
	tid = got[5][3];
	check(object_is(5, ASYNCTRACE_FXT_OBJ_THREAD, tid, getpid(), "idle"));
	check(tid != (uint64_t)gettid() && !syscall(SYS_tgkill, getpid(), (pid_t)tid, 0));

	check(write(pair[0], "x", 1) == 1);
	pthread_join(thread, NULL);
	syscall(SYS_kill, child, 9);
	waitpid(child, NULL, 0);
	close(pair[0]);
	close(pair[1]);
	close(pidfd);
	close(event);
	close(memory);
	done("objects_of_descriptors_processes_and_threads");
}

/* If names are unknown yet or find no room, the record contains all of them. */
static void names_inline(void)
{
	const int many = 40000;
	char text[24];
	static const char *const keys[] = { "" };
	static uint64_t refs[1];

	begin(0);
	for (int i = 0; i < many; i++) {
		struct at_site_ site = { .category = "special", .name = text, .keys = keys,
					 .refs = refs };

		snprintf(text, sizeof(text), "name number %d", i);
		at_site_test_(&site, at_gate_load_());
	}
	TRACE_BLOB(TRACE_BLOB_TYPE_DATA, "inline blob", "x", 1);
	TRACE_BLOB_EVENT("special", "inline event", "x", 1, "inline key", 1);
	TRACE_BLOB_ATTACHMENT("special", "inline attachment", "x", 1);
	TRACE_VTHREAD_DURATION_BEGIN("special", "inline vthread", "v", 1, 1, "inline key", "text");
	TRACE_KERNEL_OBJECT(pthread_self(), "inline key", 1);
	end();
	check(ngot == 5, "%u", ngot);
	check((got[0][0] >> 16 & 0xffff) == (ASYNCTRACE_FXT_INLINE | 11) &&
	      !memcmp(&got[0][3], "inline blob", 11) && got_words[0] == 3 + 2 + 1);
	check((got[1][3] >> 16 & 0xffff) == (ASYNCTRACE_FXT_INLINE | 12) &&
	      got_words[1] == 4 + 1 + 2 + 3 + 1 + 1);
	check(got_words[2] == 4 + 1 + 3 + 1 + 1);
	check(got[3][0] >> 48 == (ASYNCTRACE_FXT_INLINE | 14) &&
	      got_words[3] == 6 + 1 + 2 + 1 + 1 + 2 + 1);
	check(got_words[4] == 5 + 2 + 3);
	done("names_without_room_go_with_special_records");
}

static void declared(void)
{
	char *many = strdup("made up"), *volatile null = NULL;
	trace_arg_t *volatile nothing = NULL;

	begin(0);
	{
		TRACE_DECLARE_ARGS(NULL, args, "one", 1, "two", "text", "three", TA_KOID(3));
		TRACE_DECLARE_ARGS(NULL, none);

		check(TRACE_NUM_ARGS(args) == 3 && TRACE_NUM_ARGS(none) == 0);
		TRACE_COMPLETE_ARGS(NULL, args, TRACE_NUM_ARGS(args));
		ASYNCTRACE_EVENT(ASYNCTRACE_FXT_ASYNC_BEGIN, "special", many, 9, args,
				 TRACE_NUM_ARGS(args));
		ASYNCTRACE_EVENT(ASYNCTRACE_FXT_INSTANT, "special", "", 9, none, 0);
		ASYNCTRACE_EVENT(ASYNCTRACE_FXT_INSTANT, "special", null, 9, nothing, 0);
		/*
		 * The library drops these four events: a complete duration needs another function,
		 * type 11 does not exist, an event has at most 15 arguments, and one argument is
		 * missing.
		 */
		ASYNCTRACE_EVENT(ASYNCTRACE_FXT_INSTANT, "special", "d", 9, nothing, 1);
		ASYNCTRACE_EVENT(ASYNCTRACE_FXT_DURATION, "special", "d", 9, none, 0);
		ASYNCTRACE_EVENT(11, "special", "d", 9, none, 0);
		ASYNCTRACE_EVENT(ASYNCTRACE_FXT_INSTANT, "special", "d", 9, args, 16);
	}
	free(many);
	tape_end(&tape, true);
	tape_check(&tape);
	check(tape.result.dropped == 4);
	tape_free(&tape);
	check(ngot == 3 && got_words[2] == 3 && !(got[2][0] >> 48));
	check((got[0][0] >> 16 & 0xf) == ASYNCTRACE_FXT_ASYNC_BEGIN);
	check((got[0][0] >> 20 & 0xf) == 3 && got[0][0] >> 48 == (ASYNCTRACE_FXT_INLINE | 7) &&
	      !memcmp(&got[0][3], "made up", 8));
	check(got_words[0] == 3 + 1 + 2 + 3 + 3 + 1 && got_words[1] == 3);
	done("declared_args_are_written_with_a_dynamic_name");
}

/* --- numbers and clocks ------------------------------------------------------------------- */

#define THREADS	4
#define EACH	20000

static uint64_t nonces[THREADS * EACH];

static void *take_nonces(void *arg)
{
	uint64_t *to = arg;

	for (int i = 0; i < EACH; i++)
		to[i] = TRACE_NONCE();
	return NULL;
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void A1_nonces(void)
{
	const trace_async_id_t first = TRACE_NONCE();
	pthread_t threads[THREADS];

	check(first == 1 && sizeof(first) == 8);
	for (int i = 0; i < THREADS; i++)
		check(!pthread_create(&threads[i], NULL, take_nonces, nonces + i * EACH));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	qsort(nonces, THREADS * EACH, sizeof(nonces[0]), compare);
	for (uint64_t i = 0; i < THREADS * EACH; i++)
		if (!check(nonces[i] == i + 2, "%llu", (unsigned long long)nonces[i]))
			break;
	done("A1_A2_nonces_of_threads_are_1_2_3_and_so_on");
}

/* The clock goes on while nothing is recorded. In a trace it is that of the records. */
static void clock_of_records(void)
{
	uint64_t last = 0;

	for (int i = 0; i < 1000; i++) {
		const trace_ticks_t now = at_ticks();

		check(now && now >= last);
		last = now;
	}
	for (int boottime = 0; boottime < 2; boottime++) {
		const struct tape_options o = { .mode = ASYNCTRACE_MODE_ONESHOT,
						.ring_size = 1 << 20, .boottime = boottime };

		ngot = 0;
		tape_new(&tape, &o, keep, NULL);
		tape_attach(&tape);
		tape_gate(&tape, true);
		for (int i = 0; i < 100; i++) {
			const uint64_t before = at_ticks();

			TRACE_VTHREAD_DURATION_BEGIN("special", "d", "v", before, at_ticks());
		}
		last = at_ticks();
		end();
		check(ngot == 100);
		for (unsigned int i = 0; i < ngot; i++)
			check(got[i][4] <= got[i][3] && got[i][3] <= got[i][1] &&
			      got[i][1] <= last);
	}
	done("ticks_are_those_of_the_records");
}

/* at_ticks() must not read a counter that the thread may not read. */
static void clock_forbidden(void)
{
	const pid_t child = fork();
	int status;

	if (!child) {
		if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0))
			_exit(0);	/* the kernel does not have it */
		_exit(at_ticks() == 0 ? 0 : 1);
	}
	check(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status),
	      "status %x", status);
	done("ticks_of_a_thread_without_counter_are_0");
}

/* The id is the last word, also if there are arguments. */
static void A11_flows(void)
{
	static const uint64_t ids[] = { 1, 1ULL << 63, UINT64_MAX };
	const uint64_t own = at_flow_id();
	unsigned int wrong = 0;

	begin(0);
	for (int i = 0; i < 4; i++) {
		const uint64_t id = i < 3 ? ids[i] : own;

		TRACE_FLOW_BEGIN("flows", "flow", id);
		for (int k = 0; k < i * 50; k++)
			TRACE_FLOW_STEP("flows", "flow", id, "step", k);
		TRACE_FLOW_END("flows", "flow", id, "text", "end");
	}
	end();
	check(ngot == 4 * 2 + 50 * (1 + 2 + 3), "%u records", ngot);
	for (unsigned int i = 0, n = 0; i < 4; i++) {
		for (unsigned int k = 0; k < i * 50 + 2 && n < ngot; k++, n++) {
			const unsigned int type = k == 0 ? ASYNCTRACE_FXT_FLOW_BEGIN :
						  k == i * 50 + 1 ? ASYNCTRACE_FXT_FLOW_END :
						  ASYNCTRACE_FXT_FLOW_STEP;

			wrong += (got[n][0] >> 16 & 0xf) != type ||
				 got[n][got_words[n] - 1] != (i < 3 ? ids[i] : own);
		}
	}
	check(!wrong && own >> 44, "%u records", wrong);
	done("A11_flow_of_any_steps_has_one_id");
}

int main(void)
{
	whole = malloc(8 * WORDS);
	A1_nonces();
	clock_forbidden();
	/* Rings are read one after the other: only the events of one CPU are in order. */
	pin(nth_cpu(0));
	A11_flows();
	A18_blobs();
	A18_too_large();
	categories();
	virtual_threads();
	objects();
	names_inline();
	declared();
	clock_of_records();
	free(whole);
	return finish();
}
