// SPDX-License-Identifier: GPL-2.0
/* CPU quotas of cgroups, in a tree of files that stands for /proc and the mounted hierarchies */
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "quota/quota.h"

#define MS	UINT64_C(1000000)
#define V2	"30 20 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"

static char root[64];
static uint64_t time_now;

static uint64_t now(void)
{
	return time_now;
}

/* --- the tree of files ----------------------------------------------------------- */

static int set_up(void **state)
{
	(void)state;
	strcpy(root, "/tmp/quota-XXXXXX");
	time_now = 1000 * MS;
	return mkdtemp(root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static int tear_down(void **state)
{
	(void)state;
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Writes the file @path of the tree, and makes its directories. */
static void put(const char *path, const char *text)
{
	char full[256];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		assert_true(!mkdir(full, 0777) || errno == EEXIST);
		*slash = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void put_stat(const char *cgroup, unsigned int periods, unsigned int us)
{
	char path[256], text[256];

	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.stat", cgroup);
	snprintf(text, sizeof(text), "usage_usec 7\nnr_periods 9\nnr_throttled %u\nthrottled_usec %u\nnr_bursts 0\n",
		 periods, us);
	put(path, text);
}

/* A cgroup of the unified hierarchy; @max: what its cpu.max has */
static void put_cgroup(const char *cgroup, const char *max)
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.max", cgroup);
	put(path, max);
	put_stat(cgroup, 100, 5000);
}

static void put_process(int pid, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	put(path, text);
}

static void remove_process(int pid)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/proc/%d/cgroup", root, pid);
	assert_int_equal(unlink(path), 0);
	*strrchr(path, '/') = '\0';
	assert_int_equal(rmdir(path), 0);
}

static void rename_process(int from, int to)
{
	char old[PATH_MAX], new[PATH_MAX];

	snprintf(old, sizeof(old), "%s/proc/%d", root, from);
	snprintf(new, sizeof(new), "%s/proc/%d", root, to);
	assert_int_equal(rename(old, new), 0);
}

/* --- results --------------------------------------------------------------------- */

struct growths {
	struct quota_growth of[8];
	size_t nr;
};

static int keep(void *arg, const struct quota_growth *g)
{
	struct growths *all = arg;

	assert_true(all->nr < 8);
	all->of[all->nr++] = *g;
	return 0;
}

static struct growths read_at(struct quotas *q, uint64_t ms)
{
	struct growths all = { .nr = 0 };

	time_now = ms * MS;
	assert_int_equal(quotas_read(q, keep, &all), 0);
	return all;
}

static struct quotas *watch(int pid)
{
	struct quotas *q = quotas_new(root, now);

	assert_non_null(q);
	assert_int_equal(quotas_watch(q, pid), 0);
	return q;
}

static void assert_paths(const struct quotas *q, ...)
{
	struct quota_sums s;
	const char *want;
	va_list list;
	size_t i = 0;

	va_start(list, q);
	for (; (want = va_arg(list, const char *)); i++) {
		assert_true(quotas_sums(q, i, &s));
		assert_string_equal(s.path, want);
	}
	va_end(list);
	assert_false(quotas_sums(q, i, &s));
}

static unsigned int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int nr = 0;

	assert_non_null(dir);
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

static unsigned int nr_seen;

static int count_live(void *arg, const struct quota_growth *g)
{
	(void)arg;
	nr_seen += g->pid == 7 || g->pid == 8;
	return 0;
}

/* --- tests ----------------------------------------------------------------------- */

static void quotas_of_ancestors_are_found(void **state)
{
	struct quotas *q;

	(void)state;
	put("/proc/self/mountinfo", V2);
	put_process(7, "0::/a/b/c\n");
	put_cgroup("/a/b/c", "20000 100000\n");
	put_cgroup("/a/b", "max 100000\n");
	put_cgroup("/a", "50000 100000\n");
	q = watch(7);
	assert_paths(q, "/a/b/c", "/a", NULL);
	assert_int_equal(quotas_nr(q), 2);
	quotas_free(q);
}

/* In a container, the root of the cgroup namespace may have a quota. */
static void quota_of_the_mounts_root_is_found(void **state)
{
	struct quotas *q;

	(void)state;
	put("/proc/self/mountinfo", V2);
	put_process(7, "0::/\n");
	put_cgroup("", "20000 100000\n");
	q = watch(7);
	assert_paths(q, "/", NULL);
	quotas_free(q);
}

static void nothing_is_open_without_a_quota(void **state)
{
	const unsigned int before = open_files();
	struct quotas *q;

	(void)state;
	put("/proc/self/mountinfo", V2);
	put_process(7, "0::/a\n");
	put_cgroup("/a", "max 100000\n");
	q = watch(7);
	assert_int_equal(quotas_watch(q, 8), 0);
	assert_paths(q, NULL);
	assert_int_equal(quotas_nr(q), 0);
	assert_int_equal(read_at(q, 2000).nr, 0);
	assert_int_equal(open_files(), before);
	quotas_free(q);
}

static void growth_begins_a_period_before_the_reading(void **state)
{
	struct growths g;
	struct quotas *q;

	(void)state;
	put("/proc/self/mountinfo", V2);
	put_process(7, "0::/a\n");
	put_cgroup("/a", "20000 40000\n");
	q = watch(7);
	assert_int_equal(read_at(q, 1100).nr, 0);
	put_stat("/a", 103, 5750);
	g = read_at(q, 1200);
	assert_int_equal(g.nr, 1);
	assert_int_equal(g.of[0].pid, 7);
	assert_string_equal(g.of[0].path, "/a");
	assert_int_equal(g.of[0].from, 1060 * MS);
	assert_int_equal(g.of[0].to, 1200 * MS);
	assert_int_equal(g.of[0].throttled_ns, 750 * 1000);
	assert_int_equal(g.of[0].periods, 3);
	/* Only the next reading shows that the throttling has ended. */
	g = read_at(q, 1300);
	assert_int_equal(g.nr, 1);
	assert_int_equal(g.of[0].from, 1160 * MS);
	assert_int_equal(g.of[0].throttled_ns + g.of[0].periods, 0);
	assert_int_equal(read_at(q, 1400).nr, 0);
	quotas_free(q);
}

/*
 * A recorder may attach to a session that runs already: the rings then have records from before the
 * watch.
 */
static void growth_begins_a_period_before_the_watch(void **state)
{
	struct quotas *q;

	(void)state;
	put("/proc/self/mountinfo", V2);
	put_process(7, "0::/a\n");
	put_cgroup("/a", "20000 100000\n");
	q = watch(7);
	put_stat("/a", 101, 5001);
	assert_int_equal(read_at(q, 1010).of[0].from, 900 * MS);
	quotas_free(q);
}

static void each_process_of_a_cgroup_gets_its_growth(void **state)
{
	struct quota_sums s;
	struct growths g;
	struct quotas *q;

	(void)state;
	put("/proc/self/mountinfo", V2);
	put_process(7, "0::/a/b\n");
	put_process(8, "0::/a\n");
	put_cgroup("/a", "20000 100000\n");
	q = watch(7);
	assert_int_equal(quotas_watch(q, 8), 0);
	assert_paths(q, "/a", NULL);
	put_stat("/a", 101, 5400);
	g = read_at(q, 1100);
	assert_int_equal(g.nr, 2);
	assert_int_equal(g.of[0].pid, 7);
	assert_int_equal(g.of[1].pid, 8);
	assert_true(quotas_sums(q, 0, &s));
	assert_int_equal(s.throttled_ns, 400 * 1000);
	assert_int_equal(s.periods, 1);
	quotas_free(q);
}

static void moved_process_leaves_its_old_cgroup(void **state)
{
	struct growths g;
	struct quotas *q;

	(void)state;
	put("/proc/self/mountinfo", V2);
	put_process(7, "0::/a\n");
	put_cgroup("/a", "20000 100000\n");
	put_cgroup("/b", "20000 100000\n");
	q = watch(7);
	put_process(7, "0::/b\n");
	assert_int_equal(quotas_watch(q, 7), 0);
	put_stat("/a", 101, 6000);
	put_stat("/b", 101, 6000);
	g = read_at(q, 1100);
	assert_int_equal(g.nr, 1);
	assert_string_equal(g.of[0].path, "/b");
	quotas_free(q);
}

/* The recorder lists processes again between two readings, and then repeats quotas_watch(). */
static void repeated_watch_loses_no_growth(void **state)
{
	struct growths g;
	struct quotas *q;

	(void)state;
	put("/proc/self/mountinfo", V2);
	put_process(7, "0::/a\n");
	put_cgroup("/a", "20000 100000\n");
	q = watch(7);
	put_stat("/a", 102, 5600);
	assert_int_equal(quotas_watch(q, 7), 0);
	g = read_at(q, 1100);
	assert_int_equal(g.nr, 1);
	assert_int_equal(g.of[0].periods, 2);
	assert_int_equal(g.of[0].throttled_ns, 600 * 1000);
	quotas_free(q);
}

static void later_quota_is_found_by_a_later_watch(void **state)
{
	struct quota_sums s;
	struct quotas *q;

	(void)state;
	put("/proc/self/mountinfo", V2);
	put_process(7, "0::/a\n");
	put_cgroup("/a", "max 100000\n");
	q = watch(7);
	assert_int_equal(quotas_nr(q), 0);
	put_cgroup("/a", "20000 100000\n");
	assert_int_equal(quotas_watch(q, 7), 0);
	assert_int_equal(quotas_nr(q), 1);
	put_stat("/a", 104, 5600);
	assert_int_equal(read_at(q, 1100).of[0].periods, 4);
	assert_true(quotas_sums(q, 0, &s));
	assert_int_equal(s.before, 100);
	put_cgroup("/a", "max 100000\n");
	assert_int_equal(quotas_watch(q, 7), 0);
	assert_int_equal(quotas_nr(q), 0);
	quotas_free(q);
}

static void rest_lasts_until_a_period_ends(void **state)
{
	struct quotas *q;

	(void)state;
	put("/proc/self/mountinfo", V2);
	put_process(7, "0::/a\n");
	put_cgroup("/a", "20000 40000\n");
	q = watch(7);
	assert_int_equal(read_at(q, 1100).nr, 0);
	assert_int_equal(quotas_rest(q), 40 * MS);
	time_now = 1130 * MS;
	assert_int_equal(quotas_rest(q), 10 * MS);
	/* The kernel counts a period at its end. */
	put("/sys/fs/cgroup/a/cpu.stat", "nr_periods 10\nnr_throttled 101\nthrottled_usec 5000\n");
	assert_int_equal(quotas_rest(q), 0);
	assert_int_equal(read_at(q, 1130).of[0].periods, 1);
	assert_int_equal(quotas_rest(q), 40 * MS);
	/* No period ends in an idle cgroup. */
	time_now = 1170 * MS;
	assert_int_equal(quotas_rest(q), 0);
	assert_int_equal(read_at(q, 1200).nr, 1);
	assert_int_equal(quotas_rest(q), 40 * MS);
	remove_process(7);
	assert_int_equal(quotas_rest(q), 0);
	quotas_free(q);
}

/* An ended process must be forgotten, because its id may be given to another process. */
static void ended_process_gets_one_more_growth(void **state)
{
	struct quotas *q;

	(void)state;
	put("/proc/self/mountinfo", V2);
	put_process(7, "0::/a\n");
	put_cgroup("/a", "20000 100000\n");
	q = watch(7);
	remove_process(7);
	put_stat("/a", 101, 6000);
	assert_int_equal(read_at(q, 1100).nr, 1);
	put_stat("/a", 102, 7000);
	assert_int_equal(read_at(q, 1200).nr, 0);
	assert_int_equal(quotas_nr(q), 0);
	quotas_free(q);
}

/*
 * Ended processes are dropped when their cgroup reports throttling. This cgroup is never throttled,
 * so they must be dropped when the list of processes is full.
 */
static void later_process_is_watched_after_many(void **state)
{
	struct growths g;
	struct quotas *q;

	(void)state;
	put("/proc/self/mountinfo", V2);
	put_cgroup("/a", "20000 100000\n");
	put_process(7, "0::/a\n");
	q = watch(7);
	put_process(1000, "0::/a\n");
	for (int pid = 1000; pid < 6000; pid++) {
		assert_int_equal(quotas_watch(q, pid), 0);
		rename_process(pid, pid + 1);
	}
	put_process(8, "0::/a\n");
	assert_int_equal(quotas_watch(q, 8), 0);
	put_stat("/a", 101, 6000);
	time_now = 1100 * MS;
	nr_seen = 0;
	assert_int_equal(quotas_read(q, count_live, NULL), 0);
	assert_int_equal(nr_seen, 2);
	put_stat("/a", 102, 7000);
	g = read_at(q, 1200);
	assert_int_equal(g.nr, 2);
	quotas_free(q);
}

static void unreadable_counts_are_reported(void **state)
{
	struct quota_sums s;
	char path[128];
	struct quotas *q;

	(void)state;
	put("/proc/self/mountinfo", V2);
	put_process(7, "0::/a\n");
	put_cgroup("/a", "20000 100000\n");
	snprintf(path, sizeof(path), "%s/sys/fs/cgroup/a/cpu.stat", root);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0777), 0);
	q = watch(7);
	assert_int_equal(quotas_watch(q, 7), 0);
	assert_paths(q, "/a", NULL);
	assert_true(quotas_sums(q, 0, &s));
	assert_int_equal(s.err, -EISDIR);
	assert_int_equal(quotas_nr(q), 0);
	quotas_free(q);
}

