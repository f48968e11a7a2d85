# SPDX-License-Identifier: GPL-2.0
#
# Tests of what crosses the boundary to the module, without the library.

UAPI_TESTS := \
	$(patsubst selftests/uapi/%.c,$(B)/selftests/uapi/%,$(wildcard selftests/uapi/test_*.c))
UAPI_COMMON := $(B)/selftests/uapi/notifications.o \
	       $(patsubst %,$(B)/selftests/support/%.o,raw ktap)
UAPI_FAILNTH := $(B)/selftests/uapi/fixture.o $(B)/selftests/support/failnth.o
UAPI_CFLAGS := -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -fno-strict-aliasing -pthread \
	       -Iuapi -Iselftests/support -Iselftests/uapi

.PHONY: selftests-uapi
selftests-uapi: $(UAPI_TESTS)

$(B)/selftests/uapi/%.o: selftests/uapi/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(UAPI_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/selftests/uapi/test_%: $(B)/selftests/uapi/test_%.o $(UAPI_COMMON)
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ -lmnl

$(filter $(B)/selftests/uapi/test_failnth_%,$(UAPI_TESTS)): $(UAPI_FAILNTH)

# The spec's tables.
$(B)/selftests/uapi/spec.c: uapi/asynctrace.yaml selftests/uapi/spec.py
	@mkdir -p $(@D)
	python3 -B selftests/uapi/spec.py $< > $@

$(B)/selftests/uapi/spec.o: $(B)/selftests/uapi/spec.c selftests/uapi/spec.h
	$(CC) $(CFLAGS) $(UAPI_CFLAGS) -c -o $@ $<

$(B)/selftests/uapi/test_malformed: $(B)/selftests/uapi/spec.o

.SECONDARY: $(UAPI_TESTS:%=%.o) $(UAPI_COMMON) $(UAPI_FAILNTH)
-include $(UAPI_TESTS:%=%.d) $(UAPI_COMMON:.o=.d) $(UAPI_FAILNTH:.o=.d)
