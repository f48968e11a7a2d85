#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Sessions that outlive the command, long recordings (asynctrace session, record --rotate and
# --max-size), and completion in bash. Needs the module and root.
#
# usage: sessions.sh ASYNCTRACE PROVIDER
set -u

AT=$1 PROVIDER=$2
here=$(cd "${0%/*}" && pwd)
. "$here/lib.sh"
scratch

state() {
	"$AT" session list --json | jq -r '.sessions[] | select(.name == "'"$1"'").state'
}

state_is() {
	[ "$(state "$1")" = "$2" ]
}

begin "created session outlives its creator"
check create status 0 "$AT" session create -s off one
check "id and name" grep -qxE '[0-9]+ one' out
id=$(cut -d ' ' -f 1 out)
check list status 0 "$AT" session list
check "in the list" grep -qE "^ *$id +root +initialized +streaming .* one +detached" out
check json status 0 "$AT" session list --json
check parses is one '.sessions[0].name'
check detached is true '.sessions[0].detached'
check state is initialized '.sessions[0].state'
check "by id, too" status 0 "$AT" session destroy "$id"
check "gone" status 0 "$AT" session list
check "none" grep -qx "No sessions." out
end

begin "create --json equals list --json"
check create status 0 "$AT" session create --json -m circular -b 64K -s all -c 'a*,b' -p 'x*,y' full
cp out made
check mode is circular .mode
check size is 65536 .ring_size
check sched is all .sched
check categories is 'a*,b' '.categories | join(",")'
check providers is 'x*,y' '.provider_patterns | join(",")'
check list status 0 "$AT" session list --json
check "the same" [ "$(jq -S '.sessions[0]' out)" = "$(jq -S . made)" ]
check destroy status 0 "$AT" session destroy --json full
check "what it was" is full .name
end

begin "P1_P12_start_needs_init_then_many_rounds"
check create status 0 "$AT" session create --no-init raw
check ready state_is raw ready
check "no start" status 1 "$AT" session start raw
check reason says "not initialized"
check init status 0 "$AT" session init raw
check again status 0 "$AT" session init raw
for i in 1 2 3; do
	check start status 0 "$AT" session start raw
	check started state_is raw started
	check "again" status 0 "$AT" session start raw
	check stop status 0 "$AT" session stop raw
	check stopped state_is raw stopped
	check "again" status 0 "$AT" session stop raw
done
check "a name is one at a time" status 1 "$AT" session create raw
check remedy says "choose another name"
check destroy status 0 "$AT" session destroy raw
check "not twice" status 1 "$AT" session destroy raw
check reason says "no session 'raw'"
check remedy says "asynctrace session list"
end

begin "two attaches in turn read each record once"
check create status 0 "$AT" session create -b 1M two
check start status 0 "$AT" session start two
"$PROVIDER" 2 2000 1000 & provider=$!
check "attached" status 0 "$AT" session attach -d 2 -o a.fxt two
first=$(summary events)
check "it runs on" state_is two started
check "valid" valid a.fxt
wait $provider
"$AT" session attach -o b.fxt two 2>err & reader=$!
check "read" soon sh -c '"$0" session list --json | grep -q "\"consumed\": true"' "$AT"
check "one at a time" status 1 "$AT" session attach -o c.fxt two
check reason says "somebody else reads it"
sleep 1
"$AT" session attach -o c.fxt two 2>/dev/null && check "one reader" false
kill -INT $reader
wait $reader
check "0" [ $? = 0 ]
check "valid" valid b.fxt
check "it runs on" state_is two started
check "some in both" [ "$first" -gt 0 ]
check "12000 in both files" [ "$(events_in a.fxt b.fxt)" = 12000 ]
check "destroy" status 0 "$AT" session destroy two
end

begin "snapshot is a whole file, and repeatable"
check create status 0 "$AT" session create -m circular -b 256K flight
check start status 0 "$AT" session start flight
"$PROVIDER" 1 1000
for i in 1 2; do
	check "snapshot $i" status 0 "$AT" session snapshot -o s$i.fxt flight
	check "all is there" [ "$(summary events)" = 3000 ]
	check "switches" [ "$(summary switches)" -gt 0 ]
	check valid valid s$i.fxt
	check "it runs on" state_is flight started
