// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of listeners: their calls, contexts and values; adding and removing listeners
 */
#include <errno.h>
#include <string.h>

#include "cast.h"

/* --- new listeners -------------------------------------------------------------------- */

static void made_but_not_added(void)
{
	struct at_listener *l = listener("A", ALL);

	live(TIMER);
	check(said(""));
	at_listener_put(l);
	done("N1_new_listener_is_not_called");
}

static void optional(void)
{
	const struct at_listener_options none = { .size = sizeof(none) };
	struct at_listener_options one;
	struct at_listener *l;

	l = listener_of(none, NULL, ALL);
	check(!at_listener_add(l));
	live(TIMER);
	check(!at_listener_remove(l));
	at_listener_put(l);
	for (int i = 0; i < 4; i++) {
		static const char *const expect[] = { "cA", "bA", "aA", "dA" };

		one = none;
		if (i == 0)
			one.create = says.create;
		else if (i == 1)
			one.before = says.before;
		else if (i == 2)
			one.after = says.after;
		else
			one.destroy = says.destroy;
		l = listener_of(one, "A", ALL);
		at_listener_add(l);
		live(TIMER);
		check(said(expect[i]));
		at_listener_put(l);
	}
	done("N2_each_callback_is_optional");
}

static void refused(void)
{
	const struct at_listener_options small = { .size = 4 };
	struct at_listener *l;

	check(at_listener_new(&l, NULL, NULL, ALL) == -EINVAL);
	check(at_listener_new(NULL, &says, NULL, ALL) == -EINVAL);
	check(at_listener_new(&l, &small, NULL, ALL) == -EINVAL);
	done("N3_listener_without_options_is_refused");
	check(at_listener_remove(NULL) == -EINVAL && at_listener_add(NULL) == -EINVAL);
	done("N49_invalid_listener_is_rejected");
}

static void *last_data = &last_data;
static char last_type[20];

static void *note(void *data, const char *type, void *object)
{
	last_data = data;
	snprintf(last_type, sizeof(last_type), "%s", type);
	say(object == &last_data ? "same" : "other");
	return ASYNCTRACE_KEEP;
}

static void defaults(void)
{
	const struct at_listener_options o = { .create = note };
	struct at_listener *l = listener_of(o, NULL, ALL);
	struct at_context c;

	for (unsigned int bit = 0; bit < 28; bit++) {
		at_listener_add(l);
		live(1u << bit);
		check(said("other"), "%u", bit);
	}
	check(!last_data);
	done("N4_null_data_and_all_providers_work");
	at_listener_add(l);
	at_context_init(&c, TIMER, &last_data);
	check(said("same") && !strcmp(last_type, "TIMER"));
	at_context_destroy(&c);
	at_listener_remove(l);
	at_listener_put(l);
	done("N5_create_gets_data_type_and_object");
}

/* --- values ---------------------------------------------------------------------------- */

static void *next_value;

static void *give(void *data, const char *type, void *object)
{
	(void)data, (void)type, (void)object;
	return next_value;
}

static void say_value(void *object, void *value)
{
	(void)object;
	say("%ld", (long)(intptr_t)value);
}

static void values(void)
{
	const struct at_listener_options o = { .create = give, .before = say_value };
	struct at_listener *l = listener_of(o, (void *)7, ALL);
	struct at_context c[4];
	void *const of[4] = { ASYNCTRACE_KEEP, NULL, (void *)1, (void *)5 };

	at_listener_add(l);
	for (int i = 0; i < 4; i++) {
		next_value = of[i];
		at_context_init(&c[i], TIMER, NULL);
	}
	at_listener_remove(l);
	for (int i = 0; i < 4; i++)
		at_context_run(&c[i], nothing, NULL);
	check(said("7 0 1 5"));
	done("N6_null_is_a_value_and_keep_is_the_data");
	for (int i = 0; i < 4; i++) {
		check(at_listener_value(l, &c[i]) == (i ? of[i] : (void *)7));
		at_context_destroy(&c[i]);
	}
	check(!at_listener_value(l, NULL));
	at_listener_put(l);
}

/* Many listeners and many contexts: each pair must have its own value. */
static void *count_up(void *data, const char *type, void *object)
{
	static intptr_t values;

	(void)data, (void)type, (void)object;
	return (void *)++values;
}

