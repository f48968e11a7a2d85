#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# test_out.sh PROGRAM TOOL: tests which file ASYNCTRACE_OUT creates, and that neither files of other
# processes nor resource limits lead to damage. PROGRAM is env_prog, TOOL is asynctrace.
set -u

prog=$(realpath "$1")
tool=$(realpath "$2")
. "$(dirname "$0")/../lib.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

why() { cat err out; ls -l; }
fresh() { find . -mindepth 1 -delete; : > err; : > out; }
events() { "$tool" dump "$1" | grep -cE ' "law" "(event|scope)"'; }
valid() { { "$tool" validate "$1" && account_holds "$tool" "$1"; } > out 2>&1; }
# The file has no mistake but lacks its end.
endless() { "$tool" validate "$1" > out 2>&1; [ $? = 3 ]; }
# trace FILE N: FILE is valid and has N events
trace() { valid "$1" && [ "$(events "$1")" = "$2" ]; }
# traced VALUE [ARGUMENT...]: run the program with ASYNCTRACE_OUT=VALUE; exits with its status
traced() {
	local value=$1
	shift
	ASYNCTRACE_OUT=$value "$prog" "$@" 2> err
}
lines() { [ "$(wc -l < err)" = "$1" ]; }
says() { grep -qxF "asynctrace: $1" err; }
# named FILE...: these traces exist, and no others
named() { [ "$(printf '%s\n' "$@" | sort)" = "$(ls -d -- *.fxt* 2> /dev/null | sort)" ]; }
# The name of the second process's file, from its message
other() { sed -n 's/.*writes its trace to //p' err; }

# --- names ------------------------------------------------------------------------------

begin out_existing_file_is_kept
fresh
echo precious > t.fxt
check "the program runs" traced t.fxt 0
check "the file is as it was" [ "$(cat t.fxt)" = precious ]
check "one line" lines 1
pid=$(sed -n 's/.*process \([0-9]*\) .*/\1/p' err)
check "the message has the name" says "t.fxt exists: process $pid writes its trace to t.$pid.fxt"
check "the trace is whole" trace "t.$pid.fxt" 1001
end

begin out_second_run_gets_its_own_file
fresh
check "the first program runs" traced t.fxt 0
check "no message" lines 0
cp t.fxt first
check "the second program runs" traced t.fxt 0
check "the first trace is as it was" cmp t.fxt first
check "the second is whole" trace "$(other)" 1001
end

begin out_empty_file_is_used
fresh
: > t.fxt
check "the program runs" traced t.fxt 0
check "no other name" named t.fxt
check "the trace" trace t.fxt 1001
end

begin out_percent_p_is_the_process_id
fresh
check "the program runs" traced a%%b.%p.fxt 0
pid=$(sed -n 's/.*process \([0-9]*\) .*/\1/p' err)
check "one line" lines 1
check "the message has the name" says "process $pid writes its trace to a%b.$pid.fxt"
check "the trace" trace "a%b.$pid.fxt" 1001
end

begin out_unknown_percent_is_refused
fresh
check "the program runs" traced t.%q.fxt 0
check "the message" says "ASYNCTRACE_OUT=t.%q.fxt: %q is unknown: %p is the process ID, %% a percent sign; not tracing"
check "the program with a single % runs" traced t% 0
check "the second message" says "ASYNCTRACE_OUT=t%: ends in a single %: %p is the process ID, %% a percent sign; not tracing"
check "nothing was made" named
end

begin out_name_of_pid_goes_before_the_ending
fresh
mkdir d.d
for f in d.d/noending .hidden a.b.c; do
	echo precious > $f
	check "$f" traced $f 0
	name=$(other)
	check "$f: trace" trace "$name" 1001
	case $f in
	*/noending) check "$name" [ "$(sed 's/[0-9]\+/N/' <<< "$name")" = d.d/noending.N ] ;;
	.hidden) check "$name" [ "$(sed 's/[0-9]\+/N/' <<< "$name")" = .hidden.N ] ;;
	a.b.c) check "$name" [ "$(sed 's/[0-9]\+/N/' <<< "$name")" = a.b.N.c ] ;;
	esac
