#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The screen of asynctrace top, in a terminal of tmux
#
# usage: screen.sh ASYNCTRACE FEEDER
set -u

AT=$1 FEEDER=$2
. "${0%/*}/lib.sh"
scratch
trap 'TERMINAL kill-server 2>/dev/null; rm -rf "$work"' EXIT
export AT

# The histogram shows 5 ms as the end of its bucket, which is 5.111807 ms.
numbers='    5\.112    5\.112   10\.000 59\.4 19\.8 19\.8  1\.0  0\.0'

begin "screen_of_a_pipe_shows_exact_numbers"
terminal 80 24
open_feed
typed "$AT top trace"
orders
say "begin 1 1 order 1000 2100" "begin 1 2 parcel 1001 2110" flush
check "open ones at once" soon shows "OPEN: 2, the oldest first"
check "by age" soon shows_line "  t/order           10\.000 ms  0x1000000003e8     shop/100"
check "types, when settled" soon shows_line "t/order            *[0-9.]+$numbers"
check "all analysed" soon shows ", all analysed"
end

begin "e_explains_the_oldest_open_operation"
keys e
check "which" soon shows "WHY: the oldest open operation"
check "why" soon shows "order 0x1000000003e8 had not ended after 10.0 ms: 10.0 queued."
check "now" soon shows "It has been queued for 10.0 ms: no thread works on it."
keys Down Down
check "the second" soon shows_line "> t/parcel           0\.000 ms  0x1000000003e9     shop/100"
check "is meant" soon shows "WHY: the selected operation"
keys Up
check "the first" soon shows_line "> t/order           10\.000 ms  0x1000000003e8     shop/100"
keys Escape
check "the oldest again" soon shows "WHY: the oldest open operation"
keys e
check "no more" soon shows_not "WHY:"
end

begin "frozen_screen_stays_as_it_is"
keys f
check "the screen says FROZEN" soon shows "FROZEN"
say "end 1 1 order 1000 2120" "end 1 2 parcel 1001 2121" "begin 1 2 gift 5 2122" flush
sleep 1
check "as it was" shows "OPEN: 2, the oldest first"
keys f
check "the screen goes on" soon shows "OPEN: 1, the oldest first"
check "at the present" soon shows_line "  t/gift             0\.000 ms  0x100000000005     shop/100"
end

begin "filter_shows_types_with_that_text"
keys /
check "a prompt" soon shows "show only: _"
keys -l "parx"
keys BSpace
check "letters" soon shows "show only: par_"
keys Enter
check "one type" soon shows_not "t/order"
check "that one" soon shows "t/parcel"
check "the screen shows the filter" soon shows "only 'par'"
check "open ones, too" soon shows "OPEN: 1, 0 of the filter"
keys Escape
check "all again" soon shows "t/order"
end

begin "s_sorts_by_the_next_column"
# Sorting by p50 puts parcel first: its only operation takes 11 ms. All 100 operations of order take
# at most 10 ms.
keys s
check "name of the column" soon shows "by p50"
check "the largest first" soon eval 'pane; grep -m1 "^t/" pane | grep -q parcel'
keys S S
check "back, and round" soon shows "by name"
check "by name" soon eval 'pane; grep "^t/" pane | cut -d" " -f1 | sort -c'
keys s
check "as before" soon shows "by rate"
end

begin "t_shows_all_since_the_start"
check "before" soon shows ", last 10 s, "
keys t
check "all" soon shows ", since the start, "
keys t
check "as before" soon shows ", last 10 s, "
end

begin "help_is_shown_and_left"
keys '?'
check "help" soon shows "QUEU  queued: no thread worked on them"
keys x
check "left" soon shows_not "QUEU  queued"
end

begin "screen_fits_its_window"
TERMINAL resize-window -x 120 -y 40
check "wider" soon eval 'pane; [ "$(wc -l <pane)" = 40 ] && grep -q "^q quit" pane && tail -n1 pane | grep -q "^q quit"'
check "the type's column, too" soon shows_line "t/order {34} *[0-9.]+    5.*"
TERMINAL resize-window -x 60 -y 12
check "smaller" soon eval 'pane; tail -n 1 pane | grep -q "^q quit"'
check "open ones are there" soon shows "OPEN: 1"
TERMINAL resize-window -x 30 -y 5
check "too small" soon shows "30x5 is too small: needs 50x10"
TERMINAL resize-window -x 80 -y 24
check "large enough" soon shows_line "t/order  .* 20\.000 .*"
end

