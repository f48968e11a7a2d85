# SPDX-License-Identifier: GPL-2.0
#
# Tests of sessions and the provider protocol: $(B)/selftests/conformance/NAME, in the
# test machine: selftests/conformance/run.

PT_TABLE  := table state providers categories buffers
PT_COMMON := proto
# Tests that are programs of their own
PT_ALONE  := scale beside parts death together
# Objects of selftests/support for all programs: the reader, numbered events and raw requests
PT_SHARED := $(KT_COMMON:%=$(B)/selftests/support/%.o) $(B)/selftests/support/raw.o
PT_CFLAGS := -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread -fno-strict-aliasing \
	     $(AT_INCLUDES) -Iselftests/support

.PHONY: selftests-conformance
selftests-conformance: $(B)/selftests/conformance/table $(PT_ALONE:%=$(B)/selftests/conformance/%)

$(B)/selftests/conformance/%.o: selftests/conformance/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PT_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/selftests/conformance/table: $(PT_TABLE:%=$(B)/selftests/conformance/%.o)

$(B)/selftests/conformance/table: %: %.o $(PT_COMMON:%=$(B)/selftests/conformance/%.o) \
	$(PT_SHARED) $(B)/libasynctrace.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(AT_LIBS)

$(B)/selftests/conformance/death: $(B)/selftests/conformance/cast.o
$(B)/selftests/conformance/scale $(B)/selftests/conformance/beside \
	$(B)/selftests/conformance/parts: $(B)/selftests/conformance/count.o

# The library comes last: other rules add objects that need it.
$(PT_ALONE:%=$(B)/selftests/conformance/%): %: %.o $(PT_SHARED) $(B)/libasynctrace.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(AT_LIBS)

-include $(wildcard $(B)/selftests/conformance/*.d)
