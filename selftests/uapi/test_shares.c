// SPDX-License-Identifier: GPL-2.0
/*
 * Shares of users in the memory of root's session
 */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "ktap.h"
#include "raw.h"

#define GREEDY	65534
#define OTHERS	4	/* users with smaller uids */

static struct raw_nl nl;

/* Task of a user's child. @fn returns the id of the last provider, or a negative errno. */
struct part {
	int (*fn)(const struct part *part);
	uint64_t ring;
	unsigned int providers;
};

/**
 * struct user - a child process
 * @last: id of its last provider
 * @end: write end of a pipe; a byte ends the child. Closing it would not end the child, because
 *	children that begin later have copies of it
 */
struct user {
	pid_t pid;
	int last, end;
};

/* Registers providers that live as long as the child. */
static int keep(const struct part *part)
{
	struct raw_provider p = {};
	int err = 0;

	for (unsigned int i = 0; i < part->providers && !err; i++)
		err = raw_provider(&p, "keep", part->ring);
	return err ?: p.id;
}

/* Registers one provider after the other. Each of them leaves a record. */
static int pass(const struct part *part)
{
	struct raw_provider p = {};
	int err = 0;

	for (unsigned int i = 0; i < part->providers && !err; i++) {
		err = raw_provider(&p, "pass", part->ring);
		if (!err && p.control->gate > ASYNCTRACE_GATE_ATTACH)
			raw_write(&p, 0, 1);
		if (!err)
			raw_provider_end(&p);
	}
	return err ?: p.id;
}

/* Starts a user's child, and returns when it has done its part. */
static struct user begin(int uid, struct part part)
{
	int ready[2], end[2];
	struct user u = {};
	char byte;

	NEED(!pipe(ready) && !pipe(end));
	u.pid = fork();
	if (!u.pid) {
		u.last = raw_become(uid) ? -EPERM : part.fn(&part);
		if (write(ready[1], &u.last, sizeof(u.last)) != sizeof(u.last))
			_exit(1);
		_exit(read(end[0], &byte, 1) != 1);
	}
	close(ready[1]);
	close(end[0]);
	u.end = end[1];
	NEED(u.pid > 0 && read(ready[0], &u.last, sizeof(u.last)) == sizeof(u.last));
	close(ready[0]);
	EXPECT(u.last > 0);
	return u;
}

static void end(struct user *u)
{
	int status;

	EXPECT_IS(write(u->end, "x", 1), 1);
	EXPECT_IS(waitpid(u->pid, &status, 0), u->pid);
	EXPECT_IS(status, 0);
	close(u->end);
}

static void end_all(struct user *u, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		end(&u[i]);
}

/* Memory limit of root's sessions in bytes, and the number of online CPUs */
static struct {
	uint64_t limit, cpus;
} memory;

static void open_root(void)
{
	NEED(!raw_nl_open(&nl));
	NEED(!raw_memory_limit(&nl, &memory.limit, &memory.cpus));
}

/* Returns the bytes of a provider's rings: one for each CPU, and the fallback ring. */
static uint64_t set(uint64_t ring)
{
	return (memory.cpus + 1) * ring;
}

/* Returns the smallest ring size with which rings of @sets providers exceed the limit. */
static uint64_t ring_for(unsigned int sets)
{
	uint64_t ring = ASYNCTRACE_RING_MIN;

	while (set(ring) * sets <= memory.limit)
		ring *= 2;
	return ring;
}

static int session(uint32_t mode, uint64_t ring, const char *providers)
{
	return raw_session(&nl, "shares", mode, ASYNCTRACE_SCHED_OFF, ring, providers);
}

static uint32_t session_u32(int id, uint16_t attr)
{
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_GET, id));
	return raw_nl_u32(&nl, attr);
}

/* Returns the number of users whose last provider, which lives, is in the session. */
static unsigned int joined(int session, const struct user *u, unsigned int n)
{
	unsigned int found = 0;

	for (unsigned int i = 0; i < n; i++) {
		mnl_attr_put_u32(raw_nl_begin(&nl, ASYNCTRACE_CMD_PROVIDER_GET, 0),
				 ASYNCTRACE_A_PROVIDER_ID, u[i].last);
		NEED(!raw_nl_ask(&nl));
		found += raw_nl_u32(&nl, ASYNCTRACE_A_PROVIDER_SESSION) == (uint32_t)session;
	}
	return found;
}

/* Returns the number of users whose last provider has ended and still has rings in the session. */
static unsigned int kept(int session, const struct user *u, unsigned int n)
{
	unsigned int found = 0;
	struct raw_ledger sum;

	for (unsigned int i = 0; i < n; i++) {
		NEED(!raw_ledger(&nl, session, u[i].last, &sum));
		found += sum.lines > 0;
	}
	return found;
}

