// SPDX-License-Identifier: GPL-2.0
/*
 * Each attribute of the spec, malformed in each way that its type allows, in each operation
 *
 * The kernel must refuse the request, name the attribute, and change nothing. New attributes of the
 * spec are tested without further work.
 */
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "ktap.h"
#include "raw.h"
#include "spec.h"

static struct raw_nl nl;
static const struct spec_op *op;
static bool dump;
static int session, fresh, registered;
static uint64_t fresh_cookie, registered_cookie;
static unsigned int tried;

/* Attributes that each operation requires; the spec cannot mark attributes as required */
static const struct {
	uint8_t cmd;
	uint16_t types[3];
} needed[] = {
	{ ASYNCTRACE_CMD_PROVIDER_REGISTER, { ASYNCTRACE_A_PROVIDER_COOKIE,
		ASYNCTRACE_A_PROVIDER_NAME, ASYNCTRACE_A_PROVIDER_RING_STRIDE } },
	{ ASYNCTRACE_CMD_PROVIDER_GET, { ASYNCTRACE_A_PROVIDER_ID } },
	{ ASYNCTRACE_CMD_SESSION_CREATE, { ASYNCTRACE_A_SESSION_NAME,
		ASYNCTRACE_A_SESSION_MODE, ASYNCTRACE_A_SESSION_RING_SIZE } },
	{ ASYNCTRACE_CMD_SESSION_INIT, { ASYNCTRACE_A_SESSION_ID } },
	{ ASYNCTRACE_CMD_SESSION_START, { ASYNCTRACE_A_SESSION_ID } },
	{ ASYNCTRACE_CMD_SESSION_STOP, { ASYNCTRACE_A_SESSION_ID } },
	{ ASYNCTRACE_CMD_SESSION_TERMINATE, { ASYNCTRACE_A_SESSION_ID } },
	{ ASYNCTRACE_CMD_SESSION_GET, { ASYNCTRACE_A_SESSION_ID } },
	{ ASYNCTRACE_CMD_RING_GET, { ASYNCTRACE_A_RING_SESSION } },
	{ ASYNCTRACE_CMD_PROVIDER_ANNOUNCE, { ASYNCTRACE_A_PROVIDER_COOKIE } },
	{ ASYNCTRACE_CMD_SESSION_UPDATE, { ASYNCTRACE_A_SESSION_ID } },
	{ ASYNCTRACE_CMD_SUBSCRIBE, { ASYNCTRACE_A_NOTIFICATION_KINDS } },
};

static const uint16_t *needs(uint8_t cmd)
{
	static const uint16_t nothing[3];

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (needed[i].cmd == cmd)
			return needed[i].types;
	return nothing;
}

/* Do dumps report why they fail? Linux 6.1 drops the reason if a dump fails at its start. */
static bool dumps_explain(void)
{
	struct utsname u;

	return !uname(&u) && strncmp(u.release, "6.1.", 4);
}

/* --- valid requests --------------------------------------------------------------------- */

static uint64_t number(unsigned int set, const struct spec_attr *a)
{
	const char *of = spec_sets[set].name;

	if (!strcmp(a->name, "cookie"))
		return op->cmd == ASYNCTRACE_CMD_PROVIDER_REGISTER ? fresh_cookie :
									  registered_cookie;
	if (!strcmp(a->name, "session") || (!strcmp(a->name, "id") && !strcmp(of, "session")))
		return session;
	if (!strcmp(a->name, "pid"))
		return getpid();
	return a->min ? a->min : a->mask ? a->mask : 1;
}

