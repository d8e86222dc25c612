/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From probe results and past runs to a prediction with its interval: see estimate.h for the formulas. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "predictor/estimate/estimate.h"

#define ELAPSED_SLACK_REL                                                                                    \
	0.02 /* traces may add up to this much more than the job: clocks, rounding to seconds */
#define ELAPSED_SLACK_S 1.0
#define MPI_S_SAME_REL	1e-6 /* both probes read the same trace */
/* Prior of a machine's noise, its weight in measurements, and bounds. */
#define NOISE_PRIOR   0.005
#define NOISE_RUNS    0.25
#define NOISE_SEEN    2.0 /* degrees of freedom of a probe's noise */
#define NOISE_STUDENT 3.5
#define NOISE_MOST    0.2
#define HOME_CHANCE   0.5 /* logarithm: a smaller error of a partial execution at home is chance (doc/evaluation/accuracy.md) */
#define MIN_SIGMA	0.01
#define MIX_DOUBT	0.35 /* of the best known mix: two of its kernels may have that much of each other's work */
#define PAST_PRIOR	2.0  /* programs that the interval of a probe counts as, beside those that have run since */

static const char *const kind_names[] = {
    [ESTIMATE_SOURCE] = "source",
    [ESTIMATE_SKELETON] = "skeleton",
    [ESTIMATE_HISTORY] = "history",
    [ESTIMATE_BLEND] = "blend",
    [ESTIMATE_PARTIAL] = "partial",
    [ESTIMATE_FAMILY] = "family",
    [ESTIMATE_MODEL] = "model",
    [ESTIMATE_JOINT] = "joint",
};

const char *estimate_kind_name(enum estimate_kind kind)
{
	return (unsigned)kind < ESTIMATE_KINDS ? kind_names[kind] : "unknown";
}

int estimate_kind_parse(const char *text, enum estimate_kind *kind)
{
	for (unsigned i = 0; text && i < ESTIMATE_KINDS; i++) {
		if (!strcmp(text, kind_names[i])) {
			*kind = (enum estimate_kind)i;
			return 0;
		}
	}
	return -1;
}

int estimate_check(const struct estimate *e, struct errbuf *err)
{
	bool runs = e->kind == ESTIMATE_HISTORY && e->n >= ESTIMATE_RUNS_LEAST;

	if (!isfinite(e->mean_s) || !isfinite(e->lo_s) || !isfinite(e->hi_s) || e->mean_s <= 0 ||
	    e->lo_s < 0 || e->lo_s > e->mean_s || e->hi_s < e->mean_s)
		return err_set(err, "the estimate makes no sense: %g s within %g to %g s", e->mean_s, e->lo_s,
			       e->hi_s);
	if (e->hi_s > e->lo_s * (runs ? ESTIMATE_RUNS_RATIO : ESTIMATE_MAX_RATIO))
		return err_set(err, "too uncertain: between %.1f and %.1f s", e->lo_s, e->hi_s);
	return 0;
}

/* ---- from probes ---- */

static int check_record(const struct result *r, const char *which, struct errbuf *err)
{
	if (!r->ok)
		return err_set(err, "the probe on the %s failed: %.200s", which, r->reason);
	if (!r->traces_n || r->traces_n > RESULT_MAX_TRACES)
		return err_set(err, "the probe on the %s has %u traces", which, r->traces_n);
	for (unsigned i = 0; i < r->traces_n; i++) {
		const struct result_trace *t = &r->traces[i];

		if (r->unskeleton[0] && t->partial.present)
			continue; /* result_parse has checked it */
		if (!isfinite(t->mpi_s) || !isfinite(t->skel_s) || t->mpi_s < 0 || t->skel_s <= 0 ||
		    !(t->lo_s >= 0) || t->lo_s > t->skel_s || !(t->hi_s >= t->skel_s) ||
		    !(t->confidence >= 0) || t->confidence > 1)
			return err_set(
			    err,
			    "the probe on the %s gives impossible times for trace %u: %g s within %g to %g s",
			    which, i, t->skel_s, t->lo_s, t->hi_s);
	}
	return 0;
}

