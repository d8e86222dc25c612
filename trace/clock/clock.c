/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The linear clock correction and the two directions of the mapping: see clock.h. Two measured offsets of a rank
 * are interpolated. A rank without a measured offset takes the clock of a measured rank on its host. A rank on a
 * host without any measured offset is placed by the host's clock of day.
 */
#include "trace/clock/clock_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OFFSET_MAX 0x1p61 /* ns: seventy years */
#define DRIFT_MAX  0.01   /* larger drifts are measurement errors */
#define LOCAL_MAX  (1ull << 62)

/* ---- the map ---- */

uint64_t clock_linear(const struct clock_rank *k, uint64_t local_ns)
{
	int64_t t;

	local_ns = local_ns < LOCAL_MAX ? local_ns : LOCAL_MAX;
	t = (int64_t)local_ns + k->shift;
	if (k->drift != 0)
		t += llround(k->drift * ((double)local_ns - (double)k->anchor));
	return t > 0 ? (uint64_t)t : 0;
}

uint64_t clock_rise(const struct clock_rank *k, uint32_t i)
{
	const struct clock_jump *j = &k->jump[i];
	uint64_t before = i ? clock_left(j - 1, j->t) : 0;

	return j->add > before ? j->add - before : 0;
}

uint64_t clock_shift(const struct clock_rank *k, uint64_t t)
{
	uint32_t lo = 0, hi = k->n_jump;
	uint64_t shift = 0;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (k->jump[mid].t <= t)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo)
		shift = clock_left(&k->jump[lo - 1], t);
	if (lo < k->n_jump && t > k->jump[lo].begin) {
		const struct clock_jump *j = &k->jump[lo];

		shift += (uint64_t)((unsigned __int128)clock_rise(k, lo) * (t - j->begin) / (j->t - j->begin));
	}
	return shift;
}

uint64_t trace_clock_ns(const struct trace_clock *c, uint32_t rank, uint64_t local_ns)
{
	const struct clock_rank *k = &c->rank[rank];
	uint64_t t = clock_linear(k, local_ns);

	return k->n_jump ? t + clock_shift(k, t) : t;
}

