# SPDX-License-Identifier: GPL-2.0
#
# Print how long the tasks of a trace waited for locks. Input: the trace of an instance with the
# events lock:contention_begin and lock:contention_end, the kprobe events spin_begin and spin_end at
# both ends of the spinlocks' slow path, and stack traces of the begins.
#
# The kprobe events are needed because a single CPU that waits for a spinlock does not report
# contention.
#
# Prints "module MS COUNT" and "any MS COUNT": the longest wait in ms and the number of waits; and
# the stack of each wait, in lines that begin with '#'. A wait is for a lock of the module if its
# stack has a function of the module.

function finish(key, pid) {
	if (!(key in from))
		return
	# Skip locks of the host's files, from which the test machine reads programs.
	if (stack[key] !~ /\[(9p|9pnet|9pnet_virtio|netfs|overlay|virtio[a-z_]*)\]/)
		waited(pid, (now - from[key]) * 1000, stack[key])
	delete from[key]
	delete stack[key]
}

function waited(pid, ms, text) {
	count["any"]++
	keep("any", ms, pid, text)
	if (text ~ /\[asynctrace\]/) {
		count["module"]++
		keep("module", ms, pid, text)
	}
}

function keep(kind, ms, pid, text) {
	if (ms < longest[kind])
		return
	longest[kind] = ms
	task[kind] = name[pid]
	text_of[kind] = text
	at[kind] = now
}

# The stack of the last begin comes next.
/^ => / {
	if (last != "")
		stack[last] = stack[last] $0 "\n"
	next
}

match($0, /-[0-9]+ +\[[0-9]+\]/) {
	pid = substr($0, RSTART + 1, RLENGTH - 1) + 0
	name[pid] = substr($0, 1, RSTART + RLENGTH - 1)
	sub(/^ +/, "", name[pid])
	rest = substr($0, RSTART + RLENGTH)
	if (!match(rest, /[0-9]+\.[0-9]+: /))
		next
	now = substr(rest, RSTART, RLENGTH - 2) + 0
	rest = substr(rest, RSTART + RLENGTH)
	if (rest ~ /^<stack trace>/) {
		last = begun[pid]
		next
	}
	last = ""
	split(rest, word, " ")
	# A mutex reports the begin of a wait each time after it has spun in vain.
	if (word[1] == "contention_begin:") {
		key = pid " " word[2]
		if (!(key in from))
			from[key] = now
		begun[pid] = key
	} else if (word[1] == "contention_end:") {
		finish(pid " " word[2], pid)
	} else if (word[1] == "spin_begin:") {
		# An interrupt may wait for another spinlock meanwhile.
		key = pid " spin " ++depth[pid]
		from[key] = now
		begun[pid] = key
	} else if (word[1] == "spin_end:" && depth[pid]) {
		finish(pid " spin " depth[pid]--, pid)
	}
}

function print_longest(kind, lines, line, i) {
	if (!longest[kind])
		return
	printf "# longest wait, %s: %s, %.3f ms until %.6f\n", \
		kind == "any" ? "any lock" : "in the module", task[kind], longest[kind], at[kind]
	lines = split(text_of[kind], line, "\n")
	for (i = 1; i < lines; i++)
		print "#  " line[i]
}

# Waits that have not ended last until the end of the trace.
END {
	for (key in from) {
		split(key, word, " ")
		finish(key, word[1])
	}
	print_longest("module")
	if (at["any"] != at["module"])
		print_longest("any")
	printf "module %.3f %d\nany %.3f %d\n", longest["module"], count["module"], \
		longest["any"], count["any"]
}
