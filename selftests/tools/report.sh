#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# asynctrace why and report with the trace of a program that traces itself, and with a trace of many
# requests and their scheduling
#
# usage: report.sh ASYNCTRACE HELLO TRACES
#
# SEED repeats the random traces.
set -u

AT=$1 HELLO=$2 TRACES=$3
here=$(cd "${0%/*}" && pwd)
. "$here/lib.sh"
scratch

ASYNCTRACE_OUT=hello.fxt "$HELLO" 2>err
"$TRACES" server server.fxt 1000 >/dev/null 2>err
"$AT" why --json hello.fxt >why 2>err
latency=$(jq .latency_ns why)

# report ARGUMENT...: write the result to "out"
report() {
	status 0 "$AT" report "$@"
}

# wrong_use COMMAND [ARGUMENT...]: the command exits with 2 after a message that begins with its
# name
wrong_use() {
	check "'$*'" status 2 "$AT" "$@"
	check "'$*' has a message" grep -q "^asynctrace $1: " err
}

begin "operations_has_exact_percentiles_by_type"
check report report --json hello.fxt
check "one line" [ "$(wc -l <out)" = 1 ]
check count [ "$(json .count)" = 1 ]
check type [ "$(json .type)" = hello/request ]
for p in p50 p90 p99 p999 max; do
	check $p [ "$(json ".${p}_ns")" = "$latency" ]
done
check "shares add up" [ "$(json '.running + .runnable + .blocked + .queued + .unknown | . > 0.99999 and . < 1.00001')" = true ]
end

# The client's operation is the parent of the server's.
begin "A13_calls_and_their_answers_are_one_operation"
"$TRACES" rpc rpc.fxt 20 >/dev/null 2>err
check operations report --json rpc.fxt
check "20 of each, complete" [ "$(jq -rs 'map("\(.type) \(.provider) \(.count) \(.incomplete)") |
	join(", ")' <out)" = "rpc/call client 20 0, rpc/handle server 20 0" ]
for n in 1 20; do
	call=$((77 << 44 | n))
	check "tree $n" report --json rpc.fxt tree $call
	check "$n: both processes" [ "$(jq -rs 'map("\(.depth) \(.what | sub("^ +"; "")) \(.ns)") |
		join(", ")' <out)" = "0 rpc/call 24000, 1 rpc/handle 4000" ]
	check "related $n" report --json rpc.fxt related $call
	check "$n: both threads" [ "$(jq -s 'map([.pid, .distance])' -c <out)" = "[[4000,0],[5000,0]]" ]
done
end

begin "blame_and_critical_add_up_to_latency"
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

begin "csv_lines_have_as_many_fields_as_heading"
check csv report --csv hello.fxt
check fields python3 -c 'import csv, sys
rows = list(csv.reader(open("out", newline="")))
sys.exit(len(rows) != 2 or len(rows[0]) != len(rows[1]) or rows[0][0] != "type")'
end

# on_terminal WIDTH COMMAND...: run it on a terminal with this number of columns. It is not the
# terminal of its session: at the exit of a session leader, Linux drops output that was not read.
on_terminal() {
	python3 -c '
import fcntl, os, pty, struct, subprocess, sys, termios
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 30, int(sys.argv[1]), 0, 0))
command = subprocess.Popen(sys.argv[2:], stdin=slave, stdout=slave, stderr=slave)
os.close(slave)
data = b""
try:
    while part := os.read(master, 65536):
        data += part
except OSError:
    pass
sys.stdout.buffer.write(data.replace(b"\r\n", b"\n"))
sys.exit(command.wait())' "$@"
}

begin "csv_of_hostile_names_is_text"
check trace python3 -c '
import struct

