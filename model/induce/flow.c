/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks over nodes, made from a journal: see flow.h. */
#include <stdlib.h>

#include "model/induce/flow.h"
#include "model/induce/model.h"

static int no_memory(struct errbuf *err)
{
	return err_set(err, "no memory for the walks of a journal");
}

int flow_from_journal(struct flow *f, const struct journal *j, uint32_t without, struct errbuf *err)
{
	uint32_t *node_of = calloc(j->n_points ? j->n_points : 1, sizeof(*node_of));
	size_t rows = 0;
	int rc = -1;

	*f = (struct flow){.n_nodes = 1};
	for (uint32_t r = 0; r < j->n_runs; r++)
		rows += r == without ? 0 : j->run[r].n_rows;
	f->node = calloc(j->n_points + 1u, sizeof(*f->node));
	f->walk = calloc(j->n_runs ? j->n_runs : 1, sizeof(*f->walk));
	f->step = malloc((rows ? rows : 1) * sizeof(*f->step));
	if (!node_of || !f->node || !f->walk || !f->step) {
		no_memory(err);
		goto out;
	}
	f->node[0] = (struct flow_node){MODEL_NONE, MODEL_NONE};
	for (uint32_t r = 0; r < j->n_runs; r++) {
		const struct journal_run *run = &j->run[r];

		if (r == without)
			continue;
		if (!run->n_rows) {
			err_set(err, "run %u of the journal has no rows", r);
			goto out;
		}
		f->walk[f->n_walks++] = (struct flow_walk){r, 0, f->n_steps, run->n_rows};
		for (size_t i = 0; i < run->n_rows; i++) {
			uint32_t p = run->point[i];

			if (!node_of[p]) {
				node_of[p] = f->n_nodes;
				f->node[f->n_nodes++] = (struct flow_node){p, MODEL_NONE};
			}
			f->step[f->n_steps++] = (struct flow_step){node_of[p], (uint32_t)i, (uint32_t)i};
		}
	}
	if (!f->n_walks) {
		err_set(err, "the journal has no runs");
		goto out;
	}
	rc = 0;
out:
	free(node_of);
	if (rc < 0)
		flow_free(f);
	return rc;
}

void flow_free(struct flow *f)
{
	free(f->node);
	free(f->step);
	free(f->walk);
	*f = (struct flow){0};
}