static void cells(void)
{
	const struct at_listener_options o = { .create = count_up };
	struct at_listener *l[ASYNCTRACE_LISTENERS_MAX + 1];
	struct at_context c[50];
	unsigned int wrong = 0;

	for (unsigned int n = 0; n <= ASYNCTRACE_LISTENERS_MAX; n++) {
		l[n] = listener_of(o, NULL, ALL);
		check(at_listener_add(l[n]) == (n < ASYNCTRACE_LISTENERS_MAX ? 0 : -ENOSPC));
	}
	for (intptr_t i = 0; i < 50; i++)
		at_context_init(&c[i], TIMER, NULL);
	for (intptr_t i = 0; i < 50; i++)
		for (intptr_t n = 0; n < ASYNCTRACE_LISTENERS_MAX; n++)
			wrong += at_listener_value(l[n], &c[i]) !=
				 (void *)(1 + ASYNCTRACE_LISTENERS_MAX * i + n);
	check(!wrong, "%u", wrong);
	for (unsigned int n = 0; n <= ASYNCTRACE_LISTENERS_MAX; n++) {
		check(!at_listener_remove(l[n]));
		at_listener_put(l[n]);
	}
	for (int i = 0; i < 50; i++)
		at_context_destroy(&c[i]);
	done("N7_each_listener_and_context_has_a_value");
}

static struct at_context child;

static int make_child(void *unused)
{
	(void)unused;
	next_value = ASYNCTRACE_KEEP;
	at_context_init(&child, TIMER, NULL);
	return 0;
}

static void children_begin_anew(void)
{
	const struct at_listener_options o = { .create = give, .before = say_value };
	struct at_listener *l = listener_of(o, (void *)7, ALL);
	struct at_context c;

	at_listener_add(l);
	next_value = (void *)3;
	at_context_init(&c, TIMER, NULL);
	at_context_run(&c, make_child, NULL);
	at_context_run(&child, nothing, NULL);
	check(said("3 7"));
	at_context_destroy(&c);
	at_context_destroy(&child);
	at_listener_put(l);
	done("N8_child_begins_with_the_listeners_data");
}

/* --- runs ------------------------------------------------------------------------------ */

static void *run_object;

static void same_object(void *object, void *value)
{
	(void)value;
	check(object == run_object);
	say("b");
}

static int say_run(void *unused)
{
	(void)unused;
	say("run");
	return 0;
}

static void around_a_run(void)
{
	struct at_listener_options o = says;
	struct at_listener *l, *second = listener("B", ALL);
	struct at_context c;

	o.before = same_object;
	run_object = &o;
	l = listener_of(o, "A", ALL);
	at_listener_add(l);
	at_context_init(&c, TIMER, &o);
	at_listener_remove(l);
	check(said("cA"));
	at_context_run(&c, say_run, NULL);
	check(said("b run aA"));
	done("N9_before_gets_the_object_right_before");
	at_context_destroy(&c);
	check(said("dA"));
	at_listener_put(l);

	l = listener("A", ALL);
	at_listener_add(l);
	at_listener_add(second);
	at_context_init(&c, TIMER, NULL);
	at_context_run(&c, say_run, NULL);
	at_context_destroy(&c);
	check(said("cA cB bA bB run aA aB dA dB"));
	done("N13_listeners_are_called_in_order_of_adding");
	at_listener_put(l);
	at_listener_put(second);

	l = listener("A", ALL);
	at_listener_add(l);
	at_context_init(&c, TIMER, NULL);
	at_context_destroy(&c);
	check(said("cA dA"));
	at_context_init(&c, TIMER, NULL);
	for (int i = 0; i < 3; i++)
		at_context_run(&c, nothing, NULL);
	at_context_destroy(&c);
	check(said("cA bA aA bA aA bA aA dA"));
	at_listener_remove(l);
	at_listener_put(l);
	done("N12_each_run_calls_listeners_once");
	done("H2_destroy_is_called_once_without_a_run");
}

static struct at_listener *other;

static int add_other(void *unused)
{
	(void)unused;
	return at_listener_add(other);
}

