# SPDX-License-Identifier: GPL-2.0
#
# Limits on progress, for bash scripts. A test may take as long as the machine needs. It hangs if it
# prints nothing although it has used up one of these:
#
#	work	CPU time, in seconds of the machine on which the limits were chosen. A
#		test that spins reaches this limit. A slower CPU gets more seconds. A
#		process that waits for a CPU, or that a signal stopped, uses none.
#	idle	seconds in which its threads slept and used less than a fifth of a CPU.
#		A test that waits for something that never happens reaches this limit.
#		How long a test sleeps does not depend on the speed of the machine.

# The limits unless the caller chooses others. ASYNCTRACE_PATIENCE multiplies both.
progress_work=$((1200 * ${ASYNCTRACE_PATIENCE:-1}))
progress_idle=$((600 * ${ASYNCTRACE_PATIENCE:-1}))
# CPU time of the loop below on the machine on which the limits were chosen, in ms
progress_reference=70

# Print the CPU time of a loop on this machine, in percent of progress_reference, at least 100.
# Takes the shortest of five tries, because other load makes a try longer.
progress_slowness() {
	local TIMEFORMAT=%3U i try ms least=1000000

	for try in 1 2 3 4 5; do
		ms=$({ time for ((i = 0; i < 60000; i++)); do :; done; } 2>&1)
		ms=$((10#${ms/./}))
		least=$((ms < least ? ms : least))
	done
	least=$((least * 100 / progress_reference))
	echo $((least > 100 ? least : 100))
}

# progress_cpu pid|session ID: print the CPU time, in clock ticks, of the process or of the
# session's processes, with the children that they waited for; and "asleep" if all their threads
# sleep
progress_cpu() {
	local state=asleep ticks pids line which='[0-9]*'

	[ "$1" = session ] || which=$2
	# Count the fields from the end of the name, which may contain anything.
	read -r ticks pids < <(cat /proc/$which/stat 2>/dev/null | awk -v by="$1" -v id="$2" '
		{ pid = $1; sub(/.*\) /, "") }
		(by == "pid" ? pid : $4) == id {
			ticks += $12 + $13 + $14 + $15
			pids = pids " " pid
		}
		END { print ticks + 0, pids }')
	while read -r line; do
		case ${line##*) } in
		R*|T*|t*)	state=awake ;;
		esac
	done < <(for p in $pids; do cat /proc/"$p"/task/*/stat 2>/dev/null; done)
	echo "$ticks $state"
}

# progress_watch pid|session ID WORK IDLE FILE...: return 0 when process ID has ended. If a limit is
# reached before, print it and return 1. Each byte that is appended to a file is progress.
progress_watch() {
	local by=$1 id=$2 max_work=$3 max_idle=$4 hz step=5 ticks was state size last=''
	local work=0 idle=0

	shift 4
	[ "$max_idle" -ge 60 ] || step=1
	hz=$(getconf CLK_TCK)
	read -r was state < <(progress_cpu "$by" "$id")
	while sleep $step && kill -0 "$id" 2>/dev/null; do
		size=$(stat -c %s "$@" 2>/dev/null | tr '\n' ' ')
		read -r ticks state < <(progress_cpu "$by" "$id")
		# The sum falls when an orphan ends, because no process counts its time then.
		[ "$ticks" -ge "$was" ] || was=$ticks
		work=$((work + ticks - was))
		[ "$state" != asleep ] || [ $(((ticks - was) * 5)) -ge $((hz * step)) ] ||
			idle=$((idle + step))
		was=$ticks
		[ "$size" = "$last" ] || work=0 idle=0 last=$size
		if [ $work -ge $((max_work * hz)) ] &&
		   [ $((work * 100)) -ge $((max_work * hz * $(progress_slowness))) ]; then
			echo "it used $((work / hz)) s of CPU time and printed nothing"
			return 1
		fi
		if [ $idle -ge "$max_idle" ]; then
			echo "it slept for $idle s and printed nothing"
			return 1
		fi
	done
}
