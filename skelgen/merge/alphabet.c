/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The choice of an alphabet: see alphabet.h. */
#include "skelgen/merge/alphabet.h"

/* Search for a better description only if this one is above so many percent of the least cost (see least_cost). */
#define GOOD_ENOUGH_PERCENT 150
#define REFINE_MAX 3

void grouping_free(struct grouping *c)
{
	if (c->arena)
		rank_groups_free(&c->groups);
	arena_destroy(c->arena);
	c->arena = NULL;
}

/* Try an alphabet; it replaces `best` when it describes the run more briefly. */
static int try_alphabet(const struct trace *t, enum skel_alphabet alphabet, const struct key_set *kept,
			bool optional, struct key_set *alternating, struct grouping *best, struct errbuf *err)
{
	uint64_t max_cost = best->arena ? best->groups.cost - 1 : UINT64_MAX / 2;
	struct grouping c = {.arena = arena_create()};
	int rv;

	/* Peers that are functions of the rank say more than peers that vary. */
	if (alphabet == SKEL_SHAPE && best->groups.alphabet != SKEL_SHAPE)
		max_cost = max_cost / 3 * 2;
	if (!c.arena)
		return err_set(err, "no memory");
	rv = rank_groups_build(t, alphabet, kept, optional, max_cost, c.arena, alternating, &c.groups, err);
	if (rv == 0) {
		grouping_free(best);
		*best = c;
		return 0;
	}
	arena_destroy(c.arena);
	return rv < 0 ? -1 : 0;
}

/* Calls that alternate are kept exact in another try, as long as there are new ones. */
static int try_refined(const struct trace *t, enum skel_alphabet alphabet, bool optional, struct grouping *best,
		       struct errbuf *err)
{
	struct key_set kept = {0}, seen = {0};
	int rv = 0;

	for (int i = 0; i < REFINE_MAX && rv == 0; i++) {
		uint32_t before = kept.n;

		rv = try_alphabet(t, alphabet, &kept, optional, &seen, best, err);
		for (uint32_t k = 0; rv == 0 && k < seen.n; k++)
			if (key_set_add(&kept, seen.key[k]) < 0)
				rv = err_set(err, "no memory");
		if (kept.n == before)
			break;
	}
	key_set_free(&kept);
	key_set_free(&seen);
	return rv;
}

/* Lower bound on the cost of a description: one node for each distinct call of each group. */
static int least_cost(const struct rank_groups *g, uint64_t *cost)
{
	*cost = 0;
	for (uint32_t i = 0; i < g->n_group; i++) {
		struct key_set keys = {0};

		for (uint32_t k = 0; k < g->group[i].n_shape; k++)
			if (key_set_add(&keys, g->group[i].key[k]) < 0) {
				key_set_free(&keys);
				return -1;
			}
		*cost += (uint64_t)RANK_GROUPS_NODE_COST * keys.n;
		key_set_free(&keys);
	}
	return 0;
}

/* Loops that vary are searched only with sizes erased: an exact repetition is a repetition without sizes too. */
int grouping_choose(const struct trace *t, bool optional, struct grouping *best, struct errbuf *err)
{
	struct key_set ignored = {0};
	uint64_t least;
	int rv = try_alphabet(t, SKEL_EXACT, NULL, false, &ignored, best, err);

	key_set_free(&ignored);
	if (rv < 0)
		return -1;
	if (least_cost(&best->groups, &least) < 0)
		return err_set(err, "no memory");
	if (best->groups.cost * 100 <= least * GOOD_ENOUGH_PERCENT)
		return 0;
	if (try_refined(t, SKEL_SIZES, optional, best, err) < 0)
		return -1;
	return try_refined(t, SKEL_SHAPE, optional, best, err);
}
