// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Scheduling records of a kernel ring: context switches and wakeups of one CPU. They are checked
 * although they come from the kernel.
 *
 * Viewers show a thread as running until they see it leave its CPU. Consecutive records may not fit
 * together, because records are missing, or because the session does not record the threads in
 * between. Then the composer adds switches that show what is known:
 *
 *	If records were lost, the running thread may have left its CPU. The CPU is shown as
 *	idle from the last record before the loss.
 *
 *	If the session was stopped and started again, the CPU is shown as idle in between.
 *
 *	If unknown threads ran between A and B, A is shown for a nanosecond after the CPU's
 *	last record, then "other", then B.
 *
 * Added switches have an argument, inferred = true.
 *
 * The kernel takes operation ids from memory that the provider writes. In the file an id gets the
 * salt of the thread's process, so it names no other process's operation.
 */
#include <errno.h>
#include <string.h>

#include "added.h"
#include "args.h"
#include "times.h"

#define WEIGHT_IDLE	ASYNCTRACE_FXT_WEIGHT_IDLE

struct sched {
	bool wakeup;
	unsigned int cpu;
	unsigned int nargs;
	size_t head_words;
	/* Of a switch: outgoing and incoming thread; of a wakeup: the woken thread. */
	uint64_t tid[2];
	uint64_t waker;
	int32_t weight[2];
	bool converted;			/* put_args() must change some arguments */
	struct atc_state left;		/* of the outgoing thread */
	uint32_t syscall;		/* index of the system call's name; 0: none, or inline */
	char syscall_text[ATC_SYSCALL_MAX];
	const char *syscall_name;	/* NULL: none */
};

/* A switch has two weights; a wakeup has one weight of another name. NULL: no such weight. */
static int32_t *weight_of(struct sched *s, unsigned int name)
{
	switch (name) {
	case ASYNCTRACE_FXT_STR_OUTGOING:
		return s->wakeup ? NULL : &s->weight[0];
	case ASYNCTRACE_FXT_STR_INCOMING:
		return s->wakeup ? NULL : &s->weight[1];
	case ASYNCTRACE_FXT_STR_WEIGHT:
		return s->wakeup ? &s->weight[0] : NULL;
	default:
		return NULL;
	}
}

static bool is_operation(unsigned int name)
{
	return name >= ASYNCTRACE_FXT_STR_IN_OPERATION &&
	       name <= ASYNCTRACE_FXT_STR_WAKER_OPERATION;
}

/*
 * Has the kernel's argument @name the right type? An argument with another name may have any
 * type.
 */
static bool type_fits(const struct sched *s, unsigned int name, unsigned int type)
{
	switch (name) {
	case ASYNCTRACE_FXT_STR_IN_OPERATION:
	case ASYNCTRACE_FXT_STR_OUT_OPERATION:
	case ASYNCTRACE_FXT_STR_SYSCALL_ARG:
		return type == ASYNCTRACE_FXT_ARG_UINT64 && !s->wakeup;
	case ASYNCTRACE_FXT_STR_OPERATION:
	case ASYNCTRACE_FXT_STR_WAKER_OPERATION:
		return type == ASYNCTRACE_FXT_ARG_UINT64 && s->wakeup;
	case ASYNCTRACE_FXT_STR_OFF_CPU:
		return type == ASYNCTRACE_FXT_ARG_UINT32 && !s->wakeup;
	case ASYNCTRACE_FXT_STR_SYSCALL:
		return type == ASYNCTRACE_FXT_ARG_INT32 && !s->wakeup;
	default:
		return true;
	}
}

/* Reads an argument that says why the outgoing thread left its CPU; ignores others. */
static void read_reason(struct sched *s, unsigned int name, const uint64_t *w)
{
	switch (name) {
	case ASYNCTRACE_FXT_STR_STATE:
		if ((w[0] & 0xf) == ASYNCTRACE_FXT_ARG_UINT32)
			s->left.state = w[0] >> 32;
		break;
	case ASYNCTRACE_FXT_STR_OFF_CPU:
		s->left.off_cpu = w[0] >> 32;
		break;
	case ASYNCTRACE_FXT_STR_SYSCALL:
		s->left.syscall = w[0] >> 32;
		break;
	case ASYNCTRACE_FXT_STR_SYSCALL_ARG:
		s->left.argument = w[1];
		break;
	}
}

