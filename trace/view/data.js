/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes the packs of the page (trace/view/pack.h) to arrays at their first use. */

/* Packs have the first four. A rank that polls does so in all time that no other state is known of. */
const STATES = ["waiting", "working", "sending", "receiving", "polling"];
const WAITING = 0, WORKING = 1, SENDING = 2, RECEIVING = 3, POLLING = 4;
const DECODE_MS = 10;  /* of a frame */
const KIND_UNKNOWN = 0, KIND_STATE = 1, KIND_CALL = 5;

function bytesOfBase64(text) {
	if (Uint8Array.fromBase64)
		return Uint8Array.fromBase64(text);
	const raw = atob(text), out = new Uint8Array(raw.length);
	for (let i = 0; i < raw.length; i++)
		out[i] = raw.charCodeAt(i);
	return out;
}

function packText(id) {
	const e = document.getElementById(id);
	return e ? e.textContent : "";
}

/* Variable-length integers, exact up to 2^53. */
class Reader {
	constructor(bytes) {
		this.b = bytes;
		this.at = 0;
	}
	more() {
		return this.at < this.b.length;
	}
	uv() {
		let v = 0, shift = 1, c;
		do {
			c = this.b[this.at++];
			v += (c & 127) * shift;
			shift *= 128;
		} while (c > 127);
		return v;
	}
	sv() {
		const v = this.uv();
		return v % 2 ? -(v + 1) / 2 : v / 2;
	}
}

const meta = JSON.parse(packText("meta"));
/* What a row is: imported traces have processors. */
const RANK = meta.imported ? "processor" : "rank";

/* Unsuccessful tests are counted, not recorded: [rank, tests, ns]. What is not known of other traces may be something else. */
const pollers = meta.partial || meta.damage.length || meta.untimed ? [] : meta.polls;
const pollSeconds = new Map(pollers.map(([rank, , ns]) => [rank, ns * 1e-9]));

/* A rank's seconds in each state. The sums of the trace have unsuccessful tests among waiting. */
function rankTotals(rank) {
	const s = meta.totals.slice(4 * rank, 4 * rank + 4), polling = Math.min(s[WAITING], pollSeconds.get(rank) || 0);
	s[WAITING] -= polling;
	return [...s, polling];
}

/* State of a kind of span; -1: not known. */
function stateOfKind(kind) {
	if (kind >= KIND_CALL)
		return meta.fns[meta.places[meta.sigs[2 * (kind - KIND_CALL)]][0]][1];
	return kind - KIND_STATE;
}

/* One window's spans: rank -> {kind, a, b, late, first}. Between spans the rank works. Up to late[i], a call only waits. */
function decodeSpans(bytes, t0, t1) {
	const r = new Reader(bytes), ranks = new Map();
	const sigs = meta.sigs.length / 2;
	let total = 0;
	while (r.more()) {
		const rank = r.uv(), n = r.uv(), first = r.uv() - 1, len = r.uv(), end = r.at + len;
		const kind = new Uint32Array(n), state = new Int8Array(n), a = new Float64Array(n), b = new Float64Array(n);
		const late = new Float64Array(n);
		let t = n ? t0 + r.sv() : 0;
		for (let i = 0; i < n; i++) {
			kind[i] = r.uv();
			const waits = kind[i] >= KIND_CALL + sigs;
			kind[i] -= waits ? sigs : 0;
			state[i] = stateOfKind(kind[i]);
			a[i] = t += r.uv();
			b[i] = t += r.uv();
			late[i] = a[i] + (waits ? r.uv() : 0);
		}
		r.at = end;
		ranks.set(rank, {n, kind, state, a, b, late, first});
		total += n;
	}
	return {t0, t1, ranks, total};
}

