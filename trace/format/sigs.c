/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signatures of calls: written, read, and walked. See sigs.h and sigtable.h. */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/array.h"
#include "common/clean.h"
#include "trace/format/sigs.h"
#include "trace/functions.h"

#define FN_NAME_MAX 4096
#define MAX_VALUES  (1u << 24)

/* ---- names of functions ---- */

uint32_t trace_fn_by_name(const char *name)
{
	uint32_t fn = 0;

	while (fn < TRACE_FN_N && strcmp(trace_fn[fn].name, name))
		fn++;
	return fn;
}

uint64_t trace_fn_hash(void)
{
	uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a */

	for (uint32_t fn = 0; fn < TRACE_FN_N; fn++)
		for (const char *c = trace_fn[fn].name; *c; c++)
			h = (h ^ (uint8_t)*c) * 0x100000001b3ull;
	return h;
}

static int decode_fn_names(struct rdbuf *in, uint32_t *fn, uint32_t *n, struct errbuf *err)
{
	uint64_t count = rdbuf_uv(in);

	if (in->failed || count > TRACE_FN_N)
		return err_set(err, "malformed list of functions");
	for (*n = 0; *n < count; ++*n) {
		char *name = clean_line(rdbuf_str(in, FN_NAME_MAX));
		uint32_t k;

		if (!name)
			return err_set(err, "malformed list of functions");
		k = trace_fn_by_name(name);
		if (k == TRACE_FN_N) {
			err_set(err, "function %.60s is not known to this version", name);
			free(name);
			return -1;
		}
		free(name);
		fn[*n] = k;
	}
	return 0;
}

/* ---- writing ---- */

void sigs_encode_one(const struct trace_defs *d, uint32_t sym, uint32_t fn, struct buf *b)
{
	const struct trace_sig *s = &d->sigs.sig[sym];
	struct sig_walk w;

	buf_put_uv(b, fn);
	buf_put_uv(b, s->site);
	buf_put_uv(b, sig_values(d, sym, NULL));
	sig_walk_begin(&w, d, sym);
	while (sig_walk_next(&w)) {
		if (trace_kind_is_array(w.kind))
			buf_put_sv(b, w.n);
		for (uint32_t k = 0; k < w.n; k++)
			buf_put_sv(b, w.val[k]);
	}
}

void sigs_encode(const struct trace_defs *d, struct buf *b)
{
	uint32_t index[TRACE_FN_N], n = 0;

	memset(index, 0xff, sizeof(index));
	for (uint32_t i = 0; i < d->sigs.n; i++)
		if (index[d->sigs.sig[i].fn] == UINT32_MAX)
			index[d->sigs.sig[i].fn] = n++;
	buf_put_uv(b, n);
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t fn = 0; fn < TRACE_FN_N; fn++)
			if (index[fn] == k)
				buf_put_str(b, trace_fn[fn].name);
	buf_put_uv(b, d->sigs.n);
	for (uint32_t i = 0; i < d->sigs.n; i++)
		sigs_encode_one(d, i, index[d->sigs.sig[i].fn], b);
}

/* ---- reading ---- */

/* Does each value have the form that its kind demands, and refer to an existing definition? */
static bool value_ok(const struct trace_defs *d, uint8_t kind, int64_t v)
{
	switch (kind) {
	case TK_COMM:
	case TK_NEWCOMM:
		return v >= TRACE_NULL && v < (int64_t)d->n_comm;
	case TK_TYPE:
	case TK_NEWTYPE:
	case TK_TYPES:
		return v >= TRACE_NULL && v < (int64_t)d->n_type;
	case TK_OP:
		return v >= TRACE_NULL && v < (int64_t)d->n_op;
	case TK_WIN:
	case TK_NEWWIN:
		return v >= TRACE_NULL && v < (int64_t)d->n_win;
	case TK_FILE:
	case TK_NEWFILE:
		return v >= TRACE_NULL && v < (int64_t)d->n_file;
	case TK_NEWREQ:
	case TK_REQ:
	case TK_REQS:
	case TK_DONE:
		return v >= TRACE_NULL && v < INT32_MAX;
	default:
		return true;
	}
}

static bool values_ok(const struct trace_defs *d, const struct trace_fn_info *fn, const int64_t *val, uint32_t n)
{
	uint32_t pos = 0;

	for (int i = 0; i < fn->n_param; i++) {
		uint8_t kind = fn->param[i].kind;
		uint64_t len = 1;

		if (trace_kind_is_array(kind)) {
			if (pos >= n || val[pos] < 0 || val[pos] > MAX_VALUES)
				return false;
			len = (uint64_t)val[pos++];
		}
		if (len > n - pos)
			return false;
		for (uint64_t k = 0; k < len; k++)
			if (!value_ok(d, kind, val[pos + k]))
				return false;
		pos += (uint32_t)len;
	}
	return pos == n;
}

