/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fuzzer of the module's interfaces, led by KCOV. What it runs is a program: a
 * list of operations, each a plain struct, so that programs are copied, changed,
 * stored and repeated as bytes.
 */
#ifndef SELFTESTS_FUZZ_H
#define SELFTESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define FDS		5	/* descriptors of the device */
#define SOCKETS		3
#define SESSIONS	4
#define MAPS		6
#define OPS_MAX		24
#define ATTRS_MAX	14

#define ARRAY(a)	(sizeof(a) / sizeof((a)[0]))

/* --- programs --------------------------------------------------------------- */

enum kind {
	OP_OPEN, OP_CLOSE, OP_HELLO, OP_REGISTER, OP_ANNOUNCE, OP_THREAD, OP_CONSUME, OP_ALERT,
	OP_IOCTL, OP_READ, OP_POLL, OP_MMAP, OP_MUNMAP, OP_MREMAP, OP_MPROTECT, OP_MADVISE,
	OP_SCRIBBLE, OP_WRITE, OP_FORK, OP_VMCLONE, OP_SOCKET, OP_SOCKET_CLOSE, OP_NETLINK,
	OP_RECEIVE, OP_USER, OP_SLEEP, OP_KINDS
};

extern const char *const kind_names[OP_KINDS];

/* What a number in a message or an argument stands for when the program runs. */
enum ref {
	REF_NONE, REF_SESSION, REF_COOKIE, REF_PROVIDER, REF_PID, REF_UID, REF_KINDS
};

extern const char *const ref_names[REF_KINDS];

enum form {
	FORM_NUMBER,	/* @len bytes of @value, or of what @ref stands for */
	FORM_TEXT,	/* text number @value, ended by a NUL where @len is odd */
	FORM_FILL,	/* @len bytes of the character @value; see FILL_* */
	FORM_NOISE,	/* @len bytes that @value seeds */
	FORM_NEST,	/* the attributes behind it that are deeper */
	FORM_KINDS
};

#define FILL_ENDED	0x100	/* a NUL more */
#define FILL_HOLED	0x200	/* a NUL in the middle */

/**
 * struct attr - an attribute of a message
 * @type: its number, with NLA_F_* where they are to be set
 * @form: enum form
 * @depth: how deep it is nested
 * @ref: enum ref
 * @slot: of @ref
 * @repeat: how often it comes
 * @lie: what its length says too much
 * @len: bytes of payload
 * @value: see enum form
 */
struct attr {
	uint16_t type;
	uint8_t form;
	uint8_t depth;
	uint8_t ref;
	uint8_t slot;
	uint8_t repeat;
	int8_t lie;
	uint32_t len;
	uint32_t reserved;
	uint64_t value;
};

/**
 * struct op - one operation
 * @kind: enum kind
 * @slot: descriptor, socket or mapping that it is made on
 * @cmd: of netlink
 * @flags: of netlink
 * @fail: which allocation fails, 0: none
 * @async: it runs beside the one that follows
 * @nr_attrs: attributes in use
 * @cut: bytes cut off the message
 * @a, @b, @c: arguments, what they are is the kind's
 * @attrs: of the message, or of what an ioctl takes instead
 */
struct op {
	uint8_t kind;
	uint8_t slot;
	uint8_t cmd;
	uint8_t fail;
	uint16_t flags;
	uint8_t async;
	uint8_t nr_attrs;
	uint32_t cut;
	uint32_t reserved;
	uint64_t a, b, c;
	struct attr attrs[ATTRS_MAX];
};

/**
 * struct program - what is run at once, from nothing
 * @nr_ops: operations in use
 * @nobody: an unprivileged user runs it
 * @ops: the operations
 */
struct program {
	uint32_t nr_ops;
	uint32_t nobody;
	struct op ops[OPS_MAX];
};

/* --- random.c ---------------------------------------------------------------- */

struct rng {
	uint64_t state;
};

uint64_t rnd(struct rng *r);
/* Below @n, which is not 0. */
uint64_t below(struct rng *r, uint64_t n);
/* True once in @n. */
bool one_in(struct rng *r, uint64_t n);

/* --- message.c --------------------------------------------------------------- */

extern const char *const texts[];
extern const unsigned int nr_texts;

/* What refs stand for. */
typedef uint64_t (*resolve_fn)(enum ref ref, unsigned int slot);

/* Puts the attributes of @op at @buf, which has @size bytes; returns how many it took. */
size_t message_attrs(const struct op *op, void *buf, size_t size, resolve_fn resolve);

/* --- generate.c, mutate.c ------------------------------------------------------ */

/* Programs that use everything as it is meant; false where @n is beyond the last. */
bool generate_seed(struct rng *r, struct program *p, unsigned int n);
void generate_op(struct rng *r, struct op *op);
void generate(struct rng *r, struct program *p);
/* An attribute of that set: one of @types, or where that is NULL of any number. */
void generate_attr(struct rng *r, struct op *op, unsigned int set, uint16_t type,
		   unsigned int depth, bool wild);
uint64_t interesting(struct rng *r);
/* Changes @p a little; @other is another one to take from. */
void mutate(struct rng *r, struct program *p, const struct program *other);

/* --- execute.c ----------------------------------------------------------------- */

/* What is set up once in the process that runs programs. Exits where it cannot. */
void execute_init(void);
void execute(const struct program *p);

/* --- cover.c -------------------------------------------------------------------- */

/* In the process that runs programs, for the thread and the children it forks. */
void cover_init(void);
/* Around an operation; @key tells operations apart. */
void cover_begin(void);
void cover_end(unsigned int key);
/* In a forked child: its part is counted with the operation that forked it. */
void cover_child(void);
void cover_children(void);

/**
 * struct signal - what was ever reached; shared with the supervisor
 * @points: places in the module
 * @pairs: places, told apart by the operation that reached them
 * @truncated: times that a buffer was too small
 * @done: netlink operations that succeeded
 * @unsupported: those that the module does not know
 */
struct signal {
	uint32_t points, pairs, truncated;
	bool done[256], unsupported[256];
	uint8_t point_map[1 << 17], pair_map[1 << 20];
};

extern struct signal *cover_signal;

/* --- show.c ----------------------------------------------------------------------- */

void show(FILE *f, const struct program *p);

#endif /* SELFTESTS_FUZZ_H */
