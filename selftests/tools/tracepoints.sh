#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# asynctrace record -e and -k with the module. Needs the module, root and ftrace.
#
# usage: tracepoints.sh ASYNCTRACE PROVIDER
set -u

AT=$1 PROVIDER=$2
here=$(cd "${0%/*}" && pwd)
. "$here/lib.sh"
scratch

# calls N [THREADS]: a program that makes N system calls in each of its threads
calls="import os, sys, threading
def work():
    for i in range(int(sys.argv[1])): os.getppid()
ts = [threading.Thread(target=work) for i in range(int(sys.argv[2]))]
for t in ts: t.start()
for t in ts: t.join()"

kernel='.providers[] | select(.id == 0) |'
instances() {
	ls /sys/kernel/tracing/instances | grep -c '^asynctrace-'
}

begin "each event is in the file or dropped"
for size in 16K 64K 4M; do
	check record status 0 "$AT" record --json -o t.fxt -b $size -e syscalls:sys_enter_getppid \
		-- python3 -c "$calls" 20000 2
	cp out summary-$size.json
	check "sum" is 40000 "$kernel .events + .dropped + .overwritten + .malformed + .unwritten"
	check "nothing else" is 0 "$kernel .overwritten + .malformed + .unwritten"
	check validate valid t.fxt
	cp summary-$size.json out
	check "the file has them" is "$("$AT" dump --events t.fxt | grep -c '"sys_enter_getppid"')" \
		"$kernel .events"
done
cp summary-16K.json out
check "some are dropped" is true "$kernel .dropped > 0"
cp summary-4M.json out
check "none is dropped" is 0 "$kernel .dropped"
check "no instance is left" [ "$(instances)" = 0 ]
end

begin "circular mode keeps the last events"
check record status 0 "$AT" record --json -o t.fxt -b 16K -m circular \
	-e syscalls:sys_enter_getppid -- python3 -c "$calls" 20000 1
check "sum" is 20000 "$kernel .events + .overwritten + .dropped + .malformed + .unwritten"
check "some are overwritten" is true "$kernel .overwritten > 0 and .events > 0"
check validate valid t.fxt
end

begin "only a command and its children are recorded"
python3 -c 'import os, time
while True: os.getppid(); time.sleep(0.002)' &
stranger=$!
check record status 0 "$AT" record -o t.fxt -b 4M -e syscalls:sys_enter_getppid \
	-- sh -c 'echo $$ > shell; python3 -c "$1" 100 3; sleep 0.2' sh "$calls"
"$AT" dump --events t.fxt | awk '/"sys_enter_getppid"/ { print $2 }' | sort | uniq -c > threads
check "three threads with 100 calls each" [ "$(awk '$1 == 100' threads | wc -l)" = 3 ]
check "no stranger" eval "! grep -q ' $stranger/' threads"
check validate valid t.fxt
end

begin "--sched all records everybody"
check record status 0 "$AT" record -o t.fxt -b 4M -s all -d 0.5 -e syscalls:sys_enter_getppid
"$AT" dump --events t.fxt | awk '/"sys_enter_getppid"/ { print $2 }' | sort | uniq -c > threads
check "the stranger, too" grep -q " $stranger/" threads
kill $stranger
wait $stranger 2>/dev/null
check validate valid t.fxt
end

begin "late provider is recorded from its start on"
"$AT" record --json -o t.fxt -p late -s off -e syscalls:sys_enter_clock_nanosleep >summary 2>err &
recorder=$!
check "it records" soon eval '"$AT" session list | grep -q started'
ASYNCTRACE_NAME=late check "provider" status 0 "$PROVIDER" 4 100 10000
kill -INT $recorder
wait $recorder
cp summary out
check "its events are there" is true '[.providers[] | select(.name == "late") | .events] | add > 0'
check "its system calls are there" [ "$("$AT" dump --events t.fxt | grep -c sys_enter_clock_nanosleep)" -ge 100 ]
check validate valid t.fxt
end

begin "switches of ftrace and the module agree"
check record status 0 "$AT" record --json -o t.fxt -b 16M -s all -e sched:sched_switch \
	-- sh -c 'for i in 1 2 3 4 5; do ls -R /sys/module > /dev/null; sleep 0.05; done'
check "nothing is lost" is 0 '.dropped + .overwritten + .malformed + .unwritten'
check "they agree" python3 "$here/switches.py" "$AT" t.fxt
end

begin "sets of tracepoints"
check record status 0 "$AT" record -o t.fxt -k block,faults,syscalls -- \
	sh -c 'dd if=/dev/zero of=/scratch/f bs=64k count=4 conv=fsync'
check validate valid t.fxt
"$AT" dump --events t.fxt > text
for name in block_bio_queue page_fault_user sys_enter sys_exit; do
	check $name grep -q "\"$name\"" text
done
end

begin "wrong lists are refused, by name and remedy"
for list in nosuch:x block:nosuch 'nosuch*'; do
	check "$list" status 125 "$AT" record -o t.fxt -e "$list" -- touch ran
	check "$list" says "no tracepoint is called $list"
done
for list in '' ':' 'block:' ':x' 'a b:c' '*x:y' 'block:*,'; do
	check "'$list'" status 125 "$AT" record -o t.fxt -e "$list" -- touch ran
	check "'$list'" says "is no tracepoint"
done
check set status 125 "$AT" record -o t.fxt -k nosuch -- touch ran
check set says "use syscalls, faults, block, irq, reclaim or cpu"
check slower status 125 "$AT" record -o t.fxt -k block --slower-than 'x>1s' -- touch ran
check slower says "not supported yet"
check user status 125 setpriv --reuid 65534 --clear-groups "$AT" record -o /dev/null -k block -- \
	touch ran
check user says "tracepoints are for root"
check "no command was run" [ ! -e ran ]
check "no instance is left" [ "$(instances)" = 0 ]
end

begin "next recorder removes a dead one's instance"
"$AT" record -o t.fxt -e 'sched:*' -- sleep 100 2>err &
recorder=$!
check "it records" soon eval '[ "$(instances)" = 1 ]'
kill -KILL $recorder
wait $recorder 2>/dev/null
pkill -x sleep
check "it is left" [ "$(instances)" = 1 ]
check record status 0 "$AT" record -o t.fxt -e sched:sched_switch -- true
check "it is gone" [ "$(instances)" = 0 ]
end

close
