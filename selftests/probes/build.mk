# SPDX-License-Identifier: GPL-2.0
#
# A program whose probes fire on command: selftests/probes/run.

.PHONY: selftests-probes
selftests-probes: $(B)/selftests/probes/steps $(B)/examples/uid

$(B)/selftests/probes/steps: selftests/probes/steps.c $(B)/libasynctrace.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread $(AT_INCLUDES) \
		-o $@ $^ $(LDFLAGS) $(AT_LIBS)
