/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recorded calls as control points: see call.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "predictor/inputs/call.h"
#include "trace/functions.h"

#define INTS_MAX 3 /* elements of an array of integers that are values */

static void put_word(struct call_view *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put_word(struct call_view *c, const char *fmt, ...)
{
	size_t n = strlen(c->name);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->name + n, sizeof(c->name) - n, fmt, ap);
	va_end(ap);
	for (char *p = c->name + n; *p; p++)
		if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f)
			*p = '?';
}

static void put_value(struct call_view *c, const char *name, const char *tail, int64_t v)
{
	if (c->n == CALL_VALUES)
		return;
	snprintf(c->value[c->n].name, sizeof(c->value[c->n].name), "%.16s%s", name, tail);
	c->value[c->n++].v = v;
}

/* Size, first member and stride; the stride of members that do not follow each other evenly is 0. */
static void put_comm(struct call_view *c, const struct trace_defs *d, const char *name, int64_t comm)
{
	const struct trace_comm *k;
	int64_t stride = CALL_MISSING;

	if (comm <= 1 || comm >= d->n_comm) {
		put_word(c, " %s", comm == 0 ? "world" : comm == 1 ? "self" : "null");
		return;
	}
	k = &d->comm[comm];
	if (k->kind != TCOMM_INTRA || !k->members.n) {
		put_word(c, " intercommunicator");
		return;
	}
	put_word(c, " communicator");
	for (uint32_t i = 1; i < k->members.n; i++) {
		int64_t step = (int64_t)k->members.rank[i] - k->members.rank[i - 1];

		stride = i == 1 || stride == step ? step : 0;
		if (!stride)
			break;
	}
	put_value(c, name, ".size", k->members.n);
	put_value(c, name, ".first", k->members.rank[0]);
	put_value(c, name, ".stride", stride);
}

static void put_type(struct call_view *c, const struct trace_defs *d, const char *name, int64_t type)
{
	static const char *const word[TCOMB_N] = {"named", "dup", "contiguous", "vector", "hvector", "indexed", "hindexed",
						  "indexed_block", "hindexed_block", "struct", "subarray", "darray",
						  "resized", "f90", "other"};

	if (type < 0 || type >= d->n_type)
		return;
	if (d->type[type].name) {
		put_word(c, " %.24s", d->type[type].name);
		return;
	}
	put_word(c, " %s", d->type[type].combiner >= 0 && d->type[type].combiner < TCOMB_N ? word[d->type[type].combiner] : "?");
	put_value(c, name, ".bytes", d->type[type].size);
}

static void put_array(struct call_view *c, const struct sig_walk *w)
{
	int64_t sum = 0;
	char tail[8];

	if (w->kind == TK_COUNTS) {
		for (uint32_t i = 0; i < w->n; i++)
			if (__builtin_add_overflow(sum, w->val[i], &sum))
				sum = CALL_MISSING;
		put_value(c, w->name, ".sum", sum);
		return;
	}
	if (w->kind != TK_INTS)
		return;
	for (uint32_t i = 0; i < INTS_MAX; i++) {
		snprintf(tail, sizeof(tail), "[%u]", i);
		put_value(c, w->name, tail, i < w->n ? w->val[i] : CALL_MISSING);
	}
}

static void put_param(struct call_view *c, const struct trace_defs *d, const struct sig_walk *w)
{
	switch (w->kind) {
	case TK_DST:
	case TK_SRC:
	case TK_TAG:
	case TK_COUNT:
	case TK_ROOT:
	case TK_INT:
		put_value(c, w->name, "", w->val[0] == TRACE_UNDEFINED ? CALL_MISSING : w->val[0]);
		break;
	case TK_COMM:
		put_comm(c, d, w->name, w->val[0]);
		break;
	case TK_TYPE:
		put_type(c, d, w->name, w->val[0]);
		break;
	case TK_OP:
		if (w->val[0] >= 0 && w->val[0] < d->n_op)
			put_word(c, " %.24s", d->op[w->val[0]].name);
		break;
	case TK_INPLACE:
		if (w->val[0] > 0)
			put_word(c, " in-place");
		break;
	default:
		if (trace_kind_is_array(w->kind))
			put_array(c, w);
	}
}

static void put_site(struct call_view *c, const struct trace_defs *d, uint32_t site)
{
	const struct trace_site *s = site < d->n_site ? &d->site[site] : NULL;
	const char *path, *base;

	if (!s)
		return;
	if (!s->n_frame || s->module[0] >= d->n_module) {
		put_word(c, " #%08x", (unsigned)(s->hash & 0xffffffff));
		return;
	}
	path = d->module[s->module[0]].path;
	base = strrchr(path, '/');
	put_word(c, " %.40s+0x%" PRIx64, base ? base + 1 : path, s->offset[0]);
	if (s->n_frame > 1)
		put_word(c, "#%04x", (unsigned)(s->hash & 0xffff));
}

void call_view(const struct trace_defs *d, uint32_t sym, struct call_view *out)
{
	const struct trace_sig *sig = &d->sigs.sig[sym];
	uint64_t hash = sig->site < d->n_site ? d->site[sig->site].hash : 0;
	struct sig_walk w;

	*out = (struct call_view){0};
	put_word(out, "%s", trace_fn[sig->fn].name);
	put_site(out, d, sig->site);
	sig_walk_begin(&w, d, sym);
	while (sig_walk_next(&w))
		put_param(out, d, &w);
	out->key = XXH3_64bits_withSeed(out->name, strlen(out->name), hash);
}
