// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctls of the device with each argument wrong: the errno is the documented one, and nothing
 * has changed
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ktap.h"
#include "limit.h"
#include "raw.h"

#define BAD_ADDRESS	((void *)8)
#define STRIDE		(64 * 1024)

static int opened(void)
{
	int fd = raw_open();

	NEED(fd >= 0);
	return fd;
}

static void unknown_ioctls_are_refused(void)
{
	int fd = opened();

	EXPECT_IS(raw_ioctl(fd, _IO(ASYNCTRACE_IOC_MAGIC, 6), NULL), -ENOTTY);
	EXPECT_IS(raw_ioctl(fd, _IO('x', 0), NULL), -ENOTTY);
	/* The module compares the command's number, not the size in the request code. */
	EXPECT_IS(raw_ioctl(fd, _IOWR(ASYNCTRACE_IOC_MAGIC, 0, __u32), BAD_ADDRESS), -EFAULT);
	close(fd);
}

static void bad_addresses_are_refused(void)
{
	int fd = opened();

	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_HELLO, BAD_ADDRESS), -EFAULT);
	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_REGISTER, BAD_ADDRESS), -EFAULT);
	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_CONSUME, BAD_ADDRESS), -EFAULT);
	close(fd);
}

static void hello_tells_the_abi(void)
{
	struct asynctrace_hello h = { .size = sizeof(h), .abi = ASYNCTRACE_ABI_VERSION + 1 };
	int fd = opened();

	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_HELLO, &h), -EPROTO);
	EXPECT_IS(h.abi, ASYNCTRACE_ABI_VERSION);
	EXPECT_IS(h.cookie, 0);
	/* The first version of the structure ended with the cookie. */
	h = (struct asynctrace_hello){ .size = 15, .abi = ASYNCTRACE_ABI_VERSION };
	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_HELLO, &h), -EINVAL);
	h.size = 0;
	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_HELLO, &h), -EINVAL);
	close(fd);
}

static void cookie_stays_with_its_descriptor(void)
{
	int fd = opened(), other = opened();
	uint64_t first, again, others;

	EXPECT_IS(raw_hello(fd, &first), 0);
	EXPECT_IS(raw_hello(fd, &again), 0);
	EXPECT_IS(raw_hello(other, &others), 0);
	EXPECT(first && first == again && others && first != others);
	close(fd);
	close(other);
}

static int child_hello(void *arg)
{
	uint64_t cookie;

	return -raw_hello(*(int *)arg, &cookie);
}

static int child_register(void *arg)
{
	return -raw_register(*(int *)arg, "child", STRIDE);
}

static int child_thread(void *arg)
{
	return -raw_ioctl(*(int *)arg, ASYNCTRACE_IOC_THREAD, NULL);
}

static void descriptor_belongs_to_hello_process(void)
{
	int fd = opened();

	EXPECT_IS(raw_hello(fd, NULL), 0);
	EXPECT_IS(raw_child(child_hello, &fd, -1), EPERM);
	EXPECT_IS(raw_child(child_register, &fd, -1), EPERM);
	EXPECT(raw_register(fd, "parent", STRIDE) > 0);
	EXPECT_IS(raw_child(child_thread, &fd, -1), EPERM);
	close(fd);
}

/* Sends REGISTER with the attributes of @put, and with a length changed by @more. */
static int register_with(void (*put)(struct nlmsghdr *nlh), int more)
{
	char buf[2048] __attribute__((aligned(8))) = { 0 };
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct asynctrace_attrs a = { .size = sizeof(a) };
	int fd = opened(), ret;

	put(nlh);
	a.attrs = (uintptr_t)mnl_nlmsg_get_payload(nlh);
	a.len = mnl_nlmsg_get_payload_len(nlh) + more;
	ret = raw_ioctl(fd, ASYNCTRACE_IOC_REGISTER, &a);
	close(fd);
	return ret;
}

#define NAME(nlh, text)	mnl_attr_put_strz(nlh, ASYNCTRACE_A_PROVIDER_NAME, text)
#define SIZE(nlh, n)	mnl_attr_put_u64(nlh, ASYNCTRACE_A_PROVIDER_RING_STRIDE, n)

static const char longest[] = "1234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890";