done
"$PROVIDER" 1 100
check "json" status 0 "$AT" session snapshot --json -o s3.fxt flight
check "3300" is 3300 .events
check "destroy" status 0 "$AT" session destroy flight
check create status 0 "$AT" session create flight
check "not of a streaming one" status 1 "$AT" session snapshot flight
check remedy says "session attach"
check "destroy" status 0 "$AT" session destroy flight
end

begin "--pid, --uid and --cgroup choose processes"
mkdir -p /sys/fs/cgroup/sessions-test
sh -c 'echo $$ >/sys/fs/cgroup/sessions-test/cgroup.procs; exec "$0" 1 100000 2000' "$PROVIDER" & one=$!
$NOBODY "$PROVIDER" 1 100000 2000 & two=$!
check both soon sh -c '[ "$("$0" providers --json | jq ".providers | length")" = 2 ]' "$AT"
pids_in() {
	json '[.providers[] | select(.events > 0).pid] | sort | join(",")'
}
check pid status 0 "$AT" record --json -d 1 -o t.fxt --pid $one
check "one" [ "$(pids_in)" = $one ]
check uid status 0 "$AT" record --json -d 1 -o t.fxt --uid 65534
check "two" [ "$(pids_in)" = $two ]
check uid status 0 "$AT" record --json -d 1 -o t.fxt --uid root
check "one" [ "$(pids_in)" = $one ]
check cgroup status 0 "$AT" record --json -d 1 -o t.fxt --cgroup sessions-test
check "one" [ "$(pids_in)" = $one ]
check create status 0 "$AT" session create --json --pid $one --uid 0,65534 -b 'x*=64K' -b 32K f
check pids is $one '.pids | join(",")'
check uids is 0,65534 '.uids | join(",")'
check buffers is 'x* 65536' '.buffers[] | "\(.provider) \(.ring_size)"'
check size is 32768 .ring_size
check destroy status 0 "$AT" session destroy f
end

begin "--follow records a command and descendants"
check follow status 0 "$AT" record --json --follow -o t.fxt -- \
	sh -c "'$PROVIDER' 1 100; (setsid '$PROVIDER' 1 50 &); sleep 1"
check "450 events" is 450 .events
check "of two" is 2 '[.providers[] | select(.events > 0)] | length'
kill $one $two
wait $one $two 2>/dev/null
end

begin "attach ends with its session, nothing is lost"
check create status 0 "$AT" session create three
check start status 0 "$AT" session start three
"$AT" session attach -o a.fxt three 2>attached & reader=$!
"$PROVIDER" 1 1000
sleep 1
check destroy status 0 "$AT" session destroy three
wait $reader
check "0" [ $? = 0 ]
cp attached err
check "3000 events" [ "$(summary events)" = 3000 ]
check valid valid a.fxt
end

begin "attach streams a circular session"
check create status 0 "$AT" session create -m circular -s off -b 16K four
check start status 0 "$AT" session start four
"$PROVIDER" 1 2000
"$AT" session attach --json -o a.fxt four >out 2>err & reader=$!
check "read" soon sh -c '"$0" session list --json | grep -q "\"consumed\": true"' "$AT"
"$PROVIDER" 1 1000
"$PROVIDER" 1 20000
kill -INT $reader
wait $reader
check "0" [ $? = 0 ]
check "each one is in the file or overwritten" is 69000 '.events + .overwritten'
check "some were overwritten before" [ "$(jq .overwritten out)" -gt 0 ]
check "the last ones of each" [ "$(jq .events out)" -gt 0 ]
check valid valid a.fxt --allow-open
check "it goes on" state_is four started
"$PROVIDER" 1 100
check snapshot status 0 "$AT" session snapshot -o b.fxt four
check "what came since" [ "$(summary events)" -ge 300 ]
check destroy status 0 "$AT" session destroy four
end

