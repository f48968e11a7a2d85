/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fuzzer of the module's interfaces, guided by KCOV. It runs programs: lists of operations, each
 * a plain struct, so that programs can be copied, changed, stored and repeated as bytes.
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

/* Values in messages and arguments that are known only when the program runs */
enum ref {
	REF_NONE, REF_SESSION, REF_COOKIE, REF_PROVIDER, REF_PID, REF_UID, REF_KINDS
};

extern const char *const ref_names[REF_KINDS];

enum form {
	FORM_NUMBER,	/* @len bytes of @value, or of the value that @ref names */
	FORM_TEXT,	/* text number @value, with a NUL if @len is odd */
	FORM_FILL,	/* @len bytes of the character @value; see FILL_* */
	FORM_NOISE,	/* @len random bytes by the seed @value */
	FORM_NEST,	/* contains the following attributes that are deeper */
	FORM_KINDS
};

#define FILL_ENDED	0x100	/* with a NUL at the end */
#define FILL_HOLED	0x200	/* with a NUL in the middle */

/**
 * struct attr - an attribute of a message
 * @type: number of the attribute, and NLA_F_* flags
 * @form: enum form
 * @depth: how deep it is nested
 * @ref: enum ref
 * @slot: object that @ref refers to
 * @repeat: how often the attribute is put
 * @lie: number that is added to the true length
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
 * @slot: descriptor, socket or mapping that it uses
 * @cmd: command of netlink
 * @flags: flags of netlink
 * @fail: number of the allocation that fails; 0: none
 * @async: runs at the same time as the next operation
 * @nr_attrs: number of @attrs
 * @cut: bytes cut off the message
 * @a, @b, @c: arguments, whose meaning depends on @kind
 * @attrs: of the message, or of an ioctl's argument
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
 * struct program - operations that run with no objects at the start
 * @nr_ops: number of @ops
 * @nobody: an unprivileged user runs the program
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
/* Returns a random number below @n, which is not 0. */
uint64_t below(struct rng *r, uint64_t n);
/* Returns true once in @n times. */
bool one_in(struct rng *r, uint64_t n);

/* --- message.c --------------------------------------------------------------- */

extern const char *const texts[];
extern const unsigned int nr_texts;

/* Returns the value that a reference stands for. */
typedef uint64_t (*resolve_fn)(enum ref ref, unsigned int slot);

/* Puts the attributes of @op into @buf. Returns the number of bytes. */
size_t message_attrs(const struct op *op, void *buf, size_t size, resolve_fn resolve);

/* --- generate.c, mutate.c ------------------------------------------------------ */

/* Makes a program that uses the interfaces as intended. Returns false if @n exceeds the last. */
bool generate_seed(struct rng *r, struct program *p, unsigned int n);
void generate_op(struct rng *r, struct op *op);
void generate(struct rng *r, struct program *p);
/*
 * Makes the attribute number @type of the attribute set @set, with the attributes nested in it.
 * @depth: of the attribute. @wild: the attribute may differ from the spec.
 */
void generate_attr(struct rng *r, struct op *op, unsigned int set, uint16_t type,
		   unsigned int depth, bool wild);
uint64_t interesting(struct rng *r);
/* Changes @p a little; parts may come from @other. */
void mutate(struct rng *r, struct program *p, const struct program *other);

/* --- execute.c ----------------------------------------------------------------- */

/* Prepares the process that runs programs, once. Exits on failure. */
void execute_init(void);
void execute(const struct program *p);

/* --- cover.c -------------------------------------------------------------------- */

/* Starts coverage of the calling thread. Called in the process that runs programs. */
void cover_init(void);
/* Called before and after each operation. @key identifies the operation. */
void cover_begin(void);
void cover_end(unsigned int key);
/* Called in a forked child. Its coverage is added by cover_children(), in the parent. */
void cover_child(void);
void cover_children(void);

/**
 * struct signal - coverage so far, shared with the supervisor
 * @points: places in the module
 * @pairs: pairs of an operation and a place that it reached
 * @truncated: how often a buffer was too small
 * @done: netlink operations that succeeded
 * @unsupported: operations that the module does not know
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
