// SPDX-License-Identifier: GPL-2.0
/*
 * Every public header and macro, with every type of value, compiled as C and as C++ with warnings
 * as errors. The program is not run.
 */
#include <asynctrace/compose.h>
#include <asynctrace/context.h>
#include <asynctrace/inprocess.h>
#include <asynctrace/listener.h>
#include <asynctrace/local.h>
#include <asynctrace/loop.h>
#include <asynctrace/memory.h>
#include <asynctrace/operation.h>
#include <asynctrace/probe.h>
#include <asynctrace/provider.h>
#include <asynctrace/session.h>
#include <asynctrace/trace.h>
#include <linux/asynctrace_netlink.h>

#ifdef __cplusplus
#include <string>
#include <string_view>

enum class small_enum : unsigned char { one = 1 };
#endif

struct opaque;
enum plain_enum { PLAIN_ONE = 1 };

struct values {
	bool b;
	char c;
	signed char sc;
	unsigned char uc;
	short s;
	unsigned short us;
	int i;
	unsigned int u;
	long l;
	unsigned long ul;
	long long ll;
	unsigned long long ull;
	float f;
	double d;
	char text[16];
	enum plain_enum e;
};

#define TWO_ON_ONE_LINE \
	TRACE_DURATION("silent", "first", "key", 1); TRACE_DURATION("silent", "second")

void silent_plain(struct values *v, struct opaque *o, const struct values *cv);
void silent_explicit(const struct values *v, const void *p);
void silent_events(uint64_t id, int scope);
void silent_special(uint64_t id, int fd, const char *name, const void *p, size_t size);
int silent_nested(int n);
uint64_t silent_operations(struct at_operation *op, const struct values *v, const char *text);
void silent_operation_functions(struct at_operation *op, struct at_traceparent *t, pthread_t *th,
				const pthread_attr_t *attr);
uint64_t silent_contexts(struct at_context *c, struct at_listener **l, struct at_local **local,
			 void *object);
void silent_fifteen(int n);
void silent_probes(struct at_uid *uid, const struct values *v, const struct opaque *o);

/* Plain values: _Generic in C, overloads in C++ */
void silent_plain(struct values *v, struct opaque *o, const struct values *cv)
{
	int array[3] = { 1, 2, 3 };
	volatile int vi = 4;
	char *text = v->text;
	void *p = v;

	TRACE_INSTANT("silent", "numbers", TRACE_SCOPE_THREAD, "b", v->b, "c", v->c, "sc", v->sc,
		      "uc", v->uc, "s", v->s, "us", v->us, "i", v->i, "u", v->u, "l", v->l, "ul",
		      v->ul, "ll", v->ll, "ull", v->ull, "f", v->f, "d", v->d, "e", v->e);
	TRACE_INSTANT("silent", "pointers", TRACE_SCOPE_THREAD, "text", text, "array", v->text,
		      "literal", "text", "const", cv->text, "void", p, "int", &v->i, "double", &v->d,
		      "struct", v, "const struct", cv, "opaque", o, "ints", array, "volatile", &vi,
		      "unsigned char", &v->uc, "pointer", &o, "function's", &text);
	TRACE_INSTANT("silent", "side effects", TRACE_SCOPE_THREAD, "n", v->i++, "m", v->u += 2);
	TRACE_DURATION("silent", "scope", "i", v->i, "text", text, "p", &v->ull);
#ifdef __cplusplus
	const std::string string("string");
	const std::string_view view("view");

	TRACE_INSTANT("silent", "c++", TRACE_SCOPE_THREAD, "enum", small_enum::one, "string", string,
		      "view", view, "null", nullptr, "temporary", string + "x", "TA_STRING",
		      TA_STRING(string), "long double", 1.0L);
#endif
}

void silent_explicit(const struct values *v, const void *p)
{
	TRACE_INSTANT("silent", "explicit", TRACE_SCOPE_THREAD, "null", TA_NULL(), "bool",
		      TA_BOOL(v->b), "int", TA_BOOL(v->i), "i32", TA_INT32(v->i), "u32",
		      TA_UINT32(v->u), "i64", TA_INT64(v->l), "u64", TA_UINT64(v->ul), "double",
		      TA_DOUBLE(v->d), "pointer", TA_POINTER(p), "typed", TA_POINTER(v), "koid",
		      TA_KOID(v->ul), "string", TA_STRING(v->text), "chars",
		      TA_CHAR_ARRAY(v->text, sizeof(v->text)));
}

