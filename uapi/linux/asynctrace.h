/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * asynctrace: what crosses the boundary between /dev/asynctrace and user space
 *
 * Three things live here: the ioctls of the device, the layout of the memory a
 * provider maps, and the chunks a consumer reads. Sessions are driven over the
 * generic netlink family "asynctrace" (linux/asynctrace_netlink.h).
 *
 * A provider is a process, or a part of one, that registered a name. It maps
 *
 *	offset 0		control area, read-only: written by the kernel
 *	rw_offset		read-write area: written by the provider
 *
 * and the read-write area holds, at the offsets the control page names,
 *
 *	header lines		for each of two ranges, one line of 64 bytes a ring
 *	durable ring		names: FXT string records
 *	rings			for each of two ranges, one ring a CPU and one more,
 *				the fallback ring, each ring_stride bytes long
 *
 * Pages appear when they are touched. A store that comes after the session has
 * ended goes to a sink page and is lost, never to somebody else.
 *
 * All integers are in the machine's byte order, which must be little endian.
 *
 * Structures grow at their end only. Each that goes to the kernel begins with its size as the
 * caller knows it: of a smaller one, the kernel takes what is missing for 0; of a larger one,
 * it takes what it knows if the rest is 0, and fails with -E2BIG if not. So a program that was
 * built with newer or older headers works as long as it does not ask for what the kernel has
 * not. Reserved words must be 0, and unknown flags fail with -EINVAL.
 */
#ifndef _UAPI_LINUX_ASYNCTRACE_H
#define _UAPI_LINUX_ASYNCTRACE_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* The version of all that this header says. The two sides must agree on it. */
#define ASYNCTRACE_ABI_VERSION		2

#define ASYNCTRACE_DEVICE		"asynctrace"

/* Limits. Names and categories are counted in bytes without the final NUL. */
#define ASYNCTRACE_NAME_MAX		100
#define ASYNCTRACE_CATEGORY_MAX		100	/* bytes of a category */
#define ASYNCTRACE_CATEGORIES_MAX	100	/* categories of a session */
#define ASYNCTRACE_COMM_LEN		16
#define ASYNCTRACE_DESCRIPTION_MAX	400	/* bytes of a known category's description */
#define ASYNCTRACE_ALERT_MAX		14	/* bytes of an alert's name */

/* --- ioctls ------------------------------------------------------------- */

/**
 * struct asynctrace_hello - what descriptor and library agree on first
 * @size: in: sizeof(struct asynctrace_hello) as the caller knows it; out: as the module does
 * @abi: in: ASYNCTRACE_ABI_VERSION of the caller; out: of the module
 * @cookie: out: names this descriptor in netlink messages. It is valid while
 *	the descriptor is open, for the process that asked.
 * @salt: in: the salt that operation ids of this process already carry; 0: there are none
 *	yet. The registration grants this salt unless another process has it: see struct
 *	asynctrace_control.
 * @reserved: must be 0
 *
 * Fails with -EPROTO where the two versions differ (@abi then tells the
 * module's), with -EPERM where another process was told the cookie, with
 * -EOPNOTSUPP for a 32-bit process: its store of a ring position would be two.
 */
struct asynctrace_hello {
	__u32 size;
	__u32 abi;
	__aligned_u64 cookie;
	__u32 salt;
	__u32 reserved;
};

/**
 * struct asynctrace_attrs - a netlink message without the socket
 * @size: sizeof(struct asynctrace_attrs)
 * @len: bytes at @attrs
 * @attrs: user address of the attributes of PROVIDER_REGISTER, without the
 *	cookie: the descriptor speaks for itself
 * @id: out: the provider's id
 *
 * For processes that may not open an AF_NETLINK socket.
 */
struct asynctrace_attrs {
	__u32 size;
	__u32 len;
	__aligned_u64 attrs;
	__u32 id;
	__u32 reserved;
};

