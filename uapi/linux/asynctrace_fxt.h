/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * asynctrace: encoding of Fuchsia trace format (FXT) records
 *
 * Source: Fuchsia's "Fuchsia trace format" reference. A record is a sequence of 64-bit words.
 * In its first word, bits 0..3 are the type, and bits 4..15 the record's size in words,
 * including this word. Text is padded with zeros to a whole word.
 */
#ifndef _UAPI_LINUX_ASYNCTRACE_FXT_H
#define _UAPI_LINUX_ASYNCTRACE_FXT_H

#include <linux/types.h>

/* Record types */
#define ASYNCTRACE_FXT_METADATA		0
#define ASYNCTRACE_FXT_INIT		1
#define ASYNCTRACE_FXT_STRING		2
#define ASYNCTRACE_FXT_THREAD		3
#define ASYNCTRACE_FXT_EVENT		4
#define ASYNCTRACE_FXT_BLOB		5
#define ASYNCTRACE_FXT_USEROBJ		6
#define ASYNCTRACE_FXT_KERNELOBJ	7
#define ASYNCTRACE_FXT_SCHED		8
#define ASYNCTRACE_FXT_LOG		9
#define ASYNCTRACE_FXT_PROFILER		10
#define ASYNCTRACE_FXT_LARGE		15

/* Metadata types: bits 16..19 */
#define ASYNCTRACE_FXT_META_PROVIDER	1	/* info: id 20..51, name bytes 52..59 */
#define ASYNCTRACE_FXT_META_SECTION	2	/* id 20..51 */
#define ASYNCTRACE_FXT_META_EVENT	3	/* id 20..51, event 52..55 */
#define ASYNCTRACE_FXT_META_TRACE	4

#define ASYNCTRACE_FXT_MAGIC		0x0016547846040010ULL

/*
 * Event types: bits 16..19. The comment names the word that follows the arguments. It also holds
 * for the types below it that have no comment; but types 0, 2 and 3 have no such word.
 */
#define ASYNCTRACE_FXT_INSTANT		0
#define ASYNCTRACE_FXT_COUNTER		1	/* counter id */
#define ASYNCTRACE_FXT_DURATION_BEGIN	2
#define ASYNCTRACE_FXT_DURATION_END	3
#define ASYNCTRACE_FXT_DURATION		4	/* end time */
#define ASYNCTRACE_FXT_ASYNC_BEGIN	5	/* async id */
#define ASYNCTRACE_FXT_ASYNC_INSTANT	6
#define ASYNCTRACE_FXT_ASYNC_END	7
#define ASYNCTRACE_FXT_FLOW_BEGIN	8	/* flow id */
#define ASYNCTRACE_FXT_FLOW_STEP	9
#define ASYNCTRACE_FXT_FLOW_END		10
#define ASYNCTRACE_FXT_EVENT_TYPES	11

/*
 * Blob types: bits 48..55 of a blob record. Bits 16..31 refer to the name, and bits 32..46 have the
 * number of bytes.
 */
#define ASYNCTRACE_FXT_BLOB_DATA	1
#define ASYNCTRACE_FXT_BLOB_LAST_BRANCH	2
#define ASYNCTRACE_FXT_BLOB_PERFETTO	3	/* a whole trace in Perfetto's format */

/*
 * Large records: size in bits 4..35, type in 36..39; a large blob's format in 40..43. The format
 * word after the head has the category in bits 0..15 and the name in 16..31; an event's also has
 * the number of arguments in 32..35 and the thread reference in 36..43.
 */
#define ASYNCTRACE_FXT_LARGE_BLOB	0
#define ASYNCTRACE_FXT_BLOB_EVENT	0
#define ASYNCTRACE_FXT_BLOB_ATTACHMENT	1

/* Argument types: bits 0..3 of an argument's first word */
#define ASYNCTRACE_FXT_ARG_NULL		0
#define ASYNCTRACE_FXT_ARG_INT32	1	/* value 32..63 */
#define ASYNCTRACE_FXT_ARG_UINT32	2	/* value 32..63 */
#define ASYNCTRACE_FXT_ARG_INT64	3
#define ASYNCTRACE_FXT_ARG_UINT64	4
#define ASYNCTRACE_FXT_ARG_DOUBLE	5
#define ASYNCTRACE_FXT_ARG_STRING	6	/* reference 32..47 */
#define ASYNCTRACE_FXT_ARG_POINTER	7
#define ASYNCTRACE_FXT_ARG_KOID		8
#define ASYNCTRACE_FXT_ARG_BOOL		9	/* bit 32 */
#define ASYNCTRACE_FXT_ARG_TYPES	10

