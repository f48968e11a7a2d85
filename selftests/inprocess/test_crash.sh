#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# test_crash.sh CRASH ASYNCTRACE: run the example program, which crashes. Its file must be valid and
# contain the last events before the crash.
set -u
export LC_ALL=C.UTF-8

crash=$1 asynctrace=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

. "$(dirname "$0")/../lib.sh"

ulimit -c 0
# Run the program on one CPU, so that one ring has all events.
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
{ taskset -c "$cpu" "$crash" "$tmp/crash.fxt"; } 2> "$tmp/err"
ok crash_dies_of_its_signal [ $? = 139 ]
ok G74_crash_file_is_valid "$asynctrace" validate "$tmp/crash.fxt"
"$asynctrace" dump --events "$tmp/crash.fxt" > "$tmp/events"

# The file has the last events of the thread that crashed: the instant event that the crashing
# request wrote, and requests before it without a gap, from the first that the flight recorder has
# kept.
thread=$(sed -n 's|^[0-9.]* \([0-9/]*\) instant "app" "about to crash".*|\1|p' "$tmp/events")
ok crash_event_is_there [ -n "$thread" ]
grep -F " $thread complete \"app\" \"request\" " "$tmp/events" |
	sed -n 's/.*"worker":uint32=0 "number":uint32=\([0-9]*\).*/\1/p' > "$tmp/numbers"
ok requests_before_the_crash_are_there [ "$(tail -n 1 "$tmp/numbers")" = 19998 ]
ok no_request_is_missing_in_between \
	[ "$(sort -nu "$tmp/numbers" | wc -l)" = "$((19998 - $(head -n 1 "$tmp/numbers") + 1))" ]

close
