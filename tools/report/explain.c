// SPDX-License-Identifier: GPL-2.0-or-later
/* Explains an operation as text: the sentence, the account and the critical path */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "id.h"
#include "fxt/print.h"
#include "joined.h"
#include "parties.h"
#include "reasons.h"
#include "tool.h"

/* --- times ---------------------------------------------------------------------- */

/* A unit of time. The sentence uses the one that fits the latency, except for throttled times. */
struct unit {
	const char *name;
	double ns;
};

static struct unit unit_of(uint64_t ns)
{
	if (ns >= 10000000000)
		return (struct unit){ "s", 1e9 };
	if (ns >= 1000000)
		return (struct unit){ "ms", 1e6 };
	if (ns >= 1000)
		return (struct unit){ "us", 1e3 };
	return (struct unit){ "ns", 1 };
}

/* Prints one digit after the point, or up to three if the value would otherwise be 0.0. */
static void print_ns(FILE *f, uint64_t ns, struct unit u)
{
	double x = ns / u.ns;

	if (u.ns == 1)
		fprintf(f, "%" PRIu64, ns);
	else if (x >= 0.095)
		fprintf(f, "%.1f", x);
	else
		fprintf(f, "%.*f", x >= 0.0095 ? 2 : 3, x);
}

/* --- names ------------------------------------------------------------------------ */

static void print_thread(FILE *f, const struct analysis_thread *t)
{
	fprintf(f, "%s/%" PRIu32, t->name[0] ? tool_text(t->name) : "thread", t->tid);
}

/* Prints the id without the name of the operation. */
static void print_number(FILE *f, const struct analysis_id *id)
{
	char number[ID_TEXT];

	fprintf(f, id->key ? "\"%s\"" : "%s", tool_text(id_text(id, number)));
}

static void print_id(FILE *f, const struct analysis_id *id)
{
	fprintf(f, "%s ", tool_text(id->name));
	print_number(f, id);
}

/* Prints ids as in "request 0x1, 0x2 and 3 more". */
static void print_ids(FILE *f, const struct party *p)
{
	size_t nr = p->nr_ids < PARTY_IDS_MAX ? p->nr_ids : PARTY_IDS_MAX;

	print_id(f, p->ids[0].id);
	for (size_t i = 1; i < nr; i++) {
		fputs(i + 1 == p->nr_ids ? " and " : ", ", f);
		if (strcmp(p->ids[i].id->name, p->ids[i - 1].id->name))
			fprintf(f, "%s ", tool_text(p->ids[i].id->name));
		print_number(f, p->ids[i].id);
	}
	if (p->nr_ids > nr)
		fprintf(f, " and %zu more", p->nr_ids - nr);
}

static void print_other(FILE *f, const struct party *p)
{
	switch (p->row.other_kind) {
	case ANALYSIS_OTHER_THREAD:
		print_thread(f, p->row.other);
		if (p->nr_ids) {
			fputs(", which worked on ", f);
			print_ids(f, p);
		}
		break;
	case ANALYSIS_OTHER_INTERRUPT:
		fputs("an interrupt", f);
		break;
	case ANALYSIS_OTHER_HIDDEN:
		fputs("a task that the trace does not show", f);
		break;
	default:
		break;
	}
}

/* Prints where the blocked thread of @row is: "in fsync(7) (iowait) within flush " */
static void print_place(FILE *f, const struct analysis_interval *row)
{
	if (row->in[0]) {
		fputs("in ", f);
		reason_print_call(f, row);
		fputs(row->reason == ANALYSIS_IOWAIT ? " (iowait) " : " ", f);
	} else if (row->reason == ANALYSIS_IOWAIT) {
		fputs("in iowait ", f);
	}
	if (row->duration[0])
		fprintf(f, "%s %s ", row->in[0] || row->reason == ANALYSIS_IOWAIT ? "within" : "in",
			tool_text(row->duration));
}

/*
 * Prints why the thread of @row, which is runnable, left its CPU, if the thread gave it up
 * itself.
 */
static void print_yield(FILE *f, const struct analysis_interval *row)
{
	if (row->reason == ANALYSIS_YIELDED)
		fputs("after sched_yield, ", f);
}

/* Prints the quota that a runnable thread may have waited for. */
static void print_throttling(FILE *f, const struct party *p)
{
	const struct unit u = unit_of(p->throttled_ns);

	if (!p->row.cgroup)
		return;
	fputs("; up to ", f);
	print_ns(f, p->throttled_ns, u);
	fprintf(f, " %s because of the CPU quota of cgroup %s", u.name, tool_text(p->row.cgroup));
}

/*
 * Prints the cause of a part of the time, such as "while disk/147 worked on ..." or "behind
 * ab/160".
 */
