/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Definitions of an OTF2 archive: shared communicators, the system tree, regions, strings. See export.h. */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/hash_table.h"
#include "trace/export/export_otf2.h"

/* ---- communicators ---- */

static uint64_t hash_group(uint64_t h, const struct trace_group *g)
{
	h = trace_hash_step(h, g->n);
	for (uint32_t i = 0; i < g->n; i++)
		h = trace_hash_step(h, g->rank[i]);
	return h;
}

static bool same_group(const struct trace_group *a, const struct trace_group *b)
{
	return a->n == b->n && (!a->n || !memcmp(a->rank, b->rank, a->n * sizeof(*a->rank)));
}

/* The result is the same from both sides of an intercommunicator. */
static struct otf2_comm comm_of(const struct trace_comm *c, bool self)
{
	struct otf2_comm g = {.inter = c->kind == TCOMM_INTER, .self = self, .ordinal = c->ordinal, .a = c->members,
			      .b = c->remote};

	if (self) {
		g = (struct otf2_comm){.self = true};
	} else if (g.inter && g.b.n && (!g.a.n || g.b.rank[0] < g.a.rank[0])) {
		g.a = c->remote;
		g.b = c->members;
	}
	g.hash = hash_group(hash_group(trace_hash_step(g.inter + 2u * g.self, g.ordinal), &g.a), &g.b);
	return g;
}

static bool same_comm(const struct otf2_comm *x, const struct otf2_comm *y)
{
	return x->hash == y->hash && x->inter == y->inter && x->self == y->self && x->ordinal == y->ordinal &&
	       same_group(&x->a, &y->a) && same_group(&x->b, &y->b);
}

/* Number of a communicator, which is added if it is new. Returns UINT32_MAX if memory runs out. */
static uint32_t intern_comm(struct otf2 *o, const struct otf2_comm *c)
{
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(&o->known_comm, c->hash, at, i)
		if (same_comm(&o->comm[i], c))
			return i;
	if (ARRAY_ROOM(o->comm, o->cap_comm, o->n_comm + 1) != 0 ||
	    hash_table_add(&o->known_comm, c->hash, o->n_comm) != 0)
		return UINT32_MAX;
	o->comm[o->n_comm] = *c;
	o->comm[o->n_comm].group = o->n_group + 1;
	o->n_group += 1u + c->inter;
	return o->n_comm++;
}

uint32_t *otf2_comms(struct otf2 *o, uint32_t rank, struct errbuf *err)
{
	const struct trace_defs *d = &trace_get_rank(o->x.t, rank)->defs;
	uint32_t *map = malloc((d->n_comm + 1u) * sizeof(*map));

	for (uint32_t i = 0; map && i < d->n_comm; i++) {
		struct otf2_comm c = comm_of(&d->comm[i], i == 1); /* index 1 is MPI_COMM_SELF */

		map[i] = intern_comm(o, &c);
		if (map[i] == UINT32_MAX) {
			free(map);
			map = NULL;
		}
	}
	if (!map)
		err_set(err, "no memory");
	return map;
}

/* ---- windows and groups ---- */

uint32_t otf2_window(struct otf2 *o, uint32_t hint, uint32_t comm, uint32_t ordinal)
{
	if (hint < o->n_win && o->win[hint].comm == comm && o->win[hint].ordinal == ordinal)
		return hint;
	for (uint32_t i = 0; i < o->n_win; i++)
		if (o->win[i].comm == comm && o->win[i].ordinal == ordinal)
			return i;
	if (ARRAY_ROOM(o->win, o->cap_win, o->n_win + 1) != 0)
		return UINT32_MAX;
	o->win[o->n_win] = (struct otf2_win){comm, ordinal};
	return o->n_win++;
}

uint32_t otf2_group(struct otf2 *o, const uint32_t *rank, uint32_t n)
{
	struct trace_group g = {.n = n, .rank = (uint32_t *)rank};

	for (uint32_t i = o->n_ranks; i--;)
		if (same_group(&o->ranks[i].g, &g))
			return o->ranks[i].number;
	if (ARRAY_ROOM(o->ranks, o->cap_ranks, o->n_ranks + 1) != 0)
		return OTF2_UNDEFINED_GROUP;
	g.rank = malloc((n + 1ull) * sizeof(*g.rank));
	if (!g.rank)
		return OTF2_UNDEFINED_GROUP;
	memcpy(g.rank, rank, n * sizeof(*rank));
	o->ranks[o->n_ranks++] = (struct otf2_ranks){g, ++o->n_group};
	return o->n_group;
}

