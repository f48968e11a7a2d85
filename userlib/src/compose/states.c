// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * States of threads, which a recorder reads from /proc, or which earlier files show.
 *
 * Scheduling records show changes of state, so a thread that keeps its state has no record. For
 * such a thread, the composer writes its state into the thread's kernel object. In the first file,
 * this is the state that the recorder has read, with the times just before and after the reading.
 * In later files, it is the thread's last state in the earlier files.
 */
#include <errno.h>
#include <string.h>

#include "added.h"
#include "composer.h"

static size_t put_number(uint64_t *w, unsigned int name, uint64_t number)
{
	w[0] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_UINT64, 2, name, 0);
	w[1] = number;
	return 2;
}

/* Writes the arguments "syscall" and "syscall_argument". */
static size_t put_syscall(uint64_t *w, unsigned int index, const char *name, uint64_t argument)
{
	const size_t text = index ? 0 : atc_put_text(w + 1, name, strlen(name));

	w[0] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_STRING, 1 + text, ASYNCTRACE_FXT_STR_SYSCALL,
				  index ? index : ASYNCTRACE_FXT_INLINE | strlen(name));
	return 1 + text + put_number(w + 1 + text, ASYNCTRACE_FXT_STR_SYSCALL_ARG, argument);
}

/* Writes the kernel object of @t, with its state. */
static void state_record(struct at_compose *c, const struct atc_task *t)
{
	const bool has_syscall = t->state->state && t->state->off_cpu & ASYNCTRACE_FXT_OFF_SYSCALL;
	const struct atc_state *s = t->state;
	const size_t len = strlen(t->name);
	char number[ATC_SYSCALL_MAX];
	const char *name = has_syscall ? atc_syscall_name(s->syscall, number) : NULL;
	const unsigned int index = name ? atc_name_index(c, name) : 0;
	unsigned int nargs = 6;
	size_t words;
	uint64_t *w;

	atc_section(c, c->kernel);
	w = atc_out_record(&c->out);
	words = 2 + atc_put_text(w + 2, t->name, len);
	w[words++] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_KOID, 2, ASYNCTRACE_FXT_STR_PROCESS, 0);
	w[words++] = t->pid;
	w[words++] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_UINT32, 1, ASYNCTRACE_FXT_STR_STATE,
					s->state);
	w[words++] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_UINT32, 1, ASYNCTRACE_FXT_STR_OFF_CPU,
					s->off_cpu);
	words += put_number(w + words, ATC_STR_STATE_SINCE, s->since);
	words += put_number(w + words, ATC_STR_READ_FROM, s->from);
	words += put_number(w + words, ATC_STR_READ_UNTIL, s->until);
	if (name) {
		words += put_syscall(w + words, index, name, s->argument);
		nargs += 2;
	}
	w[0] = ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_KERNELOBJ, words) |
	       ASYNCTRACE_FXT_OBJ_THREAD << 16 | (uint64_t)nargs << 40 |
	       (uint64_t)(len ? ASYNCTRACE_FXT_INLINE | len : 0) << 24;
	w[1] = t->tid;
	atc_out_done(&c->out, words);
}

/* --- states that records show ---------------------------------------------------------- */

/* Returns false if there is no memory. */
static bool has_state(struct atc_task *t)
{
	if (!t->state)
		t->state = atc_calloc(1, sizeof(*t->state));
	return t->state;
}

/*
 * Is a record at @ns newer than the state? Rings are read one after the other, and the caller may
 * read a state before the composer has the records of that time.
 */
static bool is_newer(const struct atc_state *s, uint64_t ns)
{
	return !s->valid || ns >= (s->left ? s->since : s->from);
}

/* A record shows that the thread runs at @ns. */
static void runs(struct atc_state *s, uint64_t ns)
{
	if (is_newer(s, ns))
		s->valid = false;
}

void atc_state_ran(struct atc_task *t, uint64_t ns)
{
	if (t && t->state)
		runs(t->state, ns);
}

int atc_state_came(struct atc_task *t, uint64_t ns)
{
	if (!t)
		return 0;
	if (!has_state(t))
		return -ENOMEM;
	runs(t->state, ns);
	if (t->state->came < ns)
		t->state->came = ns;
	return 0;
}

static void set_left(struct atc_state *s, uint64_t ns, uint32_t state)
{
	s->valid = true;
	s->left = true;
	s->since = ns;
	s->from = ns;
	s->until = ns;
	s->state = state;
}

int atc_state_woken(struct atc_task *t, uint64_t ns)
{
	struct atc_state *s;

	if (!t)
		return 0;
	if (!has_state(t))
		return -ENOMEM;
	s = t->state;
	/*
	 * Set the state even if no record has shown the thread asleep: the record of its last
	 * switch may be in a ring that is read later.
	 */
	if (ns >= s->came && is_newer(s, ns))
		set_left(s, ns, 0);
	if (s->woken < ns)
		s->woken = ns;
	return 0;
}

