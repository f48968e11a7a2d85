// SPDX-License-Identifier: GPL-2.0
/*
 * A session in several files: each is whole, and together they have what one file would have,
 * record by record
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stream.h"

#define PARTS_MAX	16

/* --- a session, chunk by chunk, that can be given repeatedly -------------------------- */

struct kept {
	struct asynctrace_chunk head;
	void *payload;
};

static struct kept kept[2000];
static size_t nr_kept;

static void keep(struct stream *s, unsigned int kind, uint32_t provider, uint32_t ring,
		 const void *payload, size_t bytes, uint64_t records)
{
	struct kept *k = &kept[nr_kept++];

	assert_true(nr_kept <= sizeof(kept) / sizeof(kept[0]));
	k->head = (struct asynctrace_chunk){
		.size = sizeof(k->head), .kind = kind, .provider = provider, .ring = ring,
		.bytes = bytes, .records = records, .ticks = s->ticks, .boottime = s->ticks,
		.dropped = s->rings[provider][ring].dropped,
	};
	k->payload = malloc(bytes + 1);
	if (bytes)
		memcpy(k->payload, payload, bytes);
}

static void keep_words(struct stream *s, unsigned int kind, uint32_t provider, uint32_t ring,
		       struct words *b)
{
	keep(s, kind, provider, ring, b->w, b->nr * 8, b->records);
	b->nr = 0;
	b->records = 0;
}

static void drop_kept(void)
{
	while (nr_kept)
		free(kept[--nr_kept].payload);
}

static void keep_clock(struct stream *s, unsigned int what)
{
	struct asynctrace_clock_pair p = {
		.ticks = s->ticks, .boottime = s->ticks, .realtime = 5 + s->ticks, .what = what,
	};

	keep(s, ASYNCTRACE_CHUNK_CLOCK, 0, 0, &p, sizeof(p), 0);
}

static void keep_provider(struct stream *s, uint32_t id, const char *name)
{
	struct asynctrace_provider_info i = { .id = id, .pid = 100 * id, .salt = id };
	struct words b = { 0 };

	snprintf(i.name, sizeof(i.name), "%s", name);
	keep(s, ASYNCTRACE_CHUNK_PROVIDER, id, 0, &i, sizeof(i), 0);
	for (uint32_t slot = 1; slot <= 4; slot++) {
		struct asynctrace_thread t = {
			.slot = slot, .pid = 100 * id, .tid = 100 * id + slot - 1,
		};

		/* The session's owner must not see the fourth thread. */
		if (slot == 4)
			t.tid = 0;
		snprintf(t.comm, sizeof(t.comm), "t%u.%u", id, slot);
		keep(s, ASYNCTRACE_CHUNK_THREADS, id, 0, &t, sizeof(t), 0);
	}
	put_string(&b, 1, "cat", 3);
	keep_words(s, ASYNCTRACE_CHUNK_STRINGS, id, 0, &b);
	words_free(&b);
}

/* Everything that a session may contain, in random order */
static void make_session(struct stream *s)
{
	uint64_t running[2] = { 0 };
	unsigned int strings = 1;
	struct words b = { 0 };

	memset(s, 0, sizeof(*s));
	s->ticks = 1000000;
	keep_clock(s, ASYNCTRACE_MOMENT_START);
	keep_provider(s, 1, "one");
	keep_provider(s, 2, "two");
	for (int i = 0; i < 150; i++) {
		uint32_t p = 1 + rnd_below(2), ring = rnd_below(2);

		switch (rnd_below(6)) {
		case 0:		/* names of records that follow, in any of the files */
			for (uint32_t id = 1; id <= 2; id++) {
				char text[32];
				int len = snprintf(text, sizeof(text), "name %u", strings);

				put_string(&b, strings + 1, text, len);
				keep_words(s, ASYNCTRACE_CHUNK_STRINGS, id, 0, &b);
			}
			strings++;
			break;
		case 1:
			keep_clock(s, 0);
			break;
		case 2:		/* switches between known and unknown threads */
			for (uint64_t n = rnd_below(20); n--; s->ticks += 5) {
				static const uint64_t tids[] = {
					0, 100, 101, 200, 202, 7000, 7001,
				};
				uint64_t to = tids[rnd_below(7)];

				/* Sometimes omit the switch before this one. */
				if (rnd_chance(10))
					running[ring] = tids[rnd_below(7)];
				put_switch(&b, ring, s->ticks, running[ring], to, 3);
				running[ring] = to;
			}
			keep_words(s, ASYNCTRACE_CHUNK_SCHED, 0, ring, &b);
			break;
		case 3:
			if (rnd_chance(30)) {
				struct asynctrace_task_name t = {
					.tid = 101, .pid = 100, .ticks = s->ticks,
				};

				snprintf(t.comm, sizeof(t.comm), "anew%d", i);
				keep(s, ASYNCTRACE_CHUNK_NAMES, 0, 0, &t, sizeof(t), 1);
			}
			if (rnd_chance(50))
				lose(s, p, ring, 0, rnd_below(3));
			/* fall through */
		default:
			for (uint64_t n = rnd_below(20); n--; s->ticks += 3) {
				uint64_t id = rnd();

				put_event(&b, &(struct event){
					ASYNCTRACE_FXT_ASYNC_BEGIN, s->ticks, 1 + rnd_below(4),
					IDX(1),
					IDX(1 + rnd_below(strings)), id, 0, { } });
				put_event(&b, &(struct event){
					ASYNCTRACE_FXT_DURATION, s->ticks + 1, 1 + rnd_below(4),
					IDX(1),
					TXT("inline"), s->ticks + 1, 0, { } });
			}
			s->ticks += 5;
			keep_words(s, ASYNCTRACE_CHUNK_EVENTS, p, ring, &b);
		}
		s->ticks += 10;
	}
	keep_clock(s, ASYNCTRACE_MOMENT_STOP);
	words_free(&b);
}

