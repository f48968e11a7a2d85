// SPDX-License-Identifier: GPL-2.0
/*
 * annotations PROGRAM: the programs of Go's TestAnalyzeAnnotations, TestFoo and
 * TestSummarizeTasksTrace, one that jumps, one with collections of a runtime, and one with a region
 * at two places. annotations.sh analyses their traces. They print the ids of their operations.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <asynctrace/inprocess.h>
#include <asynctrace/memory.h>
#include <asynctrace/operation.h>

static struct at_operation task0, task1, nested[3];

static void work(long us)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000 * us }, NULL);
}

static void print(const char *name, const struct at_operation *op)
{
	printf("%s 0x%llx\n", name, (unsigned long long)op->id);
}

static void *taskless(void *arg)
{
	TRACE_REGION("task", "taskless.region");
	TRACE_LOG("key0", "val0");
	return arg;
}

/* Works on task0, because its thread was created within region0. */
static void *end_task0(void *arg)
{
	{
		TRACE_REGION("task", "task0.region1");
		{
			TRACE_REGION("task", "task0.region2");
			TRACE_LOG("key2", "val2");
			work(100);
		}
		TRACE_LOG("key1", "val1");
	}
	TRACE_OPERATION_END(&task0, "task", "task0");
	return arg;
}

/* Works on task0 in a region, and on task1 outside of regions. Task1 is a child of task0. */
static void *make_tasks(void *arg)
{
	pthread_t th;

	TRACE_OPERATION_BEGIN(&task0, "task", "task0");
	{
		TRACE_OPERATION_SCOPE(task0.id, "task", "task0.region0");
		at_thread_create(&th, NULL, end_task0, NULL);
		work(100);
	}
	pthread_join(th, NULL);
	TRACE_OPERATION_BEGIN_CHILD(&task1, task0.id, "task", "task1");
	/* A log without a scope: a thread that enters the task would show that as a region. */
	TRACE_OPERATION_INSTANT(task1.id, "key3", "log", "message", TA_STRING("val3"));
	TRACE_OPERATION_END(&task1, "task", "task1");
	return arg;
}

/* Go's prog0. Threads run one after the other except for end_task0(), which runs within region0. */
static void annotations(void)
{
	pthread_t th;

	pthread_create(&th, NULL, taskless, NULL);
	pthread_join(th, NULL);
	pthread_create(&th, NULL, make_tasks, NULL);
	pthread_join(th, NULL);
	print("task0", &task0);
	print("task1", &task1);
}

static void *log_later(void *arg)
{
	TRACE_OPERATION_SCOPE(task0.id, "task", "later");
	TRACE_LOG("task", "log of another thread");
	return arg;
}

/* Logs before and after the task's end, there also on another thread. */
static void logs(void)
{
	pthread_t th;

	TRACE_OPERATION_BEGIN(&task0, "task", "ohHappyDay");
	{
		TRACE_OPERATION_SCOPE(task0.id, "task", "scope");
		TRACE_LOG("task", "log before task ends");
		TRACE_OPERATION_END(&task0, "task", "ohHappyDay");
		TRACE_LOG("task", "log after task ends");
	}
	pthread_create(&th, NULL, log_later, NULL);
	pthread_join(th, NULL);
	print("task0", &task0);
}

/* Makes a chain of tasks: each has the previous one as its parent, and regions of its own. */
static void tree(void)
{
	struct at_entered e[3];

	TRACE_OPERATION_BEGIN(&nested[0], "task", "task1");
	TRACE_OPERATION_ENTER(&e[0], nested[0].id, "task", "task1.region");
	TRACE_OPERATION_BEGIN(&nested[1], "task", "task2");
	TRACE_OPERATION_ENTER(&e[1], nested[1].id, "task", "task2.region");
	TRACE_OPERATION_BEGIN(&nested[2], "task", "task3");
	TRACE_OPERATION_ENTER(&e[2], nested[2].id, "task", "task3.region");
	work(100);
	for (int i = 2; i >= 0; i--)
		at_operation_leave(&e[i]);
	TRACE_OPERATION_END(&nested[2], "task", "task3");
	TRACE_OPERATION_END(&nested[1], "task", "task2");
	TRACE_OPERATION_END(&nested[0], "task", "task1");
	for (int i = 0; i < 3; i++)
		print("task", &nested[i]);
}

static void collect(void)
{
	TRACE_REGION("gc", "collect");
	work(500);
}

/* Makes a collection of garbage within each of two tasks, and none within the third. */
static void collections(void)
{
	static const char *const names[] = { "with", "with too", "without" };

	for (int i = 0; i < 3; i++) {
		TRACE_OPERATION_BEGIN(&nested[i], "task", "task");
		{
			TRACE_OPERATION_SCOPE(nested[i].id, "task", "work");
			work(100);
			if (i < 2)
				collect();
		}
		TRACE_OPERATION_END(&nested[i], "task", "task");
		collect();
		print(names[i], &nested[i]);
	}
}