static void print_party(FILE *f, const struct party *p)
{
	const struct analysis_interval *row = &p->row;

	switch (row->state) {
	case ANALYSIS_QUEUED:
		if (row->thread && p->nr_ids) {
			fputs("while ", f);
			print_thread(f, row->thread);
			fputs(" worked on ", f);
			print_ids(f, p);
			if (row->part)
				fputs(p->nr_ids > 1 ? ", parts of this operation" :
				      ", a part of this operation", f);
		} else if (row->thread) {
			fputs("until ", f);
			print_thread(f, row->thread);
			fputs(" took it up", f);
		}
		break;
	case ANALYSIS_BLOCKED:
		print_place(f, row);
		fputs("on ", f);
		print_thread(f, row->thread);
		if (row->other_kind != ANALYSIS_OTHER_NONE) {
			fputs(", woken by ", f);
			print_other(f, p);
		}
		break;
	case ANALYSIS_RUNNABLE:
		print_yield(f, row);
		if (row->other_kind == ANALYSIS_OTHER_IDLE) {
			fputs("until the idle CPU took ", f);
			print_thread(f, row->thread);
		} else if (row->other_kind != ANALYSIS_OTHER_NONE) {
			fputs("behind ", f);
			print_other(f, p);
		} else {
			fputs("on ", f);
			print_thread(f, row->thread);
		}
		print_throttling(f, p);
		break;
	case ANALYSIS_RUNNING:
		fputs("on ", f);
		print_thread(f, row->thread);
		break;
	default:
		if (row->thread) {
			fputs("on ", f);
			print_thread(f, row->thread);
			fputs(": ", f);
		}
		fputs(analysis_reason_name(row->reason), f);
	}
}

/* --- the sentence ---------------------------------------------------------------- */

static bool says_something(const struct party *p)
{
	return p->row.state != ANALYSIS_QUEUED || p->row.thread;
}

/*
 * Returns a copy of the first party, for which the operation waited longest. Sets its cgroup to
 * that of the party that was throttled longest, and its throttled time to the sum of this cgroup.
 */
static struct party longest_party(const struct parties *all)
{
	const struct party *with = &all->of[0];
	struct party p = all->of[0];

	for (size_t i = 1; i < all->nr; i++)
		if (all->of[i].throttled_ns > with->throttled_ns)
			with = &all->of[i];
	p.row.cgroup = with->row.cgroup;
	p.throttled_ns = 0;
	/* The analysis stores each name once, so pointers can be compared. */
	for (size_t i = 0; i < all->nr; i++)
		if (all->of[i].row.cgroup == p.row.cgroup)
			p.throttled_ns += all->of[i].throttled_ns;
	return p;
}

static void print_state(FILE *f, const struct analysis_operation *op, enum analysis_state state,
			struct unit u)
{
	struct parties parties = { 0 };
	struct party longest;

	print_ns(f, op->ns[state], u);
	fprintf(f, " %s", analysis_state_name(state));
	/* An operation is expected to run on its own threads, so they are not named. */
	if (state == ANALYSIS_RUNNING || parties_of(op, state, &parties) || !parties.nr ||
	    !says_something(&parties.of[0]))
		goto out;
	fputs(" (", f);
	if (parties.of[0].ns != op->ns[state]) {
		print_ns(f, parties.of[0].ns, u);
		/* Without a thread, the cause of unknown time is a sentence of its own. */
		fputs(state == ANALYSIS_UNKNOWN && !parties.of[0].row.thread ?
		      " of it: " : " of it ", f);
	}
	longest = longest_party(&parties);
	print_party(f, &longest);
	fputc(')', f);
out:
	parties_free(&parties);
}

void explain_sentence(FILE *f, const struct analysis_operation *op)
{
	struct unit u = unit_of(op->end - op->begin);
	bool done[ANALYSIS_STATES] = { 0 };
	const char *before = ": ";

	print_id(f, &op->id);
	fputs(op->complete ? " took " : " had not ended after ", f);
	print_ns(f, op->end - op->begin, u);
	fprintf(f, " %s", u.name);
	/* Print the states in order of their time, the longest first. */
	for (int i = 0; i < ANALYSIS_STATES; i++) {
		int longest = -1;

		for (int s = 0; s < ANALYSIS_STATES; s++)
			if (!done[s] && op->ns[s] && (longest < 0 || op->ns[s] > op->ns[longest]))
				longest = s;
		if (longest < 0)
			break;
		done[longest] = true;
		fputs(before, f);
		before = ", ";
		print_state(f, op, longest, u);
	}
	fputs(".\n", f);
}

/* Prints the part of the operation that is open. @over: the trace has ended */
static void print_open_part(FILE *f, const struct analysis_operation *op, const char *word,
			    bool over)
{
	fprintf(f, ", %s its part ", word);
	print_id(f, op->open_part);
	fprintf(f, " %s open", over ? "was" : "is");
}

