// SPDX-License-Identifier: GPL-2.0
/*
 * A probe that does nothing, for comparison: the cost of a tracepoint with any probe. Loaded with
 * tracepoint=NAME, it is active until it is unloaded.
 */
#include <linux/module.h>
#include <linux/tracepoint.h>
#include <trace/events/sched.h>

static char *tracepoint;
module_param(tracepoint, charp, 0444);
MODULE_PARM_DESC(tracepoint, "sched_switch or sched_waking");

static struct tracepoint *found;

static void empty_switch(void *data, bool preempt, struct task_struct *prev,
			 struct task_struct *next, unsigned int state)
{
}

static void empty_waking(void *data, struct task_struct *p)
{
}

/* Never called: lets the compiler check the probes' signatures. */
static void __maybe_unused check_signatures(void)
{
	check_trace_callback_type_sched_switch(empty_switch);
	check_trace_callback_type_sched_waking(empty_waking);
}

static void find(struct tracepoint *tp, void *arg)
{
	if (!strcmp(tp->name, tracepoint))
		found = tp;
}

static void *probe(void)
{
	if (!strcmp(tracepoint, "sched_switch"))
		return empty_switch;
	if (!strcmp(tracepoint, "sched_waking"))
		return empty_waking;
	return NULL;
}

static int __init empty_init(void)
{
	if (!tracepoint || !probe())
		return -EINVAL;
	for_each_kernel_tracepoint(find, NULL);
	if (!found)
		return -ENOENT;
	return tracepoint_probe_register(found, probe(), NULL);
}

static void __exit empty_exit(void)
{
	tracepoint_probe_unregister(found, probe(), NULL);
	tracepoint_synchronize_unregister();
}

module_init(empty_init);
module_exit(empty_exit);

MODULE_DESCRIPTION("An empty scheduler probe to compare with");
MODULE_LICENSE("GPL");
