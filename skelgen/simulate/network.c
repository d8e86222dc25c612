/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queues of messages per sender and destination, of receives per destination, and collectives per communicator. Items live
 * in one pool each and are linked by index. A receive from one sender does not pass the messages of all others. */
#include "skelgen/simulate/network.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/hash_table.h"

enum item_kind { ITEM_FREE, ITEM_MESSAGE, ITEM_RECEIVE, ITEM_MEMBER };

/* A message under way, a receive (posted, then a request), or a rank's part in a collective. */
struct item {
	uint8_t kind;
	bool done;       /* a send that waits for nothing more, a receive that has its message */
	bool released;   /* a message whose sender has forgotten it */
	bool is_root;
	uint8_t pattern;
	uint32_t next, instance;
	uint64_t sent;   /* number of a message that is not expected yet */
	struct net_message m;
};

struct instance {
	uint32_t next;
	uint64_t sequence;
	const char *name;
	int64_t root, bytes;
	uint32_t members, arrived, held, first_rank, first_node;
	bool root_arrived;
};

struct list {
	uint32_t head, tail;
};

/* Messages that are not expected yet, from one sender on one communicator. */
struct channel {
	uint32_t comm, to;
	int64_t source;
	struct list list;
	uint32_t next; /* of the same destination */
};

struct net {
	uint32_t n_ranks, n_comms;
	struct item *item;
	uint32_t n_item, cap_item, free_item;
	struct instance *inst;
	uint32_t n_inst, cap_inst, free_inst;
	struct channel *channel;
	uint32_t n_channel, cap_channel;
	struct hash_table channels;
	uint32_t *unexpected; /* first channel, by destination */
	struct list *posted;  /* by destination */
	uint64_t n_sent;
	uint32_t *collectives;            /* instances under way, by communicator */
	bool no_memory;
};

struct net *net_create(uint32_t n_ranks, uint32_t n_comms)
{
	struct net *n = calloc(1, sizeof *n);

	if (n == NULL)
		return NULL;
	n->n_ranks = n_ranks;
	n->n_comms = n_comms;
	n->free_item = n->free_inst = NET_NONE;
	n->unexpected = calloc(n_ranks + 1u, sizeof *n->unexpected);
	n->posted = calloc(n_ranks + 1u, sizeof *n->posted);
	n->collectives = calloc(n_comms + 1u, sizeof *n->collectives);
	if (n->unexpected == NULL || n->posted == NULL || n->collectives == NULL) {
		net_destroy(n);
		return NULL;
	}
	memset(n->unexpected, 0xff, (n_ranks + 1u) * sizeof *n->unexpected);
	memset(n->posted, 0xff, (n_ranks + 1u) * sizeof *n->posted);
	memset(n->collectives, 0xff, (n_comms + 1u) * sizeof *n->collectives);
	return n;
}

void net_destroy(struct net *n)
{
	if (n == NULL)
		return;
	free(n->item);
	free(n->inst);
	free(n->channel);
	hash_table_free(&n->channels);
	free(n->unexpected);
	free(n->posted);
	free(n->collectives);
	free(n);
}

bool net_no_memory(const struct net *n)
{
	return n->no_memory;
}

static uint32_t item_new(struct net *n, uint8_t kind)
{
	uint32_t i = n->free_item;

	if (i != NET_NONE) {
		n->free_item = n->item[i].next;
	} else {
		if (ARRAY_ROOM(n->item, n->cap_item, n->n_item + 1) != 0) {
			n->no_memory = true;
			return NET_NONE;
		}
		i = n->n_item++;
	}
	memset(&n->item[i], 0, sizeof n->item[i]);
	n->item[i].kind = kind;
	n->item[i].next = NET_NONE;
	return i;
}

static void item_free(struct net *n, uint32_t i)
{
	n->item[i].kind = ITEM_FREE;
	n->item[i].next = n->free_item;
	n->free_item = i;
}

