/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One dictionary for the signatures of all ranks. Signatures with the same function, call site and parameter text
 * share a number. When texts exceed WORDS_MAX bytes, they are left out, and calls from one place share a number. So
 * the page stays bounded for any number of ranks.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "trace/view/pack.h"
#include "trace/view/words.h"

#define WORDS_MAX (2u << 20)

/* Hash table with open addressing: hash -> number + 1. It grows when half full. */
struct table {
	uint64_t *key;
	uint32_t *val;
	uint32_t n, size;
};

static uint32_t *table_slot(struct table *t, uint64_t key)
{
	uint32_t i = (uint32_t)(key & (t->size - 1));

	while (t->val[i] && t->key[i] != key)
		i = (i + 1) & (t->size - 1);
	t->key[i] = key;
	return &t->val[i];
}

static int table_grow(struct table *t)
{
	struct table n = {.n = t->n, .size = t->size ? t->size * 2 : 1024};

	if (t->size && t->n < t->size / 2)
		return 0;
	n.key = calloc(n.size, sizeof(*n.key));
	n.val = calloc(n.size, sizeof(*n.val));
	if (!n.key || !n.val) {
		free(n.key);
		free(n.val);
		return -1;
	}
	for (uint32_t i = 0; i < t->size; i++)
		if (t->val[i])
			*table_slot(&n, t->key[i]) = t->val[i];
	free(t->key);
	free(t->val);
	*t = n;
	return 0;
}

static void table_free(struct table *t)
{
	free(t->key);
	free(t->val);
}

struct build {
	struct view *v;
	struct table sites, places, sigs;
	struct buf words;
};

static void *grow_when_full(void *p, uint32_t n, size_t size)
{
	/* the size doubles whenever n is a power of two */
	return n & (n - 1) ? p : realloc(p, (n ? (size_t)n * 2 : 1) * size);
}

static int number_site(struct view *v, const struct trace_defs *d, const struct trace_site *site)
{
	char **list = grow_when_full(v->site_name, v->n_site, sizeof(*list)), name[512] = "";

	if (!list)
		return -1;
	v->site_name = list;
	if (v->in->site_name)
		v->in->site_name(v->in->site_arg, d, site, name, sizeof(name));
	list[v->n_site] = strdup(name);
	return list[v->n_site++] ? 0 : -1;
}

static int add_place(struct view *v, uint16_t fn, uint32_t site)
{
	struct view_place *list = grow_when_full(v->place, v->n_place, sizeof(*list));

	if (!list)
		return -1;
	v->place = list;
	list[v->n_place++] = (struct view_place){.fn = fn, .site = site};
	if (!v->fn_id[fn])
		v->fn_id[fn] = ++v->n_fn;
	return 0;
}

/* The place of a signature. Returns UINT32_MAX if memory runs out. */
static uint32_t find_place(struct build *b, const struct trace_defs *d, const struct trace_sig *sig)
{
	struct view *v = b->v;
	uint32_t *slot, site;
	uint64_t key[2];

	if (table_grow(&b->sites) < 0 || table_grow(&b->places) < 0)
		return UINT32_MAX;
	slot = table_slot(&b->sites, d->site[sig->site].hash);
	if (!*slot) {
		if (number_site(v, d, &d->site[sig->site]) < 0)
			return UINT32_MAX;
		*slot = v->n_site;
		b->sites.n++;
	}
	site = *slot - 1;
	key[0] = sig->fn;
	key[1] = site;
	slot = table_slot(&b->places, XXH3_64bits(key, sizeof(key)));
	if (!*slot) {
		if (add_place(v, sig->fn, site) < 0)
			return UINT32_MAX;
		*slot = v->n_place;
		b->places.n++;
	}
	return *slot - 1;
}

static int add_sig(struct build *b, uint32_t place)
{
	struct view *v = b->v;
	uint32_t *list = grow_when_full(v->sig_place, v->n_sig, sizeof(*list));

	if (!list)
		return -1;
	v->sig_place = list;
	list[v->n_sig++] = place;
	buf_put(&v->sig_words, b->words.data, b->words.len);
	buf_put_u8(&v->sig_words, 0);
	return v->sig_words.failed ? -1 : 0;
}

static int number_signatures(struct build *b, uint32_t r)
{
	const struct trace_defs *d = &trace_get_rank(b->v->in->trace, r)->defs;
	uint32_t *kind = calloc(d->sigs.n + 1, sizeof(*kind));

	if (!kind)
		return -1;
	b->v->kind[r] = kind;
	for (uint32_t s = 0; s < d->sigs.n; s++) {
		uint32_t place = find_place(b, d, &d->sigs.sig[s]), *slot;

		if (place == UINT32_MAX || table_grow(&b->sigs) < 0)
			return -1;
		buf_reset(&b->words);
		if (b->v->sig_words.len < WORDS_MAX)
			view_words(d, s, &b->words);
		slot = table_slot(&b->sigs, XXH3_64bits_withSeed(b->words.data, b->words.len, place + 1));
		if (!*slot) {
			if (b->words.failed || add_sig(b, place) < 0)
				return -1;
			*slot = b->v->n_sig;
			b->sigs.n++;
		}
		kind[s] = VIEW_KIND_CALL + *slot - 1;
	}
	return 0;
}

int view_dict_build(struct view *v, struct errbuf *err)
{
	struct build b = {.v = v};
	int rv = 0;

	v->kind = calloc(v->n_ranks, sizeof(*v->kind));
	if (!v->kind)
		return err_set(err, "no memory");
	for (uint32_t r = 0; r < v->n_ranks && rv == 0; r++)
		if (trace_get_rank(v->in->trace, r)->present)
			rv = number_signatures(&b, r);
	table_free(&b.sites);
	table_free(&b.places);
	table_free(&b.sigs);
	buf_free(&b.words);
	return rv < 0 ? err_set(err, "no memory") : 0;
}

void view_dict_free(struct view *v)
{
	for (uint32_t r = 0; v->kind && r < v->n_ranks; r++)
		free(v->kind[r]);
	for (uint32_t i = 0; i < v->n_site; i++)
		free(v->site_name[i]);
	free(v->kind);
	free(v->site_name);
	free(v->place);
	free(v->sig_place);
	buf_free(&v->sig_words);
}
