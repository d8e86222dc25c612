/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See excerpt_check.h. */
#include "skelgen/pieces/excerpt_check.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "skelgen/pieces/excerpt.h"
#include "skelgen/pieces/slot_names.h"
#include "trace/functions.h"

/* A rank's calls in the excerpt, of which `sym` comes next. */
struct check {
	const struct trace_defs *run, *excerpt;
	struct folded_iter it;
	uint32_t sym;
	bool more;
	uint64_t n;              /* calls that were the expected ones */
	uint32_t piece, n_piece; /* that begins next; of all */
	bool inside, failed;
	/* Of the piece at hand. name has, for each slot of the run, the slot of the excerpt plus 1, or 0. slot has the reverse. */
	uint32_t *name, *slot, cap_name, cap_slot;
};

static void step(struct check *c)
{
	c->n++;
	c->more = folded_next(&c->it, &c->sym);
}

/* Each slot of the run is one slot of the excerpt in the whole piece. Slots beyond the number of kinds of calls keep theirs. */
static bool same_slot(struct check *c, int64_t slot, int64_t name)
{
	if (slot < 0 || name < 0 || slot >= c->run->sigs.n || name >= c->run->sigs.n)
		return slot == name;
	if (ARRAY_ROOM_ZEROED(c->name, c->cap_name, (size_t)slot + 1) != 0 || ARRAY_ROOM_ZEROED(c->slot, c->cap_slot, (size_t)name + 1) != 0)
		return false;
	if (c->name[slot] == 0 && c->slot[name] == 0) {
		c->name[slot] = (uint32_t)name + 1;
		c->slot[name] = (uint32_t)slot + 1;
	}
	return c->name[slot] == (uint64_t)name + 1 && c->slot[name] == (uint64_t)slot + 1;
}

static bool same_values(struct check *c, uint32_t sym)
{
	struct sig_walk at, in;

	sig_walk_begin(&at, c->run, sym);
	sig_walk_begin(&in, c->excerpt, c->sym);
	while (sig_walk_next(&at) && sig_walk_next(&in)) {
		bool slots = c->inside && slot_names_has(&at);

		if (at.n != in.n)
			return false;
		for (uint32_t k = 0; k < at.n; k++)
			if (!(slots ? same_slot(c, at.val[k], in.val[k]) : at.val[k] == in.val[k]))
				return false;
	}
	return true;
}

/* Is the next call this one of the run? Then it is passed. */
static bool passed(struct check *c, uint32_t sym)
{
	const struct trace_sig *a = &c->run->sigs.sig[sym], *b = &c->excerpt->sigs.sig[c->sym];

	if (!c->more || a->fn != b->fn || a->site != b->site || !same_values(c, sym))
		return false;
	step(c);
	return true;
}

static bool border_is_next(const struct check *c, uint32_t number)
{
	return c->more && c->excerpt->sigs.sig[c->sym].fn == FN_MPI_Pcontrol &&
	       sig_scalar(c->excerpt, c->sym, TK_INT, TRACE_NULL) == EXCERPT_LEVEL + (int64_t)number;
}

static void border(struct check *c, uint32_t number)
{
	if (border_is_next(c, number))
		step(c);
	else
		c->failed = true;
}

static void segment_begin(struct check *c, bool chosen)
{
	if (chosen)
		border(c, c->piece++);
	else if (c->inside)
		border(c, c->n_piece);
	c->inside = chosen;
	if (c->cap_name > 0)
		memset(c->name, 0, c->cap_name * sizeof *c->name);
	if (c->cap_slot > 0)
		memset(c->slot, 0, c->cap_slot * sizeof *c->slot);
}

/* Where the next piece begins, if the excerpt has no call before it; 0: not known. seg: at hand. */
static uint64_t piece_begin(const struct check *c, const struct cuts *cuts, uint32_t rank, const bool *chosen,
			    uint32_t seg)
{
	if (c->inside || !border_is_next(c, c->piece))
		return 0;
	while (++seg <= cuts->n && !chosen[seg])
		;
	return seg <= cuts->n ? cuts->at[(size_t)(seg - 1) * cuts->n_ranks + rank] : 0;
}

static void rank_check(struct check *c, const struct trace_rank *run, const struct cuts *cuts, uint32_t rank, const bool *chosen)
{
	struct folded_iter it;
	uint32_t sym, seg = 0;
	uint64_t begin;

	folded_begin(&it, &run->events);
	for (uint64_t e = 0; !c->failed && folded_next(&it, &sym); e++) {
		enum trace_class cls = trace_fn[c->run->sigs.sig[sym].fn].cls;

		for (; seg < cuts->n && cuts->at[(size_t)seg * cuts->n_ranks + rank] <= e; seg++)
			segment_begin(c, chosen[seg + 1]);
		if (cls == TC_FINALIZE)
			segment_begin(c, false);
		if (!passed(c, sym) && (c->inside || cls == TC_INIT || cls == TC_FINALIZE))
			c->failed = true;
		if (e == 0)
			segment_begin(c, chosen[0]);
		begin = piece_begin(c, cuts, rank, chosen, seg);
		if (begin > e + 1) {
			folded_seek(&it, &run->events, begin);
			e = begin - 1;
		}
	}
	c->failed |= c->more || c->piece != c->n_piece;
}

int excerpt_check(const struct trace *t, const struct cuts *cuts, const bool *chosen, const struct trace *excerpt, struct errbuf *err)
{
	uint32_t n_piece = 0;

	if (trace_n_ranks(excerpt) != cuts->n_ranks)
		return err_set(err, "the excerpt has %u ranks, and the run %u", trace_n_ranks(excerpt), cuts->n_ranks);
	for (uint32_t i = 0; i <= cuts->n; i++)
		n_piece += chosen[i];
	for (uint32_t r = 0; r < cuts->n_ranks; r++) {
		const struct trace_rank *run = trace_get_rank(t, r), *part = trace_get_rank(excerpt, r);
		struct check c = {.run = &run->defs, .excerpt = &part->defs, .n_piece = n_piece};

		folded_begin(&c.it, &part->events);
		c.more = folded_next(&c.it, &c.sym);
		rank_check(&c, run, cuts, r, chosen);
		free(c.name);
		free(c.slot);
		if (c.failed)
			return err_set(err, "the excerpt is not the run: rank %u, call %llu of the excerpt", r, (unsigned long long)c.n);
	}
	return 0;
}
