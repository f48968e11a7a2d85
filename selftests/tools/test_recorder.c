// SPDX-License-Identifier: GPL-2.0
/* The recorder from its command line to its summary, with a made-up module */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include <asynctrace/compose.h>

#include "fake_module.h"
#include "tool.h"

/* --- running the recorder -------------------------------------------------------------------- */

/* The program that runs, and what it has printed */
struct run {
	pid_t pid;
	int out, err;
	int status;
	char said[8192];
};

/*
 * Runs the command in a child, because it changes signals, limits and global variables. @out: its
 * standard output
 */
static void begin(struct run *x, const char *const *args, int out)
{
	char *argv[32] = { NULL };
	int argc = 0;

	/* Options change their arguments. */
	for (; args[argc]; argc++)
		argv[argc] = strdup(args[argc]);
	x->out = out;
	x->err = memfd_create("err", 0);
	assert_true(x->out >= 0 && x->err >= 0);
	fflush(NULL);
	x->pid = fork();
	assert_true(x->pid >= 0);
	if (x->pid)
		return;
	dup2(x->out, STDOUT_FILENO);
	dup2(x->err, STDERR_FILENO);
	tool_begin(args[0], argv);
	exit(tool_end(strcmp(args[0], "record") ? session_main(argc, argv) :
						  record_main(argc, argv)));
}

/* Waits for the end of the command, and expects the exit status @status. */
static void end(struct run *x, int status)
{
	ssize_t n;

	assert_int_equal(waitpid(x->pid, &x->status, 0), x->pid);
	n = pread(x->err, x->said, sizeof(x->said) - 1, 0);
	x->said[n > 0 ? n : 0] = '\0';
	if (!WIFEXITED(x->status) || WEXITSTATUS(x->status) != status)
		fail_msg("status %x, not exit %d: %s", x->status, status, x->said);
}

static void close_run(struct run *x)
{
	close(x->out);
	close(x->err);
}

/* Runs record or session, and expects the exit status @status. @out: as for begin() */
static void run_into(struct run *x, int status, const char *const *args, int out)
{
	begin(x, args, out);
	end(x, status);
}

static void run(struct run *x, int status, const char *const *args)
{
	run_into(x, status, args, memfd_create("out", 0));
}

#define RUN(x, status, ...)	run(x, status, (const char *const[]){ __VA_ARGS__, NULL })

static void expect_text(const struct run *x, const char *text)
{
	if (!strstr(x->said, text))
		fail_msg("no '%s' in: %s", text, x->said);
}

/* Returns the sum of all counts of the program's records in the summary. */
static uint64_t records(const struct run *x)
{
	static const char *const counts[] = {
		"delivered", "malformed", "overwritten", "dropped", "cleared", "unwritten",
	};
	json_t *summary, *p;
	uint64_t sum = 0;
	size_t i;

	lseek(x->out, 0, SEEK_SET);
	summary = json_loadfd(x->out, 0, NULL);
	assert_non_null(summary);
	json_array_foreach(json_object_get(summary, "providers"), i, p) {
		if (!json_integer_value(json_object_get(p, "id")))
			continue;
		for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
			sum += json_integer_value(json_object_get(p, counts[c]));
	}
	json_decref(summary);
	return sum;
}

/* --- tests ----------------------------------------------------------------------------------- */

static void full_disk_leaves_no_record_uncounted(void **state)
{
	static const char *const rows[][12] = {
		{ "record", "--json", "-s", "off", "-o", "full.fxt", "-d", "0.01" },
		{ "record", "--json", "-s", "off", "-o", "full.fxt", "-d", "0.01", "-m",
		  "circular" },
		{ "record", "--json", "-s", "off", "-o", "full.fxt", "-d", "0.01", "-m",
		  "oneshot" },
		{ "session", "snapshot", "--json", "-o", "full.fxt", "fake" },
	};
	struct rlimit before, small;
	struct run x;

	(void)state;
	fake = (struct fake_module){ .chunks = 100 };
	getrlimit(RLIMIT_FSIZE, &before);
	small = before;
	small.rlim_cur = 1 << 16;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		setrlimit(RLIMIT_FSIZE, &small);
		run(&x, 1, rows[i]);
		setrlimit(RLIMIT_FSIZE, &before);
		expect_text(&x, "cannot write full.fxt: File too large");
		assert_int_equal(records(&x), fake.chunks * FAKE_EVENTS);
		close_run(&x);
	}
}

