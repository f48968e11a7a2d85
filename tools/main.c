// SPDX-License-Identifier: GPL-2.0-or-later
/* asynctrace: dispatches the subcommands */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <linux/asynctrace.h>

#include "tool.h"

static const struct {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "record", record_main, "record a trace, while a command runs or until Ctrl-C" },
	{ "session", session_main, "make and control sessions that outlive the command" },
	{ "providers", providers_main, "list the providers: programs that can be recorded" },
	{ "list", providers_main, "another name of providers" },
	{ "categories", categories_main, "list the categories that providers announce" },
	{ "status", status_main, "show sessions, rings, losses and what tracing costs" },
	{ "doctor", doctor_main, "check what would not work here, and name the remedy" },
#ifdef HAVE_NCURSES
	{ "top", top_main, "show operations while they run" },
#endif
	{ "why", why_main, "explain the time of an operation" },
	{ "report", report_main, "add up the time of all operations" },
	{ "dump", dump_main, "print a trace file as text" },
	{ "validate", validate_main, "check a trace file against every rule of its format" },
};

#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void help(FILE *out)
{
	fputs("usage: asynctrace COMMAND [OPTION...] [ARGUMENT...]\n"
	      "       asynctrace --help | --version\n"
	      "\n"
	      "Records events of programs and their scheduling in one trace.\n"
	      "\n"
	      "Commands:\n", out);
	for (size_t i = 0; i < NR_COMMANDS; i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
	fputs("\n"
	      "asynctrace COMMAND --help, or asynctrace help COMMAND, tells more.\n"
	      "\n"
	      "Examples:\n"
	      "  asynctrace record -o server.fxt -d 10       all instrumented programs, 10 seconds\n"
	      "  asynctrace record -- ./server --port 8080   while a program runs\n"
	      "  asynctrace status\n"
	      "\n"
	      "Open traces at https://ui.perfetto.dev.\n", out);
}

static int run(int argc, char **argv)
{
	if (argc < 2) {
		help(stderr);
		return TOOL_USAGE;
	}
	if (!strcmp(argv[1], "help") && argc > 2) {
		/* As asynctrace COMMAND --help, or asynctrace session VERB --help */
		bool verb = argc > 3 && !strcmp(argv[2], "session");

		argv[1] = argv[2];
		if (verb)
			argv[2] = argv[3];
		argv[verb ? 3 : 2] = "--help";
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		help(stdout);
		return TOOL_OK;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("asynctrace %s, interface %d\n", ASYNCTRACE_VERSION, ASYNCTRACE_ABI_VERSION);
		return TOOL_OK;
	}
	for (size_t i = 0; i < NR_COMMANDS; i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		tool_begin(commands[i].name, argv + 1);
		return commands[i].main(argc - 1, argv + 1);
	}
#ifndef HAVE_NCURSES
	if (!strcmp(argv[1], "top")) {
		tool_error("top is not in this build, because pkg-config did not find ncurses: apt-get install pkg-config libncurses-dev, and build again");
		return TOOL_USAGE;
	}
#endif
	tool_error("there is no command '%s'; see asynctrace --help", tool_text(argv[1]));
	return TOOL_USAGE;
}

/*
 * Opens each standard descriptor that is closed, for the direction in which nobody uses it, so that
 * reading standard input and writing the others fails with EBADF. Otherwise, the next open() would
 * take its number, and output would go into that file. A recorded command still finds the
 * descriptor closed, because O_CLOEXEC closes it.
 */
static void occupy_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		const int direction = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;

		/* open() takes the lowest free number, and those below @fd are open. */
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			open("/dev/null", direction | O_CLOEXEC);
	}
}

int main(int argc, char **argv)
{
	tool_name = "";
	occupy_standard_descriptors();
	return tool_end(run(argc, argv));
}
