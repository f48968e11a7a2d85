// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Checks of single records in the order of the file: names of threads and processes, and the
 * scheduling of each CPU.
 */
#include <errno.h>

#include "check_priv.h"

#define RUNNING_UNKNOWN	0	/* other values: thread id + 1 */

static int note(struct fxt_table *t, uint64_t key, uint64_t offset)
{
	struct fxt_entry *e = fxt_find(t, key);

	if (e)
		return 0;
	e = fxt_make(t, key);
	if (!e)
		return -ENOMEM;
	e->a = key;
	e->b = offset;
	return 0;
}

static int object(struct fxt_check *c, const struct fxt_record *rec)
{
	const struct fxt_arg *process;
	int err;

	if (rec->number == ASYNCTRACE_FXT_OBJ_PROCESS)
		return note(&c->processes, rec->id + 1, rec->offset);
	if (rec->number != ASYNCTRACE_FXT_OBJ_THREAD)
		return 0;
	process = fxt_arg(rec, "process");
	err = note(&c->threads, rec->id + 1, rec->offset);
	return err ? err : note(&c->owners, fxt_hash(rec->id, process->u), rec->offset);
}

static void time_of(struct fxt_check *c, const struct fxt_record *rec, uint64_t ns)
{
	if (c->started && ns < c->start)
		fxt_found(c, FXT_RULE_OUTSIDE, rec->offset, "%llu ns before the first",
			  (unsigned long long)(c->start - ns));
	if (ns > c->latest) {
		c->latest = ns;
		c->latest_offset = rec->offset;
	}
}

/* Notes the recorder's clock events. Returns true if @rec is one. */
static bool clock_event(struct fxt_check *c, const struct fxt_record *rec)
{
	if (!fxt_is_clock(rec))
		return false;
	if (fxt_text_is(&rec->name, "session start") && !c->started) {
		c->started = true;
		c->start = rec->ns;
	} else if (fxt_text_is(&rec->name, "session continued") && !c->started) {
		const struct fxt_arg *start = fxt_arg(rec, "session start");

		c->part = true;
		c->started = start && start->type == ASYNCTRACE_FXT_ARG_UINT64;
		c->start = c->started ? start->u : 0;
	} else if (fxt_text_is(&rec->name, "slower than")) {
		c->part = true;
		c->selection = true;
	} else if (fxt_text_is(&rec->name, "trace end")) {
		c->end = rec->ns;
		c->part |= fxt_arg(rec, "continues") != NULL;
	}
	return true;
}

static int active(struct fxt_check *c, const struct fxt_record *rec)
{
	struct fxt_table *t = fxt_is_tracepoint(rec) ? &c->interrupted : &c->active;
	uint64_t key = fxt_hash(rec->thread.tid, rec->thread.pid);
	struct fxt_entry *e = fxt_find(t, key);

	if (e)
		return 0;
	e = fxt_make(t, key);
	if (!e)
		return -ENOMEM;
	e->a = rec->thread.tid << 32 | (rec->thread.pid & UINT32_MAX);
	e->b = rec->offset;
	return 0;
}

static int event(struct fxt_check *c, const struct fxt_record *rec)
{
	int err;

	c->tally.events++;
	if (!clock_event(c, rec)) {
		time_of(c, rec, rec->ns);
		time_of(c, rec, rec->end_ns);
	}
	err = active(c, rec);
	return err ? err : fxt_window_add(c, rec);
}

static int scheduled(struct fxt_check *c, const struct fxt_record *rec, uint64_t tid)
{
	return tid ? note(&c->scheduled, tid + 1, rec->offset) : 0;
}