static void added_in_a_run(void)
{
	struct at_context c;

	other = listener("A", ALL);
	at_context_init(&c, TIMER, NULL);
	at_context_run(&c, add_other, NULL);
	check(said(""));
	done("N11_no_after_without_a_before");
	at_context_run(&c, nothing, NULL);
	check(said("bA aA"));
	at_context_destroy(&c);
	check(said(""));
	at_listener_put(other);
	done("H2_destroy_is_only_called_after_create");
}

static void no_listener(void)
{
	live(TIMER);
	check(said(""));
	done("N76_without_a_listener_nothing_is_called");
}

/* --- within callbacks ------------------------------------------------------------------ */

static struct at_context inner;

static void *create_in(void *data, const char *type, void *object)
{
	(void)type, (void)object;
	say("c%s", (char *)data);
	live(TIMER);
	return ASYNCTRACE_KEEP;
}

static void run_in(void *object, void *value)
{
	(void)object, (void)value;
	say("in");
	at_context_init(&inner, TIMER, NULL);
	at_context_run(&inner, nothing, NULL);
	at_context_destroy(&inner);
}

static void not_nested(void)
{
	const struct at_listener_options o = {
		.create = create_in, .before = run_in, .after = run_in, .destroy = run_in,
	};
	struct at_listener *l = listener_of(o, "A", ALL);

	at_listener_add(l);
	live(TIMER);
	check(said("cA in in in"));
	at_listener_put(l);
	done("N14_contexts_in_callbacks_have_no_listeners");
}

static void *remove_all(void *data, const char *type, void *object)
{
	(void)type, (void)object;
	say("c%s", (char *)data);
	at_listener_remove(other);
	at_listener_remove(*(struct at_listener **)((char **)data + 1));
	return ASYNCTRACE_KEEP;
}

struct named {
	char name[sizeof(char *)];
	struct at_listener *self;
};

static void *add_other_in_create(void *data, const char *type, void *object)
{
	(void)type, (void)object;
	say("c%s", (char *)data);
	at_listener_add(other);
	return ASYNCTRACE_KEEP;
}

/* A change in a callback takes effect after the emission: a removed listener is still called. */
static void changes_in_create(void)
{
	struct at_listener_options o = { .create = remove_all };
	struct named name = { .name = "A" };
	struct at_listener *l = listener_of(o, &name, ALL);
	struct at_context c;

	name.self = l;
	other = listener("B", ALL);
	at_listener_add(l);
	at_listener_add(other);
	at_context_init(&c, TIMER, NULL);
	check(said("cA cB"));
	live(TIMER);
	check(said(""));
	at_context_run(&c, nothing, NULL);
	check(said("bB aB"));
	at_context_destroy(&c);
	check(said("dB"));
	at_listener_put(l);
	done("H3_removed_in_create_is_still_called");

	o.create = add_other_in_create;
	l = listener_of(o, "A", ALL);
	at_listener_add(l);
	at_context_init(&c, TIMER, NULL);
	check(said("cA"));
	at_context_run(&c, nothing, NULL);
	at_context_destroy(&c);
	check(said(""));
	at_listener_add(l);
	live(TIMER);
	live(TIMER);
	at_listener_remove(l);
	at_listener_remove(other);
	check(said("cA"));
	at_listener_put(l);
	at_listener_put(other);
	done("H3_added_in_create_is_not_called_for_it");
}

static void remove_add(void *object, void *value)
{
	(void)object;
	check(value == (void *)42);
	at_listener_remove(other);
	at_listener_add(other);
}

static void remove_in_before(void *object, void *value)
{
	(void)object, (void)value;
	say("b");
	at_listener_remove(other);
}

static void add_in_before(void *object, void *value)
{
	(void)object, (void)value;
	at_listener_add(other);
}

