# SPDX-License-Identifier: GPL-2.0
#
# Programs for tests and benchmarks, and the targets that run them

HTTPD_SRC := $(wildcard userlib/examples/httpd/*.c)

# Suites that build something have a build.mk.
include selftests/support/build.mk
include $(filter-out selftests/support/%,$(wildcard selftests/*/build.mk))

EX_CFLAGS = -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread $(AT_INCLUDES)

.PHONY: examples
examples: $(B)/examples/httpd/httpd

$(B)/examples/httpd/%.o: userlib/examples/httpd/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(EX_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/examples/httpd/httpd: $(HTTPD_SRC:userlib/examples/httpd/%.c=$(B)/examples/httpd/%.o) \
	$(B)/libasynctrace.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(AT_LIBS)

-include $(HTTPD_SRC:userlib/examples/httpd/%.c=$(B)/examples/httpd/%.d)

.PHONY: demo
demo: deps
	@$(MAKE) --no-print-directory -s user
	@selftests/module 6.1
	@selftests/demo/run 6.1

# The suites build what they need.
.PHONY: check
check: deps
	@selftests/check

.PHONY: check-full
check-full: deps
	@selftests/check --full

# The full campaigns, of which make check-full runs a share; they take hours.
.PHONY: soak
soak: deps
	@selftests/soak