begin "low_screen_has_a_title_for_the_explanation"
say "begin 1 1 order 9 2180" "end 1 1 order 9 2181" flush
check "two types" soon shows_line "t/parcel  .*"
keys e
check "explanation" soon shows "WHY: the oldest open operation"
TERMINAL resize-window -x 80 -y 10
check "the lowest screen" soon eval 'pane; [ "$(wc -l <pane)" = 10 ] && head -n 1 pane | grep -q "^asynctrace top:" && tail -n 1 pane | grep -q "^q quit"'
check "has its title" soon shows "WHY: the oldest open operation"
check "in place of the list" shows_not "OPEN:"
TERMINAL resize-window -x 80 -y 24
check "the list is back" soon shows "OPEN: 1"
keys e
check "as before" soon shows_not "WHY:"
end

begin "losses_are_shown"
say "lose 1 23" "begin 1 2 gift 6 2200" flush
check "how many" soon shows "LOST 23 records (23 dropped, 0 overwritten, 0 malformed)"
check "the share" soon shows "% analysed of "
end

begin "selection_ends_with_its_operation"
keys e
keys Down Down
check "the second" soon shows_line "> t/gift .* 0x100000000006 .*"
check "is explained" soon shows "WHY: the selected operation"
say "end 1 2 gift 6 2210" flush
check "then the oldest" soon shows "WHY: the oldest open operation"
check "is not marked" soon shows_line "  t/gift .* 0x100000000005 .*"
keys Down
check "Down begins with the first" soon shows_line "> t/gift .* 0x100000000005 .*"
keys Escape e
check "as before" soon shows_not "WHY:"
end

begin "after_the_end_the_screen_stays"
close_feed
check "the screen says that the trace ended" soon shows ", ended"
check "the first of the open ones" soon shows "  t/gift  "
end

# state_of_terminal NAME: save its settings, modes and text in files with that name
state_of_terminal() {
	typed "stty -g >$1.stty"
	soon [ -s "$1.stty" ]
	TERMINAL display -p '#{cursor_flag} #{alternate_on} #{keypad_flag} #{keypad_cursor_flag} #{mouse_any_flag}' >"$1.flags"
	pane
	grep -v '^\$ *$' pane >"$1.pane"
}

# leaves_with KEY STATUS: KEY ends top, which exits with STATUS and leaves the terminal as it was
leaves_with() {
	terminal 80 24
	rm -f before.* after.* status
	typed "clear; echo this stays"
	soon shows_line "this stays"
	state_of_terminal before
	typed "$AT top trace; echo \$? >status"
	soon shows "q quit"
	keys "$1"
	check "$1 ends it" soon [ -s status ]
	check "status $2" [ "$(cat status)" = "$2" ]
	state_of_terminal after
	check "settings" cmp before.stty after.stty
	check "cursor and screen" cmp before.flags after.flags
	check "the earlier text" grep -qx 'this stays' after.pane
	check "no text of top" soon shows_not "q quit"
}

rm -f trace
mkfifo trace
begin "q_leaves_the_terminal_as_it_was"
leaves_with q 0
end

begin "ctrl_c_leaves_the_terminal_as_it_was"
leaves_with C-c 0
end

begin "error_leaves_the_terminal_with_message"
terminal 80 24
rm -f status
typed "$AT top trace; echo \$? >status"
soon shows "q quit"
head -c 4096 /dev/zero >trace
check "it ends" soon [ -s status ]
check "2" [ "$(cat status)" = 2 ]
check "why" soon shows "cannot read trace: it is not a Fuchsia trace"
check "where" [ "$(TERMINAL display -p '#{alternate_on}')" = 0 ]
end

begin "standard_input_can_be_the_trace"
terminal 80 24
open_feed
typed "cat trace | $AT top -"
orders
say flush
check "types" soon shows_line "t/order  .*$numbers"
keys q
check "keys come from the terminal" soon shows_not "q quit"
close_feed
end

begin "unusable_terminal_message_names_batch"
terminal 80 24
rm -f trace
mkfifo trace
typed "clear; env -u TERM $AT top trace"
check "no TERM" soon shows "asynctrace top: TERM is not set, so the terminal cannot be used"
typed "clear; TERM=nonesuch $AT top trace"
check "unknown" soon shows "asynctrace top: the terminal 'nonesuch' is not known"
typed "clear; TERM=dumb $AT top trace"
check "dumb" soon shows "asynctrace top: the terminal 'dumb' cannot move its cursor; use --batch"
typed "clear; $AT top trace | cat"
check "no terminal" soon shows "asynctrace top: standard output is not a terminal; use --batch"
end

close
