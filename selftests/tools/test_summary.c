// SPDX-License-Identifier: GPL-2.0
/* The summary of asynctrace record, with made-up counts */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "record/record.h"

static struct at_compose_stats stats;
static const struct at_ring_info *rings;
static size_t nr_rings;

/* --- stand-ins for the rest of the recorder -------------------------------------------------- */

const struct at_compose_stats *at_compose_stats(struct at_compose *c)
{
	(void)c;
	return &stats;
}

int at_for_each_ring(struct at_ctl *ctl, uint32_t session,
		     int (*fn)(const struct at_ring_info *ring, void *arg), void *arg)
{
	int err = 0;

	(void)ctl, (void)session;
	for (size_t i = 0; !err && i < nr_rings; i++)
		err = fn(&rings[i], arg);
	return err;
}

int at_for_each_provider(struct at_ctl *ctl,
			 int (*fn)(const struct at_provider_info *provider, void *arg), void *arg)
{
	(void)ctl, (void)fn, (void)arg;
	return 0;
}

int at_session_get(struct at_ctl *ctl, uint32_t id,
		   int (*fn)(const struct at_session_info *session, void *arg), void *arg)
{
	(void)ctl, (void)id, (void)fn, (void)arg;
	return 0;
}

const char *trace_out_name(const struct trace_out *o)
{
	return o->path;
}

uint64_t trace_out_stored(const struct trace_out *o)
{
	(void)o;
	return 3 << 20;
}

uint64_t trace_out_unpacked(const struct trace_out *o)
{
	return trace_out_stored(o);
}

const char *record_hidden(const char *path)
{
	(void)path;
	return NULL;
}

#define LEFT_OUT(part) \
void record_##part##_json(const struct recorder *r, struct json_doc *j) \
{ \
	(void)r, (void)j; \
}

LEFT_OUT(slow)
LEFT_OUT(throttling)
LEFT_OUT(listing)
LEFT_OUT(cpu_time)

void record_slow_summary(const struct recorder *r, uint64_t filtered)
{
	(void)r, (void)filtered;
}

void record_throttling_summary(const struct recorder *r)
{
	(void)r;
}

void record_listing_summary(const struct recorder *r)
{
	(void)r;
}

void record_cpu_time_summary(const struct recorder *r)
{
	(void)r;
}

/* --- tests ---------------------------------------------------------------------------------- */

/* Returns what @print prints of @r, until the next call. */
static const char *text_of(struct recorder *r, void (*print)(struct recorder *r))
{
	static char text[4096];
	int terminal = dup(STDERR_FILENO), kept = memfd_create("summary", 0);
	ssize_t n;

	assert_true(terminal >= 0 && kept >= 0);
	fflush(stderr);
	dup2(kept, STDERR_FILENO);
	print(r);
	fflush(stderr);
	dup2(terminal, STDERR_FILENO);
	n = pread(kept, text, sizeof(text) - 1, 0);
	assert_true(n > 0);
	text[n] = '\0';
	close(terminal);
	close(kept);
	return text;
}

static void print_summary(struct recorder *r)
{
	assert_true(record_summary(r));
}

static const char *summary_of(struct recorder *r)
{
	return text_of(r, print_summary);
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in: %s", part, text);
}

static struct recorder recorder(void)
{
	stats = (struct at_compose_stats){
		.start = 1000000000, .end = 3000000000,
		.total = { .events = 7, .delivered = 7 },
	};
	return (struct recorder){ .out = { .path = "t.fxt" } };
}

static void whole_trace_lost_nothing(void **state)
{
	struct recorder r = recorder();

	(void)state;
	assert_has(summary_of(&r), "t.fxt: 7 events, 0 switches, 0 wakeups in 2.0 s; 3 MiB\n");
	assert_has(summary_of(&r), "Nothing was lost.");
}

/* A provider may claim any number of drops, and the composer's sums stop at the largest one. */
static void sum_of_losses_does_not_overflow(void **state)
{
	struct recorder r = recorder();

	(void)state;
	stats.total.dropped = UINT64_MAX;
	stats.total.malformed = 1;
	assert_null(strstr(summary_of(&r), "Nothing was lost."));
}

#define LARGEST	"18,446,744,073,709,551,615"

