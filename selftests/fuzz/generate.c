// SPDX-License-Identifier: GPL-2.0
/*
 * Generates operations: those of netlink by the tables of the spec, the others by hand
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include <linux/asynctrace.h>
#include <linux/asynctrace_netlink.h>
#include <linux/netlink.h>

#include "fuzz.h"
#include "spec.h"

uint64_t interesting(struct rng *r)
{
	static const uint64_t edges[] = {
		0, 1, 2, 3, 4, 7, 8, 63, 64, 100, 101, 255, 256, 511, 512, 4095, 4096, 4097, 16384,
		65535, 65536, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 1ULL << 36,
		1ULL << 47,
		1ULL << 48, 0x7fffffffffffffff, 1ULL << 63, ~0ULL, ~0ULL - 4095,
	};

	switch (below(r, 4)) {
	case 0:
		return rnd(r) >> below(r, 64);
	case 1:
		return 1ULL << below(r, 64);
	case 2:
		return edges[below(r, ARRAY(edges))] + below(r, 3) - 1;
	default:
		return edges[below(r, ARRAY(edges))];
	}
}

/* Returns the object whose number an attribute of this name contains, known only at run time. */
static enum ref ref_of(unsigned int set, const struct spec_attr *spec)
{
	const char *name = spec->name, *of = spec_sets[set].name;

	if (!strcmp(name, "id"))
		name = of;
	if (!strcmp(name, "session"))
		return REF_SESSION;
	if (!strcmp(name, "provider"))
		return REF_PROVIDER;
	if (!strcmp(name, "cookie"))
		return REF_COOKIE;
	if (!strcmp(name, "pid"))
		return REF_PID;
	if (!strcmp(name, "uid") || !strcmp(name, "user"))
		return REF_UID;
	return REF_NONE;
}

static unsigned int slot_of(struct rng *r)
{
	/* Mostly slot 0, so that operations use the same objects */
	return one_in(r, 3) ? below(r, 4) : 0;
}

static void valid_number(struct rng *r, struct attr *a, unsigned int set,
			 const struct spec_attr *spec)
{
	uint64_t max = spec->max ? spec->max :
		       spec->size < 8 ? (1ULL << 8 * spec->size) - 1 : ~0ULL;

	a->ref = ref_of(set, spec);
	a->slot = slot_of(r);
	if (spec->mask)
		a->value = rnd(r) & spec->mask;
	else if (max - spec->min < 64)
		a->value = spec->min + below(r, max - spec->min + 1);
	else if (spec->min && !one_in(r, 8))	/* a size: a small power of two */
		a->value = spec->min << (one_in(r, 6) ? below(r, 17) : below(r, 3));
	else
		a->value = one_in(r, 2) ? interesting(r) : below(r, 4);
}

static void wild_number(struct rng *r, struct attr *a, const struct spec_attr *spec)
{
	a->value = interesting(r);
	if (one_in(r, 3) && spec->min)
		a->value = spec->min - 1 + below(r, 3);
	if (one_in(r, 3) && spec->max)
		a->value = spec->max - 1 + below(r, 3);
	if (one_in(r, 4)) {
		a->ref = below(r, REF_KINDS);
		a->slot = below(r, 6);
	}
	if (one_in(r, 4))
		a->len = below(r, 17);
}

static void text(struct rng *r, struct attr *a, const struct spec_attr *spec, bool wild)
{
	unsigned int max = spec && spec->max ? spec->max : 20;

	if (!one_in(r, wild ? 2 : 4)) {
		a->form = FORM_TEXT;
		a->value = one_in(r, 2) ? below(r, 5) : below(r, nr_texts);
		a->len = !wild || !one_in(r, 4);
		return;
	}
	a->form = FORM_FILL;
	a->value = "x*?[-/\\\xff"[below(r, 8)] | FILL_ENDED;
	a->len = 1 + below(r, max);
	if (wild) {
		a->len = one_in(r, 2) ? max - 1 + below(r, 4) : below(r, 600);
		if (one_in(r, 4))
			a->value |= FILL_HOLED;
		if (one_in(r, 4))
			a->value &= ~FILL_ENDED;
	}
}

