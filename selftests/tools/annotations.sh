#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Go's tests of annotations: what reports say of tasks, regions, logs and collections
#
# usage: annotations.sh ASYNCTRACE PROGRAM
set -u

AT=$1 PROGRAM=$2
here=$(cd "${0%/*}" && pwd)
. "$here/lib.sh"
scratch

record() { # NAME: the trace in NAME.fxt, what the program says in "said"
	ASYNCTRACE_OUT=$1.fxt "$PROGRAM" "$1" >said 2>err && valid "$1.fxt"
}

report() {
	status 0 "$AT" report --json "$@" 2>/dev/null
}

all() {
	jq -rs "$1" <out
}

# id NAME [N]: print the id of the N-th operation that the program printed as NAME
id() {
	sed -n "s/^$1 \(0x[0-9a-f]*\)$/\1/p" said | sed -n "${2:-1}p"
}

# parts: print depth, kind and name of each part of the tree in "out"
parts() {
	all 'map("\(.depth) \(.kind) \(.what | sub("^ +"; ""))") | join(", ")'
}

# threads ID: print the number of threads that worked on the operation
threads() {
	report annotations.fxt related "$1" && all 'map(select(.distance == 0).tid) | unique | length'
}

begin "G46_G48_annotations_of_two_tasks"
check record record annotations
check operations report annotations.fxt
check "both are complete" [ "$(all 'map("\(.type) \(.count) \(.incomplete)") | sort | join(", ")')" = \
	"task/task0 1 0, task/task1 1 0" ]
check "two threads worked on task0" [ "$(threads "$(id task0)")" = 2 ] || cat out
check "one worked on task1" [ "$(threads "$(id task1)")" = 1 ] || cat out
check regions report annotations.fxt regions
check "of tasks and of none" [ "$(all 'map("\(.region) \(.count) \(.unfinished)") | sort | join(", ")')" = \
	"operation/thread 1 0, task/task0.region0 1 0, task/task0.region1 1 0, task/task0.region2 1 0, task/taskless.region 1 0" ] ||
	cat out
check tree report annotations.fxt tree "$(id task0)"
check "the parts of task0" [ "$(parts)" = \
	"0 operation task/task0, 1 region task/task0.region0, 1 region operation/thread, 2 region task/task0.region1, 3 region task/task0.region2, 1 log key2: val2, 1 log key1: val1, 1 operation task/task1, 2 log key3: val3" ] ||
	parts
check tree report annotations.fxt tree "$(id task1)"
check "task1 has no region" [ "$(parts)" = "0 operation task/task1, 1 log key3: val3" ] || parts
check logs report annotations.fxt logs
check "of tasks and of none" [ "$(all 'map("\(.category) \(.message) \(.id)") | sort | join(", ")')" = \
	"key0 val0 , key1 val1 $(id task0), key2 val2 $(id task0), key3 val3 $(id task1)" ] || cat out
end

begin "G30_logs_after_the_end_are_in_the_tree"
check record record logs
check tree report logs.fxt tree "$(id task0)"
check "all logs" [ "$(parts)" = \
	"0 operation task/ohHappyDay, 1 region task/scope, 1 log task: log before task ends, 1 log task: log after task ends, 1 region task/later, 1 log task: log of another thread" ] ||
	parts
end

begin "G20_G29_tree_of_nested_tasks"
check record record tree
check tree report tree.fxt tree "$(id task)"
check "each is within its parent" [ "$(parts)" = \
	"0 operation task/task1, 1 region task/task1.region, 1 operation task/task2, 2 region task/task2.region, 2 operation task/task3, 3 region task/task3.region" ] ||
	parts
check tree report tree.fxt tree "$(id task 2)"
check "a part of it" [ "$(parts)" = \
	"0 operation task/task2, 1 region task/task2.region, 1 operation task/task3, 2 region task/task3.region" ] ||
	parts
end

