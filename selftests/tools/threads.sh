#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Threads that sleep all the time are in each kind of trace, with their states. Needs the module and
# root.
#
# usage: threads.sh ASYNCTRACE SLEEPERS
set -u

AT=$1 SLEEPERS=$2
here=$(cd "${0%/*}" && pwd)
. "$here/lib.sh"
scratch

# start ARG...: start a program whose threads sleep, and wait until they do
start() {
	rm -f ids
	mkfifo ids
	"$@" >ids 2>/dev/null &
	read -r pid read accept futex epoll spin <ids
}

stop() {
	kill "$pid" 2>/dev/null
	wait
}

# rows FILE: write what the report says about threads to "rows". row TID FILTER: print the result of
# jq for a thread in "rows".
rows() { # FILE
	"$AT" report --json "$1" threads >rows 2>>err
}

row() { # TID FILTER
	jq -r "select(.tid == $1) | $2" <rows
}

# asleep TID NAME WHERE: the thread has this name, and sleeps there to the end
asleep() {
	[ "$(row "$1" '"\(.thread): \(.last)"')" = "$2: blocked in $3" ] ||
		{ row "$1" . >>err; false; }
}

# all_asleep FILE: the file is valid, and four threads sleep to its end, each in its system call
all_asleep() {
	valid "$1" --allow-open && rows "$1" && asleep "$read" read pipe &&
		asleep "$accept" accept socket && asleep "$futex" futex futex &&
		asleep "$epoll" epoll_wait epoll
}

# all_along: by "rows", which the preceding check has written, these four threads sleep during the
# whole trace
all_along() {
	local tid

	for tid in "$read" "$accept" "$futex" "$epoll"; do
		[ "$(row "$tid" '.blocked_ns == .observed_ns and .unknown_ns == 0 and .voluntary == 0')" = true ] ||
			{ row "$tid" . >>err; return 1; }
	done
}

echo "KTAP version 1"

begin "G11 sleeping threads are listed with states"
start "$SLEEPERS" 900
check record status 0 "$AT" record -o t.fxt -d 1 --json
check "count" is true '.threads_listed >= 6 and .processes_unlisted == 0'
check "states" all_asleep t.fxt
check "time" all_along
check "length of the trace" [ "$(row "$read" '.observed_ns > 900000000')" = true ]
check "spin" [ "$(row "$spin" .thread)" = spin ]
check "it did not sleep" [ "$(row "$spin" .blocked_ns)" = 0 ]
check "summary" status 0 "$AT" report t.fxt summary
end

begin "reason can be a descriptor of known type"
check dump status 0 "$AT" dump t.fxt
check "thread that reads a pipe" grep -qE \
	"^thread $read \"read\" .*\"off_cpu\":uint32=24 .*\"syscall\":string=\"read\"" out
end

begin "circular recording has states from its end"
check record status 0 "$AT" record -m circular -o t.fxt -d 1
check "states" all_asleep t.fxt
end

begin "one-shot recording has states from its begin"
check record status 0 "$AT" record -m oneshot -o t.fxt -d 1
check "states" all_asleep t.fxt
end

begin "session of all tasks lists all processes"
check record status 0 "$AT" record -s all -o t.fxt -d 1 --json
check "states" all_asleep t.fxt
check "this shell is there" [ -n "$(row $$ .tid)" ]
end

begin "snapshot and attachment have states"
check create status 0 "$AT" session create -m circular flight
check start status 0 "$AT" session start flight
sleep 1
check snapshot status 0 "$AT" session snapshot -o t.fxt flight
check "states in a snapshot" all_asleep t.fxt
check "time" all_along
check attach status 0 "$AT" session attach -d 1 -o t.fxt flight
check "states in an attachment" all_asleep t.fxt
check destroy status 0 "$AT" session destroy flight
end

begin "each file of a series has states"
"$AT" record --rotate 1G -o part.fxt -d 3 2>err &
recorder=$!
sleep 1
kill -HUP $recorder
sleep 1
check record wait $recorder
check "first file" all_asleep part.0.fxt
check "second file" all_asleep part.1.fxt
check "time" all_along
end

begin "trace without scheduling has no states"
check record status 0 "$AT" record -s off -o t.fxt -d 1 --json
check "count" is 0 .threads_listed
end
stop

begin "later files have states from earlier files"
"$AT" record --rotate 1G -o part.fxt -d 6 2>err &
recorder=$!
check "it records" soon eval '"$AT" session list | grep -q started'
start "$SLEEPERS" 900
sleep 1
kill -HUP $recorder
check record wait $recorder
check "first file" rows part.0.fxt
for tid in $read $accept $futex $epoll; do
	check "it fell asleep" [ "$(row $tid '.voluntary > 0')" = true ]
done
check "second file" rows part.1.fxt
check "time" all_along
for tid in $read $accept $futex $epoll; do
	check "it sleeps" [ "$(row $tid '.last | startswith("blocked in ")')" = true ]
done
end
stop

begin "threads are listed when a command registers"
check record status 0 "$AT" record -o t.fxt -- "$SLEEPERS" 2
read -r pid read accept futex epoll spin <out
check "file" valid t.fxt
check "rows" rows t.fxt
for tid in $read $accept $futex $epoll; do
	# Each of these threads sleeps until the program ends.
	check "sleeps" [ "$(row $tid '.blocked_ns > .observed_ns / 2')" = true ]
done
end

begin "thousands of threads are listed"
start "$SLEEPERS" 900 3000
check record status 0 "$AT" record -o t.fxt -d 2 --json
check "count" is true '.threads_listed >= 3006'
check "no record was lost" valid t.fxt
check "states" all_asleep t.fxt
check "the others" [ "$(jq -s 'map(select(.thread == "more" and .last == "blocked in futex")) | length' <rows)" = 3000 ]
stop
end

begin "user sees threads of own programs"
start $NOBODY "$SLEEPERS" 900
rm -f t.fxt
check record status 0 $NOBODY "$AT" record -o t.fxt -d 1
check "states" all_asleep t.fxt
stop
end

begin "hidden processes are reported"
start "$SLEEPERS" 900
rm -f t.fxt
mount -o remount,hidepid=2 /proc
check record status 0 setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps +perfmon \
	--ambient-caps +perfmon "$AT" record -o t.fxt -d 1
mount -o remount,hidepid=0 /proc
check "reason" says "/proc does not show them"
check "file" valid t.fxt
end

begin "ids are those of the recorder's pid namespace"
check "foreign /proc" status 0 unshare --pid --fork "$AT" record -o t.fxt -d 1
check "reason" says "/proc is that of another pid namespace"
check "own /proc" status 0 unshare --pid --fork --mount-proc \
	sh -c '"$0" 900 >ids.txt & sleep 1; exec "$1" record -s targets -p sleepers -o t.fxt -d 1' "$SLEEPERS" "$AT"
check "file" valid t.fxt
check "rows" rows t.fxt
check "thread" [ "$(jq -rs 'map(select(.thread == "epoll_wait" and .tid < 100)) | .[0].last' <rows)" = "blocked in epoll" ]
stop
end

begin "process that ends meanwhile does no harm"
for i in 1 2 3 4 5 6 7 8; do
	(while [ ! -e done ]; do "$SLEEPERS" 0 20 >/dev/null; done) &
done
check record status 0 "$AT" record -o t.fxt -d 3
touch done
wait
check "file" valid t.fxt
check "rows" rows t.fxt
check "some slept" [ "$(jq -s 'map(select(.thread == "more" and .blocked_ns > 0)) | length > 0' <rows)" = true ]
end
close
