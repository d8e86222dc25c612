/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of pixels. A row is first a list of shares, from levels or single spans: four states for every column of pixels.
 * Then the shares are painted. In a high row they are stacked; in a low row their colours are mixed.
 */

const STACK_PX = 6;               /* lower rows are mixed */
const ORDER = [WORKING, SENDING, RECEIVING, WAITING]; /* from the bottom up */
const SHOWN = pollers.length ? [...ORDER, POLLING] : ORDER;

/* "#rrggbb" to three numbers. */
function rgb(text) {
	const v = parseInt(text.trim().slice(1), 16);
	return [v >> 16 & 255, v >> 8 & 255, v & 255];
}

function pixel([r, g, b]) {
	return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
}

function mix(a, b, share) {
	return a.map((v, i) => Math.round(v + (b[i] - v) * share));
}

class Painter {
	constructor() {
		this.patterns = false;
		this.readColours();
	}
	readColours() {
		const css = getComputedStyle(document.documentElement), get = (n) => css.getPropertyValue("--" + n);
		this.css = {};
		for (const n of ["bg", "raised", "line", "text", "dim", "accent", "row", "loop", "edge", "problem", ...STATES])
			this.css[n] = get(n).trim();
		this.rgb = STATES.map((s) => rgb(this.css[s]));
		this.rowRgb = rgb(this.css.row);
		const dark = this.dark = rgb(this.css.bg)[0] < 128;
		this.solid = Uint32Array.from(this.rgb.map(pixel));
		this.line = Uint32Array.from(this.rgb.map((c) => pixel(mix(c, dark ? [0, 0, 0] : [255, 255, 255], 0.55))));
		this.back = pixel(this.rowRgb);
		this.bg = pixel(rgb(this.css.bg));
	}
	/* Does the state's pattern set this pixel? Working is solid, waiting hatched, sending lined, receiving dotted,
	 * polling hatched the other way. */
	patterned(state, x, y) {
		switch (state) {
		case WAITING: return (x + y) % 6 < 1;
		case SENDING: return y % 4 === 0;
		case POLLING: return (x + 5 * y) % 6 < 1;
		case RECEIVING: return x % 4 === 0 && y % 4 < 2;
		default: return false;
		}
	}
	/* Rows [y, y + h) of the picture from shares. polling: share of each column, or null. */
	row(px, w, y, h, shares, polling) {
		if (h < STACK_PX)
			this.mixed(px, w, y, h, shares, polling);
		else
			this.stacked(px, w, y, h, shares, polling);
	}
	mixed(px, w, y, h, s, polling) {
		const c = this.rgb, back = this.rowRgb;
		for (let x = 0, i = 0; x < w; x++, i += 4) {
			const known = s[i] + s[i + 1] + s[i + 2] + s[i + 3], p = polling ? polling[x] : 0, none = Math.max(0, 1 - known - p);
			let v = 255 << 24;
			for (let k = 0; k < 3; k++)
				v |= Math.min(255, s[i] * c[0][k] + s[i + 1] * c[1][k] + s[i + 2] * c[2][k] + s[i + 3] * c[3][k] +
					p * c[POLLING][k] + none * back[k]) << 8 * k;
			for (let at = y * w + x, n = 0; n < h; n++, at += w)
				px[at] = v;
		}
	}
	stacked(px, w, y, h, s, polling) {
		const bottom = y + h;
		for (let x = 0, i = 0; x < w; x++, i += 4) {
			let sum = 0, at = bottom;
			for (let o = 0; o < 4; o++) {
				const state = ORDER[o];
				sum += s[i + state];
				const to = bottom - Math.round((sum < 1 ? sum : 1) * h);
				if (to < at)
					at = this.fill(px, w, x, to, at, state);
			}
			if (polling && polling[x] > 0)
				at = this.fill(px, w, x, Math.max(y, Math.min(at, bottom - Math.round((sum + polling[x]) * h))), at, POLLING);
			for (let yy = y; yy < at; yy++)
				px[yy * w + x] = this.back;
		}
	}
	/* Column x from y0 to y1, upwards; returns y0. */
	fill(px, w, x, y0, y1, state) {
		const colour = this.solid[state];
		for (let yy = y0, at = y0 * w + x; yy < y1; yy++, at += w)
			px[at] = colour;
		if (this.patterns && state !== WORKING)
			for (let yy = y0; yy < y1; yy++)
				if (this.patterned(state, x, yy))
					px[yy * w + x] = this.line[state];
		return y0;
	}
}

