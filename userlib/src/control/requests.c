// SPDX-License-Identifier: LGPL-2.1-or-later
/* Requests that create and control sessions, and lists */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ctl.h"

/* Limit of attempts to get a list of rings that did not change while the kernel made it. */
#define AT_RINGS_TRIES	8

struct at_provider_each {
	at_provider_fn fn;
	void *arg;
};

static int at_got_provider(const struct nlmsghdr *nlh, void *arg)
{
	const struct at_provider_each *each = arg;
	struct at_provider_info p;
	struct at_attrs a;

	at_parse(nlh, &a);
	p = (struct at_provider_info){
		.id = at_attr_u32(&a, ASYNCTRACE_A_PROVIDER_ID),
		.version = at_attr_u32(&a, ASYNCTRACE_A_PROVIDER_VERSION),
		.pid = at_attr_u32(&a, ASYNCTRACE_A_PROVIDER_PID),
		.uid = at_attr_u32(&a, ASYNCTRACE_A_PROVIDER_UID),
		.session = at_attr_u32(&a, ASYNCTRACE_A_PROVIDER_SESSION),
		.started = a.at[ASYNCTRACE_A_PROVIDER_STARTED],
		.flags = at_attr_u32(&a, ASYNCTRACE_A_PROVIDER_FLAGS),
		.rings = at_attr_u32(&a, ASYNCTRACE_A_PROVIDER_RINGS),
		.ring_stride = at_attr_u64(&a, ASYNCTRACE_A_PROVIDER_RING_STRIDE),
		.name = at_attr_str(&a, ASYNCTRACE_A_PROVIDER_NAME),
		.sched_dropped = at_attr_u64(&a, ASYNCTRACE_A_PROVIDER_SCHED_DROPPED),
		.names_dropped = at_attr_u64(&a, ASYNCTRACE_A_PROVIDER_NAMES_DROPPED),
		.serial = at_attr_u64(&a, ASYNCTRACE_A_PROVIDER_SERIAL),
		.cells_missing = at_attr_u32(&a, ASYNCTRACE_A_PROVIDER_CELLS_MISSING),
	};
	return each->fn(&p, each->arg);
}

int at_for_each_provider(struct at_ctl *ctl, at_provider_fn fn, void *arg)
{
	struct at_provider_each each = { .fn = fn, .arg = arg };
	struct nlmsghdr *nlh = at_ctl_request(ctl, ASYNCTRACE_CMD_PROVIDER_GET, NLM_F_DUMP);

	return at_ctl_talk(ctl, nlh, at_got_provider, &each);
}

static int at_got_id(const struct nlmsghdr *nlh, void *arg)
{
	struct at_attrs a;

	at_parse(nlh, &a);
	*(uint32_t *)arg = at_attr_u32(&a, ASYNCTRACE_A_SESSION_ID);
	return 0;
}

int at_session_create(struct at_ctl *ctl, const struct at_session_options *opts, uint32_t *id)
{
	struct nlmsghdr *nlh = at_ctl_request(ctl, ASYNCTRACE_CMD_SESSION_CREATE, 0);
	/* Options that the caller's version does not have are 0. */
	struct at_session_options o = {};
	int err;

	if (opts->size < offsetof(struct at_session_options, nr_pids) || !opts->name)
		return at_ctl_fail(ctl, -EINVAL, "a session needs options with a name");
	memcpy(&o, opts, opts->size < sizeof(o) ? opts->size : sizeof(o));
	err = at_put_session(nlh, sizeof(ctl->request), &o);
	if (err)
		return at_ctl_fail(ctl, err, "the patterns are too long for one message");
	return at_ctl_talk(ctl, nlh, at_got_id, id);
}

static int at_session_do(struct at_ctl *ctl, uint8_t cmd, uint32_t id)
{
	struct nlmsghdr *nlh = at_ctl_request(ctl, cmd, 0);
	int err;

	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_ID, id);
	err = at_ctl_talk(ctl, nlh, NULL, NULL);
	return err == -EALREADY ? 0 : err;
}

int at_session_init(struct at_ctl *ctl, uint32_t id)
{
	return at_session_do(ctl, ASYNCTRACE_CMD_SESSION_INIT, id);
}

int at_session_start(struct at_ctl *ctl, uint32_t id, const struct at_start_options *opts)
{
	struct nlmsghdr *nlh = at_ctl_request(ctl, ASYNCTRACE_CMD_SESSION_START, 0);
	int err;

	if (opts && opts->size < sizeof(*opts))
		return at_ctl_fail(ctl, -EINVAL, "struct at_start_options is older than the library");
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_ID, id);
	if (opts && opts->disposition)
		mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_DISPOSITION, opts->disposition);
	if (opts && !at_put_strings(nlh, sizeof(ctl->request), ASYNCTRACE_A_SESSION_ADDITIONAL,
				    opts->additional, opts->nr_additional))
		return at_ctl_fail(ctl, -E2BIG, "the patterns are too long for one message");
	err = at_ctl_talk(ctl, nlh, NULL, NULL);
	return err == -EALREADY ? 0 : err;
}

