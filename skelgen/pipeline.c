/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stages from a trace to a skeleton: see pipeline.h. */
#include "skelgen/pipeline.h"

#include <math.h>

#include "skelgen/merge/build.h"
#include "skelgen/merge/verify.h"
#include "skelgen/simulate/plan_matched.h"

#define ITEMS_MAX 8000  /* of a rank's folded events: contracting more takes longer than a skeleton may take to build */
#define TREE_ITEMS_MAX (1u << 18) /* of all ranks, where the run does not repeat: a tree of them needs about 280 MB */
#define CLEARLY   1.25  /* nearer to the limits must a skeleton of pieces be than one of the whole run */
#define FEW       8     /* pieces: the differences between fewer say too little about the rest of the run */
#define FAR       4     /* CLEARLY for these */
#define OVER      1.2   /* times the budget that a skeleton may run */
#define TRIES     5     /* for an excerpt within the limits */
#define FIRST     0.125 /* of the most calls: the first of them shows how well pieces of this run fold */
#define AIM       0.8   /* of SKEL_LINES_MAX: larger excerpts fold somewhat better or worse */
#define CALL_LINES 7    /* that most calls take in the source */
#define CALL_LINES_MOST 20 /* that calls do not take, with their loops and conditions */
#define ENOUGH    0.5   /* of the limits that an excerpt uses; up to twice as many pieces make an interval smaller by a third */

int skel_tree_build_with(const struct trace *t, bool with_optional, struct skel_tree *out, struct errbuf *err)
{
	struct grouping ranks;
	int rv;

	*out = (struct skel_tree){0};
	rv = skel_contract(t, with_optional, &ranks, err);
	if (rv == 0)
		rv = skel_merge(t, &ranks, out, err);
	else
		grouping_free(&ranks);
	if (rv == 0 && skel_verify(out, NULL, err) < 0)
		rv = err_prefix(err, "the merged tree is not the trace");
	if (rv == 0)
		rv = skel_tree_resolve(out, err);
	if (rv < 0)
		skel_tree_free(out);
	return rv;
}

int skel_tree_build(const struct trace *t, struct skel_tree *out, struct errbuf *err)
{
	return skel_tree_build_with(t, true, out, err);
}

static int plan(const struct skel_budget *budget, struct skel_stages *out, struct errbuf *err)
{
	int rv = skel_plan_matched(&out->tree, &out->times, budget, &out->plan, &out->match, err);

	return rv == 0 ? skel_match_buffered(&out->tree, &out->plan, &out->buffered, err) : rv;
}

static int understand(const struct trace *t, const struct skel_budget *budget, struct skel_stages *out, struct errbuf *err)
{
	int rv = skel_tree_build(t, &out->tree, err);

	if (rv == 0)
		rv = skel_times_collect(&out->tree, &out->times, err);
	if (rv == 0)
		rv = compute_profile_collect(&out->tree, &out->times, &out->profile, err);
	return rv == 0 ? plan(budget, out, err) : rv;
}

static struct skel_planned planned(const struct skel_stages *s)
{
	return (struct skel_planned){&s->tree, &s->times, &s->profile, &s->plan, &s->buffered,
				     s->excerpt != NULL ? &s->pieces : NULL, s->run.events};
}

/* Are counted where calls do not tell that they are far below or above the limit. */
static int lines_find(struct skel_stages *s, struct errbuf *err)
{
	const struct skel_planned p = planned(s);

	s->lines = s->tree.n_leaf * CALL_LINES;
	if (s->tree.n_leaf < SKEL_LINES_MAX / CALL_LINES_MOST || s->lines > 2 * SKEL_LINES_MAX)
		return 0;
	return skel_emit_lines(&p, &s->lines, err);
}

static int understand_whole(const struct trace *t, const struct skel_budget *budget, struct skel_stages *out, struct errbuf *err)
{
	const struct skel_times *s = &out->times;
	struct skel_budget less = *budget;

	if (understand(t, budget, out, err) != 0)
		return -1;
	/* Whole iterations may add up to more than was asked: then less is asked, once. */
	if (budget->seconds > 0 && out->plan.predicted_s > OVER * budget->seconds) {
		less.seconds *= budget->seconds / out->plan.predicted_s;
		skel_plan_free(&out->plan);
		if (plan(&less, out, err) != 0)
			return -1;
	}
	if (budget->seconds > 0 && lines_find(out, err) != 0)
		return -1;
	out->run = (struct run_totals){s->wall_ns, s->gap_ns, s->delayed_ns, s->delayed_most_ns, s->events};
	return 0;
}

/* The folded form of the trace shows before it is contracted that the run does not repeat. */
bool skel_repeats(const struct trace *t)
{
	for (uint32_t r = 0; r < trace_n_ranks(t); r++)
		if (trace_get_rank(t, r)->events.n_item > ITEMS_MAX)
			return false;
	return true;
}

bool skel_tree_fits(const struct trace *t)
{
	uint64_t items = 0;

	for (uint32_t r = 0; r < trace_n_ranks(t); r++)
		items += trace_get_rank(t, r)->events.n_item;
	return items <= TREE_ITEMS_MAX || skel_repeats(t);
}

