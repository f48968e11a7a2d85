// SPDX-License-Identifier: GPL-2.0
/*
 * Events whose arguments together are as large as a record can be, or larger
 *
 * The size of a record has 12 bits. Texts that do not fit are cut, the events before and after
 * them are whole, and the file is valid.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <asynctrace/inprocess.h>
#include <asynctrace/trace.h>

#include "flown.h"
#include "tape.h"

#define TEXTS	ASYNCTRACE_FXT_ARGS_MAX
#define LONGEST	ASYNCTRACE_FXT_STRING_MAX
#define LIMIT	ASYNCTRACE_FXT_WORDS_MAX
#define CASES	128
#define NR_KINDS	(sizeof(kinds) / sizeof(kinds[0]))

/* --- large events ------------------------------------------------------------------------ */

static char *letters;		/* more than the longest text */
static bool not_utf8;		/* some bytes of @letters are not UTF-8 */
static const char blob[LONGEST];

#define TEXT(i)		TA_CHAR_ARRAY(letters, l[i])
#define TEXTS_14	"0", TEXT(0), "1", TEXT(1), "2", TEXT(2), "3", TEXT(3), "4", TEXT(4), \
			"5", TEXT(5), "6", TEXT(6), "7", TEXT(7), "8", TEXT(8), "9", TEXT(9), \
			"10", TEXT(10), "11", TEXT(11), "12", TEXT(12), "13", TEXT(13)
#define TEXTS_15	TEXTS_14, "14", TEXT(14)

static void instant(const unsigned int *l)
{
	TRACE_INSTANT("largest", "instant", TRACE_SCOPE_THREAD, TEXTS_15);
}

static void async(const unsigned int *l)
{
	TRACE_ASYNC_INSTANT("largest", "async", 7, TEXTS_15);
}

static void named(const unsigned int *l)
{
	TRACE_DECLARE_ARGS(0, args, TEXTS_15);
	ASYNCTRACE_EVENT(ASYNCTRACE_FXT_INSTANT, "largest", "named", 0, args, TRACE_NUM_ARGS(args));
}

static void on_virtual_thread(const unsigned int *l)
{
	TRACE_VTHREAD_DURATION_BEGIN("largest", "virtual", "thread", 1, at_ticks(), TEXTS_15);
	TRACE_VTHREAD_DURATION_END("largest", "virtual", "thread", 1, at_ticks());
}

static void with_blob(const unsigned int *l)
{
	TRACE_BLOB_EVENT("largest", "blob", blob, sizeof(blob), TEXTS_15);
}

static void of_thread(const unsigned int *l)
{
	TRACE_KERNEL_OBJECT(pthread_self(), TEXTS_14);
}

/*
 * @write: writes one event with texts of these lengths, and @more small ones
 * @nr: number of texts
 * @first: words of the record in the ring besides the arguments
 * @key: words of an argument's name, if the record has it
 * @fewer: by how many words the record of the file is shorter, if its thread is in the thread table
 * @less: by how many words the largest record is smaller than LIMIT
 */
static const struct kind {
	void (*write)(const unsigned int *l);
	unsigned int nr, first, key, fewer, less, more;
} kinds[] = {
	{ instant, TEXTS, 3, 0, 1, 0, 0 },
	{ async, TEXTS, 4, 0, 1, 0, 0 },
	{ named, TEXTS, 4, 1, 1, 0, 0 },
	{ on_virtual_thread, TEXTS, 7, 0, 5, 0, 1 },
	{ with_blob, TEXTS, 5 + LONGEST / 8, 0, 1, 0, 0 },
	{ of_thread, TEXTS - 1, 7, 0, 0, 48, 0 },
};

static struct large {
	const struct kind *kind;
	unsigned int l[TEXTS];
} cases[CASES];
static unsigned int nr_cases;

/* Adds the kind's event with texts of @words words, of which the last lacks @less bytes. */
static void add_words(const struct kind *k, unsigned int words, unsigned int less)
{
	struct large *c = &cases[nr_cases++];
	const unsigned int share = words / k->nr;

	c->kind = k;
	for (unsigned int i = 0; i < k->nr; i++)
		c->l[i] = 8 * share;
	c->l[k->nr - 1] = 8 * (words - share * (k->nr - 1)) - less;
}

