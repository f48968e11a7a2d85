#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# test_children.sh PROGRAM TOOL [--untraced]: tests forked children of a program that ASYNCTRACE_OUT
# traces. If the name has %p, each child that writes an event has a file of its own with all its
# events. PROGRAM is fork_prog, TOOL is asynctrace. --untraced: no child is traced, because PROGRAM
# has the thread sanitizer.
set -u

prog=$(realpath "$1")
tool=$(realpath "$2")
. "$(dirname "$0")/../lib.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

why() { cat err out log 2> /dev/null; ls -l; }
fresh() { find . -mindepth 1 -delete; : > err; : > out; }
# scene NAME [OUT]: run the scene in a fresh directory
scene() {
	fresh
	mkdir d
	ASYNCTRACE_OUT=${2-t.%p.fxt} "$prog" "$1" > out 2> err
}
# The numbers of the events in FILE, in order
numbers() { "$tool" dump "$1" 2> /dev/null | grep '"fork" "event"' | sed 's/.*"i":int32=//' | sort -n; }
# whole FILE N: FILE is valid and has the events 0 to N - 1
whole() { { "$tool" validate "$1" && account_holds "$tool" "$1"; } > log 2>&1 && numbered "$@"; }
numbered() { diff <(numbers "$1") <(seq 0 $(($2 - 1))) | head > log; [ ! -s log ]; }
# own [N]: each process that reported has a whole file, and says so; there are N files, no others
own() {
	local pid n

	while read -r pid n; do
		whole "t.$pid.fxt" "$n" || return
		grep -qE "^asynctrace: process $pid writes its trace to ($PWD/)?t.$pid.fxt$" err || return
	done < out
	[ "$(ls -- *.fxt | wc -l)" = "${1-$(wc -l < out)}" ]
}
# The parent's file is whole, and each other file is whole, too, and has 1,000 events.
each_whole() {
	local pid n f

	read -r pid n < <(tail -n 1 out)
	for f in t.*.fxt; do
		[ "$f" = "t.$pid.fxt" ] || check "$f" whole "$f" 1000
	done
	check "the parent's file" whole "t.$pid.fxt" "$n"
}
lines() { [ "$(wc -l < "$1")" = "$2" ]; }

# untraced OUT LINES SCENE...: only the parent has a file, and prints this number of lines
untraced() {
	local out=$1 lines=$2 s pid n
	shift 2
	for s; do
		check "$s: the program" scene "$s" "$out"
		read -r pid n < <(tail -n 1 out)
		check "$s: the parent's file" whole "${out/\%p/$pid}" "$n"
		check "$s: no other file" [ "$(ls -- *.fxt)" = "${out/\%p/$pid}" ]
		check "$s: messages" lines err "$lines"
	done
}

if [ "${3-}" = --untraced ]; then
	begin child_with_thread_sanitizer_is_not_traced
	untraced t.%p.fxt 1 many amid silent
	end
	close
	exit
fi

begin child_without_percent_p_is_not_traced
untraced t.fxt 0 many amid silent handlers
end

# traced NAME SCENE N: N processes have files of their own, and there is no other message
traced() {
	begin "$1"
	check "the program" scene "$2"
	check "processes" lines out "$3"
	check "files" own
	check "one message each" lines err "$3"
	end
}

traced children_at_once_have_own_files many 21
traced children_of_children_have_own_files generations 4
traced children_without_events_have_no_file silent 1
traced child_of_open_scope_has_only_its_events scope 2
traced children_forked_amid_writers_have_own_files amid 21
traced child_threads_lose_no_first_event threads 21
traced child_first_event_in_handler_is_recorded handlers 21
traced child_that_changes_users_does_not_hang users 21
traced child_whose_handler_makes_system_calls trapping 2
traced child_waits_while_its_start_is_busy slow 2
traced child_that_cannot_lock_has_one_file lockless 4
traced child_of_bare_clone_is_not_traced cloned 2
traced child_may_begin_with_other_functions others 4
traced child_that_stops_first_has_no_file unwanted 1

begin child_daemon_has_directory_of_start
check "the program" scene daemon
check "two files in the end" soon lines out 2
check "files" soon own
end

begin child_has_settings_of_start
ASYNCTRACE_NAME=mine ASYNCTRACE_CATEGORIES=fork ASYNCTRACE_MODE=circular check "the program" scene changed
check "processes" lines out 2
check "files" own
for f in t.*.fxt; do
	check "$f: name" grep -q '"mine"' <("$tool" dump "$f")
	check "$f: categories" [ -z "$("$tool" dump "$f" | grep '"not recorded"')" ]
done
end

begin child_forked_during_stop_spoils_no_file
check "the program" scene stopped
each_whole
end

begin child_ending_before_its_trace_has_whole_file
check "the program" scene ended
each_whole
end

begin child_with_full_stderr_is_not_delayed
check "the program" scene full
check "processes" lines out 2
each_whole
end

begin child_exits_if_the_start_is_killed
check "the program" scene killed
each_whole
check "the message" grep -q "^asynctrace: ASYNCTRACE_OUT=t.%p.fxt: process [0-9]* could not start its trace in time; its records are lost$" err
check "messages" lines err 2
end

begin child_that_calls_exit_lacks_only_its_end
check "the program" scene abrupt
while read -r pid n; do
	check "events of $pid" numbered "t.$pid.fxt" "$n"
done < out
check "two files" lines out 2
end

begin child_that_cannot_open_its_file_says_so_once
check "the program" scene nowhere d/t.%p.fxt
check "messages" [ "$(grep -cxF "asynctrace: ASYNCTRACE_OUT=d/t.%p.fxt: No such file or directory; not tracing" err)" = 2 ]
check "no other but the parent's" lines err 3
read -r pid n < out
check "the parent's file" whole "e/t.$pid.fxt" "$n"
end

begin child_that_cannot_check_its_file_removes_it
check "the program" scene statless
check "the message" grep -qxF "asynctrace: ASYNCTRACE_OUT=t.%p.fxt: Operation not permitted; not tracing" err
check "files" own
end

begin child_keeps_existing_file
check "the program" scene taken
read -r pid n < out
check "the file is as it was" [ "$(cat "t.$pid.fxt")" = precious ]
check "the trace" whole "t.$pid.2.fxt" "$n"
check "the message" grep -qxF "asynctrace: $PWD/t.$pid.fxt exists: process $pid writes its trace to $PWD/t.$pid.2.fxt" err
end

begin child_event_within_the_start_is_dropped
check "the program" scene within
check "files" own
check "processes" lines out 2
check "it counts" grep -q '^asynctrace: 1 records dropped, 0 overwritten' err
end


close
