/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the object under the pointer and shows a card with its data. */

class Card {
	constructor(box, timeline) {
		this.box = box;
		this.tl = timeline;
	}

	/* The object at (x, y) of the plot. */
	find(x, y) {
		const tl = this.tl, vp = tl.vp, py = y * tl.dpr;
		const row = tl.drawn && tl.drawn.rows.find((r) => py >= r.y && py < r.y + r.h + 4);
		const hit = {x, y, t: vp.t(x), row, rank: row ? Math.min(row.rank + row.n - 1, Math.max(row.rank, vp.rank(y))) : -1};
		hit.message = this.findMessage(x, y);
		if (row && !hit.message)
			hit.span = this.findSpan(hit);
		return hit;
	}

	findMessage(x, y) {
		let best = null, least = 5;
		for (const [m, i] of this.tl.arrows || []) {
			const [x0, y0, x1, y1] = this.tl.arrowEnds(m, i), dx = x1 - x0, dy = y1 - y0;
			const l2 = dx * dx + dy * dy || 1, p = Math.max(0, Math.min(1, ((x - x0) * dx + (y - y0) * dy) / l2));
			const d = Math.hypot(x - x0 - p * dx, y - y0 - p * dy);
			if (d < least) {
				least = d;
				best = [m, i];
			}
		}
		return best;
	}

	/* The span at this point, the nearest span within two pixels, or the work between two spans. */
	findSpan(hit) {
		const tl = this.tl, vp = tl.vp, slack = 2 * vp.span / vp.w;
		if (!tl.drawn.detail || !tl.drawn.detail.tiles || hit.row.k > 0)
			return null;
		const near = tl.spansOf(hit.rank, hit.t - slack, hit.t + slack, 200);
		if (!near)
			return null;
		const exact = near.find((s) => s.a <= hit.t && hit.t < s.b);
		return exact || this.workAt(hit) ||
			near.sort((p, q) => Math.abs(p.a - hit.t) - Math.abs(q.a - hit.t))[0] || null;
	}

	workAt(hit) {
		for (const tile of this.tl.drawn.detail.tiles) {
			const r = tile.ranks.get(hit.rank);
			if (!r || hit.t < tile.t0 || hit.t >= tile.t1)
				continue;
			const i = firstAfter(r.a, r.n, hit.t), a = i ? r.b[i - 1] : tile.t0, b = i < r.n ? r.a[i] : tile.t1;
			if (b > a && this.tl.vp.x(b) - this.tl.vp.x(a) >= 3)
				return {rank: hit.rank, kind: KIND_STATE + WORKING, state: WORKING, a, b, event: -1, work: true};
		}
		return null;
	}

	show(hit, px, py) {
		const parts = hit.problem !== undefined ? this.problemParts(hit) : hit.loop !== undefined ? this.loopParts(hit) : hit.message ? this.messageParts(hit) :
			hit.span ? this.spanParts(hit) : hit.row ? this.levelParts(hit) : null;
		if (!parts)
			return this.hide();
		this.box.replaceChildren(...parts);
		this.box.hidden = false;
		const outer = this.box.parentElement.getBoundingClientRect(), own = this.box.getBoundingClientRect();
		const x = px + 18 + own.width < outer.width ? px + 18 : Math.max(4, px - own.width - 14);
		const y = Math.max(4, Math.min(py + 16, outer.height - own.height - 6));
		this.box.style.left = `${x}px`;
		this.box.style.top = `${y}px`;
		return parts;
	}

	hide() {
		this.box.hidden = true;
		return null;
	}

	head(text, state) {
		const h = el("h3");
		if (state >= 0) {
			const s = el("span", {class: "swatch"});
			s.style.background = this.tl.painter.css[STATES[state]];
			h.append(s);
		}
		h.append(text);
		return h;
	}

	list(pairs) {
		const dl = el("dl");
		for (const [k, v] of pairs)
			if (v)
				dl.append(el("dt", {}, k), el("dd", {}, v));
		return dl;
	}

	where(rank) {
		const host = hostOf(rank);
		return host && meta.host_runs > 1 ? `${RANK} ${rank} on ${host}` : `${RANK} ${rank}`;
	}

	spanParts({span}) {
		const res = this.tl.vp.span / 1000;
		if (span.kind === KIND_UNKNOWN && this.polls(span.rank))
			return this.pollParts(span.rank);
		if (span.kind === KIND_UNKNOWN)
			return [this.head(meta.untimed ? "Not kept as single calls" : "Nothing is known here", -1),
				el("p", {}, meta.untimed ? "Memory was bounded: of this time the shares of states are known." :
					"The trace of this rank is damaged, or ends here.")];
		const name = span.work ? "Working" : callName(span.kind);
		return [this.head(name, span.state),
			span.work ? null : el("p", {}, callWords(span.kind)),
			callSite(span.kind) ? el("p", {class: "site"}, callSite(span.kind)) : null,
			this.list([["where", this.where(span.rank)], ["for", duration(span.b - span.a)],
				["from", instant(span.a, res)], ["to", instant(span.b, res)],
				["state", span.work ? "" : STATES[span.state]],
				["waits for the send", span.late > span.a ? duration(span.late - span.a) : ""],
				["call", span.event >= 0 ? `number ${count(span.event)}` : ""],
				["iteration", this.iterationAt(span)], ["problem", this.problemOf(span)]])].filter(Boolean);
	}

