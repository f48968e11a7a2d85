// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * asynctrace record --cpu-time: checks the option, decides when CPU times are final, and sums up
 *
 * The CPU time of a duration is final when all switches until the duration's end have been read. A
 * round of reading all rings gets all records from before the round began. tools/cputime computes
 * the times.
 */
#include <inttypes.h>
#include <time.h>

#include "record/record.h"
#include "tool.h"

/*
 * A round ends when the rings are empty, or after this time: by then, more has been read than the
 * rings hold.
 */
#define ROUND_NS	UINT64_C(1000000000)

/*
 * Times of records may differ from CLOCK_BOOTTIME by 0.1 ms, because the module corrects its clock
 * only beyond that. The margin is ten times as long.
 */
#define MARGIN_NS	1000000

static uint64_t boottime(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
}

bool record_check_cpu_time(const struct recorder *r)
{
	if (!r->out.cpu_time || r->opt.args.sched != ASYNCTRACE_SCHED_OFF)
		return true;
	tool_error("--cpu-time needs scheduling: leave out -s off");
	return false;
}

static int copy_missed(const struct at_session_info *s, void *arg)
{
	*(uint64_t *)arg = s->threads_missed;
	return 0;
}

static void find_missed(struct recorder *r, struct trace_out *out)
{
	uint64_t missed = 1;

	/* An error means that the session is gone: assume then that it has missed threads. */
	at_session_get(r->ctl, r->session, copy_missed, &missed);
	out->missed |= missed;
}

void record_begin_round(struct recorder *r)
{
	if (r->out.cpu_time && !r->round)
		r->round = boottime();
}

int record_end_round(struct recorder *r, bool empty)
{
	const uint64_t begin = r->round;

	if (!begin || (!empty && boottime() - begin < ROUND_NS))
		return 0;
	r->round = 0;
	find_missed(r, &r->out);
	return trace_out_settle(&r->out, begin - MARGIN_NS);
}

void record_finish_cpu_time(struct recorder *r, struct trace_out *out)
{
	if (out->cpu_time)
		find_missed(r, out);
}

void record_cpu_time_json(const struct recorder *r, struct json_doc *j)
{
	if (!r->out.cputime)
		return;
	doc_number(j, "cpu_times", cputime_known(r->out.cputime));
	doc_number(j, "cpu_times_unknown", cputime_unknown(r->out.cputime));
}

void record_cpu_time_summary(const struct recorder *r)
{
	const uint64_t unknown = r->out.cputime ? cputime_unknown(r->out.cputime) : 0;

	if (unknown)
		fprintf(stderr, "  The CPU time of %s of %s durations is not known, because context switches in them are missing.\n",
			tool_count(unknown), tool_count(unknown + cputime_known(r->out.cputime)));
}
