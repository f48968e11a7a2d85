# SPDX-License-Identifier: GPL-2.0
#
# Measures instructions added to a context switch. Included by the top-level Makefile.
ICOUNT_SRC := $(wildcard selftests/icount/*.c)
ICOUNT_CFLAGS := -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wno-missing-field-initializers -Werror \
		 -pthread $(AT_INCLUDES)

$(B)/selftests/icount/%.o: selftests/icount/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(ICOUNT_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/selftests/icount/icount: $(ICOUNT_SRC:selftests/icount/%.c=$(B)/selftests/icount/%.o) \
	$(B)/libasynctrace.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(AT_LIBS)

-include $(ICOUNT_SRC:selftests/icount/%.c=$(B)/selftests/icount/%.d)

.PHONY: bench-icount
bench-icount: $(B)/selftests/icount/icount
	selftests/icount/bench-icount $<
