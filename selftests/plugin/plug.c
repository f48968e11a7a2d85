// SPDX-License-Identifier: GPL-2.0
/* A plug-in that traces; it contains the static library or is linked with the shared one */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <asynctrace/inprocess.h>
#include <asynctrace/trace.h>

/*
 * If PLUG_FILE is set, traces before the constructor of the plug-in's library has run. The empty
 * file PLUG_FILE must stay empty, because no trace starts.
 */
__attribute__((constructor(101))) static void plug_loaded(void)
{
	const char *file = getenv("PLUG_FILE");
	int fd;

	if (!file)
		return;
	TRACE_INSTANT("plugin", "loaded", TRACE_SCOPE_THREAD);
	fd = open(file, O_WRONLY | O_CREAT, 0600);
	if (fd >= 0 && at_trace_start(fd, NULL) == 0)
		abort();
	close(fd);
}

void plug_write(unsigned int records);

/* Varies the kind of record, so that threads are in different critical sections when they end. */
void plug_write(unsigned int records)
{
	static unsigned int calls;
	const unsigned int call = __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	const char *text = call & 1 ? "odd" : "an even call";

	for (unsigned int i = 0; i < records; i++) {
		switch ((i + call) % 3) {
		case 0:
			TRACE_INSTANT("plugin", "record", TRACE_SCOPE_THREAD, "i", i);
			break;
		case 1:
			TRACE_INSTANT("plugin", "record", TRACE_SCOPE_THREAD, "i", i, "text",
				      TA_STRING(text));
			break;
		default:
			TRACE_INSTANT("plugin", "record", TRACE_SCOPE_THREAD, "i", TA_INT64(i),
				      "j", TA_INT64(~i), "k", TA_INT64(i + 1));
		}
	}
}
