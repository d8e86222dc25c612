/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls on files, and the waits for requests that such calls started: they become delays as long as they took, after
 * the meeting that a collective one implies. Of a collective call the shortest time of all ranks counts: the others
 * waited for the last one, as they do in the skeleton.
 */
#include <stdlib.h>
#include <string.h>

#include "skelgen/emit_call.h"
#include "skelgen/emit_tree.h"

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
	if (slot >= s->n) {
		int64_t n = 2 * slot + 64;
		bool *p = realloc(s->of_file, (size_t)n * sizeof *p);

		if (p == NULL)
			return -1;
		memset(p + s->n, 0, (size_t)(n - s->n) * sizeof *p);
		s->of_file = p;
		s->n = n;
	}
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

int emit_io_prepare(struct emit *e)
{
	struct slots s = {NULL, 0};
	bool any = false;
	int rv = 0;

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

bool emit_is_io(const struct emit *e, const struct skel_node *leaf)
{
	uint8_t cls = trace_fn[leaf->fn].cls;

	if (cls == TC_WAIT)
		return e->wait_kind != NULL && e->wait_kind[leaf->leaf_id] == WAIT_FILE;
	return cls == TC_FILE || cls == TC_IO;
}

/* ---- statements ---- */

static bool file_known(const struct leaf_ctx *c, const char *name)
{
	for (uint32_t i = 0; i < c->n_rank; i++)
		for (uint32_t k = 0; k < c->rank[i].n_case; k++)
			if (call_named(c->rank[i].d, c->rank[i].kase[k].sym, name, TRACE_NULL) < 0)
				return false;
	return true;
}

bool emit_io_call(struct leaf_ctx *c, struct text *out)
{
	const char *name = trace_fn[c->leaf->fn].name;
	bool opens = strcmp(name, "MPI_File_open") == 0, closes = strcmp(name, "MPI_File_close") == 0;

	c->e->io_leaves++;
	c->e->io_ns += c->e->times->node_ns[c->leaf->id];
	for (uint32_t i = 0; i < c->n_rank; i++) /* gaps are computed, not delayed */
		c->e->io_ns -= c->e->times->leaf[c->leaf->leaf_id][i].gap_ns / c->e->tree->n_ranks;
	if (trace_fn[c->leaf->fn].cls == TC_WAIT || (!opens && !call_file_waits(name)) ||
	    !file_known(c, opens ? "newfile" : "file"))
		return false;
	text_put(out, "skel_file_%s(", opens ? "open" : closes ? "close" : "sync");
	emit_value(c, value_named, opens ? "newfile" : "file", VALUE_INT, out);
	if (opens) {
		text_put(out, ", ");
		emit_comm(c, "comm", out);
	}
	text_put(out, ")");
	return true;
}
