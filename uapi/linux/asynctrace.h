/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * asynctrace: interface between /dev/asynctrace and user space
 *
 * This header defines the ioctls of the device, the layout of the memory that a provider maps,
 * and the chunks that a consumer reads. Sessions are controlled over the generic netlink
 * family "asynctrace" (linux/asynctrace_netlink.h).
 *
 * A provider is a process, or a part of one, that has registered a name. It maps
 *
 *	offset 0		control area, read-only: written by the kernel
 *	rw_offset		read-write area: written by the provider
 *	cells			cells of threads: written by the provider and the kernel
 *
 * and the read-write area has, at offsets that the control page specifies,
 *
 *	header lines		for each of two ranges, one line of 64 bytes per ring
 *	durable ring		names: FXT string records
 *	rings			for each of two ranges, one ring per CPU and the
 *				fallback ring, each ring_stride bytes long
 *
 * A session uses one of the two ranges. The next session uses the other one, because threads may
 * still finish records in the first.
 *
 * A page is allocated when it is first touched. A store after the end of the session goes to
 * a sink page and is lost; it never reaches another session or process.
 *
 * All integers are in the machine's byte order, which must be little endian.
 *
 * Structures grow only at their end. A structure passed to the kernel begins with its size as
 * the caller knows it. If that is smaller than the kernel's, the missing fields count as 0. If
 * it is larger, the excess bytes must be 0, or the call fails with -E2BIG. So a program built
 * with older or newer headers works unless it uses a field that the kernel does not know.
 * Reserved words must be 0, and unknown flags fail with -EINVAL.
 */
#ifndef _UAPI_LINUX_ASYNCTRACE_H
#define _UAPI_LINUX_ASYNCTRACE_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Version of the interface in this header; library and module must have the same. */
#define ASYNCTRACE_ABI_VERSION		2

#define ASYNCTRACE_DEVICE		"asynctrace"

/* Limits. Lengths of names and categories are in bytes, without the final NUL. */
#define ASYNCTRACE_NAME_MAX		100
#define ASYNCTRACE_CATEGORY_MAX		100	/* bytes of a category */
#define ASYNCTRACE_CATEGORIES_MAX	100	/* categories of a session */
#define ASYNCTRACE_COMM_LEN		16
#define ASYNCTRACE_DESCRIPTION_MAX	400	/* bytes of an announced category's description */
#define ASYNCTRACE_ALERT_MAX		14	/* bytes of an alert's name */

/* --- ioctls --------------------------------------------------------------- */

/**
 * struct asynctrace_hello - version check and cookie of a descriptor
 * @size: in: sizeof(struct asynctrace_hello) as the caller knows it; out: as the module does
 * @abi: in: ASYNCTRACE_ABI_VERSION of the caller; out: of the module
 * @cookie: out: identifies this descriptor in netlink messages. Valid while the descriptor is
 *	open, and only for the calling process.
 * @salt: in: the salt of operation ids that this process has already made; 0: none. The
 *	registration grants this salt unless another process has it or had it: see struct
 *	asynctrace_control.
 * @reserved: must be 0
 *
 * Fails with -EPROTO if the versions differ (@abi then is the module's), and with -EPERM if
 * another process already got the cookie. Fails with -EOPNOTSUPP for a 32-bit process, which
 * cannot store a ring position at once.
 */
struct asynctrace_hello {
	__u32 size;
	__u32 abi;
	__aligned_u64 cookie;
	__u32 salt;
	__u32 reserved;
};

