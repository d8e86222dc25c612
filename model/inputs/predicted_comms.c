/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Communicators of predicted ranks: see predicted_comms.h. */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/array.h"
#include "model/inputs/predicted_comms.h"
#include "trace/functions.h"

#define FIRST_MADE 2 /* world and self are there from the beginning */

void predicted_comms_begin(struct predicted_comms *c, const struct pattern_set *set, uint32_t rank, uint32_t ranks)
{
	*c = (struct predicted_comms){.set = set, .rank = rank, .ranks = ranks};
}

static void forget_definitions(struct predicted_comms *c)
{
	for (uint32_t i = 0; i < c->n_comm; i++)
		free(c->comm[i].members.rank);
	free(c->comm);
	c->comm = NULL;
	c->n_comm = 0;
}

void predicted_comms_free(struct predicted_comms *c)
{
	forget_definitions(c);
	free(c->made);
	c->made = NULL;
}

/* ---- first pass: a number of its own for each ---- */

static int64_t new_comm(void *arg, uint32_t pattern)
{
	struct predicted_comms *c = arg;

	if (c->n >= PREDICTED_COMMS_MAX || ARRAY_ROOM(c->made, c->cap, c->n + 1) != 0) {
		c->failed = true;
		return TRACE_NULL;
	}
	c->made[c->n] = (struct predicted_comm){.pattern = pattern, .born = c->order++, .died = UINT64_MAX};
	return FIRST_MADE + c->n++;
}

static struct predicted_comm *made_at(struct predicted_comms *c, int64_t comm)
{
	return comm >= FIRST_MADE && comm - FIRST_MADE < c->n ? &c->made[comm - FIRST_MADE] : NULL;
}

static int note_use(void *arg, int64_t comm, int64_t size, int64_t first, int64_t stride)
{
	struct predicted_comms *c = arg;
	struct predicted_comm *m = made_at(c, comm);
	int64_t last;

	stride = size == 1 ? 1 : stride;
	if (!m || size < 1 || size > c->ranks || !stride || first < 0 || first >= c->ranks ||
	    __builtin_mul_overflow(stride, size - 1, &last) || __builtin_add_overflow(last, first, &last) || last < 0 ||
	    last >= c->ranks)
		return -1;
	if (m->known)
		return m->size == size && m->first == first && m->stride == stride ? 0 : -1;
	m->known = true;
	m->size = size;
	m->first = first;
	m->stride = stride;
	return 0;
}

static void note_free(void *arg, int64_t comm)
{
	struct predicted_comms *c = arg;
	struct predicted_comm *m = made_at(c, comm);

	if (m)
		m->died = c->order++;
}

void predicted_comms_listen(struct predicted_comms *c, struct pattern_play *p)
{
	p->make_comm = new_comm;
	p->use_comm = note_use;
	p->free_comm = note_free;
	p->arg = c;
}

/* ---- second pass ---- */

static int64_t numbered_comm(void *arg, uint32_t pattern)
{
	struct predicted_comms *c = arg;

	(void)pattern;
	if (c->next < c->n)
		return c->made[c->next++].index;
	c->failed = true;
	return TRACE_NULL;
}

void predicted_comms_answer(struct predicted_comms *c, struct pattern_play *p)
{
	p->make_comm = numbered_comm;
	p->arg = c;
}

static int define(struct predicted_comms *c, int64_t size, int64_t first, int64_t stride, uint32_t ordinal)
{
	struct trace_comm *k = realloc(c->comm, (c->n_comm + 1u) * sizeof(*k));

	if (!k)
		return -1;
	c->comm = k;
	k += c->n_comm;
	*k = (struct trace_comm){.kind = TCOMM_INTRA, .ordinal = ordinal, .members = {.n = (uint32_t)size}};
	k->members.rank = malloc((size_t)size * sizeof(*k->members.rank));
	if (!k->members.rank)
		return -1;
	c->n_comm++;
	for (int64_t i = 0; i < size; i++)
		k->members.rank[i] = (uint32_t)(first + i * stride);
	return 0;
}

