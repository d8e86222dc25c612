/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages that are under way at cuts. A master may send a worker its next task before the worker asks: then a message to each
 * worker is under way all the time. Such a run can be cut where equally many messages are under way on each channel. The messages
 * that a piece leaves under way are received in the next piece.
 *
 * A receive may have room for its message alone, since its size was probed. In the skeleton it has room for each message.
 *
 * At such a cut, as many receives were completed as sends were started, less the usual number under way. So the send of message
 * i + lag belongs with the receive of message i: a cut may not part them.
 */
#ifndef PRECEDENT_SKELGEN_PIECES_UNDER_WAY_H
#define PRECEDENT_SKELGEN_PIECES_UNDER_WAY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "skelgen/pieces/cuts.h"
#include "trace/messages/messages.h"

#define UNDER_WAY_MOST 16 /* on a channel */

struct under_way_channel {
	uint64_t n;              /* messages passed */
	uint64_t longest;        /* bytes */
	uint64_t shortest, room; /* bytes; least room of a receive, 0: not known */
	bool fixed;              /* a receive cannot have more room than in the run: its buffer is sent, too */
	uint32_t lag;            /* usual number under way; 0 if a receive that is fixed has no room for each of the messages */
	uint64_t recv[UNDER_WAY_MOST]; /* events of the last `lag` receives, by number of the message modulo lag */
};

/* Zeroed: on no channel are messages under way at cuts. */
struct under_way {
	struct under_way_channel *channel;
	uint32_t n, cap;
	bool any;    /* a lag is not 0 */
	bool longer; /* behind a cut, a receive may get a longer message than in the run */
};

struct cuts;

/* The numbers at the most usual of these places, which need not be consistent. Returns 0, or -1 with the reason. */
int under_way_find(const struct trace *t, const struct cuts *places, struct under_way *out, struct errbuf *err);
/* Before each walk over all messages. The walk counts those of channels with a lag in `n`. */
void under_way_begin(struct under_way *u);
/* Returns the channel with this number, or NULL if it has no lag. */
struct under_way_channel *under_way_at(struct under_way *u, uint32_t channel);
void under_way_free(struct under_way *u);

#endif
