// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * asynctrace record: live threads of the session's processes, and their states
 *
 * A thread that sleeps during the whole trace has no records. So its state is read from /proc when
 * the recording begins, or when its process becomes a provider; in circular mode and for snapshots,
 * also at the end, because a circular session keeps only the last records. With --attach it is not
 * read at the end.
 *
 * A process may end meanwhile, and another process may get its id. So a list counts only if the
 * process is still a provider after its threads were read.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "record/record.h"
#include "tool.h"

/* Threads to read before the session is read again */
#define BURST	128

/* After a list of the providers, wait this many times as long as the list took. */
#define CHECK_PAUSE	10

/* Limit of the processes in a list */
#define PROCESSES_MAX	65536

static int add_process(struct listing *l, uint32_t provider, uint64_t serial, pid_t pid)
{
	if (l->nr == PROCESSES_MAX)
		return -E2BIG;
	if (!more_room(&l->of, l->nr, &l->room, sizeof(*l->of)))
		return -ENOMEM;
	l->of[l->nr++] = (struct listed_process){
		.provider = provider, .serial = serial, .pid = pid,
	};
	return 0;
}

static void leave_out(struct listing *l, int err)
{
	l->left_out++;
	l->error = err;
}

void record_list_provider(struct recorder *r, uint32_t id, uint64_t serial, pid_t pid)
{
	struct listing *l = &r->listing;
	int err;

	/* In a session of all processes, all live threads were listed at the start. */
	if (!l->on || r->opt.args.sched == ASYNCTRACE_SCHED_ALL || fxt_find(&l->known, serial))
		return;
	err = fxt_make(&l->known, serial) ? add_process(l, id, serial, pid) : -ENOMEM;
	if (err)
		leave_out(l, err);
}

static int add_provider(const struct at_provider_info *p, void *arg)
{
	struct recorder *r = arg;

	if (p->session == r->session && p->pid)
		record_list_provider(r, p->id, p->serial, p->pid);
	return 0;
}

static int add_any(void *arg, pid_t pid)
{
	const int err = add_process(arg, 0, 0, pid);

	if (err)
		leave_out(arg, err);
	return 0;
}

/* Finds the processes. An error only means that their threads are not listed. */
static void list_processes(struct recorder *r)
{
	struct listing *l = &r->listing;
	int err = r->opt.args.sched == ASYNCTRACE_SCHED_ALL ? proc_for_each("", add_any, l) :
		  at_for_each_provider(r->ctl, add_provider, r);

	if (err)
		leave_out(l, err);
}

/* --- reading ------------------------------------------------------------------------ */

static int add_state(struct listed_process *p, const struct proc_state *s)
{
	if (!more_room(&p->states, p->nr, &p->room, sizeof(*p->states)))
		return -ENOMEM;
	p->states[p->nr++] = *s;
	return 0;
}

/* Reads the next thread, or begins the next process. Returns false if nothing is left. */
static bool read_next(struct listing *l)
{
	struct listed_process *p = &l->of[l->next];
	struct proc_state state;
	int more;

	if (l->next == l->nr)
		return false;
	if (!l->walk.dir) {
		more = proc_threads_open(&l->walk, "", p->pid);
	} else {
		more = proc_threads_next(&l->walk, &state);
		if (more > 0)
			more = add_state(p, &state);
		else if (!more)
			more = p->nr ? -ENODATA : -ENOENT;
	}
	if (!more)
		return true;
	proc_threads_close(&l->walk);
	p->err = more == -ENODATA ? 0 : more;
	/* Only a process that was listed as a provider needs a check. */
	p->checked = !p->provider;
	if (p->checked && p->err && p->err != -ENOENT && p->err != -ESRCH)
		leave_out(l, p->err);
	l->next++;
	return true;
}

/* --- checking ------------------------------------------------------------------------ */

static int keep_serial(const struct at_provider_info *p, void *arg)
{
	return fxt_make(arg, p->serial) ? 0 : -ENOMEM;
}

static void free_process(struct listed_process *p)
{
	free(p->states);
}

/*
 * Of the processes whose threads were read, removes unchecked ones that are no providers any more
 * or could not be read. Removes all unchecked ones if the providers cannot be listed. Marks the
 * others as checked.
 */
static void check_processes(struct recorder *r)
{
	struct fxt_table live = { 0 };
	struct listing *l = &r->listing;
	const double begin = record_now();
	size_t kept = 0, before = l->next;
	int err = at_for_each_provider(r->ctl, keep_serial, &live);

	for (size_t i = 0; i < l->nr; i++) {
		struct listed_process *p = &l->of[i];
		const bool ended = !err && i < before && !p->checked && !fxt_find(&live, p->serial);

		if (i < before && !p->checked && !ended && (err || p->err))
			leave_out(l, err ? err : p->err);
		if (i < before && !p->checked && (ended || err || p->err)) {
			free_process(p);
			l->next--;
			continue;
		}
		p->checked |= i < before;
		l->of[kept++] = *p;
	}
	l->nr = kept;
	fxt_table_free(&live);
	l->next_check = record_now() + CHECK_PAUSE * (record_now() - begin);
}

/* True if threads were read that are not checked */
static bool wants_check(const struct listing *l)
{
	for (size_t i = 0; i < l->next; i++)
		if (!l->of[i].checked)
			return true;
	return false;
}

/* --- composing ----------------------------------------------------------------------- */