/**
 * struct asynctrace_attrs - netlink attributes passed by ioctl
 * @size: sizeof(struct asynctrace_attrs)
 * @len: bytes at @attrs
 * @attrs: user address of the attributes of PROVIDER_REGISTER or PROVIDER_ANNOUNCE, without
 *	the cookie, because the ioctl's descriptor identifies the process
 * @id: out: the provider's id; unused for PROVIDER_ANNOUNCE
 * @reserved: must be 0
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
 * struct asynctrace_consume - makes a descriptor a session's consumer
 * @size: sizeof(struct asynctrace_consume)
 * @session: the session's id
 * @flags: ASYNCTRACE_CONSUME_F_*
 * @reserved: must be 0
 *
 * From then on read(2) returns chunks, and poll(2) reports when there are any. If there is no
 * chunk, read(2) waits while the session is started, or fails with -EAGAIN if O_NONBLOCK is set.
 * It returns 0 if there is no chunk and the session is not started, and at the end of a snapshot.
 *
 * The ioctl fails with -EBUSY if the session already has a consumer, or if the descriptor is a
 * consumer's or a provider's already. It fails with -ENOENT if the caller may not see the session,
 * and with -EINVAL for a snapshot of a session that is not circular. It fails with -EPERM if the
 * caller is neither the session's owner nor has CAP_SYS_ADMIN. Without CAP_PERFMON, the caller
 * also needs the group and the capabilities that the owner had when it created the session.
 */
struct asynctrace_consume {
	__u32 size;
	__u32 session;
	__u32 flags;
	__u32 reserved;
};

/*
 * Read what a circular session has at this moment, names included, and then the end of file.
 * Nothing is removed, so that snapshots can be repeated. Writers are not disturbed.
 */
#define ASYNCTRACE_CONSUME_F_SNAPSHOT	(1 << 0)

/**
 * struct asynctrace_alert - an alert that a provider raises
 * @size: sizeof(struct asynctrace_alert)
 * @reserved: must be 0
 * @name: 1 to ASYNCTRACE_ALERT_MAX bytes, padded with NULs
 *
 * For a provider's descriptor. Subscribers to the session that records the provider get a
 * notification. Fails with -EAGAIN if no session records the provider, or if the provider raises
 * too many alerts. Fails with -EPERM for another process than the provider's.
 */
struct asynctrace_alert {
	__u32 size;
	__u32 reserved;
	char name[16];
};

/**
 * struct asynctrace_slot - slot and cell of a thread, requested before its first record
 * @size: in: sizeof(struct asynctrace_slot) as the caller knows it; out: as the module does
 * @slot: out: number from 1 on that the thread's records carry. The kernel, not the provider,
 *	reports which thread has a slot.
 * @cell: out: number of the thread's struct asynctrace_cell, from 1 on; 0: it has none, because
 *	memory was short or all cells are in use
 * @reserved: must be 0
 */
struct asynctrace_slot {
	__u32 size;
	__u32 slot;
	__u32 cell;
	__u32 reserved;
};

/**
 * struct asynctrace_observed - what read(2) on a provider's descriptor returns
 * @size: bytes of this structure that the kernel has filled in
 * @gate: see struct asynctrace_control
 * @state: enum asynctrace_session_state of the provider's session; 0: it has no session
 * @reserved: 0
 *
 * read(2) truncates the structure to the buffer, which must have room for the words above.
 * poll(2) reports EPOLLIN if @gate or @state has changed since the last read(2). read(2) waits
 * for such a change, or fails with -EAGAIN if O_NONBLOCK is set. It returns 0 when the provider has
 * ended.
 */
struct asynctrace_observed {
	__u32 size;
	__u32 gate;
	__u32 state;
	__u32 reserved;
};

/*
 * The kernel ignores the size and the direction that are encoded in a request, so that a
 * structure can grow without changing the request.
 */
#define ASYNCTRACE_IOC_MAGIC		0xB7
#define ASYNCTRACE_IOC_HELLO		_IOWR(ASYNCTRACE_IOC_MAGIC, 0, struct asynctrace_hello)
#define ASYNCTRACE_IOC_REGISTER		_IOWR(ASYNCTRACE_IOC_MAGIC, 1, struct asynctrace_attrs)
/*
 * Returns the calling thread's slot. The argument is NULL, or a struct asynctrace_slot: then the
 * thread gets a cell, too. Idempotent.
 */
