// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Decodes scheduling records: the reason for which a thread left its CPU, and the operations of
 * both threads.
 * asynctrace(5) describes the arguments.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "engine.h"

/* Linux's task states, as in the argument "state" of a switch */
#define LINUX_DISK	0x02
#define LINUX_STOPPED	0x0c
#define LINUX_EXITED	0xb0

/* Arguments of a record. An argument that the record does not have is NULL. */
struct arguments {
	const struct fxt_arg *state, *off_cpu, *syscall, *argument;
	const struct fxt_arg *operation, *other_operation;
	const struct fxt_arg *waker;
	const struct fxt_arg *weight, *other_weight;
	const struct fxt_arg *since, *read_from, *read_until;
	bool inferred;
};

static void take_argument(struct arguments *to, const struct fxt_arg *arg)
{
	static const struct {
		const char *name;
		unsigned int type;
		size_t at;
	} known[] = {
		{ "state", ASYNCTRACE_FXT_ARG_UINT32, offsetof(struct arguments, state) },
		{ "waker", ASYNCTRACE_FXT_ARG_KOID, offsetof(struct arguments, waker) },
		{ "outgoing_weight", ASYNCTRACE_FXT_ARG_INT32, offsetof(struct arguments, weight) },
		{ "incoming_weight", ASYNCTRACE_FXT_ARG_INT32,
		  offsetof(struct arguments, other_weight) },
		{ "outgoing_operation", ASYNCTRACE_FXT_ARG_UINT64, offsetof(struct arguments, operation) },
		{ "incoming_operation", ASYNCTRACE_FXT_ARG_UINT64,
		  offsetof(struct arguments, other_operation) },
		{ "off_cpu", ASYNCTRACE_FXT_ARG_UINT32, offsetof(struct arguments, off_cpu) },
		{ "syscall", ASYNCTRACE_FXT_ARG_STRING, offsetof(struct arguments, syscall) },
		{ "syscall_argument", ASYNCTRACE_FXT_ARG_UINT64, offsetof(struct arguments, argument) },
		{ "operation", ASYNCTRACE_FXT_ARG_UINT64, offsetof(struct arguments, operation) },
		{ "state_since", ASYNCTRACE_FXT_ARG_UINT64, offsetof(struct arguments, since) },
		{ "read_from", ASYNCTRACE_FXT_ARG_UINT64, offsetof(struct arguments, read_from) },
		{ "read_until", ASYNCTRACE_FXT_ARG_UINT64, offsetof(struct arguments, read_until) },
		{ "waker_operation", ASYNCTRACE_FXT_ARG_UINT64,
		  offsetof(struct arguments, other_operation) },
	};

	if (arg->type == ASYNCTRACE_FXT_ARG_BOOL)
		to->inferred |= arg->u && fxt_text_is(&arg->name, "inferred");
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (arg->type != known[i].type || !fxt_text_is(&arg->name, known[i].name))
			continue;
		*(const struct fxt_arg **)((char *)to + known[i].at) = arg;
		return;
	}
}

static struct arguments arguments_of(const struct fxt_record *rec)
{
	struct arguments args = { 0 };

	for (unsigned int i = 0; i < rec->nargs; i++)
		take_argument(&args, &rec->args[i]);
	return args;
}

static uint64_t number(const struct fxt_arg *arg)
{
	return arg ? arg->u : 0;
}

/* Returns the reason for which a thread in Linux's state @state left its CPU. */
static enum analysis_reason reason_of_state(uint64_t state, uint64_t off_cpu)
{
	if (!state)
		return ANALYSIS_NO_REASON;
	if (state & LINUX_EXITED)
		return ANALYSIS_EXITED;
	if (state & LINUX_STOPPED)
		return ANALYSIS_STOPPED;
	if (off_cpu & ASYNCTRACE_FXT_OFF_IOWAIT)
		return ANALYSIS_IOWAIT;
	return state & LINUX_DISK ? ANALYSIS_DISK : ANALYSIS_SLEEP;
}

static enum analysis_reason reason_of(const struct fxt_record *rec, const struct arguments *args)
{
	/* Other writers of the format have no "state" argument. */
	if (!args->state)
		return rec->number == ASYNCTRACE_FXT_STATE_BLOCKED ||
		       rec->number == ASYNCTRACE_FXT_STATE_SUSPENDED ? ANALYSIS_SLEEP :
		       rec->number == ASYNCTRACE_FXT_STATE_DYING ||
		       rec->number == ASYNCTRACE_FXT_STATE_DEAD ? ANALYSIS_EXITED :
		       ANALYSIS_NO_REASON;
	return reason_of_state(args->state->u, number(args->off_cpu));
}

