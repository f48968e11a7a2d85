#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Throttling by a CPU quota, from record to why and report. Needs the module, root and cgroup2.
#
# usage: quota.sh ASYNCTRACE BURN
set -u

AT=$1 BURN=$2
here=$(cd "${0%/*}" && pwd)
. "$here/lib.sh"
scratch

# BURN will run in a cgroup below the one with the quota: the recorder must find the quota of an
# ancestor.
cgroup=/sys/fs/cgroup/quota-test
echo +cpu >/sys/fs/cgroup/cgroup.subtree_control
mkdir -p $cgroup/inner
echo "20000 100000" >$cgroup/cpu.max

# burn OPTION...: record a program that needs ten times its quota. The recorder counts throttling
# only after it has found the process. On a busy machine, this takes a while.
burn() {
	"$AT" record --json "$@" -- \
		sh -c 'echo $$ >'$cgroup'/inner/cgroup.procs && exec "$0" 200' "$BURN"
}

explains_the_quota() { # FILE
	valid "$1" && "$AT" why --json "$1" >out 2>err &&
		is true '[.intervals[] | select(.throttled_cgroup)] | length > 0 and
			all(.throttled_cgroup == "/quota-test" and .state == "runnable")' &&
		is true '([.intervals[].throttled_ns // 0] | add) > 0' &&
		is true '([.intervals[].throttled_ns // 0] | add) <= .runnable_ns'
}

begin "why and report name a quota that throttled"
check record status 0 burn -o t.fxt
check "kernel counted throttling" is true '.cgroups | length == 1 and
	.[0].path == "/quota-test" and .[0].throttled_ns > 0 and .[0].throttled_periods > 0'
check "intervals" explains_the_quota t.fxt
check "sentence" status 0 "$AT" why --brief t.fxt
check "sentence" grep -q 'runnable (.* because of the CPU quota of cgroup /quota-test)' out
check "threads" status 0 "$AT" report --json t.fxt threads
check "thread" [ "$(jq -s 'map(select(.thread == "burn" and .throttled_ns > 0)) | length' <out)" = 1 ]
check "runnable" status 0 "$AT" report --json t.fxt runnable
check "reason" grep -q '"reason":"[^"]*CPU quota"' out
check "summary" status 0 "$AT" report --json t.fxt summary
check "one cgroup" is 1 .throttled
end

# In this mode the recorder reads no records before the end. It finds processes in the list of
# providers.
begin "circular mode records throttling"
check record status 0 burn -m circular -o t.fxt
check "intervals" explains_the_quota t.fxt
end

begin "slow operation keeps its throttling"
check record status 0 burn -o t.fxt --slower-than 'burn>1ms'
check "intervals" explains_the_quota t.fxt
end

# Set the quota after the program has registered.
set_quota_later() {
	until "$AT" providers --json | grep -q '"burn"'; do
		sleep 0.1
	done
	echo "20000 100000" >$cgroup/cpu.max
}

begin "later quota is found"
echo max >$cgroup/cpu.max
set_quota_later &
check record status 0 "$AT" record --json -o t.fxt -- \
	sh -c 'echo $$ >'$cgroup'/inner/cgroup.procs && exec "$0" 2000' "$BURN"
check "kernel counted throttling" is true '.cgroups | length == 1 and
	.[0].throttled_ns > 0 and .[0].throttled_periods > 0'
check "intervals" explains_the_quota t.fxt
wait
end

# The kernel counts throttling when the period of one second ends, later than the recording.
begin "last throttling of a recording is counted"
echo "200000 1000000" >$cgroup/cpu.max
check record status 0 "$AT" record --json -d 0.8 -o t.fxt -- \
	sh -c 'echo $$ >'$cgroup'/inner/cgroup.procs && exec "$0" 1000' "$BURN"
# A slow machine may begin a second period before the recording ends.
all=$(awk '$1 == "nr_throttled" { print $2 }' $cgroup/cpu.stat)
check "period" is true ".cgroups | length == 1 and .[0].throttled_periods >= 1 and
	.[0].throttled_periods <= $all"
check "threads" status 0 "$AT" report --json t.fxt threads
check "thread" [ "$(jq -s 'map(select(.thread == "burn" and .throttled_ns > 0)) | length' <out)" = 1 ]
check "valid" valid t.fxt --allow-open
until rmdir $cgroup/inner 2>err; do
	sleep 0.1
done
end

# Nothing reads the throttling counts before the snapshot. So the snapshot knows the times of the
# last period only.
begin "snapshot has throttling of the last period"
mkdir $cgroup/inner
echo "20000 100000" >$cgroup/cpu.max
check create status 0 "$AT" session create -m circular flight
check start status 0 "$AT" session start flight
sh -c 'echo $$ >'$cgroup'/inner/cgroup.procs && exec "$0" 1000' "$BURN" &
until grep -q '^nr_throttled [1-9]' $cgroup/cpu.stat && "$AT" providers --json | grep -q '"burn"'; do
	sleep 0.1
done
check snapshot status 0 "$AT" session snapshot --json -o s.fxt flight
check "growth" is true '.cgroups | length == 1 and .[0].path == "/quota-test" and
	.[0].throttled_periods >= 1 and .[0].throttled_periods <= 3 and
	.[0].throttled_periods_before > 0'
check "threads" status 0 "$AT" report --json s.fxt threads
check "thread" [ "$(jq -s 'map(select(.thread == "burn" and .throttled_ns > 0)) | length' <out)" = 1 ]
check "text" status 0 "$AT" session snapshot -o s.fxt flight
check "earlier periods" says "earlier periods; the kernel does not tell when"
check destroy status 0 "$AT" session destroy flight
wait
end

rmdir $cgroup/inner $cgroup
close