#define ASYNCTRACE_IOC_THREAD		_IOWR(ASYNCTRACE_IOC_MAGIC, 2, struct asynctrace_slot)
#define ASYNCTRACE_IOC_CONSUME		_IOW(ASYNCTRACE_IOC_MAGIC, 3, struct asynctrace_consume)
#define ASYNCTRACE_IOC_ALERT		_IOW(ASYNCTRACE_IOC_MAGIC, 4, struct asynctrace_alert)
/* Takes the attributes of PROVIDER_ANNOUNCE, without the cookie. */
#define ASYNCTRACE_IOC_ANNOUNCE		_IOW(ASYNCTRACE_IOC_MAGIC, 5, struct asynctrace_attrs)

/* --- the control area ----------------------------------------------------- */

/* Values of asynctrace_control.gate; all others are a run's generation. */
#define ASYNCTRACE_GATE_OFF		0	/* no session records this provider */
#define ASYNCTRACE_GATE_ATTACH		1	/* the process has not registered yet */
/* Larger generations are for in-process traces, which do not use the module. */
#define ASYNCTRACE_GENERATION_MAX	0xbfffffffU

enum asynctrace_clock {
	ASYNCTRACE_CLOCK_COUNTER	= 0,	/* TSC, or CNTVCT_EL0 on arm64 */
	ASYNCTRACE_CLOCK_BOOTTIME	= 1,	/* CLOCK_BOOTTIME nanoseconds */
};

#define ASYNCTRACE_CONTROL_MAGIC	0x4c525443	/* "CTRL" */

/**
 * struct asynctrace_control - first page of the control area
 * @gate: ASYNCTRACE_GATE_OFF, _ATTACH, or the generation of the run that
 *	records. Generations are not repeated before they wrap at
 *	ASYNCTRACE_GENERATION_MAX, so what a site or a thread learned under one is
 *	valid under no other. A run gets a new generation when its categories
 *	change: see @run. Use a load-acquire, which pairs with the kernel's
 *	store-release: the fields up to @clock_shift then belong to the generation
 *	read. A writer compares the gate again inside its critical section.
 * @sub_mask: words of a sub-buffer - 1
 * @ring_mask: words of a ring - 1
 * @clock: enum asynctrace_clock
 * @headers: offset of the run's header lines in the read-write area, bytes
 * @rings: offset of the run's rings in the read-write area, bytes
 * @ring_stride: bytes from one ring to the next
 * @clock_offset: nanoseconds to subtract from CLOCK_BOOTTIME as read in the
 *	provider's time namespace; 0 for the counter
 * @nr_rings: number of CPU rings, and index of the fallback ring. Records of CPUs
 *	whose number is not below this are dropped.
 * @run: the generation that the run began with. A record begun under this or a
 *	later generation belongs to the run, and is written under the current one.
 * @clock_mult: a difference of ticks is difference * @clock_mult >> @clock_shift
 *	nanoseconds; 0: unknown
 * @clock_shift: at most 32
 * @magic: ASYNCTRACE_CONTROL_MAGIC
 * @abi: ASYNCTRACE_ABI_VERSION of the module
 * @size: bytes of this structure that the kernel filled
 * @provider: the provider's id
 * @salt: the salt granted, below 2^20: operation ids of this process are
 *	salt << 44 | counter. No other process gets it while this one is registered
 *	or its records are still to be read, and until 2^18 salts of other processes have
 *	ended after that. A process that registers anew may propose one of its last 8 salts.
 * @control_size: bytes of the control area
 * @limits: offset in the control area of one __u64 per ring of the run, in linear
 *	words: a writer must not enter a sub-buffer that ends above it
 * @categories: offset in the control area of struct asynctrace_categories; changes
 *	when the categories change
 * @rw_offset: file offset of the read-write area
 * @rw_size: bytes of the read-write area
 * @durable: offset of the durable ring's header line; its data begin one line
 *	after it
 * @durable_words: words of the durable ring's data
 * @durable_generation: interned names are valid only if bits 32..63 of the durable
 *	ring's position have this value
 * @cells: file offset of the array of struct asynctrace_cell. It is mapped by itself, and
 *	as a whole. Cell number N is element N - 1.
 * @nr_cells: number of cells there
 * @reserved1: 0
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
	__u32 clock_mult;
	__u32 clock_shift;

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
	__u64 cells;
	__u32 nr_cells;
	__u32 reserved1;
};

/**
 * struct asynctrace_categories - the categories that the session records of this provider
 * @count: number of patterns in @text, at most 2 * ASYNCTRACE_CATEGORIES_MAX; 0
 *	means every category
 * @bytes: size of @text
 * @text: patterns, each NUL-terminated. A pattern is a category's exact name, or a
 *	prefix and a final '*'. A leading '-' makes a pattern exclude categories. If
 *	all patterns exclude, all other categories are recorded.
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
 * @position: bits 0..47: linear offset of the next record, in words since the
 *	session began; bits 48..63: number of records in its sub-buffer. Published
 *	by one store-release, the last instruction of a critical section.
 *	In the fallback ring, bits 36..47 are the run modulo 4096 instead, set by
 *	the kernel, and the store is a compare-and-swap.
 * @dropped: number of records that found no room. In the fallback ring, bits 52..63
 *	are the run modulo 4096, set by the kernel, and writers add to the other bits
 *	by compare-and-swap.
 * @reserved: must not be written
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
 * struct asynctrace_subbuf - the four words at the beginning of each sub-buffer
 * @magic: ASYNCTRACE_SUBBUF_MAGIC
 * @generation: generation of the writer that entered this sub-buffer
 * @sequence: number of this sub-buffer since the session began
 * @records: records committed in this ring before this sub-buffer
 * @end: linear offset at which the records of the previous sub-buffer end
 *
 * Records never cross a sub-buffer's end. A ring's first position is 0, which means that the
 * first writer must enter sub-buffer 0.
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

/* --- the durable ring ----------------------------------------------------- */

