#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# asynctrace record --slower-than with the module. Needs the module and root.
#
# usage: slow.sh ASYNCTRACE SLOW
set -u

AT=$1 SLOW=$2
. "${0%/*}/lib.sh"
scratch

# The file has as many complete operations as the summary says, each longer than $1 ns.
only_slow() {
	"$AT" why --json --brief --slowest 1000000 slow.fxt >ops 2>err || return 1
	[ "$(jq -s length <ops)" = "$(jq '.slow.operations - .slow.incomplete' <summary.json)" ] &&
		[ "$(jq -s "map(select(.latency_ns <= $1)) | length" <ops)" = 0 ]
}

begin "file holds whole slow operations only"
check record status 0 "$AT" record --json -b 1M -o slow.fxt --slower-than 'http/request>40ms' \
	-- "$SLOW" 1 1000 50
cp out summary.json
check validate valid slow.fxt
cp summary.json out
check "20 at least" [ "$(json .slow.operations)" -ge 20 ]
check "none left out" is 0 .slow.left_out
check "nor because of names" is 0 .slow.long_names
check "only slow ones" only_slow 40000000
check "each has scheduling" [ "$(jq -s 'map(select(.unknown_ns > 0)) | length' <ops)" = 0 ]
end

begin "each record is written, filtered or lost"
cp summary.json out
check "events" is 5001 '.providers[] | select(.name == "slow") |
	.delivered + .filtered + .dropped + .overwritten + .malformed + .unwritten + .cleared'
check "delivered" is "$("$AT" dump --events slow.fxt | grep -c ' "http" ')" \
	'.providers[] | select(.name == "slow") | .delivered'
check "most are filtered" is true '.filtered > 5 * .delivered'
check "sum" is true '.delivered == .events + .switches + .wakeups'
end

begin "long open operation is slow"
check record status 0 "$AT" record --json -o slow.fxt --slower-than '*>300ms' -- "$SLOW" 1 1 9 500
check "one" is 1 .slow.incomplete
check validate valid slow.fxt
check "it is told" status 0 "$AT" report slow.fxt unfinished
check "as request" grep -q request out
end

begin "file without slow operations is valid"
check record status 0 "$AT" record -o slow.fxt --slower-than 'http/request>20s' -- "$SLOW" 1 100 200
check "told" says "0 slow operations (http/request>20s)"
check validate valid slow.fxt
check why status 1 "$AT" why slow.fxt
check "why none" says "all were faster than the bounds"
end

begin "slow operations have events of tracepoints"
check record status 0 "$AT" record --json -b 4M -o slow.fxt --slower-than 'http/request>40ms' \
	-e syscalls:sys_enter_clock_nanosleep,syscalls:sys_enter_futex -- "$SLOW" 1 1000 50
cp out summary.json
check validate valid slow.fxt
cp summary.json out
check "20 at least" [ "$(json .slow.operations)" -ge 20 ]
check "only slow ones" only_slow 40000000
cp summary.json out
"$AT" dump --events slow.fxt | grep -E '"sys_enter_(clock_nanosleep|futex)"' >events
# One operation in 50 sleeps.
check "sleeps" [ "$(grep -c clock_nanosleep events)" = 20 ]
check "each event is in the file, filtered or lost" is true '[.rings[] |
	select(.kind == "tracepoints")] | map(.delivered) | add == '"$(wc -l <events)"
check "most are filtered" is true '[.rings[] | select(.kind == "tracepoints")] |
	(map(.filtered) | add) > (map(.delivered) | add)'
check "none is unwritten" is 0 '[.rings[] | select(.kind == "tracepoints") | .unwritten] | add'
end

begin "operations beyond the window are reported"
check record status 0 "$AT" record --json -b 4M -o slow.fxt --window 256K --before 1ms \
	--slower-than 'http/request>40ms' -- "$SLOW" 8 2000 500
# 32 operations sleep. A machine under load may drop or delay records of some of them, which are
# then not reported as slow. So count these records, too.
check "counted" [ "$(json '.slow.operations + .slow.left_out + .slow.late + .dropped')" -ge 32 ]
check validate valid slow.fxt --allow-open
end

close
