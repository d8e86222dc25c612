/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scans in the replay (see replay.h). A rank needs data of the lower ranks of the communicator. An MPI library may let
 * the rank wait for a higher rank as well. The rank waited for a higher rank if both conditions hold:
 * the higher rank came last of all, and it came before the rank left.
 *
 * A rank that has its result leaves the scan before all ranks have come. So the mean of their times is known only when
 * the last rank comes. Then each rank is moved to the mean, with all that it has done since. Two things stay as they
 * are: the messages that the rank has sent meanwhile, and a rank that has waited for others meanwhile.
 *
 * The last of the lower ranks is found in a tree: P. M. Fenwick, "A New Data Structure for Cumulative Frequency
 * Tables" (1994).
 */
#include <stdlib.h>

#include "expert/replay/replay_impl.h"

#define MAX_PLACES (1u << 20) /* of scans under way: 256 MiB */

/* A rank that has come. */
struct came {
	uint32_t rank;
	uint64_t event;
	int64_t ns;             /* in the balanced case, less what the rank was moved by until then */
};

struct replay_scan {
	uint32_t n, n_came;     /* ranks of the communicator; ranks that have come */
	uint32_t balanced;      /* case in which all come at the mean of their times, 0: none */
	struct came *came;
	struct replay_side before; /* the answer of scan_needed */
	struct replay_side tree[]; /* Fenwick tree over the ranks in their order, from 1 */
};

static struct replay_scan *scan_create(struct replay *p, uint32_t n)
{
	struct replay_scan *s = calloc(1, sizeof(*s) + (n + 1ull) * sizeof(*s->tree));

	if (!s || !(s->came = calloc(n + 1ull, sizeof(*s->came)))) {
		free(s);
		return NULL;
	}
	s->n = n;
	p->n_place += n;
	return s;
}

void scan_destroy(struct replay *p, struct replay_scan *s)
{
	if (!s)
		return;
	p->n_place -= s->n;
	free(s->came);
	free(s);
}

/* All ranks have come. */
static void balance(struct replay *p, const struct replay_scan *s)
{
	uint32_t c = s->balanced;
	int64_t mean;
	double sum = 0;

	for (uint32_t i = 0; i < s->n; i++)
		sum += (double)(s->came[i].ns + p->rank[s->came[i].rank].moved[c]);
	mean = (int64_t)(sum / s->n + 0.5);
	for (uint32_t i = 0; i < s->n; i++) {
		struct replay_rank *k = &p->rank[s->came[i].rank];
		int64_t at = s->came[i].ns + k->moved[c];

		if (k->waited[c] > s->came[i].event)
			continue;
		k->at[c] += (uint64_t)(mean - at);
		k->moved[c] += mean - at;
	}
}

int scan_come(struct replay *p, uint32_t rank, const struct replay_part *x, uint32_t n)
{
	const struct replay_rank *k = &p->rank[rank];
	struct replay_scan *s = x->node->scan;

	if (!s && (n > MAX_PLACES || p->n_place > MAX_PLACES - n)) {
		p->incomplete = true;
		return 0;
	}
	if (!s) {
		s = x->node->scan = scan_create(p, n);
		if (!s)
			return -1;
		s->balanced = replay_balanced_case(p, rank, x->event);
	}
	if (x->place >= s->n || s->n_came == s->n)
		return 0; /* no program can do that */
	for (uint32_t i = x->place + 1; i <= s->n; i += i & -i)
		replay_side_add(p, &s->tree[i], rank, k->enter_ns);
	s->came[s->n_came++] = (struct came){rank, x->event, (int64_t)k->at[s->balanced] - k->moved[s->balanced]};
	if (s->n_came == s->n && s->balanced)
		balance(p, s);
	return 0;
}

const struct replay_side *scan_needed(const struct replay *p, const struct replay_part *x, uint64_t leave_ns)
{
	const struct replay_side *all = &x->node->side[1];
	struct replay_scan *s = x->node->scan;

	s->before.n = 0;
	for (uint32_t i = x->place < s->n ? x->place + 1 : 0; i; i &= i - 1)
		replay_side_merge(p, &s->before, &s->tree[i]);
	return all->ns > s->before.ns && all->ns <= leave_ns ? all : &s->before;
}
