/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two passes over the messages: which channels have receives that are too short, then which calls receive on them. */
#include "skelgen/tree/rooms.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"

#define THREAD_MULTIPLE 3 /* the MPI libraries' MPI_THREAD_MULTIPLE, as traces hold it */

struct channel {
	uint64_t longest;
	bool is_short; /* a message of it is too long for its receive */
};

struct finder {
	const struct trace *t;
	struct skel_rooms *rooms;
	struct channel *channel; /* by number */
	uint32_t n_channel;
	bool no_memory;
};

bool skel_rank_has_threads(const struct trace *t, uint32_t rank)
{
	return trace_get_rank(t, rank)->defs.proc.thread_level == THREAD_MULTIPLE;
}

static struct channel *channel_at(struct finder *f, uint32_t number)
{
	return ARRAY_ROOM_ZEROED(f->channel, f->n_channel, (size_t)number + 1) == 0 ? &f->channel[number] : NULL;
}

static int compare(const struct trace_message *m, void *arg)
{
	struct finder *f = arg;
	struct channel *c = channel_at(f, m->channel);

	f->no_memory = c == NULL;
	if (c == NULL)
		return 1;
	c->longest = m->bytes > c->longest ? m->bytes : c->longest;
	if (m->bytes <= m->room)
		return 0;
	c->is_short = true;
	if (f->rooms->n_short++ == 0)
		f->rooms->first = *m;
	return 0;
}

static int widen(const struct trace_message *m, void *arg)
{
	struct finder *f = arg;
	const struct channel *c = &f->channel[m->channel];
	uint64_t **bytes = &f->rooms->bytes[m->dst];

	if (!c->is_short || m->room == UINT64_MAX)
		return 0;
	if (*bytes == NULL)
		*bytes = calloc(trace_get_rank(f->t, m->dst)->defs.sigs.n, sizeof **bytes);
	f->no_memory = *bytes == NULL;
	if (*bytes == NULL)
		return 1;
	if ((*bytes)[m->room_sym] < c->longest)
		(*bytes)[m->room_sym] = c->longest;
	return 0;
}

int skel_rooms_find(const struct trace *t, struct skel_rooms *out, struct errbuf *err)
{
	struct finder f = {.t = t, .rooms = out};
	int rv;

	*out = (struct skel_rooms){.n_ranks = trace_n_ranks(t)};
	rv = trace_messages(t, compare, &f, NULL, err);
	if (rv == 0 && out->n_short > 0) {
		out->bytes = calloc(out->n_ranks, sizeof *out->bytes);
		f.no_memory = out->bytes == NULL;
		rv = f.no_memory ? -1 : trace_messages(t, widen, &f, NULL, err);
	}
	if (f.no_memory)
		rv = err_set(err, "no memory to compare the sizes of messages");
	free(f.channel);
	if (rv != 0)
		skel_rooms_free(out);
	return rv;
}

void skel_rooms_free(struct skel_rooms *r)
{
	for (uint32_t i = 0; r->bytes != NULL && i < r->n_ranks; i++)
		free(r->bytes[i]);
	free(r->bytes);
	*r = (struct skel_rooms){0};
}
