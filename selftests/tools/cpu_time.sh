#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# record --cpu-time: the recorder's CPU times of durations against those that the program measures.
# Needs the module and root.
#
# usage: cpu_time.sh ASYNCTRACE CPUTIMES
set -u

AT=$1 CPUTIMES=$2
here=$(cd "${0%/*}" && pwd)
. "$here/lib.sh"
scratch

# compare FILE...: print "COMPARED NEAR FAR WITHOUT SCOPES", which are numbers of durations. At a
# switch, the scheduler reads the clock for the program's CPU time shortly before the module records
# the switch. If a virtual machine pauses in between, the CPU times of the program and the recorder
# differ by milliseconds. Such durations are FAR.
compare() { # FILE...
	local f

	for f in "$@"; do
		"$AT" dump --events "$f"
	done | awk '
		function number(key) {
			if (!match($0, "\"" key "\":uint64=[0-9]+"))
				return -1
			split(substr($0, RSTART, RLENGTH), part, "=")
			return part[2]
		}
		/ (end|complete) / {
			cpu = number("cpu_ns")
			if (cpu < 0)
				without++
			measured = number("measured")
			if (measured < 0)
				scopes += cpu >= 0
			else if (cpu >= 0) {
				compared++
				difference = cpu < measured ? measured - cpu : cpu - measured
				if (difference < 500000 + measured / 20)
					near++
				else
					far++
			}
		}
		END { print compared + 0, near + 0, far + 0, without + 0, scopes + 0 }'
}

# all_agree FILE TURNS: each of the 4 * TURNS * 4 durations has a time, and at most a tenth of the
# compared times are far from the program's
all_agree() { # FILE TURNS
	local compared near far without scopes

	read -r compared near far without scopes <<<"$(compare "$1")"
	echo "($compared compared: $near near, $far far; $without without, $scopes not measured)" >>err
	valid "$1" && [ "$compared" = $((8 * $2)) ] && [ "$scopes" = $((8 * $2)) ] &&
		[ "$without" = 0 ] && [ $((far * 10)) -le "$compared" ]
}

echo "KTAP version 1"

begin "cpu times equal those of the program"
check record status 0 "$AT" record --json --cpu-time -o t.fxt -- "$CPUTIMES" 200
check "count" is 3200 .cpu_times
check "none is unknown" is 0 .cpu_times_unknown
check "times" all_agree t.fxt 200
end

begin "circular recordings and pipes have cpu times"
check circular status 0 "$AT" record --cpu-time -m circular -o t.fxt -- "$CPUTIMES" 50
check "times" all_agree t.fxt 50
"$AT" record --cpu-time -o - -- "$CPUTIMES" 50 2>err | cat >t.fxt
check "times" all_agree t.fxt 50
check compressed status 0 "$AT" record --cpu-time -o t.fxt.zst -- "$CPUTIMES" 50
check "times" all_agree t.fxt.zst 50
end

begin "cpu times near losses are right or unknown"
check record status 0 "$AT" record --json --cpu-time -m oneshot --buffer-size 64K -o t.fxt -- \
	"$CPUTIMES" 300
read -r compared near far without scopes <<<"$(compare t.fxt)"
echo "$compared $near $far $without" >>err
check "some are unknown" [ "$without" -gt 0 ]
check "known ones agree" [ $((far * 10)) -le "$compared" ]
check "file" valid t.fxt --allow-open
end

begin "without the option there are no cpu times"
check record status 0 "$AT" record --json -o t.fxt -- "$CPUTIMES" 10
check "count" is null .cpu_times
read -r compared near far without scopes <<<"$(compare t.fxt)"
check "none" [ "$compared$scopes" = 00 ]
end

begin "file that becomes full has cpu times"
check record status 0 "$AT" record --cpu-time --max-size 1M -o t.fxt -- "$CPUTIMES" 2000
check "size" [ "$(stat -c %s t.fxt)" -le 1048576 ]
check "file" valid t.fxt --allow-open
read -r compared near far without scopes <<<"$(compare t.fxt)"
echo "$compared $near $far $without" >>err
check "times" [ "$compared" -gt 1000 ]
check "they agree" [ $((far * 10)) -le "$compared" ]
end

begin "files of a series have cpu times"
check record status 0 "$AT" record --json --cpu-time --rotate 1M -o part.fxt -- "$CPUTIMES" 4000
check "count" is 64000 .cpu_times
check "none is unknown" is 0 .cpu_times_unknown
check "some files" [ -e part.1.fxt ]
for f in part.*.fxt; do
	check "size of $f" [ "$(stat -c %s $f)" -le 1048576 ]
	check "file $f" valid $f --allow-open
done
read -r compared near far without scopes <<<"$(compare part.*.fxt)"
echo "$compared $near $far $without $scopes" >>err
check "each has a time" [ "$compared $without $scopes" = "32000 0 32000" ]
check "they agree" [ $((far * 10)) -le "$compared" ]
end

begin "durations of slow operations have cpu times"
check record status 0 "$AT" record --json --cpu-time --slower-than 'time/turn>5ms' -o t.fxt -- \
	"$CPUTIMES" 200
check "none is unknown" is 0 .cpu_times_unknown
check "file" valid t.fxt
read -r compared near far without scopes <<<"$(compare t.fxt)"
echo "$compared $near $far $without $scopes" >>err
check "some" [ "$compared" -gt 100 ]
check "each has a time" [ "$without" = 0 ]
check "they agree" [ $((far * 10)) -le "$compared" ]
end

begin "records that a full disk has not are counted"
mkdir -p small
mount -t tmpfs -o size=64k none small
for series in "" "--rotate 1M"; do
	check record status 125 "$AT" record --json --cpu-time $series -o small/t.fxt -- \
		"$CPUTIMES" 1000
	cp out summary.json
	check "reason" says "No space left"
	file=$(echo small/t*.fxt)
	check "whole" whole_without_end "$file"
	cp summary.json out
	check "programs" is "$("$AT" dump --events "$file" | grep -c ' "time" ')" '[.providers[] | select(.id > 0) | .events] | add'
	check "switches" is "$(switches_in "$file")" .switches
	check "what did not fit is counted" is true '.unwritten > 0'
	rm -f "$file"
done
umount small
end
close
