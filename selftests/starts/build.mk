# SPDX-License-Identifier: GPL-2.0
#
# Stress tests of processes that begin to trace: selftests/starts/run

STARTS_DIR    := $(B)/selftests/starts
STARTS_MODULE := module patience crowd
STARTS_COMMON := common ktap reader numbered borrow floor run run_module
STARTS_CFLAGS := -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread \
	     -fno-strict-aliasing $(AT_INCLUDES) -Iselftests/support

.PHONY: selftests-starts
selftests-starts: $(STARTS_DIR)/native $(STARTS_MODULE:%=$(STARTS_DIR)/%)

$(STARTS_DIR)/%.o: selftests/starts/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(STARTS_CFLAGS) -MMD -MP -c -o $@ $<

$(STARTS_DIR)/native: $(STARTS_DIR)/native.o $(STARTS_DIR)/scene.o $(B)/libasynctrace.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(AT_LIBS)

$(STARTS_MODULE:%=$(STARTS_DIR)/%): %: %.o $(STARTS_DIR)/ledger.o $(STARTS_DIR)/scene.o \
	$(STARTS_COMMON:%=$(B)/selftests/support/%.o) $(B)/libasynctrace.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(AT_LIBS)

-include $(wildcard $(STARTS_DIR)/*.d)