/* Adds the kind's event with texts of @bytes bytes: those from @from to @to. */
static void add_bytes(const struct kind *k, unsigned int bytes, unsigned int from, unsigned int to)
{
	struct large *c = &cases[nr_cases++];

	*c = (struct large){ .kind = k };
	for (unsigned int i = from; i < to; i++)
		c->l[i] = bytes;
}

static void write_letters(void)
{
	for (int i = 0; i <= LONGEST; i++)
		letters[i] = 'a' + i % 23;
}

/* --- the file ---------------------------------------------------------------------------- */

static bool is_large(const uint64_t *w)
{
	switch (ASYNCTRACE_FXT_TYPE(*w)) {
	case ASYNCTRACE_FXT_EVENT:
		return (*w >> 20 & 0xf) == TEXTS;
	case ASYNCTRACE_FXT_KERNELOBJ:
		return (*w >> 40 & 0xf) == TEXTS;
	default:
		return ASYNCTRACE_FXT_TYPE(*w) == ASYNCTRACE_FXT_LARGE;
	}
}

static unsigned int inline_words(uint64_t ref)
{
	return ref & ASYNCTRACE_FXT_INLINE ? ASYNCTRACE_FXT_TEXT_WORDS(ref & 0x7fff) : 0;
}

/* Returns the first argument. *@table: is the event's thread in the thread table? */
static const uint64_t *arguments(const uint64_t *w, bool *table)
{
	*table = true;
	switch (ASYNCTRACE_FXT_TYPE(*w)) {
	case ASYNCTRACE_FXT_EVENT:
		*table = *w >> 24 & 0xff;
		return w + 2 + inline_words(*w >> 32) + inline_words(*w >> 48) + (*table ? 0 : 2);
	case ASYNCTRACE_FXT_LARGE:
		*table = w[1] >> 36 & 0xff;
		return w + 3 + (*table ? 0 : 2);
	default:
		/* The first argument names the process. */
		w += 2 + inline_words(*w >> 24);
		return w + ASYNCTRACE_FXT_WORDS(*w);
	}
}

/* Are the @len bytes those of @letters, with U+FFFD in place of each byte that is not UTF-8? */
static bool is_repaired(const char *text, unsigned int len)
{
	unsigned int n = 0, i = 0;

	for (; n < len; i++) {
		if (!(letters[i] & 0x80) && text[n++] != letters[i])
			return false;
		if (!(letters[i] & 0x80))
			continue;
		if (len - n < 3 || memcmp(text + n, "\xef\xbf\xbd", 3))
			return false;
		n += 3;
	}
	return true;
}

static void check_case(const struct large *c, const uint64_t *w)
{
	const struct kind *k = c->kind;
	unsigned int words = k->first + k->nr, room = 8 * (LIMIT - k->less - words), want;
	const unsigned int nr = c - cases;
	const uint64_t *at, *text;
	unsigned int len;
	bool table;

	at = arguments(w, &table);
	for (unsigned int i = 0; i < k->nr; i++, at += ASYNCTRACE_FXT_WORDS(*at)) {
		if (room && k->key) {
			words++;
			room -= 8;
		}
		want = c->l[i] < LONGEST ? c->l[i] : LONGEST;
		want = want < room ? want : room;
		room -= 8 * ASYNCTRACE_FXT_TEXT_WORDS(want);
		words += ASYNCTRACE_FXT_TEXT_WORDS(want);
		text = at + 1 + inline_words(*at >> 16);
		len = *at >> 32 & 0x7fff;
		check((*at & 0xf) == ASYNCTRACE_FXT_ARG_STRING &&
		      (not_utf8 ? len + 3 > want && len <= LONGEST : len == want) &&
		      is_repaired((const char *)text, len),
		      "case %u, text %u: %u bytes, not %u", nr, i, len, want);
	}
	words -= k->fewer;
	words += table ? 0 : 2;
	check(not_utf8 ? ASYNCTRACE_FXT_WORDS(*w) >= words : ASYNCTRACE_FXT_WORDS(*w) == words,
	      "case %u: %u words, not %u", nr, ASYNCTRACE_FXT_WORDS(*w), words);
}

