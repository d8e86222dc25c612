/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When predictions have ceased to be right: see drift.h. */
#include "predictor/estimate/drift.h"

const char *drift_stage_name(enum drift_stage stage)
{
	static const char *const names[] = {"none", "reprobed", "retraced"};

	return (unsigned)stage <= DRIFT_RETRACED ? names[stage] : "unknown";
}

/* -1 shorter than told, 1 longer, 0 within. */
static int side_of(const struct drift_run *r)
{
	if (r->actual_s > r->hi_s)
		return 1;
	return r->actual_s < r->lo_s && !r->at_least ? -1 : 0;
}

/* The submission of the first of the latest runs on the side that most are on; 0: they do not agree. Runs that were cut short
 * within their interval say nothing and are not counted. */
static int64_t agreed_since(const struct drift *d, const struct drift_run *runs, size_t n)
{
	int64_t first[2] = {0, 0};
	unsigned out[2] = {0, 0}, seen = 0;

	for (size_t i = 0; i < n && seen < DRIFT_LOOK; i++) {
		int side = side_of(&runs[i]);

		/* what was submitted before the last deed was predicted without it */
		if (d->acted && runs[i].submit_time <= d->acted)
			break;
		if (!side && runs[i].at_least)
			continue;
		seen++;
		if (side) {
			out[side > 0]++;
			first[side > 0] = runs[i].submit_time;
		}
	}
	if (out[1] >= DRIFT_OUT)
		return first[1];
	return out[0] >= DRIFT_OUT ? first[0] : 0;
}

enum drift_deed drift_judge(struct drift *d, const struct drift_run *runs, size_t n, int64_t now)
{
	int64_t first = agreed_since(d, runs, n);

	if (!first || (d->acted && now - d->acted < DRIFT_REST_S && now >= d->acted))
		return DRIFT_REST;
	d->since = first;
	d->acted = now;
	/* After a new trace it begins again from the probes. */
	d->stage = d->stage == DRIFT_REPROBED ? DRIFT_RETRACED : DRIFT_REPROBED;
	return d->stage == DRIFT_REPROBED ? DRIFT_REPROBE : DRIFT_RETRACE;
}
