// SPDX-License-Identifier: GPL-2.0-or-later
/* asynctrace record: the status line, the summary, and explanations of missing events */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/record.h"
#include "sum.h"
#include "tool.h"

#define LINE_SECONDS	0.5

/*
 * Returns true if records were written into the ring. Drops do not show that: records from before
 * the registration of their process count as dropped in its fallback ring.
 */
static bool used(const struct at_compose_counts *c)
{
	return c->delivered || c->overwritten || c->malformed || c->filtered;
}

/* Does not add, because a provider may claim so many drops that the sum would overflow. */
static bool lost(const struct at_compose_counts *c)
{
	return c->overwritten || c->dropped || c->malformed;
}

static int add_ring(const struct at_ring_info *ring, void *arg)
{
	struct at_compose_counts *sum = arg;

	if (ring->kind == ASYNCTRACE_RING_KIND_NAMES)
		return 0;
	if (ring->kind == ASYNCTRACE_RING_KIND_SCHED)
		sum_add(&sum->switches, ring->committed);
	else
		sum_add(&sum->events, ring->committed);
	sum_add(&sum->overwritten, ring->overwritten);
	sum_add(&sum->dropped, ring->dropped);
	return 0;
}

/* Prints the status line if there is one and it is due. */
void record_line(struct recorder *r)
{
	struct at_compose_counts sum = { 0 };
	double now = record_now();
	uint64_t gone;

	if (!r->next_line || now < r->next_line)
		return;
	r->next_line = now + LINE_SECONDS;
	if (at_for_each_ring(r->ctl, r->session, add_ring, &sum))
		return;
	gone = sum.overwritten;
	sum_add(&gone, sum.dropped);
	fprintf(stderr, "\r%.1f s: %s events, %s scheduling records, %s lost, %s\033[K",
		now - r->started, tool_count(sum.events), tool_count(sum.switches),
		tool_count(gone),
		r->opt.args.mode == ASYNCTRACE_MODE_STREAMING ? "streaming" : "in memory");
}

void record_line_clear(const struct recorder *r)
{
	if (r->next_line)
		fputs("\r\033[K", stderr);
}

static int count_provider(const struct at_provider_info *p, void *arg)
{
	(void)p;
	++*(unsigned int *)arg;
	return 0;
}

static int copy_session(const struct at_session_info *s, void *arg)
{
	*(struct at_session_info *)arg = *s;
	return 0;
}

static bool is_filtered(const struct session_args *a)
{
	return a->patterns.nr || a->nr_pids || a->nr_uids || a->nr_cgroups;
}

/* Kernel records do not count: they do not explain missing events of programs. */
static struct at_compose_counts of_programs(const struct at_compose_stats *st)
{
	struct at_compose_counts sum = {
		.overwritten = st->ended.counts.overwritten,
		.dropped = st->ended.counts.dropped,
		.cleared = st->ended.counts.cleared,
	};

	for (size_t i = 0; i < st->nr_providers; i++) {
		const struct at_compose_counts *c = &st->providers[i].counts;

		if (!st->providers[i].id)
			continue;
		sum_add(&sum.malformed, c->malformed);
		sum_add(&sum.overwritten, c->overwritten);
		sum_add(&sum.dropped, c->dropped);
		sum_add(&sum.cleared, c->cleared);
		sum_add(&sum.unwritten, c->unwritten);
	}
	return sum;
}

/* Explains why the command is not a provider in the session. */
static void explain_command(const struct recorder *r)
{
	const char *cmd = tool_text(r->opt.cmd[0]);
	const char *hidden = r->info.privileged ? NULL : record_hidden(r->opt.cmd_path);

	if (hidden) {
		fprintf(stderr, "you may not record %s: %s; use sudo, or give asynctrace CAP_PERFMON\n",
			cmd, hidden);
		return;
	}
	fprintf(stderr, "%s did not become a provider; it must be linked with libasynctrace and trace something%s\n",
		cmd, r->info.privileged ? "" :
		"; to record a program of another user, or with more privileges than yours, use sudo");
	if (r->opt.args.sched != ASYNCTRACE_SCHED_ALL)
		fprintf(stderr, "  --sched all records the scheduling of every program%s.\n",
			r->info.privileged ? "" : "; it needs CAP_PERFMON");
}

