#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# asynctrace report loop, on a program whose loops have meters
#
# usage: loops.sh ASYNCTRACE PROGRAM
set -u

AT=$1 PROGRAM=$2
here=$(cd "${0%/*}" && pwd)
. "$here/lib.sh"
scratch

rows() {
	jq -r '"\(.loop) \(.rounds) \(.idle_ns) \(.active_ns) \(.max_ns)"' out | sort
}

begin "H10_report_loop_has_the_numbers_of_the_meters"
ASYNCTRACE_OUT=loops.fxt "$here/../trusting" "$PROGRAM" > meters 2>err || { ok=; why; }
check valid valid loops.fxt
check report status 0 "$AT" report --json loops.fxt loop
check "three loops, and their times" diff <(sort meters) <(rows)
check "in the order of active time" [ "$(jq -s 'map(.active_ns) | . == (sort | reverse)' out)" = true ]
check "shares" [ "$(jq -s 'map((.utilization - .active_ns / (.active_ns + .idle_ns)) |
	. < 0.001 and . > -0.001) | all' out)" = true ]
check "percentiles ascend" [ "$(jq -s 'map([.p50_ns, .p90_ns, .p99_ns, .max_ns] | . == sort) | all' \
	out)" = true ]
last_rounds() {
	"$AT" dump --json loops.fxt | jq -s '(map(.end // .ts // 0) | max) as $stop |
		[.[] | select(.record == "counter" and .category == "loop")] |
		group_by(.id) | map($stop - (map(.ts) | max)) | sort' -c
}
check "open since the last round" [ "$(jq -sc 'map(.open_ns) | sort' out)" = "$(last_rounds)" ]
check "for some time" [ "$(jq -s 'map(.open_ns) | max > 0' out)" = true ]
check "ids differ" [ "$(jq -s 'map(.id) | unique | length' out)" = 3 ]
end

begin "H10_report_loop_of_other_traces_is_empty"
ASYNCTRACE_OUT=other.fxt ASYNCTRACE_CATEGORIES=loops "$here/../trusting" "$PROGRAM" > meters 2>err || { ok=; why; }
check report status 0 "$AT" report --json other.fxt loop
check "no loop" [ ! -s out ]
check people status 0 "$AT" report loops.fxt loop
check "heading" grep -q 'BUSY %' out
check "times do not choose rounds" status 2 "$AT" report --from 1ms loops.fxt loop
end

close
