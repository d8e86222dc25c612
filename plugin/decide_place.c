/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chooses the candidate to which a job goes. A candidate is possible if its partition admits this user's job of
 * this size, and if the scheduler has lately told when such a job would start there. The scheduler's answer proves
 * that the job can run there. A job is moved only to a candidate that is better by the administrator's policy. If
 * this is not known, the job stays.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "plugin/decide_internal.h"

/* ---- what was sent where since the scheduler was asked ---- */

static int partition_index(const struct precedent_conf *conf, const char *partition)
{
	for (size_t i = 0; i < conf->n_candidates; i++) {
		if (!strcmp(conf->candidates[i].partition, partition))
			return (int)i;
	}
	return -1;
}

void decide_load_add(struct decide_load *load, const struct precedent_conf *conf, const char *partition, double node_s,
		     int64_t now)
{
	unsigned at = (unsigned)((uint64_t)now % DECIDE_LOAD_S);
	int i = partition_index(conf, partition);

	if (i < 0)
		return;
	if (load->when[at] != now) {
		load->when[at] = now;
		for (int c = 0; c < CONF_CANDIDATES_MAX; c++)
			load->node_s[c][at] = 0;
	}
	load->node_s[i][at] += (float)node_s;
}

double decide_load_since(const struct decide_load *load, const struct precedent_conf *conf, const char *partition,
			 int64_t since, int64_t now)
{
	int i = partition_index(conf, partition);
	double sum = 0;

	if (since <= now - DECIDE_LOAD_S)
		since = now - DECIDE_LOAD_S + 1;
	for (int64_t t = since; i >= 0 && t <= now; t++) {
		unsigned at = (unsigned)((uint64_t)t % DECIDE_LOAD_S);

		if (load->when[at] == t)
			sum += load->node_s[i][at];
	}
	return sum;
}

/* ---- who may go where ---- */

static bool is_named(const char *text)
{
	return text && *text;
}

static bool named_otherwise(const char *asked, const char *had)
{
	return is_named(asked) && strcasecmp(asked, had) != 0;
}

/* The shape that the scheduler was asked about, if the job has the same shape. */
static const struct place_shape *find_shape(const struct deciding *d)
{
	const struct decide_input *in = d->in;
	const struct place_shape *s = d->src->places ? places_shape(d->src->places, d->shape) : NULL;

	if (!s || in->more || (in->exclusive && !s->exclusive) || (in->memory && in->memory != s->memory) ||
	    named_otherwise(in->account, s->account) || named_otherwise(in->qos, s->qos))
		return NULL;
	return s;
}

static bool in_partitions(const struct deciding *d, const char *name)
{
	for (unsigned i = 0; i < d->n_partitions; i++) {
		if (!strcmp(d->partitions[i], name))
			return true;
	}
	return false;
}

/* The limit that the job would have on the candidate. */
static uint32_t limit_there(const struct deciding *d, const struct option *o, uint32_t cap)
{
	const struct place_partition *there = places_partition(d->src->places, o->candidate->partition);
	uint32_t user = d->in->time_limit_min;

	return decide_limit_short(d, o->e->e.hi_s, user == DURATION_UNSET ? cap : user, there ? there->overtime_min : 0);
}

/* The wait for the candidate: the scheduler's answer, plus the work sent there since, spread over all nodes. */
static void find_wait(struct deciding *d, struct option *o, uint32_t limit_min)
{
	const struct place_partition *door = places_partition(d->src->places, o->candidate->partition);
	const struct place_wait *w;
	int64_t fresh_s = PLACES_FRESH_S;

	if (fresh_s < 3 * (int64_t)d->conf->poll_interval_s)
		fresh_s = 3 * (int64_t)d->conf->poll_interval_s;
	o->answer = places_wait(d->src->places, d->shape, o->candidate->name, limit_min, d->in->now, fresh_s, &o->wait_s,
				&w);
	if (w && d->src->load && door && door->total_nodes)
		o->wait_s += decide_load_since(d->src->load, d->conf, o->candidate->partition, w->asked, d->in->now) /
			     door->total_nodes;
}

/*
 * May the job run as long there as where it was submitted (cap_min)? The job starts with its user's own limit, and
 * must be able to reach it without Precedent.
 */
static bool can_last(const struct deciding *d, uint32_t cap, uint32_t max)
{
	if (max == DURATION_UNSET || d->cap_min == DURATION_UNSET)
		return false;
	return d->in->time_limit_min == DURATION_UNSET ? cap >= d->cap_min : max >= d->cap_min;
}

/* Why the job may not be sent there, in one word. NULL: only the scheduler's answer counts. */
static const char *why_barred(const struct deciding *d, const struct option *o, const struct place_shape *shape, bool named,
			      uint32_t cap, uint32_t max)
{
	const struct conf_candidate *c = o->candidate;
	const char *features = d->in->features ? d->in->features : "";
	struct place_asker who = {d->in->uid, d->in->account, d->in->qos, shape->nodes};

	if (named && !in_partitions(d, c->partition))
		return "unnamed";
	/* The user's features stay: other candidates may lack nodes with these features. */
	if (features[0] && strcmp(features, c->constraint))
		return "features";
	if (!d->mode_given && conf_mode_for(d->conf, c->partition) < MODE_PLACE)
		return "mode";
	if (d->src->doors_old)
		return "changed";
	if (!places_may_use(d->src->places, c->partition, &who, d->in->now, NULL))
		return "closed";
	return can_last(d, cap, max) ? NULL : "limit";
}

