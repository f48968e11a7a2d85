// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * asynctrace status: sessions, their rings, losses and costs
 *
 * Collects everything before it prints, because a connection cannot ask for a session's rings
 * within the callback for sessions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <asynctrace/session.h>

#include "session/args.h"
#include "sum.h"
#include "tool.h"

static const char usage[] =
	"usage: asynctrace status [--json]\n"
	"\n"
	"Shows the sessions that you may see (your own, or, with CAP_PERFMON, all), the\n"
	"ledger of each of their rings, and what tracing costs.\n"
	"\n"
	"  --json      print JSON\n"
	"  -h, --help  print this text\n"
	"\n"
	"A ring's records: COMMITTED by their writer; of these, DELIVERED to the consumer,\n"
	"OVERWRITTEN (circular mode), or CLEARED by a later start; the others are still to\n"
	"be read. DROPPED found no room. Records in a provider's\n"
	"FALLBACK ring come from threads without rseq, or from a machine with an\n"
	"untrusted counter; they cost more.\n"
	"\n"
	"Examples:\n"
	"  asynctrace status\n"
	"  asynctrace status --json | jq '.sessions[].rings[].dropped'\n";

struct session {
	struct at_session_info info;
	char name[ASYNCTRACE_NAME_MAX + 1];
	struct at_ring_info *rings;
	size_t nr_rings;
};

struct provider {
	uint32_t id;
	uint32_t session;
	uint64_t sched_dropped;
	uint64_t names_dropped;
	char name[ASYNCTRACE_NAME_MAX + 1];
};

struct status {
	struct at_info info;
	struct session *sessions;
	size_t nr_sessions;
	struct provider *providers;
	size_t nr_providers;
};

/* Returns @array with room for one more element, or NULL if there is no memory. */
static void *grow(void *array, size_t count, size_t size)
{
	if (count & (count - 1))
		return array;
	return realloc(array, (count ? 2 * count : 1) * size);
}

static int add_session(const struct at_session_info *info, void *arg)
{
	struct status *st = arg;
	struct session *s = grow(st->sessions, st->nr_sessions, sizeof(*s));

	if (!s)
		return -ENOMEM;
	st->sessions = s;
	s += st->nr_sessions++;
	*s = (struct session){ .info = *info };
	snprintf(s->name, sizeof(s->name), "%s", info->name);
	/* The module's strings and lists are valid only in this callback. */
	s->info.name = NULL;
	s->info.categories = NULL;
	s->info.patterns = NULL;
	s->info.pids = NULL;
	s->info.users = NULL;
	s->info.cgroups = NULL;
	s->info.buffers = NULL;
	return 0;
}

static int add_provider(const struct at_provider_info *info, void *arg)
{
	struct status *st = arg;
	struct provider *p = grow(st->providers, st->nr_providers, sizeof(*p));

	if (!p)
		return -ENOMEM;
	st->providers = p;
	p += st->nr_providers++;
	p->id = info->id;
	p->session = info->session;
	p->sched_dropped = info->sched_dropped;
	p->names_dropped = info->names_dropped;
	snprintf(p->name, sizeof(p->name), "%s", info->name);
	return 0;
}

static int add_ring(const struct at_ring_info *info, void *arg)
{
	struct session *s = arg;
	struct at_ring_info *r = grow(s->rings, s->nr_rings, sizeof(*r));

	if (!r)
		return -ENOMEM;
	s->rings = r;
	r[s->nr_rings++] = *info;
	return 0;
}

static int collect(struct at_ctl *ctl, struct status *st)
{
	int err;

	st->info.size = sizeof(st->info);
	err = at_info(ctl, &st->info);
	if (!err)
		err = at_for_each_provider(ctl, add_provider, st);
	if (!err)
		err = at_for_each_session(ctl, add_session, st);
	for (size_t i = 0; !err && i < st->nr_sessions; i++) {
		struct session *s = &st->sessions[i];

		err = at_for_each_ring(ctl, s->info.id, add_ring, s);
		/* The session has ended since the first request, which is no error. */
		if (err == -ENOENT)
			err = 0;
	}
	return err;
}