uint64_t trace_clock_local(const struct trace_clock *c, uint32_t rank, uint64_t t_ns)
{
	const struct clock_rank *k = &c->rank[rank];
	double guess = (double)t_ns - (double)k->shift;
	uint64_t lo = 0, hi, step = 1;

	/* Gallop from an estimate to an interval with T(lo) <= t_ns < T(hi), then bisect. */
	if (trace_clock_ns(c, rank, 0) > t_ns)
		return 0;
	hi = guess > 0 && guess < (double)LOCAL_MAX ? (uint64_t)guess : 0;
	if (trace_clock_ns(c, rank, hi) <= t_ns) {
		for (lo = hi; trace_clock_ns(c, rank, hi) <= t_ns && hi < LOCAL_MAX; step *= 2) {
			lo = hi;
			hi = hi + step;
		}
	} else {
		for (lo = hi; trace_clock_ns(c, rank, lo) > t_ns; step *= 2) {
			hi = lo;
			lo = lo > step ? lo - step : 0;
		}
	}
	while (hi - lo > 1) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (trace_clock_ns(c, rank, mid) <= t_ns)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* ---- the linear correction ---- */

static bool fix_ok(const struct trace_proc *p)
{
	const struct trace_clock_fix *f = &p->clock;

	if (!f->n || f->n > 2 || !(p->ns_per_tick > 0) || !isfinite(p->ns_per_tick))
		return false;
	for (int i = 0; i < f->n; i++)
		if (!(fabs(f->offset_ns[i]) < OFFSET_MAX) || !((double)f->tick[i] * p->ns_per_tick < OFFSET_MAX))
			return false;
	return true;
}

/* Linear correction from measured offsets: rank 0's time = local + shift + drift * (local - anchor). */
static void from_fix(const struct trace_proc *p, struct clock_rank *k)
{
	const struct trace_clock_fix *f = &p->clock;
	double span;

	k->anchor = (uint64_t)((double)f->tick[0] * p->ns_per_tick);
	k->shift = llround(f->offset_ns[0]);
	k->drift = 0;
	if (f->n < 2)
		return;
	span = ((double)f->tick[1] - (double)f->tick[0]) * p->ns_per_tick;
	if (span > 0)
		k->drift = (f->offset_ns[1] - f->offset_ns[0]) / span;
	if (!(fabs(k->drift) < DRIFT_MAX)) {
		k->drift = 0;
		k->shift = llround((f->offset_ns[0] + f->offset_ns[1]) / 2);
	}
}

/* The start of rank 0 in ns, read on the other ranks' clocks of day. */
static uint64_t start_of_root(const struct trace *t)
{
	const struct trace_rank *k = trace_get_rank(t, 0);
	uint64_t least = UINT64_MAX;

	if (k->present)
		return k->defs.proc.start_real_ns;
	for (uint32_t r = 0; r < trace_n_ranks(t); r++) {
		k = trace_get_rank(t, r);
		if (k->present && fix_ok(&k->defs.proc))
			return k->defs.proc.start_real_ns - (uint64_t)llround(k->defs.proc.clock.offset_ns[0]);
		if (k->present && k->defs.proc.start_real_ns < least)
			least = k->defs.proc.start_real_ns;
	}
	return least;
}

struct host {
	const char *name;
	uint32_t rank; /* a rank with a measured offset */
};

static int by_host_name(const void *a, const void *b)
{
	const struct host *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static const char *host_name(const struct trace_rank *k)
{
	return k->defs.proc.host ? k->defs.proc.host : "";
}

static void correct_rank(struct trace_clock *c, const struct trace *t, uint32_t r, const struct host *host,
			 uint32_t n_host, uint64_t root_ns)
{
	const struct trace_rank *k = trace_get_rank(t, r);
	const struct trace_proc *p = &k->defs.proc;
	struct host key = {.name = host_name(k)};
	uint32_t lo = 0, hi = n_host;
	int64_t ahead;

	if (fix_ok(p)) {
		from_fix(p, &c->rank[r]);
		return;
	}
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (strcmp(host[mid].name, key.name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == n_host || strcmp(host[lo].name, key.name)) {
		c->rank[r].shift = (int64_t)(p->start_real_ns - root_ns);
		return;
	}
	/* Local time of this rank = local time of the measured rank on its host + difference of the two starts. */
	from_fix(&trace_get_rank(t, host[lo].rank)->defs.proc, &c->rank[r]);
	ahead = (int64_t)(p->start_real_ns - trace_get_rank(t, host[lo].rank)->defs.proc.start_real_ns);
	c->rank[r].shift += ahead + llround(c->rank[r].drift * (double)ahead);
}

static void bound_error(struct trace_clock *c, const struct trace_clock_fix *f)
{
	for (int i = 0; i < f->n; i++)
		if (f->error_ns[i] > c->error_ns)
			c->error_ns = f->error_ns[i];
}

struct trace_clock *trace_clock_create(const struct trace *t, struct errbuf *err)
{
	struct trace_clock *c = calloc(1, sizeof(*c));
	uint32_t n = trace_n_ranks(t), n_host = 0;
	struct host *host = malloc((n + 1ull) * sizeof(*host));
	int64_t first = INT64_MAX;
	uint64_t root_ns;

	if (c)
		c->rank = calloc(n + 1ull, sizeof(*c->rank));
	if (!c || !c->rank || !host) {
		err_set(err, "no memory for the clocks of %u ranks", n);
		trace_clock_destroy(c);
		free(host);
		return NULL;
	}
	c->n_ranks = n;
	c->error_ns = -1;
	root_ns = start_of_root(t);
	for (uint32_t r = 0; r < n; r++) {
		const struct trace_rank *k = trace_get_rank(t, r);

		if (!k->present || !fix_ok(&k->defs.proc))
			continue;
		host[n_host++] = (struct host){host_name(k), r};
		bound_error(c, &k->defs.proc.clock);
	}
	qsort(host, n_host, sizeof(*host), by_host_name);
	for (uint32_t r = 0; r < n; r++) {
		struct clock_rank *k = &c->rank[r];
		int64_t start;

		if (!trace_get_rank(t, r)->present)
			continue;
		correct_rank(c, t, r, host, n_host, root_ns);
		start = k->shift - llround(k->drift * (double)k->anchor);
		first = start < first ? start : first;
	}
	for (uint32_t r = 0; r < n; r++)
		if (trace_get_rank(t, r)->present)
			c->rank[r].shift = (int64_t)((uint64_t)c->rank[r].shift - (uint64_t)first);
	free(host);
	return c;
}

void trace_clock_destroy(struct trace_clock *c)
{
	if (!c)
		return;
	for (uint32_t r = 0; c->rank && r < c->n_ranks; r++)
		free(c->rank[r].jump);
	free(c->rank);
	free(c);
}
