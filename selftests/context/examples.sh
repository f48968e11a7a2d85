#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# examples.sh LOOP TOOL: examples of the documentation of Node's AsyncListener must print what that
# documentation says, and their traces must have contexts as operations. LOOP is the example
# program, TOOL is asynctrace.
set -u

loop=$1
tool=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

. "$(dirname "$0")/../lib.sh"

# Run EXAMPLE with a trace. The output must be the lines, and the trace must be valid.
prints() { # EXAMPLE LINE...
	example=$1
	shift
	ASYNCTRACE_OUT=$dir/$example.fxt "$loop" "$example" >"$dir/out" 2>"$dir/err" || return 1
	printf '%s\n' "$@" | diff - "$dir/out" && ! [ -s "$dir/err" ] &&
		"$tool" validate --quiet "$dir/$example.fxt"
}

ok "N10_example_error_is_handled_and_not_ran" prints errors "uid: 0 is about to run" \
	"handled error just threw:" "Error: everything is fine"
ok "N63_example_masks_pass_over_files" prints masks "create: TIMER" "create: TIMER"
ok "N26_example_error_below_a_socket" prints below "caught: from fs"
ok "N47_example_removed_summons_three" prints removed "You summoned me? TIMER" \
	"You summoned me? TIMER" "You summoned me? NEXTTICK"
ok "H9_example_locals" prints locals "timer: alice" "pool: alice" "after the pool's work: alice" \
	"tick: alice" "timer: bob" "pool: bob" "after the pool's work: bob" "tick: bob"

# An error ends the process, so its trace must have an unfinished context.
unhandled() {
	ASYNCTRACE_OUT=$dir/unhandled.fxt "$loop" unhandled >"$dir/out" 2>"$dir/err"
	[ $? = 1 ] && [ "$(cat "$dir/out")" = "exit with status 1" ] &&
		grep -q "NEXTTICK: error -1: random message" "$dir/err" &&
		[ "$("$tool" report --json "$dir/unhandled.fxt" unfinished 2>/dev/null |
		     jq -r .type)" = context/NEXTTICK ] &&
		"$tool" dump "$dir/unhandled.fxt" | grep -q 'instant "context" "error".*"message":string="random message"'
}
ok "N34_example_exit_hook_and_unfinished_work" unhandled

# The tree of a timer must contain the work that it starts, the pool's part of it, and a tick.
tree() {
	id=$("$tool" why --json --type context/TIMER --slowest 1 "$dir/locals.fxt" 2>/dev/null |
	     jq -r .id)
	"$tool" report --json "$dir/locals.fxt" tree "$id" 2>/dev/null |
		jq -r '"\(.depth) \(.kind) \(.what | ltrimstr(" ") | sub("^ +"; ""))"' >"$dir/tree"
	diff - "$dir/tree" <<-END
	0 operation context/TIMER
	1 region context/TIMER
	1 operation context/USER
	2 operation context/THREADPOOL
	3 region context/THREADPOOL
	2 region context/USER
	2 operation context/NEXTTICK
	3 region context/NEXTTICK
	END
}
ok "H1_report_tree_shows_contexts" tree

# While the pool's thread does the work, the loop's thread works on another timer.
why() {
	"$tool" why --json --type context/USER --slowest 1 "$dir/locals.fxt" 2>/dev/null >"$dir/why" &&
		jq -e '(.latency_ns == .running_ns + .unknown_ns + .runnable_ns + .blocked_ns +
			.queued_ns) and ([.parties[].other_operations[]?.name] | index("TIMER"))' \
			"$dir/why" >"$dir/out"
}
ok "G84_why_explains_a_context" why

close