/*
 * The first word of the durable ring's header line is its position: bits 0..31 are the words
 * committed, bits 32..63 the durable generation. The ring's data are FXT string records with
 * indices from 1 on, in order. They are not rewritten within a generation. If the durable ring is
 * full, records in other rings carry their names inline.
 */
#define ASYNCTRACE_DURABLE_GEN_SHIFT	32
#define ASYNCTRACE_DURABLE_SIZE		(256 * 1024)	/* bytes with the line */

/* --- cells ---------------------------------------------------------------- */

/**
 * struct asynctrace_cell - words that a thread and the kernel write for each other
 * @operation: written by the thread with one plain store: id of the operation that it works on;
 *	0: none. The kernel reads it once at each switch and wakeup of the thread, does not
 *	interpret it, and puts it into the record: ASYNCTRACE_FXT_STR_*_OPERATION.
 * @reserved1: 0
 * @sequence: odd while the kernel changes the words from here on, which it does when the
 *	thread begins to run. A reader reads them again if @sequence was odd, or changed
 *	meanwhile.
 * @generation: the gate of the control page at that time. If the gate has another value, the
 *	words below are out of date.
 * @cpu_ns: CPU time of the thread, as CLOCK_THREAD_CPUTIME_ID has it, at @since
 * @since: when the thread last began to run, in ticks of the control page's clock
 * @switches: number of times that the thread has left a CPU since the session traces it
 * @reserved2: 0
 *
 * A thread has at most one cell. After the thread has ended, another thread of the provider may
 * get the cell, but no thread of another provider. An access to a page of the array raises SIGBUS
 * until a thread has been given a cell in that page.
 */
struct asynctrace_cell {
	__u64 operation;
	__u64 reserved1;
	__u32 sequence;
	__u32 generation;
	__u64 cpu_ns;
	__u64 since;
	__u64 switches;
	__u64 reserved2[2];
};

/* --- records in rings ----------------------------------------------------- */

