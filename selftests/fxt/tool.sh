#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# tool.sh BIN: run asynctrace dump and validate, built in the directory BIN, as users do, and
# compare with what Perfetto finds in traces that they call clean
set -u
bin=$1
here=$(dirname "$0")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0 skipped=0

ok() { passed=$((passed + 1)); echo "ok - $1"; }
bad() { failed=$((failed + 1)); echo "not ok - $1"; shift; for l in "$@"; do echo "# $l"; done; }
skip() { skipped=$((skipped + 1)); echo "ok - $1 # SKIP $2"; }

# exits WHAT STATUS COMMAND...: the command exits with STATUS; its output is in $tmp/out
exits() {
	what=$1 want=$2
	shift 2
	"$@" > "$tmp/out" 2>&1
	got=$?
	if [ "$got" = "$want" ]; then ok "$what"; else bad "$what" "exit status $got, not $want" "$(head -n 5 "$tmp/out")"; fi
}
says() { # says WHAT TEXT: the last command printed TEXT
	if grep -qF -- "$2" "$tmp/out"; then ok "$1"; else bad "$1" "no '$2' in: $(head -n 5 "$tmp/out")"; fi
}
same() { # WHAT FILE FILE
	if cmp -s "$2" "$3"; then ok "$1"; else bad "$1" "$(diff "$2" "$3" | head -n 5)"; fi
}
value() { awk -v k="$1" '$1 == k { print $2 }' "$2"; }

tool=$bin/tool
"$bin/traces" server "$tmp/good.fxt" 500 > "$tmp/good" 2>/dev/null
"$bin/traces" lossy "$tmp/lossy.fxt" 500 > "$tmp/lossy" 2>/dev/null
"$bin/traces" rpc "$tmp/rpc.fxt" 20 > /dev/null 2>&1
"$bin/traces" nested "$tmp/nested.fxt" > "$tmp/nested" 2>/dev/null
"$bin/traces" load "$tmp/load.fxt" 5000 > /dev/null 2>&1
"$bin/traces" evil "$tmp/evil.fxt" > /dev/null 2>&1
"$bin/traces" twice "$tmp/twice.fxt" > /dev/null 2>&1
head -c 100001 "$tmp/good.fxt" > "$tmp/cut.fxt"
head -c 5000 /dev/urandom > "$tmp/noise.fxt"
: > "$tmp/empty.fxt"
# Cut before the last record, and in the middle of a record behind a damaged one
"$tool" dump --offsets "$tmp/good.fxt" | tail -n 1 | sed 's/ .*//' > "$tmp/out"
head -c $((0x$(cat "$tmp/out"))) "$tmp/good.fxt" > "$tmp/noend.fxt"
{ head -c 8 "$tmp/good.fxt"; head -c 8 /dev/zero | tr '\000' '\032'; tail -c +9 "$tmp/cut.fxt"; } > "$tmp/cut-lossy.fxt"