/* A user has more providers than root's session has room for, before others register. */
static void I18_user_takes_half_of_the_memory(void)
{
	const unsigned int sets = 16;
	struct user greedy, other[OTHERS];
	uint32_t taken, refused;
	uint64_t ring;
	int id;

	open_root();
	ring = ring_for(sets);
	greedy = begin(GREEDY, (struct part){ keep, ring, sets + 4 });
	for (int i = 0; i < OTHERS; i++)
		other[i] = begin(GREEDY - 1 - i, (struct part){ keep, ASYNCTRACE_RING_MIN, 1 });
	id = session(ASYNCTRACE_MODE_ONESHOT, ring, "keep");
	NEED(id > 0);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id), 0);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id), 0);
	EXPECT_IS(joined(id, other, OTHERS), OTHERS);
	taken = session_u32(id, ASYNCTRACE_A_SESSION_PROVIDERS);
	refused = session_u32(id, ASYNCTRACE_A_SESSION_REFUSED_PROVIDERS);
	EXPECT_IS(taken + refused, sets + 4 + OTHERS);
	/* The greedy user's rings take half of the memory, less what others take. */
	EXPECT((taken - OTHERS) * set(ring) <= memory.limit / 2);
	EXPECT((taken - OTHERS + 2) * set(ring) > memory.limit / 2);
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id));
	end_all(other, OTHERS);
	end(&greedy);
	raw_nl_close(&nl);
}

/*
 * Records of some users wait in root's flight recorder, and then another user's providers come and
 * go, more than the session has room for.
 */
static void I18_user_loses_no_records_to_others(void)
{
	const unsigned int sets = 16;
	struct user greedy, other[OTHERS];
	struct raw_ledger sum;
	uint64_t ring;
	int id;

	open_root();
	ring = ring_for(sets);
	id = session(ASYNCTRACE_MODE_CIRCULAR, ring, "pass");
	NEED(id > 0 && !raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id));
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id));
	for (int i = 0; i < OTHERS; i++)
		other[i] = begin(GREEDY - 1 - i, (struct part){ pass, ASYNCTRACE_RING_MIN, 1 });
	EXPECT_IS(kept(id, other, OTHERS), OTHERS);
	greedy = begin(GREEDY, (struct part){ pass, ring, sets + 4 });
	EXPECT_IS(session_u32(id, ASYNCTRACE_A_SESSION_PROVIDERS), sets + 4 + OTHERS);
	EXPECT_IS(kept(id, other, OTHERS), OTHERS);
	EXPECT_IS(kept(id, &greedy, 1), 1);
	/* The user's last providers took the room of the first ones. */
	NEED(!raw_ended(&nl, id, &sum));
	EXPECT(sum.overwritten >= sets / 2);
	EXPECT(sum.overwritten <= sets + 4 + OTHERS);
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id));
	end_all(other, OTHERS);
	end(&greedy);
	raw_nl_close(&nl);
}

/*
 * Root's provider needs more than half of the memory. Another user's providers register first, and
 * the session's first pattern matches them.
 */
static void I18_roots_provider_comes_first(void)
{
	const uint32_t mode = ASYNCTRACE_MODE_ONESHOT, sched = ASYNCTRACE_SCHED_OFF;
	const unsigned int parts = 16;
	struct raw_provider roots;
	struct user greedy;
	struct nlmsghdr *nlh;
	uint64_t ring;
	int id;

	open_root();
	ring = ring_for(2);
	greedy = begin(GREEDY, (struct part){ keep, ring / parts, 2 * parts });
	NEED(!raw_provider(&roots, "roots", ring));
	nlh = raw_nl_begin(&nl, ASYNCTRACE_CMD_SESSION_CREATE, 0);
	mnl_attr_put_strz(nlh, ASYNCTRACE_A_SESSION_NAME, "shares");
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_MODE, mode);
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_SESSION_SCHED, sched);
	mnl_attr_put_u64(nlh, ASYNCTRACE_A_SESSION_RING_SIZE, ring);
	mnl_attr_put_strz(nlh, ASYNCTRACE_A_SESSION_PROVIDER, "keep");
	mnl_attr_put_strz(nlh, ASYNCTRACE_A_SESSION_PROVIDER, "roots");
	NEED(!raw_nl_ask(&nl));
	id = raw_nl_u32(&nl, ASYNCTRACE_A_SESSION_ID);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_INIT, id), 0);
	EXPECT_IS(raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_START, id), 0);
	EXPECT(roots.control->gate > ASYNCTRACE_GATE_ATTACH);
	EXPECT(session_u32(id, ASYNCTRACE_A_SESSION_REFUSED_PROVIDERS) > 0);
	NEED(!raw_session_do(&nl, ASYNCTRACE_CMD_SESSION_TERMINATE, id));
	raw_provider_end(&roots);
	end(&greedy);
	raw_nl_close(&nl);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(I18_user_takes_half_of_the_memory),
	KTAP_TEST(I18_user_loses_no_records_to_others),
	KTAP_TEST(I18_roots_provider_comes_first),
};

KTAP_MAIN(tests)