/*
 * A provider writes FXT event records (linux/asynctrace_fxt.h), in ticks of the control page's
 * clock, with two differences. The thread reference is 0, and one word replaces the two inline
 * thread words: bits 0..31 are the thread's slot, bits 32..63 are 0.
 *
 * The first three words of every record are its head, the time of writing and the slot. Only in
 * a complete duration, the time of writing is the last word. The other records that a provider
 * may write:
 *
 *	event of a virtual thread: an event of type DURATION_BEGIN, DURATION_END or FLOW_* with
 *		thread reference ASYNCTRACE_FXT_RING_VIRTUAL. After the slot: the event's time;
 *		the provider's number of the virtual thread; its name, a string reference. The
 *		text of an inline thread name follows those of category and name.
 *	blob: after the slot, the text of an inline name; the bytes
 *	large blob: after the slot, the format word with thread reference 0; the texts of
 *		category and name; for an event, the arguments; the number of bytes; the bytes
 *	kernel object: after the slot, the object's id; for a process or thread, the id of the
 *		writer's process as the writer knows it, else 0; the text of an inline name;
 *		the arguments
 *
 * All of these have at most ASYNCTRACE_FXT_WORDS_MAX words.
 */

/* --- chunks: data that read(2) returns ------------------------------------ */

enum asynctrace_chunk_kind {
	ASYNCTRACE_CHUNK_PROVIDER	= 1,	/* struct asynctrace_provider_info */
	ASYNCTRACE_CHUNK_CLOCK		= 2,	/* struct asynctrace_clock_pair[] */
	ASYNCTRACE_CHUNK_THREADS	= 3,	/* struct asynctrace_thread[], of a provider */
	ASYNCTRACE_CHUNK_NAMES		= 4,	/* struct asynctrace_task_name[] */
	ASYNCTRACE_CHUNK_STRINGS	= 5,	/* words of a provider's durable ring */
	ASYNCTRACE_CHUNK_EVENTS		= 6,	/* words of a provider's ring */
	ASYNCTRACE_CHUNK_SCHED		= 7,	/* words of a kernel ring */
	ASYNCTRACE_CHUNK_ENDED		= 8,	/* struct asynctrace_ended */
};

/* asynctrace_chunk.flags */
#define ASYNCTRACE_CHUNK_F_FALLBACK	(1 << 0)	/* from the fallback ring */
#define ASYNCTRACE_CHUNK_F_BROKEN	(1 << 1)	/* the ring is damaged: no payload */
#define ASYNCTRACE_CHUNK_F_LAST		(1 << 2)	/* the ring's counts are final */

/**
 * struct asynctrace_chunk - header of the data that one read(2) returns
 * @size: size of this structure; the payload follows it
 * @kind: enum asynctrace_chunk_kind
 * @bytes: size of the payload
 * @flags: ASYNCTRACE_CHUNK_F_*
 * @provider: id of the provider; 0 for chunks that belong to no provider
 * @ring: index of the ring: the number of its CPU, except for the fallback ring, and for NAMES that
 *	an earlier consumer got from the rings, which have counts of their own; 0 if the payload
 *	is from no ring
 * @sequence: linear word offset of the payload in its ring
 * @records: number of records that the payload claims to have; for STRINGS, their generation: if
 *	it changes, all indices of earlier chunks are invalid
 * @delivered: of this ring, records handed out so far, including this payload
 * @overwritten: of this ring, records lost to wraparound so far
 * @dropped: of this ring, records that found no room so far
 * @ticks: the session's clock just after the payload was read
 * @boottime: CLOCK_BOOTTIME at that moment, nanoseconds
 * @segment: number of the clock segment
 * @reserved: 0
 * @cleared: of this ring, records that later starts have cleared so far
 *
 * Names come before the records that use them. A chunk of events comes after all strings and
 * threads that existed when the end of its ring was read. A chunk of scheduling records comes
 * after a name of each task in it. If a task has been renamed since the reader's pass began, or has
 * got the id of a process that ended, the new name may come in the next pass, or at the end of a
 * snapshot.
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

/* Smallest buffer for read(2), which fails with -EINVAL if there is less room. */
#define ASYNCTRACE_READ_MIN	(sizeof(struct asynctrace_chunk) + ASYNCTRACE_SUBBUF_MAX)

