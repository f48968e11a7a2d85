// SPDX-License-Identifier: GPL-2.0
//
// Can each check fail? A good trace passes all checks. Each changed trace must fail exactly
// the checks that are named with it. Then the programs are tested.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { check, parseOptions, program } from './check.mjs';
import { Fxt } from './fxt.mjs';
import { openTrace } from './query.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const MAIN = [100, 100], WORKER = [100, 101], CLIENT = [200, 200];
const PREEMPTED = 0, BLOCKED = 3;

// A client and a server with two threads on two CPUs. CPU 0 accepts request 7, hands it to
// the worker and sleeps. The worker preempts the client on CPU 1.
const GOOD = {
	server: (f) => f.process(100, 'server'),
	client: (f) => f.process(200, 'client'),
	mainName: (f) => f.threadObject(100, 100, 'server'),
	workerName: (f) => f.threadObject(100, 101, 'worker'),
	clientName: (f) => f.threadObject(200, 200, 'client'),

	mainIn: (f) => f.switch(0, 1000, 0, 0, 100),
	clientIn: (f) => f.switch(1, 1000, 0, 0, 200),
	call: (f) => f.event('begin', CLIENT, 1010, 'call'),
	flowCall: (f) => f.event('flowBegin', CLIENT, 1020, 'rpc', 8),
	called: (f) => f.event('end', CLIENT, 1030, 'call'),
	accept: (f) => f.event('begin', MAIN, 1100, 'accept'),
	flowAccept: (f) => f.event('flowEnd', MAIN, 1110, 'rpc', 8),
	request: (f) => f.event('asyncBegin', MAIN, 1150, 'request', 7),
	flowJob: (f) => f.event('flowBegin', MAIN, 1200, 'job', 9),
	wakeWorker: (f) => f.wakeup(1, 1300, 101, 100),
	accepted: (f) => f.event('end', MAIN, 1400, 'accept'),
	clientOut: (f) => f.switch(1, 1500, 200, PREEMPTED, 101),
	work: (f) => f.event('complete', WORKER, 1600, 'work', 1900),
	flowWork: (f) => f.event('flowEnd', WORKER, 1700, 'job', 9),
	half: (f) => f.event('asyncInstant', WORKER, 1750, 'request', 7, { percent: 50 }),
	done: (f) => f.event('asyncEnd', WORKER, 1800, 'request', 7),
	queue: (f) => f.event('counter', WORKER, 1850, 'queue', 0, { depth: 3 }),
	workerOut: (f) => f.switch(1, 1900, 101, BLOCKED, 200),
	mainOut: (f) => f.switch(0, 1950, 100, BLOCKED, 0),
	timer: (f) => f.wakeup(0, 1960, 100, 0),
	clientEnd: (f) => f.switch(1, 2000, 200, BLOCKED, 0),
};
const OPTIONS = '--min-wakers 1 --min-requests 1 --async request --count 1 --slice work --count 1 --counter queue --flow-across 1';

// The good trace without some records, with others instead, or with more
function without(...names) {
	return Object.fromEntries(Object.entries(GOOD).filter(([n]) => !names.includes(n)));
}
const replace = (name, record) => ({ ...GOOD, [name]: record });
const also = (record) => ({ ...GOOD, also: record });
const named = (pattern) => Object.keys(GOOD).filter((n) => pattern.test(n));
const build = (records) => {
	const f = new Fxt();
	for (const add of Object.values(records))
		add(f);
	return f.bytes();
};

const SWITCHES = named(/(In|Out|End)$/);
const WAKEUPS = ['wakeWorker', 'timer'];
const FLOWS = named(/^flow/);
const DURATIONS = ['call', 'called', 'accept', 'accepted', 'work'];
const KERNEL = [...SWITCHES, ...WAKEUPS];

