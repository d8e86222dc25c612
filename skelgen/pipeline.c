/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stages from a trace to a skeleton: see pipeline.h. */
#include "skelgen/pipeline.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/hash_table.h"
#include "skelgen/merge/build.h"
#include "skelgen/merge/verify.h"
#include "skelgen/plan/gap_sampling.h"
#include "skelgen/simulate/plan_matched.h"
#include "skelgen/tree/rooms.h"

#define ITEMS_FEW 2000  /* of a rank: a tree of many ranks with so few is made in time */
#define TREE_ITEMS_MAX (1u << 18) /* of all ranks: a tree of them needs up to 280 MB and 10 s */
#define TREE_SIGS_MAX (1u << 19) /* different calls of different ranks: the tree of 1.2 million took 13 s in vain */
#define CLEARLY   1.25  /* nearer to the limits must a skeleton of pieces be than one of the whole run */
#define FEW       8     /* pieces: the differences between fewer say too little about the rest of the run */
#define FAR       4     /* CLEARLY for these */
#define LEFT_OUT  0.1   /* of the run's time, for which pieces of other kinds stand: much. With 18 to 29 % RELION was
			 * told up to 74 % too long, and within 7 % by the whole run with short parts */
#define CALLS_OVER 2    /* times the most calls that an excerpt may have: it must have the run's first and last segment */
#define TRIES     8     /* for an excerpt within the limits */
#define LEAP      1.5   /* least calls beyond the limits over the best's within: then still more calls may fit again */
#define WORK_MOST (1u << 20) /* calls read and contracted for all excerpts: up to 8 s */
#define READ      256   /* calls of the run are passed for an excerpt in the time in which one is contracted */
#define FIRST     0.125 /* of the most calls: the first of them shows how well pieces of this run fold */
#define LINES_BUILT 40000 /* gcc takes 3 s and 163 MB: for a run that fits the budget and has no pieces */
#define OVERLAP_LEAST 0.005 /* less, of clocks and short calls of other threads, changes nothing that is told */
#define AIM       0.8   /* of SKEL_LINES_MAX: larger excerpts fold somewhat better or worse */
#define ROUNDS_LINES 3  /* of the source, for the loop of rounds */
#define CALL_LINES 7    /* that most calls take in the source */
#define CALL_LINES_MOST 20 /* that calls do not take, with their loops and conditions */
#define ENOUGH    0.5   /* of the limits that an excerpt uses; up to twice as many pieces make an interval smaller by a third */
#define FAILED    0.7   /* of an excerpt of which no skeleton can be made, for the next one: other segments are chosen */
#define CALL_BYTES 32     /* that most calls do not take in the data: values that vary at each call take 18 */

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

/* `to` is free. A plan borrows the series of the times beside it. */
static void stages_move(struct skel_stages *from, struct skel_stages *to)
{
	*to = *from;
	if (to->plan.series != NULL)
		to->plan.series = &to->times.series;
	*from = (struct skel_stages){.excerpt = NULL};
}

static uint64_t items_of(const struct trace *t)
{
	uint64_t items = 0;

	for (uint32_t r = 0; r < trace_n_ranks(t); r++)
		items += trace_get_rank(t, r)->events.n_item;
	return items;
}

/* The same for ranks whose calls differ in their partners alone. */
static uint64_t calls_hash(const struct trace_defs *d)
{
	uint64_t hash = d->sigs.n;
	struct sig_walk w;

	for (uint32_t s = 0; s < d->sigs.n; s++) {
		hash = XXH3_64bits_withSeed(&d->sigs.sig[s].fn, sizeof d->sigs.sig[s].fn, hash);
		sig_walk_begin(&w, d, s);
		while (sig_walk_next(&w))
			if (w.kind != TK_DST && w.kind != TK_SRC && w.kind != TK_ASRC)
				hash = XXH3_64bits_withSeed(w.val, w.n * sizeof *w.val, hash);
	}
	return hash;
}