/* ---- strings ---- */

static uint32_t add_string(struct otf2 *o, const char *s)
{
	struct otf2_strings *t = &o->strings;

	if (ARRAY_ROOM(t->text, t->cap, t->n + 1) != 0)
		return OTF2_UNDEFINED_STRING;
	t->text[t->n] = strdup(s ? s : "");
	return t->text[t->n] ? t->n++ : OTF2_UNDEFINED_STRING;
}

uint32_t otf2_site(struct otf2 *o, const struct trace_defs *d, uint32_t sym)
{
	uint64_t hash = d->site[d->sigs.sig[sym].site].hash;
	char name[512];
	uint32_t lo = 0, hi = o->n_site;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (o->site[mid].hash < hash)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < o->n_site && o->site[lo].hash == hash)
		return o->site[lo].string;
	if (ARRAY_ROOM(o->site, o->cap_site, o->n_site + 1) != 0)
		return OTF2_UNDEFINED_STRING;
	memmove(o->site + lo + 1, o->site + lo, (o->n_site - lo) * sizeof(*o->site));
	o->n_site++;
	o->site[lo].hash = hash;
	o->site[lo].string = add_string(o, export_site(&o->x, d, sym, name, sizeof(name)));
	return o->site[lo].string;
}

uint32_t otf2_region(struct otf2 *o, uint32_t fn)
{
	if (!o->region[fn]) {
		o->fn[o->n_region++] = (uint16_t)fn;
		o->region[fn] = o->n_region;
	}
	return o->region[fn] - 1u;
}

void otf2_definitions_free(struct otf2 *o)
{
	for (uint32_t i = 0; i < o->strings.n; i++)
		free(o->strings.text[i]);
	for (uint32_t i = 0; i < o->n_ranks; i++)
		free(o->ranks[i].g.rank);
	free(o->ranks);
	free(o->win);
	free(o->strings.text);
	free(o->site);
	free(o->comm);
	hash_table_free(&o->known_comm);
}

/* ---- what is written ---- */

struct defs {
	struct otf2 *o;
	OTF2_GlobalDefWriter *w;
	OTF2_ErrorCode rc; /* result of the first definition that failed */
};

static void keep_error(struct defs *d, OTF2_ErrorCode rc)
{
	if (d->rc == OTF2_SUCCESS)
		d->rc = rc;
}

/* Define a string and return its number. */
static uint32_t define_string(struct defs *d, const char *s)
{
	uint32_t k = add_string(d->o, s);

	if (k == OTF2_UNDEFINED_STRING)
		keep_error(d, OTF2_ERROR_MEM_ALLOC_FAILED);
	else
		keep_error(d, OTF2_GlobalDefWriter_WriteString(d->w, k, d->o->strings.text[k]));
	return k;
}

static void write_tree(struct defs *d)
{
	const struct trace *t = d->o->x.t;
	uint32_t machine = define_string(d, "machine"), node = define_string(d, "node"), nodes = 0, n = trace_n_ranks(t);
	const char **host = calloc(n + 1u, sizeof(*host));
	char name[64];

	keep_error(d, host ? OTF2_GlobalDefWriter_WriteSystemTreeNode(d->w, 0, define_string(d, trace_job_get(t, "job") ? "cluster" :
					"run"), machine, OTF2_UNDEFINED_SYSTEM_TREE_NODE) : OTF2_ERROR_MEM_ALLOC_FAILED);
	for (uint32_t r = 0; host && r < n; r++) {
		const char *h = trace_is_imported(t) ? "imported" :
				trace_get_rank(t, r)->present ? trace_get_rank(t, r)->defs.proc.host : NULL;
		uint32_t k = nodes; /* ranks of a host are mostly adjacent: try the latest host first */

		h = h ? h : "?";
		while (k && strcmp(host[k - 1], h))
			k--;
		if (!k) {
			host[nodes++] = h;
			k = nodes;
			keep_error(d, OTF2_GlobalDefWriter_WriteSystemTreeNode(d->w, k, define_string(d, h), node, 0));
		}
		snprintf(name, sizeof(name), trace_is_imported(t) ? "processor %u" : "MPI Rank %u", r);
		keep_error(d, OTF2_GlobalDefWriter_WriteLocationGroup(d->w, r, define_string(d, name), OTF2_LOCATION_GROUP_TYPE_PROCESS, k,
								OTF2_UNDEFINED_LOCATION_GROUP));
		if (!trace_is_imported(t))
			snprintf(name, sizeof(name), "Master thread:%u", r);
		keep_error(d, OTF2_GlobalDefWriter_WriteLocation(d->w, r, define_string(d, name), OTF2_LOCATION_TYPE_CPU_THREAD,
							   d->o->n_events[r], r));
	}
	free(host);
}

