// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events between the instance and the composer
 *
 * The composer can tell the time of a stamp only when the session has logged a later moment
 * of its clock, which it does each second.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ftrace/priv.h"
#include "tool.h"

/* More than that in a second counts as unwritten. */
#define QUEUE_MAX	(256u << 20)

/**
 * struct queued - an event in the queue
 * @ts: when it was
 * @event: its format
 * @cpu: where it was
 * @size: bytes of @data; the next event follows, aligned
 * @data: as ftrace wrote it
 */
struct queued {
	uint64_t ts;
	struct tep_event *event;
	uint32_t cpu;
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

static int take_event(struct tep_event *event, struct tep_record *record, int cpu, void *arg)
{
	struct ftrace *f = arg;
	size_t bytes = bytes_of(record->size);
	struct queued *q;

	if (cpu < 0 || (unsigned int)cpu >= f->nr_cpus)
		return 0;
	f->cpus[cpu].read++;
	if (!make_room(f, bytes)) {
		f->cpus[cpu].unwritten++;
		return 0;
	}
	q = (struct queued *)(f->queue + f->used);
	q->ts = record->ts;
	q->event = event;
	q->cpu = cpu;
	q->size = record->size;
	memcpy(q->data, record->data, record->size);
	f->used += bytes;
	return 0;
}

int ftrace_read(struct ftrace *f)
{
	if (!tracefs_iterate_raw_events(f->tep, f->instance, NULL, 0, take_event, f))
		return 0;
	/* Without an event in any buffer, the library may fail with one of these. */
	if (errno == EAGAIN || errno == EINTR || !errno)
		return 0;
	tool_error("cannot read ftrace's buffers: %s", strerror(errno));
	return -errno;
}

/* The thread that the event happened in: ftrace calls it common_pid. */
static pid_t thread_of(struct ftrace *f, struct queued *q)
{
	struct tep_record record = { .data = q->data, .size = q->size };

	return tep_data_pid(f->tep, &record);
}

static int compose_one(struct ftrace *f, struct at_compose *c, struct queued *q)
{
	struct ftrace_fields fields;
	struct at_compose_tracepoint t = {
		.size = sizeof(t), .clock = f->clock, .time = q->ts, .cpu = q->cpu,
		.tid = thread_of(f, q), .category = q->event->system, .name = q->event->name,
		.values = fields.values,
	};
	const struct ftrace_task *task = t.tid > 0 ? ftrace_task(f, t.tid) : NULL;

	if (task) {
		t.pid = task->pid;
		t.comm = task->comm;
	}
	ftrace_decode(&fields, q->event, q->data, q->size);
	t.nr_values = fields.nr;
	return at_compose_add_tracepoint(c, &t);
}

int ftrace_compose(struct ftrace *f, struct at_compose *c)
{
	size_t at = 0;
	int err = 0;

	while (at < f->used) {
		struct queued *q = (struct queued *)(f->queue + at);

		err = compose_one(f, c, q);
		if (err == -EAGAIN)
			break;
		/* The composer counted the event if it failed to write it. */
		if (err == -ERANGE || err == -EINVAL || err == -ENOMEM)
			f->cpus[q->cpu].unwritten++;
		at += bytes_of(q->size);
	}
	memmove(f->queue, f->queue + at, f->used - at);
	f->used -= at;
	return err == -EAGAIN || err == -ERANGE || err == -EINVAL ? 0 : err;
}

/* Reads a number of the buffer's statistics; 0 if they do not have it. */
static uint64_t statistic(const char *stats, const char *name)
{
	const char *line = stats ? strstr(stats, name) : NULL;
	uint64_t n;

	return line && sscanf(line + strlen(name), ": %" SCNu64, &n) == 1 ? n : 0;
}

int ftrace_finish(struct ftrace *f, struct at_compose *c)
{
	int err = 0;

	/* Events later than all that is known of the clock */
	for (size_t at = 0; at < f->used;) {
		struct queued *q = (struct queued *)(f->queue + at);

		f->cpus[q->cpu].unwritten++;
		at += bytes_of(q->size);
	}
	f->used = 0;
	for (unsigned int i = 0; i < f->nr_cpus && !err; i++) {
		struct ftrace_cpu *cpu = &f->cpus[i];
		uint64_t overwritten, dropped, read;
		char file[64], *stats;

		snprintf(file, sizeof(file), "per_cpu/cpu%u/stats", i);
		stats = tracefs_instance_file_read(f->instance, file, NULL);
		overwritten = statistic(stats, "\noverrun") + statistic(stats, "commit overrun");
		dropped = statistic(stats, "dropped events");
		/* Events that the kernel gave out, and the library did not understand */
		read = statistic(stats, "read events");
		if (read > cpu->read)
			cpu->unwritten += read - cpu->read;
		free(stats);
		if (cpu->read || cpu->unwritten || overwritten || dropped)
			err = at_compose_tracepoint_counts(c, i, overwritten, dropped,
							   cpu->unwritten);
		cpu->unwritten = 0;
	}
	return err == -EAGAIN ? 0 : err;
}
