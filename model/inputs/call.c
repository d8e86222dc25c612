/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recorded calls as control points: see call.h. */
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/clean.h"
#include "model/inputs/call.h"
#include "trace/functions.h"

#define INTS_MAX   3  /* elements of an array of integers that are values */
#define SUBS_NAMED 6  /* of a datatype, in the name of its constructor */
#define DIGITS_MAX 15 /* of a number in a file's name */

static void put_word(struct call_view *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put_word(struct call_view *c, const char *fmt, ...)
{
	size_t n = strlen(c->name);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->name + n, sizeof(c->name) - n, fmt, ap);
	va_end(ap);
	clean_line(c->name + n);
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

static const char *type_word(const struct trace_type *t)
{
	static const char *const word[TCOMB_N] = {"named", "dup", "contiguous", "vector", "hvector", "indexed", "hindexed",
						  "indexed_block", "hindexed_block", "struct", "subarray", "darray",
						  "resized", "f90", "other"};

	return t->name ? t->name : t->combiner >= 0 && t->combiner < TCOMB_N ? word[t->combiner] : "?";
}

static void put_type(struct call_view *c, const struct trace_defs *d, const char *name, int64_t type)
{
	if (type < 0 || type >= d->n_type)
		return;
	put_word(c, " %.24s", type_word(&d->type[type]));
	if (!d->type[type].name)
		put_value(c, name, ".bytes", d->type[type].size);
}

/* Of as many numbers as its first one says. */
static bool is_listed(const struct trace_type *t)
{
	return t->combiner >= TCOMB_INDEXED && t->combiner <= TCOMB_HINDEXED_BLOCK;
}

uint32_t call_type_ints(const struct trace_type *t)
{
	uint32_t most = is_listed(t) ? 1 : CALL_TYPE_INTS;

	return t->n_int < most ? t->n_int : most;
}

uint32_t call_type_addrs(const struct trace_type *t)
{
	return is_listed(t) ? 0 : t->n_addr < CALL_TYPE_ADDRS ? t->n_addr : CALL_TYPE_ADDRS;
}

bool call_type_measured(const struct trace_type *t)
{
	return t->combiner == TCOMB_STRUCT || t->combiner == TCOMB_DARRAY || t->combiner >= TCOMB_F90;
}

/* Adds the counts and types of a constructor to the name, if the values do not contain them. */
static void put_newtype(struct call_view *c, const struct trace_defs *d, const char *name, int64_t type)
{
	const struct trace_type *t = type >= 0 && type < d->n_type ? &d->type[type] : NULL;
	char tail[8];

	if (!t || t->name) {
		put_word(c, " %.24s", t ? t->name : "null");
		return;
	}
	put_word(c, " %s", type_word(t));
	if (!is_listed(t) && t->n_int > 2)
		put_word(c, "%u", t->n_int);
	for (uint32_t i = 0; i < t->n_sub && i < SUBS_NAMED; i++)
		put_word(c, "%c%.24s", i ? ',' : ':', type_word(&d->type[t->sub[i]]));
	if (call_type_measured(t)) {
		put_value(c, name, ".bytes", t->size);
		put_value(c, name, ".lb", t->lb);
		put_value(c, name, ".extent", t->extent);
	}
	for (uint32_t i = 0; i < call_type_ints(t); i++) {
		snprintf(tail, sizeof(tail), ".i%u", i);
		put_value(c, name, tail, t->integer[i]);
	}
	for (uint32_t i = 0; i < call_type_addrs(t); i++) {
		snprintf(tail, sizeof(tail), ".a%u", i);
		put_value(c, name, tail, t->addr[i]);
	}
}

static void put_window(struct call_view *c, const struct trace_defs *d, const char *name, int64_t win)
{
	const struct trace_win *w = win >= 0 && win < d->n_win ? &d->win[win] : NULL;

	put_value(c, name, ".kind", w ? w->kind : CALL_MISSING);
	put_value(c, name, ".size", w && w->size <= INT64_MAX ? (int64_t)w->size : CALL_MISSING);
	put_value(c, name, ".unit", w ? w->disp_unit : CALL_MISSING);
}

const char *call_file_number(const char *path, size_t *at, size_t *n)
{
	const char *slash = strrchr(path, '/');
	size_t i = *at, begin = slash ? (size_t)(slash + 1 - path) : 0;

	for (i = i < begin ? begin : i; path[i]; i += *n) {
		*n = 1;
		if (!isdigit((unsigned char)path[i]))
			continue;
		while (isdigit((unsigned char)path[i + *n]))
			++*n;
		if (*n > DIGITS_MAX)
			continue;
		*at = i + *n;
		return path + i;
	}
	return NULL;
}

static void put_file(struct call_view *c, const struct trace_defs *d, const char *name, int64_t file)
{
	const struct trace_file *f = file >= 0 && file < d->n_file ? &d->file[file] : NULL;
	size_t at = 0, n;
	char tail[8];

	put_value(c, name, ".mode", f ? f->amode : CALL_MISSING);
	for (uint32_t i = 0; i < CALL_FILE_NUMBERS; i++) {
		const char *digits = f ? call_file_number(f->name, &at, &n) : NULL;

		f = digits ? f : NULL;
		snprintf(tail, sizeof(tail), ".n%u", i);
		put_value(c, name, tail, digits ? strtoll(digits, NULL, 10) : CALL_MISSING);
	}
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
	case TK_DISP:
		put_value(c, w->name, "", w->val[0] == TRACE_UNDEFINED ? CALL_MISSING : w->val[0]);
		break;
	case TK_ASRC:
	case TK_ATAG:
		put_value(c, w->name, "", w->val[0] == TRACE_NULL ? CALL_MISSING : w->val[0]);
		break;
	case TK_COMM:
		put_comm(c, d, w->name, w->val[0]);
		break;
	case TK_TYPE:
		put_type(c, d, w->name, w->val[0]);
		break;
	case TK_NEWTYPE:
		put_newtype(c, d, w->name, w->val[0]);
		break;
	case TK_NEWWIN:
		put_window(c, d, w->name, w->val[0]);
		break;
	case TK_NEWFILE:
		put_file(c, d, w->name, w->val[0]);
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

size_t call_place(const struct trace_defs *d, uint32_t site, char *text, size_t size)
{
	const struct trace_site *s = &d->site[site];
	const char *path, *base;
	int n;

	if (!s->n_frame || s->module[0] >= d->n_module)
		return (size_t)snprintf(text, size, "#%08x", (unsigned)(s->hash & 0xffffffff));
	path = d->module[s->module[0]].path;
	base = strrchr(path, '/');
	n = snprintf(text, size, "%.40s+0x%" PRIx64, base ? base + 1 : path, s->offset[0]);
	if (s->n_frame > 1)
		n += snprintf(text + n, size - (size_t)n, "#%04x", (unsigned)(s->hash & 0xffff));
	return (size_t)n;
}

void call_view(const struct trace_defs *d, uint32_t sym, struct call_view *out)
{
	const struct trace_sig *sig = &d->sigs.sig[sym];
	uint64_t hash = sig->site < d->n_site ? d->site[sig->site].hash : 0;
	struct sig_walk w;
	char place[CALL_PLACE];

	*out = (struct call_view){0};
	put_word(out, "%s", trace_fn[sig->fn].name);
	if (sig->site < d->n_site) {
		call_place(d, sig->site, place, sizeof(place));
		put_word(out, " %s", place);
	}
	sig_walk_begin(&w, d, sym);
	while (sig_walk_next(&w))
		put_param(out, d, &w);
	out->key = XXH3_64bits_withSeed(out->name, strlen(out->name), hash);
}
