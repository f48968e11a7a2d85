// SPDX-License-Identifier: GPL-2.0
/* Makes chunks like those that a session delivers, and reads the file that the composer writes */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../analysis/account_holds.h"
#include "stream.h"

/* --- words ------------------------------------------------------------------------------ */

uint64_t *words_add(struct words *b, size_t nr)
{
	if (b->nr + nr > b->room) {
		b->room = (b->nr + nr) * 2;
		b->w = realloc(b->w, b->room * 8);
		assert_non_null(b->w);
	}
	b->nr += nr;
	return b->w + b->nr - nr;
}

void words_push(struct words *b, uint64_t w)
{
	*words_add(b, 1) = w;
}

void words_text(struct words *b, const void *text, size_t len)
{
	size_t nr = (len + 7) / 8;
	uint64_t *w;

	if (!nr)
		return;
	w = words_add(b, nr);
	memset(w, 0, nr * 8);
	memcpy(w, text, len);
}

void words_free(struct words *b)
{
	free(b->w);
	*b = (struct words){ 0 };
}

void words_spoil(struct words *b, size_t first)
{
	size_t i = first + rnd_below(b->nr - first);

	switch (rnd_below(9)) {
	case 0:
		b->w[i] ^= 1ULL << rnd_below(64);
		break;
	case 1:
		b->w[i] = rnd();
		break;
	case 2:
		b->w[i] = b->w[first + rnd_below(b->nr - first)];
		break;
	case 3:
		b->w[i] = rnd_chance(50) ? 0 : ~0ULL;
		break;
	case 4:
		((unsigned char *)&b->w[i])[rnd_below(8)] = rnd();
		break;
	case 5:	/* the record's type */
		b->w[i] = (b->w[i] & ~0xfULL) | rnd_below(16);
		break;
	case 6:	/* the record's size */
		b->w[i] = (b->w[i] & ~0xfff0ULL) | rnd_below(40) << 4;
		break;
	case 7:	/* both, and the event's type */
		b->w[i] = (b->w[i] & ~0xfffffULL) | (rnd() & 0xfffff);
		break;
	default:
		memmove(b->w + i, b->w + i + 1, (b->nr - i - 1) * 8);
		b->nr--;
	}
}

static size_t ref_len(struct ref r)
{
	return r.len || !r.text ? r.len : strlen(r.text);
}

static uint64_t ref_bits(struct ref r)
{
	return r.index || !r.text ? r.index : 0x8000 | ref_len(r);
}

static void put_ref(struct words *b, struct ref r)
{
	if (!r.index && r.text)
		words_text(b, r.text, ref_len(r));
}

static void put_arg(struct words *b, const struct arg *a)
{
	size_t at = b->nr;
	uint64_t head = a->type | ref_bits(a->name) << 16;

	words_push(b, 0);
	put_ref(b, a->name);
	switch (a->type) {
	case ASYNCTRACE_FXT_ARG_NULL:
		break;
	case ASYNCTRACE_FXT_ARG_INT32:
	case ASYNCTRACE_FXT_ARG_UINT32:
		head |= a->value << 32;
		break;
	case ASYNCTRACE_FXT_ARG_BOOL:
		head |= (a->value & 1) << 32;
		break;
	case ASYNCTRACE_FXT_ARG_STRING:
		head |= ref_bits(a->text) << 32;
		put_ref(b, a->text);
		break;
	default:
		words_push(b, a->value);
	}
	b->w[at] = head | (uint64_t)(b->nr - at) << 4;
}

static bool has_extra(unsigned int type)
{
	return type == 1 || type >= 4;
}

size_t put_event(struct words *b, const struct event *e)
{
	size_t at = b->nr;

	words_push(b, 0);
	words_push(b, e->ticks);
	words_push(b, e->slot);
	put_ref(b, e->category);
	put_ref(b, e->name);
	for (unsigned int i = 0; i < e->nargs; i++)
		put_arg(b, &e->args[i]);
	if (has_extra(e->type))
		words_push(b, e->extra);
	b->w[at] = 4 | (uint64_t)(b->nr - at) << 4 | (uint64_t)e->type << 16 |
		   (uint64_t)e->nargs << 20 | ref_bits(e->category) << 32 |
		   ref_bits(e->name) << 48;
	b->records++;
	return at;
}

static uint64_t weight_arg(unsigned int name, uint64_t tid)
{
	return 1 | 1 << 4 | name << 16 | (tid ? 20ULL << 32 : 1ULL << 63);
}

void put_switch(struct words *b, unsigned int cpu, uint64_t ticks, uint64_t out, uint64_t in,
		unsigned int st)
{
	words_push(b, 8 | 6 << 4 | 2 << 16 | (uint64_t)cpu << 20 | (uint64_t)st << 36 |
		   1ULL << 60);
	words_push(b, ticks);
	words_push(b, out);
	words_push(b, in);
	words_push(b, weight_arg(ASYNCTRACE_FXT_STR_OUTGOING, out));
	words_push(b, weight_arg(ASYNCTRACE_FXT_STR_INCOMING, in));
	b->records++;
}

