/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares a prediction with a trace of the real run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/inputs/foresee.h"

struct comparison {
	struct foresee *f;
	struct foresee_difference *out;
	const struct trace_defs *defs;
	struct folded_iter it;
	uint32_t rank, sym;
	struct call_view *view; /* by symbol, of those seen */
	bool *seen;
	uint64_t n;
	bool other; /* call than predicted */
};

static const struct call_view *view_of(struct comparison *c, uint32_t sym)
{
	if (!c->seen[sym])
		call_view(c->defs, sym, &c->view[sym]);
	c->seen[sym] = true;
	return &c->view[sym];
}

static void note_difference(struct comparison *c, const char *what, const char *is, const char *said)
{
	if (!c->out->first[0])
		snprintf(c->out->first, sizeof(c->out->first), "rank %u, call %llu: %.60s is %.120s, predicted %.120s", c->rank,
			 (unsigned long long)c->n, what, is, said);
}

static void compare_values(struct comparison *c, const struct call_view *v, uint32_t point, const double *var)
{
	uint32_t at[CALL_VALUES], n = foresee_values(c->f->m, point, at);

	for (uint32_t i = 0, k = 0; i < n; i++, k++) {
		double said = var[at[i]];
		char a[32], b[32];

		while (k < v->n && strcmp(v->value[k].name, c->f->m->var[at[i]].name))
			k++;
		if (k == v->n)
			return;
		if (v->value[k].v == CALL_MISSING)
			continue;
		c->out->values++;
		if (said == INPUTS_UNKNOWN) {
			c->out->unknown++;
		} else if (llround(said) != v->value[k].v) {
			snprintf(a, sizeof(a), "%lld", (long long)v->value[k].v);
			snprintf(b, sizeof(b), "%.15g", said);
			c->out->wrong++;
			note_difference(c, v->value[k].name, a, b);
		}
	}
}

static int compare_call(void *arg, uint32_t point, double time_s, const double *var)
{
	struct comparison *c = arg;
	const char *said = c->f->m->point[point];
	const struct call_view *v;
	size_t n;

	(void)time_s;
	if (!folded_next(&c->it, &c->sym)) {
		c->other = true;
		note_difference(c, "the call", "none", said);
		return 1;
	}
	v = view_of(c, c->sym);
	n = strlen(v->name);
	if (strncmp(said, v->name, n) || said[n] != ' ') {
		c->other = true;
		note_difference(c, "the call", v->name, said);
		return 1;
	}
	compare_values(c, v, point, var);
	c->n++;
	return 0;
}

static int compare_rank(struct foresee *f, const struct trace *t, uint32_t rank, struct foresee_difference *out,
			struct errbuf *err)
{
	const struct trace_rank *r = trace_get_rank(t, rank);
	struct comparison c = {.f = f, .out = out, .defs = &r->defs, .rank = rank};
	struct foresee_sink sink = {compare_call, &c};
	double wall_s = 0;
	int rc = -1;

	c.view = malloc((r->defs.sigs.n + 1u) * sizeof(*c.view));
	c.seen = calloc(r->defs.sigs.n + 1u, sizeof(*c.seen));
	if (!c.view || !c.seen) {
		err_set(err, "no memory");
		goto out;
	}
	folded_begin(&c.it, &r->events);
	rc = foresee_rank(f, rank, &sink, &wall_s, NULL, err);
	if (rc == 0 && c.other) /* the walk ended at the difference */
		rc = foresee_rank(f, rank, NULL, &wall_s, NULL, err);
	if (rc < 0)
		goto out;
	if (!c.other && folded_next(&c.it, &c.sym)) {
		c.other = true;
		note_difference(&c, "the call", view_of(&c, c.sym)->name, "none");
	}
	out->calls += c.n;
	out->exact_ranks += !c.other;
	out->wall_s = fmax(out->wall_s, r->wall_ns * 1e-9);
	out->predicted_s = fmax(out->predicted_s, wall_s);
out:
	free(c.view);
	free(c.seen);
	return rc;
}

int foresee_compare(struct foresee *f, const struct trace *t, struct foresee_difference *out, struct errbuf *err)
{
	*out = (struct foresee_difference){0};
	if (trace_n_ranks(t) != f->ranks)
		return err_set(err, "the trace has %u ranks, and the prediction is for %u", trace_n_ranks(t), f->ranks);
	for (uint32_t r = 0; r < f->ranks; r++) {
		if (!trace_get_rank(t, r)->present)
			return err_set(err, "rank %u of the trace is missing or damaged", r);
		if (compare_rank(f, t, r, out, err) < 0)
			return -1;
	}
	return run_own_wall(t, &out->own_s, err);
}
