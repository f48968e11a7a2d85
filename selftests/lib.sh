# SPDX-License-Identifier: GPL-2.0
#
# Tests in shell: each begins, checks, and ends; the last line says how many passed.
# For scripts that are in a directory of their own.

passed=0 failed=0 test=

# begin NAME: what the checks from here on prove
begin() {
	test=$1
	ok=1
}

# run COMMAND...: what is checked, and where what it says goes
run() {
	"$@"
}

# Prints the failed command's output, and other hints at the reason.
why() {
	cat err
}

# check WHAT COMMAND...: the command succeeds
check() {
	local what=$1
	shift
	run "$@" && return
	ok=
	echo "# $test: $what"
	why 2>/dev/null | sed 's/^/#   /'
}

end() {
	if [ -n "$ok" ]; then
		passed=$((passed + 1))
		echo "ok $((passed + failed)) $test"
	else
		failed=$((failed + 1))
		echo "not ok $((passed + failed)) $test"
	fi
}

# account_holds TOOL FILE: in the trace, the time of each operation adds up to its latency.
# TOOL is asynctrace in the directory of the build.
account_holds() {
	"${1%/*}/selftests/account" "$2"
}

# The tests' last line, and whether all passed
close() {
	echo "$passed passed, $failed failed, 0 skipped"
	[ $failed = 0 ]
}

# soon COMMAND...: wait until it succeeds; give up after four minutes or more, before
# selftests/vm/run gives up on the test
soon() {
	local i

	for i in $(seq 2400); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.1
	done
	return 1
}
