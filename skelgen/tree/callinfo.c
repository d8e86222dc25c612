/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters of calls, and global numbers of communicators, datatypes, windows and files by content. */
#include "skelgen/tree/callinfo.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/array.h"
#include "common/hash_table.h"


int64_t call_scalar(const struct trace_defs *d, uint32_t sym, uint8_t kind, uint32_t nth, int64_t missing)
{
	struct sig_walk w;

	sig_walk_begin(&w, d, sym);
	while (sig_walk_next(&w))
		if (w.kind == kind && nth-- == 0)
			return w.n > 0 ? w.val[0] : missing;
	return missing;
}

const int64_t *call_array(const struct trace_defs *d, uint32_t sym, uint8_t kind, uint32_t nth, uint32_t *n)
{
	struct sig_walk w;

	sig_walk_begin(&w, d, sym);
	while (sig_walk_next(&w))
		if (w.kind == kind && nth-- == 0) {
			*n = w.n;
			return w.n > 0 ? w.val : NULL;
		}
	*n = 0;
	return NULL;
}

int64_t call_named(const struct trace_defs *d, uint32_t sym, const char *name, int64_t missing)
{
	struct sig_walk w;

	sig_walk_begin(&w, d, sym);
	while (sig_walk_next(&w))
		if (!trace_kind_is_array(w.kind) && strcmp(w.name, name) == 0)
			return w.n > 0 ? w.val[0] : missing;
	return missing;
}

/* Collective calls wait, except calls that only start an operation. */
bool call_file_waits(const char *name)
{
	static const char *const alone[] = {"MPI_File_open", "MPI_File_delete", "MPI_File_seek"};
	bool data = strstr(name, "read") != NULL || strstr(name, "write") != NULL;

	for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
		if (strcmp(name, alone[i]) == 0)
			return false;
	if (!data)
		return true;
	if (strncmp(name, "MPI_File_i", 10) == 0 || strstr(name, "_begin") != NULL)
		return false;
	return strstr(name, "_all") != NULL || strstr(name, "_ordered") != NULL;
}

/* ---- contents as 64-bit keys; equal keys are compared in full ---- */

static uint64_t group_hash(const struct trace_group *g, uint64_t seed)
{
	return XXH3_64bits_withSeed(g->rank, (size_t)g->n * sizeof *g->rank, seed + g->n);
}

/* The two sides of an intercommunicator know each other's groups swapped. */
static uint64_t comm_hash(const struct trace_comm *c)
{
	uint64_t a = group_hash(&c->members, c->kind), b = group_hash(&c->remote, c->kind);

	return (a + b) * 0x9e3779b97f4a7c15ull + (a ^ b) + c->ordinal;
}

static bool group_equal(const struct trace_group *a, const struct trace_group *b)
{
	return a->n == b->n && (a->n == 0 || memcmp(a->rank, b->rank, (size_t)a->n * sizeof *a->rank) == 0);
}

static bool comm_equal(const struct trace_comm *a, const struct trace_comm *b)
{
	if (a->kind != b->kind || a->ordinal != b->ordinal)
		return false;
	return (group_equal(&a->members, &b->members) && group_equal(&a->remote, &b->remote)) ||
	       (a->kind == TCOMM_INTER && group_equal(&a->members, &b->remote) &&
		group_equal(&a->remote, &b->members));
}

static uint64_t words_hash(const int64_t *v, uint32_t n, uint64_t seed)
{
	return XXH3_64bits_withSeed(v, (size_t)n * sizeof *v, seed);
}

/* Sub-types enter by their global numbers, which are known: they come earlier. */
static uint64_t type_hash(const struct trace_type *t, const uint32_t *global)
{
	uint64_t h = t->name != NULL ? XXH3_64bits(t->name, strlen(t->name)) : (uint64_t)t->combiner * 0x9e3779b9;

	h = words_hash(t->integer, t->n_int, h);
	h = words_hash(t->addr, t->n_addr, h);
	for (uint32_t i = 0; i < t->n_sub; i++)
		h = (h ^ global[t->sub[i]]) * 0x100000001b3ull;
	return h ^ (uint64_t)t->extent << 20 ^ (uint64_t)t->size;
}