begin "attach reads a stopped one-shot session once"
check create status 0 "$AT" session create -m oneshot -b 1M first
check start status 0 "$AT" session start first
"$PROVIDER" 1 1000
check stop status 0 "$AT" session stop first
check "no snapshot" status 1 "$AT" session snapshot -o a.fxt first
check remedy says "use asynctrace session attach"
check attach status 0 timeout 300 "$AT" session attach -o a.fxt first
check "3000 events" [ "$(summary events)" = 3000 ]
check valid valid a.fxt
check "in the file" [ "$(events_in a.fxt)" = 3000 ]
check "it is there" state_is first stopped
check again status 0 timeout 300 "$AT" session attach -o b.fxt first
check "nothing twice" [ "$(summary events)" = 0 ]
check valid valid b.fxt
check destroy status 0 "$AT" session destroy first
end

begin "attach waits for start of a one-shot session"
check create status 0 "$AT" session create -m oneshot -s off -b 16K first
timeout 300 "$AT" session attach -o a.fxt first 2>attached & reader=$!
check "read" soon sh -c '"$0" session list --json | grep -q "\"consumed\": true"' "$AT"
check start status 0 "$AT" session start first
"$PROVIDER" 1 20000
check "it waits for more" kill -0 $reader
check "what there is has been read" soon sh -c '"$0" status --json |
	jq -e ".sessions[0].rings | all(.committed == .delivered)"' "$AT"
check "for the stop" kill -0 $reader
check stop status 0 "$AT" session stop first
wait $reader
check "0" [ $? = 0 ]
cp attached err
check "60000 recorded or dropped" [ "$(awk '$1 == "provider" { gsub(",", ""); s = $3 + $5 } END { print s + 0 }' err)" = 60000 ]
check "the first ones" [ "$(summary events)" -gt 0 ]
check valid valid a.fxt --allow-open
check start status 0 "$AT" session start first
check "one that runs goes on" status 0 timeout 300 "$AT" session attach -d 0.5 -o b.fxt first
check "it does" state_is first started
check destroy status 0 "$AT" session destroy first
end

begin "categories of a run, and others from now on"
check create status 0 "$AT" session create -s off -c disk five
check start status 0 "$AT" session start -c http five
"$PROVIDER" 1 100
check stop status 0 "$AT" session stop five
check start status 0 "$AT" session start five
"$PROVIDER" 1 100
check update status 0 "$AT" session update -c 'h*' five
check "as list says" status 0 "$AT" session list --json
check categories is 'h*' '.sessions[0].categories | join(",")'
"$PROVIDER" 1 100
check attach status 0 "$AT" session attach -d 1 -o a.fxt five
check "300, 100 and 200 events" [ "$(summary events)" = 600 ]
check destroy status 0 "$AT" session destroy five
end

# Print three numbers of events, summed over all sessions: committed, cleared, still to be read.
ledger() {
	"$AT" status --json | jq -r '[.sessions[].rings[] | select(.kind == "events")] |
		"\(map(.committed) | add) \(map(.cleared) | add) " +
		"\(map(.committed - .delivered - .overwritten - .cleared) | add)"'
}

begin "start --clear counts what it clears"
for what in nondurable entire retain; do
	check create status 0 "$AT" session create -s off clear
	check start status 0 "$AT" session start clear
	"$PROVIDER" 1 100
	check stop status 0 "$AT" session stop clear
	check start status 0 "$AT" session start --clear $what clear
	"$PROVIDER" 1 50
	want=150
	[ $what = retain ] && want=450
	check "the ledger has them" [ "$(ledger)" = "450 $((450 - want)) $want" ]
	check status status 0 "$AT" status
	check column [ "$(awk '{ for (i = 1; i < NF; i++) if ($i == "events") n += $(i + 4) } END { print n + 0 }' out)" = $((450 - want)) ]
	if [ $what = entire ]; then
		check attach status 0 "$AT" session attach --json -d 1 -o a.fxt clear
		check "150 events after --clear entire" is 150 .events
		check "cleared" is 300 .cleared
		check "of one program" is 300 '[.providers[].cleared] | add'
	else
		check attach status 0 "$AT" session attach -d 1 -o a.fxt clear
		check "$want events after --clear $what" [ "$(summary events)" = $want ]
	fi
	case $what in
	nondurable)
		check "the summary has them" says "  300 records are not in the file, because a later start cleared them"
		check "it does not say that all is there" [ "$(grep -c 'Nothing was lost' err)" = 0 ] ;;
	retain)
		check "all is there" says "Nothing was lost."
		check "none was cleared" [ "$(grep -c cleared err)" = 0 ] ;;
	esac
	check destroy status 0 "$AT" session destroy clear