int at_session_update(struct at_ctl *ctl, uint32_t id, size_t nr, const char *const *categories)
{
	struct nlmsghdr *nlh = at_ctl_request(ctl, ASYNCTRACE_CMD_SESSION_UPDATE, 0);

	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_ID, id);
	if (!at_put_strings(nlh, sizeof(ctl->request), ASYNCTRACE_A_SESSION_CATEGORY, categories,
			    nr))
		return at_ctl_fail(ctl, -E2BIG, "the patterns are too long for one message");
	return at_ctl_talk(ctl, nlh, NULL, NULL);
}

int at_session_stop(struct at_ctl *ctl, uint32_t id)
{
	return at_session_do(ctl, ASYNCTRACE_CMD_SESSION_STOP, id);
}

/*
 * Remembers that this connection has ended the session. If there is no memory for that, ending the
 * session again fails with -ENOENT.
 */
static void at_remember_ended(struct at_ctl *ctl, uint32_t id)
{
	uint32_t *ended = realloc(ctl->ended, (ctl->nr_ended + 1) * sizeof(*ended));

	if (!ended)
		return;
	ended[ctl->nr_ended++] = id;
	ctl->ended = ended;
}

static bool at_has_ended(const struct at_ctl *ctl, uint32_t id)
{
	for (size_t i = 0; i < ctl->nr_ended; i++)
		if (ctl->ended[i] == id)
			return true;
	return false;
}

int at_session_destroy(struct at_ctl *ctl, uint32_t id)
{
	int err = at_session_do(ctl, ASYNCTRACE_CMD_SESSION_TERMINATE, id);

	/*
	 * The module does not know sessions that have ended, so it cannot tell whether the session
	 * was the caller's. Only this connection knows which sessions it has ended.
	 */
	if (err == -ENOENT && at_has_ended(ctl, id))
		return 0;
	if (!err)
		at_remember_ended(ctl, id);
	return err;
}

static int at_consume(struct at_ctl *ctl, uint32_t id, uint32_t flags)
{
	struct asynctrace_consume consume = {
		.size = sizeof(consume), .session = id, .flags = flags,
	};
	const char *path = "/dev/" ASYNCTRACE_DEVICE;
	int err, fd;

	ctl->error[0] = '\0';
	err = at_ctl_check(ctl);
	if (err)
		return err;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return at_ctl_fail(ctl, -errno, "cannot open %s: %s%s", path, strerror(errno),
				   errno == EACCES ? "; its permissions are for root and udev rules to give" :
				   errno == ENOENT ? "; is /dev another one here (a container)?" : "");
	if (!ioctl(fd, ASYNCTRACE_IOC_CONSUME, &consume))
		return fd;
	err = -errno;
	close(fd);
	if (err == -EINVAL && flags & ASYNCTRACE_CONSUME_F_SNAPSHOT)
		return at_ctl_fail(ctl, err,
				   "session %u is not circular: only such a one keeps what a snapshot takes",
				   id);
	return at_ctl_fail(ctl, err, "cannot read session %u: %s", id,
			   err == -EBUSY ? "somebody else reads it already" :
			   err == -ENOENT ? "there is none of this id that you may see" :
			   strerror(-err));
}

int at_session_open_stream(struct at_ctl *ctl, uint32_t id)
{
	return at_consume(ctl, id, 0);
}

int at_session_open_snapshot(struct at_ctl *ctl, uint32_t id)
{
	return at_consume(ctl, id, ASYNCTRACE_CONSUME_F_SNAPSHOT);
}

struct at_session_each {
	struct at_ctl *ctl;
	at_session_fn fn;
	void *arg;
	struct nlmsghdr *parts;	/* joined messages of one session; NULL: none */
	uint32_t id;		/* id of the session in @parts */
	bool called;
};

/* Appends the attributes of a message to those of the messages before. */
static int at_join_session(struct at_session_each *each, const struct nlmsghdr *nlh)
{
	size_t had = each->parts ? each->parts->nlmsg_len : 0;
	size_t skip = had ? MNL_NLMSG_HDRLEN + GENL_HDRLEN : 0;
	size_t more = MNL_ALIGN(nlh->nlmsg_len) - skip;
	struct nlmsghdr *parts = realloc(each->parts, had + more);

	if (!parts)
		return at_ctl_fail(each->ctl, -ENOMEM, "out of memory");
	memcpy((char *)parts + had, (const char *)nlh + skip, more);
	parts->nlmsg_len = had + more;
	each->parts = parts;
	return 0;
}

static void at_drop_parts(struct at_session_each *each)
{
	free(each->parts);
	each->parts = NULL;
}

