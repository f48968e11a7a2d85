#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Unloading and loading the module: refused while it is mapped or a session is read, safe otherwise,
# any number of times
#
# usage: module.sh ASYNCTRACE DIR MODULE.ko [ROUNDS]
set -u

AT=$1 DIR=$2 KO=$3 ROUNDS=${4-50}
here=$(cd "${0%/*}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
. "$here/../lib.sh"

# The output of these commands is shown only if they fail.
run() {
	"$@" >out 2>&1
}

why() {
	cat out
}

loaded() {
	[ -d /sys/module/asynctrace ]
}

load() {
	loaded || insmod "$KO"
}

busy() {
	! rmmod asynctrace 2>err && grep -qi 'in use' err && loaded
}

# unload: objects that have ended may hold the module for a moment
unload() {
	local i

	for i in $(seq 100); do
		rmmod asynctrace 2>err && return
		sleep 0.05
	done
	cat err
	return 1
}

started() {
	"$AT" status | grep -q started
}

echo "KTAP version 1"

begin "mapped provider keeps the module loaded"
check load load
"$DIR"/churn slow 100000 > slow & slow=$!
check "registered" soon grep -q registered slow
check "rmmod is refused" busy
check "recorded" timeout 300 "$AT" record -o t.fxt -p slow -s off -d 1
check "rmmod is refused" busy
kill -KILL $slow
wait $slow 2>/dev/null
check "rmmod" unload
end

begin "consumer keeps the module loaded"
check load load
"$AT" record -o t.fxt -s all 2>summary & recorder=$!
check "started" soon started
check "rmmod is refused" busy
kill -INT $recorder
wait $recorder
check "the recording" [ $? = 0 ]
check "valid" "$AT" validate --allow-open t.fxt
check "switches" grep -q '[1-9][0-9,]* switches' summary
check "rmmod" unload
end

begin "unread detached session does not keep it"
check load load
check "session" "$DIR"/churn detached left
check "the session exists" sh -c '"$0" status | grep -q left' "$AT"
check "rmmod, probes active" rmmod asynctrace
check "load again" load
check "the session is gone" sh -c '! "$0" status | grep -q left' "$AT"
check "rmmod" unload
end

begin "owner of an ended session gets errors"
check load load
mkfifo line
"$DIR"/churn hold < line > held & holder=$!
exec 3>line
check "started" soon grep -q started held
check "rmmod" rmmod asynctrace
echo >&3
wait $holder
ended=$?
check "the owner's stop failed cleanly: $(cat held)" [ $ended = 0 ]
exec 3>&-
end

# Probes are unregistered a second after the last session: unload at times around that.
begin "unloading is safe at any time after a session"
for delay in 0 0.5 0.9 0.92 0.94 0.96 0.98 1 1.02 1.1; do
	check load load
	check session "$DIR"/churn session 0
	check session timeout 300 "$AT" record -o t.fxt -s all -d 0.05
	sleep $delay
	check "another session" "$DIR"/churn detached left
	check "rmmod after $delay s" unload
done
end

begin "$ROUNDS unloads beside busy programs"
"$DIR"/churn provider 1000 30 & churn="$!"
"$DIR"/churn session 1000 30 & churn="$churn $!"
check "unloaded $ROUNDS times" "$DIR"/churn module "$KO" $ROUNDS
kill $churn
wait $churn 2>/dev/null
end

check "load" load
close
