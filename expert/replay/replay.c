/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The run once more, as it was and without problems: see replay.h. */
#include "expert/replay/replay.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "expert/replay/replay_impl.h"

#define MAX_NODES  (1u << 20)
#define MAX_PAST   (1u << 21) /* calls remembered, of all ranks */
/* First parts of keys. The first part of a message's key is its channel. */
#define KEY_COLLECTIVE (2ull << 60)
#define KEY_NEIGHBOUR  (3ull << 60)
#define LARGE_BYTES 4096      /* more: a message that may stand still, as conf/problems.rules has it */
#define LEAST_SHARE 1000      /* a problem of less than this part of the time is not replayed */

/* ---- nodes ---- */

static struct replay_node **bucket(struct replay *p, const uint64_t *key)
{
	uint64_t h = (key[0] ^ key[1] * 0xc2b2ae3d27d4eb4full) * 0x9e3779b97f4a7c15ull;

	return &p->slot[(h >> 32) & (p->n_slot - 1)];
}

static int node_room(struct replay *p)
{
	uint32_t n = p->n_slot ? 2 * p->n_slot : 1024, old_n = p->n_slot;
	struct replay_node **old = p->slot, **slot;

	if (p->n_node < p->n_slot)
		return 0;
	slot = calloc(n, sizeof(*slot));
	if (!slot)
		return -1;
	p->slot = slot;
	p->n_slot = n;
	for (uint32_t i = 0; i < old_n; i++)
		while (old[i]) {
			struct replay_node *x = old[i], **b = bucket(p, x->key);

			old[i] = x->next;
			x->next = *b;
			*b = x;
		}
	free(old);
	return 0;
}

struct replay_node *replay_node_of(struct replay *p, uint64_t a, uint64_t b, uint32_t parts)
{
	const uint64_t key[2] = {a, b};
	struct replay_node *x, **at;

	if (node_room(p) < 0)
		return NULL;
	at = bucket(p, key);
	for (x = *at; x; x = x->next)
		if (x->key[0] == a && x->key[1] == b)
			return x;
	if (p->n_node == MAX_NODES) {
		p->incomplete = true;
		return NULL;
	}
	x = p->free_node;
	if (x)
		p->free_node = x->next;
	else if (!(x = malloc(sizeof(*x))))
		return NULL;
	memcpy(x->key, key, sizeof(key));
	x->side[0].n = x->side[1].n = 0;
	x->side[0].ns = x->side[1].ns = 0;
	x->back[0].ns = x->back[1].ns = 0;
	x->is_large = x->is_synchronous = false;
	x->scan = NULL;
	x->left = parts;
	x->next = *at;
	*at = x;
	p->n_node++;
	return x;
}

static void node_leave(struct replay *p, struct replay_node *x)
{
	struct replay_node **at;

	if (--x->left)
		return;
	for (at = bucket(p, x->key); *at != x; at = &(*at)->next)
		;
	*at = x->next;
	scan_destroy(p, x->scan);
	x->next = p->free_node;
	p->free_node = x;
	p->n_node--;
}

void replay_side_merge(const struct replay *p, struct replay_side *s, const struct replay_side *x)
{
	if (!s->n || !x->n) {
		*s = x->n ? *x : *s;
		return;
	}
	if (x->ns > s->ns) {
		s->ns = x->ns;
		s->rank = x->rank;
	}
	for (uint32_t c = 0; c < p->n_case; c++) {
		s->at[c] = x->at[c] > s->at[c] ? x->at[c] : s->at[c];
		s->early[c] = x->early[c] > s->early[c] ? x->early[c] : s->early[c];
		s->sum[c] += x->sum[c];
	}
	s->n += x->n;
}

void replay_side_add(const struct replay *p, struct replay_side *s, uint32_t rank, uint64_t ns)
{
	const struct replay_rank *k = &p->rank[rank];
	struct replay_side x = {.ns = ns, .rank = rank, .n = 1};

	for (uint32_t c = 0; c < p->n_case; c++) {
		x.at[c] = k->at[c];
		x.early[c] = k->early[c];
		x.sum[c] = (double)k->at[c];
	}
	replay_side_merge(p, s, &x);
}