/* Edges of the columns of pixels, in steps of the levels; the same for all rows. */
function levelEdges(levels, t0, t1, w) {
	const index = new Int32Array(w + 1), part = new Float32Array(w + 1);
	const step = (levels.t1 - levels.t0) / levels.steps;
	for (let x = 0; x <= w; x++) {
		let p = (t0 + (t1 - t0) * x / w - levels.t0) / step;
		p = Math.max(0, Math.min(levels.steps, p));
		index[x] = Math.min(levels.steps - 1, Math.floor(p));
		part[x] = p - index[x];
	}
	return {index, part, perPixel: w * step / (t1 - t0)};
}

/* Adds the shares of a row of levels to out. */
function sharesOfLevels(sums, edges, w, out) {
	const {index, part, perPixel} = edges;
	for (let s = 0; s < 4; s++) {
		let i = index[0] * 4 + s, before = sums[i] + part[0] * (sums[i + 4] - sums[i]);
		for (let x = 1, at = s; x <= w; x++, at += 4) {
			i = index[x] * 4 + s;
			const now = sums[i] + part[x] * (sums[i + 4] - sums[i]);
			out[at] += (now - before) * perPixel;
			before = now;
		}
	}
}

/* The first of n sorted values that is greater than t. */
function firstAfter(list, n, t) {
	let lo = 0, hi = n;
	while (lo < hi) {
		const mid = (lo + hi) >> 1;
		if (list[mid] > t)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* [a, b) in pixels adds weight to state s of out. */
function addStretch(out, w, a, b, s, weight) {
	if (a < 0)
		a = 0;
	if (b > w)
		b = w;
	if (b <= a)
		return;
	let x = Math.floor(a);
	const last = Math.min(w - 1, Math.floor(b));
	if (x === last) {
		out[x * 4 + s] += (b - a) * weight;
		return;
	}
	out[x * 4 + s] += (x + 1 - a) * weight;
	for (x++; x < last; x++)
		out[x * 4 + s] += weight;
	out[last * 4 + s] += (b - last) * weight;
}

/* Adds one rank's spans of a tile. */
function sharesOfSpans(tile, rank, t0, t1, w, weight, out) {
	const r = tile.ranks.get(rank), k = w / (t1 - t0);
	if (!r)
		return;
	const lo = Math.max(t0, tile.t0), hi = Math.min(t1, tile.t1);
	addStretch(out, w, (lo - t0) * k, (hi - t0) * k, WORKING, weight);
	for (let i = firstAfter(r.b, r.n, lo); i < r.n && r.a[i] < hi; i++) {
		if (r.state[i] === WORKING)
			continue;
		if (r.late[i] > r.a[i])
			insteadOfWork(out, w, (Math.max(r.a[i], lo) - t0) * k, (Math.min(r.late[i], hi) - t0) * k, WAITING, weight);
		insteadOfWork(out, w, (Math.max(r.late[i], lo) - t0) * k, (Math.min(r.b[i], hi) - t0) * k, r.state[i], weight);
	}
}

/* In [a, b) the rank does not work, but is in state s; -1: nothing is known. */
function insteadOfWork(out, w, a, b, s, weight) {
	const x = Math.floor(a);
	if (b <= a)
		return;
	if (Math.floor(b) === x && x >= 0 && x < w) {
		out[x * 4 + WORKING] -= (b - a) * weight;
		if (s >= 0)
			out[x * 4 + s] += (b - a) * weight;
		return;
	}
	addStretch(out, w, a, b, WORKING, -weight);
	if (s >= 0)
		addStretch(out, w, a, b, s, weight);
}
