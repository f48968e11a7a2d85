// SPDX-License-Identifier: GPL-2.0
//
// Does an independent reader, Perfetto, find in a trace what asynctrace meant to write?
// Each check prints a line, and the rows that break it as comments.

import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openTrace, Unavailable } from './query.mjs';

const USAGE = `usage: check.mjs TRACE [option ...]
  --no-sched            the trace has no kernel part: leave out what needs one
  --no-flow             the trace has no flows
  --no-slice            the trace has no durations
  --max-open N          up to N durations and N async operations may lack their end (default 0)
  --min-requests N      at least N whole async operations
  --flow-across N       exactly N arrows of flows lead from one process to another
  --min-wakers N        at least N wakeups by another thread, not from idle
  --async NAME          async operations of that name; --count N after it: exactly N
  --slice NAME          durations of that name; --count N after it: exactly N
  --counter NAME        a counter of that name has values
The last three may be given more than once.`;

class UsageError extends Error {}

// The slices of an async operation are on one track. An instant in it is a slice
// of length 0 there.
const ASYNC = "slice s join track t on s.track_id = t.id and t.type = 'legacy_async_global_slice'";
const THREAD_SLICE = 'slice s join thread_track t on s.track_id = t.id join thread using (utid) left join process using (upid)';
// The arrows of flows, with the duration and the thread at each end
const ARROW = `flow join slice a on a.id = slice_out join slice b on b.id = slice_in
	join thread_track ta on ta.id = a.track_id join thread tha on tha.utid = ta.utid
	join thread_track tb on tb.id = b.track_id join thread thb on thb.utid = tb.utid`;
const literal = (s) => `'${s.replaceAll("'", "''")}'`;

// A check that nothing is wrong: its SQL selects the wrong rows.
const none = (id, text, sql) => ({ id, text, sql, broken: (rows) => rows });
// A check of a number: its SQL counts rows in a column n, and holds() says if the number is right.
const count = (id, text, from, holds) => ({
	id, text, sql: `select count(*) as n from ${from}`,
	broken: ([row]) => holds(row.n) ? [] : [{ found: row.n }],
});
const some = (n) => n > 0;

function allChecks(o) {
	const named = (id, what, { name, n }, from) => count(`${id}-${name}`,
		`${n ?? 'some'} ${what} named ${name}`, from, n === undefined ? some : (found) => found === n);
	const fewOpen = (id, what, from) => ({
		...none(id, `every ${what} has its end`,
			`select s.ts, s.name, t.id as track from ${from} where s.dur < 0`),
		broken: (rows) => rows.length > o.maxOpen ? rows : [],
	});

	return [
		none('type', 'it is a Fuchsia trace',
			`select 1 where not exists (select 1 from metadata
			 where name = 'trace_type' and str_value = 'fuchsia')`),
		none('stats', 'the importer met no error and lost no data',
			`select name, value from stats
			 where severity in ('error', 'data_loss') and value != 0`),
		none('flow-start', 'every flow step and flow end has its begin',
			`select name, value from stats where value != 0 and
			 name in ('flow_end_without_start', 'flow_step_without_start')`),
		o.slice && count('slice', 'there are durations', THREAD_SLICE, some),
		o.flow && count('flow', 'there are flows', 'flow', some),
		o.flowAcross !== undefined && count('flow-across',
			`${o.flowAcross} arrows lead from one process to another`,
			`${ARROW} where tha.upid != thb.upid`, (n) => n === o.flowAcross),
		o.sched && count('sched', 'there are context switches', 'sched', some),
		o.sched && count('thread-state', 'there are thread states', 'thread_state', some),

		o.sched && o.slice && none('join', 'threads with durations have context switches of their own',
			`select distinct tid, utid, thread.name from ${THREAD_SLICE}
			 where utid not in (select utid from sched)
			 and coalesce(process.name, '') != 'asynctrace'`),
		none('tid', 'no two threads have one tid',
			`select tid, count(*) as threads, group_concat(utid) as utids from thread
			 where tid != 0 group by tid having threads > 1`),
		none('process', 'every thread belongs to a process',
			`select tid, utid, thread.name from thread left join process using (upid)
			 where tid != 0 and coalesce(pid, 0) = 0`),
		none('process-name', 'every process has a name',
			"select pid, upid from process where pid != 0 and coalesce(name, '') = ''"),
		o.sched && none('idle', 'idle CPUs run no thread',
			'select ts, dur, cpu from sched join thread using (utid) where tid = 0'),
		o.sched && none('cpu', 'a CPU runs one thread at a time',
			`select ts, dur, cpu, following, tid from (select *, lead(ts) over
			 (partition by ucpu order by ts, id) as following from sched)
			 join thread using (utid)
			 where following is not null and (dur < 0 or ts + dur > following)`),
		o.sched && o.minWakers !== undefined && count('wakers',
			`${o.minWakers} wakeups name the other thread that caused them`,
			`thread_state s join thread w on w.utid = s.waker_utid
			 where w.tid != 0 and w.utid != s.utid`, (n) => n >= o.minWakers),

		fewOpen('slice-end', 'duration', THREAD_SLICE),
		fewOpen('async-end', 'async operation', ASYNC),
		none('async-orphan', 'async instants lie inside an operation',
			`select s.ts, s.name, t.id as track from ${ASYNC}
			 where s.dur = 0 and s.parent_id is null`),
		none('async-id', 'no two async operations at a time have one id',
			`select s.ts, s.name, t.id as track from ${ASYNC}
			 join slice p on p.id = s.parent_id
			 where s.dur != 0 and s.name = p.name`),
		o.minRequests !== undefined && count('requests', `${o.minRequests} or more async operations`,
			`${ASYNC} where s.parent_id is null and s.dur > 0`, (n) => n >= o.minRequests),
		...o.async.map((a) => named('async', 'async operations', a,
			`${ASYNC} where s.name = ${literal(a.name)} and s.dur != 0`)),
		...o.slices.map((a) => named('slice', 'durations', a,
			`${THREAD_SLICE} where s.name = ${literal(a.name)}`)),
		...o.counter.map((a) => named('counter', 'values of a counter', a,
			`counter join track t on t.id = track_id
			 where t.name = ${literal(a.name)} or
			 substr(t.name, 1, ${a.name.length + 1}) = ${literal(a.name + ':')}`)),
	].filter(Boolean);
}

