#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs inside the test machine: unprivileged attackers, each alone and all together. Meanwhile
# another user's instrumented program starts, forks and exits, and root records it. Waits for locks
# must stay short, each operation must succeed, no operation may need more CPU time than without
# attacks, and the accounting must be exact.
#
# usage: suite.sh DIR SECONDS full|share [ATTACK...]
#
# DIR has the programs. Each attack lasts SECONDS, or a multiple, after its preparation. Each has a
# control, in which the attackers make ordinary system calls.
set -u

DIR=$1 seconds=$2 size=$3
shift 3
here=$(cd "${0%/*}" && pwd)
tracing=/sys/kernel/tracing
group=/sys/fs/cgroup/neighbours
# Work in memory, because the host's files are slow.
work=$(mktemp -d -p /dev/shm)
chmod 755 "$work"
cp "$DIR"/attack "$DIR"/victim "$work"
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
. "$here/../lib.sh"

# Limit of a wait, and a wait that emulation alone may cause, in ms of guest time
limit=100 floor=20
# The module causes the same in each try. A wait caused by the host's load does not.
tries=3
# Limit of an operation's CPU time during an attack, as a multiple of that without attacks
more=1.2

if [ $size = full ]; then
	declare -A counts=([names]=4096 [high]=24 [strides]=30 [threads]=30000
		[brief]=100000 [quota]=8 [fifo]=4)
else
	declare -A counts=([names]=1024 [high]=24 [strides]=6 [threads]=1000
		[brief]=1000 [quota]=8 [fifo]=4)
