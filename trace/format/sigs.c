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
	const int64_t *val = sigtable_amounts(&d->sigs, sym);

	if (d->sigs.rows) {
		b->failed = true;
		return;
	}
	buf_put_uv(b, fn);
	buf_put_uv(b, s->site);
	buf_put_uv(b, s->n_interned);
	for (uint32_t k = 0; k < s->n_interned; k++)
		buf_put_sv(b, val[k]);
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

/* A table that is being decoded. */
struct decoding {
	struct sigtable *t;
	struct hash_table signatures, rows; /* that are known */
	struct row {
		uint32_t off, n; /* values in t->rows */
	} *row;
	uint32_t n_row, cap_row;
};

/* Where the row of these values begins; it is added if it is new. Returns UINT32_MAX if memory runs out. */
static uint32_t row_find(struct decoding *g, const int64_t *val, uint32_t n)
{
	uint64_t hash = XXH3_64bits(val, n * sizeof *val);
	struct sigtable *t = g->t;
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(&g->rows, hash, at, i)
		if (g->row[i].n == n && (n == 0 || memcmp(t->rows + g->row[i].off, val, n * sizeof *val) == 0))
			return g->row[i].off;
	/* one value more: also a table without values has rows */
	if (ARRAY_ROOM(t->rows, t->cap_rows, t->n_rows + n + 1) != 0 ||
	    ARRAY_ROOM(g->row, g->cap_row, g->n_row + 1) != 0 || hash_table_add(&g->rows, hash, g->n_row) != 0)
		return UINT32_MAX;
	g->row[g->n_row++] = (struct row){.off = t->n_rows, .n = n};
	if (n > 0)
		memcpy(t->rows + t->n_rows, val, n * sizeof *val);
	t->n_rows += n;
	return t->n_rows - n;
}

/* Number of the signature that is like this one and has the same n amounts; t->n if there is none. */
static uint32_t sig_find(const struct decoding *g, const struct trace_sig *sig, uint32_t n, uint64_t hash)
{
	const struct sigtable *t = g->t;
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(&g->signatures, hash, at, i) {
		const struct trace_sig *s = &t->sig[i];

		if (s->fn == sig->fn && s->site == sig->site && s->row == sig->row &&
		    (n == 0 || memcmp(t->pool + s->off, t->pool + sig->off, n * sizeof *t->pool) == 0))
			return i;
	}
	return t->n;
}

/* Add a signature. val: its values, which are overwritten. Returns 0; -1 if there is one like it, or without memory. */
static int sig_add(struct decoding *g, uint16_t fn, uint32_t site, int64_t *val)
{
	const struct trace_fn_info *info = &trace_fn[fn];
	struct sigtable *t = g->t;
	struct trace_sig sig = {.fn = fn, .site = site, .off = t->n_pool};
	uint32_t pos = 0, n_row = 0, n;
	uint64_t hash;

	if (ARRAY_ROOM(t->sig, t->cap, t->n + 1) != 0 ||
	    ARRAY_ROOM(t->pool, t->cap_pool, t->n_pool + info->n_param) != 0)
		return -1;
	for (uint32_t i = 0; i < info->n_param; i++) {
		uint32_t len = trace_kind_is_array(info->param[i].kind) ? 1 + (uint32_t)val[pos] : 1;

		if (trace_kind_is_amount(info->param[i].kind)) {
			t->pool[t->n_pool++] = val[pos];
		} else {
			memmove(val + n_row, val + pos, len * sizeof *val);
			n_row += len;
		}
		pos += len;
	}
	n = t->n_pool - sig.off;
	sig.row = row_find(g, val, n_row);
	hash = XXH3_64bits_withSeed(t->pool ? t->pool + sig.off : NULL, n * sizeof *t->pool,
				    (uint64_t)sig.row << 32 ^ (uint64_t)site << 16 ^ fn);
	if (sig.row == UINT32_MAX || sig_find(g, &sig, n, hash) != t->n ||
	    hash_table_add(&g->signatures, hash, t->n) != 0)
		return -1;
	t->sig[t->n++] = sig;
	return 0;
}

static void *shrunk(void *array, size_t bytes)
{
	void *less = bytes > 0 ? realloc(array, bytes) : NULL;

	return less ? less : array;
}

/* Give back what only decoding needs. */
static void decoding_end(struct decoding *g)
{
	struct sigtable *t = g->t;

	hash_table_free(&g->signatures);
	hash_table_free(&g->rows);
	free(g->row);
	t->sig = shrunk(t->sig, t->n * sizeof *t->sig);
	t->pool = shrunk(t->pool, t->n_pool * sizeof *t->pool);
	t->rows = shrunk(t->rows, t->n_rows * sizeof *t->rows);
}

int sigs_decode(struct rdbuf *in, struct trace_defs *d, struct errbuf *err)
{
	struct decoding g = {.t = &d->sigs};
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
		    sig_add(&g, (uint16_t)fn[f], (uint32_t)site, val) < 0)
			goto out;
	}
	rv = in->failed ? -1 : 0;
out:
	decoding_end(&g);
	free(val);
	return rv;
}

/* ---- walking a signature ---- */

void sig_walk_begin(struct sig_walk *w, const struct trace_defs *d, uint32_t sym)
{
	*w = (struct sig_walk){.fn = &trace_fn[d->sigs.sig[sym].fn], .row = sigtable_row(&d->sigs, sym),
			       .amount = d->sigs.rows ? sigtable_amounts(&d->sigs, sym) : NULL};
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
	w->val = w->row;
	if (trace_kind_is_array(w->kind))
		w->n = (uint32_t)*w->val++;
	w->row = w->val + w->n;
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
