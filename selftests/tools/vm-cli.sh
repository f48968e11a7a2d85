#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The command on an unusual machine: no module, a module of another version, no permission, a disk
# that fills up, CPUs that go offline and online. cli.sh has the other tests. Needs root; loads and
# unloads the module.
#
# usage: vm-cli.sh ASYNCTRACE PROVIDER MODULE.ko OTHER-ABI.ko
set -u

AT=$1 PROVIDER=$2 KO=$3 OTHER=$4
here=$(cd "${0%/*}" && pwd)
. "$here/lib.sh"
scratch

recording() {
	"$AT" status | grep -q '"'"$1"'".*started'
}

unload() {
	! [ -d /sys/module/asynctrace ] || soon rmmod asynctrace
}

echo "KTAP version 1"

begin "without module each command says what to do"
unload
check record status 1 "$AT" record -o t.fxt -d 1
check reason says "not loaded"
check remedy says "modprobe asynctrace"
check "record CMD" status 125 "$AT" record -o t.fxt -- touch ran
check "it was not run" [ ! -e ran ]
check "no file" [ ! -e t.fxt ]
check "without it" says "ASYNCTRACE_OUT=t.fxt touch ..."
check list status 1 "$AT" list
check remedy says "modprobe asynctrace"
check status status 1 "$AT" status
check remedy says "modprobe asynctrace"
check "session" status 1 "$AT" session create x
check remedy says "modprobe asynctrace"
check "doctor" status 1 "$AT" doctor
check "it sees that" grep -q '^FAIL *module' out
check remedy grep -q 'make install-module' out
check "a program that traces runs as ever" status 0 "$PROVIDER" 1 100
check "and says nothing" [ ! -s err ]
end

begin "module of other version is refused by version"
insmod "$OTHER" || echo "# cannot load $OTHER"
check record status 1 "$AT" record -o t.fxt -d 1
check reason says "version"
check list status 1 "$AT" list
check reason says "version"
check "doctor" status 1 "$AT" doctor
check "it sees that" grep -q '^FAIL *interface' out
check "record CMD" status 125 "$AT" record -o t.fxt -- touch ran
check "it was not run" [ ! -e ran ]
check "a program that traces runs as ever" status 0 "$PROVIDER" 1 100
unload
end

insmod "$KO" || exit 1

begin "unreadable device is named by path"
chmod 600 /dev/asynctrace
check record status 1 $NOBODY "$AT" record -o t.fxt -d 1
check reason says "/dev/asynctrace"
check reason says "ermission denied"
check "record CMD" status 125 $NOBODY "$AT" record -o t.fxt -- touch ran
check "it was not run" [ ! -e ran ]
check "a program that traces runs as ever" status 0 $NOBODY "$PROVIDER" 1 100
check "and says nothing" [ ! -s err ]
check "list needs no device" status 0 $NOBODY "$AT" list
check "doctor" status 1 $NOBODY "$AT" doctor
check "it sees that" grep -q '^FAIL *device .*mode 600' out
check remedy grep -q 'chmod 666 /dev/asynctrace' out
chgrp users /dev/asynctrace
chmod 660 /dev/asynctrace
check "doctor" status 1 $NOBODY "$AT" doctor
check "the group" grep -q 'usermod -aG users' out
chmod 666 /dev/asynctrace
check "and with it" status 0 $NOBODY "$AT" record -o t.fxt -- "$PROVIDER" 1 100
rm -f t.fxt
end

begin "unwritable outputs are named"
check directory status 1 "$AT" record -o .
check reason says "Is a directory"
check "no directory" status 1 "$AT" record -o no/t.fxt
check reason says "No such file"
mkdir -m 755 -p roots
check "no right" status 1 $NOBODY "$AT" record -o roots/t.fxt -d 1
check reason says "ermission denied"
check "read-only" status 1 "$AT" record -o /sys/t.fxt -d 1
check reason says "/sys/t.fxt"
check "no session is left" sh -c '! "$0" status | grep -q started' "$AT"
end

begin "disk that fills up leaves a valid file"
mkdir -p small
mount -t tmpfs -o size=64k none small
check 125 status 125 "$AT" record -o small/t.fxt -s off -- "$PROVIDER" 1 20000
check reason says "No space left"
check "it is full" [ "$(stat -c %s small/t.fxt)" -gt 50000 ]
check "whole" whole_without_end small/t.fxt
umount small
end

