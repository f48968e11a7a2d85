#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The command with the module: what it records, its exit status, its messages about wrong use. Needs
# the module and root.
#
# usage: cli.sh ASYNCTRACE PROVIDER
set -u

AT=$1 PROVIDER=$2

. "${0%/*}/lib.sh"
work=$(mktemp -d)
trap 'umount "$work/small" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
chmod 755 .

recording() {
	"$AT" status | grep -q '"'"$1"'".*started'
}

providers_of_session() {
	[ "$("$AT" status --json | grep -c '"provider": [1-9]')" -ge 1 ]
}

begin "record has all events and the exit status"
check status status 7 "$AT" record -o t.fxt -b 1M -- "$PROVIDER" 2 1000 0 7
check validate valid t.fxt
dropped=$(awk '$1 == "provider" { gsub(",", ""); d = $5 } END { print d + 0 }' err)
check "events + dropped = 6000" [ $(($(summary events) + dropped)) = 6000 ]
check switches [ "$(summary switches)" -gt 0 ]
end

for mode in oneshot circular streaming; do
	begin "$mode: accounting of a small ring is exact"
	check status status 0 "$AT" record -o t.fxt -m $mode -b 16K -s off -- "$PROVIDER" 1 20000
	check validate valid t.fxt --allow-open
	sum=$(awk '$1 == "provider" { gsub(",", ""); s = $3 + $4 + $5 + $6 } END { print s + 0 }' err)
	check "sum $sum = 60000" [ "$sum" = 60000 ]
	end
done

# kernel_dropped NAME: print how many scheduling records of provider NAME the kernel dropped, by
# the summary in "err"
kernel_dropped() {
	awk -v who="$1" '/^  .kernel. DROPPED OF/ { on = 1 }
		on && $1 == who { gsub(",", ""); n = $3 } END { print n + 0 }' err
}

# drops_of_session NAME: status says that the kernel dropped records of the provider in the session
drops_of_session() {
	"$AT" status --json | python3 -c 'import json,sys
for s in json.load(sys.stdin)["sessions"]:
    if s["name"] == sys.argv[1]:
        sys.exit(not sum(d["sched_dropped"] for d in s["kernel_drops"] if d["name"] == "provider"))
sys.exit(1)' "$1"
}

begin "kernel drops are reported by provider"
check status status 0 "$AT" record -o t.fxt -m oneshot -b 16K -s targets -- "$PROVIDER" 2 800 100
check validate valid t.fxt --allow-open
all=$(awk '$1 == "(kernel)" && NF == 5 { gsub(",", ""); d = $4 } END { print d + 0 }' err)
check "$all were dropped" [ "$all" -gt 0 ]
check "most of them its" [ "$(kernel_dropped provider)" -gt $((all / 2)) ]
check "or nobody's" [ $(($(kernel_dropped provider) + $(kernel_dropped "(no"))) = "$all" ]
"$PROVIDER" 2 1000000 100 & provider=$!
"$AT" record -o t.fxt -m oneshot -b 16K -s targets -n drops 2>err & recorder=$!
check "meanwhile, as JSON" soon drops_of_session drops
"$AT" status >out
check "as text" grep -q "of the kernel's dropped: [0-9,]* scheduling records and .* of provider" out
kill $recorder $provider
wait $recorder $provider 2>/dev/null
end

begin "only the categories asked for are recorded"
check status status 0 "$AT" record -o t.fxt -c ht\*,net -- "$PROVIDER" 1 100
check "200 events" [ "$(summary events)" = 200 ]
check status status 0 "$AT" record -o t.fxt -c net -- "$PROVIDER" 1 100
check "why nothing" says "nothing in the chosen categories"
end

begin "only the providers asked for are recorded"
check status status 0 "$AT" record -o t.fxt -p 'prov*' -- "$PROVIDER" 1 100
check "300 events" [ "$(summary events)" = 300 ]
check status status 0 "$AT" record -o t.fxt -p nobody -- "$PROVIDER" 1 100
check "none" [ "$(summary events)" = 0 ]
end

