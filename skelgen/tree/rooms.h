/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Receives that are too short for the message which MPI's order gives them. Calls of several threads are recorded in the
 * order of their returns, and messages may have been matched in another order. A skeleton keeps the recorded order of
 * calls. In an excerpt, a receive may get the message of another piece of the run. On such a channel (communicator, sender,
 * receiver, tag) each of its receives has room for the longest message.
 */
#ifndef PRECEDENT_SKELGEN_TREE_ROOMS_H
#define PRECEDENT_SKELGEN_TREE_ROOMS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "trace/messages/messages.h"

struct skel_rooms {
	uint32_t n_ranks;
	uint64_t **bytes;           /* by rank and signature: the least room, 0: as recorded; NULL: all of the rank */
	uint64_t n_short;           /* receives that are too short */
	struct trace_message first; /* one of them, when there are any */
};

/* Looks at every message of the trace. Returns 0 on success, -1 on error. */
int skel_rooms_find(const struct trace *t, struct skel_rooms *out, struct errbuf *err);
void skel_rooms_free(struct skel_rooms *r);

/* Bytes that the receive needs room for; 0: as many as recorded. */
static inline uint64_t skel_room(const struct skel_rooms *r, uint32_t rank, uint32_t sym)
{
	return r->bytes != NULL && r->bytes[rank] != NULL ? r->bytes[rank][sym] : 0;
}

/* Does the rank let several threads call MPI at once? */
bool skel_rank_has_threads(const struct trace *t, uint32_t rank);

#endif