static void changes_in_before(void)
{
	const struct at_listener_options add = { .before = add_in_before };
	struct at_listener_options o = { .create = give, .before = remove_add, .after = say_value };
	struct at_listener *l;
	struct at_context c;

	other = listener_of(o, NULL, ALL);
	next_value = (void *)42;
	at_listener_add(other);
	at_context_init(&c, TICK, NULL);
	at_listener_remove(other);
	at_context_run(&c, nothing, NULL);
	check(said("42"));
	at_context_run(&c, nothing, NULL);
	check(said("42"));
	at_context_destroy(&c);
	at_listener_put(other);
	done("N15_removed_and_added_in_before_keeps_value");

	o = says;
	o.before = remove_in_before;
	other = listener_of(o, "A", ALL);
	at_listener_add(other);
	at_context_init(&c, TICK, NULL);
	at_listener_remove(other);
	check(said("cA"));
	at_context_run(&c, nothing, NULL);
	check(said("b aA"));
	done("N51_after_follows_before_also_if_removed");
	at_context_run(&c, nothing, NULL);
	check(said(""));
	at_context_destroy(&c);
	check(said("dA"));
	at_listener_put(other);
	done("H2_destroy_is_called_for_removed_listener");

	other = listener("B", ALL);
	l = listener_of(add, NULL, ALL);
	at_listener_add(l);
	at_context_init(&c, TIMER, NULL);
	at_listener_remove(l);
	at_context_run(&c, nothing, NULL);
	check(said(""));
	at_context_run(&c, nothing, NULL);
	check(said("bB aB"));
	at_context_destroy(&c);
	at_listener_put(l);
	at_listener_put(other);
	done("N11_added_in_before_waits_for_the_next_run");
}

static struct at_context victim;

static void destroy_it(void *object, void *value)
{
	(void)object, (void)value;
	at_context_destroy(&victim);
}

static void destroyed_in_callback(void)
{
	const struct at_listener_options o = { .before = destroy_it, .destroy = says.destroy };
	const uint64_t misuses = at_context_misuses();
	struct at_listener *l = listener_of(o, "A", ALL);

	at_listener_add(l);
	at_context_init(&victim, TIMER, NULL);
	at_listener_remove(l);
	at_context_run(&victim, nothing, NULL);
	check(said("") && at_context_misuses() == misuses + 1);
	at_context_destroy(&victim);
	check(said("dA"));
	at_listener_put(l);
	done("H6_destroyed_in_its_own_before_is_found");
}

/* --- adding, removing, propagation ----------------------------------------------------- */

static void repeated(void)
{
	struct at_listener *l = listener("A", ALL);

	check(!at_listener_add(l) && !at_listener_add(l));
	live(TIMER);
	check(said("cA bA aA dA"));
	at_listener_put(l);
	done("N42_second_add_of_a_listener_is_ignored");
	l = listener("A", ALL);
	check(!at_listener_remove(l));
	at_listener_put(l);
	done("N49_removing_what_is_not_added_is_no_error");
}

static void from_now_on(void)
{
	struct at_listener *l = listener("A", ALL);
	struct at_context before, after;

	at_context_init(&before, TIMER, NULL);
	at_listener_add(l);
	at_context_init(&after, TIMER, NULL);
	at_listener_remove(l);
	at_context_run(&before, nothing, NULL);
	check(said("cA"));
	at_context_run(&after, nothing, NULL);
	check(said("bA aA"));
	at_context_destroy(&before);
	at_context_destroy(&after);
	check(said("dA"));
	done("N43_add_does_not_affect_earlier_contexts");
	at_listener_add(l);
	at_listener_remove(l);
	live(TIMER);
	check(said(""));
	at_listener_put(l);
	done("N48_added_and_removed_listener_is_not_called");
}

static struct at_context grandchild;

static int make_timer(void *unused)
{
	(void)unused;
	at_context_init(&grandchild, TIMER, NULL);
	return 0;
}

static int make_fs(void *unused)
{
	(void)unused;
	at_context_init(&child, FS, NULL);
	return 0;
}

static void through_others(void)
{
	struct at_listener *l = listener("A", TIMER);
	struct at_context c;

	at_listener_add(l);
	at_context_init(&c, TIMER, NULL);
	check(said("cA"));
	at_context_run(&c, make_fs, NULL);
	check(said("bA aA"));
	at_context_run(&child, make_timer, NULL);
	check(said("cA"));
	at_context_run(&grandchild, nothing, NULL);
	check(said("bA aA"));
	at_context_destroy(&c);
	at_context_destroy(&child);
	at_context_destroy(&grandchild);
	check(said("dA dA"));
	at_listener_put(l);
	done("N44_N63_listener_passes_through_other_providers");
}

