# SPDX-License-Identifier: GPL-2.0
#
# Tests in shell: each begins, checks and ends. The last line has the counts. For scripts that run
# in a directory of their own.

passed=0 failed=0 test=

# begin NAME: name the test to which the following checks belong
begin() {
	test=$1
	ok=1
}

# run COMMAND...: run a check's command and redirect its output
run() {
	"$@"
}

# Print the failed command's output, and other hints at the reason.
why() {
	cat err
}

# check WHAT COMMAND...: the command must succeed
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

# account_holds TOOL FILE: in the trace, the time of each operation equals its latency. TOOL is
# asynctrace in the build directory.
account_holds() {
	"${1%/*}/selftests/account" "$2"
}

# Print the closing line; succeed if all tests passed.
close() {
	echo "$passed passed, $failed failed, 0 skipped"
	[ $failed = 0 ]
}

# soon COMMAND...: wait until the command succeeds; give up after four minutes or more, before
# selftests/vm/run ends the test
soon() {
	local i

	for i in $(seq 2400); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.1
	done
	return 1
}