static bool words_equal(const int64_t *a, uint32_t na, const int64_t *b, uint32_t nb)
{
	return na == nb && (na == 0 || memcmp(a, b, (size_t)na * sizeof *a) == 0);
}

static bool type_equal(const struct trace_type *a, const uint32_t *ga, const struct trace_type *b,
		       const uint32_t *gb)
{
	if ((a->name == NULL) != (b->name == NULL) || (a->name != NULL && strcmp(a->name, b->name) != 0))
		return false;
	if (a->combiner != b->combiner || a->n_sub != b->n_sub || a->size != b->size || a->extent != b->extent)
		return false;
	for (uint32_t i = 0; i < a->n_sub; i++)
		if (ga[a->sub[i]] != gb[b->sub[i]])
			return false;
	return words_equal(a->integer, a->n_int, b->integer, b->n_int) &&
	       words_equal(a->addr, a->n_addr, b->addr, b->n_addr);
}

/* ---- tables ---- */

struct number_table {
	struct hash_table known;
	uint32_t n, cap;
	struct skel_global_def *def;
};

typedef bool (*same_fn)(const struct skel_tree *t, uint32_t **global, struct skel_global_def a,
			struct skel_global_def b);

static bool same_comm(const struct skel_tree *t, uint32_t **global, struct skel_global_def a,
		      struct skel_global_def b)
{
	(void)global;
	return comm_equal(&skel_defs(t, a.rank)->comm[a.local], &skel_defs(t, b.rank)->comm[b.local]);
}

static bool same_type(const struct skel_tree *t, uint32_t **global, struct skel_global_def a,
		      struct skel_global_def b)
{
	return type_equal(&skel_defs(t, a.rank)->type[a.local], global[a.rank],
			  &skel_defs(t, b.rank)->type[b.local], global[b.rank]);
}

/* Windows and files: the ordinal among the live ones of their communicator. */
static bool same_win(const struct skel_tree *t, uint32_t **global, struct skel_global_def a,
		     struct skel_global_def b)
{
	const struct trace_win *x = &skel_defs(t, a.rank)->win[a.local], *y = &skel_defs(t, b.rank)->win[b.local];

	return x->ordinal == y->ordinal && global[a.rank][x->comm] == global[b.rank][y->comm];
}

static bool same_file(const struct skel_tree *t, uint32_t **global, struct skel_global_def a,
		      struct skel_global_def b)
{
	const struct trace_file *x = &skel_defs(t, a.rank)->file[a.local], *y = &skel_defs(t, b.rank)->file[b.local];

	return x->ordinal == y->ordinal && global[a.rank][x->comm] == global[b.rank][y->comm];
}

/* Number of the thing that d names, or UINT32_MAX without memory. */
static uint32_t table_number(struct number_table *t, const struct skel_tree *tree, uint32_t **global, uint64_t hash,
			     struct skel_global_def d, same_fn same)
{
	uint32_t s, id;

	HASH_TABLE_FOR_EACH(&t->known, hash, s, id)
		if (same(tree, global, t->def[id], d))
			return id;
	if (ARRAY_ROOM(t->def, t->cap, t->n + 1) != 0 || hash_table_add(&t->known, hash, t->n) != 0)
		return UINT32_MAX;
	t->def[t->n] = d;
	return t->n++;
}

struct tables {
	struct number_table comm, type, win, file;
};

static int number_objects(const struct skel_tree *tree, uint32_t r, struct tables *t, struct skel_globals *g)
{
	const struct trace_defs *d = skel_defs(tree, r);
	uint32_t **comm = g->comm;

	for (uint32_t i = 0; i < d->n_win; i++) {
		uint64_t h = ((uint64_t)comm[r][d->win[i].comm] << 32 | d->win[i].ordinal) * 0x9e3779b97f4a7c15ull;

		g->win[r][i] = table_number(&t->win, tree, comm, h >> 16, (struct skel_global_def){r, i}, same_win);
		if (g->win[r][i] == UINT32_MAX)
			return -1;
	}
	for (uint32_t i = 0; i < d->n_file; i++) {
		uint64_t h = ((uint64_t)comm[r][d->file[i].comm] << 32 | d->file[i].ordinal) * 0x9e3779b97f4a7c15ull;

		g->file[r][i] = table_number(&t->file, tree, comm, h >> 16, (struct skel_global_def){r, i}, same_file);
		if (g->file[r][i] == UINT32_MAX)
			return -1;
	}
	return 0;
}

