/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One dictionary for the signatures of all ranks. Signatures with the same function, call site and parameter text
 * share a number. When texts exceed WORDS_MAX bytes, they are left out, and calls from one place share a number. So
 * the page stays bounded for any number of ranks.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/array.h"
#include "common/hash_table.h"
#include "trace/view/pack.h"
#include "trace/view/words.h"

#define WORDS_MAX (2u << 20)

/* Numbers of 64-bit hashes. Equal hashes are taken for equal contents. */
struct numbers {
	struct hash_table table;
	uint64_t *hash;
	uint32_t n, cap;
};

/* Returns the number of the hash; *fresh: it is new. UINT32_MAX: memory runs out. */
static uint32_t number_of(struct numbers *k, uint64_t hash, bool *fresh)
{
	uint32_t at, i;

	*fresh = false;
	HASH_TABLE_FOR_EACH(&k->table, hash, at, i)
		if (k->hash[i] == hash)
			return i;
	if (ARRAY_ROOM(k->hash, k->cap, k->n + 1) != 0 || hash_table_add(&k->table, hash, k->n) != 0)
		return UINT32_MAX;
	*fresh = true;
	k->hash[k->n] = hash;
	return k->n++;
}

static void numbers_free(struct numbers *k)
{
	hash_table_free(&k->table);
	free(k->hash);
}

struct build {
	struct view *v;
	struct numbers sites, places, sigs;
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
	bool fresh;
	uint32_t site = number_of(&b->sites, d->site[sig->site].hash, &fresh), place;
	uint64_t key[2] = {sig->fn, site};

	if (site == UINT32_MAX || (fresh && number_site(v, d, &d->site[sig->site]) < 0))
		return UINT32_MAX;
	place = number_of(&b->places, XXH3_64bits(key, sizeof(key)), &fresh);
	return fresh && add_place(v, sig->fn, site) < 0 ? UINT32_MAX : place;
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
		uint32_t place = find_place(b, d, &d->sigs.sig[s]), number;
		bool fresh;

		if (place == UINT32_MAX)
			return -1;
		buf_reset(&b->words);
		if (b->v->sig_words.len < WORDS_MAX)
			view_words(d, s, &b->words);
		number = number_of(&b->sigs, XXH3_64bits_withSeed(b->words.data, b->words.len, place + 1), &fresh);
		if (number == UINT32_MAX || (fresh && (b->words.failed || add_sig(b, place) < 0)))
			return -1;
		kind[s] = VIEW_KIND_CALL + number;
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
	numbers_free(&b.sites);
	numbers_free(&b.places);
	numbers_free(&b.sigs);
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