done
end

begin "sessions of others are out of reach by name"
check create status 0 "$AT" session create mine
check "not seen" status 0 $NOBODY "$AT" session list
check "none" grep -qx "No sessions." out
check "not stopped" status 1 $NOBODY "$AT" session stop mine
check "own one of that name" status 0 $NOBODY "$AT" session create mine
id=$(cut -d ' ' -f 1 out)
check "root's own first" status 0 "$AT" session destroy --json mine
check "root's" is 0 .uid
check "then it takes the id" status 1 "$AT" session destroy mine
check remedy says "use its id, $id"
check "by id" status 0 "$AT" session destroy "$id"
end

begin "CAP_PERFMON sees sessions, controls none"
PERFMON="setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps +perfmon --ambient-caps +perfmon"
check create status 0 $NOBODY "$AT" session create -s off nobodys
check create status 0 "$AT" session create -s off roots
check start status 0 "$AT" session start roots
check list status 0 $PERFMON "$AT" session list
check "root's, too" grep -q " roots " out
check status status 0 $PERFMON "$AT" status
check "root's, too" grep -q '"roots" of root: started' out
check "its own" grep -q '"nobodys"' out
"$PROVIDER" 1 100
check json status 0 $PERFMON "$AT" status --json
check "root's rings, too" is 300 '.sessions[] | select(.name == "roots").rings | map(.committed) | add'
check "not stopped" status 1 $PERFMON "$AT" session stop "$("$AT" session list --json | jq '.sessions[] | select(.name == "roots").id')"
check destroy status 0 "$AT" session destroy roots
check destroy status 0 $NOBODY "$AT" session destroy nobodys
check create status 0 $PERFMON "$AT" session create -s off more
check list status 0 $NOBODY "$AT" session list
check "what had it to be made is seen with it only" grep -qx "No sessions." out
check "not stopped" status 1 $NOBODY "$AT" session stop more
check reason says "there is no session 'more' that you may see"
check destroy status 0 $PERFMON "$AT" session destroy more
end

begin "wrong usage of each verb exits with 2"
check none status 2 "$AT" session
check verb status 2 "$AT" session mend
check remedy says "session --help"
for verb in init start stop update snapshot attach destroy; do
	extra=
	[ $verb = update ] && extra="-c x"
	check "$verb without" status 2 "$AT" session $verb $extra
	check "$verb says" says "name the session"
	check "$verb with two" status 2 "$AT" session $verb $extra a b
	check "$verb with an option" status 2 "$AT" session $verb --no-such-option a
	check "$verb of none" status 1 "$AT" session $verb $extra no-such-session
	check "$verb says" says "no-such-session"
done
check "create without" status 2 "$AT" session create
check "says" says "give the session a name"
check "size" status 2 "$AT" session create -b 100K x
check remedy says "try 64K"
check "other size" status 2 "$AT" session create -b 'x=3K' x
check "follow whom" status 2 "$AT" session create --follow x
check "pid" status 2 "$AT" session create --pid me x
check "user" status 2 "$AT" session create --uid no-such-user x
check "cgroup" status 2 "$AT" session create --cgroup no/such x
check remedy says "/sys/fs/cgroup"
check "no cgroup" status 2 "$AT" session create --cgroup /tmp x
check "cgroup of no name" status 2 "$AT" session create --cgroup '' x
check names says "--cgroup takes"
for option in pid uid providers categories; do
	check "empty --$option" status 2 "$AT" session create --$option '' x
	check names says "--$option takes"
	check "commas for --$option" status 2 "$AT" session create --$option ,, x
	check names says "',,' has none"
done
check "empty update" status 2 "$AT" session update -c '' x
check names says "--categories takes"
check "empty start" status 2 "$AT" session start -c , x
check names says "--categories takes"
check "clear" status 2 "$AT" session start --clear some x
check names says "entire, nondurable or retain"
check "categories" status 2 "$AT" session update x
check "list" status 2 "$AT" session list x
check "nothing was made" status 0 "$AT" session list
check "none" grep -qx "No sessions." out
end

