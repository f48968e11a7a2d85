// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Quiet sections, in which the library writes to files from the program's own threads. No signal
 * that a write raises ends the program, and the thread is not cancelled.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "inproc.h"

#define AT_LINE_MAX	10240	/* two paths and a message about them */

/* The signals that write(2) raises for the calling thread. */
static void writers_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGPIPE);
	sigaddset(set, SIGXFSZ);
}

void at_quiet_begin(struct at_quiet *q)
{
	sigset_t set;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &q->cancel);
	writers_signals(&set);
	/* After stty tostop, SIGTTOU would stop a background process that writes to a terminal. */
	sigaddset(&set, SIGTTOU);
	sigpending(&q->pending);
	pthread_sigmask(SIG_BLOCK, &set, &q->mask);
}

void at_quiet_end(struct at_quiet *q)
{
	static const struct timespec now;
	static const int raised[] = { SIGPIPE, SIGXFSZ };
	sigset_t set;

	writers_signals(&set);
	/* Signals that were pending before at_quiet_begin() belong to the program. */
	for (size_t i = 0; i < sizeof(raised) / sizeof(raised[0]); i++)
		if (sigismember(&q->pending, raised[i]))
			sigdelset(&set, raised[i]);
	while (sigtimedwait(&set, NULL, &now) > 0 || errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, &q->mask, NULL);
	pthread_setcancelstate(q->cancel, NULL);
}

void at_warn(const char *fmt, ...)
{
	char line[AT_LINE_MAX] = "asynctrace: ";
	const size_t head = strlen(line), room = sizeof(line) - head - 1;
	struct at_quiet quiet;
	size_t done = 0, bytes;
	va_list ap;
	ssize_t n;
	int said;

	va_start(ap, fmt);
	said = vsnprintf(line + head, room, fmt, ap);
	va_end(ap);
	if (said < 0)
		return;
	bytes = head + ((size_t)said < room ? (size_t)said : room - 1);
	line[bytes++] = '\n';
	at_quiet_begin(&quiet);
	while (done < bytes) {
		n = write(STDERR_FILENO, line + done, bytes - done);
		if (n > 0)
			done += n;
		else if (errno != EINTR)
			break;
	}
	at_quiet_end(&quiet);
}