	polls(rank) {
		return pollers.find((p) => p[0] === rank);
	}
	pollParts(rank) {
		const [, n, ns] = this.polls(rank);
		return [this.head("Unsuccessful tests", POLLING),
			el("p", {}, "Tests and probes that found nothing are counted, not recorded one by one. The time that they took is left out here."),
			this.list([["where", this.where(rank)], ["tests", count(n)], ["together", duration(ns)]])];
	}

	problemOf(span) {
		const hit = this.tl.problemRows ? this.tl.problemAt((span.a + span.b) / 2, span.rank, 0) : null;
		return hit ? `${meta.problems[hit.problem].title}, ${duration(meta.problems[hit.problem].lost[hit.mark])}` : "";
	}

	problemParts({problem, mark}) {
		const p = meta.problems[problem], first = p.first[mark], last = p.last[mark];
		return [this.head(p.title, -1), el("p", {}, p.text),
			this.list([["lost here", duration(p.lost[mark])], ["most by", this.where(p.rank_of[mark])],
				["ranks", first === last ? "" : last === first + 1 ? `${first} and ${last}` : `${first} to ${last}`],
				["from", instant(p.a[mark], this.tl.vp.span / 1000)], ["for", duration(p.b[mark] - p.a[mark])],
				["in the run", `${percent(p.share)}, ${duration(p.ns)}, ${many(p.times, "time")}`]]),
			el("p", {}, p.advice)];
	}

	iterationAt(span) {
		const l = meta.loops[this.tl.loop];
		if (!l)
			return "";
		const t = (span.a + span.b) / 2, i = firstAfter(l.b, l.marks, t);
		return i < l.marks && l.a[i] <= t ? `${l.stride > 1 ? "about " : ""}${count(i * l.stride)} of ${l.name}` : "";
	}

	levelParts(hit) {
		const tl = this.tl, {row, x} = hit, w = Math.round(tl.vp.w * tl.dpr), shares = new Float32Array(w * 4);
		const px = Math.max(0, Math.min(w - 1, Math.floor(x * tl.dpr)));
		const old = tl.shares;
		tl.shares = shares;
		const d = tl.drawn.detail;
		if (d && d.tiles)
			tl.addSpans(d.tiles, row, w);
		else
			for (const l of (d && d.levels) || [tl.base])
				tl.addLevels(l, levelEdges(l, tl.vp.t0, tl.vp.t1, w), row);
		tl.shares = old;
		const s = Array.from(shares.subarray(px * 4, px * 4 + 4)), known = s.reduce((a, b) => a + b, 0);
		const title = row.n > 1 ? `ranks ${row.rank} to ${row.rank + row.n - 1}` : this.where(row.rank);
		const polling = tl.polling(row, shares, tl.vp.t0, tl.vp.t1);
		s.push(polling ? polling[px] : 0);
		if (known + s[POLLING] < 0.01)
			return [this.head(title, -1), el("p", {}, "Nothing is known of this time.")];
		const dl = el("dl");
		SHOWN.forEach((st) => {
			if (s[st] < 0.0005)
				return;
			const sw = el("span", {class: "swatch"});
			sw.style.cssText = `background:${tl.painter.css[STATES[st]]};display:inline-block;vertical-align:-2px;margin-right:6px`;
			dl.append(el("dt", {}, sw, STATES[st]), el("dd", {}, percent(s[st])));
		});
		const step = tl.detail.kind === "spans" ? tl.vp.span / w : Math.max(tl.detail.step || 0, tl.vp.span / w);
		return [this.head(title, -1), el("p", {class: "dim"}, `${instant(hit.t, tl.vp.span / 1000)}, within ${duration(step)}`), dl];
	}

	messageParts({message: [m, i]}) {
		const late = m.b[i] - m.a[i];
		return [this.head("Message", -1),
			el("p", {}, `${RANK} ${m.src[i]} \u2192 ${RANK} ${m.dst[i]}, ${bytesText(m.size[i])}, tag ${m.tag[i]}`),
			this.list([["sent", instant(m.a[i], this.tl.vp.span / 1000)],
				["received", instant(m.b[i], this.tl.vp.span / 1000)], ["after", duration(late)],
				["rate", late > 0 && m.size[i] ? `${bytesText(m.size[i] / late * 1e9)}/s` : ""]])];
	}

	loopParts({loop, mark}) {
		const l = meta.loops[loop], one = l.b[mark] - l.a[mark];
		return [this.head(`Loop at ${l.name}`, -1),
			this.list([["iterations", count(l.iterations)],
				["here", l.stride > 1 ? `${count(mark * l.stride)} to ${count(Math.min(l.iterations, (mark + 1) * l.stride) - 1)}, ${duration(one)}` :
					`number ${count(mark)}, ${duration(one)}`],
				["mean", `${duration(l.mean)} \u00b1 ${duration(l.sd)}`],
				["share", `${percent(l.share)} of rank ${meta.loop_rank}`], ["in MPI", percent(l.mpi)]])];
	}
}