/* Different calls, of ranks that are alike once. Without memory, of all ranks. */
static uint64_t sigs_of(const struct trace *t)
{
	uint64_t *seen = malloc((trace_n_ranks(t) + 1u) * sizeof *seen), sigs = 0;
	struct hash_table hashes = {0};
	uint32_t at, i;

	for (uint32_t r = 0; r < trace_n_ranks(t); r++) {
		const struct trace_defs *d = &trace_get_rank(t, r)->defs;
		uint64_t hash = calls_hash(d);

		i = HASH_TABLE_NONE;
		if (seen != NULL) {
			seen[r] = hash;
			HASH_TABLE_FOR_EACH(&hashes, hash, at, i)
				if (seen[i] == hash)
					break;
		}
		if (i == HASH_TABLE_NONE && (seen == NULL || hash_table_add(&hashes, hash, r) == 0))
			sigs += d->sigs.n;
	}
	hash_table_free(&hashes);
	free(seen);
	return sigs;
}

static uint64_t events_of(const struct trace *t)
{
	uint64_t events = 0;

	for (uint32_t r = 0; r < trace_n_ranks(t); r++)
		events += trace_get_rank(t, r)->events.length;
	return events;
}

/* Returns 0 with the exact lines and bytes, or -1 with the reason. */
static int size_measure(struct skel_stages *s, struct errbuf *err)
{
	const struct skel_planned p = planned(s);
	struct skel_emit_report size;

	if (s->measured)
		return 0;
	if (skel_emit_measure(&p, &size, err) != 0)
		return -1;
	s->lines = size.lines;
	s->data_bytes = size.data_bytes;
	s->measured = true;
	return 0;
}

/* Lines and data are counted where calls do not tell that they are far below or above the limits. */
static int size_find(struct skel_stages *s, struct errbuf *err)
{
	bool small = s->tree.n_leaf < SKEL_LINES_MAX / CALL_LINES_MOST &&
		     events_of(s->tree.trace) < SKEL_DATA_MAX / CALL_BYTES;

	s->lines = s->tree.n_leaf * CALL_LINES;
	return small || s->lines > LINES_BUILT ? 0 : size_measure(s, err);
}

/* Calls and gaps of several threads last longer together than the run. */
static double overlap_of(const struct trace *t, double elapsed_ns)
{
	double wall_ns = 0, further;
	bool threads = false;

	for (uint32_t r = 0; r < trace_n_ranks(t); r++) {
		threads |= skel_rank_has_threads(t, r);
		wall_ns += trace_get_rank(t, r)->wall_ns / trace_n_ranks(t);
	}
	further = threads && wall_ns > 0 ? elapsed_ns / wall_ns - 1 : 0;
	return further >= OVERLAP_LEAST ? further : 0;
}

static int plan_again(const struct skel_budget *budget, struct skel_stages *out, struct errbuf *err)
{
	skel_plan_free(&out->plan);
	return plan(budget, out, err);
}

static bool exceeds(const struct skel_stages *s, const struct skel_budget *budget)
{
	return budget->seconds > 0 && s->plan.predicted_s > SKEL_WITHIN * budget->seconds;
}

/* Whole iterations may add up to more than was asked: then less is asked, once. */
static int ask_less(const struct skel_budget *budget, struct skel_stages *out, struct errbuf *err)
{
	struct skel_budget less = *budget;

	if (!exceeds(out, budget))
		return 0;
	less.seconds *= budget->seconds / out->plan.predicted_s;
	return plan_again(&less, out, err);
}

/* A skeleton of the whole run that exceeds the budget runs shorter parts of long computations. */
static int shorten_parts(const struct skel_budget *budget, struct skel_stages *out, struct errbuf *err)
{
	struct skel_budget parts = *budget;

	if (!exceeds(out, budget))
		return 0;
	parts.short_parts = true;
	return plan_again(&parts, out, err) == 0 ? ask_less(&parts, out, err) : -1;
}

