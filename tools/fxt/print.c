// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prints records as lines of text or JSON. The output is stable, so that two traces can be
 * compared.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "print.h"

static const char *short_escape(uint32_t c)
{
	switch (c) {
	case '"':
		return "\\\"";
	case '\\':
		return "\\\\";
	case '\n':
		return "\\n";
	case '\t':
		return "\\t";
	case '\r':
		return "\\r";
	default:
		return NULL;
	}
}

static void print_escaped(FILE *f, const struct fxt_text *t, bool json)
{
	for (size_t i = 0, bytes; i < t->len; i += bytes) {
		uint32_t code;
		size_t n = fxt_char(t->s + i, t->len - i, &code);
		bool shown = n && !fxt_is_control(code);

		bytes = n ? n : 1;
		if (short_escape(code))
			fputs(short_escape(code), f);
		else if (shown)
			fwrite(t->s + i, 1, n, f);
		else if (json)
			fprintf(f, "\\u%04x", code);
		else
			for (size_t k = 0; k < bytes; k++)
				fprintf(f, "\\x%02x", (unsigned char)t->s[i + k]);
	}
}

static void print_quoted(FILE *f, const struct fxt_text *t, bool json)
{
	putc('"', f);
	print_escaped(f, t, json);
	putc('"', f);
}

void fxt_print_text(FILE *f, const struct fxt_text *t)
{
	print_quoted(f, t, false);
}

void fxt_print_detail(FILE *f, const char *detail)
{
	for (size_t n; *detail; detail += n) {
		n = strcspn(detail, "\"");
		print_escaped(f, &(struct fxt_text){ .s = detail, .len = n }, false);
		if (detail[n]) {
			putc('"', f);
			n++;
		}
	}
}

void fxt_print_breach(FILE *f, enum fxt_rule rule, uint64_t offset, const char *detail)
{
	fprintf(f, "at byte %" PRIu64 ": %s (", offset, fxt_rules[rule].text);
	fxt_print_detail(f, detail);
	putc(')', f);
}

void fxt_print_json(FILE *f, const struct fxt_text *t)
{
	print_quoted(f, t, true);
}

void fxt_print_json_member(FILE *f, const char *key, const char *text)
{
	fprintf(f, "\"%s\":", key);
	fxt_print_json(f, &(struct fxt_text){ .s = text, .len = strlen(text) });
}

static void print_hex(FILE *f, const struct fxt_text *t)
{
	for (size_t i = 0; i < t->len; i++)
		fprintf(f, "%02x", (unsigned char)t->s[i]);
}

/* --- text -------------------------------------------------------------------------- */

void fxt_print_value(FILE *f, const struct fxt_arg *a)
{
	switch (a->type) {
	case ASYNCTRACE_FXT_ARG_NULL:
		fputs("null", f);
		break;
	case ASYNCTRACE_FXT_ARG_INT32:
	case ASYNCTRACE_FXT_ARG_INT64:
		fprintf(f, "%" PRId64, a->i);
		break;
	case ASYNCTRACE_FXT_ARG_DOUBLE:
		fprintf(f, "%.17g", a->d);
		break;
	case ASYNCTRACE_FXT_ARG_STRING:
		fxt_print_text(f, &a->text);
		break;
	case ASYNCTRACE_FXT_ARG_POINTER:
		fprintf(f, "0x%" PRIx64, a->u);
		break;
	case ASYNCTRACE_FXT_ARG_BOOL:
		fputs(a->u ? "true" : "false", f);
		break;
	case FXT_ARG_BLOB:
		print_hex(f, &a->text);
		break;
	default:
		fprintf(f, "%" PRIu64, a->u);
	}
}

static void print_args(FILE *f, const struct fxt_record *rec)
{
	for (unsigned int i = 0; i < rec->nargs; i++) {
		const struct fxt_arg *a = &rec->args[i];

		putc(' ', f);
		fxt_print_text(f, &a->name);
		fprintf(f, ":%s=", fxt_arg_name(a->type));
		fxt_print_value(f, a);
	}
}

