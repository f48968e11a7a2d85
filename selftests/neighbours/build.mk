# SPDX-License-Identifier: GPL-2.0
#
# Unprivileged attackers, and other users who must not notice them: selftests/neighbours/run
#
# Needs selftests/support/build.mk.

NB_DIR := $(B)/selftests/neighbours
NB_CFLAGS := -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread -fno-strict-aliasing \
	     $(AT_INCLUDES) -Iselftests/support

.PHONY: selftests-neighbours
selftests-neighbours: $(NB_DIR)/attack $(NB_DIR)/victim

$(NB_DIR)/%.o: selftests/neighbours/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(NB_CFLAGS) -MMD -MP -c -o $@ $<

$(NB_DIR)/attack: %: %.o $(B)/selftests/support/raw.o
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ -lmnl

# The victims' program is instrumented with the library.
$(NB_DIR)/victim: %: %.o $(KT_COMMON:%=$(B)/selftests/support/%.o) $(B)/selftests/support/raw.o \
		$(B)/libasynctrace.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(AT_LIBS)

-include $(wildcard $(NB_DIR)/*.d)