static uint64_t rounded(double ns)
{
	return ns < 1e19 ? (uint64_t)(ns + 0.5) : (uint64_t)1e19;
}

/* ---- the end of a call ---- */

static const struct replay_side *needed(const struct replay *p, const struct replay_rank *k,
					const struct replay_part *x)
{
	const struct replay_side *s = &x->node->side[x->needs == RN_SECOND];

	if (x->node->scan && x->done_event == k->event)
		s = scan_needed(p, x, k->leave_ns);
	return x->needs == RN_NOTHING || x->done_event != k->event || !s->n || s->ns > k->leave_ns ? NULL : s;
}

/* The other rank of a large message, which it stood still for until that one was back in MPI; NULL: it did not. */
static const struct replay_back *held_up(const struct replay_rank *k, const struct replay_part *x)
{
	bool sends = x->needs == RN_SECOND;
	const struct replay_back *b = &x->node->back[sends];

	if (x->needs == RN_NOTHING || x->done_event != k->event || !(x->node->is_large || (sends && x->node->is_synchronous)))
		return NULL;
	return b->ns > k->enter_ns && b->ns < k->leave_ns ? b : NULL;
}

/* Its rank may wait for the receiver, but gets nothing from it. */
static bool is_send(const struct replay_part *x)
{
	return x->node->key[0] < KEY_COLLECTIVE && x->needs == RN_SECOND;
}

/* All that the call waited for, of its parts that end with it. -1 without memory. */
static int gather(struct replay *p, uint32_t rank)
{
	const struct replay_rank *k = &p->rank[rank];

	p->n_ending = 0;
	for (uint32_t i = 0; i < k->n_part && k->due <= k->event; i++) {
		const struct replay_side *s = needed(p, k, &k->part[i]);

		if (!s)
			continue;
		if (ARRAY_ROOM(p->ending, p->cap_ending, p->n_ending + 1) != 0)
			return -1;
		p->ending[p->n_ending++] = (struct replay_ending){
			&k->part[i], s, held_up(k, &k->part[i]), marks_problems(&p->report->marks, rank, k->part[i].event)};
	}
	return 0;
}

/* All ranks entered at the mean of their times. Then follows the computation of the rank until it waits for a call that does not
 * block. */
static uint64_t balanced_end(const struct replay *p, uint32_t rank, uint32_t c, const struct replay_ending *x)
{
	uint64_t mean = rounded(x->side->sum[c] / x->side->n), at = p->rank[rank].at[c];

	return x->part->event != x->part->done_event && at > x->part->came_ns ? mean + (at - x->part->came_ns) : mean;
}

/* When the call ends in that case, without what it takes beyond waiting. */
static uint64_t case_end(const struct replay *p, uint32_t rank, uint32_t c)
{
	uint64_t end = p->rank[rank].at[c];

	for (uint32_t i = 0; i < p->n_ending; i++) {
		const struct replay_ending *x = &p->ending[i];
		uint8_t remedy = c && x->problems >> p->problem[c] & 1 ? p->remedy[c] : RR_NONE;
		uint64_t other;

		if (remedy == RR_BALANCE && x->part->node->scan)
			continue; /* its rank is moved when all have come */
		if (remedy == RR_BALANCE)
			return balanced_end(p, rank, c, x);
		other = remedy == RR_EARLIER ? x->side->early[c] : x->side->at[c];
		end = other > end ? other : end;
		if (x->back && remedy != RR_PROGRESS)
			end = x->back->at[c] > end ? x->back->at[c] : end;
	}
	return end;
}

/* Time of the call that a remedy takes away, at once or from later calls. marked: problems that the call is of. */
static uint64_t taken(struct replay *p, uint32_t rank, uint32_t c, uint64_t marked, uint64_t most)
{
	struct replay_rank *k = &p->rank[rank];
	uint64_t ns;

	if (!c || p->remedy[c] != RR_REMOVE)
		return 0;
	if (marked >> p->problem[c] & 1)
		k->credit[c] += marks_find(&p->report->marks, p->problem[c], rank, k->event)->ns;
	ns = k->credit[c] < most ? k->credit[c] : most;
	k->credit[c] -= ns;
	return ns;
}

