#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The module's times of context switches agree with those of ftrace within 5 us. Needs the module,
# root, ftrace, and a machine with one CPU whose clock counts instructions, as nanoseconds:
# elsewhere, any time may pass between the two probes.
#
# usage: distance.sh ASYNCTRACE
set -u

AT=$1
here=$(cd "${0%/*}" && pwd)
. "$here/lib.sh"
scratch

# Two threads that hand a byte to and fro
pingpong="import os, threading
a, b = os.pipe(), os.pipe()
def echo():
    while os.read(a[0], 1): os.write(b[1], b'x')
t = threading.Thread(target=echo)
t.start()
for i in range(1000):
    os.write(a[1], b'x')
    os.read(b[0], 1)
os.close(a[1])
t.join()"

echo "KTAP version 1"

begin "times equal those of ftrace to 5 us"
check record status 0 "$AT" record --json -o t.fxt -b 4M -s all -e sched:sched_switch -- \
	python3 -c "$pingpong"
check "nothing is lost" is 0 '.dropped + .overwritten + .malformed + .unwritten'
check "at least 2000 switches" [ "$(json .switches)" -ge 2000 ]
check "within 5 us" python3 "$here/switches.py" "$AT" t.fxt 5000
end
close