/*
 * Kernel object types, Zircon's numbers: bits 16..23. The name is in bits 24..39, the number of
 * arguments in 40..43.
 */
#define ASYNCTRACE_FXT_OBJ_NONE		0
#define ASYNCTRACE_FXT_OBJ_PROCESS	1
#define ASYNCTRACE_FXT_OBJ_THREAD	2
#define ASYNCTRACE_FXT_OBJ_VMO		3
#define ASYNCTRACE_FXT_OBJ_EVENT	5
#define ASYNCTRACE_FXT_OBJ_PORT		6
#define ASYNCTRACE_FXT_OBJ_SOCKET	14
#define ASYNCTRACE_FXT_OBJ_FIFO		19
#define ASYNCTRACE_FXT_OBJ_TIMER	22
#define ASYNCTRACE_FXT_OBJ_STREAM	31

/* Scheduling records: subtype in bits 60..63 */
#define ASYNCTRACE_FXT_SCHED_LEGACY	0
#define ASYNCTRACE_FXT_SCHED_SWITCH	1	/* args 16..19, cpu 20..35, state 36..39 */
#define ASYNCTRACE_FXT_SCHED_WAKEUP	2	/* args 16..19, cpu 20..35 */

/* State of the outgoing thread */
#define ASYNCTRACE_FXT_STATE_NEW	0	/* also: preempted, still runnable */
#define ASYNCTRACE_FXT_STATE_RUNNING	1
#define ASYNCTRACE_FXT_STATE_SUSPENDED	2
#define ASYNCTRACE_FXT_STATE_BLOCKED	3
#define ASYNCTRACE_FXT_STATE_DYING	4
#define ASYNCTRACE_FXT_STATE_DEAD	5

/* Flags of "off_cpu" */
#define ASYNCTRACE_FXT_OFF_PREEMPTED	(1 << 0)	/* by another thread, within the kernel */
#define ASYNCTRACE_FXT_OFF_IOWAIT	(1 << 1)	/* waits for block I/O */
#define ASYNCTRACE_FXT_OFF_EXCEPTION	(1 << 2)	/* blocked outside of a system call */
#define ASYNCTRACE_FXT_OFF_SYSCALL	(1 << 3)	/* in a system call */
/*
 * Bits 4..7 of "off_cpu", with ASYNCTRACE_FXT_OFF_SYSCALL: type of the file, if the call's first
 * argument is the number of an open descriptor. If the call takes no descriptor, the bits have no
 * meaning.
 */
#define ASYNCTRACE_FXT_OFF_FILE(off_cpu)	((off_cpu) >> 4 & 0xf)
#define ASYNCTRACE_FXT_FILE_OTHER	0	/* not open, or of none of these types */
#define ASYNCTRACE_FXT_FILE_PIPE	1
#define ASYNCTRACE_FXT_FILE_CHARACTER	2	/* character device, such as a terminal */
#define ASYNCTRACE_FXT_FILE_DIRECTORY	4
#define ASYNCTRACE_FXT_FILE_BLOCK	6	/* block device */
#define ASYNCTRACE_FXT_FILE_REGULAR	8
#define ASYNCTRACE_FXT_FILE_SOCKET	12

/* The weight that marks an idle thread: INT32_MIN */
#define ASYNCTRACE_FXT_WEIGHT_IDLE	(-2147483647 - 1)

/* Limits of the format */
#define ASYNCTRACE_FXT_WORDS_MAX	4095
#define ASYNCTRACE_FXT_ARGS_MAX		15
#define ASYNCTRACE_FXT_STRING_MAX	32000	/* bytes */
#define ASYNCTRACE_FXT_BLOB_MAX		32000	/* bytes */
#define ASYNCTRACE_FXT_INDEX_MAX	0x7fff	/* string table */
#define ASYNCTRACE_FXT_THREADS_MAX	255	/* thread table */
#define ASYNCTRACE_FXT_INLINE		0x8000	/* string reference: text follows */

/* Thread reference, in a provider's ring only: the event is of a virtual thread */
#define ASYNCTRACE_FXT_RING_VIRTUAL	1

