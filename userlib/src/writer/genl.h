/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Requests over a raw netlink socket, for code that may run in a signal handler: no allocation, no
 * lock, no waiting
 */
#ifndef AT_GENL_H
#define AT_GENL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/genetlink.h>
#include <linux/netlink.h>

#pragma GCC visibility push(hidden)

/* A request of this library, or an answer to one. */
struct at_message {
	struct nlmsghdr nl;
	struct genlmsghdr genl;
	char attrs[2048];
} __attribute__((aligned(NLMSG_ALIGNTO)));

_Static_assert(offsetof(struct at_message, attrs) == NLMSG_HDRLEN + GENL_HDRLEN,
	       "attributes follow the two heads");

/*
 * Appends an attribute to @buf, which has @room bytes, of which *@len are used. Returns false if
 * the attribute does not fit.
 */
bool at_attr_put(char *buf, size_t room, size_t *len, uint16_t type, const void *data,
		 size_t size);
/* Finds the id of the module's netlink family. Returns -EAFNOSUPPORT if there is none. */
int at_genl_family(int fd, struct at_message *m, uint16_t *family);
/*
 * Sends @m with @len bytes of attributes and reads the acknowledgement. Returns 0 or the kernel's
 * error. @answer: out: the message before the acknowledgement, if there was one; may be NULL.
 */
int at_genl_do(int fd, struct at_message *m, uint16_t family, uint8_t cmd, size_t len,
	       struct at_message *answer);
/*
 * Sends @m with @len bytes of attributes, and replaces it by the answer. *reached: the kernel
 * answered, possibly with an error.
 */
int at_genl_ask(int fd, struct at_message *m, uint16_t family, uint8_t cmd, size_t len,
		bool *reached);
/* Returns the value of the first attribute @type that has at least @size bytes, or NULL. */
const void *at_genl_find(const struct at_message *m, uint16_t type, size_t size);

#pragma GCC visibility pop

#endif /* AT_GENL_H */
