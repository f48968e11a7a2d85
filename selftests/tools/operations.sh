#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# asynctrace why and report with the examples of asynctrace/operation.h
#
# usage: operations.sh ASYNCTRACE EXAMPLES
set -u

AT=$1 EXAMPLES=$2
here=$(cd "${0%/*}" && pwd)
. "$here/lib.sh"
scratch

# report ARGUMENT...: write the result to "out"
report() {
	status 0 "$AT" report --json "$@"
}

# all FILTER: print the result of jq with all lines of "out" together
all() {
	jq -rs "$1" <out
}

begin "G53_coffee_has_a_task_with_regions_and_a_log"
check run env ASYNCTRACE_OUT=coffee.fxt "$EXAMPLES/coffee" 3 >/dev/null 2>err
check valid valid coffee.fxt
check tasks report coffee.fxt
check "3 tasks" is "coffee/makeCappuccino 3 0" '"\(.type) \(.count) \(.unfinished // .incomplete // 0)"'
check regions report coffee.fxt regions
check "regions" [ "$(all 'map("\(.region) \(.count) \(.unfinished)") | sort | join(", ")')" = \
	"coffee/extractCoffee 3 0, coffee/frothMilk 3 0, coffee/grindBeans 3 0, coffee/mixMilk 3 0" ]
check logs report coffee.fxt logs
check "3 logs" [ "$(all 'map(.message) | join(", ")')" = \
	"order 1: cappuccino, order 2: cappuccino, order 3: cappuccino" ]
end

begin "G52_logs_are_chosen_by_text_and_category"
check text report --log "order 2" coffee.fxt logs
check "one" is "order 2: cappuccino" .message
id=$(json .id)
check category report --log coffee coffee.fxt logs
check "all" [ "$(wc -l <out)" = 3 ]
check none report --log tea coffee.fxt logs
check "none" [ ! -s out ]
check "not for others" status 2 "$AT" report --log tea coffee.fxt blame
check "why" says "--log chooses logs"
check groups report coffee.fxt log-groups
check "each message" [ "$(all 'map("\(.count) \(.operations) \(.threads) \(.message)") | sort | join(", ")')" = \
	"1 1 1 order 1: cappuccino, 1 1 1 order 2: cappuccino, 1 1 1 order 3: cappuccino" ]
check "of one text" report --log "order 2" coffee.fxt log-groups
check "one" is "1 order 2: cappuccino" '"\(.count) \(.message)"'
check "people" status 0 "$AT" report coffee.fxt log-groups
end

begin "G81_operations_are_chosen_by_their_logs"
check log report --log "order 2" coffee.fxt
check "one has that log" is "coffee/makeCappuccino 1" '"\(.type) \(.count)"'
check region report --log grindBeans coffee.fxt
check "all have that region" is "coffee/makeCappuccino 3" '"\(.type) \(.count)"'
check type report --log Cappuccino coffee.fxt histogram
check "all are of that type" [ "$(all 'map(.count) | add')" = 3 ]
check none report --log tea coffee.fxt
check "none" [ ! -s out ]
end

begin "G82_tree_has_the_parts_of_one_task_in_order"
check tree report coffee.fxt tree "$id"
# The thread that froths milk may begin before the beans are ground.
check "parts" [ "$(all 'map(select(.what | test("frothMilk") | not) |
	"\(.depth) \(.kind) \(.what | sub("^ +"; ""))") | join(", ")')" = \
	"0 operation coffee/makeCappuccino, 1 region coffee/extractCoffee, 1 log coffee: order 2: cappuccino, 2 region coffee/grindBeans, 1 region coffee/mixMilk" ] ||
	cat out