/* --- files --------------------------------------------------------------------------- */

struct parts {
	int fd[PARTS_MAX];
	size_t nr;
};

static struct at_compose_options options(struct parts *p)
{
	struct at_compose_options o = { .size = sizeof(o) };

	o.fd = memfd_create("part", MFD_CLOEXEC);
	assert_true(o.fd >= 0);
	p->fd[p->nr++] = o.fd;
	return o;
}

static void path_of(const struct parts *p, size_t i, char path[32])
{
	snprintf(path, 32, "/proc/self/fd/%d", p->fd[i]);
}

static void close_parts(struct parts *p)
{
	for (size_t i = 0; i < p->nr; i++)
		close(p->fd[i]);
}

/* Composes the kept chunks. A new file begins before @percent of them, chosen at random. */
static struct at_compose *compose(struct parts *p, unsigned int percent)
{
	struct at_compose_options o = options(p);
	struct at_compose *c = at_compose_new(&o);
	uint64_t written = 0, before;

	assert_non_null(c);
	for (size_t i = 0; i < nr_kept; i++) {
		if (i && p->nr < PARTS_MAX && rnd_chance(percent)) {
			o = options(p);
			assert_int_equal(at_compose_next(c, &o), 0);
		}
		assert_int_equal(at_compose_chunk(c, &kept[i].head, kept[i].payload), 0);
	}
	assert_int_equal(at_compose_finish(c), 0);
	before = at_compose_stats(c)->written;
	for (size_t i = 0; i < p->nr; i++)
		written += lseek(p->fd[i], 0, SEEK_END);
	assert_int_equal(before, written);
	assert_int_equal(at_compose_written(c), lseek(p->fd[p->nr - 1], 0, SEEK_END));
	return c;
}

/*
 * An iteration over the records of the session in all files, without the records that the composer
 * adds to each file
 */
struct walk {
	const struct parts *p;
	size_t i;
	bool open;
	struct file f;
};

static bool composers_own(const struct fxt_record *rec)
{
	const struct fxt_arg *inferred = fxt_arg(rec, "inferred");

	if (rec->kind == FXT_EVENT)
		return rec->provider == 1 && !fxt_text_is(&rec->name, "lost records");
	return (rec->kind != FXT_SWITCH && rec->kind != FXT_WAKEUP) || inferred;
}

static bool walk_next(struct walk *w)
{
	for (;;) {
		if (!w->open) {
			char path[32];

			if (w->i == w->p->nr)
				return false;
			path_of(w->p, w->i++, path);
			file_open(&w->f, path);
			w->open = true;
		}
		while (file_next(&w->f))
			if (!composers_own(&w->f.rec))
				return true;
		file_close(&w->f);
		w->open = false;
	}
}

static void same_text(const struct fxt_text *a, const struct fxt_text *b)
{
	assert_int_equal(a->len, b->len);
	assert_memory_equal(a->s, b->s, a->len);
}

