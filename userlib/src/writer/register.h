/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Registration of a provider, for code that may run in a signal handler: no allocation, no lock,
 * no blocking; errno is preserved.
 */
#ifndef AT_REGISTER_H
#define AT_REGISTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Size of a buffer for the attributes of a registration, bytes. */
#define AT_REGISTER_ATTRS_MAX	160

/*
 * at_genl_register - register over generic netlink
 * @cookie: the cookie that ASYNCTRACE_IOC_HELLO returned
 * @name: 1..ASYNCTRACE_NAME_MAX bytes
 * @version: any number
 * @ring_stride: address space of one ring, bytes, a power of two
 * @id: out: the provider's id
 * @started: out: a session records the provider already; may be NULL
 *
 * Returns 0, or a negative errno. -EAFNOSUPPORT: this process cannot reach the family (seccomp,
 * RestrictAddressFamilies=, no memory) and is not registered; the caller should use
 * ASYNCTRACE_IOC_REGISTER. All other errors are the module's.
 */
int at_genl_register(uint64_t cookie, const char *name, uint32_t version,
		     uint64_t ring_stride, uint32_t *id, bool *started);

/*
 * at_register_attrs - make the attributes for ASYNCTRACE_IOC_REGISTER, which has no cookie
 * @buf: aligned to 4; AT_REGISTER_ATTRS_MAX bytes are always enough
 *
 * Returns the number of bytes, -EINVAL (@name is too long or empty) or -EMSGSIZE (@len is too
 * small).
 */
int at_register_attrs(void *buf, size_t len, const char *name, uint32_t version,
		      uint64_t ring_stride);

#endif /* AT_REGISTER_H */