begin "record --rotate files hold all records"
check record status 0 "$AT" record -o r.fxt -b 4M --rotate 1M -- "$PROVIDER" 2 12000
check "several" [ "$(ls r.*.fxt | wc -l)" -ge 2 ]
cp err summary
for f in r.*.fxt; do
	check "$f" valid $f
	check "$f is not too large" [ "$(stat -c %s $f)" -le 1048576 ]
done
cp summary err
check "72000 events in the summary" [ "$(summary events)" = 72000 ]
check "and in the files" [ "$(events_in r.*.fxt)" = 72000 ]
check "switches" [ "$(switches_in r.*.fxt)" = "$(summary switches)" ]
rm r.*.fxt
end

begin "record --rotate keeps N files, SIGHUP rotates"
"$PROVIDER" 1 100000 2000 & provider=$!
"$AT" record -o r.fxt --rotate 1M,2 -n hup 2>err & recorder=$!
check started soon state_is hup started
for i in 1 2 3; do
	sleep 0.7
	kill -HUP $recorder
	check "file $i" soon [ -e r.$i.fxt ]
done
sleep 0.3
kill -INT $recorder
wait $recorder
check "0" [ $? = 0 ]
check "two files" [ "$(echo r.*.fxt)" = "r.2.fxt r.3.fxt" ]
check valid valid r.2.fxt
check valid valid r.3.fxt
kill $provider
wait $provider 2>/dev/null
end

begin "record --max-size leaves a valid file"
check record status 0 "$AT" record -o m.fxt -b 4M --max-size 1M -- "$PROVIDER" 2 12000
check reason says "--max-size 1M is reached"
check size [ "$(stat -c %s m.fxt)" -le 1048576 ]
cp err summary
check valid valid m.fxt
cp summary err
check "what the summary tells of is there" [ "$(events_in m.fxt)" = "$(summary events)" ]
check "and not the rest" says "more records existed when m.fxt ended"
check "which is no loss of nothing" [ "$(grep -c "Nothing was lost" err)" = 0 ]
check "nor a failure" silent_about "the end is missing"
check "wrong" status 2 "$AT" record --max-size 10K
check "wrong" status 2 "$AT" record --rotate 1M,none
check "wrong" status 2 "$AT" record --rotate 1M -m circular
check reason says "needs --mode streaming"
check "no pipe" status 2 "$AT" record -o - --rotate 1M -d 0.1
check remedy says "use -o FILE"
end

begin "attach --max-size leaves the rest to the next"
check create status 0 "$AT" session create -s off -b 4M shared
check start status 0 "$AT" session start shared
"$PROVIDER" 2 12000
check first status 0 "$AT" session attach --max-size 1M -o first.fxt shared
check reason says "--max-size 1M is reached; reading ends here, the session goes on"
check size [ "$(stat -c %s first.fxt)" -le 1048576 ]
check second status 0 "$AT" session attach -d 1 -o second.fxt shared
check dropped says "Nothing was lost"
check valid valid first.fxt --allow-open
check valid valid second.fxt --allow-open
check "all 72000 events" [ "$(events_in first.fxt second.fxt)" = 72000 ]
check destroy status 0 "$AT" session destroy shared
rm first.fxt second.fxt
end

begin "record --json tells the summary"
check record status 0 "$AT" record --json -o j.fxt -b 1M -- "$PROVIDER" 1 100
check file is j.fxt .file
check events is 300 .events
check provider is 300 '.providers[] | select(.name == "provider").events'
check "not both" status 2 "$AT" record --json -o -
end