static void list_append(struct net *n, struct list *l, uint32_t i)
{
	n->item[i].next = NET_NONE;
	if (l->head == NET_NONE)
		l->head = i;
	else
		n->item[l->tail].next = i;
	l->tail = i;
}

static void list_remove(struct net *n, struct list *l, uint32_t before, uint32_t i)
{
	if (before == NET_NONE)
		l->head = n->item[i].next;
	else
		n->item[before].next = n->item[i].next;
	if (l->tail == i)
		l->tail = before;
}

static bool accepts(const struct net_message *receive, const struct net_message *m)
{
	return receive->comm == m->comm && (receive->source < 0 || receive->source == m->source) &&
	       (receive->tag < 0 || receive->tag == m->tag);
}

static int fits(const struct net_message *receive, const struct net_message *m, struct errbuf *err)
{
	if (m->bytes <= receive->bytes)
		return 0;
	return err_set(err, "message of %lld bytes from rank %u (tag %lld) is too long for the receive of %lld bytes "
			    "on rank %u",
		       (long long)m->bytes, m->from, (long long)m->tag, (long long)receive->bytes, m->to);
}

static uint64_t channel_hash(const struct net_message *m)
{
	uint64_t h = ((uint64_t)m->to << 32 | m->comm) * 0x9e3779b97f4a7c15ull;

	return (h ^ h >> 29 ^ (uint64_t)m->source) * 0xff51afd7ed558ccdull;
}

/* The channel of a message, or of a receive that names its source; NET_NONE: it has had no message yet. */
static uint32_t channel_find(const struct net *n, const struct net_message *m)
{
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(&n->channels, channel_hash(m), at, i)
		if (n->channel[i].to == m->to && n->channel[i].comm == m->comm && n->channel[i].source == m->source)
			return i;
	return NET_NONE;
}

/* Keep the message until it is received. Returns 0, or -1 without memory. */
static int message_keep(struct net *n, const struct net_message *m, uint32_t i)
{
	uint32_t c = channel_find(n, m);

	if (c == NET_NONE) {
		c = n->n_channel;
		n->no_memory |= ARRAY_ROOM(n->channel, n->cap_channel, c + 1) != 0 || hash_table_add(&n->channels, channel_hash(m), c) != 0;
		if (n->no_memory)
			return -1;
		n->channel[n->n_channel++] = (struct channel){m->comm, m->to, m->source, {NET_NONE, NET_NONE}, n->unexpected[m->to]};
		n->unexpected[m->to] = c;
	}
	n->item[i].sent = n->n_sent++;
	list_append(n, &n->channel[c].list, i);
	return 0;
}

/* A message that is kept, and its place in its channel. */
struct kept {
	uint32_t channel, before, item; /* item NET_NONE: there is none */
};

static struct kept channel_look(const struct net *n, uint32_t c, const struct net_message *receive)
{
	struct kept k = {c, NET_NONE, n->channel[c].list.head};

	while (k.item != NET_NONE && !accepts(receive, &n->item[k.item].m)) {
		k.before = k.item;
		k.item = n->item[k.item].next;
	}
	return k;
}

/* The first message sent that the receive gets. */
static struct kept message_find(const struct net *n, const struct net_message *receive)
{
	struct kept best = {NET_NONE, NET_NONE, NET_NONE}, k;
	uint32_t c;

	if (receive->source >= 0) {
		c = channel_find(n, receive);
		return c != NET_NONE ? channel_look(n, c, receive) : best;
	}
	for (c = n->unexpected[receive->to]; c != NET_NONE; c = n->channel[c].next) {
		k = channel_look(n, c, receive);
		if (k.item != NET_NONE && (best.item == NET_NONE || n->item[k.item].sent < n->item[best.item].sent))
			best = k;
	}
	return best;
}

/* The receive has its message: the item says which one. */
static void receive_done(struct net *n, uint32_t i, const struct net_message *m)
{
	n->item[i].done = true;
	n->item[i].m = *m;
}

