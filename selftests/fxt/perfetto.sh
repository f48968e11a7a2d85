#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# perfetto.sh ASYNCTRACE TRACES: compose a trace with the contents of Perfetto's tests of Fuchsia
# traces. Perfetto must find the rows that its own tests expect, and so must asynctrace.
set -u

at=$(realpath "$1")
traces=$(realpath "$2")
cd "$(dirname "$0")" || exit 1
. ../lib.sh
here=$PWD
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1

"$traces" tables fxt > wanted 2> /dev/null

# same NAME: standard input must be the rows of a table
same() {
	sed -n "s/^$1\t//p" wanted > rows
	cat > found
	[ -s rows ] && diff rows found > err
}

# query TEST NAME SQL: Perfetto must find the rows of a table
queries=() tests=()
query() {
	queries+=("select '$2' as [table]" "$3")
	tests+=("$1 $2")
}

# Run all queries at once, because Perfetto reads the trace each time. A query's rows follow a line
# with the names of the columns.
run_queries() {
	local name table status unavailable=

	node "$here/../perfetto/query.mjs" fxt "${queries[@]}" > all 2> err
	status=$?
	[ $status != 77 ] || unavailable=$(head -n 1 err)
	for name in "${tests[@]}"; do
		table=${name#* }
		begin "${name% *}"
		if [ -n "$unavailable" ]; then
			skipped=$((skipped + 1))
			echo "ok $((passed + failed + skipped)) $test # SKIP $unavailable"
			continue
		fi
		check "the queries succeed" [ $status = 0 ]
		check "the rows" same "$table" < <(awk -v table="$table" '
			$0 == "table" { getline now; getline; next }
			now == table' all)
		end
	done
}

# ours TEST NAME COMMAND...: the rows of a table as asynctrace finds them
ours() {
	begin "$1"
	check "the rows" same "$2" < <("${@:3}")
	end
}

by_thread="from slice s join thread_track t on s.track_id = t.id join thread using (utid)
	join process p using (upid)"

runs="select ts, cpu, dur, end_state, priority, tid from sched join thread using (utid)
	where tid and ts between"
query perfetto_smoke_sched smoke_sched "$runs 19e9 and 20e9 order by ts"
query perfetto_sched sched "$runs 68e9 and 69e9 order by ts"
query perfetto_smoke_slices smoke_depth \
	"select depth, count(*) $by_thread where p.name = 'smoke' group by depth"
query perfetto_workstation_smoke_slices depth \
	"select depth, count(*) $by_thread where p.name = 'workstation' group by depth"
query perfetto_smoke_instants instant \
	"select ts, s.name $by_thread where s.dur = 0 and p.name = 'moments' order by ts"
query perfetto_smoke_counters counter "select ts, printf('%.6f', value), name from counters
	where name like 'cpu_usage:%' order by ts"
# Slices are numbered by their begins. These are not the first ones of this trace.
query perfetto_smoke_flow flow "with first as (select min(slice_out) as id from flow)
	select flow.id, slice_out - first.id, slice_in - first.id from flow, first order by 1"
query perfetto_smoke_type type "select type, name, 1 as n from counter_track
	where name like 'threads:%' union all select t.type, null, count(*) from thread_track t
	join thread using (utid) join process p using (upid) where p.name = 'types' group by t.type"
query perfetto_args_import arg "select distinct key, int_value, string_value, real_value,
	value_type, display_value from args where key = 'ping' or key like 'some%'
	order by key collate binary"
query perfetto_args_series series "select name, value from counters
	where name like 'example_counter%'"
query perfetto_workstation_smoke_args key "select key, count(*) from args join slice s
	using (arg_set_id) where s.name = 'key' group by key order by key"
query perfetto_critical_path path "include perfetto module sched.thread_executing_span;
	select r.ts, c.ts, c.dur, tid from _thread_executing_span_critical_path(
		(select utid from thread where tid = 197), trace_start(), trace_dur()) c
	join thread using (utid) join thread_state r on r.id = root_id order by c.ts"
run_queries

# --- asynctrace ------------------------------------------------------------------------------

# Runs of threads, from the switches to them and away from them
switches() { # FROM TO
	"$at" dump fxt | awk -v OFS='\t' -v from="$1" -v to="$2" '
	$4 == "switch" && $1 >= from && $1 < to {
		ts = $1
		sub("\\.", "", ts)
		sub(/.*=/, "", $NF)
		if ($5 in since && tid[$3] == $5)
			print since[$5], $3, ts - since[$5], $9 == 3 ? "S" : "R", weight[$5], $5
		since[$7] = ts
		tid[$3] = $7
		weight[$7] = $NF
	}' | grep -v '	0$' | sort -n
}

# The number of durations at each depth, of one process
depths() { # PID
	"$at" dump --events fxt | awk -v OFS='\t' -v thread="$1/$1" '
	$2 == thread && $3 == "begin" { n[depth++]++ }
	$2 == thread && $3 == "end" { depth-- }
	END { for (d = 0; d in n; d++) print d, n[d] }'
}

instants() {
	"$at" dump --events fxt | sed -nE 's/^([0-9]+)\.([0-9]+) .* instant "cat" "(task_.*)"$/\1\2\t\3/p'
}

counters() {
	"$at" dump --events fxt | sed -n 's/\(.*\) id 0x0 "\(.*\)":double=/\1 \2 /p' |
		awk -v OFS='\t' '$5 == "\"cpu_usage\"" {
			sub("\\.", "", $1)
			printf "%s\t%.6f\tcpu_usage:%s:0\n", $1, $7, $6
		}'
}

keys() {
	"$at" dump --events fxt | sed -n 's/.* instant "cat" "key" "\(.*\)":uint64=.*/\1/p' |
		LC_ALL=C sort | uniq -c | sed -E 's/ *([0-9]+) (.*)/\2\t\1/'
}

# The critical path of the operation, as threads and the times at which each takes over
path() {
	"$at" why --json --type path fxt | jq -r '.critical_path[] | [.thread.tid, .from_ns] | @tsv' |
		awk '$1 != last { print } { last = $1 }' | tail -n +2
}

sed -n 's/^path\t\(.*\)\t\(.*\)\t.*\t\(.*\)/takes\t\3\t\2/p' wanted | tail -n +2 > takes
cat takes >> wanted
ours dump_has_switches_of_smoke_sched smoke_sched switches 19 20
ours dump_has_switches_of_sched sched switches 68 70
ours dump_has_depths_of_smoke smoke_depth depths 5200
ours dump_has_depths_of_workstation depth depths 5300
ours dump_has_instants_of_smoke instant instants
ours dump_has_counters_of_smoke counter counters
ours dump_has_keys_of_workstation key keys
ours why_finds_perfettos_critical_path takes path
begin dump_has_args_of_each_type
"$at" dump --events fxt | sed -n 's/.* instant "cat" "args" //p' > found
cat > rows <<- 'END'
	"SomeNullArg":null=null "Somedouble":double=3.1415000000000002 "Someint32":int32=-7 "Someint64":int64=-234516543631231 "Someuint32":uint32=2145 "Someuint64":uint64=423621626134123415 "ping":string="pong" "somebool":bool=true "somekoid":koid=18 "someotherbool":bool=false "someotherpointer":pointer=0xabcd "somepointer":pointer=0x2fd10ea19f4
END
check "the arguments" diff rows found
end
close
