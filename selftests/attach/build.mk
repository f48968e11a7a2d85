# SPDX-License-Identifier: GPL-2.0
#
# Tests of the library against the module: $(B)/selftests/attach/NAME, in the test machine.

ATTACH_CFLAGS = $(KT_CFLAGS) -Iuserlib/src

.PHONY: selftests-attach
selftests-attach: $(B)/selftests/attach/attach $(B)/selftests/attach/test_provider

$(B)/selftests/attach/%.o: selftests/attach/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ATTACH_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/selftests/attach/attach: $(B)/selftests/attach/attach.o \
		$(KT_COMMON:%=$(B)/selftests/support/%.o) $(B)/libasynctrace.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(AT_LIBS)

$(B)/selftests/attach/test_provider.o: ATTACH_CFLAGS := -Iselftests/uapi $(ATTACH_CFLAGS)
$(B)/selftests/attach/test_provider: $(B)/selftests/attach/test_provider.o $(B)/libasynctrace.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(AT_LIBS)

-include $(wildcard $(B)/selftests/attach/*.d)