static void print_time(FILE *f, uint64_t ns)
{
	fprintf(f, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

static void print_event(FILE *f, const struct fxt_record *rec)
{
	print_time(f, rec->ns);
	fprintf(f, " %" PRIu64 "/%" PRIu64 " %s ", rec->thread.pid, rec->thread.tid,
		fxt_event_name(rec->number));
	fxt_print_text(f, &rec->category);
	putc(' ', f);
	fxt_print_text(f, &rec->name);
	if (rec->number == ASYNCTRACE_FXT_DURATION)
		fprintf(f, " for %" PRId64, (int64_t)(rec->end_ns - rec->ns));
	else if (rec->number == ASYNCTRACE_FXT_COUNTER || rec->number > ASYNCTRACE_FXT_DURATION)
		fprintf(f, " id 0x%" PRIx64, rec->id);
	print_args(f, rec);
}

static void print_blob_event(FILE *f, const struct fxt_record *rec)
{
	if (rec->kind == FXT_BLOB_EVENT) {
		print_time(f, rec->ns);
		fprintf(f, " %" PRIu64 "/%" PRIu64 " blob-event ", rec->thread.pid, rec->thread.tid);
	} else {
		fputs("attachment ", f);
	}
	fxt_print_text(f, &rec->category);
	putc(' ', f);
	fxt_print_text(f, &rec->name);
	print_args(f, rec);
	putc(' ', f);
	print_hex(f, &rec->text);
}

static const char *object_name(unsigned int type)
{
	return type == ASYNCTRACE_FXT_OBJ_PROCESS ? "process" :
	       type == ASYNCTRACE_FXT_OBJ_THREAD ? "thread" : "object";
}

static void print_definition(FILE *f, const struct fxt_record *rec)
{
	switch (rec->kind) {
	case FXT_TRACE_INFO:
		fputs("magic", f);
		break;
	case FXT_PROVIDER_INFO:
		fprintf(f, "provider %u ", rec->provider);
		fxt_print_text(f, &rec->name);
		break;
	case FXT_PROVIDER_SECTION:
		fprintf(f, "section %u", rec->provider);
		break;
	case FXT_PROVIDER_EVENT:
		fprintf(f, "provider-event %" PRIu64 " %u%s", rec->id, rec->number,
			rec->number ? "" : " (a buffer filled)");
		break;
	case FXT_INIT:
		fprintf(f, "init %" PRIu64 " ticks/s", rec->id);
		break;
	case FXT_STRING:
		fprintf(f, "string %u ", rec->number);
		fxt_print_text(f, &rec->name);
		break;
	case FXT_THREAD:
		fprintf(f, "thread-index %u %" PRIu64 "/%" PRIu64, rec->number,
			rec->thread.pid, rec->thread.tid);
		break;
	case FXT_OBJECT:
		fputs(object_name(rec->number), f);
		if (rec->number != ASYNCTRACE_FXT_OBJ_PROCESS &&
		    rec->number != ASYNCTRACE_FXT_OBJ_THREAD)
			fprintf(f, "(%u)", rec->number);
		fprintf(f, " %" PRIu64 " ", rec->id);
		fxt_print_text(f, &rec->name);
		print_args(f, rec);
		break;
	default:
		fprintf(f, "record of type %u, %" PRIu64 " words", rec->number, rec->words);
	}
}

void fxt_print_record(FILE *f, const struct fxt_record *rec)
{
	switch (rec->kind) {
	case FXT_EVENT:
		print_event(f, rec);
		break;
	case FXT_SWITCH:
		print_time(f, rec->ns);
		fprintf(f, " cpu %u switch %" PRIu64 " -> %" PRIu64 " state %u", rec->cpu,
			rec->out, rec->in, rec->number);
		print_args(f, rec);
		break;
	case FXT_WAKEUP:
		print_time(f, rec->ns);
		fprintf(f, " cpu %u wakeup %" PRIu64, rec->cpu, rec->in);
		print_args(f, rec);
		break;
	case FXT_LOG:
		print_time(f, rec->ns);
		fprintf(f, " %" PRIu64 "/%" PRIu64 " log ", rec->thread.pid, rec->thread.tid);
		fxt_print_text(f, &rec->text);
		break;
	case FXT_BLOB:
		fprintf(f, "blob %u ", rec->number);
		fxt_print_text(f, &rec->name);
		putc(' ', f);
		print_hex(f, &rec->text);
		break;
	case FXT_BLOB_EVENT:
	case FXT_ATTACHMENT:
		print_blob_event(f, rec);
		break;
	default:
		print_definition(f, rec);
	}
	if (rec->damaged)
		fputs(" (damaged)", f);
	putc('\n', f);
}

/* --- JSON -------------------------------------------------------------------------- */

static void json_value(FILE *f, const struct fxt_arg *a)
{
	switch (a->type) {
	case ASYNCTRACE_FXT_ARG_DOUBLE:
		if (!isfinite(a->d))
			fprintf(f, "\"%s\"", isnan(a->d) ? "nan" : a->d < 0 ? "-inf" : "inf");
		else
			fxt_print_value(f, a);
		break;
	case ASYNCTRACE_FXT_ARG_STRING:
		fxt_print_json(f, &a->text);
		break;
	case ASYNCTRACE_FXT_ARG_POINTER:
	case FXT_ARG_BLOB:
		putc('"', f);
		fxt_print_value(f, a);
		putc('"', f);
		break;
	default:
		fxt_print_value(f, a);
	}
}

/* True if the two keys are equal in JSON, where each malformed byte becomes U+FFFD. */
static bool same_key(const struct fxt_text *a, const struct fxt_text *b)
{
	size_t i = 0, k = 0;

	while (i < a->len && k < b->len) {
		uint32_t of_a, of_b;
		size_t n = fxt_char(a->s + i, a->len - i, &of_a);
		size_t m = fxt_char(b->s + k, b->len - k, &of_b);

		if (of_a != of_b)
			return false;
		i += n ? n : 1;
		k += m ? m : 1;
	}
	return i == a->len && k == b->len;
}

/*
 * Returns the index of the first argument from @i on with the key of argument @like, or .nargs
 * if there is none.
 */
static unsigned int next_of_key(const struct fxt_record *rec, unsigned int i, unsigned int like)
{
	while (i < rec->nargs && !same_key(&rec->args[i].name, &rec->args[like].name))
		i++;
	return i;
}

/*
 * The format allows two arguments of one name, but JSON readers keep only one of two equal
 * keys. So such arguments become one key with an array. No other value is an array.
 */
static void json_args(FILE *f, const struct fxt_record *rec)
{
	const char *comma = "";

	fputs(",\"args\":{", f);
	for (unsigned int i = 0; i < rec->nargs; i++) {
		unsigned int next = next_of_key(rec, i + 1, i);
		bool several = next < rec->nargs;

		if (next_of_key(rec, 0, i) < i)
			continue;
		fputs(comma, f);
		comma = ",";
		fxt_print_json(f, &rec->args[i].name);
		fputs(several ? ":[" : ":", f);
		json_value(f, &rec->args[i]);
		for (; next < rec->nargs; next = next_of_key(rec, next + 1, i)) {
			putc(',', f);
			json_value(f, &rec->args[next]);
		}
		if (several)
			putc(']', f);
	}
	putc('}', f);
}

static void json_thread(FILE *f, const struct fxt_record *rec)
{
	fprintf(f, ",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64, rec->thread.pid, rec->thread.tid);
}

static void json_text(FILE *f, const char *key, const struct fxt_text *t)
{
	fprintf(f, ",\"%s\":", key);
	fxt_print_json(f, t);
}

static void json_event(FILE *f, const struct fxt_record *rec)
{
	fprintf(f, "{\"record\":\"%s\",\"ts\":%" PRIu64, fxt_event_name(rec->number), rec->ns);
	if (rec->number == ASYNCTRACE_FXT_DURATION)
		fprintf(f, ",\"dur\":%" PRId64, (int64_t)(rec->end_ns - rec->ns));
	json_thread(f, rec);
	json_text(f, "category", &rec->category);
	json_text(f, "name", &rec->name);
	/* The id is a string, because most readers of JSON keep only 53 bits of a number. */
	if (rec->number == ASYNCTRACE_FXT_COUNTER || rec->number > ASYNCTRACE_FXT_DURATION)
		fprintf(f, ",\"id\":\"0x%" PRIx64 "\"", rec->id);
	json_args(f, rec);
}

static void json_hex(FILE *f, const struct fxt_record *rec)
{
	fputs(",\"hex\":\"", f);
	print_hex(f, &rec->text);
	putc('"', f);
}

static void json_blob_event(FILE *f, const struct fxt_record *rec)
{
	if (rec->kind == FXT_BLOB_EVENT) {
		fprintf(f, "{\"record\":\"blob-event\",\"ts\":%" PRIu64, rec->ns);
		json_thread(f, rec);
	} else {
		fputs("{\"record\":\"attachment\"", f);
	}
	json_text(f, "category", &rec->category);
	json_text(f, "name", &rec->name);
	json_args(f, rec);
	json_hex(f, rec);
}

static void json_definition(FILE *f, const struct fxt_record *rec)
{
	switch (rec->kind) {
	case FXT_TRACE_INFO:
		fputs("{\"record\":\"magic\"", f);
		break;
	case FXT_PROVIDER_INFO:
		fputs("{\"record\":\"provider\"", f);
		json_text(f, "name", &rec->name);
		break;
	case FXT_PROVIDER_SECTION:
		fputs("{\"record\":\"section\"", f);
		break;
	case FXT_PROVIDER_EVENT:
		fprintf(f, "{\"record\":\"provider-event\",\"of\":%" PRIu64 ",\"event\":%u",
			rec->id, rec->number);
		break;
	case FXT_INIT:
		fprintf(f, "{\"record\":\"init\",\"ticks_per_second\":%" PRIu64, rec->id);
		break;
	case FXT_STRING:
		fprintf(f, "{\"record\":\"string\",\"index\":%u", rec->number);
		json_text(f, "text", &rec->name);
		break;
	case FXT_THREAD:
		fprintf(f, "{\"record\":\"thread-index\",\"index\":%u", rec->number);
		json_thread(f, rec);
		break;
	case FXT_OBJECT:
		fprintf(f, "{\"record\":\"%s\",\"type\":%u,\"koid\":%" PRIu64,
			object_name(rec->number), rec->number, rec->id);
		json_text(f, "name", &rec->name);
		json_args(f, rec);
		break;
	default:
		fprintf(f, "{\"record\":\"other\",\"type\":%u,\"words\":%" PRIu64, rec->number,
			rec->words);
	}
}

void fxt_print_record_json(FILE *f, const struct fxt_record *rec, bool offset)
{
	switch (rec->kind) {
	case FXT_EVENT:
		json_event(f, rec);
		break;
	case FXT_SWITCH:
		fprintf(f, "{\"record\":\"switch\",\"ts\":%" PRIu64 ",\"cpu\":%u,\"out\":%" PRIu64
			",\"in\":%" PRIu64 ",\"state\":%u", rec->ns, rec->cpu, rec->out,
			rec->in, rec->number);
		json_args(f, rec);
		break;
	case FXT_WAKEUP:
		fprintf(f, "{\"record\":\"wakeup\",\"ts\":%" PRIu64 ",\"cpu\":%u,\"tid\":%" PRIu64,
			rec->ns, rec->cpu, rec->in);
		json_args(f, rec);
		break;
	case FXT_LOG:
		fprintf(f, "{\"record\":\"log\",\"ts\":%" PRIu64, rec->ns);
		json_thread(f, rec);
		json_text(f, "text", &rec->text);
		break;
	case FXT_BLOB:
		fprintf(f, "{\"record\":\"blob\",\"type\":%u", rec->number);
		json_text(f, "name", &rec->name);
		json_hex(f, rec);
		break;
	case FXT_BLOB_EVENT:
	case FXT_ATTACHMENT:
		json_blob_event(f, rec);
		break;
	default:
		json_definition(f, rec);
	}
	fprintf(f, ",\"provider\":%u", rec->provider);
	if (offset)
		fprintf(f, ",\"offset\":%" PRIu64, rec->offset);
	fputs(rec->damaged ? ",\"damaged\":true}\n" : "}\n", f);
}
