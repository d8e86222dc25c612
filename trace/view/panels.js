/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Panels below the time line: states, functions, call sites, ranks, messages, loops, problems, the trace itself. */

const ROWS_MAX = 400; /* of a table */

/* Sums over ranks of the seconds in each state. */
function stateTotals() {
	const sum = STATES.map(() => 0);
	for (let r = 0; r < meta.ranks; r++)
		rankTotals(r).forEach((v, s) => {
			sum[s] += v;
		});
	return sum;
}

class Panels {
	constructor(ui) {
		this.ui = ui;
		this.sheet = document.getElementById("sheet");
		this.ranks = decodeRanks();
		this.fn = 0;
		this.sortBy = {};
		const calls = !meta.imported; /* an imported trace has states of processors */
		this.tabs = [["overview", calls ? "Functions" : "States", () => this.functions()], calls && ["sites", "Call sites", () => this.sites()],
			["ranks", calls ? "Ranks" : "Processors", () => this.rankTable()], ["messages", "Messages", () => this.messages()],
			calls && ["loops", "Loops", () => this.loops()], ["window", "Window", () => this.window()], ["trace", "Trace", () => this.trace()]].filter(Boolean);
		if (meta.problems.length)
			this.tabs.unshift(["problems", `Problems (${meta.problems.length})`, () => this.problems()]);
		const nav = document.getElementById("tabs");
		for (const [id, name] of this.tabs)
			nav.append(el("button", {role: "tab", id: `tab-${id}`, onclick: () => this.open(id)}, name));
		this.search = el("input", {id: "search", type: "search", placeholder: "Search (/)", ariaLabel: "Search in the table", oninput: () => this.refresh()});
		nav.append(this.search);
		nav.addEventListener("keydown", (e) => this.keys(e));
		this.open(this.tabs[0][0]);
	}
	keys(e) {
		if (e.target === this.search)
			return;
		const step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0, n = this.tabs.length;
		if (!step)
			return;
		const at = this.tabs.findIndex((t) => t[0] === this.current);
		this.open(this.tabs[(at + step + n) % n][0]);
		document.getElementById(`tab-${this.current}`).focus();
		e.preventDefault();
		e.stopPropagation();
	}
	open(id) {
		const tab = this.tabs.find((t) => t[0] === id) || this.tabs[0];
		const again = this.current === tab[0], top = this.sheet.scrollTop;
		this.current = tab[0];
		for (const [name] of this.tabs) {
			const b = document.getElementById(`tab-${name}`);
			b.setAttribute("aria-selected", String(name === this.current));
			b.tabIndex = name === this.current ? 0 : -1;
		}
		this.sheet.replaceChildren(...tab[2]().filter(Boolean));
		this.sheet.scrollTop = again ? top : 0;
	}
	refresh() {
		this.open(this.current);
	}
	/* The window has changed. */
	viewed() {
		if (this.current !== "window" || this.later)
			return;
		this.later = setTimeout(() => {
			this.later = null;
			if (this.current === "window")
				this.refresh();
		}, 150);
	}

	/* ---- pieces ---- */

