/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls on files, and waits for their requests. Without scratch files they become delays of the traced duration; a
 * collective call makes its ranks meet first. Of a collective call the shortest time of all ranks counts: the others
 * waited for the last one, as they do in the skeleton.
 * Either all calls that can be made are made, or none: a file of which some ranks know nothing would keep others waiting.
 */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "skelgen/emit/lower_call.h"
#include "skelgen/emit/lower_tree.h"

/* ---- which waits are for files ---- */

static bool leaf_starts_io(const struct skel_node *leaf)
{
	const struct trace_fn_info *f = &trace_fn[leaf->fn];

	for (uint32_t i = 0; f->cls == TC_IO && i < f->n_param; i++)
		if (f->param[i].kind == TK_NEWREQ)
			return true;
	return false;
}

/* Request slots of one rank: which are of files. */
struct slots {
	bool *of_file;
	int64_t n;
};

static int slots_set(struct slots *s, int64_t slot, bool of_file)
{
	if (slot < 0 || slot > 1 << 26)
		return 0;
	if (ARRAY_ROOM_ZEROED(s->of_file, s->n, (size_t)slot + 1) != 0)
		return -1;
	s->of_file[slot] = of_file;
	return 0;
}

static int follow_rank(struct emit *e, uint32_t rank, struct slots *s)
{
	const struct trace_defs *d = skel_defs(e->tree, rank);
	const struct skel_node *leaf;
	struct skel_iter it;
	uint64_t occ;
	uint32_t index, n;
	int rv = 0;

	if (s->n > 0)
		memset(s->of_file, 0, (size_t)s->n * sizeof *s->of_file);
	if (skel_iter_begin(&it, e->tree, rank) != 0)
		return -1;
	while (rv == 0 && skel_iter_next(&it, &leaf, &occ, &index)) {
		uint32_t sym = skel_leaf_symbol(&leaf->by_rank[index], occ);
		int64_t made = call_scalar(d, sym, TK_NEWREQ, 0, TRACE_NULL);

		if (made >= 0)
			rv = slots_set(s, made, leaf_starts_io(leaf));
		if (trace_fn[leaf->fn].cls != TC_WAIT)
			continue;
		const int64_t *done = call_done_slots(d, sym, &n);

		for (uint32_t i = 0; i < n; i++)
			if (done[i] >= 0)
				e->wait_kind[leaf->leaf_id] |=
					done[i] < s->n && s->of_file[done[i]] ? WAIT_FILE : WAIT_OTHER;
	}
	skel_iter_end(&it);
	return rv;
}

/* ---- is everything known? ---- */

static bool param_known(const struct leaf_rank *r, const struct leaf_case *k, const struct trace_param_info *p)
{
	int64_t v;

	if (p->kind != TK_FILE && p->kind != TK_NEWFILE && p->kind != TK_TYPE && p->kind != TK_NEWREQ)
		return true;
	v = call_named(r->d, k->sym, p->name, TRACE_NULL);
	if (p->kind == TK_TYPE)
		return v >= 0 && v < r->d->n_type;
	return v >= 0 && (p->kind == TK_NEWREQ || v < r->d->n_file);
}

static bool leaf_known(const struct leaf_ctx *c)
{
	const struct trace_fn_info *f = &trace_fn[c->leaf->fn];

	for (uint32_t i = 0; i < c->n_rank; i++)
		for (uint32_t k = 0; k < c->rank[i].n_case; k++)
			for (uint32_t p = 0; p < f->n_param; p++)
				if (!param_known(&c->rank[i], &c->rank[i].kase[k], &f->param[p]))
					return false;
	return true;
}

static int leaves_check(struct emit *e)
{
	struct leaf_ctx c;

	for (uint32_t i = 0; i < e->tree->n_leaf; i++) {
		uint8_t cls = trace_fn[e->tree->leaf[i]->fn].cls;

		if (cls != TC_FILE && cls != TC_IO)
			continue;
		if (leaf_ctx_open(&c, e, e->tree->leaf[i]) != 0)
			return -1;
		e->io_unknown += !leaf_known(&c);
		leaf_ctx_close(&c);
	}
	return 0;
}

