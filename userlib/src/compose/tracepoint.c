// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Events of the kernel's tracepoints, which a recorder reads from ftrace, and counters of
 * processes, which a recorder has measured.
 *
 * An event becomes an instant on the track of its thread. The idle tasks of all CPUs have tid 0,
 * so the idle task of each CPU gets a pseudo thread. Events that ftrace lost are accounted for in
 * rings of the kernel's provider, one ring for each CPU.
 *
 * A field may have the id of an operation, as the program gave it to a driver. The current thread
 * of an interrupt has nothing to do with that operation. So the process is found by the id's salt,
 * and not by the thread as for ids in cells.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "added.h"
#include "composer.h"

/* Limit of texts that get an index. Later texts are written inline. */
#define TEXTS_MAX	4096
#define TEXT_MAX	255

/* Bits of an id below the salt of its process */
#define SALT_SHIFT	44

/*
 * The argument that joins an instant to an operation, and the name that a tracepoint's own field
 * "operation" gets instead
 */
#define OPERATION	"operation"
#define OPERATION_FIELD	"field operation"

/* A text of the kernel's section: a name of an event, its subsystem or a field. */
struct atc_name {
	unsigned int index;
	uint32_t in_file;		/* number of the last file that has this text */
	size_t len;
	char text[];
};

static uint64_t hash(const char *text, size_t len)
{
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)text[i]) * 0x100000001b3;
	return h;
}

static struct atc_name *name_make(struct at_compose *c, uint64_t key, const char *text, size_t len)
{
	struct atc_name *n;

	if (c->texts.used >= TEXTS_MAX)
		return NULL;
	n = atc_malloc(sizeof(*n) + len);
	if (!n)
		return NULL;
	*n = (struct atc_name){ .index = ATC_STR_END_OF_FIXED + c->texts.used, .len = len };
	memcpy(n->text, text, len);
	if (atc_map_set(&c->texts, key, n)) {
		atc_free(n);
		return NULL;
	}
	return n;
}

unsigned int atc_name_index(struct at_compose *c, const char *text)
{
	size_t len = strnlen(text, TEXT_MAX);
	uint64_t key = hash(text, len);
	struct atc_name *n = atc_map_get(&c->texts, key);

	if (!n)
		n = name_make(c, key, text, len);
	if (!n || n->len != len || memcmp(n->text, text, len))
		return 0;
	if (n->in_file != c->file) {
		n->in_file = c->file;
		atc_section(c, c->kernel);
		atc_string_record(c, n->index, text, len);
	}
	return n->index;
}

/* Writes up to @max bytes of text at @w[*words], as UTF-8. Returns its inline reference. */
static unsigned int put_text(uint64_t *w, size_t *words, const char *text, size_t max)
{
	size_t room = ASYNCTRACE_FXT_TEXT_WORDS(max);
	size_t len;

	if (!max)
		return 0;
	memset(w + *words, 0, room * 8);
	len = atc_text_repair((char *)(w + *words), max, text, max);
	*words += ASYNCTRACE_FXT_TEXT_WORDS(len);
	return len ? ASYNCTRACE_FXT_INLINE | len : 0;
}

/* Returns the reference of a text. A text without an index is written at @w[*words]. */
static unsigned int put_ref(uint64_t *w, size_t *words, unsigned int index, const char *text)
{
	return index ? index : put_text(w, words, text, strnlen(text, TEXT_MAX));
}

static void put_value(uint64_t *w, size_t *words, unsigned int name,
		      const struct at_compose_value *v)
{
	size_t head = (*words)++;
	unsigned int text = 0;

	name = put_ref(w, words, name, v->name);
	if (v->type == ASYNCTRACE_FXT_ARG_STRING)
		text = put_text(w, words, v->text, v->bytes < ASYNCTRACE_COMPOSE_TEXT_MAX ?
							   v->bytes : ASYNCTRACE_COMPOSE_TEXT_MAX);
	else
		w[(*words)++] = v->number;
	w[head] = ASYNCTRACE_FXT_ARG(v->type, *words - head, name, text);
}