begin "G82_collections_are_of_the_tasks_they_ran_in"
check record record collections
check regions report collections.fxt regions
for task in "with" "with too"; do
	check tree report collections.fxt tree "$(id "$task")"
	check "$task: one" [ "$(all 'map(select(.what | test("gc/collect"))) | length')" = 1 ]
	check "$task: within its time" [ "$(all '(map(select(.what | test("gc/collect")))[0].ns) as $gc |
		$gc > 0 and $gc <= .[0].ns')" = true ]
done
check tree report collections.fxt tree "$(id without)"
check "none" [ "$(parts)" = "0 operation task/task, 1 region task/work" ] || parts
check regions report collections.fxt regions
check "5 in all" [ "$(all 'map(select(.region == "gc/collect"))[0].count')" = 5 ]
end

# collections ID: write the collections in the tree of the operation to "found"
collections() {
	report overlaps.fxt tree "$1" && jq -c 'select(.kind == "collection")' <out >found
}

begin "G82_tree_has_collections_of_the_process"
check record record overlaps
check tree collections "$(id with)"
check "those that overlap, by any thread" [ "$(jq -r .what <found | sed 's/^ *//' | tr '\n' ' ')" = \
	"memory/sweep memory/mark " ] || cat found
check "within the operation" [ "$(all '.[0].ns as $ns |
	map(select(.kind == "collection")) | all(.ns > 0 and .at_ns + .ns <= $ns)')" = true ]
check "sorted and disjoint" [ "$(all 'map(select(.kind == "collection")) |
	. as $c | [range(1; length)] |
	all($c[. - 1].at_ns + $c[. - 1].ns <= $c[.].at_ns)')" = true ]
check "one until its end" [ "$(all '.[0].ns as $ns |
	map(select(.kind == "collection"))[1] | .at_ns + .ns == $ns')" = true ]
check "deltas add up" [ "$(all '(map(.delta_ns) | add) == .[-1].at_ns')" = true ]
check none collections "$(id without)"
check "none" [ ! -s found ]
end

begin "G82_collections_elsewhere_are_left_out"
check trace env PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1 python3 -c '
import machine
from machine import ASYNC_BEGIN, ASYNC_END, BEGIN, END, argument, head, thread

def event(pid, *rest, **more):
    machine.PID = pid
    return machine.event(*rest, **more)

# event() always writes the category "app": replace text() meanwhile.
real = machine.text
def memory(kind, pid, ns, tid, name="mark", own=False):
    machine.text = lambda s: real("memory" if s == "app" else s)
    args = [argument(2, "flags", 0)] if kind == BEGIN and not own else []
    out = event(pid, kind, ns, tid, name, args=args)
    machine.text = real
    return out

def own(begin, end, name, within=b""):  # a duration of the program
    return (memory(BEGIN, 4000, begin, 8, name, True) + within +
            memory(END, 4000, end, 8, name, True))

out = head()
for tid in 7, 8, 9:
    out += thread(tid)
out += event(4000, ASYNC_BEGIN, 100, 7, "part", 1)
out += memory(BEGIN, 4000, 90, 8) + memory(END, 4000, 120, 8)   # over the begin
out += memory(BEGIN, 5000, 130, 9) + memory(END, 5000, 140, 9)  # another process
out += memory(END, 4000, 150, 7)                                # no begin
out += memory(BEGIN, 4000, 160, 7)                              # no end, then another begin
out += memory(BEGIN, 4000, 170, 7) + memory(END, 4000, 180, 7)
out += own(182, 197, "mark", memory(BEGIN, 4000, 185, 8) + own(186, 187, "scan") +
           own(188, 189, "mark") + memory(END, 4000, 195, 8))
out += event(4000, ASYNC_END, 200, 7, "part", 1)
out += memory(BEGIN, 4000, 200, 8) + memory(END, 4000, 210, 8)  # begins at the end
open("processes.fxt", "wb").write(out)'
check tree report processes.fxt tree 1
check "the four" [ "$(all 'map(select(.kind == "collection") |
	"\(.at_ns) \(.ns) \(.what | sub("^ +"; ""))") |
	join(", ")')" = \
	"0 20 memory/mark, 60 10 memory/mark (does not end), 70 10 memory/mark, 85 10 memory/mark" ] || cat out
end

# line TEXT [N]: the number of the N-th line of the program with this text
line() {
	grep -nF "$1" "$here/annotations.c" | sed -n "${2:-1}p" | cut -d: -f1
}

begin "G47_regions_are_counted_by_name_and_place"
check record record places
check regions report places.fxt regions
inner=$(line 'TRACE_REGION("task", "place")') outer=$(line 'TRACE_REGION_BEGIN(&e, "task", "place")')
check "two places, and a function without" [ \
	"$(all 'map("\(.region) \(.place | sub(".*/"; "")) \(.count)") | sort | join(", ")')" = \
	"$(printf '%s\n' "operation/operation  1" "task/place annotations.c:$inner 4" \
		"task/place annotations.c:$outer 1" | sort | sed 's/$/, /' | tr -d '\n' | sed 's/, $//')" ] ||
	cat out
kind() { # LINE FILTER
	all 'map(select(.place | endswith(":'"$1"'")))[0] | '"$2"
}
# recurse(2) begins 3 regions within each other. The total time counts only the outermost one.
check "a place within itself counts once" [ "$(kind "$inner" '.total_ns == .self_ns')" = true ]
check "a place within another one counts" [ "$(kind "$outer" '.total_ns > .self_ns')" = true ]
check "names as before" [ "$(all 'map(select(.region == "task/place") | .count) | add')" = 5 ]
end

# task ID: print the children, the logs and the number of threads of both, in the operation's tree
task() {
	report lives.fxt tree "$1" && all 'map(select(.depth == 1)) |
		"\(map(select(.kind == "operation") | .what | sub("^ +"; "")) | sort | join(", ")); \(
		map(select(.kind == "log") | .what | sub("^ +"; "")) | sort | join(", ")); \(
		map(.thread) | unique | length)"'
}

begin "G25_G29_tasks_that_outlive_the_trace"
check run status 0 "$PROGRAM" lives
cp out said
check "what is cut is excused" valid lives.fxt --allow-open
check operations report lives.fxt
check "open and complete" [ "$(all 'map("\(.type) \(.count) \(.incomplete)") | sort | join(", ")')" = \
	"task/do 18 0, task/type2 0 1, task/type3 1 0" ] || cat out
check "begun before: has children and logs" [ "$(task "$(id parent)")" = \
	"task/do, task/do, task/type2 (does not end); log: before do, log: before do; 1" ] ||
	task "$(id parent)"
check "ended within: its parent is lost" [ "$(task "$(id type1)")" = \
	"task/do, task/do; log: before do, log: before do; 1" ] || task "$(id type1)"
check "ends after" [ "$(task "$(id type2)")" = \
	"task/do, task/do; log: before do, log: before do; 1" ] || task "$(id type2)"
check "within: no parent" [ "$(task "$(id type3)")" = \
	"task/do, task/do; log: before do, log: before do; 1" ] || task "$(id type3)"
part=$(all 'map(select(.depth == 1 and .kind == "operation"))[0].id')
check "a part, with the logs of 5 threads" [ "$(task "$part" | sed 's/; [0-9]*$//')" = \
	"task/do; log2: do, log: before do, log: fanout region0, log: fanout region1, log: fanout region2, log: fanout region3, log: fanout region4" ] ||
	task "$part"
within=$(all 'map(select(.depth == 1 and .kind == "operation"))[0].id')
check related report lives.fxt related "$part"
check "6 threads" [ "$(all 'map(select(.distance == 0).tid) | unique | length')" = 6 ] || cat out
check "a part of the part" [ "$(task "$within")" = "; log2: do; 1" ] || task "$within"
check logs report lives.fxt logs
check "of no task" [ "$(all 'map(select(.id == "") | "\(.category): \(.message)") | join(", ")')" = \
	"log: before do, log: before do" ] || cat out
end

begin "H8_scopes_that_a_jump_left_end_by_name"
check "the trace is clean" record jumps
check regions report jumps.fxt regions
check "all ended" [ "$(all 'map("\(.region) \(.count) \(.unfinished)") | sort | join(", ")')" = \
	"task/left 1 0, task/left within 1 0, task/stays 1 0" ] || cat out
"$AT" dump --events jumps.fxt >out
check "ends have names" [ "$(grep -c 'end "task" "left' out)" = 2 ]
end

close
