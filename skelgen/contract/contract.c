/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Greedy contraction in rounds. The text of a round concatenates the sequences that may still hold a
 * repetition: the stream and the loop bodies. Each separator between two sequences occurs once, so that no
 * repetition crosses a separator. Marked repetitions are replaced by one symbol per (body, count). New bodies
 * join the next round. All rounds use one buffer.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "skelgen/contract/contract.h"
#include "common/array.h"
#include "skelgen/contract/grammar.h"
#include "skelgen/contract/search.h"

#define CANDIDATES_MAX 200000u /* longer streams are contracted in one way only */
#define SHORTCUT_MIN   256u    /* shorter sequences are cheap to search in full */

/* A sequence of the current round: text[first .. first+length). */
struct piece {
	uint32_t body;
	uint32_t first, length;
	bool searched; /* the search was refused as too expensive */
};

/* Bodies that were met for the first time in this round. */
struct fresh {
	uint32_t *body;
	uint32_t n, cap;
};

struct work {
	const struct contract_options *opt;
	struct grammar g;
	uint32_t *text;
	uint32_t n_text, cap;
	struct piece *piece;
	uint32_t n_piece, cap_piece;
	struct search search;
	bool shortcut; /* a dominant run was contracted */
	struct repeat_list runs;
	uint32_t *run_at; /* [n_text] 1 + index in runs of the marked run that starts here */
};

static int work_add_piece(struct work *w, struct piece p, struct errbuf *err)
{
	if (ARRAY_ROOM(w->piece, w->cap_piece, w->n_piece + 1) != 0)
		return err_set(err, "contraction: out of memory for %u loop bodies", w->n_piece);
	w->piece[w->n_piece++] = p;
	return 0;
}

static int fresh_add(struct fresh *f, uint32_t body, struct errbuf *err)
{
	if (body == GRAMMAR_NONE)
		return 0;
	if (ARRAY_ROOM(f->body, f->cap, f->n + 1) != 0)
		return err_set(err, "contraction: out of memory for %u loop bodies", f->n);
	f->body[f->n++] = body;
	return 0;
}

/* Smallest period of w[0..n), or 0 if it is above n/2. Failure functions of prefixes of doubling length find
 * a period of the prefix; it is tried on the rest, and where it breaks the prefix grows. */
static uint32_t primitive_period(const uint32_t *w, uint32_t n, uint32_t *fail, uint32_t cap)
{
	uint32_t done = 0, target = 64, border = 0, q;

	if (n < 2)
		return 0;
	for (;;) {
		if (target > n)
			target = n;
		if (target > cap)
			return 0;
		if (done == 0) {
			fail[0] = 0;
			done = 1;
		}
		for (; done < target; done++) {
			while (border && w[done] != w[border])
				border = fail[border - 1];
			border += w[done] == w[border];
			fail[done] = border;
		}
		q = done - border;
		if (q <= done / 2) {
			uint32_t reach = done + symbols_match(w + done, w + done - q, n - done);

			if (reach == n)
				return q;
			if (reach / 2 > target)
				target = reach / 2;
		}
		if (done == n)
			return 0;
		target = target > n / 2 ? n : 2 * target;
	}
}

/* The run that covers the middle half of a sequence and is provably its longest (Fine and Wilf): length >=
 * 3n/4+p. */
static bool dominant_run(const uint32_t *s, uint32_t n, uint32_t *fail, uint32_t cap, struct repeat *run)
{
	uint32_t quarter = n / 4, start, end, p;

	p = primitive_period(s + quarter, n - 2 * quarter, fail, cap);
	if (!p)
		return false;
	end = n - quarter;
	end += symbols_match(s + end, s + end - p, n - end);
	start = quarter;
	while (start > 0 && s[start - 1] == s[start - 1 + p])
		start--;
	*run = (struct repeat){start, end - start, p};
	return run->length - (uint64_t)p >= 3 * (uint64_t)n / 4;
}

/* Write a run of the text at *to: its loop symbol, then the incomplete last period. *fresh is the loop's body
 * if the body is new. */
