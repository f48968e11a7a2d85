// SPDX-License-Identifier: GPL-2.0
/* Converts records of a trace to the words of a file */
#include <linux/asynctrace_fxt.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tail/encode.h"
#include "words.h"

uint64_t *more_words(struct words *w, size_t nr)
{
	while (w->nr + nr > w->room) {
		w->room = w->room ? 2 * w->room : 8192;
		w->of = realloc(w->of, w->room * sizeof(*w->of));
		assert_non_null(w->of);
	}
	w->nr += nr;
	return w->of + w->nr - nr;
}

static void put_provider(struct words *w, uint32_t id, const char *name)
{
	size_t len = strlen(name), words = 1 + ASYNCTRACE_FXT_TEXT_WORDS(len);
	uint64_t *to = more_words(w, words + 2);

	to[words - 1] = 0;
	memcpy(to + 1, name, len);
	to[0] = ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_METADATA, words) |
		ASYNCTRACE_FXT_META_PROVIDER << 16 | (uint64_t)id << 20 | (uint64_t)len << 52;
	to[words] = ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_INIT, 2);
	to[words + 1] = 1000000000;
	w->section = id;
}

static void put_section(struct words *w, uint32_t id)
{
	if (w->section != id)
		*more_words(w, 1) = ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_METADATA, 1) |
			ASYNCTRACE_FXT_META_SECTION << 16 | (uint64_t)id << 20;
	w->section = id;
}

void put_head(struct words *w)
{
	static const char *const names[] = {
		"process", "incoming_weight", "outgoing_weight", "weight", "waker", "state",
	};

	*more_words(w, 1) = ASYNCTRACE_FXT_MAGIC;
	put_provider(w, 1, "asynctrace-kernel");
	for (unsigned int i = 0; i < 6; i++) {
		size_t len = strlen(names[i]), words = 1 + ASYNCTRACE_FXT_TEXT_WORDS(len);
		uint64_t *to = more_words(w, words);

		to[words - 1] = 0;
		memcpy(to + 1, names[i], len);
		to[0] = ASYNCTRACE_FXT_STRING_HEAD(i + 1, len);
	}
	put_provider(w, 2, "server");
}

static void put_weight(struct words *w, unsigned int name, uint32_t tid)
{
	*more_words(w, 1) = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_INT32, 1, name,
					       tid ? 120 : ASYNCTRACE_FXT_WEIGHT_IDLE);
}

/* Returns 1, the number of arguments. */
static unsigned int put_arg(struct words *w, const struct fxt_arg *arg)
{
	uint64_t to[16];
	size_t n = encode_arg(to, arg);

	memcpy(more_words(w, n), to, n * 8);
	return 1;
}

static void put_sched(struct words *w, const struct fxt_record *rec)
{
	bool inferred = false;
	bool is_switch = rec->kind == FXT_SWITCH;
	size_t at = w->nr, nargs = is_switch ? 2 : 1;

	more_words(w, is_switch ? 4 : 3);
	w->of[at + 1] = rec->ns;
	w->of[at + 2] = is_switch ? rec->out : rec->in;
	if (is_switch)
		w->of[at + 3] = rec->in;
	put_weight(w, is_switch ? 3 : 4, w->of[at + 2]);
	if (is_switch)
		put_weight(w, 2, rec->in);
	for (unsigned int i = 0; i < rec->nargs; i++) {
		nargs += put_arg(w, &rec->args[i]);
		inferred |= rec->args[i].type == ASYNCTRACE_FXT_ARG_BOOL;
	}
	w->of[at] = is_switch ?
		ASYNCTRACE_FXT_SWITCH_HEAD(w->nr - at, nargs, rec->cpu, rec->number) :
		ASYNCTRACE_FXT_WAKEUP_HEAD(w->nr - at, nargs, rec->cpu);
	if (inferred)
		return;
	if (is_switch)
		w->switches++;
	else
		w->wakeups++;
}

/*
 * Returns the thread's id for the new file. Pseudo threads, except the clock, get other ids there
 * than in the files of the composer.
 */
static uint64_t own_tid(uint64_t tid)
{
	return tid > PSEUDO ? tid + 16 : tid;
}

