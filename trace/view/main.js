/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds the page: header, notes, time line and panels; connects them. */

/* Nesting depth and positions of loops. */
function prepare() {
	meta.loops.forEach((l) => {
		l.depth = l.parent === undefined ? 0 : meta.loops[l.parent].depth + 1;
	});
	decodeMarks();
	meta.problems.forEach(decodeProblem);
}

/* Marks as columns. most: the latest end so far, which finds the marks of a window even if marks overlap. */
function decodeProblem(p) {
	const n = p.n = p.marks.length / 6, column = (k) => Float64Array.from({length: n}, (_, i) => p.marks[6 * i + k]);
	[p.rank_of, p.first, p.last, p.a, p.b, p.lost] = [0, 1, 2, 3, 4, 5].map(column);
	p.most = new Float64Array(n);
	for (let i = 0, most = 0; i < n; i++) {
		p.b[i] += p.a[i];
		p.most[i] = most = Math.max(most, p.b[i]);
	}
}

class Page {
	constructor() {
		this.canvas = document.getElementById("canvas");
		this.tl = new Timeline(this.canvas, new Viewport());
		this.card = new Card(document.getElementById("card"), this.tl);
		this.still = matchMedia("(prefers-reduced-motion: reduce)").matches;
		this.input = new Input(this);
		this.panels = new Panels(this);
		this.tl.onview = () => this.viewed();
		this.header();
		this.notes();
		this.buttons();
		this.divider();
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolour());
		new ResizeObserver(() => {
			this.tl.resize();
			this.tl.frame(); /* at once: a canvas that was resized is empty */
		}).observe(this.canvas.parentElement);
		window.addEventListener("hashchange", () => this.fromHash());
		this.tl.resize();
		this.fromHash();
		this.tl.frame();
	}

	/* ---- text that does not change ---- */

	header() {
		const j = meta.job, name = meta.path.replace(/^.*\//, "");
		const program = j.program ? [j.program.replace(/^.*\//, ""), j.arguments].filter(Boolean).join(" ") : name;
		document.getElementById("title").textContent = program;
		document.getElementById("title").title = [j.program, j.arguments].filter(Boolean).join(" ") || meta.path;
		document.getElementById("facts").textContent = [many(meta.ranks, RANK), duration(meta.end),
			meta.events ? many(meta.events, "call") : null,
			program === name ? null : name].filter(Boolean).join(" \u00b7 ");
		this.legend();
	}
	legend() {
		const box = document.getElementById("legend");
		box.replaceChildren(...SHOWN.map((s) => {
			const c = el("canvas", {width: 14, height: 14}), image = new ImageData(14, 14);
			this.tl.painter.fill(new Uint32Array(image.data.buffer), 14, 0, 0, 0, s);
			for (let x = 0; x < 14; x++)
				this.tl.painter.fill(new Uint32Array(image.data.buffer), 14, x, 0, 14, s);
			c.getContext("2d").putImageData(image, 0, 0);
			return el("span", {}, c, STATES[s], el("b", {id: `legend-${STATES[s]}`}));
		}));
		this.shares();
	}
	/* Shares of the states in the window: of the time and the ranks that are shown. */
	shares() {
		const sum = this.tl.windowShares || stateTotals(), total = sum.reduce((a, b) => a + b, 0);
		for (const s of SHOWN)
			document.getElementById(`legend-${STATES[s]}`).textContent = percent(sum[s] / total);
		document.getElementById("legend").title = this.tl.vp.whole && this.tl.vp.rs >= meta.ranks ? "Of the whole run" : `Of the time and the ${RANK}s that are shown`;
	}
	/* Warnings about the trace. */
	notes() {
		const badges = document.getElementById("badges"), box = document.getElementById("notes"), lines = [];
		const badge = (text, title) => badges.append(el("span", {class: "badge", title}, text));
		if (meta.predicted) {
			badge("PREDICTED", "This run was never made");
			lines.push([`This run was never made: a model predicted it. Its times are those of the model (${meta.predicted}).`, []]);
		}
		if (meta.partial) {
			badge("PARTIAL", "The run did not reach its end, or not all ranks are in the trace");
			const how = [...new Set(meta.ended.map((e) => e[1]))];
			lines.push(["This trace is partial: the run did not end as it should" + (how.length ? ` (${how.join("; ")})` : "") +
				". What is shown is what was recorded until then.", []]);
		}
		if (meta.ending.length) {
			badge("HUNG OR DIED", meta.ending[0]);
			lines.push(["How the run ended:", meta.ending]);
		}
		if (meta.missing)
			lines.push([`${many(meta.missing, "rank")} of ${count(meta.ranks)} left nothing readable: their rows are empty.`, []]);
		if (meta.untimed) {
			badge("CAPPED", "The times of some calls were not kept");
			lines.push([`The times of ${count(meta.untimed)} of ${count(meta.events)} calls were not kept one by one ` +
				"(memory or size was bounded). They are counted and in the sums of functions, but not on the time line as single calls.", []]);
		}
		if (meta.damage.length) {
			badge("DAMAGED", "Some pages of the file cannot be read");
			lines.push([`${many(meta.damage.length, "page")} of the file cannot be read:`, meta.damage]);
		}
		for (const [text, list] of lines)
			box.append(el("div", {class: "note", role: "note"}, text,
				list.length ? el("ul", {}, ...list.map((d) => el("li", {}, d))) : null));
	}

	/* ---- text that changes ---- */

	viewed() {
		const vp = this.tl.vp, d = this.tl.detail, res = vp.span / 1000;
		this.input.viewed();
		this.shares();
		this.panels.viewed();
		document.getElementById("status-window").textContent =
			`${instant(vp.t0, res)} to ${instant(vp.t1, res)} \u00b7 ${duration(vp.span)}` +
			(vp.rs < meta.ranks ? ` \u00b7 ranks ${Math.floor(vp.r0)} to ${Math.min(meta.ranks, Math.ceil(vp.r0 + vp.rs)) - 1}` : "");
		const box = document.getElementById("status-detail");
		box.replaceChildren(...this.detailText(d));
		const scroll = document.getElementById("scroll"), thumb = document.getElementById("thumb");
		const needed = vp.rs < meta.ranks - 1e-6;
		scroll.hidden = !needed;
		if (needed) {
			scroll.style.top = `${this.tl.top}px`;
			scroll.style.height = `${vp.h}px`;
			thumb.style.top = `${vp.r0 / meta.ranks * vp.h}px`;
			thumb.style.height = `${vp.rs / meta.ranks * vp.h}px`;
		}
	}
	detailText(d) {
		const name = meta.path, vp = this.tl.vp;
		if (d.kind === "spans")
			return [meta.imported ? "single marks" : "single calls"];
		if (d.kind === "loading")
			return [this.tl.server.failed ? `The server does not answer: is precedent view --serve still running? Asked again in ${this.tl.server.pause / 1000} s.` : "loading\u2026"];
		const step = `shares of states in steps of ${duration(d.step || 0)}`;
		if (meta.served || vp.span / (vp.w * this.tl.dpr) > d.step * 0.75)
			return [step];
		if (!d.more && this.tl.columns.end >= vp.t1)
			return [`${step}; zoom in for single calls`];
		return [`${step}; this page has single calls up to ${instant(this.tl.columns.end, meta.end / 1e4)}. All of them: `,
			el("code", {}, `precedent view ${name} --serve`)];
	}

	/* ---- actions of buttons, keys and panels ---- */

	buttons() {
		const on = (id, f) => {
			document.getElementById(id).onclick = f;
		};
		on("zoom-in", () => this.step(0.5));
		on("zoom-out", () => this.step(2));
		on("fit", () => this.input.whole());
		on("arrows", () => this.toggleArrows());
		on("patterns", () => this.togglePatterns());
		on("link", () => this.link());
		on("theme", () => this.nextTheme());
		on("help", () => this.help());
		document.getElementById("arrows").hidden = !meta.messages.n || meta.ranks < 2;
	}
	step(factor) {
		const vp = this.tl.vp, mid = (vp.t0 + vp.t1) / 2, half = vp.span * factor / 2;
		this.input.go(mid - half, mid + half);
	}
	toggleArrows() {
		this.tl.showArrows = !this.tl.showArrows;
		document.getElementById("arrows").setAttribute("aria-pressed", String(this.tl.showArrows));
		this.tl.redraw(false);
	}
	togglePatterns() {
		this.tl.painter.patterns = !this.tl.painter.patterns;
		document.getElementById("patterns").setAttribute("aria-pressed", String(this.tl.painter.patterns));
		this.legend();
		this.tl.redraw(true);
	}
	setTheme(theme) {
		if (theme)
			document.documentElement.dataset.theme = theme;
		else
			delete document.documentElement.dataset.theme;
		this.recolour();
	}
	nextTheme() {
		const now = document.documentElement.dataset.theme;
		const dark = now ? now === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
		this.setTheme(dark ? "light" : "dark");
	}
	recolour() {
		this.tl.painter.readColours();
		this.legend();
		this.panels.refresh();
		this.tl.redraw(true);
	}
	help() {
		const d = document.getElementById("keys");
		if (d.open)
			return d.close();
		const rows = (list) => el("table", {}, el("tbody", {}, ...list.map(([k, v]) =>
			el("tr", {}, el("td", {}, ...k.split(" ").flatMap((w) => /^[a-z]{3,}$|^on$|^at$|^a$/.test(w) ? [w, " "] : [el("kbd", {}, w), " "])),
				el("td", {}, v)))));
		const plain = (list) => el("table", {}, el("tbody", {}, ...list.map(([k, v]) => el("tr", {}, el("td", {class: "dim"}, k), el("td", {}, v)))));
		d.replaceChildren(el("h2", {}, "Keys"), rows(KEYS), el("h2", {}, "Mouse"), plain(MOUSE), el("button", {onclick: () => d.close()}, "Close"));
		d.showModal();
	}
	escape() {
		this.card.hide();
		this.tl.hover = null;
		this.chooseLoop(-1, false);
		this.chooseProblem(-1);
	}
	chooseLoop(i, go) {
		this.tl.loop = i;
		if (this.panels.current === "loops")
			this.panels.refresh();
		if (go && i >= 0)
			this.showLoop(i);
		this.tl.redraw(false);
	}
	showLoop(i) {
		const l = meta.loops[i];
		this.tl.loop = i;
		if (l.marks)
			this.input.around(l.a[0], l.b[l.marks - 1]);
		this.panels.refresh();
	}
	showIteration(i, mark) {
		const l = meta.loops[i];
		this.tl.loop = i;
		this.mark = Math.max(0, Math.min(l.marks - 1, mark));
		if (l.marks)
			this.input.around(l.a[this.mark], l.b[this.mark]);
		if (this.panels.current === "loops")
			this.panels.refresh();
	}
	/* Go to the iteration after or before the middle one. */
	nextIteration(step) {
		const l = meta.loops[this.tl.loop], vp = this.tl.vp;
		if (!l || !l.marks)
			return;
		const mid = firstAfter(l.b, l.marks, (vp.t0 + vp.t1) / 2);
		this.showIteration(this.tl.loop, mid + step);
	}
	showRank(rank) {
		const vp = this.tl.vp, rs = Math.min(meta.ranks, Math.max(8, vp.h / 24));
		vp.setRanks(rank - rs / 2, rs);
		this.tl.hover = {rank};
		this.tl.redraw(true);
	}
	chooseProblem(i) {
		if (this.tl.problem === i)
			return;
		this.tl.problem = i;
		if (this.panels.current === "problems")
			this.panels.refresh();
		this.tl.redraw(false);
	}
	/* Choose a problem and show its longest loss. */
	showProblem(p) {
		this.chooseProblem(meta.problems.indexOf(p));
		if (p.rank !== undefined)
			this.showRank(p.rank);
		if (p.t1 > p.t0)
			this.input.go(...this.wide(p.t0, p.t1));
	}
	showMark(i, mark) {
		const p = meta.problems[i];
		this.panels.open("problems");
		this.showRank(p.rank_of[mark]);
		this.input.go(...this.wide(p.a[mark], p.b[mark]));
	}
	/* Show it with some time before and after. */
	wide(a, b) {
		return [a - 2 * (b - a), b + (b - a)];
	}
	divider() {
		const d = document.getElementById("divider"), panel = document.getElementById("panel");
		let from = null;
		d.addEventListener("pointerdown", (e) => {
			from = {y: e.clientY, h: panel.offsetHeight};
			d.setPointerCapture(e.pointerId);
		});
		d.addEventListener("pointermove", (e) => {
			if (from)
				panel.style.height = `${Math.max(32, Math.min(window.innerHeight - 260, from.h + from.y - e.clientY))}px`;
		});
		d.addEventListener("pointerup", () => {
			from = null;
		});
	}
	/* The address becomes the link to what is shown; it is copied where the browser lets us. */
	link() {
		const {vp, loop} = this.tl, s = (ns) => (ns / 1e9).toFixed(9);
		const last = Math.max(Math.floor(vp.r0), Math.ceil(vp.r0 + vp.rs) - 1);
		location.hash = [`t=${s(vp.t0)}-${s(vp.t1)}`, `r=${Math.floor(vp.r0)}-${Math.min(last, meta.ranks - 1)}`, loop >= 0 ? `loop=${loop}` : "",
			`tab=${this.panels.current}`].filter(Boolean).join("&");
		if (navigator.clipboard)
			navigator.clipboard.writeText(location.href).catch(() => {});
	}
	/* #t=0.5-0.75&r=0-15&loop=0&tab=loops&theme=dark: the link to a view. */
	fromHash() {
		const p = new URLSearchParams(location.hash.slice(1)), pair = (s) => (s || "").split("-").map(Number);
		const [t0, t1] = pair(p.get("t")), [r0, r1] = pair(p.get("r"));
		if (p.get("theme"))
			this.setTheme(p.get("theme") === "dark" ? "dark" : "light");
		if (t1 > t0)
			this.tl.vp.setTime(t0 * 1e9, t1 * 1e9);
		if (r1 >= r0)
			this.tl.vp.setRanks(r0, r1 - r0 + 1);
		if (p.get("loop") && meta.loops[+p.get("loop")])
			this.chooseLoop(+p.get("loop"), false);
		if (p.get("problem") && meta.problems[+p.get("problem")])
			this.showProblem(meta.problems[+p.get("problem")]);
		if (p.get("tab"))
			this.panels.open(p.get("tab"));
		if (p.get("patterns") === "1" && !this.tl.painter.patterns)
			this.togglePatterns();
		if (p.get("at")) { /* as if the pointer were there, in pixels of the canvas */
			const [px, py] = p.get("at").split(",").map(Number), box = this.canvas.getBoundingClientRect();
			this.tl.frame();
			this.input.move({clientX: box.left + px, clientY: box.top + py});
		}
		if (p.get("help") === "1")
			this.help();
		this.tl.redraw(true);
	}
}

prepare();
const page = new Page();
document.body.dataset.ready = String(Math.round(performance.now()));
if (location.hash.startsWith("#selftest"))
	new SelfTest(page).run();
