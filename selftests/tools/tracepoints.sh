#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# asynctrace record -e and -k with the module. Needs the module, root and ftrace.
#
# usage: tracepoints.sh ASYNCTRACE PROVIDER DIRECTORY
#
# Traces for Perfetto go to the directory.
set -u

AT=$1 PROVIDER=$2 keep=$3
rm -rf "$keep"
mkdir -p "$keep"
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

for mode in circular oneshot streaming; do
	begin "late provider is recorded, $mode mode"
	"$AT" record --json -o t.fxt -p late -s off -m $mode -e syscalls:sys_enter_clock_nanosleep \
		>summary 2>err &
	recorder=$!
	check "it records" soon eval '"$AT" session list | grep -q started'
	ASYNCTRACE_NAME=late check "provider" status 0 "$PROVIDER" 4 100 10000
	kill -INT $recorder
	wait $recorder
	cp t.fxt "$keep/event.fxt"
	cp summary out
	check "its events are there" is true \
		'[.providers[] | select(.name == "late") | .events] | add > 0'
	"$AT" dump --events t.fxt >text
	check "its system calls are there" [ "$(grep -c sys_enter_clock_nanosleep text)" -ge 100 ]
	check validate valid t.fxt
	end
done

begin "switches of ftrace and the module agree"
check record status 0 "$AT" record --json -o t.fxt -b 16M -s all -e sched:sched_switch \
	-- sh -c 'for i in 1 2 3 4 5; do ls -R /sys/module > /dev/null; sleep 0.05; done'
check "nothing is lost" is 0 '.dropped + .overwritten + .malformed + .unwritten'
check "they agree" python3 "$here/switches.py" "$AT" t.fxt
end

begin "sets of tracepoints"
check record status 0 "$AT" record -o t.fxt -k block,faults,syscalls -- \
	sh -c 'dd if=/dev/zero of=/scratch/f bs=64k count=4 conv=fsync'
cp t.fxt "$keep/sets.fxt"
check validate valid t.fxt
"$AT" dump --events t.fxt > text
for name in block_bio_queue page_fault_user sys_enter sys_exit; do
	check $name grep -q "\"$name\"" text
done
end

# An ftrace instance of the test: all threads' events, stamped with the file's clock
own=/sys/kernel/tracing/instances/own

# open_own EVENT...: record them, and each call of exit_group(2), from now on. EVENT is a directory
# in events/
open_own() {
	local e call=94

	[ "$(uname -m)" != x86_64 ] || call=231

	mkdir $own
	echo boot >$own/trace_clock
	echo 16384 >$own/buffer_size_kb
	for e in "$@"; do
		echo 1 >"$own/events/$e/enable"
	done
	echo "id == $call" >$own/events/raw_syscalls/sys_enter/filter
	echo 1 >$own/events/raw_syscalls/sys_enter/enable
}

# close_own: the events are in the file "own"; none is lost
close_own() {
	echo 0 >$own/tracing_on
	cat $own/trace >own
	! grep -hE '^(overrun|commit overrun|dropped events)' $own/per_cpu/cpu*/stats | grep -v ': 0$' >>err
	check "the test lost no event" [ $? = 0 ]
	rmdir $own
}

begin "set irq has all interrupts and softirqs"
open_own irq irq_vectors
# The disk makes interrupts, the network and timers make softirqs.
check record status 0 "$AT" record --json -o t.fxt -b 16M -s all -k irq -- sh -c '
	dd if=/dev/zero of=/scratch/f bs=64k count=16 oflag=direct
	for i in 1 2 3 4 5 6 7 8; do sleep 0.02; done
	python3 -c "import socket
