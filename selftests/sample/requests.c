// SPDX-License-Identifier: GPL-2.0
/*
 * requests interrupt|worker|uring N: N operations that wait for the sample driver or for io_uring
 *
 * One thread submits the requests and hands their ids to the driver, another one reads the
 * completions and ends the operations. Three more requests carry numbers that are the id of no
 * operation of this process: 0, a small number, and an id of another process. Prints a line for
 * each request: "operation ID" or "number N".
 *
 * uring: the requests are timeouts of io_uring with the ids as user_data.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <asynctrace/operation.h>
#include <asynctrace/trace.h>

#include "module/sample.h"

#define must(x) do { \
	if (!(x)) { \
		fprintf(stderr, "requests: %s:%d: not so: %s\n", __FILE__, __LINE__, #x); \
		exit(1); \
	} \
} while (0)

#define OTHERS	3

static struct at_operation *operations;
static unsigned int nr;
static int device;

static void end(uint64_t id)
{
	for (unsigned int i = 0; i < nr; i++) {
		if (operations[i].id != id)
			continue;
		TRACE_OPERATION_SCOPE(id, "sample", "completed");
		TRACE_OPERATION_END(&operations[i], "sample", "request");
		return;
	}
}

static void *read_completions(void *arg)
{
	uint64_t id;

	(void)arg;
	for (unsigned int i = 0; i < nr + OTHERS; i++) {
		must(read(device, &id, sizeof(id)) == sizeof(id));
		end(id);
	}
	return NULL;
}

static void submit(uint64_t id, uint32_t how)
{
	struct sample_request request = { .operation = id, .delay_us = 3000, .how = how };

	must(!ioctl(device, SAMPLE_IOC_SUBMIT, &request));
}

/* A ring of io_uring. The kernel's memory has the head and the tail at these offsets. */
struct ring {
	int fd;
	struct io_uring_params params;
	char *memory;
	struct io_uring_sqe *sqe;
};

static uint32_t *word(const struct ring *r, uint32_t offset)
{
	return (uint32_t *)(r->memory + offset);
}

static void open_ring(struct ring *r)
{
	*r = (struct ring){ 0 };
	r->fd = syscall(SYS_io_uring_setup, 1, &r->params);
	must(r->fd >= 0 && r->params.features & IORING_FEAT_SINGLE_MMAP);
	/* Both queues are small: a page has the words that are used here. */
	r->memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd,
			 IORING_OFF_SQ_RING);
	r->sqe = mmap(NULL, sizeof(*r->sqe), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		      r->fd, IORING_OFF_SQES);
	must(r->memory != MAP_FAILED && r->sqe != MAP_FAILED);
}

/* Waits for a timeout. Returns the user_data of its completion. */
static uint64_t wait_by_ring(struct ring *r, uint64_t id)
{
	const struct __kernel_timespec ms = { .tv_nsec = 1000000 };
	const struct io_sqring_offsets *sq = &r->params.sq_off;
	const struct io_cqring_offsets *cq = &r->params.cq_off;
	const struct io_uring_cqe *cqes = (const void *)(r->memory + cq->cqes);
	uint32_t head = *word(r, cq->head);
	uint64_t done;

	*r->sqe = (struct io_uring_sqe){
		.opcode = IORING_OP_TIMEOUT, .addr = (uintptr_t)&ms, .len = 1, .user_data = id,
	};
	*word(r, sq->array) = 0;
	__atomic_fetch_add(word(r, sq->tail), 1, __ATOMIC_RELEASE);
	must(syscall(SYS_io_uring_enter, r->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
	must(__atomic_load_n(word(r, cq->tail), __ATOMIC_ACQUIRE) == head + 1);
	done = cqes[head & *word(r, cq->ring_mask)].user_data;
	__atomic_store_n(word(r, cq->head), head + 1, __ATOMIC_RELEASE);
	return done;
}

static void use_ring(void)
{
	struct ring r;

	open_ring(&r);
	for (unsigned int i = 0; i < nr; i++) {
		struct at_operation *op = &operations[i];

		TRACE_OPERATION_BEGIN(op, "sample", "request");
		printf("operation 0x%" PRIx64 "\n", op->id);
		end(wait_by_ring(&r, op->id));
	}
}

int main(int argc, char **argv)
{
	const uint64_t another = 1ULL << 63;
	pthread_t reader;
	uint32_t how;

	must(argc == 3 && (nr = atoi(argv[2])));
	operations = calloc(nr, sizeof(*operations));
	must(operations);
	if (!strcmp(argv[1], "uring")) {
		use_ring();
		return 0;
	}
	how = strcmp(argv[1], "worker") ? SAMPLE_INTERRUPT : SAMPLE_WORKER;
	device = open("/dev/" SAMPLE_DEVICE, O_RDWR | O_CLOEXEC);
	must(device >= 0);
	must(!pthread_create(&reader, NULL, read_completions, NULL));
	for (unsigned int i = 0; i < nr; i++) {
		struct at_operation *op = &operations[i];

		TRACE_OPERATION_BEGIN(op, "sample", "request");
		printf("operation 0x%" PRIx64 "\n", op->id);
		TRACE_OPERATION_SCOPE(op->id, "sample", "submitted");
		submit(op->id, how);
		usleep(1000);
	}
	submit(0, how);
	submit(1, how);
	submit(operations[0].id ^ another, how);
	printf("number 0\nnumber 1\nnumber %" PRIu64 "\n", operations[0].id ^ another);
	must(!pthread_join(reader, NULL));
	return 0;
}