check "the other thread's part" is "1 region" 'select(.what | test("frothMilk")) | "\(.depth) \(.kind)"'
check "the creator" [ "$(json 'select(.kind == "operation") | .thread')" != "" ]
check "times ascend" [ "$(all 'map(.at_ns) | . == sort')" = true ]
check "deltas add up" [ "$(all '(map(.delta_ns) | add) == .[-1].at_ns')" = true ]
check "self and total" [ "$(all '(map(select(.what | test("extractCoffee")))[0] | .ns - .self_ns) ==
	map(select(.what | test("grindBeans")))[0].ns')" = true ]
check "people" status 0 "$AT" report coffee.fxt tree "$id"
check "no such operation" status 1 "$AT" report coffee.fxt tree 0x1234
end

begin "G82_times_of_parallel_parts_are_signed"
check trace env PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1 python3 -c '
from machine import ASYNC_BEGIN, ASYNC_END, argument, event, head, thread

parents = {1: 0, 2: 1, 3: 2, 4: 1}
times = {1: (100, 200), 2: (110, 150), 3: (120, 130), 4: (115, 160)}
events = sorted([(of[0], ASYNC_BEGIN, n) for n, of in times.items()] +
                [(of[1], ASYNC_END, n) for n, of in times.items()])
out = head() + thread(7)
for ns, kind, n in events:
    args = [argument(4, "parent", parents[n])] if kind == ASYNC_BEGIN else []
    out += event(kind, ns, 7, "part", n, args)
open("parallel.fxt", "wb").write(out)'
check tree report parallel.fxt tree 1
check "ids" [ "$(all 'map(.id) | join(" ")')" = "0x1 0x2 0x3 0x4" ]
check "times" [ "$(all 'map(.at_ns) | join(" ")')" = "0 10 20 15" ]
check "time since the line before" [ "$(all 'map(.delta_ns) | join(" ")')" = "0 10 10 -5" ]
end

# Operation 1 is queued while thread 7 works on its part 2, and then on operation 3.
begin "work_on_a_part_is_told_from_other_work"
check trace env PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1 python3 -c '
from machine import ASYNC_BEGIN, ASYNC_END, BEGIN, END, argument, event, head, thread

out = head() + thread(7)
for n, parent in (1, 0), (2, 1), (3, 0):
    out += event(ASYNC_BEGIN, 100, 7, "op", n, [argument(4, "parent", parent)])
for n, begin, end in (2, 110, 130), (3, 140, 190):
    out += event(BEGIN, begin, 7, "scope", args=[argument(4, "operation", n)])
    out += event(END, end, 7, "scope", args=[argument(4, "resumed", 0)])
open("part.fxt", "wb").write(out + b"".join(event(ASYNC_END, 200, 7, "op", n) for n in (1, 2, 3)))'
check why status 0 "$AT" why --json --brief part.fxt 1
check "the part" is "20 0x2" '.parties[] | select(.other_is_part) | "\(.ns) \(.other_operations[0].id)"'
check "other work" is "50 0x3" \
	'.parties[] | select(.other_operations and (.other_is_part | not)) | "\(.ns) \(.other_operations[0].id)"'
check people status 0 "$AT" why part.fxt 1
check "a sentence" grep -q "worked on op 0x2, a part of this operation" out
check blame report part.fxt blame
check "causes" [ "$(all 'map(select(.other | test("part"))) | map("\(.ns) \(.other)") | join(" ")')" = \
	"20 working on op, a part" ]
end

# Part 2 of operation 1 ends. Part 3 begins in part.fxt and works.fxt. In works.fxt, thread 7 then
# works on operation 1 itself. Operations 1 and 3 do not end.
begin "open_operation_names_its_last_state_and_part"
check trace env PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1 python3 -c '
from machine import ASYNC_BEGIN, ASYNC_END, BEGIN, END, argument, event, head, thread

def begin(ns, n, parent):
    return event(ASYNC_BEGIN, ns, 7, "op", n, [argument(4, "parent", parent)])

def scope(begin, end, n):
    return event(BEGIN, begin, 7, "scope", args=[argument(4, "operation", n)]) + \
           event(END, end, 7, "scope", args=[argument(4, "resumed", 0)])

out = head() + thread(7) + begin(100, 1, 0) + begin(110, 2, 1) + scope(120, 140, 2)
out += event(ASYNC_END, 150, 7, "op", 2)
open("ended.fxt", "wb").write(out + begin(500, 9, 0))
open("part.fxt", "wb").write(out + begin(160, 3, 1) + begin(170, 4, 0) + begin(500, 9, 0))
open("works.fxt", "wb").write(out + begin(160, 3, 1) + scope(180, 190, 1) + scope(200, 500, 1))'
check "no part" status 0 "$AT" why --brief ended.fxt 1
check "says so" grep -qx "When the trace ended, it had been queued for .* ns: no thread worked on it." out
check "part" status 0 "$AT" why part.fxt 1
check "is named" grep -q "no thread worked on it, but its part op 0x3 was open.$" out
check "json" status 0 "$AT" why --json --brief part.fxt 1
check "names it" is "0x3 queued" '"\(.open_part.id) \(.last.state)"'
check "work" status 0 "$AT" why works.fxt 1
check "names both" grep -q "^When the trace ended, its state had been unknown for .*, and its part op 0x3 was open.$" out
check "a whole one" status 0 "$AT" why --json part.fxt 2
check "has no last state" is "null null" '"\(.last) \(.open_part)"'
end

# Thread 7 is in its duration all the time, but the session is stopped from 200 ns on, and started
# again at 900 ns. It is stopped for the last time at 1000 ns, and read long after that.
begin "time_of_a_stopped_session_is_unknown"
check trace env PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1 python3 -c '
from machine import ASYNC_BEGIN, ASYNC_END, BEGIN, END, INSTANT, event, head, switch, thread

def moment(ns, name):
    return event(INSTANT, ns, 0x70000001, name, of="asynctrace")

open("stop.fxt", "wb").write(
    head() + thread(7) + moment(1, "session start") + switch(2, 0, 0, 7, 0) +
    event(BEGIN, 10, 7, "scope") + event(ASYNC_BEGIN, 100, 7, "op", 1) +
    moment(200, "session stop") + moment(900, "session start") +
    event(ASYNC_END, 950, 7, "op", 1) + event(END, 960, 7, "scope") +
    moment(1000, "session stop") + moment(10 ** 12, "trace end"))'
check why status 0 "$AT" why --json stop.fxt
check "all is unknown" is "850 850" '"\(.latency_ns) \(.unknown_ns)"'
check "says so" says "the session was stopped and started again: nothing was recorded for 0.000001 s"
check threads report stop.fxt threads
check "its time is that of the session" is 998 .observed_ns
check losses report stop.fxt losses
check "a stop is no loss" [ ! -s out ]
end

# Thread 7 works on the operation, but the trace has no scheduling, so its state is unknown.
begin "unfinished_states_add_up_to_the_age"
check trace env PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1 python3 -c '
from machine import ASYNC_BEGIN, BEGIN, argument, event, head, thread

scope = [argument(4, "operation", 1)]
open("open.fxt", "wb").write(head() + thread(7) + event(ASYNC_BEGIN, 100, 7, "op", 1) +
                             event(BEGIN, 120, 7, "scope", args=scope) +
                             event(BEGIN, 190, 7, "last", args=scope))'
check unfinished report open.fxt unfinished
check "states" is "90 20 70" '"\(.age_ns) \(.queued_ns) \(.unknown_ns)"'
check "sum" is true '.running_ns + .runnable_ns + .blocked_ns + .queued_ns + .unknown_ns == .age_ns'
end

begin "ids_are_decimal_or_hexadecimal"
check trace env PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1 python3 -c '
from machine import ASYNC_BEGIN, ASYNC_END, event, head, thread

open("ids.fxt", "wb").write(head() + thread(7) + event(ASYNC_BEGIN, 100, 7, "op", 10) +
                            event(ASYNC_END, 200, 7, "op", 10))'
for id in 10 010 0xa 0XA; do
	check "$id" status 0 "$AT" why --brief ids.fxt $id
done
check "another id" status 1 "$AT" why ids.fxt 0x10
for id in 0x 0xg 10a -10; do
	check "$id" status 2 "$AT" why -- ids.fxt $id
done
end

# The trace began while operations 1 and 2 were open, and has the end of 1 and a scope of 2.
begin "operation_from_before_the_trace_is_told"
check trace env PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1 python3 -c '
from machine import ASYNC_END, BEGIN, END, argument, event, head, thread

open("before.fxt", "wb").write(
    head() + thread(7) + event(BEGIN, 110, 7, "scope", args=[argument(4, "operation", 2)]) +
    event(END, 130, 7, "scope", args=[argument(4, "resumed", 0)]) +
    event(ASYNC_END, 200, 7, "op", 1))'
for id in 1 2; do
	check "no answer" status 1 "$AT" why before.fxt $id
	check "and the reason" says "operation with id $id, but not its begin: it began before the trace"
done
check "no such operation" status 1 "$AT" why before.fxt 3
check "nor events" silent_about "it began before"
end

begin "G82_deep_tree_is_whole"
check trace env PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1 python3 -c '
from machine import ASYNC_BEGIN, ASYNC_END, argument, event, head, thread

# Operation 1 is its own ancestor: its parent is the last part of its tree.
nr = 20000
out = bytearray(head() + thread(7))  # a bytearray grows without a copy of all of it
for n in range(1, nr + 1):
    out += event(ASYNC_BEGIN, 100 + n, 7, "part", n, [argument(4, "parent", n - 1 or nr)])
for n in range(nr, 0, -1):
    out += event(ASYNC_END, 100 + 2 * nr - n, 7, "part", n)
open("deep.fxt", "wb").write(out)'
check tree report deep.fxt tree 1
check "all parts" [ "$(all 'map(.depth) == [range(20000)]')" = true ]
check "names are indented" [ "$(all '.[3].what')" = "      app/part" ]
check "but not by far" [ "$(all 'map(.what | length) | max')" -lt 200 ]
end

# A trace in which thread 101 works on operation 1 from 1000 to 2000 ns, and other threads
# wake it and each other.
begin "G85_related_threads_are_two_wakeups_away"
check trace env PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1 python3 -c '
from machine import ASYNC_BEGIN, ASYNC_END, event, head, switch, thread, wakeup

# Columns: time, woken thread, waker. Thread 101 works; each waker has its own CPU.
wakes = [
    (900, 101, 107),    # before the operation
    (1050, 104, 105),   # distance 3: before 104 wakes 103, but too far
    (1100, 103, 104),   # distance 2: before 103 wakes 101
    (1200, 101, 103),   # distance 1
    (1300, 101, 102),   # distance 1, the last one of two
    (1400, 101, 102),
    (1500, 103, 106),   # after 103 woke 101 for the last time
    (1600, 102, 101),   # the worker wakes its waker
    (1700, 101, 0),     # an interrupt
    (2100, 101, 108),   # after the operation
]
records = [(10, switch(10, 0, 0, 101, 0))]
for cpu, tid in enumerate(range(102, 109)):
    records += [(1 + cpu, switch(1 + cpu, cpu + 1, 0, tid, 0)),
                (20 + cpu, switch(20 + cpu, cpu + 1, tid, 0, 1))]
on = {101: 0, **{tid: cpu + 1 for cpu, tid in enumerate(range(102, 109))}}
records += [(100, switch(100, 0, 101, 0, 1))]
for ns, woken, waker in wakes:
    # A waker runs meanwhile, and sleeps again.
    if waker not in (0, 101):
        records += [(ns - 9, switch(ns - 9, on[waker], 0, waker, 0))]
    records += [(ns, wakeup(ns, on[woken], woken, waker))]
    if waker not in (0, 101):
        records += [(ns + 1, switch(ns + 1, on[waker], waker, 0, 1))]
    records += [(ns + 5, switch(ns + 5, on[woken], 0, woken, 0))]
    if ns == 900:
        records += [(1000, event(ASYNC_BEGIN, 1000, 101, "part", 1)),
                    (1010, switch(1010, 0, 101, 0, 1))]
    elif ns == 1700:
        records += [(2000, event(ASYNC_END, 2000, 101, "part", 1)),
                    (2010, switch(2010, 0, 101, 0, 1))]
    else:
        records += [(ns + 8, switch(ns + 8, on[woken], woken, 0, 1))]
    if ns == 1500:
        records += [(1595, switch(1595, 0, 0, 101, 0))]
    if ns == 1600:
        # A wakeup of 101 while it runs ends no sleep.
        records += [(1602, switch(1602, on[108], 0, 108, 0)), (1605, wakeup(1605, 0, 101, 108)),
                    (1606, switch(1606, on[108], 108, 0, 1)), (1610, switch(1610, 0, 101, 0, 1))]
out = head() + b"".join(thread(tid) for tid in on)
records.sort(key=lambda r: r[0])
open("related.fxt", "wb").write(out + b"".join(r[1] for r in records))'
check related report related.fxt related 1
check "threads" [ "$(all 'map("\(.distance) \(.tid) \(.wakeups) \(.woken_tid)") | join(", ")')" = \
	"0 101 0 0, 1 102 2 101, 1 103 1 101, 2 104 1 103" ] || cat out
check "of the operation" [ "$(all 'map(.operation) | unique | join(" ")')" = app/part ]
check "people" status 0 "$AT" report related.fxt related 1
check "no such operation" status 1 "$AT" report related.fxt related 2
check "needs an id" status 2 "$AT" report related.fxt related
check "without scheduling" status 0 "$AT" report parallel.fxt related 1
check "the thread that began it" grep -q worker-7 out
check "says so" says "scheduling"
end

# nested N: write nested.fxt, in which a thread begins N nested scopes and ends all of them
nested() {
	PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1 python3 -c '
import sys
from machine import BEGIN, END, argument, event, head, thread

nr = int(sys.argv[1])
out = bytearray(head() + thread(7))
for i in range(nr):
    out += event(BEGIN, 100 + i, 7, "scope", args=[argument(4, "operation", 0)])
for i in range(nr):
    out += event(END, 100 + nr + i, 7, "scope")
open("nested.fxt", "wb").write(out)' "$1"
}

begin "deeply_nested_scopes_are_counted"
check trace nested 2000
check regions report nested.fxt regions
check "all" is "2000 0" '"\(.count) \(.unfinished)"'
check "no message" [ ! -s err ]
check trace nested 5000
check regions report nested.fxt regions
check "the outer ones" is "4096 0" '"\(.count) \(.unfinished)"'
check "the others are told" says "more than 4096 others of their thread were open around them: 904"
check orphans report nested.fxt orphans
check "none" [ ! -s out ]
check trace nested 4097
check regions report nested.fxt regions
check "a single one is told" says "more than 4096 others of their thread were open around them: 1"
end

begin "more_open_operations_of_one_id_are_told"
check trace env PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1 python3 -c '
from machine import ASYNC_BEGIN, ASYNC_END, BEGIN, END, event, head, thread

out = head() + thread(7) + event(BEGIN, 90, 7, "scope")
for n in range(70):
    out += event(ASYNC_BEGIN, 100 + n, 7, "phase", 1)
for n in range(70):
    out += event(ASYNC_END, 200 + n, 7, "phase", 1)
open("phases.fxt", "wb").write(out + event(END, 300, 7, "scope"))'
check report report phases.fxt
check "all" is "70" .count
check "how many" says "operations had 64 newer ones of the same id open: 6;"
check why status 0 "$AT" why phases.fxt
check "it tells, too" says "operations had 64 newer ones of the same id open: 6;"
end

begin "entered_time_is_exact_in_a_pool"
# The shared ring drops a record if two threads write at once, so each CPU must have its own.
check run env ASYNCTRACE_OUT=pool.fxt "$here/../trusting" "$EXAMPLES/pool" 3 20 >/dev/null 2>err
check valid valid pool.fxt
check requests report pool.fxt
check "20 requests" is "app/request 20" '"\(.type) \(.count)"'
check regions report pool.fxt regions
check "hand-overs" [ "$(all 'map("\(.region) \(.count)") | sort | join(", ")')" = \
	"app/accept 20, app/compute 20, app/store 20, pool/job 40" ]
# The threads of the pool work on the requests, so not all of their time is queued.
check why status 0 "$AT" why --json pool.fxt
check "worked on by the pool" [ "$(json '[.intervals[] | select(.state != "queued")] | length > 0')" = true ]
end

# Ids may be numbers that the program chose: 0, or one number for operations of several types.
begin "operations_with_small_ids_are_told_apart"
check trace env PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1 python3 -c '
from machine import ASYNC_BEGIN, ASYNC_END, event, head, thread

out = head() + thread(7)
for name, id, begin, end in ("request", 1, 100, 200), ("query", 1, 110, 150), \
                            ("zero", 0, 300, 400), ("other", 2, 310, 320), \
                            ("moment", 3, 500, 500):
    out += event(ASYNC_BEGIN, begin, 7, name, id) + event(ASYNC_END, end, 7, name, id)
open("small.fxt", "wb").write(out)'
check "type with text" report --log request small.fxt
check "not the other type of this id" is "app/request 1" '"\(.type) \(.count)"'
check "whole type" report --log app/request small.fxt
check "one" is "app/request 1" '"\(.type) \(.count)"'
check "part of a type" report --log p/que small.fxt
check "one" is "app/query 1" '"\(.type) \(.count)"'
check "id 0" report --log zero small.fxt
check "is found" is "app/zero 1" '"\(.type) \(.count)"'
check "tree of id 0" report small.fxt tree 0
check "without operations that have no parent" is "app/zero 100 100" '"\(.what) \(.ns) \(.self_ns)"'
end

begin "operation_that_takes_no_time_has_a_timeline"
check people status 0 "$AT" report small.fxt timeline 3
check "its name" grep -qx "moment 0x3" out
check "its time" grep -q "^0.000 ms, " out
check "silent" silent_about "has no operation"
check json report small.fxt timeline 3
check "without intervals" [ ! -s out ]
check "no such id" status 1 "$AT" report small.fxt timeline 4
end

begin "traceparent_makes_one_tree_of_two_processes"
check run env ASYNCTRACE_OUT=two.%p.fxt "$EXAMPLES/twoproc" >said 2>err
set -- two.*.fxt
check "two traces" [ $# = 2 ]
check "first" valid "$1"
check "second" valid "$2"
for n in 1 2 3; do
	call=$(sed -n 's/^client: trace \([0-9a-f]*\) operation \(0x[0-9a-f]*\)$/\1 \2/p' said | sed -n ${n}p)
	handle=$(sed -n 's/^server: trace \([0-9a-f]*\) operation 0x[0-9a-f]* parent \(0x[0-9a-f]*\)$/\1 \2/p' said | sed -n ${n}p)
	check "$n: trace and parent" [ -n "$call" ] && check "$n: equal" [ "$call" = "$handle" ]
done
server=$(grep -l "handle" two.*.fxt)
check logs report "$server" logs
check "3 logs of the client's traces" [ "$(all 'map(.message | sub("of trace "; "")) | join(" ")')" = \
	"$(sed -n 's/^client: trace \([0-9a-f]*\) .*/\1/p' said | tr '\n' ' ' | sed 's/ $//')" ]
# The client's operation is in the other file. The server's operation in this file names it as its
# parent.
check tree report "$server" tree "${call#* }"
check "the child is found" [ "$(all 'map("\(.depth) \(.what | sub("^ +"; ""))") | .[0:2] | join(", ")')" = \
	"0 ?, 1 rpc/handle" ]
end

# Two threads finish the events in reverse order. To finish event N takes 2 ms times N.
begin "U5_probes_with_one_id_are_an_operation"
check run env ASYNCTRACE_OUT=uid.fxt "$EXAMPLES/uid" 2>err
check valid valid uid.fxt
check pairs report --pair event-start:event-done --key arg0 uid.fxt
check "6 operations" is "6 0" '"\(.count) \(.unfinished // .incomplete // 0)"'
check orphans report --pair event-start:event-done --key arg0 uid.fxt orphans
check "none" [ ! -s out ]
check reversed report --pair event-done:event-start --key arg0 uid.fxt orphans
check "six starts without an end, and ends without a start" [ "$(wc -l <out)" = 12 ]
end

close
