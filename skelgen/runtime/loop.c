/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loops of which a sample runs. Iteration 0 is the warm-up and stands for itself. The n others stand for the N - 1 that are
 * left. They lie in windows, are the first ones, or are spread evenly. skel.c.data places the windows, and sampled.c turns
 * their times into the loop's time. When the loop ends, the virtual clock is put forward by the time of the iterations left out: without
 * windows (N - 1) / n times what ran, less what ran. All is measured on the virtual clock, so that a loop inside a
 * loop is accounted for recursively. Without windows,
 *
 * the spread of up to MAX_BATCH batch means gives the half-width of a 95 % interval (Student's t, with the correction
 * 1 - n / (N - 1) for a finite population). Half-widths of successive loops add in quadrature; a loop's own batches
 * hold the variation of the loops inside it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "skelgen/runtime/compute.h"
#include "skelgen/runtime/data.h"
#include "skelgen/runtime/runtime.h"
#include "skelgen/runtime/sampled.h"

#define MAX_BATCH 10

struct skel_loop_state *skel_loops;
uint64_t skel_position;

static double bonus_ns;  /* virtual minus real time */
static struct compute_spent bonus; /* the same of the time in blocks */
static struct compute_spent spent_before; /* when the skeleton's clock started */
static double width2_ns2;
static int n_loops;
static int inside;                 /* sampled loops that are under way */
static double first_ns, last_ns;   /* virtual: the first sampled loop's begin, the last one's end */

/* A loop that runs in windows, and the visit that is under way. */
struct skel_sampled {
	struct sampled_plan plan;
	uint64_t total, run;
	double sum[SAMPLED_MAX];
	double *each;              /* time of every iteration; only where spikes are accounted for */
	uint64_t n_each;
	int at;                    /* window */
	uint64_t begun;            /* iterations of it */
	double mark_ns, last_ns;   /* the window's begin, the iteration's */
};

void skel_spent_virtual(struct compute_spent *out)
{
	compute_spent(out);
	out->took_ns += bonus.took_ns;
	out->asked_ns += bonus.asked_ns;
	out->short_ns += bonus.short_ns;
}

static const double student95[MAX_BATCH] = {0, 12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262};

static double as_double(uint64_t w)
{
	double v;

	memcpy(&v, &w, sizeof v);
	return v;
}

static struct skel_sampled *sampled_open(const uint64_t *w, uint64_t n_window)
{
	struct skel_sampled *s = skel_alloc(1, sizeof *s);

	s->plan.n = (int)n_window;
	s->plan.trend = w[DATA_LOOP_TREND] != 0;
	s->plan.traced_ns = as_double(w[DATA_LOOP_TRACED]);
	s->plan.spikes = (struct sampled_spikes){w[DATA_LOOP_KNOWN], as_double(w[DATA_LOOP_RATE]),
						 as_double(w[DATA_LOOP_EXCESS]), as_double(w[DATA_LOOP_SQUARE])};
	s->total = 1;
	for (uint64_t i = 0; i < n_window; i++) {
		const uint64_t *v = w + DATA_LOOP + i * DATA_WINDOW;

		if (v[1] > 1 || v[2] == 0 || v[2] > UINT32_MAX)
			skel_fail("skel.c.data is damaged: generate the skeleton again");
		s->plan.w[i] = (struct sampled_window){v[0], (uint32_t)v[1], (uint32_t)v[2], v[3], (uint32_t)v[4], as_double(v[5])};
		s->total += v[3];
	}
	s->run = sampled_run(&s->plan);
	if (s->plan.spikes.known > 0)
		s->each = skel_alloc(s->run, sizeof *s->each);
	return s;
}

/* The windows of loops below n. */
static void windows_open(int n)
{
	uint64_t left, count;
	const uint64_t *w = skel_data_windows(&left);

	if (w == NULL)
		return;
	count = *w++;
	left--;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t n_window = left >= DATA_LOOP ? w[DATA_LOOP_WINDOWS] : 0, words = DATA_LOOP + n_window * DATA_WINDOW;

		if (n_window == 0 || n_window > SAMPLED_MAX || words > left || w[0] >= (uint64_t)n ||
		    skel_loops[w[0]].sampled != NULL)
			skel_fail("skel.c.data is damaged: generate the skeleton again");
		skel_loops[w[0]].sampled = sampled_open(w, n_window);
		w += words;
		left -= words;
	}
}

