// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * States of threads, which a recorder reads from /proc.
 *
 * The scheduling records of a session are changes of state. A thread that does not change its state
 * has none. So the kernel object of a thread tells the state that the recorder has read, and the
 * times between which it did so.
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
	const bool has_syscall = t->state->off_cpu & ASYNCTRACE_FXT_OFF_SYSCALL;
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

/*
 * Returns the time since which the session has recorded all threads of @p: its start, or at the
 * latest the first record of a provider that joined later. 0: unknown
 */
static uint64_t followed_since(const struct at_compose *c, const struct atc_provider *p)
{
	return p->flags & ASYNCTRACE_PROVIDER_F_LATE ? p->recorded_since :
						       atc_clock_start(&c->clock);
}

static bool valid(const struct at_compose_thread *t)
{
	return t->size >= sizeof(*t) && t->tid > 0 && t->tid < ATC_KOID_VIRTUAL && t->pid > 0 &&
	       t->comm && t->since <= t->from && t->from <= t->until;
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
	if (!task->state)
		task->state = atc_malloc(sizeof(*task->state));
	if (!task->state)
		return -ENOMEM;
	since = followed_since(c, p);
	if (!since || since > t->from)
		since = t->from;
	*task->state = (struct atc_state){
		.since = since > t->since ? since : t->since, .from = t->from, .until = t->until,
		.state = t->state, .off_cpu = t->off_cpu, .syscall = t->syscall,
		.argument = t->argument,
	};
	if (!task->named)
		err = atc_task_name(c, t->tid, t->pid, t->comm);
	if (err)
		return err;
	atc_process_introduce(c, t->pid);
	task->in_file = c->file;
	state_record(c, task);
	return c->out.error;
}

void atc_states_begin(struct at_compose *c)
{
	atc_map_each(&c->tasks, e) {
		struct atc_task *t = e->value;

		if (!t->state || !t->named || t->state->from < c->sched_lost_until)
			continue;
		atc_process_introduce(c, t->pid);
		t->in_file = c->file;
		state_record(c, t);
	}
}
