// SPDX-License-Identifier: GPL-2.0-or-later
/* Explains an operation as JSON */
#include <inttypes.h>
#include <string.h>

#include "explain.h"
#include "id.h"
#include "fxt/print.h"
#include "joined.h"
#include "parties.h"
#include "reasons.h"

static void json_id(FILE *f, const struct analysis_id *id)
{
	char number[ID_TEXT];

	fputc('{', f);
	fxt_print_json_member(f, "category", id->category);
	fputc(',', f);
	fxt_print_json_member(f, "name", id->name);
	fputc(',', f);
	fxt_print_json_member(f, "id", id_text(id, number));
	fprintf(f, ",\"pid\":%" PRIu32 "}", id->pid);
}

static void json_thread(FILE *f, const struct analysis_thread *t)
{
	fprintf(f, "{\"tid\":%" PRIu32 ",\"pid\":%" PRIu32 ",", t->tid, t->pid);
	fxt_print_json_member(f, "name", t->name);
	fputc('}', f);
}

/* Prints what a blocked thread is in. */
static void json_place(FILE *f, const struct analysis_interval *row)
{
	if (!row->in[0])
		return;
	fputc(',', f);
	fxt_print_json_member(f, "blocked_in", reason_of(row));
	if (!strcmp(row->in, ANALYSIS_PAGE_FAULT))
		return;
	fputc(',', f);
	fxt_print_json_member(f, "syscall", row->in);
	if (row->has_argument)
		fprintf(f, ",\"syscall_argument\":\"0x%" PRIx64 "\"", row->argument);
	if (!reason_file(row)[0])
		return;
	fputc(',', f);
	fxt_print_json_member(f, "file", reason_file(row));
}

/* Prints the quota that a runnable thread may have waited for. */
static void json_throttling(FILE *f, const struct analysis_interval *row, uint64_t ns)
{
	if (!row->cgroup)
		return;
	fputc(',', f);
	fxt_print_json_member(f, "throttled_cgroup", row->cgroup);
	fprintf(f, ",\"throttled_ns\":%" PRIu64, ns);
}

/* Prints the members that rows and parties have in common. */
static void json_row(FILE *f, const struct analysis_interval *row)
{
	static const char *const kinds[] = {
		[ANALYSIS_OTHER_THREAD] = "thread", [ANALYSIS_OTHER_IDLE] = "idle",
		[ANALYSIS_OTHER_INTERRUPT] = "interrupt", [ANALYSIS_OTHER_HIDDEN] = "hidden",
	};

	fprintf(f, "\"state\":\"%s\"", analysis_state_name(row->state));
	if (row->reason)
		fprintf(f, ",\"reason\":\"%s\"", analysis_reason_name(row->reason));
	json_place(f, row);
	if (row->thread) {
		fputs(",\"thread\":", f);
		json_thread(f, row->thread);
	}
	if (row->duration[0]) {
		fputc(',', f);
		fxt_print_json_member(f, "duration", row->duration);
	}
	if (row->other_kind)
		fprintf(f, ",\"other_kind\":\"%s\"", kinds[row->other_kind]);
	if (row->other) {
		fputs(",\"other\":", f);
		json_thread(f, row->other);
	}
	if (row->part)
		fputs(",\"other_is_part\":true", f);
}

static void json_interval(FILE *f, const struct analysis_interval *row)
{
	fprintf(f, "{\"from_ns\":%" PRIu64 ",\"to_ns\":%" PRIu64 ",", row->from, row->to);
	json_row(f, row);
	json_throttling(f, row, row->throttled_ns);
	if (row->inferred)
		fputs(",\"inferred\":true", f);
	if (row->other_id) {
		fputs(",\"other_operation\":", f);
		json_id(f, row->other_id);
	}
	fputc('}', f);
}

static void json_rows(FILE *f, const char *key, const struct analysis_interval *rows, size_t nr)
{
	fprintf(f, ",\"%s\":[", key);
	for (size_t i = 0; i < nr; i++) {
		if (i)
			fputc(',', f);
		json_interval(f, &rows[i]);
	}
	fputc(']', f);
}

static void json_parties(FILE *f, const struct analysis_operation *op)
{
	struct parties parties = { 0 };
	const char *comma = "";

	fputs(",\"parties\":[", f);
	for (int s = 0; s < ANALYSIS_STATES; s++) {
		if (parties_of(op, s, &parties))
			continue;
		for (size_t i = 0; i < parties.nr; i++) {
			const struct party *p = &parties.of[i];
			size_t nr = p->nr_ids < PARTY_IDS_MAX ? p->nr_ids : PARTY_IDS_MAX;

			fprintf(f, "%s{\"ns\":%" PRIu64 ",", comma, p->ns);
			comma = ",";
			json_row(f, &p->row);
			json_throttling(f, &p->row, p->throttled_ns);
			if (nr) {
				fputs(",\"other_operations\":[", f);
				for (size_t k = 0; k < nr; k++) {
					if (k)
						fputc(',', f);
					json_id(f, p->ids[k].id);
				}
				fprintf(f, "],\"other_operations_count\":%zu", p->nr_ids);
			}
			fputc('}', f);
		}
	}
	fputc(']', f);
	parties_free(&parties);
}

static void json_joined(FILE *f, const struct joined *joined, const struct analysis_id *id)
{
	size_t nr;
	const struct joined_event *events = joined_of(joined, id, &nr);

	if (!nr)
		return;
	fputs(",\"kernel_events\":[", f);
	for (size_t i = 0; i < nr; i++)
		fprintf(f, "%s%s", i ? "," : "", events[i].json);
	fputc(']', f);
}

/* Prints what @op, which did not end, was doing when the trace ended. */
static void json_end(FILE *f, const struct analysis_operation *op)
{
	if (op->nr_intervals) {
		fputs(",\"last\":", f);
		json_interval(f, &op->intervals[op->nr_intervals - 1]);
	}
	if (op->open_part) {
		fputs(",\"open_part\":", f);
		json_id(f, op->open_part);
	}
}

void explain_json(FILE *f, const struct analysis_operation *op, bool all,
		  const struct joined *joined)
{
	char number[ID_TEXT];

	fputc('{', f);
	fxt_print_json_member(f, "provider", op->id.provider);
	fprintf(f, ",\"pid\":%" PRIu32 ",", op->id.pid);
	fxt_print_json_member(f, "category", op->id.category);
	fputc(',', f);
	fxt_print_json_member(f, "name", op->id.name);
	fputc(',', f);
	fxt_print_json_member(f, "id", id_text(&op->id, number));
	fprintf(f, ",\"complete\":%s,\"begin_ns\":%" PRIu64 ",\"latency_ns\":%" PRIu64,
		op->complete ? "true" : "false", op->begin, op->end - op->begin);
	for (int s = 0; s < ANALYSIS_STATES; s++)
		fprintf(f, ",\"%s_ns\":%" PRIu64, analysis_state_name(s), op->ns[s]);
	fputs(",\"threads\":[", f);
	for (size_t i = 0; i < op->nr_threads; i++) {
		if (i)
			fputc(',', f);
		json_thread(f, op->threads[i]);
	}
	fputc(']', f);
	json_parties(f, op);
	if (!op->complete)
		json_end(f, op);
	if (all) {
		json_rows(f, "intervals", op->intervals, op->nr_intervals);
		json_rows(f, "critical_path", op->path, op->nr_path);
	}
	if (joined)
		json_joined(f, joined, &op->id);
	fputs("}\n", f);
}