static struct attr *add(struct op *op)
{
	if (op->nr_attrs == ATTRS_MAX)
		return NULL;
	return memset(&op->attrs[op->nr_attrs++], 0, sizeof(struct attr));
}

static void repeat(struct rng *r, struct attr *a, const struct spec_attr *spec, bool wild)
{
	if (spec && spec->multi && one_in(r, wild ? 3 : 40))
		a->repeat = one_in(r, 2) ? 99 + below(r, 5) : 2 + below(r, 200);
	else if (wild && one_in(r, 10))
		a->repeat = 2;
}

static void nest(struct rng *r, struct op *op, unsigned int set, unsigned int depth, bool wild)
{
	for (unsigned int i = 0; i < spec_sets[set].count; i++)
		if (!wild || !one_in(r, 4))
			generate_attr(r, op, set, spec_sets[set].attrs[i].type, depth,
				      wild && one_in(r, 2));
}

void generate_attr(struct rng *r, struct op *op, unsigned int set, uint16_t type,
		   unsigned int depth, bool wild)
{
	const struct spec_attr *spec = spec_attr(set, type);
	struct attr *a = add(op);

	if (!a)
		return;
	a->type = type;
	a->depth = depth;
	switch (spec ? spec->kind : SPEC_PAD) {
	case SPEC_NUMBER:
		a->form = FORM_NUMBER;
		a->len = spec->size;
		if (wild)
			wild_number(r, a, spec);
		else
			valid_number(r, a, set, spec);
		break;
	case SPEC_STRING:
		text(r, a, spec, wild);
		break;
	case SPEC_NEST:
		a->form = FORM_NEST;
		a->type |= NLA_F_NESTED;
		nest(r, op, spec->nested, depth + 1, wild);
		break;
	case SPEC_FLAG:
	case SPEC_PAD:
		a->form = FORM_NOISE;
		a->len = wild ? below(r, 24) : 0;
		break;
	}
	repeat(r, a, spec, wild);
	if (!wild || !one_in(r, 4))
		return;
	/* The attribute differs from the spec. */
	switch (below(r, 5)) {
	case 0:
		a->form = below(r, FORM_KINDS);
		a->value = interesting(r);
		a->len = below(r, 300);
		break;
	case 1:
		a->lie = (int)below(r, 17) - 8;
		break;
	case 2:
		a->type ^= one_in(r, 2) ? NLA_F_NESTED : NLA_F_NET_BYTEORDER;
		break;
	case 3:
		a->form = FORM_NOISE;
		a->value = rnd(r);
		break;
	case 4:
		a->type = below(r, 40);
		break;
	}
}

static const struct spec_op *op_of(uint8_t cmd)
{
	for (unsigned int i = 0; i < spec_nr_ops; i++)
		if (spec_ops[i].cmd == cmd)
			return &spec_ops[i];
	return NULL;
}

/* Makes a request by the spec. @wild: some attributes and flags differ from the spec. */
static void request(struct rng *r, struct op *op, const struct spec_op *spec, bool dump, bool wild)
{
	const struct spec_list *list = dump ? &spec->dump : &spec->do_;

	op->kind = OP_NETLINK;
	op->cmd = spec->cmd;
	op->flags = NLM_F_REQUEST | (dump ? NLM_F_DUMP : 0) | (one_in(r, 3) ? 0 : NLM_F_ACK);
	for (unsigned int i = 0; i < list->count; i++) {
		/* The first attributes are mostly required, the later ones rarely. */
		if (!one_in(r, i < 3 ? 24 : 2))
			generate_attr(r, op, spec->set, list->types[i], 0, wild && one_in(r, 4));
	}
	if (!wild)
		return;
	if (one_in(r, 4)) {
		const struct spec_set *set = &spec_sets[spec->set];

		generate_attr(r, op, spec->set, set->attrs[below(r, set->count)].type, 0, true);
	}
	if (one_in(r, 6))
		generate_attr(r, op, spec->set, below(r, 64), 0, true);
	if (one_in(r, 16))
		op->cut = below(r, 24);
	if (one_in(r, 16))
		op->flags = rnd(r);
	if (one_in(r, 32))
		op->cmd = rnd(r);
}