done
end

begin out_name_too_long_is_refused
fresh
name=$(printf 'x%.0s' $(seq 250)).fxt
check "the name fits" traced $name 0
check "the other name does not" traced $name 0
check "the message" grep -q 'File name too long; not tracing' err
name=$(printf 'x/%.0s' $(seq 2100))
check "no path is that long" traced $name 0
check "the second message" says "ASYNCTRACE_OUT: must have fewer than 4096 bytes, has 4200; not tracing"
end

begin out_unusable_place_is_named
fresh
mkdir d
traced d 3
check "a directory: the program's status" [ $? = 3 ]
check "the message" says "ASYNCTRACE_OUT=d: Is a directory; not tracing"
traced no/t.fxt 3
check "no such directory: the program's status" [ $? = 3 ]
check "the message" says "ASYNCTRACE_OUT=no/t.fxt: No such file or directory; not tracing"
end

begin out_symbolic_link_is_not_followed
fresh
echo precious > file
: > empty
ln -s file full.fxt
ln -s empty empty.fxt
ln -s nothing none.fxt
for l in full empty none; do
	check "$l" traced $l.fxt 0
	check "$l: own file" trace "$(other)" 1001
done
check "their targets are unchanged" [ "$(cat file empty)" = precious ]
check "nothing was made" [ ! -e nothing ]
end

# --- several processes ---------------------------------------------------------------------

begin out_executed_program_gets_its_own_file
fresh
check "the program runs itself" traced t.fxt spawn 0
check "one line" lines 1
check "the outer trace" trace t.fxt 1001
check "the inner trace" trace "$(other)" 1001
end

begin out_execs_of_one_process_get_own_files
fresh
check "three programs, one process" traced t.fxt exec exec 0
check "two lines" lines 2
mapfile -t names < <(other; echo; echo; echo)
check "names with a count" [ "${names[0]%.fxt}.2.fxt" = "${names[1]}" ]
check "three files" named t.fxt "${names[0]}" "${names[1]}"
check "the last one is whole" trace "${names[1]}" 1001
# An exec cuts off the trace of the program that calls it.
check "the first one lacks only its end" endless t.fxt
check "the second one lacks only its end" endless "${names[0]}"
fresh
check "with %p" traced t.%p.fxt exec exec 0
mapfile -t names < <(other; echo; echo; echo)
check "names with count and process ID" \
	[ "${names[0]%.fxt}.2.fxt ${names[0]%.fxt}.3.fxt" = "${names[1]} ${names[2]}" ]
end

# Start 20 processes at once that all trace to t.fxt, and check that each has a whole file.
twenty_at_once() {
	local pids= pid f

	for pid in $(seq 20); do
		ASYNCTRACE_OUT=t.fxt "$prog" 0 2>> err &
		pids="$pids $!"
	done
	for pid in $pids; do
		check "process $pid" wait $pid
	done
	check "19 lines" lines 19
	check "20 files" [ "$(ls t*.fxt | wc -l)" = 20 ]
	for f in t*.fxt; do
		check "$f is whole" trace $f 1001
	done
}

begin out_processes_at_once_get_own_files
fresh
twenty_at_once
end

begin out_processes_at_once_share_no_empty_file
fresh
: > t.fxt
twenty_at_once
end

# --- pipes, devices and other non-files -----------------------------------------------------

begin out_pipe_is_written_by_one_process
fresh
for value in /dev/stdout /dev/fd/1 /proc/self/fd/1; do
	traced $value spawn 0 | cat > t
	check "$value: one trace" trace t 1001
	check "$value: one line" lines 1
	check "$value: the message has the reason" grep -qE "^asynctrace: ASYNCTRACE_OUT=$value: process [0-9]+ writes its trace there; not tracing process [0-9]+$" err
done
end

begin out_dash_is_a_file
fresh
traced - 0 > t
check "a trace" trace ./- 1001
check "nothing on standard output" [ ! -s t ]
end

