# SPDX-License-Identifier: GPL-2.0
#
# Native tests of the library's writer and in-process back end
#
#	writer-tests	builds everything that selftests/inprocess/run calls

WT		:= $(B)/selftests/inprocess
WT_TESTS	:= test_first test_fallback test_law test_kill test_step test_interrupted \
		   test_fork test_trace test_types test_special test_cxx \
		   test_ntrace test_flight test_beside test_handler test_operation \
		   test_operation_cxx test_handover test_go test_span test_probe test_uid \
		   test_quiet test_largest test_accounts \
		   test_memory test_loop test_clock
WT_HELPERS	:= tape flown kept run_inprocess usdt
# Shared with the tests of the module
WT_SUPPORT	:= borrow common kill ktap law numbered reader run step stepper
WT_CFLAGS	:= -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -fno-strict-aliasing -pthread \
		   $(AT_INCLUDES) -Iuserlib/src -Iselftests/inprocess -Iselftests/support
WT_CXXFLAGS	:= -std=c++17 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread $(AT_INCLUDES)

WT_ASAN		:= -fsanitize=address -fsanitize=undefined

# wt_flavour DIR, LIBRARY, FLAGS: rules that build the tests in DIR with LIBRARY and FLAGS
define wt_flavour
$(1)/%.o: selftests/inprocess/%.c
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) $$(WT_CFLAGS) $(3) -MMD -MP -c -o $$@ $$<
$(1)/%.o: selftests/inprocess/%.cc
	@mkdir -p $$(@D)
	$$(CXX) $$(CFLAGS) $$(WT_CXXFLAGS) $(3) -MMD -MP -c -o $$@ $$<
$(1)/support/%.o: selftests/support/%.c
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) $$(WT_CFLAGS) $(3) -MMD -MP -c -o $$@ $$<
$(1)/%: $(1)/%.o $(WT_HELPERS:%=$(1)/%.o) $(WT_SUPPORT:%=$(1)/support/%.o) $(2)
	$$(CXX) $$(CFLAGS) $(3) $$(LDFLAGS) -o $$@ $$^ $$(AT_LIBS)
.SECONDARY: $(WT_HELPERS:%=$(1)/%.o) $(WT_SUPPORT:%=$(1)/support/%.o) $(WT_TESTS:%=$(1)/%.o)
-include $(WT_HELPERS:%=$(1)/%.d) $(WT_SUPPORT:%=$(1)/support/%.d) $(WT_TESTS:%=$(1)/%.d)
endef

$(eval $(call wt_flavour,$(WT)/plain,$(B)/libasynctrace.a,))
$(eval $(call wt_flavour,$(WT)/race,$(B)/race/libasynctrace.a,-DAT_TEST_HOOKS))
$(eval $(call wt_flavour,$(WT)/asan,$(B)/asan/libasynctrace.a,$(WT_ASAN)))
$(eval $(call wt_flavour,$(WT)/tsan,$(B)/tsan/libasynctrace.a,-fsanitize=thread))

# Its malloc() must not get into other tests.
$(WT)/plain/test_quiet: $(WT)/plain/quiet.o
-include $(WT)/plain/quiet.d

# Programs with macros that link with the shared library
$(WT)/shared/%_prog: selftests/inprocess/%_prog.c $(B)/libasynctrace.so
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(WT_CFLAGS) -o $@ $< -L$(B) -lasynctrace

# A program with a thread sanitizer, and the shared library without it
WT_SANITIZED	:= $(WT)/tsan/test_sanitized.o $(WT)/tsan/support/common.o $(WT)/tsan/support/ktap.o
$(WT)/shared/test_sanitized: $(WT_SANITIZED) $(B)/libasynctrace.so
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -fsanitize=thread $(LDFLAGS) -o $@ $(WT_SANITIZED) -L$(B) -lasynctrace
-include $(WT)/tsan/test_sanitized.d

.PHONY: writer-tests
writer-tests: $(WT_TESTS:%=$(WT)/plain/%) $(WT)/plain/env_prog $(WT)/shared/env_prog \
	$(WT)/plain/fork_prog $(WT)/shared/fork_prog $(WT)/asan/fork_prog $(WT)/tsan/fork_prog \
	$(WT)/shared/test_sanitized \
	$(addprefix $(WT)/race/,test_law test_kill test_binding test_late) \
	$(addprefix $(WT)/asan/,test_types test_special test_cxx test_law test_fork test_trace \
		test_flight test_largest \
		test_beside test_handler test_operation test_operation_cxx test_handover \
		test_probe test_uid test_memory test_loop) \
	$(addprefix $(WT)/tsan/,test_types test_special test_cxx test_law test_flight test_beside \
		test_handler \
		test_operation test_handover test_go test_span test_memory test_loop)