static void put_valid(unsigned int set, const struct spec_attr *a, uint16_t without)
{
	uint64_t value;
	struct nlattr *nest;

	switch (a->kind) {
	case SPEC_NUMBER:
		value = number(set, a);
		mnl_attr_put(nl.request, a->type, a->size, &value);
		break;
	case SPEC_STRING:
		mnl_attr_put_strz(nl.request, a->type, "malformed");
		break;
	case SPEC_NEST:
		nest = mnl_attr_nest_start(nl.request, a->type);
		for (unsigned int i = 0; i < spec_sets[a->nested].count; i++)
			if (spec_sets[a->nested].attrs[i].type != without)
				put_valid(a->nested, &spec_sets[a->nested].attrs[i], 0);
		mnl_attr_nest_end(nl.request, nest);
		break;
	case SPEC_FLAG:
	case SPEC_PAD:
		mnl_attr_put(nl.request, a->type, 0, NULL);
		break;
	}
}

/* Begins a request with the attributes that it needs, except @without. */
static void request(uint16_t without)
{
	const uint16_t *types = needs(op->cmd);

	raw_nl_begin(&nl, op->cmd, dump ? NLM_F_DUMP : 0);
	for (int i = 0; i < 3 && types[i]; i++)
		if (types[i] != without)
			put_valid(op->set, spec_attr(op->set, types[i]), 0);
}

/* --- malformed requests ------------------------------------------------------------------ */

static void complain(const struct spec_attr *a, const char *what, int ret)
{
	ktap_fail("%s%s, %s %s: %d (%s), blamed %u, missing %u, \"%s\"",
		  op->name, dump ? " (dump)" : "", a ? a->name : "attribute", what, ret,
		  ret < 0 ? strerror(-ret) : "", nl.bad, nl.missing, nl.text);
}

/* Checks the answer: one of these errors, and an ack that names @type and gives a reason. */
static void refused(const struct spec_attr *a, uint16_t type, const char *what)
{
	int ret = raw_nl_ask(&nl);

	tried++;
	if (ret != -EINVAL && ret != -ERANGE)
		complain(a, what, ret);
	else if ((!dump || dumps_explain()) && (nl.bad != type || !nl.text[0]))
		complain(a, what, ret);
}

/* Sends an attribute of @len bytes, within @nest unless that is NULL. */
static void with(const struct spec_attr *nest, const struct spec_attr *a, uint16_t flags,
		 size_t len, const void *data, const char *what)
{
	struct nlattr *outer = NULL;

	request(nest ? nest->type : a->type);
	if (nest) {
		outer = mnl_attr_nest_start(nl.request, nest->type);
		for (unsigned int i = 0; i < spec_sets[nest->nested].count; i++)
			if (spec_sets[nest->nested].attrs[i].type != a->type)
				put_valid(nest->nested, &spec_sets[nest->nested].attrs[i], 0);
	}
	mnl_attr_put(nl.request, a->type | flags, len, data);
	if (outer)
		mnl_attr_nest_end(nl.request, outer);
	refused(a, a->type, what);
}

static void malformed_number(const struct spec_attr *nest, const struct spec_attr *a)
{
	uint64_t value[2] = { a->min, 0 };

	with(nest, a, 0, 0, value, "of no bytes");
	with(nest, a, 0, a->size - 1, value, "a byte too short");
	with(nest, a, 0, a->size + 1, value, "a byte too long");
	with(nest, a, 0, a->size * 2, value, "twice as long");
	with(nest, a, NLA_F_NESTED, a->size, value, "flagged as a nest");
	if (a->min) {
		value[0] = a->min - 1;
		with(nest, a, 0, a->size, value, "too small");
		value[0] = 0;
		with(nest, a, 0, a->size, value, "zero");
	}
	if (a->max) {
		value[0] = a->max + 1;
		with(nest, a, 0, a->size, value, "too large");
		value[0] = ~0ULL;
		with(nest, a, 0, a->size, value, "all ones");
	}
	/* Only sizes in bytes have a minimum above 1, and each size must be a power of two. */
	if (a->min > 1) {
		value[0] = a->min + 1;
		with(nest, a, 0, a->size, value, "no power of two");
	}
	if (a->mask) {
		value[0] = a->mask + 1;
		with(nest, a, 0, a->size, value, "with an unknown flag");
	}
}

