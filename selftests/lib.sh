# SPDX-License-Identifier: GPL-2.0
#
# Tests in shell: each begins, checks and ends. The last line has the counts. Scripts that use
# check() run in a directory of their own, for the file err.

passed=0 failed=0 skipped=0 test=

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

# ok NAME COMMAND...: a test of one command, which must succeed
ok() {
	begin "$1"
	shift
	check "$*" "$@"
	end
}

# program NAME [VAR=VALUE...] COMMAND...: run a test program and add its counts. A program that
# fails without counting a failure, or that counts nothing, counts as a failure.
program() {
	local name=$1 log status p f s
	shift
	log=$(mktemp)
	selftests/limit env "$@" | tee "$log" | sed -u 's/^/    /'
	status=${PIPESTATUS[0]}
	read -r p f s <<< "$(sed -n \
		's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$log" |
		tail -n 1)"
	rm -f "$log"
	p=${p:-0} f=${f:-0} s=${s:-0}
	if [ "$f" = 0 ] && { [ "$status" != 0 ] || [ $((p + s)) = 0 ]; }; then
		f=1
	fi
	[ "$f" = 0 ] && echo "ok - $name: $p" || echo "not ok - $name, exit status $status"
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

# account_holds TOOL FILE: check that the account of each operation in the trace equals its latency.
# TOOL is asynctrace in the build directory.
account_holds() {
	"${1%/*}/selftests/account" "$2"
}

# Print the closing line; succeed if all tests passed.
close() {
	echo "$passed passed, $failed failed, $skipped skipped"
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
