// SPDX-License-Identifier: GPL-2.0
/*
 * Prints programs
 */
#include <linux/netlink.h>

#include "fuzz.h"
#include "spec.h"

const char *const kind_names[OP_KINDS] = {
	[OP_OPEN] = "open", [OP_CLOSE] = "close", [OP_HELLO] = "hello", [OP_REGISTER] = "register",
	[OP_ANNOUNCE] = "announce", [OP_THREAD] = "thread", [OP_CONSUME] = "consume",
	[OP_ALERT] = "alert", [OP_IOCTL] = "ioctl", [OP_READ] = "read", [OP_POLL] = "poll",
	[OP_MMAP] = "mmap", [OP_MUNMAP] = "munmap", [OP_MREMAP] = "mremap",
	[OP_MPROTECT] = "mprotect", [OP_MADVISE] = "madvise", [OP_SCRIBBLE] = "scribble",
	[OP_WRITE] = "write-records", [OP_FORK] = "fork", [OP_VMCLONE] = "clone-vm",
	[OP_SOCKET] = "socket", [OP_SOCKET_CLOSE] = "socket-close", [OP_NETLINK] = "netlink",
	[OP_RECEIVE] = "receive", [OP_USER] = "user", [OP_SLEEP] = "sleep",
};

const char *const ref_names[REF_KINDS] = {
	[REF_NONE] = "none", [REF_SESSION] = "session", [REF_COOKIE] = "cookie",
	[REF_PROVIDER] = "provider", [REF_PID] = "pid", [REF_UID] = "uid",
};

static const char *const form_names[FORM_KINDS] = {
	[FORM_NUMBER] = "number", [FORM_TEXT] = "text", [FORM_FILL] = "fill",
	[FORM_NOISE] = "noise", [FORM_NEST] = "nest",
};

static const struct spec_op *op_of(uint8_t cmd)
{
	for (unsigned int i = 0; i < spec_nr_ops; i++)
		if (spec_ops[i].cmd == cmd)
			return &spec_ops[i];
	return NULL;
}

static void show_attr(FILE *f, const struct op *op, const struct attr *a)
{
	const struct spec_op *of = op->kind == OP_NETLINK ? op_of(op->cmd) : NULL;
	const struct spec_attr *spec = NULL;

	if (of && !a->depth)
		spec = spec_attr(of->set, a->type & NLA_TYPE_MASK);
	fprintf(f, "    %*s%s (%u%s) %s", a->depth * 2, "", spec ? spec->name : "attribute",
		a->type & NLA_TYPE_MASK, a->type & NLA_F_NESTED ? ", nested" : "",
		form_names[a->form % FORM_KINDS]);
	if (a->ref)
		fprintf(f, " %s of %u", ref_names[a->ref % REF_KINDS], a->slot);
	else if (a->form != FORM_NEST)
		fprintf(f, " %#llx", (unsigned long long)a->value);
	fprintf(f, ", %u bytes", a->len);
	if (a->lie)
		fprintf(f, ", length %+d", a->lie);
	if (a->repeat)
		fprintf(f, ", %u times", a->repeat);
	putc('\n', f);
}

void show(FILE *f, const struct program *p)
{
	fprintf(f, "# a program of %u operations, as %s\n", p->nr_ops, p->nobody ? "nobody" : "root");
	for (unsigned int i = 0; i < p->nr_ops; i++) {
		const struct op *op = &p->ops[i];
		const struct spec_op *of = op_of(op->cmd);

		fprintf(f, "  %u %s %u", i, kind_names[op->kind % OP_KINDS], op->slot);
		if (op->kind == OP_NETLINK)
			fprintf(f, " %s flags %#x", of ? of->name : "?", op->flags);
		else
			fprintf(f, " %u", op->cmd);
		fprintf(f, " a %#llx b %#llx c %#llx", (unsigned long long)op->a,
			(unsigned long long)op->b, (unsigned long long)op->c);
		if (op->cut)
			fprintf(f, " cut %u", op->cut);
		if (op->fail)
			fprintf(f, " fail %u", op->fail);
		fprintf(f, "%s\n", op->async ? " beside the next" : "");
		for (unsigned int j = 0; j < op->nr_attrs; j++)
			show_attr(f, op, &op->attrs[j]);
	}
}