static int number_rank(const struct skel_tree *tree, uint32_t r, struct tables *t, struct skel_globals *g)
{
	const struct trace_defs *d = skel_defs(tree, r);

	g->comm[r] = calloc(d->n_comm + 1u, sizeof *g->comm[r]);
	g->type[r] = calloc(d->n_type + 1u, sizeof *g->type[r]);
	g->win[r] = calloc(d->n_win + 1u, sizeof *g->win[r]);
	g->file[r] = calloc(d->n_file + 1u, sizeof *g->file[r]);
	if (g->comm[r] == NULL || g->type[r] == NULL || g->win[r] == NULL || g->file[r] == NULL)
		return -1;
	for (uint32_t i = 0; i < d->n_comm; i++) {
		g->comm[r][i] = table_number(&t->comm, tree, g->comm, comm_hash(&d->comm[i]),
					     (struct skel_global_def){r, i}, same_comm);
		if (g->comm[r][i] == UINT32_MAX)
			return -1;
	}
	for (uint32_t i = 0; i < d->n_type; i++) {
		g->type[r][i] = table_number(&t->type, tree, g->type, type_hash(&d->type[i], g->type[r]),
					     (struct skel_global_def){r, i}, same_type);
		if (g->type[r][i] == UINT32_MAX)
			return -1;
	}
	return number_objects(tree, r, t, g);
}

static void table_free(struct number_table *t)
{
	hash_table_free(&t->known);
	free(t->def);
}

int skel_globals_build(const struct skel_tree *tree, struct skel_globals *out, struct errbuf *err)
{
	struct tables t = {.comm = {.n = 0}};
	int rv = -1;

	memset(out, 0, sizeof *out);
	out->n_ranks = tree->n_ranks;
	out->comm = calloc(tree->n_ranks + 1u, sizeof *out->comm);
	out->type = calloc(tree->n_ranks + 1u, sizeof *out->type);
	out->win = calloc(tree->n_ranks + 1u, sizeof *out->win);
	out->file = calloc(tree->n_ranks + 1u, sizeof *out->file);
	if (out->comm == NULL || out->type == NULL || out->win == NULL || out->file == NULL)
		goto done;
	for (uint32_t r = 0; r < tree->n_ranks; r++)
		if (number_rank(tree, r, &t, out) != 0)
			goto done;
	out->n_comm = t.comm.n;
	out->n_type = t.type.n;
	out->n_win = t.win.n;
	out->n_file = t.file.n;
	out->comm_def = t.comm.def;
	out->type_def = t.type.def;
	t.comm.def = t.type.def = NULL;
	rv = 0;
done:
	table_free(&t.comm);
	table_free(&t.type);
	table_free(&t.win);
	table_free(&t.file);
	if (rv != 0) {
		skel_globals_free(out);
		err_set(err, "no memory for the communicators and datatypes of %u ranks", tree->n_ranks);
	}
	return rv;
}

static void numbers_free(uint32_t **of_rank, uint32_t n_ranks)
{
	for (uint32_t r = 0; of_rank != NULL && r < n_ranks; r++)
		free(of_rank[r]);
	free(of_rank);
}

void skel_globals_free(struct skel_globals *g)
{
	numbers_free(g->comm, g->n_ranks);
	numbers_free(g->type, g->n_ranks);
	numbers_free(g->win, g->n_ranks);
	numbers_free(g->file, g->n_ranks);
	free(g->comm_def);
	free(g->type_def);
	memset(g, 0, sizeof *g);
}

const struct trace_comm *skel_global_comm(const struct skel_tree *t, const struct skel_globals *g, uint32_t id)
{
	return &skel_defs(t, g->comm_def[id].rank)->comm[g->comm_def[id].local];
}

const struct trace_type *skel_global_type(const struct skel_tree *t, const struct skel_globals *g, uint32_t id)
{
	return &skel_defs(t, g->type_def[id].rank)->type[g->type_def[id].local];
}
