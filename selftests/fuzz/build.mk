# SPDX-License-Identifier: GPL-2.0
#
# The fuzzer of the module's interfaces, and the tables of the netlink spec that guide it

FUZZ_SRC := $(wildcard selftests/fuzz/*.c)
FUZZ_OBJ := $(FUZZ_SRC:selftests/fuzz/%.c=$(B)/selftests/fuzz/%.o)
FUZZ_CFLAGS = $(UAPI_CFLAGS) -Iselftests/fuzz

.PHONY: selftests-fuzz
selftests-fuzz: $(B)/selftests/fuzz/fuzz

$(B)/selftests/fuzz/%.o: selftests/fuzz/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(FUZZ_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/selftests/fuzz/fuzz: $(FUZZ_OBJ) $(B)/selftests/uapi/spec.o $(B)/selftests/support/raw.o
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $^ -lmnl

-include $(FUZZ_OBJ:%.o=%.d)

#? make fuzz-uapi     an hour of random requests, led by coverage (FUZZ_SECONDS, FUZZ_SEED)
FUZZ_SECONDS ?= 3600

.PHONY: fuzz-uapi
fuzz-uapi: deps
	@selftests/fuzz/run --seconds $(FUZZ_SECONDS) $(if $(FUZZ_SEED),--seed $(FUZZ_SEED))