# --- validate
exits "a good trace is clean" 0 "$tool" validate "$tmp/good.fxt"
says "it says so" "clean: "
exits "expectations that hold" 0 "$tool" validate --expect-async request=500 --cross-thread request "$tmp/good.fxt"
exits "one less is wrong" 1 "$tool" validate --expect-async request=499 "$tmp/good.fxt"
says "with both numbers" '500 of "request", not 499'
exits "no such operation is wrong" 1 "$tool" validate --cross-thread nothing "$tmp/good.fxt"
exits "losses leave ends open" 1 "$tool" validate "$tmp/lossy.fxt"
says "and the remedy is told" "--allow-open"
exits "which excuses them" 0 "$tool" validate --allow-open "$tmp/lossy.fxt"
exits "rpc_trace_is_clean" 0 "$tool" validate --expect-async call=20 --expect-async handle=20 "$tmp/rpc.fxt"
says "A11_rpc_has_20_flows" " 20 flows,"
exits "nested durations are clean" 0 "$tool" validate "$tmp/nested.fxt"
exits "load_trace_is_clean" 0 "$tool" validate --expect-async request=100 "$tmp/load.fxt"
says "load_operation_has_50_events" " 5003 events of"
exits "validate_cut_file_exits_3" 3 "$tool" validate "$tmp/cut.fxt"
says "validate_cut_file_warns" "warning: truncated: 1, first at byte"
says "validate_cut_file_says_why" "the file is cut: it ends within a record"
says "validate_cut_file_is_not_called_clean" "clean, but its end is missing: "
exits "validate_cut_at_record_exits_3" 3 "$tool" validate "$tmp/noend.fxt"
says "validate_cut_at_record_warns" "warning: no-end: 1, first at byte"
exits "validate_cut_and_damaged_exits_1" 1 "$tool" validate "$tmp/cut-lossy.fxt"
exits "validate_quiet_cut_file_exits_3" 3 "$tool" validate -q "$tmp/cut.fxt"
if [ -s "$tmp/out" ]; then bad "prints nothing" "$(cat "$tmp/out")"; else ok "prints nothing"; fi
exits "noise is no trace" 2 "$tool" validate "$tmp/noise.fxt"
says "the message says why" "not a Fuchsia trace"
exits "validate_empty_file_exits_2" 2 "$tool" validate "$tmp/empty.fxt"
says "validate_empty_file_says_empty" "empty.fxt: it is empty"
exits "a file that is not there" 2 "$tool" validate "$tmp/absent.fxt"
says "is named" "absent.fxt: No such file or directory"
exits "a directory cannot be read" 2 "$tool" validate "$tmp"
exits "no file" 2 "$tool" validate
exits "two files" 2 "$tool" validate "$tmp/good.fxt" "$tmp/good.fxt"
exits "an unknown option" 2 "$tool" validate --nonsense "$tmp/good.fxt"
exits "an expectation without a number" 2 "$tool" validate --expect-async request "$tmp/good.fxt"
for n in "" x -1 +1 " 1" 1x 0x1 18446744073709551616 18446744073709551617 -18446744073709551115; do
	exits "a window of '$n'" 2 "$tool" validate --window "$n" "$tmp/good.fxt"
	says "is none" "not '$n'"
	exits "an expectation of '$n'" 2 "$tool" validate --expect-async "request=$n" "$tmp/good.fxt"
	says "is none" "not 'request=$n'"
done
exits "a window of no events" 2 "$tool" validate --window 0 "$tmp/good.fxt"
exits "the largest window" 0 "$tool" validate --window 18446744073709551615 "$tmp/good.fxt"
exits "an expectation of none" 1 "$tool" validate --expect-async request=0 "$tmp/good.fxt"
exits "rules are listed" 0 "$tool" validate --rules
says "by name" "async-orphan"


exits "names that a terminal would obey are wrong in findings" 1 "$tool" validate "$tmp/evil.fxt"
says "shown with escapes" '"x\x1b]0;t\x07\ny: clean"\\" of thread'
says "also those beyond ASCII, but for text" 'end "\xc2\x9b31m€"'
if LC_ALL=C grep -q "$(printf '[\001-\010\013-\037\177]\\|\302[\200-\237]')" "$tmp/out"; then
	bad "and not sent to it" "$(cat -v "$tmp/out")"
else
	ok "control characters are escaped"
fi
if [ "$(wc -l < "$tmp/out")" = 3 ]; then
	ok "line feeds are escaped"
else
	bad "nor are they lines" "$(cat -v "$tmp/out")"
fi

for f in good lossy cut; do
	"$tool" validate --json "$tmp/$f.fxt" > "$tmp/$f.json"
done
exits "JSON is JSON" 0 python3 -c '
import json, sys
good, lossy, cut = (json.load(open(f)) for f in sys.argv[1:])
assert good["clean"] and not good["violations"] and good["asyncs"] == 500
assert not lossy["clean"] and lossy["losses"] > 0
assert cut["clean"] and not cut["complete"] and good["complete"] and lossy["complete"]
assert [v["rule"] for v in cut["violations"] if v["excused"]].count("truncated") == 1
' "$tmp/good.json" "$tmp/lossy.json" "$tmp/cut.json"

