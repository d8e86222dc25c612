/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mouse, wheel, touch and keys. */

const KEYS = [
	["+ \u2212", "zoom in and out around the pointer (the middle without one)"],
	["\u2190 \u2192", "move in time; with Shift a whole window"],
	["\u2191 \u2193", "move along the ranks; with Shift a whole page"],
	["[ ]", "fewer or more ranks at once"],
	["Home End", "to the beginning and to the end of the run"],
	["0", "the whole run, all ranks"],
	["Backspace", "back to the window before"],
	["n N", "next and previous iteration of the chosen loop"],
	["m", "messages as arrows on and off"],
	["p", "patterns besides colours on and off"],
	["l", "a link to what is shown: in the address bar, and copied"],
	["t", "light, dark, as the system has it"],
	["Esc", "no loop chosen, card and help closed"],
	["/", "search in the table"],
	["?", "this help"],
];
const MOUSE = [
	["wheel", "zoom in time at the pointer; sideways: move in time"],
	["Shift + wheel", "move along the ranks"],
	["Ctrl + wheel", "fewer or more ranks at once"],
	["drag", "move"],
	["Shift + drag", "zoom to the stretch that is marked"],
	["one finger, two fingers", "move; zoom in time"],
	["double click", "zoom to the call or iteration there, or closer"],
	["over the strip at the top", "drag or click: go there"],
	["click on a loop", "choose it: its iterations are marked on the time line"],
	["click on a problem", "go there; in the list below: choose it and go to where most time is lost"],
];

class Input {
	constructor(ui) {
		this.ui = ui;
		this.tl = ui.tl;
		this.vp = ui.tl.vp;
		this.history = [];
		this.pointer = null;
		this.touches = new Map(); /* fingers on the canvas */
		const c = this.tl.canvas;
		c.addEventListener("wheel", (e) => this.wheel(e), {passive: false});
		c.addEventListener("pointerdown", (e) => this.down(e));
		c.addEventListener("pointermove", (e) => this.move(e));
		c.addEventListener("pointerup", (e) => this.up(e));
		c.addEventListener("pointercancel", (e) => this.up(e));
		c.addEventListener("pointerleave", () => this.leave());
		c.addEventListener("dblclick", (e) => this.doubleClick(e));
		document.addEventListener("keydown", (e) => this.key(e));
		this.scrollbar(document.getElementById("thumb"));
	}

	/* Position of the pointer in CSS pixels of the canvas and of the plot. */
	at(e) {
		const box = this.tl.canvas.getBoundingClientRect(), px = e.clientX - box.left, py = e.clientY - box.top;
		return {px, py, x: px - this.tl.left, y: py - this.tl.top};
	}
	zone({py}) {
		const tl = this.tl;
		return py < OVERVIEW_PX + 6 ? "overview" : py < tl.problemTop - (tl.problemRows ? 0 : 2) ? "loops" :
			py < tl.axisTop - 2 && tl.problemRows ? "problems" : py < tl.top ? "axis" : "plot";
	}

	changed() {
		this.tl.redraw(true);
	}
	/* Remember the window before a jump. */
	remember() {
		this.history.push([this.vp.t0, this.vp.t1, this.vp.r0, this.vp.rs]);
		if (this.history.length > 50)
			this.history.shift();
	}
	go(t0, t1) {
		this.remember();
		this.animate(t0, t1);
	}
	/* An animated jump that the eye can follow. */
	animate(t0, t1) {
		const vp = this.vp, from = [vp.t0, vp.t1], begin = performance.now(), ms = this.ui.still ? 0 : 220;
		const id = this.flight = {};
		const step = () => {
			if (this.flight !== id)
				return;
			const p = ms ? Math.min(1, (performance.now() - begin) / ms) : 1, e = 1 - (1 - p) ** 3;
			vp.setTime(from[0] + (t0 - from[0]) * e, from[1] + (t1 - from[1]) * e);
			this.changed();
			if (p < 1)
				requestAnimationFrame(step);
		};
		step();
	}
	back() {
		const last = this.history.pop();
		if (!last)
			return;
		this.flight = null;
		this.vp.setTime(last[0], last[1]);
		this.vp.setRanks(last[2], last[3]);
		this.changed();
	}
	whole() {
		this.remember();
		this.vp.setRanks(0, meta.ranks);
		this.animate(0, meta.end);
	}
	zoomBy(factor) {
		this.flight = null;
		this.vp.zoom(factor, this.pointer && this.pointer.x >= 0 ? this.pointer.x : this.vp.w / 2);
		this.changed();
	}