static void version_1_has_nanoseconds(void **state)
{
	struct growths g;
	struct quotas *q;

	(void)state;
	put("/proc/self/mountinfo",
	    "31 20 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
	    "32 20 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
	put_process(7, "5:cpuset:/a/x\n4:cpu,cpuacct:/a/b\n0::/\n");
	put("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
	put("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "50000\n");
	put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "5000\n");
	put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "50000\n");
	put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.stat",
	    "nr_periods 5\nnr_throttled 2\nthrottled_time 1000\n");
	q = watch(7);
	assert_paths(q, "/a", NULL);
	put("/sys/fs/cgroup/cpu,cpuacct/a/cpu.stat",
	    "nr_periods 5\nnr_throttled 3\nthrottled_time 1777\n");
	g = read_at(q, 1200);
	assert_int_equal(g.nr, 1);
	assert_int_equal(g.of[0].throttled_ns, 777);
	quotas_free(q);
}

/* A mount may show a part of a hierarchy, under a name with white space. */
static void mount_of_a_part_is_followed(void **state)
{
	struct quotas *q;

	(void)state;
	put("/proc/self/mountinfo",
	    "29 20 0:26 /docker/y /other rw - cgroup2 cgroup2 rw\n"
	    "30 20 0:26 /docker/x /my\\040mount rw shared:9 - cgroup2 cgroup2 rw\n");
	put_process(7, "0::/docker/x/app\n");
	put_process(8, "0::/docker/xy\n");
	put("/my mounty/cpu.max", "20000 100000\n");
	put("/my mount/cpu.max", "20000 100000\n");
	put("/my mount/cpu.stat", "nr_periods 5\nnr_throttled 1\nthrottled_usec 1\n");
	put("/my mount/app/cpu.max", "10000 100000\n");
	put("/my mount/app/cpu.stat", "nr_periods 5\nnr_throttled 1\nthrottled_usec 1\n");
	q = watch(7);
	assert_paths(q, "/docker/x/app", "/docker/x", NULL);
	quotas_free(q);
	q = watch(8);
	assert_paths(q, NULL);
	quotas_free(q);
}

