// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The HTTP header "traceparent": W3C Trace Context, level 2, section 3.2
 *
 *	00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include <asynctrace/operation.h>

#include "internal.h"
#include "sys.h"

/* Offsets and lengths of the fields. */
#define AT_VERSION	0
#define AT_TRACE	3
#define AT_TRACE_LEN	32
#define AT_PARENT	36
#define AT_PARENT_LEN	16
#define AT_FLAGS	53

#define AT_FLAGS_KNOWN	(ASYNCTRACE_TRACEPARENT_SAMPLED | ASYNCTRACE_TRACEPARENT_RANDOM)

static const char digits[] = "0123456789abcdef";

/* Returns the value of a lower-case hexadecimal digit, or -1. */
static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/*
 * Reads a number of @n hexadecimal digits. Only the last 16 count. Returns false if a character
 * is no digit.
 */
static bool parse_hex(const char *s, unsigned int n, uint64_t *value)
{
	*value = 0;
	for (unsigned int i = 0; i < n; i++) {
		const int digit = hex_value(s[i]);

		if (digit < 0)
			return false;
		*value = *value << 4 | digit;
	}
	return true;
}

static void put_number(char *s, unsigned int n, uint64_t value)
{
	while (n--) {
		s[n] = digits[value & 0xf];
		value >>= 4;
	}
}

static bool valid_trace_id(const char *s)
{
	uint64_t high, low;

	return parse_hex(s, 16, &high) && parse_hex(s + 16, 16, &low) && (high || low);
}

AT_PUBLIC int at_traceparent_parse(struct at_traceparent *t, const char *value, size_t bytes)
{
	uint64_t version, parent, flags;

	if (bytes < ASYNCTRACE_TRACEPARENT_BYTES || !parse_hex(value + AT_VERSION, 2, &version) ||
	    version == 0xff || value[AT_TRACE - 1] != '-' || !valid_trace_id(value + AT_TRACE) ||
	    value[AT_PARENT - 1] != '-' || !parse_hex(value + AT_PARENT, AT_PARENT_LEN, &parent) ||
	    !parent || value[AT_FLAGS - 1] != '-' || !parse_hex(value + AT_FLAGS, 2, &flags))
		return -EINVAL;
	/* Later versions may have more fields. */
	if (bytes > ASYNCTRACE_TRACEPARENT_BYTES &&
	    (!version || value[ASYNCTRACE_TRACEPARENT_BYTES] != '-'))
		return -EINVAL;
	memcpy(t->trace_id, value + AT_TRACE, AT_TRACE_LEN);
	t->trace_id[AT_TRACE_LEN] = '\0';
	/* Of later versions, only the bit "sampled" is known. */
	t->flags = flags & (version ? ASYNCTRACE_TRACEPARENT_SAMPLED : AT_FLAGS_KNOWN);
	t->operation = parent;
	return 0;
}

AT_PUBLIC int at_traceparent_format(const struct at_traceparent *t,
				    char value[ASYNCTRACE_TRACEPARENT_BYTES + 1])
{
	if (!t->operation || !valid_trace_id(t->trace_id))
		return -EINVAL;
	memcpy(value, "00-", 3);
	memcpy(value + AT_TRACE, t->trace_id, AT_TRACE_LEN);
	value[AT_PARENT - 1] = '-';
	put_number(value + AT_PARENT, AT_PARENT_LEN, t->operation);
	value[AT_FLAGS - 1] = '-';
	/* The other bits of version 00 are reserved, and must be 0. */
	put_number(value + AT_FLAGS, 2, t->flags & AT_FLAGS_KNOWN);
	value[ASYNCTRACE_TRACEPARENT_BYTES] = '\0';
	return 0;
}

/* The finalizer of SplitMix64 (Steele, Lea, Flood 2014), which is a bijection. */
static uint64_t mix_bits(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/*
 * Returns a random number of this process, not 0. A forked child keeps the number that its parent
 * drew before the fork(2).
 */
static uint64_t seed(void)
{
	static uint64_t drawn;
	const int saved = errno;
	uint64_t seed = __atomic_load_n(&drawn, __ATOMIC_RELAXED), old = 0;

	if (likely(seed))
		return seed;
	if (at_sys_getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed)) {
		struct timespec ts;

		clock_gettime(CLOCK_REALTIME, &ts);
		seed = mix_bits(ts.tv_sec * 1000000000ULL + ts.tv_nsec) ^ (uint64_t)at_salt() << 20;
	}
	errno = saved;
	seed |= !seed;
	return __atomic_compare_exchange_n(&drawn, &old, seed, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED) ? seed : old;
}

AT_PUBLIC void at_traceparent_new(struct at_traceparent *t, uint64_t operation)
{
	const uint64_t s = seed();

	/*
	 * A trace id of 0 is invalid. Each half is 0 for exactly one operation, so both are 0 for
	 * at most one operation, and only with very few seeds.
	 */
	put_number(t->trace_id, 16, mix_bits(s ^ operation));
	put_number(t->trace_id + 16, 16, mix_bits(s + mix_bits(operation)));
	t->trace_id[AT_TRACE_LEN] = '\0';
	t->flags = ASYNCTRACE_TRACEPARENT_SAMPLED;
	t->operation = operation;
}