static int understand_whole(const struct trace *t, const struct skel_budget *budget, struct skel_stages *out, struct errbuf *err)
{
	const struct skel_times *s = &out->times;

	if (understand(t, budget, out, err) != 0 || ask_less(budget, out, err) != 0)
		return -1;
	if (budget->seconds > 0 && size_find(out, err) != 0)
		return -1;
	out->run = (struct run_totals){s->wall_ns, s->gap_ns, s->delayed_ns, s->delayed_most_ns,
					s->waited_ns, s->waited_most_ns,
					overlap_of(t, s->elapsed_ns), s->events, s->differs};
	return 0;
}

/* The folded form of the trace shows before it is contracted that the run does not repeat. Many ranks with few items
 * and few different calls may still be alike. Else their tree takes longer than a skeleton may take to build. */
bool skel_repeats(const struct trace *t)
{
	uint64_t longest = 0;

	for (uint32_t r = 0; r < trace_n_ranks(t); r++)
		if (trace_get_rank(t, r)->events.n_item > longest)
			longest = trace_get_rank(t, r)->events.n_item;
	return (longest <= ITEMS_FEW && sigs_of(t) <= TREE_SIGS_MAX) ||
	       (longest <= PIECES_ITEMS_MOST && items_of(t) <= TREE_ITEMS_MAX);
}

bool skel_tree_fits(const struct trace *t)
{
	return items_of(t) <= TREE_ITEMS_MAX || skel_repeats(t);
}

/* The skeleton's size in units of the limits. */
static double size_of(const struct skel_stages *s)
{
	return fmax((double)s->lines / SKEL_LINES_MAX, (double)s->data_bytes / SKEL_DATA_MAX);
}

/* How far a skeleton is beyond the limits; up to 1: within them. */
static double beyond(const struct skel_stages *s, double seconds)
{
	return fmax(size_of(s), s->plan.predicted_s / (SKEL_WITHIN * seconds));
}

/* What an excerpt may have. */
struct excerpt_size {
	double seconds;
	uint64_t events;
};

/* Sets the next excerpt from the last one, which could have `events` calls, and from how far its skeleton is from the
 * limits. All usual segments may have been too long for so few calls, so that the pieces have next to none. */
static void resize(const struct skel_stages *s, double seconds, uint64_t events, struct excerpt_size *next)
{
	double more = AIM / size_of(s);

	if (more < AIM || more > 1)
		next->events = (uint64_t)(more * (double)(more > 1 ? events : s->pieces.events));
	if (s->plan.predicted_s > SKEL_WITHIN * seconds)
		next->seconds *= seconds / s->plan.predicted_s;
}

/* The search for an excerpt that uses much of the limits. Its calls decide what it costs, and no clock. So the same
 * trace gives the same skeleton. */
struct search {
	struct survey *survey;
	const struct skel_budget *budget;
	/* calls of an excerpt: that it may have, of the least beyond the limits, of the best within them */
	uint64_t most, fails, fits;
	uint64_t work;              /* calls read and contracted */
	struct excerpt_size next;
	struct skel_stages best;
	double over;                /* of the best; INFINITY: there is none */
	uint64_t tried[TRIES];      /* hashes of the pieces */
	uint32_t n_tried;
	bool refused;               /* the last excerpt has no skeleton */
};

static uint64_t reading(const struct search *s)
{
	return s->survey->segments.events / READ;
}

/* Of the next excerpt: as many calls as work is left for. */
static uint64_t calls_next(const struct search *s)
{
	uint64_t left = s->n_tried == 0 ? UINT64_MAX : WORK_MOST - s->work - reading(s);

	left = left < s->most ? left : s->most;
	return s->next.events < left ? s->next.events : left;
}

/* Is there work left for another excerpt that may be better than the best? */
static bool goes_on(const struct search *s)
{
	if (s->n_tried == 0)
		return true;
	return s->n_tried < TRIES && s->work + reading(s) < WORK_MOST && (s->over > 1 || calls_next(s) > s->fits);
}

/* Segments, and the parts of them that run. */
static uint64_t pieces_hash(const struct pieces *p)
{
	return XXH3_64bits_withSeed(p->ns, p->n * sizeof *p->ns, XXH3_64bits(p->segment, p->n * sizeof *p->segment));
}

