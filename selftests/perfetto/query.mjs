// SPDX-License-Identifier: GPL-2.0
//
// Queries a trace with SQL by Perfetto's trace processor:
//
//	node query.mjs [--json] TRACE "SQL" ["SQL" ...]
//
// or import openTrace. Integers are returned as numbers, or as BigInt (with --json as strings)
// if a number would not be exact. Works with node 18 and later.

import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, readSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const CHUNK = 16 << 20;		/* half of the processor's request buffer */

// Thrown if the tool is not available, which is no fault of the trace
export class Unavailable extends Error {}

let runtime;

// Fetches and compiles once per process. Each trace gets an instance.
async function loadRuntime() {
	let dir;
	try {
		dir = execFileSync(join(dirname(fileURLToPath(import.meta.url)), 'fetch'),
			{ encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
	} catch (e) {
		const why = e.stderr?.trim() || e.message;
		throw e.status === 77 ? new Unavailable(why) : new Error(why);
	}
	const { EngineBase } = await import(pathToFileURL(join(dir, 'engine.mjs')).href);
	const wasm = readFileSync(join(dir, 'trace_processor.wasm'));
	const module = new WebAssembly.Module(wasm);
	// The bundle was built for a web worker and uses only these globals.
	const start = new Function('self', 'WorkerGlobalScope', 'XMLHttpRequest', 'WebAssembly', 'console',
		readFileSync(join(dir, 'engine_bundle.node.js'), 'utf8'));
	return { EngineBase, wasm, module, start };
}

// Runs the bundle in a worker scope and connects to the engine.
async function startEngine() {
	runtime ??= loadRuntime();
	const { EngineBase, wasm, module, start } = await runtime;
	const self = { location: { href: 'file:///trace_processor' } };
	const quiet = () => {};

	class SyncRequest {
		open() {}
		send() { this.response = wasm; }
	}
	// If a module with 64-bit memory compiles (node 24), the bundle uses the 64-bit build,
	// which the package lacks. So refuse the small module with which the bundle tests that.
	function Module(bytes) {
		if (bytes.length === wasm.length)
			return module;
		if (bytes[8] === 5 && bytes[11] === 4)
			throw new WebAssembly.CompileError('no 64-bit memory, please');
		return new WebAssembly.Module(bytes);
	}
	start(self, class {}, SyncRequest,
		Object.create(WebAssembly, { Module: { value: Module } }),
		{ log: quiet, warn: quiet, error: quiet });

	class Engine extends EngineBase {
		id = 'asynctrace';
		mode = 'WASM';
		port = { postMessage: (data) => this.onRpcResponseBytes(data) };
		// Request and reply are one synchronous call. Be quiet meanwhile, because the
		// engine warns of unknown fields of the reply on every query.
		rpcSendRequestBytes(data) {
			const { warn } = console;
			console.warn = quiet;
			try {
				this.port.onmessage({ data });
			} finally {
				console.warn = warn;
			}
		}
	}
	const engine = new Engine();
	self.onmessage({ data: engine.port });
	// The runtime initializes itself in microtasks.
	await new Promise(setImmediate);
	return engine;
}

const plain = (v) => typeof v === 'bigint' && Number.isSafeInteger(Number(v)) ? Number(v) : v;

// Loads the trace at path. Returns { query(sql) -> array of objects, close() }. Throws if the
// processor refuses the trace. Calls started() before it loads the trace.
export async function openTrace(path, started = () => {}) {
	const fd = openSync(path, 'r');
	let engine;
	try {
		engine = await startEngine();
		started();
		for (;;) {
			const buf = Buffer.allocUnsafe(CHUNK);
			const n = readSync(fd, buf, 0, CHUNK, null);
			if (n === 0)
				break;
			await engine.parse(new Uint8Array(buf.buffer, buf.byteOffset, n));
		}
		await engine.notifyEof();
	} catch (e) {
		throw e instanceof Error ? e : new Error(`${path}: ${e}`);
	} finally {
		closeSync(fd);
	}
	return {
		async query(sql) {
			const result = await engine.query(sql);
			const columns = result.columns();
			const rows = [];
			for (const it = result.iter({}); it.valid(); it.next())
				rows.push(Object.fromEntries(
					columns.map((c) => [c, plain(it.get(c))])));
			return rows;
		},
		close() { engine = null; },
	};
}

async function main(args) {
	const json = args[0] === '--json';
	const [path, ...queries] = args.slice(json ? 1 : 0);
	if (queries.length === 0) {
		console.error('usage: query.mjs [--json] TRACE "SQL" ["SQL" ...]');
		return 2;
	}
	const trace = await openTrace(path);
	for (const sql of queries) {
		const rows = await trace.query(sql);
		if (json) {
			console.log(JSON.stringify(rows, (k, v) => typeof v === 'bigint' ? `${v}` : v));
		} else if (rows.length > 0) {
			console.log(Object.keys(rows[0]).join('\t'));
			for (const r of rows)
				console.log(Object.values(r).map((v) => v ?? '').join('\t'));
		}
	}
	trace.close();
	return 0;
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
	try {
		process.exitCode = await main(process.argv.slice(2));
	} catch (e) {
		console.error(`query.mjs: ${e.message}`);
		process.exitCode = e instanceof Unavailable ? 77 : 1;
	}
}
