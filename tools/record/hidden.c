// SPDX-License-Identifier: GPL-2.0-or-later
/* asynctrace record: programs that the module hides from a user */
#include <errno.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "record/record.h"

/*
 * Returns why the module hides a process of this file, or NULL. A process whose credentials
 * change at execve(2), or whose file the user may not read, refuses ptrace(2) by that user.
 */
const char *record_hidden(const char *path)
{
	struct statvfs fs;
	struct stat st;

	if (stat(path, &st) || access(path, R_OK))
		return errno == EACCES ? "you may not read its file" : NULL;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
	    (!statvfs(path, &fs) && fs.f_flag & ST_NOSUID))
		return NULL;
	if (st.st_mode & S_ISUID && st.st_uid != geteuid())
		return "it is setuid";
	if (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getegid())
		return "it is setgid";
	if (getxattr(path, "security.capability", NULL, 0) > 0)
		return "its file has capabilities";
	return NULL;
}
