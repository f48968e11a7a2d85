#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# asynctrace top --batch: text and JSON, of files and pipes
#
# usage: batch.sh ASYNCTRACE FEEDER TRACES EXAMPLES
set -u

AT=$1 FEEDER=$2 TRACES=$3 EXAMPLES=$4
. "${0%/*}/lib.sh"
scratch
trap 'rm -rf "$work"' EXIT

# same_as_report FILE: top prints the same numbers of each type as report. Numbers of a type without
# an ended operation do not exist: they are null in both.
same_as_report() {
	"$AT" report --json "$1" >report 2>err
	jq -r '[.type, .provider, .count, .incomplete, .max_ns, .running, .runnable, .blocked, .queued, .unknown] | map(. // "null") | @tsv' \
		<report | sort >want
	"$AT" top --batch --json "$1" >out 2>err
	jq -r '.types[] | [.type, .provider, .count, .open, .max_ns, .running, .runnable, .blocked, .queued, .unknown] | map(. // "null") | @tsv' \
		<out | sort >got
	cmp want got || { diff want got >>err; false; }
}

# The percentiles of top are at least those of report, and at most a 32nd above.
percentiles_fit() {
	jq -s --slurpfile top out '[.[] | . as $r | $top[0].types[] |
		select(.type == $r.type and .provider == $r.provider) |
		.p50_ns >= $r.p50_ns and .p50_ns <= $r.p50_ns * 33 / 32 and
		.p99_ns >= $r.p99_ns and .p99_ns <= $r.p99_ns * 33 / 32] |
			all' <report | grep -qx true
}

begin "finished_file_has_the_numbers_of_report"
for kind in "server 1000" "lossy"; do
	set -- $kind
	"$TRACES" "$1" "$1.fxt" ${2-} >/dev/null 2>err
	check "$1" same_as_report "$1.fxt"
	check "$1: some" [ -s want ]
	check "$1: percentiles" percentiles_fit
	check "$1: once" [ "$(wc -l <out)" = 1 ]
	check "$1: the end" [ "$(json .ended)" = true ]
done
ASYNCTRACE_OUT=hello.fxt "$EXAMPLES/hello" 2>err
check "hello" same_as_report hello.fxt
check "hello, compressed" eval 'gzip -k hello.fxt && same_as_report hello.fxt.gz'
end

# An entered operation is worked on exactly in its scopes, also by threads of a pool.
begin "entered_operations_have_the_numbers_of_report"
for program in pool coffee; do
	check "$program runs" eval 'ASYNCTRACE_OUT=$program.fxt "$EXAMPLES/$program" >said 2>err'
	check "$program" same_as_report $program.fxt
	check "$program: some" [ -s want ]
	check "$program: percentiles" percentiles_fit
done
end

begin "losses_are_those_of_the_trace"
"$AT" top --batch --json lossy.fxt >out 2>err
"$AT" report --json lossy.fxt losses >losses 2>err
for what in dropped overwritten malformed; do
	check $what is "$(jq -s "map(.$what) | add // 0" losses)" .$what
done
check "they add up" is true '.attempted == .analysed + .dropped + .overwritten + .malformed + .cleared + .unwritten'
check "some" is true '.attempted > .analysed'
"$AT" top --batch lossy.fxt >out 2>err
check "the text has the losses" grep -q '^LOST [1-9].* records (.*): unknown time$' out
check "the text has the share" grep -Eq ', [0-9.]+ % analysed of [0-9,]+$' out
end

begin "pipe_has_the_numbers_of_its_file"
check "pipe" eval 'cat lossy.fxt | "$AT" top --batch --json - >out 2>err'
tail -n 1 out | jq -S '.types | map(del(.recent, .rate)) | sort_by(.type, .provider)' >piped
"$AT" top --batch --json lossy.fxt | jq -S '.types | map(del(.recent, .rate)) | sort_by(.type, .provider)' >filed
check "the same" cmp piped filed
end

begin "growing_trace_is_printed_again_and_again"
open_feed
"$AT" top --batch --json --interval 0.1 trace >out 2>err 9>&- & top=$!
orders
say "begin 1 1 order 1000 2100" flush
check "settled" soon last '.types[0].count == 100'
check "open" last '.open_count == 1 and .open[0].id == "0x1000000003e8"'
check "of the type" last '.types[0].open == 1'
check "not ended" last '.ended == false and .late == 0'
check "recently all" last '.types[0] | .recent.count == 100 and .recent.max_ns == 10000000'
check "exact shares" last '.types[0] | [.running, .runnable, .blocked, .queued, .unknown] == [0.594059, 0.19802, 0.19802, 0.009901, 0]'
say "end 1 1 order 1000 2150"
close_feed
wait $top
check "status" [ $? = 0 ]
check "at the end" last ".ended and .types[0].count == 101 and .open_count == 0"
check "the longest" last ".types[0].max_ns == 50000000"
check "objects, one a line" eval '[ "$(wc -l <out)" -gt 1 ] && [ "$(jq -c . <out | wc -l)" = "$(wc -l <out)" ]'
end

