/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many iterations of a loop are sampled, and where: see series.h. */
#include <math.h>
#include <string.h>

#include "skelgen/timing/series.h"

#define LEAST_WINDOWS  5
#define GOOD_WINDOWS   10  /* fewer make wide intervals: rather that many short ones, */
#define SHORT_WINDOW   4   /* no shorter than this */
#define MOST_WINDOWS   20
#define LENGTH         8   /* of a window with its warm-up, about */
#define LENGTH_ALIKE   4   /* where neighbours are so alike that more of them tell little */
#define ALIKE          5.0 /* long-run variance over variance, from which on they are */
#define LEAST_WARM     4   /* shorter windows have no warm-up of their own */
#define LEAST_SPREAD   0.25 /* of the mean long-run deviation: no segment counts as steadier */

/* A run of iterations that windows shall stand for. */
struct stretch {
	uint64_t first, n;
	double mean, spread;
	uint32_t windows;
};

uint64_t series_wanted(const struct series_stats *s, uint64_t total, double precision)
{
	double v, n;

	if (s == NULL || s->n < 2 || !(s->usual > 0) || !(precision > 0))
		return total;
	v = s->long_run * s->long_run * (double)s->group / (s->usual * s->usual);
	n = v * 1.96 * 1.96 / (precision * precision);
	n = n / (1 + n / (double)total);
	return n < (double)total ? (uint64_t)ceil(n) : total;
}

/* Variance of the mean of L neighbouring iterations, over that of one, for first-order autocorrelation. */
static double mean_factor(double phi, double length)
{
	phi = fmin(fmax(phi, 0), 0.999);
	return ((1 + phi) / (1 - phi) - 2 * phi * (1 - pow(phi, length)) / (length * (1 - phi) * (1 - phi))) / length;
}

double series_expected(const struct series_stats *s, const struct sampled_plan *p)
{
	double var = 0, stands = 0, run = 0, v, n_segment = 1, df;

	if (s == NULL || s->n < 2 || !(s->usual > 0) || p->n == 0)
		return 0;
	v = s->deviation * s->deviation * (double)s->group / (s->usual * s->usual);
	for (int i = 0; i < p->n; i++) {
		double w = (double)p->w[i].stands;

		var += w * w * v * mean_factor(s->lag1, p->w[i].run) * (1 - p->w[i].run / w);
		stands += w;
		run += p->w[i].run;
		n_segment += i > 0 && p->w[i].segment != p->w[i - 1].segment;
	}
	df = fmax(1, 2.0 / 3 * (p->n - n_segment));
	v = sampled_student95(df);
	var *= v * v;
	if (p->spikes.known > 0)
		var += 1.96 * 1.96 * stands * (1 + stands / ((double)p->spikes.known + run)) * p->spikes.square /
		       (double)p->spikes.known;
	return sqrt(fmax(0, var)) / stands;
}

/* ---- where ---- */

/* The segments in iterations 1 .. total - 1, at most `most` of them: neighbours that differ least become one. */
static uint32_t stretches(const struct series_stats *s, uint64_t total, bool own, uint32_t most, struct stretch *out)
{
	uint32_t n = own && s->n_segment > 0 ? s->n_segment : 1;

	for (uint32_t k = 0; k < n; k++) {
		const struct series_segment *g = own ? &s->segment[k] : NULL;
		uint64_t first = k > 0 ? g->first * s->group : 1;
		uint64_t end = k + 1 < n ? s->segment[k + 1].first * s->group : total;

		out[k] = (struct stretch){first, end - first, own ? g->mean : 0, own ? g->long_run : 0, 0};
	}
	while (n > 1 && n > most) {
		uint32_t k = 0;
		double w;

		for (uint32_t i = 1; i + 1 < n; i++)
			if (fabs(out[i + 1].mean - out[i].mean) < fabs(out[k + 1].mean - out[k].mean))
				k = i;
		w = (double)out[k].n / (double)(out[k].n + out[k + 1].n);
		out[k].mean = w * out[k].mean + (1 - w) * out[k + 1].mean;
		out[k].spread = fmax(out[k].spread, out[k + 1].spread);
		out[k].n += out[k + 1].n;
		memmove(&out[k + 1], &out[k + 2], (n - k - 2) * sizeof *out);
		n--;
	}
	return n;
}

