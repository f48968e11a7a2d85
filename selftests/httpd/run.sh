#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Build the example server against standin/, a stand-in for the library that checks its calls. Test
# the server and its parser, plain and with sanitizers.
#
# usage: run.sh [plain|asan|tsan]...	(all three)
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
src=$top/userlib/examples/httpd
out=$top/build/selftests/httpd
log=$out/log
CC=${CC:-gcc}
flags="-std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -pthread"
# A sanitizer and strace cannot both trace a process: only the plain variant uses strace.
traced="--without uploads_are_synced_before_the_answer"
passed=0 failed=0 skipped=0

mkdir -p "$out"
export PYTHONDONTWRITEBYTECODE=1

# Runs a test, shows what it says, and adds up its last line.
run() {
	echo "# $*"
	"$top/selftests/limit" "$@" >"$log" || true
	cat "$log"
	last=$(tail -n 1 "$log")
	case $last in
	*\ passed,\ *\ failed,\ *\ skipped)
		set -- $last
		passed=$((passed + $1)) failed=$((failed + $3)) skipped=$((skipped + $5))
		;;
	*)
		echo "FAIL: it did not end with its counts"
		failed=$((failed + 1))
		;;
	esac
}

for variant in ${*:-plain asan tsan}; do
	options=
	wrap=
	case $variant in
	plain)	sanitize= ;;
	asan)	sanitize="-fsanitize=address,undefined -fno-sanitize-recover=all"
		options=$traced ;;
	tsan)	sanitize=-fsanitize=thread
		options=$traced
		# With some random address layouts, TSan finds no room for its shadow memory.
		wrap="setarch -R" ;;
	*)	echo "run.sh: $variant: not a variant; plain, asan or tsan" >&2
		exit 2 ;;
	esac
	$CC $flags $sanitize -I"$here/standin" "$src"/*.c "$here/standin/standin.c" \
		-o "$out/httpd-$variant"
	$CC $flags $sanitize -I"$src" "$here/test_http.c" "$src/http.c" -o "$out/test_http-$variant"
	run $wrap "$out/test_http-$variant"
	run $wrap /usr/bin/python3 "$here/test_httpd.py" "$out/httpd-$variant" $options
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
