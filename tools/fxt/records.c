// SPDX-License-Identifier: GPL-2.0-or-later
/* Decodes records of one type each: events with arguments, objects, scheduling, logs, blobs. */
#include <string.h>

#include "reader.h"

static const char *const event_names[] = {
	"instant", "counter", "begin", "end", "complete", "async-begin",
	"async-instant", "async-end", "flow-begin", "flow-step", "flow-end",
};

static const char *const arg_names[] = {
	"null", "int32", "uint32", "int64", "uint64", "double", "string",
	"pointer", "koid", "bool", "blob",
};

#define NAME_OF(names, i) ((i) < sizeof(names) / sizeof((names)[0]) ? (names)[i] : "unknown")

const char *fxt_event_name(unsigned int type)
{
	return NAME_OF(event_names, type);
}

const char *fxt_arg_name(unsigned int type)
{
	return NAME_OF(arg_names, type);
}

bool fxt_text_is(const struct fxt_text *t, const char *s)
{
	return t->len == strlen(s) && !memcmp(t->s, s, t->len);
}

bool fxt_is_inferred(const struct fxt_record *rec)
{
	const struct fxt_arg *arg = fxt_arg(rec, "inferred");

	return arg && arg->type == ASYNCTRACE_FXT_ARG_BOOL && arg->u;
}

enum fxt_counted fxt_counted(const struct fxt_record *rec)
{
	switch (rec->kind) {
	case FXT_SWITCH:
		return fxt_is_inferred(rec) ? FXT_NOT_COUNTED : FXT_COUNTED_SWITCH;
	case FXT_WAKEUP:
		return FXT_COUNTED_WAKEUP;
	case FXT_BLOB:
	case FXT_BLOB_EVENT:
	case FXT_ATTACHMENT:
		return FXT_COUNTED_EVENT;
	case FXT_EVENT:
	case FXT_OBJECT:
		return rec->provider != FXT_KERNEL_PROVIDER || fxt_is_tracepoint(rec) ?
		       FXT_COUNTED_EVENT : FXT_NOT_COUNTED;
	default:
		return FXT_NOT_COUNTED;
	}
}

bool fxt_is_own(const struct fxt_record *rec)
{
	return rec->kind == FXT_PROVIDER_INFO && rec->provider == FXT_KERNEL_PROVIDER &&
	       fxt_text_is(&rec->name, "asynctrace-kernel");
}

bool fxt_is_clock(const struct fxt_record *rec)
{
	return rec->kind == FXT_EVENT && rec->number == ASYNCTRACE_FXT_INSTANT &&
	       rec->thread.tid > FXT_TID_REAL_MAX && fxt_text_is(&rec->category, "asynctrace");
}

bool fxt_is_tracepoint(const struct fxt_record *rec)
{
	return rec->kind == FXT_EVENT && rec->number == ASYNCTRACE_FXT_INSTANT &&
	       rec->provider == FXT_KERNEL_PROVIDER && !fxt_is_clock(rec);
}

bool fxt_is_throttling(const struct fxt_record *rec)
{
	return rec->kind == FXT_EVENT && rec->number == ASYNCTRACE_FXT_COUNTER &&
	       rec->provider == FXT_KERNEL_PROVIDER && fxt_text_is(&rec->category, "cgroup");
}

const struct fxt_arg *fxt_arg(const struct fxt_record *rec, const char *name)
{
	for (unsigned int i = 0; i < rec->nargs; i++)
		if (fxt_text_is(&rec->args[i].name, name))
			return &rec->args[i];
	return NULL;
}

static void read_value(struct fxt_cursor *c, uint64_t head, struct fxt_arg *a)
{
	uint64_t w;

	switch (a->type) {
	case ASYNCTRACE_FXT_ARG_NULL:
		fxt_zero(c, head >> 32);
		a->u = 0;
		return;
	case ASYNCTRACE_FXT_ARG_INT32:
		a->i = (int32_t)(head >> 32);
		return;
	case ASYNCTRACE_FXT_ARG_UINT32:
		a->u = head >> 32;
		return;
	case ASYNCTRACE_FXT_ARG_BOOL:
		fxt_zero(c, head >> 33);
		a->u = head >> 32 & 1;
		return;
	case ASYNCTRACE_FXT_ARG_STRING:
		fxt_zero(c, head >> 48);
		fxt_string_ref(c, head >> 32 & 0xffff, &a->text);
		return;
	case FXT_ARG_BLOB:
		fxt_bytes(c, head >> 32, &a->text);
		return;
	default:
		fxt_zero(c, head >> 32);
		w = fxt_word(c);
		memcpy(&a->u, &w, sizeof(w));
	}
}

