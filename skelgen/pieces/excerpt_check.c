/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See excerpt_check.h. */
#include "skelgen/pieces/excerpt_check.h"

#include <string.h>

#include "skelgen/pieces/excerpt.h"
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
};

static void step(struct check *c)
{
	c->n++;
	c->more = folded_next(&c->it, &c->sym);
}

/* Is the next call this one of the run? Then it is passed. */
static bool passed(struct check *c, uint32_t sym)
{
	const struct trace_sig *a = &c->run->sigs.sig[sym], *b = &c->excerpt->sigs.sig[c->sym];

	if (!c->more || a->fn != b->fn || a->site != b->site || a->n != b->n ||
	    (a->n > 0 && memcmp(sigtable_values(&c->run->sigs, sym), sigtable_values(&c->excerpt->sigs, c->sym), a->n * sizeof(int64_t)) != 0))
		return false;
	step(c);
	return true;
}

/* The next call must be the border with this number. */
static void border(struct check *c, uint32_t number)
{
	const struct trace_sig *s = &c->excerpt->sigs.sig[c->sym];

	if (!c->more || s->fn != FN_MPI_Pcontrol || s->n != 1 ||
	    sigtable_values(&c->excerpt->sigs, c->sym)[0] != EXCERPT_LEVEL + (int64_t)number)
		c->failed = true;
	else
		step(c);
}

static void segment_begin(struct check *c, bool chosen)
{
	if (chosen)
		border(c, c->piece++);
	else if (c->inside)
		border(c, c->n_piece);
	c->inside = chosen;
}

static void rank_check(struct check *c, const struct trace_rank *run, const struct cuts *cuts, uint32_t rank, const bool *chosen)
{
	struct folded_iter it;
	uint32_t sym, seg = 0;

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
		if (c.failed)
			return err_set(err, "the excerpt is not the run: rank %u, call %llu of the excerpt", r, (unsigned long long)c.n);
	}
	return 0;
}
