# SPDX-License-Identifier: GPL-2.0
#
# Shared by the tests of the command. They set AT to its path; the output of a command is in the
# files "out" and "err".

. "${BASH_SOURCE[0]%/*}/../lib.sh"

NOBODY="setpriv --reuid 65534 --regid 65534 --clear-groups"

# Change to a new directory that all users may write. It is removed at the exit.
scratch() {
	work=$(mktemp -d)
	trap 'umount "$work/small" 2>/dev/null; rm -rf "$work"' EXIT
	cd "$work" || exit 1
	chmod 777 .
}

# status N COMMAND...: the command exits with N; its messages are in "err". If it hangs,
# selftests/vm/run or selftests/limit ends the script.
status() {
	local want=$1 got
	shift
	"$@" >out 2>err
	got=$?
	[ $got = "$want" ] || echo "(exit status $got, not $want, of: $*)" >>err
	[ $got = "$want" ]
}

says() {
	grep -qF -e "$1" err
}

# valid FILE [OPTION]: the file breaks no rule, and the account of each operation equals its
# latency. OPTION is --allow-open if records were lost.
valid() {
	{ "$AT" validate ${2-} "$1" && account_holds "$AT" "$1"; } >out 2>&1 ||
		{ cat out >>err; false; }
}

silent_about() {
	! says "$1"
}

# The end is missing, possibly within a record: a kill may interrupt a write(2)
valid_without_end() {
	status 3 "$AT" validate --allow-open "$1" || { cat out >>err; false; }
}

# The end is missing, but the last record is whole.
whole_without_end() {
	valid_without_end "$1" && grep -q ': warning: no-end: 1, ' out && ! grep -q truncated out
}

# Print the number before a word in the summary's first line.
summary() {
	sed -n "s/.*[ :]\([0-9,]*\) $1.*/\1/p" err | head -n 1 | tr -d ,
}

# json FILTER: print the result of jq with "out"
json() {
	jq -r "$1" <out
}

# is TEXT FILTER: the result of jq is TEXT
is() {
	[ "$(json "$2")" = "$1" ] || { echo "($2 is $(json "$2"), not $1)" >>err; false; }
}

# Print the number of events of provider.c in these files.
events_in() {
	local f

	for f in "$@"; do
		"$AT" dump --events "$f"
	done | grep -cE ' "(http|disk)" '
}

switches_in() {
	local f

	for f in "$@"; do
		"$AT" dump --events "$f"
	done | grep ' switch ' | grep -cv inferred
}