static void good(struct nlmsghdr *nlh) { NAME(nlh, longest); SIZE(nlh, ASYNCTRACE_RING_MIN); }
static void nothing(struct nlmsghdr *nlh) { (void)nlh; }
static void no_name(struct nlmsghdr *nlh) { SIZE(nlh, STRIDE); }
static void no_stride(struct nlmsghdr *nlh) { NAME(nlh, "x"); }
static void empty_name(struct nlmsghdr *nlh) { NAME(nlh, ""); SIZE(nlh, STRIDE); }
static void uneven(struct nlmsghdr *nlh) { NAME(nlh, "x"); SIZE(nlh, 3 * STRIDE); }
static void small(struct nlmsghdr *nlh) { NAME(nlh, "x"); SIZE(nlh, ASYNCTRACE_RING_MIN / 2); }
static void large(struct nlmsghdr *nlh) { NAME(nlh, "x"); SIZE(nlh, ASYNCTRACE_RING_MAX * 2); }
static void zero(struct nlmsghdr *nlh) { NAME(nlh, "x"); SIZE(nlh, 0); }
static void cookie(struct nlmsghdr *nlh)
{
	good(nlh);
	mnl_attr_put_u64(nlh, ASYNCTRACE_A_PROVIDER_COOKIE, 1);
}
static void unknown(struct nlmsghdr *nlh) { good(nlh); mnl_attr_put_u32(nlh, 99, 1); }

static void long_name(struct nlmsghdr *nlh)
{
	char name[ASYNCTRACE_NAME_MAX + 2] = { 0 };

	memset(name, 'x', ASYNCTRACE_NAME_MAX + 1);
	NAME(nlh, name);
	SIZE(nlh, STRIDE);
}

static void unended_name(struct nlmsghdr *nlh)
{
	mnl_attr_put(nlh, ASYNCTRACE_A_PROVIDER_NAME, 4, "abcd");
	SIZE(nlh, STRIDE);
}

static void narrow_stride(struct nlmsghdr *nlh)
{
	NAME(nlh, "x");
	mnl_attr_put_u32(nlh, ASYNCTRACE_A_PROVIDER_RING_STRIDE, STRIDE);
}

static void overlong(struct nlmsghdr *nlh)
{
	struct nlattr *attr;

	good(nlh);
	/* The attribute claims to end behind the message. */
	attr = mnl_nlmsg_get_payload(nlh);
	attr->nla_len = 4000;
}

static void registrations_are_checked(void)
{
	EXPECT_IS(register_with(good, 0), 0);
	EXPECT_IS(register_with(nothing, 0), -EINVAL);
	EXPECT_IS(register_with(no_name, 0), -EINVAL);
	EXPECT_IS(register_with(no_stride, 0), -EINVAL);
	EXPECT_IS(register_with(empty_name, 0), -EINVAL);
	EXPECT_IS(register_with(long_name, 0), -EINVAL);
	EXPECT_IS(register_with(unended_name, 0), -EINVAL);
	EXPECT_IS(register_with(uneven, 0), -EINVAL);
	EXPECT_IS(register_with(small, 0), -ERANGE);
	EXPECT_IS(register_with(large, 0), -ERANGE);
	EXPECT_IS(register_with(zero, 0), -ERANGE);
	EXPECT_IS(register_with(narrow_stride, 0), -EINVAL);
	EXPECT_IS(register_with(cookie, 0), -EINVAL);
	EXPECT_IS(register_with(unknown, 0), -EINVAL);
	EXPECT_IS(register_with(overlong, 0), -EINVAL);
	EXPECT_IS(register_with(good, 1000), -EINVAL);	/* longer than any message may be */
	EXPECT_IS(register_with(good, -6), -EINVAL);	/* cut within an attribute */
}

static void the_frame_of_a_registration_is_checked(void)
{
	char buf[256] __attribute__((aligned(8))) = { 0 };
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct asynctrace_attrs a = { .size = sizeof(a) };
	int fd = opened();

	good(nlh);
	a.len = mnl_nlmsg_get_payload_len(nlh);
	a.attrs = 8;
	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_REGISTER, &a), -EFAULT);
	a.attrs = ~0ULL;
	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_REGISTER, &a), -EFAULT);
	a.attrs = (uintptr_t)mnl_nlmsg_get_payload(nlh);
	a.size = sizeof(a) - 1;
	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_REGISTER, &a), -EINVAL);
	a.size = sizeof(a);
	a.reserved = 1;
	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_REGISTER, &a), -EINVAL);
	a.reserved = 0;
	a.len = ~0U;
	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_REGISTER, &a), -EINVAL);
	/* The descriptor can still register. */
	a.len = mnl_nlmsg_get_payload_len(nlh);
	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_REGISTER, &a), 0);
	EXPECT(a.id > 0);
	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_REGISTER, &a), -EBUSY);
	close(fd);
}

