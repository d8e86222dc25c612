/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The network of a simulated run: messages under way, posted receives, collectives. Matching is MPI's: in order per
 * source, destination and communicator, by tag, with wildcards.
 */
#ifndef PRECEDENT_SKELGEN_SIMULATE_NETWORK_H
#define PRECEDENT_SKELGEN_SIMULATE_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"

#define NET_NONE UINT32_MAX

/* The members for which a caller of a collective waits. */
enum net_pattern {
	NET_ALL,      /* for all */
	NET_FROM_ROOT, /* for the root */
	NET_TO_ROOT,  /* only the root, for all */
	NET_FREE      /* for nobody */
};

struct net_message {
	uint32_t comm;          /* global number */
	uint32_t from, to;      /* world ranks */
	int64_t source, tag;    /* source as the receiver names it */
	int64_t bytes;
	uint32_t node;          /* leaf that sent it */
	bool sync;
	bool forced;            /* sync, though the program's send is a standard one */
};

struct net_collective {
	uint32_t comm, rank;    /* world rank of the caller */
	uint32_t members;
	uint64_t sequence;      /* how many collectives the caller made on this communicator before */
	const char *name;
	int64_t root, bytes;    /* -1: not compared */
	bool is_root;
	uint8_t pattern;
	uint32_t node;          /* leaf that calls */
};

struct net;

struct net *net_create(uint32_t n_ranks, uint32_t n_comms);
void net_destroy(struct net *n);

/* Each returns a request, or NET_NONE without memory (net_no_memory) or with a contradiction in err. */
uint32_t net_send(struct net *n, const struct net_message *m, struct errbuf *err);
uint32_t net_receive(struct net *n, const struct net_message *m, struct errbuf *err);
uint32_t net_collective(struct net *n, const struct net_collective *c, struct errbuf *err);
/* Set the room of a receive that a matched probe began, in bytes. Returns 0, or -1 if its message is longer (err says so). */
int net_room(struct net *n, uint32_t request, int64_t bytes, struct errbuf *err);
/* Is there a message that a receive like m would get? */
bool net_probe(const struct net *n, const struct net_message *m);

/* Leaf of the first caller of the collective of this request. */
uint32_t net_first_node(const struct net *n, uint32_t request);
bool net_done(const struct net *n, uint32_t request);
void net_release(struct net *n, uint32_t request);
/* Complete a forced send without a receive; *m is its message. Returns false if the request is no such send. */
bool net_let_go(struct net *n, uint32_t request, struct net_message *m);
/* Take back a receive that nothing has matched. */
void net_cancel(struct net *n, uint32_t request);

bool net_no_memory(const struct net *n);
/* Messages that nobody received; *first is one of them. */
uint64_t net_unreceived(const struct net *n, struct net_message *first);

#endif