static int check_pair(const struct result *source, const struct result *target, struct errbuf *err)
{
	if (check_record(source, "traced partition", err) < 0 ||
	    check_record(target, "target partition", err) < 0)
		return -1;
	if (source->traces_n != target->traces_n)
		return err_set(err, "the probes saw %u and %u traces", source->traces_n, target->traces_n);
	if (strcmp(source->hash_hex, target->hash_hex))
		return err_set(err, "the probes ran different skeletons");
	for (unsigned i = 0; i < source->traces_n; i++) {
		double a = source->traces[i].mpi_s, b = target->traces[i].mpi_s;

		if (fabs(a - b) > MPI_S_SAME_REL * fmax(a, b))
			return err_set(err, "the probes read different times from trace %u: %g and %g s", i,
				       a, b);
	}
	return 0;
}

static double half_width_rel(const struct result_trace *t)
{
	return fmax(t->hi_s - t->skel_s, t->skel_s - t->lo_s) / t->skel_s;
}

struct ratios {
	double mean;   /* of target/source over the kernels that both have; 1 without any */
	double spread; /* half the range, relative to the mean */
};

static struct ratios kernel_ratios(const struct result *source, const struct result *target)
{
	double sum = 0, min = INFINITY, max = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < source->kernels_n; i++) {
		for (unsigned j = 0; j < target->kernels_n; j++) {
			double r = target->kernels[j].ns_per_unit / source->kernels[i].ns_per_unit;

			if (strcmp(source->kernels[i].name, target->kernels[j].name) || !isfinite(r) ||
			    r <= 0)
				continue;
			sum += r;
			min = fmin(min, r);
			max = fmax(max, r);
			n++;
		}
	}
	if (!n)
		return (struct ratios){1, 0};
	return (struct ratios){sum / n, (max - min) / 2 / (sum / n)};
}

/* Squared relative half width of the difference of two runs on one machine. A probe measures the noise from three moments, so
 * the prior is mixed in and the factor is Student's. */
static double noise_width2(double noise)
{
	return NOISE_STUDENT * NOISE_STUDENT * 2 * (NOISE_SEEN * noise * noise + NOISE_RUNS * NOISE_PRIOR * NOISE_PRIOR) /
	       (NOISE_SEEN + NOISE_RUNS);
}

double estimate_noise_rel(double noise)
{
	return fmin(NOISE_MOST, sqrt(noise_width2(noise)));
}

/*
 * Relative half width for the noise that windows do not see, because it changes from run to run. A probe and a whole
 * run on either machine are in the prediction; on the source alone, two whole runs.
 */
static double noise_width(const struct result *source, const struct result *target, bool same)
{
	double sum = source->has_noise ? noise_width2(source->noise) : 0;

	if (!same && target->has_noise)
		sum += noise_width2(target->noise);
	return fmin(NOISE_MOST, sqrt(sum));
}

/*
 * Predicted seconds of the program there; *share: the part in computation. Computation scales by the ratio of the skeletons'
 * computation, and so does its error. Additional time in MPI and in waiting is the same for program and skeleton, so it is
 * added: a factor would multiply the skeleton's error at home. If MPI is faster there, it scales by the ratio.
 */
static double trace_predicted(const struct result_trace *s, const struct result_trace *t, double *share)
{
	double computed, mpi, mpi_s, mpi_t, whole;

	*share = 1;
	if (!s->compute.present || !t->compute.present || !(s->compute.skel_s > 0))
		return s->mpi_s * t->skel_s / s->skel_s;
	computed = s->compute.traced_s * t->compute.skel_s / s->compute.skel_s;
	mpi = s->mpi_s - s->compute.traced_s;
	mpi_s = s->skel_s - s->compute.skel_s;
	mpi_t = t->skel_s - t->compute.skel_s;
	whole = computed + (mpi_t >= mpi_s ? mpi + mpi_t - mpi_s : mpi * mpi_t / mpi_s);
	*share = whole > 0 ? fmin(1, fmax(0, computed / whole)) : 1;
	return whole;
}

/*
 * Relative half width of one trace's prediction on another candidate. Terms added in quadrature: both probes, the spread of the
 * kernels' ratios, the error of the skeleton at home, and noise. The spread counts by how far the kernels' mix is in doubt.
 * trust: in the comparison at home, 0 to 1.
 */
static double trace_width_there(const struct result_trace *source, const struct result_trace *target, double spread,
				double share, double trust, double noise)
{
	double doubt = fmax(MIX_DOUBT, 1 - fmin(source->confidence, target->confidence));
	double unlike = source->mpi_s > 0 ? fabs(source->skel_s / source->mpi_s - 1) / 2 : 0;
	double a = trust * half_width_rel(source), b = half_width_rel(target), c = spread * doubt * share;

	return sqrt(a * a + b * b + c * c + unlike * unlike + noise * noise);
}