begin "empty recording explains the reason"
check status status 0 "$AT" record -o t.fxt -- true
check validate valid t.fxt
check reason says "true did not become a provider"
end

begin "a command that a signal ends: 128 + N"
check status status 143 "$AT" record -o t.fxt -- sh -c 'kill -TERM $$'
end

begin "command that cannot run: status 127 or 126"
echo precious >t.fxt
check 127 status 127 "$AT" record -o t.fxt -- no-such-command
check reason says "no-such-command"
echo text >text
check 126 status 126 "$AT" record -o t.fxt -- ./text
check 126 status 126 "$AT" record -o t.fxt -- /
check untouched [ "$(cat t.fxt)" = precious ]
end

begin "script without interpreter is refused"
printf '#!/no/such/interpreter\n' >script
chmod +x script
check 127 status 127 "$AT" record -o t.fxt -- ./script
check reason says "./script"
end

begin "SIGINT, SIGTERM, SIGQUIT leave a valid file"
"$PROVIDER" 1 1000000 5000 & provider=$!
for sig in INT TERM QUIT; do
	"$AT" record -o $sig.fxt -n sig$sig 2>err & recorder=$!
	check started soon recording sig$sig
	sleep 0.3
	kill -$sig $recorder
	wait $recorder
	check "status of $sig" [ $? = 0 ]
	check "valid after $sig" valid $sig.fxt --allow-open
	check "events" [ "$(summary events)" -gt 0 ]
done
end

begin "killed recorder harms no provider"
"$AT" record -o kill.fxt -n killed 2>err & recorder=$!
check started soon recording killed
sleep 1.5
kill -KILL $recorder
wait $recorder 2>/dev/null
check "session gone" [ "$("$AT" status | grep -c killed)" = 0 ]
check "provider alive" kill -0 $provider
check "valid" valid_without_end kill.fxt
check "not empty" [ "$(stat -c %s kill.fxt)" -gt 10000 ]
check "recorded again" status 0 "$AT" record -o t.fxt -d 0.3
check "events" [ "$(summary events)" -gt 0 ]
end

begin "a session's name is one at a time"
"$AT" record -o a.fxt -n mine 2>/dev/null & recorder=$!
check started soon recording mine
check 1 status 1 "$AT" record -o b.fxt -n mine -d 1
check reason says "named 'mine'"
check remedy says "--name"
check "nothing written" [ ! -e b.fxt ]
end

begin "record names the session that has a provider"
check status status 0 "$AT" record -o b.fxt -d 0.3
check reason says "is recorded by session"
kill $recorder
wait $recorder
kill $provider
wait $provider 2>/dev/null
end

begin "signals are passed to the command"
"$AT" record -o t.fxt -n fwd -- sleep 100 2>err & recorder=$!
check started soon recording fwd
sleep 0.5
kill -TERM $recorder
wait $recorder
check "143" [ $? = 143 ]
check valid valid t.fxt
end

begin "--duration ends the recording only"
check status status 3 "$AT" record -o t.fxt -d 0.2 -- sh -c "sleep 1; touch lived; exit 3"
check lived [ -e lived ]
check valid valid t.fxt
end

begin "full disk is reported, the file is valid"
mkdir -p small
mount -t tmpfs -o size=64k none small
check 125 status 125 "$AT" record -o small/t.fxt -s off -b 1M -- sh -c "'$PROVIDER' 2 20000 0; touch lived2"
check reason says "No space left"
check lived [ -e lived2 ]
check "contradiction" silent_about "is complete"
check "contradiction" silent_about "Nothing was lost"
cp err said
check "whole" whole_without_end small/t.fxt
check "its size is told" grep -q "The first .* are valid; the end is missing" said
check 1 status 125 "$AT" record --json -o small/t.fxt -s off -b 1M -- "$PROVIDER" 2 20000
events=$(events_in small/t.fxt)
check "what the summary tells of is there" is "$events" .events
check "what did not fit is counted" is true '.unwritten > 0'
check "all that was traced" is true '[.events, .unwritten, .dropped] | add <= 120000'
check circular status 125 "$AT" record --json -o small/t.fxt -s off -b 1M -m circular -- "$PROVIDER" 2 20000
check "each record is counted once" is 120000 '.providers[] | select(.name == "provider") |
	.delivered + .unwritten + .overwritten + .dropped + .malformed'
