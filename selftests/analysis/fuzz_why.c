// SPDX-License-Identifier: GPL-2.0
/* Files that are almost traces: reader, engine and report must neither crash nor hang. */
#include <sys/mman.h>
#include <unistd.h>

#include "../fxt/fuzz.h"
#include "fuzz_rows.h"

static struct words random_file(void)
{
	struct words b, chunk = { 0 };
	struct stream s;

	stream_simple(&s);
	give_name(&s, 200, 200, "foreign");
	for (int i = 0; i < 20; i++) {
		for (uint64_t n = rnd_below(20); n; n--) {
			put_event(&chunk, &(struct event){
				rnd_below(11), s.ticks, 1, IDX(1), IDX(2), rnd_below(4), 1,
				{ ARG_U64(IDX(3), rnd_below(4)) } });
			s.ticks += rnd_below(3);
		}
		s.ticks += rnd_below(100);
		if (rnd_chance(20))
			lose(&s, 1, 0, 1, 1);
		give_events(&s, 1, 0, &chunk);
		for (uint64_t n = rnd_below(10); n; n--) {
			put_switch(&chunk, 1, s.ticks++, 101, 200, rnd_below(4));
			put_wakeup(&chunk, 1, s.ticks++, 101, 200);
			put_switch(&chunk, 1, s.ticks++, 200, 101, rnd_below(4));
		}
		give_sched(&s, 1, &chunk);
	}
	b = stream_words(&s);
	words_free(&chunk);
	return b;
}

static void one_round(void)
{
	struct words b = random_file();
	int fd = memfd_create("fuzz", MFD_CLOEXEC), err;
	struct fxt_reader *r;
	char path[32];

	fuzz_spoil(&b);
	fuzz_assert(write(fd, b.w, b.nr * 8 - rnd_below(9)) > 0);
	words_free(&b);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = fxt_open(path, &err);
	fuzz_assert(r);
	fuzz_assert(!fuzz_rows(r, rnd()));
	fxt_close(r);
	close(fd);
}

int main(int argc, char **argv)
{
	return fuzz_main(argc, argv, one_round);
}
