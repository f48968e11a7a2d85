/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A sandbox as services and browsers use it: seccomp(2) answers one system call
 */
#ifndef SANDBOX_H
#define SANDBOX_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Lets seccomp(2) answer the system call @nr of the calling thread with @action (SECCOMP_RET_*)
 * from now on. @flags: SECCOMP_FILTER_FLAG_*. Returns the result of seccomp(2): -1 with errno, 0,
 * or a descriptor with SECCOMP_FILTER_FLAG_NEW_LISTENER.
 */
static inline int sandbox(long nr, uint32_t action, unsigned int flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}

#endif /* SANDBOX_H */