# --- compressed files and pipes give the same records
"$tool" dump "$tmp/good.fxt" > "$tmp/text"
gzip -k "$tmp/good.fxt"
zstd -q "$tmp/good.fxt"
{ head -c 40000 "$tmp/good.fxt" | zstd -q; tail -c +40001 "$tmp/good.fxt" | zstd -q; } > "$tmp/two.zst"
{ head -c 40000 "$tmp/good.fxt" | gzip; tail -c +40001 "$tmp/good.fxt" | gzip; } > "$tmp/two.gz"
# Of standard input, zstd does not know the size, so the file asks for the whole window.
zstd -q --long=31 < "$tmp/good.fxt" > "$tmp/long.zst"
for f in good.fxt.gz good.fxt.zst two.gz two.zst long.zst; do
	"$tool" dump "$tmp/$f" > "$tmp/text2"
	same "dump of $f" "$tmp/text" "$tmp/text2"
done
{ head -c 13; sleep 0.1; cat; } < "$tmp/good.fxt" | "$tool" dump - > "$tmp/text2"
same "dump of a pipe that brings 13 bytes first" "$tmp/text" "$tmp/text2"
"$tool" validate - < "$tmp/good.fxt.zst" > "$tmp/out"
says "validate of standard input" "clean: "
head -c 5000 "$tmp/good.fxt.zst" > "$tmp/cut.zst"
head -c 5000 "$tmp/good.fxt.gz" > "$tmp/cut.gz"
for f in cut.zst cut.gz; do
	exits "validate_${f}_exits_3" 3 "$tool" validate "$tmp/$f"
	exits "dump_${f}_exits_3" 3 "$tool" dump "$tmp/$f"
	says "dump_${f}_says_cut" "the file is cut"
done
exits "dump_cut_pipe_exits_3" 3 sh -c 'head -c 5000 "$2" | "$1" dump -' sh "$tool" "$tmp/good.fxt"
says "dump_cut_pipe_says_cut" "asynctrace dump: -: at byte "

# --- dump
if [ "$(wc -l < "$tmp/text")" = "$(sed 's/.*"records":\([0-9]*\).*/\1/' "$tmp/good.json")" ]; then
	ok "one line per record"
else
	bad "one line a record" "$(wc -l < "$tmp/text") lines"
