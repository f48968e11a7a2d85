# SPDX-License-Identifier: GPL-2.0
#
# Malicious providers, programs short of memory, and an unloaded module
#
# Needs UAPI_CFLAGS.

HOSTILE_PROGRAMS := hostile memcg churn
HOSTILE_DIR := $(B)/selftests/hostile

.PHONY: selftests-hostile
selftests-hostile: $(B)/selftests/account $(HOSTILE_PROGRAMS:%=$(HOSTILE_DIR)/%) \
	$(HOSTILE_DIR)/honest

$(HOSTILE_DIR)/%.o: selftests/hostile/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(UAPI_CFLAGS) -MMD -MP -c -o $@ $<

$(HOSTILE_PROGRAMS:%=$(HOSTILE_DIR)/%): %: %.o $(HOSTILE_DIR)/forge.o \
		$(B)/selftests/support/raw.o $(B)/selftests/support/ktap.o
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ -lmnl

# The honest provider uses the library.
$(HOSTILE_DIR)/honest: selftests/tools/provider.c $(B)/libasynctrace.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread $(AT_INCLUDES) \
		-o $@ $^ $(AT_LIBS)

.SECONDARY: $(HOSTILE_PROGRAMS:%=$(HOSTILE_DIR)/%.o) $(HOSTILE_DIR)/forge.o
-include $(HOSTILE_PROGRAMS:%=$(HOSTILE_DIR)/%.d) $(HOSTILE_DIR)/forge.d
