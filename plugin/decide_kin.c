/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Predicts an unknown program from its kin: programs that differ in numbers only. If all of them took about as
 * long, with numbers near its own, their estimate is the prediction, and the program is not traced. So a program
 * run with a thousand seeds is traced once. If run time depends on the numbers, the model over them predicts
 * (predictor/estimate/scaling_model.h).
 */
#include <stdlib.h>
#include <string.h>

#include "plugin/decide_internal.h"
#include "predictor/cluster/cluster.h"
#include "predictor/estimate/param_family.h"
#include "predictor/learn/scaling_row.h"

static struct store_estimate *estimate_add(struct store_lookup *known, const char *candidate)
{
	struct store_estimate *e = &known->estimates[known->n_estimates++];

	*e = (struct store_estimate){.scale = 1};
	memcpy(e->candidate, candidate, sizeof(e->candidate));
	return e;
}

static int find_alike(struct deciding *d, struct store_lookup *known)
{
	struct store_family *kin = d->rows.kin;
	const struct identity *id = &d->out->id;
	int n = d->src->reads->family ? d->src->reads->family(d->src->store, id->family, id->kin, kin, STORE_ESTIMATES_MAX, d->err) : 0;

	for (int i = 0; i < n; i++) {
		struct store_estimate *e;

		if (estimate_check(&kin[i].e, NULL) < 0 || !param_family_covers(kin[i].ranges, id->vars, id->n_vars))
			continue;
		e = estimate_add(known, kin[i].candidate);
		e->e = kin[i].e;
		e->updated = kin[i].updated;
		e->scale = kin[i].scale;
	}
	return n;
}

/* ---- models ---- */

#define INDEXES 3

/* The limit of an array must fit all its tasks. The first, the middle and the last index are predicted, and the
 * longest counts: sums of powers have their maximum at one of these. */
static int say_array(const struct store_model *m, struct identity *id, const char *array, struct estimate *out, double *scale,
		     struct errbuf *why)
{
	uint32_t first, last;

	if (id->n_vars == IDENTITY_VARS_MAX || !decide_array_span(array, &first, &last))
		return err_set(why, "its array indexes cannot be parsed");
	for (unsigned i = 0; i < INDEXES; i++) {
		struct estimate e;
		double by;

		id->vars[id->n_vars] = last - (double)(last - first) * i / (INDEXES - 1);
		if (scaling_row_predict(m, id->vars, id->n_vars + 1, &e, &by, why) < 0)
			return -1;
		if (i && e.hi_s <= out->hi_s)
			continue;
		*out = e;
		*scale = by;
	}
	return 0;
}

static bool is_known_candidate(const struct store_lookup *known, const char *candidate)
{
	for (unsigned i = 0; i < known->n_estimates; i++)
		if (!strcmp(known->estimates[i].candidate, candidate))
			return true;
	return false;
}

/* Is the estimate for a place where the job will run? */
static bool is_here(const struct deciding *d, const char *candidate)
{
	for (unsigned i = 0; i < d->n_partitions; i++)
		if (!strcmp(candidate, cluster_candidate(d->conf, d->partitions[i], d->in->features)))
			return true;
	return false;
}

static int find_modelled(struct deciding *d, struct store_lookup *known)
{
	struct store_model *models = d->rows.models;
	struct identity *id = &d->out->id;
	bool is_array = d->in->array_inx && *d->in->array_inx;
	int n = d->src->reads->model ? d->src->reads->model(d->src->store, id->kin, models, STORE_ESTIMATES_MAX, d->err) : 0;

	for (int i = 0; i < n; i++) {
		struct store_estimate *e;
		struct errbuf why = {""};
		struct estimate said;
		double scale;
		int rv;

		if (is_known_candidate(known, models[i].candidate) || known->n_estimates == STORE_ESTIMATES_MAX)
			continue;
		rv = is_array ? say_array(&models[i], id, d->in->array_inx, &said, &scale, &why)
				      : scaling_row_predict(&models[i], id->vars, id->n_vars, &said, &scale, &why);
		if (rv < 0) {
			if (models[i].law[0] && is_here(d, models[i].candidate))
				d->unmodelled = why;
			continue;
		}
		e = estimate_add(known, models[i].candidate);
		e->e = said;
		e->updated = models[i].updated;
		e->scale = scale;
	}
	return n;
}

int decide_kin(struct deciding *d, bool alike, struct store_lookup *known)
{
	known->n_estimates = 0;
	if (d->out->id.n_vars == IDENTITY_VARS_MAX) /* there may be more numbers than are stored */
		return 0;
	if ((alike && find_alike(d, known) < 0) || find_modelled(d, known) < 0)
		return -1;
	return known->n_estimates > 0;
}
