/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A scaling model evaluated, as text and in words: see scaling_model.h. The fit is in scaling_fit.c. */
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/append.h"
#include "predictor/estimate/scaling_model.h"

#define SAME_REL    1e-8 /* what writing a number with nine digits may do to it */
#define TIE_REL	    1e-6
/*
 * Beyond the range there may be a kink that no run shows: a full cache, a phase of large inputs. On 6,000 simulated families,
 * with kinks within and beyond the range, 91 % of runs at up to 1.8 times the greatest input lie inside the interval. Without
 * the bounds and margins below, 68 to 80 % did (test_scaling_model: test_kinks). Fewer runs get a prediction: 10 to 17 %, not
 * 38 to 63 %.
 */
#define REACH	    0.5 /* widths of the range of an input, beyond which nothing is said ... */
#define REACH_DOWN  0.5 /* ... nor below this part of the least, nor above the greatest over it */
#define FAR	    2.0 /* an error grows by so many times itself, a width away ... */
#define KINK	    0.5 /* ... and a kink may add this part of the time above the range, or take this part below the range ... */
#define KINK_BACK   0.2 /* ... and on the other side */
#define PRIOR_SIGMA 0.04 /* what is believed of the spread of runs, as of so many inputs */
#define PRIOR_RUNS  2.0
#define FEW	    3.0 /* few inputs flatter the shape that fits them: so much wider, over their number */
#define POWER_MAX   6.0
#define NAME_MAX_LEN 16

/* ---- what it says ---- */

static double term_at(const struct scaling_term *t, const double *vars)
{
	double v = t->c;

	for (unsigned i = 0; i < t->n; i++) {
		double x = vars[t->f[i].var], p = t->f[i].power;

		if (p != 0)
			v *= p == 1 ? x : p == 2 ? x * x : p == -1 ? 1 / x : pow(x, p);
		if (t->f[i].log)
			v *= log2(x);
	}
	return v;
}

double scaling_shape_at(const struct scaling_shape *s, const double *vars)
{
	double sum = 0;

	for (unsigned i = 0; i < s->n; i++)
		sum += term_at(&s->t[i], vars);
	return sum;
}

/* n: the index of the input. Ranks, nodes, CPUs and input bytes by name; numbers of arguments and script by position. */
static const char *input_name(const struct scaling_model *l, unsigned n, char buf[NAME_MAX_LEN])
{
	static const char *const own[IDENTITY_OWN_VARS] = {"ranks", "nodes", "CPUs per rank", "input bytes"};

	if (n < IDENTITY_OWN_VARS)
		return own[n];
	if (l->array && n + 1 == l->n_vars)
		return "array index";
	snprintf(buf, NAME_MAX_LEN, "n%u", n - IDENTITY_OWN_VARS + 1);
	return buf;
}

static bool nearly_equal(double a, double b, double rel)
{
	return fabs(a - b) <= rel * fmax(fabs(a), fabs(b));
}

int scaling_distance(const struct scaling_model *l, const double *vars, struct scaling_beyond *far, struct errbuf *why)
{
	char name[NAME_MAX_LEN];

	*far = (struct scaling_beyond){0, 0};
	for (unsigned i = 0; i < l->n_vars; i++) {
		double lo = l->lo[i], hi = l->hi[i], x = vars[i], width = hi - lo, least = lo - REACH * width, most = hi + REACH * width;

		if (nearly_equal(x, lo, SAME_REL) || nearly_equal(x, hi, SAME_REL) || (x > lo && x < hi))
			continue;
		if (nearly_equal(lo, hi, SAME_REL))
			return err_set(why, "%s was always %.9g, here it is %.9g", input_name(l, i, name), lo, x);
		if (lo > 0) {
			least = fmax(least, lo * REACH_DOWN);
			most = fmin(most, hi / REACH_DOWN);
		}
		if (!(x >= least && x <= most))
			return err_set(why, "%s %.9g is too far from the %.9g to %.9g that ran (%.4g to %.4g is near enough)",
				       input_name(l, i, name), x, lo, hi, least, most);
		far->above = fmax(far->above, (x - hi) / width);
		far->below = fmax(far->below, (lo - x) / width);
	}
	return 0;
}

