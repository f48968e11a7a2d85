// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Kernel objects: descriptions of a descriptor, a pidfd or a thread
 *
 * A record of a process or thread also carries the id of this process in its own pid namespace.
 * The composer compares it with the kernel's id, to find out if the ids are those of the trace's
 * namespace.
 */
#include <errno.h>
#include <sys/stat.h>

#include <asynctrace/detail/special.h>

#include "build.h"
#include "sys.h"

/* Maximum length of an object's name. */
#define NAME_MAX_BYTES	255
/* Words that the composer may add: the kernel's name of a process or thread, and an argument. */
#define RESERVED_WORDS	48

struct object {
	unsigned int type;
	uint64_t koid;
	uint32_t pid;		/* id of this process, or 0 */
	unsigned int bytes;	/* length of the name */
	char name[NAME_MAX_BYTES + 1];
};

/* Builds "@prefix@number@suffix". */
static const char *path_of(char path[64], const char *prefix, uint32_t number, const char *suffix)
{
	char digits[10];
	size_t n = strlen(prefix), d = 0;

	do {
		digits[d++] = '0' + number % 10;
		number /= 10;
	} while (number);
	memcpy(path, prefix, n);
	while (d)
		path[n++] = digits[--d];
	memcpy(path + n, suffix, strlen(suffix) + 1);
	return path;
}

/* Reads the first bytes of a file and ends them with a NUL. Returns 0 if there are none. */
static size_t read_text(const char *path, char *buf, size_t size)
{
	const int fd = at_sys_open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;

	if (fd >= 0) {
		n = at_sys_read(fd, buf, size - 1);
		at_sys_close(fd);
	}
	buf[n > 0 ? n : 0] = '\0';
	return n > 0 ? n : 0;
}

static void name_task(struct object *o, const char *proc, uint32_t id)
{
	char path[64];

	o->bytes = read_text(path_of(path, proc, id, "/comm"), o->name, sizeof(o->name));
	if (o->bytes && o->name[o->bytes - 1] == '\n')
		o->bytes--;
}

/* Returns the number behind @field in the text of a fdinfo file; 0: no such field. */
static long field_of(const char *text, const char *field, int base)
{
	const char *s = strstr(text, field);
	long value = 0;

	if (!s)
		return 0;
	for (s += strlen(field); *s >= '0' && *s < '0' + base; s++)
		value = value * base + *s - '0';
	return value;
}

/*
 * Describes the process or thread of a pidfd. Returns false if it is unknown, for example because
 * it has been reaped.
 */
static bool describe_pidfd(struct object *o, int fd)
{
	char path[64], text[512];
	uint32_t pid;

	read_text(path_of(path, "/proc/thread-self/fdinfo/", fd, ""), text, sizeof(text));
	pid = field_of(text, "\nPid:\t", 10);
	if (!pid)
		return false;
	/* PIDFD_THREAD has the value of O_EXCL. */
	o->type = field_of(text, "flags:\t", 8) & O_EXCL ? ASYNCTRACE_FXT_OBJ_THREAD :
							   ASYNCTRACE_FXT_OBJ_PROCESS;
	o->koid = pid;
	o->pid = at_sys_getpid();
	name_task(o, "/proc/", pid);
	return true;
}

static bool begins(const struct object *o, const char *prefix)
{
	return !strncmp(o->name, prefix, strlen(prefix));
}

static unsigned int type_of(const struct object *o, mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFSOCK:
		return ASYNCTRACE_FXT_OBJ_SOCKET;
	case S_IFIFO:
		return ASYNCTRACE_FXT_OBJ_FIFO;
	case S_IFREG:
		return begins(o, "/memfd:") ? ASYNCTRACE_FXT_OBJ_VMO : ASYNCTRACE_FXT_OBJ_STREAM;
	case S_IFCHR:
	case S_IFBLK:
		return ASYNCTRACE_FXT_OBJ_STREAM;
	}
	return begins(o, "anon_inode:[eventfd") ? ASYNCTRACE_FXT_OBJ_EVENT :
	       begins(o, "anon_inode:[eventpoll") ? ASYNCTRACE_FXT_OBJ_PORT :
	       begins(o, "anon_inode:[timerfd") ? ASYNCTRACE_FXT_OBJ_TIMER :
	       ASYNCTRACE_FXT_OBJ_NONE;
}