void fxt_args(struct fxt_cursor *c, unsigned int nargs)
{
	for (unsigned int i = 0; i < nargs && !c->rec->damaged; i++) {
		struct fxt_arg *a = &c->rec->args[i];
		uint64_t head = fxt_word(c);
		size_t size = head >> 4 & 0xfff;
		struct fxt_cursor arg = *c;

		if (!size || size - 1 > c->left) {
			fxt_breach(c->r, c->rec, FXT_RULE_SIZE,
				   "argument %u of %zu words, %zu are left", i + 1, size,
				   c->left + 1);
			c->rec->damaged = true;
			return;
		}
		arg.left = size - 1;
		c->w += size - 1;
		c->left -= size - 1;
		*a = (struct fxt_arg){ .type = head & 0xf, .name.s = "" };
		if (a->type > FXT_ARG_BLOB) {
			fxt_breach(c->r, c->rec, FXT_RULE_ARG_TYPE, "%u", a->type);
			a->type = ASYNCTRACE_FXT_ARG_NULL;
			arg.left = 0;
		} else {
			fxt_string_ref(&arg, head >> 16 & 0xffff, &a->name);
			read_value(&arg, head, a);
		}
		if (arg.left && !c->rec->damaged) {
			fxt_breach(c->r, c->rec, FXT_RULE_SIZE,
				   "argument %u has %zu words behind its value", i + 1, arg.left);
			c->rec->damaged = true;
		}
		c->rec->nargs = i + 1;
	}
	if (c->rec->damaged)
		c->left = 0;
}

/*
 * True if the argument at @w, of at most @left words, certainly keeps all rules and refers to
 * the string table only. If false, the argument must be decoded to check it.
 */
static bool is_plain(const struct fxt_provider *p, const uint64_t *w, size_t left)
{
	const unsigned int size = *w >> 4 & 0xfff, name = *w >> 16 & 0xffff;
	unsigned int text;

	if (name & ASYNCTRACE_FXT_INLINE || !fxt_string(p, name))
		return false;
	switch (*w & 0xf) {
	case ASYNCTRACE_FXT_ARG_INT32:
	case ASYNCTRACE_FXT_ARG_UINT32:
		return size == 1;
	case ASYNCTRACE_FXT_ARG_STRING:
		text = *w >> 32 & 0xffff;
		return size == 1 && !(*w >> 48) && !(text & ASYNCTRACE_FXT_INLINE) &&
		       fxt_string(p, text);
	case ASYNCTRACE_FXT_ARG_INT64:
	case ASYNCTRACE_FXT_ARG_UINT64:
	case ASYNCTRACE_FXT_ARG_DOUBLE:
	case ASYNCTRACE_FXT_ARG_POINTER:
	case ASYNCTRACE_FXT_ARG_KOID:
		return size == 2 && left >= 2 && !(*w >> 32);
	default:
		return false;
	}
}

/*
 * Skips the arguments if all of them are plain, which is fast. Otherwise decodes them, so that
 * breaches of the format are reported.
 */
static void check_args(struct fxt_cursor *c, unsigned int nargs)
{
	const struct fxt_provider *p = c->r->current;
	const uint64_t *w = c->w;
	size_t left = c->left;

	for (unsigned int i = 0; i < nargs; i++) {
		size_t size;

		if (!left || !is_plain(p, w, left)) {
			fxt_args(c, nargs);
			c->rec->nargs = 0;
			return;
		}
		size = *w >> 4 & 0xfff;
		w += size;
		left -= size;
	}
	c->w = w;
	c->left = left;
}

static bool is_number(const struct fxt_arg *a)
{
	return a->type >= ASYNCTRACE_FXT_ARG_INT32 && a->type <= ASYNCTRACE_FXT_ARG_DOUBLE;
}

