#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# asynctrace top with sessions of the module. selftests/top tests it with pipes and files.
#
# usage: top.sh ASYNCTRACE PROVIDER HTTPD BLOCKS
set -u

AT=$1 PROVIDER=$2 HTTPD=$3 BLOCKS=$4
here=$(cd "${0%/*}" && pwd)
. "$here/../top/lib.sh"
scratch
trap 'TERMINAL kill-server 2>/dev/null; rm -rf "$work"' EXIT

# runs OPTION...: start top in the background as $top, and wait for its first records
runs() {
	rm -f out
	"$AT" top --batch --json --interval 0.2 "$@" >out 2>err & top=$!
	check "top $*" soon [ -s out ]
}

# ends: end top by a signal; it exits with 0
ends() {
	kill -INT $top
	wait $top
	check "status" [ $? = 0 ]
}

accounted='.attempted == .analysed + .dropped + .overwritten + .malformed + .cleared + .unwritten'
# A filter of jq: the shares of a type's states add up to 1
whole='[.running, .runnable, .blocked, .queued, .unknown] | add | . > 0.9999 and . < 1.0001'

begin "server_under_load_is_shown_live"
echo content >file
"$HTTPD" -p 8081 2>httpd-err & server=$!
runs
check "load" soon ab -q -n 300 -c 4 http://127.0.0.1:8081/file
check "300 requests" soon last '[.types[] | select(.type == "http/request").count] == [300]'
check "none is open" soon last '.open_count == 0'
check "all accounted for" last "$accounted"
check "nothing lost" last '.attempted == .analysed'
check "states" last ".types[] | select(.type == \"http/request\") | $whole"
check "it ran" last '.types[] | select(.type == "http/request").running > 0'
check "it is known" last '.types[] | select(.type == "http/request").unknown < 0.5'
check "nothing came late" last '.late == 0'
check "the delay is told" last '.delay_ns >= 1000000000'
ends
check "its session is gone" [ "$("$AT" session list --json | jq '.sessions | length')" = 0 ]
end

begin "screen_shows_the_server"
terminal 80 24
typed "$AT top -s all"
check "up" soon shows "q quit"
check "load" soon ab -q -n 100 -c 4 http://127.0.0.1:8081/file
check "requests" soon shows_line "http/request .*"
check "their latencies" soon shows_line "http/request +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ .*"
keys q
check "left" soon shows_not "q quit"
check "its session is gone" soon eval '[ "$("$AT" session list --json | jq ".sessions | length")" = 0 ]'
end

begin "e_names_the_system_call_of_a_blocked_thread"
mkfifo upload
typed "$AT top --providers blocks"
check "up" soon shows "q quit"
"$BLOCKS" <upload & blocks=$!
exec 8>upload
keys e
check "which" soon shows "WHY: the oldest open operation"
check "blocked" soon shows "It has been blocked"
check "where" soon shows "in read"
exec 8>&-
wait $blocks
check "status" [ $? = 0 ]
check "it ended" soon shows "OPEN: 0"
keys q
check "left" soon shows_not "q quit"
end

begin "dropped_records_are_losses"
kill $server
wait $server
runs -s off -b 16K --providers "${PROVIDER##*/}"
"$PROVIDER" 1 20000
check "all accounted for" soon last ".attempted == 60000 and ($accounted)"
check "some dropped" last '.dropped > 0'
ends
end

begin "attach_reads_a_session_and_leaves_it"
check create status 0 "$AT" session create -b 1M two
check start status 0 "$AT" session start two
runs --attach two
"$PROVIDER" 2 1000 500
check "all" soon last '[.types[] | select(.type == "http/request").count] == [2000]'
ends
check "it runs on" eval '"$AT" session list --json | jq -e ".sessions[0].state == \"started\""'
check destroy status 0 "$AT" session destroy two
check "circular" status 0 "$AT" session create -m circular -b 64K flight
check "is refused" status 1 "$AT" top --batch --attach flight
check "why" says "is in circular mode, but top needs streaming mode"
check destroy status 0 "$AT" session destroy flight
check "none" status 1 "$AT" top --batch --attach nothing
end

begin "session_that_somebody_ends_ends_top"
check create status 0 "$AT" session create -b 1M two
check start status 0 "$AT" session start two
runs --attach two
"$PROVIDER" 1 100
check destroy status 0 "$AT" session destroy two
wait $top
check "status" [ $? = 0 ]
check "the end" last '.ended'
end

close
