/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tree's iterator beside the iterator of times: see timed_walk.h. */
#include "skelgen/timing/timed_walk.h"

#define READERS_MAX 8 /* bits of a byte: who wants the rank at hand */

int timed_walk_begin(struct timed_walk *w, const struct skel_tree *tree, uint32_t rank, bool with_polls, struct errbuf *err)
{
	w->times = with_polls ? own_iter_with_polls(tree->trace, rank, err) : own_iter_create(tree->trace, rank, err);
	if (w->times == NULL)
		return -1;
	if (skel_iter_begin(&w->tree, tree, rank) == 0)
		return 0;
	own_iter_destroy(w->times);
	return err_set(err, "no memory to expand rank %u", rank);
}

int timed_walk_next(struct timed_walk *w, struct errbuf *err)
{
	int expected = skel_iter_next(&w->tree, &w->leaf, &w->occ, &w->index);
	int found = own_iter_next(w->times, &w->ev, &w->known);

	if (found == expected)
		return found;
	return err_set(err, expected == 1 ? "rank %u: the trace ends before its skeleton" : "rank %u: the trace goes on where its skeleton ends",
		       w->tree.rank);
}

void timed_walk_end(struct timed_walk *w)
{
	skel_iter_end(&w->tree);
	own_iter_destroy(w->times);
}

static int rank_read(const struct skel_tree *tree, uint32_t rank, const struct timed_reader *reader, uint32_t n_reader, struct errbuf *err)
{
	struct timed_walk w;
	unsigned wanted = 0;
	int rv;

	for (uint32_t i = 0; i < n_reader; i++) {
		rv = reader[i].begin(reader[i].arg, rank, err);
		if (rv < 0)
			return -1;
		wanted |= (unsigned)rv << i;
	}
	if (wanted == 0)
		return 0;
	if (timed_walk_begin(&w, tree, rank, true, err) != 0)
		return -1;
	while ((rv = timed_walk_next(&w, err)) == 1)
		for (uint32_t i = 0; i < n_reader; i++)
			if (wanted >> i & 1)
				reader[i].call(reader[i].arg, &w);
	timed_walk_end(&w);
	return rv;
}

int timed_walk_all(const struct skel_tree *tree, const struct timed_reader *reader, uint32_t n_reader, struct errbuf *err)
{
	if (n_reader > READERS_MAX)
		return err_set(err, "%u readers of one walk: more than %d", n_reader, READERS_MAX);
	for (uint32_t r = 0; r < tree->n_ranks; r++)
		if (rank_read(tree, r, reader, n_reader, err) != 0)
			return -1;
	return 0;
}