int lower_io_prepare(struct emit *e)
{
	struct slots s = {NULL, 0};
	bool any = false;
	int rv = 0;

	if (leaves_check(e) != 0)
		return -1;
	for (uint32_t i = 0; i < e->tree->n_leaf; i++)
		any |= leaf_starts_io(e->tree->leaf[i]);
	if (!any)
		return 0;
	e->wait_kind = calloc(e->tree->n_leaf + 1u, sizeof *e->wait_kind);
	if (e->wait_kind == NULL)
		return -1;
	for (uint32_t r = 0; rv == 0 && r < e->tree->n_ranks; r++)
		rv = follow_rank(e, r, &s);
	free(s.of_file);
	return rv;
}

bool lower_is_io(const struct emit *e, const struct skel_node *leaf)
{
	uint8_t cls = trace_fn[leaf->fn].cls;

	if (cls == TC_WAIT)
		return e->wait_kind != NULL && e->wait_kind[leaf->leaf_id] == WAIT_FILE;
	return cls == TC_FILE || cls == TC_IO;
}

bool lower_io_meets(const struct skel_node *leaf)
{
	const char *name = trace_fn[leaf->fn].name;

	return trace_fn[leaf->fn].cls != TC_WAIT && (call_file_waits(name) || strcmp(name, "MPI_File_open") == 0);
}

/* ---- statements ---- */

/* How data are read or written, as the function's name says. */
static void put_how(const char *name, struct code *out)
{
	static const char *const part[][2] = {
		{"write", "SKEL_IO_WRITE"}, {"_at", "SKEL_IO_AT"}, {"_all", "SKEL_IO_ALL"}, {"_shared", "SKEL_IO_SHARED"},
		{"_ordered", "SKEL_IO_ORDERED"}, {"_begin", "SKEL_IO_BEGIN"},
	};
	int n = 0;

	for (size_t i = 0; i < sizeof part / sizeof *part; i++)
		if (strstr(name, part[i][0]) != NULL) {
			code_named(out, part[i][1]);
			if (n++ > 0)
				code_op(out, OPS_OR, 0);
		}
	if (n == 0)
		code_int(out, 0);
}

static void put_access(struct leaf_ctx *c, const char *name, struct code *out)
{
	bool starts = lower_has_param(c, "req");
	size_t n = strlen(name);

	lower_named(c, "file", VALUE_INT, out);
	if (n > 4 && strcmp(name + n - 4, "_end") == 0) {
		code_call(out, "skel_file_end");
		return;
	}
	put_how(name, out);
	if (lower_has_param(c, "offset"))
		lower_named(c, "offset", VALUE_LONG, out);
	else
		code_int(out, 0);
	lower_named(c, "count", VALUE_LONG, out);
	lower_datatype(c, "type", out);
	if (starts) {
		lower_named(c, "req", VALUE_INT, out);
		code_op(out, OPS_PLACE, OPS_REQ);
	}
	code_call(out, starts ? "skel_file_start" : "skel_file_access");
}

static const struct {
	const char *name, *makes;
} calls[] = {
	{"MPI_File_open", "skel_file_open"}, {"MPI_File_close", "skel_file_close"}, {"MPI_File_sync", "skel_file_sync"},
	{"MPI_File_set_size", "skel_file_size"}, {"MPI_File_preallocate", "skel_file_size"},
	{"MPI_File_set_view", "skel_file_view"}, {"MPI_File_set_atomicity", "skel_file_atomicity"},
	{"MPI_File_seek", "skel_file_seek"}, {"MPI_File_seek_shared", "skel_file_seek_shared"},
};

/* What the runtime makes of the function; NULL: nothing. */
static const char *makes_of(const char *name)
{
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (strcmp(calls[i].name, name) == 0)
			return calls[i].makes;
	return NULL;
}