/* Explains why no program is a provider in the session. */
static void explain_nobody(const struct recorder *r, const struct at_session_info *session,
			   unsigned int visible)
{
	const char *others = r->info.privileged ? "" : "; those of other users need CAP_PERFMON";

	if (session->refused_providers)
		fprintf(stderr, "%u providers did not fit the memory limit of %s; use a smaller --buffer-size\n",
			session->refused_providers, tool_size(r->info.memory_limit));
	else if (r->taken.told)
		fputs("other sessions have the providers, see above; a provider is in one at a time\n",
		      stderr);
	else if (session->state == ASYNCTRACE_SESSION_STATE_READY ||
		 session->state == ASYNCTRACE_SESSION_STATE_INITIALIZED)
		fputs("the session was not started; see asynctrace session start\n", stderr);
	else if (r->unstarted)
		fputs("the command was not run, see above\n", stderr);
	else if (r->opt.cmd)
		explain_command(r);
	else if (visible)
		fprintf(stderr, "no provider was %s; see asynctrace providers%s\n",
			is_filtered(&r->opt.args) ? "among those asked for" : "in the session",
			others);
	else
		fprintf(stderr, "no program has registered as a provider; see asynctrace providers%s\n", others);
	if (!session->refused_providers && !r->taken.told && !r->opt.cmd)
		fputs("  A program that traced before the module was loaded is not a provider: start it again.\n",
		      stderr);
}

/* Explains why there are no events. */
static void explain_nothing(struct recorder *r, const struct at_compose_stats *st,
			    uint32_t providers)
{
	const struct at_compose_counts gone = of_programs(st);
	struct at_session_info session = { 0 };
	unsigned int visible = 0;

	at_for_each_provider(r->ctl, count_provider, &visible);
	at_session_get(r->ctl, r->session, copy_session, &session);
	fputs("No events are in the file: ", stderr);
	if (gone.unwritten)
		fprintf(stderr, "%s records of programs came after writing had stopped, see above\n",
			tool_count(gone.unwritten));
	else if (r->unreadable)
		fputs("the session could not be read to its end, see above\n", stderr);
	else if (r->out.failed && !providers)
		fputs("it could not be written, see above\n", stderr);
	else if (!providers)
		explain_nobody(r, &session, visible);
	else if (session.refused)
		fprintf(stderr, "%s rings got no memory: your memory cgroup is at its limit\n",
			tool_count(session.refused));
	else if (gone.dropped)
		fprintf(stderr, "%s records of programs found no room; use a larger --buffer-size\n",
			tool_count(gone.dropped));
	else if (gone.overwritten)
		fprintf(stderr, "%s records of programs were overwritten; use a larger --buffer-size\n",
			tool_count(gone.overwritten));
	else if (gone.cleared)
		fprintf(stderr, "a later start cleared %s records of programs\n",
			tool_count(gone.cleared));
	else if (gone.malformed)
		fputs("the providers wrote malformed records\n", stderr);
	else
		fprintf(stderr, "the providers traced nothing in %s, or only into traces of\n"
			"  their own, which keep a program out of later sessions; see at_trace_start(3)\n",
			r->opt.args.categories.nr ? "the chosen categories" : "this time");
}

static void print_heading(const struct recorder *r, const char *what, const char *pid)
{
	fprintf(stderr, "  %-24s %8s %14s %14s %14s %14s", what, pid, "RECORDED", "OVERWRITTEN", "DROPPED",
		"MALFORMED");
	if (r->out.tail)
		fprintf(stderr, " %14s", "FILTERED");
	fputc('\n', stderr);
}

static void print_counts(const struct recorder *r, const char *name, const char *pid,
			 const struct at_compose_counts *c)
{
	fprintf(stderr, "  %-24s %8s %14s %14s %14s %14s", name, pid, tool_count(c->delivered),
		tool_count(c->overwritten), tool_count(c->dropped), tool_count(c->malformed));
	if (r->out.tail)
		fprintf(stderr, " %14s", tool_count(c->filtered));
	fputc('\n', stderr);
}

