/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Definitions of many ranks as one: modules, call sites, types and operations that are the same have one index. */
#include <stdlib.h>
#include <string.h>

#include "model/inputs/pattern.h"

static void *copy_to_arena(struct pattern_set *s, const void *p, size_t bytes)
{
	void *q = arena_alloc(s->arena, bytes, 1);

	if (q && bytes)
		memcpy(q, p, bytes);
	return q;
}

static char *keep_text(struct pattern_set *s, const char *text)
{
	return text ? copy_to_arena(s, text, strlen(text) + 1) : NULL;
}

/* With room for one more element at its end, zeroed; NULL without memory. */
static void *one_more(void *array, uint32_t n, size_t size)
{
	char *p = realloc(array, (n + 1u) * size);

	if (p)
		memset(p + n * size, 0, size);
	return p;
}

static uint32_t put_module(struct pattern_set *s, const struct trace_module *m)
{
	struct trace_module *new;

	for (uint32_t i = 0; i < s->defs.n_module; i++)
		if (!strcmp(s->defs.module[i].path, m->path) && !strcmp(s->defs.module[i].build_id, m->build_id))
			return i;
	new = one_more(s->defs.module, s->defs.n_module, sizeof(*new));
	if (!new)
		return UINT32_MAX;
	s->defs.module = new;
	new += s->defs.n_module;
	*new = (struct trace_module){keep_text(s, m->path), keep_text(s, m->build_id)};
	return new->path && new->build_id ? s->defs.n_module++ : UINT32_MAX;
}

static uint32_t put_site(struct pattern_set *s, const struct trace_site *site, const uint32_t *module)
{
	struct trace_site *new;

	for (uint32_t i = 0; i < s->defs.n_site; i++)
		if (s->defs.site[i].hash == site->hash)
			return i;
	new = one_more(s->defs.site, s->defs.n_site, sizeof(*new));
	if (!new)
		return UINT32_MAX;
	s->defs.site = new;
	new += s->defs.n_site;
	*new = *site;
	for (uint32_t k = 0; k < site->n_frame; k++)
		new->module[k] = module[site->module[k]];
	return s->defs.n_site++;
}

static bool same_type(const struct trace_type *a, const struct trace_type *b, const uint32_t *sub)
{
	if (!a->name != !b->name || (a->name && strcmp(a->name, b->name)) || a->combiner != b->combiner || a->n_int != b->n_int ||
	    a->n_addr != b->n_addr || a->n_sub != b->n_sub || a->size != b->size || a->lb != b->lb || a->extent != b->extent)
		return false;
	for (uint32_t i = 0; i < a->n_sub; i++)
		if (a->sub[i] != (sub ? sub[b->sub[i]] : b->sub[i]))
			return false;
	return (!a->n_int || !memcmp(a->integer, b->integer, a->n_int * sizeof(*a->integer))) &&
	       (!a->n_addr || !memcmp(a->addr, b->addr, a->n_addr * sizeof(*a->addr)));
}

/* Subtypes come before the types that are made of them. type: where those of the rank are; NULL: they are of the set. */
static uint32_t put_type(struct pattern_set *s, const struct trace_type *t, const uint32_t *type)
{
	struct trace_type *new;

	for (uint32_t i = 0; i < s->defs.n_type; i++)
		if (same_type(&s->defs.type[i], t, type))
			return i;
	new = one_more(s->defs.type, s->defs.n_type, sizeof(*new));
	if (!new)
		return UINT32_MAX;
	s->defs.type = new;
	new += s->defs.n_type;
	*new = *t;
	new->name = keep_text(s, t->name);
	new->integer = copy_to_arena(s, t->integer, t->n_int * sizeof(*t->integer));
	new->addr = copy_to_arena(s, t->addr, t->n_addr * sizeof(*t->addr));
	new->sub = copy_to_arena(s, t->sub, t->n_sub * sizeof(*t->sub));
	if ((t->name && !new->name) || !new->integer || !new->addr || !new->sub)
		return UINT32_MAX;
	for (uint32_t i = 0; i < t->n_sub; i++)
		new->sub[i] = type ? type[t->sub[i]] : t->sub[i];
	return s->defs.n_type++;
}

uint32_t pattern_type_put(struct pattern_set *s, const struct trace_type *t)
{
	return put_type(s, t, NULL);
}

static uint32_t put_op(struct pattern_set *s, const struct trace_op *op)
{
	struct trace_op *new;

	for (uint32_t i = 0; i < s->defs.n_op; i++)
		if (!strcmp(s->defs.op[i].name, op->name) && s->defs.op[i].commutes == op->commutes)
			return i;
	new = one_more(s->defs.op, s->defs.n_op, sizeof(*new));
	if (!new)
		return UINT32_MAX;
	s->defs.op = new;
	new += s->defs.n_op;
	*new = (struct trace_op){keep_text(s, op->name), op->commutes};
	return new->name ? s->defs.n_op++ : UINT32_MAX;
}

int pattern_map_make(struct pattern_set *s, const struct trace_defs *d, struct pattern_map *out)
{
	bool ok;

	*out = (struct pattern_map){
	    .module = calloc(d->n_module + 1u, sizeof(*out->module)), .site = calloc(d->n_site + 1u, sizeof(*out->site)),
	    .type = calloc(d->n_type + 1u, sizeof(*out->type)), .op = calloc(d->n_op + 1u, sizeof(*out->op))};
	ok = out->module && out->site && out->type && out->op;
	for (uint32_t i = 0; ok && i < d->n_module; i++)
		ok = (out->module[i] = put_module(s, &d->module[i])) != UINT32_MAX;
	for (uint32_t i = 0; ok && i < d->n_site; i++)
		ok = (out->site[i] = put_site(s, &d->site[i], out->module)) != UINT32_MAX;
	for (uint32_t i = 0; ok && i < d->n_type; i++)
		ok = (out->type[i] = put_type(s, &d->type[i], out->type)) != UINT32_MAX;
	for (uint32_t i = 0; ok && i < d->n_op; i++)
		ok = (out->op[i] = put_op(s, &d->op[i])) != UINT32_MAX;
	if (!ok)
		pattern_map_free(out);
	return ok ? 0 : -1;
}

void pattern_map_free(struct pattern_map *m)
{
	free(m->module);
	free(m->site);
	free(m->type);
	free(m->op);
	*m = (struct pattern_map){0};
}

uint32_t pattern_values(const struct trace_defs *d, uint32_t sym, const struct pattern_map *m, int64_t out[PATTERN_VALUES])
{
	uint32_t n = 0;
	struct sig_walk w;

	sig_walk_begin(&w, d, sym);
	while (sig_walk_next(&w)) {
		bool type = w.kind == TK_TYPE || w.kind == TK_NEWTYPE || w.kind == TK_TYPES;

		if (n + w.n + 1 > PATTERN_VALUES)
			return 0;
		if (trace_kind_is_array(w.kind))
			out[n++] = w.n;
		for (uint32_t i = 0; i < w.n; i++) {
			int64_t v = w.val[i];

			if (type && v >= 0 && v < d->n_type)
				v = m->type[v];
			else if (w.kind == TK_OP && v >= 0 && v < d->n_op)
				v = m->op[v];
			out[n++] = v;
		}
	}
	return n;
}