void skel_loops_open(int n)
{
	skel_loops = skel_alloc((size_t)n + 1, sizeof *skel_loops);
	n_loops = n;
	skel_position = 0;
	bonus_ns = 0;
	width2_ns2 = 0;
	inside = 0;
	first_ns = last_ns = 0;
	windows_open(n);
}

void skel_loops_close(void)
{
	for (int i = 0; i < n_loops; i++)
		if (skel_loops[i].sampled != NULL) {
			free(skel_loops[i].sampled->each);
			free(skel_loops[i].sampled);
		}
	free(skel_loops);
	skel_loops = NULL;
}

double skel_virtual_at(double clock_ns)
{
	return clock_ns + bonus_ns;
}

double skel_virtual_ns(void)
{
	return skel_virtual_at(skel_clock_ns());
}

void skel_virtual_forward(double ns, double half_ns)
{
	bonus_ns += ns;
	width2_ns2 += half_ns * half_ns;
}

void skel_spent_forward(double took_ns, double asked_ns)
{
	bonus.took_ns += took_ns;
	bonus.asked_ns += asked_ns;
}

void skel_spent_start(void)
{
	compute_spent(&spent_before);
	bonus = (struct compute_spent){0, 0, 0};
}

void skel_virtual_look(struct skel_virtual *now)
{
	skel_spent_virtual(&now->spent);
	now->width2_ns2 = width2_ns2;
	now->ns = skel_virtual_ns();
}

void skel_virtual_set(const struct skel_virtual *now)
{
	struct skel_virtual before;

	skel_virtual_look(&before);
	bonus_ns += now->ns - before.ns;
	bonus.took_ns += now->spent.took_ns - before.spent.took_ns;
	bonus.asked_ns += now->spent.asked_ns - before.spent.asked_ns;
	bonus.short_ns += now->spent.short_ns - before.spent.short_ns;
	width2_ns2 = now->width2_ns2;
}

double skel_computed_ns(void)
{
	struct compute_spent s;

	skel_spent_virtual(&s);
	s.took_ns -= spent_before.took_ns;
	s.asked_ns -= spent_before.asked_ns;
	s.short_ns -= spent_before.short_ns;
	return s.took_ns + s.short_ns * (s.asked_ns > 0 ? s.took_ns / s.asked_ns : 1);
}

void skel_loops_phases(double *first, double *last)
{
	*first = first_ns;
	*last = last_ns;
}

int skel_loop_windows(const struct skel_loop_state *l)
{
	return l->sampled != NULL && !l->consecutive ? l->sampled->plan.n : 0;
}

double skel_width2_ns2(void)
{
	return width2_ns2;
}

void skel_loop(int id, uint64_t total, uint64_t run)
{
	struct skel_loop_state *l = &skel_loops[id];

	if (run < 2 || run > total)
		run = total;
	l->total = total;
	l->run = run;
	l->next = 0;
	l->end = total;
	l->saved_base = skel_position;
	l->base = skel_position * total;
	l->consecutive = 0;
	l->visits++;
	if (run != total) {
		uint64_t n = run - 1;

		l->n_batch = n >= 4 ? (int)(n / 2 < MAX_BATCH ? n / 2 : MAX_BATCH) : (int)n;
		l->batch = 0;
		l->batch_sum_ns = l->batch_sumsq_ns = 0;
		l->width2_before = width2_ns2;
		if (inside++ == 0 && first_ns == 0)
			first_ns = skel_virtual_ns();
		if (l->sampled != NULL && (l->sampled->total != total || l->sampled->run != run))
			skel_fail("skel.c.data does not belong to this skeleton: generate both again");
	}
}

void skel_loop_first(int id, uint64_t total, uint64_t run)
{
	skel_loop(id, total, run);
	skel_loops[id].consecutive = 1;
}

/* The warm-up is over: the window begins. */
static void warm_end(struct skel_loop_state *l)
{
	struct compute_spent s;

	skel_spent_virtual(&s);
	l->warm_took_ns = s.took_ns;
	l->warm_asked_ns = s.asked_ns;
	l->warm_short_ns = s.short_ns;
	l->warm_end_ns = skel_virtual_ns();
}

/* Iterations of batches 0 .. b - 1, of n in all. */
static uint64_t batch_bound(const struct skel_loop_state *l, int b)
{
	return (uint64_t)b * (l->run - 1) / (uint64_t)l->n_batch;
}

static void batch_close(struct skel_loop_state *l, double now)
{
	uint64_t k = batch_bound(l, l->batch + 1) - batch_bound(l, l->batch);
	double mean = (now - l->batch_start_ns) / (double)k;

	l->batch_sum_ns += mean;
	l->batch_sumsq_ns += mean * mean;
	l->batch_start_ns = now;
	l->batch++;
}

