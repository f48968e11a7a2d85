// SPDX-License-Identifier: GPL-2.0
/*
 * Salts of operation ids: a process gets the salt that it proposes, unless another process has this
 * salt, or had it before.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "ktap.h"
#include "limit.h"
#include "raw.h"

#define STRIDE		(64 * 1024)
/* Number of attempts to get a salt while the kernel may be freeing the provider that had it */
#define SALT_TRIES	50

static int opened(void)
{
	int fd = raw_open();

	NEED(fd >= 0);
	return fd;
}

/* Says hello, registers, and returns the salt in the control page. */
static int salt_of(int fd, uint32_t wanted)
{
	struct asynctrace_hello h = {
		.size = sizeof(h), .abi = ASYNCTRACE_ABI_VERSION, .salt = wanted,
	};
	const struct asynctrace_control *c;
	int salt;

	NEED(!raw_ioctl(fd, ASYNCTRACE_IOC_HELLO, &h));
	NEED(raw_register(fd, "salt", STRIDE) > 0);
	c = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	NEED(c != MAP_FAILED);
	salt = c->salt;
	munmap((void *)c, 4096);
	return salt;
}

static void salt_proposed_is_granted(void)
{
	int first = opened(), second = opened(), third = opened();
	uint32_t any = salt_of(first, 0);

	EXPECT(any && any < 1 << 20);
	/*
	 * A salt in use is granted again: a process that registers anew proposes its old salt, and
	 * a session may still read the process's first provider.
	 */
	EXPECT_IS(salt_of(second, any), any);
	EXPECT_IS(salt_of(third, 0xabcde), 0xabcde);
	close(first);
	close(second);
	close(third);
}

static int salt_in_child(void *arg)
{
	int fd = raw_open(), salt = salt_of(fd, *(uint32_t *)arg);

	return !salt ? 2 : salt == (int)*(uint32_t *)arg;
}

static void salt_of_other_process_is_not_granted(void)
{
	int fd = opened();
	uint32_t salt = salt_of(fd, 0xabcde);

	EXPECT_IS(salt, 0xabcde);
	EXPECT_IS(raw_child(salt_in_child, &salt, -1), 0);
	close(fd);
	/* The process can register again with its salt, so no other process gets the salt. */
	for (int i = 0; i < SALT_TRIES; i++) {
		EXPECT_IS(raw_child(salt_in_child, &salt, -1), 0);
		usleep(2000);
	}
	fd = opened();
	EXPECT_IS(salt_of(fd, salt), (int)salt);
	close(fd);
}

/* Returns 0 if the process gets the salt. */
static int take_salt(void *arg)
{
	const uint32_t salt = *(uint32_t *)arg;
	int fd = raw_open();

	return salt_of(fd, salt) != (int)salt;
}

/* The kernel frees a provider some time after its process has ended. */
static void I5_salt_of_ended_process_is_not_granted(void)
{
	uint32_t salt = 0xabcdf;

	EXPECT_IS(raw_child(take_salt, &salt, -1), 0);
	for (int i = 0; i < SALT_TRIES; i++) {
		EXPECT_IS(raw_child(salt_in_child, &salt, -1), 0);
		usleep(2000);
	}
}

/* Returns how many of the 20 salts that a process had are kept for it. @arg: the first salt. */
static int propose_many_salts(void *arg)
{
	const int first = *(int *)arg;
	int granted = 0, fd;

	for (int i = 0; i < 20; i++) {
		fd = raw_open();
		if (salt_of(fd, first + i) != first + i)
			return 255;
		close(fd);
		/*
		 * Wait until the kernel has freed the provider, so that the salts are kept in this
		 * order.
		 */
		usleep(20000);
	}
	/*
	 * Propose the newest salt first. If a salt is not granted, the process gets another salt,
	 * which would displace one of the last 8.
	 */
	for (int i = 19; i >= 0; i--) {
		fd = raw_open();
		granted += salt_of(fd, first + i) == first + i;
		close(fd);
		usleep(20000);
	}
	return granted;
}

static void process_keeps_a_few_salts(void)
{
	EXPECT_IS(raw_child(propose_many_salts, (int[]){ 0xb0000 }, -1), 8);
}

/*
 * A knob of the module lowers the number of salts that are kept for all processes of a user. Root
 * has no such limit.
 */
static void I19_user_keeps_a_limited_number_of_salts(void)
{
	const int few = limit_lower(LIMIT_KEPT, 0, 4);

	if (!few)
		return;
	EXPECT_IS(raw_child(propose_many_salts, (int[]){ 0xc0000 }, 1234), few);
	EXPECT_IS(raw_child(propose_many_salts, (int[]){ 0xd0000 }, -1), 8);
	limit_restore(LIMIT_KEPT);
}

/* A knob of the module lowers the number of salts that must end before a salt is given again. */
static void salt_is_given_again_after_many(void)
{
	const int few = limit_lower(LIMIT_SALTS, 0, 8);
	uint32_t salt = 0xabce0, any = 0;

	if (!few)
		return;
	EXPECT_IS(raw_child(take_salt, &salt, -1), 0);
	for (int i = 0; i < few; i++) {
		EXPECT_IS(raw_child(salt_in_child, &salt, -1), 0);
		usleep(20000);
	}
	for (int i = 0; i < 4 * few; i++) {
		raw_child(salt_in_child, &any, -1);
		usleep(20000);
	}
	EXPECT_IS(raw_child(take_salt, &salt, -1), 0);
	limit_restore(LIMIT_SALTS);
}

static void salt_beyond_20_bits_is_not_granted(void)
{
	int fd = opened();

	EXPECT(salt_of(fd, 1 << 20) < 1 << 20);
	close(fd);
}

static const struct ktap_test tests[] = {
	KTAP_TEST(salt_proposed_is_granted),
	KTAP_TEST(salt_of_other_process_is_not_granted),
	KTAP_TEST(I5_salt_of_ended_process_is_not_granted),
	KTAP_TEST(process_keeps_a_few_salts),
	KTAP_TEST(I19_user_keeps_a_limited_number_of_salts),
	KTAP_TEST(salt_is_given_again_after_many),
	KTAP_TEST(salt_beyond_20_bits_is_not_granted),
};

KTAP_MAIN(tests)