static const char *ring_name(const struct status *st, const struct session *s,
			     const struct at_ring_info *r)
{
	const uint32_t id = r->provider;
	static char text[32];

	if (r->kind == ASYNCTRACE_RING_KIND_ENDED) {
		snprintf(text, sizeof(text), "ended or taken (%u)", s->info.ended);
		return text;
	}
	if (!id)
		return "(kernel)";
	for (size_t i = 0; i < st->nr_providers; i++)
		if (st->providers[i].id == id)
			return tool_text(st->providers[i].name);
	snprintf(text, sizeof(text), "(ended, id %u)", id);
	return text;
}

/* True if the kernel's rings of this session dropped records of @p. */
static bool drops_in(const struct provider *p, uint32_t session)
{
	return p->session == session && (p->sched_dropped || p->names_dropped);
}

static void print_session(const struct status *st, const struct session *s)
{
	const struct at_session_info *i = &s->info;
	uint64_t lost = 0;

	printf("\nsession %u \"%s\" of %s: %s, %s, scheduling %s%s%s\n", i->id, tool_text(s->name),
	       tool_user(i->uid), tool_state(i->state), tool_mode(i->mode), tool_sched(i->sched),
	       i->flags & ASYNCTRACE_SESSION_FLAGS_DETACHED ? ", detached" : "",
	       i->consumed ? "" : ", without a reader");
	printf("  %u provider%s", i->providers, i->providers == 1 ? "" : "s");
	if (i->ended)
		printf(", %u of them left only sums (ended, or taken by another session)",
		       i->ended);
	if (i->late)
		printf(", %u of them joined late", i->late);
	if (i->refused_providers)
		printf(", %u more beyond the memory limit", i->refused_providers);
	printf("; rings of %s in sub-buffers of %s\n", tool_size(i->ring_size),
	       tool_size(i->sub_size));
	printf("  memory: %s held", tool_size(i->pages * sysconf(_SC_PAGESIZE)));
	if (i->refused)
		printf("; %s rings got no memory, and their records are dropped", tool_count(i->refused));
	putchar('\n');
	if (i->probe_calls)
		printf("  cost: %s calls of scheduler probes, %s records of them\n",
		       tool_count(i->probe_calls), tool_count(i->probe_records));
	if (i->threads_missed)
		printf("  %s thread%s not recorded, or not at once: no memory, more threads than the module's user_threads, or traced by another session\n",
		       tool_count(i->threads_missed), i->threads_missed == 1 ? "" : "s");
	if (!s->nr_rings) {
		puts("  no ring has records yet");
		return;
	}
	printf("  %-20s %5s %-8s %14s %14s %14s %14s %14s %10s\n", "PROVIDER", "CPU", "KIND",
	       "COMMITTED", "DELIVERED", "OVERWRITTEN", "CLEARED", "DROPPED", "MEMORY");
	for (size_t n = 0; n < s->nr_rings; n++) {
		const struct at_ring_info *r = &s->rings[n];
		char cpu[16] = "-";

		if (r->kind == ASYNCTRACE_RING_KIND_EVENTS || r->kind == ASYNCTRACE_RING_KIND_SCHED)
			snprintf(cpu, sizeof(cpu), "%u", r->ring);
		printf("  %-20s %5s %-8s %14s %14s %14s %14s %14s %10s\n",
		       ring_name(st, s, r), cpu, tool_ring_kind(r->kind),
		       tool_count(r->committed), tool_count(r->delivered),
		       tool_count(r->overwritten), tool_count(r->cleared), tool_count(r->dropped),
		       tool_size(r->pages * sysconf(_SC_PAGESIZE)));
		sum_add(&lost, r->overwritten);
		sum_add(&lost, r->dropped);
	}
	if (lost)
		printf("  %s records lost\n", tool_count(lost));
	for (size_t n = 0; n < st->nr_providers; n++) {
		const struct provider *p = &st->providers[n];

		if (!drops_in(p, i->id))
			continue;
		printf("  of the kernel's dropped: %s scheduling records", tool_count(p->sched_dropped));
		printf(" and %s names of %s (id %u)\n", tool_count(p->names_dropped),
		       tool_text(p->name), p->id);
	}
}

