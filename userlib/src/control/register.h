/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Registration of a provider, for the instrumentation side: no allocation, no
 * lock, no blocking, errno kept; may be called in a signal handler.
 */
#ifndef AT_REGISTER_H
#define AT_REGISTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for the attributes of any registration. */
#define AT_REGISTER_ATTRS_MAX	160

/*
 * Register over generic netlink.
 * @cookie: what ASYNCTRACE_IOC_HELLO said
 * @name: 1..ASYNCTRACE_NAME_MAX bytes
 * @version: any number
 * @ring_stride: address space of one ring, bytes, a power of two
 * @id: out: the provider's id
 * @started: out: a session records it already; may be NULL
 *
 * 0, or a negative errno. -EAFNOSUPPORT: this process cannot talk to the family
 * (seccomp, RestrictAddressFamilies=, no room); nothing was registered, use
 * ASYNCTRACE_IOC_REGISTER. Everything else is the module's answer.
 */
int at_genl_register(uint64_t cookie, const char *name, uint32_t version,
		     uint64_t ring_stride, uint32_t *id, bool *started);

/*
 * The same attributes, without the cookie, for ASYNCTRACE_IOC_REGISTER.
 * @buf: 4-aligned, AT_REGISTER_ATTRS_MAX bytes are enough for any
 *
 * Bytes put, or -EINVAL (name too long or empty), -EMSGSIZE (@len too small).
 */
int at_register_attrs(void *buf, size_t len, const char *name, uint32_t version,
		      uint64_t ring_stride);

/*
 * Appends an attribute to @buf, which has room for @room bytes and *@len of them
 * used. False where it does not fit.
 */
bool at_attr_put(char *buf, size_t room, size_t *len, uint16_t type, const void *data,
		 size_t size);

#endif /* AT_REGISTER_H */