fi
"$tool" dump --events "$tmp/good.fxt" > "$tmp/events"
want=$(($(value events "$tmp/good") + $(value switches "$tmp/good") + $(value wakeups "$tmp/good") + 3))
if [ "$(wc -l < "$tmp/events")" = "$want" ]; then ok "events alone"; else bad "events alone" "$(wc -l < "$tmp/events"), not $want"; fi
grep -c ' async-begin "http" "request" id 0x4d0000000' "$tmp/events" > "$tmp/out"
says "events as text" 500
exits "each line is JSON" 0 sh -c '"$1" dump --json "$2" | python3 -c "
import json, sys
n = 0
for line in sys.stdin:
    r = json.loads(line)
    n += r[\"record\"] == \"async-end\" and r[\"name\"] == \"request\" and r[\"args\"][\"n\"] > 0
assert n == 500, n"' sh "$tool" "$tmp/good.fxt"
exits "arguments of one name are all in the JSON" 0 sh -c '"$1" dump --events --json "$2" | python3 -c "
import json, sys
def unique(pairs):
    assert len(dict(pairs)) == len(pairs), pairs
    return dict(pairs)
args = { r[\"name\"]: r[\"args\"] for r in
	(json.loads(l, object_pairs_hook=unique) for l in sys.stdin) }
assert args[\"all\"] == { \"n\": [1, 2, -3], \"text\": [\"a\", \"n\"], \"one\": 7 }, args
assert args[\"none\"] == { \"n\": 1, \"n\\x01\": 2, \"nn\": 3 }, args"' sh "$tool" "$tmp/twice.fxt"
"$tool" dump --offsets "$tmp/good.fxt" | sed 's/ .*//; s/^0*\(.\)/\1/' > "$tmp/text2"
"$tool" dump --offsets --json "$tmp/good.fxt" |
	python3 -c 'import json, sys
for line in sys.stdin: print("%x" % json.loads(line)["offset"])' > "$tmp/out"
same "offsets in JSON are those of the text" "$tmp/text2" "$tmp/out"
"$tool" dump --json "$tmp/good.fxt" > "$tmp/out"
if [ -s "$tmp/out" ] && ! grep -q '"offset"' "$tmp/out"; then ok "offsets only if asked for"; else bad "offsets only if asked for"; fi
exits "dump_cut_file_exits_3" 3 "$tool" dump "$tmp/cut.fxt"
says "dump_cut_file_says_so" "the file is cut: it ends within a record ("
says "dump_cut_file_says_what_is_shown" "all whole records are shown"
"$tool" dump "$tmp/cut.fxt" > "$tmp/text2" 2>/dev/null
head -n "$(wc -l < "$tmp/text2")" "$tmp/text" > "$tmp/out"
same "dump_cut_file_shows_its_records" "$tmp/out" "$tmp/text2"
exits "dump_cut_at_record_exits_3" 3 "$tool" dump "$tmp/noend.fxt"
says "dump_cut_at_record_says_no_end" "the end is missing"
exits "noise is not shown" 2 "$tool" dump "$tmp/noise.fxt"
exits "no file to dump" 2 "$tool" dump
exits "nowhere to write to" 1 sh -c '"$1" dump "$2" > /dev/full' sh "$tool" "$tmp/good.fxt"

# --- memory: 32 MiB of addresses suffice for a file of 256 MiB
if [ "${bin##*/}" = plain ]; then
	"$bin/traces" big "$tmp/big.fxt" 256 > /dev/null 2>&1
	exits "256 MiB in 32 MiB of addresses" 0 sh -c 'ulimit -v 32768; exec "$1" validate "$2"' sh "$tool" "$tmp/big.fxt"
	exits "shown in 32 MiB, too" 0 sh -c 'ulimit -v 32768; "$1" dump "$2" > /dev/null' sh "$tool" "$tmp/big.fxt"
	rm -f "$tmp/big.fxt"
	"$bin/traces" server "$tmp/many.fxt" 20000 > /dev/null 2>&1
	exits "a small window is enough if order is close to time" 0 "$tool" validate --window 5000 --expect-async request=20000 "$tmp/many.fxt"
fi

# --- Perfetto
perfetto() { # WHAT FILE OPTION...
	what=$1
	shift
	node "$here/../perfetto/check.mjs" "$@" > "$tmp/out" 2>&1
	status=$?
	if grep -q 'npm' "$tmp/out" && [ $status = 77 ]; then
		skip "$what" "$(grep -m1 npm "$tmp/out")"
	elif [ $status = 0 ] && ! grep -q '^not ok\|# SKIP' "$tmp/out"; then
		ok "$what"
	else
		bad "$what" "$(grep -A3 '^not ok\|SKIP\|rror' "$tmp/out" | head -n 8)"
	fi
}
if [ "${bin##*/}" = plain ]; then
	perfetto "Perfetto finds all of a good trace" "$tmp/good.fxt" --async request --count 500 \
		--slice handle --count 500 --counter depth --min-wakers 500
	perfetto "and no fault in one with losses" "$tmp/lossy.fxt" --max-open 100 \
		--slice "lost records"
	perfetto "A13_perfetto_joins_flows_of_two_processes" "$tmp/rpc.fxt" --no-sched \
		--flow-across 40 --async call --count 20 --async handle --count 20
	perfetto "Perfetto finds all durations that begin together" "$tmp/nested.fxt" --no-sched --no-flow \
		--slice work --count "$(value durations "$tmp/nested")"
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
