// SPDX-License-Identifier: LGPL-2.1-or-later
/* The request that registers a provider: as a netlink message, and as attributes of an ioctl(2) */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/asynctrace.h>
#include <linux/asynctrace_netlink.h>

#include "sys.h"
#include "genl.h"
#include "register.h"

int at_register_attrs(void *buf, size_t len, const char *name, uint32_t version,
		      uint64_t ring_stride)
{
	size_t used = 0, size = strnlen(name, ASYNCTRACE_NAME_MAX + 1);

	if (!size || size > ASYNCTRACE_NAME_MAX)
		return -EINVAL;
	if (!at_attr_put(buf, len, &used, ASYNCTRACE_A_PROVIDER_NAME, name, size + 1) ||
	    !at_attr_put(buf, len, &used, ASYNCTRACE_A_PROVIDER_VERSION, &version,
			 sizeof(version)) ||
	    !at_attr_put(buf, len, &used, ASYNCTRACE_A_PROVIDER_RING_STRIDE, &ring_stride,
			 sizeof(ring_stride)))
		return -EMSGSIZE;
	return used;
}

static int at_register_on(int fd, struct at_message *m, uint64_t cookie,
			  const char *name, uint32_t version, uint64_t ring_stride,
			  uint32_t *id, bool *started)
{
	const void *attr;
	uint16_t family;
	size_t len;
	bool reached;
	int err;

	err = at_genl_family(fd, m, &family);
	if (err)
		return err;
	err = at_register_attrs(m->attrs, sizeof(m->attrs), name, version, ring_stride);
	if (err < 0)
		return err;
	len = err;
	at_attr_put(m->attrs, sizeof(m->attrs), &len, ASYNCTRACE_A_PROVIDER_COOKIE,
		    &cookie, sizeof(cookie));
	err = at_genl_ask(fd, m, family, ASYNCTRACE_CMD_PROVIDER_REGISTER, len, &reached);
	if (err)
		return reached ? err : -EAFNOSUPPORT;
	attr = at_genl_find(m, ASYNCTRACE_A_PROVIDER_ID, sizeof(*id));
	if (!attr)
		return -EBADMSG;
	memcpy(id, attr, sizeof(*id));
	if (started)
		*started = at_genl_find(m, ASYNCTRACE_A_PROVIDER_STARTED, 0);
	return 0;
}

int at_genl_register(uint64_t cookie, const char *name, uint32_t version,
		     uint64_t ring_stride, uint32_t *id, bool *started)
{
	struct at_message message;
	int saved = errno;
	int err, fd;

	fd = at_sys_socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (fd < 0) {
		err = -EAFNOSUPPORT;
	} else {
		err = at_register_on(fd, &message, cookie, name, version,
				     ring_stride, id, started);
		at_sys_close(fd);
	}
	errno = saved;
	return err;
}
