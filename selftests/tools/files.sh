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
# The first half of the trace, compressed, and damaged bytes after it
{ head -c $record good.fxt | gzip; printf '\37\213 damaged'; } >bad.fxt.gz
{ head -c $record good.fxt | zstd -q; printf ' damaged'; } >bad.fxt.zst
# Compressed data that is damaged in the middle, so that wrong bytes are unpacked, too
gzip -k good.fxt
zstd -q good.fxt
for f in gz zst; do
	cp good.fxt.$f wrong.fxt.$f
	middle=$(($(stat -c %s good.fxt.$f) / 2))
	head -c 64 /dev/zero | tr '\0' '\377' |
		dd of=wrong.fxt.$f bs=1 seek=$middle conv=notrunc status=none
done
# wrong_type FILE OFFSET: give the record there a type that does not exist, but keep its size
wrong_type() {
	local head=$(od -An -tx1 -j "$2" -N 1 "$1" | tr -d ' ')

	printf "\\x${head%?}b" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
# Not so damaged
cp good.fxt type.fxt
wrong_type type.fxt $record

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

# damaged TEXT COMMAND...: the command uses what it can read, names the damage, and exits with 1
damaged() {
	local text=$1
	shift
	status 1 "$AT" "$@" && [ -s out ] || return
	# validate's result is the message.
	[ "$1" != validate ] || cat out >>err
	if [ "$1 $2" = "validate --json" ]; then
		grep -qF "\"text\":\"${text#*: }" err
	elif [ "$1" = validate ]; then
		grep -q "first ${text%%: *}: ${text#*: }" err
	else
		grep -q "^asynctrace $1: [a-z.]*: $text" err && says "asynctrace validate lists all errors"
	fi
}

begin "damaged_files_are_used_and_reported_alike"
each zero.fxt damaged "at byte $record: a record's size is 0"
each type.fxt damaged "at byte $record: a record of an undefined type"
"$AT" dump good.fxt | head -n 4999 >want
for f in gz zst; do
	each bad.fxt.$f damaged "at byte $record: the compressed data is damaged"
	check "dump bad.fxt.$f" status 1 "$AT" dump bad.fxt.$f
	check "its first half" cmp out want
	each wrong.fxt.$f damaged "at byte [0-9]*: "
done
end

# needs_dictionary COMMAND...: the command says that the file needs a dictionary
needs_dictionary() {
	status 2 "$AT" "$@" && says "compressed with a dictionary; decompress it first with zstd -d -D DICT"
}

# skippable NIBBLE BYTES: print a frame that readers of zstd skip: RFC 8878, section 3.1.2
skippable() {
	printf "\\x5$1\\x2a\\x4d\\x18\\x$(printf %02x $(($2 % 256)))\\x$(printf %02x $(($2 / 256)))\\0\\0"
	head -c "$2" /dev/zero
}

begin "skippable_frames_of_zstd_are_skipped"
for bytes in 0 1 40000; do
	for n in 0 7 f; do
		{ skippable $n $bytes; skippable 3 9; cat good.fxt.zst; skippable a 5; } >skip.fxt
		check "validate, $n, $bytes" status 0 "$AT" validate skip.fxt
		check "dump, $n, $bytes" status 0 "$AT" dump skip.fxt
		mv out first
		check "its original" status 0 "$AT" dump good.fxt
		check "the same, $n, $bytes" cmp out first
	done
done
{ skippable 0 9; head -c 100 good.fxt.zst; } >skip.fxt
check "cut" status 3 "$AT" dump skip.fxt
skippable 0 9 >skip.fxt
check "alone" status 2 "$AT" dump skip.fxt
check "alone: empty" says "it is empty"
check "pipe of top" status 2 eval '{ skippable 0 9; cat good.fxt.zst; } | "$AT" top --batch -'
check "pipe of top: remedy" says "unpack it"
end

begin "file_that_needs_a_dictionary_says_so"
split -b 2000 good.fxt piece.
zstd -q --train piece.* -o dict --maxdict=4096 2>err
zstd -q -D dict good.fxt -o dict.fxt.zst
check "dictionary" [ -s dict.fxt.zst ]
each dict.fxt.zst needs_dictionary
tail -c +$((record + 1)) good.fxt >rest.fxt
{ head -c $record good.fxt | zstd -q; zstd -qc -D dict rest.fxt; } >half.fxt.zst
each half.fxt.zst needs_dictionary
end

# Commands that look for one operation, with an id that no operation has
lookups=(
	"why FILE 0x123456" "report FILE timeline 0x123456" "report FILE tree 0x123456"
	"report FILE related 0x123456"
)

begin "exit_statuses_are_those_of_the_pages"
cp "$AT" at
[ "$(id -u)" = 0 ] && user=$NOBODY || user=
mkdir dir
: >empty.fxt
echo "this is no trace" >text.fxt
cp good.fxt secret.fxt
chmod 0 secret.fxt
# The file, the status of the commands, and that of the lookups
while read -r file any none; do
	each "$file" status "$any" $user ./at
	for c in "${lookups[@]}"; do
		check "$c: $file" status "$none" $user ./at ${c//FILE/$file}
	done
done <<END
good.fxt	0 1
type.fxt	1 1
zero.fxt	1 1
cut.fxt		3 1
none.fxt	2 2
dir		2 2
empty.fxt	2 2
text.fxt	2 2
secret.fxt	2 2
END
end

# failing FILE BYTES COMMAND...: call the command; reading its standard input fails after the first
# bytes of the file, because a pseudo terminal hangs up
failing() {
	python3 -c '
import os, pty, subprocess, sys, tty
master, slave = pty.openpty()
tty.setraw(slave)
reader = subprocess.Popen(sys.argv[3:], stdin=master)
os.close(master)
data = open(sys.argv[1], "rb").read()[:int(sys.argv[2])]
while data:
    data = data[os.write(slave, data):]
os.close(slave)
sys.exit(reader.wait())' "$@"
}

begin "trace_whose_reading_fails_is_unreadable"
# Before the first operation, behind many, and behind a damage
for where in "good.fxt 0" "good.fxt 64" "good.fxt $record" "type.fxt $((record + 4096))"; do
	for c in "${commands[@]}" "${lookups[@]}"; do
		[ "$c" != "report diff FILE FILE" ] || c="report diff good.fxt FILE"
		check "$c: $where" status 2 failing $where "$AT" ${c//FILE/-}
		check "$c: $where: reason" says "Input/output error"
		check "$c: $where: no other" silent_about "has no"
	done
done
end

begin "damage_that_ends_reading_is_told"
for f in zero.fxt bad.fxt.gz bad.fxt.zst; do
	check "dump $f" status 1 "$AT" dump $f
	check "dump $f: the rest" says "what follows cannot be read and is not shown"
	check "report $f" status 1 "$AT" report $f
	check "report $f: the rest" says "what follows cannot be read"
	check "validate $f" status 1 "$AT" validate --json $f
	check "validate $f: incomplete" is false .complete
done
# A lesser damage before the one that ends the reading
cp zero.fxt two.fxt
earlier=$((16#$("$AT" dump --offsets good.fxt | sed -n 4000p | cut -d' ' -f1)))
wrong_type two.fxt $earlier
for c in dump report why; do
	check "$c" status 1 "$AT" $c two.fxt
	check "$c: the first" says "undefined type"
	check "$c: the last" says "at byte $record: a record's size is 0"
	check "$c: no more" [ "$(grep -c "at byte" err)" = 2 ]
done
end

begin "file_cut_between_records_is_incomplete"
"$AT" dump --offsets good.fxt 2>err | sed -n '2,60p' | cut -d' ' -f1 >offsets
for at in $(tail -n +2 offsets); do
	head -c $((16#$at)) good.fxt >short.fxt
	check "dump, $at" status 3 "$AT" dump short.fxt
	check "message, $at" says "the end is missing"
	check "validate, $at" status 3 "$AT" validate --json short.fxt
	check "JSON, $at" is false .complete
done
for c in report top\ --batch; do
	check "$c" status 3 "$AT" $c short.fxt
done
# Files of other writers need no mark at the end.
head -c 8 good.fxt >magic.fxt
check "magic alone" status 0 "$AT" dump magic.fxt
end

# plain: neither "out" nor "err" has control characters other than white space
plain() {
	! LC_ALL=C grep -q "$(printf '[\001-\010\013-\014\016-\037\177]\\|\302[\200-\237]')" out err
}

begin "names_of_files_reach_no_terminal"
bad=$'\e[31mx\ay'
for f in good cut zero; do
	cp $f.fxt "$f$bad.fxt"
done
for c in "${commands[@]}"; do
	check "$c" status 0 "$AT" ${c//FILE/"good$bad.fxt"}
	check "$c: plain" plain
	check "$c, cut" status 3 "$AT" ${c//FILE/"cut$bad.fxt"}
	check "$c, cut: plain" plain
	check "$c, damaged" status 1 "$AT" ${c//FILE/"zero$bad.fxt"}
	check "$c, damaged: plain" plain
	check "$c, none" status 2 "$AT" ${c//FILE/"none$bad"}
	check "$c, none: plain" plain
	check "$c, none: named" says "none?[31mx?y"
done
end

begin "names_in_traces_reach_no_terminal"
"$TRACES" evil evil.fxt >/dev/null 2>err
for c in "${commands[@]}" "validate --allow-open FILE"; do
	"$AT" ${c//FILE/evil.fxt} >out 2>err
	check "$c" plain
done
for what in operations blame running unknown critical regions logs log-groups loop histogram \
	    concurrency levels unfinished orphans threads sched sched-histogram sched-occupants \
	    wakeups losses lints summary; do
	for format in "" --json --csv; do
		"$AT" report $format evil.fxt $what >out 2>err
		check "$what $format" plain
	done
done
end

begin "arguments_reach_no_terminal"
for c in "validate --expect-async" "validate --window" "validate -" "dump -" "report -" "why --" "top --" \
	 "record -" "status --" "session list --" "session create -" "session start -"; do
	check "$c" status 2 "$AT" $c"$bad"
	check "$c: plain" plain
	check "$c: named" says "?[31mx?y"
done
for o in --expect-async --window; do
	check "$o" status 2 "$AT" validate $o "$bad" good.fxt
	check "$o: plain" plain
done
end

# A trace of 20000 providers that define one string each, with the largest index
python3 -c '
import struct, sys
words = [0x0016547846040010]
for i in range(1, 20001):
    words += [0x10 | 1 << 16 | i << 20, 0x21, 10**9, 0x22 | 0x7fff << 16 | 1 << 32, ord("x")]
sys.stdout.buffer.write(struct.pack("<%dQ" % len(words), *words))' >strings.fxt

# within KIB COMMAND...: the command needs no more than KIB of addresses
within() {
	(
		ulimit -v "$1"
		shift
		"$AT" "$@" >out 2>err
	)
	[ $? -lt 2 ] && silent_about "memory"
}

begin "many_providers_need_little_memory"
check "valid" status 0 "$AT" validate strings.fxt
each strings.fxt within 524288
end

# A trace of 2499 strings, which a reader must keep: 75 MB
python3 -c '
import struct, sys
text = b"x" * 30000
out = sys.stdout.buffer
out.write(struct.pack("<4Q", 0x0016547846040010, 0x10 | 1 << 16 | 1 << 20, 0x21, 10**9))
for i in range(1, 2500):
    out.write(struct.pack("<Q", 2 | 3751 << 4 | i << 16 | len(text) << 32) + text)' >texts.fxt

# fills KIB ARGUMENT...: top reads texts.fxt from a pipe with no more than KIB of addresses
fills() {
	(
		ulimit -v "$1"
		shift
		cat texts.fxt | "$AT" top --batch "$@" -
	)
}

begin "causes_of_missing_memory_are_told_apart"
check "its limit" status 2 fills unlimited --memory 64M
check "its limit: remedy" says "more memory than --memory allows: choose a larger --memory"
check "limit of all" status 2 fills 65536
check "limit of all: remedy" says "not enough memory to analyse standard input: free some, or choose a smaller --memory"
rm texts.fxt
end

begin "quiet_validate_prints_nothing"
for o in -q "-q --json" "--json --quiet"; do
	check "$o" status 0 "$AT" validate $o good.fxt
	check "$o: nothing" [ ! -s out ]
	check "$o, damaged" status 1 "$AT" validate $o zero.fxt
	check "$o, damaged: nothing" eval '[ ! -s out ] && [ ! -s err ]'
done
end

close