static void malformed_string(const struct spec_attr *nest, const struct spec_attr *a)
{
	char text[1024];

	memset(text, 'x', sizeof(text));
	if (a->max) {
		with(nest, a, 0, a->max + 1, text, "a byte too long");
		with(nest, a, 0, sizeof(text), text, "much too long");
		text[a->max + 1] = 0;
		with(nest, a, 0, a->max + 2, text, "a byte too long, and a NUL");
	}
	with(nest, a, 0, 4, "a\0b", "with a NUL in it");
	with(nest, a, NLA_F_NESTED, 2, "a", "flagged as a nest");
	/* Only descriptions may be empty. */
	if (!strcmp(a->name, "description"))
		return;
	with(nest, a, 0, 0, text, "of no bytes");
	with(nest, a, 0, 1, "", "empty");
}

static void malformed(const struct spec_attr *nest, const struct spec_attr *a);

static void malformed_nest(const struct spec_attr *a)
{
	const struct spec_set *set = &spec_sets[a->nested];
	struct nlattr *outer;

	with(NULL, a, 0, 0, "", "not flagged as a nest");
	/* Rubbish has no inner attribute, so the kernel's answer names none. */
	request(a->type);
	mnl_attr_put(nl.request, a->type | NLA_F_NESTED, 4, "\xff\xff\xff\xff");
	refused(a, 0, "of rubbish");
	for (unsigned int i = 0; i < set->count; i++)
		malformed(a, &set->attrs[i]);
	for (uint16_t type = 100; type < 102; type++) {
		request(a->type);
		outer = mnl_attr_nest_start(nl.request, a->type);
		mnl_attr_put_u32(nl.request, type, 1);
		mnl_attr_nest_end(nl.request, outer);
		refused(a, type, "with an unknown attribute in it");
	}
}

static void malformed(const struct spec_attr *nest, const struct spec_attr *a)
{
	switch (a->kind) {
	case SPEC_NUMBER:
		malformed_number(nest, a);
		break;
	case SPEC_STRING:
		malformed_string(nest, a);
		break;
	case SPEC_FLAG:
		with(nest, a, 0, 4, "abc", "with something in it");
		break;
	case SPEC_NEST:
		if (!nest)
			malformed_nest(a);
		break;
	case SPEC_PAD:
		break;
	}
}

/* --- the tables ------------------------------------------------------------------------ */

/* Calls @fn for each request, with the attributes it may have. */
static void every_request(void (*fn)(const struct spec_list *list))
{
	struct raw_nl other;

	NEED(!raw_nl_open(&nl) && !raw_nl_open(&other));
	session = raw_session(&other, "all requests", ASYNCTRACE_MODE_ONESHOT,
			      ASYNCTRACE_SCHED_TARGETS, ASYNCTRACE_RING_MIN, "nobody's");
	NEED(session > 0 && !raw_session_do(&other, ASYNCTRACE_CMD_SESSION_INIT, session));
	fresh = raw_open();
	registered = raw_open();
	NEED(fresh >= 0 && registered >= 0);
	NEED(!raw_hello(fresh, &fresh_cookie) && !raw_hello(registered, &registered_cookie));
	NEED(raw_register(registered, "malformed", ASYNCTRACE_RING_MIN) > 0);
	tried = 0;
	for (unsigned int i = 0; i < spec_nr_ops; i++) {
		op = &spec_ops[i];
		dump = false;
		if (op->has_do)
			fn(&op->do_);
		dump = true;
		if (op->has_dump)
			fn(&op->dump);
	}
	/* No request has changed anything. */
	EXPECT(raw_register(fresh, "malformed", ASYNCTRACE_RING_MIN) > 0);
	EXPECT_IS(raw_session_do(&other, ASYNCTRACE_CMD_SESSION_GET, session), 0);
	EXPECT_IS(raw_nl_u32(&other, ASYNCTRACE_A_SESSION_STATE),
		  ASYNCTRACE_SESSION_STATE_INITIALIZED);
	EXPECT(!raw_nl_attr(&other, ASYNCTRACE_A_SESSION_CATEGORY));
	raw_nl_begin(&other, ASYNCTRACE_CMD_SESSION_GET, NLM_F_DUMP);
	EXPECT_IS(raw_nl_ask(&other), 0);
	EXPECT_IS(other.replies, 1);
	close(fresh);
	close(registered);
	raw_nl_close(&other);
	raw_nl_close(&nl);
	printf("# %u requests\n", tried);
	EXPECT(tried);
}

