// SPDX-License-Identifier: GPL-2.0
/*
 * native [PART]: runs the cases in processes that trace themselves
 *
 * The result of at_trace_stop() must account for each record, and the files must be valid and have
 * all delivered records. PART selects cases by a part of their names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "life.h"

/* Returns the number that @command prints, or -1. */
static long long number_of(const char *command)
{
	long long n = -1;
	FILE *f;

	fflush(stdout);
	f = popen(command, "r");
	if (!f)
		return -1;
	if (fscanf(f, "%lld", &n) != 1)
		n = -1;
	pclose(f);
	return n;
}

/*
 * Returns the number of records in all files of process @nr. If the stop must fail, the files have
 * no end.
 */
static uint64_t in_files(unsigned int nr)
{
	uint64_t sum = 0;
	char command[400];

	for (uint32_t k = 0; k < life->process[nr].files; k++) {
		char file[100];

		snprintf(file, sizeof(file), "%s/%u.%u.fxt", life->dir, nr, k);
		snprintf(command, sizeof(command), "build/asynctrace validate %s > %s.said 2>&1; echo $?",
			 file, file);
		if (!life->error && number_of(command))
			life_fail("%s is not valid", file);
		snprintf(command, sizeof(command), "build/asynctrace dump --events %s 2> /dev/null | grep -c '\"life\"'",
			 file);
		sum += number_of(command);
	}
	return sum;
}

/* Counts the threads that have records in the first file of process 0. */
static void check_threads(void)
{
	char command[300];
	long long n;

	snprintf(command, sizeof(command),
		 "build/asynctrace dump --events %s/0.0.fxt | grep '\"life\"' | cut -d ' ' -f 2 | sort -u | wc -l",
		 life->dir);
	n = number_of(command);
	if (n != life->threads)
		life_fail("%lld threads in the file, not %u", n, life->threads);
}

static void run_case(const struct life_case *c)
{
	char command[100];

	life_run(c, false);
	for (unsigned int i = 0; i < life->processes && !life->skipped[0]; i++) {
		const struct life_process *p = &life->process[i];
		const uint64_t there = in_files(i);

		life_compare(i, p->delivered, p->lost);
		if (there != p->delivered)
			life_fail("process %u: %llu records in files, %llu delivered", i,
				  (unsigned long long)there, (unsigned long long)p->delivered);
	}
	if (life->threads)
		check_threads();
	life_report(c);
	snprintf(command, sizeof(command), "rm -rf '%s'", life->dir);
	if (!life->failed[0] && system(command))
		perror(life->dir);
}

static void run_cases(const struct life_case *cases, unsigned int n, const char *part)
{
	for (unsigned int i = 0; i < n; i++)
		if (life_selected(&cases[i], false, part))
			run_case(&cases[i]);
}

int main(int argc, char **argv)
{
	const char *part = argc > 1 ? argv[1] : NULL;

	life_init(argv);
	run_cases(life_process_cases, life_nr_process_cases, part);
	run_cases(life_thread_cases, life_nr_thread_cases, part);
	return life_exit();
}
