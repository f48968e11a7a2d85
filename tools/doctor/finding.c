// SPDX-License-Identifier: GPL-2.0-or-later
/* asynctrace doctor: adds findings and remedies, and reads files for checks */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "doctor/doctor.h"

void doctor_say(struct doctor *d, const char *name, enum doctor_level level,
		const char *fmt, ...)
{
	struct finding *f = &d->findings[d->nr];
	va_list ap;

	if (d->nr == sizeof(d->findings) / sizeof(d->findings[0]))
		return;
	d->nr++;
	f->name = name;
	f->level = level;
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
}

void doctor_remedy(struct doctor *d, const char *fmt, ...)
{
	struct finding *f = &d->findings[d->nr - 1];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->remedy, sizeof(f->remedy), fmt, ap);
	va_end(ap);
}

void doctor_remedy_error(struct doctor *d, int err)
{
	switch (err) {
	case EMFILE:
		doctor_remedy(d, "allow more open files: ulimit -n 1024");
		break;
	case ENFILE:
		doctor_remedy(d, "the whole machine has too many open files: close some, or as root raise sysctl fs.file-max");
		break;
	case ENOMEM:
	case ENOBUFS:
		doctor_remedy(d, "free memory, or raise the limit of the memory cgroup you are in (memory.max)");
		break;
	case EDQUOT:
	case ENOSPC:
		doctor_remedy(d, "end sessions that are not needed: asynctrace session list, then asynctrace session destroy NAME");
		break;
	case EPERM:
	case EACCES:
		doctor_remedy(d, "a sandbox or a security policy forbids it (seccomp, SELinux, AppArmor): run the command outside; dmesg may name which");
		break;
	case ENOENT:
	case ENODEV:
	case ENXIO:
		doctor_remedy(d, "the module may just have been unloaded: try again");
		break;
	default:
		doctor_remedy(d, "see dmesg for the reason; or reload the module, as root: modprobe -r asynctrace && modprobe asynctrace");
	}
}

bool doctor_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return false;
	got = read(fd, text, size - 1);
	close(fd);
	if (got < 0)
		return false;
	text[got] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return true;
}
