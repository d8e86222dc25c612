/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Doors, shapes and waits in memory: see places.h. Sorted arrays and binary search; pure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

#include "common/duration.h"
#include "predictor/cluster/places.h"

#define BUCKET_FIRST_MIN 15

void place_partition_clear(struct place_partition *p)
{
	free(p->allow_groups);
	free(p->allow_accounts);
	free(p->deny_accounts);
	free(p->allow_qos);
	free(p->deny_qos);
	*p = (struct place_partition){0};
}

void places_free(struct places *p)
{
	for (size_t i = 0; i < p->n_partitions; i++)
		place_partition_clear(&p->partitions[i]);
	free(p->partitions);
	free(p->access);
	free(p->shapes);
	free(p->waits);
	*p = (struct places){0};
}

const struct place_partition *places_partition(const struct places *p, const char *name)
{
	for (size_t i = 0; i < p->n_partitions; i++) {
		if (name ? !strcmp(p->partitions[i].name, name) : p->partitions[i].is_default)
			return &p->partitions[i];
	}
	return NULL;
}

/* ---- shapes ---- */

int64_t place_shape_id(const struct place_shape *s)
{
	char text[2 * CONF_NAME_MAX + 128];
	int n = snprintf(text, sizeof(text), "%u %u %u %u %llu %d %s %s", s->nodes, s->tasks, s->tasks_per_node,
			 s->cpus_per_task, (unsigned long long)s->memory, s->exclusive, s->account, s->qos);
	uint64_t h = XXH3_64bits(text, (size_t)n) >> 1;

	return h ? (int64_t)h : 1;
}

static int compare_shape(const void *key, const void *element)
{
	int64_t id = *(const int64_t *)key, other = ((const struct place_shape *)element)->id;

	return (id > other) - (id < other);
}

const struct place_shape *places_shape(const struct places *p, int64_t id)
{
	return p->n_shapes ? bsearch(&id, p->shapes, p->n_shapes, sizeof(*p->shapes), compare_shape) : NULL;
}

/* ---- doors ---- */

/* Is the name one of the list's? Slurm knows accounts and QOS in any case. */
static bool in_list(const char *list, const char *name)
{
	size_t len = strlen(name);

	while (*list) {
		size_t n = strcspn(list, ",");

		if (n == len && !strncasecmp(list, name, n))
			return true;
		list += n;
		list += *list == ',';
	}
	return false;
}

static bool given(const char *text)
{
	return text && *text;
}

/* Does this pair of lists admit the name? A job without a name gets its default later, which is not known here. */
static bool list_passes(const char *allow, const char *deny, const char *name)
{
	if (!given(allow) && !given(deny))
		return true;
	if (!given(name))
		return false;
	return (!given(allow) || in_list(allow, name)) && (!given(deny) || !in_list(deny, name));
}

static bool in_groups(const struct places *p, const char *partition, uint32_t uid, int64_t now)
{
	for (size_t i = 0; i < p->n_access; i++) {
		const struct place_access *a = &p->access[i];

		if (a->uid == uid && now - a->checked <= PLACES_ACCESS_FRESH_S && !strcmp(a->partition, partition))
			return true;
	}
	return false;
}

bool places_may_use(const struct places *p, const char *partition, const struct place_asker *who, int64_t now,
		    const char **why)
{
	const struct place_partition *door = places_partition(p, partition);
	const char *reason = NULL;

	if (!door)
		reason = "not known";
	else if (!door->open)
		reason = "not open to jobs of users";
	else if (door->restricted && !in_groups(p, partition, who->uid, now))
		reason = "for other groups (AllowGroups)";
	else if (!list_passes(door->allow_accounts, door->deny_accounts, who->account))
		reason = "not for this account, or no account named";
	else if (!list_passes(door->allow_qos, door->deny_qos, who->qos))
		reason = "not for this QOS, or no QOS named";
	else if (who->nodes && (who->nodes < door->min_nodes || who->nodes > door->max_nodes))
		reason = "not for this number of nodes";
	if (why)
		*why = reason;
	return !reason;
}

/* ---- waits ---- */

uint32_t places_limit_min(const struct precedent_conf *conf, double hi_s)
{
	uint32_t want = duration_ceil_minutes(hi_s * (1 + conf->margin));

	return want < conf->min_limit_min ? conf->min_limit_min : want;
}

/*
 * A plan is changed by one part in so many at least. Each change costs a write of the store and a request to
 * slurmctld. Bounds from a few runs move by some percent with every task. Backfill counts in steps of bf_resolution,
 * a minute by default.
 */
#define REPLAN_PART 10

uint32_t places_replan_min(const struct precedent_conf *conf, double hi_s, uint32_t asked_min, uint32_t old_min)
{
	uint32_t min = places_limit_min(conf, hi_s), by;

	min = min < asked_min ? min : asked_min;
	by = min > old_min ? min - old_min : old_min - min;
	return (uint64_t)by * REPLAN_PART >= old_min ? min : old_min;
}

uint32_t places_bucket(uint32_t limit_min)
{
	uint32_t b = BUCKET_FIRST_MIN;

	if (limit_min >= DURATION_UNSET || limit_min > 1u << 30)
		return DURATION_UNLIMITED;
	while (b < limit_min)
		b *= 2;
	return b;
}

static int compare_wait(const struct place_wait *w, int64_t shape, const char *candidate, uint32_t limit_min)
{
	int c;

	if (w->shape != shape)
		return w->shape < shape ? -1 : 1;
	c = strcmp(w->candidate, candidate);
	if (c)
		return c;
	return (w->limit_min > limit_min) - (w->limit_min < limit_min);
}

enum place_answer places_wait(const struct places *p, int64_t shape, const char *candidate, uint32_t limit_min,
			      int64_t now, int64_t fresh_s, double *wait_s, const struct place_wait **out)
{
	uint32_t bucket = places_bucket(limit_min);
	const struct place_wait *w;
	size_t lo = 0, hi = p->n_waits;

	*out = NULL;
	*wait_s = 0;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (compare_wait(&p->waits[mid], shape, candidate, bucket) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == p->n_waits || compare_wait(&p->waits[lo], shape, candidate, bucket))
		return PLACE_UNASKED;
	w = &p->waits[lo];
	if (w->answer == PLACE_UNASKED || now - w->asked > fresh_s || w->asked - now > fresh_s)
		return PLACE_UNASKED;
	*out = w;
	*wait_s = (double)(w->asked - now) + w->wait_s;
	if (*wait_s < 0)
		*wait_s = 0;
	return w->answer;
}