void silent_events(uint64_t id, int scope)
{
	TWO_ON_ONE_LINE;
	TRACE_DURATION("silent", "third"); TRACE_DURATION("silent", "fourth", "key", TA_NULL());
	TRACE_INSTANT("silent", "instant", TRACE_SCOPE_PROCESS);
	TRACE_INSTANT("silent", "instant", scope, "key", 1);
	TRACE_COUNTER("silent", "counter", 1, "key", 1);
	TRACE_COUNTER("silent", "counter", id, "key", 1, "other", 1.5);
	TRACE_DURATION_BEGIN("silent", "pair");
	TRACE_DURATION_BEGIN("silent", "pair", "key", 1);
	TRACE_DURATION_END("silent", "pair", "key", 1);
	TRACE_DURATION_END("silent", "pair");
	if (id)
		TRACE_ASYNC_BEGIN("silent", "async", id);
	else
		TRACE_ASYNC_BEGIN("silent", "async", id + 1, "key", 1);
	TRACE_ASYNC_INSTANT("silent", "async", id);
	TRACE_ASYNC_INSTANT("silent", "async", TRACE_NONCE(), "key", 1);
	TRACE_ASYNC_END("silent", "async", id);
	TRACE_ASYNC_END("silent", "async", id, "key", 1);
	TRACE_FLOW_BEGIN("silent", "flow", id);
	TRACE_FLOW_BEGIN("silent", "flow", at_flow_id(), "key", 1);
	TRACE_FLOW_STEP("silent", "flow", id);
	TRACE_FLOW_STEP("silent", "flow", id, "key", 1);
	TRACE_FLOW_END("silent", "flow", id);
	TRACE_FLOW_END("silent", "flow", id, "key", 1);
	if (TRACE_ENABLED() && TRACE_CATEGORY_ENABLED("silent"))
		TRACE_ALERT("silent", "alert");
	else
		TRACE_ALERT("silent", "another");
}

void silent_special(uint64_t id, int fd, const char *name, const void *p, size_t size)
{
	const trace_async_id_t async = TRACE_NONCE();
	const trace_flow_id_t flow = id;
	const trace_counter_id_t counter = id;
	const trace_vthread_id_t fiber = id;
	const trace_ticks_t now = at_ticks();
	const trace_scope_t scope = TRACE_SCOPE_GLOBAL;
	const trace_blob_type_t type = TRACE_BLOB_TYPE_LAST_BRANCH;

	TRACE_INSTANT("silent", "scope", scope, "async", async);
	TRACE_COUNTER("silent", "counter", counter, "TA", TA_DOUBLE(1), "plain", 1u, "e", PLAIN_ONE);
	if (fd)
		TRACE_INSTAFLOW_BEGIN("silent", "flow", "step", flow);
	else
		TRACE_INSTAFLOW_STEP("silent", "flow", "step", flow, "name", name);
	TRACE_INSTAFLOW_END("silent", "flow", "step", flow, "size", size);
	TRACE_BLOB(TRACE_BLOB_TYPE_DATA, "blob", p, size);
	TRACE_BLOB(type, "blob", name, 0);
	TRACE_BLOB_EVENT("silent", "blob", p, size);
	TRACE_BLOB_EVENT("silent", "blob", &id, sizeof(id), "name", name);
	TRACE_BLOB_ATTACHMENT("silent", "blob", p, TRACE_MAX_BLOB_SIZE);
	TRACE_KERNEL_OBJECT(fd);
	TRACE_KERNEL_OBJECT(pthread_self(), "name", name, "size", size);
	TRACE_VTHREAD_DURATION_BEGIN("silent", "work", name, fiber, now);
	TRACE_VTHREAD_FLOW_BEGIN("silent", "flow", "fiber", 1, flow, now, "size", size);
	TRACE_VTHREAD_FLOW_STEP("silent", "flow", "fiber", 1, flow, at_ticks());
	TRACE_VTHREAD_FLOW_END("silent", "flow", "fiber", 1, flow, at_ticks());
	TRACE_VTHREAD_DURATION_END("silent", "work", name, fiber, now, "fd", fd);
	{
		TRACE_DECLARE_ARGS(p, args, "name", name, "size", size);
		TRACE_DECLARE_ARGS(p, none);

		TRACE_COMPLETE_ARGS(p, args, TRACE_NUM_ARGS(args));
		ASYNCTRACE_EVENT(ASYNCTRACE_FXT_INSTANT, "silent", name, 0, args,
				 TRACE_NUM_ARGS(args));
		ASYNCTRACE_EVENT(ASYNCTRACE_FXT_ASYNC_BEGIN, "silent", "literal", async, none,
				 TRACE_NUM_ARGS(none));
	}
}