static void check_counter(struct fxt_cursor *c)
{
	if (!c->rec->nargs)
		fxt_breach(c->r, c->rec, FXT_RULE_COUNTER, "no argument");
	for (unsigned int i = 0; i < c->rec->nargs; i++)
		if (!is_number(&c->rec->args[i]))
			fxt_breach(c->r, c->rec, FXT_RULE_COUNTER, "argument %u is of type %s",
				   i + 1, fxt_arg_name(c->rec->args[i].type));
}

bool fxt_has_args(unsigned int type)
{
	return type == ASYNCTRACE_FXT_COUNTER || type == ASYNCTRACE_FXT_DURATION_BEGIN ||
	       type == ASYNCTRACE_FXT_DURATION_END || type == ASYNCTRACE_FXT_ASYNC_BEGIN;
}

/* The largest scope of an instant: 0 is its thread, 1 its process, 2 the whole trace. */
#define SCOPE_MAX	2

/*
 * Skips the scope behind an instant, which only viewers need. Fuchsia's trace-engine writes it, but
 * the format has no such word.
 */
static void skip_scope(struct fxt_cursor *c)
{
	if (c->left == 1 && *c->w <= SCOPE_MAX)
		fxt_word(c);
}

void fxt_read_event(struct fxt_cursor *c, uint64_t head)
{
	struct fxt_record *rec = c->rec;
	unsigned int type = head >> 16 & 0xf;

	if (type >= ASYNCTRACE_FXT_EVENT_TYPES) {
		fxt_breach(c->r, rec, FXT_RULE_EVENT_TYPE, "%u", type);
		return;
	}
	rec->kind = FXT_EVENT;
	rec->number = type;
	rec->ns = fxt_time(c);
	rec->end_ns = rec->ns;
	rec->id = 0;
	fxt_thread_ref(c, head >> 24 & 0xff, &rec->thread);
	fxt_string_ref(c, head >> 32 & 0xffff, &rec->category);
	fxt_string_ref(c, head >> 48, &rec->name);
	if (c->r->no_args && !fxt_has_args(type) && rec->thread.tid <= FXT_TID_REAL_MAX &&
	    !rec->damaged)
		check_args(c, head >> 20 & 0xf);
	else
		fxt_args(c, head >> 20 & 0xf);
	if (rec->damaged)
		return;
	if (type == ASYNCTRACE_FXT_DURATION) {
		rec->end_ns = fxt_time(c);
		if (rec->end_ns < rec->ns)
			fxt_breach(c->r, rec, FXT_RULE_END_TIME, "%llu ns before",
				   (unsigned long long)(rec->ns - rec->end_ns));
	} else if (type == ASYNCTRACE_FXT_COUNTER || type > ASYNCTRACE_FXT_DURATION) {
		rec->id = fxt_word(c);
	}
	if (type == ASYNCTRACE_FXT_COUNTER)
		check_counter(c);
	else if (type == ASYNCTRACE_FXT_INSTANT)
		skip_scope(c);
}

void fxt_read_object(struct fxt_cursor *c, uint64_t head)
{
	struct fxt_record *rec = c->rec;
	const struct fxt_arg *process;

	rec->kind = FXT_OBJECT;
	rec->number = head >> 16 & 0xff;
	fxt_zero(c, head >> 44);
	rec->id = fxt_word(c);
	if (rec->number == ASYNCTRACE_FXT_OBJ_PROCESS || rec->number == ASYNCTRACE_FXT_OBJ_THREAD)
		fxt_koid(c, rec->id);
	fxt_string_ref(c, head >> 24 & 0xffff, &rec->name);
	fxt_args(c, head >> 40 & 0xf);
	if (rec->damaged || rec->number != ASYNCTRACE_FXT_OBJ_THREAD)
		return;
	process = fxt_arg(rec, "process");
	if (!process || process->type != ASYNCTRACE_FXT_ARG_KOID) {
		fxt_breach(c->r, rec, FXT_RULE_OBJECT, "thread %llu",
			   (unsigned long long)rec->id);
		rec->damaged = true;
	} else {
		fxt_koid(c, process->u);
	}
}