static int work_fold(struct work *w, const struct repeat *r, uint32_t *to, uint32_t *fresh,
		     struct errbuf *err)
{
	uint32_t count = r->length / r->period, left = r->length % r->period, loop;

	if (grammar_loop(&w->g, w->text + r->start, r->period, count, &loop, fresh, err))
		return -1;
	w->text[(*to)++] = loop;
	memmove(w->text + *to, w->text + r->start + r->length - left, (size_t)left * sizeof(*w->text));
	*to += left;
	return 0;
}

/* Contract dominant runs of a piece, in place, for as long as there are any. Adds the bodies that are new to
 * fresh[]. */
static int work_shortcut(struct work *w, struct piece *p, struct fresh *fresh, struct errbuf *err)
{
	uint32_t *fail, cap;
	struct repeat r;
	int rc = 0;

	if (w->opt->without_shortcut || p->length < SHORTCUT_MIN)
		return 0;
	cap = p->length / 2 + 2;
	fail = malloc((size_t)cap * sizeof(*fail));
	if (!fail)
		return err_set(err, "contraction: out of memory for %u symbols", p->length);
	while (p->length >= SHORTCUT_MIN && dominant_run(w->text + p->first, p->length, fail, cap, &r)) {
		uint32_t end = p->first + r.start + r.length, tail = p->length - r.start - r.length;
		uint32_t to = p->first + r.start, body = GRAMMAR_NONE;

		r.start += p->first;
		rc = work_fold(w, &r, &to, &body, err) || fresh_add(fresh, body, err) ? -1 : 0;
		if (rc)
			break;
		w->shortcut = true;
		memmove(w->text + to, w->text + end, (size_t)tail * sizeof(*w->text));
		p->length = to + tail - p->first;
	}
	free(fail);
	return rc;
}

/* Move the pieces together, each followed by a separator. */
static void work_join(struct work *w)
{
	uint32_t to = 0;

	for (uint32_t i = 0; i < w->n_piece; i++) {
		struct piece *p = &w->piece[i];

		memmove(w->text + to, w->text + p->first, (size_t)p->length * sizeof(*w->text));
		p->first = to;
		to += p->length;
		w->text[to++] = grammar_n_symbols(&w->g) + i;
	}
	w->n_text = to;
}

/* Choose runs, longest first, then leftmost, without overlaps; w->run_at[start] names those chosen. */
static int work_mark(struct work *w, struct errbuf *err)
{
	uint64_t *taken = calloc((size_t)w->n_text / 64 + 1, sizeof(*taken));
	int rc = -1;

	w->run_at = calloc((size_t)w->n_text + 1, sizeof(*w->run_at));
	if (!taken || !w->run_at) {
		err_set(err, "contraction: out of memory for %u symbols", w->n_text);
		goto out;
	}
	if (repeats_sort_longest(&w->runs, w->n_text, err))
		goto out;
	for (uint32_t i = 0; i < w->runs.n; i++) {
		const struct repeat *r = &w->runs.item[i];
		uint32_t last = r->start + r->length - 1;

		/* Marked runs are at least as long, so an overlap shows at an end of this run. */
		if ((taken[r->start >> 6] >> (r->start & 63) | taken[last >> 6] >> (last & 63)) & 1)
			continue;
		/* The search may have compared by hash, so compare the run symbol by symbol before it is contracted. */
		if (!repeat_holds(w->text, r))
			continue;
		for (uint32_t k = r->start; k <= last; k++)
			taken[k >> 6] |= UINT64_C(1) << (k & 63);
		w->run_at[r->start] = i + 1;
	}
	rc = 0;
out:
	free(taken);
	return rc;
}

/* Replace the marked runs of a piece, in place at *to. Sets *changed. */
static int work_rewrite(struct work *w, struct piece *p, uint32_t *to, bool *changed, struct fresh *fresh,
			struct errbuf *err)
{
	uint32_t end = p->first + p->length, first = *to;

