/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * With #selftest the page tests itself. It zooms, pans, chooses a loop, points at a call and counts the painted pixels.
 * The result is JSON in an element, for tests and measurements.
 */
class SelfTest {
	constructor(page) {
		this.page = page;
		this.tl = page.tl;
		this.vp = page.tl.vp;
		this.out = {};
	}
	run() {
		let text;
		try {
			this.page.still = true;
			this.all();
		} catch (e) {
			this.out.error = `${e.message} ${e.stack}`;
		}
		text = JSON.stringify(this.out);
		document.body.append(el("pre", {id: "selftest", hidden: true}, text));
		document.body.dataset.selftest = this.out.error ? "failed" : "done";
	}
	all() {
		this.out.ready_ms = Number(document.body.dataset.ready);
		this.out.dark = getComputedStyle(document.documentElement).getPropertyValue("--bg").trim();
		this.settle();
		this.out.painted = this.painted();
		this.out.totals = stateTotals();
		this.out.fns = this.functions();
		this.zoomAndPan();
		this.singles();
		this.whole();
		this.loop();
		this.whole();
		this.problems();
		this.tabs();
		this.said();
		this.touch();
		this.clicks();
		this.whole();
	}
	/* Calls and seconds of each function, all ranks. */
	functions() {
		const out = {}, {calls, ns} = this.page.panels.ranks, n = meta.fns.length;
		meta.fns.forEach(([name], f) => {
			out[name] = [0, 0];
			for (let r = 0; r < meta.ranks; r++) {
				out[name][0] += calls[r * n + f];
				out[name][1] += ns[r * n + f] / 1e9;
			}
		});
		return out;
	}
	whole() {
		this.vp.setTime(0, meta.end);
		this.vp.setRanks(0, meta.ranks);
		this.settle();
	}
	paint() {
		const begin = performance.now();
		this.tl.dirty = true;
		this.tl.frame();
		return performance.now() - begin;
	}
	/* Wait until everything is decoded. */
	settle() {
		do
			this.paint();
		while (this.tl.columns.waiting);
	}
	/* Share of each state in the known pixels of the rows. */
	painted() {
		const rows = this.tl.drawn.rows, w = this.tl.image.width, n = STATES.map(() => 0);
		const colours = Array.from(this.tl.painter.solid);
		let other = 0;
		for (const r of rows)
			for (let i = r.y * w; i < (r.y + r.h) * w; i++) {
				const s = colours.indexOf(this.tl.pixels[i]);
				if (s < 0)
					other++;
				else
					n[s]++;
			}
		const sum = n.reduce((a, b) => a + b, 0);
		return {shares: n.map((v) => v / Math.max(1, sum)), known: sum / Math.max(1, sum + other), rows: rows.length};
	}
	/* Zoom in by tenths at a third of the window, move, and zoom out again. Returns the times of all frames. */
	zoomAndPan() {
		const ms = [];
		while (this.vp.span > Math.max(2000, meta.end * 1e-7) && ms.length < 300) {
			this.vp.zoom(0.8, this.vp.w / 3);
			ms.push(this.paint());
		}
		this.out.deepest_ns = this.vp.span;
		for (let i = 0; i < 10; i++) {
			this.vp.pan(this.vp.w / 20, 0);
			ms.push(this.paint());
		}
		while (!this.vp.whole && ms.length < 600) {
			this.vp.zoom(1.25, this.vp.w / 3);
			ms.push(this.paint());
		}
		ms.sort((a, b) => a - b);
		this.out.frames = {n: ms.length, median: ms[ms.length >> 1], p95: ms[Math.floor(ms.length * 0.95)], worst: ms[ms.length - 1]};
	}
	/* A call to point at: the longest of the first tile. */
	singles() {
		const tile = this.tl.columns.n ? this.tl.columns.get(0) : null;
		if (!tile)
			return;
		let best = null;
		for (const [rank, r] of tile.ranks)
			for (let i = 0; i < r.n; i++)
				if (r.kind[i] >= KIND_CALL && (!best || r.b[i] - r.a[i] > best.b - best.a))
					best = {rank, a: r.a[i], b: r.b[i], kind: r.kind[i]};
		if (!best)
			return;
		this.vp.setTime(best.a - (best.b - best.a), best.b + (best.b - best.a));
		this.vp.setRanks(best.rank, 1);
		this.settle();
		this.out.arrows = this.tl.arrowState;
		this.out.arrows_drawn = this.tl.arrows.length;
		this.tl.arrows = []; /* the call, whatever crosses it */
		const hit = this.page.card.find(this.vp.x((best.a + best.b) / 2), this.vp.y(best.rank) + this.vp.rankPx / 2);
		const parts = this.page.card.show(hit, 300, 200);
		this.out.hover = {detail: this.tl.detail.kind, over: Boolean(hit.span), text: parts ? parts.map((p) => p.textContent).join("\n") : "",
			expected: [callName(best.kind), callWords(best.kind), callSite(best.kind)]};
		this.page.card.hide();
	}
	loop() {
		if (!meta.loops.length)
			return;
		const i = meta.loops.reduce((b, l, k) => (l.share > meta.loops[b].share ? k : b), 0), l = meta.loops[i];
		this.page.panels.open("loops");
		const order = this.page.panels.loopRows(), row = document.querySelectorAll("#sheet tbody tr")[order.findIndex((r) => r.i === i)];
		this.out.loops_by_share = order.every((r, k) => !k || r.l.parent !== order[k - 1].l.parent || r.l.share <= order[k - 1].l.share);
		row.click();
		this.tl.frame();
		this.out.loop = {chosen: this.tl.loop, expected: i, name: l.name, iterations: l.iterations, marks: l.marks,
			t0: this.vp.t0, t1: this.vp.t1, a: l.marks ? l.a[0] : 0, b: l.marks ? l.b[l.marks - 1] : 0,
			highlighted: document.querySelectorAll("#sheet tr.on").length};
		this.page.showIteration(i, 1);
		this.tl.frame();
		this.out.iteration = {t0: this.vp.t0, t1: this.vp.t1, a: l.a[Math.min(1, l.marks - 1)], b: l.b[Math.min(1, l.marks - 1)]};
		this.page.chooseLoop(-1, false);
	}
	/* Choose the first problem by a click on its row, and its longest loss by a click on its mark. Returns card and lane. */
	problems() {
		if (!meta.problems.length)
			return;
		const p = meta.problems[0], box = this.tl.canvas.getBoundingClientRect(), y = this.tl.problemTop + LOOP_PX / 2;
		const longest = p.lost.indexOf(Math.max(...p.lost)), x = this.tl.left + this.vp.x((p.a[longest] + p.b[longest]) / 2);
		const at = {clientX: box.left + x, clientY: box.top + y, button: 0, pointerId: 1, bubbles: true};
		const lane = this.tl.ctx.getImageData(this.tl.left * this.tl.dpr, y * this.tl.dpr, this.vp.w * this.tl.dpr, 1).data;
		const back = rgb(this.tl.painter.css.row);
		let marked = 0;
		for (let i = 0; i < lane.length; i += 4)
			marked += Math.abs(lane[i] - back[0]) + Math.abs(lane[i + 1] - back[1]) > 40;
		this.page.input.move(at);
		this.out.problem = {title: p.title, marks: p.n, card: this.page.card.box.hidden ? "" : this.page.card.box.textContent,
			marked: marked / (lane.length / 4)};
		this.page.panels.open("problems");
		document.querySelector("#sheet tbody tr").click();
		this.tl.frame();
		Object.assign(this.out.problem, {chosen: this.tl.problem, t0: this.vp.t0, t1: this.vp.t1, a: p.t0, b: p.t1,
			highlighted: document.querySelectorAll("#sheet tr.on").length});
		this.page.escape();
		this.out.problem.after = this.tl.problem;
		this.page.input.leave();
	}
	/* A link leads back to what was shown. */
	link() {
		const {vp} = this, shown = () => [vp.t0, vp.t1, this.page.panels.current], before = shown();
		this.page.link();
		const hash = location.hash;
		this.whole();
		this.page.panels.open("overview");
		this.page.fromHash();
		this.settle();
		this.out.link = {hash, before, after: shown()};
	}
	/* What is said of the window, of a function that is searched, and of the matrix. */
	said() {
		const shown = () => ORDER.map((s) => document.getElementById(`legend-${STATES[s]}`).textContent);
		const {panels} = this.page, all = shown();
		this.vp.setTime(meta.end * 0.5, meta.end * 0.501);
		this.settle();
		panels.open("window");
		const calls = [...document.querySelectorAll(".t-window tbody tr")].reduce((n, tr) => n + Number(tr.cells[1].textContent.replace(/,/g, "")), 0);
		this.out.window = {legend: shown(), all, calls, rows: document.querySelectorAll(".t-window tbody tr").length};
		this.link();
		this.whole();
		panels.open("overview");
		panels.search.value = "SEND";
		panels.refresh();
		this.out.search = [...document.querySelectorAll(".t-fns tbody tr")].map((tr) => tr.cells[0].textContent);
		panels.search.value = "";
		panels.open("messages");
		this.out.matrix = document.querySelector(".matrix") ? document.querySelector(".matrix").textContent : "";
		if (meta.problems.length) {
			panels.open("problems");
			const sheet = document.getElementById("sheet");
			this.out.problems_fit = sheet.scrollWidth <= sheet.clientWidth;
		}
		const rank = meta.polls.length ? meta.polls[0][0] : 0;
		this.out.states = [...document.querySelectorAll("#legend span")].map((e) => e.textContent);
		this.out.unknown = this.page.card.spanParts({span: {kind: KIND_UNKNOWN, rank}}).map((e) => e.textContent).join("\n");
	}
	/* Two fingers that move apart. */
	touch() {
		const box = this.tl.canvas.getBoundingClientRect(), y = box.top + this.tl.top + 20, mid = box.left + this.tl.left + this.vp.w / 2;
		const at = (id, x) => ({pointerId: id, pointerType: "touch", button: 0, clientX: x, clientY: y}), {input} = this.page;
		this.whole();
		this.tl.canvas.setPointerCapture = () => {};
		input.down(at(11, mid - 50));
		input.down(at(12, mid + 50));
		input.move(at(12, mid + 150));
		this.out.pinched = this.vp.span / meta.end;
		input.up(at(11, mid - 50));
		input.up(at(12, mid + 150));
		delete this.tl.canvas.setPointerCapture;
		this.whole();
	}
	tabs() {
		this.out.tabs = {};
		for (const [id] of this.page.panels.tabs) {
			document.getElementById(`tab-${id}`).click();
			this.out.tabs[id] = {rows: document.querySelectorAll("#sheet tbody tr").length,
				text: document.getElementById("sheet").textContent.slice(0, 300)};
		}
		this.out.badges = document.getElementById("badges").textContent;
		this.out.notes = document.getElementById("notes").textContent;
		this.out.title = document.getElementById("title").textContent;
		this.out.markup = document.querySelectorAll("#title *, .badge *, #sheet script, img, iframe").length;
	}
	/* Act like a user, by events. */
	clicks() {
		const before = this.vp.span, box = this.tl.canvas.getBoundingClientRect();
		const at = {clientX: box.left + this.tl.left + this.vp.w / 2, clientY: box.top + this.tl.top + 20, bubbles: true, cancelable: true};
		this.whole();
		this.tl.canvas.dispatchEvent(new WheelEvent("wheel", {...at, deltaY: -300}));
		this.out.wheel = this.vp.span / meta.end;
		const t0 = this.vp.t0;
		document.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
		this.out.moved = (this.vp.t0 - t0) / meta.end;
		document.dispatchEvent(new KeyboardEvent("keydown", {key: "0", bubbles: true}));
		this.out.back = this.vp.whole;
		document.dispatchEvent(new KeyboardEvent("keydown", {key: "?", bubbles: true}));
		this.out.help = document.getElementById("keys").open;
		document.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape", bubbles: true, cancelable: true}));
		this.out.help_closed = !document.getElementById("keys").open;
		if (!this.out.help_closed)
			document.getElementById("keys").close();
		const bg = this.out.dark;
		this.page.nextTheme();
		this.out.other = getComputedStyle(document.documentElement).getPropertyValue("--bg").trim();
		this.out.toggled = this.out.other !== bg;
		this.page.nextTheme();
		this.out.before = before;
	}
}