static void check_weight(struct fxt_cursor *c, const char *name, uint64_t tid)
{
	const struct fxt_arg *a = fxt_arg(c->rec, name);

	if (a && a->type != ASYNCTRACE_FXT_ARG_INT32) {
		fxt_breach(c->r, c->rec, FXT_RULE_WEIGHT, "%s is of type %s", name,
			   fxt_arg_name(a->type));
		return;
	}
	if (!tid && (!a || a->i != ASYNCTRACE_FXT_WEIGHT_IDLE))
		fxt_breach(c->r, c->rec, FXT_RULE_IDLE, "%s", name);
}

static void check_type(struct fxt_cursor *c, const char *name, unsigned int type)
{
	const struct fxt_arg *a = fxt_arg(c->rec, name);

	if (a && a->type != type)
		fxt_breach(c->r, c->rec, FXT_RULE_REASON, "%s is of type %s", name,
			   fxt_arg_name(a->type));
}

/*
 * A flag of the argument off_cpu says whether the record has the argument syscall, so both must
 * agree.
 */
static void check_reason(struct fxt_cursor *c)
{
	const struct fxt_arg *off = fxt_arg(c->rec, "off_cpu");
	const struct fxt_arg *syscall = fxt_arg(c->rec, "syscall");
	bool in_syscall;

	check_type(c, "incoming_operation", ASYNCTRACE_FXT_ARG_UINT64);
	check_type(c, "outgoing_operation", ASYNCTRACE_FXT_ARG_UINT64);
	check_type(c, "off_cpu", ASYNCTRACE_FXT_ARG_UINT32);
	check_type(c, "syscall", ASYNCTRACE_FXT_ARG_STRING);
	check_type(c, "syscall_argument", ASYNCTRACE_FXT_ARG_UINT64);
	in_syscall = off && off->type == ASYNCTRACE_FXT_ARG_UINT32 &&
		     off->u & ASYNCTRACE_FXT_OFF_SYSCALL;
	if (in_syscall != !!syscall)
		fxt_breach(c->r, c->rec, FXT_RULE_REASON, "off_cpu and syscall do not agree");
}

static void read_switch(struct fxt_cursor *c, uint64_t head)
{
	struct fxt_record *rec = c->rec;

	rec->kind = FXT_SWITCH;
	rec->number = head >> 36 & 0xf;
	fxt_zero(c, head >> 40 & 0xfffff);
	if (rec->number > ASYNCTRACE_FXT_STATE_DEAD)
		fxt_breach(c->r, rec, FXT_RULE_STATE, "%u", rec->number);
	rec->out = fxt_word(c);
	rec->in = fxt_word(c);
	fxt_koid(c, rec->out);
	fxt_koid(c, rec->in);
	fxt_args(c, head >> 16 & 0xf);
	if (rec->damaged)
		return;
	check_weight(c, "outgoing_weight", rec->out);
	check_weight(c, "incoming_weight", rec->in);
	check_reason(c);
}

static void read_wakeup(struct fxt_cursor *c, uint64_t head)
{
	struct fxt_record *rec = c->rec;
	const struct fxt_arg *waker;

	rec->kind = FXT_WAKEUP;
	fxt_zero(c, head >> 36 & 0xffffff);
	rec->out = 0;
	rec->in = fxt_word(c);
	fxt_koid(c, rec->in);
	fxt_args(c, head >> 16 & 0xf);
	if (rec->damaged)
		return;
	check_weight(c, "weight", rec->in);
	check_type(c, "operation", ASYNCTRACE_FXT_ARG_UINT64);
	check_type(c, "waker_operation", ASYNCTRACE_FXT_ARG_UINT64);
	waker = fxt_arg(rec, "waker");
	if (waker && waker->type != ASYNCTRACE_FXT_ARG_KOID)
		fxt_breach(c->r, rec, FXT_RULE_WEIGHT, "waker is of type %s",
			   fxt_arg_name(waker->type));
	else if (waker)
		fxt_koid(c, waker->u);
}

