# SPDX-License-Identifier: GPL-2.0
#
# What the tests of the command share. They set AT to it, and are in a directory of
# their own; the results are in the files "out" and "err" there.

passed=0 failed=0 test=

# begin NAME: what the checks from here on prove
begin() {
	test=$1
	ok=1
}

# check WHAT COMMAND...: the command succeeds
check() {
	local what=$1
	shift
	"$@" && return
	ok=
	echo "# $test: $what" >&2
	sed 's/^/#   /' err >&2
}

end() {
	if [ -n "$ok" ]; then
		passed=$((passed + 1))
		echo "ok - $test"
	else
		failed=$((failed + 1))
		echo "not ok - $test"
	fi
}

# status N COMMAND...: its exit status is N; its messages are in "err"
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

# valid FILE [OPTION]: --allow-open where records were lost, or the file was cut
valid() {
	"$AT" validate ${2-} "$1" >out 2>&1 || { cat out >>err; false; }
}

# valid, but for a last record that is cut: a kill may come within a write(2)
valid_or_cut() {
	valid "$1" --allow-open && return
	! grep -v -e ': NOT clean' -e ': note: ' -e ': excused: ' -e ': truncated: 1,' out
}

# The number before a word in the summary's first line
summary() {
	sed -n "s/.*[ :]\([0-9,]*\) $1.*/\1/p" err | head -n 1 | tr -d ,
}

# wait_for COMMAND...: up to ten seconds, until it succeeds
wait_for() {
	local i

	for i in $(seq 100); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.1
	done
	return 1
}

# The tests' last line, and whether all passed
close() {
	echo "$passed passed, $failed failed, 0 skipped"
	[ $failed = 0 ]
}
