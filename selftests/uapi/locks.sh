#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Run in a test machine whose kernel has lockdep, after the other tests. Each lock that
# kmod/base/lock.h lists must have been taken, so that lockdep has checked its order and contexts.
# Each lock of the module that lockdep knows must be listed.
set -u

cd "$(dirname "$0")/../.."
[ -r /proc/lockdep ] || { echo "locks.sh: no /proc/lockdep: run this on the debug kernel" >&2; exit 1; }

# Entries of the list: "at_lock" is a variable, "at_session.request_lock" a member of a structure.
listed=$(sed -n 's/^ \*  *\(at_[a-z_.]*\(lock\|mutex\|sem\)\)  *.*/\1/p' kmod/base/lock.h)
taken=$(sed -n 's/.*: \(&.*[>.]\)\{0,1\}\([a-z_]*\)\(#[0-9]*\)\{0,1\}\(\/[0-9]*\)\{0,1\}$/\2/p' /proc/lockdep)

echo "KTAP version 1"
echo "1..$(echo "$listed" | wc -l)"
n=0 failed=0
for lock in $listed; do
	n=$((n + 1)) ok=ok
	if ! echo "$taken" | grep -qx -- "${lock##*.}"; then
		ok='not ok' failed=$((failed + 1))
	fi
	echo "$ok $n lockdep_has_checked_$lock"
done
[ $n -ge 10 ] || { echo "# only $n locks in kmod/base/lock.h"; failed=$((failed + 1)); }
echo "$((n - failed)) passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