begin "count_ends_it_after_that_many"
open_feed
"$AT" top --batch --json --interval 0.05 --count 3 trace >out 2>err 9>&- & top=$!
say "provider 1 100 shop" flush
wait $top
check "status" [ $? = 0 ]
check "three" [ "$(wc -l <out)" = 3 ]
close_feed
end

begin "output_that_cannot_be_written_ends_it"
open_feed
"$AT" top --batch --interval 0.05 trace >/dev/full 2>err 9>&- & top=$!
say "provider 1 100 shop" flush
wait $top
check "status" [ $? = 1 ]
check "the reason" says "cannot write to standard output: No space left on device"
close_feed
end

begin "signal_ends_it_with_status_0"
rm -f trace
mkfifo trace
for signal in INT TERM HUP QUIT; do
	rm -f out
	"$AT" top --batch --interval 0.05 trace >out 2>err & top=$!
	check "it runs" soon [ -s out ]
	kill -$signal $top
	wait $top
	check "$signal" [ $? = 0 ]
done
end

# stalled PAGES FILE: run top with a pipe as output that nobody reads, and in which PAGES pages are
# free
stalled() {
	rm -f unread
	mkfifo unread
	exec 8<>unread
	head -c $((65536 - $1 * 4096)) /dev/zero >&8
	"$AT" top --batch --json --interval 0.05 "$2" >unread 2>err 8>&- & top=$!
}

# The pipe has no room.
is_full() {
	python3 -c 'import fcntl, struct, sys, termios
sys.exit(struct.unpack("i", fcntl.ioctl(8, termios.FIONREAD, b"1234"))[0] != 65536)'
}

begin "signal_ends_it_while_its_reader_stalls"
rm -f trace
mkfifo trace
for signal in INT TERM HUP QUIT; do
	stalled 0 trace
	sleep 0.5
	kill -$signal $top
	wait $top
	check "$signal" [ $? = 0 ]
	exec 8>&-
done
rm -f trace
open_feed
cat trace >file 9>&- &
say "provider 1 100 shop" "thread 1 1 101 worker"
for i in $(seq 100); do
	say "begin 1 1 order $i $i"
done
close_feed
wait
stalled 1 file
check "a part is printed" soon is_full
kill -TERM $top
wait $top
check "status" [ $? = 1 ]
check "reason" says "a signal came while the reader of standard output stalled: the end of the last"
exec 8>&-
end

begin "program_tracing_itself_into_a_pipe_is_shown"
rm -f trace
mkfifo trace
"$AT" top --batch --json trace >out 2>err & top=$!
ASYNCTRACE_OUT=trace "$EXAMPLES/hello" 2>hello-err
wait $top
check "status" [ $? = 0 ]
check "its operation" last '.types | length == 1 and .[0].type == "hello/request" and .[0].count == 1'
end

begin "open_operation_of_a_finished_file_is_listed"
printf '%s\n' "provider 1 100 shop" "thread 1 1 101 worker" "begin 1 1 order 7 10" \
	"begin 1 1 order 8 20" "end 1 1 order 8 50" | "$FEEDER" >open.fxt
check "report agrees" same_as_report open.fxt
check "age" is 40000000 '.open[0].age_ns'
check "begin" is 1010000000 '.open[0].begin_ns'
check "text" eval '"$AT" top --batch open.fxt | grep -qx "t/order   40.000 ms  0x100000000007     shop/100"'
end

begin "columns_fit_wide_names_in_each_locale"
printf '%s\n' "provider 1 100 shop" "thread 1 1 101 worker" "begin 1 1 日本 7 10" \
	"end 1 1 日本 7 50" | "$FEEDER" >wide.fxt
LC_ALL=C.UTF-8 "$AT" top --batch wide.fxt >want 2>err
LC_ALL=C "$AT" top --batch wide.fxt >out 2>err
check name grep -q "^t/日本 " out
check same cmp want out
end

begin "filter_and_sort_choose_types"
printf '%s\n' "provider 1 100 shop" "thread 1 1 101 worker" "provider 2 200 bank" "thread 2 1 201 teller" \
	"ops 1 1 order 1 10 10 10 5 0" "ops 1 1 parcel 100 5 200 10 9 0" "ops 2 1 loan 200 20 300 10 1 0" |
	"$FEEDER" >types.fxt
