// SPDX-License-Identifier: GPL-2.0
/* Single-steps processes that share this process's memory, and runs them to an address */
#include <elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "ktap.h"
#include "stepper.h"

#if defined(__x86_64__)
#define PC(regs)	((regs).rip)
#define BREAK		0xccul
#define BREAK_MASK	0xfful
#define PC_AFTER_BREAK	1	/* relative to the instruction */
#define TRAP_BYTES	0	/* bytes of STEPPER_TRAP() that the tracer has to skip */
#elif defined(__aarch64__)
#define PC(regs)	((regs).pc)
#define BREAK		0xd4200000ul
#define BREAK_MASK	0xfffffffful
#define PC_AFTER_BREAK	0
#define TRAP_BYTES	4
#endif

static struct user_regs_struct get_regs(pid_t pid)
{
	struct user_regs_struct regs;
	struct iovec iov = { &regs, sizeof(regs) };

	must(!ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &iov));
	return regs;
}

static void set_regs(pid_t pid, struct user_regs_struct *regs)
{
	struct iovec iov = { regs, sizeof(*regs) };

	must(!ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &iov));
}

/* Waits until the process stops at a trap. Returns false if it is dead. */
static bool stopped(pid_t pid)
{
	int status;

	for (;;) {
		must(waitpid(pid, &status, __WALL) == pid);
		if (!WIFSTOPPED(status))
			return false;
		if (WSTOPSIG(status) == SIGTRAP && !(status >> 16))
			return true;
		must(!ptrace(PTRACE_CONT, pid, 0, status >> 16 ? 0 : WSTOPSIG(status)));
	}
}

static void wait_stopped(pid_t pid)
{
	if (!stopped(pid))
		ktap_bail("a victim died by itself");
}

void stepper_seize(pid_t pid, volatile uint32_t *go)
{
	struct user_regs_struct regs;

	must(!ptrace(PTRACE_SEIZE, pid, 0, 0));
	*go = 1;
	wait_stopped(pid);
	regs = get_regs(pid);
	PC(regs) += TRAP_BYTES;
	set_regs(pid, &regs);
}

uint64_t stepper_where(pid_t pid)
{
	const struct user_regs_struct regs = get_regs(pid);

	return PC(regs);
}

uint64_t stepper_return_address(pid_t pid)
{
	const struct user_regs_struct regs = get_regs(pid);

#if defined(__x86_64__)
	return *(uint64_t *)regs.rsp;
#elif defined(__aarch64__)
	return regs.regs[30];
#endif
}

void stepper_step(pid_t pid)
{
	must(!ptrace(PTRACE_SINGLESTEP, pid, 0, 0));
	wait_stopped(pid);
}

/*
 * Sets a breakpoint at @address. The traced process and this one share their memory, so no other
 * thread of either process may run the code at @address meanwhile.
 */
bool stepper_run_to(pid_t pid, uint64_t address)
{
	struct user_regs_struct regs;
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, pid, address, 0);
	must(!errno);
	must(!ptrace(PTRACE_POKETEXT, pid, address, (word & ~BREAK_MASK) | BREAK));
	must(!ptrace(PTRACE_CONT, pid, 0, 0));
	wait_stopped(pid);
	must(!ptrace(PTRACE_POKETEXT, pid, address, word));
	regs = get_regs(pid);
	if (PC(regs) != address + PC_AFTER_BREAK)
		return false;
	PC(regs) = address;
	set_regs(pid, &regs);
	return true;
}

void stepper_kill(pid_t pid)
{
	must(!kill(pid, SIGKILL));
	while (stopped(pid))
		;
}