static void *collect_now(void *arg)
{
	at_collection_begin("sweep", 0, NULL);
	work(500);
	at_collection_end(NULL);
	return arg;
}

/*
 * Reports collections of a runtime: before a task, within it on another thread, over its end, and
 * after another task.
 */
static void overlaps(void)
{
	pthread_t th;

	collect_now(NULL);
	TRACE_OPERATION_BEGIN(&task0, "task", "task");
	pthread_create(&th, NULL, collect_now, NULL);
	pthread_join(th, NULL);
	at_collection_begin("mark", 0, NULL);
	work(100);
	TRACE_OPERATION_END(&task0, "task", "task");
	work(500);
	at_collection_end(NULL);
	TRACE_OPERATION_BEGIN(&task1, "task", "task");
	work(100);
	TRACE_OPERATION_END(&task1, "task", "task");
	collect_now(NULL);
	print("with", &task0);
	print("without", &task1);
}

/*
 * Begins @depth + 1 regions at one place, each within the previous one. places() uses their name at
 * a second place, too.
 */
static void recurse(int depth)
{
	TRACE_REGION("task", "place");
	work(100);
	if (depth)
		recurse(depth - 1);
}

static void places(void)
{
	struct at_entered e;

	recurse(2);
	TRACE_REGION_BEGIN(&e, "task", "place");
	recurse(0);
	at_region_end(&e);
	at_operation_enter(&e, 0);
	at_operation_leave(&e);
}

static sigjmp_buf back;

static void leave(void)
{
	TRACE_OPERATION_SCOPE(nested[1].id, "task", "left");
	TRACE_REGION("task", "left within");
	siglongjmp(back, 1);
}

/* Leaves two scopes by a jump: they end together with the scope around them. */
static void jumps(void)
{
	for (int i = 0; i < 2; i++)
		TRACE_OPERATION_BEGIN(&nested[i], "task", "task");
	{
		TRACE_OPERATION_SCOPE(nested[0].id, "task", "stays");
		if (!sigsetjmp(back, 0))
			leave();
	}
	for (int i = 0; i < 2; i++)
		TRACE_OPERATION_END(&nested[i], "task", "task");
}

static void fan_out(uint64_t parent, int workers);

static void *work_in_fan(void *arg)
{
	const int i = (intptr_t)arg;

	TRACE_REGION("task", "worker");
	TRACE_LOGF("log", "fanout region%d", i);
	if (i == 2)
		fan_out(at_operation_current(), 0);
	return NULL;
}

/* Logs to @parent, and makes a part of it on which this thread and @workers other threads work. */
static void fan_out(uint64_t parent, int workers)
{
	struct at_operation op;
	pthread_t th[6];

	TRACE_OPERATION_INSTANT(parent, "log", "log", "message", TA_STRING("before do"));
	TRACE_OPERATION_BEGIN_CHILD(&op, parent, "task", "do");
	TRACE_OPERATION_INSTANT(op.id, "log2", "log", "message", TA_STRING("do"));
	{
		TRACE_OPERATION_SCOPE(op.id, "task", "fanout");
		for (int i = 0; i < workers; i++)
			at_thread_create(&th[i], NULL, work_in_fan, (void *)(intptr_t)i);
	}
	for (int i = 0; i < workers; i++)
		pthread_join(th[i], NULL);
	TRACE_OPERATION_END(&op, "task", "do");
}

/*
 * Traces itself while it works on tasks: "parent" is open all along, "type1" begins before the
 * trace, "type2" ends after it, and "type3" is within it.
 */
static void lives(void)
{
	struct at_operation parent, type1, type2, type3;
	const int fd = open("lives.fxt", O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);

	TRACE_OPERATION_BEGIN(&parent, "task", "parent");
	TRACE_OPERATION_BEGIN_CHILD(&type1, parent.id, "task", "type1");
	if (at_trace_start(fd, NULL))
		return;
	TRACE_OPERATION_END(&type1, "task", "type1");
	TRACE_OPERATION_BEGIN_CHILD(&type2, parent.id, "task", "type2");
	TRACE_OPERATION_BEGIN(&type3, "task", "type3");
	for (int i = 0; i < 2; i++) {
		fan_out(0, 4);
		fan_out(parent.id, 2);
		fan_out(type1.id, 3);
		fan_out(type2.id, 6);
		fan_out(type3.id, 5);
	}
	TRACE_OPERATION_END(&type3, "task", "type3");
	at_trace_stop(NULL);
	TRACE_OPERATION_END(&type2, "task", "type2");
	TRACE_OPERATION_END(&parent, "task", "parent");
	print("parent", &parent);
	print("type1", &type1);
	print("type2", &type2);
	print("type3", &type3);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} programs[] = {
		{ "annotations", annotations }, { "tree", tree }, { "collections", collections },
		{ "jumps", jumps }, { "overlaps", overlaps },
		{ "places", places }, { "logs", logs }, { "lives", lives },
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (argc == 2 && !strcmp(argv[1], programs[i].name)) {
			programs[i].run();
			return 0;
		}
	return 2;
}