/**
 * struct asynctrace_consume - turns a descriptor into a session's consumer
 * @size: sizeof(struct asynctrace_consume)
 * @session: the session's id
 * @flags: ASYNCTRACE_CONSUME_F_*
 * @reserved: must be 0
 *
 * From then on read(2) returns chunks, poll(2) tells when there are some.
 * One consumer a session: -EBUSY else. -EPERM where the caller is neither
 * the session's owner nor has CAP_SYS_ADMIN, or where the owner had another group or a
 * capability more and the caller has no CAP_PERFMON; -ENOENT where he may not even see it.
 */
struct asynctrace_consume {
	__u32 size;
	__u32 session;
	__u32 flags;
	__u32 reserved;
};

/*
 * All that a circular session holds at this moment, from its names on, and then
 * the end of the file. Nothing is taken out, so that it can be done again; who
 * writes is not disturbed.
 */
#define ASYNCTRACE_CONSUME_F_SNAPSHOT	(1 << 0)

/**
 * struct asynctrace_alert - something that who controls the session may act on
 * @size: sizeof(struct asynctrace_alert)
 * @reserved: must be 0
 * @name: 1 to ASYNCTRACE_ALERT_MAX bytes, and NULs
 *
 * Of a provider's descriptor. Told to the subscribers of the session that records
 * it; -EAGAIN where none does.
 */
struct asynctrace_alert {
	__u32 size;
	__u32 reserved;
	char name[16];
};

/**
 * struct asynctrace_observed - what read(2) on a provider's descriptor returns
 * @size: bytes of this that the kernel filled
 * @gate: as on the control page
 * @state: enum asynctrace_session_state of the session that has the provider; 0:
 *	there is none
 * @reserved: 0
 *
 * A smaller buffer gets less, if it has room for the words above. poll(2) says EPOLLIN when it
 * is not what was last read; read(2) waits for that, or fails with -EAGAIN for O_NONBLOCK.
 */
struct asynctrace_observed {
	__u32 size;
	__u32 gate;
	__u32 state;
	__u32 reserved;
};

/*
 * The kernel goes by the number alone, and not by the size and direction that a request also
 * holds: a structure that has grown does not make it another request.
 */
#define ASYNCTRACE_IOC_MAGIC		0xB7
#define ASYNCTRACE_IOC_HELLO		_IOWR(ASYNCTRACE_IOC_MAGIC, 0, struct asynctrace_hello)
#define ASYNCTRACE_IOC_REGISTER		_IOWR(ASYNCTRACE_IOC_MAGIC, 1, struct asynctrace_attrs)
/*
 * The calling thread's slot, a number from 1 on that its records carry: the
 * kernel, not the provider, says which thread that is. Idempotent.
 */
#define ASYNCTRACE_IOC_THREAD		_IO(ASYNCTRACE_IOC_MAGIC, 2)
#define ASYNCTRACE_IOC_CONSUME		_IOW(ASYNCTRACE_IOC_MAGIC, 3, struct asynctrace_consume)
#define ASYNCTRACE_IOC_ALERT		_IOW(ASYNCTRACE_IOC_MAGIC, 4, struct asynctrace_alert)
/* The attributes of PROVIDER_ANNOUNCE, without the cookie. */
#define ASYNCTRACE_IOC_ANNOUNCE		_IOW(ASYNCTRACE_IOC_MAGIC, 5, struct asynctrace_attrs)

/* --- the control area ----------------------------------------------------- */

/* Values of asynctrace_control.gate; all others are a run's generation. */
#define ASYNCTRACE_GATE_OFF		0	/* nobody records this provider */
#define ASYNCTRACE_GATE_ATTACH		1	/* this process has not registered */
/* Above are those of programs that trace themselves, without the module. */
#define ASYNCTRACE_GENERATION_MAX	0xbfffffffU