/* The most calls of an excerpt: it has as many folded items as a trace that is contracted, if it folds no better than this one. */
static uint64_t calls_most(const struct trace *t)
{
	uint64_t events = 0, items = 1;

	for (uint32_t r = 0; r < trace_n_ranks(t); r++) {
		events += trace_get_rank(t, r)->events.length;
		items += trace_get_rank(t, r)->events.n_item;
	}
	return (uint64_t)((double)ITEMS_MAX * trace_n_ranks(t) * (1 + (double)events / (double)items));
}

/* How far a skeleton is beyond the limits; up to 1: within them. */
static double beyond(const struct skel_stages *s, double seconds)
{
	return fmax((double)s->lines / SKEL_LINES_MAX, s->plan.predicted_s / (OVER * seconds));
}

/* Sets the calls and seconds of the next excerpt from those of the last one and from how far its skeleton is from the limits. */
static void resize(const struct skel_stages *s, double seconds, double *piece_s, uint64_t *events)
{
	double more = AIM * SKEL_LINES_MAX / s->lines;

	if (s->lines > SKEL_LINES_MAX || more > 1)
		*events = (uint64_t)(more * (double)s->pieces.events);
	if (s->plan.predicted_s > OVER * seconds)
		*piece_s *= seconds / s->plan.predicted_s;
}

/* Finds an excerpt that uses much of the limits. The lines of its skeleton change by leaps with its calls. The search therefore
 * goes on between the best number of calls that fits and the least number that does not. */
static int understand_excerpt(struct survey *v, const struct skel_budget *budget, struct skel_stages *out, struct errbuf *err)
{
	uint64_t most = calls_most(v->trace), events = (uint64_t)(FIRST * (double)most), fits = 0, fails = UINT64_MAX;
	double seconds = budget->seconds, best = 0, fits_s = 0;
	int rv = -1;

	for (int i = 0; i <= TRIES; i++) {
		uint64_t tried = events < most ? events : most;
		double over;

		skel_stages_free(out);
		out->excerpt = pieces_excerpt(v, seconds, tried, &out->pieces, err);
		if (out->excerpt == NULL)
			return -1;
		rv = understand(out->excerpt, budget, out, err);
		if (rv == 0)
			rv = lines_find(out, err);
		over = rv == 0 ? beyond(out, budget->seconds) : 0;
		if (rv != 0 || (over > 1 && out->pieces.n == 1) || (over <= 1 && (over > ENOUGH || tried == most || tried == fits || i == TRIES)))
			break;
		if (over > 1) {
			fails = tried < fails ? tried : fails;
		} else if (over > best) {
			best = over;
			fits = tried;
			fits_s = seconds;
		}
		resize(out, budget->seconds, &seconds, &events);
		if (fits > 0 && i + 1 == TRIES) {
			events = fits;
			seconds = fits_s;
		} else if (i + 1 == TRIES) {
			seconds *= AIM;
		} else if (fits > 0 && fails != UINT64_MAX && (events <= fits || events >= fails))
			events = (uint64_t)sqrt((double)fits * (double)fails);
	}
	return rv;
}

int skel_understand_pieces(const struct trace *t, const struct skel_budget *budget, struct skel_stages *out, struct errbuf *err)
{
	struct survey v;
	int rv = survey_make(t, budget->seconds, &v, err);

	if (rv != 0)
		return rv;
	rv = understand_excerpt(&v, budget, out, err);
	if (rv == 0) {
		out->run = (struct run_totals){0, v.segments.gap_ns, v.segments.delayed_ns, v.segments.delayed_most_ns, v.segments.events};
		for (uint32_t r = 0; r < trace_n_ranks(t); r++)
			out->run.wall_ns = fmax(out->run.wall_ns, trace_get_rank(t, r)->wall_ns);
		out->plan.full_s = out->run.wall_ns * 1e-9;
	}
	survey_free(&v);
	return rv;
}

/* A skeleton of pieces is enough nearer to the limits to be worth that it is a sample. */
static bool worth(const struct skel_stages *pieces, const struct skel_stages *whole, double seconds)
{
	return (pieces->pieces.n < FEW ? FAR : CLEARLY) * beyond(pieces, seconds) < beyond(whole, seconds);
}

int skel_understand(const struct trace *t, const struct skel_budget *budget, struct skel_stages *out, struct errbuf *err)
{
	struct skel_stages pieces = {.excerpt = NULL};
	bool whole = !(budget->seconds > 0) || skel_repeats(t);
	struct errbuf why;

	if (whole && understand_whole(t, budget, out, err) != 0)
		return -1;
	if (whole && (!(budget->seconds > 0) || beyond(out, budget->seconds) <= 1))
		return 0;
	if (skel_understand_pieces(t, budget, &pieces, &why) == 0 && (!whole || worth(&pieces, out, budget->seconds))) {
		skel_stages_free(out);
		*out = pieces;
		return 0;
	}
	skel_stages_free(&pieces);
	return whole ? 0 : understand_whole(t, budget, out, err);
}

int skel_write(const struct skel_stages *s, const char *dir, const struct skel_emit_options *opt, struct errbuf *err)
{
	const struct skel_planned p = planned(s);

	return skel_emit_c(&p, dir, opt, err);
}

void skel_stages_free(struct skel_stages *s)
{
	skel_plan_free(&s->plan);
	compute_profile_free(&s->profile);
	skel_times_free(&s->times);
	skel_tree_free(&s->tree);
	pieces_free(&s->pieces);
	if (s->excerpt != NULL)
		trace_close(s->excerpt);
	*s = (struct skel_stages){.excerpt = NULL};
}