a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); a.bind((\"127.0.0.1\", 0))
for i in range(20): a.sendto(b\"x\", a.getsockname()); a.recv(9)"'
close_own
check "nothing is lost" is 0 "$kernel .dropped + .overwritten + .malformed + .unwritten"
cp t.fxt "$keep/irq.fxt"
check validate valid t.fxt
check "same events" python3 "$here/instance.py" "$AT" t.fxt own -- irq_handler_entry \
	irq_handler_exit softirq_raise softirq_entry softirq_exit local_timer_entry
end

begin "set irq has all interrupts of a command"
open_own irq irq_vectors
check record status 0 "$AT" record --json -o t.fxt -b 16M -k irq -- sh -c 'echo $$ >pid
	end=$(($(date +%s) + 3)); while [ $(date +%s) -lt $end ]; do :; done'
close_own
check "nothing is lost" is 0 "$kernel .dropped + .overwritten + .malformed + .unwritten"
cp t.fxt "$keep/irq-command.fxt"
check validate valid t.fxt
# With PREEMPT_RT, threads of the kernel run the softirqs.
softirqs=softirq_entry
! uname -v | grep -q PREEMPT_RT || softirqs=
check "same events" python3 "$here/instance.py" "$AT" t.fxt own --all $(cat pid) -- \
	local_timer_entry $softirqs
end

begin "set reclaim has all reclaim of a command"
group=/sys/fs/cgroup/reclaim
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
mkdir $group
echo 48M >$group/memory.max
dd if=/dev/zero of=/scratch/f bs=1M count=128 conv=fsync 2>/dev/null
# Drop the file from the page cache, because pages that are there already are not charged to the
# group.
echo 3 >/proc/sys/vm/drop_caches
open_own vmscan compaction
check record status 0 "$AT" record --json -o t.fxt -b 16M -k reclaim -- sh -c 'echo $$ >pid
	echo $$ >'$group'/cgroup.procs; exec cat /scratch/f >/dev/null'
close_own
check "nothing is lost" is 0 "$kernel .dropped + .overwritten + .malformed + .unwritten"
cp t.fxt "$keep/reclaim.fxt"
check validate valid t.fxt
check "same events" python3 "$here/instance.py" "$AT" t.fxt own --all $(cat pid) -- \
	mm_vmscan_memcg_reclaim_begin mm_vmscan_memcg_reclaim_end
rmdir $group
end

begin "set cpu has all idle states"
open_own power/cpu_idle
check record status 0 "$AT" record --json -o t.fxt -b 16M -s all -k cpu -- \
	sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 0.05; done'
close_own
check "nothing is lost" is 0 "$kernel .dropped + .overwritten + .malformed + .unwritten"
cp t.fxt "$keep/cpu.fxt"
check validate valid t.fxt
check "same events" python3 "$here/instance.py" "$AT" t.fxt own -- cpu_idle
end

# A program that makes (N + 1) * 20000 system calls in a thread on each CPU N. It then writes to the
# file "written" how many events the recorder's instance has counted on each CPU.
pinned='import glob, os, threading
cpus = sorted(os.sched_getaffinity(0))
def work(cpu):
    os.sched_setaffinity(0, {cpu})
    for i in range(20000 * (cpu + 1)): os.getppid()
ts = [threading.Thread(target=work, args=[cpu]) for cpu in cpus]
for t in ts: t.start()
for t in ts: t.join()
counts = "entries", "overrun", "commit overrun", "dropped events", "read events"
with open("written", "w") as written:
    for cpu in cpus:
        [stats] = glob.glob(f"/sys/kernel/tracing/instances/asynctrace-*/per_cpu/cpu{cpu}/stats")
        lines = [line.split(": ") for line in open(stats)]
        print(cpu, sum(int(n) for what, n in lines if what in counts), file=written)'

begin "account is exact on each CPU"
for mode in streaming circular; do
	for size in 16K 64K 16M; do
		check record status 0 "$AT" record --json -o t.fxt -b $size -m $mode -s off \
			-e syscalls:sys_enter_getppid -- python3 -c "$pinned"
		check "a line for each CPU" [ "$(wc -l <written)" = "$(nproc)" ]
		cp out summary.json
		check validate valid t.fxt --allow-open
		cp summary.json out
		while read -r cpu written; do
			check "the program's calls" [ "$written" = $((20000 * (cpu + 1))) ]
			check "$mode $size CPU $cpu" is "$written" '.rings[] |
				select(.kind == "tracepoints" and .cpu == '$cpu') |
				.delivered + .overwritten + .dropped'
			check "$mode $size CPU $cpu, nothing else" is 0 '.rings[] |
				select(.kind == "tracepoints" and .cpu == '$cpu') |
				.malformed + .unwritten + .cleared + .filtered'
		done <written
		[ $size != 16K ] || check "$mode, some are lost" is true '[.rings[] |
			select(.kind == "tracepoints") | .overwritten + .dropped > 0] | all'
		check "in the file" [ "$("$AT" dump --events t.fxt | grep -c '"sys_enter_getppid"')" = "$(json .events)" ]
	done
done
check "all are recorded" is 0 '.overwritten + .dropped'
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
check snapshot status 125 "$AT" record -o t.fxt -k block -m circular --trigger a:snapshot -- touch ran
check snapshot says "not supported yet"
check user status 125 setpriv --reuid 65534 --clear-groups "$AT" record -o /dev/null -k block -- \
	touch ran
check user says "tracepoints are for root"
check "no command was run" [ ! -e ran ]
check "no instance is left" [ "$(instances)" = 0 ]
end

begin "recording's end removes the instance"
"$AT" record -o t.fxt -d 0.5 -e sched:sched_switch -- \
	sh -c 'until [ -e go ]; do sleep 0.1; done' 2>err &
recorder=$!
check "it has ended" soon says "The recording has ended"
check "no instance is left" soon eval '[ "$(instances)" = 0 ]'
touch go
wait $recorder
check "status of the command" [ $? = 0 ]
end

begin "signal before a pipe's reader: no instance"
mkfifo unread
"$AT" record -o unread -e sched:sched_switch 2>err & recorder=$!
check "it waits" soon eval '[ "$(instances)" = 1 ]'
kill -TERM $recorder
wait $recorder
check "status" [ $? = 1 ]
check "reason" says "a signal came before unread had a reader"
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