static void same_record(const struct fxt_record *a, const struct fxt_record *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->ns, b->ns);
	if (a->kind != FXT_EVENT) {
		assert_int_equal(a->cpu, b->cpu);
		assert_int_equal(a->in, b->in);
		assert_int_equal(a->out, b->out);
		return;
	}
	assert_int_equal(a->provider, b->provider);
	assert_int_equal(a->number, b->number);
	assert_int_equal(a->end_ns, b->end_ns);
	same_text(&a->category, &b->category);
	same_text(&a->name, &b->name);
	/* Skip the recorder's events: its threads for losses have other ids in each file. */
	if (a->provider != 1) {
		assert_int_equal(a->id, b->id);
		assert_int_equal(a->thread.tid, b->thread.tid);
		assert_int_equal(a->thread.pid, b->thread.pid);
	}
}

/* Each part must keep the rules that a part can keep. */
static void assert_part_clean(const char *path, bool part)
{
	struct fxt_check *check = fxt_check_new(0);
	struct fxt_reader *r;
	int err;

	r = fxt_open(path, &err);
	assert_non_null(r);
	assert_int_equal(fxt_check_all(check, r), 0);
	assert_int_equal(fxt_is_part(check), part);
	for (int i = 0; i < FXT_RULE_COUNT; i++) {
		const struct fxt_finding *f = &fxt_findings(check)[i];

		/* The session's async operations do not end, intentionally. */
		if (!f->count || i == FXT_RULE_ASYNC_OPEN || fxt_excused(check, i, true))
			continue;
		/* Threads may lack scheduling records even if the session has only one file. */
		if (i == FXT_RULE_UNSCHEDULED)
			continue;
		fail_msg("%s at byte %llu: %s", fxt_rules[i].name, (unsigned long long)f->offset,
			 f->detail);
	}
	fxt_close(r);
	fxt_check_free(check);
}

static void test_parts_hold_what_one_file_holds(void **unused)
{
	for (int round = 0; round < 60; round++) {
		struct at_compose_stats one;
		struct parts whole = { .nr = 0 }, parts = { .nr = 0 };
		struct walk a = { .p = &whole }, b = { .p = &parts };
		struct at_compose *c;
		struct stream s;

		make_session(&s);
		c = compose(&whole, 0);
		one = *at_compose_stats(c);
		at_compose_free(c);
		c = compose(&parts, rnd_chance(20) ? 100 : 7);
		assert_memory_equal(&one.total, &at_compose_stats(c)->total, sizeof(one.total));
		assert_int_equal(one.nr_providers, at_compose_stats(c)->nr_providers);
		at_compose_free(c);
		for (size_t i = 0; i < parts.nr; i++) {
			char path[32];

			path_of(&parts, i, path);
			assert_part_clean(path, parts.nr > 1);
		}
		while (walk_next(&a)) {
			assert_true(walk_next(&b));
			same_record(&a.f.rec, &b.f.rec);
		}
		assert_false(walk_next(&b));
		close_parts(&whole);
		close_parts(&parts);
		drop_kept();
	}
}

static bool find_instant(const char *path, const char *name, struct file *f)
{
	for (file_open(f, path); file_next(f);)
		if (f->rec.kind == FXT_EVENT && fxt_text_is(&f->rec.name, name))
			return true;
	file_close(f);
	return false;
}

/* A later file begins with the thread that runs on each CPU, and the time since when it runs. */
static void test_running_threads_are_repeated(void **unused)
{
	struct parts parts = { .nr = 0 };
	struct at_compose_options o;
	struct words b = { 0 };
	struct stream s;
	struct file f;
	char path[32];
	bool found = false;

	stream_simple(&s);
	put_switch(&b, 1, s.ticks + 10, 0, 101, 0);
	s.ticks += 100;
	give_sched(&s, 1, &b);
	o = options(&parts);
	assert_int_equal(at_compose_next(s.c, &o), 0);
	s.ticks += 100;
	put_switch(&b, 1, s.ticks, 101, 0, 3);
	s.ticks += 100;
	give_sched(&s, 1, &b);
	stream_finish(&s);
	path_of(&parts, 0, path);
	assert_part_clean(s.path, true);
	assert_part_clean(path, true);
	for (file_open(&f, path); file_next(&f);) {
		if (f.rec.kind != FXT_SWITCH || !fxt_arg(&f.rec, "inferred"))
			continue;
		assert_false(found);
		found = true;
		assert_int_equal(f.rec.ns, 1000010);
		assert_int_equal(f.rec.out, 0);
		assert_int_equal(f.rec.in, 101);
	}
	file_close(&f);
	assert_true(found);
	assert_true(find_instant(path, "session continued", &f));
	assert_int_equal(fxt_arg(&f.rec, "session start")->u, 1000000);
	file_close(&f);
	assert_false(find_instant(path, "session start", &f));
	close_parts(&parts);
	stream_close(&s);
	words_free(&b);
}

/*
 * A thread may leave its CPU while the session is stopped. The CPU may stay idle afterwards, so no
 * record contradicts the thread.
 */