begin out_stdout_file_is_not_emptied
fresh
(echo first; traced /dev/stdout 0; echo last) > t
check "before" [ "$(head -n 1 t)" = first ]
check "behind" [ "$(tail -c 5 t)" = last ]
tail -c +7 t | head -c -5 > middle
check "the trace between the others" trace middle 1001
end

begin out_fifo_is_written
fresh
mkfifo f
cat f > t &
check "the program runs" traced f spawn 0
check "the reader ends" wait $!
check "the trace" trace t 1001
check "the FIFO still exists" [ -p f ]
end

begin out_device_is_written
fresh
check "the program runs" traced /dev/null spawn 0
check "no message" lines 0
end

begin out_forked_child_holds_no_pipe
fresh
mkfifo f in
(cat f > t; : > ended) &
exec 5<> in
check "the program runs" traced f fork 0 < in 5>&-
# The child is alive until descriptor 5 is closed, but must not hold the pipe open.
check "the reader sees the end" soon [ -e ended ]
check "the trace" trace t 1001
exec 5>&-
wait
end

begin out_closed_descriptor_is_opened_again
fresh
# The rings have room for all events, so that none is dropped however late the drain is.
ASYNCTRACE_BUFFER_SIZE=8M check "the program runs" traced t.fxt replace other chdir / more 0
check "the program's own file is empty" [ ! -s other ]
check "no message" lines 0
check "the trace" trace t.fxt 201201
end

begin out_replaced_file_is_spared
fresh
check "the program runs" traced t.fxt remove t.fxt replace t.fxt more 0
check "the program's own file is empty" [ ! -s t.fxt ]
check "the message" grep -qE '^asynctrace: t.fxt: the program closed the descriptor of its trace; [0-9]+ of [0-9]+ records are not in the file$' err
end

begin out_closed_pipe_is_not_opened_again
fresh
mkfifo f
cat f > t &
check "the program runs" traced f more replace other more 0
wait
check "the message" grep -qE '^asynctrace: f: the program closed the descriptor of its trace; [0-9]+ of [0-9]+ records are not in the file$' err
check "the trace lacks only its end" endless t
end

begin out_closed_standard_output_gets_no_trace
fresh
ASYNCTRACE_OUT=t.fxt "$prog" wait 2> err >&- <&- &
check "the program runs" wait $!
check "the trace" trace t.fxt 1001
end

# --- limits ---------------------------------------------------------------------------------

begin limit_file_size_zero_lets_program_run
fresh
((ulimit -f 0; ASYNCTRACE_OUT=t.fxt exec "$prog" 3) 2>&1 | cat > err; exit ${PIPESTATUS[0]})
check "the program's status" [ $? = 3 ]
check "one line" lines 1
check "the message has the counts" says "t.fxt: writing the trace: File too large; 1001 of 1001 records are not in it"
check "the file is empty" [ ! -s t.fxt ]
end

begin limit_file_size_cuts_behind_a_record
fresh
((ulimit -f 24; ASYNCTRACE_OUT=t.fxt exec "$prog" more 3) 2>&1 | cat > err; exit ${PIPESTATUS[0]})
check "the program's status" [ $? = 3 ]
check "the message" grep -qE '^asynctrace: t.fxt: writing the trace: File too large; [0-9]+ of [0-9]+ records are not in it$' err
check "the file is within the limit" [ "$(stat -c %s t.fxt)" -le 24576 ]
check "the file is close to the limit" [ "$(stat -c %s t.fxt)" -gt 24000 ]
check "its events can be read" [ "$(events t.fxt)" -gt 100 ]
missing=$(sed -n 's/.*; \([0-9]*\) of [0-9]* records.*/\1/p' err)
all=$(sed -n 's/.* of \([0-9]*\) records.*/\1/p' err)
check "the message counts the missing records" [ $((all - missing)) = "$(events t.fxt)" ]
end

begin limit_file_size_of_messages_lets_program_run
fresh
(ulimit -f 0; ASYNCTRACE_OUT=no/t.fxt exec "$prog" 3 2> err)
check "the program's status" [ $? = 3 ]
end