begin "a real file system that fills up"
# Fill the disk, including root's reserve, except about 64 KiB. Let dd fill the last 32 MiB, because
# stat also counts blocks as free that ext4 keeps for itself.
fallocate -l $(($(stat -f -c '%f * %S' /scratch) - 33554432)) /scratch/ballast
dd if=/dev/zero of=/scratch/ballast2 bs=64K 2>/dev/null
truncate -s -64K /scratch/ballast2
sync
check 125 status 125 "$AT" record -o /scratch/t.fxt -s off -- "$PROVIDER" 1 40000
check reason says "No space left"
check "whole" whole_without_end /scratch/t.fxt
rm -f /scratch/ballast* /scratch/t.fxt
end

begin "a quota of file size"
check 125 status 125 bash -c 'ulimit -f 64; exec "$@"' - "$AT" record -o t.fxt -s off -- "$PROVIDER" 1 20000
check reason says "File too large"
check "whole" whole_without_end t.fxt
end

begin "Ctrl-C leaves a valid file and status 0"
"$AT" record -o t.fxt -n ctrl-c -s all 2>err & recorder=$!
check started soon recording ctrl-c
kill -INT $recorder
wait $recorder
check 0 [ $? = 0 ]
check valid "$AT" validate --allow-open -q t.fxt
check account account_holds "$AT" t.fxt
check events grep -q '[1-9][0-9,]* switches' err
end

begin "CPUs go offline and online while recording"
"$AT" record -o t.fxt -n hotplug -s all -b 4M 2>err & recorder=$!
check started soon recording hotplug
"$PROVIDER" 2 2000 500 & provider=$!
for i in 1 2 3; do
	check offline sh -c 'echo 0 > /sys/devices/system/cpu/cpu1/online'
	sleep 0.2
	check online sh -c 'echo 1 > /sys/devices/system/cpu/cpu1/online'
	sleep 0.2
done
wait $provider
check "the provider" [ $? = 0 ]
kill -INT $recorder
wait $recorder
check "the recorder" [ $? = 0 ]
check valid "$AT" validate --allow-open -q t.fxt
check account account_holds "$AT" t.fxt
check "12,000 events" [ "$(awk '$1 == "'"${PROVIDER##*/}"'" { gsub(",", ""); print $3 + $4 + $5 }' err)" = 12000 ]
end

begin "late CPU has its scheduling recorded"
echo 0 > /sys/devices/system/cpu/cpu1/online
"$AT" record -o t.fxt -n late-cpu -s all 2>err & recorder=$!
check started soon recording late-cpu
echo 1 > /sys/devices/system/cpu/cpu1/online
taskset -c 1 sh -c 'for i in 1 2 3 4 5; do sleep 0.05; done'
kill -INT $recorder
wait $recorder
check "the recorder" [ $? = 0 ]
"$AT" dump --events t.fxt >dump
check "switches of CPU 1" grep -q ' cpu 1 switch ' dump
end

# of_cpu1 FIELD: print FIELD of CPU 1's scheduling ring from the output of asynctrace status
of_cpu1() {
	"$AT" status --json | python3 -c 'import json, sys
rings = json.load(sys.stdin)["sessions"][0]["rings"]
print(sum(r[sys.argv[1]] for r in rings if r["kind"] == "sched" and r["ring"] == 1))' "$1"
}

begin "late CPU without memory counts its drops"
cg=/sys/fs/cgroup/late-cpu
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
mkdir $cg
echo 24M >$cg/memory.max
echo 0 > /sys/devices/system/cpu/cpu1/online
check session status 0 sh -c 'echo $$ >'$cg'/cgroup.procs && exec "$0" session create -m circular -b 16M -s all late-cpu' "$AT"
check start status 0 "$AT" session start late-cpu
echo 1 > /sys/devices/system/cpu/cpu1/online
taskset -c 1 sh -c 'for i in 1 2 3 4 5; do sleep 0.05; done'
check "no ring" [ "$(of_cpu1 memory)" = 0 ]
check "no records" [ "$(of_cpu1 committed)" = 0 ]
check "which is counted" [ "$(of_cpu1 dropped)" -gt 0 ]
check stop status 0 "$AT" session stop late-cpu
check snapshot status 0 "$AT" session snapshot late-cpu -o t.fxt
check "and told of CPU 1" [ "$(awk '$1 == "CPU" && $2 == 1 { gsub(",", ""); print $5 }' err)" = "$(of_cpu1 dropped)" ]
check "in the file, too" sh -c '"$0" dump t.fxt | grep -q "lost records"' "$AT"
echo max >$cg/memory.max
check start status 0 "$AT" session start late-cpu
taskset -c 1 sh -c 'for i in 1 2 3 4 5; do sleep 0.05; done'
check "with the next start it has its ring" [ "$(of_cpu1 memory)" = 16777216 ]
check "and records" [ "$(of_cpu1 committed)" -gt 0 ]
check destroy status 0 "$AT" session destroy late-cpu
rmdir $cg
end

unload || echo "# the module does not go"
close
