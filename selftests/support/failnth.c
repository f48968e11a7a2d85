// SPDX-License-Identifier: GPL-2.0
/* Runs an operation with each of its allocations failing once */
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/genetlink.h>

#include "failnth.h"
#include "ktap.h"

#define MOST	600	/* allocations of one operation, at most */

static int fail_nth = -1;

int fail_again(void)
{
	char path[64];

	if (fail_nth >= 0)
		close(fail_nth);
	snprintf(path, sizeof(path), "/proc/self/task/%ld/fail-nth", syscall(SYS_gettid));
	fail_nth = open(path, O_RDWR | O_CLOEXEC);
	return fail_nth < 0 ? -errno : 0;
}

void fail_need(void)
{
	struct stat st;

	if (fail_nth >= 0)
		return;
	if (stat("/sys/kernel/debug/failslab", &st)) {
		ktap_fail("no failslab in debugfs: run this on the debug kernel (CONFIG_FAULT_INJECTION)");
		ktap_leave();
	}
	NEED(!raw_put("/sys/kernel/debug/failslab/ignore-gfp-wait", "N"));
	NEED(!raw_put("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N"));
	NEED(!raw_put("/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem", "N"));
	NEED(!raw_put("/sys/kernel/debug/fail_page_alloc/min-order", "0"));
	/* Messages of the fault injection, each with a stack trace, would fill the log. */
	NEED(!raw_put("/sys/kernel/debug/failslab/verbose", "0"));
	NEED(!raw_put("/sys/kernel/debug/fail_page_alloc/verbose", "0"));
	NEED(!raw_put("/sys/kernel/debug/fail_usercopy/verbose", "0"));
	NEED(!fail_again());
}

/*
 * If the operation had no @n-th allocation, the write below may fail instead. That clears the
 * counter, too.
 */
bool fail_one(int n, int (*run)(void), int *ret)
{
	char text[16];
	ssize_t len = snprintf(text, sizeof(text), "%d", n);
	bool injected;

	if (!n) {
		*ret = run();
		return false;
	}
	NEED(pwrite(fail_nth, text, len, 0) == len);
	*ret = run();
	len = pread(fail_nth, text, sizeof(text) - 1, 0);
	injected = len > 0 && atoi((text[len] = 0, text)) == 0;
	while (pwrite(fail_nth, "0", 1, 0) != 1)
		NEED(errno == EFAULT);
	return injected;
}

bool fail_clean(int err)
{
	return err == -ENOMEM || err == -EFAULT || err == -ENOBUFS || err == -ENFILE ||
	       err == -EMFILE || err == -ENOSPC;
}

/* --- state of the module ------------------------------------------------------ */

static void say(struct state *s, const char *fmt, ...)
{
	size_t room = sizeof(s->text) - s->len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(s->text + s->len, room, fmt, ap);
	va_end(ap);
	s->len += n < (int)room ? (size_t)n : room - 1;
}

/* Attributes whose values differ each time or change without a request. */
static bool differs(uint8_t cmd, uint16_t type)
{
	switch (cmd) {
	case ASYNCTRACE_CMD_SESSION_GET:
		return type == ASYNCTRACE_A_SESSION_ID || type == ASYNCTRACE_A_SESSION_GENERATION ||
		       type == ASYNCTRACE_A_SESSION_PROBE_CALLS ||
		       type == ASYNCTRACE_A_SESSION_PROBE_RECORDS ||
		       type == ASYNCTRACE_A_SESSION_THREADS_MISSED;
	case ASYNCTRACE_CMD_PROVIDER_GET:
		return type == ASYNCTRACE_A_PROVIDER_ID || type == ASYNCTRACE_A_PROVIDER_SERIAL ||
		       type == ASYNCTRACE_A_PROVIDER_SESSION ||
		       type == ASYNCTRACE_A_PROVIDER_SCHED_DROPPED ||
		       type == ASYNCTRACE_A_PROVIDER_NAMES_DROPPED ||
		       type == ASYNCTRACE_A_PROVIDER_CELLS_MISSING;
	case ASYNCTRACE_CMD_CATEGORY_GET:
		return type == ASYNCTRACE_A_PROVIDER_ID;
	default:
		return type == ASYNCTRACE_A_RING_SESSION || type == ASYNCTRACE_A_RING_PROVIDER;
	}
}

