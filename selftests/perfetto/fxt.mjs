// SPDX-License-Identifier: GPL-2.0
//
// Writes small FXT files record by record, so that the checks can be tested with files whose
// contents and faults are known. This file shares nothing with the project's writer, because a
// mistake there must not be repeated here.

export const IDLE = -0x80000000;	/* the weight of an idle thread */
const EVENTS = ['instant', 'counter', 'begin', 'end', 'complete', 'asyncBegin',
	'asyncInstant', 'asyncEnd', 'flowBegin', 'flowStep', 'flowEnd'];

// Packs fields, given as [lowest bit, value], into one word.
const word = (...fields) => fields.reduce((w, [bit, v]) => w | (BigInt(v) << BigInt(bit)), 0n);

export class Fxt {
	words = [];
	strings = new Map();
	threads = new Map();

	constructor() {
		this.words.push(0x0016547846040010n);
		this.record(word([16, 1], [20, 1], [52, 4]), 0, stream('test'));	/* provider info */
		this.record(0n, 1, [1000000000n]);			/* ticks per second */
	}

	record(head, type, body) {
		this.words.push(head | word([0, type], [4, body.length + 1]), ...body.map(BigInt));
		return this;
	}

	string(s) {
		if (!this.strings.has(s)) {
			this.strings.set(s, this.strings.size + 1);
			this.record(word([16, this.strings.size], [32, s.length]), 2, stream(s));
		}
		return this.strings.get(s);
	}

	thread(pid, tid) {
		const key = `${pid}/${tid}`;
		if (!this.threads.has(key)) {
			this.threads.set(key, this.threads.size + 1);
			this.record(word([16, this.threads.size]), 3, [pid, tid]);
		}
		return this.threads.get(key);
	}

	// {name: value}: an integer is an int32, a BigInt a koid.
	args(args) {
		return Object.entries(args).flatMap(([name, v]) => {
			const ref = [16, this.string(name)];
			return typeof v === 'bigint' ? [word([0, 8], [4, 2], ref), v]
				: [word([0, 1], [4, 1], ref, [32, v >>> 0])];
		});
	}

	process(pid, name) {
		return this.record(word([16, 1], [24, this.string(name)]), 7, [pid]);
	}

	threadObject(pid, tid, name) {
		const args = this.args({ process: BigInt(pid) });
		return this.record(word([16, 2], [24, this.string(name)], [40, 1]), 7,
			[tid, ...args]);
	}

	// extra: end time or id, for events that have one
	event(type, [pid, tid], ts, name, extra, args = {}) {
		const body = [ts, ...this.args(args), ...(extra === undefined ? [] : [extra])];
		return this.record(word([16, EVENTS.indexOf(type)], [20, Object.keys(args).length],
			[24, this.thread(pid, tid)], [32, this.string('cat')],
			[48, typeof name === 'number' ? name : this.string(name)]), 4, body);
	}

	switch(cpu, ts, out, state, into) {
		const args = this.args({ outgoing_weight: out ? 120 : IDLE,
			incoming_weight: into ? 120 : IDLE });
		return this.record(word([16, 2], [20, cpu], [36, state], [60, 1]), 8,
			[ts, out, into, ...args]);
	}

	wakeup(cpu, ts, tid, waker) {
		const args = { weight: 120,
			...(waker === undefined ? {} : { waker: BigInt(waker) }) };
		const body = [ts, tid, ...this.args(args)];
		return this.record(word([16, Object.keys(args).length], [20, cpu], [60, 2]), 8,
			body);
	}

	bytes() {
		return new Uint8Array(BigUint64Array.from(this.words,
			(w) => BigInt.asUintN(64, w)).buffer);
	}
}

// Returns text as words, padded with zeros.
function stream(text) {
	const bytes = Buffer.alloc(Math.ceil(text.length / 8) * 8);
	bytes.write(text, 'latin1');
	return Array.from({ length: bytes.length / 8 }, (_, i) => bytes.readBigUInt64LE(i * 8));
}