export function parseOptions(args) {
	const o = { slice: true, flow: true, sched: true, maxOpen: 0,
		async: [], slices: [], counter: [] };
	const list = { '--async': o.async, '--slice': o.slices, '--counter': o.counter };
	const number = { '--max-open': 'maxOpen', '--min-requests': 'minRequests', '--min-wakers': 'minWakers',
		'--flow-across': 'flowAcross' };
	let last;

	for (let i = 0; i < args.length; i++) {
		const arg = args[i];
		const value = () => {
			if (args[i + 1] === undefined)
				throw new UsageError(`${arg} wants a value`);
			return args[++i];
		};
		const natural = () => {
			const v = value();
			if (!/^[0-9]+$/.test(v))
				throw new UsageError(`${arg} wants a number, not ${v}`);
			return Number(v);
		};
		if (/^--no-(sched|flow|slice)$/.test(arg))
			o[arg.slice(5)] = false;
		else if (number[arg])
			o[number[arg]] = natural();
		else if (list[arg])
			list[arg].push(last = { name: value() });
		else if (arg === '--count' && last)
			last.n = natural();
		else if (arg.startsWith('--'))
			throw new UsageError(`unknown or misplaced option ${arg}`);
		else if (o.trace === undefined)
			o.trace = arg;
		else
			throw new UsageError(`one trace at a time, not also ${arg}`);
	}
	if (o.trace === undefined)
		throw new UsageError('which trace?');
	return o;
}

// Runs the checks. Returns [{ id, text, rows }]; rows is empty if the check passes.
export async function check(options) {
	let trace;
	try {
		trace = await openTrace(options.trace);
	} catch (e) {
		if (e instanceof Unavailable || e.syscall)
			throw e;
		return [{ id: 'load', text: 'it loads', rows: [{ error: e.message }] }];
	}
	const results = [{ id: 'load', text: 'it loads', rows: [] }];
	for (const { id, text, sql, broken } of allChecks(options))
		results.push({ id, text, rows: broken(await trace.query(sql)) });
	trace.close();
	return results;
}

// Prints results as KTAP; a skipped one has the reason in skip. Returns the exit status.
export function report(results) {
	const failed = results.filter((r) => r.rows.length > 0).length;
	const skipped = results.filter((r) => r.skip).length;

	console.log(`KTAP version 1\n1..${results.length}`);
	results.forEach(({ id, text, rows, skip }, i) => {
		console.log(`${rows.length ? 'not ok' : 'ok'} ${i + 1} - ${id}: ${text}${skip ? ` # SKIP ${skip}` : ''}`);
		for (const row of rows.slice(0, 5))
			console.log('# ' + Object.entries(row).map(([k, v]) => `${k}=${v}`).join(' '));
		if (rows.length > 5)
			console.log(`# and ${rows.length - 5} more`);
	});
	console.log(`${results.length - failed - skipped} passed, ${failed} failed, ${skipped} skipped`);
	return failed ? 1 : skipped === results.length ? 77 : 0;
}

// Runs main if this file is the program, and turns exceptions into an exit status.
export async function program(url, main) {
	if (!process.argv[1] || realpathSync(process.argv[1]) !== fileURLToPath(url))
		return;
	try {
		process.exitCode = report(await main(process.argv.slice(2)));
	} catch (e) {
		if (e instanceof Unavailable) {
			process.exitCode = report([
				{ id: 'load', text: 'trace processor', rows: [], skip: e.message },
			]);
			return;
		}
		console.error(e instanceof UsageError ? `check.mjs: ${e.message}\n${USAGE}` : e.syscall ? e.message : e);
		process.exitCode = e instanceof UsageError ? 2 : 1;
	}
}

await program(import.meta.url, (args) => check(parseOptions(args)));
