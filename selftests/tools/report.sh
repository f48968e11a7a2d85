#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# asynctrace report, on the trace of a program that traces itself.
#
# usage: report.sh ASYNCTRACE HELLO
set -u

AT=$1 HELLO=$2
here=$(cd "${0%/*}" && pwd)
. "$here/lib.sh"
scratch

ASYNCTRACE_OUT=hello.fxt "$HELLO" 2>err
"$AT" why --json hello.fxt >why 2>err
latency=$(jq .latency_ns why)

# report ARGUMENT...: the result in "out"
report() {
	status 0 "$AT" report "$@"
}

begin "operations has a line for each type, with exact percentiles"
check report report --json hello.fxt
check "one line" [ "$(wc -l <out)" = 1 ]
check count [ "$(json .count)" = 1 ]
check type [ "$(json .type)" = hello/request ]
for p in p50 p90 p99 p999 max; do
	check $p [ "$(json ".${p}_ns")" = "$latency" ]
done
check "shares add up" [ "$(json '.running + .runnable + .blocked + .queued + .unknown | . > 0.99999 and . < 1.00001')" = true ]
end

begin "blame, its states and critical add up to the latency"
check blame report --json hello.fxt blame
check "sum of blame" [ "$(jq -s 'map(.ns) | add' <out)" = "$latency" ]
check critical report --json hello.fxt critical
check "sum of critical" [ "$(jq -s 'map(.ns) | add' <out)" = "$latency" ]
sum=0
for state in running runnable blocked queued unknown; do
	check $state report --json hello.fxt $state
	sum=$((sum + $(jq -s 'map(.ns) | add // 0' <out)))
done
check "sum of states: $sum" [ "$sum" = "$latency" ]
check folded report --folded hello.fxt blame
check "sum of folded" [ "$(awk '{ sum += $NF } END { print sum }' out)" = "$latency" ]
check frames grep -q '^hello/request;[a-z]*;' out
end

begin "CSV has a heading and as many fields in each line"
check csv report --csv hello.fxt
check fields python3 -c 'import csv, sys
rows = list(csv.reader(open("out", newline="")))
sys.exit(len(rows) != 2 or len(rows[0]) != len(rows[1]) or rows[0][0] != "type")'
end

begin "diff of a trace with itself is zero"
check diff report --json diff hello.fxt hello.fxt
check zero [ "$(json '[to_entries[] | select(.key | endswith("diff_ns")) | .value] | unique == [0]')" = true ]
end

begin "filters choose operations"
check min report --json --min 1000s hello.fxt
check "none is that slow" [ ! -s out ]
check max report --json --max 1000s hello.fxt
check "all are faster" [ -s out ]
check provider report --json --provider other hello.fxt
check "none is of another provider" [ ! -s out ]
check category report --json --category hello hello.fxt
check "all are of the category" [ -s out ]
end

begin "wrong use is told, with exit status 2"
for wrong in "" "hello.fxt nothing" "none.fxt" "--json --csv hello.fxt" "--folded hello.fxt" \
	     "diff hello.fxt" "--min 5 hello.fxt" "hello.fxt blame more"; do
	check "'$wrong'" status 2 "$AT" report $wrong
	check "'$wrong' has a message" grep -q '^asynctrace report: ' err
done
end

begin "a trace without its end is analysed, with exit status 3"
size=$(stat -c %s hello.fxt)
head -c $((size - 8)) hello.fxt >cut.fxt
check report status 3 "$AT" report cut.fxt
check "the message says so" says "what is there is analysed"
end

close
