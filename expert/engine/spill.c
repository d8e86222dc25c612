/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See spill.h. */
#include "expert/engine/spill.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "expert/engine/keys.h"

#define NONE UINT32_MAX

/* An entry in the file, once for each key that it can be asked for by. */
struct slip {
	uint64_t seq;
	uint32_t record;       /* of its type's size, in the file */
	uint32_t next;         /* next younger record of its queue; or next free record */
};

/* Records of one key, oldest first. */
struct spilled {
	uint64_t key;          /* hash of it, and of its index */
	uint32_t head, tail;   /* head NONE: the place is free */
};

struct spill {
	int fd;
	uint32_t record_slots; /* values that there is room for in a record */
	struct spilled *slot;  /* open addressing */
	uint32_t n_slot, n;    /* n: in use */
	struct slip *slip;
	uint32_t n_slip, cap_slip, free_slip;
	uint32_t *free_record;
	uint32_t n_record, n_free_record, cap_free_record;
};

/* In the file there is room for the values of any simple event. */
struct record {
	uint64_t seq;
	uint64_t patterns;     /* bits: the patterns of its type in which the entry waits */
	uint32_t type;
	bool untimed;
	union rules_value v[RA_N + RULES_MAX_PARAMS];
};

static off_t place_in_file(const struct spill *s, uint32_t record)
{
	return (off_t)record * (off_t)(offsetof(struct record, v) + s->record_slots * sizeof(union rules_value));
}

static int open_file(void)
{
	const char *dir = getenv("TMPDIR");
	char path[] = "/tmp/precedent-rules-XXXXXX";
	int fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0) {
		fd = mkostemp(path, O_CLOEXEC);
		if (fd >= 0)
			unlink(path);
	}
	return fd;
}

static struct spill *spill_create(const struct plan *p)
{
	struct spill *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	for (uint32_t i = 0; i < p->rules->n_type; i++) /* only these can be in the file: see waits_in */
		if (p->type[i].src->builtin && p->type[i].n_slot > s->record_slots)
			s->record_slots = p->type[i].n_slot;
	s->free_slip = NONE;
	s->n_slot = 1024;
	s->slot = malloc(s->n_slot * sizeof(*s->slot));
	s->fd = open_file();
	for (uint32_t i = 0; s->slot && i < s->n_slot; i++)
		s->slot[i].head = NONE;
	if (s->slot && s->fd >= 0)
		return s;
	spill_free(s);
	return NULL;
}

void spill_free(struct spill *s)
{
	if (!s)
		return;
	if (s->fd >= 0)
		close(s->fd);
	free(s->slot);
	free(s->slip);
	free(s->free_record);
	free(s);
}

/* ---- queues of slips ---- */