/* May the job be sent there? Fills in the wait in any case. */
static bool may_place(struct deciding *d, struct option *o, const struct place_shape *shape, bool named)
{
	const struct conf_candidate *c = o->candidate;
	uint32_t cap, max;

	if (!c)
		return false;
	decide_partition_cap(d, c->partition, &cap, &max);
	find_wait(d, o, limit_there(d, o, cap));
	o->barred = why_barred(d, o, shape, named, cap, max);
	return !o->barred && o->answer == PLACE_KNOWN;
}

/* ---- which is better ---- */

static double expected_end_s(const struct option *o)
{
	return o->answer == PLACE_REFUSED ? 1e12 : o->wait_s + o->e->e.mean_s;
}

static double node_hour_cost(const struct deciding *d, const struct option *o)
{
	return o->e->e.mean_s * conf_cost_for(d->conf, o->e->candidate);
}

static bool is_better(const struct deciding *d, const struct option *a, const struct option *b)
{
	double x, y;

	switch (d->conf->policy) {
	case POLICY_FASTEST:
		return a->e->e.mean_s < b->e->e.mean_s;
	case POLICY_CHEAPEST:
		x = node_hour_cost(d, a);
		y = node_hour_cost(d, b);
		if (x < y * (1 - 1e-9) || y < x * (1 - 1e-9))
			return x < y;
		/* Among equal costs the earliest end counts, if it is known. */
		return b->answer != PLACE_UNASKED && expected_end_s(a) < expected_end_s(b);
	default:
		return expected_end_s(a) < expected_end_s(b);
	}
}

/*
 * Does a partition that the job may already use have no estimate or no known wait? Then no other candidate can be
 * shown to be better, and the job stays.
 */
static bool unknown_here(struct deciding *d)
{
	for (unsigned i = 0; i < d->n_partitions; i++) {
		const struct option *o;

		if (!conf_candidate_match(d->conf, d->partitions[i], d->in->features))
			continue;
		o = decide_option_for(d, d->partitions[i]);
		if (!o || (d->conf->policy == POLICY_EARLIEST && o->answer == PLACE_UNASKED))
			return true;
	}
	return false;
}

/* Find the best candidate and the second best. */
static void choose_candidate(struct deciding *d, const struct place_shape *shape, bool named, const struct option **best,
			     const struct option **second)
{
	*best = *second = NULL;
	for (unsigned i = 0; i < d->n_options; i++) {
		struct option *o = &d->options[i];

		if (!may_place(d, o, shape, named))
			continue;
		if (!*best || is_better(d, o, *best)) {
			*second = *best;
			*best = o;
		} else if (!*second || is_better(d, o, *second)) {
			*second = o;
		}
	}
}

static bool may_move(const struct deciding *d, bool named)
{
	const struct decide_input *in = d->in;

	if (in->pinned || (named && d->n_partitions < 2))
		return false;
	/* Waits are known for single jobs that can start at once, not for arrays or delayed jobs. */
	return d->conf->policy != POLICY_EARLIEST || (!in->later && !in->array);
}

/* Has the scheduler not been asked lately about jobs of this shape? */
static bool is_unasked(const struct deciding *d)
{
	for (unsigned i = 0; i < d->n_options; i++)
		if (d->options[i].candidate && !d->options[i].barred && d->options[i].answer == PLACE_UNASKED)
			return true;
	return false;
}

void decide_place(struct deciding *d, bool named)
{
	bool may = may_move(d, named);
	const struct place_shape *shape = may ? find_shape(d) : NULL;
	const struct option *best, *home = NULL;

	d->waits_unknown = may && d->n_options > 1 && !(d->src->places && places_shape(d->src->places, d->shape));
	if (!shape)
		return;
	decide_find_cap(d);
	choose_candidate(d, shape, named, &best, &d->instead_of);
	d->weighed = true;
	d->waits_unknown = d->n_options > 1 && is_unasked(d);
	if (!best || unknown_here(d))
		return;
	if (!named && d->n_partitions)
		home = decide_option_for(d, d->partitions[0]);
	if (home && (home == best || !is_better(d, best, home)))
		return;
	if (home)
		d->instead_of = home;
	d->placed = d->out->set_partition = true;
	snprintf(d->out->partition, sizeof(d->out->partition), "%s", best->candidate->partition);
	if (best->candidate->constraint[0] && !is_named(d->in->features)) {
		d->out->set_features = true;
		snprintf(d->out->features, sizeof(d->out->features), "%s", best->candidate->constraint);
	}
	d->primary = best;
	d->limit_hi_s = best->e->e.hi_s;
}