static int sched(struct fxt_check *c, const struct fxt_record *rec)
{
	const struct fxt_arg *waker = fxt_arg(rec, "waker");
	struct fxt_entry *cpu;
	int err = 0;

	time_of(c, rec, rec->ns);
	/*
	 * A wakeup record names the CPU where the woken thread will run, not the one that wrote
	 * it. So it says nothing about what a CPU runs.
	 */
	if (rec->kind == FXT_WAKEUP) {
		c->tally.wakeups++;
		if (waker && waker->type == ASYNCTRACE_FXT_ARG_KOID)
			err = scheduled(c, rec, waker->u);
		return err ? err : scheduled(c, rec, rec->in);
	}
	c->tally.switches++;
	cpu = fxt_make(&c->cpus, rec->cpu + 1);
	if (!cpu)
		return -ENOMEM;
	if (rec->ns < cpu->a)
		fxt_found(c, FXT_RULE_CPU_TIME, rec->offset, "by %llu ns on cpu %u",
			  (unsigned long long)(cpu->a - rec->ns), rec->cpu);
	if (cpu->b != RUNNING_UNKNOWN && cpu->b != rec->out + 1)
		fxt_found(c, FXT_RULE_SWITCH, rec->offset,
			  "%llu leaves cpu %u, where %llu was", (unsigned long long)rec->out,
			  rec->cpu, (unsigned long long)cpu->b - 1);
	cpu->a = rec->ns;
	cpu->b = rec->in + 1;
	err = scheduled(c, rec, rec->out);
	if (!err)
		err = scheduled(c, rec, rec->in);
	return err ? err : fxt_window_switch(c, rec);
}

int fxt_stream_record(struct fxt_check *c, const struct fxt_record *rec)
{
	c->tally.records++;
	c->tally.bytes = rec->offset + rec->words * 8;
	if (rec->damaged)
		return 0;
	switch (rec->kind) {
	case FXT_OBJECT:
		return object(c, rec);
	case FXT_EVENT:
		return event(c, rec);
	case FXT_BLOB_EVENT:
		time_of(c, rec, rec->ns);
		return active(c, rec);
	case FXT_SWITCH:
	case FXT_WAKEUP:
		return sched(c, rec);
	case FXT_PROVIDER_INFO:
		fxt_asyncs_provider(&c->asyncs, rec);
		return 0;
	case FXT_PROVIDER_EVENT:
		c->tally.losses++;
		/* The loss may be of any CPU's switches, so nothing is known of any CPU. */
		fxt_each(&c->cpus, e)
			e->b = RUNNING_UNKNOWN;
		return 0;
	default:
		return 0;
	}
}

static bool known_thread(const struct fxt_check *c, uint64_t tid)
{
	return fxt_find(&c->threads, tid + 1);
}

/* Checks that a thread with an event has a thread object and a process object. */
static void thread_end(struct fxt_check *c, const struct fxt_entry *e)
{
	uint32_t tid = e->a >> 32, pid = e->a;

	c->tally.threads++;
	if (!known_thread(c, tid))
		fxt_found(c, FXT_RULE_NO_THREAD, e->b, "%u", tid);
	else if (!fxt_find(&c->owners, fxt_hash(tid, pid)))
		fxt_found(c, FXT_RULE_PHANTOM, e->b, "thread %u under process %u", tid, pid);
	if (!fxt_find(&c->processes, (uint64_t)pid + 1))
		fxt_found(c, FXT_RULE_NO_PROCESS, e->b, "%u", pid);
}

int fxt_stream_end(struct fxt_check *c)
{
	bool any_sched = c->tally.switches + c->tally.wakeups;

	fxt_each(&c->active, e) {
		uint32_t tid = e->a >> 32;

		thread_end(c, e);
		if (any_sched && tid <= FXT_TID_REAL_MAX &&
		    !fxt_find(&c->scheduled, (uint64_t)tid + 1))
			fxt_found(c, FXT_RULE_UNSCHEDULED, e->b, "%u", tid);
	}
	/*
	 * Do not require scheduling records here: a session records tracepoint events of its
	 * operations also on threads whose scheduling it does not record.
	 */
	fxt_each(&c->interrupted, e)
		if (!fxt_find(&c->active, e->key))
			thread_end(c, e);
	fxt_each(&c->scheduled, e)
		if (!known_thread(c, e->a - 1))
			fxt_found(c, FXT_RULE_NO_THREAD, e->b, "%llu, in scheduling",
				  (unsigned long long)e->a - 1);
	fxt_each(&c->processes, e)
		if (!fxt_find(&c->owners, fxt_hash(e->a - 1, e->a - 1)))
			fxt_found(c, FXT_RULE_MAIN, e->b, "process %llu",
				  (unsigned long long)e->a - 1);
	if (c->end && c->latest > c->end)
		fxt_found(c, FXT_RULE_OUTSIDE, c->latest_offset, "%llu ns after the last",
			  (unsigned long long)(c->latest - c->end));
	return 0;
}