/* Prints losses of each CPU, summed over its rings. Fallback rings belong to no CPU. */
static void print_cpus(const struct recorder *r, const struct at_compose_stats *st)
{
	bool head = false;

	for (size_t i = 0; i < st->nr_rings; i++) {
		const struct at_compose_ring *first = &st->rings[i];
		struct at_compose_counts sum = { 0 };
		uint32_t fallback = first->flags & ASYNCTRACE_CHUNK_F_FALLBACK;
		char cpu[32];
		size_t n;

		for (n = 0; n < st->nr_rings; n++) {
			const struct at_compose_ring *ring = &st->rings[n];

			if (ring->ring != first->ring ||
			    (ring->flags & ASYNCTRACE_CHUNK_F_FALLBACK) != fallback)
				continue;
			if (n < i)
				break;	/* an earlier row has this CPU */
			sum_add(&sum.delivered, ring->counts.delivered);
			sum_add(&sum.overwritten, ring->counts.overwritten);
			sum_add(&sum.dropped, ring->counts.dropped);
			sum_add(&sum.malformed, ring->counts.malformed);
			sum_add(&sum.filtered, ring->counts.filtered);
		}
		if (n < st->nr_rings || !lost(&sum))
			continue;
		if (!head)
			print_heading(r, "LOST ON", "");
		head = true;
		if (fallback)
			snprintf(cpu, sizeof(cpu), used(&sum) ? "fallback rings" : "no ring");
		else
			snprintf(cpu, sizeof(cpu), "CPU %u", first->ring);
		print_counts(r, cpu, "", &sum);
	}
}

static void print_drops(const char *name, const char *pid, uint64_t sched, const char *names)
{
	fprintf(stderr, "  %-24s %8s %14s %14s\n", name, pid, tool_count(sched), names);
}

/*
 * Prints how many of the kernel's records were dropped, for each provider and for tasks of no
 * provider. Returns true if there are any.
 */
static bool print_kernel_drops(const struct at_compose_stats *st)
{
	uint64_t nobody = 0, told = 0;
	bool any = false;

	for (size_t i = 0; i < st->nr_providers; i++) {
		const struct at_compose_provider *p = &st->providers[i];

		nobody += p->id ? 0 : p->counts.dropped;
		told += p->sched_dropped;
		any |= p->sched_dropped || p->names_dropped;
	}
	/* The counts of providers may be older than the total. */
	nobody = nobody > told ? nobody - told : 0;
	if (!any && !nobody)
		return false;
	fprintf(stderr, "  %-24s %8s %14s %14s\n", "(kernel) DROPPED OF", "PID", "SCHEDULING",
		"NAMES");
	for (size_t i = 0; i < st->nr_providers; i++) {
		const struct at_compose_provider *p = &st->providers[i];
		char pid[16];

		if (!p->sched_dropped && !p->names_dropped)
			continue;
		snprintf(pid, sizeof(pid), "%d", p->pid);
		print_drops(tool_text(p->name), pid, p->sched_dropped,
			    tool_count(p->names_dropped));
	}
	if (nobody)
		print_drops("(no provider)", "", nobody, "");
	return true;
}

static void json_counts(struct json_doc *j, const struct at_compose_counts *c)
{
	doc_number(j, "events", c->events);
	doc_number(j, "switches", c->switches);
	doc_number(j, "wakeups", c->wakeups);
	doc_number(j, "delivered", c->delivered);
	doc_number(j, "malformed", c->malformed);
	doc_number(j, "overwritten", c->overwritten);
	doc_number(j, "dropped", c->dropped);
	doc_number(j, "cleared", c->cleared);
	doc_number(j, "unwritten", c->unwritten);
	doc_number(j, "filtered", c->filtered);
}

/*
 * Returns the number of threads whose scheduling the module could not record; 0 if the session
 * is gone.
 */