static bool in(const struct spec_list *list, uint16_t type)
{
	for (unsigned int i = 0; i < list->count; i++)
		if (list->types[i] == type)
			return true;
	return false;
}

static void each_malformed(const struct spec_list *list)
{
	for (unsigned int i = 0; i < list->count; i++)
		malformed(NULL, spec_attr(op->set, list->types[i]));
}

static void malformed_attributes_are_named(void)
{
	every_request(each_malformed);
}

static void each_foreign(const struct spec_list *list)
{
	static const uint16_t unknown[] = { 100, 255, 0x3fff };
	const struct spec_set *set = &spec_sets[op->set];

	for (unsigned int i = 0; i < set->count; i++) {
		if (in(list, set->attrs[i].type))
			continue;
		request(0);
		put_valid(op->set, &set->attrs[i], 0);
		refused(&set->attrs[i], set->attrs[i].type, "where it does not belong");
	}
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		request(0);
		mnl_attr_put_u32(nl.request, unknown[i], 1);
		refused(NULL, unknown[i], "unknown to all operations");
	}
}

static void foreign_attributes_are_named(void)
{
	every_request(each_foreign);
}

static void each_missing(const struct spec_list *list)
{
	const uint16_t *types = needs(op->cmd);

	for (int i = 0; i < 3 && types[i]; i++) {
		int ret;

		/* A dump of sessions without an id has all sessions. */
		if (!in(list, types[i]) || (dump && op->cmd == ASYNCTRACE_CMD_SESSION_GET))
			continue;
		request(types[i]);
		ret = raw_nl_ask(&nl);
		tried++;
		if (ret != -EINVAL || ((!dump || dumps_explain()) &&
				       (nl.missing != types[i] || !nl.text[0])))
			complain(spec_attr(op->set, types[i]), "missing", ret);
	}
	/* Attributes that a nest must contain */
	for (unsigned int i = 0; i < list->count; i++) {
		const struct spec_attr *a = spec_attr(op->set, list->types[i]);

		for (unsigned int n = 0;
		     a->kind == SPEC_NEST && n < spec_sets[a->nested].count; n++) {
			const struct spec_attr *inner = &spec_sets[a->nested].attrs[n];
			int ret;

			if (!strcmp(inner->name, "description"))
				continue;
			request(a->type);
			put_valid(op->set, a, inner->type);
			ret = raw_nl_ask(&nl);
			tried++;
			if (ret != -EINVAL || nl.missing != inner->type || !nl.text[0])
				complain(inner, "missing in its nest", ret);
		}
	}
}

static void missing_attributes_are_named(void)
{
	every_request(each_missing);
}

static void each_too_many(const struct spec_list *list)
{
	for (unsigned int i = 0; i < list->count; i++) {
		const struct spec_attr *a = spec_attr(op->set, list->types[i]);
		int ret;

		if (!a->multi)
			continue;
		request(a->type);
		for (int n = 0; n <= ASYNCTRACE_CATEGORIES_MAX; n++)
			put_valid(op->set, a, 0);
		ret = raw_nl_ask(&nl);
		tried++;
		if (ret != -ERANGE || nl.bad != a->type || !nl.text[0])
			complain(a, "101 times", ret);
	}
}

static void too_many_are_named(void)
{
	every_request(each_too_many);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(malformed_attributes_are_named),
	KTAP_TEST(foreign_attributes_are_named),
	KTAP_TEST(missing_attributes_are_named),
	KTAP_TEST(too_many_are_named),
};

KTAP_MAIN(tests)