static void removed_while_under_way(void)
{
	struct at_listener *l = listener("A", ALL);
	struct at_context c;

	at_listener_add(l);
	at_context_init(&c, TIMER, NULL);
	at_listener_remove(l);
	at_listener_put(l);
	at_context_run(&c, make_fs, NULL);
	check(said("cA bA cA aA"));
	done("N46_removed_listener_follows_its_contexts");
	at_context_run(&child, make_timer, NULL);
	at_context_run(&grandchild, nothing, NULL);
	check(said("bA cA aA bA aA"));
	at_context_destroy(&c);
	at_context_destroy(&child);
	at_context_destroy(&grandchild);
	check(said("dA dA dA"));
	live(TIMER);
	check(said(""));
	done("N45_N47_children_of_others_lack_the_listener");
}

static struct at_context sibling;

static int remove_within(void *unused)
{
	(void)unused;
	at_listener_remove(other);
	at_context_init(&grandchild, TIMER, NULL);
	return 0;
}

static int run_child(void *unused)
{
	(void)unused;
	at_context_init(&sibling, TIMER, NULL);
	at_context_init(&child, TIMER, NULL);
	at_context_run(&child, remove_within, NULL);
	live(TIMER);
	return 0;
}

static void removed_on_the_stack(void)
{
	struct at_context c;

	other = listener("A", ALL);
	at_listener_add(other);
	at_context_init(&c, TIMER, NULL);
	at_context_run(&c, run_child, NULL);
	check(said("cA bA cA cA bA aA aA"));
	at_context_run(&grandchild, nothing, NULL);
	at_context_run(&child, nothing, NULL);
	check(said(""));
	at_context_run(&sibling, nothing, NULL);
	check(said("bA aA"));
	at_context_destroy(&c);
	at_context_destroy(&child);
	at_context_destroy(&sibling);
	at_context_destroy(&grandchild);
	check(said("dA dA dA"));
	at_listener_put(other);
	done("N50_remove_affects_the_stack_not_siblings");
}

static void of_a_parent(void)
{
	struct at_listener *l = listener("A", ALL), *loops = listener("B", ALL);
	struct at_context server, accepted;

	at_listener_add(l);
	at_context_init(&server, TCP, NULL);
	at_listener_remove(l);
	at_listener_add(loops);
	at_context_init_under(&accepted, TCP, NULL, &server);
	check(accepted.operation.parent == server.operation.id);
	at_context_run(&accepted, nothing, NULL);
	check(said("cA cA bA aA"));
	at_context_destroy(&accepted);
	at_context_destroy(&server);
	check(said("dA dA"));
	at_listener_put(l);
	at_listener_put(loops);
	done("N52_explicit_parent_gives_its_listeners");
}

static void fresh_when_empty(void)
{
	struct at_listener *l = listener("A", ALL);
	struct at_context c;

	at_context_init(&c, TIMER, NULL);
	at_listener_add(l);
	live(FS);
	check(said("cA bA aA dA"));
	live(FS);
	check(said(""));
	at_context_run(&c, nothing, NULL);
	check(said(""));
	at_context_destroy(&c);
	at_listener_put(l);
	done("N53_thread_without_context_begins_afresh");
}

static int run_two(void *unused)
{
	struct at_context *const outer = at_context_current();

	(void)unused;
	live(TIMER);
	check(at_context_current() == outer);
	live(TIMER);
	return 0;
}

static void restored(void)
{
	struct at_listener *l = listener("A", ALL);
	struct at_context c;

	at_listener_add(l);
	at_context_init(&c, TIMER, NULL);
	at_context_run(&c, run_two, NULL);
	check(said("cA bA cA bA aA dA cA bA aA dA aA"));
	at_context_destroy(&c);
	check(said("dA"));
	at_listener_put(l);
	done("N53_context_around_is_restored");
}

/* --- providers ------------------------------------------------------------------------- */

static void masks(void)
{
	struct at_listener *a = listener("A", TIMER), *b = listener("B", TCP | FS),
			   *c = listener("C", ASYNCTRACE_ASYNC_NONE), *d = listener("D", ALL);
	struct at_listener *const of[] = { a, b, c, d };
	static const struct {
		uint32_t provider;
		const char *said;
	} cases[] = {
		{ TIMER, "cA cD bA bD aA aD dA dD" }, { TCP, "cB cD bB bD aB aD dB dD" },
		{ FS, "cB cD bB bD aB aD dB dD" }, { ASYNCTRACE_ASYNC_UDP, "cD bD aD dD" },
		{ TICK, "cA cB cD bA bB bD aA aB aD dA dB dD" },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int n = 0; n < 4; n++)
			at_listener_add(of[n]);
		live(cases[i].provider);
		check(said(cases[i].said), "%u", i);
	}
	for (int n = 0; n < 4; n++)
		at_listener_put(of[n]);
	done("N61_N64_each_listener_has_a_mask_of_its_own");
	done("N62_ticks_match_each_mask_but_none");
}