void fxt_read_sched(struct fxt_cursor *c, uint64_t head)
{
	switch (head >> 60) {
	case ASYNCTRACE_FXT_SCHED_SWITCH:
		c->rec->cpu = head >> 20 & 0xffff;
		c->rec->ns = fxt_time(c);
		read_switch(c, head);
		break;
	case ASYNCTRACE_FXT_SCHED_WAKEUP:
		c->rec->cpu = head >> 20 & 0xffff;
		c->rec->ns = fxt_time(c);
		read_wakeup(c, head);
		break;
	case ASYNCTRACE_FXT_SCHED_LEGACY:
		break;		/* legal, but names no thread */
	default:
		fxt_breach(c->r, c->rec, FXT_RULE_TYPE, "scheduling of type %u",
			   (unsigned int)(head >> 60));
	}
}

static void check_blob(struct fxt_cursor *c)
{
	if (c->rec->text.len > ASYNCTRACE_FXT_BLOB_MAX)
		fxt_breach(c->r, c->rec, FXT_RULE_BLOB, "%u bytes", c->rec->text.len);
}

void fxt_read_blob(struct fxt_cursor *c, uint64_t head)
{
	c->rec->kind = FXT_BLOB;
	c->rec->number = head >> 48 & 0xff;
	fxt_zero(c, (head >> 47 & 1) | head >> 56);
	fxt_string_ref(c, head >> 16 & 0xffff, &c->rec->name);
	fxt_bytes(c, head >> 32 & 0x7fff, &c->rec->text);
	/*
	 * Perfetto reads a blob of its own type as a trace. The blob could rename any process
	 * there, so this type is a breach.
	 */
	if (c->rec->number != ASYNCTRACE_FXT_BLOB_DATA &&
	    c->rec->number != ASYNCTRACE_FXT_BLOB_LAST_BRANCH)
		fxt_breach(c->r, c->rec, FXT_RULE_BLOB, "type %u", c->rec->number);
	check_blob(c);
}

static void blob_bytes(struct fxt_cursor *c)
{
	uint64_t bytes = fxt_word(c);

	/* Avoid an overflow in fxt_bytes(), which reports that the record has fewer bytes. */
	if (bytes > 8 * ASYNCTRACE_FXT_WORDS_MAX)
		bytes = 8 * ASYNCTRACE_FXT_WORDS_MAX;
	fxt_bytes(c, bytes, &c->rec->text);
	check_blob(c);
}

/* Decodes a large record. fxt_next() skips those of more than ASYNCTRACE_FXT_WORDS_MAX words. */
void fxt_read_large(struct fxt_cursor *c, uint64_t head)
{
	const unsigned int type = head >> 36 & 0xf, kind = head >> 40 & 0xf;
	struct fxt_record *rec = c->rec;
	uint64_t format;

	if (type != ASYNCTRACE_FXT_LARGE_BLOB || kind > ASYNCTRACE_FXT_BLOB_ATTACHMENT) {
		fxt_breach(c->r, rec, FXT_RULE_TYPE, "a large record of type %u, format %u", type,
			   kind);
		return;
	}
	rec->kind = kind == ASYNCTRACE_FXT_BLOB_EVENT ? FXT_BLOB_EVENT : FXT_ATTACHMENT;
	rec->number = kind;
	rec->text = (struct fxt_text){ .s = "" };
	fxt_zero(c, head >> 44);
	format = fxt_word(c);
	fxt_zero(c, format >> (kind == ASYNCTRACE_FXT_BLOB_EVENT ? 44 : 32));
	fxt_string_ref(c, format & 0xffff, &rec->category);
	fxt_string_ref(c, format >> 16 & 0xffff, &rec->name);
	if (rec->kind == FXT_BLOB_EVENT) {
		rec->ns = fxt_time(c);
		fxt_thread_ref(c, format >> 36 & 0xff, &rec->thread);
		fxt_args(c, format >> 32 & 0xf);
	}
	if (!rec->damaged)
		blob_bytes(c);
}

void fxt_read_log(struct fxt_cursor *c, uint64_t head)
{
	c->rec->kind = FXT_LOG;
	fxt_zero(c, (head >> 31 & 1) | head >> 40);
	c->rec->ns = fxt_time(c);
	fxt_thread_ref(c, head >> 32 & 0xff, &c->rec->thread);
	fxt_bytes(c, head >> 16 & 0x7fff, &c->rec->text);
	if (!fxt_utf8(c->rec->text.s, c->rec->text.len))
		fxt_breach(c->r, c->rec, FXT_RULE_UTF8, "a log message");
}