static int ties_check(const struct scaling_model *l, const double *vars, struct errbuf *why)
{
	for (unsigned i = 0; i < l->n_ties; i++) {
		const struct scaling_tie *t = &l->ties[i];

		char a[NAME_MAX_LEN], b[NAME_MAX_LEN];

		if (!nearly_equal(vars[t->var], t->ratio * vars[t->with], TIE_REL))
			return err_set(why, "%s always was %.4g times %s, here it is not: what either does is not known",
				       input_name(l, t->var, a), t->ratio, input_name(l, t->with, b));
	}
	return 0;
}

int scaling_predict(const struct scaling_model *l, const double *vars, unsigned n_vars, struct estimate *out, struct errbuf *why)
{
	double at[SCALING_SHAPES_MAX], wider, mean = 0, var = 0, half, longer, shorter;
	struct scaling_beyond far;

	if (!l->n_shapes)
		return err_set(why, "there is no model");
	if (n_vars != l->n_vars)
		return l->array ? err_set(why, "it was fitted to tasks of arrays")
				: err_set(why, "it was fitted to runs with %u inputs, this one has %u (a task of an array has one more)",
					  l->n_vars, n_vars);
	if (scaling_distance(l, vars, &far, why) < 0 || ties_check(l, vars, why) < 0)
		return -1;
	wider = 1 + FAR * fmax(far.above, far.below);
	for (unsigned i = 0; i < l->n_shapes; i++) {
		at[i] = scaling_shape_at(&l->s[i], vars);
		if (!isfinite(at[i]) || at[i] <= 0)
			return err_set(why, "the model gives %g s", at[i]);
		mean += l->s[i].weight * at[i];
	}
	for (unsigned i = 0; i < l->n_shapes; i++) {
		double e = l->s[i].error, n = l->points;
		double sq = (n * e * e + PRIOR_RUNS * PRIOR_SIGMA * PRIOR_SIGMA) / (n + PRIOR_RUNS);

		var += l->s[i].weight * (at[i] * at[i] * sq * wider * wider + (at[i] - mean) * (at[i] - mean));
	}
	half = fmax(2 * sqrt(var) * (1 + SCALING_FEW / l->points), ESTIMATE_MIN_REL * mean);
	longer = half + mean * fmax(KINK * far.above, KINK_BACK * far.below);
	shorter = half + mean * fmax(KINK * far.below, KINK_BACK * far.above);
	*out = (struct estimate){.mean_s = mean, .lo_s = fmax(0, mean - shorter), .hi_s = mean + longer, .kind = ESTIMATE_MODEL, .n = l->runs};
	if (estimate_check(out, NULL) < 0)
		return err_set(why, "the runs leave open what these inputs do: between %.0f and %.0f s", out->lo_s, out->hi_s);
	return 0;
}

/* ---- text ---- */

unsigned scaling_vars_parse(const char *text, double out[SCALING_VARS_MAX])
{
	unsigned n = 0;
	char *end;

	while (*text && n < SCALING_VARS_MAX) {
		out[n++] = strtod(text, &end);
		if (end == text || (*end && *end != ',') || !isfinite(out[n - 1]))
			return 0;
		text = end + (*end != '\0');
	}
	return *text ? 0 : n;
}

/*
 *
 * law1 RUNS POINTS VARS|  (VARSa: the last is the index of an array)
 * LO:HI,...|VAR=RATIO*WITH,...|WEIGHT/ERROR/C*VAR^POWER*VAR^POWERl+C...,...
 */

static void digits_put(char *out, size_t size, size_t *len, const char *sep, double x, int digits)
{
	char number[32];

	snprintf(number, sizeof(number), "%.*g", digits, x);
	append_text(out, size, len, sep);
	append_text(out, size, len, number);
}

/* As many as identity_vars_format writes. */
static void number_put(char *out, size_t size, size_t *len, const char *sep, double x)
{
	digits_put(out, size, len, sep, x, 9);
}

static void term_format(const struct scaling_term *t, char *out, size_t size, size_t *len, const char *sep)
{
	digits_put(out, size, len, sep, t->c, 7);
	for (unsigned i = 0; i < t->n; i++) {
		number_put(out, size, len, "*", t->f[i].var);
		digits_put(out, size, len, "^", t->f[i].power, 7);
		append_text(out, size, len, t->f[i].log ? "l" : "");
	}
}