static bool are_whole(const struct at_compose_value *values, size_t nr)
{
	if (nr && !values)
		return false;
	for (size_t i = 0; i < nr; i++)
		if (!values[i].name || (values[i].type == ASYNCTRACE_FXT_ARG_STRING &&
					values[i].bytes && !values[i].text))
			return false;
	return true;
}

static bool valid(const struct at_compose_tracepoint *t)
{
	if (!t || t->size < sizeof(*t) || t->cpu > UINT16_MAX || t->tid < 0 || t->pid < 0 ||
	    t->nr_values > ASYNCTRACE_FXT_ARGS_MAX || !t->category || !t->name || t->reserved ||
	    t->flags & ~(ASYNCTRACE_COMPOSE_TRACEPOINT_JOINED |
			 ASYNCTRACE_COMPOSE_TRACEPOINT_UNJOINED) ||
	    !are_whole(t->values, t->nr_values))
		return false;
	for (unsigned int i = 0; i < t->nr_values; i++) {
		switch (t->values[i].type) {
		case ASYNCTRACE_FXT_ARG_INT64:
		case ASYNCTRACE_FXT_ARG_UINT64:
		case ASYNCTRACE_FXT_ARG_POINTER:
		case ASYNCTRACE_FXT_ARG_STRING:
			break;
		default:
			return false;
		}
	}
	return true;
}

/*
 * Finds the time of an event. Returns -EAGAIN if a later clock pair may cover the event, or -ERANGE
 * if the event is not in the session.
 */
static int time_of(struct at_compose *c, const struct at_compose_tracepoint *t, uint64_t *ns)
{
	size_t s = c->clock.nr;
	int where = 1;

	if (!c->started)
		return -EAGAIN;
	if (t->clock == ASYNCTRACE_CLOCK_BOOTTIME) {
		*ns = t->time;
		return *ns < atc_clock_start(&c->clock) ? -ERANGE : 0;
	}
	while (s--) {
		where = atc_clock_ns(&c->clock, s, t->time, ns);
		if (!where)
			return 0;
		if (where > 0)
			break;
	}
	if (where < 0)
		return -ERANGE;
	return s + 1 == c->clock.nr ? -EAGAIN : -ERANGE;
}

static struct atc_ring *ring_of(struct at_compose *c, uint32_t cpu)
{
	struct atc_ring *r = atc_ring(c, c->kernel, ATC_RING_TRACEPOINTS + cpu);

	if (r)
		r->flags |= ASYNCTRACE_COMPOSE_RING_TRACEPOINTS;
	return r;
}

/* Returns the pseudo thread of a CPU's idle task. */
static uint32_t idle_thread(struct at_compose *c, struct atc_ring *r)
{
	char name[32];

	if (r->idle && r->idle_in_file == c->file)
		return r->idle;
	r->idle = c->next_losses++;
	r->idle_in_file = c->file;
	snprintf(name, sizeof(name), "cpu-%u idle", r->index - ATC_RING_TRACEPOINTS);
	atc_introduce_pseudo(c);
	atc_thread_record(c, ATC_KOID_PROCESS, r->idle, name);
	return r->idle;
}

/*
 * Introduces the thread @tid in the file. *@pid: its process, or @tid if that is not known.
 * @known: its process, 0: not known. @comm: its name if the session does not name it; or NULL
 */
static int introduce(struct at_compose *c, int32_t tid, int32_t known, const char *comm,
		     uint64_t *pid)
{
	struct atc_task *task = atc_task(c, tid);
	int err = 0;

	if (!task)
		return -ENOMEM;
	if (known)
		err = atc_task_suggest(c, task, known, comm);
	if (!err)
		err = atc_task_seen(c, tid, NULL);
	*pid = task->pid ? task->pid : tid;
	return err;
}

