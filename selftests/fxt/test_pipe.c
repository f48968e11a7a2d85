// SPDX-License-Identifier: GPL-2.0
/*
 * Traces in pipes and sockets: a write(2) of up to PIPE_BUF bytes arrives whole or not at all, so
 * each must have whole records
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "stream.h"
#include "../../tools/record/trace_out.h"

static bool shared;	/* other processes write to the pipe, and have set O_NONBLOCK */

/* Stands in for write(2): sometimes another process takes the room that poll(2) has seen. */
ssize_t write(int fd, const void *buf, size_t len)
{
	if (shared && rnd_chance(20)) {
		errno = EAGAIN;
		return -1;
	}
	return syscall(SYS_write, fd, buf, len);
}

/* Counts packets from a packet socket. Each write(2) to the other end is one packet. */
struct reader {
	int fd;
	uint64_t packets, bytes;
	uint64_t torn;		/* packets that end within a record that fits into PIPE_BUF */
	uint64_t large;		/* pieces of records that do not fit */
};

static void *read_packets(void *arg)
{
	static char packet[4 * PIPE_BUF];
	struct reader *r = arg;
	size_t rest = 0;
	ssize_t n;

	while ((n = recv(r->fd, packet, sizeof(packet), 0)) > 0) {
		size_t at = rest, last = 0;

		while (at < (size_t)n) {
			uint64_t head;

			memcpy(&head, packet + at, sizeof(head));
			last = 8 * ASYNCTRACE_FXT_WORDS(head);
			at += last ? last : PIPE_BUF;
		}
		/* The pieces of a record larger than PIPE_BUF must be packets of their own. */
		r->torn += (rest && at != (size_t)n && at != rest) || n > PIPE_BUF ||
			   (!rest && at != (size_t)n && (last <= PIPE_BUF || at != last));
		r->large += rest || at != (size_t)n;
		rest = at - n;
		r->packets++;
		r->bytes += n;
	}
	return NULL;
}

static void test_pipe_gets_whole_records(void **unused)
{
	struct trace_out o = { .path = "-", .fd = -1, .wait_fd = -1, .ends = "the test ends" };
	struct stream s = { .ticks = 1000000 };
	static char text[30000];
	struct words b = { 0 };
	struct reader r = { 0 };
	int fd[2], saved;
	pthread_t t;

	memset(text, 'x', sizeof(text));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd), 0);
	r.fd = fd[0];
	assert_int_equal(pthread_create(&t, NULL, read_packets, &r), 0);
	/* The trace must not contain what is still in the buffer of standard output. */
	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	dup2(fd[1], STDOUT_FILENO);
	assert_int_equal(trace_out_open(&o), 0);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(fd[1]);
	s.c = o.compose;
	shared = true;
	give_clock(&s, ASYNCTRACE_MOMENT_START);
	give_provider(&s, 1, 100, 7, "p");
	give_thread(&s, 1, 1, 100, 101, "t");
	for (int i = 0; i < 2000; i++) {
		size_t len = rnd_chance(5) ? 1 + rnd_below(sizeof(text) - 1) : 1 + rnd_below(200);

		put_event(&b, &(struct event){ 0, s.ticks++, 1, TXT("category"), TXT("n"), 0, 1,
			{ ARG_STR(TXT("x"), ((struct ref){ .text = text, .len = len })) } });
		give_events(&s, 1, 0, &b);
		if (rnd_chance(1))
			assert_int_equal(trace_out_flush(&o), 0);
	}
	assert_int_equal(trace_out_finish(&o, false), 0);
	shared = false;
	pthread_join(t, NULL);
	assert_int_equal(r.bytes, at_compose_stats(o.compose)->written);
	assert_int_equal(at_compose_stats(o.compose)->total.events, 2000);
	assert_int_equal(r.torn, 0);
	assert_true(r.packets > 300 && r.large > 50);
	trace_out_free(&o);
	close(fd[0]);
	words_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pipe_gets_whole_records),
	};

	test_random_init();
	return cmocka_run_group_tests_name("pipe", tests, NULL, NULL);
}
