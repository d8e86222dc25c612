/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes report.txt: the program that the skeleton represents, the cuts, and the properties that are not reproduced. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "skelgen/emit/lower_call.h"
#include "skelgen/emit/lower_tree.h"
#include "skelgen/emit/series_report.h"

#define MAX_NAMES 64

/* Functions that were only counted, over all ranks. */
struct passed {
	const char *name[MAX_NAMES];
	uint64_t calls[MAX_NAMES];
	uint32_t n;
	bool communicates;
};

/* One-sided communication and files of a trace whose recorder only counted them: data that the skeleton does not move. */
static bool moves_data(const char *name)
{
	static const char *const parts[] = {"MPI_Win_", "MPI_Put", "MPI_Get_accumulate", "MPI_Accumulate", "MPI_Rput",
					    "MPI_Rget", "MPI_Raccumulate", "MPI_Fetch_and_op", "MPI_Compare_and_swap",
					    "MPI_File_", "MPI_Comm_spawn"};

	if (trace_fn_by_name(name) == TRACE_FN_N)
		return false; /* it only asks */
	if (strcmp(name, "MPI_Get") == 0)
		return true;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strncmp(name, parts[i], strlen(parts[i])) == 0)
			return true;
	return false;
}

static void passed_collect(const struct emit *e, struct passed *p)
{
	memset(p, 0, sizeof *p);
	for (uint32_t r = 0; r < e->tree->n_ranks; r++) {
		const struct trace_defs *d = skel_defs(e->tree, r);

		for (uint32_t i = 0; i < d->n_counted; i++) {
			uint32_t k = 0;

			while (k < p->n && strcmp(p->name[k], d->counted[i].name) != 0)
				k++;
			if (k == MAX_NAMES)
				continue;
			if (k == p->n)
				p->name[p->n++] = d->counted[i].name;
			p->calls[k] += d->counted[i].calls;
			p->communicates |= moves_data(d->counted[i].name);
		}
	}
}

double emit_confidence(struct emit *e)
{
	double all = e->times->node_ns[e->tree->root->id], share = all > 0 ? 1 - e->lost_ns / all : 1;
	struct passed p;

	passed_collect(e, &p);
	if (p.communicates)
		share *= 0.5; /* its time is in the compute blocks, and the amount is not known */
	if (e->times->events > 0)
		share *= 1 - 0.5 * (double)e->times->untimed / (double)e->times->events;
	if (e->profile->n_mix && e->profile->mix[0].doubt >= 1 && all > 0) /* nothing was sampled: kernels stand for any computation */
		share *= 1 - fmin(1, e->times->gap_ns / all);
	if (e->pieces != NULL)
		share *= 1 - e->pieces->left_share;
	return share < 0 ? 0 : share;
}

static void put_cuts(struct emit *e, const struct skel_node *n, struct text *out)
{
	const struct skel_cut *c = &e->plan->cut[n->id];

	if (n->kind == SKEL_LEAF)
		return;
	if (n->kind == SKEL_LOOP && c->run != c->total)
		text_put(out, "  loop of %s%llu iterations: %llu run%s (%.4g %% of the time)\n",
			 c->varies ? "up to " : "", (unsigned long long)c->total, (unsigned long long)c->run,
			 c->consecutive ? ", the first ones, because each needs the one before" : "",
			 100 * e->times->node_ns[n->id] / e->times->node_ns[e->tree->root->id]);
	if (n->kind == SKEL_LOOP)
		series_report(e->plan, n->id, e->follows[n->id], out);
	if (n->kind == SKEL_LOOP && (c->refused || c->whole))
		text_put(out, "  loop of %llu iterations: whole, because %s\n", (unsigned long long)c->total,
			 c->refused ? "fewer do not match" : "few of them take most of its time");
	for (uint32_t i = 0; i < n->n_child; i++)
		put_cuts(e, n->child[i], out);
}

static void put_passed(const struct passed *p, struct text *out)
{
	if (p->n == 0)
		return;
	text_put(out, "\nPassed through by the recorder, not reproduced%s:\n",
		 p->communicates ? " (some of them move data: this halves what counts as reproduced)" : "");
	for (uint32_t i = 0; i < p->n; i++) {
		text_put(out, "  ");
		text_put_clean(out, p->name[i]);
		text_put(out, " %llu\n", (unsigned long long)p->calls[i]);
	}
}

static void put_buffered(struct emit *e, const struct skel_buffered *b, struct text *out)
{
	struct leaf_ctx c;

	if (b == NULL || (b->n == 0 && !b->more))
		return;
	text_put(out, "\nRelies on buffered sends: were each to wait for its receive, the program would wait for ever. With\n"
		      "longer messages or another MPI library it may, and so may the skeleton%s:\n",
		 b->more ? " (there may be more)" : "");
	for (uint32_t i = 0; i < b->n; i++) {
		if (leaf_ctx_open(&c, e, e->tree->leaf[b->leaf[i]]) != 0) {
			e->no_memory = true;
			return;
		}
		text_put(out, "  ");
		if (c.n_case > 0)
			emit_describe(&c, out, true);
		text_put(out, "\n");
		leaf_ctx_close(&c);
	}
}