/* Checks an argument that only some records have. */
static bool read_optional(struct sched *s, unsigned int name, const uint64_t *w)
{
	const uint32_t high = w[0] >> 32;

	if (!type_fits(s, name, w[0] & 0xf))
		return false;
	if (is_operation(name)) {
		s->converted = true;
		return high <= ATC_SALT_MAX;
	}
	if (name == ASYNCTRACE_FXT_STR_SYSCALL) {
		s->converted = true;
		s->syscall_name = atc_syscall_name(high, s->syscall_text);
	}
	read_reason(s, name, w);
	return true;
}

/* Reads the arguments that check() needs, and checks their types. */
static bool read_args(struct sched *s, const uint64_t *w)
{
	unsigned int seen = 0;

	for (unsigned int i = 0; i < s->nargs; i++, w += w[0] >> 4 & 0xfff) {
		unsigned int type = w[0] & 0xf;
		unsigned int name = w[0] >> 16 & 0xffff;
		int32_t *weight = weight_of(s, name);

		/* Only arguments of operations have a salt in the upper half of their head. */
		if (type == ASYNCTRACE_FXT_ARG_UINT64 && w[0] >> 32 && !is_operation(name))
			return false;
		if (name >= ASYNCTRACE_FXT_STR_KERNEL_END)
			continue;
		/* Reject two arguments of one name: readers differ in which of them they use. */
		if (seen & 1u << name)
			return false;
		seen |= 1u << name;
		if (weight) {
			if (type != ASYNCTRACE_FXT_ARG_INT32)
				return false;
			*weight = (int32_t)(w[0] >> 32);
		} else if (name == ASYNCTRACE_FXT_STR_WAKER) {
			if (type != ASYNCTRACE_FXT_ARG_KOID || w[1] > INT32_MAX)
				return false;
			s->waker = w[1];
		} else if (!read_optional(s, name, w)) {
			return false;
		}
	}
	/* A flag of "off_cpu" says whether the record has the argument "syscall". */
	return !(seen & 1u << ASYNCTRACE_FXT_STR_SYSCALL) ==
	       !(s->left.off_cpu & ASYNCTRACE_FXT_OFF_SYSCALL);
}

static bool check(struct at_compose *c, const struct atc_context *x, const uint64_t *w,
		  size_t words, struct sched *s)
{
	struct atc_check k = { .salted = true };
	uint64_t head = w[0];

	*s = (struct sched){
		.wakeup = head >> 60 == ASYNCTRACE_FXT_SCHED_WAKEUP,
		.cpu = head >> 20 & 0xffff,
		.nargs = head >> 16 & 0xf,
	};
	s->head_words = s->wakeup ? 3 : 4;
	if (ASYNCTRACE_FXT_TYPE(head) != ASYNCTRACE_FXT_SCHED || words < s->head_words)
		return false;
	if (s->wakeup) {
		if (head >> 36 & 0xffffff)
			return false;
	} else if (head >> 60 != ASYNCTRACE_FXT_SCHED_SWITCH || head >> 40 & 0xfffff ||
		   (head >> 36 & 0xf) > ASYNCTRACE_FXT_STATE_DEAD || s->cpu != x->ring->index) {
		return false;
	}
	k.words = s->head_words;
	if (!atc_args_check(c->kernel, s->nargs, w + k.words, words - k.words, &k) ||
	    k.words != words || k.repair || !read_args(s, w + s->head_words))
		return false;
	for (size_t i = 2; i < s->head_words; i++) {
		s->tid[i - 2] = w[i];
		if (w[i] > INT32_MAX)
			return false;
		/* Viewers recognise the idle task only by its weight. */
		if (!w[i] && s->weight[i - 2] != WEIGHT_IDLE)
			return false;
	}
	return true;
}