/*
 * String indices in the kernel's records: in the kernel's section of a file, and in chunks of
 * the kernel's rings.
 */
#define ASYNCTRACE_FXT_STR_PROCESS	1	/* "process" */
#define ASYNCTRACE_FXT_STR_INCOMING	2	/* "incoming_weight" */
#define ASYNCTRACE_FXT_STR_OUTGOING	3	/* "outgoing_weight" */
#define ASYNCTRACE_FXT_STR_WEIGHT	4	/* "weight" */
#define ASYNCTRACE_FXT_STR_WAKER	5	/* "waker" */
#define ASYNCTRACE_FXT_STR_STATE	6	/* "state": Linux's, as a number */
/*
 * Arguments of type UINT64: ids from struct asynctrace_cell. Absent if the id is 0. In chunks,
 * bits 32..63 of the first word are the salt of the thread's process.
 */
#define ASYNCTRACE_FXT_STR_IN_OPERATION	7	/* "incoming_operation" */
#define ASYNCTRACE_FXT_STR_OUT_OPERATION 8	/* "outgoing_operation" */
#define ASYNCTRACE_FXT_STR_OPERATION	9	/* "operation": of the woken thread */
#define ASYNCTRACE_FXT_STR_WAKER_OPERATION 10	/* "waker_operation" */
/*
 * Why the outgoing thread left the CPU, in sessions with ASYNCTRACE_SESSION_FLAGS_REASONS.
 * Absent for the idle thread, and for threads that the session's owner may not see.
 */
#define ASYNCTRACE_FXT_STR_OFF_CPU	11	/* "off_cpu": UINT32, ASYNCTRACE_FXT_OFF_* */
/* Only with ASYNCTRACE_FXT_OFF_SYSCALL. In files, the system call is a STRING. */
#define ASYNCTRACE_FXT_STR_SYSCALL	12	/* "syscall": INT32 */
#define ASYNCTRACE_FXT_STR_SYSCALL_ARG	13	/* "syscall_argument": UINT64, the first one */
#define ASYNCTRACE_FXT_STR_KERNEL_END	16	/* first index of the consumer's strings */

/* number of words for @bytes bytes of text */
#define ASYNCTRACE_FXT_TEXT_WORDS(bytes)	(((__u64)(bytes) + 7) / 8)

/* first word of a record */
#define ASYNCTRACE_FXT_HEAD(type, words) \
	((__u64)(type) | (__u64)(words) << 4)

#define ASYNCTRACE_FXT_TYPE(head)	((unsigned int)((head) & 0xf))
#define ASYNCTRACE_FXT_WORDS(head)	((unsigned int)((head) >> 4 & 0xfff))

/* first word of an event, with thread reference 0 */
#define ASYNCTRACE_FXT_EVENT_HEAD(etype, words, nargs, category, name) \
	(ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_EVENT, words) | \
	 (__u64)(etype) << 16 | (__u64)(nargs) << 20 | \
	 (__u64)(category) << 32 | (__u64)(name) << 48)

/* first word of an argument */
#define ASYNCTRACE_FXT_ARG(type, words, name, value32) \
	((__u64)(type) | (__u64)(words) << 4 | (__u64)(name) << 16 | \
	 (__u64)(__u32)(value32) << 32)

/* first word of a string record */
#define ASYNCTRACE_FXT_STRING_HEAD(index, bytes) \
	(ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_STRING, \
			     1 + ASYNCTRACE_FXT_TEXT_WORDS(bytes)) | \
	 (__u64)(index) << 16 | (__u64)(bytes) << 32)

/* first word of a context switch, and of a wakeup */
#define ASYNCTRACE_FXT_SWITCH_HEAD(words, nargs, cpu, state) \
	(ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_SCHED, words) | \
	 (__u64)(nargs) << 16 | (__u64)(cpu) << 20 | (__u64)(state) << 36 | \
	 (__u64)ASYNCTRACE_FXT_SCHED_SWITCH << 60)
#define ASYNCTRACE_FXT_WAKEUP_HEAD(words, nargs, cpu) \
	(ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_SCHED, words) | \
	 (__u64)(nargs) << 16 | (__u64)(cpu) << 20 | \
	 (__u64)ASYNCTRACE_FXT_SCHED_WAKEUP << 60)

#endif /* _UAPI_LINUX_ASYNCTRACE_FXT_H */