static void remember(struct replay *p, struct replay_rank *k, uint64_t until, uint32_t cause)
{
	k->past[k->n_past++ & (p->past - 1)] = (struct replay_past){.from_ns = k->from_ns, .enter_ns = k->enter_ns,
								     .until_ns = until, .leave_ns = k->leave_ns,
								     .cause = cause, .sym = k->sym};
}

/* Parts that end with the call leave their nodes. */
static void leave_nodes(struct replay *p, struct replay_rank *k)
{
	uint32_t n = 0;

	if (k->due > k->event)
		return;
	k->due = UINT64_MAX;
	for (uint32_t i = 0; i < k->n_part; i++) {
		if (k->part[i].done_event == k->event) {
			node_leave(p, k->part[i].node);
			continue;
		}
		k->due = k->part[i].done_event < k->due ? k->part[i].done_event : k->due;
		k->part[n++] = k->part[i];
	}
	k->n_part = n;
}

/* The wait of a call in the run as it was. */
struct waited {
	uint64_t until;
	uint32_t cause;
	uint64_t problems; /* problems of the event that came last; 0: it has none, or the call waited for nothing */
};

static int blame(struct replay *p, const struct waited *w, uint64_t from, bool progress)
{
	uint64_t problems = w->problems & p->waits[progress];

	return problems ? blame_wait(p, (uint32_t)__builtin_ctzll(problems), w->cause, from, w->until) : 0;
}

/* All that the rank's call waited for has been told by now. */
static int end_call(struct replay *p, uint32_t rank)
{
	struct replay_rank *k = &p->rank[rank];
	struct waited begun = {.until = k->enter_ns, .cause = rank}, moved;
	uint64_t beyond, marked;
	bool got = false;

	if (!k->in_call)
		return 0;
	if (gather(p, rank) < 0)
		return -1;
	for (uint32_t i = 0; i < p->n_ending; i++) {
		const struct replay_ending *x = &p->ending[i];

		got |= !is_send(x->part);
		if (x->side->ns > begun.until)
			begun = (struct waited){x->side->ns, x->side->rank, x->problems};
	}
	moved = (struct waited){begun.until, begun.cause, 0};
	for (uint32_t i = 0; i < p->n_ending; i++) {
		const struct replay_ending *x = &p->ending[i];

		if (x->back && x->back->ns > moved.until)
			moved = (struct waited){x->back->ns, x->back->rank, x->problems};
	}
	beyond = k->leave_ns - moved.until;
	if (blame(p, &begun, k->enter_ns, false) < 0 || blame(p, &moved, begun.until, true) < 0)
		return -1;
	marked = p->removes ? marks_problems(&p->report->marks, rank, k->event) : 0;
	for (uint32_t c = 0; c < p->n_case; c++) {
		uint64_t end = case_end(p, rank, c);
		uint64_t most = end + beyond - (end < k->at[c] ? end : k->at[c]); /* all of the call */

		k->waited[c] = end > k->at[c] ? k->event + 1 : k->waited[c];
		k->end[c] = end + beyond - taken(p, rank, c, marked, most);
		k->early[c] = got ? k->end[c] : k->early[c];
	}
	window_call_ended(p, rank);
	remember(p, k, moved.until, moved.cause);
	leave_nodes(p, k);
	k->in_call = false;
	return 0;
}

/* The rank is in MPI again, where it completes messages of it. */
static void come_back(const struct replay *p, uint32_t rank)
{
	const struct replay_rank *k = &p->rank[rank];

	for (uint32_t i = 0; i < k->n_part && k->due <= k->event; i++) {
		const struct replay_part *x = &k->part[i];
		struct replay_back *b = &x->node->back[x->needs == RN_FIRST];

		if (!x->is_outside || x->done_event != k->event)
			continue;
		b->ns = k->enter_ns;
		b->rank = rank;
		memcpy(b->at, k->at, sizeof(b->at));
	}
}

