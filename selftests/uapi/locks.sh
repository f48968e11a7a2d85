#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Run in a test machine whose kernel has lockdep, after the other tests. Each lock that
# kmod/base/lock.h lists must have been taken, so that lockdep has checked its order and contexts.
# Lockdep must still be on. None of its tables may be nearly full, because lockdep turns itself off
# when a table is full.
set -u

cd "$(dirname "$0")/../.."
[ -r /proc/lockdep ] || { echo "locks.sh: no /proc/lockdep: run this on the debug kernel" >&2; exit 1; }

# Entries of the list: "at_lock" is a variable, "at_session.request_lock" a member of a structure.
listed=$(sed -n 's/^ \*  *\(at_[a-z_.]*\(lock\|mutex\|sem\)\)  *.*/\1/p' kmod/base/lock.h)
taken=$(sed -n 's/.*: \(&.*[>.]\)\{0,1\}\([a-z_]*\)\(#[0-9]*\)\{0,1\}\(\/[0-9]*\)\{0,1\}$/\2/p' /proc/lockdep)

echo "KTAP version 1"
echo "1..$(($(echo "$listed" | wc -l) + 2))"
n=0 failed=0
result() { # NAME CONDITION...
	name=$1 ok=ok n=$((n + 1))
	shift
	"$@" || ok='not ok' failed=$((failed + 1))
	echo "$ok $n $name"
}

is_on() {
	grep -q '^ debug_locks: *1$' /proc/lockdep_stats
}

has_room() {
	awk -v most=90 '{
		if (match($0, /[0-9]+ \[max: [0-9]+\]/)) {
			split(substr($0, RSTART, RLENGTH), n, /[^0-9]+/)
			tables++
			if (n[1] * 100 > n[2] * most) {
				print "#" $0
				full++
			}
		}
	}
	END { exit full || tables < 4 }' /proc/lockdep_stats
}

was_taken() { # LOCK
	echo "$taken" | grep -qx -- "${1##*.}"
}

result lockdep_is_on is_on
result lockdep_has_room has_room
for lock in $listed; do
	result lockdep_has_checked_$lock was_taken $lock
done
[ $n -ge 12 ] || { echo "# only $n locks in kmod/base/lock.h"; failed=$((failed + 1)); }
echo "$((n - failed)) passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