def record(head, *parts):
    body = b"".join(p if isinstance(p, bytes) else struct.pack("<Q", p) for p in parts)
    return struct.pack("<Q", head | (len(body) // 8 + 1) << 4) + body

name = b"a\"b,c\n\x1b[31m\xc2\x9b1m\xff\t\rz"
out = struct.pack("<Q", 0x0016547846040010)
out += record(1 << 16 | 1 << 20 | 1 << 52, b"p" + 7 * b"\0") + record(1, 10 ** 9)
out += record(2 | 1 << 16 | len(name) << 32, name + -len(name) % 8 * b"\0")
for kind, ns in (5, 10), (7, 30):
    out += record(4 | kind << 16 | 1 << 32 | 1 << 48, ns, 100, 100, 7)
open("names.fxt", "wb").write(out)'
check csv status 1 "$AT" report --csv names.fxt
# has NAME: "out" has one row of the type NAME/NAME
has() {
	python3 -c 'import csv, sys
rows = list(csv.reader(open("out", newline="", encoding="utf-8")))
name = eval(sys.argv[1])
sys.exit(sum(row[:1] == [name + "/" + name] for row in rows) != 1)' "$1"
}
check "white space stays" has '"a\"b,c\n\ufffd[31m\ufffd1m\ufffd\t\rz"'
check "two lines" python3 -c 'import csv
raise SystemExit(len(list(csv.reader(open("out", newline="", encoding="utf-8")))) != 2)'
check terminal status 1 on_terminal 80 "$AT" report --csv names.fxt
check "nothing to obey" has '"a\"b,c\ufffd\ufffd[31m\ufffd1m\ufffd\ufffd\ufffdz"'
end

begin "diff of a trace with itself is zero"
check diff report --json diff hello.fxt hello.fxt
check zero [ "$(json '[to_entries[] | select(.key | endswith("diff_ns")) | .value] | unique == [0]')" = true ]
end

begin "diff_counts_equal_those_of_each_trace"
for pair in "hello.fxt server.fxt" "server.fxt hello.fxt" "hello.fxt hello.fxt"; do
	set -- $pair
	check diff report --json diff "$1" "$2"
	jq -c 'select(.count_a > 0) | [.type, .count_a]' <out | sort >a
	jq -c 'select(.count_b > 0) | [.type, .count_b]' <out | sort >b
	for side in "a $1" "b $2"; do
		check "$side" report --json "${side#* }"
		jq -c 'select(.count > 0) | [.type, .count]' <out | sort >counts
		check "$side" cmp counts "${side%% *}"
	done
done
end

begin "diff_has_no_difference_to_an_absent_type"
# Two providers have the type "app/both"; only one file has complete operations of "app/new".
check traces python3 -c '
import struct, sys
sys.path.insert(0, "'"$here"'")
sys.dont_write_bytecode = True
from machine import event, head, record, words, ASYNC_BEGIN, ASYNC_END

def provider(number, name):
    return record(1 << 16 | number << 20 | len(name) << 52, words(name))

def operation(begin, ns, name, number):
    return event(ASYNC_BEGIN, begin, 7, name, number) + \
        event(ASYNC_END, begin + ns, 7, name, number)

rate = record(1, struct.pack("<Q", 10 ** 9))
one, two = provider(2, b"one") + rate, provider(3, b"two") + rate
a = head() + one + operation(100, 10, "both", 1) + two + operation(200, 20, "both", 2)
b = head() + one + operation(100, 11, "both", 1) + two + operation(200, 25, "both", 2)
open("absent-a.fxt", "wb").write(a + event(ASYNC_BEGIN, 300, 7, "new", 3))
open("absent-b.fxt", "wb").write(b + operation(300, 7, "new", 3))'
check diff report --json diff absent-a.fxt absent-b.fxt
check "rows of each provider" [ "$(jq -cs 'map([.type, .provider, .p50_diff_ns]) | sort' <out)" = \
	'[["app/both","one",1],["app/both","two",5],["app/new","two",null]]' ]
check "times of a type that A has not completed" [ "$(jq -cs \
	'map(select(.type == "app/new"))[] | [.count_a, .count_b, .p50_a_ns, .p99_b_ns, .queued_diff_ns]' \
	<out)" = '[0,1,null,7,null]' ]
check csv report --csv diff absent-a.fxt absent-b.fxt
check "empty cells" eval 'tr -d "\r" <out | grep -qx "app/new,two,0,1,,7,,,7,,,,,,"'
check text report diff absent-a.fxt absent-b.fxt
check "dashes" grep -Eq "^app/new +two +0 +1 +- +0.000 +-( |$)" out
check open report --json absent-a.fxt
check "no percentiles and shares" is "[null,null,null]" \
	'select(.count == 0) | [.p50_ns, .max_ns, .queued] | tojson'
end

# recount REPORT...: recount.py computes each REPORT from the records of random machines, and
# asynctrace must have the same result
recount() {
	local what

	for what in "$@"; do
		for seed in $(seq "$seed0" $((seed0 + 2))); do
			check "$what of SEED=$seed" eval 'python3 "$here/recount.py" "$AT" $seed.fxt $what >err 2>&1'
		done
	done
}
seed0=${SEED:-$(date +%s)}
for seed in $(seq "$seed0" $((seed0 + 2))); do
	python3 "$here/machine.py" $seed.fxt $seed
done

begin "operations_and_histogram_equal_the_records"
recount operations
end

begin "from_and_to_choose_by_the_begin"
recount time
end

begin "small_window_gives_the_same_reports"
recount window
end

begin "threads_equal_the_records"
recount threads
end

# Threads 10 and 20 sleep since before the trace, 20 in read(2). 30 is woken and gets a CPU only at
# the end. 40 runs and is preempted. 50 runs all the time.
begin "G11_sleepers_neither_run_nor_wait_for_a_cpu"
check trace env PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1 python3 -c '
from struct import pack
from machine import argument, head, record, switch, text, wakeup

def thread(tid, *args):
    ref, data = text("worker-%d" % tid)
    args = (argument(8, "process", 4000),) + args
    return record(7 | 2 << 16 | ref << 24 | len(args) << 40, pack("<Q", tid) + data + b"".join(args))

asleep = [argument(2, "state", 1), argument(4, "state_since", 50), argument(4, "read_from", 90),
          argument(4, "read_until", 95)]
read = [argument(2, "off_cpu", 8), argument(6, "syscall", "read")]
open("asleep.fxt", "wb").write(
    head() + thread(10, *asleep) + thread(20, *asleep, *read) +
    thread(30) + thread(40) + thread(50) +
    switch(100, 1, 0, 50, 0) + wakeup(110, 0, 30, 50) + wakeup(115, 0, 40, 50) +
    switch(120, 0, 0, 40, 0) + switch(200, 0, 40, 0, 0) + switch(300, 0, 0, 30, 0))'
check threads report --json asleep.fxt threads
check "times" [ "$(jq -rs 'sort_by(.tid) | map([.tid, .running_ns, .woken_ns, .preempted_ns,
	.blocked_ns] | join(" ")) | join(", ")' <out)" = \
	"10 0 0 0 200, 20 0 0 0 200, 30 0 190 0 0, 40 80 5 100 0, 50 200 0 0 0" ] || cat out
check "sums" [ "$(jq -s 'all(.running_ns + .woken_ns + .preempted_ns + .blocked_ns + .unknown_ns ==
	.observed_ns)' <out)" = true ]
end

begin "sched_equals_the_records"
recount sched
end

# Thread 10 sleeps, waits 5 ns and exits. Another thread gets its id, waits 7 ns and is preempted.
# Both write the same log.
begin "threads_that_had_one_id"
check trace env PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1 python3 -c '
from machine import INSTANT, argument, event, head, record, switch, text, wakeup
from struct import pack

def thread(tid, name, process=4000):
    ref, data = text(name)
    return record(7 | 2 << 16 | ref << 24 | 1 << 40,
                  pack("<Q", tid) + data + argument(8, "process", process))

def log(ns):
    return event(INSTANT, ns, 10, "log", None,
                 [argument(4, "operation", 0), argument(6, "message", "hello")])

open("reused.fxt", "wb").write(
    head() + thread(10, "first") + wakeup(100, 0, 10, 0) + switch(105, 0, 0, 10, 0) + log(107) +
    switch(110, 0, 10, 0, 1) + wakeup(120, 0, 10, 0) + switch(125, 0, 0, 10, 0) +
    switch(130, 0, 10, 0, 16) + thread(10, "second") + wakeup(200, 0, 10, 0) +
    switch(207, 0, 0, 10, 0) + log(208) + switch(210, 0, 10, 0, 0) + switch(211, 0, 0, 10, 0) +
    switch(220, 0, 10, 0, 1))
open("behind.fxt", "wb").write(
    head() + thread(10, "first") + switch(105, 0, 0, 10, 0) + log(107) +
    thread(10, "second", 5000) + log(208) + switch(130, 0, 10, 0, 16))'
check sched report --json reused.fxt sched
check "one row" [ "$(jq -c '[.thread, .waits, .sum_ns, .voluntary, .preempted]' <out)" = \
	'["second",3,13,3,1]' ] || cat out
check occupants report --json reused.fxt sched-occupants
check "two rows" [ "$(jq -c '[.thread, .ns]' <out | sort | paste -sd ' ')" = \
	'["first",5] ["second",8]' ] || cat out
check groups report --json reused.fxt log-groups
check "two threads" [ "$(jq -c '[.count, .threads]' <out)" = '[2,2]' ] || cat out
# The ring with the exit was read last.
check logs report --json behind.fxt logs
check "two names" [ "$(jq -r .thread <out | paste -sd ' ')" = "first second" ] || cat out
end

begin "wakeups_equal_the_records"
recount wakeups
end

begin "concurrency_and_levels_equal_the_records"
recount levels
end

begin "timeline_equals_the_intervals_of_why"
recount timeline
check "no such id" status 1 "$AT" report server.fxt timeline 0xdead
check named says "has no operation with id 0xdead"
end

begin "orphans_equal_the_records"
recount orphans
end

begin "pairs_equal_the_records"
recount pair
end

begin "pprof_equals_folded"
recount pprof
end

# narrow WIDTH: no line of "out" has more columns
narrow() {
	[ "$(LC_ALL=C.UTF-8 wc -L <out)" -le "$1" ]
}

begin "text_is_as_wide_as_the_terminal"
first=$("$AT" why --json server.fxt | jq -r .id)
for what in operations histogram blame critical unfinished threads sched sched-histogram \
	    sched-occupants wakeups concurrency levels orphans lints losses \
	    summary loop logs log-groups regions; do
	for f in server.fxt $seed.fxt; do
		for width in 80 60; do
			# Sentences of lints need 80 columns.
			[ $what = lints ] && [ $width = 60 ] && continue
			check "$what of $f" status 0 on_terminal $width "$AT" report $f $what
			check "$what of $f: $width" narrow $width
		done
	done
done
for what in tree timeline related; do
	check "$what" status 0 on_terminal 80 "$AT" report server.fxt $what "$first"
	check "$what: width" narrow 80
done
check diff status 0 on_terminal 80 "$AT" report diff server.fxt $seed.fxt
check "diff: width" narrow 80
check "what is left out" grep -q "^and [0-9]* more columns\?; --csv shows all$" out
check COLUMNS status 0 on_terminal 100 env COLUMNS=70 "$AT" report server.fxt summary
check "is the width" narrow 70
check "COLUMNS of a pipe" env COLUMNS=70 "$AT" report server.fxt summary >out
check "is not used" eval '! narrow 70'
check "no size" status 0 on_terminal 0 "$AT" report server.fxt summary
check "80 columns" narrow 80
end

begin "wide_characters_take_two_columns"
check trace python3 -c '
import sys
sys.path.insert(0, "'"$here"'")
sys.dont_write_bytecode = True
from machine import event, head, ASYNC_BEGIN, ASYNC_END
out = head()
for i, name in enumerate(("\u6f22\u5b57", "e\u0301", 40 * "\uac00", 60 * "a\u0301")):
    out += event(ASYNC_BEGIN, 100 * i + 100, 7, name, i)
    out += event(ASYNC_END, 100 * i + 150, 7, name, i)
open("wide.fxt", "wb").write(out)'
# aligned: the second column, COUNT, ends at the same column of the terminal in all lines of "out"
aligned() {
	python3 -c '
import re, sys, unicodedata
def columns(line):
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
               for c in line)
ends = [columns(re.match(r"\S+ +machine +\S+|TYPE +PROVIDER +COUNT", line).group())
        for line in open("out", encoding="utf-8")]
sys.exit(len(ends) != 5 or len(set(ends)) != 1)'
}
check file report wide.fxt concurrency
check "in a file" aligned
for width in 79 80 81 200; do
	check $width status 0 on_terminal $width env LC_ALL=C "$AT" report wide.fxt concurrency
	check "$width columns" narrow $width
	check "aligned on $width columns" aligned
