// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Names: written once into the durable ring, then referred to by index
 *
 * Nothing here waits. If the lock is busy (in another thread, or in the code that a signal
 * handler interrupted), the record carries its names inline, and the site tries again next time. If
 * there is no room, the site's records carry their names inline until all names become invalid.
 *
 * The texts in the durable ring are copied and compared word by word. The thread sanitizer of a
 * program intercepts memcpy() and memcmp(), but does not see the lock in this library, because the
 * library is built without it. So it would report races that do not exist.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

/* Entries of the hash table. The durable ring has room for about 10,000 names. */
#define AT_NAMES_SLOTS	16384u

/*
 * Refers to the name in the durable ring, not to the original, which may be in a plug-in that was
 * unloaded. Valid only if @id equals the table's.
 */
struct entry {
	uint32_t id;
	uint32_t hash;
	uint32_t word;		/* index of the string record in the ring's data */
};

static struct {
	uint32_t lock;
	uint32_t id;		/* changes when all entries become invalid */
	uint32_t epoch;
	uint32_t generation;
	uint32_t count;
	uint32_t refused;
	struct entry entries[AT_NAMES_SLOTS];
} names;

static uint32_t hash_of(const char *s, size_t bytes)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < bytes; i++)
		h = (h ^ (unsigned char)s[i]) * 16777619u;
	return h;
}

static char *durable_ring(void)
{
	return at_rw() + at_control()->durable;
}

static const uint64_t *durable_data(void)
{
	return (const uint64_t *)(durable_ring() + ASYNCTRACE_LINE);
}

/* Returns word @i of a text of @bytes bytes. Zeros follow the last byte. */
static uint64_t text_word(const char *s, size_t bytes, size_t i)
{
	const size_t rest = bytes - 8 * i;
	uint64_t w = 0;

	if (rest >= 8)
		memcpy(&w, s + 8 * i, 8);
	else
		for (size_t k = 0; k < rest; k++)
			w |= (uint64_t)(unsigned char)s[8 * i + k] << 8 * k;
	return w;
}

static void store_text(uint64_t *to, const char *s, size_t bytes)
{
	/* Atomic stores: the compiler must not make a call of memcpy() of the loop. */
	for (size_t i = 0; i < ASYNCTRACE_FXT_TEXT_WORDS(bytes); i++)
		__atomic_store_n(&to[i], text_word(s, bytes, i), __ATOMIC_RELAXED);
}

static bool is_text(const uint64_t *w, const char *s, size_t bytes)
{
	for (size_t i = 0; i < ASYNCTRACE_FXT_TEXT_WORDS(bytes); i++)
		if (__atomic_load_n(&w[i], __ATOMIC_RELAXED) != text_word(s, bytes, i))
			return false;
	return true;
}

static struct entry *find_entry(const char *s, size_t bytes, uint32_t hash, bool *known)
{
	const uint64_t *data = durable_data();

	for (uint32_t i = 0; i < AT_NAMES_SLOTS; i++) {
		struct entry *e = &names.entries[(hash + i) % AT_NAMES_SLOTS];

		*known = e->id == names.id;
		if (!*known)
			return e;
		if (e->hash == hash && data[e->word] >> 32 == bytes &&
		    is_text(&data[e->word + 1], s, bytes))
			return e;
	}
	return NULL;
}

/*
 * Reads the names in the durable ring again after a new registration, a cleared ring, or an
 * in-process trace.
 */
static void catch_up(void)
{
	const uint32_t generation = at_control()->durable_generation;
	const struct asynctrace_ring_header *line = (const void *)durable_ring();
	const uint64_t *data = durable_data();
	uint64_t pos, at = 0;

	if (names.id && names.epoch == at_epoch() && names.generation == generation)
		return;
	/* Paired with the load-acquires in is_done(): no site of the old names is done any more. */
	__atomic_store_n(&names.id, names.id + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&names.epoch, at_epoch(), __ATOMIC_RELEASE);
	__atomic_store_n(&names.generation, generation, __ATOMIC_RELEASE);
	names.count = 0;
	names.refused = 0;
	pos = __atomic_load_n(&line->position, __ATOMIC_ACQUIRE);
	if (pos >> ASYNCTRACE_DURABLE_GEN_SHIFT != generation)
		return;
	while (at < (uint32_t)pos && at < at_control()->durable_words) {
		const char *s = (const char *)&data[at + 1];
		const size_t bytes = data[at] >> 32;
		struct entry *e;
		bool known;

		/* The ring is damaged: use no names, and add none. */
		if (ASYNCTRACE_FXT_TYPE(data[at]) != ASYNCTRACE_FXT_STRING ||
		    ASYNCTRACE_FXT_WORDS(data[at]) != 1 + ASYNCTRACE_FXT_TEXT_WORDS(bytes)) {
			names.count = ASYNCTRACE_FXT_INDEX_MAX;
			return;
		}
		e = find_entry(s, bytes, hash_of(s, bytes), &known);
		if (e && !known)
			*e = (struct entry){ names.id, hash_of(s, bytes), at };
		names.count++;
		at += ASYNCTRACE_FXT_WORDS(data[at]);
	}
}