/* A session with long lists comes in several messages. */
static int at_got_session(const struct nlmsghdr *nlh, void *arg)
{
	struct at_session_each *each = arg;
	struct at_attrs a;
	uint32_t id;
	int ret;

	at_parse(nlh, &a);
	id = at_attr_u32(&a, ASYNCTRACE_A_SESSION_ID);
	/* The session in @parts ended while it was listed, so its other parts do not come. */
	if (each->parts && each->id != id)
		at_drop_parts(each);
	each->id = id;
	if (each->parts || a.at[ASYNCTRACE_A_SESSION_MORE]) {
		ret = at_join_session(each, nlh);
		if (ret || a.at[ASYNCTRACE_A_SESSION_MORE])
			return ret;
		nlh = each->parts;
	}
	each->called = true;
	ret = at_parse_session(nlh, each->fn, each->arg);
	at_drop_parts(each);
	return ret;
}

static int at_ask_sessions(struct at_session_each *each, struct nlmsghdr *nlh)
{
	int ret = at_ctl_talk(each->ctl, nlh, at_got_session, each);

	at_drop_parts(each);
	return ret;
}

int at_session_get(struct at_ctl *ctl, uint32_t id, at_session_fn fn, void *arg)
{
	/* First ask for a single message, which most sessions fit into. Long lists need a dump. */
	static const uint16_t flags[] = { 0, NLM_F_DUMP };
	struct at_session_each each = { .ctl = ctl, .fn = fn, .arg = arg };

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct nlmsghdr *nlh = at_ctl_request(ctl, ASYNCTRACE_CMD_SESSION_GET, flags[i]);
		int ret;

		mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_ID, id);
		ret = at_ask_sessions(&each, nlh);
		if (ret || each.called)
			return ret;
	}
	return at_ctl_fail(ctl, -ENOENT, "session %u has ended", id);
}

int at_for_each_session(struct at_ctl *ctl, at_session_fn fn, void *arg)
{
	struct at_session_each each = { .ctl = ctl, .fn = fn, .arg = arg };

	return at_ask_sessions(&each, at_ctl_request(ctl, ASYNCTRACE_CMD_SESSION_GET, NLM_F_DUMP));
}

/* The rings in one answer of the kernel. @changed: they changed while the kernel made the answer */
struct at_ring_list {
	struct at_ring_info *ring;
	size_t nr;
	bool changed;
};

static int at_got_ring(const struct nlmsghdr *nlh, void *arg)
{
	struct at_ring_list *list = arg;
	struct at_ring_info *r = list->ring;
	struct at_attrs a;

	/* The array doubles when the number of rings is a power of two. */
	if (!(list->nr & (list->nr - 1)))
		r = realloc(r, (list->nr ? 2 * list->nr : 1) * sizeof(*r));
	if (!r)
		return -ENOMEM;
	list->ring = r;
	list->changed |= nlh->nlmsg_flags & NLM_F_DUMP_INTR;
	at_parse(nlh, &a);
	r[list->nr++] = (struct at_ring_info){
		.provider = at_attr_u32(&a, ASYNCTRACE_A_RING_PROVIDER),
		.ring = at_attr_u32(&a, ASYNCTRACE_A_RING_RING),
		.kind = at_attr_u32(&a, ASYNCTRACE_A_RING_KIND),
		.committed = at_attr_u64(&a, ASYNCTRACE_A_RING_COMMITTED),
		.delivered = at_attr_u64(&a, ASYNCTRACE_A_RING_DELIVERED),
		.overwritten = at_attr_u64(&a, ASYNCTRACE_A_RING_OVERWRITTEN),
		.cleared = at_attr_u64(&a, ASYNCTRACE_A_RING_CLEARED),
		.dropped = at_attr_u64(&a, ASYNCTRACE_A_RING_DROPPED),
		.pages = at_attr_u64(&a, ASYNCTRACE_A_RING_PAGES),
	};
	return 0;
}

/*
 * A provider may end while the kernel lists the rings, which adds its rings to the sums of ended
 * providers. Then its records may be listed twice or not at all. The kernel marks such an answer,
 * and the request is repeated. If providers end all the time, the last answer is used.
 */
int at_for_each_ring(struct at_ctl *ctl, uint32_t session, at_ring_fn fn, void *arg)
{
	struct at_ring_list list = {};
	int err = 0;

	for (int i = 0; i < AT_RINGS_TRIES && !err && (!i || list.changed); i++) {
		struct nlmsghdr *nlh = at_ctl_request(ctl, ASYNCTRACE_CMD_RING_GET, NLM_F_DUMP);

		list.nr = 0;
		list.changed = false;
		mnl_attr_put_u32(nlh, ASYNCTRACE_A_RING_SESSION, session);
		err = at_ctl_talk(ctl, nlh, at_got_ring, &list);
	}
	if (err == -ENOMEM && !*at_ctl_error(ctl))
		at_ctl_fail(ctl, err, "no memory for the list of rings");
	for (size_t i = 0; !err && i < list.nr; i++)
		err = fn(&list.ring[i], arg);
	free(list.ring);
	return err;
}
