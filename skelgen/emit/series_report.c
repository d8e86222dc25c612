/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a loop is sampled, in words: see series_report.h. */
#include "skelgen/emit/series_report.h"

#include <math.h>

static void put_windows(const struct sampled_plan *w, struct text *out)
{
	uint32_t least = w->w[0].run, most = w->w[0].run, warm = 0, segments = 1;

	for (int i = 0; i < w->n; i++) {
		least = w->w[i].run < least ? w->w[i].run : least;
		most = w->w[i].run > most ? w->w[i].run : most;
		warm += w->w[i].warm;
		segments += i > 0 && w->w[i].segment != w->w[i - 1].segment;
	}
	text_put(out, "    in %d windows of ", w->n);
	if (least == most)
		text_put(out, "%u", most);
	else
		text_put(out, "%u to %u", least, most);
	text_put(out, " iteration%s%s", most == 1 ? "" : "s", warm > 0 ? " after one to warm up" : "");
	if (segments > 1)
		text_put(out, ", over %u segments", segments);
	text_put(out, "\n");
}

static void put_segments(const struct series_stats *s, struct text *out)
{
	if (s->n_segment < 2)
		return;
	if (s->drifts) {
		text_put(out, "    iterations become %s on the way: %+.1f %% from beginning to end\n",
			 s->drift > 0 ? "longer" : "shorter", 100 * s->drift);
		return;
	}
	text_put(out, "    iterations change at ");
	for (uint32_t k = 1; k < s->n_segment; k++)
		text_put(out, "%s%llu", k > 1 ? ", " : "", (unsigned long long)(s->segment[k].first * s->group));
	text_put(out, ": means");
	for (uint32_t k = 0; k < s->n_segment; k++)
		text_put(out, "%s %.3g", k > 0 ? "," : "", s->segment[k].mean * 1e-3);
	text_put(out, " us\n");
}

static void put_spikes(const struct skel_loop_series *l, bool follows, struct text *out)
{
	const struct series_stats *s = &l->stats;

	if (s->n_spike == 0)
		return;
	text_put(out, "    %llu of %llu iterations are rare long ones, %.2g %% of its time%s\n",
		 (unsigned long long)s->n_spike, (unsigned long long)s->n,
		 100 * s->spike_excess * s->usual / (s->mean * (double)s->n),
		 (follows ? l->spikes_in_calls : l->spikes).known > 0 ? ": added by their rate and size" : ": the compute blocks hold them");
}

void series_report(const struct skel_plan *plan, uint32_t node, bool follows, struct text *out)
{
	const struct skel_loop_series *l = skel_series_of(plan->series, node);
	const struct skel_cut *c = &plan->cut[node];
	double expected = skel_plan_expected(plan, node);

	if (c->run == c->total || c->windows == NULL)
		return;
	put_windows(c->windows, out);
	if (l == NULL || l->stats.n < 2 || !(l->stats.usual > 0))
		return;
	if (l->visits == 1 && l->placed)
		put_segments(&l->stats, out);
	text_put(out, "    traced iterations of %.4g us vary by %.2g %%, autocorrelation %.2f", l->stats.usual * 1e-3,
		 100 * l->stats.deviation * sqrt((double)l->stats.group) / l->stats.usual, l->stats.lag1);
	if (l->stats.period > 0)
		text_put(out, ", with a period of %llu", (unsigned long long)(l->stats.period * l->stats.group));
	text_put(out, "\n");
	put_spikes(l, follows, out);
	text_put(out, "    expected half-width of the 95 %% interval: %.2g %%\n", 100 * expected);
}