begin limit_file_size_of_a_large_ring_is_no_limit
fresh
(ulimit -f 1024; ASYNCTRACE_BUFFER_SIZE=64M ASYNCTRACE_OUT=t.fxt exec "$prog" 3 2> err)
check "the program's status" [ $? = 3 ]
check "no message" lines 0
check "the trace" trace t.fxt 1001
end

begin limit_memory_is_named
fresh
(ulimit -v 200000; ASYNCTRACE_BUFFER_SIZE=1G ASYNCTRACE_OUT=t.fxt exec "$prog" 3 2> err)
check "the program's status" [ $? = 3 ]
check "the message" says "no memory for rings of 1048576 KiB for each CPU and for the thread that writes the trace: Cannot allocate memory; use a smaller ASYNCTRACE_BUFFER_SIZE than 1048576K; not tracing"
check "no file was made" named
end

begin limit_address_space_of_any_size_lets_program_run
fresh
for kib in $(seq 4000 4000 36000) $(seq 40000 150 56000) $(seq 60000 4000 120000); do
	rm -f t.fxt
	(ulimit -v $kib; exec "$prog" 3 2> /dev/null) || [ $? = 3 ] || continue
	(ulimit -v $kib; ASYNCTRACE_OUT=t.fxt exec "$prog" 3 2> err)
	check "$kib KiB: the program's status" [ $? = 3 ]
	if [ -e t.fxt ]; then
		check "$kib KiB: the trace" trace t.fxt 1001
		check "$kib KiB: silent" lines 0
	else
		check "$kib KiB: the message" grep -q 'Cannot allocate memory.*; not tracing\|Resource temporarily unavailable; not tracing' err
	fi
done
end

# Close inherited descriptors, so that the limit alone says how many are left.
only_standard() {
	local fd

	for fd in /proc/"$BASHPID"/fd/*; do
		fd=${fd##*/}
		[ "$fd" -le 2 ] || eval "exec $fd>&-"
	done
}

begin limit_descriptors_is_named
fresh
(only_standard; ulimit -n 3; ASYNCTRACE_OUT=t.fxt exec "$prog" 3) 2> err
# With this limit a shared library cannot be opened.
case $? in
3)
	check "the message" says "ASYNCTRACE_OUT=t.fxt: Too many open files; not tracing" ;;
*)
	check "the message of the dynamic linker" grep -q 'cannot open shared object file' err ;;
esac
(only_standard; ulimit -n 4; ASYNCTRACE_OUT=t.fxt exec "$prog" 3) 2> err
check "the program's status" [ $? = 3 ]
check "the trace with one descriptor" trace t.fxt 1001
end

begin limit_threads_is_named
fresh
chmod 777 .
if [ "$(id -u)" = 0 ]; then
	as="setpriv --reuid=61234 --regid=61234 --clear-groups --inh-caps=-all --bounding-set=-all"
else
	as=
fi
cp "$prog" ./prog
(ulimit -u 1; ASYNCTRACE_OUT=t.fxt exec $as ./prog 3 2> err)
check "the program's status" [ $? = 3 ]
check "the message" says "cannot start the thread that writes the trace: Resource temporarily unavailable; not tracing"
check "no file is left" named
end

begin limit_locked_memory_lets_program_run
fresh
(ulimit -l 0; ASYNCTRACE_OUT=t.fxt exec "$prog" 3 2> err)
check "the program's status" [ $? = 3 ]
check "the trace" trace t.fxt 1001
end

begin pipe_without_reader_lets_program_run
fresh
mkfifo f
{ exec 6< f; exec 6<&-; } &
exec 7> f
wait
traced /dev/fd/7 more 3
check "the program's status" [ $? = 3 ]
check "the message" grep -qE '^asynctrace: /dev/fd/7: writing the trace: Broken pipe; [0-9]+ of [0-9]+ records are not in it$' err
exec 7>&-
end

