/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Single-steps processes that share this process's memory, and runs them to an address
 */
#ifndef STEPPER_H
#define STEPPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Stops a traced process. */
#if defined(__x86_64__)
#define STEPPER_TRAP()	__asm__ volatile("int3")
#elif defined(__aarch64__)
#define STEPPER_TRAP()	__asm__ volatile("brk #0")
#endif

/* Traces @pid, sets *@go and waits until it is stopped behind its STEPPER_TRAP(). */
void stepper_seize(pid_t pid, volatile uint32_t *go);
/* Returns the address of the next instruction. */
uint64_t stepper_where(pid_t pid);
/*
 * Returns the address that a function will return to. Call this at the function's first
 * instruction.
 */
uint64_t stepper_return_address(pid_t pid);
void stepper_step(pid_t pid);
/* Runs to @address. Returns false if the process comes to a STEPPER_TRAP() before. */
bool stepper_run_to(pid_t pid, uint64_t address);
void stepper_kill(pid_t pid);

#endif /* STEPPER_H */
