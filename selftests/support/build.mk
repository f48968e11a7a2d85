# SPDX-License-Identifier: GPL-2.0
#
# Code that several suites share: $(B)/selftests/support/NAME.o of NAME.c. See README.md
# in this folder's parent. selftests/build.mk includes this file before those of the suites.

KT_COMMON := borrow common floor kill ktap law numbered reader run run_module step stepper
# Some tests use internal headers of the library, and write events with what its macros expand to.
KT_CFLAGS := -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread \
	     -fno-strict-aliasing $(AT_INCLUDES) -Iselftests/support

$(B)/selftests/support/%.o: selftests/support/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(KT_CFLAGS) -MMD -MP -c -o $@ $<

-include $(wildcard $(B)/selftests/support/*.d)