enum asynctrace_clock {
	ASYNCTRACE_CLOCK_COUNTER	= 0,	/* TSC, or CNTVCT_EL0 on arm64 */
	ASYNCTRACE_CLOCK_BOOTTIME	= 1,	/* CLOCK_BOOTTIME nanoseconds */
};

#define ASYNCTRACE_CONTROL_MAGIC	0x4c525443	/* "CTRL" */

/**
 * struct asynctrace_control - first page of the control area
 * @gate: ASYNCTRACE_GATE_OFF, _ATTACH, or the generation of the run that
 *	records. Generations are never repeated on a machine (but after 2^32
 *	of them), so what a site or a thread learned under one is valid under no
 *	other. A run gets another one when it wants other categories: see @run.
 *	Load-acquire it: it pairs with the kernel's store-release, and the rest of
 *	this line belongs to the generation read. A writer compares it once more
 *	inside its critical section.
 * @sub_mask: words of a sub-buffer - 1
 * @ring_mask: words of a ring - 1
 * @clock: enum asynctrace_clock
 * @headers: offset of the run's header lines in the read-write area, bytes
 * @rings: offset of the run's rings in the read-write area, bytes
 * @ring_stride: bytes from one ring to the next
 * @clock_offset: to subtract from CLOCK_BOOTTIME as the provider reads it
 *	(its time namespace), nanoseconds; 0 for the counter
 * @nr_rings: rings of CPUs; a CPU whose number is not below this drops. The
 *	fallback ring has this index.
 * @run: the generation that the run began with. What was begun under this or a
 *	later one is still of the run, and is written under the present one.
 * @magic: ASYNCTRACE_CONTROL_MAGIC
 * @abi: ASYNCTRACE_ABI_VERSION of the module
 * @size: bytes of this structure that the kernel filled
 * @provider: the provider's id
 * @salt: the salt granted: operation ids of this process are salt << 44 | counter. Below
 *	2^20. No other process has it while this one is registered or its records are read.
 * @control_size: bytes of the control area
 * @limits: offset in the control area of one __u64 a ring of the run: no writer enters a
 *	sub-buffer that does not end at or below it (linear words)
 * @categories: offset in the control area of struct asynctrace_categories; another
 *	one when they change
 * @rw_offset: where in the file the read-write area begins
 * @rw_size: bytes of the read-write area
 * @durable: offset of the durable ring's header line; its data begin one line
 *	after it
 * @durable_words: words of the durable ring's data
 * @durable_generation: what bits 32..63 of the durable ring's position must
 *	hold for the names interned to be valid
 */
struct asynctrace_control {
	__u32 gate;
	__u32 sub_mask;
	__u32 ring_mask;
	__u32 clock;
	__u64 headers;
	__u64 rings;
	__u64 ring_stride;
	__s64 clock_offset;
	__u32 nr_rings;
	__u32 run;
	__u64 reserved1;

	__u32 magic;
	__u32 abi;
	__u32 size;
	__u32 provider;
	__u32 salt;
	__u32 control_size;
	__u32 limits;
	__u32 categories;
	__u64 rw_offset;
	__u64 rw_size;
	__u64 durable;
	__u32 durable_words;
	__u32 durable_generation;
};

/**
 * struct asynctrace_categories - what the session wants of this provider
 * @count: patterns in @text, at most 2 * ASYNCTRACE_CATEGORIES_MAX; 0 means
 *	every category
 * @bytes: of @text
 * @text: patterns, each ended by a NUL. A pattern is a category's exact name,
 *	or a prefix and a final '*'. What matches one behind a '-' is not wanted;
 *	where there are only such, everything else is.
 *
 * C++ has no flexible array members; __extension__ lets -Wpedantic accept this one.
 */
__extension__ struct asynctrace_categories {
	__u32 count;
	__u32 bytes;
	char text[];
};

/* --- rings ---------------------------------------------------------------- */