struct listing {
	struct state *state;
	uint32_t sessions[64];
	unsigned int count;
};

static int add(const struct nlmsghdr *nlh, void *arg)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	struct listing *l = arg;
	const struct nlattr *attr;

	/* Skip the kernel's rings: their counts change at any time. */
	if (genl->cmd == ASYNCTRACE_CMD_RING_GET)
		mnl_attr_for_each(attr, nlh, GENL_HDRLEN)
			if (mnl_attr_get_type(attr) == ASYNCTRACE_A_RING_KIND &&
			    mnl_attr_get_u32(attr) >= ASYNCTRACE_RING_KIND_SCHED)
				return 0;
	say(l->state, "%d:", genl->cmd);
	mnl_attr_for_each(attr, nlh, GENL_HDRLEN) {
		const unsigned char *bytes = mnl_attr_get_payload(attr);
		uint16_t type = mnl_attr_get_type(attr);

		if (genl->cmd == ASYNCTRACE_CMD_SESSION_GET && type == ASYNCTRACE_A_SESSION_ID &&
		    l->count < sizeof(l->sessions) / sizeof(l->sessions[0]))
			l->sessions[l->count++] = mnl_attr_get_u32(attr);
		say(l->state, " %d", type);
		if (differs(genl->cmd, type))
			continue;
		say(l->state, "=");
		for (int i = 0; i < mnl_attr_get_payload_len(attr); i++)
			say(l->state, "%02x", bytes[i]);
	}
	say(l->state, "\n");
	return 0;
}

int state_take(struct state *s, struct raw_nl *nl)
{
	static const uint8_t lists[] = {
		ASYNCTRACE_CMD_SESSION_GET, ASYNCTRACE_CMD_PROVIDER_GET,
		ASYNCTRACE_CMD_CATEGORY_GET,
	};
	struct listing l = { .state = s };
	int err;

	s->len = 0;
	s->text[0] = 0;
	for (unsigned int i = 0; i < sizeof(lists); i++) {
		raw_nl_begin(nl, lists[i], NLM_F_DUMP);
		err = raw_nl_each(nl, add, &l);
		if (err)
			return err;
	}
	for (unsigned int i = 0; i < l.count; i++) {
		mnl_attr_put_u32(raw_nl_begin(nl, ASYNCTRACE_CMD_RING_GET, NLM_F_DUMP),
				 ASYNCTRACE_A_RING_SESSION, l.sessions[i]);
		err = raw_nl_each(nl, add, &l);
		if (err)
			return err;
	}
	return 0;
}

bool state_same(const struct state *a, const struct state *b)
{
	return a->len == b->len && !memcmp(a->text, b->text, a->len);
}

#define SHOWN	160	/* characters of a line */

/* Prints both states from the first difference on. */
void state_show(const struct state *is, const struct state *want)
{
	size_t at = 0;

	while (at < is->len && at < want->len && is->text[at] == want->text[at])
		at++;
	printf("# the states differ at byte %zu of %zu and %zu:\n", at, is->len, want->len);
	at -= at > SHOWN / 2 ? SHOWN / 2 : at;
	printf("#   it is         '%.*s'\n", SHOWN, is->text + at);
	printf("#   it should be  '%.*s'\n", SHOWN, want->text + at);
}

/* --- operations ----------------------------------------------------------------- */

/* Fails the test if the states differ; @when says what the test expected. */
static bool is_state(int n, const char *when, const struct state *is, const struct state *want)
{
	if (state_same(is, want))
		return true;
	ktap_fail("failure %d: the state is not that %s", n, when);
	state_show(is, want);
	return false;
}

