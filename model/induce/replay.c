/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A learnt model on its own runs: see replay.h. */
#include <stdio.h>

#include "model/induce/interpret.h"
#include "model/induce/replay.h"

#define STEPS_PER_ROW  4 /* calls and beginnings are steps without a row */
#define STEPS_AT_LEAST 100000

struct follower {
	const struct journal_run *run;
	size_t at, last; /* rows that were the same; the row at which to stop */
	bool apart;
};

static int follow(void *arg, uint32_t point, double time_s, const double *var)
{
	struct follower *f = arg;

	(void)time_s;
	(void)var;
	f->apart = f->at == f->run->n_rows || f->run->point[f->at] != point;
	if (f->apart)
		return 1;
	return f->at++ == f->last;
}

static int interpret(const struct model *m, struct follower *f, struct model_result *r)
{
	struct model_sink sink = {follow, f};
	struct model_limits limits = {.steps = STEPS_PER_ROW * f->run->n_rows + STEPS_AT_LEAST};
	struct errbuf refusal;

	return model_interpret(m, f->run->input, 1, &limits, &sink, r, &refusal);
}

/* Whether the model says other points than the run has. *same: rows before them. */
static bool departs(const struct model *m, const struct journal_run *run, size_t *same)
{
	struct follower f = {.run = run, .last = SIZE_MAX};
	struct model_result r = {0};

	if (interpret(m, &f, &r) < 0)
		return false;
	*same = f.at;
	return f.apart || f.at < run->n_rows;
}

uint32_t replay_count(const struct model *m, const struct journal *j, uint32_t without)
{
	uint32_t n = 0;
	size_t same;

	for (uint32_t r = 0; !m->random && r < j->n_runs; r++)
		n += r != without && departs(m, &j->run[r], &same);
	return n;
}

/* The node of the last row that is the same; the beginning if there is none. */
static struct model_node *last_node(const struct model *m, const struct journal_run *run, size_t same)
{
	struct follower f = {.run = run, .last = same - 1};
	struct model_result r = {0};

	if (!same || interpret(m, &f, &r) < 0)
		return &m->graph[0].node[0];
	return &m->graph[r.graph].node[r.node];
}

int replay_mark(struct model *m, const struct journal *j, uint32_t without, struct errbuf *err)
{
	for (uint32_t r = 0; !m->random && r < j->n_runs; r++) {
		struct model_node *n;
		char text[200];
		size_t same;

		if (r == without || !departs(m, &j->run[r], &same))
			continue;
		n = last_node(m, &j->run[r], same);
		snprintf(text, sizeof(text),
			 "the rules that were found do not repeat run %u behind its row %zu; journal more runs, with other inputs, or "
			 "a variable that tells where the program goes",
			 r + 1, same);
		n->reason = model_strdup(m, text);
		if (!n->reason)
			return err_set(err, "no memory for a reason");
		n->rest = MODEL_UNKNOWN;
		n->n_choices = n->n_doubts = 0;
		m->n_unknown++;
	}
	return 0;
}
