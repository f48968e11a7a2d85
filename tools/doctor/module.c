// SPDX-License-Identifier: GPL-2.0-or-later
/* asynctrace doctor: checks of the kernel, the module and the device node */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

#include <linux/asynctrace.h>

#include "doctor/doctor.h"
#include "tool.h"

/* --- the kernel ---------------------------------------------------------------- */

/* Options that the module's Kconfig depends on */
static const char *const needed[] = {
	"CONFIG_NET=y", "CONFIG_TRACEPOINTS=y", "CONFIG_RSEQ=y",
};

#define NR_NEEDED (sizeof(needed) / sizeof(needed[0]))

/* Opens the kernel's configuration, compressed or not, at the places that distributions use. */
static gzFile open_config(const char *release, char path[512])
{
	static const char *const places[] = {
		"/proc/config.gz", "/boot/config-%s", "/lib/modules/%s/config",
	};
	gzFile config = NULL;

	for (size_t i = 0; !config && i < sizeof(places) / sizeof(places[0]); i++) {
		const char *before = places[i], *at = strstr(before, "%s");

		if (at)
			snprintf(path, 512, "%.*s%s%s", (int)(at - before), before, release, at + 2);
		else
			snprintf(path, 512, "%s", before);
		config = gzopen(path, "re");
	}
	return config;
}

static void kernel_config(struct doctor *d, const char *release)
{
	bool found[NR_NEEDED] = { false };
	char line[512], path[512], missing[256] = "";
	gzFile config = open_config(release, path);

	/*
	 * Without a configuration, skip the check. If the module is loaded, it was built for this
	 * kernel, so the kernel has the options.
	 */
	if (!config)
		return;
	while (gzgets(config, line, sizeof(line)))
		for (size_t i = 0; i < NR_NEEDED; i++)
			if (!strncmp(line, needed[i], strlen(needed[i])))
				found[i] = true;
	gzclose(config);
	for (size_t i = 0; i < NR_NEEDED; i++)
		if (!found[i])
			snprintf(missing + strlen(missing), sizeof(missing) - strlen(missing), " %s",
				 needed[i]);
	if (!*missing)
		return;
	doctor_say(d, "kernel", DOCTOR_FAIL, "%s lacks%s", path, missing);
	doctor_remedy(d, "boot a kernel that has it, such as one of a distribution");
}

void doctor_kernel(struct doctor *d)
{
	unsigned int major = 0, minor = 0;
	struct utsname u;
	size_t before = d->nr;

	if (uname(&u))
		return;
	if (strcmp(u.machine, "x86_64") && strcmp(u.machine, "aarch64")) {
		doctor_say(d, "kernel", DOCTOR_FAIL, "%s: the module is for x86-64 and arm64",
			   u.machine);
		doctor_remedy(d, "run it on such a machine, with a 64-bit kernel, and without setarch (linux32)");
		return;
	}
	if (sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
	    (major < 6 || (major == 6 && minor < 1))) {
		doctor_say(d, "kernel", DOCTOR_FAIL, "Linux %s is older than 6.1", u.release);
		doctor_remedy(d, "boot Linux 6.1 or later");
		return;
	}
	kernel_config(d, u.release);
	if (d->nr == before)
		doctor_say(d, "kernel", DOCTOR_OK, "Linux %s on %s", u.release, u.machine);
}

/* --- the module ------------------------------------------------------------------- */

/*
 * Looks for the module's file like modprobe. Returns 1 if it exists, 0 if not, or -1 if there
 * are no modules for this kernel at all.
 */
static int find_file(const char *release, char path[1024])
{
	char name[512], line[4096];
	FILE *deps;
	int found = 0;

	snprintf(name, sizeof(name), "/lib/modules/%s/modules.dep", release);
	deps = fopen(name, "re");
	if (!deps)
		return -1;
	while (!found && fgets(line, sizeof(line), deps)) {
		char *colon = strchr(line, ':'), *base;

		if (!colon)
			continue;
		*colon = '\0';
		base = strrchr(line, '/');
		base = base ? base + 1 : line;
		if (strncmp(base, "asynctrace.ko", 13))
			continue;
		snprintf(path, 1024, "/lib/modules/%s/%.400s", release, line);
		found = 1;
	}
	fclose(deps);
	return found;
}

/*
 * Adds the remedy for a missing signature. The kernel's build may compress the modules that it
 * installs, but only plain files can be signed.
 */
static void sign_remedy(struct doctor *d, const char *path)
{
	size_t len = strlen(path);

	doctor_remedy(d, "%ssign it with a key that the kernel trusts, see Secure Boot in README.md",
		      len > 3 && !strcmp(path + len - 3, ".ko") ? "" :
		      "install it again without compression: make install-module; then ");
}

/* Handles a module that the kernel accepts only with a signature that it trusts. */
static void keyed(struct doctor *d, const char *path, const char *enforced)
{
	const char *why;

	switch (doctor_signature(path, &why)) {
	case DOCTOR_UNSIGNED:
		doctor_say(d, "module", DOCTOR_FAIL, "%s has no signature, and %s", path, enforced);
		sign_remedy(d, path);
		break;
	case DOCTOR_SIGNED:
		doctor_say(d, "module", DOCTOR_FAIL, "%s is not loaded", path);
		doctor_remedy(d, "as root: modprobe asynctrace; if that fails, dmesg says why (the key it is signed with may not be enrolled)");
		break;
	case DOCTOR_UNTOLD:
		doctor_say(d, "module", DOCTOR_FAIL,
			   "%s is not loaded, and %s; cannot read whether it has a signature: %s",
			   path, enforced, why);
		doctor_remedy(d, "as root: modprobe asynctrace; if that fails, /sbin/modinfo -F signer asynctrace shows the signer; without one, run make install-module and sign the installed file, see Secure Boot in README.md");
		break;
	}
}

