# SPDX-License-Identifier: GPL-2.0
#
# Tests of the library against the module, run in the test machine: $(B)/selftests/attach/NAME

ATTACH_TESTS := $(B)/selftests/attach/attach $(B)/selftests/attach/test_provider

# These tests use the harness and the events of the native tests of the flight recorder.
ATTACH_BESIDE := $(addprefix $(B)/selftests/attach/,test_beside test_beside_runs \
	test_beside_stress $(if $(filter x86_64,$(AT_ARCH)),test_beside_steps))
ATTACH_FLIGHT := $(B)/selftests/attach/test_flight $(ATTACH_BESIDE)

.PHONY: selftests-attach
selftests-attach: $(ATTACH_TESTS) $(ATTACH_FLIGHT) $(B)/selftests/attach/test_quiet

$(B)/selftests/attach/%.o: selftests/attach/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(KT_CFLAGS) $(ATTACH_CFLAGS) -Iuserlib/src -MMD -MP -c -o $@ $<

$(ATTACH_TESTS): %: %.o $(KT_COMMON:%=$(B)/selftests/support/%.o) $(B)/libasynctrace.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(AT_LIBS)

$(ATTACH_FLIGHT) $(B)/selftests/attach/test_quiet: ATTACH_CFLAGS := -Iselftests/inprocess
$(B)/selftests/attach/inprocess/%.o: selftests/inprocess/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(KT_CFLAGS) -Iuserlib/src -Iselftests/inprocess -MMD -MP -c -o $@ $<

$(ATTACH_BESIDE): $(B)/selftests/attach/beside.o
$(ATTACH_FLIGHT): %: %.o $(addprefix $(B)/selftests/attach/inprocess/,tape.o flown.o) \
	$(addprefix $(B)/selftests/support/,common.o ktap.o) \
	$(B)/libasynctrace.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(AT_LIBS)

$(B)/selftests/attach/test_quiet: %: %.o $(B)/selftests/attach/inprocess/quiet.o \
	$(addprefix $(B)/selftests/support/,common.o ktap.o) $(B)/libasynctrace.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(AT_LIBS)

-include $(wildcard $(B)/selftests/attach/*.d $(B)/selftests/attach/inprocess/*.d)
