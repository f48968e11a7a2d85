# SPDX-License-Identifier: GPL-2.0
#
# Tests of processes that fork, execute, unshare and so on while they are traced: see
# selftests/life/run

LIFE_DIR    := $(B)/selftests/life
LIFE_CASES  := life processes threads
LIFE_COMMON := common ktap reader numbered borrow floor run run_module
LIFE_CFLAGS := -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread \
	       -fno-strict-aliasing $(AT_INCLUDES) -Iselftests/support -Iselftests/starts

.PHONY: selftests-life
selftests-life: $(LIFE_DIR)/native $(LIFE_DIR)/module selftests-plugin

$(LIFE_DIR)/%.o: selftests/life/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LIFE_CFLAGS) -MMD -MP -c -o $@ $<

$(LIFE_DIR)/native: $(LIFE_DIR)/native.o $(LIFE_CASES:%=$(LIFE_DIR)/%.o) $(B)/libasynctrace.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(AT_LIBS)

$(LIFE_DIR)/module: $(LIFE_DIR)/module.o $(LIFE_CASES:%=$(LIFE_DIR)/%.o) \
	$(B)/selftests/starts/ledger.o $(LIFE_COMMON:%=$(B)/selftests/support/%.o) \
	$(B)/libasynctrace.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(AT_LIBS)

-include $(wildcard $(LIFE_DIR)/*.d)