/**
 * struct asynctrace_ring_header - a ring's line in the header pages
 * @position: bits 0..47 linear offset in words of the next record since the
 *	session began, bits 48..63 records in the sub-buffer that it lies in.
 *	Published by one store (release), the last of a critical section.
 *	In the fallback ring bits 36..47 hold the run modulo 4096
 *	instead, set by the kernel, and the store is a compare-and-swap.
 * @dropped: records that found no room. In the fallback ring bits 52..63 hold the
 *	run modulo 4096, set by the kernel, and a writer adds to the rest by
 *	compare-and-swap.
 * @reserved: leave alone
 */
struct asynctrace_ring_header {
	__u64 position;
	__u64 dropped;
	__u64 reserved[6];
};

#define ASYNCTRACE_LINE			64	/* bytes of a header line */
#define ASYNCTRACE_POS_BITS		48
#define ASYNCTRACE_POS_MASK		((1ULL << ASYNCTRACE_POS_BITS) - 1)
#define ASYNCTRACE_POS_RECORD		(1ULL << ASYNCTRACE_POS_BITS)
#define ASYNCTRACE_FALLBACK_TAG_SHIFT	36
#define ASYNCTRACE_FALLBACK_TAG_MASK	(0xfffULL << ASYNCTRACE_FALLBACK_TAG_SHIFT)
#define ASYNCTRACE_FALLBACK_POS_MASK	((1ULL << ASYNCTRACE_FALLBACK_TAG_SHIFT) - 1)
#define ASYNCTRACE_FALLBACK_DROPS_SHIFT	52
#define ASYNCTRACE_FALLBACK_DROPS_MASK	((1ULL << ASYNCTRACE_FALLBACK_DROPS_SHIFT) - 1)

/**
 * struct asynctrace_subbuf - the four words each sub-buffer begins with
 * @magic: ASYNCTRACE_SUBBUF_MAGIC
 * @generation: of the writer that entered this sub-buffer
 * @sequence: its number since the session began
 * @records: records committed in this ring before this sub-buffer
 * @end: linear offset at which the records of the one before end
 *
 * Records never cross a sub-buffer's end. A ring's first position is 0: the
 * first writer enters sub-buffer 0.
 */
struct asynctrace_subbuf {
	__u32 magic;
	__u32 generation;
	__u64 sequence;
	__u64 records;
	__u64 end;
};

#define ASYNCTRACE_SUBBUF_MAGIC		0x44414548	/* "HEAD" */
#define ASYNCTRACE_SUBBUF_WORDS		4

/* A sub-buffer is 4 KiB to 512 KiB, so that 16 bits count its records. */
#define ASYNCTRACE_SUBBUF_MIN		4096
#define ASYNCTRACE_SUBBUF_MAX		(512 * 1024)
#define ASYNCTRACE_SUBBUFS_MIN		4
#define ASYNCTRACE_RING_MIN		(ASYNCTRACE_SUBBUF_MIN * ASYNCTRACE_SUBBUFS_MIN)
#define ASYNCTRACE_RING_MAX		(1ULL << 30)

/* --- the durable ring ------------------------------------------------------ */

/*
 * Its header line's first word: bits 0..31 words committed, bits 32..63 the
 * durable generation. Data: FXT string records with indices from 1 on, in
 * order, never rewritten within a generation. When it is full, records carry
 * their names inline.
 */
#define ASYNCTRACE_DURABLE_GEN_SHIFT	32
#define ASYNCTRACE_DURABLE_SIZE		(256 * 1024)	/* bytes with the line */

/* --- records in rings ------------------------------------------------------ */

/*
 * What a provider writes are FXT records (linux/asynctrace_fxt.h) of type
 * event, in ticks of the control page's clock, with two differences: the
 * thread reference is 0, and in place of the two inline thread words there is
 * one, the thread's slot in bits 0..31, bits 32..63 zero.
 */

/* --- chunks: what read(2) returns -------------------------------------------- */