static void not_loaded(struct doctor *d)
{
	const char *enforced = doctor_enforced();
	struct utsname u = { .release = "?" };
	char path[1024], disabled[8];
	int found;

	uname(&u);
	found = find_file(u.release, path);
	if (doctor_read("/proc/sys/kernel/modules_disabled", disabled, sizeof(disabled)) &&
	    *disabled == '1') {
		doctor_say(d, "module", DOCTOR_FAIL,
			   "not loaded, and kernel.modules_disabled forbids to load any module");
		doctor_remedy(d, "name it in /etc/modules-load.d/asynctrace.conf, so that it is loaded first; then reboot");
	} else if (found <= 0) {
		doctor_say(d, "module", DOCTOR_FAIL, "neither loaded nor installed for Linux %s%s",
			   u.release, found < 0 ? ", which has no modules here" : "");
		doctor_remedy(d, "build and install it, as root: make install-module && modprobe asynctrace%s",
			      enforced ? "; it must be signed, see Secure Boot in README.md" : "");
	} else if (enforced) {
		keyed(d, path, enforced);
	} else {
		doctor_say(d, "module", DOCTOR_FAIL, "%s is not loaded", path);
		doctor_remedy(d, "as root: modprobe asynctrace; if that fails, dmesg says why");
	}
}

static void loaded(struct doctor *d)
{
	struct stat st;
	char version[64];

	if (!doctor_read("/sys/module/asynctrace/srcversion", version, sizeof(version)))
		snprintf(version, sizeof(version), "unknown");
	doctor_say(d, "module", DOCTOR_OK, stat("/sys/module/asynctrace/initstate", &st) ?
		   "built into the kernel" : "loaded, source version %s", version);
}

void doctor_module(struct doctor *d)
{
	struct stat st;

	if (!d->err || d->err == -EPROTO) {
		loaded(d);
		return;
	}
	/* Only -ENOENT proves that the module is absent; other errors say nothing about it. */
	if (d->err != -ENOENT && stat("/sys/module", &st)) {
		doctor_say(d, "module", DOCTOR_WARN,
			   "cannot read whether it is loaded: /sys/module: %s", strerror(errno));
		doctor_remedy(d, "mount it, as root: mount -t sysfs none /sys");
		return;
	}
	/* A built-in module may have no directory in /sys/module. */
	d->absent = d->err == -ENOENT || (stat("/sys/module/asynctrace", &st) &&
					  stat("/sys/class/misc/" ASYNCTRACE_DEVICE, &st));
	if (d->absent)
		not_loaded(d);
	else
		loaded(d);
}

/* --- the device node ------------------------------------------------------------------ */

/* Adds the remedy for the node's permissions. */
static void permission(struct doctor *d, const char *path, const struct stat *st)
{
	const struct group *group = getgrgid(st->st_gid);
	const char *name = group ? group->gr_name : NULL;

	if ((st->st_mode & 0060) == 0060 && st->st_gid && name)
		doctor_remedy(d, "become a member of its group: sudo usermod -aG %s \"$USER\", and log in again",
			      name);
	else
		doctor_remedy(d, "as root: chmod 666 %s, or install the udev rule for a group (asynctrace(7), Security)",
			      path);
}

/* Handles a missing node. */
static void no_node(struct doctor *d, const char *path, int err)
{
	doctor_say(d, "device", DOCTOR_FAIL, "%s: %s", path, strerror(err));
	if (err != ENOENT)
		doctor_remedy_error(d, err);
	else if (d->absent)
		doctor_remedy(d, "load the module, which makes it");
	else
		doctor_remedy(d, "start udev, which makes it; for a container, pass it in: --device %s", path);
}

/* Handles a node that cannot be opened. */
static void no_access(struct doctor *d, const char *path, const struct stat *st, int err)
{
	doctor_say(d, "device", DOCTOR_FAIL, "%s (mode %03o) cannot be opened: %s", path,
		   st->st_mode & 0777, strerror(err));
	if (err == EACCES)
		permission(d, path, st);
	else if (err == EPERM)
		doctor_remedy(d, "the container's device list forbids it; pass it in: --device %s",
			      path);
	else
		doctor_remedy_error(d, err);
}

/* True if the node is the module's device, or if the module is there but its number unknown. */
static bool is_device(const struct doctor *d, const struct stat *st)
{
	unsigned int major, minor;
	char number[32];

	if (d->absent || !S_ISCHR(st->st_mode))
		return false;
	return !doctor_read("/sys/class/misc/" ASYNCTRACE_DEVICE "/dev", number, sizeof(number)) ||
	       sscanf(number, "%u:%u", &major, &minor) != 2 ||
	       st->st_rdev == makedev(major, minor);
}

static bool device(struct doctor *d)
{
	const char *path = "/dev/" ASYNCTRACE_DEVICE;
	struct stat st;
	int fd;

	if (stat(path, &st)) {
		no_node(d, path, errno);
		return false;
	}
	if (!is_device(d, &st)) {
		doctor_say(d, "device", DOCTOR_FAIL, "%s is not the module's device", path);
		doctor_remedy(d, "remove it and reload the module: udev makes the right one");
		return false;
	}
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		no_access(d, path, &st, errno);
		return false;
	}
	close(fd);
	doctor_say(d, "device", DOCTOR_OK, "%s (mode %03o) can be opened", path,
		   st.st_mode & 0777);
	return true;
}

void doctor_device(struct doctor *d)
{
	d->no_device = !device(d);
}
