// SPDX-License-Identifier: GPL-2.0-or-later
/* Keeps messages while the screen uses the terminal, and writes them when it closes. */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "screen.h"

static int terminal = -1;

void messages_hold(void)
{
	int kept;

	if (terminal >= 0 || !isatty(STDERR_FILENO))
		return;
	kept = memfd_create("messages", MFD_CLOEXEC);
	if (kept < 0)
		return;
	terminal = dup(STDERR_FILENO);
	if (terminal >= 0)
		dup2(kept, STDERR_FILENO);
	close(kept);
}

void messages_release(void)
{
	off_t at = 0;
	off_t bytes;

	if (terminal < 0)
		return;
	fflush(stderr);
	bytes = lseek(STDERR_FILENO, 0, SEEK_CUR);
	while (at < bytes && sendfile(terminal, STDERR_FILENO, &at, bytes - at) > 0)
		;
	dup2(terminal, STDERR_FILENO);
	close(terminal);
	terminal = -1;
}