/* --- threads and sizes ----------------------------------------------------------------- */

#define THREADS		4

static unsigned int creates, afters, destroys, wrong;

static void *count_create(void *data, const char *type, void *object)
{
	(void)data, (void)type;
	__atomic_fetch_add(&creates, 1, __ATOMIC_RELAXED);
	return object;
}

static void count_after(void *object, void *value)
{
	__atomic_fetch_add(&afters, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&wrong, object != value, __ATOMIC_RELAXED);
}

static void count_destroy(void *object, void *value)
{
	__atomic_fetch_add(&destroys, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&wrong, object != value, __ATOMIC_RELAXED);
}

static int churn(void *arg)
{
	struct at_listener **l = arg;

	at_listener_remove(l[0]);
	live(TIMER);
	at_listener_add(l[0]);
	at_listener_add(l[1]);
	live(TIMER);
	at_listener_remove(l[1]);
	return 0;
}

static void *thread(void *arg)
{
	struct at_listener **l = arg;
	struct at_context c;

	for (long i = 0, n = scale("EVENTS", 3000); i < n; i++) {
		at_listener_add(l[0]);
		at_context_init(&c, TIMER, &c);
		at_context_run(&c, churn, l);
		at_context_run(&c, churn, l);
		at_context_destroy(&c);
	}
	at_listener_add(l[0]);
	return NULL;
}

/* Threads share listeners, add and remove them in callbacks, and end while they have some. */
static void many_threads(void)
{
	const struct at_listener_options o = { .create = count_create, .after = count_after,
					       .destroy = count_destroy };
	struct at_listener *l[2] = { listener_of(o, NULL, ALL), listener_of(o, NULL, ALL) };
	const unsigned int n = THREADS * scale("EVENTS", 3000);
	pthread_t th[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&th[i], NULL, thread, l);
	for (int i = 0; i < THREADS; i++)
		pthread_join(th[i], NULL);
	at_listener_put(l[0]);
	at_listener_put(l[1]);
	/*
	 * A listener's value must equal the context's object, because count_create() returns the
	 * object. Both are NULL in contexts that live() makes.
	 */
	check(creates == 5 * n && destroys == creates && !wrong, "%u %u %u", creates, destroys, wrong);
	/*
	 * Each of the two runs of @c has one call for @c, and two calls in the second live(), which
	 * has two listeners.
	 */
	check(afters == 6 * n, "%u", afters);
	done("N46_listeners_are_shared_by_threads");
}

/* A context with many runs, and a new listener in each run */
static int add_new(void *unused)
{
	struct at_listener *l = listener("", ALL);
	int err = at_listener_add(l);

	(void)unused;
	check(!err, "%d", err);
	at_listener_remove(l);
	at_listener_put(l);
	return 0;
}

static void new_ones_for_ever(void)
{
	struct at_listener *stays = listener("A", ALL);
	struct at_context c;

	at_listener_add(stays);
	at_context_init(&c, TIMER, NULL);
	at_listener_remove(stays);
	at_listener_put(stays);
	for (int i = 0; i < 100; i++) {
		at_context_run(&c, add_new, NULL);
		check(said(i ? "bA aA" : "cA bA aA"), "%d", i);
	}
	at_context_destroy(&c);
	check(said("dA"));
	done("N45_removed_listeners_take_no_place");
}

int main(void)
{
	made_but_not_added();
	optional();
	refused();
	defaults();
	values();
	cells();
	children_begin_anew();
	around_a_run();
	added_in_a_run();
	no_listener();
	not_nested();
	changes_in_create();
	changes_in_before();
	destroyed_in_callback();
	repeated();
	from_now_on();
	through_others();
	removed_while_under_way();
	removed_on_the_stack();
	of_a_parent();
	fresh_when_empty();
	restored();
	masks();
	many_threads();
	new_ones_for_ever();
	return finish();
}
