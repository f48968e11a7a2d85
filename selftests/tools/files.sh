#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Rules that all commands that read a trace share: exit statuses and messages for files that are
# damaged or cut, and for output that cannot be written
#
# usage: files.sh ASYNCTRACE TRACES
set -u

AT=$1 TRACES=$2
here=$(cd "${0%/*}" && pwd)
. "$here/lib.sh"
scratch

"$TRACES" server good.fxt 1000 >/dev/null 2>err
size=$(stat -c %s good.fxt)
# A record of size 0 in the middle
record=$((16#$("$AT" dump --offsets good.fxt | sed -n 5000p | cut -d' ' -f1)))
cp good.fxt zero.fxt
printf '\0\0\0\0\0\0\0\0' | dd of=zero.fxt bs=8 seek=$((record / 8)) conv=notrunc status=none
head -c $((size - 8)) good.fxt >cut.fxt

# Each command that reads a trace, with FILE in place of its name
commands=(
	"dump FILE" "dump --json FILE" "validate FILE" "validate --json FILE" "why FILE"
	"why --json --slowest 1000 FILE" "report FILE" "report --json FILE wakeups"
	"report --csv FILE wakeups" "report --folded FILE blame" "report diff FILE FILE"
	"top --batch FILE" "top --batch --json FILE"
)

# each FILE FUNCTION [ARGUMENT...]: check FUNCTION with the arguments and each command for FILE
each() {
	local c

	for c in "${commands[@]}"; do
		check "$c: $1" "${@:2}" ${c//FILE/$1}
	done
}

# full STATUS COMMAND...: asynctrace reports that its output could not be written
full() {
	local want=$1 got
	shift
	"$AT" "$@" >/dev/full 2>err
	got=$?
	[ $got = "$want" ] || echo "(exit status $got, not $want)" >>err
	[ $got = "$want" ] &&
		[ "$(grep -cxF "asynctrace $1: cannot write to standard output: No space left on device" err)" = 1 ]
}

begin "unwritten_output_is_a_failure_of_any_file"
each good.fxt full 1
each zero.fxt full 1
each cut.fxt full 1
check "help" full 1 dump --help
check "rules" full 1 validate --rules
end

# gone IGNORED STATUS COMMAND...: the reader of asynctrace's output ends after one line. IGNORED is
# "ignored" if the command inherits an ignored SIGPIPE.
gone() {
	local ignored=$1 want=$2
	shift 2
	(
		[ "$ignored" != ignored ] || trap '' PIPE
		"$AT" "$@" 2>err
		echo $? >got
	) | head -n 1 >out
	[ "$(cat got)" = "$want" ] || echo "(exit status $(cat got), not $want)" >>err
	[ "$(cat got)" = "$want" ] && ! grep -q "standard output\|roken pipe" err
}

begin "reader_that_leaves_a_pipe_is_no_failure"
for c in "dump" "dump --json"; do
	check "$c" gone default 141 $c good.fxt
	check "$c: ignored" gone ignored 0 $c good.fxt
	check "$c: ignored, cut" gone ignored 0 $c cut.fxt
done
check why gone default 141 why --json --slowest 1000 good.fxt
check "why: ignored" gone ignored 0 why --json --slowest 1000 good.fxt
check "why: ignored, cut" gone ignored 3 why --json --slowest 1000 cut.fxt
check "why: ignored, damaged" gone ignored 1 why --json --slowest 1000 zero.fxt
end

begin "pipe_without_reader_ends_all_commands_alike"
trap '' PIPE
mkfifo pipe
for c in "${commands[@]}"; do
	# The reader opens the pipe and leaves it before the command begins.
	exec 8<>pipe 9>pipe 8<&-
	"$AT" ${c//FILE/good.fxt} >&9 2>err
	check "$c" [ $? = 0 ]
	check "$c: no message" silent_about "output"
	exec 9>&-
done
trap - PIPE
end

close