end

begin "record_to_full_device_says_one_thing"
# One-shot: the device is full at the end, not in a flush between two records.
check 125 status 125 "$AT" record -m oneshot -o /dev/full -s off -- "$PROVIDER" 1 167
check reason says "cannot write /dev/full: No space left on device; recording ends here. Nothing was written"
check "what is missing" says "501 more records existed when /dev/full ended"
check "why no events" says "501 records of programs came after writing had stopped"
for not in "are valid" "traced nothing" "Nothing was lost" "is complete"; do
	check "$not" silent_about "$not"
done
end

begin "record_second_sigint_names_running_command"
"$AT" record -o twice.fxt -n twice -s all -- sh -c 'trap "" INT; touch up; until [ -e go ]; do sleep 0.1; done; exit 4' 2>err & recorder=$!
check started soon [ -e up ]
kill -INT $recorder
check first soon grep -q "waiting for sh (process [0-9]*) to end; once more" err
kill -INT $recorder
check ended soon says "The recording has ended, and twice.fxt is complete. sh (process "
command=$(sed -n 's/^The recording has ended.*(process \([0-9]*\)).*/\1/p' err)
check "it runs" kill -0 "$command"
check remedy says "'kill -KILL $command' ends it"
cp err said
check "the file is complete meanwhile" valid twice.fxt --allow-open
touch go
wait $recorder
check "its status" [ $? = 4 ]
check "told once" [ "$(grep -c "has ended" said)" = 1 ]
check "and a command that has ended is not waited for" status 0 "$AT" record -o t.fxt -- true
check silence silent_about "still runs"
end

begin "record_setuid_command_names_the_reason"
mkdir -m 777 -p suid
cp "$PROVIDER" suid/provider
chmod 4755 suid/provider
check record status 0 $NOBODY "$AT" record -o suid/t.fxt -- suid/provider 1 100
check reason says "you may not record suid/provider: it is setuid; use sudo"
check "no wrong remedy" silent_about "linked with"
chmod 755 suid/provider
check record status 0 $NOBODY "$AT" record -o suid/t2.fxt -- suid/provider 1 100
check "300 events" [ "$(summary events)" = 300 ]
chmod 4755 suid/provider
check root status 0 "$AT" record -o suid/t3.fxt -- suid/provider 1 100
check "300 events" [ "$(summary events)" = 300 ]
end

begin "record_uninstrumented_command_names_sched_all"
check record status 0 "$AT" record -o t.fxt -- sleep 0.1
check reason says "sleep did not become a provider; it must be linked with libasynctrace"
check remedy says "--sched all records the scheduling of every program."
check record status 0 "$AT" record -o t.fxt -s all -- sleep 0.1
check "not what was given" silent_about "--sched all records"
check record status 0 "$AT" record -o t.fxt -d 0.1
check "earlier programs" says "A program that traced before the module was loaded is not a provider: start it again."
end

# Print the signals that a process ignores.
IGNORED="grep SigIgn /proc/self/status"

begin "command inherits the caller's signal actions"
for ignored in "" PIPE "TERM XFSZ" "INT HUP" QUIT "PIPE TERM QUIT INT HUP XFSZ"; do
	want=$([ -z "$ignored" ] || trap '' $ignored; exec $IGNORED)
	for how in "" "--rotate 1M"; do
		got=$([ -z "$ignored" ] || trap '' $ignored
		      exec "$AT" record $how -o s.fxt -s off -- $IGNORED 2>err)
		check "ignored: $ignored, $how: $want" [ "$got" = "$want" ]
	done
done
rm -f s.fxt s.*.fxt
end

begin "-- without a command is refused"
check 2 status 2 "$AT" record -d 1 --
check reason says "there is no command after --"
check 125 status 125 "$AT" record -d 1 --mode none sh
end