	*changed = false;
	for (uint32_t i = p->first; i < end;) {
		uint32_t body = GRAMMAR_NONE;
		struct repeat r;

		if (!w->run_at[i]) {
			w->text[(*to)++] = w->text[i++];
			continue;
		}
		r = w->runs.item[w->run_at[i] - 1];
		if (work_fold(w, &r, to, &body, err) || fresh_add(fresh, body, err))
			return -1;
		i += r.length;
		*changed = true;
	}
	p->first = first;
	p->length = *to - first;
	return 0;
}

/* A sequence that is short enough is put aside for the exhaustive search; one without room for a loop is
 * done. */
static int work_settle(struct work *w, uint32_t body, const uint32_t *text, uint32_t length, bool searched,
		       bool *settled, struct errbuf *err)
{
	enum grammar_state state = length < 2 ? GRAMMAR_DONE : GRAMMAR_PARKED;

	*settled = length < 2 || (!searched && search_wants(&w->search, length));
	return *settled ? grammar_settle(&w->g, body, text, length, state, err) : 0;
}

/* Append text as a piece; it may lie in the grammar, not in w->text. */
static int work_append(struct work *w, uint32_t body, const uint32_t *text, uint32_t length, bool searched,
		       struct errbuf *err)
{
	uint32_t need = w->n_text + length + 1;

	if (ARRAY_ROOM(w->text, w->cap, need) != 0)
		return err_set(err, "contraction: out of memory for %u symbols", need);
	memcpy(w->text + w->n_text, text, (size_t)length * sizeof(*text));
	if (work_add_piece(w, (struct piece){body, w->n_text, length, searched}, err))
		return -1;
	w->n_text = need;
	return 0;
}

static int work_append_fresh(struct work *w, const struct fresh *fresh, struct errbuf *err)
{
	for (uint32_t i = 0; i < fresh->n; i++) {
		uint32_t body = fresh->body[i], length;
		const uint32_t *raw = grammar_raw(&w->g, body, &length);
		bool settled;

		if (work_settle(w, body, raw, length, false, &settled, err))
			return -1;
		if (!settled && work_append(w, body, raw, length, false, err))
			return -1;
	}
	return 0;
}

/* Contract the marked runs of every piece; a piece without any is done. */
static int work_replace(struct work *w, struct fresh *fresh, struct errbuf *err)
{
	uint32_t to = 0, kept = 0;

	for (uint32_t i = 0; i < w->n_piece; i++) {
		struct piece p = w->piece[i];
		bool changed, settled;

		if (work_rewrite(w, &p, &to, &changed, fresh, err))
			return -1;
		if (changed) {
			p.searched = false;
			if (work_settle(w, p.body, w->text + p.first, p.length, false, &settled, err))
				return -1;
		} else {
			settled = true;
			if (grammar_settle(&w->g, p.body, w->text + p.first, p.length, GRAMMAR_DONE, err))
				return -1;
		}
		if (settled) {
			to = p.first;
		} else {
			to++; /* room for the separator */
			w->piece[kept++] = p;
		}
	}
	w->n_piece = kept;
	w->n_text = to;
	return 0;
}

static int work_round(struct work *w, struct errbuf *err)
{
	struct fresh fresh = {0};
	int rc = -1;

	for (uint32_t i = 0; i < w->n_piece; i++)
		if (work_shortcut(w, &w->piece[i], &fresh, err))
			goto out;
	work_join(w);
	if (repeats_find(w->text, w->n_text, w->opt->engine, &w->runs, err) || work_mark(w, err))
		goto out;
	if (work_replace(w, &fresh, err) || work_append_fresh(w, &fresh, err))
		goto out;
	rc = 0;
out:
	free(w->run_at);
	w->run_at = NULL;
	repeat_list_free(&w->runs);
	free(fresh.body);
	return rc;
}

/* Search the parked bodies. A body that is too expensive to search becomes a piece of the next rounds. */
static int work_search(struct work *w, struct errbuf *err)
{
	for (uint32_t body = 0; body < w->g.n_body; body++) {
		if (w->g.body[body].state == GRAMMAR_PARKED && search_body(&w->search, &w->g, body, err))
			return -1;
	}
	for (uint32_t body = 0; body < w->g.n_body; body++) {
		struct grammar_body *b = &w->g.body[body];

		if (b->state != GRAMMAR_REFUSED)
			continue;
		b->state = GRAMMAR_OPEN;
		if (work_append(w, body, w->g.text.item + b->text_first, b->text_length, true, err))
			return -1;
	}
	return 0;
}

