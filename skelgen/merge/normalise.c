/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shapes and keys of events: see normalise.h. */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "skelgen/merge/normalise.h"
#include "common/array.h"

/* ---- sets of keys ---- */

static uint32_t key_set_place(const struct key_set *s, uint64_t key)
{
	uint32_t lo = 0, hi = s->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->key[mid] < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool key_set_has(const struct key_set *s, uint64_t key)
{
	uint32_t at = key_set_place(s, key);

	return at < s->n && s->key[at] == key;
}

int key_set_add(struct key_set *s, uint64_t key)
{
	uint32_t at = key_set_place(s, key);

	if (at < s->n && s->key[at] == key)
		return 0;
	if (ARRAY_ROOM(s->key, s->cap, s->n + 1) != 0)
		return -1;
	memmove(s->key + at + 1, s->key + at, (s->n - at) * sizeof(*s->key));
	s->key[at] = key;
	s->n++;
	return 0;
}

void key_set_free(struct key_set *s)
{
	free(s->key);
	*s = (struct key_set){0};
}

/* ---- keys ---- */

/* Class of a datatype: the name of a predefined datatype, the constructor of a derived one. Numbers and sizes do not
 * count, because ranks may number datatypes differently and may have derived datatypes of different sizes. */
static uint64_t type_class(const struct trace_defs *d, int64_t type)
{
	const struct trace_type *t;

	if (type < 0 || type >= (int64_t)d->n_type)
		return 0;
	t = &d->type[type];
	if (t->combiner == TCOMB_NAMED && t->name)
		return XXH3_64bits(t->name, strlen(t->name));
	return (uint64_t)t->combiner + 1;
}

static uint64_t op_class(const struct trace_defs *d, int64_t op)
{
	if (op < 0 || op >= (int64_t)d->n_op || !d->op[op].name)
		return 0;
	return XXH3_64bits(d->op[op].name, strlen(d->op[op].name));
}

uint64_t event_key(const struct trace_defs *d, uint32_t sym)
{
	const struct trace_sig *sig = &d->sigs.sig[sym];
	struct sig_walk w;
	uint64_t h[3] = {sig->fn, d->site[sig->site].hash, 0};

	sig_walk_begin(&w, d, sym);
	while (sig_walk_next(&w)) {
		uint64_t part[2] = {h[2], 0};

		if (w.kind == TK_COMM)
			part[1] = (uint64_t)w.val[0] + 2;
		else if (w.kind == TK_TYPE)
			part[1] = type_class(d, w.val[0]);
		else if (w.kind == TK_OP)
			part[1] = op_class(d, w.val[0]);
		else
			continue;
		h[2] = XXH3_64bits_withSeed(part, sizeof(part), w.kind);
	}
	return XXH3_64bits(h, sizeof(h));
}

/* ---- shapes ---- */

enum treatment { KEEP, ERASE, ERASE_PEER, ERASE_ELEMENTS, ERASE_ARRAY };

static enum treatment treat(uint8_t kind, enum skel_alphabet alphabet)
{
	switch (kind) {
	case TK_COUNT:
	case TK_TAG:
	case TK_ATAG:
	case TK_ASRC:
	case TK_NEWREQ:
	case TK_DISP:
		return ERASE;
	case TK_REQ:
	case TK_WIN: /* definitions may differ from use to use: another size, another name */
	case TK_NEWWIN:
	case TK_FILE:
	case TK_NEWFILE:
		return ERASE_PEER;
	case TK_COUNTS:
	case TK_REQS:
		return ERASE_ELEMENTS;
	case TK_DONE:
	case TK_ASRCS:
	case TK_ATAGS:
		return ERASE_ARRAY;
	case TK_DST:
	case TK_SRC:
		return alphabet == SKEL_SHAPE ? ERASE_PEER : KEEP;
	default:
		return KEEP;
	}
}

/* The signature's values with everything erased that the alphabet ignores, into val; their number. */
static uint32_t erase(const struct trace_defs *d, uint32_t sym, enum skel_alphabet alphabet, int64_t *val)
{
	struct sig_walk w;
	uint32_t n = 0;

	sig_walk_begin(&w, d, sym);
	while (sig_walk_next(&w)) {
		switch (treat(w.kind, alphabet)) {
		case KEEP:
			if (trace_kind_is_array(w.kind))
				val[n++] = w.n;
			memcpy(val + n, w.val, w.n * sizeof(*val));
			n += w.n;
			break;
		case ERASE_PEER: /* TRACE_PROC_NULL, TRACE_ANY_SOURCE, TRACE_NULL stay apart */
			val[n++] = w.val[0] < 0 ? w.val[0] : 0;
			break;
		case ERASE_ELEMENTS:
			val[n++] = w.n;
			break;
		case ERASE:
		case ERASE_ARRAY:
			break;
		}
	}
	return n;
}

static uint32_t longest_signature(const struct trace_defs *d)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->sigs.n; i++) {
		uint32_t values = sig_values(d, i, NULL);

		n = values > n ? values : n;
	}
	return n;
}

#define EXACT_FN 0x8000 /* keeps the shapes of exact symbols apart from erased ones */

static uint32_t intern_shape(const struct trace_defs *d, uint32_t sym, enum skel_alphabet alphabet, bool exact,
			     int64_t *val, struct sigtable *shapes)
{
	const struct trace_sig *sig = &d->sigs.sig[sym];

	if (exact) {
		val[0] = sym;
		return sigtable_intern(shapes, (uint16_t)(sig->fn | EXACT_FN), sig->site, val, 1);
	}
	return sigtable_intern(shapes, sig->fn, sig->site, val, erase(d, sym, alphabet, val));
}

static int map_symbols(const struct trace_defs *d, enum skel_alphabet alphabet, const struct key_set *kept,
		       struct shape_map *m, int64_t *val, struct sigtable *shapes)
{
	for (uint32_t sym = 0; sym < m->n_sym; sym++) {
		uint64_t key = event_key(d, sym);
		bool exact = alphabet == SKEL_EXACT || (kept && key_set_has(kept, key));
		uint32_t shape = intern_shape(d, sym, alphabet, exact, val, shapes);

		if (shape == UINT32_MAX)
			return -1;
		m->of_sym[sym] = shape;
		if (shape == m->n_shape)
			m->key[m->n_shape++] = key;
	}
	return 0;
}

int shape_map_build(const struct trace_defs *d, enum skel_alphabet alphabet, const struct key_set *kept,
		    struct shape_map *out, struct errbuf *err)
{
	uint32_t n = d->sigs.n;
	struct sigtable shapes = {0};
	int64_t *val = calloc((size_t)longest_signature(d) + 1, sizeof(*val));
	int rv = -1;

	*out = (struct shape_map){.n_sym = n};
	out->of_sym = calloc(n ? n : 1, sizeof(*out->of_sym));
	out->key = calloc(n ? n : 1, sizeof(*out->key));
	if (!val || !out->of_sym || !out->key || map_symbols(d, alphabet, kept, out, val, &shapes) < 0)
		err_set(err, "no memory to compare %u signatures", n);
	else
		rv = 0;
	if (rv < 0)
		shape_map_free(out);
	sigtable_free(&shapes);
	free(val);
	return rv;
}

void shape_map_free(struct shape_map *m)
{
	free(m->of_sym);
	free(m->key);
	*m = (struct shape_map){0};
}