/* The message has been received: its item goes, unless its sender still looks at it. */
static void message_received(struct net *n, uint32_t i)
{
	n->item[i].done = true;
	n->item[i].kind = ITEM_MESSAGE;
	if (n->item[i].released)
		item_free(n, i);
	else
		n->item[i].released = true;
}

uint32_t net_send(struct net *n, const struct net_message *m, struct errbuf *err)
{
	struct list *l = &n->posted[m->to];
	uint32_t i = item_new(n, ITEM_MESSAGE), before = NET_NONE;

	if (i == NET_NONE)
		return NET_NONE;
	n->item[i].m = *m;
	n->item[i].done = !m->sync;
	for (uint32_t p = l->head; p != NET_NONE; before = p, p = n->item[p].next)
		if (accepts(&n->item[p].m, m)) {
			if (fits(&n->item[p].m, m, err) != 0)
				return NET_NONE;
			list_remove(n, l, before, p);
			receive_done(n, p, m);
			message_received(n, i);
			return i;
		}
	return message_keep(n, m, i) == 0 ? i : NET_NONE;
}

uint32_t net_receive(struct net *n, const struct net_message *m, struct errbuf *err)
{
	uint32_t i = item_new(n, ITEM_RECEIVE);
	struct kept k;

	if (i == NET_NONE)
		return NET_NONE;
	n->item[i].m = *m;
	k = message_find(n, m);
	if (k.item != NET_NONE) {
		if (fits(m, &n->item[k.item].m, err) != 0)
			return NET_NONE;
		list_remove(n, &n->channel[k.channel].list, k.before, k.item);
		receive_done(n, i, &n->item[k.item].m);
		message_received(n, k.item);
		return i;
	}
	list_append(n, &n->posted[m->to], i);
	return i;
}

int net_room(struct net *n, uint32_t request, int64_t bytes, struct errbuf *err)
{
	struct item *it = &n->item[request];
	struct net_message receive = {.bytes = bytes};

	if (it->done)
		return fits(&receive, &it->m, err);
	it->m.bytes = bytes;
	return 0;
}

bool net_probe(const struct net *n, const struct net_message *m)
{
	return message_find(n, m).item != NET_NONE;
}

bool net_let_go(struct net *n, uint32_t request, struct net_message *m)
{
	struct item *it = &n->item[request];

	if (it->kind != ITEM_MESSAGE || it->done || !it->m.forced)
		return false;
	it->done = true;
	*m = it->m;
	return true;
}

void net_cancel(struct net *n, uint32_t request)
{
	struct item *it = &n->item[request];
	struct list *l = &n->posted[it->m.to];
	uint32_t before = NET_NONE;

	if (it->kind != ITEM_RECEIVE || it->done)
		return;
	for (uint32_t p = l->head; p != NET_NONE; before = p, p = n->item[p].next)
		if (p == request) {
			list_remove(n, l, before, p);
			break;
		}
	it->done = true;
}

/* ---- collectives ---- */

static uint32_t instance_new(struct net *n)
{
	uint32_t i = n->free_inst;

	if (i != NET_NONE) {
		n->free_inst = n->inst[i].next;
	} else {
		if (ARRAY_ROOM(n->inst, n->cap_inst, n->n_inst + 1) != 0) {
			n->no_memory = true;
			return NET_NONE;
		}
		i = n->n_inst++;
	}
	memset(&n->inst[i], 0, sizeof n->inst[i]);
	return i;
}

/* The instance that the caller joins: the first to come makes it. */
static uint32_t instance_find(struct net *n, const struct net_collective *c)
{
	uint32_t i;

	for (i = n->collectives[c->comm]; i != NET_NONE; i = n->inst[i].next)
		if (n->inst[i].sequence == c->sequence)
			return i;
	i = instance_new(n);
	if (i == NET_NONE)
		return NET_NONE;
	n->inst[i].sequence = c->sequence;
	n->inst[i].name = c->name;
	n->inst[i].root = c->root;
	n->inst[i].bytes = c->bytes;
	n->inst[i].members = c->members;
	n->inst[i].first_rank = c->rank;
	n->inst[i].first_node = c->node;
	n->inst[i].next = n->collectives[c->comm];
	n->collectives[c->comm] = i;
	return i;
}