static void terminate(void)
{
	kill(getpid(), SIGTERM);
}

/* The signal must neither kill the recorder, which may have an ftrace instance, nor wait. */
static void signal_ends_wait_for_reader_of_pipe(void **state)
{
	struct run x;

	(void)state;
	fake = (struct fake_module){ .chunks = 1, .at_init = terminate };
	assert_int_equal(mkfifo("unread", 0600), 0);
	RUN(&x, 1, "record", "-s", "off", "-o", "unread");
	expect_text(&x, "a signal came before unread had a reader; nothing was recorded");
	close_run(&x);
	RUN(&x, 128 + SIGTERM, "record", "-s", "off", "-o", "unread", "--", "touch", "ran");
	expect_text(&x, "a signal came before unread had a reader; nothing was recorded");
	assert_int_equal(access("ran", F_OK), -1);
	close_run(&x);
}

/* Makes a signal as that of a terminal, which has not reached a later command. */
static void interrupt(void)
{
	siginfo_t si = { .si_signo = SIGINT, .si_code = SI_KERNEL };

	syscall(SYS_rt_sigqueueinfo, getpid(), SIGINT, &si);
}

static bool no_memory;	/* for the composer */

int __real_at_compose_next(struct at_compose *c, const struct at_compose_options *opts);
int __wrap_at_compose_next(struct at_compose *c, const struct at_compose_options *opts);
void *__real_atc_realloc(void *old, size_t bytes);
void *__wrap_atc_realloc(void *old, size_t bytes);

/* The end of the file is written, but lacks names. */
int __wrap_at_compose_next(struct at_compose *c, const struct at_compose_options *opts)
{
	const int err = __real_at_compose_next(c, opts);

	return !err && no_memory ? -ENOMEM : err;
}

void *__wrap_atc_realloc(void *old, size_t bytes)
{
	return no_memory ? NULL : __real_atc_realloc(old, bytes);
}

static void take_memory(void)
{
	no_memory = true;
}

static void lack_of_memory_is_no_failed_write(void **state)
{
	struct run x;

	(void)state;
	fake = (struct fake_module){ .chunks = 1, .at_start = take_memory };
	RUN(&x, 1, "record", "-s", "off", "-o", "memory.fxt", "-d", "0.01");
	expect_text(&x, "cannot continue memory.fxt: Cannot allocate memory; recording ends here");
	assert_null(strstr(x.said, "Nothing was written"));
	close_run(&x);
}

static int ending_signal;

static void end_by_signal(void)
{
	kill(getpid(), ending_signal);
}

static void signals_leave_all_records(void **state)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGQUIT, SIGHUP };
	static const char *const modes[] = { "streaming", "circular", "oneshot" };
	struct run x;

	(void)state;
	fake = (struct fake_module){ .chunks = 2, .at_start = end_by_signal };
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		ending_signal = signals[i];
		for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
			RUN(&x, 0, "record", "--json", "-s", "off", "-o", "signal.fxt", "-m",
			    modes[m]);
			assert_int_equal(records(&x), fake.chunks * FAKE_EVENTS);
			close_run(&x);
		}
	}
}

static void early_signal_starts_no_command(void **state)
{
	struct run x;

	(void)state;
	fake = (struct fake_module){ .at_start = interrupt };
	RUN(&x, 128 + SIGINT, "record", "-s", "off", "-o", "early.fxt", "--", "touch", "ran");
	expect_text(&x, "a signal came before 'touch' was started, so it was not run");
	expect_text(&x, "No events are in the file: the command was not run, see above");
	assert_int_equal(access("ran", F_OK), -1);
	close_run(&x);
}