/*
 * Weight of the comparison at home for partial execution, 0 to 1. Partial execution runs the program itself, so an error at
 * home is the difference between two runs. Differences up to `chance` are noise; only the part beyond counts.
 */
static double trust_in_home(const struct result_trace *s, double noise)
{
	double chance = fmax(HOME_CHANCE, hypot(half_width_rel(s), noise)), off;

	if (!(s->mpi_s > 0))
		return 0;
	off = fabs(log(s->skel_s / s->mpi_s));
	return off > chance ? 1 - chance * chance / (off * off) : 0;
}

/* of_itself: the probes ran the program, not a skeleton of it. */
static int estimate_by_ratio(const struct result *source, const struct result *target, double elapsed_s, bool of_itself,
			     struct estimate *out, struct errbuf *err)
{
	bool same = source == target || !strcmp(source->candidate, target->candidate);
	struct ratios k = {1, 0};
	double mpi_source = 0, mpi_target = 0, half = 0, rest, rest_target, noise = noise_width(source, target, same);

	if (check_pair(source, target, err) < 0)
		return -1;
	if (!isfinite(elapsed_s) || elapsed_s <= 0)
		return err_set(err, "the traced job's elapsed time is %g s", elapsed_s);
	if (!same)
		k = kernel_ratios(source, target);
	for (unsigned i = 0; i < source->traces_n; i++) {
		const struct result_trace *s = &source->traces[i], *t = &target->traces[i];
		double share = 1, part = same ? s->mpi_s : trace_predicted(s, t, &share);
		double trust = of_itself && !same ? trust_in_home(s, noise) : 1;

		part = trust * part + (1 - trust) * t->skel_s;
		mpi_source += s->mpi_s;
		mpi_target += part;
		half += part * (same ? hypot(half_width_rel(s), noise) : trace_width_there(s, t, k.spread, share, trust, noise));
	}
	rest = elapsed_s - mpi_source;
	if (rest < -(ELAPSED_SLACK_REL * elapsed_s + ELAPSED_SLACK_S))
		return err_set(err,
			       "the traces add up to %.1f s, the job took %.1f s: its steps ran side by side",
			       mpi_source, elapsed_s);
	rest_target = same ? rest : rest + source->traces_n * (target->startup_s - source->startup_s);
	rest_target = same ? rest_target : fmax(0, rest_target);
	out->mean_s = mpi_target + rest_target;
	out->kind = same ? ESTIMATE_SOURCE : of_itself ? ESTIMATE_PARTIAL : ESTIMATE_SKELETON;
	out->n = 0;
	half = fmax(half, ESTIMATE_MIN_REL * out->mean_s);
	/* Nothing measured says how what lies outside MPI scales: as the kernels do, or not at all. */
	out->hi_s = out->mean_s + half + fmax(0, rest_target) * fmax(0, k.mean - 1);
	out->lo_s = fmax(0, out->mean_s - half - fmax(0, rest_target) * fmax(0, 1 - k.mean));
	return estimate_check(out, err);
}

/* The record with the seconds of partial execution instead of the skeleton's. False: it has not one for each trace. */
static bool as_partial(const struct result *from, struct result *to)
{
	*to = *from;
	to->unskeleton[0] = '\0';
	to->kernels_n = 0; /* no work is imitated: nothing hangs on its mix */
	for (unsigned i = 0; i < from->traces_n; i++) {
		const struct result_partial *p = &from->traces[i].partial;

		if (!p->present)
			return false;
		to->traces[i].skel_s = p->whole_s;
		to->traces[i].lo_s = p->lo_s;
		to->traces[i].hi_s = p->hi_s;
		to->traces[i].confidence = 1;
		to->traces[i].compute = p->compute;
	}
	return from->traces_n > 0;
}

void estimate_weigh(const struct estimate *a, const struct estimate *b, struct estimate *out)
{
	double sa = fmax(fmax(a->hi_s - a->mean_s, a->mean_s - a->lo_s) / 2, MIN_SIGMA * a->mean_s);
	double sb = fmax(fmax(b->hi_s - b->mean_s, b->mean_s - b->lo_s) / 2, MIN_SIGMA * b->mean_s);
	double wa = 1 / (sa * sa), wb = 1 / (sb * sb), mean = (wa * a->mean_s + wb * b->mean_s) / (wa + wb);
	double half = fmax(2 / sqrt(wa + wb), ESTIMATE_MIN_REL * mean);

	/* Further apart than they say of themselves: then neither is as good as it says. */
	half = fmax(half, fabs(a->mean_s - b->mean_s) / 2);
	*out = (struct estimate){.mean_s = mean, .lo_s = fmax(0, mean - half), .hi_s = mean + half, .kind = b->kind};
}

