# SPDX-License-Identifier: GPL-2.0
#
# Tests of the control library and of the command
#
# They run in the test machine, except test_control, test_listings, test_status, test_quota,
# test_proc, test_ftrace, test_watch, test_sets, test_late, test_sizes, test_taken and
# test_processes, which fake the kernel's answers, test_recorder, which fakes the library's,
# test_tasks, test_summary, test_missed, test_child, test_json and test_names.

ST_CFLAGS	:= -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread $(AT_INCLUDES)
ST_WRAP		:= open2 bind get_portid setsockopt close sendto recvfrom get_fd

$(B)/selftests/tools/%: selftests/tools/%.c $(B)/libasynctrace.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ST_CFLAGS) -o $@ $^ -lcmocka $(AT_LIBS)

$(B)/selftests/tools/test_control $(B)/selftests/tools/test_listings: \
		$(B)/selftests/tools/test_%: selftests/inprocess/test_%.c \
			selftests/inprocess/fake_kernel.c \
					     selftests/inprocess/fake_kernel.h $(B)/libasynctrace.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ST_CFLAGS) $(ST_WRAP:%=-Wl,--wrap=mnl_socket_%) -Wl,--wrap=calloc -o $@ \
		$(filter-out %.h,$^) \
		-lcmocka $(AT_LIBS)

$(B)/selftests/tools/test_json: selftests/tools/test_json.c tools/json.c tools/fxt/utf8.c \
				 tools/tool.h tools/fxt/utf8.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ST_CFLAGS) -Itools -o $@ $(filter %.c,$^) -lcmocka -ljansson

$(B)/selftests/tools/test_status: selftests/tools/test_status.c tools/session/status.c \
	tools/session/find.c \
				  tools/common.c tools/json.c tools/fxt/utf8.c tools/tool.h \
				  tools/fxt/utf8.h tools/session/args.h tools/sum.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ST_CFLAGS) -Itools -o $@ $(filter %.c,$^) -lcmocka -ljansson

$(B)/selftests/tools/test_names: selftests/tools/test_names.c tools/common.c tools/fxt/utf8.c \
				 tools/tool.h tools/fxt/utf8.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ST_CFLAGS) -Itools -o $@ $(filter %.c,$^) -lcmocka