static void netlink(struct rng *r, struct op *op)
{
	const struct spec_op *spec = &spec_ops[below(r, spec_nr_ops)];
	bool dump = spec->has_dump && (!spec->has_do || one_in(r, 2));

	op->slot = one_in(r, 4) ? below(r, SOCKETS) : 0;
	request(r, op, spec, dump, !one_in(r, 3));
	if (one_in(r, 24))
		op->flags ^= NLM_F_DUMP;
}

/* Passes the attributes by ioctl, without the cookie. */
static void by_ioctl(struct rng *r, struct op *op, uint8_t cmd)
{
	const struct spec_op *spec = op_of(cmd);
	bool wild = one_in(r, 2);

	for (unsigned int i = 0; i < spec->do_.count; i++) {
		uint16_t type = spec->do_.types[i];

		if (type == ASYNCTRACE_A_PROVIDER_COOKIE && !one_in(r, 20))
			continue;
		if (!one_in(r, 16))
			generate_attr(r, op, spec->set, type, 0, wild && one_in(r, 3));
	}
	if (wild && one_in(r, 4))
		generate_attr(r, op, spec->set, below(r, 40), 0, true);
	if (wild && one_in(r, 8))
		op->cut = below(r, 16);
	/* struct asynctrace_attrs: .size and .reserved; .c: wrong address and length */
	op->a = one_in(r, 16) ? interesting(r) : sizeof(struct asynctrace_attrs);
	op->b = one_in(r, 24) ? interesting(r) : 0;
	op->c = one_in(r, 24);
}

static uint64_t frame_size(struct rng *r, size_t size)
{
	return one_in(r, 16) ? interesting(r) : size;
}

static void memory(struct rng *r, struct op *op)
{
	switch (op->kind) {
	case OP_MMAP:
		/* @a: 0 control, 1 read-write, otherwise an offset; @b: bytes, 0: all; @c: prot */
		op->a = one_in(r, 6) ? interesting(r) & ~4095ULL : below(r, 2);
		op->b = one_in(r, 5) ? interesting(r) & 0xffffffff : 0;
		op->c = one_in(r, 5) ? below(r, 8) : op->a ? PROT_READ | PROT_WRITE : PROT_READ;
		op->cut = one_in(r, 8) ? MAP_PRIVATE : MAP_SHARED;
		op->cmd = below(r, FDS);	/* index of the descriptor; .slot: of the mapping */
		if (!one_in(r, 3))
			op->cmd = 0;
		break;
	case OP_MADVISE: {
		static const int advice[] = {
			MADV_DONTNEED, MADV_DONTFORK, MADV_DOFORK, MADV_REMOVE, MADV_FREE,
			MADV_HUGEPAGE,
			MADV_COLD, MADV_PAGEOUT, MADV_WILLNEED, MADV_POPULATE_READ,
			MADV_POPULATE_WRITE,
			MADV_WIPEONFORK, MADV_DONTDUMP,
		};

		op->c = advice[below(r, ARRAY(advice))];
	}
		/* fall through */
	default:
		/* @a: first page; @b: pages, 0: all; @c: prot or a flag */
		op->a = one_in(r, 2) ? 0 : below(r, 64);
		op->b = one_in(r, 2) ? 0 : 1 + below(r, 64);
		if (op->kind != OP_MADVISE)
			op->c = below(r, 8);
	}
}