	bar(parts, width) {
		const b = el("span", {class: "bar"});
		b.style.width = `${width}px`;
		for (const [share, colour] of parts) {
			const i = el("i");
			i.style.width = `${Math.max(0, share * 100)}%`;
			i.style.background = colour;
			b.append(i);
		}
		return b;
	}
	colour(state) {
		return `var(--${STATES[state]})`;
	}
	/* columns: [title, "n" for numbers, value of a row, cell of a row]. The first click on a title sorts downwards. */
	table(name, columns, rows, click, chosen) {
		const sort = this.sortBy[name] || {};
		if (sort.by !== undefined) {
			const value = columns[sort.by][2];
			rows = rows.slice().sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) * sort.dir);
		}
		const head = el("tr", {}, ...columns.map(([title, kind], i) => el("th", {class: `sort ${kind}`, title: "Sort",
			"aria-sort": sort.by === i ? (sort.dir > 0 ? "ascending" : "descending") : "none",
			onclick: () => {
				this.sortBy[name] = {by: i, dir: sort.by === i ? -sort.dir : kind === "n" ? -1 : 1};
				this.refresh();
			}}, title + (sort.by === i ? (sort.dir > 0 ? " \u25b4" : " \u25be") : ""))));
		const line = (r) => el("tr", {class: `${click ? "go" : ""} ${chosen && chosen(r) ? "on" : ""}`, onclick: click ? () => click(r) : null},
			...columns.map((c) => el("td", {class: c[1]}, c[3](r))));
		const {lines, left} = this.found(rows, line), body = el("tbody", {}, ...lines);
		const t = el("table", {class: `t-${name}`}, el("thead", {}, head), body);
		return left ? el("div", {}, t, el("p", {class: "dim"}, `${count(left)} more rows; sorted by another column others come first.`)) : t;
	}
	/* The first rows that have the text of the search, and the number of rows behind them. */
	found(rows, line) {
		const text = this.search.value.trim().toLowerCase(), lines = [];
		let i = 0;
		for (; i < rows.length && lines.length < ROWS_MAX; i++) {
			const tr = line(rows[i]);
			if (!text || tr.textContent.toLowerCase().includes(text))
				lines.push(tr);
		}
		return {lines, left: rows.length - i};
	}
	empty(text) {
		return [el("p", {class: "empty"}, text)];
	}

	/* ---- sheets ---- */

	functions() {
		const total = stateTotals().reduce((a, b) => a + b, 0), n = meta.fns.length;
		const rows = meta.fns.map(([name, state], f) => {
			const r = {f, name, state, calls: 0, ns: 0, max: 0, who: 0};
			for (let k = 0; k < meta.ranks; k++) {
				const v = this.ranks.ns[k * n + f];
				r.calls += this.ranks.calls[k * n + f];
				r.ns += v;
				if (v > r.max) {
					r.max = v;
					r.who = k;
				}
			}
			return r;
		}).sort((a, b) => b.ns - a.ns || b.calls - a.calls);
		if (!rows.length)
			return [this.states(total), ...this.empty("This trace has states only: it names no functions.")];
		if (!this.fnChosen)
			this.fn = rows[0].f;
		const table = this.table("fns", [["function", "", (r) => r.name, (r) => r.name],
			["calls", "n", (r) => r.calls, (r) => count(r.calls)],
			["time", "n", (r) => r.ns, (r) => duration(r.ns)],
			["share", "n", (r) => r.ns, (r) => percent(r.ns / 1e9 / total)],
			["", "", (r) => r.ns, (r) => this.bar([[r.ns / 1e9 / total, this.colour(r.state)]], 120)],
			["mean call", "n", (r) => r.ns / r.calls, (r) => r.calls ? duration(r.ns / r.calls) : ""],
			["most on", "n", (r) => r.max, (r) => meta.ranks > 1 && r.ns > 0 ? `rank ${r.who}` : ""]], rows, (r) => {
			this.fn = r.f;
			this.fnChosen = true;
			this.refresh();
		}, (r) => r.f === this.fn && meta.ranks > 1);
		return [el("div", {class: "cols"}, this.states(total), el("div", {}, el("h2", {}, "Time in MPI functions, all ranks"), table),
			meta.ranks > 1 ? this.perRank() : null)];
	}
	states(total) {
		const sum = stateTotals(), rows = SHOWN.map((s) => el("tr", {}, el("td", {}, STATES[s]),
			el("td", {class: "n"}, duration(sum[s] * 1e9)), el("td", {class: "n"}, percent(sum[s] / total)),
			el("td", {}, this.bar([[sum[s] / total, this.colour(s)]], 120))));
		return el("div", {}, el("h2", {}, `States, all ${RANK}s`), el("table", {}, el("tbody", {}, ...rows)));
	}
	/* Distribution of the chosen function's time over the ranks. */
	perRank() {
		const w = 320, h = 90, n = meta.fns.length, c = el("canvas", {width: w, height: h, title: "One column a rank"});
		const per = Math.max(1, Math.ceil(meta.ranks / w)), cols = Math.ceil(meta.ranks / per), v = new Float64Array(cols);
		for (let r = 0; r < meta.ranks; r++)
			v[Math.floor(r / per)] = Math.max(v[Math.floor(r / per)], this.ranks.ns[r * n + this.fn]);
		const max = Math.max(...v, 1), x = c.getContext("2d");
		const css = getComputedStyle(document.documentElement);
		x.fillStyle = css.getPropertyValue("--row");
		x.fillRect(0, 0, w, h);
		x.fillStyle = css.getPropertyValue(`--${STATES[meta.fns[this.fn][1]]}`);
		const step = w / cols;
		v.forEach((ns, i) => x.fillRect(i * step, h - ns / max * (h - 4), Math.max(1, step - (step > 4 ? 1 : 0)), h));
		return el("div", {}, el("h2", {}, `${meta.fns[this.fn][0]} by rank`), c,
			el("div", {class: "dim"}, `rank 0 to ${meta.ranks - 1}; the highest column is ${duration(max)}`));
	}

	sites() {
		const total = stateTotals().reduce((a, b) => a + b, 0);
		if (!meta.places.length)
			return this.empty("This trace has states only: it names no call sites.");
		const rows = meta.places.map(([f, s, calls, ns, max, who]) => ({f, site: meta.sites[s], calls, ns, max, who}))
			.sort((a, b) => b.ns - a.ns || b.calls - a.calls);
		return [this.table("sites", [["call site", "code", (r) => r.site, (r) => r.site],
			["function", "", (r) => meta.fns[r.f][0], (r) => meta.fns[r.f][0]],
			["calls", "n", (r) => r.calls, (r) => count(r.calls)], ["time", "n", (r) => r.ns, (r) => duration(r.ns)],
			["share", "n", (r) => r.ns, (r) => percent(r.ns / 1e9 / total)],
			["", "", (r) => r.ns, (r) => this.bar([[r.ns / 1e9 / total, this.colour(meta.fns[r.f][1])]], 120)],
			["most on", "n", (r) => r.max, (r) => r.max > 0 ? `rank ${r.who}, ${duration(r.max)}` : ""]], rows)];
	}

	rankTable() {
		const n = meta.fns.length, rows = [];
		for (let r = 0; r < meta.ranks; r++) {
			const s = rankTotals(r);
			let calls = 0;
			for (let f = 0; f < n; f++)
				calls += this.ranks.calls[r * n + f];
			rows.push({r, s, calls, all: s.reduce((a, b) => a + b, 0)});
		}
		const longest = Math.max(...rows.map((r) => r.all), 1e-12);
		const state = (st) => [STATES[st], "n", (r) => r.s[st], (r) => duration(r.s[st] * 1e9)];
		return [this.imbalance(rows), this.table("ranks", [[RANK, "n", (r) => r.r, (r) => String(r.r)],
			["host", "", (r) => hostOf(r.r), (r) => hostOf(r.r)],
			["", "", (r) => r.s[WORKING], (r) => this.bar(SHOWN.map((st) => [r.s[st] / longest, this.colour(st)]), 220)],
			...SHOWN.map(state), ...(meta.imported ? [] : [["calls", "n", (r) => r.calls, (r) => count(r.calls)]])], rows, (r) => this.ui.showRank(r.r))];
	}
	imbalance(rows) {
		const work = rows.map((r) => r.s[WORKING]), max = Math.max(...work), mean = work.reduce((a, b) => a + b, 0) / work.length;
		if (rows.length < 2 || !(mean > 0))
			return null;
		return el("p", {}, `The ${RANK} that works longest (${RANK} ${work.indexOf(max)}, ${duration(max * 1e9)}) works ` +
			`${percent(max / mean - 1)} longer than the mean of ${duration(mean * 1e9)}.`);
	}

	messages() {
		if (!meta.messages.n)
			return this.empty(meta.ranks < 2 ? "One rank alone sends no messages." :
				`No messages between ${RANK}s: point-to-point communication is shown here, collectives are not.`);
		this.pairs = this.pairs || decodePairs();
		const by = this.matrixBy || "bytes";
		this.blocks = this.blocks || this.joinPairs();
		const {cells} = this.blocks;
		const px = Math.max(1, Math.min(26, Math.floor(260 / cells))), c = el("canvas", {id: "matrix"});
		const info = el("p", {class: "dim"}, "Rows send, columns receive. Point at a cell.");
		this.paintMatrix(c, cells, px, by);
		c.onpointermove = (e) => this.matrixInfo(e, c, cells, info);
		const pick = (v, text) => el("button", {"aria-pressed": String(by === v), onclick: () => {
			this.matrixBy = v;
			this.refresh();
		}}, text);
		const axis = (cls, text) => el("div", {class: cls}, el("span", {}, "0"), el("span", {}, text), el("span", {}, String(meta.ranks - 1)));
		const top = this.pairs.slice().sort((a, b) => b[by] - a[by]).slice(0, 50);
		const block = (v) => meta.messages.shift ? `${v << meta.messages.shift}\u2013${Math.min(meta.ranks, (v + 1 << meta.messages.shift)) - 1}` : String(v);
		return [el("div", {class: "cols"},
			el("div", {}, el("h2", {}, "Who sends to whom"), el("p", {class: "actions"}, pick("bytes", "Bytes"), pick("n", "Messages")),
				el("div", {class: "matrix"}, el("span"), axis("axis-to", "to rank"), axis("axis-from", "from rank"), c), this.scale(by), info),
			el("div", {}, el("h2", {}, `${count(meta.messages.n)} messages, ${bytesText(meta.messages.bytes)}`),
				this.table("pairs", [["from", "n", (r) => r.src, (r) => block(r.src)], ["to", "n", (r) => r.dst, (r) => block(r.dst)],
					["messages", "n", (r) => r.n, (r) => count(r.n)], ["bytes", "n", (r) => r.bytes, (r) => bytesText(r.bytes)],
					["mean", "n", (r) => r.bytes / r.n, (r) => bytesText(r.bytes / r.n)]], top)))];
	}
	/* Pairs of blocks of 2^shift ranks; shift is chosen so that a cell has at least one pixel. */
	joinPairs() {
		let shift = meta.messages.shift;
		while (meta.ranks / 2 ** shift > 512)
			shift++;
		const by = shift - meta.messages.shift, sum = new Map(), cells = Math.ceil(meta.ranks / 2 ** shift);
		for (const p of this.pairs) {
			const src = p.src >> by, dst = p.dst >> by, key = src * cells + dst;
			const q = sum.get(key) || {src, dst, n: 0, bytes: 0};
			q.n += p.n;
			q.bytes += p.bytes;
			sum.set(key, q);
		}
		return {shift, cells, list: [...sum.values()], sum};
	}
	/* Even steps of brightness (viridis), away from the background, so that the largest value stands out in light and dark. */
	heat(v) {
		const stops = [[253, 231, 37], [122, 209, 81], [34, 168, 132], [42, 120, 142], [65, 68, 135], [68, 1, 84]];
		if (this.ui.tl.painter.dark)
			stops.reverse();
		const p = Math.min(0.9999, Math.max(0, v)) * (stops.length - 1), i = Math.floor(p);
		return mix(stops[i], stops[i + 1], p - i);
	}
	range(by) {
		let lo = Infinity, hi = 0;
		for (const p of this.blocks.list) {
			if (p[by] > 0)
				lo = Math.min(lo, p[by]);
			hi = Math.max(hi, p[by]);
		}
		return [Math.min(lo, hi), hi];
	}
	paintMatrix(c, cells, px, by) {
		const [lo, hi] = this.range(by);
		c.width = c.height = cells * px;
		const x = c.getContext("2d");
		x.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--row");
		x.fillRect(0, 0, c.width, c.height);
		for (const p of this.blocks.list) {
			if (!p[by])
				continue;
			x.fillStyle = `rgb(${this.heat(hi > lo ? Math.log(p[by] / lo) / Math.log(hi / lo) : 0.5).join(",")})`;
			x.fillRect(p.dst * px, p.src * px, px > 4 ? px - 1 : px, px > 4 ? px - 1 : px);
		}
	}
	scale(by) {
		const [lo, hi] = this.range(by), text = by === "bytes" ? bytesText : count, c = el("canvas", {width: 160, height: 10});
		if (!(hi > lo))
			return el("div", {class: "dim"}, `every pair: ${text(hi)}`);
		const x = c.getContext("2d");
		for (let i = 0; i < 160; i++) {
			x.fillStyle = `rgb(${this.heat(i / 159).join(",")})`;
			x.fillRect(i, 0, 1, 10);
		}
		return el("div", {class: "dim"}, `${text(lo)} `, c, ` ${text(hi)} (logarithmic)`);
	}
	matrixInfo(e, c, cells, info) {
		const box = c.getBoundingClientRect(), at = (v, size) => Math.floor(v / size * cells);
		const dst = at(e.clientX - box.left, box.width), src = at(e.clientY - box.top, box.height);
		const p = this.blocks.sum.get(src * cells + dst), s = this.blocks.shift;
		const name = (v) => s ? `ranks ${v << s} to ${Math.min(meta.ranks, (v + 1) << s) - 1}` : `rank ${v}`;
		info.textContent = `${name(src)} \u2192 ${name(dst)}: ` +
			(p ? `${many(p.n, "message")}, ${bytesText(p.bytes)}` : "no messages");
	}

	loops() {
		if (!meta.loops.length)
			return this.empty(`No loop was found in the calls of rank ${meta.loop_rank}.`);
		const rows = this.loopRows();
		const name = (r) => {
			const e = el("span", {class: "loop"}, el("span", {class: "twist"}), el("span", {class: "code"}, r.l.name),
				el("span", {class: "dim"}, `from ${r.l.first}`));
			e.style.marginLeft = `${r.l.depth * 20}px`;
			return e;
		};
		const turns = (l) => l.executions === 1 ? count(l.iterations) : l.turns_min === l.turns_max ?
			`${count(l.executions)} \u00d7 ${count(l.turns_min)}` : `${count(l.iterations)} in ${count(l.executions)}`;
		const events = (l) => l.events_min === l.events_max ? count(l.events_min) : `${count(l.events_min)}\u2013${count(l.events_max)}`;
		const act = (text, title, f) => el("button", {title, onclick: (e) => {
			e.stopPropagation();
			f();
		}}, text);
		return [el("p", {class: "dim"}, `The run of rank ${meta.loop_rank} as loops: choose one to see its iterations on the time line.`),
			this.table("loops", [["loop", "", (r) => r.i, name],
				["iterations", "n", (r) => r.l.iterations, (r) => turns(r.l)],
				["calls each", "n", (r) => r.l.events_max, (r) => events(r.l)],
				["share", "n", (r) => r.l.share, (r) => percent(r.l.share)],
				["in MPI", "n", (r) => r.l.mpi, (r) => percent(r.l.mpi)],
				["mean", "n", (r) => r.l.mean, (r) => duration(r.l.mean)],
				["shortest to longest", "n", (r) => r.l.max, (r) => `${duration(r.l.min)} to ${duration(r.l.max)}`],
				["", "", (r) => r.i, (r) => el("span", {class: "actions"},
					act("All", "The whole loop", () => this.ui.showLoop(r.i)),
					act("First", "Its first iteration", () => this.ui.showIteration(r.i, 0)),
					act("Slowest", `Iteration ${r.l.slowest}`, () => this.ui.showIteration(r.i, Math.floor(r.l.slowest / r.l.stride))))]],
			rows, (r) => this.ui.chooseLoop(r.i === this.ui.tl.loop ? -1 : r.i, true), (r) => r.i === this.ui.tl.loop)];
	}

	/* The tree of loops: of those within the same loop the longest first. */
	loopRows() {
		const rows = [], add = (parent) => meta.loops.map((l, i) => ({l, i})).filter((r) => r.l.parent === parent)
			.sort((a, b) => b.l.share - a.l.share).forEach((r) => {
				rows.push(r);
				add(r.i);
			});
		add(undefined);
		return rows;
	}

	/* The states, and the functions of single calls, in the time and the ranks that are shown. */
	window() {
		const {tl} = this.ui, {vp} = tl, sum = tl.windowShares || STATES.map(() => 0), all = sum.reduce((a, b) => a + b, 0), w = tl.shares ? tl.shares.length / 4 : 1;
		const ns = (v) => v / w * vp.span; /* shares are summed over the columns of pixels */
		const states = el("table", {}, el("tbody", {}, ...SHOWN.map((s) => el("tr", {}, el("td", {}, STATES[s]), el("td", {class: "n"}, duration(ns(sum[s]))),
			el("td", {class: "n"}, percent(sum[s] / all)), el("td", {}, this.bar([[sum[s] / all, this.colour(s)]], 120))))));
		const rows = this.windowFunctions();
		return [el("p", {class: "dim"}, `${instant(vp.t0, vp.span / 1000)} to ${instant(vp.t1, vp.span / 1000)}, the ${RANK}s that are shown. Shift + drag chooses another window.`),
			el("div", {class: "cols"}, el("div", {}, el("h2", {}, "States"), states),
				meta.imported ? "" : rows ? el("div", {}, el("h2", {}, "MPI functions"), this.table("window", [["function", "", (r) => r.name, (r) => r.name],
					["calls", "n", (r) => r.calls, (r) => count(r.calls)], ["time", "n", (r) => r.ns, (r) => duration(r.ns)],
					["share", "n", (r) => r.ns, (r) => percent(r.ns / ns(all))], ["mean", "n", (r) => r.ns / r.calls, (r) => duration(r.ns / r.calls)]], rows)) :
					el("p", {class: "empty"}, "Zoom in for single calls: then their functions are summed up here."))];
	}
	windowFunctions() {
		const {tl} = this.ui, {vp} = tl, tiles = tl.drawn && tl.drawn.detail && tl.drawn.detail.tiles, of = new Map();
		if (!tiles)
			return null;
		const r0 = Math.floor(vp.r0), r1 = Math.min(meta.ranks, Math.ceil(vp.r0 + vp.rs));
		for (const tile of tiles)
			for (let rank = r0; rank < r1; rank++) {
				const s = tile.ranks.get(rank);
				for (let i = s ? firstAfter(s.b, s.n, vp.t0) : 0; s && i < s.n && s.a[i] < vp.t1; i++) {
					if (s.kind[i] < KIND_CALL)
						continue;
					const f = meta.places[meta.sigs[2 * (s.kind[i] - KIND_CALL)]][0], row = of.get(f) || {name: meta.fns[f][0], calls: 0, ns: 0};
					row.calls += s.a[i] >= tile.t0; /* a call that began in the tile before was counted there */
					row.ns += Math.min(s.b[i], vp.t1) - Math.max(s.a[i], vp.t0);
					of.set(f, row);
				}
			}
		return [...of.values()].sort((a, b) => b.ns - a.ns);
	}

	problems() {
		const most = Math.max(...meta.problems.map((p) => p.share), 1e-9);
		return [el("p", {class: "dim"}, "Where time was lost, then why. Choose one to see where most is lost; Esc shows all of them again."),
			this.table("problems", [["problem", "", (r) => r.title, (r) => r.title],
				["share", "n", (r) => r.share, (r) => percent(r.share)],
				["", "", (r) => r.share, (r) => this.bar([[r.share / most, "var(--problem)"]], 80)],
				["time", "n", (r) => r.ns, (r) => duration(r.ns)], ["times", "n", (r) => r.times, (r) => count(r.times)],
				["most on", "", (r) => r.rank, (r) => r.rank === undefined ? "all ranks" : `rank ${r.rank}`],
				["call site", "code", (r) => r.site, (r) => r.site],
				["what it is, what to do", "long", (r) => r.text, (r) => `${r.text} ${r.advice}`]],
			meta.problems, (r) => this.ui.showProblem(r), (r) => meta.problems.indexOf(r) === this.ui.tl.problem)];
	}

	trace() {
		const j = meta.job, rows = [["program", [j.program, j.arguments].filter(Boolean).join(" ")], ["job", [j.job, j.step].filter(Boolean).join(".")],
			["started", j.date], ["MPI", j.mpi], ["hosts", j.hosts], ["launcher", j.launcher],
			[`${RANK}s`, count(meta.ranks)], ["calls", meta.imported ? "" : count(meta.events)], ["run", duration(meta.end)],
			["trace file", `${meta.path} (${bytesText(meta.file_bytes)})`],
			[meta.imported ? "" : "single calls", this.detailText()], ["messages", this.messageText()], ["written by", `precedent ${meta.version}`]];
		return [el("table", {}, el("tbody", {}, ...rows.filter((r) => r[0] && r[1]).map(([k, v]) =>
			el("tr", {}, el("td", {class: "dim"}, k), el("td", {}, v)))))];
	}
	detailText() {
		if (meta.served)
			return "all, from the server that sent this page";
		if (!meta.columns.chars.length)
			return "none in this page";
		return meta.columns.end >= meta.end ? "all are in this page" :
			`in this page up to ${instant(meta.columns.end, meta.end / 1e4)} of ${instant(meta.end, meta.end / 1e4)}`;
	}
	messageText() {
		if (!meta.messages.n)
			return "";
		return meta.served || meta.messages.end >= meta.end ? count(meta.messages.n) :
			`${count(meta.messages.n)}; ${count(meta.messages.kept)} of them are in this page`;
	}
}