static void instance_drop(struct net *n, uint32_t comm, uint32_t i)
{
	uint32_t *at = &n->collectives[comm];

	if (n->inst[i].held > 0 || n->inst[i].arrived < n->inst[i].members)
		return;
	while (*at != i)
		at = &n->inst[*at].next;
	*at = n->inst[i].next;
	n->inst[i].next = n->free_inst;
	n->free_inst = i;
}

static int instance_agrees(const struct instance *s, const struct net_collective *c, struct errbuf *err)
{
	if (strcmp(s->name, c->name) != 0)
		return err_set(err, "rank %u calls %s where rank %u calls %s", c->rank, c->name, s->first_rank,
			       s->name);
	if (s->root >= 0 && c->root >= 0 && s->root != c->root)
		return err_set(err, "%s has root %lld on rank %u and root %lld on rank %u", c->name,
			       (long long)c->root, c->rank, (long long)s->root, s->first_rank);
	if (s->bytes >= 0 && c->bytes >= 0 && s->bytes != c->bytes)
		return err_set(err, "%s has %lld bytes on rank %u and %lld bytes on rank %u", c->name,
			       (long long)c->bytes, c->rank, (long long)s->bytes, s->first_rank);
	return 0;
}

uint32_t net_collective(struct net *n, const struct net_collective *c, struct errbuf *err)
{
	uint32_t i = item_new(n, ITEM_MEMBER), s;

	if (i == NET_NONE)
		return NET_NONE;
	s = instance_find(n, c);
	if (s == NET_NONE || instance_agrees(&n->inst[s], c, err) != 0)
		return NET_NONE;
	n->inst[s].arrived++;
	n->inst[s].held++;
	n->inst[s].root_arrived |= c->is_root;
	n->item[i].instance = s;
	n->item[i].is_root = c->is_root;
	n->item[i].pattern = c->pattern;
	n->item[i].m.comm = c->comm;
	return i;
}

uint32_t net_first_node(const struct net *n, uint32_t request)
{
	return n->inst[n->item[request].instance].first_node;
}

static bool member_done(const struct net *n, const struct item *it)
{
	const struct instance *s = &n->inst[it->instance];

	switch (it->pattern) {
	case NET_FROM_ROOT:
		return it->is_root || s->root_arrived;
	case NET_TO_ROOT:
		return !it->is_root || s->arrived == s->members;
	case NET_FREE:
		return true;
	default:
		return s->arrived == s->members;
	}
}

bool net_done(const struct net *n, uint32_t request)
{
	const struct item *it = &n->item[request];

	return it->kind == ITEM_MEMBER ? member_done(n, it) : it->done;
}

void net_release(struct net *n, uint32_t request)
{
	struct item *it = &n->item[request];
	uint32_t s = it->instance;

	switch (it->kind) {
	case ITEM_MESSAGE:
		if (it->released)
			item_free(n, request);
		else
			it->released = true;
		break;
	case ITEM_RECEIVE:
		net_cancel(n, request);
		item_free(n, request);
		break;
	case ITEM_MEMBER:
		n->inst[s].held--;
		instance_drop(n, it->m.comm, s);
		item_free(n, request);
		break;
	default:
		break;
	}
}

uint64_t net_unreceived(const struct net *n, struct net_message *first)
{
	uint64_t count = 0;

	for (uint32_t r = 0; r < n->n_ranks; r++) {
		uint32_t oldest = NET_NONE;
		bool is_first = count == 0;

		for (uint32_t c = n->unexpected[r]; c != NET_NONE; c = n->channel[c].next)
			for (uint32_t p = n->channel[c].list.head; p != NET_NONE; p = n->item[p].next, count++)
				if (oldest == NET_NONE || n->item[p].sent < n->item[oldest].sent)
					oldest = p;
		if (is_first && oldest != NET_NONE)
			*first = n->item[oldest].m;
	}
	return count;
}