/* Puts the object of a thread with its process, and further arguments if it has any. */
static void put_object(struct words *w, const struct fxt_record *rec, const char *name)
{
	uint64_t to[256];
	const size_t n = encode_object(to, own_tid(rec->id), rec->args[0].u, name), at = w->nr;
	unsigned int nargs = 1;

	memcpy(more_words(w, n), to, n * 8);
	for (unsigned int i = 1; i < rec->nargs; i++)
		nargs += put_arg(w, &rec->args[i]);
	/* Add the size of the record and the number of its arguments to its header. */
	w->of[at] += (uint64_t)(w->nr - at - n) << 4;
	w->of[at] += (uint64_t)(nargs - 1) << 40;
}

void put_record(struct words *w, const struct fxt_record *rec)
{
	const bool own = rec->kind != FXT_EVENT || rec->thread.tid > FXT_TID_REAL_MAX;
	const bool kernel = own || rec->provider == FXT_KERNEL_PROVIDER;
	struct fxt_record copy = *rec;
	uint64_t to[256], trimmed = 0;
	char name[64];
	size_t n;

	put_section(w, kernel ? 1 : 2);
	switch (rec->kind) {
	case FXT_SWITCH:
	case FXT_WAKEUP:
		put_sched(w, rec);
		return;
	case FXT_OBJECT:
		snprintf(name, sizeof(name), "%.*s", (int)rec->name.len, rec->name.s);
		put_object(w, rec, name);
		return;
	default:
		if (own) {
			copy.category = (struct fxt_text){ .s = "asynctrace", .len = 10 };
			copy.thread.pid = 0x70000000;
			copy.thread.tid = own_tid(rec->thread.tid);
		}
		n = encode_event(to, &copy, &trimmed);
		w->events += !kernel;
	}
	memcpy(more_words(w, n), to, n * 8);
}

void put_process(struct words *w, uint32_t pid, const char *name)
{
	uint64_t to[8];
	size_t n;

	put_section(w, 1);
	n = encode_object(to, pid, 0, name);
	memcpy(more_words(w, n), to, n * 8);
	n = encode_object(to, pid, pid, name);
	memcpy(more_words(w, n), to, n * 8);
}

struct words words_of(const struct trace *t)
{
	struct words w = { 0 };

	put_head(&w);
	put_process(&w, 0x70000000, "asynctrace");
	put_process(&w, 100, "server");
	for (size_t i = 0; i < t->nr; i++)
		put_record(&w, &t->of[i]);
	return w;
}

static bool has_flag(const struct fxt_record *rec, const char *name)
{
	return fxt_arg(rec, name) && fxt_arg(rec, name)->type == ASYNCTRACE_FXT_ARG_BOOL;
}

void count_words(struct words *w)
{
	struct fxt_reader *r = fxt_open_pushed();
	struct fxt_record rec;

	w->events = 0;
	w->switches = 0;
	w->wakeups = 0;
	assert_non_null(r);
	assert_int_equal(fxt_push(r, w->of, w->nr), 0);
	while (fxt_next(r, &rec) > 0) {
		w->events += rec.kind == FXT_EVENT && rec.provider > 1 &&
			     !(rec.number == ASYNCTRACE_FXT_ASYNC_INSTANT &&
			       has_flag(&rec, FILTERED));
		w->switches += rec.kind == FXT_SWITCH && !has_flag(&rec, FILTERED) &&
			       !has_flag(&rec, "inferred");
		w->wakeups += rec.kind == FXT_WAKEUP;
	}
	fxt_close(r);
}

struct fxt_check *check_of(const struct words *file)
{
	int fd = memfd_create("tail", 0), err;
	struct fxt_check *check = fxt_check_new(0);
	struct fxt_reader *r;
	char path[32];

	assert_true(fd >= 0);
	assert_non_null(check);
	assert_int_equal(write(fd, file->of, file->nr * 8), file->nr * 8);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = fxt_open(path, &err);
	assert_non_null(r);
	assert_int_equal(fxt_check_all(check, r), 0);
	fxt_close(r);
	close(fd);
	return check;
}