static uint64_t hash_of(const struct key *k)
{
	uint64_t h = (k->index + 1ull) * 0xd1342543de82ef95ull;

	for (uint32_t i = 0; i < k->n; i++) {
		h = (h ^ (uint64_t)k->part[i]) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	return h;
}

/* The place of that key, or the free one where it would be. */
static struct spilled *spilled_at(const struct spill *s, uint64_t key)
{
	uint32_t at = (uint32_t)(key >> 20) & (s->n_slot - 1);

	while (s->slot[at].head != NONE && s->slot[at].key != key)
		at = (at + 1) & (s->n_slot - 1);
	return &s->slot[at];
}

static bool grow_slots(struct spill *s)
{
	struct spilled *old = s->slot, *slot;
	uint32_t n_old = s->n_slot;

	if (2 * (s->n + 1) <= s->n_slot)
		return true;
	slot = s->n_slot < NONE / 4 ? malloc(2ull * s->n_slot * sizeof(*slot)) : NULL;
	if (!slot)
		return false;
	s->slot = slot;
	s->n_slot *= 2;
	for (uint32_t i = 0; i < s->n_slot; i++)
		slot[i].head = NONE;
	for (uint32_t i = 0; i < n_old; i++)
		if (old[i].head != NONE)
			*spilled_at(s, old[i].key) = old[i];
	free(old);
	return true;
}

/* The place is free; those behind it that belong before it move up. */
static void free_place(struct spill *s, struct spilled *q)
{
	uint32_t hole = (uint32_t)(q - s->slot), mask = s->n_slot - 1;

	s->n--;
	s->slot[hole].head = NONE;
	for (uint32_t at = (hole + 1) & mask; s->slot[at].head != NONE; at = (at + 1) & mask) {
		uint32_t home = (uint32_t)(s->slot[at].key >> 20) & mask;

		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		s->slot[hole] = s->slot[at];
		s->slot[at].head = NONE;
		hole = at;
	}
}

/* Room for n more slips and keys. */
static bool make_room(struct spill *s, uint32_t n)
{
	return ARRAY_ROOM(s->slip, s->cap_slip, s->n_slip + n) == 0;
}

/* In the order of age: mostly it is the youngest of its key, or the oldest, when it was asked for in vain. */
static bool add_slip(struct spill *s, uint64_t key, uint64_t seq, uint32_t record)
{
	struct spilled *q;
	uint32_t i = s->free_slip, *at;

	if (!grow_slots(s) || (i == NONE && !make_room(s, 1)))
		return false;
	if (i == NONE)
		i = s->n_slip++;
	else
		s->free_slip = s->slip[i].next;
	s->slip[i] = (struct slip){.seq = seq, .record = record, .next = NONE};
	q = spilled_at(s, key);
	if (q->head == NONE) {
		*q = (struct spilled){.key = key, .head = i, .tail = i};
		s->n++;
		return true;
	}
	if (s->slip[q->tail].seq < seq) {
		s->slip[q->tail].next = i;
		q->tail = i;
		return true;
	}
	for (at = &q->head; s->slip[*at].seq < seq; at = &s->slip[*at].next)
		;
	s->slip[i].next = *at;
	*at = i;
	return true;
}

static void drop_slip(struct spill *s, uint64_t key, uint32_t record)
{
	struct spilled *q = spilled_at(s, key);
	uint32_t last = NONE, i;

	for (i = q->head; i != NONE && s->slip[i].record != record; i = s->slip[i].next)
		last = i;
	if (i == NONE)
		return;
	if (q->tail == i)
		q->tail = last;
	if (last == NONE)
		q->head = s->slip[i].next;
	else
		s->slip[last].next = s->slip[i].next;
	s->slip[i].next = s->free_slip;
	s->free_slip = i;
	if (q->head == NONE)
		free_place(s, q);
}

/* ---- entries ---- */

/* Every key that x can be asked for by. */
static bool each_key(struct engine *e, struct entry *x, uint64_t patterns, bool (*fn)(struct spill *, uint64_t, uint64_t, uint32_t),
		     uint32_t record)
{
	const struct plan_type *t = &e->p->type[x->type];

	for (uint32_t i = 0; i < t->n_pattern; i++) {
		const struct plan_index *ix = t->pattern[i]->index;
		struct key k;

		if (!(patterns >> i & 1))
			continue;
		stored_key(e, ix, t->pattern[i]->pattern, x, &k);
		for (uint32_t n = 0; n < ix->n_link; n++) {
			struct key less = key_without(&k, ix, k.any | key_choice(ix, n));

			if (!fn(e->spill, hash_of(&less), x->seq, record))
				return false;
		}
	}
	return true;
}

static bool remove_slip(struct spill *s, uint64_t key, uint64_t seq, uint32_t record)
{
	(void)seq;
	drop_slip(s, key, record);
	return true;
}

/* The patterns that x waits in; 0: it must stay. */
static uint64_t waits_in(const struct engine *e, const struct entry *x)
{
	const struct plan_type *t = &e->p->type[x->type];
	uint64_t patterns = 0;

	if (!t->src->builtin || !t->is_event || x->refs != 1 || x->n_member || t->n_pattern > 64)
		return 0;
	for (uint32_t i = 0; i < t->n_pattern; i++) {
		if (!queues_has(t->pattern[i], x))
			continue;
		if (!t->pattern[i]->spills)
			return 0;
		patterns |= 1ull << i;
	}
	return patterns;
}

static uint32_t new_record(struct spill *s)
{
	if (s->n_free_record)
		return s->free_record[--s->n_free_record];
	return s->n_record < NONE ? s->n_record++ : NONE;
}

static void free_record(struct spill *s, uint32_t record)
{
	if (ARRAY_ROOM(s->free_record, s->cap_free_record, s->n_free_record + 1) != 0)
		return; /* its room in the file is lost */
	s->free_record[s->n_free_record++] = record;
}

bool spill_put(struct engine *e, struct entry *x)
{
	uint64_t patterns = waits_in(e, x);
	uint32_t n_slot = e->p->type[x->type].n_slot, record;
	struct record r = {.seq = x->seq, .patterns = patterns, .type = x->type, .untimed = x->untimed};
	size_t size = offsetof(struct record, v) + n_slot * sizeof(*r.v);

	if (!patterns || e->no_spill)
		return false;
	if (!e->spill) {
		e->spill = spill_create(e->p);
		e->no_spill = !e->spill;
		if (e->no_spill)
			return false;
	}
	record = new_record(e->spill);
	if (record == NONE)
		return false;
	memcpy(r.v, x->v, n_slot * sizeof(*r.v));
	if (pwrite(e->spill->fd, &r, size, place_in_file(e->spill, record)) != (ssize_t)size ||
	    !each_key(e, x, patterns, add_slip, record)) {
		each_key(e, x, patterns, remove_slip, record);
		free_record(e->spill, record);
		return false;
	}
	engine_forget(e, x);
	e->pool[r.type].spilled++;
	if (++e->report.spilled > e->report.spilled_most)
		e->report.spilled_most = e->report.spilled;
	return true;
}

/* A record waits again. */
static int restore(struct engine *e, uint32_t record)
{
	struct record r;
	const struct plan_type *t;
	struct entry *x;

	if (pread(e->spill->fd, &r, sizeof(r), place_in_file(e->spill, record)) < (ssize_t)offsetof(struct record, v))
		return err_set(e->err, "the temporary file of events that wait cannot be read");
	t = &e->p->type[r.type];
	x = entry_create(e, r.type);
	if (!x)
		return -1;
	x->seq = r.seq;
	x->untimed = r.untimed;
	memcpy(x->v, r.v, t->n_slot * sizeof(*x->v));
	each_key(e, x, r.patterns, remove_slip, record);
	free_record(e->spill, record);
	e->pool[r.type].spilled--;
	e->report.spilled--;
	for (uint32_t i = 0; i < t->n_pattern; i++)
		if (r.patterns >> i & 1 && queues_insert(e, t->pattern[i], x) < 0)
			return -1;
	if (ages_put_oldest(&e->ages, x) < 0)
		return err_set(e->err, "no memory for what the rules remember");
	entry_release(e, x); /* its queues keep it */
	return 0;
}

int spill_ask(struct engine *e, const struct plan_pattern *p, const struct key *k)
{
	const struct plan_index *ix = p->index;
	uint32_t held = e->q.held[ix->number];

	for (uint32_t any = 0; held >> any; any++) {
		const struct spilled *q;
		struct key other;

		if (!(held >> any & 1))
			continue;
		other = key_without(k, ix, k->any | any);
		q = spilled_at(e->spill, hash_of(&other));
		if (q->head != NONE && restore(e, e->spill->slip[q->head].record) < 0)
			return -1;
	}
	return 0;
}