begin "create names the session that has a provider"
"$PROVIDER" 1 100000 2000 & provider=$!
check create status 0 "$AT" session create holder
id=$(cut -d ' ' -f 1 out)
check start status 0 "$AT" session start holder
check there soon sh -c '"$0" providers | grep -q recorded' "$AT"
check record status 0 "$AT" record -o t.fxt -d 0.5 -p 'prov*'
check "which" says "recorded by session $id;"
check record status 0 "$AT" record -o t.fxt -d 0.5 -p other
check "not if it is not wanted" [ "$(grep -c 'recorded by session' err)" = 0 ]
check "why nothing" says "was among those asked for"
check record status 2 "$AT" record -o t.fxt -d 0.5 -p 'p*vider'
check "where a star may stand" says "a '*' must be the last character of a pattern"
check record status 0 "$AT" record -o t.fxt -d 0.5 -p 'p?ovider'
check "not by what is no pattern" [ "$(grep -c 'recorded by session' err)" = 0 ]
check follow status 0 "$AT" record -o t.fxt -d 0.5 --pid $provider --follow
check "which, of a filter's" says "recorded by session $id;"
check create status 0 "$AT" session create second
check start status 0 "$AT" session start second
check "which, at a start" says "recorded by session $id;"
check destroy status 0 "$AT" session destroy second
check destroy status 0 "$AT" session destroy holder
kill $provider
wait $provider 2>/dev/null
end

begin "late provider taken by another is reported"
check create status 0 "$AT" session create holder -m circular
id=$(cut -d ' ' -f 1 out)
check start status 0 "$AT" session start holder
# The program lives until the recorder has asked which session has it.
check record status 0 "$AT" record -o t.fxt -- "$PROVIDER" 1 100 5000
check "which" says "recorded by session $id;"
check "why nothing" says "other sessions have the providers"
check stop status 0 "$AT" session stop holder
check record status 0 "$AT" record --json -o t.fxt -- "$PROVIDER" 1 100
check "one that runs has it" is 300 .events
check destroy status 0 "$AT" session destroy holder
end

begin "providers, list: the same"
"$PROVIDER" 1 100000 2000 & provider=$!
check there soon sh -c '"$0" providers | grep -q provider' "$AT"
check providers status 0 "$AT" providers --json
jq -S . out >one
check list status 0 "$AT" list --json
check "the same" [ "$(jq -S . out)" = "$(cat one)" ]
check pid is $provider '.providers[0].pid'
check "held by nobody" is false '.providers[0].held'
check "who has ended is not listed" is false '.providers[0] | has("gone")'
kill $provider
wait $provider 2>/dev/null
$NOBODY "$PROVIDER" 1 100000 2000 & provider=$!
check create status 0 "$AT" session create holder
check start status 0 "$AT" session start holder
check "held by one that its user does not see" soon sh -c '"$@" providers --json |
	jq -e ".providers[0] | .held and .recorded and (has(\"session\") | not)"' sh $NOBODY "$AT"
check list status 0 $NOBODY "$AT" providers
check note grep -q 'provider .* recorded.* held$' out
check destroy status 0 "$AT" session destroy holder
kill $provider
wait $provider 2>/dev/null
end

begin "categories that a program has announced"
"$PROVIDER" 1 100000 2000 & provider=$!
check there soon sh -c '"$0" categories | grep -q disk' "$AT"
check list status 0 "$AT" categories
check "with description" grep -qE '^  disk +what they wait for$' out
check json status 0 "$AT" categories --json
check names is 'disk,http' '[.providers[] | select(.name == "provider").categories[].name] | sort | join(",")'
check usage status 2 "$AT" categories x
kill $provider
wait $provider 2>/dev/null
check "none when it is gone" soon sh -c '"$0" categories | grep -q "No program"' "$AT"
end

begin "--trigger stops, or writes snapshots"
check stop status 0 timeout 300 "$AT" record -o t.fxt --trigger other:snapshot --trigger late:stop \
	-m circular -- "$PROVIDER" 1 300 5000 0 20
check "said" says "alert 'late' of provider"
check "part of it" [ "$(summary events)" -lt 900 ]
check "but what was before" [ "$(summary events)" -ge 60 ]
check "none was missed" [ "$(grep -c 'too fast' err)" = 0 ]
check none [ ! -e t.0.fxt ]
check snapshot status 0 "$AT" record -o t.fxt --trigger late:snapshot -m circular -- "$PROVIDER" 1 300 5000 0 20
check "all of it" [ "$(summary events)" = 900 ]
check "said" says "wrote t.0.fxt"
check "one" [ ! -e t.1.fxt ]
check valid valid t.fxt
check valid valid t.0.fxt
check "what was before" [ "$(events_in t.0.fxt)" -ge 60 ]
check "not all" [ "$(events_in t.0.fxt)" -lt 900 ]
check usage status 2 "$AT" record --trigger late
check remedy says "ALERT:stop or ALERT:snapshot"
check length status 2 "$AT" record --trigger a-name-that-is-too-long:stop
check mode status 2 "$AT" record --trigger late:snapshot
check remedy says "--mode circular"
end

