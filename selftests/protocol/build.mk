# SPDX-License-Identifier: GPL-2.0
#
# Tests of sessions and the provider protocol: $(B)/selftests/protocol/NAME, in the
# test machine: selftests/protocol/run.

PT_TABLE  := table state providers categories buffers
PT_COMMON := proto
# Each a program of its own.
PT_ALONE  := scale beside parts death together
# They share the reader, the numbered events and the raw requests with their neighbours.
PT_SHARED := $(KT_COMMON:%=$(B)/selftests/kmod/%.o) $(B)/selftests/uapi/raw.o
PT_CFLAGS := -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread -fno-strict-aliasing \
	     $(AT_INCLUDES) -Iselftests/kmod -Iselftests/uapi

.PHONY: selftests-protocol
selftests-protocol: $(B)/selftests/protocol/table $(PT_ALONE:%=$(B)/selftests/protocol/%)

$(B)/selftests/protocol/%.o: selftests/protocol/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(PT_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/selftests/protocol/table: $(PT_TABLE:%=$(B)/selftests/protocol/%.o)

$(B)/selftests/protocol/table: %: %.o $(PT_COMMON:%=$(B)/selftests/protocol/%.o) $(PT_SHARED) \
		$(B)/libasynctrace.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(AT_LIBS)

$(B)/selftests/protocol/death: $(B)/selftests/protocol/cast.o
$(B)/selftests/protocol/scale $(B)/selftests/protocol/beside $(B)/selftests/protocol/parts: $(B)/selftests/protocol/count.o

$(PT_ALONE:%=$(B)/selftests/protocol/%): %: %.o $(PT_SHARED) $(B)/libasynctrace.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(AT_LIBS)

-include $(wildcard $(B)/selftests/protocol/*.d)
