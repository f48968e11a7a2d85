// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Queue of events that were read from ftrace's instances and wait for the composer
 *
 * The composer can convert the time stamp of an event only after the session has logged a later
 * time of its clock. The session logs the time once a second.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ftrace/priv.h"
#include "tool.h"

/* Limit of the queue in bytes. Further events count as unwritten. */
#define QUEUE_MAX	(256u << 20)

/**
 * struct queued - an event in the queue
 * @ts: time stamp of the event
 * @event: format of the event
 * @cpu: CPU on which it happened
 * @which: enum ftrace_which: the instance that it was read from
 * @size: bytes of @data; the next event follows, aligned
 * @data: the event as ftrace wrote it
 */
struct queued {
	uint64_t ts;
	struct tep_event *event;
	uint16_t cpu;
	uint16_t which;
	uint32_t size;
	char data[];
};

static size_t bytes_of(size_t size)
{
	return (sizeof(struct queued) + size + 7) & ~(size_t)7;
}

static bool make_room(struct ftrace *f, size_t bytes)
{
	size_t room = f->room ? f->room : 1 << 20;
	char *queue;

	while (room < f->used + bytes)
		room *= 2;
	if (room == f->room)
		return true;
	queue = room <= QUEUE_MAX ? realloc(f->queue, room) : NULL;
	if (!queue)
		return false;
	f->queue = queue;
	f->room = room;
	return true;
}

/* Argument of take_event() */
struct reading {
	struct ftrace *f;
	enum ftrace_which which;
};

static int take_event(struct tep_event *event, struct tep_record *record, int cpu, void *arg)
{
	const struct reading *r = arg;
	struct ftrace *f = r->f;
	size_t bytes = bytes_of(record->size);
	struct ftrace_cpu *account;
	struct queued *q;

	if (cpu < 0 || (unsigned int)cpu >= f->nr_cpus)
		return 0;
	account = &f->of[r->which].cpus[cpu];
	account->read++;
	if (!make_room(f, bytes)) {
		account->unwritten++;
		return 0;
	}
	q = (struct queued *)(f->queue + f->used);
	q->ts = record->ts;
	q->event = event;
	q->cpu = cpu;
	q->which = r->which;
	q->size = record->size;
	memcpy(q->data, record->data, record->size);
	f->used += bytes;
	return 0;
}

static int read_instance(struct ftrace *f, enum ftrace_which which)
{
	struct reading r = { .f = f, .which = which };
	int err;

	if (!f->of[which].tracefs ||
	    !tracefs_iterate_raw_events(f->tep, f->of[which].tracefs, NULL, 0, take_event, &r))
		return 0;
	/* Without an event in any buffer, the library may fail with one of these. */
	if (errno == EAGAIN || errno == EINTR || !errno)
		return 0;
	err = -errno;
	tool_error("cannot read ftrace's buffers: %s", strerror(-err));
	return err;
}

int ftrace_read(struct ftrace *f)
{
	int err = read_instance(f, FTRACE_WATCHED);

	return err ? err : read_instance(f, FTRACE_JOINED);
}

void ftrace_on_cpu(struct ftrace *f, int (*fn)(void *arg, uint32_t cpu), void *arg)
{
	f->on_cpu = fn;
	f->arg = arg;
}

bool ftrace_is_crowded(const struct ftrace *f)
{
	return f->used > QUEUE_MAX / 4;
}

/* Returns the thread that the event happened in, which ftrace calls common_pid. */
static pid_t thread_of(struct ftrace *f, struct queued *q)
{
	struct tep_record record = { .data = q->data, .size = q->size };

	return tep_data_pid(f->tep, &record);
}

/*
 * Both instances may have recorded the same event. The composer takes events that join an operation
 * only from FTRACE_JOINED, and all others only from FTRACE_WATCHED.
 */
static uint32_t flags_of(const struct ftrace *f, const struct queued *q)
{
	if (!f->of[FTRACE_JOINED].tracefs)
		return 0;
	return q->which == FTRACE_JOINED ? ASYNCTRACE_COMPOSE_TRACEPOINT_JOINED :
					   ASYNCTRACE_COMPOSE_TRACEPOINT_UNJOINED;
}