/* Calls with an argument of another header version: @bytes bytes, which begin with @known. */
static int sized(int fd, unsigned long cmd, const void *known, size_t bytes, uint32_t size,
		 int tail)
{
	static char buf[8192] __attribute__((aligned(8)));

	memset(buf, 0, sizeof(buf));
	memcpy(buf, known, bytes);
	memcpy(buf, &size, sizeof(size));
	if (size > bytes && size <= sizeof(buf))
		buf[size - 1] = tail;
	return raw_ioctl(fd, cmd, buf);
}

/*
 * Calls with each size of the structure. Words that the module does not know must be 0. The other
 * calls return @as. @least: size of the structure's first version
 */
static void any_size(int fd, unsigned long cmd, const void *known, size_t bytes, size_t least,
		     int as)
{
	EXPECT_IS(sized(fd, cmd, known, bytes, 0, 0), -EINVAL);
	EXPECT_IS(sized(fd, cmd, known, bytes, least - 1, 0), -EINVAL);
	EXPECT_IS(sized(fd, cmd, known, bytes, least, 0), as);
	EXPECT_IS(sized(fd, cmd, known, bytes, bytes + 8, 1), -E2BIG);
	EXPECT_IS(sized(fd, cmd, known, bytes, 4096, 1), -E2BIG);
	EXPECT_IS(sized(fd, cmd, known, bytes, 4097, 0), -E2BIG);
	EXPECT_IS(sized(fd, cmd, known, bytes, ~0U, 0), -E2BIG);
	EXPECT_IS(sized(fd, cmd, known, bytes, bytes, 0), as);
	EXPECT_IS(sized(fd, cmd, known, bytes, bytes + 8, 0), as);
	EXPECT_IS(sized(fd, cmd, known, bytes, 4096, 0), as);
	/* The size in the request code is ignored. */
	cmd = _IOC(_IOC_DIR(cmd), _IOC_TYPE(cmd), _IOC_NR(cmd), bytes + 8);
	EXPECT_IS(sized(fd, cmd, known, bytes, bytes + 8, 0), as);
}

static void arguments_of_other_versions_work(void)
{
	const struct asynctrace_hello hello = { .abi = ASYNCTRACE_ABI_VERSION };
	const struct asynctrace_consume consume = { .session = 1U << 30 };
	const struct asynctrace_alert alert = { .name = "alert" };
	const struct asynctrace_attrs attrs = { .attrs = 8, .len = 8 };
	const struct asynctrace_attrs none = { .attrs = (uintptr_t)&none };
	int fd = opened();

	any_size(fd, ASYNCTRACE_IOC_HELLO, &hello, sizeof(hello), 16, 0);
	any_size(fd, ASYNCTRACE_IOC_CONSUME, &consume, sizeof(consume), sizeof(consume), -ENOENT);
	any_size(fd, ASYNCTRACE_IOC_REGISTER, &attrs, sizeof(attrs), sizeof(attrs), -EFAULT);
	NEED(raw_register(fd, "sizes", STRIDE) > 0);
	any_size(fd, ASYNCTRACE_IOC_ALERT, &alert, sizeof(alert), sizeof(alert), -EAGAIN);
	any_size(fd, ASYNCTRACE_IOC_ANNOUNCE, &none, sizeof(none), sizeof(none), 0);
	close(fd);
}

static void answers_fit_the_callers_size(void)
{
	struct {
		struct asynctrace_hello hello;
		uint64_t more;
	} arg = { .hello = { .size = sizeof(arg), .abi = ASYNCTRACE_ABI_VERSION } };
	int fd = opened();

	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_HELLO, &arg), 0);
	EXPECT_IS(arg.hello.size, sizeof(arg.hello));
	EXPECT(arg.hello.cookie);
	EXPECT_IS(arg.more, 0);
	close(fd);
}

static void reserved_words_and_unknown_flags_are_refused(void)
{
	struct asynctrace_alert alert = { .size = sizeof(alert), .reserved = 1, .name = "alert" };
	struct asynctrace_hello hello = {
		.size = sizeof(hello), .abi = ASYNCTRACE_ABI_VERSION, .reserved = 1,
	};
	int fd = opened();

	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_HELLO, &hello), -EINVAL);
	NEED(raw_register(fd, "reserved", STRIDE) > 0);
	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_ALERT, &alert), -EINVAL);
	close(fd);
}

/* --- thread slots ------------------------------------------------------------ */

static void *other_thread(void *arg)
{
	int fd = *(int *)arg;
	long slot = raw_ioctl(fd, ASYNCTRACE_IOC_THREAD, NULL);

	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_THREAD, NULL), slot);
	return (void *)slot;
}

