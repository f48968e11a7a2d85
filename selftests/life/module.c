// SPDX-License-Identifier: GPL-2.0
/*
 * module [PART]: runs the cases under a session of the module
 *
 * The session's accounting must agree with the records of each process. PART selects cases by a
 * part of their names.
 */
#include <unistd.h>

#include "ledger.h"
#include "life.h"

static const char *const categories[] = { "life", "plugin" };
static const struct at_session_options opts = {
	.size = sizeof(opts), .name = "life", .mode = ASYNCTRACE_MODE_ONESHOT, .ring_size = 8 << 20,
	.nr_categories = 2, .categories = categories,
};

/* Returns the number of threads of all providers with this process id. */
static unsigned int threads_of(const struct ledger *l, pid_t pid)
{
	unsigned int n = 0;

	for (uint32_t i = 0; i < l->rd.nr_providers; i++)
		for (unsigned int k = 0; k < RD_THREADS; k++)
			n += l->rd.provider[i]->pid == pid && l->rd.provider[i]->tid[k];
	return n;
}

static void run_case(struct at_ctl *ctl, const struct life_case *c)
{
	static struct ledger l;

	ledger_open(&l, ctl, &opts);
	life_run(c, true);
	ledger_end(&l);
	for (unsigned int i = 0; i < life->processes && !life->skipped[0]; i++) {
		const struct rd_ring sum = ledger_of(&l, life->process[i].pid);

		life_compare(i, sum.delivered, sum.overwritten + sum.dropped);
	}
	if (l.rd.malformed)
		life_fail("malformed: %s", l.rd.first);
	if (life->threads && threads_of(&l, life->process[0].pid) != life->threads)
		life_fail("%u threads in the trace, not %u", threads_of(&l, life->process[0].pid),
			  life->threads);
	ledger_close(&l);
	rmdir(life->dir);
	life_report(c);
}

static void run_cases(struct at_ctl *ctl, const struct life_case *cases, unsigned int n,
		      const char *part)
{
	for (unsigned int i = 0; i < n; i++)
		if (life_selected(&cases[i], true, part))
			run_case(ctl, &cases[i]);
}

int main(int argc, char **argv)
{
	const char *part = argc > 1 ? argv[1] : NULL;
	struct at_ctl *ctl;

	life_init(argv);
	if (at_ctl_open(&ctl))
		ktap_bail("%s", at_ctl_error(ctl));
	run_cases(ctl, life_process_cases, life_nr_process_cases, part);
	run_cases(ctl, life_thread_cases, life_nr_thread_cases, part);
	at_ctl_close(ctl);
	return life_exit();
}
