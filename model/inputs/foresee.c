/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prediction of runs: see foresee.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/inputs/foresee.h"

#define ERROR_MOST    1e6 /* says nothing either */
#define RULE_FEATURES 6 /* of a rule: two terms of three */

static bool is_plain(const char *input)
{
	return strcmp(input, "rank") && strcmp(input, "ranks") && !strchr(input, '(');
}

/* Variables are the inputs that are no features. */
static int take_values(struct foresee *f, const char *const *name, const double *value, uint32_t n, const char **var,
		       struct errbuf *err)
{
	const struct model *m = f->m;

	for (uint32_t i = 0; i < m->n_inputs; i++) {
		uint32_t k = 0;

		if (!is_plain(m->input[i].name))
			continue;
		if (f->n_vars == FEATURE_VARS_MAX)
			return err_set(err, "not a model of runs: more than %d variables", FEATURE_VARS_MAX);
		while (k < n && strcmp(name[k], m->input[i].name))
			k++;
		if (k == n && m->input[i].kind != MODEL_INPUT_CONSTANT)
			return err_set(err, "the value of %s is not given (it was %.15g to %.15g)", m->input[i].name,
				       m->input[i].lo, m->input[i].hi);
		var[f->n_vars] = m->input[i].name;
		f->var[f->n_vars++] = k < n ? value[k] : m->input[i].lo;
	}
	for (uint32_t k = 0; k < n; k++)
		if (!is_plain(name[k]) || model_input_find(m, name[k]) < 0)
			return err_set(err, "the model has no variable %s", name[k]);
	return 0;
}

static int find_features(struct foresee *f, struct errbuf *err)
{
	for (uint32_t i = 0; i < f->m->n_inputs; i++) {
		uint32_t k = 0;

		while (k < f->n_features && strcmp(f->feature[k].name, f->m->input[i].name))
			k++;
		if (k == f->n_features)
			return err_set(err, "not a model of runs: input %s is none that ranks have", f->m->input[i].name);
		f->feature_of[i] = k;
	}
	return 0;
}

/* ---- doubts ---- */

static int read_side(const struct foresee *f, const char *s, struct learnt_doubt *d, int k)
{
	if (d->kind == DOUBT_ORDER) {
		if ((s[0] != 'V' && s[0] != 'G') || s[1] != ' ')
			return -1;
		d->counted[k] = s[0] == 'V';
		s += 2;
	}
	return d->kind == DOUBT_RULES || d->counted[k] ? rule_read(s, f->feature, f->n_features, &d->rule[k])
						       : rule_guard_read(s, f->feature, f->n_features, &d->guard[k]);
}

static int read_doubt(const struct foresee *f, const struct model_var *v, struct learnt_doubt *d)
{
	char text[INPUTS_REASON_MAX], *other, *where;
	const char *kind;

	*d = (struct learnt_doubt){0};
	snprintf(d->what, sizeof(d->what), "%s", v->name + strlen(INPUTS_DOUBT));
	snprintf(text, sizeof(text), "%s", v->reason);
	other = strstr(text, " | ");
	kind = strchr("VGOA", text[0]);
	if (!other || !text[0] || !kind || text[1] != ' ')
		return -1;
	*other = '\0';
	where = strstr(other + 3, MODEL_FOR_PEOPLE);
	if (where)
		*where = '\0';
	d->where.f = RULE_NONE;
	where = strstr(other + 3, " | ");
	if (where) {
		*where = '\0';
		if (rule_guard_read(where + 3, f->feature, f->n_features, &d->where) < 0)
			return -1;
	}
	d->kind = (uint8_t)(kind - "VGOA");
	d->counted[0] = d->counted[1] = d->kind == DOUBT_ABOUT;
	if (read_side(f, text + 2, d, 0) < 0 || read_side(f, other + 3, d, 1) < 0)
		return -1;
	if (d->kind == DOUBT_ABOUT)
		return d->rule[0].n == 1 && d->rule[0].f[0] < f->n_vars && strstr(d->what, "loop") ? 0 : -1;
	return 0;
}

