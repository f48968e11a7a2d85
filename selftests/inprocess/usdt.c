// SPDX-License-Identifier: GPL-2.0
/* A tracer of the process's own probes, which works as bpftrace and perf do */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include "usdt.h"

struct usdt_site usdt_sites[USDT_SITES];
unsigned int usdt_nr_sites, usdt_strange;

static usdt_fn report;

static void give_up(const char *why)
{
	fprintf(stderr, "usdt: %s\n", why);
	exit(2);
}

/* --- notes ------------------------------------------------------------------------------ */

struct object {
	const char *path;
	uintptr_t bias;
	bool found;
};

static int find_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct object *o = arg;

	(void)size;
	if (o->path ? !strstr(info->dlpi_name, o->path) : *info->dlpi_name != 0)
		return 0;
	if (o->path)
		o->path = info->dlpi_name;
	o->bias = info->dlpi_addr;
	o->found = true;
	return 1;
}

/* @words: the probe's address, the base's address, the semaphore's address */
static void add_site(const char *texts, const uint64_t *words, uintptr_t bias)
{
	struct usdt_site *s = &usdt_sites[usdt_nr_sites++];
	const char *name = texts + strlen(texts) + 1, *args = name + strlen(name) + 1;

	if (usdt_nr_sites == USDT_SITES)
		give_up("too many probes");
	snprintf(s->provider, sizeof(s->provider), "%s", texts);
	snprintf(s->name, sizeof(s->name), "%s", name);
	snprintf(s->args, sizeof(s->args), "%s", args);
	s->pc = words[0] + bias;
	s->semaphore = words[2] ? (unsigned short *)(words[2] + bias) : NULL;
}

static void read_notes(const char *at, const char *end, uint64_t base, uintptr_t bias)
{
	while (at < end) {
		const ElfW(Nhdr) *n = (const void *)at;
		const char *name = at + sizeof(*n), *desc = name + (n->n_namesz + 3) / 4 * 4;
		uint64_t words[3];

		memcpy(words, desc, sizeof(words));
		if (n->n_type != 3 || strcmp(name, "stapsdt"))
			give_up("a strange note");
		if (words[1] != base)
			give_up("a note has another base than its section");
		add_site(desc + sizeof(words), words, bias);
		at = desc + (n->n_descsz + 3) / 4 * 4;
	}
}

void usdt_read(const char *object)
{
	struct object o = { .path = object };
	const char *file, *notes = NULL, *end = NULL, *names;
	const ElfW(Shdr) *sections;
	const ElfW(Ehdr) *head;
	uint64_t base = 0;
	struct stat st;
	int fd;

	if (!dl_iterate_phdr(find_object, &o) && !o.found)
		give_up("no such object");
	fd = open(object ? o.path : "/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		give_up("cannot open the object");
	file = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (file == MAP_FAILED)
		give_up("cannot map the object");
	head = (const void *)file;
	sections = (const void *)(file + head->e_shoff);
	names = file + sections[head->e_shstrndx].sh_offset;
	for (int i = 0; i < head->e_shnum; i++) {
		const char *name = names + sections[i].sh_name;

		if (!strcmp(name, ".stapsdt.base"))
			base = sections[i].sh_addr;
		if (!strcmp(name, ".note.stapsdt")) {
			notes = file + sections[i].sh_offset;
			end = notes + sections[i].sh_size;
		}
	}
	if (notes)
		read_notes(notes, end, base, o.bias);
	munmap((void *)file, st.st_size);
}

/* --- arguments ------------------------------------------------------------------------------ */

#if defined(__x86_64__)
static const struct { const char *name; int reg; } regs[] = {
	{ "rax", REG_RAX }, { "rbx", REG_RBX }, { "rcx", REG_RCX }, { "rdx", REG_RDX },
	{ "rsi", REG_RSI }, { "rdi", REG_RDI }, { "rbp", REG_RBP }, { "rsp", REG_RSP },
	{ "r8", REG_R8 }, { "r9", REG_R9 }, { "r10", REG_R10 }, { "r11", REG_R11 },
	{ "r12", REG_R12 }, { "r13", REG_R13 }, { "r14", REG_R14 }, { "r15", REG_R15 },
};

static uint64_t reg_of(const ucontext_t *uc, const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(regs) / sizeof(*regs); i++)
		if (strlen(regs[i].name) == len && !memcmp(regs[i].name, name, len))
			return uc->uc_mcontext.gregs[regs[i].reg];
	usdt_strange++;
	return 0;
}

/* Returns the value of an operand such as $5, %rdi, 16(%rsp) or 16(%rsp,%rax,8). */
static uint64_t value_of(const ucontext_t *uc, const char *at)
{
	char base[8] = "", index[8] = "";
	long offset = 0, scale = 1;
	uint64_t address;

	if (*at == '$')
		return strtoull(at + 1, NULL, 0);
	if (*at == '%')
		return reg_of(uc, at + 1, strcspn(at + 1, " "));
	if (*at != '(')
		offset = strtol(at, (char **)&at, 0);
	if (sscanf(at, "(%%%7[a-z0-9],%%%7[a-z0-9],%ld)", base, index, &scale) < 1) {
		usdt_strange++;
		return 0;
	}
	address = reg_of(uc, base, strlen(base)) + offset;
	if (*index)
		address += scale * reg_of(uc, index, strlen(index));
	return *(const volatile uint64_t *)address;
}