static bool is_that(const struct trace_comm *d, const struct predicted_comm *m)
{
	return d->members.n == m->size && d->members.rank[0] == m->first &&
	       (m->size == 1 || d->members.rank[1] == m->first + m->stride);
}

/* The first with these members that nobody has at that time, or a new one. */
static int number_one(struct predicted_comms *c, uint64_t *free_from, struct predicted_comm *m)
{
	uint32_t ordinal = 0;

	for (uint32_t i = 0; i < c->n_comm; i++) {
		if (!is_that(&c->comm[i], m))
			continue;
		if (i >= FIRST_MADE && free_from[i] < m->born) {
			m->index = i;
			free_from[i] = m->died;
			return 0;
		}
		ordinal = c->comm[i].ordinal + 1;
	}
	m->index = c->n_comm;
	free_from[c->n_comm] = m->died;
	return define(c, m->size, m->first, m->stride, ordinal);
}

/* Is there nobody in it at some rank of the traces? */
static bool may_be_null(const struct pattern *p)
{
	for (uint32_t i = 0; i < trace_fn[p->fn].n_param; i++)
		if (p->param[i].kind == TK_NEWCOMM)
			return p->param[i].empty;
	return false;
}

int predicted_comms_number(struct predicted_comms *c, struct errbuf *err)
{
	uint64_t *free_from = calloc(c->n + 2u, sizeof(*free_from));
	int rc = -1;

	if (!free_from || c->failed || define(c, c->ranks, 0, 1, 0) < 0 || define(c, 1, c->rank, 1, c->ranks == 1) < 0) {
		err_set(err, "rank %u: no memory, or more than %d communicators", c->rank, PREDICTED_COMMS_MAX);
		goto out;
	}
	for (uint32_t i = 0; i < c->n; i++) {
		struct predicted_comm *m = &c->made[i];

		m->index = TRACE_NULL;
		if (!m->known && !may_be_null(&c->set->pattern[m->pattern])) {
			err_set(err, "rank %u: %.120s makes a communicator that no later call uses: who is in it is not predicted",
				c->rank, c->set->pattern[m->pattern].name);
			goto out;
		}
		if (m->known && number_one(c, free_from, m) < 0) {
			err_set(err, "rank %u: no memory for communicators", c->rank);
			goto out;
		}
	}
	rc = 0;
out:
	free(free_from);
	return rc;
}

/* ---- all ranks ---- */

int predicted_members_add(struct predicted_members *m, const struct predicted_comms *c, struct errbuf *err)
{
	for (uint32_t i = FIRST_MADE; i < c->n_comm; i++) {
		const struct trace_group *g = &c->comm[i].members;
		uint32_t before = m->seen.n, k;
		bool member = false;

		for (uint32_t j = 0; j < g->n && !member; j++)
			member = g->rank[j] == c->rank;
		if (!member)
			return err_set(err, "rank %u would have a communicator of %u ranks from %u on that it is not in: the model is wrong there",
				       c->rank, g->n, g->rank[0]);
		k = map_put(&m->seen, XXH3_64bits_withSeed(g->rank, g->n * sizeof(*g->rank), c->comm[i].ordinal));
		if (k == MAP_NONE)
			return err_set(err, "no memory for communicators");
		if (k == before) {
			if (ARRAY_ROOM(m->group, m->cap, k + 1) != 0)
				return err_set(err, "no memory for communicators");
			m->group[k] = (struct predicted_group){.size = g->n, .rank = c->rank};
		}
		m->group[k].n++;
	}
	return 0;
}

int predicted_members_check(const struct predicted_members *m, struct errbuf *err)
{
	for (uint32_t i = 0; i < m->seen.n; i++)
		if (m->group[i].n != m->group[i].size)
			return err_set(err,
				       "rank %u would have a communicator of %u ranks, of which %u have it: the model is wrong there; "
				       "trace a run with about as many ranks",
				       m->group[i].rank, m->group[i].size, m->group[i].n);
	return 0;
}

void predicted_members_free(struct predicted_members *m)
{
	map_free(&m->seen);
	free(m->group);
}
