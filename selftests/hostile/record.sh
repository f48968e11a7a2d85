#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The recorder records a hostile provider beside an honest one. The recorder must end and its file
# be valid. The honest provider's events must be complete. Forged records must be counted as
# malformed, and no record of the hostile provider appear as another's. The test machine checks the
# kernel's log.
#
# usage: record.sh ASYNCTRACE DIR [SLOWER [SEED]]
#
# DIR: of the programs; SLOWER: divides the work, for a slow kernel
set -u

AT=$1 DIR=$2 SLOWER=${3-1} SEED=${4-$RANDOM}
here=$(cd "${0%/*}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
. "$here/../lib.sh"

why() {
	cat err log
}

# record MODE SIZE ATTACK TURNS: the honest provider's two threads do TURNS turns each. The hostile
# one starts before and goes on after the recording.
record() {
	rm -f honest.pid t.fxt log
	"$DIR"/hostile $3 $SEED > log 2>&1 &
	hostile=$!
	# Start the honest provider when the hostile one has printed its first line. With the attack
	# "exact", the hostile one has written all its records by then.
	timeout -k 5 300 "$AT" record -o t.fxt -m "$1" -b "$2" -s targets -- bash -c '
		until [ -s log ]; do sleep 0.05; done
		echo $$ > honest.pid
		exec "$0"/honest 2 '"$4"' 1000' "$DIR" 2>err
	status=$?
	honest=$(cat honest.pid)
	kill -KILL $hostile 2>/dev/null
	wait $hostile 2>/dev/null
	alive=$?
}

# of PID COLUMN: print a number from the summary's line about the provider. Column 3 counts recorded
# events, column 6 malformed ones.
of() {
	awk -v pid="$1" -v column="$2" \
		'$2 == pid && NF == 6 { gsub(",", ""); print $column; found = 1 } END { if (!found) print "none" }' err
}

# The honest provider's events are complete, and none is lost.
complete() {
	[ "$(of $honest 3) $(of $honest 4) $(of $honest 5) $(of $honest 6)" = "$1 0 0 0" ]
}

# attributed COUNT [EVIL]: the file has COUNT events of the categories http and disk, all of the
# honest provider. All other events are of the hostile provider; EVIL is their number, if given.
# Events that the recorder adds are skipped: they have a process of their own. Records with a thread
# have PID/TID in the second column.
attributed() {
	"$AT" dump --events t.fxt 2>&1 | awk -v honest="$honest" -v hostile="$hostile" -v want="$1" \
			-v evil="${2-}" -v recorder=$((0x70000000)) '
		$2 ~ /^[0-9]+\/[0-9]+$/ {
			split($2, thread, "/")
			if ($4 == "\"http\"" || $4 == "\"disk\"") {
				mine++
				wrong += thread[1] != honest
			} else if (thread[1] != recorder) {
				others++
				wrong += thread[1] != hostile
			}
		}
		END {
			if (!wrong && mine == want && (evil == "" || others == evil))
				exit 0
			printf "# %d of the honest one, %d others, %d at a wrong process\n", mine, others, wrong
			exit 1
		}'
}

# No process, thread or provider has a name from the hostile provider's records.
named() {
	"$AT" dump t.fxt | grep -E '^(process|thread|provider) [0-9]' > names
	grep -q "^process $honest \"honest\"" names && ! grep -q '"evil"' names
}

# The file must be valid. Allow begins without an end, because the end may be a malformed record.
valid() {
	"$AT" validate --allow-open t.fxt >> log 2>&1 && account_holds "$AT" t.fxt >> log 2>&1
}

# Only threads of the hostile provider have operations in scheduling records, and the ids of these
# operations have one salt, because they are of one process. Print the number of these ids.
operations() {
	"$AT" dump --json t.fxt | python3 -c '
import json, sys
hostile, ids, strange = int(sys.argv[1]), [], []
threads = set()
for line in sys.stdin:
    r = json.loads(line)
    if r["record"] == "thread" and r["args"].get("process") == hostile:
        threads.add(r["koid"])
    elif r["record"] in ("switch", "wakeup"):
        args = r["args"]
        for who, name in ((r.get("out"), "outgoing_operation"), (r.get("in"), "incoming_operation"),
                          (r.get("tid"), "operation"), (args.get("waker"), "waker_operation")):
            if name in args:
                (ids if who in threads else strange).append(int(args[name]))
salts = {i >> 44 for i in ids}
print(len(ids))
sys.exit(f"{len(strange)} ids of other threads, {len(salts)} salts" if strange or len(salts) > 1 else 0)
' $hostile >ids 2>>log
}

# common COUNT [EVIL]: the checks of all recordings. COUNT is the number of the honest provider's
# events. EVIL is the number of the hostile provider's valid records, if it is known.
common() {
	check "the recorder ended with $status" [ $status = 0 ]
	check "the hostile provider went on to the end, not $alive" [ $alive = $((128 + 9)) ]
	check "the file is valid" valid
	check "the honest provider's $1 are complete" complete $1
	check "each event is shown under its provider" attributed "$@"
	check "names come from the kernel" named
	check "operations are those of their processes" operations
}

echo "KTAP version 1"
echo "# seed $SEED"
for mode in oneshot circular streaming; do
	begin "I3 $mode: forged records count as malformed"
	record $mode 1M exact 200
	read -r good bad < <(sed -n 's/exact: \([0-9]*\) good, \([0-9]*\) bad/\1 \2/p' log)
	common 1200 "$good"
	check "the hostile provider's $good good and $bad bad ($(of $hostile 3), $(of $hostile 6))" \
		[ "$(of $hostile 3) $(of $hostile 6)" = "$good $bad" ]
	end
done

for mode in oneshot circular; do
	begin "$mode: all attacks in turns"
	record $mode 1M all $((600 / SLOWER))
	common $((3600 / SLOWER))
	end
done

# The honest provider's events fit into the ring of one CPU: they are complete although the
# recorder gets little CPU time on a busy machine. The hostile provider fills each ring many times.
for attack in scribble positions forge flood cells all; do
	begin "streaming: $attack"
	record streaming 512K $attack $((1500 / SLOWER))
	common $((9000 / SLOWER))
	[ $attack != forge ] || check "malformed" [ "$(of $hostile 6)" -gt 0 ]
	[ $attack != cells ] || check "there are operations" [ "$(cat ids)" -gt 100 ]
	end
done

close