/* Stop after this many failed checks: further ones are likely to have the same cause. */
#define ENOUGH	4

void fail_every(const struct fail_op *op, struct raw_nl *nl)
{
	static struct state none, before, done, now;
	int n, ret, told = 0, borne = 0;
	bool injected = true;

	fail_need();
	NEED(!state_take(&none, nl));
	/* Round 0 injects no failure. */
	for (n = 0; injected && n < MOST && ktap_failed() < ENOUGH; n++) {
		bool lost;

		if (op->flags & FAIL_SETTLE)
			sleep(2);
		op->prepare();
		NEED(!state_take(&before, nl));
		injected = fail_one(n, op->run, &ret);
		if (op->take && ret >= 0)
			ret = op->take();
		NEED(!state_take(&now, nl));
		if (!n) {
			EXPECT(ret >= 0);
			done = now;
			injected = true;
		}
		told += ret < 0;
		borne += n && injected && ret >= 0;
		lost = op->flags & FAIL_DUMB && (ret == -EFAULT || ret == -ENOBUFS);
		if (ret < 0 && !fail_clean(ret)) {
			ktap_fail("failure %d: %s", n, strerror(-ret));
		} else if (lost) {
			if (!state_same(&now, &before))
				is_state(n, "after the operation, whose answer was lost", &now, &done);
		} else if (ret < 0) {
			is_state(n, "before it", &now, &before);
		} else if (n && !(op->flags & FAIL_QUIET)) {
			is_state(n, "after it", &now, &done);
		}
		if (ret < 0) {
			bool was = state_same(&now, &before);

			ret = op->run();
			if (op->take && ret >= 0)
				ret = op->take();
			if (ret < 0 && (!lost || (was && !state_same(&before, &done))))
				ktap_fail("after failure %d, the second try fails with %s",
					  n, strerror(-ret));
			NEED(!state_take(&now, nl));
			is_state(n, "after the second try", &now, &done);
			if (op->check && ret >= 0)
				op->check(false);
		} else if (op->check) {
			op->check(n && injected);
		}
		op->clean();
		NEED(!state_take(&now, nl));
		is_state(n, "of nothing", &now, &none);
	}
	EXPECT(n < MOST);
	/*
	 * n - 2: do not count round 0, which injects no failure, and the last round, which has no
	 * allocation left to fail.
	 */
	printf("# %s: %d failures, %d reported, %d tolerated\n", op->name, n - 2, told, borne);
	/* An operation without an allocation proves nothing. */
	EXPECT(n > 2 || op->flags & FAIL_FREE);
}

static const struct fail_op *picked[128];
static int next;
static void (*run_one)(const struct fail_op *op);

static void run_next(void)
{
	run_one(picked[next++]);
}

int fail_run(const struct fail_op *ops, int count, const char *only,
	     void (*run)(const struct fail_op *op))
{
	struct ktap_test tests[sizeof(picked) / sizeof(picked[0])];
	const char *share = getenv("FAIL_SHARE"), *seed = getenv("FAIL_SEED");
	unsigned int random = seed ? strtoul(seed, NULL, 0) : (unsigned long)time(NULL);
	int n = 0;

	for (int i = 0; i < count; i++)
		if (only ? !!strstr(ops[i].name, only) : !share || !(ops[i].flags & FAIL_SETTLE))
			picked[n++] = &ops[i];
	if (share && !only && atoi(share) < n) {
		printf("# FAIL_SEED=%u\n", random);
		for (int i = 0; i < atoi(share); i++) {
			int j = i + rand_r(&random) % (n - i);
			const struct fail_op *op = picked[i];

			picked[i] = picked[j];
			picked[j] = op;
		}
		n = atoi(share);
	}
	run_one = run;
	for (int i = 0; i < n; i++)
		tests[i] = (struct ktap_test){ picked[i]->name, run_next };
	return ktap_run(tests, n, NULL);
}
