// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The coffee shop from the documentation of Go's runtime/trace. Each order is an operation, on
 * which three threads work: the main thread extracts the coffee, the second one froths the milk,
 * and the third one mixes them.
 *
 *	ASYNCTRACE_OUT=coffee.fxt coffee 3
 *	asynctrace report coffee.fxt regions
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <asynctrace/operation.h>

struct order {
	struct at_operation operation;
	unsigned int number;
	pthread_t froths;
};

static void work(unsigned int ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000L * ms }, NULL);
}

static void *froth_milk(void *arg)
{
	struct order *o = arg;

	TRACE_OPERATION_SCOPE(o->operation.id, "coffee", "frothMilk");
	work(3);
	return NULL;
}

/* Runs on the third thread of an order: does the last step and ends the operation. */
static void *serve(void *arg)
{
	struct order *o = arg;

	pthread_join(o->froths, NULL);
	{
		TRACE_OPERATION_SCOPE(o->operation.id, "coffee", "mixMilk");
		work(1);
	}
	TRACE_OPERATION_END(&o->operation, "coffee", "makeCappuccino");
	return NULL;
}

static int make_cappuccino(unsigned int number)
{
	struct order o = { .number = number };
	pthread_t serves;

	TRACE_OPERATION_BEGIN(&o.operation, "coffee", "makeCappuccino", "order", number);
	{
		TRACE_OPERATION_SCOPE(o.operation.id, "coffee", "extractCoffee");
		TRACE_LOGF("coffee", "order %u: cappuccino", number);
		if (pthread_create(&o.froths, NULL, froth_milk, &o))
			return -1;
		{
			TRACE_REGION("coffee", "grindBeans");
			work(1);
		}
		work(1);
	}
	if (pthread_create(&serves, NULL, serve, &o))
		return -1;
	return pthread_join(serves, NULL);
}

int main(int argc, char **argv)
{
	const unsigned int orders = argc > 1 ? strtoul(argv[1], NULL, 0) : 3;

	for (unsigned int i = 1; i <= orders; i++) {
		if (make_cappuccino(i)) {
			fputs("coffee: cannot make a thread\n", stderr);
			return 1;
		}
	}
	printf("%u cappuccinos\n", orders);
	return 0;
}
