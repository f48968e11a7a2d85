// SPDX-License-Identifier: GPL-2.0
/* Mutations: random changes of a program's operations and of their attributes */
#include <string.h>

#include <linux/netlink.h>

#include "fuzz.h"
#include "spec.h"

static void insert(struct program *p, unsigned int at, const struct op *op)
{
	if (p->nr_ops == OPS_MAX)
		return;
	memmove(&p->ops[at + 1], &p->ops[at], (p->nr_ops - at) * sizeof(*op));
	p->ops[at] = *op;
	p->nr_ops++;
}

static void drop(struct program *p, unsigned int at)
{
	if (p->nr_ops == 1)
		return;
	p->nr_ops--;
	memmove(&p->ops[at], &p->ops[at + 1], (p->nr_ops - at) * sizeof(p->ops[0]));
}

static void change_attr(struct rng *r, struct attr *a)
{
	switch (below(r, 9)) {
	case 0:
		a->value = interesting(r);
		a->ref = REF_NONE;
		break;
	case 1:
		a->value += below(r, 5) - 2;
		break;
	case 2:
		a->len = one_in(r, 2) ? below(r, 12) : below(r, 700);
		break;
	case 3:
		a->lie = (int)below(r, 17) - 8;
		break;
	case 4:
		a->repeat = one_in(r, 2) ? 99 + below(r, 4) : below(r, 256);
		break;
	case 5:
		a->form = below(r, FORM_KINDS);
		break;
	case 6:
		a->type = one_in(r, 2) ? below(r, 40) : a->type ^ NLA_F_NESTED;
		break;
	case 7:
		a->ref = below(r, REF_KINDS);
		a->slot = below(r, 6);
		break;
	case 8:
		a->depth = below(r, 4);
		break;
	}
}

static void change_attrs(struct rng *r, struct op *op)
{
	unsigned int at = op->nr_attrs ? below(r, op->nr_attrs) : 0;
	unsigned int set = below(r, spec_nr_sets);

	if (op->kind == OP_NETLINK && !one_in(r, 8))
		for (unsigned int i = 0; i < spec_nr_ops; i++)
			if (spec_ops[i].cmd == op->cmd)
				set = spec_ops[i].set;
	switch (op->nr_attrs ? below(r, 6) : 0) {
	case 0:
	case 1:
		generate_attr(r, op, set,
			      spec_sets[set].attrs[below(r, spec_sets[set].count)].type, 0,
			      one_in(r, 2));
		break;
	case 2:
		op->nr_attrs--;
		memmove(&op->attrs[at], &op->attrs[at + 1],
			(op->nr_attrs - at) * sizeof(op->attrs[0]));
		break;
	default:
		change_attr(r, &op->attrs[at]);
	}
}

static void change_op(struct rng *r, struct op *op)
{
	switch (below(r, op->kind == OP_NETLINK || op->nr_attrs ? 12 : 8)) {
	case 0:
		op->a = interesting(r);
		break;
	case 1:
		op->b = interesting(r);
		break;
	case 2:
		op->c = interesting(r);
		break;
	case 3:
		op->a += below(r, 5) - 2;
		break;
	case 4:
		op->slot = below(r, 6);
		break;
	case 5:
		op->fail = one_in(r, 3) ? 0 : 1 + below(r, 80);
		break;
	case 6:
		op->async = !op->async;
		break;
	case 7:
		if (one_in(r, 3))
			op->cut = below(r, 32);
		else if (one_in(r, 4))
			op->flags = rnd(r);
		else
			op->a = rnd(r);
		break;
	default:
		change_attrs(r, op);
	}
}

/* Joins the begin of one program and the end of another. */
static void splice(struct rng *r, struct program *p, const struct program *other)
{
	unsigned int keep = below(r, p->nr_ops + 1), from = below(r, other->nr_ops);

	p->nr_ops = keep;
	while (from < other->nr_ops && p->nr_ops < OPS_MAX)
		p->ops[p->nr_ops++] = other->ops[from++];
}

static void step(struct rng *r, struct program *p, const struct program *other)
{
	unsigned int at = below(r, p->nr_ops), to = below(r, p->nr_ops);
	struct op op;

	switch (below(r, 12)) {
	case 0:
	case 1:
		generate_op(r, &op);
		insert(p, below(r, p->nr_ops + 1), &op);
		break;
	case 2:
		drop(p, at);
		break;
	case 3:
		op = p->ops[at];
		insert(p, to, &op);
		break;
	case 4:
		op = p->ops[at];
		p->ops[at] = p->ops[to];
		p->ops[to] = op;
		break;
	case 5:
		op = other->ops[below(r, other->nr_ops)];
		insert(p, to, &op);
		break;
	case 6:
		if (one_in(r, 3))
			splice(r, p, other);
		break;
	case 7:
		if (one_in(r, 8))
			p->nobody = !p->nobody;
		break;
	default:
		change_op(r, &p->ops[at]);
	}
}

void mutate(struct rng *r, struct program *p, const struct program *other)
{
	do
		step(r, p, other);
	while (!one_in(r, 3));
}
