#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The module goes and comes: refused while anybody maps it or reads a session,
# safe else, and the machine well after any number of times.
#
# usage: module.sh ASYNCTRACE DIR MODULE.ko [ROUNDS]
set -u

AT=$1 DIR=$2 KO=$3 ROUNDS=${4-50}
here=$(cd "${0%/*}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
. "$here/../lib.sh"

# Their output is shown only if they fail.
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

# unload: what has ended may still hold it for a moment
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

begin "a mapped provider keeps the module, and goes on"
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

begin "a consumer keeps the module and its recording"
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

begin "an unread detached session keeps no module"
check load load
check "session" "$DIR"/churn detached left
check "it is there" sh -c '"$0" status | grep -q left' "$AT"
check "rmmod, probes active" rmmod asynctrace
check "load again" load
check "it is gone" sh -c '! "$0" status | grep -q left' "$AT"
check "rmmod" unload
end

begin "a live owner keeps no module and is told"
check load load
mkfifo line
"$DIR"/churn hold < line > held & holder=$!
exec 3>line
check "started" soon grep -q started held
check "rmmod" rmmod asynctrace
echo >&3
wait $holder
ended=$?
check "his stop failed, cleanly: $(cat held)" [ $ended = 0 ]
exec 3>&-
end

# Probes are unregistered a second after the last session: all around that moment.
begin "the module goes at any moment after a session"
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
