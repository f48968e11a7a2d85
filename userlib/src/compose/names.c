// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Names of processes and threads.
 *
 * Viewers need a kernel object for each process and thread. Without it, they show the thread in
 * an unknown process. The process and thread of an event never come from a provider's record, which
 * has only a slot number: the kernel reports the slot's thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "added.h"
#include "composer.h"

/* A thread table entry is replaced only after this number of events that did not use it. */
#define TABLE_PATIENCE	4096

void atc_process_record(struct at_compose *c, int32_t pid, const char *name)
{
	size_t len = strlen(name), words;
	uint64_t *w;

	atc_section(c, c->kernel);
	w = atc_out_record(&c->out);
	words = 2 + atc_put_text(w + 2, name, len);
	w[0] = ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_KERNELOBJ, words) |
	       ASYNCTRACE_FXT_OBJ_PROCESS << 16 |
	       (uint64_t)(len ? ASYNCTRACE_FXT_INLINE | len : 0) << 24;
	w[1] = pid;
	atc_out_done(&c->out, words);
}

void atc_thread_record(struct at_compose *c, int32_t pid, int32_t tid, const char *name)
{
	size_t len = strlen(name), words;
	uint64_t *w;

	atc_section(c, c->kernel);
	w = atc_out_record(&c->out);
	words = 2 + atc_put_text(w + 2, name, len);
	w[words++] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_KOID, 2,
					ASYNCTRACE_FXT_STR_PROCESS, 0);
	w[words++] = pid;
	w[0] = ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_KERNELOBJ, words) |
	       ASYNCTRACE_FXT_OBJ_THREAD << 16 | 1ULL << 40 |
	       (uint64_t)(len ? ASYNCTRACE_FXT_INLINE | len : 0) << 24;
	w[1] = tid;
	atc_out_done(&c->out, words);
}

struct atc_task *atc_task(struct at_compose *c, int32_t tid)
{
	struct atc_task *t = atc_map_make(&c->tasks, (uint32_t)tid, sizeof(*t));

	if (t)
		t->tid = tid;
	return t;
}

/* Introduces the process of tasks that the owner may not see. */
static void introduce_other(struct at_compose *c)
{
	if (c->other)
		return;
	c->other = true;
	atc_process_record(c, ATC_KOID_OTHER, "other");
	atc_thread_record(c, ATC_KOID_OTHER, ATC_KOID_OTHER, "other");
}

/* Writes the object of a process. It must precede the objects of its threads, which refer to it. */
void atc_process_introduce(struct at_compose *c, int32_t pid)
{
	struct atc_process *p = atc_map_get(&c->processes, (uint32_t)pid);
	struct atc_task *main = atc_map_get(&c->tasks, (uint32_t)pid);

	if (!p || p->in_file == c->file)
		return;
	p->in_file = c->file;
	atc_process_record(c, pid, p->name);
	if (main && main->named && main->pid == pid) {
		main->in_file = c->file;
		atc_thread_record(c, pid, pid, main->name);
	} else {
		atc_thread_record(c, pid, pid, p->name);
	}
}

void atc_task_introduce(struct at_compose *c, struct atc_task *t)
{
	if (t->in_file == c->file || !t->named)
		return;
	if (t->virtual_name) {
		atc_task_introduce(c, t->owner);
		t->in_file = c->file;
		atc_thread_record(c, t->pid, t->tid, t->virtual_name);
		return;
	}
	if (ASYNCTRACE_TID_IS_OTHER(t->tid)) {
		introduce_other(c);
	} else {
		atc_process_introduce(c, t->pid);
		/* @t is the main thread, and atc_process_introduce() has introduced it. */
		if (t->in_file == c->file)
			return;
	}
	t->in_file = c->file;
	atc_thread_record(c, t->pid, t->tid, t->name);
}