/* Where the row of these values begins in `rest`; it is added if it is new. Returns UINT32_MAX if memory runs out. */
static uint32_t row_find(struct sigtable *t, const int64_t *val, uint32_t n)
{
	uint64_t hash = XXH3_64bits(val, n * sizeof *val);
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(&t->known, hash, at, i)
		if (t->row[i].n == n && (n == 0 || memcmp(t->rest + t->row[i].off, val, n * sizeof *val) == 0))
			return t->row[i].off;
	if (n > UINT32_MAX - t->n_rest || ARRAY_ROOM(t->row, t->cap_row, t->n_row + 1) != 0 ||
	    ARRAY_ROOM(t->rest, t->cap_rest, t->n_rest + n + 1) != 0 || hash_table_add(&t->known, hash, t->n_row) != 0)
		return UINT32_MAX;
	t->row[t->n_row++] = (struct sig_row){.off = t->n_rest, .n = n};
	if (n > 0)
		memcpy(t->rest + t->n_rest, val, n * sizeof *val);
	t->n_rest += n;
	return t->n_rest - n;
}

/* Add a signature. val: its values, which are overwritten. Returns 0, or -1 if memory runs out. */
static int sig_add(struct sigtable *t, uint16_t fn, uint32_t site, int64_t *val)
{
	const struct trace_fn_info *info = &trace_fn[fn];
	struct trace_sig sig = {.fn = fn, .site = site, .off = t->n_pool};
	uint32_t pos = 0, n_rest = 0;

	if (info->n_param > UINT32_MAX - t->n_pool || ARRAY_ROOM(t->sig, t->cap, t->n + 1) != 0 ||
	    ARRAY_ROOM(t->pool, t->cap_pool, t->n_pool + info->n_param) != 0)
		return -1;
	for (uint32_t i = 0; i < info->n_param; i++) {
		uint32_t len = trace_kind_is_array(info->param[i].kind) ? 1 + (uint32_t)val[pos] : 1;

		if (trace_kind_is_amount(info->param[i].kind)) {
			t->pool[t->n_pool++] = val[pos];
		} else {
			memmove(val + n_rest, val + pos, len * sizeof *val);
			n_rest += len;
		}
		pos += len;
	}
	sig.rest = row_find(t, val, n_rest);
	t->sig[t->n] = sig;
	t->n += sig.rest != UINT32_MAX;
	return sig.rest != UINT32_MAX ? 0 : -1;
}

int sigs_decode(struct rdbuf *in, struct trace_defs *d, struct errbuf *err)
{
	uint32_t fn[TRACE_FN_N], n_fn = 0;
	uint64_t n;
	int64_t *val = NULL;
	int rv = -1;

	if (decode_fn_names(in, fn, &n_fn, err) < 0)
		return -1;
	n = rdbuf_uv(in);
	err_set(err, "malformed signatures");
	for (uint64_t i = 0; i < n; i++) {
		uint64_t f = rdbuf_uv(in), site = rdbuf_uv(in), len = rdbuf_uv(in);
		int64_t *p;

		if (in->failed || f >= n_fn || site >= d->n_site || len > rdbuf_left(in))
			goto out;
		p = realloc(val, (len + 1) * sizeof(*val));
		if (!p)
			goto out;
		val = p;
		for (uint64_t k = 0; k < len; k++)
			val[k] = rdbuf_sv(in);
		if (in->failed || !values_ok(d, &trace_fn[fn[f]], val, (uint32_t)len) ||
		    sig_add(&d->sigs, (uint16_t)fn[f], (uint32_t)site, val) < 0)
			goto out;
	}
	rv = in->failed ? -1 : 0;
	sigtable_settle(&d->sigs);
out:
	free(val);
	return rv;
}

/* ---- walking a signature ---- */

void sig_walk_begin(struct sig_walk *w, const struct trace_defs *d, uint32_t sym)
{
	*w = (struct sig_walk){.fn = &trace_fn[d->sigs.sig[sym].fn], .rest = sigtable_rest(&d->sigs, sym),
			       .amount = d->sigs.rest ? sigtable_amounts(&d->sigs, sym) : NULL};
}

int sig_walk_next(struct sig_walk *w)
{
	if (w->i >= w->fn->n_param)
		return 0;
	w->kind = w->fn->param[w->i].kind;
	w->name = w->fn->param[w->i].name;
	w->i++;
	w->n = 1;
	if (w->amount && trace_kind_is_amount(w->kind)) {
		w->val = w->amount++;
		return 1;
	}
	w->val = w->rest;
	if (trace_kind_is_array(w->kind))
		w->n = (uint32_t)*w->val++;
	w->rest = w->val + w->n;
	return 1;
}

uint32_t sig_values(const struct trace_defs *d, uint32_t sym, int64_t *out)
{
	struct sig_walk w;
	uint32_t n = 0;

	sig_walk_begin(&w, d, sym);
	while (sig_walk_next(&w)) {
		bool array = trace_kind_is_array(w.kind);

		if (out && array)
			out[n] = w.n;
		n += array;
		if (out && w.n > 0)
			memcpy(out + n, w.val, w.n * sizeof *out);
		n += w.n;
	}
	return n;
}

int64_t sig_scalar(const struct trace_defs *d, uint32_t sym, uint8_t kind, int64_t missing)
{
	struct sig_walk w;

	for (sig_walk_begin(&w, d, sym); sig_walk_next(&w);)
		if (w.kind == kind)
			return w.val[0];
	return missing;
}
