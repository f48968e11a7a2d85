// SPDX-License-Identifier: GPL-2.0-or-later
/* asynctrace record: the summary of cgroups that were throttled */
#include <string.h>

#include "record/record.h"
#include "tool.h"

void record_throttling_json(const struct recorder *r, struct json_doc *j)
{
	const struct throttling *t = &r->throttling;
	struct quota_sums s;

	doc_array(j, "cgroups");
	for (size_t i = 0; t->quotas && quotas_sums(t->quotas, i, &s); i++) {
		doc_object(j, NULL);
		doc_string(j, "path", s.path);
		doc_number(j, "throttled_ns", s.throttled_ns);
		doc_number(j, "throttled_periods", s.periods);
		doc_number(j, "throttled_periods_before", s.before);
		if (s.err)
			doc_string(j, "error", strerror(-s.err));
		doc_close(j);
	}
	doc_close(j);
	doc_number(j, "throttling_left_out", t->left_out);
}

void record_throttling_summary(const struct recorder *r)
{
	const struct throttling *t = &r->throttling;
	struct quota_sums s;

	for (size_t i = 0; t->quotas && quotas_sums(t->quotas, i, &s); i++) {
		if (s.periods || s.throttled_ns)
			fprintf(stderr, "  The cgroup %s had used up its CPU quota in %s period%s, and was throttled for %.1f ms, summed over CPUs.\n",
				tool_text(s.path), tool_count(s.periods), s.periods == 1 ? "" : "s",
				s.throttled_ns / 1e6);
		if (r->opt.snapshot && s.before)
			fprintf(stderr, "  The cgroup %s had used up its CPU quota in %s earlier period%s; the kernel does not tell when, so the snapshot does not have them.\n",
				tool_text(s.path), tool_count(s.before), s.before == 1 ? "" : "s");
		if (s.err)
			fprintf(stderr, "  The cgroup %s has a CPU quota, but its cpu.stat cannot be read, so the trace does not tell when it was throttled: %s\n",
				tool_text(s.path), strerror(-s.err));
	}
	if (t->left_out)
		fprintf(stderr, "  %s measurements of throttling by CPU quotas are not in the trace.\n",
			tool_count(t->left_out));
}