/* Macros in the arguments of macros shadow nothing. */
int silent_nested(int n)
{
	TRACE_DURATION("silent", "outer", "on", TRACE_CATEGORY_ENABLED("silent"));
	{
		TRACE_DURATION("silent", "inner", "enabled", TRACE_ENABLED());
		TRACE_INSTANT("silent", "nested", TRACE_SCOPE_THREAD, "on",
			      TRACE_CATEGORY_ENABLED("silent"), "value", __extension__({
				      TRACE_INSTANT("silent", "within", TRACE_SCOPE_THREAD, "n", n);
				      n + 1;
			      }));
	}
#ifdef __cplusplus
	auto lambda = [&](int x) {
		TRACE_DURATION("silent", "lambda", "x", x);
		return x + n;
	};
	TRACE_INSTANT("silent", "of a lambda", TRACE_SCOPE_THREAD, "x", lambda(1), "y", [&] {
		TRACE_INSTANT("silent", "in a lambda", TRACE_SCOPE_THREAD, "n", n);
		return n;
	}());
#endif
	return n;
}

void silent_fifteen(int n)
{
	TRACE_DURATION("silent", "all", "1", n, "2", n, "3", n, "4", n, "5", n, "6", n, "7", n, "8", n,
		       "9", n, "10", n, "11", n, "12", n, "13", n, "14", n, "15", n);
	TRACE_COUNTER("silent", "all", 1, "1", n, "2", n, "3", n, "4", n, "5", n, "6", n, "7", n, "8",
		      n, "9", n, "10", n, "11", n, "12", n, "13", n, "14", n, "15", n);
	TRACE_ASYNC_BEGIN("silent", "all", 1, "1", n, "2", n, "3", n, "4", n, "5", n, "6", n, "7", n,
			  "8", n, "9", n, "10", n, "11", n, "12", n, "13", n, "14", n, "15", n);
}

uint64_t silent_operations(struct at_operation *op, const struct values *v, const char *text)
{
	struct at_operation child = ASYNCTRACE_OPERATION_INIT;
	struct at_entered e, here = at_operation_here();

	TRACE_OPERATION_BEGIN(op, "silent", "operation");
	TRACE_OPERATION_BEGIN_CHILD(&child, op->id, "silent", "child", "text", text, "f", v->f);
	TRACE_OPERATION_SCOPE(op->id, "silent", "scope");
	TRACE_OPERATION_SCOPE(child.id, "silent", "scope", "text", TA_STRING(text), "ull", v->ull);
	TRACE_REGION("silent", "region"); TRACE_REGION("silent", "same line", "n", v->i);
	if (v->b)
		TRACE_OPERATION_ENTER(&e, op->id, "silent", "enter");
	else
		TRACE_REGION_BEGIN(&e, "silent", "region", "a", 1, "b", 2, "c", 3, "d", 4, "e", 5, "f", 6,
				   "g", 7, "h", 8, "i", 9, "j", 10, "k", 11, "l", 12);
	TRACE_OPERATION_INSTANT(op->id, "silent", "instant");
	TRACE_OPERATION_INSTANT(op->id, "silent", "instant", "koid", TA_KOID(v->ul));
	TRACE_OPERATION_FOLLOWS(op->id, "silent", child.id);
	TRACE_LOG("silent", "text");
	TRACE_LOG("silent", text);
	TRACE_LOGF("silent", "no argument");
	TRACE_LOGF("silent", "%s %d", text, v->i);
	if (v->i)
		TRACE_LOGF("silent", "%d", v->i);
	else
		TRACE_LOG("silent", text);
	at_region_end(&e);
	at_operation_leave(&here);
	TRACE_OPERATION_END(&child, "silent", "child");
	TRACE_OPERATION_END(op, "silent", "operation", "ok", v->b);
	return at_operation_current();
}

static void *silent_thread(void *arg)
{
	return arg;
}

void silent_operation_functions(struct at_operation *op, struct at_traceparent *t, pthread_t *th,
				const pthread_attr_t *attr)
{
	char value[ASYNCTRACE_TRACEPARENT_BYTES + 1];
	struct at_entered e;

	at_operation_begin(op, "silent", "run time");
	at_operation_begin_child(op, op->id, "silent", "run time");
	at_operation_enter(&e, op->id);
	at_log("silent", "text");
	at_logf("silent", "%d", 1);
	at_operation_leave(&e);
	at_operation_end(op, "silent", "run time");
	at_traceparent_new(t, op->id);
	if (!at_traceparent_format(t, value))
		(void)at_traceparent_parse(t, value, sizeof(value) - 1);
	(void)at_thread_create(th, attr, silent_thread, op);
}

static int silent_callback(void *arg)
{
	return arg ? 0 : -1;
}

static void *silent_create(void *data, const char *type, void *object)
{
	return type && object ? data : ASYNCTRACE_KEEP;
}

