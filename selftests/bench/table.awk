# SPDX-License-Identifier: GPL-2.0
#
# Print the table, bench.json and the limits from the rows that the benchmarks print.
# Variables: json, its name; cpu, the processor; missing, macros without a row.

$1 == "bar" {
	if (!($2 in needs))
		event[++events] = $2
	needs[$2] = $3
	limit[$2] = $4
	always[$2] = $5 == "always"
	next
}

$1 == "most" {
	if (!($2 in most))
		bounded[++bounds] = $2
	most[$2] = $3
	next
}

{
	name = $1
	gsub(/[":]/, "", name)
	if (!(name in ns))
		order[++n] = name
	if (!(name in ns) || $2 < ns[name])
		ns[name] = $2 + 0
}

# ns as reads of the counter; t = "" or "_2threads"
function reads(name, t) {
	return ns[name t] / ns["counter_read" t]
}

function verdict(ok, name, text) {
	printf "%s %-40s %s\n", ok ? "ok  " : "FAIL", name, text
	ok ? passed++ : failed++
}

function at_most(name, value, max) {
	verdict(value <= max, name, sprintf("%5.2f (at most %.2f)", value, max))
}

function pair(name) {
	return sprintf(" %8.2f %8.2f", ns[name], ns[name "_2threads"])
}

END {
	printf "{\n" > json
	for (i = 1; i <= n; i++)
		printf "  \"%s\": %.2f%s\n", order[i], ns[order[i]], i < n ? "," : "" > json
	printf "}\n" > json

	printf "%s; columns: 1 and 2 threads\n\n", cpu
	printf "%-30s %17s %11s  %-5s %17s %17s %17s %17s %6s\n", "", "recorded: ns", "reads", "needs",
	       "other category: ns", "nothing on: ns", "LTTng-UST: ns", "LTTng off: ns", "times"
	for (i = 1; i <= events; i++) {
		e = event[i]
		printf "%-30s%s %5.2f %5.2f  %-5d%s%s%s%s %6.1f\n", e, pair(e), reads(e, ""),
		       reads(e, "_2threads"), needs[e], pair(e "_other"), pair(e "_off"),
		       pair("lttng_" e), pair("lttng_" e "_off"), ns["lttng_" e] / ns[e]
		seen[e] = seen[e "_other"] = seen[e "_off"] = 1
	}
	print ""
	for (i = 1; i <= n; i++)
		if (!(order[i] in seen) && order[i] !~ /_2threads$|^lttng_/)
			printf "%-30s%s %5.2f %5.2f\n", order[i], pair(order[i]), reads(order[i], ""),
			       reads(order[i], "_2threads")

	print "\nreads of the counter:"
	for (i = 1; i <= events; i++)
		if (limit[event[i]])
			for (t = 1; t <= 2; t++)
				at_most(event[i] (t == 1 ? "" : ", 2 threads"),
					reads(event[i], t == 1 ? "" : "_2threads"), limit[event[i]])
	print "\nothers:"
	at_most("5 x async_begin_int32 : LTTng-UST", 5 * ns["async_begin_int32"] / \
		ns["lttng_async_begin_int32"], 1)
	for (i = 1; i <= events; i++)
		if (!always[event[i]] && ns[event[i] "_off"] > worst)
			worst = ns[event[i] "_off"]
	at_most("the slowest disabled event, reads", worst / ns["counter_read"], 0.07)
	for (i = 1; i <= bounds; i++)
		at_most(bounded[i] ", reads", reads(bounded[i], ""), most[bounded[i]])
	verdict(missing == "", "each macro has a row", missing == "" ? "" : "not " missing)
	printf "%d passed, %d failed, 0 skipped\n", passed, failed
	exit failed != 0
}