static int read_doubts(struct foresee *f, struct errbuf *err)
{
	f->doubt = calloc(f->m->n_vars + 1u, sizeof(*f->doubt));
	if (!f->doubt)
		return err_set(err, "no memory");
	for (uint32_t i = 0; i < f->m->n_vars; i++) {
		const struct model_var *v = &f->m->var[i];

		if (strncmp(v->name, INPUTS_DOUBT, strlen(INPUTS_DOUBT)) || v->known)
			continue;
		if (read_doubt(f, v, &f->doubt[f->n_doubts++]) < 0)
			return err_set(err, "not a model of runs: variable '%.80s' is no doubt", v->name);
	}
	return 0;
}

static void use(struct foresee *f, uint32_t feature)
{
	if (feature != RULE_NONE)
		f->used[feature] = true;
}

static void use_guard(struct foresee *f, const struct rule_guard *g)
{
	use(f, g->f);
	use(f, g->than ? g->g : RULE_NONE);
	use(f, g->both ? g->f2 : RULE_NONE);
}

/* There are many features of portions: only those that the model asks for are computed. */
static void mark_used(struct foresee *f)
{
	for (uint32_t i = 0; i < f->m->n_inputs; i++)
		use(f, f->feature_of[i]);
	for (uint32_t i = 0; i < f->n_doubts; i++)
		for (uint32_t k = 0; k < 2; k++) {
			const struct learnt_doubt *d = &f->doubt[i];
			const struct rule *r = &d->rule[k];
			bool ruled = d->kind == DOUBT_RULES || d->counted[k];

			use_guard(f, &d->where);
			if (!ruled)
				use_guard(f, &d->guard[k]);
			for (uint32_t j = 0; ruled && j < r->n; j++) {
				use(f, r->f[j]);
				use(f, r->g[j]);
				use(f, r->h[j]);
			}
		}
}

static void prepare(struct foresee *f, uint32_t rank)
{
	struct feature_place place = {f->var, rank, f->ranks, f->crowd};

	for (uint32_t k = 0; k < f->n_features; k++)
		if (f->used[k])
			f->value[k] = feature_value(&f->feature[k], &place);
	for (uint32_t i = 0; i < f->m->n_inputs; i++) {
		const struct feature *k = &f->feature[f->feature_of[i]];

		f->input[i] = k->op == FEATURE_VAR ? f->var[k->v] : (double)f->value[f->feature_of[i]];
	}
}

/* Dimensions of the grids that a side's features are of, as bits. */
static uint32_t dims_of(const struct foresee *f, const struct learnt_doubt *d, int k)
{
	const struct rule *r = &d->rule[k];
	const struct rule_guard *g = &d->guard[k];
	uint32_t used[RULE_FEATURES] = {g->f, g->than ? g->g : RULE_NONE, g->both ? g->f2 : RULE_NONE}, n = 3, bits = 0;

	if (d->kind == DOUBT_RULES || d->counted[k])
		for (n = 0; n < 3 * r->n; n++)
			used[n] = n % 3 == 0 ? r->f[n / 3] : n % 3 == 1 ? r->g[n / 3] : r->h[n / 3];
	for (uint32_t i = 0; i < n; i++)
		bits |= used[i] == RULE_NONE ? 0 : 1u << f->feature[used[i]].d;
	return bits & ~1u;
}

#define SETTLE_RANKS 12 /* small runs are tried first, by the values that the runs had */
#define SETTLE_MORE  13 /* and by so much more of one variable: it is no multiple of anything small */