/* These pieces were tried before: they would have the same skeleton. */
static bool again(const struct search *s, const struct pieces *p)
{
	uint64_t hash = pieces_hash(p);

	for (uint32_t i = 0; i < s->n_tried; i++)
		if (s->tried[i] == hash)
			return true;
	return false;
}

/* Pieces within the limits run as they were. Otherwise, iterations of a cut loop would stand for a sample. */
static int plan_excerpt(const struct skel_budget *budget, struct skel_stages *out, struct errbuf *err)
{
	struct skel_budget all = *budget;

	if (out->plan.n_cut == 0)
		return 0;
	all.seconds = 0;
	if (plan_again(&all, out, err) != 0)
		return -1;
	return exceeds(out, budget) ? plan_again(budget, out, err) : 0;
}

/* Makes the skeleton of the excerpt. Returns 0, or -1 with the reason. Returns 1 if other pieces may have a skeleton. */
static int attempt(struct search *s, struct skel_stages *out, struct errbuf *err)
{
	int rv = pieces_excerpt(s->survey, &out->pieces, &out->excerpt, err);
	struct skel_budget budget = *s->budget;

	s->tried[s->n_tried++] = pieces_hash(&out->pieces);
	s->work += reading(s) + out->pieces.events;
	budget.longer = s->survey->cuts.longer;
	if (rv == 0 && (understand(out->excerpt, &budget, out, err) != 0 || plan_excerpt(&budget, out, err) != 0 ||
			size_find(out, err) != 0))
		rv = 1;
	out->plan.predicted_s += out->pieces.wait_ns * 1e-9;
	return rv;
}

/* Of excerpts within the limits the larger one is better, of others the one that is nearer. */
static bool better(double over, double best)
{
	return over <= 1 ? best > 1 || over > best : over < best;
}

/* The lines of a skeleton change by leaps with its calls. The search therefore goes on between the best number of
 * calls that fits and the least number that does not. */
static void next_find(struct search *s, const struct skel_stages *last, double over, uint64_t events)
{
	double best = better(over, s->over) ? over : s->over;

	if (over <= 1 && better(over, s->over))
		s->fits = events;
	else if (over > 1)
		s->fails = events < s->fails ? events : s->fails;
	resize(last, s->budget->seconds, events, &s->next);
	if (s->n_tried + 1 == TRIES && s->over > 1)
		s->next.seconds *= AIM;
	if (s->fits == 0 || s->fails == UINT64_MAX)
		return;
	if (best < ENOUGH && (double)s->fails < LEAP * (double)s->fits && LEAP * (double)s->fails < (double)s->most) {
		s->next.events = (s->fails + s->most) / 2;
		s->fails = UINT64_MAX;
	} else if (s->next.events <= s->fits || s->next.events >= s->fails) {
		s->next.events = (uint64_t)sqrt((double)s->fits * (double)s->fails);
	}
}

/* A few pieces have too many calls only if one of them is long: there was no place to cut it. */
static void too_many_calls(const struct search *s, const struct pieces *p, struct errbuf *err)
{
	const struct segments *all = &s->survey->segments;
	uint32_t longest = p->segment[0];

	for (uint32_t k = 1; k < p->n; k++)
		if (all->at[p->segment[k]].events > all->at[longest].events)
			longest = p->segment[k];
	err_set(err,
		"the fewest pieces have %" PRIu64 " calls, and a skeleton of at most %" PRIu64
		" can be made in time: the run cannot be cut in %s %" PRIu64
		" calls, where messages, requests or epochs are open",
		p->events, CALLS_OVER * s->most, longest == 0 ? "its first" : longest + 1 == all->n ? "its last" : "a row of",
		all->at[longest].events);
}

/* Some excerpts have no skeleton; then others are tried. Returns 0, or 1 if the search has ended. Returns -1 with the
 * reason if no excerpt can be written. */