static void check_cases(int fd)
{
	const uint64_t *words, *w;
	unsigned int nr = 0;
	struct stat st;

	check(!fstat(fd, &st));
	words = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	for (w = words; w < words + st.st_size / 8; w += ASYNCTRACE_FXT_WORDS(*w)) {
		if (!is_large(w))
			continue;
		if (nr < nr_cases)
			check_case(&cases[nr], w);
		nr++;
	}
	check(nr == nr_cases, "%u in the file, not %u", nr, nr_cases);
	munmap((void *)words, st.st_size);
}

/* Writes the events, each between two small ones, and checks the file. */
static void run(void)
{
	const struct at_trace_options o = { .size = sizeof(o), .ring_size = 16 << 20,
					    .mode = ASYNCTRACE_MODE_ONESHOT };
	const int fd = memfd_create("largest", MFD_CLOEXEC);
	struct at_trace_result r = { .size = sizeof(r) };
	unsigned int more = 2, number = 0;
	struct flown f;

	check(!at_trace_start(fd, &o));
	TRACE_ASYNC_BEGIN("largest", "async", 7);
	for (unsigned int i = 0; i < nr_cases; i++) {
		flown_write(0, number++);
		cases[i].kind->write(cases[i].l);
		more += 1 + cases[i].kind->more;
	}
	flown_write(0, number++);
	TRACE_ASYNC_END("largest", "async", 7);
	check(!at_trace_stop(&r));
	check(r.delivered == number + more && !r.dropped && !r.overwritten && !r.error,
	      "%llu delivered, %llu dropped", (unsigned long long)r.delivered,
	      (unsigned long long)r.dropped);
	flown_read(fd, &f);
	check(!f.broken && flown_whole(&f, 0) && f.events == number, "%llu of %u small events",
	      (unsigned long long)f.events, number);
	check(flown_valid(fd));
	check_cases(fd);
	close(fd);
	nr_cases = 0;
}

/* --- tests ------------------------------------------------------------------------------- */

/* One word below the limit, at it, and one and two words above it */
static void at_the_limit(void)
{
	for (unsigned int i = 0; i < NR_KINDS; i++) {
		const struct kind *k = &kinds[i];
		const unsigned int room = LIMIT - k->less - k->first - (1 + k->key) * k->nr;

		for (unsigned int words = room - 1; words <= room + 2; words++) {
			add_words(k, words, 0);
			add_words(k, words, 7);
		}
	}
	run();
	done("texts_above_4095_words_are_cut");
}

static void longest_texts(void)
{
	for (unsigned int i = 0; i < NR_KINDS; i++) {
		for (unsigned int bytes = LONGEST - 1; bytes <= LONGEST + 1; bytes++) {
			add_bytes(&kinds[i], bytes, i, i + 1);
			add_bytes(&kinds[i], bytes, i, i + 2);
			add_bytes(&kinds[i], bytes, 0, kinds[i].nr);
		}
	}
	run();
	done("texts_above_32000_bytes_are_cut");
}

/* U+FFFD has three bytes, so texts that are not UTF-8 are longer in the file than in the ring. */
static void repaired_texts(void)
{
	static const unsigned int bytes[] = { 1, 2000, 10666, 10667, LONGEST };

	not_utf8 = true;
	memset(letters, 0xff, LONGEST);
	for (unsigned int i = 0; i < NR_KINDS; i++) {
		for (unsigned int b = 0; b < 5; b++) {
			add_bytes(&kinds[i], bytes[b], i, i + 1);
			add_bytes(&kinds[i], bytes[b], 0, kinds[i].nr);
		}
	}
	run();
	/* One wrong byte is enough if the text has the largest length. */
	write_letters();
	letters[LONGEST - 1] = 0xff;
	for (unsigned int i = 0; i < NR_KINDS; i++)
		add_bytes(&kinds[i], LONGEST, 0, 2);
	run();
	done("texts_that_repairing_lengthens_are_cut");
}

int main(void)
{
	letters = malloc(LONGEST + 1);
	write_letters();
	pin(nth_cpu(0));
	at_the_limit();
	longest_texts();
	repaired_texts();
	free(letters);
	return finish();
}