// Description, bytes, checks that fail, and options if not the usual ones
const CASES = [
	['the good trace', build(GOOD), []],
	['no magic', build(GOOD).slice(8), ['type', 'stats'], '--no-sched --no-flow --no-slice'],
	['a text', Buffer.from('not a trace, but long enough to be one\n'), ['load']],
	['a record of size 0', build(also((f) => f.words.push(0n))), ['load']],
	['another format', Buffer.from('[{"name":"n","ph":"X","ts":1,"dur":1,"pid":1,"tid":1}]'),
		['type', 'process-name'], '--no-sched --no-flow'],
	['an unknown string', build(also((f) => f.event('instant', MAIN, 1120, 999))), ['stats']],
	['a duration that ends before it begins',
		build(also((f) => f.event('complete', WORKER, 1899, 'w', 1880))), ['stats']],
	['a process argument that is no koid', build(also((f) => f.record(
		0x8002n << 24n | 2n << 16n | 1n << 40n, 7,
		[0x7a6c6c6977n, ...f.args({ process: 100 })]))), ['stats']],
	['a flow without its begin', build(without('flowCall')), ['flow-start', 'flow-across']],
	['a flow whose ends have two ids', build(replace('flowAccept', (f) =>
		f.event('flowEnd', MAIN, 1110, 'rpc', 10))), ['flow-start', 'flow-across']],
	['no durations', build(without(...DURATIONS, ...FLOWS)), ['slice', 'flow', 'flow-across', 'slice-work']],
	['no durations, none wanted', build(without(...DURATIONS, ...FLOWS)), [], '--no-slice --no-flow'],
	['flows outside durations', build(without(...DURATIONS)), ['stats', 'slice', 'flow', 'flow-across', 'slice-work']],
	['no flows', build(without(...FLOWS)), ['flow', 'flow-across']],
	['no flows, none wanted', build(without(...FLOWS)), [], '--no-flow'],
	['no context switches', build(without(...SWITCHES)), ['sched', 'join']],
	['no kernel part', build(without(...KERNEL)), ['sched', 'thread-state', 'join', 'wakers']],
	['no kernel part, none wanted', build(without(...KERNEL)), [], '--no-sched'],
	['a thread that never ran', build(without('clientOut', 'workerOut', 'wakeWorker')), ['join', 'wakers']],
	['no kernel object of a thread', build(without('workerName')), ['join', 'tid', 'process']],
	['a thread claimed by two processes', build(also((f) =>
		f.process(300, 'other').event('complete', [300, 101], 1600, 'theirs', 1700))), ['join', 'tid']],
	['no kernel object of a process', build(without('client')), ['process-name']],
	['idle without its weight', build(replace('mainOut', (f) =>
		f.record(3n << 36n | 1n << 60n, 8, [1950, 100, 0]))), ['idle']],
	['a lost switch', build(without('clientOut')), ['cpu', 'join']],
	['wakeups without wakers', build(replace('wakeWorker', (f) => f.wakeup(1, 1300, 101))), ['wakers']],
	['wakeups only from idle', build(without('wakeWorker')), ['wakers']],
	['a duration without end', build(without('accepted')), ['slice-end']],
	['a duration without end, allowed', build(without('accepted')), [], '--max-open 1'],
	['an async operation without end', build(without('done')), ['async-end', 'requests']],
	['an async operation ended under another name', build(replace('done', (f) =>
		f.event('asyncEnd', WORKER, 1800, 'requests', 7))), ['async-end', 'requests']],
	['an async operation without begin', build(without('request')),
		['async-orphan', 'requests', 'async-request']],
	['two async operations of one id', build(also((f) => f.event('asyncBegin', CLIENT, 1160, 'request', 7)
		.event('asyncEnd', CLIENT, 1170, 'request', 7))), ['async-id', 'async-request']],
	['one async operation too many', build(also((f) => f.event('asyncBegin', CLIENT, 1160, 'request', 6)
		.event('asyncEnd', CLIENT, 1170, 'request', 6))), ['async-request']],
	['a second duration of a name', build(also((f) => f.event('complete', CLIENT, 1910, 'work', 1920))), ['slice-work']],
	['no counter', build(without('queue')), ['counter-queue']],
];

async function mutations(tmp) {
	const results = [];
	const failing = new Set();
	const known = new Set();
	const path = join(tmp, 'mutant.fxt');

	for (const [what, bytes, expected, options] of CASES) {
		writeFileSync(path, bytes);
		const args = options ? options.split(' ') : OPTIONS.split(' ');
		const found = await check(parseOptions([path, ...args]));
		const failed = found.filter((r) => r.rows.length).map((r) => r.id);
		found.forEach((r) => known.add(r.id));
		failed.forEach((id) => failing.add(id));
		const same = String([...failed].sort()) === String([...expected].sort());
		results.push({ id: 'mutation', text: `${what} fails ${expected.join(', ') || 'nothing'}`,
			rows: same ? [] : [{ failed: failed.join(', ') || 'nothing' }] });
	}
	results.push({ id: 'every', text: 'each check was seen to fail',
		rows: [...known].filter((id) => !failing.has(id)).map((never) => ({ never })) });
	return results;
}

