// SPDX-License-Identifier: LGPL-2.1-or-later
/* Options, start and end. The main thread then only waits for signals. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <asynctrace/provider.h>

#include "httpd.h"

struct config config = {
	.addr = "127.0.0.1",
	.port = 8080,
	.root = ".",
	.workers = 4,
	.timeout_ms = 30000,
	.root_fd = -1,
	.upload_fd = -1,
};

static const char usage[] =
	"usage: httpd [-p PORT] [-b ADDR] [-r ROOT] [-u UPLOADDIR] [-w WORKERS] [-t SECONDS]\n"
	"             [-l LOGFILE]\n"
	"\n"
	"Serves the files below a directory over HTTP/1.1, and is traced doing so.\n"
	"\n"
	"  -p PORT       port to listen on (8080); 0: any free one\n"
	"  -b ADDR       IPv4 address to listen on (127.0.0.1)\n"
	"  -r ROOT       directory to serve (.)\n"
	"  -u UPLOADDIR  directory for PUT and POST /upload/NAME (uploads are refused)\n"
	"  -w WORKERS    worker threads, 1 to 256 (4)\n"
	"  -t SECONDS    time a client may take for a request, or idle, 1 to 3600 (30)\n"
	"  -l LOGFILE    append a line there for each request, with its id in the trace\n"
	"  -h, --help    this text\n"
	"\n"
	"SIGTERM or SIGINT: stops accepting, finishes what runs, exits.\n";

static int fail(const char *what, int err, const char *remedy)
{
	fprintf(stderr, "httpd: %s: %s; %s\n", what, strerror(err), remedy);
	return EXIT_FAILURE;
}

static int number(const char *option, const char *text, int min, int max)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(text, &end, 10);
	if (errno || end == text || *end || v < min || v > max) {
		fprintf(stderr, "httpd: %s %s: not a number from %d to %d; see httpd --help\n",
			option, text, min, max);
		exit(2);
	}
	return v;
}

static void options(int argc, char **argv)
{
	static const struct option longs[] = { { "help", no_argument, NULL, 'h' }, { 0 } };
	int c;

	while ((c = getopt_long(argc, argv, "p:b:r:u:w:t:l:h", longs, NULL)) != -1) {
		switch (c) {
		case 'p':
			config.port = number("-p", optarg, 0, 65535);
			break;
		case 'b':
			config.addr = optarg;
			break;
		case 'r':
			config.root = optarg;
			break;
		case 'u':
			config.uploads = optarg;
			break;
		case 'w':
			config.workers = number("-w", optarg, 1, WORKERS_MAX);
			break;
		case 't':
			config.timeout_ms = number("-t", optarg, 1, 3600) * 1000;
			break;
		case 'l':
			config.log = optarg;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			fputs("See httpd --help.\n", stderr);
			exit(2);
		}
	}
	if (optind < argc) {
		fprintf(stderr, "httpd: %s: not an option; see httpd --help\n", argv[optind]);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	sigset_t signals;
	int port, err, sig;

	options(argc, argv);
	config.root_fd = open(config.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (config.root_fd < 0)
		return fail(config.root, errno, "-r names the directory to serve");
	if (config.uploads)
		config.upload_fd = open(config.uploads, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (config.uploads && config.upload_fd < 0)
		return fail(config.uploads, errno, "-u names an existing directory");
	err = config.log ? log_open(config.log) : 0;
	if (err)
		return fail(config.log, -err, "-l names a file to append to");
	port = conn_listen();
	if (port < 0) {
		fprintf(stderr, "httpd: %s:%d: %s; -b and -p choose others (-p 0: any free port)\n",
			config.addr, config.port, strerror(-port));
		return EXIT_FAILURE;
	}

	/*
	 * Block the signals before threads are created, which inherit the mask. sigwait takes them.
	 */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);

	err = pool_start();
	if (err)
		return fail("threads", -err, "fewer workers (-w) may help");
	err = conn_start();
	if (err)
		return fail("accept thread", -err, "it needs descriptors and memory");
	/*
	 * Optional: the first event would register the program. Registering here makes the program
	 * visible to `asynctrace providers` before its first event.
	 */
	at_provider_register(NULL);
	printf("listening on %s:%d\n", config.addr, port);
	fflush(stdout);

	sigwait(&signals, &sig);
	conn_stop();
	pool_stop();
	conn_free();
	log_close();
	close(config.root_fd);
	if (config.upload_fd >= 0)
		close(config.upload_fd);
	return 0;
}