static void arguments(struct rng *r, struct op *op)
{
	op->slot = slot_of(r);
	switch (op->kind) {
	case OP_OPEN:
		op->a = one_in(r, 4) ? below(r, 3) : O_RDWR;
		break;
	case OP_HELLO:
		op->a = frame_size(r, sizeof(struct asynctrace_hello));
		op->b = one_in(r, 16) ? interesting(r) : ASYNCTRACE_ABI_VERSION;
		break;
	case OP_REGISTER:
		by_ioctl(r, op, ASYNCTRACE_CMD_PROVIDER_REGISTER);
		break;
	case OP_ANNOUNCE:
		by_ioctl(r, op, ASYNCTRACE_CMD_PROVIDER_ANNOUNCE);
		break;
	case OP_CONSUME:
		op->a = frame_size(r, sizeof(struct asynctrace_consume));
		op->b = one_in(r, 8) ? interesting(r) : below(r, 2);	/* flags */
		op->c = one_in(r, 24) ? interesting(r) : 0;		/* reserved */
		op->cmd = one_in(r, 4) ? below(r, SESSIONS) : 0;
		break;
	case OP_ALERT:
		/* @a: bytes of the name that are not NUL; @b: the byte */
		op->a = one_in(r, 3) ? below(r, 20) : 5;
		op->b = one_in(r, 3) ? rnd(r) : 'a';
		break;
	case OP_IOCTL:
		op->a = one_in(r, 2) ? (rnd(r) & 0xffffffff) :
			(0xc0000000 >> below(r, 3)) | below(r, 64) << 16 |
			ASYNCTRACE_IOC_MAGIC << 8 | below(r, 8);
		op->b = below(r, 3);
		op->c = rnd(r);
		break;
	case OP_READ:
		/* @a: bytes, 0: as many as needed; @b: times; @c: a bad address */
		op->a = one_in(r, 4) ? interesting(r) & 0xfffff : 0;
		op->b = 1 + below(r, one_in(r, 3) ? 60 : 5);
		op->c = one_in(r, 12);
		break;
	case OP_SCRIBBLE:
		/* @a: address, see execute.c; @b: value; @c: times */
		op->a = rnd(r);
		op->b = one_in(r, 2) ? interesting(r) : rnd(r);
		op->c = 1 + below(r, 8);
		break;
	case OP_WRITE:
		/* @a: ring; @b: records; @c: seed of their contents */
		op->a = one_in(r, 3) ? below(r, 4) : 0;
		op->b = 1 + below(r, 50);
		op->c = one_in(r, 2) ? 0 : rnd(r);
		break;
	case OP_FORK:
		/* @a: operations that the child runs; @b: see execute.c; @c: namespaces */
		op->a = below(r, 5);
		op->b = below(r, 8);
		op->c = one_in(r, 4) ? rnd(r) : 0;
		break;
	case OP_USER:
		op->a = below(r, 2);
		break;
	case OP_SLEEP:
		op->a = below(r, 3000);
		break;
	case OP_MMAP:
	case OP_MUNMAP:
	case OP_MREMAP:
	case OP_MPROTECT:
	case OP_MADVISE:
		memory(r, op);
		break;
	}
}

static void finish(struct rng *r, struct op *op)
{
	if (one_in(r, 24))
		op->fail = 1 + below(r, one_in(r, 3) ? 60 : 8);
	if (one_in(r, 24))
		op->async = 1;
}

static void make(struct rng *r, struct op *op, enum kind kind)
{
	memset(op, 0, sizeof(*op));
	op->kind = kind;
	if (kind == OP_NETLINK)
		netlink(r, op);
	else
		arguments(r, op);
}

void generate_op(struct rng *r, struct op *op)
{
	/* Many operations are netlink's, because half of the interface is. */
	make(r, op, one_in(r, 3) ? OP_NETLINK : below(r, OP_KINDS));
	/* Processes are slow here: make few of them. */
	if ((op->kind == OP_FORK || op->kind == OP_VMCLONE) && !one_in(r, 3))
		make(r, op, OP_NETLINK);
	finish(r, op);
}

void generate(struct rng *r, struct program *p)
{
	memset(p, 0, sizeof(*p));
	p->nobody = one_in(r, 4);
	p->nr_ops = 1 + below(r, OPS_MAX);
	for (unsigned int i = 0; i < p->nr_ops; i++)
		generate_op(r, &p->ops[i]);
}

/* --- intended use ------------------------------------------------------------------ */

