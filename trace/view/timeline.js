/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time line: overview, loops, axis, rows of ranks, messages. Rows are painted as pixels when the view has
 * changed. Everything above the rows is drawn in every frame.
 */

const OVERVIEW_PX = 30, AXIS_PX = 24, LOOP_PX = 17, LOOP_ROWS = 4, SCROLL_PX = 13, LABEL_PX = 18;
const SPANS_MAX = 300000;  /* spans that one picture is made of */
const ARROWS_MAX = 2500;
const FONT = '12px system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif';

class Timeline {
	constructor(canvas, vp) {
		this.canvas = canvas;
		this.ctx = canvas.getContext("2d", {alpha: false});
		this.vp = vp;
		this.painter = new Painter();
		this.base = new Levels(bytesOfBase64(packText("pack-levels")), meta.ranks, meta.steps, 0, meta.end);
		this.columns = new EmbeddedSpans();
		this.server = meta.served ? new ServerTiles(() => this.redraw(true)) : null;
		this.messages = null;
		this.pollers = pollers.map((p) => p[0]);
		this.showArrows = true;
		this.loop = -1;          /* selected */
		this.problem = -1;       /* selected; of -1 all are shown */
		this.hover = null;
		this.selection = null;   /* stretch being selected, in pixels */
		this.dirty = true;
		this.frames = [];
		this.detail = {};
		this.loopRows = Math.min(LOOP_ROWS, meta.loops.reduce((n, l) => Math.max(n, l.depth + 1), 0));
		this.problemRows = meta.problems.some((p) => p.n) ? 1 : 0;
		this.onview = () => {};
	}

	/* ---- layout ---- */

	resize() {
		const box = this.canvas.parentElement.getBoundingClientRect(), dpr = window.devicePixelRatio || 1;
		this.dpr = dpr;
		this.width = Math.max(200, Math.floor(box.width));
		this.height = Math.max(120, Math.floor(box.height));
		this.canvas.width = Math.round(this.width * dpr);
		this.canvas.height = Math.round(this.height * dpr);
		this.ctx.font = FONT;
		this.left = 22 + Math.ceil(Math.max(...[`all ${RANK}s`, "problems", `${RANK} ${meta.ranks - 1}`, meta.ranks > 64 ? `${meta.ranks}\u2013${meta.ranks}` : "",
			"12.345 s"].map((t) => this.ctx.measureText(t).width)));
		this.loopTop = OVERVIEW_PX + 8;
		this.problemTop = this.loopTop + this.loopRows * LOOP_PX + (this.loopRows ? 4 : 0);
		this.axisTop = this.problemTop + this.problemRows * LOOP_PX + (this.problemRows ? 4 : 0);
		this.top = this.axisTop + AXIS_PX;
		const first = this.vp.h === 1, all = this.vp.rs >= meta.ranks;
		this.vp.w = Math.max(50, this.width - this.left - SCROLL_PX);
		this.vp.h = Math.max(20, this.height - this.top - 6);
		this.vp.setRanks(this.vp.r0, first || all ? meta.ranks : this.vp.rs);
		this.dirty = true;
	}

	/* Visible rows: first rank, number of ranks, y and height in device pixels. */
	rows() {
		const vp = this.vp, k = vp.k, out = [], bottom = Math.round(vp.h * this.dpr);
		const px = vp.rankPx * this.dpr, rowPx = px * 2 ** k, gap = rowPx >= 24 ? 4 : rowPx >= 12 ? 2 : rowPx >= 8 ? 1 : 0;
		for (let g = Math.floor(vp.r0) >> k; g << k < meta.ranks; g++) {
			const rank = g << k, n = Math.min(1 << k, meta.ranks - rank);
			const y0 = Math.round((rank - vp.r0) * px), y1 = Math.round((rank + n - vp.r0) * px);
			if (y0 >= bottom)
				break;
			const top = Math.max(0, y0), h = Math.min(bottom, y1 - gap) - top;
			if (h > 0)
				out.push({k, group: g, rank, n, y: top, h});
		}
		return out;
	}