/* Sets the name and process of a thread, and writes them if they have changed. */
static void set_thread(struct at_compose *c, struct atc_task *t, int32_t pid, const char *name)
{
	t->suggested = false;
	if (t->named && t->pid == pid && !strcmp(t->name, name)) {
		atc_task_introduce(c, t);
		return;
	}
	atc_process_introduce(c, pid);
	t->named = true;
	t->in_file = c->file;
	t->pid = pid;
	t->name[atc_text_repair(t->name, sizeof(t->name) - 1, name, strlen(name))] = 0;
	atc_thread_record(c, pid, t->tid, t->name);
}

static int set_process(struct at_compose *c, int32_t pid, unsigned int rank, const char *name)
{
	struct atc_process *p = atc_map_make(&c->processes, (uint32_t)pid, sizeof(*p));
	struct atc_task *main;

	if (!p)
		return -ENOMEM;
	p->pid = pid;
	/*
	 * A name from a better source replaces the present one. Of the names of threads other than
	 * the main thread, the first one stays.
	 */
	if (rank < p->rank || (rank == p->rank && rank == ATC_RANK_THREAD))
		return 0;
	if (p->rank && !strcmp(p->name, name)) {
		p->rank = rank;
		return 0;
	}
	main = atc_task(c, pid);
	if (!main)
		return -ENOMEM;
	p->rank = rank;
	p->in_file = c->file;
	atc_text_put(p->name, p->name + sizeof(p->name), name);
	atc_process_record(c, pid, p->name);
	/* Viewers make a thread of a process object, with the same id. Give this thread a name. */
	if (!main->named || main->pid != pid)
		atc_thread_record(c, pid, pid, p->name);
	else
		atc_task_introduce(c, main);
	return 0;
}

int atc_process_name(struct at_compose *c, int32_t pid, unsigned int rank,
		     const void *name, size_t len)
{
	char clean[ATC_COMM_MAX + 1];

	clean[atc_text_repair(clean, ATC_COMM_MAX, name, len)] = 0;
	return set_process(c, pid, rank, clean);
}

int atc_task_name(struct at_compose *c, int32_t tid, int32_t pid, const char *comm)
{
	char clean[3 * ASYNCTRACE_COMM_LEN + 1];
	struct atc_task *t;
	int err;

	if (tid < 0 || pid < 0)
		return -EPROTO;
	if (!tid)
		return 0;	/* the idle task: viewers recognise it by its weight */
	if (ASYNCTRACE_TID_IS_OTHER(tid))
		return atc_task_seen(c, tid, NULL);
	if (!pid)
		pid = tid;
	clean[atc_text_repair(clean, sizeof(clean) - 1, comm,
			      strnlen(comm, ASYNCTRACE_COMM_LEN))] = 0;
	t = atc_task(c, tid);
	if (!t)
		return -ENOMEM;
	err = set_process(c, pid, tid == pid ? ATC_RANK_MAIN : ATC_RANK_THREAD, clean);
	if (!err)
		set_thread(c, t, pid, clean);
	return err;
}

int atc_task_suggest(struct at_compose *c, struct atc_task *t, int32_t pid, const char *comm)
{
	int err;

	if (t->named && (!t->suggested || (!comm && t->pid == pid)))
		return 0;
	err = atc_task_name(c, t->tid, pid, comm ? comm : "?");
	t->suggested = true;
	return err;
}

/* Introduces the process of the composer's own pseudo threads. */
void atc_introduce_pseudo(struct at_compose *c)
{
	if (c->pseudo)
		return;
	c->pseudo = true;
	atc_process_record(c, ATC_KOID_PROCESS, "asynctrace");
	atc_thread_record(c, ATC_KOID_PROCESS, ATC_KOID_PROCESS, "asynctrace");
	atc_thread_record(c, ATC_KOID_PROCESS, ATC_KOID_CLOCK, "clock");
}

static struct atc_task *see(struct at_compose *c, uint64_t tid)
{
	struct atc_task *t = atc_task(c, tid);