	wheel(e) {
		const p = this.at(e), unit = e.deltaMode === 1 ? 16 : e.deltaMode === 2 ? 400 : 1;
		const dx = e.deltaX * unit, dy = e.deltaY * unit;
		e.preventDefault();
		this.flight = null;
		if (e.ctrlKey && !e.shiftKey && !e.altKey)
			this.vp.zoomRanks(Math.exp(dy * 0.002), p.y);
		else if (e.shiftKey)
			this.vp.pan(0, dy || dx);
		else if (Math.abs(dx) > Math.abs(dy))
			this.vp.pan(dx, 0);
		else
			this.vp.zoom(Math.exp(dy * 0.0022), p.x);
		this.changed();
	}

	down(e) {
		const p = this.at(e), zone = this.zone(p);
		if (e.button !== 0)
			return;
		this.flight = null;
		if (e.pointerType === "touch") {
			this.touches.set(e.pointerId, p);
			if (this.touches.size === 2)
				return this.pinchBegin();
		}
		this.tl.canvas.focus({preventScroll: true});
		this.tl.canvas.setPointerCapture(e.pointerId);
		this.drag = {...p, zone, from: p, moved: false, select: e.shiftKey || zone === "axis"};
		if (zone === "overview")
			this.overview(p);
	}
	overview(p) {
		const t = p.x / this.vp.w * meta.end, half = this.vp.span / 2;
		this.vp.setTime(t - half, t + half);
		this.changed();
	}
	move(e) {
		const p = this.at(e), d = this.drag;
		if (this.touches.has(e.pointerId)) {
			this.touches.set(e.pointerId, p);
			if (this.pinch)
				return this.pinchMove();
		}
		this.pointer = p;
		if (!d)
			return this.hover(p);
		if (Math.hypot(p.px - d.from.px, p.py - d.from.py) > 3)
			d.moved = true;
		if (d.zone === "overview") {
			this.overview(p);
		} else if (d.select) {
			this.tl.selection = [d.from.x, p.x];
			this.tl.redraw(false);
		} else if (d.moved) {
			this.tl.canvas.classList.add("drag");
			this.ui.card.hide();
			this.vp.pan(d.x - p.x, d.zone === "plot" ? d.y - p.y : 0);
			d.x = p.x;
			d.y = p.y;
			this.changed();
		}
	}
	/* Two fingers: the instants under them stay under them. */
	pinchBegin() {
		const x = [...this.touches.values()].map((p) => p.x);
		this.drag = null;
		this.ui.card.hide();
		this.remember();
		this.pinch = x.map((v) => this.vp.t(v));
	}
	pinchMove() {
		const x = [...this.touches.values()].map((p) => p.x), [a, b] = this.pinch;
		if (Math.abs(x[1] - x[0]) < 8)
			return;
		const perPixel = (b - a) / (x[1] - x[0]);
		if (perPixel > 0) {
			this.vp.setTime(a - x[0] * perPixel, a + (this.vp.w - x[0]) * perPixel);
			this.changed();
		}
	}
	up(e) {
		const p = this.at(e), d = this.drag;
		if (this.touches.delete(e.pointerId) && this.touches.size < 2)
			this.pinch = null;
		this.drag = null;
		this.tl.canvas.classList.remove("drag");
		if (!d)
			return;
		if (d.select && d.moved)
			this.go(this.vp.t(Math.min(d.from.x, p.x)), this.vp.t(Math.max(d.from.x, p.x)));
		else if (!d.moved && d.zone === "loops")
			this.clickLoop(p);
		else if (!d.moved && d.zone === "problems")
			this.clickProblem(p);
		this.tl.selection = null;
		this.tl.redraw(false);
	}

	loopAt(p) {
		const tl = this.tl, depth = Math.floor((p.py - tl.loopTop) / LOOP_PX), t = this.vp.t(p.x);
		if (p.x < 0)
			return null;
		for (let i = 0; i < meta.loops.length; i++) {
			const l = meta.loops[i];
			if (l.depth !== depth)
				continue;
			const mark = firstAfter(l.b, l.marks, t);
			if (mark < l.marks && l.a[mark] <= t)
				return {loop: i, mark};
		}
		return null;
	}
	clickLoop(p) {
		const hit = this.loopAt(p);
		this.ui.chooseLoop(hit ? (hit.loop === this.tl.loop ? -1 : hit.loop) : -1, false);
	}

	problemHere(p) {
		return p.x >= 0 && p.x < this.vp.w ? this.tl.problemAt(this.vp.t(p.x), undefined, 3 * this.vp.span / this.vp.w) : null;
	}
	clickProblem(p) {
		const hit = this.problemHere(p);
		if (hit)
			this.ui.showMark(hit.problem, hit.mark);
	}