enum asynctrace_chunk_kind {
	ASYNCTRACE_CHUNK_PROVIDER	= 1,	/* struct asynctrace_provider_info */
	ASYNCTRACE_CHUNK_CLOCK		= 2,	/* struct asynctrace_clock_pair[] */
	ASYNCTRACE_CHUNK_THREADS	= 3,	/* struct asynctrace_thread[], of a provider */
	ASYNCTRACE_CHUNK_NAMES		= 4,	/* struct asynctrace_task_name[], of a CPU */
	ASYNCTRACE_CHUNK_STRINGS	= 5,	/* words of a durable ring */
	ASYNCTRACE_CHUNK_EVENTS		= 6,	/* words of a provider's ring */
	ASYNCTRACE_CHUNK_SCHED		= 7,	/* words of a kernel ring */
	ASYNCTRACE_CHUNK_ENDED		= 8,	/* struct asynctrace_ended */
};

/* asynctrace_chunk.flags */
#define ASYNCTRACE_CHUNK_F_FALLBACK	(1 << 0)	/* of the fallback ring */
#define ASYNCTRACE_CHUNK_F_BROKEN	(1 << 1)	/* framing lost: no payload */
#define ASYNCTRACE_CHUNK_F_LAST		(1 << 2)	/* the ring is done: its counts are final */

/**
 * struct asynctrace_chunk - head of what one read(2) returns
 * @size: of this structure; the payload follows it
 * @kind: enum asynctrace_chunk_kind
 * @bytes: of the payload
 * @flags: ASYNCTRACE_CHUNK_F_*
 * @provider: id of the provider; 0 for the kernel's own
 * @ring: index of the ring: the CPU, but for the fallback ring
 * @sequence: linear word offset of the payload in its ring
 * @records: records the payload claims to hold; of STRINGS, their generation:
 *	with another one, no index told before is valid any more
 * @delivered: of this ring, records handed out so far, these included
 * @overwritten: of this ring, records lost to the ring's wrapping so far
 * @dropped: of this ring, records that found no room so far
 * @ticks: the clock, read just after the payload was
 * @boottime: CLOCK_BOOTTIME at that moment, nanoseconds
 * @segment: number of the clock segment
 * @reserved: 0
 * @cleared: of this ring, records that later starts have cleared so far
 *
 * Names come before what uses them: a chunk of events comes after all strings
 * and threads that were there when its end was read; a chunk of scheduling
 * after all task names.
 */
struct asynctrace_chunk {
	__u32 size;
	__u32 kind;
	__u32 bytes;
	__u32 flags;
	__u32 provider;
	__u32 ring;
	__u64 sequence;
	__u64 records;
	__u64 delivered;
	__u64 overwritten;
	__u64 dropped;
	__u64 ticks;
	__u64 boottime;
	__u32 segment;
	__u32 reserved;
	__u64 cleared;
};

/* read(2) needs room for this, or it fails with -EINVAL. */
#define ASYNCTRACE_READ_MIN	(sizeof(struct asynctrace_chunk) + ASYNCTRACE_SUBBUF_MAX)

/**
 * struct asynctrace_provider_info - a provider that the session records
 * @id: the provider's id, also in the chunk
 * @pid: its process, in the session owner's pid namespace; 0: not visible there
 * @uid: its user, in the session owner's user namespace
 * @version: the number it registered with
 * @salt: see struct asynctrace_control
 * @flags: ASYNCTRACE_PROVIDER_F_*
 * @name: its name, ended by a NUL
 * @sched_dropped: scheduling records of its threads that found no room in the kernel's
 *	rings, or were beyond its share of them
 * @names_dropped: the same of names: of its threads, and of tasks that were to be named
 *	because its threads met them
 *
 * @serial: its serial number, from 1 on: unlike its id, no other provider gets it while the
 *	module is loaded
 *
 * It is told again when something has changed. The kernel's rings count these drops, too:
 * asynctrace_chunk.dropped. Of those there, the ones that no provider has were of tasks
 * that are no provider's.
 */