static int append_string(const char *s, size_t bytes, uint32_t *word)
{
	struct asynctrace_ring_header *line = (struct asynctrace_ring_header *)durable_ring();
	uint64_t *data = (uint64_t *)durable_data();
	const uint64_t need = 1 + ASYNCTRACE_FXT_TEXT_WORDS(bytes);
	__u64 pos = __atomic_load_n(&line->position, __ATOMIC_RELAXED);
	const uint64_t at = (uint32_t)pos;

	if (pos >> ASYNCTRACE_DURABLE_GEN_SHIFT != names.generation)
		return -ESTALE;
	if (names.count >= ASYNCTRACE_FXT_INDEX_MAX || bytes > ASYNCTRACE_FXT_STRING_MAX ||
	    at + need > at_control()->durable_words)
		return -ENOSPC;
	data[at] = ASYNCTRACE_FXT_STRING_HEAD(names.count + 1, bytes);
	store_text(&data[at + 1], s, bytes);
	/*
	 * If the page could not be allocated, the kernel has lowered durable_words, and the name
	 * is lost.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (at + need > at_control()->durable_words)
		return -ENOSPC;
	if (!__atomic_compare_exchange_n(&line->position, &pos, pos + need, false,
					 __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return -ESTALE;
	names.count++;
	*word = at;
	return 0;
}

/* Returns the index of a name, 0 for the empty name, or a negative errno. */
static int intern_string(const char *s)
{
	const size_t bytes = strlen(s);
	const uint32_t hash = hash_of(s, bytes);
	struct entry *e;
	uint32_t word;
	bool known;
	int err;

	if (!bytes)
		return 0;
	e = find_entry(s, bytes, hash, &known);
	if (!e)
		return -ENOSPC;
	if (known)
		return durable_data()[e->word] >> 16 & ASYNCTRACE_FXT_INDEX_MAX;
	err = append_string(s, bytes, &word);
	if (err)
		return err;
	*e = (struct entry){ names.id, hash, word };
	return names.count;
}

static int site_names(struct at_site_ *site)
{
	uint64_t refs[ASYNCTRACE_FXT_ARGS_MAX];
	int category, name, key;

	catch_up();
	if (site->durable == names.id)
		return site->head ? 0 : -ENOSPC;
	category = intern_string(site->category ?: "");
	if (category < 0)
		return category;
	name = intern_string(site->name);
	if (name < 0)
		return name;
	for (uint32_t i = 0; i < site->nkeys; i++) {
		key = intern_string(site->keys[i]);
		if (key < 0)
			return key;
		refs[i] = (uint64_t)key << 16;
	}
	for (uint32_t i = 0; i < site->nkeys; i++)
		__atomic_store_n(&site->refs[i], refs[i], __ATOMIC_RELAXED);
	__atomic_store_n(&site->head, (uint64_t)category << 32 | (uint64_t)name << 48,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&site->durable, names.id, __ATOMIC_RELEASE);
	return 0;
}

/* Has the site been here since the names were read? If so, its head tells the result: see below. */
static bool is_done(const struct at_site_ *site)
{
	uint32_t id;

	/* Pair with the store-releases in catch_up(): @id is read after them. */
	if (__atomic_load_n(&names.epoch, __ATOMIC_ACQUIRE) != at_epoch() ||
	    __atomic_load_n(&names.generation, __ATOMIC_ACQUIRE) !=
	    at_control()->durable_generation)
		return false;
	id = __atomic_load_n(&names.id, __ATOMIC_RELAXED);
	/* Pairs with the store-releases of @durable, so that @head and @refs are those of @id. */
	return id && __atomic_load_n(&site->durable, __ATOMIC_ACQUIRE) == id;
}

int at_site_names(struct at_site_ *site)
{
	uint64_t signals;
	int err;

	/*
	 * Save the system calls if possible: each site comes here in each run, a refused site with
	 * each record, and so does each site while the lock is busy.
	 */
	if (is_done(site))
		return __atomic_load_n(&site->head, __ATOMIC_RELAXED) ? 0 : -ENOSPC;
	if (__atomic_load_n(&names.lock, __ATOMIC_RELAXED))
		return -EAGAIN;
	/* A signal handler that left by siglongjmp(3) would leave the lock held. */
	at_signals_block(&signals);
	if (__atomic_exchange_n(&names.lock, 1, __ATOMIC_ACQUIRE)) {
		at_signals_restore(&signals);
		return -EAGAIN;
	}
	err = site_names(site);
	if (err == -ENOSPC && site->durable != names.id) {
		/*
		 * The ring stays full until all names become invalid. Head 0 tells the site to
		 * write its names inline until then.
		 */
		names.refused++;
		__atomic_store_n(&site->head, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&site->durable, names.id, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&names.lock, 0, __ATOMIC_RELEASE);
	at_signals_restore(&signals);
	return err;
}

void at_names_count(uint32_t *count, uint32_t *refused)
{
	*count = names.count;
	*refused = names.refused;
}

void at_names_forked(void)
{
	names.lock = 0;
}