	hover(p) {
		const tl = this.tl, zone = this.zone(p);
		let hit = null;
		if (zone === "loops") {
			hit = this.loopAt(p);
			tl.hover = null;
		} else if (zone === "problems") {
			hit = this.problemHere(p);
			tl.hover = null;
		} else if (zone === "plot" && p.x >= 0 && p.x < this.vp.w) {
			hit = this.ui.card.find(p.x, p.y);
			tl.hover = hit;
		} else {
			tl.hover = null;
		}
		tl.canvas.classList.toggle("point", (zone === "loops" || zone === "problems") && !!hit);
		tl.canvas.classList.toggle("select", zone === "axis");
		if (hit)
			this.ui.card.show(hit, p.px, p.py);
		else
			this.ui.card.hide();
		tl.redraw(false);
	}
	/* The view has changed, so another object may be under the pointer. */
	viewed() {
		if (!this.pointer || this.drag || (!this.tl.hover && this.ui.card.box.hidden))
			return;
		this.tl.arrows = [];
		this.hover(this.pointer);
	}
	leave() {
		this.pointer = null;
		this.tl.hover = null;
		this.ui.card.hide();
		this.tl.redraw(false);
	}
	doubleClick(e) {
		const p = this.at(e), zone = this.zone(p);
		if (zone === "overview")
			return this.whole();
		const loop = zone === "loops" && this.loopAt(p);
		if (loop) {
			const l = meta.loops[loop.loop];
			return this.ui.chooseLoop(loop.loop, false), this.around(l.a[loop.mark], l.b[loop.mark]);
		}
		const hit = zone === "plot" ? this.ui.card.find(p.x, p.y) : null;
		if (hit && hit.span && this.vp.x(hit.span.b) - this.vp.x(hit.span.a) < this.vp.w * 0.6)
			return this.around(hit.span.a, hit.span.b);
		const t = this.vp.t(p.x), half = this.vp.span / 8;
		return this.go(t - half, t + half);
	}
	/* Show this interval, with a margin on both sides. */
	around(a, b) {
		const margin = Math.max(1, (b - a) * 0.1);
		this.go(a - margin, b + margin);
	}

	scrollbar(thumb) {
		let from = null;
		thumb.addEventListener("pointerdown", (e) => {
			from = {y: e.clientY, r0: this.vp.r0};
			thumb.setPointerCapture(e.pointerId);
			e.preventDefault();
		});
		thumb.addEventListener("pointermove", (e) => {
			if (!from)
				return;
			this.vp.setRanks(from.r0 + (e.clientY - from.y) / this.vp.h * meta.ranks, this.vp.rs);
			this.changed();
		});
		thumb.addEventListener("pointerup", () => {
			from = null;
		});
	}

	key(e) {
		if (document.getElementById("keys").open && (e.key === "Escape" || e.key === "?")) {
			e.preventDefault();
			return this.ui.help();
		}
		if (e.key === "Escape" && e.target === this.ui.panels.search) {
			e.target.value = "";
			e.target.blur();
			return this.ui.panels.refresh();
		}
		if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName))
			return;
		if (e.target.closest && e.target.closest("#panel") && /^(Arrow|Home|End|Page)/.test(e.key))
			return; /* the panel scrolls */
		const act = this.action(e.key, e.shiftKey);
		if (!act)
			return;
		e.preventDefault();
		act();
	}
	action(key, shift) {
		const vp = this.vp, pan = (dx, dy) => () => {
			this.flight = null;
			vp.pan(dx, dy);
			this.changed();
		};
		switch (key) {
		case "+": case "=": return () => this.zoomBy(0.7);
		case "-": case "_": return () => this.zoomBy(1 / 0.7);
		case "ArrowLeft": return pan(-vp.w * (shift ? 0.95 : 0.12), 0);
		case "ArrowRight": return pan(vp.w * (shift ? 0.95 : 0.12), 0);
		case "ArrowUp": return pan(0, -(shift ? vp.h * 0.9 : Math.max(vp.rankPx, 24)));
		case "ArrowDown": return pan(0, shift ? vp.h * 0.9 : Math.max(vp.rankPx, 24));
		case "[": return () => this.ranks(0.7);
		case "]": return () => this.ranks(1 / 0.7);
		case "Home": return () => this.go(0, vp.span);
		case "End": return () => this.go(meta.end - vp.span, meta.end);
		case "0": return () => this.whole();
		case "Backspace": return () => this.back();
		case "n": return () => this.ui.nextIteration(1);
		case "N": return () => this.ui.nextIteration(-1);
		case "m": return () => this.ui.toggleArrows();
		case "p": return () => this.ui.togglePatterns();
		case "l": return () => this.ui.link();
		case "t": return () => this.ui.nextTheme();
		case "?": return () => this.ui.help();
		case "/": return () => this.ui.panels.search.focus();
		case "Escape": return () => this.ui.escape();
		default: return null;
		}
	}
	ranks(factor) {
		this.vp.zoomRanks(factor, this.pointer ? this.pointer.y : this.vp.h / 2);
		this.changed();
	}
}
