/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A stored model evaluated: see scaling_row.h. */

#include "predictor/estimate/interval_calibration.h"
#include "predictor/learn/scaling_row.h"

int scaling_row_predict(const struct store_model *m, const double *vars, unsigned n_vars, struct estimate *out, double *scale,
			struct errbuf *why)
{
	struct scaling_model model;

	if (!m->law[0])
		return err_set(why, "%s", m->reason);
	if (scaling_parse(m->law, &model, why) < 0 || scaling_predict(&model, vars, n_vars, out, why) < 0)
		return -1;
	*scale = interval_calibration_apply(out, m->scale > 0 ? m->scale : 1);
	if (estimate_check(out, NULL) < 0)
		return err_set(why, "earlier ones were off by %.1f times what they claimed: between %.0f and %.0f s", *scale, out->lo_s,
			       out->hi_s);
	return 0;
}
