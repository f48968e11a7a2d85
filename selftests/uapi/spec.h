/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The netlink spec as tables, which spec.py prints from uapi/asynctrace.yaml, for tests of all
 * attributes
 */
#ifndef SELFTESTS_SPEC_H
#define SELFTESTS_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum spec_kind {
	SPEC_NUMBER,
	SPEC_STRING,
	SPEC_FLAG,
	SPEC_NEST,
	SPEC_PAD,
};

/**
 * struct spec_attr - an attribute
 * @type: its number in the set
 * @name: as in the spec
 * @kind: type of its payload
 * @size: bytes of a number
 * @nested: of a nest, the set inside
 * @multi: may come more than once
 * @min: of a number, the smallest allowed
 * @max: of a number, the largest allowed; of a string, bytes without a NUL; 0: no limit
 * @mask: of flags, all valid ones
 */
struct spec_attr {
	uint16_t type;
	const char *name;
	enum spec_kind kind;
	unsigned int size;
	unsigned int nested;
	bool multi;
	uint64_t min, max, mask;
};

struct spec_set {
	const char *name;
	const struct spec_attr *attrs;
	unsigned int count;
};

struct spec_list {
	const uint16_t *types;
	unsigned int count;
};

/**
 * struct spec_op - an operation
 * @cmd: its number
 * @name: as in the spec
 * @set: index of its attribute set
 * @has_do: can be a request for one answer
 * @has_dump: can be a request for a dump
 * @do_: attributes that the request may have
 * @dump: attributes that the request for a dump may have
 */
struct spec_op {
	uint8_t cmd;
	const char *name;
	unsigned int set;
	bool has_do, has_dump;
	struct spec_list do_, dump;
};

extern const struct spec_set spec_sets[];
extern const struct spec_op spec_ops[];
extern const unsigned int spec_nr_sets, spec_nr_ops;

/* Returns the attribute with this number, or NULL. */
static inline const struct spec_attr *spec_attr(unsigned int set, uint16_t type)
{
	for (unsigned int i = 0; i < spec_sets[set].count; i++)
		if (spec_sets[set].attrs[i].type == type)
			return &spec_sets[set].attrs[i];
	return NULL;
}

#endif /* SELFTESTS_SPEC_H */