static int begin_call(struct replay *p, uint32_t rank, const struct pending *x)
{
	struct replay_rank *k = &p->rank[rank];
	bool first = !k->in_call && !k->n_past;
	uint64_t gap;

	window_settle(p, k->in_call && k->leave_ns > x->s.start_ns ? k->leave_ns : x->s.start_ns);
	if (end_call(p, rank) < 0)
		return -1;
	k->from_ns = first ? x->s.start_ns : k->leave_ns;
	k->enter_ns = x->s.start_ns > k->from_ns ? x->s.start_ns : k->from_ns;
	k->leave_ns = x->s.finish_ns > k->enter_ns ? x->s.finish_ns : k->enter_ns;
	k->event = (uint64_t)x->s.event;
	k->sym = x->sym;
	k->in_call = true;
	gap = k->enter_ns - k->from_ns;
	for (uint32_t c = 0; c < p->n_case; c++) {
		if (first)
			k->end[c] = k->early[c] = k->enter_ns;
		k->at[c] = k->end[c] + (c && p->remedy[c] == RR_LEVEL ? rounded((double)gap * k->factor) : gap);
	}
	come_back(p, rank);
	return 0;
}

/* ---- events ---- */

static int add_part(struct replay_rank *k, struct replay_part x)
{
	if (ARRAY_ROOM(k->part, k->cap_part, k->n_part + 1) != 0)
		return -1;
	k->part[k->n_part++] = x;
	k->due = x.done_event < k->due ? x.done_event : k->due;
	return 0;
}

uint32_t replay_balanced_case(const struct replay *p, uint32_t rank, uint64_t event)
{
	uint64_t problems = marks_problems(&p->report->marks, rank, event);

	for (uint32_t c = 1; c < p->n_case; c++)
		if (p->remedy[c] == RR_BALANCE && problems >> p->problem[c] & 1)
			return c;
	return 0;
}

int replay_part_add(struct replay *p, uint32_t rank, const struct pending *x, struct replay_node *node, int gives, uint8_t needs)
{
	struct replay_rank *k = &p->rank[rank];

	if (!node)
		return p->incomplete ? 0 : -1;
	if (add_part(k, (struct replay_part){.node = node, .event = (uint64_t)x->s.event, .done_event = x->done_event,
					     .came_ns = k->at[replay_balanced_case(p, rank, (uint64_t)x->s.event)],
					     .needs = needs}) < 0)
		return -1;
	replay_side_add(p, &node->side[gives], rank, k->enter_ns);
	return 0;
}

/* Which message of its channel. -1 without memory. */
static int64_t ordinal(struct replay *p, uint32_t channel, bool sends)
{
	uint32_t n_sent = p->n_channel;

	if (ARRAY_ROOM_ZEROED(p->sent, n_sent, channel + 1ull) != 0 ||
	    ARRAY_ROOM_ZEROED(p->posted, p->n_channel, channel + 1ull) != 0)
		return -1;
	return (int64_t)(sends ? p->sent : p->posted)[channel]++;
}

static int on_message(struct replay *p, uint32_t rank, const struct pending *x)
{
	bool waits = x->v[x->wait].i < x->v[x->wait + 1].i;
	const union rules_value *outside = &x->v[x->is_send ? INPUT_SEND_OUTSIDE : INPUT_RECV_OUTSIDE];
	struct replay_node *node;
	int64_t k;

	if (x->channel == MSG_NONE)
		return 0;
	k = ordinal(p, x->channel, x->is_send);
	if (k < 0)
		return -1;
	node = replay_node_of(p, x->channel, (uint64_t)k, 2);
	if (replay_part_add(p, rank, x, node, !x->is_send, !x->is_send ? RN_FIRST : waits ? RN_SECOND : RN_NOTHING) < 0)
		return -1;
	if (!node)
		return 0;
	if (x->is_send) {
		node->is_large = x->v[4].i > LARGE_BYTES;
		node->is_synchronous = x->v[8].i;
	}
	p->rank[rank].part[p->rank[rank].n_part - 1].is_outside = outside[0].i < outside[1].i;
	return 0;
}

/* The wait for a message whose receive follows, and is of the same part of the problem. */
static int on_probe(struct replay *p, uint32_t rank, const struct pending *x)
{
	uint64_t next = x->channel < p->n_channel ? p->posted[x->channel] : 0;
	struct replay_node *node;

	if (x->channel == MSG_NONE || x->v[0].i < 0)
		return 0;
	node = replay_node_of(p, x->channel, next, 2);
	if (!node)
		return p->incomplete ? 0 : -1;
	if (add_part(&p->rank[rank], (struct replay_part){.node = node, .event = (uint64_t)x->v[0].i,
							  .done_event = (uint64_t)x->s.event, .needs = RN_FIRST}) < 0)
		return -1;
	node->left++;
	return 0;
}