begin "unwritable output is refused at once"
check 1 status 1 "$AT" record -o no/such/dir/t.fxt
check reason says "no/such/dir/t.fxt"
check 125 status 125 "$AT" record -o no/such/dir/t.fxt -- touch ran
check "did not run" [ ! -e ran ]
check 1 status 1 "$AT" record -o .
end

begin "a pipe takes a trace"
"$AT" record -o - -- "$PROVIDER" 1 100 2>err | cat >piped.fxt
check valid valid piped.fxt
end

begin "closed pipe ends the recording with an error"
{ timeout 300 "$AT" record -o - -- "$PROVIDER" 2 20000; echo $? >code; } 2>err | head -c 10 >/dev/null
check 125 [ "$(cat code)" = 125 ]
check reason says "Broken pipe"
end

begin "buffers over the limit get the arithmetic"
check 1 status 1 "$AT" record -o t.fxt -b 1G
check arithmetic says " CPUs + 1) × 1 GiB × "
check limit says ", limit "
size=$(sed -n 's/.*use \([0-9]*[KMG]\) or less.*/\1/p' err)
check "a size is named" [ -n "$size" ]
check "it is taken" status 0 "$AT" record -o t.fxt -d 0.1 -b "$size"
check "1T" status 1 "$AT" record -o t.fxt -b 1T
check "too small" status 2 "$AT" record -b 4K
check "uneven" status 2 "$AT" record -b 100K
check remedy says "try 64K"
end

begin "wrong usage exits with 2 or 125 and a hint"
check mode status 2 "$AT" record -m fast
check names says "oneshot, circular or streaming"
check sched status 2 "$AT" record -s some
check names says "targets, all or off"
check time status 2 "$AT" record -d soon
check option status 2 "$AT" record --no-such-option
for option in pid uid cgroup providers categories; do
	check "empty --$option is not everything" status 2 "$AT" record -o t.fxt -d 1 --$option ''
	check names says "--$option takes"
done
check "commas" status 2 "$AT" record -o t.fxt -d 1 -p ,,
check names says "--providers takes"
check "125" status 125 "$AT" record --pid '' -- touch ran
check "it was not run" [ ! -e ran ]
check "125" status 125 "$AT" record -m fast -- true
check command status 2 "$AT" recrod
check none status 2 "$AT"
check list status 2 "$AT" list extra
check status status 2 "$AT" status extra
end

begin "--help is on standard output, with examples"
for c in "" record list status; do
	check "$c" status 0 "$AT" $c --help
	check "examples of $c" grep -qi example out
done
check version status 0 "$AT" --version
end

begin "list and status print JSON that is JSON"
"$PROVIDER" 1 1000000 5000 & provider=$!
"$AT" record -o t.fxt -n json 2>/dev/null & recorder=$!
check started soon recording json
check rings soon providers_of_session
check list status 0 "$AT" list --json
check parses python3 -c 'import json,sys; p = json.load(open("out"))["providers"][0]; assert p["name"] == "provider" and p["sched_dropped"] >= 0 <= p["names_dropped"]'
check status status 0 "$AT" status --json
check parses python3 -c 'import json,sys; s = json.load(open("out"))["sessions"][0]; assert s["name"] == "json" and s["rings"] and s["memory"] > 0'
check table status 0 "$AT" list
check row grep -q 'provider.*recorded' out
kill $recorder
wait $recorder
end

begin "other users' programs and sessions are hidden"
mkdir -m 777 open
check list status 0 setpriv --reuid 65534 --regid 65534 --clear-groups "$AT" list
check "none" grep -q "No providers" out
check all status 1 setpriv --reuid 65534 --regid 65534 --clear-groups \
	"$AT" record -o open/t.fxt -s all -d 1
check remedy says "--sched targets"
check own status 0 setpriv --reuid 65534 --regid 65534 --clear-groups \
	"$AT" record -o open/t.fxt -- "$PROVIDER" 1 100
check "300 events" [ "$(summary events)" = 300 ]
kill $provider
wait $provider 2>/dev/null
end

close