/* Appends an operation of @kind, with arguments that a program would use. */
static struct op *seed_op(struct rng *r, struct program *p, enum kind kind)
{
	struct op *op = &p->ops[p->nr_ops++];

	memset(op, 0, sizeof(*op));
	op->kind = kind;
	switch (kind) {
	case OP_OPEN:
		op->a = O_RDWR;
		break;
	case OP_HELLO:
		op->a = sizeof(struct asynctrace_hello);
		op->b = ASYNCTRACE_ABI_VERSION;
		break;
	case OP_CONSUME:
		op->a = sizeof(struct asynctrace_consume);
		break;
	case OP_ALERT:
		op->a = 5;
		op->b = 'a';
		break;
	case OP_READ:
		op->b = 30;
		break;
	case OP_WRITE:
		op->b = 20;
		break;
	case OP_MMAP:
		op->cut = MAP_SHARED;
		op->c = PROT_READ;
		break;
	default:
		make(r, op, kind);
	}
	return op;
}

/*
 * Appends a valid request with the first three attributes of the spec. @attrs: a bit for each
 * further attribute to add, from the fourth on.
 */
static void seed_request(struct rng *r, struct program *p, uint8_t cmd, unsigned int attrs)
{
	struct op *op = &p->ops[p->nr_ops++];
	const struct spec_op *spec = op_of(cmd);
	bool dump = !spec->has_do;
	const struct spec_list *list = dump ? &spec->dump : &spec->do_;

	memset(op, 0, sizeof(*op));
	op->kind = OP_NETLINK;
	op->cmd = cmd;
	op->flags = NLM_F_REQUEST | NLM_F_ACK | (dump ? NLM_F_DUMP : 0);
	for (unsigned int i = 0; i < list->count; i++) {
		unsigned int at = op->nr_attrs;

		if (i >= 3 && !(attrs >> (i - 3) & 1))
			continue;
		generate_attr(r, op, spec->set, list->types[i], 0, false);
		op->attrs[at].slot = 0;
		if (op->attrs[at].form == FORM_TEXT || op->attrs[at].form == FORM_FILL) {
			op->attrs[at].form = FORM_TEXT;
			op->attrs[at].value = 0;
			op->attrs[at].len = 1;
		}
	}
}

static void seed_provider(struct rng *r, struct program *p, bool by_netlink)
{
	struct op *op;

	seed_op(r, p, OP_OPEN);
	seed_op(r, p, OP_HELLO);
	if (by_netlink) {
		seed_request(r, p, ASYNCTRACE_CMD_PROVIDER_REGISTER, ~0U);
		seed_request(r, p, ASYNCTRACE_CMD_PROVIDER_ANNOUNCE, ~0U);
	} else {
		const struct spec_op *spec = op_of(ASYNCTRACE_CMD_PROVIDER_REGISTER);

		op = &p->ops[p->nr_ops++];
		memset(op, 0, sizeof(*op));
		op->kind = OP_REGISTER;
		op->a = sizeof(struct asynctrace_attrs);
		for (unsigned int i = 0; i < spec->do_.count; i++)
			if (spec->do_.types[i] != ASYNCTRACE_A_PROVIDER_COOKIE)
				generate_attr(r, op, spec->set, spec->do_.types[i], 0, false);
	}
	seed_op(r, p, OP_MMAP);
	op = seed_op(r, p, OP_MMAP);
	op->slot = 1;
	op->a = 1;
	op->c = PROT_READ | PROT_WRITE;
	seed_op(r, p, OP_THREAD);
}

