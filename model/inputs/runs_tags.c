/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls of one place that are told apart by their tags: see runs.h. */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/array.h"
#include "model/inputs/runs.h"

#define TAGS_MAX 8 /* tags of a place; more tags do not name kinds of messages */

struct place {
	uint32_t n;
	int64_t tag[TAGS_MAX];
	uint32_t rank;	  /* the last one that was here, and its first tag */
	int64_t first;
	bool several;	  /* in one rank */
	bool other;	  /* than the numbers of both ranks */
};
struct places {
	struct map keys;
	struct place *place;
	uint32_t cap;
};

static const int64_t *value_named(const struct call_view *c, const char *name)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (!strcmp(c->value[i].name, name))
			return &c->value[i].v;
	return NULL;
}

struct runs_symbol runs_symbol(const struct runs *r, const struct call_view *c)
{
	const int64_t *tag = r->shape.by_tag ? value_named(c, "tag") : NULL;
	struct runs_symbol s = {.key = c->key, .waits = r->shape.by_tag && !strncmp(c->name, "MPI_Wait ", 9)};

	if (tag && map_get(&r->tagged, c->key) != MAP_NONE) {
		s.key = XXH3_64bits_withSeed(tag, sizeof(*tag), c->key);
		s.tagged = true;
	}
	return s;
}

uint64_t runs_event_key(const struct runs_symbol *s, const struct runs_symbol *before)
{
	return s->waits && before && before->tagged ? XXH3_64bits_withSeed(&before->key, sizeof(before->key), s->key) : s->key;
}

bool runs_expands(const struct trace_rank *rank)
{
	return rank->events.length <= RANK_GROUPS_EXPAND_MAX;
}

static struct place *place_at(struct places *p, uint64_t key)
{
	uint32_t i = map_put(&p->keys, key);

	if (i == MAP_NONE)
		return NULL;
	if (ARRAY_ROOM_ZEROED(p->place, p->cap, i + 1) != 0)
		return NULL;
	return &p->place[i];
}

static void note_tag(struct place *p, int64_t tag, uint32_t point, bool other)
{
	uint32_t k = 0;

	if (!p->n || p->rank != point) {
		p->rank = point;
		p->first = tag;
	}
	p->several |= p->first != tag;
	p->other |= other;
	while (k < p->n && k < TAGS_MAX && p->tag[k] != tag)
		k++;
	if (k < TAGS_MAX)
		p->tag[k] = tag;
	p->n += k == p->n;
}

static int note_rank(struct runs *r, struct places *p, uint32_t at)
{
	uint32_t number = r->point[at].rank;
	const struct trace_rank *rank = trace_get_rank(r->run[r->point[at].run].trace, number);
	struct call_view c;

	for (uint32_t s = 0; s < rank->defs.sigs.n; s++) {
		const int64_t *tag, *dst, *src;
		struct place *here;

		call_view(&rank->defs, s, &c);
		tag = value_named(&c, "tag");
		if (!tag || *tag == CALL_MISSING)
			continue;
		dst = value_named(&c, "dst");
		src = value_named(&c, "src");
		here = place_at(p, c.key);
		if (!here)
			return -1;
		note_tag(here, *tag, at, *tag != number && (!dst || *tag != *dst) && (!src || *tag != *src));
	}
	return 0;
}

int runs_find_tags(struct runs *r, struct errbuf *err)
{
	struct places p = {0};
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < r->n_points; i++)
		rc = note_rank(r, &p, i);
	for (uint32_t k = 0; rc == 0 && k < p.keys.n; k++)
		if (p.place[k].several && p.place[k].other && p.place[k].n <= TAGS_MAX &&
		    map_put(&r->tagged, p.keys.key[k]) == MAP_NONE)
			rc = -1;
	free(p.place);
	map_free(&p.keys);
	return rc < 0 ? err_set(err, "no memory for tags") : 0;
}
