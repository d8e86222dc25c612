/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that is not known, of which others that differ in numbers only are: when these all took about as long, with
 * numbers about where its own are, theirs is the prediction and it is not traced; a thousand seeds are not a thousand programs.
 */
#include <string.h>

#include "plugin/decide_internal.h"
#include "predictor/kin.h"

int decide_kin(struct deciding *d, struct store_lookup *known)
{
	struct store_family kin[STORE_ESTIMATES_MAX];
	const struct identity *id = &d->out->id;
	int n;

	memset(known, 0, sizeof(*known));
	if (!d->src->family || !id->n_vars || id->n_vars == IDENTITY_VARS_MAX)
		return 0;
	n = d->src->family(d->src->arg, id->kin, kin, STORE_ESTIMATES_MAX, d->err);
	if (n < 0)
		return -1;
	for (int i = 0; i < n; i++) {
		struct store_estimate *e = &known->estimates[known->n_estimates];

		if (estimate_check(&kin[i].e, NULL) < 0 || !kin_covers(kin[i].ranges, id->vars, id->n_vars))
			continue;
		*e = (struct store_estimate){.e = kin[i].e, .updated = kin[i].updated, .scale = kin[i].scale};
		memcpy(e->candidate, kin[i].candidate, sizeof(e->candidate));
		known->n_estimates++;
	}
	return known->n_estimates > 0;
}
