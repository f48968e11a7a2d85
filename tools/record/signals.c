// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * asynctrace record: signals, and the end of the command
 *
 * Signals are blocked and read from a descriptor, so that they interrupt nothing half-way: a
 * regular file always ends with a whole record.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/record.h"
#include "tool.h"

/* Signals whose action the recorder changes. The command must start with their original actions. */
static const int changed[RECORD_SIGNALS] = {
	SIGINT, SIGTERM, SIGQUIT, SIGCHLD, SIGHUP, SIGPIPE, SIGXFSZ,
};

void record_restore_signals(const struct recorder *r)
{
	for (size_t i = 0; i < RECORD_SIGNALS; i++)
		sigaction(changed[i], &r->before[i], NULL);
	sigprocmask(SIG_SETMASK, &r->mask, NULL);
}

/* Returns 0 or a negative errno. */
int record_open_signals(struct recorder *r)
{
	struct sigaction fallback = { .sa_handler = SIG_DFL };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t set;
	bool nohup = false;

	for (size_t i = 0; i < RECORD_SIGNALS; i++) {
		sigaction(changed[i], NULL, &r->before[i]);
		if (changed[i] == SIGHUP)
			nohup = r->before[i].sa_handler == SIG_IGN;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGCHLD);
	/* nohup(1) ignores SIGHUP; obey that, unless SIGHUP means --rotate. */
	if (r->out.numbered || !nohup)
		sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, &r->mask))
		return -errno;
	/*
	 * Shells start background jobs with SIGINT and SIGQUIT ignored, and signalfd() gets no
	 * ignored signals.
	 */
	sigaction(SIGINT, &fallback, NULL);
	sigaction(SIGTERM, &fallback, NULL);
	sigaction(SIGQUIT, &fallback, NULL);
	sigaction(SIGCHLD, &fallback, NULL);
	if (r->out.numbered)
		sigaction(SIGHUP, &fallback, NULL);
	/* Ignore these signals: write(2) fails with EPIPE or EFBIG instead. */
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGXFSZ, &ignore, NULL);
	r->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return r->signals < 0 ? -errno : 0;
}

/* Reaps the command, and orphans that --follow made children of this process. */
static void reap(struct recorder *r)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != r->child)
			continue;
		r->child = 0;
		r->status = status;
	}
}

/* Takes pending signals, and passes on those that are for the command. */
void record_take_signals(struct recorder *r)
{
	struct signalfd_siginfo si;

	while (read(r->signals, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGCHLD) {
			reap(r);
			continue;
		}
		if (si.ssi_signo == SIGHUP && r->out.numbered) {
			r->rotate = true;
			continue;
		}
		r->nr_signals++;
		r->signal = si.ssi_signo;
		if (!r->child)
			continue;
		/*
		 * A signal of the terminal (SI_KERNEL) has also reached the command, so do not pass
		 * it on, unless it may have come before the command's process.
		 */
		if (si.ssi_code != SI_KERNEL || r->forking)
			kill(r->child, si.ssi_signo);
		if (r->nr_signals == 1) {
			record_line_clear(r);
			fprintf(stderr, "waiting for %s (process %d) to end; once more ends the recording\n",
				tool_text(r->opt.cmd[0]), (int)r->child);
		}
	}
}

bool record_is_ending(const struct recorder *r)
{
	/* The first signal is for the command. */
	if (r->opt.cmd ? !r->child || r->nr_signals > 1 : r->nr_signals > 0)
		return true;
	return r->opt.seconds && record_now() >= r->started + r->opt.seconds;
}

bool record_interrupted(void *arg)
{
	struct recorder *r = arg;
	const unsigned int before = r->nr_signals;

	record_take_signals(r);
	/* The file is not open yet, so there is nothing to lose. */
	if (r->out.fd < 0)
		return r->nr_signals > 0;
	if (!record_is_ending(r))
		return false;
	if (r->stalled)
		return r->nr_signals > before;
	r->stalled = true;
	record_line_clear(r);
	fprintf(stderr, "the recording is to end, but the reader of %s takes no more data: waiting for it; Ctrl-C or SIGTERM gives up\n",
		tool_text(trace_out_name(&r->out)));
	return false;
}

void record_tell_child(const struct recorder *r)
{
	const char *cmd = r->child ? tool_text(r->opt.cmd[0]) : NULL;
	siginfo_t si = { 0 };

	if (!cmd || waitid(P_PID, r->child, &si, WEXITED | WNOHANG | WNOWAIT) || si.si_pid)
		return;
	fprintf(stderr, "The recording has ended%s%s%s. %s (process %d) still runs; waiting for it. 'kill -KILL %d' ends it.\n",
		r->out.failed ? "" : ", and ", r->out.failed ? "" : tool_text(trace_out_name(&r->out)),
		r->out.failed ? "" : " is complete", cmd, (int)r->child, (int)r->child);
}

/*
 * Waits for the command after the recording. Signals go to the command now, except SIGHUP if that
 * meant the next file: its sender does not know that the recording has ended.
 */
void record_wait_child(struct recorder *r)
{
	while (r->child) {
		sigset_t set;
		siginfo_t si;
		int sig;

		reap(r);
		if (!r->child)
			break;
		sigemptyset(&set);
		sigaddset(&set, SIGCHLD);
		sigaddset(&set, SIGINT);
		sigaddset(&set, SIGTERM);
		sigaddset(&set, SIGQUIT);
		sigaddset(&set, SIGHUP);
		sig = sigwaitinfo(&set, &si);
		if (sig <= 0 || sig == SIGCHLD)
			continue;
		if (sig == SIGHUP && r->out.numbered)
			continue;
		if (si.si_code != SI_KERNEL)
			kill(r->child, sig);
		reap(r);
		record_tell_child(r);
	}
}