async function programs(tmp) {
	const results = [];
	const is = (id, text, got, want) => results.push({ id, text,
		rows: String(got) === String(want) ? [] : [{ got, want }] });
	const run = (file, ...args) =>
		spawnSync(process.execPath, [join(here, file), ...args], { encoding: 'utf8' });
	const good = join(tmp, 'good.fxt'), bad = join(tmp, 'bad.fxt');
	writeFileSync(good, build(GOOD));
	writeFileSync(bad, build(without('done')));

	let r = run('check.mjs', good);
	is('check', 'status 0 and a last line for a good trace', `${r.status} ${r.stdout.trim().split('\n').pop().slice(-19)}`, '0 0 failed, 0 skipped');
	r = run('check.mjs', bad);
	is('check', 'status 1 and a last line for a bad trace', `${r.status} ${r.stdout.trim().split('\n').pop().slice(-19)}`, '1 1 failed, 0 skipped');
	r = run('check.mjs', good, '--count', '1');
	is('check', 'status 2 for --count of nothing', r.status, 2);
	r = run('check.mjs', join(tmp, 'missing.fxt'));
	is('check', 'status 1 and the name for a missing file', `${r.status} ${r.stderr.includes('missing.fxt')}`, '1 true');

	const sql = ['select 9007199254740993 as big, -1 as n, 1.5 as x, null as z', "select 'a' as s"];
	r = run('query.mjs', good, ...sql);
	is('query', 'rows as tab-separated values', r.stdout, 'big\tn\tx\tz\n9007199254740993\t-1\t1.5\t\ns\na\n');
	r = run('query.mjs', '--json', good, sql[0]);
	is('query', 'rows as JSON, integers exact', r.stdout, '[{"big":"9007199254740993","n":-1,"x":1.5,"z":null}]\n');
	r = run('query.mjs', good, 'select nonsense');
	is('query', 'an SQL error is status 1 and said', `${r.status} ${/nonsense/.test(r.stderr)}`, '1 true');

	// A reply of many batches, and a file of more than one read
	const many = new Fxt(), n = 700000;
	many.string('n'), many.string('cat'), many.thread(...MAIN);
	for (let i = 0; i < n; i++)
		many.event('complete', MAIN, 1000 + 10 * i, 'n', 1005 + 10 * i);
	writeFileSync(bad, many.bytes());
	const trace = await openTrace(bad);
	const rows = await trace.query('select ts from slice order by ts');
	trace.close();
	is('query', `a file of ${n} events comes back whole`, rows.length === n && rows.every((row, i) => row.ts === 1000 + 10 * i), true);

	const env = { ...process.env, npm_config_registry: 'http://127.0.0.1:9/', npm_config_cache: join(tmp, 'npm') };
	const fetch = (cache) =>
		spawnSync(join(here, 'fetch'), { encoding: 'utf8', env: { ...env, ...cache } });
	const dir = execFileSync(join(here, 'fetch'), { encoding: 'utf8' });
	is('fetch', 'a full cache needs no registry', `${fetch({}).status} ${fetch({}).stdout}`, `0 ${dir}`);
	r = fetch({ ASYNCTRACE_CACHE: join(tmp, 'empty') });
	is('fetch', 'no registry and an empty cache: status 77, one line', `${r.status} ${r.stderr.trim().split('\n').length}`, '77 1');
	const damaged = join(tmp, 'damaged', dir.trim().split('/').pop());
	mkdirSync(damaged, { recursive: true });
	writeFileSync(join(damaged, 'trace_processor.wasm'), 'not it');
	writeFileSync(join(damaged, 'SHA256SUMS'), '');
	r = fetch({ ASYNCTRACE_CACHE: join(tmp, 'damaged') });
	is('fetch', 'no registry and a damaged cache: status 77, not used', `${r.status} ${r.stdout}`, '77 ');
	return results;
}

await program(import.meta.url, async () => {
	const tmp = mkdtempSync(join(tmpdir(), 'asynctrace-perfetto-'));
	try {
		return [...await mutations(tmp), ...await programs(tmp)];
	} finally {
		rmSync(tmp, { recursive: true });
	}
});
