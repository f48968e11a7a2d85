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

# id NAME [N]: of the N-th operation that the program names so
id() {
	sed -n "s/^$1 \(0x[0-9a-f]*\)$/\1/p" said | sed -n "${2:-1}p"
}

# parts: depth, kind and name of each part of the tree in "out"
parts() {
	all 'map("\(.depth) \(.kind) \(.what | sub("^ +"; ""))") | join(", ")'
}

begin "G46_G48_annotations_of_two_tasks"
check record record annotations
check operations report annotations.fxt
check "both are complete" [ "$(all 'map("\(.type) \(.count) \(.incomplete)") | sort | join(", ")')" = \
	"task/task0 1 0, task/task1 1 0" ]
check regions report annotations.fxt regions
check "of tasks and of none" [ "$(all 'map("\(.region) \(.count) \(.unfinished)") | sort | join(", ")')" = \
	"operation/thread 1 0, task/region0 1 0, task/region1 1 0, task/region2 1 0, task/taskless 1 0" ] ||
	cat out
check tree report annotations.fxt tree "$(id task0)"
check "the parts of task0" [ "$(parts)" = \
	"0 operation task/task0, 1 region task/region0, 1 region operation/thread, 2 region task/region1, 1 log task: 0123456789abcdef, 1 region task/region2" ] ||
	parts
check tree report annotations.fxt tree "$(id task1)"
check "task1 has none" [ "$(parts)" = "0 operation task/task1" ] || parts
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

begin "H8_scopes_that_a_jump_left_end_by_name"
check "the trace is clean" record jumps
check regions report jumps.fxt regions
check "all ended" [ "$(all 'map("\(.region) \(.count) \(.unfinished)") | sort | join(", ")')" = \
	"task/left 1 0, task/left within 1 0, task/stays 1 0" ] || cat out
"$AT" dump --events jumps.fxt >out
check "ends have names" [ "$(grep -c 'end "task" "left' out)" = 2 ]
end

close
