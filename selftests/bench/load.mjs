// SPDX-License-Identifier: GPL-2.0
//
//	node load.mjs SMALL TRACE OPERATIONS
//
// Print the seconds and the peak memory in KiB that Perfetto's trace processor needs to load a
// trace. To leave out its start and compilation, first loads the trace SMALL. Node has other
// threads, so the smaller of CPU time and elapsed time counts. The trace must have the given
// number of OPERATIONS.

import { openTrace, Unavailable } from '../perfetto/query.mjs';

const [small, path, operations] = process.argv.slice(2);
let began, cpu;

try {
	(await openTrace(small)).close();
	const trace = await openTrace(path, () => {
		began = performance.now();
		cpu = process.cpuUsage();
	});
	const elapsed = (performance.now() - began) / 1e3;
	const { user, system } = process.cpuUsage(cpu);
	const seconds = Math.min(elapsed, (user + system) / 1e6);
	const [{ n }] = await trace.query(
		"select count(*) as n from slice s join track t on s.track_id = t.id " +
		"where t.type = 'legacy_async_global_slice' and s.dur > 0");

	trace.close();
	if (n !== Number(operations))
		throw new Error(`${n} operations, not ${operations}`);
	console.log(seconds.toFixed(3), process.resourceUsage().maxRSS);
} catch (e) {
	console.error(`load.mjs: ${e.message}`);
	process.exitCode = e instanceof Unavailable ? 77 : 1;
}
