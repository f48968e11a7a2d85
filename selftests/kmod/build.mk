# SPDX-License-Identifier: GPL-2.0
#
# Tests of the module, from user space: $(B)/selftests/kmod/NAME of NAME.c and
# what they have in common. They run in the test machine: selftests/kmod/run.

KT_TESTS  := law kill step life share starts snapshot filter categories
# With the library that can wait in its critical sections.
KT_DELAY  := slow
KT_COMMON := borrow common floor ktap numbered reader
# They look at the library's inside, and write events by what its macros expand to.
KT_CFLAGS := -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread \
	     -fno-strict-aliasing $(AT_INCLUDES)

.PHONY: selftests-kmod
selftests-kmod: $(B)/selftests/account $(KT_TESTS:%=$(B)/selftests/kmod/%) $(KT_DELAY:%=$(B)/selftests/kmod/%)

$(B)/selftests/kmod/%.o: selftests/kmod/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(KT_CFLAGS) -MMD -MP -c -o $@ $<

$(KT_TESTS:%=$(B)/selftests/kmod/%): %: %.o $(KT_COMMON:%=$(B)/selftests/kmod/%.o) $(B)/libasynctrace.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(AT_LIBS)

$(KT_DELAY:%=$(B)/selftests/kmod/%): %: %.o $(KT_COMMON:%=$(B)/selftests/kmod/%.o) $(B)/race/libasynctrace.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(AT_LIBS)

-include $(wildcard $(B)/selftests/kmod/*.d)

# So do those of the races between writers and the end of a session.
RACES_COMMON := knobs names probes trial
selftests-kmod: $(B)/selftests/races/restart

$(B)/selftests/races/%.o: selftests/races/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(KT_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/selftests/races/restart: %: %.o $(RACES_COMMON:%=$(B)/selftests/races/%.o) $(KT_COMMON:%=$(B)/selftests/kmod/%.o) $(B)/race/libasynctrace.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(AT_LIBS)

-include $(wildcard $(B)/selftests/races/*.d)
