/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The connection to the module: internal interfaces of control/ */
#ifndef AT_CTL_H
#define AT_CTL_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <libmnl/libmnl.h>
#include <linux/genetlink.h>

#include <asynctrace/session.h>

/*
 * Bytes of a buffer for a message. Enough for a request with all patterns of a session, and for a
 * page of an answer.
 */
#define AT_MESSAGE_MAX	(64 * 1024)

/* More than the number of attributes of any attribute set. */
#define AT_ATTRS_MAX	32

struct at_ctl {
	struct mnl_socket *socket;
	uint32_t portid;
	uint32_t seq;
	uint16_t family;
	size_t nr_ended;
	uint32_t *ended;	/* sessions that this connection has terminated */
	int refusal;		/* error of at_ctl_open(), which each request returns; 0: none */
	char refused[512];	/* its message */
	char error[512];
	char request[AT_MESSAGE_MAX] __attribute__((aligned(8)));
	char answer[AT_MESSAGE_MAX] __attribute__((aligned(8)));
};

/* Called for each message of an answer, like the callbacks of session.h. */
typedef int (*at_answer_fn)(const struct nlmsghdr *nlh, void *arg);

/* ctl.c */
int at_ctl_check(struct at_ctl *ctl);
struct nlmsghdr *at_ctl_request(struct at_ctl *ctl, uint8_t cmd, uint16_t flags);
int at_ctl_send(struct at_ctl *ctl, struct nlmsghdr *nlh);
int at_ctl_receive(struct at_ctl *ctl, const struct nlmsghdr *nlh, at_answer_fn fn, void *arg);
int at_ctl_talk(struct at_ctl *ctl, struct nlmsghdr *nlh, at_answer_fn fn, void *arg);

/* error.c */
int __attribute__((format(printf, 3, 4)))
at_ctl_fail(struct at_ctl *ctl, int err, const char *fmt, ...);
int at_ctl_explain(struct at_ctl *ctl, const struct nlmsghdr *request,
		   const struct nlmsghdr *answer);

/* parse.c: reading and writing of messages, without a socket */
struct at_attrs {
	const struct nlattr *at[AT_ATTRS_MAX];
};

void at_parse(const struct nlmsghdr *nlh, struct at_attrs *attrs);
uint32_t at_attr_u32(const struct at_attrs *attrs, int type);
uint64_t at_attr_u64(const struct at_attrs *attrs, int type);
const char *at_string(const struct nlattr *attr);
const char *at_attr_str(const struct at_attrs *attrs, int type);
bool at_put_strings(struct nlmsghdr *nlh, size_t room, uint16_t type, const char *const *list,
		    size_t count);
int at_put_session(struct nlmsghdr *nlh, size_t room, const struct at_session_options *opts);
int at_parse_session(const struct nlmsghdr *nlh, at_session_fn fn, void *arg);

#endif /* AT_CTL_H */