static OTF2_RegionRole role_of(const struct trace_fn_info *fn)
{
	switch (fn->cls) {
	case TC_SEND: case TC_RECV: case TC_SENDRECV: case TC_ISEND: case TC_IRECV: case TC_START: case TC_WAIT:
	case TC_PROBE:
		return OTF2_REGION_ROLE_POINT2POINT;
	case TC_COLL: case TC_ICOLL: case TC_COMM: case TC_WIN:
		return !strcmp(fn->name, "MPI_Barrier") ? OTF2_REGION_ROLE_BARRIER : OTF2_REGION_ROLE_COLL_OTHER;
	case TC_RMA: case TC_SYNC:
		return OTF2_REGION_ROLE_RMA;
	case TC_IO: case TC_FILE:
		return OTF2_REGION_ROLE_FILE_IO;
	default:
		return OTF2_REGION_ROLE_FUNCTION;
	}
}

static void write_regions(struct defs *d)
{
	uint32_t none = define_string(d, "");

	for (uint32_t i = 0; i < d->o->n_region; i++) {
		const struct trace_fn_info *fn = &trace_fn[d->o->fn[i]];
		uint32_t name = define_string(d, fn->name);

		keep_error(d, OTF2_GlobalDefWriter_WriteRegion(d->w, i, name, name, none, role_of(fn), OTF2_PARADIGM_MPI,
							 OTF2_REGION_FLAG_NONE, none, 0, 0));
	}
}

static void write_states(struct defs *d)
{
	static const OTF2_RegionRole role[TSTATE_N] = {OTF2_REGION_ROLE_POINT2POINT, OTF2_REGION_ROLE_CODE,
						       OTF2_REGION_ROLE_POINT2POINT, OTF2_REGION_ROLE_POINT2POINT};
	uint32_t none = define_string(d, "");

	for (uint32_t i = 0; i < TSTATE_N; i++) {
		uint32_t name = define_string(d, export_state(i));

		keep_error(d, OTF2_GlobalDefWriter_WriteRegion(d->w, i, name, name, none, role[i], OTF2_PARADIGM_MPI,
							 OTF2_REGION_FLAG_NONE, none, 0, 0));
	}
}

/* Events name ranks by their location, in every communicator. Readers that ignore groups (ViTE) then draw
 * messages to the right rank. Other readers see the flag. */
static void write_group(struct defs *d, uint32_t group, OTF2_GroupType type, uint32_t name, const struct trace_group *g)
{
	uint64_t *member = malloc((g->n + 1ull) * sizeof(*member));
	OTF2_GroupFlag flag = type == OTF2_GROUP_TYPE_COMM_GROUP ? OTF2_GROUP_FLAG_GLOBAL_MEMBERS : OTF2_GROUP_FLAG_NONE;

	for (uint32_t i = 0; member && i < g->n; i++)
		member[i] = g->rank[i];
	keep_error(d, member ? OTF2_GlobalDefWriter_WriteGroup(d->w, group, name, type, OTF2_PARADIGM_MPI, flag, g->n, member) : OTF2_ERROR_MEM_ALLOC_FAILED);
	free(member);
}