/* A small run that would tell which side is right: ", for example by a run on 4 ranks with N=101", or "". */
static const char *settle(const struct foresee *f, const struct learnt_doubt *d, char *buf, size_t size)
{
	int32_t number = model_input_find(f->m, "ranks");
	bool one = number >= 0 && f->m->input[number].kind == MODEL_INPUT_CONSTANT;
	uint32_t first = one ? f->ranks : 2, last = one ? f->ranks : SETTLE_RANKS;
	int64_t *value = malloc((f->n_features + 1u) * sizeof(*value));
	double least[FEATURE_VARS_MAX], var[FEATURE_VARS_MAX];
	bool found = false;
	size_t n;

	buf[0] = '\0';
	for (uint32_t v = 0; v < f->n_vars; v++) {
		int32_t i = model_input_find(f->m, f->feature[v].name);

		least[v] = i < 0 ? f->var[v] : f->m->input[i].lo;
	}
	for (uint32_t more = 0; value && !found && more <= SETTLE_MORE; more++)
		for (uint32_t v = 0; !found && v < (more ? f->n_vars : 1); v++) {
			memcpy(var, least, sizeof(var));
			var[v] += more;
			for (uint32_t ranks = first; !found && ranks <= last; ranks++) {
				found = learnt_doubt_differs(d, f->feature, f->n_features, value, var, ranks);
				if (found)
					snprintf(buf, size, ", for example on %u ranks with", ranks);
			}
		}
	for (uint32_t v = 0; found && v < f->n_vars; v++) {
		n = strlen(buf);
		snprintf(buf + n, size - n, " %.31s=%.10g", f->feature[v].name, var[v]);
	}
	free(value);
	return buf;
}

/* Is it in doubt whether the ranks are in a row or in a grid? Runs on a prime number of ranks cannot tell. */
static bool is_row_or_grid(const struct foresee *f, const struct learnt_doubt *d)
{
	return dims_of(f, d, 0) == 1u << 1 && dims_of(f, d, 1) & ~(1u << 1);
}

/* One doubt is said. That the ranks may be in a grid goes first: then all peers are others. */
static void say_simpler(struct foresee *f, const struct learnt_doubt *d, const char *a, const char *b)
{
	const char *what = strchr(d->what, ' ');
	bool row = is_row_or_grid(f, d);
	char run[200];

	if (f->simpler[0] && (!row || f->row_taken))
		return;
	f->row_taken = row;
	snprintf(f->simpler, sizeof(f->simpler), "%s%.160s is taken to be '%.100s'; '%.100s' holds in all runs too, and a run where they "
		 "differ settles it%s%s", row ? "the ranks are taken to be in a row and no grid: " : "", what ? what + 1 : d->what, a, b,
		 settle(f, d, run, sizeof(run)), row ? "; or say to fit by --dims how many dimensions the grid has" : "");
}

static int check_doubts(struct foresee *f, struct errbuf *err)
{
	char a[200], b[200], run[200];

	for (uint32_t rank = 0; rank < f->ranks; rank++) {
		prepare(f, rank);
		for (uint32_t i = 0; i < f->n_doubts; i++) {
			const struct learnt_doubt *d = &f->doubt[i];

			if (learnt_doubt_agrees(d, f->value))
				continue;
			learnt_side_format(d, 0, f->feature, a, sizeof(a));
			learnt_side_format(d, 1, f->feature, b, sizeof(b));
			if (d->kind == DOUBT_ABOUT)
				return err_set(err, "rank %u: where a call leads is not known: how often there is the "
					       "%.160s: no rule of the variables, rank and ranks holds in all runs; "
					       "trace more of them, or take about %s by --anyway",
					       rank, strstr(d->what, "loop"), a);
			if (learnt_doubt_simpler(d, f->feature)) {
				say_simpler(f, d, a, b);
				continue;
			}
			if (d->kind == DOUBT_ORDER)
				return err_set(err, "not determined by the runs: the order of %.160s: rank %u makes both here (%.100s; "
						    "%.100s), and no rank of the runs does; trace one that does",
					       strchr(d->what, ' ') ? strchr(d->what, ' ') + 1 : d->what, rank, a, b);
			if (!strcmp(a, b))
				return err_set(err, "not determined by the runs: %.160s: '%.100s' is no whole number for rank %u here; "
						    "trace a run like it%s",
					       strchr(d->what, ' ') ? strchr(d->what, ' ') + 1 : d->what, a, rank,
					       settle(f, d, run, sizeof(run)));
			return err_set(err,
				       "not determined by the runs: %.160s: '%.100s' and '%.100s' hold in all of them, and differ "
				       "for rank %u here; trace a run where they differ%s%s",
				       strchr(d->what, ' ') ? strchr(d->what, ' ') + 1 : d->what, a, b, rank, settle(f, d, run, sizeof(run)),
				       dims_of(f, d, 0) != dims_of(f, d, 1) ? ", or say to fit by --dims how many dimensions the grid of ranks has" : "");
		}
	}
	return 0;
}