/* Composes the threads of @p. *@listed: number of threads that the composer has taken */
static int add_threads(struct at_compose *c, const struct listed_process *p, uint64_t *listed)
{
	int err = 0;

	for (size_t i = 0; i < p->nr && !err; i++) {
		const struct proc_state *s = &p->states[i];

		err = at_compose_add_thread(c, &(struct at_compose_thread){
			.size = sizeof(struct at_compose_thread), .provider = p->provider,
			.tid = s->tid, .pid = p->pid, .comm = s->comm, .since = s->since,
			.from = s->from, .until = s->until, .state = s->state,
			.off_cpu = s->off_cpu, .syscall = s->syscall, .argument = s->argument,
		});
		/* Skip the thread: its id has been used again. */
		if (err == -ESRCH)
			err = 0;
		else if (!err)
			++*listed;
	}
	return err;
}

/*
 * Composes the threads of processes that were read and checked, and drops these processes from the
 * list. A process stays in the list if the composer does not know its provider yet. *@took: whether
 * a process was dropped
 */
static int compose(struct recorder *r, bool *took)
{
	struct listing *l = &r->listing;
	size_t kept = 0, next = l->next;
	int err = 0;

	*took = false;
	for (size_t i = 0; i < l->nr; i++) {
		struct listed_process *p = &l->of[i];
		int ret = i < l->next && p->checked && !err ?
			  add_threads(r->out.compose, p, &l->listed) : -EAGAIN;

		if (ret == -EAGAIN) {
			l->of[kept++] = *p;
			continue;
		}
		err = ret;
		*took = true;
		free_process(p);
		next--;
	}
	l->nr = kept;
	l->next = next;
	return err;
}

static int compose_listing(struct recorder *r)
{
	bool took;
	int err;

	if (!r->listing.next || r->out.over)
		return 0;
	err = compose(r, &took);
	if (err)
		return trace_out_check(&r->out, err);
	/* Flush now, because flush() in session.c does so only after a chunk was read. */
	return took ? trace_out_flush(&r->out) : 0;
}

int record_compose_introduced(struct recorder *r, const void *buffer, size_t got)
{
	const struct asynctrace_chunk *chunk = buffer;

	return got >= sizeof(*chunk) && chunk->kind == ASYNCTRACE_CHUNK_PROVIDER ?
	       compose_listing(r) : 0;
}

int record_poll_listing(struct recorder *r)
{
	struct listing *l = &r->listing;
	bool more = l->nr > l->next;
	int err;

	if (!l->on || !l->nr)
		return 0;
	for (int i = 0; i < BURST && more; i++)
		more = read_next(l);
	if (!more && wants_check(l) && record_now() >= l->next_check)
		check_processes(r);
	err = compose_listing(r);
	return err ? err : more;
}

double record_next_listing(const struct recorder *r)
{
	return wants_check(&r->listing) ? r->listing.next_check : 0;
}

/* Reads all threads. */
static void read_all(struct recorder *r)
{
	struct listing *l = &r->listing;

	while (read_next(l))
		;
	if (wants_check(l))
		check_processes(r);
}

void record_list_again(struct recorder *r)
{
	struct listing *l = &r->listing;

	if (!l->on)
		return;
	proc_threads_close(&l->walk);
	for (size_t i = 0; i < l->nr; i++)
		free_process(&l->of[i]);
	l->nr = l->next = 0;
	l->left_out = 0;
	l->error = 0;
	fxt_table_free(&l->known);
	l->known = (struct fxt_table){ 0 };
	list_processes(r);
	read_all(r);
}

int record_copy_listing(const struct recorder *r, struct at_compose *c)
{
	const struct listing *l = &r->listing;
	uint64_t listed = 0;
	int err = 0;

	for (size_t i = 0; i < l->next && !err; i++) {
		if (l->of[i].checked)
			err = add_threads(c, &l->of[i], &listed);
		if (err == -EAGAIN)
			err = 0;
	}
	return err;
}

int record_start_listing(struct recorder *r)
{
	struct listing *l = &r->listing;

	if (r->opt.args.sched == ASYNCTRACE_SCHED_OFF)
		return 0;
	l->foreign = !proc_is_ours("");
	l->on = !l->foreign;
	if (r->opt.snapshot)
		record_list_again(r);
	else if (l->on)
		list_processes(r);
	return 0;
}

int record_finish_listing(struct recorder *r)
{
	if (!r->listing.on)
		return 0;
	read_all(r);
	return compose_listing(r);
}

/* --- the summary ------------------------------------------------------------------ */

void record_listing_json(const struct recorder *r, struct json_doc *j)
{
	doc_number(j, "threads_listed", r->listing.listed);
	doc_number(j, "processes_unlisted", r->listing.left_out);
}

static bool is_hidden(int err)
{
	return err == -ENOENT || err == -EACCES || err == -EPERM;
}

static void explain(int err)
{
	if (err == -E2BIG)
		fprintf(stderr, "at most %d processes are listed at a time\n", PROCESSES_MAX);
	else
		fprintf(stderr, "%s: %s\n", is_hidden(err) ? "/proc does not show them" :
			"they could not be listed", strerror(-err));
}

void record_listing_summary(const struct recorder *r)
{
	const struct listing *l = &r->listing;

	if (l->foreign)
		fputs("  Threads that slept all the time are not in the trace, because /proc is that of another pid namespace: mount one of this namespace.\n",
		      stderr);
	if (l->left_out) {
		fprintf(stderr, "  Of %s process%s, threads that slept all the time are not in the trace, because ",
			tool_count(l->left_out), l->left_out == 1 ? "" : "es");
		explain(l->error);
	}
}

void record_free_listing(struct recorder *r)
{
	struct listing *l = &r->listing;

	proc_threads_close(&l->walk);
	for (size_t i = 0; i < l->nr; i++)
		free_process(&l->of[i]);
	free(l->of);
	fxt_table_free(&l->known);
}