/* Makes all requests in the life of a session. The bits of @n select a variant. */
static void seed_course(struct rng *r, struct program *p, unsigned int n)
{
	seed_provider(r, p, n & 2);
	seed_request(r, p, ASYNCTRACE_CMD_SESSION_CREATE, n & 4 ? 7 : 3);
	seed_request(r, p, ASYNCTRACE_CMD_SESSION_INIT, 0);
	seed_request(r, p, ASYNCTRACE_CMD_SUBSCRIBE, 0);
	seed_request(r, p, ASYNCTRACE_CMD_SESSION_START, n & 8 ? ~0U : 0);
	seed_op(r, p, OP_OPEN)->slot = 1;
	seed_op(r, p, OP_CONSUME)->slot = 1;
	seed_op(r, p, OP_WRITE)->slot = 1;
	seed_op(r, p, OP_READ)->slot = 1;
	seed_op(r, p, OP_ALERT);
	seed_request(r, p, ASYNCTRACE_CMD_SESSION_UPDATE, 0);
	seed_op(r, p, OP_WRITE)->slot = 1;
	seed_request(r, p, ASYNCTRACE_CMD_RING_GET, 0);
	seed_request(r, p, ASYNCTRACE_CMD_SESSION_STOP, 0);
	seed_op(r, p, OP_READ)->slot = 1;
	seed_request(r, p, ASYNCTRACE_CMD_SESSION_TERMINATE, 0);
}

#define EDGES	4

/* Puts a value at or beyond the limit that the spec sets. */
static void edge(struct attr *a, const struct spec_attr *spec, unsigned int n)
{
	static const uint8_t times[EDGES] = { 100, 101, 128, 255 };
	const uint64_t numbers[EDGES] = { spec->min - 1, spec->max + 1, spec->max, ~0ULL };
	const uint32_t lengths[EDGES] = { spec->max, spec->max + 1, 600, 0 };

	if (spec->multi) {
		a->repeat = times[n];
	} else if (spec->kind == SPEC_NUMBER && (spec->max || n < EDGES - 1)) {
		/* The last variant of a number without limits is valid: the request can succeed. */
		a->ref = REF_NONE;
		a->value = numbers[n];
	} else if (spec->kind == SPEC_STRING) {
		a->form = FORM_FILL;
		a->value = 'x' | FILL_ENDED;
		a->len = lengths[n];
	}
}

/* Makes a request that is valid except for one attribute, about objects that exist. */
static bool seed_edge(struct rng *r, struct program *p, unsigned int n)
{
	for (unsigned int i = 0; i < spec_nr_ops; i++) {
		const struct spec_op *spec = &spec_ops[i];
		const struct spec_list *list = spec->has_do ? &spec->do_ : &spec->dump;
		unsigned int all = (list->count ? list->count : 1) * EDGES;
		struct op *op;

		if (n >= all) {
			n -= all;
			continue;
		}
		seed_op(r, p, OP_OPEN);
		seed_op(r, p, OP_HELLO);
		if (spec->cmd != ASYNCTRACE_CMD_PROVIDER_REGISTER)
			seed_request(r, p, ASYNCTRACE_CMD_PROVIDER_REGISTER, ~0U);
		if (spec->cmd != ASYNCTRACE_CMD_SESSION_CREATE)
			seed_request(r, p, ASYNCTRACE_CMD_SESSION_CREATE, 0);
		if (spec->cmd != ASYNCTRACE_CMD_SESSION_INIT)
			seed_request(r, p, ASYNCTRACE_CMD_SESSION_INIT, 0);
		op = &p->ops[p->nr_ops];
		/* The required attributes and this one */
		seed_request(r, p, spec->cmd, n / EDGES < 3 ? 0 : 1U << (n / EDGES - 3));
		for (unsigned int a = 0; a < op->nr_attrs; a++)
			if ((op->attrs[a].type & NLA_TYPE_MASK) == list->types[n / EDGES] &&
			    !op->attrs[a].depth)
				edge(&op->attrs[a], spec_attr(spec->set, list->types[n / EDGES]),
				     n % EDGES);
		return true;
	}
	return false;
}

#define COURSES	16

bool generate_seed(struct rng *r, struct program *p, unsigned int n)
{
	memset(p, 0, sizeof(*p));
	seed_op(r, p, OP_SOCKET)->slot = 0;
	if (n < COURSES) {
		p->nobody = n & 1;
		seed_course(r, p, n);
		return true;
	}
	return seed_edge(r, p, n - COURSES);
}