static uintptr_t trapped_at(ucontext_t *uc)
{
	return uc->uc_mcontext.gregs[REG_RIP] - 1;
}

/* The breakpoint has replaced a nop, so continue after it. */
static void step_over(ucontext_t *uc)
{
	(void)uc;
}

static const uint8_t nop[] = { 0x90 }, trap[] = { 0xcc };
#else
/* 5, #5, x0, [sp], [sp, 16] */
static uint64_t reg_of(const ucontext_t *uc, const char *name)
{
	return !strncmp(name, "sp", 2) ? uc->uc_mcontext.sp :
	       uc->uc_mcontext.regs[strtoul(name + 1, NULL, 10)];
}

static uint64_t value_of(const ucontext_t *uc, const char *at)
{
	const char *comma;
	uint64_t address;

	if (*at == 'x' || *at == 'w')
		return reg_of(uc, at);
	if (*at != '[')
		return strtoull(at + (*at == '#'), NULL, 0);
	comma = strchr(at, ',');
	address = reg_of(uc, at + 1);
	if (comma && comma < strchr(at, ']'))
		address += strtol(comma + strspn(comma, ", #"), NULL, 0);
	return *(const volatile uint64_t *)address;
}

static uintptr_t trapped_at(ucontext_t *uc)
{
	return uc->uc_mcontext.pc;
}

static void step_over(ucontext_t *uc)
{
	uc->uc_mcontext.pc += 4;
}

static const uint8_t nop[] = { 0x1f, 0x20, 0x03, 0xd5 }, trap[] = { 0x00, 0x00, 0x20, 0xd4 };
#endif

static int64_t cut(uint64_t value, int bytes)
{
	const int shift = 64 - 8 * abs(bytes);

	return bytes < 0 ? (int64_t)(value << shift) >> shift : (int64_t)(value << shift >> shift);
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	const uintptr_t pc = trapped_at(uc);
	struct usdt_hit hit = { 0 };

	(void)sig;
	(void)info;
	for (unsigned int i = 0; i < usdt_nr_sites && !hit.site; i++)
		if (usdt_sites[i].pc == pc)
			hit.site = &usdt_sites[i];
	if (!hit.site)
		give_up("a trap outside of all probes");
	for (const char *at = hit.site->args; *at; at += strspn(at, " ")) {
		const char *operand = strchr(at, '@');

		if (!operand || hit.nargs == USDT_ARGS) {
			usdt_strange++;
			break;
		}
		hit.arg[hit.nargs++] = cut(value_of(uc, operand + 1), atoi(at));
		/* An operand may contain blanks within brackets. */
		at = operand[1] == '[' ? strchr(operand, ']') + 1 : operand + strcspn(operand, " ");
	}
	step_over(uc);
	report(&hit);
}

/* --- attaching -------------------------------------------------------------------------------- */

static void write_code(uintptr_t pc, const uint8_t *old, const uint8_t *new)
{
	const uintptr_t page = getpagesize(), from = pc & ~(page - 1);

	if (memcmp((void *)pc, old, sizeof(nop)))
		give_up("a probe is another instruction than it should be");
	if (mprotect((void *)from, pc + sizeof(nop) - from, PROT_READ | PROT_WRITE | PROT_EXEC))
		give_up("cannot write to the program");
	memcpy((void *)pc, new, sizeof(nop));
	__builtin___clear_cache((char *)pc, (char *)pc + sizeof(nop));
	mprotect((void *)from, pc + sizeof(nop) - from, PROT_READ | PROT_EXEC);
}

static bool site_is(const struct usdt_site *s, const char *provider, const char *name)
{
	return !strcmp(s->provider, provider) && (!name || !strcmp(s->name, name));
}

unsigned int usdt_attach(const char *provider, const char *name, usdt_fn fn)
{
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_RESTART };
	unsigned int n = 0;

	report = fn;
	sigaction(SIGTRAP, &sa, NULL);
	for (unsigned int i = 0; i < usdt_nr_sites; i++) {
		struct usdt_site *s = &usdt_sites[i];

		if (!site_is(s, provider, name))
			continue;
		write_code(s->pc, nop, trap);
		if (s->semaphore)
			__atomic_fetch_add(s->semaphore, 1, __ATOMIC_SEQ_CST);
		n++;
	}
	return n;
}

void usdt_detach(const char *provider, const char *name)
{
	for (unsigned int i = 0; i < usdt_nr_sites; i++) {
		struct usdt_site *s = &usdt_sites[i];

		if (!site_is(s, provider, name))
			continue;
		if (s->semaphore)
			__atomic_fetch_sub(s->semaphore, 1, __ATOMIC_SEQ_CST);
		write_code(s->pc, trap, nop);
	}
}