void put_wakeup(struct words *b, unsigned int cpu, uint64_t ticks, uint64_t tid, uint64_t waker)
{
	words_push(b, 8 | 6 << 4 | 2 << 16 | (uint64_t)cpu << 20 | 2ULL << 60);
	words_push(b, ticks);
	words_push(b, tid);
	words_push(b, weight_arg(ASYNCTRACE_FXT_STR_WEIGHT, tid));
	words_push(b, 8 | 2 << 4 | ASYNCTRACE_FXT_STR_WAKER << 16);
	words_push(b, waker);
	b->records++;
}

void put_string(struct words *b, unsigned int index, const void *text, size_t len)
{
	words_push(b, 2 | (1 + (len + 7) / 8) << 4 | (uint64_t)index << 16 | (uint64_t)len << 32);
	words_text(b, text, len);
}

/* --- a composer ----------------------------------------------------------------------------- */

void stream_open(struct stream *s)
{
	struct at_compose_options o = { .size = sizeof(o) };

	memset(s, 0, sizeof(*s));
	s->fd = memfd_create("trace", MFD_CLOEXEC);
	assert_true(s->fd >= 0);
	snprintf(s->path, sizeof(s->path), "/proc/self/fd/%d", s->fd);
	o.fd = s->fd;
	s->c = at_compose_new(&o);
	assert_non_null(s->c);
	s->ticks = 1000000;
}

void stream_finish(struct stream *s)
{
	assert_int_equal(at_compose_finish(s->c), 0);
}

void stream_close(struct stream *s)
{
	at_compose_free(s->c);
	close(s->fd);
}

struct words stream_words(struct stream *s)
{
	struct words b = { 0 };
	off_t bytes;

	stream_finish(s);
	bytes = lseek(s->fd, 0, SEEK_END);
	words_add(&b, bytes / 8);
	assert_int_equal(pread(s->fd, b.w, bytes, 0), bytes);
	stream_close(s);
	return b;
}

int give(struct stream *s, struct asynctrace_chunk *h, const void *payload)
{
	h->size = sizeof(*h);
	h->ticks = s->ticks;
	h->boottime = s->ns ? s->ns(s->ticks) : s->ticks;
	h->segment = s->segment;
	return s->take ? s->take(s->arg, h, payload) : at_compose_chunk(s->c, h, payload);
}

static void give_one(struct stream *s, unsigned int kind, uint32_t provider, const void *what,
		     size_t bytes)
{
	struct asynctrace_chunk h = { .kind = kind, .provider = provider, .bytes = bytes };

	assert_int_equal(give(s, &h, what), 0);
}

void give_clock(struct stream *s, unsigned int what)
{
	struct asynctrace_clock_pair p = {
		.ticks = s->ticks, .boottime = s->ns ? s->ns(s->ticks) : s->ticks,
		.realtime = 1700000000000000000ULL + s->ticks, .segment = s->segment,
		.what = what,
	};

	give_one(s, ASYNCTRACE_CHUNK_CLOCK, 0, &p, sizeof(p));
}

void give_info(struct stream *s, const struct asynctrace_provider_info *info)
{
	give_one(s, ASYNCTRACE_CHUNK_PROVIDER, info->id, info, sizeof(*info));
}

void give_provider(struct stream *s, uint32_t id, int32_t pid, uint32_t salt, const char *name)
{
	struct asynctrace_provider_info i = { .id = id, .pid = pid, .salt = salt };

	strncpy(i.name, name, ASYNCTRACE_NAME_MAX);
	give_info(s, &i);
}

void give_thread(struct stream *s, uint32_t provider, uint32_t slot, int32_t pid, int32_t tid,
		 const char *comm)
{
	struct asynctrace_thread t = { .slot = slot, .tid = tid, .pid = pid };

	memcpy(t.comm, comm, strnlen(comm, sizeof(t.comm)));
	give_one(s, ASYNCTRACE_CHUNK_THREADS, provider, &t, sizeof(t));
}

void give_name(struct stream *s, int32_t pid, int32_t tid, const char *comm)
{
	struct asynctrace_task_name t = { .tid = tid, .pid = pid, .ticks = s->ticks };

	memcpy(t.comm, comm, strnlen(comm, sizeof(t.comm)));
	give_one(s, ASYNCTRACE_CHUNK_NAMES, 0, &t, sizeof(t));
}

void give_strings(struct stream *s, uint32_t provider, const struct words *b)
{
	give_one(s, ASYNCTRACE_CHUNK_STRINGS, provider, b->w, b->nr * 8);
}