static uint64_t threads_missed(const struct recorder *r)
{
	struct at_session_info session = { 0 };

	at_session_get(r->ctl, r->session, copy_session, &session);
	return session.threads_missed;
}

static const char *kind_of(const struct at_compose_ring *ring)
{
	return ring->flags & ASYNCTRACE_COMPOSE_RING_TRACEPOINTS ? "tracepoints" :
	       ring->flags & ASYNCTRACE_CHUNK_F_FALLBACK ? "fallback" :
	       ring->provider ? "events" : "scheduling";
}

static void rings_json(struct json_doc *j, const struct at_compose_stats *st)
{
	doc_array(j, "rings");
	for (size_t i = 0; i < st->nr_rings; i++) {
		const struct at_compose_ring *ring = &st->rings[i];

		doc_object(j, NULL);
		doc_number(j, "provider", ring->provider);
		doc_number(j, "serial", ring->serial);
		doc_string(j, "kind", kind_of(ring));
		doc_number(j, "cpu", ring->ring);
		json_counts(j, &ring->counts);
		doc_close(j);
	}
	doc_close(j);
}

static bool summary_json(const struct recorder *r, const struct at_compose_stats *st)
{
	struct json_doc j = {};

	doc_object(&j, NULL);
	doc_string(&j, "file", trace_out_name(&r->out));
	if (r->out.numbered) {
		doc_number(&j, "first_file", r->out.first);
		doc_number(&j, "last_file", r->out.number);
	}
	doc_number(&j, "session", r->session);
	doc_number(&j, "start", st->start);
	doc_number(&j, "end", st->end);
	doc_number(&j, "bytes", trace_out_stored(&r->out));
	doc_number(&j, "unpacked_bytes", trace_out_unpacked(&r->out));
	doc_number(&j, "threads_missed", threads_missed(r));
	doc_number(&j, "alerts_missed", r->missed);
	json_counts(&j, &st->total);
	record_slow_json(r, &j);
	record_throttling_json(r, &j);
	record_listing_json(r, &j);
	record_cpu_time_json(r, &j);
	doc_object(&j, "ended_before");
	doc_number(&j, "providers", st->ended.providers);
	json_counts(&j, &st->ended.counts);
	doc_number(&j, "sched_dropped", st->ended.sched_dropped);
	doc_number(&j, "names_dropped", st->ended.names_dropped);
	doc_close(&j);
	doc_array(&j, "providers");
	for (size_t i = 0; i < st->nr_providers; i++) {
		const struct at_compose_provider *p = &st->providers[i];

		doc_object(&j, NULL);
		doc_number(&j, "id", p->id);
		doc_number(&j, "serial", p->serial);
		doc_string(&j, "name", p->id ? p->name : "(kernel)");
		doc_number(&j, "pid", p->pid);
		json_counts(&j, &p->counts);
		doc_number(&j, "sched_dropped", p->sched_dropped);
		doc_number(&j, "names_dropped", p->names_dropped);
		doc_close(&j);
	}
	doc_close(&j);
	rings_json(&j, st);
	doc_close(&j);
	return doc_write(&j);
}

static void summary_head(const struct recorder *r, const struct at_compose_stats *st)
{
	fprintf(stderr, "%s: %s events, %s switches, %s wakeups in %.1f s; %s",
		tool_text(trace_out_name(&r->out)), tool_count(st->total.events),
		tool_count(st->total.switches), tool_count(st->total.wakeups),
		(st->end - st->start) / 1e9, tool_size(trace_out_stored(&r->out)));
	if (r->out.pack)
		fprintf(stderr, " (%s unpacked)", tool_size(trace_out_unpacked(&r->out)));
	/* The numbers before are those of all files, also of files that --rotate has removed. */
	if (r->out.numbered && r->out.number)
		fprintf(stderr, " in %u files", r->out.number + 1);
	if (r->out.numbered && r->out.first == r->out.number && r->out.number)
		fputs(", of which the last is kept", stderr);
	else if (r->out.numbered && r->out.first)
		fprintf(stderr, ", of which the last %u are kept",
			r->out.number - r->out.first + 1);
	fputc('\n', stderr);
}