static void cgroup_outside_of_the_namespace_is_left(void **state)
{
	struct quotas *q;

	(void)state;
	put("/proc/self/mountinfo", V2);
	put_process(7, "0::/../a\n");
	put_cgroup("", "max 100000\n");
	put("/sys/fs/a/cpu.max", "20000 100000\n");
	q = watch(7);
	assert_paths(q, NULL);
	quotas_free(q);
}

#define TEST(f)	cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(quotas_of_ancestors_are_found),
		TEST(quota_of_the_mounts_root_is_found),
		TEST(nothing_is_open_without_a_quota),
		TEST(growth_begins_a_period_before_the_reading),
		TEST(growth_begins_a_period_before_the_watch),
		TEST(each_process_of_a_cgroup_gets_its_growth),
		TEST(moved_process_leaves_its_old_cgroup),
		TEST(repeated_watch_loses_no_growth),
		TEST(later_quota_is_found_by_a_later_watch),
		TEST(rest_lasts_until_a_period_ends),
		TEST(ended_process_gets_one_more_growth),
		TEST(later_process_is_watched_after_many),
		TEST(unreadable_counts_are_reported),
		TEST(version_1_has_nanoseconds),
		TEST(mount_of_a_part_is_followed),
		TEST(cgroup_outside_of_the_namespace_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
