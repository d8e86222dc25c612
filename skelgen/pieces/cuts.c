/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See cuts.h. Near each cut, the pairs of calls that belong together are kept: 16 bytes for each. A final pass over the
 * trace proves the cuts: in each segment, hashes of begins and ends must cancel.
 */
#include "skelgen/pieces/cuts.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/array.h"
#include "common/hash_table.h"
#include "skelgen/pieces/open_requests.h"
#include "skelgen/pieces/under_way.h"
#include "trace/clock/clock.h"
#include "trace/messages/messages.h"

#define PAIRS_MOST  (4u << 20)  /* that are kept: 64 MiB */
#define PAIRS_RANKS (16u << 20) /* that are kept of many ranks: 256 MiB */
#define REACH_LEAST 16         /* calls of a rank that a cut may be moved over */
#define CALL_PAIRS  2          /* that a call is part of, about */
#define REACH_MOST  65536
#define STATES_MOST 65536      /* that are counted: of a rank with more, none is usual */
#define FILL_LEAST  8          /* cuts of a stretch: the segments before and behind them must run */
#define FAR         INT32_MAX  /* a place that no cut is moved to */

/* Two calls that belong together, relative to the cut's first places. */
struct parted {
	uint32_t rank[2];
	int32_t event[2];
};

/* Part of a collective: one rank's call. */
struct part {
	uint64_t key; /* the same on all ranks; then the number of the collective (parts_number) */
	uint32_t rank;
	int32_t event;
};

/* A place where a rank has its usual requests and epochs open, relative to the cut's first place. */
struct usual {
	uint32_t rank;
	int32_t event;
};

struct near_cut {
	struct parted *pair;
	struct part *part;
	bool *begun;         /* by number of the collective: a part of it is before the cut */
	struct usual *usual; /* by rank, rising; only if something may be open */
	uint32_t n_pair, cap_pair, n_part, cap_part, n_usual, cap_usual;
	bool dropped;
};

struct finder {
	const struct trace *t;
	struct cuts *cuts;
	struct near_cut *near;
	uint64_t kept, most, reach; /* pairs; calls */
	uint32_t rank;  /* that is walked */
	bool opens;     /* something may be open at a cut */
	uint64_t *open; /* what usually is open, by rank */
	struct under_way under_way; /* messages at cuts */
	bool no_memory;
};

static int64_t place(const struct finder *f, uint32_t cut, uint32_t rank)
{
	return (int64_t)f->cuts->at[(size_t)cut * f->cuts->n_ranks + rank];
}

uint32_t cuts_most(uint32_t n_ranks)
{
	return PAIRS_RANKS / CALL_PAIRS / REACH_LEAST / n_ranks;
}

