// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the field of each tracepoint that has ids of operations */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ftrace/priv.h"
#include "tool.h"

static struct ftrace_join *find(const struct ftrace *f, const struct tep_event *event)
{
	for (size_t i = 0; i < f->nr_joins; i++)
		if (f->joins[i].event == event)
			return &f->joins[i];
	return NULL;
}

static int add(struct ftrace *f, const struct tep_event *event, struct tep_format_field *field)
{
	struct ftrace_join *j = find(f, event);

	if (!j) {
		j = realloc(f->joins, (f->nr_joins + 1) * sizeof(*j));
		if (!j) {
			tool_error("%s", strerror(ENOMEM));
			return -ENOMEM;
		}
		f->joins = j;
		j += f->nr_joins++;
	}
	*j = (struct ftrace_join){ .event = event, .field = field };
	return 1;
}

/* Can the field have an id? An id has 64 bits. */
static bool is_number(const struct tep_format_field *field)
{
	return field->size == sizeof(uint64_t) &&
	       !(field->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC | TEP_FIELD_IS_STRING));
}

int ftrace_join_event(struct ftrace *f, const char *system, const char *name,
		      const struct ftrace_element *e)
{
	struct tep_event *event = tep_find_event_by_name(f->tep, system, name);
	struct tep_format_field *field;
	char text[64];

	if (!event || e->field_len >= sizeof(text))
		return 0;
	if (!e->field_len) {
		/* Keep the field that an earlier element chose for this event. */
		if (find(f, event))
			return 1;
		field = tep_find_field(event, FTRACE_OPERATION_FIELD);
		return field && is_number(field) ? add(f, event, field) : 0;
	}
	memcpy(text, e->field, e->field_len);
	text[e->field_len] = 0;
	field = tep_find_field(event, text);
	if (!field)
		return 0;
	if (is_number(field))
		return add(f, event, field);
	tool_error("the field %s of the tracepoint %s:%s cannot have ids of operations: it is no 64-bit number, but %s",
		   text, system, name, field->type);
	return -EINVAL;
}

const struct ftrace_join *ftrace_join(const struct ftrace *f, const struct tep_event *event)
{
	return find(f, event);
}

uint64_t ftrace_join_id(const struct ftrace_join *j, const void *data, int size)
{
	unsigned long long id;

	if (j->field->offset + j->field->size > size ||
	    tep_read_number_field(j->field, data, &id))
		return 0;
	return id;
}