	/* ---- data of the picture ---- */

	/* Spans or finer levels for this window; null if only the levels of the page are available. */
	findDetail(rows) {
		const vp = this.vp, perPixel = vp.span / (vp.w * this.dpr), step = meta.end / Math.max(1, meta.steps);
		this.detail = {kind: "levels", step};
		this.columns.waiting = false;
		if (!rows.length)
			return null;
		const r0 = rows[0].rank, last = rows[rows.length - 1], r1 = last.rank + last.n;
		const share = (r1 - r0) / meta.ranks * Math.min(1, vp.span / meta.end);
		const spans = this.server || this.columns.end > vp.t0 ? this.allSpans() * share : Infinity;
		const coarse = perPixel > step * 0.75; /* then levels are as good, but for what the pointer finds */
		if (spans <= (coarse ? SPANS_MAX / 6 : SPANS_MAX)) {
			const tiles = this.columns.window(vp.t0, vp.t1) ||
				(this.server && this.server.spans(vp.t0, vp.t1, ...this.block(r0, r1)));
			if (tiles) {
				this.detail = {kind: "spans"};
				return {tiles};
			}
		}
		if (this.server && !coarse) {
			const levels = this.server.levels(vp.t0, vp.t1, ...this.block(r0, r1));
			this.detail = {kind: levels ? "levels" : "loading", step};
			if (levels)
				this.detail.step = (levels[0].t1 - levels[0].t0) / levels[0].steps;
			return levels && {levels};
		}
		if (vp.t1 > this.columns.end || spans > SPANS_MAX)
			this.detail.more = vp.t0 >= this.columns.end;
		return null;
	}

	/* Estimated number of spans of the whole run. */
	allSpans() {
		const c = meta.columns;
		return meta.events || (c.end ? c.spans * meta.end / c.end : meta.ranks * 1e5);
	}

	/* Ranks to ask the server for, in blocks that do not change with every step of scrolling. */
	block(r0, r1) {
		let n = 64;
		while (n < r1 - r0)
			n *= 2;
		const from = Math.floor(r0 / n) * n;
		return [from, Math.min(meta.ranks, Math.max(from + n, Math.ceil(r1 / n) * n))];
	}

	paintRows() {
		const vp = this.vp, w = Math.round(vp.w * this.dpr), h = Math.round(vp.h * this.dpr);
		if (!this.image || this.image.width !== w || this.image.height !== h) {
			this.image = new ImageData(w, h);
			this.pixels = new Uint32Array(this.image.data.buffer);
			this.shares = new Float32Array(w * 4);
		}
		this.pixels.fill(this.painter.bg);
		const rows = this.rows(), detail = this.findDetail(rows);
		const levels = detail && detail.levels ? detail.levels : [this.base];
		const edges = detail && detail.tiles ? null : levels.map((l) => this.edgesWithin(l, w));
		const sum = this.windowShares = STATES.map(() => 0);
		for (const row of rows) {
			this.shares.fill(0);
			if (detail && detail.tiles)
				this.addSpans(detail.tiles, row, w);
			else
				levels.forEach((l, i) => this.addLevels(l, edges[i], row));
			for (let i = 0; i < w * 4; i++)
				sum[i & 3] += this.shares[i] * row.n;
			const polling = this.polling(row, this.shares, vp.t0, vp.t1);
			if (polling)
				sum[POLLING] += polling.reduce((a, b) => a + b, 0) * row.n;
			this.painter.row(this.pixels, w, row.y, row.h, this.shares, polling);
		}
		this.drawn = {rows, detail};
		this.dirty = false;
		if (this.columns.waiting)
			this.redraw(true);
	}