static int on_collective(struct replay *p, const struct input_types *t, uint32_t rank, const struct pending *x)
{
	bool rooted = x->type == t->to_one || x->type == t->from_one, is_root = x->v[4].i;
	uint64_t a = KEY_COLLECTIVE | (uint64_t)x->type << 32 | (uint32_t)x->v[0].i, b = (uint64_t)x->v[1].i;
	struct replay_rank *k = &p->rank[rank];
	uint8_t needs = RN_SECOND;
	struct replay_node *node;

	if (x->type == t->fence || x->type == t->file_coll)
		b ^= (uint64_t)x->v[9].i * 0x9e3779b97f4a7c15ull;
	if (x->type == t->to_one)
		needs = is_root ? RN_SECOND : RN_NOTHING;
	else if (x->type == t->from_one)
		needs = is_root ? RN_NOTHING : RN_FIRST;
	node = replay_node_of(p, a, b, (uint32_t)x->v[2].i);
	if (replay_part_add(p, rank, x, node, !(rooted && is_root), needs) < 0)
		return -1;
	if (x->type != t->scan || !node)
		return 0;
	k->part[k->n_part - 1].place = x->place;
	return scan_come(p, rank, &k->part[k->n_part - 1], (uint32_t)x->v[2].i);
}

static int on_neighbour(struct replay *p, uint32_t rank, const struct pending *x, bool gives)
{
	uint64_t a = KEY_NEIGHBOUR | ((uint64_t)x->v[2].i & 0xfffff) << 40 | ((uint64_t)x->v[0].i & 0xfffff) << 20 |
		     ((uint64_t)x->v[1].i & 0xfffff);

	return replay_part_add(p, rank, x, replay_node_of(p, a, (uint64_t)x->v[3].i, 2), !gives, gives ? RN_NOTHING : RN_FIRST);
}

static int on_event(void *arg, const struct input *in, const struct pending *x, struct errbuf *err)
{
	const struct input_types *t = &in->type;
	struct replay *p = arg;
	uint32_t rank = x->s.rank;
	int rv = 0;

	if (x->type == t->call)
		rv = begin_call(p, rank, x);
	else if (!p->rank[rank].in_call || x->s.untimed || (uint64_t)x->s.event != p->rank[rank].event)
		;
	else if (x->type == t->send || x->type == t->recv)
		rv = on_message(p, rank, x);
	else if (x->type == t->probe)
		rv = on_probe(p, rank, x);
	else if (x->type == t->barrier || x->type == t->to_one || x->type == t->from_one || x->type == t->to_all ||
		 x->type == t->scan || x->type == t->window || x->type == t->fence || x->type == t->file_coll)
		rv = on_collective(p, t, rank, x);
	else if (x->type == t->neighbour || x->type == t->neighbour_data)
		rv = on_neighbour(p, rank, x, x->type == t->neighbour_data);
	else
		rv = window_told(p, t, rank, x);
	return rv < 0 ? err_set(err, "no memory for the replay") : 0;
}

/* ---- all ---- */

/* The greatest problems that a remedy is known for. */
static void choose_cases(struct replay *p, double rank_ns)
{
	const struct report *r = p->report;

	p->n_case = 1;
	for (uint32_t i = 0; i < r->n_problem && i < MARKS_PROBLEMS; i++) {
		uint32_t at = p->n_case;

		if (r->problem[i].remedy == RR_NONE || (double)r->problem[i].duration_ns * LEAST_SHARE < rank_ns)
			continue;
		if (p->n_case < REPLAY_CASES)
			p->n_case++;
		else if (r->problem[p->problem[--at]].duration_ns >= r->problem[i].duration_ns)
			continue;
		for (; at > 1 && r->problem[p->problem[at - 1]].duration_ns < r->problem[i].duration_ns; at--)
			p->problem[at] = p->problem[at - 1];
		p->problem[at] = i;
	}
	for (uint32_t c = 1; c < p->n_case; c++) {
		p->remedy[c] = r->problem[p->problem[c]].remedy;
		p->removes |= p->remedy[c] == RR_REMOVE;
	}
	for (uint32_t i = 0; i < r->n_problem && i < MARKS_PROBLEMS; i++)
		if (r->problem[i].is_wait)
			p->waits[r->problem[i].remedy == RR_PROGRESS] |= 1ull << i;
}

