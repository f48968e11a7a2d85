#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# test_env.sh PROGRAM TOOL: environment variables trace a program that does not trace itself.
# PROGRAM writes 1000 events and a scope; TOOL is asynctrace. test_out.sh tests file names, limits
# and wrong settings.
set -u

prog=$1
tool=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

. "$(dirname "$0")/../lib.sh"

is() { [ "$1" = "$2" ]; }
events() { "$tool" dump "$1" | grep -cE ' "law" "(event|scope)"'; }
valid() {
	{ "$tool" validate "$1" && "${tool%/*}/selftests/account" "$1"; } >"$dir/log" 2>&1 ||
		{ cat "$dir/log"; return 1; }
}

for mode in oneshot circular streaming; do
	f=$dir/$mode.fxt
	ok "$mode: the program's own status is kept" \
		is "$(ASYNCTRACE_OUT=$f ASYNCTRACE_MODE=$mode "$prog" 7 2>"$dir/err"; echo $?)" 7
	ok "$mode: prints no message" test ! -s "$dir/err"
	ok "$mode: the file is valid" valid "$f"
	ok "$mode: all events are there" is "$(events "$f")" 1001
done

f=$dir/small.fxt
ASYNCTRACE_OUT=$f ASYNCTRACE_MODE=oneshot ASYNCTRACE_BUFFER_SIZE=16K "$prog" 0 2>"$dir/err"
ok "too small a buffer: the message counts the loss" grep -q 'records dropped.*ASYNCTRACE_BUFFER_SIZE' "$dir/err"
ok "too small a buffer: the file is valid" valid "$f"

f=$dir/none.fxt
ASYNCTRACE_OUT=$f ASYNCTRACE_CATEGORIES=other,l "$prog" 0
ok "categories: others are not recorded" is "$(events "$f")" 0
f=$dir/prefix.fxt
ASYNCTRACE_OUT=$f ASYNCTRACE_CATEGORIES='other,l*' "$prog" 0
ok "categories: by prefix" is "$(events "$f")" 1001
f=$dir/excluded.fxt
ASYNCTRACE_OUT=$f ASYNCTRACE_CATEGORIES='-l*' "$prog" 0
ok "categories: not by prefix" is "$(events "$f")" 0

GLIBC_TUNABLES=glibc.pthread.rseq=0 ASYNCTRACE_OUT=$dir/rseq.fxt "$prog" 0
ok "without rseq: the file is valid" valid "$dir/rseq.fxt"
ok "without rseq: all events are there" is "$(events "$dir/rseq.fxt")" 1001

# A program that is killed while it writes leaves a readable trace.
ASYNCTRACE_OUT=$dir/killed.fxt "$prog" forever &
pid=$!
n=0
while [ $n -lt 100 ] && ! [ "$(stat -c %s "$dir/killed.fxt" 2>/dev/null || echo 0)" -gt 100000 ]; do
	sleep 0.1
	n=$((n + 1))
done
kill -9 $pid
wait $pid 2>/dev/null
"$tool" dump "$dir/killed.fxt" >"$dir/log" 2>&1
ok "killed: the file has the events before" is "$([ "$(grep -c ' "law" "event"' "$dir/log")" -gt 1000 ] && echo yes)" yes

close