int atc_state_left(struct atc_task *t, uint64_t ns, const struct atc_state *reason)
{
	struct atc_state *s;

	if (!t)
		return 0;
	if (!has_state(t))
		return -ENOMEM;
	s = t->state;
	/* Rings are read one after the other, so a newer record may have been read already. */
	if (ns < s->came || !is_newer(s, ns))
		return 0;
	/* A wakeup since the thread came to the CPU may have made it runnable again. */
	set_left(s, ns, s->woken && s->woken >= s->came ? 0 : reason->state);
	s->off_cpu = reason->off_cpu;
	s->syscall = reason->syscall;
	s->argument = reason->argument;
	return 0;
}

/* --- states that the recorder has read --------------------------------------------------- */

/*
 * Returns the time of the session's last start. Threads may have changed their states while the
 * session was stopped.
 */
static uint64_t last_start(const struct at_compose *c)
{
	const uint64_t start = atc_pauses_end(&c->pauses);

	return start ? start : atc_clock_start(&c->clock);
}

/*
 * Returns the time since which the session has recorded all threads of @p: the last start of the
 * session, or for a provider that joined later, the time of its first record. 0: unknown
 */
static uint64_t followed_since(const struct at_compose *c, const struct atc_provider *p)
{
	const uint64_t start = last_start(c);

	if (!(p->flags & ASYNCTRACE_PROVIDER_F_LATE))
		return start;
	return p->recorded_since && p->recorded_since < start ? start : p->recorded_since;
}

static bool valid(const struct at_compose_thread *t)
{
	return t && t->size >= sizeof(*t) && t->tid > 0 && t->tid < ATC_KOID_VIRTUAL &&
	       t->pid > 0 && t->comm && t->since <= t->from && t->from <= t->until;
}

int at_compose_add_thread(struct at_compose *c, const struct at_compose_thread *t)
{
	struct atc_provider *p;
	struct atc_task *task;
	uint64_t since;
	int err = 0;

	if (!valid(t))
		return -EINVAL;
	p = c->started ? atc_provider(c, t->provider) : NULL;
	if (!p)
		return -EAGAIN;
	if (t->provider && p->pid != t->pid)
		return -ESRCH;
	task = atc_task(c, t->tid);
	if (!task)
		return -ENOMEM;
	if (task->named && task->pid != t->pid)
		return -ESRCH;
	if (!has_state(task))
		return -ENOMEM;
	c->follows_all |= !t->provider;
	if (!p->read_since || p->read_since > t->from)
		p->read_since = t->from;
	since = followed_since(c, p);
	if (!since || since > t->from)
		since = t->from;
	*task->state = (struct atc_state){
		.valid = true, .came = task->state->came, .woken = task->state->woken,
		.since = since > t->since ? since : t->since, .from = t->from, .until = t->until,
		.state = t->state, .off_cpu = t->off_cpu, .syscall = t->syscall,
		.argument = t->argument,
	};
	err = atc_task_suggest(c, task, t->pid, t->comm);
	if (err)
		return err;
	atc_process_introduce(c, t->pid);
	task->in_file = c->file;
	state_record(c, task);
	return c->out.error;
}

/*
 * Sets .followed_since of each process: the time since which the session has recorded all threads
 * of the process. 0: unknown, or not all threads are recorded
 */
static void find_followed(struct at_compose *c)
{
	const uint64_t all = c->follows_all ? last_start(c) : 0;

	atc_map_each(&c->processes, e)
		((struct atc_process *)e->value)->followed_since = all;
	atc_map_each(&c->providers, e) {
		const struct atc_provider *p = e->value;
		struct atc_process *process = atc_map_get(&c->processes, (uint32_t)p->pid);
		uint64_t since = followed_since(c, p);

		/* If the caller has read a state, the session recorded the process by then. */
		if (p->read_since && (!since || since > p->read_since))
			since = p->read_since > last_start(c) ? p->read_since : last_start(c);
		if (p == c->kernel || !process || !since || p->flags & ASYNCTRACE_PROVIDER_F_GONE)
			continue;
		if (!process->followed_since || process->followed_since > since)
			process->followed_since = since;
	}
}

static bool is_followed(const struct at_compose *c, const struct atc_task *t)
{
	const struct atc_process *process = atc_map_get(&c->processes, (uint32_t)t->pid);

	return process && process->followed_since && process->followed_since <= t->state->since;
}

void atc_states_begin(struct at_compose *c)
{
	find_followed(c);
	atc_map_each(&c->tasks, e) {
		struct atc_task *t = e->value;

		/* After a loss or a pause, records of changes may be missing. */
		if (!t->state || !t->state->valid || !t->named ||
		    t->state->from < c->sched_lost_until ||
		    t->state->from < atc_pauses_end(&c->pauses) ||
		    (t->state->left && !is_followed(c, t)))
			continue;
		atc_process_introduce(c, t->pid);
		t->in_file = c->file;
		state_record(c, t);
	}
}