/* Writes a switch that no record of the kernel reports: the CPU of @r went to @tid at @ns. */
static void inferred_switch(struct at_compose *c, struct atc_ring *r, uint64_t ns,
			    int32_t tid, int32_t weight)
{
	uint64_t *w;

	atc_section(c, c->kernel);
	w = atc_out_record(&c->out);
	w[0] = ASYNCTRACE_FXT_SWITCH_HEAD(7, 3, r->index,
		r->tid ? ASYNCTRACE_FXT_STATE_BLOCKED : ASYNCTRACE_FXT_STATE_NEW);
	w[1] = ns;
	w[2] = r->tid;
	w[3] = tid;
	w[4] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_INT32, 1, ASYNCTRACE_FXT_STR_OUTGOING,
				  r->weight);
	w[5] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_INT32, 1, ASYNCTRACE_FXT_STR_INCOMING,
				  weight);
	w[6] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_BOOL, 1, ATC_STR_INFERRED, 1);
	atc_out_done(&c->out, 7);
	r->tid = tid;
	r->weight = weight;
	c->inferred++;
}

/*
 * Called when records of @r were lost. Marks the CPU as idle after its last record, because its
 * thread may have left it without a record.
 */
void atc_sched_lost(struct at_compose *c, struct atc_ring *r)
{
	r->lossy = false;
	if (r->running && r->tid)
		inferred_switch(c, r, r->last_ns, 0, WEIGHT_IDLE);
}

/*
 * Marks the CPU as idle from the moment at which the session was stopped, if it was started again
 * between @before, the time of the CPU's previous record, and @ns.
 */
static void end_at_pause(struct at_compose *c, struct atc_ring *r, uint64_t before, uint64_t ns)
{
	const struct atc_pause *p = atc_pause_between(&c->pauses, before, ns);

	if (p && r->running && r->tid)
		inferred_switch(c, r, p->stop > before ? p->stop : before, 0, WEIGHT_IDLE);
}

/*
 * A record shows that @tid was running when the CPU switched at @ns. If the file shows another
 * thread on the CPU, adds switches to @tid. The CPU's previous record was at @before.
 */
static int join(struct at_compose *c, struct atc_ring *r, uint64_t before, uint64_t ns,
		int32_t tid, int32_t weight)
{
	int err;

	if (r->lossy && r->tid != tid) {
		uint64_t now = r->last_ns;

		r->last_ns = before;
		atc_sched_lost(c, r);
		r->last_ns = now;
	}
	end_at_pause(c, r, before, ns);
	if (!r->running || r->tid == tid)
		return 0;
	if (r->tid && !ASYNCTRACE_TID_IS_OTHER(r->tid)) {
		int32_t between = tid ? ASYNCTRACE_TID_OTHER_ON(r->index) : 0;

		err = atc_task_seen(c, between, NULL);
		if (err)
			return err;
		inferred_switch(c, r, before < ns ? before + 1 : ns, between,
				    between ? 0 : WEIGHT_IDLE);
	}
	if (r->tid != tid)
		inferred_switch(c, r, ns, tid, weight);
	return 0;
}

/* Copies and converts arguments. Returns the number of words written. */
static size_t put_args(const struct sched *s, uint64_t *to, const uint64_t *w)
{
	size_t n = 0;

	for (unsigned int i = 0; i < s->nargs; i++, w += w[0] >> 4 & 0xfff) {
		const unsigned int name = w[0] >> 16 & 0xffff, words = w[0] >> 4 & 0xfff;

		if (is_operation(name)) {
			to[n++] = w[0] & 0xffffffff;
			to[n++] = atc_global_id(w[0] >> 32, w[1]);
		} else if (name == ASYNCTRACE_FXT_STR_SYSCALL && s->syscall) {
			to[n++] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_STRING, 1, name,
						     s->syscall);
		} else if (name == ASYNCTRACE_FXT_STR_SYSCALL) {
			const size_t len = strlen(s->syscall_name);
			const size_t text = atc_put_text(to + n + 1, s->syscall_name, len);

			to[n] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_STRING, 1 + text, name,
						   ASYNCTRACE_FXT_INLINE | len);
			n += 1 + text;
		} else {
			memcpy(to + n, w, words * 8);
			n += words;
		}
	}
	return n;
}

