/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See under_way.h. */
#include "skelgen/pieces/under_way.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/array.h"
#include "skelgen/pieces/cuts.h"
#include "trace/functions.h"

#define COUNTS_MOST (4u << 20) /* channels times places: 16 MiB */

/* By channel and place: messages whose send is the first one behind the place before, less those whose receive is. */
struct counts {
	const struct trace *t;
	struct under_way *u;
	const struct cuts *places;
	int32_t *begun;
	uint32_t cap;
	bool no_memory, too_many;
};

static struct under_way_channel *channel_at(struct under_way *u, uint32_t number)
{
	if (ARRAY_ROOM_ZEROED(u->channel, u->cap, (size_t)number + 1) != 0)
		return NULL;
	u->n = number < u->n ? u->n : number + 1;
	return &u->channel[number];
}

static int count(const struct trace_message *m, void *arg)
{
	struct counts *k = arg;
	struct under_way_channel *c = channel_at(k->u, m->channel);
	size_t row = (size_t)m->channel * (k->places->n + 1);
	uint32_t fn;

	k->too_many = row + k->places->n + 1 > COUNTS_MOST;
	if (k->too_many)
		return 1;
	k->no_memory = c == NULL || ARRAY_ROOM_ZEROED(k->begun, k->cap, row + k->places->n + 1) != 0;
	if (k->no_memory)
		return 1;
	if (c->n++ == 0)
		*c = (struct under_way_channel){.n = 1, .shortest = m->bytes, .room = m->room};
	c->longest = m->bytes > c->longest ? m->bytes : c->longest;
	c->shortest = m->bytes < c->shortest ? m->bytes : c->shortest;
	c->room = m->room < c->room ? m->room : c->room;
	fn = trace_get_rank(k->t, m->dst)->defs.sigs.sig[m->recv_sym].fn;
	c->fixed |= fn == FN_MPI_Sendrecv_replace || fn == FN_MPI_Isendrecv_replace;
	k->begun[row + cuts_segment(k->places, m->src, m->send_event)]++;
	k->begun[row + cuts_segment(k->places, m->dst, m->recv_event)]--;
	return 0;
}

/* Does each receive have room for each message? */
static bool fits(const struct under_way_channel *c)
{
	return c->longest == c->shortest || (c->longest <= c->room && c->room != UINT64_MAX);
}

static uint32_t most_of(const struct under_way_channel *c)
{
	return c->fixed && !fits(c) ? 0 : UNDER_WAY_MOST;
}

/* How usual a place is. */
struct usual {
	int64_t score;  /* -1: too many messages are under way */
	uint64_t state; /* hash of the numbers on all channels */
};

/* Add to each place's score how many places have as many messages of this channel under way. */
static void score(const struct under_way_channel *c, const int32_t *begun, uint32_t n, struct usual *u)
{
	uint32_t times[UNDER_WAY_MOST + 1] = {0}, most = most_of(c);
	int64_t now = 0;

	for (uint32_t k = 0; k < n; k++) {
		now += begun[k];
		if (now >= 0 && now <= most)
			times[now]++;
	}
	now = 0;
	for (uint32_t k = 0; k < n; k++) {
		now += begun[k];
		u[k].score = now < 0 || now > most || u[k].score < 0 ? -1 : u[k].score + times[now];
		u[k].state = XXH3_64bits_withSeed(&now, sizeof now, u[k].state);
	}
}

/* Places with the same numbers on all channels count once more for each channel. Before the first message nothing is
 * under way. That is usual on each channel alone where messages wait now here, now there, and it never comes again. */
static void score_states(struct usual *u, uint32_t n, uint32_t n_channel)
{
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t j = 0; u[k].score >= 0 && j < n; j++)
			u[k].score += u[j].state == u[k].state ? n_channel : 0;
}

/* The lags are the numbers at the place that is most usual. So all of them occur together. */
static int lags_find(struct under_way *u, const int32_t *begun, uint32_t n)
{
	struct usual *usual = calloc(n + 1u, sizeof *usual);
	uint32_t best = 0;

	if (usual == NULL)
		return -1;
	for (uint32_t i = 0; i < u->n; i++)
		score(&u->channel[i], begun + (size_t)i * (n + 1), n, usual);
	score_states(usual, n, u->n);
	for (uint32_t k = 1; k < n; k++)
		best = usual[k].score > usual[best].score ? k : best;
	for (uint32_t i = 0; n > 0 && usual[best].score > 0 && i < u->n; i++) {
		for (uint32_t k = 0; k <= best; k++)
			u->channel[i].lag += (uint32_t)begun[(size_t)i * (n + 1) + k];
		u->any |= u->channel[i].lag > 0;
		u->longer |= u->channel[i].lag > 0 && !fits(&u->channel[i]);
	}
	free(usual);
	return 0;
}

int under_way_find(const struct trace *t, const struct cuts *places, struct under_way *out, struct errbuf *err)
{
	struct counts k = {.t = t, .u = out, .places = places};
	struct trace_messages_report report;
	int rv;

	*out = (struct under_way){.n = 0};
	rv = trace_messages(t, count, &k, &report, err);
	k.no_memory |= rv == 0 && lags_find(out, k.begun, places->n) != 0;
	free(k.begun);
	if (k.too_many)
		under_way_free(out);
	return k.no_memory ? err_set(err, "no memory to count the messages under way") : rv < 0 ? -1 : 0;
}

struct under_way_channel *under_way_at(struct under_way *u, uint32_t channel)
{
	return u->any && channel < u->n && u->channel[channel].lag > 0 ? &u->channel[channel] : NULL;
}

void under_way_begin(struct under_way *u)
{
	for (uint32_t i = 0; i < u->n; i++)
		u->channel[i].n = 0;
}

void under_way_free(struct under_way *u)
{
	free(u->channel);
	*u = (struct under_way){.n = 0};
}