/* Two providers claim so many drops on one CPU that their sum overflows. */
static void claimed_drops_do_not_hide_the_loss(void **state)
{
	const struct at_compose_counts claims[] = { { .dropped = UINT64_MAX }, { .dropped = 1 } };
	const struct at_compose_provider providers[] = {
		{ .id = 1, .counts = claims[0] }, { .id = 2, .counts = claims[1] },
	};
	const struct at_compose_ring of[] = {
		{ .provider = 1, .counts = claims[0] }, { .provider = 2, .counts = claims[1] },
	};
	struct recorder r = recorder();
	const char *text;

	(void)state;
	stats.total = (struct at_compose_counts){ .dropped = UINT64_MAX };
	stats.providers = providers;
	stats.rings = of;
	stats.nr_providers = stats.nr_rings = 2;
	text = summary_of(&r);
	assert_non_null(strstr(text, "CPU 0"));
	assert_has(strstr(text, "CPU 0"), LARGEST);
	assert_has(text, "Records were dropped because their ring was full");
	assert_has(text, LARGEST " records of programs found no room");
}

static void status_line_does_not_hide_the_loss(void **state)
{
	static const struct at_ring_info rows[][2] = {
		{ { .dropped = UINT64_MAX }, { .dropped = 1 } },
		{ { .dropped = UINT64_MAX }, { .overwritten = 1 } },
		{ { .overwritten = UINT64_MAX }, { .overwritten = 1 } },
	};
	struct recorder r = recorder();

	(void)state;
	nr_rings = 2;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rings = rows[i];
		r.next_line = 1e-9;
		assert_has(text_of(&r, record_line), ", " LARGEST " lost, ");
	}
	nr_rings = 0;
}

/* The kernel gives the id of a provider that has ended to a later one. */
static void rings_of_a_reused_id_differ_in_serial(void **state)
{
	static const struct at_compose_provider providers[] = {
		{ .id = 1, .serial = 5, .counts.events = 3 },
		{ .id = 1, .serial = 9, .counts.events = 4 },
	};
	static const struct at_compose_ring of[] = {
		{ .provider = 1, .serial = 5, .counts.events = 3 },
		{ .provider = 1, .serial = 9, .counts.events = 4 },
	};
	static const char *const lists[] = { "providers", "rings" };
	struct recorder r = recorder();
	int out = dup(STDOUT_FILENO), kept = memfd_create("json", 0);
	json_t *summary;

	(void)state;
	stats.providers = providers;
	stats.rings = of;
	stats.nr_providers = stats.nr_rings = 2;
	r.opt.json = true;
	assert_true(out >= 0 && kept >= 0);
	fflush(stdout);
	dup2(kept, STDOUT_FILENO);
	assert_true(record_summary(&r));
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	lseek(kept, 0, SEEK_SET);
	summary = json_loadfd(kept, 0, NULL);
	for (size_t l = 0; l < 2; l++) {
		json_t *list = json_object_get(summary, lists[l]), *item;
		size_t i;

		assert_int_equal(json_array_size(list), 2);
		json_array_foreach(list, i, item) {
			assert_int_equal(json_integer_value(json_object_get(item, "serial")),
					 providers[i].serial);
			assert_int_equal(json_integer_value(json_object_get(item, "events")),
					 providers[i].counts.events);
		}
	}
	json_decref(summary);
	close(out);
	close(kept);
}

static void removed_files_are_not_said_to_be_left(void **state)
{
	struct recorder r = recorder();

	(void)state;
	r.out.numbered = true;
	assert_has(summary_of(&r), "; 3 MiB\n");
	r.out.number = 2;
	assert_has(summary_of(&r), "; 3 MiB in 3 files\n");
	r.out.first = 1;
	assert_has(summary_of(&r), "; 3 MiB in 3 files, of which the last 2 are kept\n");
	r.out.first = 2;
	assert_has(summary_of(&r), "; 3 MiB in 3 files, of which the last is kept\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_trace_lost_nothing),
		cmocka_unit_test(sum_of_losses_does_not_overflow),
		cmocka_unit_test(claimed_drops_do_not_hide_the_loss),
		cmocka_unit_test(status_line_does_not_hide_the_loss),
		cmocka_unit_test(rings_of_a_reused_id_differ_in_serial),
		cmocka_unit_test(removed_files_are_not_said_to_be_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