static bool describe_fd(struct object *o, int fd)
{
	char path[64];
	struct stat st;
	ssize_t n;

	if (at_sys_fstat(fd, &st))
		return false;
	n = at_sys_readlink(path_of(path, "/proc/thread-self/fd/", fd, ""), o->name,
			    sizeof(o->name));
	o->bytes = n > 0 ? at_text_cut(o->name, n, NAME_MAX_BYTES) : 0;
	o->name[o->bytes] = '\0';
	if ((begins(o, "anon_inode:[pidfd]") || begins(o, "pidfd:")) && describe_pidfd(o, fd))
		return true;
	o->type = type_of(o, st.st_mode);
	/* All anonymous inodes have the same number: use the salt and the descriptor instead. */
	o->koid = begins(o, "anon_inode:") ? (uint64_t)at_salt() << 44 | (uint32_t)fd : st.st_ino;
	return true;
}

/*
 * Describes a thread. Its id is in the clock id of its CPU clock: the inverted thread id, shifted
 * by three bits.
 */
static bool describe_thread(struct object *o, pthread_t thread)
{
	clockid_t clock;

	if (pthread_getcpuclockid(thread, &clock))
		return false;
	o->type = ASYNCTRACE_FXT_OBJ_THREAD;
	o->koid = (uint32_t)~(clock >> 3);
	o->pid = at_sys_getpid();
	name_task(o, "/proc/self/task/", o->koid);
	return true;
}

AT_PUBLIC AT_COLD void at_object_(struct at_site_ *site, const uint64_t *refs, uint64_t found,
				  struct at_handle_ handle, const struct at_arg_ *args,
				  unsigned int nargs)
{
	const bool names = found >> 32 != TRACE_SITE_ON_;
	const unsigned int max = record_words_max() - RESERVED_WORDS;
	uint64_t scratch[5 + 1 + ARGS_SCRATCH(nargs)];
	struct at_piece pieces[2 + 2 + ARGS_PIECES(nargs)];
	unsigned short key_bytes[nargs + 1];
	struct builder b = { .pieces = pieces, .scratch = scratch };
	const unsigned int fixed = 5 + args_words(args, nargs);
	const int saved = errno;
	struct object o = { 0 };
	bool known;

	(void)refs;
	known = handle.fd == -1 ? describe_thread(&o, handle.thread) : describe_fd(&o, handle.fd);
	errno = saved;
	if (!known)
		return;
	/* The composer adds an argument for the thread's process, so there must be room for it. */
	if (o.type == ASYNCTRACE_FXT_OBJ_THREAD && nargs == ASYNCTRACE_FXT_ARGS_MAX) {
		drop_record(found);
		return;
	}
	b.room = fixed < max ? 8 * (max - fixed) : 0;
	o.bytes = take(&b, o.name, o.bytes);
	if (names)
		take_keys(&b, site, key_bytes, nargs);

	put_word(&b, 0);
	put_word(&b, 0);
	put_word(&b, found >> 32);
	put_word(&b, o.koid);
	put_word(&b, o.pid);
	put_text(&b, o.name, o.bytes);
	put_args(&b, site, names ? key_bytes : NULL, args, nargs);
	scratch[0] = ASYNCTRACE_FXT_HEAD(ASYNCTRACE_FXT_KERNELOBJ, b.words & 0xfff) |
		     (uint64_t)o.type << 16 | inline_ref(o.bytes) << 24 | (uint64_t)nargs << 40;
	at_write_pieces(found, &(struct at_record){ pieces, b.npieces, b.words, 1, &scratch[2] });
}
