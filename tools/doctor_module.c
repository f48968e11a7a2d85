// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * asynctrace doctor: the kernel, the module, the device node
 */
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

#include "doctor.h"
#include "tool.h"

/* --- the kernel ---------------------------------------------------------------- */

/* What Kconfig says that the module needs. */
static const char *const needed[] = {
	"CONFIG_NET=y", "CONFIG_TRACEPOINTS=y", "CONFIG_RSEQ=y",
};

#define NR_NEEDED (sizeof(needed) / sizeof(needed[0]))

/* The kernel's configuration, from where distributions put it; gzip or not. */
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

	/* What is loaded was built for it. */
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
	doctor_remedy(d, "boot a kernel that has it: those of distributions do");
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
 * Looks for the module's file where modprobe would. 1: there; 0: not;
 * -1: there are no modules for this kernel at all.
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

/* What appends a signature ends the file so. */
static bool is_signed(const char *path)
{
	static const char mark[] = "~Module signature appended~\n";
	char end[sizeof(mark) - 1];
	bool found = false;
	FILE *f = fopen(path, "re");

	if (f && !fseek(f, -(long)sizeof(end), SEEK_END) && fread(end, sizeof(end), 1, f) == 1)
		found = !memcmp(end, mark, sizeof(end));
	if (f)
		fclose(f);
	return found;
}

static bool secure_boot(void)
{
	char value[8];
	ssize_t got;
	int fd = open("/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
		      O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	got = read(fd, value, sizeof(value));
	close(fd);
	return got == 5 && value[4] == 1;
}

/* Why the kernel would load no module that has no signature it trusts; NULL: it would. */
static const char *enforced(void)
{
	char text[128];

	if (doctor_read("/sys/module/module/parameters/sig_enforce", text, sizeof(text)) &&
	    (*text == 'Y' || *text == '1'))
		return "module.sig_enforce is set";
	if (doctor_read("/sys/kernel/security/lockdown", text, sizeof(text)) &&
	    !strstr(text, "[none]") && strchr(text, '['))
		return secure_boot() ? "Secure Boot is on, and so is lockdown" : "lockdown is on";
	return NULL;
}

static void not_loaded(struct doctor *d)
{
	const char *why = enforced();
	struct utsname u = { .release = "?" };
	char path[1024], disabled[8];
	int found;

	uname(&u);
	found = find_file(u.release, path);
	if (doctor_read("/proc/sys/kernel/modules_disabled", disabled, sizeof(disabled)) &&
	    *disabled == '1') {
		doctor_say(d, "module", DOCTOR_FAIL,
			   "not loaded, and kernel.modules_disabled is set: no module can be");
		doctor_remedy(d, "load it before that is set: /etc/modules-load.d/asynctrace.conf; then reboot");
	} else if (found <= 0) {
		doctor_say(d, "module", DOCTOR_FAIL, "neither loaded nor installed for Linux %s%s",
			   u.release, found < 0 ? ", which has no modules here" : "");
		doctor_remedy(d, "build and install it, as root: make install-module && modprobe asynctrace%s",
			      why ? "; it must be signed, see Secure Boot in README.md" : "");
	} else if (why && !is_signed(path)) {
		doctor_say(d, "module", DOCTOR_FAIL, "%s has no signature, and %s", path, why);
		doctor_remedy(d, "sign it with a key that the machine knows, see Secure Boot in README.md");
	} else {
		doctor_say(d, "module", DOCTOR_FAIL, "%s is not loaded", path);
		doctor_remedy(d, "as root: modprobe asynctrace; if that fails, dmesg says why%s",
			      why ? " (the key it is signed with may not be enrolled)" : "");
	}
}

void doctor_module(struct doctor *d)
{
	struct stat st;
	char version[64];

	if (d->err == -ENOENT) {
		not_loaded(d);
		return;
	}
	if (d->err && d->err != -EPROTO) {
		doctor_say(d, "module", DOCTOR_FAIL, "%s", d->reason);
		return;
	}
	if (!doctor_read("/sys/module/asynctrace/srcversion", version, sizeof(version)))
		snprintf(version, sizeof(version), "unknown");
	doctor_say(d, "module", DOCTOR_OK, stat("/sys/module/asynctrace/initstate", &st) ?
		   "built into the kernel" : "loaded, source version %s", version);
}

/* --- the device node ------------------------------------------------------------------ */

/* What to do about permissions of the node. */
static void permission(struct doctor *d, const char *path, const struct stat *st)
{
	const struct group *group = getgrgid(st->st_gid);
	const char *name = group ? group->gr_name : NULL;

	if ((st->st_mode & 0060) == 0060 && st->st_gid && name)
		doctor_remedy(d, "become a member of its group: sudo usermod -aG %s \"$USER\", and log in again",
			      name);
	else
		doctor_remedy(d, "it is for root to give: chmod 666 %s, or the udev rule for a group that comes with asynctrace (asynctrace(7), Permissions)",
			      path);
}

void doctor_device(struct doctor *d)
{
	const char *path = "/dev/" ASYNCTRACE_DEVICE;
	unsigned int want_major, want_minor;
	struct stat st;
	char number[32];
	int fd;

	if (d->err && d->err != -EPROTO)
		return;
	if (stat(path, &st)) {
		doctor_say(d, "device", DOCTOR_FAIL, "%s: %s", path, strerror(errno));
		doctor_remedy(d, "udev makes it; in a container, pass it in: --device %s", path);
		return;
	}
	if (!S_ISCHR(st.st_mode) ||
	    (doctor_read("/sys/class/misc/asynctrace/dev", number, sizeof(number)) &&
	     sscanf(number, "%u:%u", &want_major, &want_minor) == 2 &&
	     st.st_rdev != makedev(want_major, want_minor))) {
		doctor_say(d, "device", DOCTOR_FAIL, "%s is not the module's device", path);
		doctor_remedy(d, "remove it, and load the module anew: udev makes the right one");
		return;
	}
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		doctor_say(d, "device", DOCTOR_FAIL, "%s (mode %03o) cannot be opened: %s", path,
			   st.st_mode & 0777, strerror(errno));
		permission(d, path, &st);
		return;
	}
	close(fd);
	doctor_say(d, "device", DOCTOR_OK, "%s (mode %03o) can be opened", path,
		   st.st_mode & 0777);
}
