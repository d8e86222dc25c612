/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The visible window of time and ranks; text of numbers. */

const MIN_WINDOW_NS = 20, MAX_RANK_PX = 84, MIN_ROW_PX = 3;

class Viewport {
	constructor() {
		this.t0 = 0;
		this.t1 = Math.max(1, meta.end);
		this.r0 = 0;              /* first rank, may be a fraction */
		this.rs = meta.ranks;     /* ranks that are visible */
		this.w = 1;               /* of the plot, CSS pixels */
		this.h = 1;
		this.aim = null;          /* an animation's end */
	}
	get span() {
		return this.t1 - this.t0;
	}
	x(t) {
		return (t - this.t0) / this.span * this.w;
	}
	t(x) {
		return this.t0 + x / this.w * this.span;
	}
	get rankPx() {
		return Math.min(MAX_RANK_PX, this.h / this.rs);
	}
	/* Rows are 2^k ranks. */
	get k() {
		return Math.max(0, Math.ceil(Math.log2(MIN_ROW_PX / this.rankPx)));
	}
	y(rank) {
		return (rank - this.r0) * this.rankPx;
	}
	rank(y) {
		return Math.floor(this.r0 + y / this.rankPx);
	}
	get whole() {
		return this.t0 <= 0 && this.t1 >= meta.end;
	}
	setTime(t0, t1) {
		const least = Math.min(MIN_WINDOW_NS, meta.end || 1);
		let span = Math.min(Math.max(t1 - t0, least), Math.max(1, meta.end));
		t0 = (t0 + t1 - span) / 2;
		t0 = Math.max(0, Math.min(t0, Math.max(1, meta.end) - span));
		this.t0 = t0;
		this.t1 = t0 + span;
	}
	setRanks(r0, rs) {
		const least = Math.min(meta.ranks, Math.max(1, this.h / MAX_RANK_PX));
		this.rs = Math.min(Math.max(rs, least), Math.max(meta.ranks, this.h / MAX_RANK_PX));
		this.r0 = Math.max(0, Math.min(r0, meta.ranks - this.rs));
	}
	zoom(factor, x) {
		const t = this.t(x), f = Math.max(MIN_WINDOW_NS / this.span, Math.min(factor, meta.end / this.span));
		this.setTime(t - (t - this.t0) * f, t + (this.t1 - t) * f);
	}
	zoomRanks(factor, y) {
		const r = this.r0 + y / this.rankPx, rs = this.rs * factor;
		this.setRanks(r - (r - this.r0) * factor, rs);
	}
	pan(dx, dy) {
		const dt = dx / this.w * this.span;
		this.setTime(this.t0 + dt, this.t1 + dt);
		if (dy)
			this.setRanks(this.r0 + dy / this.rankPx, this.rs);
	}
}

/* ---- text of numbers ---- */

const UNITS = [["s", 1e9], ["ms", 1e6], ["\u00b5s", 1e3], ["ns", 1]];

function unitOf(ns) {
	return UNITS.find((u) => Math.abs(ns) >= u[1]) || UNITS[3];
}

/* A duration with about three significant digits. */
function duration(ns) {
	if (!isFinite(ns))
		return "not known";
	if (ns === 0)
		return "0 s";
	if (Math.abs(ns) >= 600e9)
		return clock(ns);
	const [name, size] = unitOf(ns), v = ns / size;
	return `${size === 1 ? Math.round(v) : v.toPrecision(v >= 1000 ? 4 : 3).replace(/\.?0+$/, (z) => z.startsWith(".") ? "" : z)} ${name}`;
}

function clock(ns) {
	const s = Math.round(ns / 1e9), h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60;
	const two = (n) => String(n).padStart(2, "0");
	return h ? `${h}:${two(m)}:${two(s % 60)} h` : `${m}:${two(s % 60)} min`;
}

/* A time, as exact as the resolution. */
function instant(ns, resolution) {
	const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(Math.max(1, resolution) / 1e9))));
	return `${(ns / 1e9).toFixed(digits)} s`;
}

function bytesText(v) {
	const unit = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
	let u = 0;
	while (v >= 1024 && u < 5) {
		v /= 1024;
		u++;
	}
	return `${v < 10 && u ? v.toFixed(1) : Math.round(v)} ${unit[u]}`;
}

function count(n) {
	return Math.round(n).toLocaleString("en-US");
}

function many(n, one, more) {
	return `${count(n)} ${n === 1 ? one : more || one + "s"}`;
}

function percent(share) {
	if (!isFinite(share) || share <= 0)
		return "0 %";
	return share < 0.001 ? "< 0.1 %" : `${(share * 100).toFixed(1)} %`;
}

/* Ticks of the time axis: one every `step`, shown as offset from `base` in `unit`. */
function ticks(t0, t1, width) {
	const rough = (t1 - t0) / Math.max(2, width / 110);
	let step;
	if (rough > 20e9) {
		step = [30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400].map((s) => s * 1e9).find((s) => s >= rough) ||
			Math.ceil(rough / 864e11) * 864e11;
	} else {
		const ten = 10 ** Math.floor(Math.log10(rough));
		step = Math.max(1, [1, 2, 5, 10].map((m) => m * ten).find((s) => s >= rough));
	}
	let base = 0, unit = unitOf(Math.max(t1, step));
	if (t1 / step > 5000) { /* too many digits: offsets from a rounder instant */
		unit = unitOf(step);
		base = Math.floor(t0 / (unit[1] * 1000)) * unit[1] * 1000;
	}
	return {step, unit, base, first: Math.ceil(t0 / step) * step};
}

function tickLabel(t, ax) {
	if (ax.step >= 20e9)
		return t === 0 ? "0" : clock(t).replace(/ (h|min)$/, "");
	const v = (t - ax.base) / ax.unit[1];
	const digits = Math.max(0, Math.ceil(-Math.log10(ax.step / ax.unit[1]) - 1e-9));
	return `${ax.base ? "+" : ""}${v.toFixed(Math.min(digits, 6))} ${ax.unit[0]}`;
}

function hostOf(rank) {
	let name = "";
	for (const [first, host] of meta.hosts) {
		if (first > rank)
			break;
		name = host;
	}
	return name;
}

/* ---- helpers that make elements from text, never from markup ---- */

function el(tag, props, ...children) {
	const e = document.createElement(tag);
	for (const [k, v] of Object.entries(props || {}))
		if (k === "class")
			e.className = v;
		else if (k in e && k !== "role")
			e[k] = v;
		else
			e.setAttribute(k, v);
	e.append(...children.filter((c) => c !== null && c !== undefined && c !== false));
	return e;
}
