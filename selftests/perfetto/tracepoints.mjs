// SPDX-License-Identifier: GPL-2.0
//
// Does Perfetto find the events of the kernel's tracepoints in a trace, on the right threads?
//
//	node tracepoints.mjs ASYNCTRACE TRACE ...
//
// Compares the number of events by thread, category and name with those that asynctrace dump
// prints. Each check prints a line.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { check, parseOptions, program } from './check.mjs';
import { openTrace } from './query.mjs';

const KERNEL = 1;	/* the provider of the kernel's records */
const key = ({ tid, category, name }) => `${tid} ${category}:${name}`;

// Counts the events that the dump prints.
async function dumped(tool, trace) {
	const dump = spawn(tool, ['dump', '--json', trace], { stdio: ['ignore', 'pipe', 'inherit'] });
	const counts = new Map();

	for await (const line of createInterface({ input: dump.stdout })) {
		const r = JSON.parse(line);

		if (r.record === 'instant' && r.provider === KERNEL && r.category !== 'asynctrace')
			counts.set(key(r), (counts.get(key(r)) ?? 0) + 1);
	}
	return counts;
}

// Counts the events that Perfetto has on tracks of threads.
async function imported(path) {
	const trace = await openTrace(path);
	const rows = await trace.query(`select tid, category, s.name as name, count(*) as n
		from slice s join thread_track t on s.track_id = t.id join thread using (utid)
		where s.dur = 0 group by tid, category, s.name`);

	trace.close();
	return new Map(rows.map((row) => [key(row), row.n]));
}

async function compare(tool, trace) {
	const ours = await dumped(tool, trace), theirs = await imported(trace);
	const rows = [...ours].filter(([k, n]) => theirs.get(k) !== n)
		.map(([k, n]) => ({ event: k, dumped: n, imported: theirs.get(k) ?? 0 }));
	const all = [...ours.values()].reduce((sum, n) => sum + n, 0);

	return [
		{ id: 'some', text: `${trace} has ${all} events of tracepoints`,
			rows: all ? [] : [{ found: 0 }] },
		{ id: 'events', text: 'each is on its thread', rows },
	];
}

await program(import.meta.url, async ([tool, ...traces]) => {
	const results = [];

	for (const trace of traces) {
		const options = parseOptions([trace, '--no-flow', '--no-slice', '--no-sched',
			'--max-open', '1000000']);

		results.push(...await check(options), ...await compare(tool, trace));
	}
	return results;
});