void scaling_format(const struct scaling_model *l, char *out, size_t size)
{
	size_t len = 0;

	out[0] = '\0';
	append_text(out, size, &len, "law1");
	number_put(out, size, &len, " ", l->runs);
	number_put(out, size, &len, " ", l->points);
	number_put(out, size, &len, " ", l->n_vars);
	append_text(out, size, &len, l->array ? "a" : "");
	for (unsigned i = 0; i < l->n_vars; i++) {
		number_put(out, size, &len, i ? "," : "|", l->lo[i]);
		number_put(out, size, &len, ":", l->hi[i]);
	}
	append_text(out, size, &len, "|");
	for (unsigned i = 0; i < l->n_ties; i++) {
		number_put(out, size, &len, i ? "," : "", l->ties[i].var);
		number_put(out, size, &len, "=", l->ties[i].ratio);
		number_put(out, size, &len, "*", l->ties[i].with);
	}
	for (unsigned i = 0; i < l->n_shapes; i++) {
		digits_put(out, size, &len, i ? "," : "|", l->s[i].weight, 5);
		digits_put(out, size, &len, "/", l->s[i].error, 4);
		for (unsigned k = 0; k < l->s[i].n; k++)
			term_format(&l->s[i].t[k], out, size, &len, k ? "+" : "/");
	}
	if (len >= size || !l->n_shapes)
		out[0] = '\0';
}