/* Notes the threads of a record, and what it shows about their states. */
static int note_threads(struct at_compose *c, const struct sched *s, const uint64_t *w, uint64_t ns)
{
	struct atc_task *tasks[2] = { NULL }, *waker;
	bool ends;
	int err = 0;

	for (unsigned int i = 0; i < s->head_words - 2 && !err; i++)
		err = atc_task_seen(c, s->tid[i], &tasks[i]);
	if (!err)
		err = atc_task_seen(c, s->waker, &waker);
	if (err)
		return err;
	atc_state_ran(waker, ns);
	if (s->wakeup)
		return atc_state_woken(tasks[0], ns);
	/* Clear the state of a thread that ends, so that later files do not contain it. */
	ends = (w[0] >> 36 & 0xf) >= ASYNCTRACE_FXT_STATE_DYING;
	err = ends ? atc_state_came(tasks[0], ns) : atc_state_left(tasks[0], ns, &s->left);
	return err ? err : atc_state_came(tasks[1], ns);
}

static int emit(struct at_compose *c, struct atc_ring *r, struct sched *s,
		const uint64_t *w, size_t words, uint64_t before, uint64_t ns)
{
	int err = note_threads(c, s, w, ns);
	uint64_t *to;

	if (err)
		return err;
	/* A wakeup moves last_ns, so the next switch would not find a pause before the wakeup. */
	if (s->wakeup)
		end_at_pause(c, r, before, ns);
	else
		err = join(c, r, before, ns, s->tid[0], s->weight[0]);
	if (err)
		return err;

	if (s->syscall_name)
		s->syscall = atc_name_index(c, s->syscall_name);
	atc_section(c, c->kernel);
	to = atc_out_record(&c->out);
	if (s->converted) {
		memcpy(to, w, s->head_words * 8);
		words = s->head_words + put_args(s, to + s->head_words, w + s->head_words);
		to[0] = (w[0] & ~0xfff0ULL) | words << 4;
	} else {
		memcpy(to, w, words * 8);
	}
	to[1] = ns;
	atc_out_deliver(&c->out, r, words);
	if (s->wakeup)
		return 0;
	r->running = true;
	r->lossy = false;
	r->tid = s->tid[1];
	r->weight = s->weight[1];
	return 0;
}

int atc_sched(struct at_compose *c, const struct atc_context *x,
	      const uint64_t *w, size_t nr, uint64_t *good)
{
	struct atc_ring *r = x->ring;
	size_t words;

	for (uint64_t n = 0; nr && n < x->limit; n++, w += words, nr -= words) {
		uint64_t before = r->last_ns, ns;
		struct sched s;
		int err;

		words = ASYNCTRACE_FXT_WORDS(w[0]);
		if (!words || words > nr)
			break;
		if (!check(c, x, w, words, &s) || !atc_time_published(c, x, w[1], &ns)) {
			r->lossy = true;
			continue;
		}
		err = emit(c, r, &s, w, words, before, ns);
		if (err)
			return err;
		++*good;
	}
	if (*good < x->limit)
		r->lossy = true;
	return 0;
}

/*
 * Writes the running threads into a new file, because the switches to them are in the previous
 * file. They run from the CPU's last record on. A later time would be wrong, because the CPU's
 * next record may follow at once.
 */
int atc_sched_begin(struct at_compose *c)
{
	atc_map_each(&c->rings, e) {
		struct atc_ring *r = e->value;
		int32_t tid = r->tid, weight = r->weight;
		int err;

		if (!r->running)
			continue;
		r->running = tid && !r->lossy;
		r->lossy = false;
		if (!r->running)
			continue;
		err = atc_task_seen(c, tid, NULL);
		if (err)
			return err;
		r->tid = 0;
		r->weight = WEIGHT_IDLE;
		inferred_switch(c, r, r->last_ns, tid, weight);
	}
	return 0;
}

/*
 * Marks CPUs as idle at the end of a file if their threads may have left them without a record:
 * records were lost after the CPU's last record, or the session was stopped and started again.
 */
void atc_sched_finish(struct at_compose *c)
{
	atc_map_each(&c->rings, e) {
		struct atc_ring *r = e->value;

		if (r->lossy)
			atc_sched_lost(c, r);
		end_at_pause(c, r, r->last_ns, UINT64_MAX);
	}
}
