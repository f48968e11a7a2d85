// SPDX-License-Identifier: GPL-2.0
/*
 * A program with probes in several files and a shared object, valid as C and as C++. It
 * attaches to its own probes and checks all arguments. The script probes checks its notes and
 * its trace.
 */
#include <stdio.h>
#include <string.h>

#include "probes.h"

#ifdef __cplusplus
#include <string>
extern "C" {
#endif
#include "../inprocess/usdt.h"
#ifdef __cplusplus
}
#endif

TRACE_PROBE_DEFINE(matrix, plain);
TRACE_PROBE_DEFINE(matrix, shared__probe);
TRACE_PROBE_DEFINE(matrix, widths);

static struct at_uid uid = ASYNCTRACE_UID_INIT;
static const char *const text = "text";
static int wrong;
static unsigned int nr_hits;

/* The expected probes in the order in which they run: the name, and the arguments after the id */
static const struct {
	const char *provider, *name;
	unsigned int nargs;
	int64_t arg[8];
} wanted[] = {
	{ "matrix", "widths", 8, { -5, 250, -300, 65000, -70000, 4000000000, -5000000000 } },
	{ "matrix", "shared-probe", 2, { -1 } },
	{ "matrix", "shared-probe", 2, { -2 } },
	{ "matrix", "plain", 3, { 0, -7 } },
	{ "matrix", "plain", 3, { 0, -8 } },
	{ "library", "only-here", 3, { 0, 200 } },
};

static void on_hit(const struct usdt_hit *hit)
{
	const unsigned int i = nr_hits++;

	if (i >= sizeof(wanted) / sizeof(*wanted) || strcmp(hit->site->name, wanted[i].name) ||
	    strcmp(hit->site->provider, wanted[i].provider) || hit->nargs != wanted[i].nargs ||
	    TRACE_TO_(uint64_t, hit->arg[0]) != at_uid_get(&uid)) {
		wrong++;
		return;
	}
	for (unsigned int k = 1; k < hit->nargs; k++) {
		/* 0 stands for the text. */
		const int64_t want = wanted[i].arg[k - 1] ? wanted[i].arg[k - 1] :
			TRACE_TO_(int64_t, TRACE_ADDRESS_(text));

		if (hit->arg[k] != want) {
			printf("%s: argument %u of \"%s\" is %lld\n", hit->site->name, k,
			       hit->site->args, TRACE_TO_(long long, hit->arg[k]));
			wrong++;
		}
	}
}

__attribute__((noinline)) static void widths(uint64_t id, signed char c, unsigned char uc, short s,
					     unsigned short us, int i, unsigned int u, long l)
{
	TRACE_PROBE(matrix, widths, id, c, uc, s, us, i, u, l);
}

static void run(void)
{
	widths(at_uid_get(&uid), -5, 250, -300, 65000, -70000, 4000000000u, -5000000000);
	shared_probe(at_uid_get(&uid), TRACE_TO_(short, -1));
	other_probes(at_uid_get(&uid), text);
	library_probes(at_uid_get(&uid), text);
#ifdef __cplusplus
	/* The temporary lives until the statement is over. */
	TRACE_PROBE(matrix, plain, at_uid_get(&uid), std::string(100, 'x').append("y").c_str(), 0L);
#else
	TRACE_PROBE(matrix, plain, at_uid_get(&uid), "", 0L);
#endif
}

int main(void)
{
	usdt_read(NULL);
	usdt_read("libprobes");
	run();
	usdt_attach("matrix", NULL, on_hit);
	usdt_attach("library", NULL, on_hit);
	run();
	usdt_detach("matrix", NULL);
	usdt_detach("library", NULL);
	run();
	/* The last probe of run() is not in wanted[], so on_hit() counts it as wrong. */
	if (nr_hits != 7 || wrong != 1 || usdt_strange) {
		printf("%u hits, %d wrong, %u strange\n", nr_hits, wrong, usdt_strange);
		return 1;
	}
	return 0;
}
