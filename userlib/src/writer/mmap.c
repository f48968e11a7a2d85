// SPDX-License-Identifier: LGPL-2.1-or-later
/* Mapping memory. */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

size_t at_page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

void *at_mmap(void *addr, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	return (void *)syscall(SYS_mmap, addr, bytes, prot, flags, fd, offset);
}

bool at_void_map(void *addr, size_t bytes)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;

	return at_mmap(addr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED;
}