static void put_rooms(const struct skel_rooms *r, bool pieces, struct text *out)
{
	if (r->n_short == 0)
		return;
	text_put(out, "\n%s %llu receives are\n",
		 pieces ? "A message that a piece leaves is received in the next piece: there"
			: "Threads returned in another order than their messages were matched: in the order of the trace",
		 (unsigned long long)r->n_short);
	text_put(out, "too short for their message. Receives from these senders with these tags have room for the longest one.\n");
}

/* Shares of the run that the pieces stand for by their weights. */
static void put_pieces(const struct pieces *p, struct text *out)
{
	text_put(out, "of them %llu calls in %u pieces of %u kinds are run", (unsigned long long)p->events, p->n,
		 p->n_kind);
	text_put(out, p->rounds > 1 ? ", %u times each\n" : "\n", p->rounds);
	text_put(out, "they stand for %.1f %% of its computation, %.1f %% of its time in calls and %.1f %% of its calls that may wait\n",
		 100 * p->balance.gap, 100 * p->balance.mpi, 100 * p->balance.waits);
	if (p->part_share > 0)
		text_put(out, "%.1f %% of its time is in pieces of long computations, of which a part runs\n", 100 * p->part_share);
	if (p->left_share > 0)
		text_put(out, "%.1f %% of its time is in segments that are too long to run: other pieces stand for them\n",
			 100 * p->left_share);
}

void emit_report(struct emit *e, double confidence, struct text *out)
{
	struct passed p;

	text_put(out, "Skeleton of ");
	text_put_clean(out, skel_defs(e->tree, 0)->proc.program != NULL ? skel_defs(e->tree, 0)->proc.program : "?");
	if (trace_predicted(e->tree->trace)) {
		text_put(out, "\nof a run that was never made, predicted by ");
		text_put_clean(out, trace_predicted(e->tree->trace));
	}
	text_put(out, "\nranks %u\ncalls %llu, written as %llu\n", e->tree->n_ranks,
		 (unsigned long long)e->events, (unsigned long long)skel_tree_length(e->tree));
	if (e->pieces != NULL)
		put_pieces(e->pieces, out);
	text_put(out, "traced time %.3f s, planned run time %.3f s\nreproduced %.3f of the traced time\n", e->plan->full_s,
		 e->plan->predicted_s, confidence);
	if (trace_unsampled(e->tree->trace)) {
		text_put(out, "\nThe skeleton computes with the default mix of kernels, as nothing was sampled:\n");
		text_put_clean(out, trace_unsampled(e->tree->trace));
		text_put(out, "\n");
	}
	if (e->times->delayed_most_ns > SKEL_DELAYED_LEAST * e->times->wall_ns)
		text_put(out, "\nWhile a rank was ready to compute others had its processor, up to %.3f s of a rank's time (mean %.3f s).\n"
			      "The skeleton's computations are without that: where ranks share processors they wait again.\n",
			 e->times->delayed_most_ns * 1e-9, e->times->delayed_ns * 1e-9);
	if (e->times->polled_ns > 0)
		text_put(out, "\nUnsuccessful tests that the program makes as part of its work, %.3f s of a rank's time (mean), are computation.\n",
			 e->times->polled_ns * 1e-9);
	text_put(out, "\nLoops:\n");
	put_cuts(e, e->tree->root, out);
	if (skel_plan_shares_gaps(e->plan))
		text_put(out, "  of every computation between two calls longer than %g s, %.3g %% run, at least %g s\n",
			 e->plan->gap_least_ns * 1e-9, 100 * e->plan->gap_share, e->plan->gap_least_ns * 1e-9);
	else if (e->plan->n_cut == 0)
		text_put(out, e->pieces != NULL ? "  none is cut\n" : "  none is cut: the skeleton runs as long as the program\n");
	if (e->tree->wildcards->open > 0)
		text_put(out, "\n%llu receives keep MPI_ANY_SOURCE or MPI_ANY_TAG: the trace does not say what they got\n",
			 (unsigned long long)e->tree->wildcards->open);
	if (e->times->untimed > 0)
		text_put(out, "\n%llu calls have no times (damaged pages): they count as the mean of the others\n",
			 (unsigned long long)e->times->untimed);
	if (e->io_leaves > 0)
		emit_io_report(e, out);
	put_buffered(e, e->buffered, out);
	put_rooms(&e->plan->rooms, e->pieces != NULL, out);
	if (e->notes.len > 0)
		text_put(out, "\nNot reproduced:\n%s", text_get(&e->notes));
	passed_collect(e, &p);
	put_passed(&p, out);
}