/* The loop's window is over, and stands for `virtual`; so does what was spent in it. */
static void loop_account(struct skel_loop_state *l, double window, double virtual)
{
	double more = window > 0 ? virtual / window - 1 : 0;
	struct compute_spent s;

	skel_spent_virtual(&s);
	bonus.took_ns += more * (s.took_ns - l->warm_took_ns);
	bonus.asked_ns += more * (s.asked_ns - l->warm_asked_ns);
	bonus.short_ns += more * (s.short_ns - l->warm_short_ns);
	bonus_ns += virtual - window;
	l->window_ns += window;
	l->virtual_ns += virtual;
	l->iterations_run += l->run;
	skel_position = l->saved_base;
	if (--inside == 0)
		last_ns = skel_virtual_ns();
}

static void loop_close(struct skel_loop_state *l, double now)
{
	double left = (double)(l->total - 1), n = (double)(l->run - 1), b = l->n_batch;
	double window = now - l->warm_end_ns, virtual = window * left / n;

	if (l->n_batch >= 2) {
		double mean = l->batch_sum_ns / b;
		double var = (l->batch_sumsq_ns / b - mean * mean) * b / (b - 1);
		double half = var > 0 ? student95[l->n_batch - 1] * left * sqrt(var / b * (1 - n / left)) : 0;

		width2_ns2 = l->width2_before + half * half;
		l->half2_ns2 += half * half;
	}
	loop_account(l, window, virtual);
}

static void windows_close(struct skel_loop_state *l, double now)
{
	struct skel_sampled *s = l->sampled;
	struct sampled_result r = sampled_estimate(&s->plan, s->sum, s->each);

	width2_ns2 = l->width2_before + r.half_ns * r.half_ns;
	l->half2_ns2 += r.half_ns * r.half_ns;
	l->spikes_ns += r.spikes_ns;
	loop_account(l, now - l->warm_end_ns, r.total_ns);
}

/* Iteration that executed iteration j >= 1 stands for. */
static uint64_t spread_iteration(const struct skel_loop_state *l, uint64_t j)
{
	unsigned __int128 left = l->total - 1, n = l->run - 1;

	if (l->consecutive)
		return j;
	return 1 + (uint64_t)((2 * (unsigned __int128)(j - 1) + 1) * left / (2 * n));
}

/* An iteration of a window has ended: 1 when it was the last one of all. */
static int window_step(struct skel_loop_state *l)
{
	struct skel_sampled *s = l->sampled;
	const struct sampled_window *w = &s->plan.w[s->at];
	double now;

	if (s->begun != w->warm && s->begun != w->warm + w->run && s->each == NULL)
		return 0;
	now = skel_virtual_ns();
	if (s->begun == w->warm)
		s->mark_ns = now;
	else if (s->each != NULL)
		s->each[s->n_each++] = now - s->last_ns;
	s->last_ns = now;
	if (s->begun < w->warm + w->run)
		return 0;
	s->sum[s->at++] = now - s->mark_ns;
	s->begun = 0;
	s->mark_ns = now;
	if (s->at < s->plan.n)
		return 0;
	windows_close(l, now);
	return 1;
}

static int next_in_windows(struct skel_loop_state *l)
{
	struct skel_sampled *s = l->sampled;

	if (l->next == 0) {
		skel_position = l->base;
		l->next = 1;
		return 1;
	}
	if (l->next == 1) {
		warm_end(l);
		s->mark_ns = s->last_ns = l->warm_end_ns;
		s->at = 0;
		s->begun = s->n_each = 0;
	} else if (window_step(l)) {
		return 0;
	}
	skel_position = l->base + s->plan.w[s->at].first + s->begun++;
	l->next++;
	return 1;
}

int skel_next_sampled(struct skel_loop_state *l)
{
	uint64_t j = l->next;

	if (l->sampled != NULL && !l->consecutive)
		return next_in_windows(l);

	if (j == 0) {
		skel_position = l->base;
		l->next = 1;
		return l->total > 0;
	}
	if (j == 1) {
		warm_end(l);
		l->batch_start_ns = l->warm_end_ns;
	} else if (j - 1 == batch_bound(l, l->batch + 1)) {
		double now = skel_virtual_ns();

		batch_close(l, now);
		if (j == l->run) {
			loop_close(l, now);
			return 0;
		}
	}
	skel_position = l->base + spread_iteration(l, j);
	l->next++;
	return 1;
}