/* Prints what is in the file, what is missing, and why. */
bool record_summary(struct recorder *r)
{
	const struct at_compose_stats *st = at_compose_stats(r->out.compose);
	uint64_t dropped[2] = { 0 };
	uint32_t providers;
	uint64_t missed;
	bool dropped_of, in_fallback = false;

	if (!st) {
		tool_error("no memory for a summary");
		return true;
	}
	if (r->opt.json)
		return summary_json(r, st);
	providers = st->ended.providers;
	for (size_t i = 0; i < st->nr_providers; i++)
		providers += st->providers[i].id != 0;
	summary_head(r, st);
	if (st->nr_providers)
		print_heading(r, "PROVIDER", "PID");
	for (size_t i = 0; i < st->nr_providers; i++) {
		const struct at_compose_provider *p = &st->providers[i];
		char pid[16] = "";

		if (p->id)
			snprintf(pid, sizeof(pid), "%d", p->pid);
		print_counts(r, p->id ? tool_text(p->name) : "(kernel)", pid, &p->counts);
	}
	if (st->ended.providers) {
		char name[48];

		snprintf(name, sizeof(name), "gone before (%llu)",
			 (unsigned long long)st->ended.providers);
		print_counts(r, name, "", &(struct at_compose_counts){
			.overwritten = st->ended.counts.overwritten,
			.dropped = st->ended.counts.dropped,
		});
	}
	record_slow_summary(r, st->total.filtered);
	if (lost(&st->total))
		print_cpus(r, st);
	dropped_of = print_kernel_drops(st);
	missed = threads_missed(r);
	if (!lost(&st->total) && !dropped_of && !missed && !st->total.cleared &&
	    !st->total.unwritten && !r->unreadable && !r->out.failed &&
	    (r->opt.attach || !r->ended) &&
	    st->total.delivered + st->total.filtered)
		fputs("  Nothing was lost.\n", stderr);
	if (st->total.cleared)
		fprintf(stderr, "  %s records are not in the file, because a later start cleared them (asynctrace session start --clear).\n",
			tool_count(st->total.cleared));
	if (st->total.unwritten)
		fprintf(stderr, "  %s more records existed when %s ended; they are not in it.\n",
			tool_count(st->total.unwritten), tool_text(trace_out_name(&r->out)));
	if (st->total.overwritten)
		fputs("  In circular mode the oldest records are overwritten; a larger --buffer-size keeps more.\n",
		      stderr);
	for (size_t i = 0; i < st->nr_rings; i++) {
		const bool fallback = st->rings[i].flags & ASYNCTRACE_CHUNK_F_FALLBACK;

		sum_add(&dropped[fallback], st->rings[i].counts.dropped);
		in_fallback |= fallback && used(&st->rings[i].counts);
	}
	if (dropped[0])
		fputs("  Records were dropped because their ring was full: use a larger --buffer-size, or fewer categories.\n",
		      stderr);
	if (dropped[1] && in_fallback)
		fputs("  Records for a fallback ring are also dropped if two threads write at once; asynctrace doctor says why it is used.\n",
		      stderr);
	else if (dropped[1])
		fputs("  Records without a ring came before or during the registration of their process: call at_provider_register() at the beginning of main().\n",
		      stderr);
	if (missed)
		fprintf(stderr, "  %s thread%s could not be traced, or not at once: the kernel had no memory, a user had more threads than the module's parameter user_threads allows, or another session traces them for another provider of their process. Their scheduling is missing, at least at the beginning.\n",
			tool_count(missed), missed == 1 ? "" : "s");
	record_throttling_summary(r);
	record_listing_summary(r);
	record_cpu_time_summary(r);
	if (r->missed)
		fprintf(stderr, "  %s alert%s came too fast and were lost: a --trigger may have missed one.\n",
			tool_count(r->missed), r->missed == 1 ? "" : "s");
	if (st->protocol)
		fprintf(stderr, "  %s chunks contradict the module's interface and were left out; please report this.\n",
			tool_count(st->protocol));
	if (!st->total.events && !st->total.filtered)
		explain_nothing(r, st, providers);
	return true;
}