	/* Share of polling in each column of pixels, where `shares` leave time unknown; null if no rank of the row polls. Before its
	 * first and after its last known state a rank does not poll. Between them, the tests' own time is spread over all unknown
	 * time: the rest is what recording them cost. */
	polling({rank, n, k, group}, shares, t0, t1) {
		const i = firstAfter(this.pollers, this.pollers.length, rank - 1), j = firstAfter(this.pollers, this.pollers.length, rank + n - 1);
		if (i === j || !meta.steps)
			return null;
		const sums = this.base.row(k, group), at = (step) => sums[4 * step] + sums[4 * step + 1] + sums[4 * step + 2] + sums[4 * step + 3];
		const step = (share) => { /* the first step of whose end more than this share is known */
			let lo = 0, hi = meta.steps;
			while (lo < hi) {
				const mid = (lo + hi) >> 1;
				if (at(mid + 1) > share)
					hi = mid;
				else
					lo = mid + 1;
			}
			return lo;
		};
		const first = step(0), end = step(at(meta.steps) - 1e-4) + 1, ns = this.pollers.slice(i, j).reduce((a, r) => a + pollSeconds.get(r) * 1e9, 0);
		const part = Math.min(1, ns / n / meta.end * meta.steps / Math.max(1e-9, end - first - at(meta.steps)));
		const w = shares.length / 4, px = (s) => (s * meta.end / meta.steps - t0) / (t1 - t0) * w, out = new Float32Array(w);
		for (let x = Math.max(0, Math.floor(px(first))); x < Math.min(w, Math.ceil(px(end))); x++) {
			const inside = Math.min(x + 1, px(end)) - Math.max(x, px(first));
			out[x] = Math.max(0, inside - shares[4 * x] - shares[4 * x + 1] - shares[4 * x + 2] - shares[4 * x + 3]) * part;
		}
		return out;
	}

	/* Columns of pixels that these levels cover; columns of adjacent tiles do not overlap. */
	edgesWithin(levels, w) {
		return levelEdges(levels, this.vp.t0, this.vp.t1, w);
	}

	addLevels(levels, edges, row) {
		if (meta.steps && row.rank >= levels.firstRank)
			sharesOfLevels(levels.row(row.k, row.group), edges, this.shares.length / 4, this.shares);
	}

	addSpans(tiles, row, w) {
		for (const tile of tiles)
			for (let r = row.rank; r < row.rank + row.n; r++)
				sharesOfSpans(tile, r, this.vp.t0, this.vp.t1, w, 1 / row.n, this.shares);
		if (meta.untimed)
			this.fillGaps(row, w);
	}

	/* If single calls were not kept, levels tell the known states. */
	fillGaps(row, w) {
		const spans = this.shares, levels = this.shares = new Float32Array(w * 4);
		this.addLevels(this.base, levelEdges(this.base, this.vp.t0, this.vp.t1, w), row);
		this.shares = spans;
		for (let i = 0; i < w * 4; i += 4) {
			const gap = 1 - spans[i] - spans[i + 1] - spans[i + 2] - spans[i + 3];
			if (gap > 0.02)
				for (let s = 0; s < 4; s++)
					spans[i + s] += gap * levels[i + s];
		}
	}

	/* ---- frames ---- */

	redraw(changed) {
		this.dirty = this.dirty || changed;
		if (!this.pending) {
			this.pending = true;
			requestAnimationFrame(() => this.frame());
		}
	}

	frame() {
		const begin = performance.now();
		this.pending = false;
		if (this.dirty) {
			this.paintRows();
			this.onview();
		}
		const c = this.ctx;
		c.setTransform(1, 0, 0, 1, 0, 0);
		c.fillStyle = this.painter.css.bg;
		c.fillRect(0, 0, this.canvas.width, this.canvas.height);
		c.putImageData(this.image, Math.round(this.left * this.dpr), Math.round(this.top * this.dpr));
		c.setTransform(this.dpr, 0, 0, this.dpr, 0, 0);
		c.font = FONT;
		c.textBaseline = "middle";
		this.drawOverview();
		this.drawAxis();
		this.drawLoops();
		this.drawProblems();
		this.clip(() => {
			this.drawNames();
			this.drawWaits();
			this.drawIterations();
			this.drawArrows();
			this.drawHover();
		});
		this.drawRanks();
		this.frames.push(performance.now() - begin);
		if (this.frames.length > 500)
			this.frames.shift();
	}