/* Finds the process and the thread whose track shows the event. */
static int identify(struct at_compose *c, struct atc_ring *r,
		    const struct at_compose_tracepoint *t, uint64_t *pid, uint64_t *tid)
{
	*tid = t->tid;
	if (t->tid)
		return introduce(c, t->tid, t->pid, t->comm, pid);
	*pid = ATC_KOID_PROCESS;
	*tid = idle_thread(c, r);
	return 0;
}

/* Is @id the id of an operation of a process that the session records? */
static bool joins(const struct at_compose *c, uint64_t id)
{
	return id >> SALT_SHIFT && atc_map_get(&c->salts, id >> SALT_SHIFT);
}

/* Do the flags want an event that is, or is not, @joined to an operation? */
static bool wanted(const struct at_compose_tracepoint *t, bool joined)
{
	return !(t->flags & (joined ? ASYNCTRACE_COMPOSE_TRACEPOINT_UNJOINED :
				      ASYNCTRACE_COMPOSE_TRACEPOINT_JOINED));
}

/* Would readers take the field for the argument that joins the event to an operation? */
static bool looks_joined(const struct at_compose_value *v)
{
	return v->type == ASYNCTRACE_FXT_ARG_UINT64 && !strcmp(v->name, OPERATION);
}

/*
 * Copies the event's fields to @values, with the names that they have in the file. Returns their
 * number. If @joined, leaves room for one more argument: the operation that the event belongs to.
 */
static unsigned int choose_values(struct at_compose_value *values,
				  const struct at_compose_tracepoint *t, bool joined)
{
	const unsigned int room = ASYNCTRACE_FXT_ARGS_MAX - joined;
	unsigned int nr = 0;

	for (unsigned int i = 0; i < t->nr_values && nr < room; i++) {
		const struct at_compose_value *v = &t->values[i];

		/* No two arguments may have one name. */
		if (joined && looks_joined(v) && v->number == t->operation)
			continue;
		values[nr] = *v;
		if (looks_joined(v))
			values[nr].name = OPERATION_FIELD;
		nr++;
	}
	return nr;
}

static int add_event(struct at_compose *c, struct atc_ring *r,
		     const struct at_compose_tracepoint *t, uint64_t ns, bool joined)
{
	struct at_compose_value values[ASYNCTRACE_FXT_ARGS_MAX];
	const unsigned int nr = choose_values(values, t, joined);
	unsigned int category, name, names[ASYNCTRACE_FXT_ARGS_MAX];
	uint64_t pid, tid, *w;
	size_t words = 4;
	int err;

	err = identify(c, r, t, &pid, &tid);
	if (err) {
		r->counts.unwritten++;
		return err;
	}
	/* Records of the texts must come before the event's record. */
	category = atc_name_index(c, t->category);
	name = atc_name_index(c, t->name);
	for (unsigned int i = 0; i < nr; i++)
		names[i] = atc_name_index(c, values[i].name);

	atc_section(c, c->kernel);
	w = atc_out_record(&c->out);
	w[1] = ns;
	w[2] = pid;
	w[3] = tid;
	category = put_ref(w, &words, category, t->category);
	name = put_ref(w, &words, name, t->name);
	for (unsigned int i = 0; i < nr; i++)
		put_value(w, &words, names[i], &values[i]);
	if (joined) {
		w[words++] = ASYNCTRACE_FXT_ARG(ASYNCTRACE_FXT_ARG_UINT64, 2,
						ASYNCTRACE_FXT_STR_OPERATION, 0);
		w[words++] = t->operation;
	}
	w[0] = ASYNCTRACE_FXT_EVENT_HEAD(ASYNCTRACE_FXT_INSTANT, words, nr + joined, category,
					 name);
	atc_out_deliver(&c->out, r, words);
	return c->out.error;
}