/* Relative miss of a line at x. Beyond the runs it is that of a parabola whose distance from the line is the same at
 * both ends and in the middle of the runs. Rounding misses half an iteration. */
static double about_error(const struct foresee *f, const struct learnt_doubt *d, double x)
{
	const struct model_input *in = &f->m->input[model_input_find(f->m, f->feature[d->rule[0].f[0]].name)];
	double end = fmin(fmax(x, in->lo), in->hi), far = x == end ? 0 : fabs(x - end) / (in->hi - in->lo);
	double law = learnt_about(d, x), most = far ? fmax(learnt_about(d, in->lo), learnt_about(d, in->hi)) : law;

	most *= 2 * (1 + 2 * far) * (1 + 2 * far) - 1;
	return law < 1 ? ERROR_MOST : fmin((learnt_missed(d) * most + 0.5) / law, ERROR_MOST);
}

/* Errors of loops add up: one loop may be in another. One loop is said. */
static void take_about(struct foresee *f)
{
	char a[200];
	uint32_t n = 0;

	for (uint32_t i = f->n_doubts; i-- > 0;) {
		const struct learnt_doubt *d = &f->doubt[i];
		double x, error;

		if (d->kind != DOUBT_ABOUT ||
		    !learnt_doubt_differs(d, f->feature, f->n_features, f->value, f->var, f->ranks))
			continue;
		x = f->var[d->rule[0].f[0]];
		error = about_error(f, d, x);
		f->about_error += log1p(error);
		snprintf(f->about, sizeof(f->about),
			 "about %.0f iterations of the %.160s: no exact rule; %.100s comes within %.2g %% of the runs, "
			 "and the interval allows for %.2g %% here%s",
			 fmax(1, round(learnt_about(d, x))), strstr(d->what, "loop"),
			 learnt_side_format(d, 0, f->feature, a, sizeof(a)), 100 * learnt_missed(d), 100 * error,
			 n++ ? "; other loops are like this one" : "");
	}
}

int foresee_open(struct foresee *f, const struct model *m, uint32_t ranks, const char *const *name, const double *value,
		 uint32_t n, bool anyway, struct errbuf *err)
{
	const char *var[FEATURE_VARS_MAX];

	*f = (struct foresee){.m = m, .ranks = ranks, .crowd = 1, .stretch = 1};
	if (!ranks || ranks > FORESEE_RANKS_MAX)
		return err_set(err, "the number of ranks is 1 to %d", FORESEE_RANKS_MAX);
	if (take_values(f, name, value, n, var, err) < 0)
		return -1;
	f->feature = feature_list(var, f->n_vars, &f->n_features);
	f->feature_of = calloc(m->n_inputs + 1u, sizeof(*f->feature_of));
	f->input = calloc(m->n_inputs + 1u, sizeof(*f->input));
	f->value = calloc(f->n_features + 1u, sizeof(*f->value));
	f->used = calloc(f->n_features + 1u, sizeof(*f->used));
	if (!f->feature || !f->feature_of || !f->input || !f->value || !f->used) {
		foresee_close(f);
		return err_set(err, "no memory");
	}
	if (find_features(f, err) < 0 || read_doubts(f, err) < 0)
		goto fail;
	mark_used(f);
	if (!anyway && check_doubts(f, err) < 0)
		goto fail;
	take_about(f);
	return 0;
fail:
	foresee_close(f);
	return -1;
}