types() {
	"$AT" top --batch --json "$@" types.fxt | jq -r '[.types[].type] | join(" ")'
}
check rate [ "$(types)" = "t/loan t/order t/parcel" ]
check max [ "$(types --sort max)" = "t/parcel t/order t/loan" ]
check name [ "$(types --sort name)" = "t/loan t/order t/parcel" ]
check filter [ "$(types --filter rc)" = "t/parcel" ]
check provider [ "$(types --filter shop)" = "t/order t/parcel" ]
check none [ "$(types --filter nothing)" = "" ]
end

begin "names_that_a_terminal_would_obey_are_harmless"
"$TRACES" evil evil.fxt >/dev/null 2>err
"$AT" top --batch evil.fxt >out 2>err
check "some" [ -s out ]
check "no control characters" eval '! LC_ALL=C grep -q "[[:cntrl:]]" out'
check "JSON" eval '"$AT" top --batch --json evil.fxt 2>err | jq .types >types && [ -s types ]'
end

begin "too_much_memory_begins_the_analysis_anew"
{
	printf '%s\n' "provider 1 100 shop" "thread 1 1 101 worker"
	for i in $(seq 60); do
		awk -v i="$i" -v long=$(printf '%080d' 0) 'BEGIN { for (k = 0; k < 5000; k++)
			print "begin 1 1 " long "-" i "-" k, i * 5000 + k, i * 50 + k / 100 }'
		echo flush
	done
} | "$FEEDER" >names.fxt
check status status 0 "$AT" top --batch --json --memory 64M names.fxt
check "the restart is reported" is true '.restarts > 0'
"$AT" top --batch --memory 64M names.fxt >out 2>err
check "in text, too" grep -q 'RESTARTED [0-9]* times: --memory was too small' out
end

begin "unreadable_input_is_reported"
check "no file" status 2 "$AT" top --batch none.fxt
check why says "cannot read none.fxt: No such file or directory"
check "no trace" eval 'echo this is no trace at all | status 2 "$AT" top --batch -'
check why says "cannot read standard input: it is not a Fuchsia trace"
check "empty" eval 'status 2 "$AT" top --batch - </dev/null'
check why says "it is empty"
check "compressed pipe" eval 'gzip -c server.fxt | status 2 "$AT" top --batch -'
check remedy says "unpack it"
head -c $(($(stat -c %s server.fxt) - 8)) server.fxt >cut.fxt
check "cut" status 3 "$AT" top --batch cut.fxt
check "the message says so" grep -q "the END of the trace is missing" out
check "cut pipe" eval 'cat cut.fxt | status 3 "$AT" top --batch -'
check "the message says so" grep -q "the END of the trace is missing" out
check "cut within a word" eval 'head -c 100001 server.fxt | status 3 "$AT" top --batch -'
head -c 80000 server.fxt >damaged.fxt
head -c 80000 /dev/zero >>damaged.fxt
check "damaged" status 1 "$AT" top --batch damaged.fxt
check "the message says so" grep -q "the trace is DAMAGED" out
check "damaged pipe" eval 'cat damaged.fxt | status 1 "$AT" top --batch -'
check "the message says so" grep -q "the trace is DAMAGED" out
numbers() { tail -n 1 | jq -S '.analysed, (.types | map(del(.recent, .rate)) | sort_by(.type, .provider))'; }
"$AT" top --batch --json damaged.fxt 2>err | numbers >filed
check "the pipe has the numbers of the file" eval \
	'cat damaged.fxt | "$AT" top --batch --json - 2>err | numbers | cmp - filed && grep -q p99 filed'
mkfifo held
exec 8<>held
cat damaged.fxt >held 2>err & cat=$!
check "damage ends a pipe that stays open" status 1 "$AT" top --batch held
kill $cat 2>/dev/null
wait $cat 2>/dev/null
exec 8>&-
head -c 5 server.fxt >five.fxt
check "within the magic" status 3 "$AT" top --batch five.fxt
check "pipe within the magic" eval 'cat five.fxt | status 3 "$AT" top --batch -'
check "five other bytes" eval 'head -c 5 /dev/zero | status 2 "$AT" top --batch -'
end

# The device exists only if the module is loaded.
if [ ! -e /dev/asynctrace ]; then
	begin "without_module_a_pipe_is_named"
	check status status 1 "$AT" top --batch
	check reason says "the asynctrace module is not loaded"
	check remedy says "ASYNCTRACE_OUT=PIPE PROGRAM & asynctrace top PIPE"
	end
fi

begin "wrong_use_is_reported"
for wrong in "--json" "--count 3" "--batch --count 0" "--batch --interval 0 x" "--batch --interval x" \
	     "--batch --sort size" "--batch one two" "--attach one two" "-c http one" "-m circular" \
	     "--follow" "--memory 63M" "--memory much"; do
	check "'$wrong'" status 2 "$AT" top $wrong
	check "'$wrong' has a message" grep -q "^asynctrace top: " err
done
end

close
