#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# asynctrace report lints: each lint on a trace that has it, and on one just below its bound
#
# usage: lints.sh ASYNCTRACE
#
# SEED repeats the random traces.
set -u

AT=$1
here=$(cd "${0%/*}" && pwd)
. "$here/lib.sh"
scratch
export PYTHONDONTWRITEBYTECODE=1
python3 "$here/lint_traces.py" .

# has FILE [OPTION ...]: write the lints of FILE to "out"
has() {
	status 0 "$AT" report --json "${@:2}" "$1.fxt" lints
}

# found FILE LINT SUBJECT COUNT SHARE NS: FILE has this lint and no other
found() {
	check "$1" has "$1"
	check "$1: one" [ "$(wc -l <out)" = 1 ]
	check "$1: lint" is "$2" .lint
	check "$1: subject" is "$3" .subject
	check "$1: count" is "$4" .count
	check "$1: share" is "$5" '.share * 1000 | round'
	check "$1: ns" is "$6" .ns
}

# none FILE...: the files have no lints
none() {
	local f

	for f in "$@"; do
		check "$f" has "$f"
		check "$f: none" [ ! -s out ]
	done
}

begin "self_wake_is_found_above_half_of_10"
found self-wake-11-of-21 self-wake worker-101 11 524 0
check "tid" is 101 .tid
found self-wake-10-of-10 self-wake worker-101 10 1000 0
none self-wake-10-of-20 self-wake-9-of-9
end

begin "never_yields_is_found_from_1s_of_running"
found never-yields-1s never-yields worker-101 1 50 1000000000
check "at" is 0 .example_at_ns
none never-yields-below-1s never-yields-with-sleep never-yields-unfollowed
end

begin "lost_wake_is_found_from_1s_of_sleep"
found lost-wake-1s lost-wake app/job 1 1000 1000000000
check "id" is 0x7 .example_id
check "thread" is 101 .example_tid
check "at" is 30 .example_at_ns
found lost-wake-exited lost-wake app/job 1 1000 1000000000
none lost-wake-below-1s lost-wake-stopped lost-wake-disk lost-wake-woken lost-wake-other-runnable
end

begin "herd_is_found_if_all_but_one_sleep_again"
for f in herd-3 herd-100us; do
	found $f thundering-herd worker-100 1 667 100000
	check "id" is 0x14 .example_id
	check "thread" is 101 .example_tid
done
found herd-interrupt thundering-herd interrupts 1 667 100000
found herd-runs-100us thundering-herd worker-100 1 667 200000
none herd-2 herd-all-idle herd-two-work herd-after-100us herd-runs-longer
end

begin "many_types_are_found_above_1000"
found many-types-1001 many-types machine 1001 1000 0
check "example" is app/job-1000 .example_type
none many-types-1000
end

begin "creation_burst_is_found_from_1000_in_1ms"
found creation-burst-1000 creation-burst app/job0 1 1000 0
found creation-burst-1500-twice creation-burst app/job0 2 1000 0
none creation-burst-999 creation-burst-1ms creation-burst-two-types
end

begin "lints_of_pipe_and_small_window_are_the_same"
for f in *.fxt; do
	check "$f" has "${f%.fxt}"
	cp out whole
	check "$f: pipe" eval 'status 0 "$AT" report --json - lints <"$f"'
	check "$f: same" cmp whole out
	check "$f: window" has "${f%.fxt}" --window 3
	check "$f: same" cmp whole out
done
end

begin "summary_counts_the_lints"
for f in {herd-3,many-types-1001,herd-2}.fxt; do
	has "${f%.fxt}"
	want=$(wc -l <out)
	check "$f" status 0 "$AT" report --json "$f" summary
	check "$f: $want" is "$want" .lints
done
end

begin "lints_of_chosen_operations_name_operations"
check "type" has lost-wake-1s --type job
check "one" [ "$(wc -l <out)" = 1 ]
for o in "--type x" "--provider x" "--category x" "--from 1s" "--to 10ns"; do
	check "$o" has lost-wake-1s $o
	check "$o: none" [ ! -s out ]
done
check "threads" has never-yields-1s --category app
check "none" [ ! -s out ]
check "turn began before" has never-yields-1s --from 1ns
check "none" [ ! -s out ]
check "wakeups of a herd" has herd-3 --from 9us --to 11us
check "one" [ "$(wc -l <out)" = 1 ]
for o in "--min 1ms" "--max 1ms"; do
	check "$o" status 2 "$AT" report $o herd-3.fxt lints
	check "reason" says "which counts operations before they end"
done
end

begin "text_of_lints_equals_csv"
for f in *.fxt; do
	check "$f" status 0 "$AT" report "$f" lints
	mv out "$f.text"
	check "$f: csv" status 0 "$AT" report --csv "$f" lints
	mv out "$f.csv"
done
check "width" eval '! LC_ALL=C.UTF-8 grep -q ".\{101\}" *.text'
check "text" python3 -c '
import csv, glob
for f in glob.glob("*.fxt"):
    rows = list(csv.DictReader(open(f + ".csv", newline="")))
    text = open(f + ".text").read()
    want = ["%s: " % r["lint"] for r in rows] + ["  %s\n" % r["meaning"] for r in rows]
    want += ["at %.3f ms" % (int(r["example_at_ns"]) / 1e6) for r in rows]
    want += ["%.1f %%" % (100 * float(r["share"])) for r in rows]
    if not all(w in text for w in want or ["no lints\n"]):
        raise SystemExit(f)'
end

begin "missing_report_says_why"
check syscalls status 2 "$AT" report herd-3.fxt syscalls
check "why" says "the report syscalls is not supported yet: "
check other status 2 "$AT" report herd-3.fxt trees
check "is not planned" says "there is no report 'trees'"
end

begin "lints_equal_the_records"
seed0=${SEED:-$(date +%s)}
for seed in $(seq "$seed0" $((seed0 + 1))); do
	python3 "$here/machine.py" $seed.fxt $seed lints
	check "SEED=$seed" eval 'python3 "$here/recount_lints.py" "$AT" $seed.fxt lints >err 2>&1'
done
end

close
