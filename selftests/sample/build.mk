# SPDX-License-Identifier: GPL-2.0
#
# The program that uses the sample driver; selftests/sample/run builds the driver.

.PHONY: selftests-sample
selftests-sample: $(B)/asynctrace $(B)/selftests/account $(B)/selftests/sample/requests

$(B)/selftests/sample/requests: selftests/sample/requests.c selftests/sample/module/sample.h \
		$(B)/libasynctrace.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread $(AT_INCLUDES) \
		-o $@ $(filter-out %.h,$^) $(AT_LIBS)