struct asynctrace_provider_info {
	__u32 id;
	__s32 pid;
	__u32 uid;
	__u32 version;
	__u32 salt;
	__u32 flags;
	char name[ASYNCTRACE_NAME_MAX + 4];
	__u64 sched_dropped;
	__u64 names_dropped;
	__u64 serial;
};

#define ASYNCTRACE_PROVIDER_F_GONE	(1 << 0)	/* it ended, or another session took it */
#define ASYNCTRACE_PROVIDER_F_LATE	(1 << 1)	/* it joined after the start */
#define ASYNCTRACE_PROVIDER_F_HELD	(1 << 2)	/* by a session that is not shown */

/**
 * struct asynctrace_ended - providers that had ended before the consumer came
 * @providers: how many
 * @sched_dropped: scheduling records of their threads that were dropped
 * @names_dropped: the same of names
 *
 * When a provider has ended, and its records have been read or have lost their memory to other
 * providers, the session keeps only sums. A consumer that comes later gets them once: the
 * chunk's counts are sums over all rings of these providers. Records that an earlier consumer
 * got are in @delivered of the chunk; of a snapshot, in @overwritten.
 */
struct asynctrace_ended {
	__u64 providers;
	__u64 sched_dropped;
	__u64 names_dropped;
};

/**
 * struct asynctrace_clock_pair - one moment on three clocks
 * @ticks: of the session's clock
 * @boottime: CLOCK_BOOTTIME, nanoseconds
 * @realtime: CLOCK_REALTIME, nanoseconds
 * @segment: number of the clock segment: never interpolate between two
 * @what: enum asynctrace_clock_moment
 */
struct asynctrace_clock_pair {
	__u64 ticks;
	__u64 boottime;
	__u64 realtime;
	__u32 segment;
	__u32 what;
};

enum asynctrace_clock_moment {
	ASYNCTRACE_MOMENT_RUNNING	= 0,
	ASYNCTRACE_MOMENT_START		= 1,
	ASYNCTRACE_MOMENT_STOP		= 2,
	ASYNCTRACE_MOMENT_RESUME	= 3,
};

/**
 * struct asynctrace_thread - who a slot is
 * @slot: as in the provider's records
 * @tid: thread, in the session owner's pid namespace
 * @pid: its process there
 * @reserved: 0
 * @comm: its name when it got the slot, or later
 */
struct asynctrace_thread {
	__u32 slot;
	__s32 tid;
	__s32 pid;
	__u32 reserved;
	char comm[ASYNCTRACE_COMM_LEN];
};

/**
 * struct asynctrace_task_name - a task that appears in scheduling records
 * @tid: thread, in the session owner's pid namespace
 * @pid: its process there
 * @flags: ASYNCTRACE_TASK_F_*
 * @reserved: 0
 * @ticks: when
 * @comm: the thread's name
 */
struct asynctrace_task_name {
	__s32 tid;
	__s32 pid;
	__u32 flags;
	__u32 reserved;
	__u64 ticks;
	char comm[ASYNCTRACE_COMM_LEN];
};

#define ASYNCTRACE_TASK_F_KTHREAD	(1 << 0)	/* a kernel thread */
#define ASYNCTRACE_TASK_F_PROVIDER	(1 << 1)	/* of a provider's process */

/*
 * The thread ids of tasks that the session's owner may not see: one a CPU, as a
 * thread runs on one CPU at a time.
 */
#define ASYNCTRACE_TID_OTHER		0x7fffffff
#define ASYNCTRACE_TID_OTHER_ON(cpu)	(ASYNCTRACE_TID_OTHER - (__s32)(cpu))
#define ASYNCTRACE_TID_IS_OTHER(tid)	((tid) > ASYNCTRACE_TID_OTHER - 65536)

#endif /* _UAPI_LINUX_ASYNCTRACE_H */