static int search_step(struct search *s, struct errbuf *err)
{
	struct skel_stages now = {.excerpt = NULL};
	struct excerpt_size tried = {s->next.seconds, calls_next(s)};
	double over = INFINITY;
	bool same;
	int rv;

	if (pieces_choose(s->survey, tried.seconds, tried.events, &now.pieces, err) != 0)
		return -1;
	if (now.pieces.events > CALLS_OVER * s->most) {
		too_many_calls(s, &now.pieces, err);
		skel_stages_free(&now);
		return -1;
	}
	same = again(s, &now.pieces);
	rv = same ? 1 : attempt(s, &now, err);
	if (rv == 0) {
		over = beyond(&now, s->budget->seconds);
		next_find(s, &now, over, tried.events);
		rv = (over > 1 && now.pieces.n == 1) || (over <= 1 && (over > ENOUGH || tried.events == s->most));
		s->refused = false;
	} else if (rv > 0 && (!same || s->refused)) {
		s->n_tried += same;
		s->refused = true;
		s->next = (struct excerpt_size){FAILED * tried.seconds, (uint64_t)(FAILED * (double)tried.events)};
		rv = 0;
	}
	if (over < INFINITY && better(over, s->over)) {
		skel_stages_free(&s->best);
		stages_move(&now, &s->best);
		s->over = over;
	}
	skel_stages_free(&now);
	return rv;
}

static int understand_excerpt(struct survey *v, const struct skel_budget *budget, struct skel_stages *out,
			      struct errbuf *err)
{
	struct search s = {.survey = v, .budget = budget, .most = pieces_calls_most(v->trace), .fails = UINT64_MAX,
			   .over = INFINITY};
	int rv = 0;

	s.next = (struct excerpt_size){budget->seconds, (uint64_t)(FIRST * (double)s.most)};
	while (rv == 0 && goes_on(&s))
		rv = search_step(&s, err);
	stages_move(&s.best, out);
	return s.over < INFINITY ? 0 : -1;
}

/* Pieces that leave most of the budget run in rounds, for no longer than the run took. Cut loops account for
 * themselves, and files are there in the second round: both run once. */
static void rounds_plan(const struct skel_budget *budget, struct skel_stages *out)
{
	double all_s = fmin(budget->seconds, out->plan.full_s);
	double rounds = out->plan.predicted_s > 0 ? floor(all_s / out->plan.predicted_s) : 0;

	if (rounds < 2 || out->plan.n_cut > 0 || out->lines + ROUNDS_LINES > SKEL_LINES_MAX)
		return;
	for (uint32_t r = 0; r < out->tree.n_ranks; r++)
		if (skel_defs(&out->tree, r)->n_file > 0)
			return;
	out->lines += ROUNDS_LINES;
	out->pieces.rounds_s = all_s;
	out->pieces.rounds = (uint32_t)fmin(rounds, SKEL_ROUNDS_MOST);
	out->plan.predicted_s *= out->pieces.rounds;
}

int skel_understand_pieces(const struct trace *t, const struct skel_budget *budget, struct skel_stages *out, struct errbuf *err)
{
	double wall_ns = 0;
	const struct segments *s;
	struct survey v;
	int rv;

	for (uint32_t r = 0; r < trace_n_ranks(t); r++)
		wall_ns = fmax(wall_ns, trace_get_rank(t, r)->wall_ns);
	rv = survey_make(t, budget->seconds, &v, err);
	if (rv != 0)
		return rv;
	rv = understand_excerpt(&v, budget, out, err);
	if (rv == 0) {
		s = &v.segments;
		out->run = (struct run_totals){wall_ns, s->gap_ns, s->delayed_ns, s->delayed_most_ns,
						s->waited_ns, s->waited_most_ns,
						overlap_of(t, s->elapsed_ns), s->events, s->differs};
		out->plan.full_s = out->run.wall_ns * 1e-9;
		rounds_plan(budget, out);
	}
	survey_free(&v);
	return rv;
}

/* Few pieces, or pieces that leave out much, say too little about the rest of the run. */
static bool says_enough(const struct pieces *p)
{
	return p->n >= FEW && p->left_share <= LEFT_OUT;
}