/* Shares of states in equal steps, as running sums: an interval of time costs two look-ups. */
class Levels {
	constructor(bytes, ranks, steps, t0, t1, firstRank = 0) {
		Object.assign(this, {bytes, ranks, steps, t0, t1, firstRank});
		this.rows = new Map();
	}
	/* Running sums over 2^k ranks from rank group * 2^k on: (steps + 1) x 4 values, in whole steps. */
	row(k, group) {
		const key = group * 32 + k, old = this.rows.get(key);
		if (old)
			return old;
		const r0 = (group << k) - this.firstRank, r1 = Math.min(((group + 1) << k) - this.firstRank, this.ranks);
		const sums = new Float32Array((this.steps + 1) * 4), scale = 1 / (255 * (r1 - r0));
		const acc = [0, 0, 0, 0];
		for (let i = 0; i < this.steps; i++)
			for (let s = 0; s < 4; s++) {
				let v = 0;
				for (let r = r0; r < r1; r++)
					v += this.bytes[(r * this.steps + i) * 4 + s];
				acc[s] += v * scale;
				sums[(i + 1) * 4 + s] = acc[s];
			}
		this.rows.set(key, sums);
		if (this.rows.size > 6000)
			this.rows.delete(this.rows.keys().next().value);
		return sums;
	}
}

/* Single calls in the page: columns of equal duration from the start of the run on. */
class EmbeddedSpans {
	constructor() {
		this.text = packText("pack-columns");
		this.width = meta.columns.width;
		this.end = meta.columns.chars.length ? meta.columns.end : 0;
		this.offset = [0];
		for (const n of meta.columns.chars)
			this.offset.push(this.offset[this.offset.length - 1] + n);
		this.tile = new Map();
	}
	get n() {
		return meta.columns.chars.length;
	}
	get(i) {
		let t = this.tile.get(i);
		if (!t) {
			const bytes = bytesOfBase64(this.text.slice(this.offset[i], this.offset[i + 1]));
			const t0 = Math.floor(i * this.width), t1 = Math.min(Math.floor((i + 1) * this.width), this.end);
			t = decodeSpans(bytes, t0, i + 1 === this.n ? this.end : t1);
			this.tile.set(i, t);
		}
		return t;
	}
	/* Tiles of the window. A tile is null if the page does not reach that far, or if its decoding must wait for the next
	 * frame; in that case `waiting` is set. */
	window(t0, t1) {
		this.waiting = false;
		if (!this.n || Math.min(t1, meta.end) > this.end)
			return null;
		const out = [], begin = performance.now();
		const from = Math.max(0, Math.floor(t0 / this.width)), to = Math.min(this.n - 1, Math.floor(t1 / this.width));
		for (let i = from; i <= to; i++) {
			if (!this.tile.has(i) && performance.now() - begin > DECODE_MS) {
				this.waiting = true;
				return null;
			}
			out.push(this.get(i));
		}
		return out;
	}
}

const PAUSE_MS = 1000, PAUSE_MAX_MS = 60000;