	/* Draw inside the plot, with its corner as origin. */
	clip(draw) {
		const c = this.ctx;
		c.save();
		c.beginPath();
		c.rect(this.left, this.top, this.vp.w, this.vp.h);
		c.clip();
		c.translate(this.left, this.top);
		draw();
		c.restore();
	}

	/* ---- the whole run ---- */

	overviewImage() {
		const w = Math.round(this.vp.w * this.dpr), h = Math.round(OVERVIEW_PX * this.dpr);
		const key = `${w} ${h} ${this.painter.css.bg} ${this.painter.patterns}`;
		if (this.overview && this.overview.key === key)
			return this.overview.image;
		const image = new ImageData(w, h), shares = new Float32Array(w * 4);
		const k = Math.ceil(Math.log2(Math.max(1, meta.ranks)));
		if (meta.steps)
			sharesOfLevels(this.base.row(k, 0), levelEdges(this.base, 0, meta.end, w), w, shares);
		this.painter.row(new Uint32Array(image.data.buffer), w, 0, h, shares, this.polling({rank: 0, n: meta.ranks, k, group: 0}, shares, 0, meta.end));
		this.overview = {key, image};
		return image;
	}

	drawOverview() {
		const c = this.ctx, vp = this.vp, css = this.painter.css;
		c.putImageData(this.overviewImage(), Math.round(this.left * this.dpr), Math.round(4 * this.dpr));
		c.fillStyle = css.dim;
		c.textAlign = "right";
		c.fillText(`all ${RANK}s`, this.left - 10, 4 + OVERVIEW_PX / 2);
		if (vp.whole || !meta.end)
			return;
		const a = this.left + vp.t0 / meta.end * vp.w, b = this.left + vp.t1 / meta.end * vp.w;
		c.globalAlpha = 0.62;
		c.fillStyle = css.bg;
		c.fillRect(this.left, 4, a - this.left, OVERVIEW_PX);
		c.fillRect(b, 4, this.left + vp.w - b, OVERVIEW_PX);
		c.globalAlpha = 1;
		c.strokeStyle = css.text;
		c.lineWidth = 1.5;
		c.strokeRect(a - (b - a < 3 ? 1.5 : 0), 4, Math.max(3, b - a), OVERVIEW_PX);
	}

	drawAxis() {
		const c = this.ctx, vp = this.vp, css = this.painter.css, y = this.axisTop + AXIS_PX;
		if (!meta.end)
			return;
		const ax = ticks(vp.t0, vp.t1, vp.w);
		c.strokeStyle = css.line;
		c.lineWidth = 1;
		c.beginPath();
		c.moveTo(this.left, y - 0.5);
		c.lineTo(this.left + vp.w, y - 0.5);
		c.stroke();
		c.fillStyle = css.dim;
		c.textAlign = "right";
		c.fillText(ax.base ? instant(ax.base, ax.unit[1] * 1000) : "time", this.left - 10, this.axisTop + AXIS_PX / 2);
		c.beginPath();
		c.fillStyle = css.text;
		c.textAlign = "left";
		for (let i = 0, t = ax.first; t <= vp.t1; t = ax.first + ++i * ax.step) {
			const x = Math.round(this.left + vp.x(t)) + 0.5, text = tickLabel(t, ax);
			c.moveTo(x, y - 6);
			c.lineTo(x, y);
			const at = Math.min(x + 4, this.left + vp.w - c.measureText(text).width);
			if (at >= x - 30)
				c.fillText(text, at, y - 12);
		}
		c.strokeStyle = css.dim;
		c.stroke();
	}

