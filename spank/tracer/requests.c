/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Request slots: see requests.h. */
#include <stdlib.h>
#include <string.h>

#include "spank/tracer/handles.h"
#include "spank/tracer/record.h"
#include "spank/tracer/requests.h"
#include "trace/format/event.h"

#define NIL (-1)
#define FIRST_SLOTS 64u

/* A slot is in two hash tables: 0 by key and place, 1 by key. Each bucket is a list, oldest slot first. */
struct slot {
	uint64_t key;
	const void *place;
	unsigned flags;
	int used;
	uint32_t taken; /* number of the last list that contained it */
	int32_t next[2], prev[2];
	const void *newcomm;
	int64_t newcomm_index;
	int newcomm_fortran;
};

struct bucket {
	int32_t first, last;
};

static struct slot *slot;
static struct bucket *table[2];
static uint32_t cap;      /* slots and buckets, power of two */
static uint32_t free_from; /* all slots below are in use */
static uint32_t list = 1;    /* number of the current list; slots with this number are used */

static uint32_t bucket_of(int which, uint64_t key, const void *place)
{
	uint64_t h = which ? key : key ^ ((uint64_t)(uintptr_t)place << 20) ^ (uint64_t)(uintptr_t)place;

	return (uint32_t)((h * 0x9e3779b97f4a7c15ull) >> 32) & (cap - 1);
}

static void link_in(int which, int32_t i)
{
	struct slot *s = &slot[i];
	struct bucket *b = &table[which][bucket_of(which, s->key, s->place)];

	s->next[which] = NIL;
	s->prev[which] = b->last;
	if (b->last == NIL)
		b->first = i;
	else
		slot[b->last].next[which] = i;
	b->last = i;
}

static void link_out(int which, int32_t i)
{
	struct slot *s = &slot[i];
	struct bucket *b = &table[which][bucket_of(which, s->key, s->place)];

	if (s->prev[which] == NIL)
		b->first = s->next[which];
	else
		slot[s->prev[which]].next[which] = s->next[which];
	if (s->next[which] == NIL)
		b->last = s->prev[which];
	else
		slot[s->next[which]].prev[which] = s->prev[which];
}

static int grow_tables(void)
{
	uint32_t n = cap ? cap * 2 : FIRST_SLOTS;
	struct slot *p = realloc(slot, n * sizeof(*p));
	struct bucket *t[2];

	if (!p)
		return -1;
	slot = p;
	t[0] = malloc(n * sizeof(**t));
	t[1] = malloc(n * sizeof(**t));
	if (!t[0] || !t[1]) {
		free(t[0]);
		free(t[1]);
		return -1;
	}
	for (int w = 0; w < 2; w++) {
		free(table[w]);
		table[w] = t[w];
		memset(t[w], 0xff, n * sizeof(**t)); /* all NIL */
	}
	memset(slot + cap, 0, (n - cap) * sizeof(*slot));
	n -= cap;
	cap += n;
	/* Slots are linked by number, not by age. For slots with equal key and place, either order may be wrong. */
	for (uint32_t i = 0; i < cap - n; i++)
		if (slot[i].used) {
			link_in(0, (int32_t)i);
			link_in(1, (int32_t)i);
		}
	return 0;
}

int64_t request_new(uint64_t key, const void *place, unsigned flags)
{
	struct slot *s;
	uint32_t i = free_from;

	if (key_is_null(key))
		return TRACE_NULL;
	while (i < cap && slot[i].used)
		i++;
	if (i == cap && grow_tables() < 0)
		return TRACE_NULL;
	free_from = i + 1;
	s = &slot[i];
	*s = (struct slot){.key = key, .place = place, .flags = flags, .used = 1};
	link_in(0, (int32_t)i);
	link_in(1, (int32_t)i);
	if (flags & REQ_WILD)
		rec.n_wild++;
	return i;
}

/* Find a slot by key and place, or else by key. fresh: skip slots that the current list already contains. */
static int64_t find_key(uint64_t key, const void *place, int fresh)
{
	int32_t i;

	for (i = table[0][bucket_of(0, key, place)].first; i != NIL; i = slot[i].next[0])
		if (slot[i].key == key && slot[i].place == place && !(fresh && slot[i].taken == list))
			return i;
	for (i = table[1][bucket_of(1, key, NULL)].first; i != NIL; i = slot[i].next[1])
		if (slot[i].key == key && !(fresh && slot[i].taken == list))
			return i;
	return TRACE_NULL;
}

static int64_t find_slot(uint64_t key, const void *place, int fresh)
{
	int64_t i;

	if (!cap || key_is_null(key))
		return TRACE_NULL;
	i = find_key(key, place, fresh);
	if (i != TRACE_NULL || (key & KEY_MESSAGE))
		return i;
	/* The request was created in C and converted by the program. */
	if (key & KEY_FORTRAN)
		return find_key(key_c(mpi.Request_f2c((MPI_Fint)(uint32_t)key)), NULL, fresh);
	return TRACE_NULL;
}

int64_t request_find(uint64_t key, const void *place)
{
	return find_slot(key, place, 0);
}

void request_list(void)
{
	if (!++list)
		++list;
}

int64_t request_find_next(uint64_t key, const void *place)
{
	int64_t i = find_slot(key, place, 1);

	if (i >= 0)
		slot[i].taken = list;
	return i;
}

unsigned request_flags(int64_t i)
{
	return i >= 0 ? slot[i].flags : 0;
}

void request_bind_comm(int64_t i, const void *newcomm, int fortran, int64_t index)
{
	if (i < 0)
		return;
	slot[i].newcomm = newcomm;
	slot[i].newcomm_fortran = fortran;
	slot[i].newcomm_index = index;
}

void request_start(int64_t i)
{
	if (i >= 0)
		slot[i].flags |= REQ_ACTIVE;
}

void request_cancel(int64_t i)
{
	if (i >= 0)
		slot[i].flags |= REQ_CANCELLED;
}

void request_drop(int64_t i)
{
	if (i < 0)
		return;
	link_out(0, (int32_t)i);
	link_out(1, (int32_t)i);
	if (slot[i].flags & REQ_WILD)
		rec.n_wild--;
	slot[i].used = 0;
	if ((uint32_t)i < free_from)
		free_from = (uint32_t)i;
}

void request_complete(int64_t i)
{
	if (i < 0)
		return;
	if (slot[i].newcomm && slot[i].newcomm_fortran)
		comm_bind(mpi.Comm_f2c(*(const MPI_Fint *)slot[i].newcomm), slot[i].newcomm_index);
	else if (slot[i].newcomm)
		comm_bind(*(const MPI_Comm *)slot[i].newcomm, slot[i].newcomm_index);
	if (slot[i].flags & REQ_PERSISTENT)
		slot[i].flags &= ~(unsigned)(REQ_ACTIVE | REQ_CANCELLED);
	else
		request_drop(i);
}