static void silent_moment(void *object, void *value)
{
	(void)object, (void)value;
}

static bool silent_error(void *object, void *value, const struct at_error *error, bool handled)
{
	return object && value && error->error && handled;
}

static bool silent_propagate(void *value, struct at_context *context)
{
	return value && context->object;
}

static void silent_release(void *value)
{
	(void)value;
}

static bool silent_unhandled(const struct at_error *error)
{
	return error->message && error->context;
}

TRACE_CONTEXT_TYPE(silent_type, ASYNCTRACE_ASYNC_USER, "silent");

uint64_t silent_contexts(struct at_context *c, struct at_listener **l, struct at_local **local,
			 void *object)
{
	const struct at_listener_options lo = {
		sizeof(lo), 0, silent_create, silent_moment, silent_moment, silent_error,
		silent_moment,
	};
	const struct at_local_options o = { sizeof(o), 0, silent_propagate, silent_release };

	if (at_listener_new(l, &lo, object, ASYNCTRACE_ASYNC_TIMER | ASYNCTRACE_ASYNC_TCP) ||
	    at_local_new(local, &o))
		return 0;
	at_context_init(c, ASYNCTRACE_ASYNC_NEXTTICK, object);
	at_context_init_under(c + 1, ASYNCTRACE_ASYNC_ALL, object, c);
	at_context_init_type(c + 2, &silent_type, object, c);
	at_context_enter(c);
	at_context_leave(c);
	{
		TRACE_CONTEXT_SCOPE(c);
		(void)at_context_run(c + 1, silent_callback, at_context_current());
		(void)at_context_fail(-1, "text");
	}
	(void)at_listener_add(*l);
	(void)at_listener_remove(*l);
	at_listener_put(*l);
	(void)at_local_run(*local, object, silent_callback, at_local_get(*local));
	(void)at_local_exit(*local, silent_callback, at_listener_value(*l, c));
	(void)at_local_enter_with(*local, object);
	at_local_disable(*local);
	at_local_put(*local);
	(void)at_unhandled_set(at_unhandled_set(silent_unhandled));
	at_context_debug(false);
	at_context_destroy(c);
	return at_context_misuses() + at_context_execution() + at_context_trigger(c);
}

void silent_loops(const struct values *v);
void silent_loops(const struct values *v)
{
	static struct at_loop loop = ASYNCTRACE_LOOP_INIT("silent");
	struct at_loop_use use = at_loop_utilization(&loop);
	struct at_heap heap;

	if (at_heap_stats(&heap))
		return;
	if (at_loop_enable(&loop))
		at_loop_poll_begin(&loop);
	at_loop_poll_end(&loop);
	use = at_loop_utilization_since(&loop, &use);
	if (at_loop_percentile(&loop, v->d) > at_loop_delays(&loop).max)
		at_loop_reset(&loop);
	(void)at_loop_disable(&loop);
	at_collection_begin("silent", v->u, &heap);
	at_collection_end(&heap);
}

TRACE_PROBE_DEFINE(silent, probe__one);
TRACE_PROBE_DEFINE(silent, probe__two);

void silent_probes(struct at_uid *uid, const struct values *v, const struct opaque *o)
{
	struct at_uid copy = at_uid_share(uid);
	static struct at_uid fresh = ASYNCTRACE_UID_INIT;

	TRACE_PROBE(silent, probe__one, at_uid_get(uid));
	TRACE_PROBE(silent, probe__one, at_uid_get(&copy), v->b, v->c, v->sc, v->uc, v->s, v->us,
		    v->i, v->u, v->l, v->ul, v->ll);
	if (TRACE_PROBE_ENABLED(silent, probe__one))
		TRACE_PROBE(silent, probe__two, at_uid_get(&fresh), v->ull, v->e, PLAIN_ONE, v,
			    o, v->text, "literal", -1);
	if (v->b)
		TRACE_PROBE(silent, probe__two, 1);
	else
		TRACE_PROBE(silent, probe__two, TRACE_NONCE(), TRACE_CATEGORY_ENABLED("silent"));
#ifdef __cplusplus
	TRACE_PROBE(silent, probe__two, at_uid_get(uid), small_enum::one);
#endif
}

#ifdef __cplusplus
/* The probe's symbol has the name that it has in C, also in a namespace or a template. */
namespace silent_names {
template <typename T> struct probing {
	static inline void probe(T value) { TRACE_PROBE(silent, probe__one, 1, value); }
};
void silent_in_a_namespace();
void silent_in_a_namespace()
{
	probing<int>::probe(1);
	probing<const char *>::probe("text");
}
} /* namespace silent_names */
#endif