void lose(struct stream *s, uint32_t provider, uint32_t ring, uint64_t overwritten,
	  uint64_t dropped)
{
	s->rings[provider][ring].overwritten += overwritten;
	s->rings[provider][ring].dropped += dropped;
}

static void give_ring(struct stream *s, unsigned int kind, uint32_t provider, uint32_t ring,
		      struct words *b)
{
	struct asynctrace_chunk h = {
		.kind = kind, .provider = provider, .ring = ring, .bytes = b->nr * 8,
		.records = b->records,
		.delivered = s->rings[provider][ring].delivered += b->records,
		.overwritten = s->rings[provider][ring].overwritten,
		.dropped = s->rings[provider][ring].dropped,
		.cleared = s->rings[provider][ring].cleared,
	};

	assert_int_equal(give(s, &h, b->w), 0);
	b->nr = 0;
	b->records = 0;
}

void give_events(struct stream *s, uint32_t provider, uint32_t ring, struct words *b)
{
	give_ring(s, ASYNCTRACE_CHUNK_EVENTS, provider, ring, b);
}

void give_sched(struct stream *s, uint32_t cpu, struct words *b)
{
	give_ring(s, ASYNCTRACE_CHUNK_SCHED, 0, cpu, b);
}

void stream_introduce(struct stream *s)
{
	struct words b = { 0 };

	give_clock(s, ASYNCTRACE_MOMENT_START);
	give_provider(s, 1, 100, 7, "simple");
	give_thread(s, 1, 1, 100, 101, "worker");
	put_string(&b, 1, "cat", 3);
	put_string(&b, 2, "work", 4);
	put_string(&b, 3, "n", 1);
	give_strings(s, 1, &b);
	words_free(&b);
}

void stream_simple(struct stream *s)
{
	stream_open(s);
	stream_introduce(s);
}

/* --- the file ------------------------------------------------------------------------ */

static void on_breach(void *arg, enum fxt_rule rule, uint64_t offset, const char *detail)
{
	struct file *f = arg;

	/* After a write error, a file has no end mark. Its records must still be whole. */
	if (rule == FXT_RULE_NO_END)
		return;
	f->breaches++;
	fprintf(stderr, "byte %llu: %s: %s\n", (unsigned long long)offset, fxt_rules[rule].name,
		detail);
}

void file_open(struct file *f, const char *path)
{
	int err;

	memset(f, 0, sizeof(*f));
	f->r = fxt_open(path, &err);
	if (!f->r)
		fail_msg("%s: %s", path, strerror(-err));
	fxt_on_breach(f->r, on_breach, f);
}

bool file_next(struct file *f)
{
	int n = fxt_next(f->r, &f->rec);

	assert_true(n >= 0);
	return n;
}

bool file_event(struct file *f, uint32_t provider)
{
	while (file_next(f))
		if (f->rec.kind == FXT_EVENT && f->rec.provider == provider)
			return true;
	return false;
}

void file_close(struct file *f)
{
	fxt_close(f->r);
	assert_int_equal(f->breaches, 0);
}

static struct fxt_check *check(const char *path)
{
	struct fxt_check *c = fxt_check_new(0);
	struct fxt_reader *r;
	int err;

	assert_non_null(c);
	r = fxt_open(path, &err);
	if (!r)
		fail_msg("%s: %s", path, strerror(-err));
	assert_int_equal(fxt_check_all(c, r), 0);
	fxt_close(r);
	return c;
}

void assert_clean(const char *path, ...)
{
	struct fxt_check *c = check(path);
	bool excused[FXT_RULE_COUNT] = { false };
	unsigned int broken = 0;
	va_list ap;

	va_start(ap, path);
	for (int rule; (rule = va_arg(ap, int)) >= 0;)
		excused[rule] = true;
	va_end(ap);
	for (int i = 0; i < FXT_RULE_COUNT; i++) {
		const struct fxt_finding *f = &fxt_findings(c)[i];

		if (!f->count || excused[i])
			continue;
		fprintf(stderr, "%s: %llu, first at byte %llu: %s\n", fxt_rules[i].name,
			(unsigned long long)f->count, (unsigned long long)f->offset, f->detail);
		broken++;
	}
	fxt_check_free(c);
	assert_int_equal(broken, 0);
	assert_true(account_holds(path));
}

uint64_t findings(const char *path, enum fxt_rule rule)
{
	struct fxt_check *c = check(path);
	uint64_t n = fxt_findings(c)[rule].count;

	fxt_check_free(c);
	return n;
}

const struct at_compose_counts *ring_counts(struct at_compose *c, uint32_t provider,
					    uint32_t ring)
{
	const struct at_compose_stats *s = at_compose_stats(c);

	assert_non_null(s);
	for (size_t i = 0; i < s->nr_rings; i++)
		if (s->rings[i].provider == provider && s->rings[i].ring == ring)
			return &s->rings[i].counts;
	fail_msg("no ring %u of provider %u", ring, provider);
	return NULL;
}