/* Data of the server: fetched once, kept, and drawn when it has arrived. */
class ServerTiles {
	constructor(onload) {
		this.tile = new Map();
		this.onload = onload;
		this.busy = 0;
		this.pause = PAUSE_MS;
	}
	get(path, decode) {
		const old = this.tile.get(path);
		if (old !== undefined)
			return old;
		if (this.busy >= 4 || this.rests)
			return null;
		this.busy++;
		this.tile.set(path, null);
		fetch(path, {cache: "no-store"}).then((r) => r.ok ? r.arrayBuffer() : null).then((buf) => {
			this.tile.set(path, buf ? decode(new Uint8Array(buf)) : false); /* refused: too much for one answer */
			this.failed = false;
			this.pause = PAUSE_MS;
		}).catch(() => {
			this.tile.delete(path);
			this.rest();
		}).finally(() => {
			this.busy--;
			if (this.tile.size > 200)
				this.tile.delete(this.tile.keys().next().value);
			this.onload();
		});
		return null;
	}
	/* The server has gone: ask again after a pause, which doubles each time. */
	rest() {
		this.pause = this.failed ? Math.min(PAUSE_MAX_MS, 2 * this.pause) : PAUSE_MS;
		this.failed = true;
		this.rests = true;
		clearTimeout(this.timer);
		this.timer = setTimeout(() => {
			this.rests = false;
			this.onload();
		}, this.pause);
	}
	/* Parts of the run of power-of-two length; two or three of them cover the window. */
	parts(t0, t1) {
		const z = Math.max(0, Math.min(40, Math.floor(Math.log2(meta.end / Math.max(1, t1 - t0)))));
		const width = meta.end / 2 ** z, out = [];
		for (let i = Math.max(0, Math.floor(t0 / width)); i * width < Math.min(t1, meta.end); i++)
			out.push([Math.floor(i * width), Math.min(meta.end, Math.floor((i + 1) * width))]);
		return out;
	}
	all(list) {
		return list.every((t) => t) ? list : null;
	}
	spans(t0, t1, r0, r1) {
		return this.all(this.parts(t0, t1).map(([a, b]) =>
			this.get(`spans?r0=${r0}&r1=${r1}&t0=${a}&t1=${b}`, (bytes) => decodeSpans(bytes, a, b))));
	}
	levels(t0, t1, r0, r1) {
		let n = 2048;
		while (n > 256 && n * (r1 - r0) > 1 << 20)
			n /= 2;
		return this.all(this.parts(t0, t1).map(([a, b]) =>
			this.get(`levels?r0=${r0}&r1=${r1}&t0=${a}&t1=${b}&n=${n}`,
				(bytes) => new Levels(bytes, r1 - r0, n, a, b, r0))));
	}
	messages(t0, t1) {
		return this.all(this.parts(t0, t1).map(([a, b]) =>
			this.get(`messages?t0=${a}&t1=${b}`, (bytes) => new Messages(bytes, a))));
	}
}

/* Messages, in order of sending. */
class Messages {
	constructor(bytes, t0) {
		const r = new Reader(bytes), src = [], dst = [], a = [], b = [], size = [], tag = [];
		let t = t0;
		this.longest = 0;
		while (r.more()) {
			src.push(r.uv());
			dst.push(r.uv());
			t += r.sv();
			const d = r.sv();
			a.push(t);
			b.push(t + d);
			size.push(r.uv());
			tag.push(r.sv());
			this.longest = Math.max(this.longest, d);
		}
		Object.assign(this, {src, dst, a, b, size, tag, n: src.length});
	}
	/* The first message sent at t or later. */
	find(t) {
		let lo = 0, hi = this.n;
		while (lo < hi) {
			const mid = (lo + hi) >> 1;
			if (this.a[mid] < t)
				lo = mid + 1;
			else
				hi = mid;
		}
		return lo;
	}
	/* Indexes of the messages that overlap the window; null if more than max messages would have to be searched. */
	window(t0, t1, max) {
		const from = this.find(t0 - this.longest), to = this.find(t1), out = [];
		if (to - from > max)
			return null;
		for (let i = from; i < to; i++)
			if (this.b[i] >= t0)
				out.push(i);
		return out;
	}
}

/* Marks of the loops: begin and end of every stride iterations. */
function decodeMarks() {
	const r = new Reader(bytesOfBase64(packText("pack-marks")));
	for (const l of meta.loops) {
		let t = 0;
		l.a = new Float64Array(l.marks);
		l.b = new Float64Array(l.marks);
		for (let i = 0; i < l.marks; i++) {
			l.a[i] = t += r.uv();
			l.b[i] = t += r.uv();
		}
	}
}

/* Calls and ns per rank and function: [rank * fns + fn]. */
function decodeRanks() {
	const r = new Reader(bytesOfBase64(packText("pack-ranks"))), n = meta.ranks * meta.fns.length;
	const calls = new Float64Array(n), ns = new Float64Array(n);
	for (let i = 0; i < n && r.more(); i++) {
		calls[i] = r.uv();
		ns[i] = r.uv();
	}
	return {calls, ns};
}

function decodePairs() {
	const r = new Reader(bytesOfBase64(packText("pack-pairs"))), out = [];
	while (r.more())
		out.push({src: r.uv(), dst: r.uv(), n: r.uv(), bytes: r.uv()});
	return out;
}
