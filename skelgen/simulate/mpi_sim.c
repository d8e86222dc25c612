/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs the ranks in turn until all have ended, or all wait. */
#include "skelgen/simulate/mpi_sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "skelgen/simulate/rank.h"
#include "skelgen/tree/site_text.h"

#define QUANTUM 256 /* calls of one rank in a row: keeps the queues short */
#define MOST_LET_GO 4096 /* sends: by then every such call is known */

void skel_call_describe(const struct trace_defs *d, uint32_t sym, char *text, size_t size)
{
	const struct trace_sig *sig = &d->sigs.sig[sym];
	const char *name = trace_fn[sig->fn].name;
	char where[256];

	if (sig->site >= d->n_site || d->site[sig->site].n_frame == 0 ||
	    d->site[sig->site].module[0] >= d->n_module) {
		snprintf(text, size, "%s", name);
		return;
	}
	snprintf(text, size, "%s at %s", name, skel_site_text(d, &d->site[sig->site], where, sizeof where));
}

/* All ranks wait: report the call of the first waiting rank and the number of waiting ranks. */
static int fail_deadlock(struct sim *s)
{
	char text[256], others[48] = "";
	uint32_t waiting = 0;
	const struct sim_rank *first = NULL;

	for (uint32_t i = 0; i < s->tree->n_ranks; i++)
		if (!s->rank[i].finished) {
			first = first != NULL ? first : &s->rank[i];
			waiting++;
		}
	if (first == NULL)
		return 0;
	s->report->node = first->leaf->id;
	skel_call_describe(skel_defs(s->tree, first->rank), first->sym, text, sizeof text);
	if (waiting > 1)
		snprintf(others, sizeof others, ", and %u other rank%s", waiting - 1, waiting > 2 ? "s" : "");
	return err_set(s->err, "the skeleton would wait for ever: rank %u in %s (execution %llu)%s", first->rank, text,
		       (unsigned long long)first->occ, others);
}

static void count_left(struct sim *s)
{
	for (uint32_t r = 0; r < s->tree->n_ranks; r++)
		for (uint32_t i = 0; i < s->rank[r].n_slot; i++)
			if (s->rank[r].slot[i].request != NET_NONE && s->report->left++ == 0)
				s->report->left_node = s->rank[r].slot[i].node;
}

static int check_unreceived(struct sim *s)
{
	struct net_message m;

	count_left(s);
	s->report->unreceived = net_unreceived(s->net, &m);
	if (s->report->unreceived == 0 || s->plan->n_cut == 0)
		return 0;
	s->report->node = m.node;
	return err_set(s->err, "%llu messages would not be received, the first from rank %u to rank %u (tag %lld)",
		       (unsigned long long)s->report->unreceived, m.from, m.to, (long long)m.tag);
}

static void buffered_note(struct skel_buffered *b, const struct skel_tree *tree, uint32_t node)
{
	uint32_t leaf = 0;

	while (leaf < tree->n_leaf && tree->leaf[leaf]->id != node)
		leaf++;
	for (uint32_t i = 0; i < b->n; i++)
		if (b->leaf[i] == leaf)
			return;
	if (leaf == tree->n_leaf || b->n == SKEL_BUFFERED_MAX)
		b->more = true;
	else
		b->leaf[b->n++] = leaf;
}

/* Complete one send for which a rank waits. Returns false if no rank waits for a send. */
static bool let_go(struct sim *s, struct skel_buffered *b)
{
	struct net_message m;

	for (uint32_t i = 0; i < s->tree->n_ranks; i++)
		for (uint32_t k = 0; !s->rank[i].finished && k < s->rank[i].n_pending; k++)
			if (net_let_go(s->net, s->rank[i].pending[k], &m)) {
				buffered_note(b, s->tree, m.node);
				return true;
			}
	return false;
}

/* All ranks wait: complete one send that the MPI library may buffer. Returns true if a rank can continue. */
static bool go_on(struct sim *s, uint32_t *times)
{
	if (s->buffered == NULL)
		return false;
	if (++*times > MOST_LET_GO) {
		s->buffered->more = true;
		return false;
	}
	return let_go(s, s->buffered);
}

static int run_all(struct sim *s)
{
	bool going = true, progress = true;
	uint32_t times = 0;

	while (going && (progress || go_on(s, &times))) {
		going = progress = false;
		for (uint32_t i = 0; i < s->tree->n_ranks; i++) {
			int64_t made = sim_rank_run(s, &s->rank[i], QUANTUM);

			if (made < 0)
				return -1;
			progress |= made > 0;
			going |= !s->rank[i].finished;
		}
	}
	if (s->buffered != NULL)
		return 0; /* the run with buffered sends has reported every other error */
	return going ? fail_deadlock(s) : check_unreceived(s);
}

static int simulate(const struct skel_tree *tree, const struct skel_plan *plan, struct skel_match_report *report,
		    struct skel_buffered *buffered, struct errbuf *err)
{
	struct sim s = {.tree = tree, .plan = plan, .report = report, .buffered = buffered, .err = err};
	int rv = -1;

	memset(report, 0, sizeof *report);
	report->node = report->left_node = UINT32_MAX;
	if (buffered == NULL && plan->meets != NULL)
		memset(plan->meets, SKEL_MEETS_UNKNOWN, plan->n_node);
	s.no_memory = true; /* until all is there */
	s.net = net_create(tree->n_ranks, tree->globals->n_comm + tree->globals->n_win + tree->globals->n_file);
	s.rank = calloc(tree->n_ranks + 1u, sizeof *s.rank);
	if (s.net == NULL || s.rank == NULL)
		goto no_memory;
	for (uint32_t r = 0; r < tree->n_ranks; r++)
		if (sim_rank_open(&s, r) != 0)
			goto no_memory;
	s.no_memory = false;
	rv = run_all(&s);
	goto done;
no_memory:
	err_set(err, "no memory to simulate %u ranks", tree->n_ranks);
done:
	report->no_memory = rv != 0 && (s.no_memory || (s.net != NULL && net_no_memory(s.net)));
	for (uint32_t r = 0; s.rank != NULL && r < tree->n_ranks; r++)
		sim_rank_close(&s.rank[r]);
	free(s.rank);
	net_destroy(s.net);
	return rv;
}

int skel_match(const struct skel_tree *tree, const struct skel_plan *plan, struct skel_match_report *report,
	       struct errbuf *err)
{
	return simulate(tree, plan, report, NULL, err);
}

int skel_match_buffered(const struct skel_tree *tree, const struct skel_plan *plan, struct skel_buffered *out,
			struct errbuf *err)
{
	struct skel_match_report report;

	memset(out, 0, sizeof *out);
	if (simulate(tree, plan, &report, out, err) == 0)
		return 0;
	return report.no_memory ? -1 : 0;
}