void foresee_close(struct foresee *f)
{
	free(f->used);
	free(f->feature);
	free(f->feature_of);
	free(f->input);
	free(f->value);
	free(f->doubt);
	*f = (struct foresee){0};
}

const char *foresee_far(const struct foresee *f, double *lo, double *hi)
{
	for (uint32_t i = 0; i < f->m->n_inputs; i++) {
		const struct feature *k = &f->feature[f->feature_of[i]];
		double x = k->op == FEATURE_VAR ? f->var[k->v] : f->ranks;

		*lo = f->m->input[i].lo;
		*hi = f->m->input[i].hi;
		if (k->op != FEATURE_VAR && k->op != FEATURE_RANKS)
			continue;
		if (x > *hi + (FORESEE_FAR - 1) * fabs(*hi) || x < *lo - (1 - 1.0 / FORESEE_FAR) * fabs(*lo))
			return f->m->input[i].name;
	}
	return NULL;
}

const char *foresee_outside(const struct foresee *f)
{
	for (uint32_t i = 0; i < f->m->n_inputs; i++) {
		const struct feature *k = &f->feature[f->feature_of[i]];
		double x = k->op == FEATURE_VAR ? f->var[k->v] : f->ranks;

		if ((k->op == FEATURE_VAR || k->op == FEATURE_RANKS) && (x < f->m->input[i].lo || x > f->m->input[i].hi))
			return f->m->input[i].name;
	}
	return f->m->place.known && f->crowd > f->m->place.crowd ? "ranks" : NULL;
}

/* Distance of x from the range lo to hi, as a logarithm. For numbers not above zero: the distance relative to the width
 * of the range. */
static double distance(double x, double lo, double hi)
{
	double by = x > hi ? x - hi : lo - x;

	if (x >= lo && x <= hi)
		return 0;
	if (fmin(x, lo) > 0)
		return fabs(log(x > hi ? x / hi : lo / x));
	return log1p(by / (hi > lo ? hi - lo : fmax(fabs(hi), 1)));
}

/* The error inside the range of the runs, plus the error of extrapolation, which grows with the distance. */
double foresee_error(const struct foresee *f)
{
	const struct model_confidence *c = &f->m->confidence;
	double error = hypot(log1p(c->time_error), f->about_error);

	for (uint32_t i = 0; i < c->n_reach; i++) {
		const struct feature *k = &f->feature[f->feature_of[i]];
		double x = k->op == FEATURE_VAR ? f->var[k->v] : f->ranks, far = distance(x, f->m->input[i].lo, f->m->input[i].hi);

		if (k->op == FEATURE_RANKS && f->m->place.known && f->crowd > f->m->place.crowd)
			far = fmax(far, log(f->crowd / fmax(1, f->m->place.crowd)));
		error = hypot(error, c->reach[i] * far);
	}
	return fmin(expm1(error), ERROR_MOST);
}

/* ---- a rank ---- */

struct stretched {
	const struct foresee_sink *sink;
	double by;
};

static int stretched_call(void *arg, uint32_t point, double time_s, const double *var)
{
	const struct stretched *s = arg;

	return s->sink->call(s->sink->arg, point, time_s * s->by, var);
}

int foresee_rank(struct foresee *f, uint32_t rank, const struct foresee_sink *sink, double *wall_s, uint64_t *calls,
		 struct errbuf *err)
{
	struct stretched stretched = {sink, f->stretch};
	struct model_sink s = {stretched_call, &stretched};
	struct model_limits limits = {.events = FORESEE_EVENTS_MAX};
	struct model_result r = {0};