/* A skeleton of pieces is within the limits, or enough nearer to them, to be worth that it is a sample. If the other
 * one is within them, it loses time (gap_share_loses), or the pieces say too little. */
static bool worth(const struct skel_stages *pieces, const struct skel_stages *whole, double seconds)
{
	double over = beyond(pieces, seconds);
	bool few = pieces->pieces.n < FEW;

	if (beyond(whole, seconds) <= 1)
		return says_enough(&pieces->pieces) && over <= 1 && !skel_plan_shares_gaps(&pieces->plan);
	return (!few && over <= 1) || (few ? FAR : CLEARLY) * over < beyond(whole, seconds);
}

/* What can be built goes first. */
static bool preferred(const struct skel_stages *pieces, const struct skel_stages *whole, double seconds)
{
	if ((pieces->lines <= SKEL_LINES_MAX) != (whole->lines <= SKEL_LINES_MAX))
		return pieces->lines <= SKEL_LINES_MAX;
	return worth(pieces, whole, seconds) || (size_of(whole) > 1 && size_of(pieces) <= 1);
}

/* why: there is no skeleton of pieces; NULL: there is. */
static int refuse_lines(const struct skel_stages *s, uint32_t most, const struct errbuf *why, struct errbuf *err)
{
	return err_set(err, "its skeleton would have %s%u lines, and at most %u can be built in time%s%.350s",
		       s->measured ? "" : "about ", s->lines, most,
		       why != NULL ? "; no skeleton can be made of pieces of the run: " : "", why != NULL ? why->text : "");
}

static int refuse_tree(uint64_t items, const struct errbuf *why, struct errbuf *err)
{
	return err_set(err,
		       "its ranks have %" PRIu64 " calls when loops are folded, and of at most %u a skeleton can be"
		       " made in time; no skeleton can be made of pieces of the run: %.350s",
		       items, TREE_ITEMS_MAX, why->text);
}

/* Of the whole run and of its pieces, the one that is nearer to the limits, or the one that there is. */
static int understand_best(const struct trace *t, const struct skel_budget *budget, bool whole, struct skel_stages *out,
			   struct errbuf *err)
{
	struct skel_stages pieces = {.excerpt = NULL};
	struct errbuf why = {{0}};
	uint32_t most;
	int rv = skel_understand_pieces(t, budget, &pieces, &why);

	if (rv == 1)
		err_set(&why, "the run has no two moments at which no message, request or collective is under way");
	if (rv == 0 && whole && !says_enough(&pieces.pieces) && shorten_parts(budget, out, err) != 0) {
		skel_stages_free(&pieces);
		return -1;
	}
	if (rv == 0 && (!whole || preferred(&pieces, out, budget->seconds))) {
		skel_stages_free(out);
		stages_move(&pieces, out);
	} else {
		skel_stages_free(&pieces);
		if (!whole && !skel_tree_fits(t))
			return refuse_tree(items_of(t), &why, err);
		if (!whole && understand_whole(t, budget, out, err) != 0)
			return -1;
	}
	if (out->excerpt == NULL && shorten_parts(budget, out, err) != 0)
		return -1;
	most = exceeds(out, budget) ? SKEL_LINES_MAX : LINES_BUILT;
	/* each call takes a line: with more calls, the lines need not be counted */
	if (out->lines > most && out->tree.n_leaf <= most && size_measure(out, err) != 0)
		return -1;
	return out->lines <= most ? 0 : refuse_lines(out, most, rv == 0 ? NULL : &why, err);
}

int skel_understand(const struct trace *t, const struct skel_budget *budget, struct skel_stages *out, struct errbuf *err)
{
	bool whole = !(budget->seconds > 0) || skel_repeats(t);

	if (whole && understand_whole(t, budget, out, err) != 0)
		return -1;
	if (whole && (!(budget->seconds > 0) ||
		      (beyond(out, budget->seconds) <= 1 && !gap_share_loses(&out->tree, &out->times, &out->plan))))
		return 0;
	return understand_best(t, budget, whole, out, err);
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
