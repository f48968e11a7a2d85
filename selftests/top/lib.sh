# SPDX-License-Identifier: GPL-2.0
#
# Shared by the tests of asynctrace top: a terminal, and a trace that is written line by line

. "${BASH_SOURCE[0]%/*}/../tools/lib.sh"

# Each terminal has its own server of tmux, because a server takes time to end.
terminals=0
TERMINAL() {
	tmux -L "top-$$-$terminals" -f /dev/null "$@"
}

# terminal COLUMNS LINES [COMMAND]: a new terminal with a shell
terminal() {
	TERMINAL kill-server 2>/dev/null
	terminals=$((terminals + 1))
	LC_ALL=C.UTF-8 TERMINAL new-session -d -x "$1" -y "$2" "exec env PS1='\$ ' sh"
	TERMINAL set -g status off
	TERMINAL resize-window -x "$1" -y "$2"
	soon shows '$'
}

pane() {
	TERMINAL capture-pane -p >pane
}

# shows TEXT: the text is on the screen
shows() {
	pane && grep -qF -e "$1" pane
}

shows_line() {
	pane && grep -qxE -e "$1 *" pane
}

shows_not() {
	pane && ! grep -qF -e "$1" pane
}

keys() {
	TERMINAL send-keys "$@"
}

# Type a line into the terminal's shell.
typed() {
	keys -l "$1"
	keys Enter
}

why() {
	cat err pane 2>/dev/null
	tail -n 1 out 2>/dev/null | cut -c1-1000
}

# last FILTER: jq finds the filter true for the last line of "out"
last() {
	[ "$(tail -n 1 out | jq "$1" 2>>err)" = true ]
}

# Start the feeder. It reads the lines of say(), and writes the trace that they describe to the
# named pipe "trace". close_feed ends it.
open_feed() {
	rm -f trace said
	mkfifo trace said
	"$FEEDER" <said >trace 2>feed-err &
	exec 9>said
}

say() {
	printf '%s\n' "$@" >&9
}

close_feed() {
	exec 9>&-
}

# orders: say 100 operations. Each has 3 ms running, 1 ms runnable and 1 ms blocked. Before that,
# the last one is queued for 5 ms.
orders() {
	local i at

	say "provider 1 100 shop" "thread 1 1 101 worker" "thread 1 2 102 clerk"
	say "switch 0 1 0 101 0" "switch 1 1 0 102 0" "switch 0 2 101 0 3"
	for i in $(seq 100); do
		at=$((i * 20))
		# The clerk begins the order outside of any duration: it is queued until the worker
		# comes.
		[ "$i" = 100 ] && say "begin 1 2 order $i $((at - 5))"
		say "wakeup 0 $((at - 1)).5 101 102" "switch 0 $at 0 101 0"
		[ "$i" = 100 ] || say "begin 1 1 order $i $at"
		say "step 1 1 order $i $((at + 1))" "switch 0 $((at + 2)) 101 0 3" \
			"wakeup 0 $((at + 3)) 101 0" "switch 0 $((at + 4)) 0 101 0" \
			"end 1 1 order $i $((at + 5))" "duration 1 1 work $at.0 $((at + 5)).5" \
			"switch 0 $((at + 6)) 101 0 3"
	done
}