	if (!t)
		return NULL;
	t->seen = c->file;
	if (ASYNCTRACE_TID_IS_OTHER((int32_t)tid) && !t->named) {
		introduce_other(c);
		set_thread(c, t, ATC_KOID_OTHER, "other");
	}
	atc_task_introduce(c, t);
	return t;
}

int atc_task_seen(struct at_compose *c, uint64_t tid, struct atc_task **task)
{
	struct atc_task *t = tid ? see(c, tid) : NULL;

	if (task)
		*task = t;
	return !tid || t ? 0 : -ENOMEM;
}

/* Introduces a thread without a name. Its name may still arrive, for a later file. */
static void introduce_unnamed(struct at_compose *c, int32_t tid)
{
	/*
	 * If another thread has named a process with the id @tid, then @tid is its main thread:
	 * introduce both.
	 */
	if (atc_map_get(&c->processes, (uint32_t)tid)) {
		atc_process_introduce(c, tid);
		return;
	}
	atc_process_record(c, tid, "?");
	atc_thread_record(c, tid, tid, "?");
}

int atc_names_finish(struct at_compose *c, bool goes_on)
{
	int err;

	/* atc_map_each() must not be used: set_process() may add tasks. */
	for (size_t i = 0; c->tasks.entries && i <= c->tasks.mask; i++) {
		struct atc_task *t = c->tasks.entries[i].value;
		struct atc_process *p;

		if (!t || t->seen != c->file || t->named)
			continue;
		if (goes_on) {
			introduce_unnamed(c, t->tid);
			continue;
		}
		p = atc_map_get(&c->processes, (uint32_t)t->tid);
		if (p) {
			/* Use the name that another thread has given the process. */
			set_thread(c, t, t->tid, p->name);
			continue;
		}
		err = set_process(c, t->tid, ATC_RANK_THREAD, "?");
		if (err)
			return err;
		set_thread(c, t, t->tid, "?");
		c->unnamed++;
	}
	return 0;
}

/* --- the thread table of a provider --------------------------------------- */

/* Entry 0 is the head of the list: .newer[0] is the oldest entry, .older[0] the newest. */
static void take_out(struct atc_threads *h, unsigned int i)
{
	h->newer[h->older[i]] = h->newer[i];
	h->older[h->newer[i]] = h->older[i];
}

static void make_newest(struct atc_threads *h, unsigned int i)
{
	h->older[i] = h->older[0];
	h->newer[i] = 0;
	h->newer[h->older[0]] = i;
	h->older[0] = i;
}

static void table_record(struct at_compose *c, const struct atc_slot *s)
{
	uint64_t *w = atc_out_record(&c->out);

	w[0] = ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_THREAD, 3) | (uint64_t)s->index << 16;
	w[1] = s->pid;
	w[2] = s->task->tid;
	atc_out_done(&c->out, 3);
}

/*
 * The entry that was idle longest is replaced. If even this entry was used recently, the table is
 * too small for the active threads. Then ids inline cost less than rewriting the table all the
 * time.
 */
unsigned int atc_thread_ref(struct at_compose *c, struct atc_provider *p,
			    struct atc_slot *s, bool table)
{
	struct atc_threads *h = &p->threads;
	unsigned int i = s->index;

	h->uses++;
	if (i) {
		if (h->older[0] != i) {
			take_out(h, i);
			make_newest(h, i);
		}
		s->used = h->uses;
		if (s->moved)
			table_record(c, s);
		s->moved = false;
		return i;
	}
	if (h->nr < ASYNCTRACE_FXT_THREADS_MAX) {
		i = ++h->nr;
	} else {
		i = h->newer[0];
		if (!table && h->of[i]->used + TABLE_PATIENCE > h->uses)
			return 0;
		h->of[i]->index = 0;
		take_out(h, i);
	}
	make_newest(h, i);
	h->of[i] = s;
	s->index = i;
	s->used = h->uses;
	s->moved = false;
	table_record(c, s);
	return i;
}