/* The stream, which lies in w->text already, is the first piece, or is searched at once when it is short. */
static int work_start(struct work *w, uint32_t n, struct errbuf *err)
{
	uint32_t top = grammar_top(&w->g);
	bool settled;

	if (work_settle(w, top, w->text, n, false, &settled, err))
		return -1;
	if (settled)
		return work_search(w, err);
	w->n_text = n;
	return work_add_piece(w, (struct piece){.body = top, .length = n}, err);
}

/* Contract with these options; *shortcut says whether a dominant run was contracted before all others. */
static int contract_once(const uint32_t *sym, uint32_t n, const struct contract_options *opt,
			 struct contract_tree *out, bool *shortcut, struct errbuf *err)
{
	struct work w = {.opt = opt};
	int rc = -1;

	*out = (struct contract_tree){0};
	w.cap = n + 2;
	w.text = malloc((size_t)w.cap * sizeof(*w.text));
	if (!w.text) {
		err_set(err, "contraction: out of memory for %u events", n);
		goto out;
	}
	if (grammar_create(&w.g, sym, n, w.text, err) ||
	    search_create(&w.search, n, opt->without_search, err) || work_start(&w, n, err))
		goto out;
	while (w.n_piece) {
		if (work_round(&w, err))
			goto out;
		if (w.n_piece == 0 && work_search(&w, err))
			goto out;
	}
	rc = grammar_tree(&w.g, out, err);
	*shortcut = w.shortcut;
out:
	free(w.text);
	free(w.piece);
	repeat_list_free(&w.runs);
	search_destroy(&w.search);
	grammar_destroy(&w.g);
	return rc;
}

/* Another candidate: keep it when it is shorter. */
static int contract_again(const uint32_t *sym, uint32_t n, const struct contract_options *opt,
			  struct contract_tree *best, struct errbuf *err)
{
	struct contract_tree other;
	bool shortcut;

	if (contract_once(sym, n, opt, &other, &shortcut, err))
		return -1;
	if (contract_tree_length(&other) < contract_tree_length(best)) {
		struct contract_tree t = *best;

		*best = other;
		other = t;
	}
	contract_tree_free(&other);
	return 0;
}

int contract_symbols(const uint32_t *sym, uint64_t n, const struct contract_options *opt,
		     struct contract_tree *out, struct errbuf *err)
{
	static const struct contract_options defaults;
	struct contract_options plain;
	bool shortcut = false;

	*out = (struct contract_tree){0};
	if (n > CONTRACT_MAX_EVENTS)
		return err_set(err,
			       "contraction: a stream of %" PRIu64
			       " events is above the limit of %u; trace with "
			       "folding in the tracer, or contract it in parts",
			       n, CONTRACT_MAX_EVENTS);
	opt = opt ? opt : &defaults;
	if (contract_once(sym, (uint32_t)n, opt, out, &shortcut, err))
		goto fail;
	/* The order in which runs are taken is a heuristic: where time allows, plain greedy is a candidate
	 * too. */
	plain = (struct contract_options){
	    .engine = opt->engine, .without_shortcut = true, .without_search = true};
	if (n <= CANDIDATES_MAX && (shortcut || !opt->without_search) &&
	    contract_again(sym, (uint32_t)n, &plain, out, err))
		goto fail;
	plain.without_search = opt->without_search;
	if (n <= CANDIDATES_MAX && shortcut && !plain.without_search &&
	    contract_again(sym, (uint32_t)n, &plain, out, err))
		goto fail;
	out->n_events = n;
	out->hash = XXH3_64bits(sym, n * sizeof(*sym));
	if (contract_tree_check(out, sym, n, err))
		goto fail;
	return 0;
fail:
	contract_tree_free(out);
	return -1;
}
