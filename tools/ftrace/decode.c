// SPDX-License-Identifier: GPL-2.0-or-later
/* Converts the fields of a tracepoint's event to values of a record */
#include <stdio.h>
#include <string.h>
#include <trace-seq.h>

#include <linux/asynctrace_fxt.h>

#include "ftrace/priv.h"

/* Finds the bytes of an array. Returns false if the event is too short for them. */
static bool locate(const struct tep_format_field *field, const void *data, int size,
		   const char **at, uint32_t *bytes)
{
	unsigned long long where;
	uint32_t offset = field->offset, len = field->size;

	if (field->flags & TEP_FIELD_IS_DYNAMIC) {
		/* The upper 16 bits of the field hold the length, the lower 16 bits the offset. */
		if (tep_read_number_field((struct tep_format_field *)field, data, &where))
			return false;
		offset = where & 0xffff;
		len = where >> 16 & 0xffff;
		if (field->flags & TEP_FIELD_IS_RELATIVE)
			offset += field->offset + field->size;
	}
	if (offset > (uint32_t)size || len > (uint32_t)size - offset)
		return false;
	*at = (const char *)data + offset;
	*bytes = len;
	return true;
}

/* Prints a field of another form, such as an array of numbers, as trace-cmd would print it. */
static void print_field(struct ftrace_fields *d, struct at_compose_value *v,
			struct tep_format_field *field, void *data, int size)
{
	struct trace_seq s;
	size_t len;

	trace_seq_init(&s);
	tep_print_field_content(&s, data, size, field);
	len = s.len < sizeof(d->text) - d->used ? s.len : sizeof(d->text) - d->used;
	memcpy(d->text + d->used, s.buffer, len);
	trace_seq_destroy(&s);
	v->type = ASYNCTRACE_FXT_ARG_STRING;
	v->text = d->text + d->used;
	v->bytes = len;
	d->used += len;
}

static void take_field(struct ftrace_fields *d, struct tep_format_field *field, void *data,
		       int size)
{
	struct at_compose_value *v = &d->values[d->nr];
	unsigned long long number;

	*v = (struct at_compose_value){ .name = field->name };
	if (field->flags & TEP_FIELD_IS_STRING) {
		if (!locate(field, data, size, &v->text, &v->bytes))
			return;
		v->type = ASYNCTRACE_FXT_ARG_STRING;
		v->bytes = strnlen(v->text, v->bytes);
	} else if (field->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC)) {
		const char *at;
		uint32_t bytes;

		if (!locate(field, data, size, &at, &bytes))
			return;
		print_field(d, v, field, data, size);
	} else {
		if (field->offset + field->size > size ||
		    tep_read_number_field(field, data, &number))
			return;
		v->number = number;
		v->type = field->flags & TEP_FIELD_IS_POINTER ? ASYNCTRACE_FXT_ARG_POINTER :
			  field->flags & TEP_FIELD_IS_SIGNED ? ASYNCTRACE_FXT_ARG_INT64 :
							       ASYNCTRACE_FXT_ARG_UINT64;
		if (v->type == ASYNCTRACE_FXT_ARG_INT64 && field->size < 8) {
			unsigned int shift = 64 - 8 * field->size;

			v->number = (uint64_t)((int64_t)(number << shift) >> shift);
		}
	}
	d->nr++;
}

/* Decodes at most 15 values of an event, because the composer takes no more. */
void ftrace_decode(struct ftrace_fields *d, struct tep_event *event, void *data, int size)
{
	d->nr = 0;
	d->used = 0;
	for (struct tep_format_field *field = event->format.fields;
	     field && d->nr < sizeof(d->values) / sizeof(d->values[0]); field = field->next)
		take_field(d, field, data, size);
}