fi
# Multiples of SECONDS for attacks with slow requests: patterns over many providers, work above
# memory.high, and unmapping of the pages of many children.
declare -A times=([names]=6 [high]=6 [strides]=10 [threads]=6 [all]=6)
attacks="names high strides threads brief quota fifo"
[ $# -gt 0 ] || set -- $attacks all

# --- the machine ----------------------------------------------------------------------------

prepare() {
	echo 200000 > /proc/sys/kernel/pid_max
	echo 100000 > /proc/sys/kernel/threads-max
	echo 1000000 > /proc/sys/vm/max_map_count
	ulimit -n 65536
	ulimit -u unlimited
	ulimit -r 50
	mkdir $group $group/victims $group/attackers
	echo "+cpu +memory" > /sys/fs/cgroup/cgroup.subtree_control
	echo "+cpu +memory" > $group/cgroup.subtree_control
	echo "+cpu +memory" > $group/attackers/cgroup.subtree_control
	for a in $attacks; do
		mkdir $group/attackers/$a
	done

	echo 'p:neighbours/spin_begin native_queued_spin_lock_slowpath' >> $tracing/kprobe_events
	echo 'r256:neighbours/spin_end native_queued_spin_lock_slowpath' >> $tracing/kprobe_events
	mkdir $tracing/instances/neighbours
	cd $tracing/instances/neighbours || exit 1
	echo 0 > tracing_on
	echo mono > trace_clock
	echo 16384 > buffer_size_kb
	echo 1 > options/sym-offset
	echo 0 > options/hash-ptr
	echo 1 > options/event-fork
	echo stacktrace > events/lock/contention_begin/trigger
	echo 1 > events/lock/contention_begin/enable
	echo 1 > events/lock/contention_end/enable
	if [ -d events/neighbours ]; then
		echo stacktrace > events/neighbours/spin_begin/trigger
		echo 1 > events/neighbours/enable
	else
		echo "# no kprobe events of spinlocks: waits of a single CPU are not measured"
	fi
	cd "$work" || exit 1
}

# --- one run ----------------------------------------------------------------------------------

# trace_begin PID: trace only this task and those it forks
trace_begin() { # PID
	echo $1 > $tracing/instances/neighbours/set_event_pid
	echo > $tracing/instances/neighbours/trace
	echo 1 > $tracing/instances/neighbours/tracing_on
}

trace_end() {
	echo 0 > $tracing/instances/neighbours/tracing_on
	awk '/^(commit )?overrun|^dropped events/ { n += $NF } END { print n + 0 }' \
		$tracing/instances/neighbours/per_cpu/cpu*/stats > lost
	awk -f "$here/waits.awk" $tracing/instances/neighbours/trace > waits
	echo > $tracing/instances/neighbours/set_event_pid
}

attack() { # ATTACK hostile|ordinary
	local name user=1000

	# Each attack has its own user. Otherwise "names" would use up the quota of providers, and
	# the attacks beside it could do nothing.
	for name in $attacks; do
		user=$((user + 1))
		[ $name != $1 ] || break
	done
	# prepare_attacks() looks for this file, maybe before the subshell runs.
	: > ready.$1
	(
		exec 3>&-
		echo $BASHPID > $group/attackers/$1/cgroup.procs
		exec ./attack $1 $2 ${counts[$1]} $user
	) > ready.$1 2> said.$1 &
	attackers="$attackers $!"
}

victims_begin() {
	mkfifo line
	(
		echo $BASHPID > $group/victims/cgroup.procs
		exec ./victim record 'victim*' 'brief*'
	) < line > victims 2>&1 &
	victims=$!
	exec 3> line
	soon grep -q recording victims
}

victims_end() {
	exec 3>&-
	wait $victims
	victims_status=$?
	rm -f line ready.*
}

# freeze ATTACK 1|0: stop all threads of the attackers, or let them continue
freeze() {
	echo $2 > $group/attackers/$1/cgroup.freeze
	soon grep -qx "frozen $2" $group/attackers/$1/cgroup.events
}

# prepare_attacks hostile|ordinary ATTACK...: start the attacks, until each is ready. Several
# attacks get ready one after the other, and those that are ready stand still meanwhile: beside all
# others, 100,000 short-lived providers would take hours.
prepare_attacks() {
	local a kind=$1

	shift
	for a; do
		attack $a $kind
		check "$a is ready" soon grep -q ready ready.$a
		[ $# = 1 ] || check "$a stands still" freeze $a 1
	done
	for a; do
		[ $# = 1 ] || check "$a goes on" freeze $a 0
	done
}

# run_alone: the victims without attackers; results are in the file alone
run_alone() {
	victims_begin || return
	sleep $((seconds * 2))
	victims_end
	cp victims alone
}

# run_attack ATTACK hostile|ordinary: results are in the files waits, lost and victims
run_attack() {
	local list=$1

	[ $1 != all ] || list=$attacks
	attackers=
	victims_begin || return
	# Detect hung tasks: selftests/vm/run --icount disables this, because its clock jumps ahead
	# during accesses to disks.
	echo 120 > /proc/sys/kernel/hung_task_timeout_secs
	trace_begin $victims
	prepare_attacks $2 $list
	constrain 2M 1000
	echo measure >&3
	sleep $((seconds * ${times[$1]:-1}))
	constrain max max
	# The attackers' end is a part of the attack.
	kill $attackers 2>/dev/null
	wait $attackers 2>/dev/null
	soon emptied
	did=$(tail -qn 1 ready.* | tr '\n' ';')
	victims_end
	trace_end
	echo 0 > /proc/sys/kernel/hung_task_timeout_secs
}

# constrain HIGH QUOTA: set limits of memory and CPU time. Call this only when the attackers are
# ready: within the limits, getting ready would take minutes.
constrain() {
	echo $1 > $group/attackers/high/memory.high
	echo "$2 100000" > $group/attackers/quota/cpu.max
}

emptied() {
	! grep -q 'populated 1' $group/attackers/cgroup.events
}

of() { # KIND FIELD
	awk -v kind=$1 -v field=$2 '$1 == kind { print $field }' waits
}

at_most() { # A B
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a <= b) }'
}

most() { # A B
	awk -v a="$1" -v b="$2" 'BEGIN { if (a < b) a = b; print a }'
}

least() { # A B
	awk -v a="$1" -v b="$2" 'BEGIN { if (a > b) a = b; print a }'
}

# --- the judgement -------------------------------------------------------------------------------

why() {
	sed 's/^# //' victims
	cat said.*
}

figures() { # WHAT
	echo "# $1: module $(of module 2) ms of $(of module 3) waits, any lock $(of any 2) ms of $(of any 3)"
	echo "# attackers: $did"
	grep '^# victims wrote\|^# operations\|^# CPU time' victims
}

# Waits in the module must stay below the limit, and below three times the waits beside ordinary
# work. Ordinary work may hold other locks of the kernel longer, for example if its CPU quota is
# used up.
bearable() {
	local ok=1

	at_most "$(of module 2)" "$allowed" || ok=
	at_most "$(of any 2)" "$allowed_any" || ok=
	[ $ok ]
}

# cpu_times FILE: for each operation of the victims, print its name, and the least CPU time and the
# lower quartile in us
cpu_times() {
	sed -n 's/^# CPU time (.*): //p' $1 | xargs -n 3 | sort
}

# Print the least CPU time of each operation as a multiple of that without attackers: the lower
# quartile, because a few of these operations find memory that the kernel has prepared before. If
# the least CPU time beside ordinary work is higher, it takes the quartile's place: ordinary work
# costs others CPU time, too, for instance if it occupies one of the two CPUs.
multiples() {
	join <(cpu_times alone) <(cpu_times ordinary) | join - <(cpu_times victims) |
		awk '{ printf "%s %.2f\n", $1, $6 / ($3 > $4 ? $3 : $4) }'
}

# Status 0 if the victims' work does not grow with that of the attackers
flat() {
	multiples > grown
	[ $(wc -l < grown) = 10 ] && awk -v more=$more '$2 > more { exit 1 }' grown
}

judge() { # ATTACK
	local try

	begin "$1"
	rm -f said.*
	run_attack $1 ordinary
	cp victims ordinary
	figures "$1, ordinary work"
	check "the victims beside ordinary work: status $victims_status" [ $victims_status = 0 ]
	thrice=$(awk -v o="$(of any 2)" 'BEGIN { print 3 * o }')
	allowed=$(least "$(most "$thrice" $floor)" $limit)
	allowed_any=$(most "$thrice" $limit)
	for try in $(seq $tries); do
		run_attack $1 hostile
		figures "$1, attack"
		check "events were lost: $(cat lost)" [ "$(cat lost)" = 0 ]
		check "the victims: status $victims_status" [ $victims_status = 0 ]
		check "the attackers did nothing: $did" [ "${did%% *}" != 0 -o $1 = all ]
		echo "# $1: multiples of the CPU time without attacks:" $(multiples)
		bearable && flat && break
		echo "# $1: a wait is too long, or an operation needs too much CPU time, in try $try"
		grep '^#' waits
	done
	check "an operation needs more than $more times the CPU time without attacks" flat
	check "waits in the module stay below $allowed ms, others below $allowed_any ms" bearable
	echo "# $1: limits: module $allowed ms, any lock $allowed_any ms"
	end
}

echo "KTAP version 1"
prepare
begin "without attackers"
run_alone
check "the victims: status $victims_status" [ $victims_status = 0 ]
grep '^# operations\|^# CPU time' alone
end
for a; do
	judge $a
done
close
