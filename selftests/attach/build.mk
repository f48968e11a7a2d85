# SPDX-License-Identifier: GPL-2.0
#
# Tests of the library against the module: $(B)/selftests/attach/NAME, in the test machine.

ATTACH_TESTS := $(B)/selftests/attach/attach $(B)/selftests/attach/test_provider

.PHONY: selftests-attach
selftests-attach: $(ATTACH_TESTS)

$(B)/selftests/attach/%.o: selftests/attach/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(KT_CFLAGS) -Iuserlib/src -MMD -MP -c -o $@ $<

$(ATTACH_TESTS): %: %.o $(KT_COMMON:%=$(B)/selftests/support/%.o) $(B)/libasynctrace.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(AT_LIBS)

-include $(wildcard $(B)/selftests/attach/*.d)
