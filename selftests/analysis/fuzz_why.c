// SPDX-License-Identifier: GPL-2.0
/* Files that are nearly traces: reader, engine and report live, and end. */
#include <sys/mman.h>
#include <unistd.h>

#include "../format/fuzz.h"
#include "analysis/analysis.h"
#include "report/explain.h"

static FILE *null;

static struct words random_file(void)
{
	struct words b, chunk = { 0 };
	struct stream s;

	stream_simple(&s);
	give_name(&s, 200, 200, "foreign");
	for (int i = 0; i < 20; i++) {
		for (uint64_t n = rnd_below(20); n; n--) {
			put_event(&chunk, &(struct event){
				rnd_below(11), s.ticks, 1, IDX(1), IDX(2), rnd_below(4), 1,
				{ ARG_U64(IDX(3), rnd_below(4)) } });
			s.ticks += rnd_below(3);
		}
		s.ticks += rnd_below(100);
		if (rnd_chance(20))
			lose(&s, 1, 0, 1, 1);
		give_events(&s, 1, 0, &chunk);
		for (uint64_t n = rnd_below(10); n; n--) {
			put_switch(&chunk, 1, s.ticks++, 101, 200, rnd_below(4));
			put_wakeup(&chunk, 1, s.ticks++, 101, 200);
			put_switch(&chunk, 1, s.ticks++, 200, 101, rnd_below(4));
		}
		give_sched(&s, 1, &chunk);
	}
	b = fuzz_file(&s);
	words_free(&chunk);
	return b;
}

static int on_operation(void *arg, const struct analysis_operation *op)
{
	uint64_t sum = 0;

	for (int i = 0; i < ANALYSIS_STATES; i++)
		sum += op->ns[i];
	fuzz_assert(op->end >= op->begin && sum == op->end - op->begin);
	explain_sentence(null, op);
	explain_account(null, op);
	explain_path(null, op);
	explain_json(null, op, true);
	return 0;
}

static int on_thread(void *arg, const struct analysis_thread_row *row)
{
	uint64_t sum = row->exited_ns;

	for (int i = 0; i < ANALYSIS_STATES; i++)
		sum += row->ns[i];
	fuzz_assert(row->thread && sum == row->to - row->from);
	return 0;
}

static int on_wakeup(void *arg, const struct analysis_wakeup *w)
{
	fuzz_assert(w->woken && !w->waker == (w->waker_kind != ANALYSIS_OTHER_THREAD));
	return 0;
}

static int on_wait(void *arg, const struct analysis_wait *wait)
{
	uint64_t at = wait->from;

	for (size_t i = 0; i < wait->nr_parts; i++) {
		fuzz_assert(wait->parts[i].from == at && wait->parts[i].to > at);
		at = wait->parts[i].to;
	}
	fuzz_assert(at == wait->to);
	return 0;
}

static int on_orphan(void *arg, const struct analysis_orphan *o)
{
	fuzz_assert(o->thread && o->id.name && o->id.category && analysis_orphan_name(o->kind));
	return 0;
}

static void one_round(void)
{
	static const struct analysis_pair pair = {
		.name = "work:work", .start = "work", .done = "cat/work", .key = "n",
	};
	struct analysis_options opts = {
		.window = rnd_chance(50) ? 0 : 1 + rnd_below(100),
		.history = rnd_chance(50) ? 0 : 1 + rnd_below(1000),
		.totals_only = rnd_chance(10), .pair = rnd_chance(30) ? &pair : NULL,
	};
	struct analysis_sink sink = {
		.operation = on_operation, .thread = rnd_chance(50) ? on_thread : NULL,
		.wakeup = rnd_chance(50) ? on_wakeup : NULL, .wait = rnd_chance(50) ? on_wait : NULL,
		.orphan = rnd_chance(50) ? on_orphan : NULL,
	};
	struct words b = random_file();
	int fd = memfd_create("fuzz", MFD_CLOEXEC), err;
	struct fxt_record rec;
	struct fxt_reader *r;
	struct analysis *a;
	char path[32];

	if (!null)
		null = fopen("/dev/null", "we");
	fuzz_spoil(&b);
	fuzz_assert(write(fd, b.w, b.nr * 8 - rnd_below(9)) > 0);
	words_free(&b);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = fxt_open(path, &err);
	fuzz_assert(r);
	a = analysis_new(&opts, &sink);
	fuzz_assert(a);
	while (fxt_next(r, &rec) > 0)
		fuzz_assert(!analysis_record(a, &rec));
	fuzz_assert(!analysis_finish(a));
	analysis_free(a);
	fxt_close(r);
	close(fd);
}

int main(int argc, char **argv)
{
	return fuzz_main(argc, argv, one_round);
}