begin "trigger_snapshot_disk_full_recording_goes_on"
mkdir -p small
mount -t tmpfs -o size=64k none small
ln -sf small/t.fxt t.0.fxt
check record status 0 "$AT" record -o t.fxt -s off --trigger late:snapshot -m circular \
	-- "$PROVIDER" 1 3000 0 0 2900
check reason says "cannot write t.0.fxt: No space left on device; the snapshot ends here, the recording goes on."
check "no contradiction" silent_about "recording ends here"
check "all of it" [ "$(summary events)" = 9000 ]
check valid valid t.fxt
rm -f t.0.fxt
umount small
end

begin "--trigger sees alerts of a program that died"
for i in 1 2 3 4 5; do
	check record status 0 "$AT" record -o t.fxt --trigger late:snapshot -m circular -- "$PROVIDER" 1 3 0 0 2
	check said says "wrote t.0.fxt"
	rm -f t.0.fxt
done
end

begin "--trigger goes on beside another reader"
mkfifo hold
"$AT" record -n busy -o t.fxt -s off -m circular --trigger late:snapshot 2>err & recorder=$!
check started soon state_is busy started
"$AT" session snapshot -o hold busy 2>holder & holder=$!
check held soon sh -c '"$0" session list --json | jq -e ".sessions[0].consumed"' "$AT"
check run "$PROVIDER" 1 30 0 0 20
check told soon says "no snapshot at alert 'late' of provider"
kill -INT $recorder
check waits soon says "another process reads the session"
timeout 300 cat hold >held.fxt
wait $holder
wait $recorder
check "0" [ $? = 0 ]
check "all of it" [ "$(summary events)" = 90 ]
check valid valid t.fxt
check valid valid held.fxt
rm hold
end

begin "--trigger reports lost alerts once a program"
check record status 0 "$AT" record -o t.fxt --trigger bad:stop -- "$PROVIDER" 1 6 1000 0 1 1000
check "of whom" grep -qE "^[0-9]+ alerts? before 'noise' of provider \(process [0-9]+\) came too fast and were lost" err
check "once" [ "$(grep -cE "alerts? before" err)" = 1 ]
check "how many" [ "$(sed -n 's/^  \([0-9,]*\) alerts came too fast.*/\1/p' err | tr -d ,)" -gt 500 ]
check valid valid t.fxt
check json status 0 "$AT" record --json -o t.fxt --trigger bad:stop -- "$PROVIDER" 1 6 1000 0 1 1000
check "how many" is true '.alerts_missed > 500'
check json status 0 "$AT" record --json -o t.fxt --trigger bad:stop -- "$PROVIDER" 1 6 1000
check "none" is 0 .alerts_missed
end

begin "bash completes sessions and providers by name"
mkdir -p bin
ln -sf "$AT" bin/asynctrace
PATH=$PWD/bin:$PATH
check create status 0 "$AT" session create flight
check create status 0 "$AT" session create fright
complete_words() {
	bash -c '. "$0"; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		 _asynctrace 2>/dev/null; echo "${COMPREPLY[@]}"' \
		"$here/../../tools/completion/asynctrace.bash" asynctrace "$@"
}
check session [ "$(complete_words session stop fl)" = flight ]
check both [ "$(complete_words session attach f | tr ' ' '\n' | sort | xargs)" = "flight fright" ]
check none [ "$(complete_words session create f)" = "" ]
check clear [ "$(complete_words session start --clear = n)" = nondurable ]
"$PROVIDER" 1 100000 2000 & provider=$!
check there soon sh -c '"$0" providers | grep -q provider' "$AT"
complete_words record -p x,prov >err
check provider [ "$(cat err)" = "x,provider" ]
kill $provider
wait $provider 2>/dev/null
"$AT" session destroy flight
"$AT" session destroy fright
end

close