/* Returns the result of at_compose_add_tracepoint(). Sets *@failed if on_cpu() fails. */
static int compose_one(struct ftrace *f, struct at_compose *c, struct queued *q, int *failed)
{
	const struct ftrace_join *join = ftrace_join(f, q->event);
	struct ftrace_fields fields;
	struct at_compose_tracepoint t = {
		.size = sizeof(t), .clock = f->clock, .time = q->ts, .cpu = q->cpu,
		.tid = thread_of(f, q), .category = q->event->system, .name = q->event->name,
		.values = fields.values,
	};
	const struct ftrace_task *task = t.tid > 0 ? ftrace_task(f, t.tid) : NULL;
	int err = f->on_cpu ? f->on_cpu(f->arg, q->cpu) : 0;

	if (err && !*failed)
		*failed = err;
	if (task) {
		t.pid = task->pid;
		t.comm = task->comm;
	}
	if (join) {
		t.operation = ftrace_join_id(join, q->data, q->size);
		t.flags = flags_of(f, q);
	}
	ftrace_decode(&fields, q->event, q->data, q->size);
	t.nr_values = fields.nr;
	/* Add the event even if on_cpu() failed, so that the composer counts it. */
	return at_compose_add_tracepoint(c, &t);
}

/* Returns true if the error concerns this event only, so that the next one can be composed. */
static bool is_of_event(int err)
{
	return err == -ERANGE || err == -EINVAL || err == -ENOENT;
}

int ftrace_compose(struct ftrace *f, struct at_compose *c)
{
	/*
	 * Set if the composer cannot tell the time of an event of the instance yet. Events of an
	 * instance are in order of time, so it cannot tell the times of later ones either.
	 */
	bool early[FTRACE_INSTANCES] = { false };
	size_t at = 0, kept = 0;
	int result = 0;

	ftrace_renew_tasks(f);
	while (at < f->used) {
		struct queued *q = (struct queued *)(f->queue + at);
		const size_t bytes = bytes_of(q->size);
		int err = early[q->which] ? -EAGAIN : compose_one(f, c, q, &result);

		at += bytes;
		if (err == -EAGAIN) {
			early[q->which] = true;
			memmove(f->queue + kept, q, bytes);
			kept += bytes;
			continue;
		}
		/*
		 * The composer does not count an event after these errors. It counts events that it
		 * fails to write.
		 */
		if (err == -ERANGE || err == -EINVAL || err == -ENOBUFS)
			f->of[q->which].cpus[q->cpu].unwritten++;
		if (err && !is_of_event(err) && !result)
			result = err == -ENOBUFS ? -ENOMEM : err;
	}
	f->used = kept;
	return result;
}

/* Returns a number of the buffer's statistics; 0 if they do not have it. */
static uint64_t statistic(const char *stats, const char *name)
{
	const char *line = stats ? strstr(stats, name) : NULL;
	uint64_t n;

	return line && sscanf(line + strlen(name), ": %" SCNu64, &n) == 1 ? n : 0;
}

/**
 * struct losses - events of a CPU that are not in the file
 * @overwritten: events that newer ones replaced
 * @dropped: events that found no room
 * @unwritten: events that were read but not composed
 * @any: at least one event of the CPU was read
 */
struct losses {
	uint64_t overwritten;
	uint64_t dropped;
	uint64_t unwritten;
	bool any;
};

static void add_losses(struct losses *l, struct ftrace_instance *i, unsigned int cpu)
{
	struct ftrace_cpu *account = &i->cpus[cpu];
	char file[64], *stats;
	uint64_t read;

	snprintf(file, sizeof(file), "per_cpu/cpu%u/stats", cpu);
	stats = tracefs_instance_file_read(i->tracefs, file, NULL);
	l->overwritten += statistic(stats, "\noverrun") + statistic(stats, "commit overrun");
	l->dropped += statistic(stats, "dropped events");
	/* Count events that the kernel returned and the library did not understand. */
	read = statistic(stats, "read events");
	if (read > account->read)
		account->unwritten += read - account->read;
	free(stats);
	l->unwritten += account->unwritten;
	l->any |= account->read || account->unwritten;
	account->unwritten = 0;
}

int ftrace_finish(struct ftrace *f, struct at_compose *c)
{
	int err, result = 0;

	/* Count the events that are left. The composer could not convert their time stamps. */
	for (size_t at = 0; at < f->used;) {
		struct queued *q = (struct queued *)(f->queue + at);

		f->of[q->which].cpus[q->cpu].unwritten++;
		at += bytes_of(q->size);
	}
	f->used = 0;
	/* After an error of the file, the composer still counts the losses of other CPUs. */
	for (unsigned int cpu = 0; cpu < f->nr_cpus; cpu++) {
		struct losses l = { 0 };

		for (int i = 0; i < FTRACE_INSTANCES; i++)
			if (f->of[i].tracefs)
				add_losses(&l, &f->of[i], cpu);
		if (!l.any && !l.overwritten && !l.dropped)
			continue;
		err = at_compose_tracepoint_counts(c, cpu, l.overwritten, l.dropped, l.unwritten);
		if (err != -EAGAIN && !result)
			result = err;
	}
	return result;
}