/* Waits until the command has printed the text on standard error. */
static void wait_for_text(struct run *x, const char *text)
{
	const struct timespec moment = { .tv_nsec = 10 * 1000 * 1000 };

	for (;;) {
		ssize_t n = pread(x->err, x->said, sizeof(x->said) - 1, 0);

		x->said[n > 0 ? n : 0] = '\0';
		if (strstr(x->said, text))
			return;
		if (waitpid(x->pid, &x->status, WNOHANG))
			fail_msg("status %x, without '%s': %s", x->status, text, x->said);
		nanosleep(&moment, NULL);
	}
}

#define WAITS	"the reader of standard output takes no more data: waiting for it"

/* Begins a recording into a pipe that nobody reads. Returns the end for reading. */
static int begin_stalled(struct run *x, const char *const *args)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	fcntl(fds[1], F_SETPIPE_SZ, 4096);
	fake = (struct fake_module){ .chunks = 20 };
	begin(x, args, fds[1]);
	close(fds[1]);
	x->out = -1;
	return fds[0];
}

static void stalled_reader_is_named(void **state)
{
	static const struct {
		int status;
		bool unlimited;	/* a signal must end the recording */
		const char *args[9];
	} rows[] = {
		{ 1, true, { "record", "-s", "off", "-o", "-" } },
		{ 1, false, { "record", "-s", "off", "-o", "-", "-d", "0.01" } },
		{ 125, false, { "record", "-s", "off", "-o", "-", "--", "true" } },
		{ 1, true, { "session", "snapshot", "-o", "-", "fake" } },
	};
	struct run x;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const int in = begin_stalled(&x, rows[i].args);
		struct pollfd fd = { .fd = in, .events = POLLIN };

		poll(&fd, 1, -1);
		if (rows[i].unlimited)
			kill(x.pid, SIGTERM);
		wait_for_text(&x, WAITS);
		kill(x.pid, SIGTERM);
		end(&x, rows[i].status);
		expect_text(&x, "its reader takes no more data, and a signal ended the wait");
		close(in);
		close_run(&x);
	}
}

/* The pipe takes the whole trace at once, so the recorder never waits. */
static void taking_reader_is_not_called_stalled(void **state)
{
	static const char *const rows[][9] = {
		{ "record", "-s", "off", "-o", "-", "-d", "0.01" },
		{ "record", "-s", "off", "-o", "-", "--", "true" },
		{ "record", "-s", "off", "-o", "-", "-m", "circular", "-d", "0.01" },
	};
	struct run x;

	(void)state;
	fake = (struct fake_module){ .chunks = 1 };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fds[2];

		assert_int_equal(pipe(fds), 0);
		assert_true(fcntl(fds[1], F_SETPIPE_SZ, 1 << 20) > 0);
		run_into(&x, 0, rows[i], fds[1]);
		if (strstr(x.said, WAITS))
			fail_msg("row %zu: %s", i, x.said);
		close(fds[0]);
		close_run(&x);
	}
}

static void refused_providers_are_told_at_the_end(void **state)
{
	static const char *const args[] = {
		"record", "-s", "off", "-o", "t.fxt", "-d", "0.01", "--", "sh", "-c",
		"until [ -e go ]; do sleep 0.01; done", NULL,
	};
	struct run x;

	(void)state;
	fake = (struct fake_module){ .chunks = 1, .refused = 10 };
	begin(&x, args, memfd_create("out", 0));
	/* The command still runs. */
	wait_for_text(&x, "The recording has ended");
	expect_text(&x, "2 more providers are not recorded by this session");
	assert_true(strstr(x.said, "2 more") < strstr(x.said, "The recording has ended"));
	assert_int_equal(mkdir("go", 0700), 0);
	end(&x, 0);
	close_run(&x);
}

static void destroyed_session_is_a_failure(void **state)
{
	static const struct {
		int status;
		const char *said;
		const char *args[12];
	} rows[] = {
		{ 1, "the file has the records until then",
		  { "record", "-s", "off", "-o", "t.fxt" } },
		{ 125, "the file has the records until then",
		  { "record", "-s", "off", "-o", "t.fxt", "--", "sleep", "0.1" } },
		{ 1, "the file has the records until then",
		  { "record", "-s", "off", "-o", "t.fxt", "-m", "circular", "-d", "0.01" } },
		{ 1, "the records in its rings are lost",
		  { "record", "-s", "off", "-o", "t.fxt", "-m", "circular", "-d", "0.01",
		    "--trigger", "alert:snapshot" } },
	};
	struct run x;

	(void)state;
	fake = (struct fake_module){ .chunks = 1, .destroyed = true };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		run(&x, rows[i].status, rows[i].args);
		expect_text(&x, "another process ended the session");
		expect_text(&x, rows[i].said);
		assert_null(strstr(x.said, "Nothing was lost"));
		close_run(&x);
	}
}