static void print_last(FILE *f, const struct analysis_operation *op, bool over)
{
	const struct analysis_interval *last = op->intervals + op->nr_intervals - 1;
	const struct unit u = unit_of(op->end - op->begin);
	struct party p;

	if (!op->nr_intervals)
		return;
	p = (struct party){
		.row = *last, .nr_ids = last->other_id ? 1 : 0, .throttled_ns = last->throttled_ns,
	};
	p.ids[0].id = last->other_id;
	if (last->state == ANALYSIS_UNKNOWN)
		fputs(over ? "When the trace ended, its state had been" : "Its state has been", f);
	else
		fputs(over ? "When the trace ended, it had been" : "It has been", f);
	fprintf(f, " %s for ", analysis_state_name(last->state));
	print_ns(f, last->to - last->from, u);
	fprintf(f, " %s", u.name);
	if (last->state == ANALYSIS_QUEUED && !last->thread) {
		fprintf(f, ": no thread %s on it", over ? "worked" : "works");
		if (op->open_part)
			print_open_part(f, op, "but", over);
	} else {
		fputs(": ", f);
		print_party(f, &p);
		/* Do not name a part twice. */
		if (op->open_part && !(last->part && last->other_id->id == op->open_part->id))
			print_open_part(f, op, "and", over);
	}
	fputs(".\n", f);
}

void explain_now(FILE *f, const struct analysis_operation *op)
{
	print_last(f, op, false);
}

void explain_end(FILE *f, const struct analysis_operation *op)
{
	print_last(f, op, true);
}

/* --- tables ------------------------------------------------------------------------- */

void explain_account(FILE *f, const struct analysis_operation *op)
{
	static const enum analysis_state order[] = {
		ANALYSIS_RUNNING, ANALYSIS_RUNNABLE, ANALYSIS_BLOCKED, ANALYSIS_QUEUED,
		ANALYSIS_UNKNOWN,
	};
	double all = op->end - op->begin;
	struct parties parties = { 0 };

	fprintf(f, "  %-9s %12s %6s\n", "state", "ms", "%");
	for (size_t i = 0; i < ANALYSIS_STATES; i++) {
		enum analysis_state s = order[i];

		if (!op->ns[s] && s == ANALYSIS_UNKNOWN)
			continue;
		fprintf(f, "  %-9s %12.3f %6.1f\n", analysis_state_name(s), op->ns[s] / 1e6,
			all ? 100 * (op->ns[s] / all) : 0);
		if (parties_of(op, s, &parties))
			continue;
		for (size_t k = 0; k < parties.nr && k < 5; k++) {
			if (!says_something(&parties.of[k]))
				continue;
			fprintf(f, "  %-9s %12.3f        ", "", parties.of[k].ns / 1e6);
			print_party(f, &parties.of[k]);
			fputc('\n', f);
		}
		if (parties.nr > 5) {
			uint64_t rest = 0;

			for (size_t k = 5; k < parties.nr; k++)
				rest += parties.of[k].ns;
			fprintf(f, "  %-9s %12.3f        %zu more\n", "", rest / 1e6, parties.nr - 5);
		}
	}
	fprintf(f, "  %-9s %12.3f\n", "together", all / 1e6);
	parties_free(&parties);
}

void explain_path(FILE *f, const struct analysis_operation *op)
{
	fprintf(f, "  %12s %12s  %-9s what\n", "at ms", "ms", "state");
	for (size_t i = 0; i < op->nr_path; i++) {
		const struct analysis_interval *row = &op->path[i];
		struct party p = {
			.row = *row, .ns = row->to - row->from, .throttled_ns = row->throttled_ns,
		};

		if (row->other_id) {
			p.ids[0].id = row->other_id;
			p.nr_ids = 1;
		}
		fprintf(f, "  %12.3f %12.3f  %-9s ", (row->from - op->begin) / 1e6,
			(row->to - row->from) / 1e6, analysis_state_name(row->state));
		print_party(f, &p);
		fputc('\n', f);
	}
}

/* Limit of the printed events of one operation. Further events are only counted. */
#define JOINED_LINES	20

void explain_joined(FILE *f, const struct analysis_operation *op, const struct joined *joined)
{
	size_t nr;
	const struct joined_event *events = joined_of(joined, &op->id, &nr);

	if (!nr)
		return;
	fputs("\nEvents of the kernel that belong to it:\n\n", f);
	fprintf(f, "  %12s  what\n", "at ms");
	for (size_t i = 0; i < nr && i < JOINED_LINES; i++)
		fprintf(f, "  %12.3f  %s\n", ((double)events[i].ns - (double)op->begin) / 1e6,
			events[i].text);
	if (nr > JOINED_LINES)
		fprintf(f, "  %12s  %zu more: asynctrace report FILE tree ID lists them\n", "",
			nr - JOINED_LINES);
}
