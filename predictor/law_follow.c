/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model over inputs of a kin, anew after each run of it: see follow_law in follow.h; the fit is in law_fit.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/follow.h"
#include "predictor/kin.h"
#include "predictor/law.h"
#include "predictor/worth.h"

#define VARS_MAX (COMMENT_VARS_MAX + 12)

struct looks {
	struct store_past past[LAW_LOOK];
	struct kin_run runs[LAW_LOOK];
	char vars[LAW_LOOK][VARS_MAX]; /* with the index of an array's task behind the numbers */
};

/* Tasks of arrays have one input more: what ran last says of which the model is. */
static size_t runs_of(struct looks *l, int n, bool array)
{
	size_t count = 0;

	for (int i = 0; i < n; i++) {
		const struct store_past *p = &l->past[i];

		if (!p->vars[0] || (p->array_job != 0) != array)
			continue;
		if (array)
			snprintf(l->vars[count], VARS_MAX, "%s,%u", p->vars, p->array_task);
		else
			snprintf(l->vars[count], VARS_MAX, "%s", p->vars);
		l->runs[count] = (struct kin_run){p->key, l->vars[count], p->actual_s, p->worth == WORTH_BOUND};
		count++;
	}
	return count;
}

static int row_put(const struct follow_env *env, const struct store_run *run, const struct law *law, const char *reason, int64_t now,
		   struct errbuf *errp)
{
	struct store_model row = {.runs = law->runs, .points = law->points, .scale = 1, .updated = now};
	struct worth *worth = worth_gather(env->store, run->uid, run->family, NULL, run->candidate, errp);

	if (!worth)
		return -1;
	row.scale = worth_scale(worth, ESTIMATE_MODEL);
	worth_free(worth);
	memcpy(row.kin, run->kin, sizeof(row.kin));
	snprintf(row.candidate, sizeof(row.candidate), "%s", run->candidate);
	snprintf(row.reason, sizeof(row.reason), "%.300s", reason);
	law_format(law, row.law, sizeof(row.law));
	if (!row.law[0] && !row.reason[0])
		snprintf(row.reason, sizeof(row.reason), "the model is too long to be kept");
	return store_model_put(env->store, &row, errp);
}

int follow_law(const struct follow_env *env, const struct store_run *run, int64_t now, struct errbuf *errp)
{
	struct store_past_filter f = {.candidate = run->candidate, .kin = run->kin};
	struct looks *l;
	struct law *law;
	struct errbuf why = {""};
	int n, rv = -1;

	if (!run->kin[0] || !run->vars[0])
		return 0;
	l = malloc(sizeof(*l));
	law = malloc(sizeof(*law));
	n = l && law ? store_past_read(env->store, &f, l->past, LAW_LOOK, errp) : err_set(errp, "no memory for past runs");
	if (n < 0)
		goto out;
	if (law_fit(l->runs, runs_of(l, n, run->array_job != 0), law, &why) == 0)
		why.text[0] = '\0';
	law->array = run->array_job != 0;
	/* of most programs there is but one, and nothing to be kept */
	rv = law->points >= KIN_PROGRAMS_MIN ? row_put(env, run, law, why.text, now, errp) : 0;
out:
	free(law);
	free(l);
	return rv;
}