	drawRanks() {
		const c = this.ctx, css = this.painter.css, rows = this.drawn.rows;
		/* If rows are lower than labels, every 2nd, 4th, 8th ... row has a label. Labelled rows do not depend on the view. */
		const every = 2 ** Math.max(0, Math.ceil(Math.log2(LABEL_PX / (this.vp.rankPx * 2 ** this.vp.k))));
		const label = (row) => {
			const y = Math.max(this.top + 7, this.top + (row.y + row.h / 2) / this.dpr);
			c.fillText(row.n > 1 ? `${row.rank}\u2013${row.rank + row.n - 1}` : `${RANK} ${row.rank}`, this.left - 10, y);
			return y;
		};
		const on = rows.find((row) => this.hover && this.hover.rank >= row.rank && this.hover.rank < row.rank + row.n);
		c.textAlign = "right";
		c.fillStyle = css.dim;
		rows.filter((row) => row.group % every === 0).forEach(label);
		if (on) {
			const y = this.top + (on.y + on.h / 2) / this.dpr;
			c.fillStyle = css.bg;
			c.fillRect(0, Math.max(this.top, y - 8), this.left - 4, 16);
			c.fillStyle = css.text;
			label(on);
		}
	}

	/* ---- calls by name, when there is room ---- */

	/* Spans of a rank that overlap the window. */
	spansOf(rank, t0, t1, max) {
		const out = [];
		for (const tile of (this.drawn.detail && this.drawn.detail.tiles) || []) {
			const r = tile.ranks.get(rank);
			if (!r)
				continue;
			for (let i = firstAfter(r.b, r.n, Math.max(t0, tile.t0)); i < r.n && r.a[i] < Math.min(t1, tile.t1); i++) {
				if (out.length === max)
					return null;
				out.push({tile, r, i, rank, kind: r.kind[i], state: r.state[i], a: r.a[i], b: r.b[i], late: r.late[i],
					event: r.first >= 0 ? r.first + i : -1});
			}
		}
		return out;
	}

	drawNames() {
		const c = this.ctx, vp = this.vp;
		if (!this.drawn.detail || !this.drawn.detail.tiles || vp.rankPx < 14)
			return;
		c.textAlign = "left";
		for (const row of this.drawn.rows) {
			const y = (row.y + row.h / 2) / this.dpr, spans = this.spansOf(row.rank, vp.t0, vp.t1, 400);
			for (const s of spans || []) {
				const a = Math.max(0, vp.x(s.a)), b = Math.min(vp.w, vp.x(s.b));
				if (b - a >= 3 && s.state >= 0) { /* where one call ends and the next begins */
					c.fillStyle = this.painter.css.bg;
					c.fillRect(b - 0.5, row.y / this.dpr, 1, row.h / this.dpr);
				}
				if (b - a < 46 || s.kind < KIND_CALL)
					continue;
				const name = callName(s.kind).replace(/^MPI_/, ""), width = c.measureText(name).width;
				if (width + 10 > b - a)
					continue;
				c.fillStyle = inkOn(this.painter.rgb[s.state]);
				c.fillText(name, a + 6, y);
			}
		}
	}

	/* ---- loops ---- */

	/* Marks of a loop that overlap the window: indexes [from, to). */
	marks(l) {
		const from = firstAfter(l.b, l.marks, this.vp.t0);
		let to = from, hi = l.marks;
		while (to < hi) {
			const mid = (to + hi) >> 1;
			if (l.a[mid] < this.vp.t1)
				to = mid + 1;
			else
				hi = mid;
		}
		return [from, to];
	}

	drawLoops() {
		const c = this.ctx, css = this.painter.css;
		if (!this.loopRows)
			return;
		c.fillStyle = css.dim;
		c.textAlign = "right";
		c.fillText("loops", this.left - 10, this.loopTop + LOOP_PX / 2);
		c.save();
		c.beginPath();
		c.rect(this.left, this.loopTop, this.vp.w, this.loopRows * LOOP_PX);
		c.clip();
		meta.loops.forEach((l, i) => {
			if (l.depth < this.loopRows)
				this.drawLoop(l, i);
		});
		c.restore();
	}