/* Share W windows out: in proportion to length times spread (Neyman), two at least where there are enough. */
static void share_out(struct stretch *g, uint32_t n, uint32_t windows)
{
	double weight[SERIES_SEGMENTS], mean = 0, all = 0;
	uint32_t least = windows >= 2 * n ? 2 : 1, given = 0;

	for (uint32_t k = 0; k < n; k++) {
		mean += (double)g[k].n * g[k].spread;
		all += (double)g[k].n;
	}
	for (uint32_t k = 0; k < n; k++) {
		weight[k] = (double)g[k].n * (mean > 0 ? fmax(g[k].spread, LEAST_SPREAD * mean / all) : 1);
		g[k].windows = least;
		given += least;
	}
	for (; given < windows; given++) {
		uint32_t best = 0;

		for (uint32_t k = 1; k < n; k++)
			if (weight[k] / g[k].windows > weight[best] / g[best].windows)
				best = k;
		g[best].windows++;
	}
}

struct layout {
	uint32_t windows, warm;
	uint64_t length, longer; /* counted iterations of a window; the first `longer` windows have one more */
};

static struct layout lay_out(const struct series_stats *s, bool own, uint64_t n)
{
	bool alike = s != NULL && s->deviation > 0 && s->long_run * s->long_run > ALIKE * s->deviation * s->deviation;
	uint64_t period = own && s->group == 1 ? s->period : 0, length = alike ? LENGTH_ALIKE : LENGTH;
	struct layout l = {0, 0, 1, 0};

	if (n < 2 * LEAST_WINDOWS) { /* single iterations, which the loop's first one warms up for */
		l.windows = (uint32_t)n;
		return l;
	}
	if (period > 1) {
		length = (length + period - 1) / period * period;
		if (n / (length + 1) >= 3) {
			l.windows = (uint32_t)fmin(MOST_WINDOWS, (double)(n / (length + 1)));
			l.warm = 1;
			l.length = (n / l.windows - 1) / period * period;
			return l;
		}
	}
	l.windows = (uint32_t)fmin(GOOD_WINDOWS, fmax(LEAST_WINDOWS, (double)(n / SHORT_WINDOW)));
	l.windows = (uint32_t)fmin(MOST_WINDOWS, fmax(l.windows, (double)(n / length)));
	l.warm = n / l.windows > LEAST_WARM;
	l.length = n / l.windows - l.warm;
	l.longer = n % l.windows;
	return l;
}

/* Windows in the middle of equal parts of the stretch. */
static void place(const struct stretch *g, uint32_t segment, const struct layout *l, struct sampled_plan *out)
{
	for (uint32_t k = 0; k < g->windows; k++) {
		uint64_t a = g->first + (uint64_t)((unsigned __int128)g->n * k / g->windows);
		uint64_t b = g->first + (uint64_t)((unsigned __int128)g->n * (k + 1) / g->windows);
		uint64_t length = l->length + ((uint32_t)out->n < l->longer), warm = l->warm;
		struct sampled_window *w = &out->w[out->n];

		if (a == b)
			continue;
		if (length + warm > b - a) {
			warm = 0;
			length = length < b - a ? length : b - a;
		}
		w->first = a + (b - a - length - warm) / 2;
		w->warm = (uint32_t)warm;
		w->run = (uint32_t)length;
		w->stands = b - a;
		w->segment = segment;
		out->n++;
	}
}

void series_windows(const struct series_stats *s, uint64_t total, uint64_t visits, uint64_t run,
		    struct sampled_plan *out)
{
	bool own = s != NULL && s->n > 0 && visits == 1;
	struct stretch g[SERIES_SEGMENTS];
	struct layout l;
	uint32_t n;

	memset(out, 0, sizeof *out);
	if (total < 2 || run < 2)
		return;
	l = lay_out(s, own, run - 1);
	out->trend = own && s->drifts;
	n = stretches(s, total, own, !out->trend && l.windows / 2 > 1 ? l.windows / 2 : 1, g);
	share_out(g, n, l.windows);
	for (uint32_t k = 0; k < n; k++)
		place(&g[k], k, &l, out);
}
