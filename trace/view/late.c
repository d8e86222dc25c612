/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A blocking receive waits as long as its message is not sent: that part of its call is shown as waiting. See pack.h. */
#include "trace/view/pack.h"

static int none(const struct timeline_message *m, void *arg)
{
	(void)m;
	(void)arg;
	return 1;
}

int view_late_build(struct view *v, struct errbuf *err)
{
	return timeline_messages(v->in->timeline, 0, 1, none, NULL, err) < 0 ? -1 : 0;
}

/* The first that ends after t. They do not overlap but for threads, whose calls do. */
static uint32_t first_after(const struct timeline_late *l, uint32_t n, uint64_t t)
{
	uint32_t lo = 0, hi = n;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (l[mid].t1_ns > t)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

uint64_t view_late_of(const struct view *v, const struct timeline_span *s)
{
	uint32_t n;
	const struct timeline_late *l = timeline_late(v->in->timeline, s->rank, &n);
	uint32_t i = first_after(l, n, s->t0_ns);

	if (s->sym == UINT32_MAX || i == n || l[i].t0_ns != s->t0_ns || l[i].state != s->state || l[i].t1_ns > s->t1_ns)
		return 0;
	return l[i].t1_ns - l[i].t0_ns;
}

void view_late_totals(const struct view *v, uint32_t rank, double seconds[TSTATE_N])
{
	uint32_t n;
	const struct timeline_late *l = timeline_late(v->in->timeline, rank, &n);

	for (uint32_t i = 0; i < n; i++) {
		double s = (double)(l[i].t1_ns - l[i].t0_ns) * 1e-9;

		s = s < seconds[l[i].state] ? s : seconds[l[i].state];
		seconds[l[i].state] -= s;
		seconds[TSTATE_WAITING] += s;
	}
}

void view_late_levels(const struct view *v, uint32_t rank, uint64_t t0, uint64_t t1, uint32_t n, float (*share)[TSTATE_N])
{
	double width = (double)(t1 - t0) / n;
	uint32_t n_late;
	const struct timeline_late *l = timeline_late(v->in->timeline, rank, &n_late);

	for (uint32_t i = first_after(l, n_late, t0); i < n_late && l[i].t0_ns < t1; i++) {
		double a = l[i].t0_ns > t0 ? (double)(l[i].t0_ns - t0) : 0, b = (double)((l[i].t1_ns < t1 ? l[i].t1_ns : t1) - t0);

		for (uint32_t k = (uint32_t)(a / width); k < n && k * width < b; k++) {
			double from = a > k * width ? a : k * width, to = b < (k + 1) * width ? b : (k + 1) * width;
			float s = to > from ? (float)((to - from) / width) : 0;

			s = s < share[k][l[i].state] ? s : share[k][l[i].state];
			share[k][l[i].state] -= s;
			share[k][TSTATE_WAITING] += s;
		}
	}
}