/* Returns true if a runnable thread gave up its CPU by sched_yield(2). */
static bool is_yield(const struct arguments *args)
{
	return args->syscall && fxt_text_is(&args->syscall->text, "sched_yield") &&
	       !(number(args->off_cpu) & ASYNCTRACE_FXT_OFF_PREEMPTED);
}

/* Stores the system call or the page fault in which the leaving thread is. */
static int name_call(struct analysis *a, const struct arguments *args, struct item *it)
{
	const uint64_t off_cpu = number(args->off_cpu);
	uint32_t name;

	/* A thread that has exited or was stopped does not wait for a system call. */
	if (it->reason == ANALYSIS_EXITED || it->reason == ANALYSIS_STOPPED)
		return 0;
	if (args->syscall)
		name = fxt_name(&a->names, args->syscall->text.s, args->syscall->text.len);
	else if (off_cpu & ASYNCTRACE_FXT_OFF_EXCEPTION)
		name = fxt_name(&a->names, ANALYSIS_PAGE_FAULT, strlen(ANALYSIS_PAGE_FAULT));
	else
		return 0;
	if (name == NO_NAME)
		return -ENOMEM;
	it->name = name + 1;
	it->has_argument = args->syscall && args->argument;
	it->record = it->has_argument ? args->argument->u : 0;
	it->file = it->has_argument ? ASYNCTRACE_FXT_OFF_FILE(off_cpu) : 0;
	if (!it->reason && args->state && is_yield(args))
		it->reason = ANALYSIS_YIELDED;
	return 0;
}

/*
 * True if a thread with the weight @weight is idle. Other systems give idle threads an id, one for
 * each CPU. Only the weight marks them.
 */
static bool is_idle(const struct fxt_arg *weight)
{
	return weight && weight->i == ASYNCTRACE_FXT_WEIGHT_IDLE;
}

int off_cpu_switch(struct analysis *a, const struct fxt_record *rec)
{
	const struct arguments args = arguments_of(rec);
	struct item it = {
		.ns = rec->ns, .kind = ITEM_SWITCH, .cpu = rec->cpu,
		.id = is_idle(args.weight) ? 0 : rec->out,
		.other = is_idle(args.other_weight) ? 0 : rec->in,
		.reason = reason_of(rec, &args), .inferred = args.inferred,
		.operation = number(args.operation),
		.other_operation = number(args.other_operation),
	};
	struct thread *t;
	int err = name_call(a, &args, &it);

	if (!err && it.reason == ANALYSIS_EXITED && is_real(it.id) && !it.inferred) {
		t = thread_of(a, it.id);
		if (!t)
			return -ENOMEM;
		identity_exit_read(t, it.ns);
	}
	return err ? err : order_add(a, &it);
}

int off_cpu_wakeup(struct analysis *a, const struct fxt_record *rec)
{
	const struct arguments args = arguments_of(rec);

	return order_add(a, &(struct item){
		.ns = rec->ns, .kind = ITEM_WAKEUP, .cpu = rec->cpu, .id = rec->in,
		.other = number(args.waker), .operation = number(args.operation),
		.other_operation = number(args.other_operation),
	});
}

int off_cpu_state(struct analysis *a, struct thread *t, const struct fxt_record *rec)
{
	const struct arguments args = arguments_of(rec);
	struct mark m = {
		.kind = MARK_READ, .tid = t->out.tid, .span.state = ANALYSIS_STATES,
		.since = number(args.since), .read = number(args.read_from),
	};
	struct item it = { 0 };
	int err;

	if (!args.state || !args.since || !args.read_from || !args.read_until ||
	    m.since > m.read || m.read > args.read_until->u)
		return 0;
	m.exact = m.since == args.read_until->u;
	if (!t->existed || m.since < t->existed)
		t->existed = m.since;
	it.reason = reason_of_state(args.state->u, number(args.off_cpu));
	err = it.reason ? name_call(a, &args, &it) : 0;
	if (err)
		return err;
	/* Without a reason, the thread runs or waits for a CPU, so its state stays unknown. */
	if (it.reason)
		m.span = (struct span){
			.state = ANALYSIS_BLOCKED, .reason = it.reason, .duration = NO_NAME,
			.cpu = NO_CPU, .in = it.name, .argument = it.record,
			.has_argument = it.has_argument, .file = it.file,
		};
	/*
	 * The state was read before this time. Records until then may show a later state, so the
	 * mark takes effect only if none of them does.
	 */
	return add_mark(a, args.read_until->u + 1, &m);
}
