# SPDX-License-Identifier: GPL-2.0
#
#	make bench		cost of an event, compared with other tracers
#	make bench-server	cost of tracing a server, compared with LTTng-UST
#				ROUNDS=N: rounds; REQUESTS=N: requests in each round
#	make bench-analysis	speed of analysing a trace, compared with Perfetto's reader
#				EVENTS="N ...": sizes of the traces
#	make bench-beside	cost of an event that an in-process trace and a session record

BE		:= $(B)/selftests/bench
BE_CFLAGS	:= -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread $(AT_INCLUDES) \
		   -Iselftests/bench

$(BE)/%.o: selftests/bench/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(BE_CFLAGS) -MMD -MP -c -o $@ $<

$(BE)/bench: $(BE)/bench.o $(BE)/timing.o $(B)/libasynctrace.a
	$(CC) $(CFLAGS) -o $@ $^ $(AT_LIBS)

$(BE)/bench_lttng: $(BE)/bench_lttng.o $(BE)/timing.o
	$(CC) $(CFLAGS) -o $@ $^ -llttng-ust -ldl -lpthread

$(BE)/cost: selftests/bench/cost.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(BE_CFLAGS) -o $@ $<

-include $(BE)/bench.d $(BE)/bench_lttng.d $(BE)/timing.d

.PHONY: bench
bench: $(BE)/bench $(BE)/bench_lttng
	@selftests/bench/run $(B)

# The example server, with LTTng's tracepoints instead of the library's macros
$(BE)/httpd-lttng/%.o: userlib/examples/httpd/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -std=gnu11 -D_GNU_SOURCE -pthread -Iselftests/bench/lttng \
		-Iselftests/bench \
		-MMD -MP -c -o $@ $<

$(BE)/httpd-lttng/httpd: $(HTTPD_SRC:userlib/examples/httpd/%.c=$(BE)/httpd-lttng/%.o) \
		$(BE)/server_lttng.o
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -llttng-ust -ldl -lpthread

-include $(wildcard $(BE)/httpd-lttng/*.d) $(BE)/server_lttng.d

.PHONY: bench-server
bench-server: examples $(BE)/httpd-lttng/httpd
	@selftests/bench/run-server $(B) $(or $(ROUNDS),40) $(or $(REQUESTS),4000)

.PHONY: bench-analysis
bench-analysis: tools $(BE)/cost
	@$(MAKE) -s -C selftests/fxt out=$(abspath $(B))/selftests/fxt \
		$(abspath $(B))/selftests/fxt/plain/traces
	@selftests/bench/run-analysis $(B) $(EVENTS)

$(BE)/beside: $(BE)/beside.o $(B)/libasynctrace.a
	$(CC) $(CFLAGS) -o $@ $^ $(AT_LIBS)

-include $(BE)/beside.d

.PHONY: bench-beside
bench-beside: $(BE)/beside
	@selftests/module 6.12
	@selftests/vm/run --kernel 6.12 --icount -- $<
