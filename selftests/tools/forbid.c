// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a command in a sandbox
 *
 * usage: forbid netlink|sending COMMAND...
 *
 * "netlink": no netlink socket can be created, as with RestrictAddressFamilies= of systemd.
 * "sending": sockets can be created, but send nothing.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field)	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS(k, skip)	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (k), 0, (skip))
#define RETURN(k)	BPF_STMT(BPF_RET | BPF_K, (k))

static struct sock_filter netlink[] = {
	LOAD(nr), UNLESS(SYS_socket, 3),
	/* The lower half of the argument, on the little-endian machines that this runs on */
	LOAD(args[0]), UNLESS(AF_NETLINK, 1),
	RETURN(SECCOMP_RET_ERRNO | EAFNOSUPPORT), RETURN(SECCOMP_RET_ALLOW),
};

static struct sock_filter sending[] = {
	LOAD(nr), UNLESS(SYS_sendto, 1),
	RETURN(SECCOMP_RET_ERRNO | EPERM), RETURN(SECCOMP_RET_ALLOW),
};

int main(int argc, char **argv)
{
	struct sock_fprog program = { sizeof(netlink) / sizeof(netlink[0]), netlink };

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "sending"))
		program = (struct sock_fprog){ sizeof(sending) / sizeof(sending[0]), sending };
	else if (strcmp(argv[1], "netlink"))
		return 2;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("forbid");
		return 2;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