	/* Draw wide iterations one by one, and narrow iterations in groups. */
	drawLoop(l, index) {
		const vp = this.vp, y = this.loopTop + l.depth * LOOP_PX, [from, to] = this.marks(l);
		const on = index === this.loop;
		for (let i = from; i < to;) {
			const a = vp.x(l.a[i]);
			let j = i, b = vp.x(l.b[i]);
			if (b - a < 7) /* join what touches */
				while (j + 1 < to && vp.x(l.b[j + 1]) - vp.x(l.a[j + 1]) < 7 && vp.x(l.a[j + 1]) - b < 1.5)
					b = vp.x(l.b[++j]);
			this.drawMarks(l, i, j, Math.max(-2, a), Math.min(vp.w + 2, b), y, on);
			i = j + 1;
		}
	}

	drawMarks(l, i, j, a, b, y, on) {
		const c = this.ctx, css = this.painter.css, x = this.left + a, w = Math.max(1, b - a - (i === j && b - a > 4 ? 1 : 0));
		c.globalAlpha = on || i !== j || i % 2 ? 1 : 0.6;
		c.fillStyle = on ? css.accent : css.loop;
		c.fillRect(x, y + 1, w, LOOP_PX - 3);
		c.globalAlpha = 1;
		c.strokeStyle = on ? css.accent : css.edge;
		if (w > 3)
			c.strokeRect(x + 0.5, y + 1.5, w - 1, LOOP_PX - 4);
		const whole = i !== j || l.marks === 1;
		const text = whole ? `${count((Math.min(l.iterations, (j + 1) * l.stride)) - i * l.stride)}\u00d7 ${l.name}` :
			l.stride > 1 ? `${count(i * l.stride)}\u2026` : count(i);
		const room = Math.min(b, this.vp.w) - Math.max(0, a) - 8, width = c.measureText(text).width;
		c.fillStyle = on ? css.bg : css.text;
		c.textAlign = "left";
		if (width <= room)
			c.fillText(text, this.left + Math.max(0, a) + 5, y + LOOP_PX / 2);
		else if (whole && room > 26 && c.measureText(text.split(" ")[0]).width <= room)
			c.fillText(text.split(" ")[0], this.left + Math.max(0, a) + 5, y + LOOP_PX / 2);
	}

	/* Draw the selected loop's iterations over the rows. */
	drawIterations() {
		const l = meta.loops[this.loop], c = this.ctx, vp = this.vp;
		if (!l)
			return;
		const [from, to] = this.marks(l);
		const last = this.drawn.rows[this.drawn.rows.length - 1], h = last ? (last.y + last.h) / this.dpr : 0;
		c.fillStyle = this.painter.css.text;
		for (let i = from; i < to; i++) {
			const a = vp.x(l.a[i]), b = vp.x(l.b[i]);
			if (b - a < 5)
				continue;
			c.globalAlpha = b - a > 40 ? 0.9 : 0.45;
			c.fillRect(Math.round(a), 0, 1, h);
			c.fillRect(Math.round(b) - 1, 0, 1, h);
			if (i % 2) {
				c.globalAlpha = 0.13;
				c.fillRect(a, 0, b - a, h);
			}
		}
		c.globalAlpha = 1;
	}

	/* ---- problems ---- */

	/* Visible problem marks: of the chosen problem, or of all problems. */
	*seenProblems() {
		for (let i = 0; i < meta.problems.length; i++)
			if (this.problem < 0 || this.problem === i)
				yield meta.problems[i];
	}