$(B)/selftests/tools/test_quota: selftests/tools/test_quota.c $(wildcard tools/quota/*.[ch])
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ST_CFLAGS) -Itools -o $@ $(filter %.c,$^) -lcmocka

$(B)/selftests/tools/test_proc: selftests/tools/test_proc.c $(wildcard tools/proc/*.[ch])
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ST_CFLAGS) -Itools -o $@ $(filter %.c,$^) -lcmocka

$(B)/selftests/tools/test_child: selftests/tools/test_child.c tools/record/child.c \
				 tools/record/signals.c tools/common.c tools/fxt/utf8.c \
				 $(wildcard tools/record/*.h) tools/tool.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ST_CFLAGS) -Itools -o $@ $(filter %.c,$^) -lcmocka

$(B)/selftests/tools/test_recorder: selftests/tools/test_recorder.c selftests/tools/fake_module.c \
				    selftests/tools/fake_module.h tools/tool.h \
				    $(filter-out $(B)/tools/main.o,$(TOOLS_OBJ)) \
				    $(B)/libasynctrace.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ST_CFLAGS) -Itools -Wl,--wrap=at_compose_next,--wrap=atc_realloc -o $@ \
		$(filter-out %.h,$^) -lcmocka $(TOOLS_LIBS)

$(B)/selftests/tools/test_summary: selftests/tools/test_summary.c tools/record/report.c \
				   tools/common.c tools/json.c tools/fxt/utf8.c \
				   $(wildcard tools/record/*.h) tools/sum.h tools/tool.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ST_CFLAGS) -Itools -o $@ $(filter %.c,$^) -lcmocka -ljansson

$(B)/selftests/tools/test_missed: selftests/tools/test_missed.c tools/record/cpu_time.c \
				  tools/record/trigger.c tools/common.c tools/json.c \
				  tools/fxt/utf8.c $(wildcard tools/record/*.h) tools/tool.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ST_CFLAGS) -Itools -o $@ $(filter %.c,$^) -lcmocka -ljansson

$(B)/selftests/tools/test_taken: selftests/tools/test_taken.c tools/record/taken.c tools/common.c \
				 tools/fxt/utf8.c tools/record/taken.h tools/tool.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ST_CFLAGS) -Itools -o $@ $(filter %.c,$^) -lcmocka

$(B)/selftests/tools/test_processes: selftests/tools/test_processes.c tools/record/threads.c \
				   tools/common.c tools/json.c tools/fxt/utf8.c tools/fxt/table.c \
				   $(wildcard tools/record/*.h) tools/tool.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ST_CFLAGS) -Itools -o $@ $(filter %.c,$^) -lcmocka -ljansson

# Without libtracefs, there is nothing to test in tools/ftrace.
$(B)/selftests/tools/test_ftrace: selftests/tools/test_ftrace.c tools/ftrace/queue.c \
				  tools/ftrace/priv.h tools/ftrace/ftrace.h $(B)/libasynctrace.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ST_CFLAGS) -DHAVE_TRACEFS $(TRACEFS_CFLAGS) -Itools \
		-Wl,--wrap=calloc -o $@ $(filter-out %.h,$^) -lcmocka $(AT_LIBS)

$(B)/selftests/tools/test_watch: selftests/tools/test_watch.c tools/ftrace/watch.c \
				 tools/fxt/table.c tools/fxt/table.h tools/ftrace/priv.h \
				 tools/ftrace/ftrace.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ST_CFLAGS) -DHAVE_TRACEFS $(TRACEFS_CFLAGS) -Itools \
		-Wl,--wrap=opendir,--wrap=readdir,--wrap=closedir -o $@ $(filter %.c,$^) -lcmocka

$(B)/selftests/tools/test_sizes: selftests/tools/test_sizes.c tools/session/args.c \
				 tools/doctor/machine.c tools/common.c tools/fxt/utf8.c \
				 tools/session/args.h tools/doctor/doctor.h tools/tool.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ST_CFLAGS) -ffunction-sections -Wl,--gc-sections -Itools \
		-o $@ $(filter %.c,$^) -lcmocka

$(B)/selftests/tools/test_late: selftests/tools/test_late.c tools/record/throttling.c \
				tools/record/tracepoints.c tools/common.c tools/fxt/table.c \
				tools/fxt/utf8.c $(wildcard tools/record/*.h) tools/tool.h \
				tools/ftrace/ftrace.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ST_CFLAGS) -DHAVE_TRACEFS -ffunction-sections -Wl,--gc-sections -Itools \
		-o $@ $(filter %.c,$^) -lcmocka

$(B)/selftests/tools/test_sets: selftests/tools/test_sets.c tools/ftrace/lists.c \
				tools/ftrace/instance.c tools/ftrace/priv.h tools/ftrace/ftrace.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ST_CFLAGS) -DHAVE_TRACEFS $(TRACEFS_CFLAGS) -Itools \
		-Wl,--wrap=access,--wrap=stat -o $@ $(filter %.c,$^) -lcmocka

$(B)/selftests/tools/test_tasks: selftests/tools/test_tasks.c tools/ftrace/tasks.c \
				 tools/ftrace/priv.h tools/ftrace/ftrace.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ST_CFLAGS) -DHAVE_TRACEFS $(TRACEFS_CFLAGS) -Itools \
		-Wl,--wrap=clock_gettime -o $@ $(filter %.c,$^) -lcmocka

.PHONY: selftests-tools
selftests-tools: $(B)/asynctrace $(B)/selftests/account $(B)/selftests/tools/provider \
		 $(B)/selftests/tools/slow $(B)/selftests/tools/dies $(B)/selftests/tools/burn \
		 $(B)/selftests/tools/forbid $(B)/selftests/tools/annotations \
		 $(B)/selftests/tools/loops $(B)/selftests/tools/rpc $(B)/selftests/tools/blocks \
		 $(B)/selftests/tools/test_sessions $(B)/selftests/tools/test_control \
		 $(B)/selftests/tools/test_listings \
		 $(B)/selftests/tools/test_json $(B)/selftests/tools/test_status \
		 $(B)/selftests/tools/test_names $(B)/selftests/tools/test_quota \
		 $(B)/selftests/tools/test_proc $(B)/selftests/tools/test_taken \
		 $(B)/selftests/tools/test_processes $(B)/selftests/tools/test_late \
		 $(B)/selftests/tools/test_sizes \
		 $(B)/selftests/tools/test_summary $(B)/selftests/tools/test_child \
		 $(B)/selftests/tools/test_missed $(B)/selftests/tools/test_recorder \
		 $(if $(TRACEFS_LIBS),$(B)/selftests/tools/test_ftrace \
		 $(B)/selftests/tools/test_tasks $(B)/selftests/tools/test_watch \
		 $(B)/selftests/tools/test_sets) \
		 $(B)/selftests/tools/sleepers \
		 $(B)/selftests/tools/cputimes