static void thread_is_not_shown_running_after_a_pause(void **unused)
{
	struct parts parts = { .nr = 0 };
	struct at_compose_options o;
	struct words b = { 0 };
	unsigned int ends = 0;
	struct stream s;
	struct file f;
	char path[32];

	stream_simple(&s);
	put_switch(&b, 1, s.ticks + 10, 0, 101, 0);
	s.ticks += 100;
	give_sched(&s, 1, &b);
	give_clock(&s, ASYNCTRACE_MOMENT_STOP);
	s.ticks += 100;
	give_clock(&s, ASYNCTRACE_MOMENT_START);
	s.ticks += 100;
	o = options(&parts);
	assert_int_equal(at_compose_next(s.c, &o), 0);
	stream_finish(&s);
	path_of(&parts, 0, path);
	assert_part_clean(s.path, true);
	assert_part_clean(path, true);
	for (file_open(&f, s.path); file_next(&f);) {
		if (f.rec.kind != FXT_SWITCH || !fxt_arg(&f.rec, "inferred"))
			continue;
		assert_int_equal(f.rec.ns, 1000100);
		assert_int_equal(f.rec.out, 101);
		assert_int_equal(f.rec.in, 0);
		ends++;
	}
	file_close(&f);
	assert_int_equal(ends, 1);
	for (file_open(&f, path); file_next(&f);)
		assert_int_not_equal(f.rec.kind, FXT_SWITCH);
	file_close(&f);
	close_parts(&parts);
	stream_close(&s);
	words_free(&b);
}

/* A reader that starts late: the file begins then, not at the session's start. */
static void test_a_late_reader(void **unused)
{
	struct parts parts = { .nr = 0 };
	struct at_compose_options o = options(&parts);
	struct asynctrace_clock_pair pairs[3] = {
		{ .ticks = 1000, .boottime = 1000, .what = ASYNCTRACE_MOMENT_START },
		{ .ticks = 2000, .boottime = 2000 }, { .ticks = 9000, .boottime = 9000 },
	};
	struct stream s = { .fd = -1 };
	struct words b = { 0 };
	struct file f;
	char path[32];

	o.flags = ASYNCTRACE_COMPOSE_CONTINUED;
	s.c = at_compose_new(&o);
	s.ticks = 9500;
	assert_int_equal(give(&s, &(struct asynctrace_chunk){ .kind = ASYNCTRACE_CHUNK_CLOCK,
							      .bytes = sizeof(pairs) }, pairs), 0);
	give_provider(&s, 1, 100, 7, "simple");
	give_thread(&s, 1, 1, 100, 101, "worker");
	put_event(&b, &(struct event){ 0, 9200, 1, TXT("c"), TXT("n"), 0, 0, { } });
	give_events(&s, 1, 0, &b);
	/* End the file without a next one, as if the reader left and the session went on. */
	assert_int_equal(at_compose_next(s.c, NULL), 0);
	assert_int_equal(at_compose_next(s.c, NULL), -EINVAL);
	assert_int_equal(at_compose_finish(s.c), 0);
	path_of(&parts, 0, path);
	assert_part_clean(path, true);
	assert_false(find_instant(path, "session start", &f));
	assert_true(find_instant(path, "session continued", &f));
	assert_int_equal(f.rec.ns, 9000);
	assert_int_equal(fxt_arg(&f.rec, "session start")->u, 1000);
	file_close(&f);
	assert_true(find_instant(path, "trace end", &f));
	assert_non_null(fxt_arg(&f.rec, "continues"));
	file_close(&f);
	at_compose_free(s.c);
	close_parts(&parts);
	words_free(&b);
}

static void test_wrong_options_change_nothing(void **unused)
{
	struct at_compose_options bad = { .size = sizeof(bad), .fd = -1 };
	struct stream s;

	stream_simple(&s);
	assert_int_equal(at_compose_next(s.c, &bad), -EINVAL);
	bad.fd = 1;
	bad.flags = 1u << 31;
	assert_int_equal(at_compose_next(s.c, &bad), -EINVAL);
	bad.flags = 0;
	bad.size = 4;
	assert_int_equal(at_compose_next(s.c, &bad), -EINVAL);
	stream_finish(&s);
	assert_part_clean(s.path, false);
	stream_close(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts_hold_what_one_file_holds),
		cmocka_unit_test(test_running_threads_are_repeated),
		cmocka_unit_test(thread_is_not_shown_running_after_a_pause),
		cmocka_unit_test(test_a_late_reader),
		cmocka_unit_test(test_wrong_options_change_nothing),
	};

	test_random_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