	/* A lane. The height of a column is the largest share of time that a rank loses in it. */
	drawProblems() {
		const c = this.ctx, css = this.painter.css, vp = this.vp, y = this.problemTop;
		if (!this.problemRows)
			return;
		c.fillStyle = css.dim;
		c.textAlign = "right";
		c.fillText("problems", this.left - 10, y + LOOP_PX / 2);
		c.fillStyle = css.row;
		c.fillRect(this.left, y + 1, vp.w, LOOP_PX - 3);
		c.fillStyle = css.problem;
		for (const p of this.seenProblems()) {
			let end = -1;
			for (let i = firstAfter(p.most, p.n, vp.t0); i < p.n && p.a[i] < vp.t1; i++) {
				const a = Math.max(0, vp.x(p.a[i]), end), b = Math.min(vp.w, Math.max(vp.x(p.b[i]), vp.x(p.a[i]) + 1.5));
				if (b > a)
					c.fillRect(this.left + a, y + 1, b - a, LOOP_PX - 3);
				end = Math.max(end, b);
			}
		}
	}

	/* The same loss at the foot of the waiting rank's row. */
	drawWaits() {
		const c = this.ctx, vp = this.vp;
		if (!this.problemRows)
			return;
		c.fillStyle = this.painter.css.problem;
		for (const p of this.seenProblems())
			for (let i = firstAfter(p.most, p.n, vp.t0); i < p.n && p.a[i] < vp.t1; i++) {
				const row = this.drawn.rows.find((r) => r.rank <= p.rank_of[i] && p.rank_of[i] < r.rank + r.n);
				const a = Math.max(0, vp.x(p.a[i])), b = Math.min(vp.w, Math.max(vp.x(p.b[i]), a + 1));
				if (row && row.h / this.dpr >= 8 && b > a)
					c.fillRect(a, (row.y + row.h) / this.dpr - 3, b - a, 3);
			}
	}

	/* The longest mark at this time, of one rank or of all ranks: {problem, mark} or null. */
	problemAt(t, rank, slack) {
		let best = null;
		meta.problems.forEach((p, problem) => {
			if (this.problem >= 0 && this.problem !== problem)
				return;
			for (let i = firstAfter(p.most, p.n, t - slack); i < p.n && p.a[i] <= t + slack; i++)
				if (p.b[i] + slack >= t && (rank === undefined || p.rank_of[i] === rank) &&
					(!best || p.lost[i] > meta.problems[best.problem].lost[best.mark]))
					best = {problem, mark: i};
		});
		return best;
	}

	/* ---- messages ---- */

	/* Lists of messages and the indexes of the messages in the window; null if there are too many or none are loaded. */
	visibleMessages() {
		const vp = this.vp;
		this.arrowState = "none";
		if (!meta.messages.n || !this.showArrows || meta.ranks < 2)
			return null;
		const expected = meta.messages.n * vp.span / meta.end * Math.min(1, (vp.rs + 1) / meta.ranks);
		if (expected > ARROWS_MAX * 4) {
			this.arrowState = "many";
			return null;
		}
		const inPage = meta.messages.end >= Math.min(vp.t1, meta.end);
		if (inPage && !this.messages)
			this.messages = new Messages(bytesOfBase64(packText("pack-messages")), 0);
		const lists = inPage ? [this.messages] : this.server ? this.server.messages(vp.t0, vp.t1) : null;
		if (!lists) {
			this.arrowState = this.server ? "loading" : "absent";
			return null;
		}
		const out = [], seen = new Set();
		for (const list of lists)
			for (const i of list.window(vp.t0, vp.t1, 50000) || [])
				if (this.messageSeen(list, i, seen, lists.length > 1))
					out.push([list, i]);
		this.arrowState = out.length > ARROWS_MAX ? "many" : "shown";
		return out.length > ARROWS_MAX ? null : out;
	}

	messageSeen(list, i, seen, several) {
		const vp = this.vp, lo = Math.min(list.src[i], list.dst[i]), hi = Math.max(list.src[i], list.dst[i]);
		if (hi < vp.r0 || lo > vp.r0 + vp.rs || list.src[i] === list.dst[i])
			return false;
		if (!several)
			return true;
		const key = `${list.src[i]} ${list.dst[i]} ${list.a[i]} ${list.b[i]}`;
		return !seen.has(key) && seen.add(key);
	}