static void print_text(const struct status *st)
{
	printf("asynctrace %s, interface %u; clock: %s; %u of %u CPUs online; %s of rings at most%s\n",
	       ASYNCTRACE_VERSION, st->info.abi,
	       st->info.clock == ASYNCTRACE_CLOCK_COUNTER ?
			"the CPU's counter" : "CLOCK_BOOTTIME (the counter cannot be trusted)",
	       st->info.online_cpus, st->info.nr_cpus, tool_size(st->info.memory_limit),
	       st->info.privileged ? "" : " (without CAP_PERFMON)");
	printf("%zu provider%s, %zu session%s\n", st->nr_providers,
	       st->nr_providers == 1 ? "" : "s", st->nr_sessions,
	       st->nr_sessions == 1 ? "" : "s");
	for (size_t i = 0; i < st->nr_sessions; i++)
		print_session(st, &st->sessions[i]);
}

static void json_session(struct json_doc *j, const struct status *st, struct session *s)
{
	struct at_session_info *i = &s->info;

	i->name = s->name;
	doc_object(j, NULL);
	session_json(j, i);
	doc_array(j, "rings");
	for (size_t n = 0; n < s->nr_rings; n++) {
		const struct at_ring_info *r = &s->rings[n];

		doc_object(j, NULL);
		doc_number(j, "provider", r->provider);
		doc_number(j, "ring", r->ring);
		doc_string(j, "kind", tool_ring_kind(r->kind));
		doc_number(j, "committed", r->committed);
		doc_number(j, "delivered", r->delivered);
		doc_number(j, "overwritten", r->overwritten);
		doc_number(j, "cleared", r->cleared);
		doc_number(j, "dropped", r->dropped);
		doc_number(j, "memory", r->pages * sysconf(_SC_PAGESIZE));
		doc_close(j);
	}
	doc_close(j);
	doc_array(j, "kernel_drops");
	for (size_t n = 0; n < st->nr_providers; n++) {
		const struct provider *p = &st->providers[n];

		if (!drops_in(p, i->id))
			continue;
		doc_object(j, NULL);
		doc_number(j, "provider", p->id);
		doc_string(j, "name", p->name);
		doc_number(j, "sched_dropped", p->sched_dropped);
		doc_number(j, "names_dropped", p->names_dropped);
		doc_close(j);
	}
	doc_close(j);
	doc_close(j);
}

static bool print_json(const struct status *st)
{
	struct json_doc j = {};

	doc_object(&j, NULL);
	doc_number(&j, "abi", st->info.abi);
	doc_string(&j, "clock",
		   st->info.clock == ASYNCTRACE_CLOCK_COUNTER ? "counter" : "boottime");
	doc_number(&j, "nr_cpus", st->info.nr_cpus);
	doc_number(&j, "online_cpus", st->info.online_cpus);
	doc_number(&j, "memory_limit", st->info.memory_limit);
	doc_bool(&j, "privileged", st->info.privileged);
	doc_number(&j, "providers", st->nr_providers);
	doc_array(&j, "sessions");
	for (size_t i = 0; i < st->nr_sessions; i++)
		json_session(&j, st, &st->sessions[i]);
	doc_close(&j);
	doc_close(&j);
	return doc_write(&j);
}

int status_main(int argc, char **argv)
{
	struct status st = { 0 };
	struct at_ctl *ctl;
	bool as_json = false;
	int err, status;

	status = tool_listing_options(argc, argv, usage, &as_json);
	if (status >= 0)
		return status;

	err = at_ctl_open(&ctl);
	if (!err)
		err = collect(ctl, &st);
	if (err)
		tool_error("%s", err == -ENOMEM ? strerror(ENOMEM) : at_ctl_error(ctl));
	else if (as_json)
		err = !print_json(&st);
	else
		print_text(&st);
	at_ctl_close(ctl);
	for (size_t i = 0; i < st.nr_sessions; i++)
		free(st.sessions[i].rings);
	free(st.sessions);
	free(st.providers);
	return err ? TOOL_FAILED : TOOL_OK;
}