/* Is @err one of the errors after which the event is not counted? */
static bool is_of_event(int err)
{
	return err == -EAGAIN || err == -ERANGE || err == -ENOENT || err == -EINVAL ||
	       err == -ENOBUFS;
}

int at_compose_add_tracepoint(struct at_compose *c, const struct at_compose_tracepoint *t)
{
	struct atc_ring *r;
	bool joined;
	uint64_t ns;
	int err;

	if (!valid(t))
		return -EINVAL;
	/*
	 * Find the time first: -EAGAIN must come before -ENOENT, because later chunks may introduce
	 * the process that joins() looks for. If the time is known, the caller must have read all
	 * chunks of that time: see compose.h.
	 */
	err = time_of(c, t, &ns);
	if (err)
		return err;
	joined = joins(c, t->operation);
	if (!wanted(t, joined))
		return -ENOENT;
	r = ring_of(c, t->cpu);
	if (!r)
		return -ENOBUFS;
	err = add_event(c, r, t, ns, joined);
	/* The file may have failed with any error, but add_event() has counted the event. */
	return is_of_event(err) ? -EIO : err;
}

int at_compose_tracepoint_counts(struct at_compose *c, uint32_t cpu, uint64_t overwritten,
				 uint64_t dropped, uint64_t unwritten)
{
	struct asynctrace_chunk chunk = {
		.dropped = dropped, .overwritten = overwritten,
		.boottime = atc_clock_end(&c->clock),
	};
	struct atc_ring *r;

	if (cpu > UINT16_MAX)
		return -EINVAL;
	if (!c->started)
		return -EAGAIN;
	r = ring_of(c, cpu);
	if (!r)
		return -ENOMEM;
	r->counts.unwritten += unwritten;
	atc_loss(c, r, &chunk, 0);
	return c->out.error;
}

static bool valid_counter(const struct at_compose_counter *t)
{
	if (!t || t->size < sizeof(*t) || t->pid <= 0 || !t->nr_values ||
	    t->nr_values > ASYNCTRACE_FXT_ARGS_MAX || !t->category || !t->name ||
	    !are_whole(t->values, t->nr_values))
		return false;
	for (size_t i = 0; i < t->nr_values; i++)
		if (t->values[i].type != ASYNCTRACE_FXT_ARG_INT64 &&
		    t->values[i].type != ASYNCTRACE_FXT_ARG_UINT64)
			return false;
	return true;
}

int at_compose_add_counter(struct at_compose *c, const struct at_compose_counter *t)
{
	unsigned int category, name, names[ASYNCTRACE_FXT_ARGS_MAX];
	size_t words = 4;
	uint64_t pid, *w;
	int err;

	if (!valid_counter(t))
		return -EINVAL;
	/* No time may be later than the end of the file, which is the last clock pair. */
	if (!c->started || t->time > atc_clock_end(&c->clock))
		return -EAGAIN;
	if (t->time < atc_clock_start(&c->clock))
		return -ERANGE;
	err = introduce(c, t->pid, t->pid, t->comm, &pid);
	if (err)
		return err;
	/* Records of the texts must come before the counter's record. */
	category = atc_name_index(c, t->category);
	name = atc_name_index(c, t->name);
	for (size_t i = 0; i < t->nr_values; i++)
		names[i] = atc_name_index(c, t->values[i].name);

	atc_section(c, c->kernel);
	w = atc_out_record(&c->out);
	w[1] = t->time;
	w[2] = pid;
	w[3] = t->pid;
	category = put_ref(w, &words, category, t->category);
	name = put_ref(w, &words, name, t->name);
	for (size_t i = 0; i < t->nr_values; i++)
		put_value(w, &words, names[i], &t->values[i]);
	w[words++] = 0;		/* the counter's id: its name tells it from others */
	w[0] = ASYNCTRACE_FXT_EVENT_HEAD(ASYNCTRACE_FXT_COUNTER, words, t->nr_values, category,
					 name);
	atc_out_done(&c->out, words);
	return c->out.error;
}