/**
 * struct asynctrace_provider_info - a provider that the session records
 * @id: the provider's id, also in the chunk
 * @pid: its process, in the session owner's pid namespace; 0: not visible there
 * @uid: its user, in the session owner's user namespace
 * @version: the number that it registered with
 * @salt: see struct asynctrace_control
 * @flags: ASYNCTRACE_PROVIDER_F_*
 * @name: its name, NUL-terminated
 * @sched_dropped: scheduling records of its threads that found no room in the kernel's
 *	rings, or exceeded the provider's share of these rings
 * @names_dropped: names dropped for these reasons: of its threads, and of other tasks in
 *	its threads' scheduling records
 * @serial: its serial number, from 1 on. Unlike @id, it is not reused while the module is
 *	loaded
 *
 * The chunk is repeated when something has changed. asynctrace_chunk.dropped of the kernel's
 * rings includes @sched_dropped and @names_dropped of all providers; the rest are records of
 * tasks that belong to no provider.
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

#define ASYNCTRACE_PROVIDER_F_GONE	(1 << 0)	/* ended, or taken by another session */
#define ASYNCTRACE_PROVIDER_F_LATE	(1 << 1)	/* joined after the start */
#define ASYNCTRACE_PROVIDER_F_HELD	(1 << 2)	/* in a session hidden from the caller */

/**
 * struct asynctrace_ended - providers that ended before the descriptor became the consumer
 * @providers: number of these providers
 * @sched_dropped: scheduling records of their threads that were dropped
 * @names_dropped: names that were dropped on their behalf
 *
 * When a provider has ended, and its records have been read or freed to make room, only sums
 * remain in the session. A later consumer gets the sums once: the chunk's counts are sums over
 * all rings of these providers. Records that an earlier consumer has read count in @delivered
 * of the chunk; in a snapshot, they count in @overwritten.
 */
struct asynctrace_ended {
	__u64 providers;
	__u64 sched_dropped;
	__u64 names_dropped;
};

/**
 * struct asynctrace_clock_pair - one moment on three clocks
 * @ticks: the session's clock
 * @boottime: CLOCK_BOOTTIME, nanoseconds
 * @realtime: CLOCK_REALTIME, nanoseconds
 * @segment: number of the clock segment; do not interpolate between two segments
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
 * struct asynctrace_thread - the thread that has a slot
 * @slot: the slot, as in the provider's records
 * @tid: thread id, in the session owner's pid namespace
 * @pid: id of the thread's process in that namespace
 * @reserved: 0
 * @comm: the thread's name when it got the slot, or later
 */
struct asynctrace_thread {
	__u32 slot;
	__s32 tid;
	__s32 pid;
	__u32 reserved;
	char comm[ASYNCTRACE_COMM_LEN];
};

/**
 * struct asynctrace_task_name - name of a task that appears in scheduling records
 * @tid: thread id, in the session owner's pid namespace
 * @pid: id of the thread's process in that namespace
 * @flags: ASYNCTRACE_TASK_F_*
 * @reserved: 0
 * @ticks: the session's clock when the name was read
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
 * Thread ids that stand for all tasks that the session's owner may not see. There is one for
 * each CPU, so that none of them seems to run on two CPUs at a time.
 */
#define ASYNCTRACE_TID_OTHER		0x7fffffff
#define ASYNCTRACE_TID_OTHER_ON(cpu)	(ASYNCTRACE_TID_OTHER - (__s32)(cpu))
#define ASYNCTRACE_TID_IS_OTHER(tid)	((tid) > ASYNCTRACE_TID_OTHER - 65536)

#endif /* _UAPI_LINUX_ASYNCTRACE_H */