/* Group 0 holds the locations by rank; other groups refer to positions in group 0. */
static void write_comms(struct defs *d)
{
	uint32_t none = define_string(d, ""), n = trace_n_ranks(d->o->x.t);
	struct trace_group all = {.n = n, .rank = malloc(n * sizeof(*all.rank))};
	bool world = true;
	char name[48];

	for (uint32_t i = 0; all.rank && i < n; i++)
		all.rank[i] = i;
	if (!all.rank)
		keep_error(d, OTF2_ERROR_MEM_ALLOC_FAILED);
	else
		write_group(d, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS, none, &all);
	/* all processors of an imported trace are one communicator */
	if (all.rank && trace_is_imported(d->o->x.t) && intern_comm(d->o, &(struct otf2_comm){.a = all}) != 0)
		keep_error(d, OTF2_ERROR_MEM_ALLOC_FAILED);
	for (uint32_t i = 0; i < d->o->n_comm && d->rc == OTF2_SUCCESS; i++) {
		const struct otf2_comm *c = &d->o->comm[i];
		uint32_t text;

		snprintf(name, sizeof(name), "communicator %u", i);
		if (c->self || (world && !c->inter && c->a.n == n))
			snprintf(name, sizeof(name), "MPI_COMM_%s", c->self ? "SELF" : "WORLD");
		world &= c->self || c->inter || c->a.n != n;
		text = define_string(d, name);
		write_group(d, c->group, c->self ? OTF2_GROUP_TYPE_COMM_SELF : OTF2_GROUP_TYPE_COMM_GROUP, text, &c->a);
		if (c->inter) {
			write_group(d, c->group + 1, OTF2_GROUP_TYPE_COMM_GROUP, text, &c->b);
			keep_error(d, OTF2_GlobalDefWriter_WriteInterComm(d->w, i, text, c->group, c->group + 1, OTF2_UNDEFINED_COMM,
								    OTF2_COMM_FLAG_NONE));
		} else {
			keep_error(d, OTF2_GlobalDefWriter_WriteComm(d->w, i, text, c->group, OTF2_UNDEFINED_COMM,
							       OTF2_COMM_FLAG_NONE));
		}
	}
	free(all.rank);
}

static void write_windows(struct defs *d)
{
	char name[48];

	for (uint32_t i = 0; i < d->o->n_ranks; i++) {
		snprintf(name, sizeof(name), "ranks %u", i);
		write_group(d, d->o->ranks[i].number, OTF2_GROUP_TYPE_COMM_GROUP, define_string(d, name), &d->o->ranks[i].g);
	}
	for (uint32_t i = 0; i < d->o->n_win; i++) {
		snprintf(name, sizeof(name), "window %u", i);
		keep_error(d, OTF2_GlobalDefWriter_WriteRmaWin(d->w, i, define_string(d, name), d->o->win[i].comm,
							 OTF2_RMA_WIN_FLAG_CREATE_DESTROY_EVENTS));
	}
}

static uint64_t first_start(const struct trace *t)
{
	uint64_t first = UINT64_MAX;

	for (uint32_t r = 0; r < trace_n_ranks(t); r++)
		if (trace_get_rank(t, r)->present && trace_get_rank(t, r)->defs.proc.start_real_ns < first)
			first = trace_get_rank(t, r)->defs.proc.start_real_ns;
	return first;
}

int otf2_write_definitions(struct otf2 *o, struct errbuf *err)
{
	struct defs d = {.o = o, .w = OTF2_Archive_GetGlobalDefWriter(o->archive), .rc = OTF2_SUCCESS};

	if (!d.w)
		return err_set(err, "OTF2: no writer for the definitions");
	keep_error(&d, OTF2_GlobalDefWriter_WriteClockProperties(d.w, 1000000000, 0, o->end + 1, first_start(o->x.t)));
	for (uint32_t i = 0, n = o->strings.n; i < n; i++)
		keep_error(&d, OTF2_GlobalDefWriter_WriteString(d.w, i, o->strings.text[i]));
	keep_error(&d, OTF2_GlobalDefWriter_WriteParadigm(d.w, OTF2_PARADIGM_MPI, define_string(&d, "MPI"), OTF2_PARADIGM_CLASS_PROCESS));
	keep_error(&d, OTF2_GlobalDefWriter_WriteAttribute(d.w, OTF2_SITE_ATTRIBUTE, define_string(&d, "call site"),
						     define_string(&d, "where MPI was called"), OTF2_TYPE_STRING));
	write_tree(&d);
	if (trace_is_imported(o->x.t))
		write_states(&d);
	else
		write_regions(&d);
	write_comms(&d);
	write_windows(&d);
	return otf2_check(d.rc, "definitions", err);
}