done
end

begin "text_in_files_is_whole"
name=$(printf 'task %0150d' 1)
check trace python3 -c '
import sys
sys.path.insert(0, "'"$here"'")
sys.dont_write_bytecode = True
from machine import event, head, ASYNC_BEGIN, ASYNC_END
name = sys.argv[1]
out = head()
out += event(ASYNC_BEGIN, 100, 7, name, 1) + event(ASYNC_END, 900, 7, name, 1)
open("long.fxt", "wb").write(out)' "$name"
for what in operations concurrency blame; do
	check $what report long.fxt $what
	check "$what: not cut" grep -qF "app/$name" out
	check "$what: on a terminal" status 0 on_terminal 100 "$AT" report long.fxt $what
	check "$what: cut there" eval '! grep -qF "$name" out'
done
check column report long.fxt
check "all columns" grep -q PROVIDER out
check timeline report long.fxt timeline 1
check "not cut" grep -qF "$name" out
end

begin "filter_that_does_not_fit_is_refused"
for wrong in "--type x server.fxt sched" "--min 1ms server.fxt summary" \
	     "--from 1s server.fxt threads" "--to x server.fxt"; do
	wrong_use report $wrong
done
end

# times NS...: write times.fxt, whose operations have these begins and ends, no category, and the
# names in NAMES in turns
times() {
	python3 -c '
import os, struct, sys

def record(head, *parts):
    body = b"".join(p if isinstance(p, bytes) else struct.pack("<Q", p) for p in parts)
    return struct.pack("<Q", head | (len(body) // 8 + 1) << 4) + body

out = struct.pack("<Q", 0x0016547846040010)
out += record(1 << 16 | 1 << 20 | 1 << 52, b"p" + 7 * b"\0") + record(1, 10 ** 9)
names = os.environ.get("NAMES", "t").split()
for i, name in enumerate(names):
    out += record(2 | i + 1 << 16 | len(name) << 32, name.encode() + -len(name) % 8 * b"\0")
for i, ns in enumerate(sys.argv[1:]):
    out += record(4 | (7 if i % 2 else 5) << 16 | i // 2 % len(names) + 1 << 48,
                  int(ns), 100, 100, i // 2)
open("times.fxt", "wb").write(out)' "$@"
}

# count OPTION...: print how many operations of times.fxt are selected
count() {
	"$AT" report --json "$@" times.fxt 2>err | jq -s 'map(.count) | add // 0'
}

begin "times_with_a_fraction_are_exact"
check trace times 10000 12009 20000 22010 30000 32011
check valid status 0 "$AT" report times.fxt
check min [ "$(count --min 2.01us)" = 2 ]
check max [ "$(count --max 2.01us)" = 2 ]
check both [ "$(count --min 2.01us --max 2.01us)" = 1 ]
check ns [ "$(count --min 2011ns)" = 1 ]
end

begin "sums_of_huge_times_do_not_wrap"
# Three operations of type x and one of type y, each 2^63 - 1000 ns long
last=$(((1 << 62) - 1 + (1 << 62)))
check trace python3 -c '
import sys
sys.path.insert(0, "'"$here"'")
sys.dont_write_bytecode = True
from machine import argument, event, head, ASYNC_BEGIN, ASYNC_END, BEGIN, END
out, last = head(), int(sys.argv[1])
for i, name in enumerate("xxxy"):
    out += event(ASYNC_BEGIN, 100 + i, 7, name, i + 1)
for i in range(3):
    out += event(BEGIN, 200 + i, 7 + i, "scope", args=[argument(4, "operation", 1)])
    out += event(END, last - 700, 7 + i, "scope", args=[argument(4, "resumed", 0)])
for i, name in enumerate("xxxy"):
    out += event(ASYNC_END, last - 500 + i, 7, name, i + 1)
open("huge.fxt", "wb").write(out)' $last
check concurrency report --json huge.fxt concurrency
check means [ "$(jq -cs 'map([.max, (.mean * 1000 | round)])' <out)" = '[[3,3000],[1,1000]]' ]
check operations report --json --type x huge.fxt
check "share of states" is true '.queued + .unknown > 0.999 and .queued + .unknown < 1.001'
check blame report --csv huge.fxt blame
check "shares" [ "$(awk -F, 'NR > 1 { sum[$4] += $2 } END { printf "%.2f %.2f", sum["app/x"], sum["app/y"] }' out)" = \
	"0.75 0.25" ]
check regions report --csv huge.fxt regions
check "the largest number" grep -q ",18446744073709551615," out
check text report huge.fxt regions
check "which means more" grep -q " >18446744073709.551 " out
end

begin "types_of_all_reports_have_the_same_names"
long=$(printf '%01000d' 0)
check trace eval 'NAMES="x ${long}a ${long}b" times 10 20 30 40 50 60 70'
check operations report --json times.fxt
jq -r .type <out | sort >want
check three eval '[ "$(cat want)" = "$(printf "%s\n" "${long}a" "${long}b" x)" ]'
for what in blame critical histogram concurrency levels; do
	check "$what" report --json times.fxt $what
	check "$what: types" eval 'jq -r .type <out | sort -u | cmp want'
done
check timeline report --json times.fxt timeline 0
check "its type" [ "$(jq -r .type <out | sort -u)" = x ]
check unfinished report --json times.fxt unfinished
check "its type" [ "$(json .type)" = x ]
check diff report --json diff times.fxt times.fxt
check "its types" eval 'jq -r .type <out | sort | cmp want'
check why status 0 "$AT" why times.fxt
check "no category" grep -qx "Of p/100. Where the time went:" out
end

begin "filters choose operations"
check min report --json --min 1000s hello.fxt
check "none is that slow" [ ! -s out ]
check max report --json --max 1000s hello.fxt
check "all are faster" [ -s out ]
check "max 0" report --json --max 0ns hello.fxt
check "none took no time" [ ! -s out ]
check provider report --json --provider other hello.fxt
check "none is of another provider" [ ! -s out ]
check category report --json --category hello hello.fxt
check "all are of the category" [ -s out ]
end

begin "empty_answers_say_what_chose_nothing"
# empty OPTIONS [NAMES]: the report has no row, and the message names the options
empty() {
	check "$1" report --json $1 hello.fxt
	check "$1: empty" [ ! -s out ]
	check "$1: why" says "nothing is chosen by ${2:-${1%% *}} in hello.fxt"
}
empty "--type nope"
empty "--from 5000s"
empty "--min 5000s --provider nope" "--provider, --min"
check pair report --json --pair a:b --key k hello.fxt
check "no such pair" says "has no event that --pair names"
check logs report --json --log nope hello.fxt logs
check "no such log" says "nothing is chosen by --log"
check rows report hello.fxt
check "no message" silent_about "nothing is chosen"
for wrong in "--from 1s --to 0.5s" "--from 1s --to 1s" "--min 1s --max 1ms"; do
	wrong_use report $wrong hello.fxt
	wrong_use why $wrong hello.fxt
done
for what in tree timeline; do
	check $what status 1 "$AT" report hello.fxt $what 0x1
	check "$what: no heading" [ ! -s out ]
	check "$what: why" says "has no operation with id 0x1"
	check "$what: only that" silent_about "no scheduling records"
done
end

begin "missing_scheduling_is_told_where_it_matters"
for what in operations blame blocked critical "timeline $(jq -r .id why)" unfinished lints; do
	check "$what" report hello.fxt $what
	check "$what says it" says "no scheduling records"
done
for what in loop logs log-groups regions orphans summary histogram concurrency levels losses; do
	check "$what" report hello.fxt $what
	check "$what does not" silent_about "no scheduling records"
done
end

begin "wrong use is reported with exit status 2"
for wrong in "" "hello.fxt nothing" "none.fxt" "--json --csv hello.fxt" "--folded hello.fxt" \
	     "--pprof hello.fxt summary" "--pprof --json hello.fxt blame" \
	     "hello.fxt timeline" "hello.fxt timeline x" "hello.fxt timeline 1 2" \
	     "--pair a:b hello.fxt" "--key x hello.fxt" "--pair a --key x hello.fxt" \
	     "--pair a:b:c --key x hello.fxt" "--pair a: --key x hello.fxt" \
	     "diff hello.fxt" "--min 5 hello.fxt" "--history x hello.fxt" "hello.fxt blame more"; do
	wrong_use report $wrong
done
end

begin "late_records_are_sorted_by_second_reading"
for what in operations blame critical losses; do
	check "$what, all in the window" report --json server.fxt $what
	mv out whole
	check "$what, a small window" report --json --window 16 server.fxt $what
	check "$what: no message" [ ! -s err ]
	check "$what: same report" cmp whole out
done
status 0 "$AT" why --json --percentile 99 server.fxt
mv out whole
check "why, a small window" status 0 "$AT" why --json --percentile 99 --window 16 server.fxt
check "same answer" cmp whole out
check "a pipe cannot be read twice" status 0 eval 'cat server.fxt | "$AT" why --window 16 -'
check "which a message says" says "came too late to be put in order of time"
end

begin "cut_trace_is_analysed_with_status_3"
size=$(stat -c %s hello.fxt)
head -c $((size - 8)) hello.fxt >cut.fxt
check report status 3 "$AT" report cut.fxt
check "the message says so" says "the analysis covers the records up to there"
end

begin "result_that_cannot_be_written_is_a_failure"
"$TRACES" lossy lossy.fxt >/dev/null 2>err
for f in hello.fxt lossy.fxt; do
	for c in "report $f" "report $f summary" "report --json $f" "why $f" "why --json $f"; do
		check "$c" eval '"$AT" $c >/dev/full 2>err; [ $? = 1 ]'
		check "$c: the reason" says "cannot write to standard output: No space left on device"
	done
done
end

# sum_of COLUMN...: print the sum of these columns of the losses in "losses"
sum_of() {
	local columns

	columns=$(printf ' + .%s' "$@")
	jq -s "map(0$columns) | add" losses
}

begin "losses_are_told_by_kind"
"$AT" report --json lossy.fxt losses >losses 2>err
check "dropped or overwritten" says "records were dropped or overwritten: $(sum_of dropped overwritten);"
check "malformed" says "records of programs were malformed and left out: $(sum_of malformed);"
check "no losses" eval 'status 0 "$AT" report hello.fxt && ! grep -q "dropped\|malformed" err'
end

begin "diff_of_faulty_traces_has_their_status"
head -c 80000 server.fxt >damaged.fxt
head -c 80000 /dev/zero >>damaged.fxt
check "cut first" status 3 "$AT" report diff cut.fxt hello.fxt
check "cut second" status 3 "$AT" report diff hello.fxt cut.fxt
check "damaged first" status 1 "$AT" report diff damaged.fxt hello.fxt
check "damaged second" status 1 "$AT" report diff hello.fxt damaged.fxt
check "damaged and cut" status 1 "$AT" report diff damaged.fxt cut.fxt
check "both are named" eval 'says "damaged.fxt: at byte" && says "cut.fxt: at byte"'
end

begin "why_explains_slowest_operations_first"
check why status 0 "$AT" why --json --slowest 1000000 server.fxt
cp out all
check "all of them" [ "$(wc -l <all)" = 1000 ]
check order python3 -c 'import json
latencies = [json.loads(line)["latency_ns"] for line in open("all")]
raise SystemExit(latencies != sorted(latencies, reverse=True))'
check "the slowest three" status 0 "$AT" why --json --slowest 3 server.fxt
check "are the first three" [ "$(cat out)" = "$(head -n 3 all)" ]
check "by id" status 0 "$AT" why --json server.fxt "$(head -n 1 all | jq -r .id)"
check "the same answer" [ "$(cat out)" = "$(head -n 1 all)" ]
end

begin "why --percentile takes the nearest rank"
for p in 0.05 50 99.9 99.95 100; do
	check "$p" status 0 "$AT" why --json --percentile $p server.fxt
	want=$(jq -s --argjson p $p 'map(.latency_ns) | sort | .[([($p * 1000 / 100 - 1e-9 | ceil), 1] | max) - 1]' all)
	check "$p is $want" [ "$(json .latency_ns)" = "$want" ]
done
end

begin "why_of_pipes_and_compressed_files_is_the_same"
check pipe eval 'status 0 "$AT" why --json - <server.fxt'
cp out piped
check "by pipe" [ "$(cat piped)" = "$(head -n 1 all)" ]
gzip -k server.fxt
check gzip status 0 "$AT" why --json server.fxt.gz
check "the same" cmp -s out piped
check "percentile" status 2 "$AT" why --percentile 50 -
check "needs a file" says "reads the trace twice"
mkfifo pipe
check "percentile of a named pipe" status 2 "$AT" why --percentile 50 pipe
check "can be read once" says "'pipe' can be read only once"
check "percentile by another name" status 0 "$AT" why --percentile 50 /dev/stdin <server.fxt
end

begin "diff_of_one_pipe_twice_is_refused"
for f in - pipe; do
	check "$f" status 2 "$AT" report diff $f $f
	check "$f: reason" says "'$f' can be read only once"
done
check "a pipe and a file" eval 'status 0 "$AT" report --json diff server.fxt - <server.fxt'
check "no such file" status 2 "$AT" report diff none none
check "which is told" says "cannot read none: No such file"
end

begin "why says in a sentence, an account and a path"
check why status 0 "$AT" why server.fxt
check sentence grep -Eq '^[^ ]+ 0x[0-9a-f]+ took [0-9.]+ (ns|us|ms|s): ' out
check account grep -q '^  together ' out
check path grep -q '^The critical path' out
check brief status 0 "$AT" why --brief server.fxt
check "one line" [ "$(wc -l <out)" = 1 ]
end

begin "why_exits_with_2_or_1_without_an_answer"
for wrong in "" "none.fxt" "server.fxt x" "--slowest 0 server.fxt" "--percentile 0 server.fxt" \
	     "--percentile 101 server.fxt" "--slowest 2 server.fxt 0x1" "server.fxt 1 2"; do
	wrong_use why $wrong
done
check "no such pair" status 1 "$AT" why --pair a::b:c --key x server.fxt
check named says "has no event that --pair names"
check "no such id" status 1 "$AT" why server.fxt 0xdead
check "named" says "has no operation with id 0xdead"
check "no such type" status 1 "$AT" why --type nothing server.fxt
id=$("$AT" why --json server.fxt | grep -o '"id":"0x[0-9a-f]*"' | head -n 1 | grep -o '0x[0-9a-f]*')
check "id of another type" status 1 "$AT" why --type nothing server.fxt "$id"
check "the options" says "has no operation with id $id that the options choose"
check "id of another time" status 1 "$AT" why --to 0ns server.fxt "$id"
check "the options" says "has no operation with id $id that the options choose"
check "id of another time" status 1 "$AT" report --to 0ns server.fxt timeline "$id"
check "the options" says "has no operation with id $id that the options choose"
check "no operations" eval '"$TRACES" big big.fxt 1 >/dev/null 2>&1; status 1 "$AT" why big.fxt'
check "what is missing" says "TRACE_ASYNC_BEGIN"
end

begin "why_answers_from_cut_and_damaged_files"
size=$(stat -c %s server.fxt)
head -c $((size / 2)) server.fxt >half.fxt
check half status 3 "$AT" why half.fxt
check "it says so" says "the analysis covers the records up to there"
cp server.fxt damaged.fxt
record=$((16#$("$AT" dump --offsets server.fxt | sed -n 5000p | cut -d' ' -f1)))
# A record of size 0
printf '\0\0\0\0\0\0\0\0' | dd of=damaged.fxt bs=8 seek=$((record / 8)) conv=notrunc status=none
check damaged status 1 "$AT" why damaged.fxt
check "at which byte" grep -q 'at byte [0-9]' err
end

begin "time_without_scheduling_is_unknown"
check why status 0 "$AT" why --json hello.fxt
check "all of it" [ "$(json '.unknown_ns + .queued_ns == .latency_ns')" = true ]
check "it says so" says "no scheduling"
check people status 0 "$AT" why hello.fxt
check "each thread" [ "$(grep -c '  on .*/[0-9]*: no scheduling was recorded$' out)" -gt 0 ]
check "none without its thread" eval '! grep -q "  no scheduling was recorded" out'
end

# foreign FILE RECORDS: write a trace of another program, with RECORDS, in Python, behind its head
foreign() {
	check "$1" env PYTHONPATH="$here" PYTHONDONTWRITEBYTECODE=1 python3 -c '
import sys
from machine import *
open(sys.argv[1], "wb").write(head() + eval("(%s)" % sys.argv[2]))' "$1" "$2"
}

begin "losses_without_times_are_told"
foreign filled.fxt 'thread(101) + event(5, 100, 101, "req", 1) + struct.pack("<Q", 0x130010) +
	event(7, 200, 101, "req", 1)'
check summary report --json filled.fxt summary
check "one loss" is 1 .losses
check "it says so" says "buffers of programs were full and lost records: 1;"
check "validate" eval 'status 1 "$AT" validate --json filled.fxt; is 1 .losses'
end

begin "other_tick_rate_is_no_damage"
foreign ticks.fxt 'record(1, struct.pack("<Q", 24000000)) + event(5, 24000, 101, "req", 1) +
	event(7, 48000, 101, "req", 1)'
check why status 0 "$AT" why --json ticks.fxt
check "1 ms" is 1000000 .latency_ns
check "no message about it" eval '! says "tick-rate"'
check dump eval 'status 0 "$AT" dump ticks.fxt && [ ! -s err ]'
check validate eval 'status 1 "$AT" validate ticks.fxt && grep -q tick-rate out'
end

begin "operations_on_ids_above_linux_are_told"
foreign ids.fxt 'event(5, 100, 5000001, "req", 1) + event(7, 200, 5000001, "req", 1)'
check why status 1 "$AT" why ids.fxt
check "the ids" says "begin on threads with ids above 4194304, the largest of Linux: 1"
check "no advice to write operations" eval '! says TRACE_ASYNC_BEGIN'
end

begin "region_within_one_before_from_counts"
foreign nested.fxt '(lambda begin, end: begin(100) + begin(200) + end(300) + end(400))(
	lambda ns: event(BEGIN, ns, 101, "r", None, [argument(4, "operation", 0)]),
	lambda ns: event(END, ns, 101, "r", None, [argument(4, "resumed", 0)]))'
for bound in "0ns 300 300" "50ns 100 100"; do
	set -- $bound
	check "from $1" report --json --from $1 nested.fxt regions
	check "total" is $2 .total_ns
	check "self" is $3 .self_ns
done
end

close
