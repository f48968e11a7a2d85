# SPDX-License-Identifier: GPL-2.0
#
# Tests of the module from user space: $(B)/selftests/stress/NAME of NAME.c. selftests/stress/run
# runs them in the test machine.

KT_TESTS  := law kill step life share starts snapshot filter categories cells
# Linked with the library whose critical sections can wait
KT_DELAY  := slow

.PHONY: selftests-stress
selftests-stress: $(B)/selftests/account $(KT_TESTS:%=$(B)/selftests/stress/%) \
	$(KT_DELAY:%=$(B)/selftests/stress/%)

$(B)/selftests/stress/%.o: selftests/stress/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(KT_CFLAGS) -MMD -MP -c -o $@ $<

$(KT_TESTS:%=$(B)/selftests/stress/%): %: %.o $(KT_COMMON:%=$(B)/selftests/support/%.o) \
	$(B)/libasynctrace.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(AT_LIBS)

$(KT_DELAY:%=$(B)/selftests/stress/%): %: %.o $(KT_COMMON:%=$(B)/selftests/support/%.o) \
	$(B)/race/libasynctrace.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(AT_LIBS)

-include $(wildcard $(B)/selftests/stress/*.d)

# Tests that widen races between writers and the end of a session
RACES_COMMON := knobs names probes trial
selftests-stress: $(B)/selftests/races/restart

$(B)/selftests/races/%.o: selftests/races/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(KT_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/selftests/races/restart: %: %.o $(RACES_COMMON:%=$(B)/selftests/races/%.o) \
	$(KT_COMMON:%=$(B)/selftests/support/%.o) $(B)/race/libasynctrace.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(AT_LIBS)

-include $(wildcard $(B)/selftests/races/*.d)