static void a_thread_has_one_slot(void)
{
	int fd = opened(), slot;
	pthread_t thread;
	void *other;

	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_THREAD, NULL), -ENXIO);
	NEED(raw_register(fd, "slots", STRIDE) > 0);
	slot = raw_ioctl(fd, ASYNCTRACE_IOC_THREAD, NULL);
	EXPECT_IS(slot, 1);
	EXPECT_IS(raw_ioctl(fd, ASYNCTRACE_IOC_THREAD, NULL), slot);
	NEED(!pthread_create(&thread, NULL, other_thread, &fd));
	pthread_join(thread, &other);
	EXPECT_IS((long)other, 2);
	/* The slot of an ended thread is not used again. */
	NEED(!pthread_create(&thread, NULL, other_thread, &fd));
	pthread_join(thread, &other);
	EXPECT_IS((long)other, 3);
	close(fd);
}

/* --- limits of one user --------------------------------------------------------- */

#define PROVIDERS_MAX	4096

static int register_many(void *arg)
{
	const int max = *(int *)arg;
	int i, err = 0;

	for (i = 0; i <= max; i++) {
		int fd = raw_open();

		if (fd < 0)
			return 1;
		err = raw_register(fd, "many", ASYNCTRACE_RING_MIN);
		if (err < 0)
			break;
	}
	if (i != max)
		printf("# %d providers, then %d\n", i, err);
	return i == max && err == -EDQUOT ? 0 : 2;
}

static void one_user_has_a_limit_of_providers(void)
{
	struct rlimit old, more = { PROVIDERS_MAX + 100, PROVIDERS_MAX + 100 };
	int max = limit_lower(LIMIT_PROVIDERS, PROVIDERS_MAX, 200);

	NEED(!getrlimit(RLIMIT_NOFILE, &old));
	NEED(!setrlimit(RLIMIT_NOFILE, &more));
	EXPECT_IS(raw_child(register_many, &max, 65534), 0);
	limit_restore(LIMIT_PROVIDERS);
	setrlimit(RLIMIT_NOFILE, &old);
}

/* --- 32 bits ------------------------------------------------------------------- */

#ifdef __x86_64__
static long compat_ioctl(int fd, unsigned int cmd, void *arg)
{
	register long ax __asm__("rax") = 54;	/* ioctl of i386 */

	/* int $0x80 makes a 32-bit system call, even in 64-bit code. */
	__asm__ volatile("int $0x80" : "+r"(ax)
			 : "b"((long)fd), "c"((long)cmd), "d"(arg)
			 : "memory", "r8", "r9", "r10", "r11");
	return ax;
}

static int compat_calls(void *arg)
{
	struct asynctrace_hello *h = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (h == MAP_FAILED)
		return 1;
	*h = (struct asynctrace_hello){ .size = sizeof(*h), .abi = ASYNCTRACE_ABI_VERSION };
	for (unsigned int cmd = 0; cmd < 4; cmd++) {
		static const unsigned long cmds[] = {
			ASYNCTRACE_IOC_HELLO, ASYNCTRACE_IOC_REGISTER, ASYNCTRACE_IOC_THREAD,
			ASYNCTRACE_IOC_CONSUME,
		};

		if (compat_ioctl(*(int *)arg, cmds[cmd], h) != -EOPNOTSUPP)
			return 10 + cmd;
	}
	return h->cookie != 0;
}

static void tasks_of_32_bits_are_refused(void)
{
	int fd = opened(), ret = raw_child(compat_calls, &fd, -1);

	close(fd);
	if (ret == 256 + 11)
		ktap_skip("this kernel has no 32-bit system calls");
	EXPECT_IS(ret, 0);
}
#endif

static const struct ktap_test tests[] = {
	KTAP_TEST(unknown_ioctls_are_refused),
	KTAP_TEST(bad_addresses_are_refused),
	KTAP_TEST(hello_tells_the_abi),
	KTAP_TEST(cookie_stays_with_its_descriptor),
	KTAP_TEST(descriptor_belongs_to_hello_process),
	KTAP_TEST(registrations_are_checked),
	KTAP_TEST(arguments_of_other_versions_work),
	KTAP_TEST(answers_fit_the_callers_size),
	KTAP_TEST(reserved_words_and_unknown_flags_are_refused),
	KTAP_TEST(the_frame_of_a_registration_is_checked),
	KTAP_TEST(a_thread_has_one_slot),
	KTAP_TEST(one_user_has_a_limit_of_providers),
#ifdef __x86_64__
	KTAP_TEST(tasks_of_32_bits_are_refused),
#endif
};

KTAP_MAIN(tests)
