// SPDX-License-Identifier: GPL-2.0
/* Files that are almost traces: reader, check and printers must neither crash nor hang. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "../../tools/fxt/print.h"

static struct words random_file(void)
{
	struct words b, chunk = { 0 };
	struct stream s;

	stream_simple(&s);
	give_name(&s, 200, 200, "foreign");
	for (int i = 0; i < 10; i++) {
		for (uint64_t n = rnd_below(20); n; n--)
			put_event(&chunk, &(struct event){
				rnd_below(11), s.ticks, 1, IDX(1), TXT("name"), s.ticks, 2,
				{ ARG_I32(IDX(3), rnd()), ARG_U64(TXT("longer name"), rnd()) } });
		s.ticks += rnd_below(100);
		give_events(&s, 1, 0, &chunk);
		for (uint64_t n = rnd_below(10); n; n--) {
			put_switch(&chunk, 1, s.ticks, 101, 200, 3);
			put_wakeup(&chunk, 1, s.ticks, 101, 200);
			put_switch(&chunk, 1, s.ticks, 200, 101, 3);
		}
		give_sched(&s, 1, &chunk);
	}
	b = stream_words(&s);
	words_free(&chunk);
	return b;
}

static void ignore(void *arg, enum fxt_rule rule, uint64_t offset, const char *detail)
{
	fuzz_assert(rule < FXT_RULE_COUNT && strlen(detail) < 200);
}

/* Reads the next record into memory that is not zero, so that members left out are seen. */
static int next(struct fxt_reader *r, struct fxt_record *rec)
{
	memset(rec, 0xa5, sizeof(*rec));
	return fxt_next(r, rec);
}

static void one_round(void)
{
	static FILE *null;
	struct words b = random_file();
	int fd = memfd_create("fuzz", MFD_CLOEXEC), err;
	struct fxt_check *c = fxt_check_new(rnd_chance(50) ? 0 : 1 + rnd_below(40));
	struct fxt_record rec;
	struct fxt_reader *r;
	char path[32];

	if (!null)
		null = fopen("/dev/null", "w");
	fuzz_spoil(&b);
	fuzz_assert(write(fd, b.w, b.nr * 8 - rnd_below(9)) > 0);
	words_free(&b);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = fxt_open(path, &err);
	fuzz_assert(r);
	fxt_on_breach(r, ignore, NULL);
	while (next(r, &rec) > 0) {
		fxt_print_record(null, &rec);
		fxt_print_record_json(null, &rec, true);
	}
	fxt_close(r);
	r = fxt_open(path, &err);
	fuzz_assert(r);
	fuzz_assert(fxt_check_all(c, r) == 0);
	fxt_close(r);
	fxt_check_free(c);
	close(fd);
}

int main(int argc, char **argv)
{
	return fuzz_main(argc, argv, one_round);
}