/* A quick strtod for numbers as term_format writes them, because submissions wait for it. Returns 0 for any other text. */
static size_t plain_number(const char *text, double *out)
{
	static const double scale[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
	size_t n = 0, point = 0, digits = 0;
	uint64_t value = 0;

	for (; (text[n] >= '0' && text[n] <= '9') || (text[n] == '.' && !point && n); n++) {
		if (text[n] == '.') {
			point = n;
			continue;
		}
		value = 10 * value + (uint64_t)(text[n] - '0');
		if (++digits > 15)
			return 0;
	}
	if (!digits || text[n] == 'e' || text[n] == 'E' || text[n] == 'x' || text[n] == 'X' || text[n] == '.')
		return 0;
	*out = (double)value / scale[point ? n - point - 1 : 0]; /* both exact: rounded once */
	return n;
}

/* A cursor over the text; at NULL: something was wrong. */
static double number_parse(const char **at)
{
	double x = 0;
	size_t plain = *at ? plain_number(*at, &x) : 0;
	char *end = NULL;

	if (plain) {
		*at += plain;
		return x;
	}
	x = *at ? strtod(*at, &end) : 0;

	/* strtod also takes blanks, names and hexadecimal numbers */
	if (!*at || !strchr("-0123456789", **at) || !**at || end == *at || !isfinite(x) || memchr(*at, 'x', (size_t)(end - *at)) ||
	    memchr(*at, 'X', (size_t)(end - *at)))
		*at = NULL;
	else
		*at = end;
	return x;
}

static unsigned count_parse(const char **at, unsigned max)
{
	double x = number_parse(at);

	if (*at && !(x >= 0 && x <= max && x == floor(x)))
		*at = NULL;
	return *at ? (unsigned)x : 0;
}

static bool char_skip(const char **at, char c)
{
	if (!*at || **at != c)
		return false;
	(*at)++;
	return true;
}

static void char_expect(const char **at, char c)
{
	if (!char_skip(at, c))
		*at = NULL;
}

static void vars_parse(const char **at, struct scaling_model *l)
{
	for (unsigned i = 0; i < l->n_vars; i++) {
		char_expect(at, i ? ',' : '|');
		l->lo[i] = number_parse(at);
		char_expect(at, ':');
		l->hi[i] = number_parse(at);
		if (!(l->lo[i] <= l->hi[i]))
			*at = NULL;
	}
}

static void ties_parse(const char **at, struct scaling_model *l)
{
	char_expect(at, '|');
	while (*at && **at != '|') {
		struct scaling_tie *t = &l->ties[l->n_ties];

		if (l->n_ties)
			char_expect(at, ',');
		if (l->n_ties == SCALING_TIES_MAX) {
			*at = NULL;
			return;
		}
		t->var = count_parse(at, l->n_vars - 1);
		char_expect(at, '=');
		t->ratio = number_parse(at);
		char_expect(at, '*');
		t->with = count_parse(at, l->n_vars - 1);
		l->n_ties++;
	}
}

static void term_parse(const char **at, unsigned n_vars, struct scaling_term *t)
{
	t->c = number_parse(at);
	t->n = 0;
	if (!(t->c > 0))
		*at = NULL;
	while (*at && char_skip(at, '*')) {
		struct scaling_factor *f = &t->f[t->n];

		if (t->n == SCALING_FACTORS_MAX) {
			*at = NULL;
			return;
		}
		f->var = count_parse(at, n_vars - 1);
		char_expect(at, '^');
		f->power = number_parse(at);
		f->log = char_skip(at, 'l');
		if (!(fabs(f->power) <= POWER_MAX))
			*at = NULL;
		t->n++;
	}
}

static void shapes_parse(const char **at, struct scaling_model *l, double *weight)
{
	do {
		struct scaling_shape *s = &l->s[l->n_shapes];

		char_expect(at, l->n_shapes ? ',' : '|');
		if (!*at || l->n_shapes == SCALING_SHAPES_MAX) {
			*at = NULL;
			return;
		}
		s->weight = number_parse(at);
		char_expect(at, '/');
		s->error = number_parse(at);
		if (!(s->weight >= 0 && s->error >= 0))
			*at = NULL;
		*weight += s->weight;
		do {
			if (s->n == SCALING_TERMS_MAX) {
				*at = NULL;
				return;
			}
			char_expect(at, s->n ? '+' : '/');
			term_parse(at, l->n_vars, &s->t[s->n++]);
		} while (*at && **at == '+');
		l->n_shapes++;
	} while (*at && **at == ',');
}

int scaling_parse(const char *text, struct scaling_model *out, struct errbuf *why)
{
	const char *at = text;
	double weight = 0;

	memset(out, 0, sizeof(*out));
	if (strlen(text) >= SCALING_TEXT_MAX || strncmp(text, "law1 ", 5))
		goto bad;
	at += 5;
	out->runs = count_parse(&at, SCALING_RUNS_MAX);
	char_expect(&at, ' ');
	out->points = count_parse(&at, SCALING_POINTS_MAX);
	char_expect(&at, ' ');
	out->n_vars = count_parse(&at, SCALING_VARS_MAX);
	out->array = char_skip(&at, 'a');
	if (!at || out->points < SCALING_POINTS_MIN || out->runs < out->points || !out->n_vars)
		goto bad;
	vars_parse(&at, out);
	ties_parse(&at, out);
	shapes_parse(&at, out, &weight);
	if (at && !*at && fabs(weight - 1) < 1e-3)
		return 0;
bad:
	memset(out, 0, sizeof(*out));
	return err_set(why, "not a model over inputs: %.40s", text);
}

/* ---- words ---- */

static void words_append(char *out, size_t size, size_t *len, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

static void words_append(char *out, size_t size, size_t *len, const char *fmt, ...)
{
	char part[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(part, sizeof(part), fmt, ap);
	va_end(ap);
	append_text(out, size, len, part);
}

static void factor_words(const struct scaling_model *l, const struct scaling_factor *f, char *out, size_t size, size_t *len)
{
	char buf[NAME_MAX_LEN];
	const char *name = input_name(l, f->var, buf);
	double p = fabs(f->power);

	if (f->power != 0)
		words_append(out, size, len, f->power < 0 ? " / %s" : " * %s", name);
	if (p != 0 && p != 1)
		words_append(out, size, len, "^%.3g", p);
	if (f->log)
		words_append(out, size, len, " * log2(%s)", name);
}

char *scaling_words(const struct scaling_model *l, char *out, size_t size)
{
	const struct scaling_shape *s = &l->s[0];
	size_t len = 0;

	out[0] = '\0';
	for (unsigned i = 0; l->n_shapes && i < s->n; i++) {
		words_append(out, size, &len, "%s%.3g s", i ? " + " : "", s->t[i].c);
		for (unsigned k = 0; k < s->t[i].n; k++)
			factor_words(l, &s->t[i].f[k], out, size, &len);
	}
	return out;
}