int estimate_from_partial(const struct result *source, const struct result *target, double elapsed_s, struct estimate *out,
			  struct errbuf *err)
{
	struct result s, t;

	*out = (struct estimate){0};
	if (check_pair(source, target, err) < 0)
		return -1;
	if (!as_partial(source, &s) || !as_partial(target, &t))
		return err_set(err, "the probes have no partial execution of each trace");
	return estimate_by_ratio(&s, &t, elapsed_s, true, out, err);
}

/* 0: both kinds have a say; 1: the skeleton alone, 2: partial execution alone. -1 with the reason. */
static int both_kinds(const struct result *source, const struct result *target, double elapsed_s, struct estimate *skeleton,
		      struct estimate *partial, struct errbuf *err)
{
	struct errbuf why;

	if (check_pair(source, target, err) < 0)
		return -1;
	if (source->unskeleton[0] || target->unskeleton[0])
		return estimate_from_partial(source, target, elapsed_s, partial, err) < 0 ? -1 : 2;
	if (source == target || !strcmp(source->candidate, target->candidate) ||
	    estimate_from_partial(source, target, elapsed_s, partial, &why) < 0)
		return estimate_by_ratio(source, target, elapsed_s, false, skeleton, err) < 0 ? -1 : 1;
	return estimate_by_ratio(source, target, elapsed_s, false, skeleton, &why) < 0 ? 2 : 0;
}

int estimate_by_kind(const struct result *source, const struct result *target, double elapsed_s, struct estimate *skeleton,
		     struct estimate *partial)
{
	struct errbuf why;

	return both_kinds(source, target, elapsed_s, skeleton, partial, &why) == 0 ? 0 : -1;
}

void estimate_errors_add(struct estimate_errors *errors, double skeleton_s, double partial_s, const struct estimate_past *past,
			 size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += past[i].actual_s;
	if (!n || !isfinite(sum) || sum <= 0)
		return;
	sum /= (double)n;
	errors->skeleton += pow(skeleton_s / sum - 1, 2);
	errors->partial += pow(partial_s / sum - 1, 2);
	errors->n++;
}

void estimate_learn(struct estimate *e, double sq_sum, unsigned n)
{
	double half = fmax(e->hi_s - e->mean_s, e->mean_s - e->lo_s), sigma = half / 2 / e->mean_s;

	if (!n)
		return;
	half = 2 * e->mean_s * fmax(MIN_SIGMA, sqrt((PAST_PRIOR * sigma * sigma + sq_sum) / (PAST_PRIOR + n)));
	e->lo_s = fmax(0, e->mean_s - half);
	e->hi_s = e->mean_s + half;
}

static bool are_apart(const struct estimate *a, const struct estimate *b)
{
	return a->mean_s > 0 && b->mean_s > 0 && (a->hi_s < b->lo_s || b->hi_s < a->lo_s);
}

int estimate_from_probes_after(const struct result *source, const struct result *target, double elapsed_s,
			       const struct estimate_errors *errors, struct estimate *out, struct errbuf *err)
{
	struct estimate skeleton = {0}, partial = {0};
	int rc = both_kinds(source, target, elapsed_s, &skeleton, &partial, err);

	if (rc < 0) {
		*out = skeleton;
		return -1;
	}
	/* One that is too uncertain to be told can still say that the other is wrong. */
	if (rc && !are_apart(&skeleton, &partial)) {
		*out = rc == 1 ? skeleton : partial;
	} else {
		if (errors) {
			estimate_learn(&skeleton, errors->skeleton, errors->n);
			estimate_learn(&partial, errors->partial, errors->n);
		}
		estimate_weigh(&skeleton, &partial, out);
	}
	return estimate_check(out, err);
}

int estimate_from_probes(const struct result *source, const struct result *target, double elapsed_s,
			 struct estimate *out, struct errbuf *err)
{
	return estimate_from_probes_after(source, target, elapsed_s, NULL, out, err);
}