static void put_file_call(struct leaf_ctx *c, const char *name, const char *makes, struct code *out)
{
	bool open = strcmp(makes, "skel_file_open") == 0;

	lower_named(c, open ? "newfile" : "file", VALUE_INT, out);
	if (open) {
		lower_comm(c, "comm", out);
	} else if (strcmp(makes, "skel_file_size") == 0) {
		code_int(out, strcmp(name, "MPI_File_preallocate") == 0);
		lower_named(c, "size", VALUE_LONG, out);
	} else if (strcmp(makes, "skel_file_view") == 0) {
		lower_named(c, "disp", VALUE_LONG, out);
		lower_datatype(c, "etype", out);
		lower_datatype(c, "filetype", out);
	} else if (strcmp(makes, "skel_file_atomicity") == 0) {
		lower_named(c, "flag", VALUE_INT, out);
	} else if (strncmp(makes, "skel_file_seek", 14) == 0) {
		lower_named(c, "offset", VALUE_LONG, out);
		lower_named(c, "whence", VALUE_INT, out);
	}
	code_call(out, makes);
}

static void put_wait(struct leaf_ctx *c, struct code *out)
{
	struct array_value slots = lower_array(c, array_done, NULL);

	array_put_length(&slots, out);
	array_put(&slots, out);
	code_call(out, "skel_file_wait");
}

/* How often all ranks make the call. */
static uint64_t times_made(const struct leaf_ctx *c)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < c->n_rank; i++)
		n += c->e->times->leaf[c->leaf->leaf_id][i].made;
	return n;
}

enum io_call lower_io_call(struct leaf_ctx *c, struct code *out)
{
	const char *name = trace_fn[c->leaf->fn].name, *makes = makes_of(name);
	uint8_t cls = trace_fn[c->leaf->fn].cls;
	bool made = leaf_known(c) && (cls != TC_FILE || makes != NULL);

	c->e->io_leaves++;
	c->e->io_ns += c->e->times->node_ns[c->leaf->id];
	for (uint32_t i = 0; i < c->n_rank; i++) /* gaps are computed, not delayed */
		c->e->io_ns -= c->e->times->leaf[c->leaf->leaf_id][i].gap_ns / c->e->tree->n_ranks;
	c->e->io_calls[made && c->e->io_unknown == 0][c->leaf->fn] += times_made(c);
	if (cls == TC_WAIT) {
		put_wait(c, out);
	} else if (made && cls == TC_IO) {
		put_access(c, name, out);
	} else if (made) {
		put_file_call(c, name, makes, out);
	} else if (lower_io_meets(c->leaf) && lower_has_param(c, "file") && leaf_known(c)) {
		lower_named(c, "file", VALUE_INT, out);
		code_call(out, "skel_file_meet");
		return IO_MEETS;
	} else {
		return IO_NOTHING;
	}
	return IO_MAKES;
}

/* ---- report ---- */

static void put_functions(const uint64_t *calls_of, const char *title, struct text *out)
{
	const char *before = title;

	for (uint32_t f = 0; f < TRACE_FN_N; f++)
		if (calls_of[f] > 0) {
			text_put(out, "%s%s %llu\n", before, trace_fn[f].name, (unsigned long long)calls_of[f]);
			before = "  ";
		}
}

void emit_io_report(const struct emit *e, struct text *out)
{
	text_put(out, "\nFiles are neither read nor written: %.3f s (mean over ranks) are delays as long as the calls took,\n"
		      "the same on every partition, because storage is mostly shared\n", e->io_ns * 1e-9);
	if (e->io_unknown > 0)
		text_put(out, "With --scratch too: the trace does not tell the file, datatype or request of calls at %u places\n",
			 e->io_unknown);
	put_functions(e->io_calls[1], "With --scratch DIR these are made, on files that the skeleton makes there and removes:\n  ", out);
	put_functions(e->io_calls[0], "Delays in any case:\n  ", out);
}
