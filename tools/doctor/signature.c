// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * asynctrace doctor: checks whether the kernel requires signed modules, and whether a file is
 * signed
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "doctor/doctor.h"
#include "fxt/fxt.h"

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

const char *doctor_enforced(void)
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

/* A signed module's file ends with this text. */
static const char mark[] = "~Module signature appended~\n";

#define MARK_SIZE (sizeof(mark) - 1)

/* Keeps the last MARK_SIZE bytes of the data so far. */
static void keep_end(char end[MARK_SIZE], const char *data, size_t len)
{
	if (len >= MARK_SIZE) {
		memcpy(end, data + len - MARK_SIZE, MARK_SIZE);
		return;
	}
	memmove(end, end + len, MARK_SIZE - len);
	memcpy(end + MARK_SIZE - len, data, len);
}

/* xz is not supported by fxt_input_open(). */
static bool is_xz(const char *data, size_t len)
{
	return len >= 6 && !memcmp(data, "\xfd" "7zXZ", 6);
}

enum doctor_signature doctor_signature(const char *path, const char **why)
{
	char end[MARK_SIZE] = "", data[16384];
	struct fxt_input *in;
	bool first = true, xz = false;
	size_t got;
	int err;

	/* fxt_input_open() unpacks gzip and zstd. */
	in = fxt_input_open(path, &err);
	if (!in) {
		*why = strerror(-err);
		return DOCTOR_UNTOLD;
	}
	while (!xz && (got = fxt_input_read(in, data, sizeof(data))) > 0) {
		xz = first && is_xz(data, got);
		first = false;
		keep_end(end, data, got);
	}
	err = xz ? 0 : fxt_input_end(in);
	fxt_input_close(in);
	if (xz || err) {
		*why = xz ? "it is compressed by xz" : err > 0 ? "its end is missing" :
		       fxt_error_text(err);
		return DOCTOR_UNTOLD;
	}
	return memcmp(end, mark, MARK_SIZE) ? DOCTOR_UNSIGNED : DOCTOR_SIGNED;
}