	arrowEnds(list, i) {
		const vp = this.vp;
		return [vp.x(list.a[i]), vp.y(list.src[i] + 0.5), vp.x(list.b[i]), vp.y(list.dst[i] + 0.5)];
	}

	drawArrows() {
		const c = this.ctx, css = this.painter.css, list = this.visibleMessages();
		this.arrows = list || [];
		if (!list || !list.length)
			return;
		c.strokeStyle = css.text;
		c.fillStyle = css.text;
		c.lineWidth = 1;
		c.globalAlpha = list.length > 400 ? Math.max(0.15, 160 / list.length) : 0.75; /* the states stay visible below many */
		c.beginPath();
		for (const [m, i] of list) {
			const [x0, y0, x1, y1] = this.arrowEnds(m, i);
			c.moveTo(x0, y0);
			c.lineTo(x1, y1);
		}
		c.stroke();
		if (list.length <= 800)
			for (const [m, i] of list)
				this.drawHead(...this.arrowEnds(m, i));
		c.globalAlpha = 1;
	}

	drawHead(x0, y0, x1, y1) {
		const c = this.ctx, d = Math.hypot(x1 - x0, y1 - y0);
		if (d < 10)
			return;
		const l = Math.min(7, d / 4), s = l * 0.42, ux = (x1 - x0) / d, uy = (y1 - y0) / d;
		c.beginPath();
		c.moveTo(x1, y1);
		c.lineTo(x1 - l * ux + s * uy, y1 - l * uy - s * ux);
		c.lineTo(x1 - l * ux - s * uy, y1 - l * uy + s * ux);
		c.fill();
	}

	/* ---- the object under the pointer ---- */

	drawHover() {
		const c = this.ctx, css = this.painter.css, h = this.hover;
		if (this.selection) {
			const [a, b] = this.selection;
			c.fillStyle = css.accent;
			c.globalAlpha = 0.22;
			c.fillRect(Math.min(a, b), 0, Math.abs(b - a), this.vp.h);
			c.globalAlpha = 1;
		}
		if (!h)
			return;
		if (h.x !== undefined) {
			c.fillStyle = css.text;
			c.globalAlpha = 0.35;
			c.fillRect(Math.round(h.x), 0, 1, this.vp.h);
			c.globalAlpha = 1;
		}
		c.strokeStyle = css.text;
		c.lineWidth = 2;
		if (h.message) {
			const [x0, y0, x1, y1] = this.arrowEnds(...h.message);
			c.beginPath();
			c.moveTo(x0, y0);
			c.lineTo(x1, y1);
			c.stroke();
			c.fillStyle = css.text;
			this.drawHead(x0, y0, x1, y1);
		} else if (h.span) {
			const a = Math.max(-3, this.vp.x(h.span.a)), b = Math.min(this.vp.w + 3, this.vp.x(h.span.b));
			c.strokeRect(a, h.row.y / this.dpr + 1, Math.max(2, b - a), h.row.h / this.dpr - 2);
		}
		c.lineWidth = 1;
	}
}

/* Black or white, whichever is readable on this colour. */
function inkOn(c) {
	const lin = c.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
	return 0.2126 * lin[0] + 0.7152 * lin[1] + 0.0722 * lin[2] > 0.18 ? "#111111" : "#ffffff";
}

function callName(kind) {
	return kind >= KIND_CALL ? meta.fns[meta.places[meta.sigs[2 * (kind - KIND_CALL)]][0]][0] :
		kind === KIND_UNKNOWN ? "not known" : STATES[kind - KIND_STATE];
}

function callSite(kind) {
	return kind >= KIND_CALL ? meta.sites[meta.places[meta.sigs[2 * (kind - KIND_CALL)]][1]] : "";
}

function callWords(kind) {
	return kind >= KIND_CALL ? meta.sigs[2 * (kind - KIND_CALL) + 1] : "";
}