static double computed_ns(const struct trace_rank *k)
{
	return (double)k->defs.proc.state_ticks[TSTATE_WORKING] * k->defs.proc.ns_per_tick;
}

static int open_ranks(struct replay *p)
{
	double mean = 0;
	uint32_t present = 0;

	p->past = MAX_PAST;
	while (p->past > 64 && (uint64_t)p->past * p->n_ranks > MAX_PAST)
		p->past /= 2;
	while (p->past > 16384)
		p->past /= 2;
	for (uint32_t r = 0; r < p->n_ranks; r++)
		if (trace_get_rank(p->t, r)->present) {
			mean += computed_ns(trace_get_rank(p->t, r));
			present++;
		}
	for (uint32_t r = 0; r < p->n_ranks; r++) {
		double own = trace_get_rank(p->t, r)->present ? computed_ns(trace_get_rank(p->t, r)) : 0;

		p->rank[r].factor = own > 0 ? mean / present / own : 1;
		p->rank[r].due = UINT64_MAX;
		p->rank[r].past = malloc(p->past * sizeof(*p->rank[r].past));
		if (!p->rank[r].past)
			return -1;
	}
	return 0;
}

static int close_run(struct replay *p)
{
	uint64_t span[REPLAY_CASES] = {0}, was = 0;

	window_settle(p, UINT64_MAX);
	for (uint32_t r = 0; r < p->n_ranks; r++) {
		struct replay_rank *k = &p->rank[r];

		if (end_call(p, r) < 0)
			return -1;
		if (!k->n_past)
			continue;
		was = k->leave_ns > was ? k->leave_ns : was;
		for (uint32_t c = 0; c < p->n_case; c++)
			span[c] = k->end[c] > span[c] ? k->end[c] : span[c];
	}
	p->out->span_ns = was;
	p->out->error_ns = span[0] > was ? span[0] - was : was - span[0];
	p->out->complete = !p->incomplete && !p->report->marks.full;
	for (uint32_t c = 1; c < p->n_case && p->out->complete; c++) {
		struct report_problem *q = &p->report->problem[p->problem[c]];

		q->has_gain = true;
		q->gain_ns = span[0] > span[c] ? span[0] - span[c] : 0;
	}
	return blame_tell(p);
}

static void close_all(struct replay *p)
{
	for (uint32_t i = 0; i < p->n_slot; i++)
		while (p->slot[i]) {
			struct replay_node *x = p->slot[i];

			p->slot[i] = x->next;
			scan_destroy(p, x->scan);
			free(x);
		}
	while (p->free_node) {
		struct replay_node *x = p->free_node;

		p->free_node = x->next;
		free(x);
	}
	for (uint32_t r = 0; p->rank && r < p->n_ranks; r++) {
		free(p->rank[r].part);
		free(p->rank[r].past);
	}
	free(p->rank);
	free(p->slot);
	free(p->sent);
	free(p->posted);
	free(p->cause);
	free(p->ending);
	windows_destroy(p->windows);
}

int replay_run(const struct trace *t, struct input_clock *clock, struct engine *e, struct report *r, double rank_seconds, void (*progress)(double share),
	       struct replay_report *out, struct errbuf *err)
{
	struct replay p = {.t = t, .report = r, .n_ranks = trace_n_ranks(t), .out = out};
	int rv = -1;

	*out = (struct replay_report){0};
	p.rank = calloc(p.n_ranks + 1ull, sizeof(*p.rank));
	p.windows = windows_create(p.n_ranks);
	if (!p.rank || !p.windows || open_ranks(&p) < 0) {
		err_set(err, "no memory for the replay");
		goto out;
	}
	choose_cases(&p, rank_seconds * 1e9);
	rv = input_watch(t, clock, e, on_event, &p, progress, err);
	if (rv == 0 && close_run(&p) < 0)
		rv = err_set(err, "no memory for the replay");
out:
	close_all(&p);
	return rv;
}