/* The end of the session is an error already, but says nothing about the file. */
static void failed_end_of_destroyed_session_is_told(void **state)
{
	static const char *const rows[][10] = {
		{ "record", "-s", "off", "-o", "end.fxt" },
		{ "record", "-s", "off", "-o", "end.fxt", "-m", "circular", "-d", "0.01" },
	};
	struct rlimit before, small;
	struct run x;

	(void)state;
	fake = (struct fake_module){ .chunks = 1, .destroyed = true };
	getrlimit(RLIMIT_FSIZE, &before);
	small = before;
	/* The messages have room, but not the events. */
	small.rlim_cur = 1 << 13;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *told;

		setrlimit(RLIMIT_FSIZE, &small);
		run(&x, 1, rows[i]);
		setrlimit(RLIMIT_FSIZE, &before);
		expect_text(&x, "another process ended the session");
		expect_text(&x, "cannot write end.fxt: File too large");
		told = strstr(x.said, "cannot write");
		assert_null(strstr(told + 1, "cannot write"));
		close_run(&x);
	}
}

/*
 * Two signals end the recording while the command runs. When the command ends, the recorder must
 * still wait for the reader. The command begins with the actions that the recorder began with, so
 * it ignores SIGTERM, which the recorder passes on to it.
 */
static void end_of_command_does_not_end_the_wait(void **state)
{
	static const char *const args[] = {
		"record", "-s", "off", "-o", "-", "--", "sleep", "1000", NULL,
	};
	void (*const before)(int sig) = signal(SIGTERM, SIG_IGN);
	char buffer[65536];
	struct run x;
	int command, in = begin_stalled(&x, args);
	struct pollfd fd = { .fd = in, .events = POLLIN };

	signal(SIGTERM, before);
	(void)state;
	poll(&fd, 1, -1);
	kill(x.pid, SIGTERM);
	wait_for_text(&x, "once more ends the recording");
	kill(x.pid, SIGTERM);
	wait_for_text(&x, WAITS);
	assert_int_equal(sscanf(strstr(x.said, "(process "), "(process %d)", &command), 1);
	kill(command, SIGKILL);
	/* The recorder reaps the command when its signal has woken it. */
	while (!kill(command, 0))
		usleep(10000);
	while (read(in, buffer, sizeof(buffer)) > 0)
		;
	end(&x, 128 + SIGKILL);
	close(in);
	close_run(&x);
}

/* --- the directory of the tests --------------------------------------------------------------- */

/* A template of mkdtemp(3), which replaces each X */
static char directory[] = "/tmp/recorder-XXXXXX";

static int enter(void **state)
{
	(void)state;
	return !mkdtemp(directory) || chdir(directory);
}

static int leave(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_disk_leaves_no_record_uncounted),
		cmocka_unit_test(signal_ends_wait_for_reader_of_pipe),
		cmocka_unit_test(lack_of_memory_is_no_failed_write),
		cmocka_unit_test(signals_leave_all_records),
		cmocka_unit_test(early_signal_starts_no_command),
		cmocka_unit_test(refused_providers_are_told_at_the_end),
		cmocka_unit_test(destroyed_session_is_a_failure),
		cmocka_unit_test(failed_end_of_destroyed_session_is_told),
		cmocka_unit_test(stalled_reader_is_named),
		cmocka_unit_test(taking_reader_is_not_called_stalled),
		cmocka_unit_test(end_of_command_does_not_end_the_wait),
	};

	/* nohup(1) lets its command ignore the signal, and a recorder then does not end at it. */
	signal(SIGHUP, SIG_DFL);
	return cmocka_run_group_tests(tests, enter, leave);
}
