// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of run.h that are the same for both back ends
 */
#include "run.h"

void run_close(struct run *run)
{
	rd_close(&run->rd);
	nu_seen_free(&run->seen);
}

void run_check(const struct run *run)
{
	const struct rd_ring sum = rd_sum(&run->rd, ASYNCTRACE_CHUNK_EVENTS, 0);

	ktap_check(!run->rd.malformed, "%llu things malformed: %s",
		   (unsigned long long)run->rd.malformed, run->rd.first);
	ktap_check(!run->seen.spoiled, "%llu events spoiled: %s",
		   (unsigned long long)run->seen.spoiled, run->seen.first);
	ktap_check(!sum.backwards, "time goes backwards in a ring %llu times",
		   (unsigned long long)sum.backwards);
	ktap_check(sum.before + sum.parsed == sum.delivered, "%llu delivered, %llu found",
		   (unsigned long long)sum.delivered,
		   (unsigned long long)(sum.before + sum.parsed));
	ktap_check(sum.last, "the reader was not told the end of each ring");
}

uint64_t run_total(const struct run *run)
{
	const struct rd_ring sum = rd_sum(&run->rd, ASYNCTRACE_CHUNK_EVENTS, 0);

	return sum.delivered + sum.overwritten + sum.cleared + sum.dropped;
}