	prepare(f, rank);
	for (uint32_t i = 0; i < f->m->n_inputs; i++)
		if (f->feature[f->feature_of[i]].op != FEATURE_VAR && f->value[f->feature_of[i]] == FEATURE_NONE)
			return err_set(err, "%s has no value for rank %u here: a variable is no whole number, or below zero",
				       f->m->input[i].name, rank);
	if (model_interpret(f->m, f->input, 1, &limits, sink ? &s : NULL, &r, err) < 0)
		return err_prefix(err, "rank %u", rank);
	if (wall_s)
		*wall_s = r.time_s * f->stretch;
	if (calls)
		*calls = r.events;
	return 0;
}

/* Seconds of the longest rank, and of all together. */
static int all_ranks(struct foresee *f, double *longest, double *all, struct errbuf *err)
{
	double own;

	*longest = *all = 0;
	for (uint32_t r = 0; r < f->ranks; r++) {
		if (foresee_rank(f, r, NULL, &own, NULL, err) < 0)
			return -1;
		*longest = fmax(*longest, own);
		*all += own;
	}
	return 0;
}

/* Least walltime: the walltime with a processor for each rank, if crowded calls have times of their own. Fewer
 * processors never make a run shorter. The learnt times of crowded calls leave out the time in which ranks wait for
 * each other in vain. */
static int least_wall(struct foresee *f, double *wall_s, struct errbuf *err)
{
	double crowd = f->crowd, all;
	bool apart = false;
	int rc;

	*wall_s = 0;
	for (uint32_t i = 0; i < f->m->n_inputs; i++)
		apart |= f->feature[f->feature_of[i]].op == FEATURE_CROWDED;
	if (!apart)
		return 0;
	f->crowd = 1;
	rc = all_ranks(f, wall_s, &all, err);
	f->crowd = crowd;
	return rc;
}

int foresee_place(struct foresee *f, uint32_t processors, struct errbuf *err)
{
	double longest, all, least;

	f->processors = processors ? processors : f->m->place.processors;
	f->stretch = 1;
	f->crowd = f->processors && f->ranks > f->processors ? (double)f->ranks / f->processors : 1;
	if (f->crowd <= 1)
		return 0;
	if (least_wall(f, &least, err) < 0 || all_ranks(f, &longest, &all, err) < 0)
		return -1;
	if (longest > 0)
		f->stretch = fmax(least, run_place_wall(f->crowd, f->ranks, longest, all)) / longest;
	return 0;
}

const char *foresee_crowded(const struct foresee *f, char *buf, size_t size)
{
	const struct model_place *p = &f->m->place;

	if (f->crowd > 1 && (!p->known || p->crowd <= 1))
		snprintf(buf, size, "there are %u ranks for %u processors, and no run had more ranks than processors", f->ranks,
			 f->processors);
	else if (f->crowd > FORESEE_CROWDED * p->crowd)
		snprintf(buf, size, "there are %u ranks for %u processors, and the runs had %.3g for one at most", f->ranks,
			 f->processors, p->crowd);
	else if (!f->processors && p->known && p->crowd > 1)
		snprintf(buf, size, "the runs had different numbers of processors, and some more ranks than these: say by --cpus how many "
			 "there are");
	else
		return NULL;
	return buf;
}

uint32_t foresee_values(const struct model *m, uint32_t point, uint32_t var[CALL_VALUES])
{
	const char *s = strrchr(m->point[point], '(');
	uint32_t n = 0;

	while (s && *s && *s != ')' && n < CALL_VALUES) {
		size_t len = strcspn(++s, ",)");
		uint32_t v = 0;

		while (v < m->n_vars && (strncmp(m->var[v].name, s, len) || m->var[v].name[len]))
			v++;
		if (v == m->n_vars)
			break;
		var[n++] = v;
		s += len;
	}
	return n;
}