# Valgrind refuses to map anonymous memory twice: there the rings are in a memfd.
begin valgrind_program_is_traced
fresh
ASYNCTRACE_OUT=t.fxt valgrind -q "$prog" 3 2> err
check "the program's status" [ $? = 3 ]
check "the trace" trace t.fxt 1001
(ulimit -f 1024; ASYNCTRACE_OUT=t.fxt exec valgrind -q "$prog" 3) 2> err
check "with a limit: the program's status" [ $? = 3 ]
end

begin full_disk_lets_program_run
fresh
traced /dev/full 3
check "the program's status" [ $? = 3 ]
check "the message" says "/dev/full: writing the trace: No space left on device; 1001 of 1001 records are not in it"
end

# --- malformed records ------------------------------------------------------------------------

begin out_malformed_records_are_counted
fresh
traced t.fxt malformed 3
check "the program's status" [ $? = 3 ]
check "the message" says "3 records are malformed and not in the trace, for example because of a time in the future: see at_trace_start(3)"
check "the other records are in the trace" [ "$(events t.fxt)" = 1001 ]
end

# --- other settings ---------------------------------------------------------------------------

# wrong NAME VALUE MESSAGE: the message is the only one, and the file is unchanged
wrong() {
	echo precious > t.fxt
	rm -f t.*.fxt
	env ASYNCTRACE_OUT=t.fxt "$1=$2" "$prog" 3 2> err
	check "$1: the program's status" [ $? = 3 ]
	check "$1: $3" says "$3; not tracing"
	check "$1: one line" lines 1
	check "$1: the file is as it was" [ "$(cat t.fxt)" = precious ]
	check "$1: no other file" named t.fxt
}

many() { seq -s , "$1"; }
long() { printf 'y%.0s' $(seq "$1"); }

begin setting_size_wrong_is_named
fresh
for size in 0 1 16383 15K 16X -5 +16K " 16K" 2G 1025M 18446744073709551616 1.5M K; do
	wrong ASYNCTRACE_BUFFER_SIZE "$size" "ASYNCTRACE_BUFFER_SIZE=$size: must be 16K to 1G"
done
end

begin setting_size_limits_are_possible
for size in 16K 16384 17000 1g; do
	fresh
	ASYNCTRACE_MODE=circular ASYNCTRACE_BUFFER_SIZE=$size check "$size" traced t.fxt 0
	check "$size: valid" valid t.fxt
done
end

begin setting_mode_wrong_is_named
fresh
wrong ASYNCTRACE_MODE sometimes "ASYNCTRACE_MODE=sometimes: must be oneshot, circular or streaming"
end

begin setting_categories_wrong_are_named
fresh
wrong ASYNCTRACE_CATEGORIES "$(many 101)" "ASYNCTRACE_CATEGORIES: has 101 patterns, must have at most 100"
wrong ASYNCTRACE_CATEGORIES "a,$(long 101)" "ASYNCTRACE_CATEGORIES: a pattern must have at most 100 bytes, has 101: $(long 101)"
wrong ASYNCTRACE_CATEGORIES "a,b*c" "ASYNCTRACE_CATEGORIES: '*' must be last in a pattern: b*c"
wrong ASYNCTRACE_CATEGORIES "a,-,b" "ASYNCTRACE_CATEGORIES=a,-,b: a category must follow each '-'"
end

begin setting_categories_limits_are_possible
fresh
check "100 of 100 bytes" env ASYNCTRACE_OUT=t.fxt ASYNCTRACE_CATEGORIES="$(many 99),,$(long 100)," "$prog" 0
check "the trace" trace t.fxt 0
end

begin setting_out_compressed_is_refused
fresh
for ending in zst gz; do
	wrong ASYNCTRACE_OUT "t.fxt.$ending" "ASYNCTRACE_OUT=t.fxt.$ending: the library does not compress: use t.fxt, and compress it afterwards"
done
end

begin setting_name_too_long_is_named
fresh
wrong ASYNCTRACE_NAME "$(long 101)" "ASYNCTRACE_NAME=$(long 101): must have at most 100 bytes, has 101"
end

close