uint32_t cuts_segment(const struct cuts *c, uint32_t rank, uint64_t event)
{
	uint32_t lo = 0, hi = c->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (c->at[(size_t)mid * c->n_ranks + rank] <= event)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* ---- what is usually open ---- */

/* How often a rank had what open before a call. */
struct states {
	uint64_t *open;
	uint32_t n, cap, *times, cap_times;
	struct hash_table at;
	bool no_memory;
};

static void state_count(void *arg, uint64_t event, uint64_t open, const struct open_requests *requests)
{
	struct states *s = arg;
	uint32_t at, i;

	(void)event;
	(void)requests;
	HASH_TABLE_FOR_EACH(&s->at, open, at, i)
		if (s->open[i] == open) {
			s->times[i]++;
			return;
		}
	if (s->n == STATES_MOST)
		return;
	if (ARRAY_ROOM(s->open, s->cap, s->n + 1) != 0 || ARRAY_ROOM(s->times, s->cap_times, s->n + 1) != 0 ||
	    hash_table_add(&s->at, open, s->n) != 0) {
		s->no_memory = true;
		return;
	}
	s->open[s->n] = open;
	s->times[s->n++] = 1;
}

/* What the rank has open before most of its calls. */
static int usual_find(struct finder *f, const struct call_roles *roles, struct errbuf *err)
{
	struct states s = {.n = 0};
	const struct walk_listener l = {.arg = &s, .before = state_count};
	int rv = rank_walk(trace_get_rank(f->t, f->rank), &roles[f->rank], &l, err);
	uint32_t most = 0;

	for (uint32_t i = 0; i < s.n; i++)
		if (s.times[i] > most) {
			most = s.times[i];
			f->open[f->rank] = s.open[i];
		}
	free(s.open);
	free(s.times);
	hash_table_free(&s.at);
	return rv == 0 && s.no_memory ? err_set(err, "no memory to cut the run") : rv;
}

/* Walk of a rank that moves places back. */
struct back {
	struct finder *f;
	uint64_t last; /* place where the usual was open */
	uint32_t next; /* cut that the walk comes to */
	bool any;
};

static void place_back(void *arg, uint64_t event, uint64_t open, const struct open_requests *requests)
{
	struct back *b = arg;
	struct cuts *c = b->f->cuts;

	(void)requests;
	if (open == b->f->open[b->f->rank]) {
		b->last = event;
		b->any = true;
	}
	for (; b->next < c->n && c->at[(size_t)b->next * c->n_ranks + b->f->rank] <= event; b->next++)
		if (b->any)
			c->at[(size_t)b->next * c->n_ranks + b->f->rank] = b->last;
}

/* Move the rank's places back to where the usual epochs are open. A rank may have closed them, and wait for others.
 * Cuts in that time are in front of the calls that closed them. Places stay where requests may be open: a rank has its
 * usual requests open again soon, and from farther back fewer cuts came to places where they part nothing. */
static int usual_places(struct finder *f, const struct call_roles *roles, struct errbuf *err)
{
	struct back b = {.f = f};
	const struct walk_listener l = {.arg = &b, .before = place_back};

	if (usual_find(f, roles, err) != 0)
		return -1;
	return roles[f->rank].open_requests ? 0 : rank_walk(trace_get_rank(f->t, f->rank), &roles[f->rank], &l, err);
}

/* ---- moments to places ---- */

/* The rank's first call that returns after each moment. */
static int rank_places(struct finder *f, const struct trace_clock *clock, uint32_t rank, const uint64_t *moment, uint32_t n,
		       struct errbuf *err)
{
	struct trace_iter *it = trace_iter_create(f->t, rank, err);
	uint64_t length = trace_get_rank(f->t, rank)->events.length, enter, leave, event;
	struct trace_event ev;
	bool known;
	uint32_t k = 0;

	if (it == NULL)
		return -1;
	while (k < n && trace_iter_next(it, &ev, &known)) {
		event = trace_iter_when(it, &enter, &leave);
		for (; k < n && known && event > 0 && trace_clock_ns(clock, rank, leave) > moment[k]; k++)
			f->cuts->at[(size_t)k * f->cuts->n_ranks + rank] = event;
	}
	for (; k < n; k++)
		f->cuts->at[(size_t)k * f->cuts->n_ranks + rank] = length > 0 ? length - 1 : 0;
	trace_iter_destroy(it);
	return 0;
}

static int places_find(struct finder *f, const struct call_roles *roles, const uint64_t *moment, uint32_t n,
		       struct errbuf *err)
{
	struct trace_clock *clock = trace_clock_create(f->t, err);
	int rv = clock != NULL ? 0 : -1;

	for (f->rank = 0; rv == 0 && f->rank < f->cuts->n_ranks; f->rank++) {
		rv = rank_places(f, clock, f->rank, moment, n, err);
		if (rv == 0 && f->opens)
			rv = usual_places(f, roles, err);
	}
	if (clock != NULL)
		trace_clock_destroy(clock);
	return rv;
}

/* ---- what is near a cut ---- */

/* The cuts whose reach the rank's call is in: [*first, *end). back: also those that it lies before, as near. */
static void cuts_near(const struct finder *f, uint32_t rank, uint64_t event, bool back, uint32_t *first, uint32_t *end)
{
	uint32_t at = cuts_segment(f->cuts, rank, event);

	*first = *end = at;
	while (*first > 0 && (uint64_t)place(f, *first - 1, rank) + f->reach >= event)
		--*first;
	while (back && *end < f->cuts->n && (uint64_t)place(f, *end, rank) <= event + f->reach)
		++*end;
}

static int32_t relative(const struct finder *f, uint32_t cut, uint32_t rank, uint64_t event)
{
	int64_t d = (int64_t)event - place(f, cut, rank);

	return (int32_t)(d < -FAR ? -FAR : d > FAR ? FAR : d);
}

static bool room_left(struct finder *f, struct near_cut *c)
{
	if (f->kept < f->most) {
		f->kept++;
		return true;
	}
	c->dropped = true;
	return false;
}

static void pair_add(struct finder *f, uint32_t cut, uint32_t r0, uint64_t e0, uint32_t r1, uint64_t e1)
{
	struct near_cut *c = &f->near[cut];
	struct parted p = {{r0, r1}, {relative(f, cut, r0, e0), relative(f, cut, r1, e1)}};

	if (!room_left(f, c))
		return;
	if (ARRAY_ROOM(c->pair, c->cap_pair, c->n_pair + 1) != 0)
		f->no_memory = true;
	else
		c->pair[c->n_pair++] = p;
}

static void pair_keep(struct finder *f, uint32_t r0, uint64_t e0, uint32_t r1, uint64_t e1)
{
	uint32_t first, end, other, other_end;

	cuts_near(f, r0, e0, false, &first, &end);
	for (uint32_t k = first; k < end; k++)
		pair_add(f, k, r0, e0, r1, e1);
	cuts_near(f, r1, e1, false, &other, &other_end);
	for (uint32_t k = other; k < other_end; k++)
		if (k < first || k >= end)
			pair_add(f, k, r0, e0, r1, e1);
}

static void own_pair(void *arg, uint64_t first, uint64_t last)
{
	struct finder *f = arg;

	pair_keep(f, f->rank, first, f->rank, last);
}

static void own_part(void *arg, uint64_t event, const struct call_role *r, uint64_t count)
{
	struct finder *f = arg;
	uint64_t key = call_role_key(r, count);
	uint32_t first, end;

	cuts_near(f, f->rank, event, true, &first, &end);
	for (uint32_t k = first; k < end; k++) {
		struct near_cut *c = &f->near[k];

		if (!room_left(f, c))
			continue;
		if (ARRAY_ROOM(c->part, c->cap_part, c->n_part + 1) != 0)
			f->no_memory = true;
		else
			c->part[c->n_part++] = (struct part){key, f->rank, relative(f, k, f->rank, event)};
	}
}

/* The send belongs with the receive of the message that is `lag` before it. */
static int own_message(const struct trace_message *m, void *arg)
{
	struct finder *f = arg;
	struct under_way_channel *c = under_way_at(&f->under_way, m->channel);
	uint64_t *last;

	if (c == NULL) {
		pair_keep(f, m->src, m->send_event, m->dst, m->recv_event);
		return 0;
	}
	last = &c->recv[c->n % c->lag];
	if (c->n++ >= c->lag)
		pair_keep(f, m->src, m->send_event, m->dst, *last);
	*last = m->recv_event;
	return 0;
}

/* ---- what is open at a cut ---- */

static void usual_keep(void *arg, uint64_t event, uint64_t open, const struct open_requests *requests)
{
	struct finder *f = arg;
	uint32_t first, end;

	(void)requests;
	if (open != f->open[f->rank])
		return;
	cuts_near(f, f->rank, event, false, &first, &end);
	for (uint32_t k = first; k < end; k++) {
		struct near_cut *c = &f->near[k];

		if (ARRAY_ROOM(c->usual, c->cap_usual, c->n_usual + 1) != 0)
			f->no_memory = true;
		else
			c->usual[c->n_usual++] = (struct usual){f->rank, relative(f, k, f->rank, event)};
	}
}

/* Move the cut of each rank to the next place where the usual is open. Returns whether it moved. */
static bool usual_draw(const struct near_cut *c, uint32_t n_ranks, int32_t *moved)
{
	bool changed = false;
	uint32_t i = 0;

	for (uint32_t r = 0; r < n_ranks; r++) {
		int32_t to = FAR;

		for (; i < c->n_usual && c->usual[i].rank == r; i++)
			if (to == FAR && c->usual[i].event >= moved[r])
				to = c->usual[i].event;
		changed |= to != moved[r];
		moved[r] = to;
	}
	return changed;
}

/* ---- moving a cut ---- */

/* Number the collectives near the cut. Returns 0, or -1 without memory. */
static int parts_number(struct near_cut *c)
{
	uint64_t *key = malloc((c->n_part + 1u) * sizeof *key);
	struct hash_table numbers = {0};
	uint32_t n = 0, at, k;
	int rv = 0;

	c->begun = calloc(c->n_part + 1u, sizeof *c->begun);
	if (key == NULL || c->begun == NULL)
		rv = -1;
	for (uint32_t i = 0; rv == 0 && i < c->n_part; i++) {
		HASH_TABLE_FOR_EACH(&numbers, c->part[i].key, at, k)
			if (key[k] == c->part[i].key)
				break;
		if (k == HASH_TABLE_NONE) {
			rv = hash_table_add(&numbers, c->part[i].key, n);
			key[n] = c->part[i].key;
			k = n++;
		}
		c->part[i].key = k;
	}
	hash_table_free(&numbers);
	free(key);
	return rv;
}

/* Put the call in front of the cut if the other one is. Returns whether the cut moved. */
static bool draw(int32_t *moved, const struct parted *p)
{
	bool before[2] = {p->event[0] < moved[p->rank[0]], p->event[1] < moved[p->rank[1]]};
	int late = before[0] ? 1 : 0;

	if (before[0] == before[1])
		return false;
	moved[p->rank[late]] = p->event[late] < FAR ? p->event[late] + 1 : FAR;
	return true;
}

/* The same for the parts of collectives. */
static bool draw_parts(const struct near_cut *c, int32_t *moved)
{
	bool changed = false;

	for (uint32_t i = 0; i < c->n_part; i++)
		c->begun[c->part[i].key] |= c->part[i].event < moved[c->part[i].rank];
	for (uint32_t i = 0; i < c->n_part; i++)
		if (c->begun[c->part[i].key] && c->part[i].event >= moved[c->part[i].rank]) {
			moved[c->part[i].rank] = c->part[i].event + 1;
			changed = true;
		}
	return changed;
}

static bool draw_once(const struct near_cut *c, int32_t *moved)
{
	bool changed = false;

	for (uint32_t i = 0; i < c->n_pair; i++)
		changed |= draw(moved, &c->pair[i]);
	return draw_parts(c, moved) || changed;
}

static bool within_reach(const struct finder *f, const int32_t *moved)
{
	for (uint32_t r = 0; r < f->cuts->n_ranks; r++)
		if (moved[r] > (int64_t)f->reach)
			return false;
	return true;
}

/* Move the cut to where it parts nothing; it is dropped if that is out of reach. */
static void cut_move(struct finder *f, uint32_t cut, int32_t *moved)
{
	struct near_cut *c = &f->near[cut];
	bool changed = true;

	memset(moved, 0, f->cuts->n_ranks * sizeof *moved);
	c->dropped |= parts_number(c) != 0;
	while (!c->dropped && changed) {
		changed = draw_once(c, moved);
		changed |= f->opens && usual_draw(c, f->cuts->n_ranks, moved);
		c->dropped |= !within_reach(f, moved);
	}
	for (uint32_t r = 0; !c->dropped && r < f->cuts->n_ranks; r++)
		f->cuts->at[(size_t)cut * f->cuts->n_ranks + r] += (uint64_t)moved[r];
}

/* Is no rank's place in front of the one of the cut before, and one rank's behind it? before: NULL is legal. */
static bool follows(const uint64_t *at, const uint64_t *before, uint32_t n_ranks)
{
	bool more = before == NULL;

	for (uint32_t r = 0; before != NULL && r < n_ranks; r++) {
		if (at[r] < before[r])
			return false;
		more |= at[r] > before[r];
	}
	return more;
}

/* Keep the cuts that are in order: each behind the one before, and in front of the last call. */
static void cuts_sort_out(struct finder *f, const bool *drop)
{
	uint32_t n = f->cuts->n_ranks, kept = 0;

	for (uint32_t k = 0; k < f->cuts->n; k++) {
		const uint64_t *at = f->cuts->at + (size_t)k * n, *before = kept > 0 ? f->cuts->at + (size_t)(kept - 1) * n : NULL;
		bool ok = !drop[k] && follows(at, before, n);

		for (uint32_t r = 0; ok && r < n; r++)
			ok = at[r] > 0 && at[r] < trace_get_rank(f->t, r)->events.length;
		if (!ok)
			continue;
		f->cuts->moment_ns[kept] = f->cuts->moment_ns[k];
		memmove(f->cuts->at + (size_t)kept++ * n, at, n * sizeof *at);
	}
	f->cuts->n = kept;
}

/* ---- proof ---- */

struct proof {
	struct finder *f;
	uint64_t *sum;   /* by segment: hashes of begins in it, less hashes of ends in it */
	uint64_t *open;  /* by cut: hash of the open epochs of all ranks; 0: none is open */
	uint32_t next;   /* cut that the walk comes to */
};

static void proof_pair(void *arg, uint64_t first, uint64_t last)
{
	struct proof *p = arg;
	uint64_t key = XXH3_64bits_withSeed(&first, sizeof first, p->f->rank);

	p->sum[cuts_segment(p->f->cuts, p->f->rank, first)] += key;
	p->sum[cuts_segment(p->f->cuts, p->f->rank, last)] -= key;
}

/* The parts of all members cancel: the weights of the members add up to 0. */
static void proof_part(void *arg, uint64_t event, const struct call_role *r, uint64_t count)
{
	struct proof *p = arg;

	p->sum[cuts_segment(p->f->cuts, p->f->rank, event)] += call_role_key(r, count) * (uint64_t)r->weight;
}

/* The rank that starts an epoch waits for the one that posts its window. */
static void proof_exposure(void *arg, uint64_t event, uint64_t exposure)
{
	struct proof *p = arg;

	p->sum[cuts_segment(p->f->cuts, p->f->rank, event)] += exposure;
}

static void proof_before(void *arg, uint64_t event, uint64_t open, const struct open_requests *requests)
{
	struct proof *p = arg;
	const struct cuts *c = p->f->cuts;

	for (; p->next < c->n && c->at[(size_t)p->next * c->n_ranks + p->f->rank] <= event; p->next++) {
		uint64_t all = open + open_requests_order(requests);

		p->open[p->next] += all != 0 ? XXH3_64bits_withSeed(&all, sizeof all, p->f->rank) : 0;
	}
}

static uint64_t message_key(uint64_t number, uint32_t of)
{
	return XXH3_64bits_withSeed(&number, sizeof number, ~(uint64_t)of);
}

/* The send of message i + lag and the receive of message i cancel. */
static int proof_message(const struct trace_message *m, void *arg)
{
	struct proof *p = arg;
	struct under_way_channel *c = under_way_at(&p->f->under_way, m->channel);
	uint64_t send = c != NULL ? message_key(c->n - c->lag, m->channel) : message_key(m->send_event, m->src);

	p->sum[cuts_segment(p->f->cuts, m->src, m->send_event)] += send;
	p->sum[cuts_segment(p->f->cuts, m->dst, m->recv_event)] -= c != NULL ? message_key(c->n++, m->channel) : send;
	return 0;
}

/* All cuts lie between the sends of the first messages that are under way, and the receives of the last ones. */
static void proof_ends(struct proof *p)
{
	const struct under_way *u = &p->f->under_way;

	for (uint32_t k = 0; k < u->n; k++)
		for (uint32_t i = 0; i < u->channel[k].lag; i++) {
			p->sum[0] -= message_key((uint64_t)i - u->channel[k].lag, k);
			p->sum[p->f->cuts->n] += message_key(u->channel[k].n - u->channel[k].lag + i, k);
		}
}

/* The hash of open epochs that most of the cuts have. */
static uint64_t usual_open(const struct proof *p, const bool *drop)
{
	uint64_t usual = 0;
	uint32_t most = 0;

	for (uint32_t k = 0; k < p->f->cuts->n; k++) {
		uint32_t same = 0;

		for (uint32_t j = 0; !drop[k] && j < p->f->cuts->n; j++)
			same += !drop[j] && p->open[j] == p->open[k];
		if (same > most) {
			most = same;
			usual = p->open[k];
		}
	}
	return usual;
}

/* Drop the cuts that part something, and those whose open epochs are not the usual ones. */
static void proof_apply(const struct proof *p, bool *drop)
{
	uint64_t across = 0, usual;

	for (uint32_t k = 0; k < p->f->cuts->n; k++) {
		across += p->sum[k];
		drop[k] = across != 0;
	}
	usual = usual_open(p, drop);
	for (uint32_t k = 0; k < p->f->cuts->n; k++)
		drop[k] |= p->open[k] != usual;
	for (uint32_t k = 0; k < p->f->cuts->n; k++)
		p->f->cuts->state[k] = usual;
	p->f->cuts->under_way = p->f->under_way.any;
	p->f->cuts->longer = p->f->under_way.longer;
}

static int prove(struct finder *f, const struct call_roles *roles, bool *drop, struct errbuf *err)
{
	struct proof p = {.f = f, .sum = calloc(f->cuts->n + 1u, sizeof *p.sum), .open = calloc(f->cuts->n + 1u, sizeof *p.open)};
	const struct walk_listener l = {&p, proof_pair, proof_part, proof_before, proof_exposure};
	struct trace_messages_report report;
	int rv = p.sum != NULL && p.open != NULL ? 0 : err_set(err, "no memory to cut the run");

	for (f->rank = 0; rv == 0 && f->rank < f->cuts->n_ranks; f->rank++) {
		p.next = 0;
		rv = rank_walk(trace_get_rank(f->t, f->rank), &roles[f->rank], &l, err);
	}
	under_way_begin(&f->under_way);
	if (rv == 0)
		rv = trace_messages(f->t, proof_message, &p, &report, err);
	if (rv == 0) {
		proof_ends(&p);
		proof_apply(&p, drop);
	}
	free(p.sum);
	free(p.open);
	return rv;
}

/* ---- all ---- */

static int near_collect(struct finder *f, const struct call_roles *roles, struct errbuf *err)
{
	const struct walk_listener l = {f, own_pair, own_part, f->opens ? usual_keep : NULL, NULL};
	struct trace_messages_report report;

	for (f->rank = 0; f->rank < f->cuts->n_ranks; f->rank++)
		if (rank_walk(trace_get_rank(f->t, f->rank), &roles[f->rank], &l, err) != 0)
			return -1;
	under_way_begin(&f->under_way);
	if (trace_messages(f->t, own_message, f, &report, err) != 0)
		return -1;
	return f->no_memory ? err_set(err, "no memory to cut the run") : 0;
}

static int find(struct finder *f, const struct call_roles *roles, const uint64_t *moment_ns, uint32_t n, struct errbuf *err)
{
	int32_t *moved = calloc(f->cuts->n_ranks + 1u, sizeof *moved);
	bool *drop = calloc(n + 1u, sizeof *drop);
	int rv = -1;

	if (moved == NULL || drop == NULL || f->near == NULL || f->open == NULL || f->cuts->at == NULL ||
	    f->cuts->moment_ns == NULL || f->cuts->state == NULL)
		err_set(err, "no memory to cut the run at %u places", n);
	else if (places_find(f, roles, moment_ns, n, err) == 0 &&
		 (!roles->under_way || under_way_find(f->t, f->cuts, &f->under_way, err) == 0) && near_collect(f, roles, err) == 0)
		rv = 0;
	for (uint32_t k = 0; rv == 0 && k < n; k++) {
		cut_move(f, k, moved);
		drop[k] = f->near[k].dropped;
	}
	if (rv == 0) {
		cuts_sort_out(f, drop);
		rv = prove(f, roles, drop, err);
	}
	if (rv == 0)
		cuts_sort_out(f, drop);
	free(moved);
	free(drop);
	return rv;
}

/* May something be open at a cut, and be closed at other places? */
static bool leaves_open(const struct call_roles *roles, uint32_t n_ranks)
{
	bool open = false;

	for (uint32_t r = 0; r < n_ranks; r++) {
		open |= roles[r].open_requests;
		for (uint32_t i = 0; i < roles[r].n_role; i++)
			open |= roles[r].role[i].epoch != 0;
	}
	return open;
}

int cuts_find(const struct trace *t, const struct call_roles *roles, const uint64_t *moment_ns, uint32_t n, struct cuts *out,
	      struct errbuf *err)
{
	uint32_t n_ranks = trace_n_ranks(t);
	struct finder f = {.t = t, .cuts = out, .near = calloc(n + 1u, sizeof *f.near),
			   .opens = leaves_open(roles, n_ranks), .open = calloc(n_ranks + 1u, sizeof *f.open)};
	int rv;

	*out = (struct cuts){.n = n, .n_ranks = n_ranks, .at = calloc((size_t)n * n_ranks + 1, sizeof *out->at),
			      .moment_ns = calloc(n + 1u, sizeof *out->moment_ns),
			      .state = calloc(n + 1u, sizeof *out->state)};
	if (out->moment_ns != NULL)
		memcpy(out->moment_ns, moment_ns, n * sizeof *moment_ns);
	f.reach = PAIRS_MOST / CALL_PAIRS / ((uint64_t)n * n_ranks + 1);
	f.most = f.reach < REACH_LEAST ? PAIRS_RANKS : PAIRS_MOST;
	f.reach = f.reach < REACH_LEAST ? REACH_LEAST : f.reach > REACH_MOST ? REACH_MOST : f.reach;
	rv = find(&f, roles, moment_ns, n, err);
	for (uint32_t k = 0; f.near != NULL && k < n; k++) {
		free(f.near[k].pair);
		free(f.near[k].part);
		free(f.near[k].begun);
		free(f.near[k].usual);
	}
	free(f.near);
	free(f.open);
	under_way_free(&f.under_way);
	if (rv != 0)
		cuts_free(out);
	return rv;
}

/* ---- several states ---- */

/* A cut may have been moved over the moments of others: the moments do not fall here. */
static void cut_copy(struct cuts *to, const struct cuts *from, uint32_t k)
{
	const uint64_t last_ns = to->n > 0 ? to->moment_ns[to->n - 1] : 0;

	memcpy(to->at + (size_t)to->n * to->n_ranks, from->at + (size_t)k * to->n_ranks, to->n_ranks * sizeof *to->at);
	to->moment_ns[to->n] = from->moment_ns[k] > last_ns ? from->moment_ns[k] : last_ns;
	to->state[to->n++] = from->state[k];
}

/* Cuts of `others` between the last cut of `to` and the place `end`, NULL: the end of the run. */
static void stretch_fill(struct cuts *to, const struct cuts *others, const uint64_t *end)
{
	const size_t n = to->n_ranks;

	for (uint32_t k = 0; k < others->n; k++) {
		const uint64_t *at = others->at + k * n, *last = to->n > 0 ? to->at + (to->n - 1) * n : NULL;

		if (follows(at, last, to->n_ranks) && (end == NULL || follows(end, at, to->n_ranks)))
			cut_copy(to, others, k);
	}
}

int cuts_fill(struct cuts *c, const struct cuts *others, double long_ns, double end_ns, struct errbuf *err)
{
	const size_t most = (size_t)c->n + others->n + 1;
	struct cuts all = {.n_ranks = c->n_ranks, .at = calloc(most * c->n_ranks, sizeof *all.at), .longer = c->longer,
			   .moment_ns = calloc(most, sizeof *all.moment_ns), .state = calloc(most, sizeof *all.state)};

	if (all.at == NULL || all.moment_ns == NULL || all.state == NULL) {
		cuts_free(&all);
		return err_set(err, "no memory to cut the run at %zu places", most);
	}
	for (uint32_t k = 0; k <= c->n; k++) {
		const uint32_t before = all.n;
		double from = k > 0 ? (double)c->moment_ns[k - 1] : 0, to = k < c->n ? (double)c->moment_ns[k] : end_ns;

		if (to - from > long_ns)
			stretch_fill(&all, others, k < c->n ? c->at + (size_t)k * c->n_ranks : NULL);
		if (all.n < before + FILL_LEAST)
			all.n = before;
		if (k < c->n)
			cut_copy(&all, c, k);
	}
	cuts_free(c);
	*c = all;
	return 0;
}

bool cuts_must_run(const struct cuts *c, uint32_t segment)
{
	uint64_t before = segment > 0 ? c->state[segment - 1] : 0, behind = segment < c->n ? c->state[segment] : 0;

	return before != behind || (c->under_way && (segment == 0 || segment == c->n));
}

void cuts_free(struct cuts *c)
{
	free(c->at);
	free(c->moment_ns);
	free(c->state);
	*c = (struct cuts){0};
}
