# SPDX-License-Identifier: GPL-2.0
#
# Tests of contexts, listeners, local storage and the example loop.
#
#	context-tests	builds all that selftests/context/run calls
#	context-tests-plain	builds the tests without sanitizers

CX		:= $(B)/selftests/context
CX_TESTS	:= test_context test_listener test_error test_local test_node test_hooks \
		   test_counts test_requests
# Files of selftests/inprocess
CX_HELPERS	:= tape kept
CX_SUPPORT	:= borrow common ktap numbered reader
CX_LOOP		:= loop timers pool sockets
CX_CFLAGS	:= -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -fno-strict-aliasing -pthread \
		   $(AT_INCLUDES) -Iuserlib/src -Iselftests/inprocess -Iselftests/context \
		   -Iselftests/support \
		   -Iuserlib/examples/loop

# cx_flavour DIR, LIBRARY, FLAGS
define cx_flavour
$(1)/%.o: selftests/context/%.c
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) $$(CX_CFLAGS) $(3) -MMD -MP -c -o $$@ $$<
$(1)/%.o: selftests/inprocess/%.c
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) $$(CX_CFLAGS) $(3) -MMD -MP -c -o $$@ $$<
$(1)/test_cxx.o: selftests/context/test_cxx.cc
	@mkdir -p $$(@D)
	$$(CXX) $$(CFLAGS) -std=c++17 -Wall -Wextra -Werror -pthread $$(AT_INCLUDES) $(3) -MMD -MP \
		-c -o $$@ $$<
$(1)/test_cxx: $(1)/test_cxx.o $(2)
	$$(CXX) $$(CFLAGS) $(3) $$(LDFLAGS) -o $$@ $$^ $$(AT_LIBS)
$(1)/support/%.o: selftests/support/%.c
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) $$(CX_CFLAGS) $(3) -MMD -MP -c -o $$@ $$<
$(1)/%.o: userlib/examples/loop/%.c
	@mkdir -p $$(@D)
	$$(CC) $$(CFLAGS) $$(CX_CFLAGS) $(3) -MMD -MP -c -o $$@ $$<
$(1)/%: $(1)/%.o $(CX_HELPERS:%=$(1)/%.o) $(CX_SUPPORT:%=$(1)/support/%.o) \
		$(CX_LOOP:%=$(1)/%.o) $(1)/cast.o $(2)
	$$(CC) $$(CFLAGS) $(3) $$(LDFLAGS) -o $$@ $$^ $$(AT_LIBS)
.SECONDARY: $(addprefix $(1)/,$(addsuffix .o,$(CX_HELPERS) $(CX_LOOP) $(CX_TESTS) cast)) \
	$(CX_SUPPORT:%=$(1)/support/%.o)
-include $(wildcard $(1)/*.d $(1)/support/*.d)
endef

$(eval $(call cx_flavour,$(CX)/plain,$(B)/libasynctrace.a,))
CX_ASAN		:= -fsanitize=address -fsanitize=undefined
$(eval $(call cx_flavour,$(CX)/asan,$(B)/asan/libasynctrace.a,$(CX_ASAN)))
$(eval $(call cx_flavour,$(CX)/tsan,$(B)/tsan/libasynctrace.a,-fsanitize=thread))

# test_memory replaces the allocator, as sanitizers do, so there is no sanitizer variant of it.
.PHONY: context-tests context-tests-plain
context-tests-plain: $(CX_TESTS:%=$(CX)/plain/%) $(CX)/plain/test_memory $(CX)/plain/test_cxx
context-tests: context-tests-plain $(CX)/asan/test_cxx \
	$(foreach f,asan tsan,$(CX_TESTS:%=$(CX)/$(f)/%))
