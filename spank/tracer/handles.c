/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Communicators and operations, identified by content: see handles.h. Datatypes are in types.c; windows and files
 * are in objects.c. */
#include <stdlib.h>
#include <string.h>

#include "spank/tracer/handles.h"
#include "spank/tracer/mpilib.h"
#include "spank/tracer/record.h"
#include "trace/format/event.h"

struct handles handles;

static MPI_Group world_group;
static uint32_t cap_comm;

static void group_clear(struct trace_group *g)
{
	free(g->rank);
	*g = (struct trace_group){0};
}

/* Members as ranks of MPI_COMM_WORLD. Returns -1 if a member is not in it. Frees the MPI group. */
static int group_members(MPI_Group from, struct trace_group *out)
{
	int n = 0, rv = -1, *mine = NULL, *theirs = NULL;

	*out = (struct trace_group){0};
	if (mpi.Group_size(from, &n) != MPI_SUCCESS)
		goto out;
	mine = malloc(((size_t)n + 1) * sizeof(*mine));
	theirs = malloc(((size_t)n + 1) * sizeof(*theirs));
	out->rank = malloc(((size_t)n + 1) * sizeof(*out->rank));
	if (!mine || !theirs || !out->rank)
		goto out;
	for (int i = 0; i < n; i++)
		mine[i] = i;
	if (mpi.Group_translate_ranks(from, n, mine, world_group, theirs) != MPI_SUCCESS)
		goto out;
	for (int i = 0; i < n; i++) {
		if (theirs[i] < 0)
			goto out;
		out->rank[i] = (uint32_t)theirs[i];
	}
	out->n = (uint32_t)n;
	rv = 0;
out:
	mpi.Group_free(&from);
	free(mine);
	free(theirs);
	if (rv < 0)
		group_clear(out);
	return rv;
}

static int group_eq(const struct trace_group *a, const struct trace_group *b)
{
	return a->n == b->n && (!a->n || !memcmp(a->rank, b->rank, a->n * sizeof(*a->rank)));
}

/* Store the handle of a communicator for readers of the spill file. */
static void tell_comm(MPI_Comm c, int64_t index)
{
	if (index >= 0 && index < SPILL_OBJECTS_MAX)
		rec.live->comm[index] = HANDLE_KEY(c);
}

/* Index of a communicator with these members and the lowest free ordinal. Takes ownership of the groups. */
static int64_t comm_intern(uint8_t kind, struct trace_group *members, struct trace_group *remote,
			   const struct comm_info *info)
{
	struct trace_comm *def;
	struct comm_info *inf;
	uint32_t ordinal = 0;

	for (uint32_t i = 0; i < handles.n_comm; i++) {
		const struct trace_comm *c = &handles.comm_def[i];

		if (c->kind != kind || !group_eq(&c->members, members) || !group_eq(&c->remote, remote))
			continue;
		if (!handles.info[i].live) { /* entries are in order of ordinal, so this is the lowest free one */
			group_clear(members);
			group_clear(remote);
			handles.info[i].live = 1;
			return i;
		}
		ordinal = c->ordinal + 1;
	}
	if (handles.n_comm == cap_comm) {
		uint32_t cap = cap_comm ? cap_comm * 2 : 16;

		if (!(def = realloc(handles.comm_def, cap * sizeof(*def))))
			goto fail;
		handles.comm_def = def;
		if (!(inf = realloc(handles.info, cap * sizeof(*inf))))
			goto fail;
		handles.info = inf;
		cap_comm = cap;
	}
	handles.comm_def[handles.n_comm] = (struct trace_comm){
		.kind = kind, .ordinal = ordinal, .members = *members, .remote = *remote};
	handles.info[handles.n_comm] = *info;
	handles.info[handles.n_comm].live = 1;
	return handles.n_comm++;
fail:
	group_clear(members);
	group_clear(remote);
	return TRACE_NULL;
}

int64_t comm_define(MPI_Comm c)
{
	struct trace_group members = {0}, remote = {0};
	struct comm_info info = {0};
	MPI_Group g;
	int inter = 0, v = 0;
	int64_t index;

	if (c == MPI_COMM_NULL || mpi.Comm_test_inter(c, &inter) != MPI_SUCCESS)
		return TRACE_NULL;
	mpi.Comm_rank(c, &v);
	info.rank = v;
	mpi.Comm_size(c, &v);
	info.size = info.peers = v;
	info.inter = inter != 0;
	if (mpi.Comm_group(c, &g) != MPI_SUCCESS || group_members(g, &members) < 0)
		goto foreign;
	if (inter) {
		mpi.Comm_remote_size(c, &v);
		info.peers = v;
		if (mpi.Comm_remote_group(c, &g) != MPI_SUCCESS || group_members(g, &remote) < 0)
			goto foreign;
	}
	index = comm_intern(inter ? TCOMM_INTER : TCOMM_INTRA, &members, &remote, &info);
	if (index >= 0)
		hmap_put(&handles.comm, HANDLE_KEY(c), (int32_t)index);
	tell_comm(c, index);
	return index;
foreign:
	group_clear(&members);
	hmap_put(&handles.comm, HANDLE_KEY(c), HANDLE_FOREIGN);
	return TRACE_NULL;
}

int64_t comm_of_group(MPI_Group g)
{
	struct trace_group members, none = {0};
	struct comm_info info = {0};
	int v = 0;

	mpi.Group_size(g, &v);
	info.size = info.peers = v;
	if (group_members(g, &members) < 0)
		return TRACE_NULL;
	for (uint32_t i = 0; i < handles.n_comm; i++)
		if (handles.comm_def[i].kind == TCOMM_INTRA && group_eq(&handles.comm_def[i].members, &members)) {
			group_clear(&members);
			return i;
		}
	mpi.Comm_rank(mpi.world, &v);
	while (info.rank < info.size && (int)members.rank[info.rank] != v)
		info.rank++;
	return comm_intern(TCOMM_INTRA, &members, &none, &info);
}

static int group_copy(const struct trace_group *g, struct trace_group *out)
{
	out->n = g->n;
	out->rank = malloc((g->n + 1u) * sizeof(*out->rank));
	if (!out->rank)
		return -1;
	if (g->n)
		memcpy(out->rank, g->rank, g->n * sizeof(*g->rank));
	return 0;
}

int64_t comm_define_like(int64_t like)
{
	struct trace_group members = {0}, remote = {0};
	struct comm_info info;

	if (like < 0 || like >= (int64_t)handles.n_comm)
		return TRACE_NULL;
	info = handles.info[like];
	if (group_copy(&handles.comm_def[like].members, &members) < 0 ||
	    group_copy(&handles.comm_def[like].remote, &remote) < 0) {
		group_clear(&members);
		return TRACE_NULL;
	}
	return comm_intern(handles.comm_def[like].kind, &members, &remote, &info);
}

void comm_bind(MPI_Comm c, int64_t index)
{
	if (index >= 0)
		hmap_put(&handles.comm, HANDLE_KEY(c), (int32_t)index);
	tell_comm(c, index);
}

int64_t comm_take(MPI_Comm c)
{
	int64_t index = rec_known(&handles.comm, HANDLE_KEY(c));

	hmap_take(&handles.comm, HANDLE_KEY(c));
	return index;
}

void comm_put_back(MPI_Comm c, int64_t index)
{
	comm_bind(c, index);
}

void comm_release(int64_t index)
{
	if (index > 1)
		handles.info[index].live = 0;
	if (index > 1 && index < SPILL_OBJECTS_MAX)
		rec.live->comm[index] = 0;
}

void comm_degrees(MPI_Comm c, int64_t index, int *in, int *out)
{
	int kind = MPI_UNDEFINED, n = 0, weighted;

	*in = *out = 0;
	if (index < 0 || mpi.Topo_test(c, &kind) != MPI_SUCCESS)
		return;
	if (kind == MPI_CART && mpi.Cartdim_get(c, &n) == MPI_SUCCESS)
		*in = *out = 2 * n;
	else if (kind == MPI_GRAPH && mpi.Graph_neighbors_count(c, handles.info[index].rank, &n) == MPI_SUCCESS)
		*in = *out = n;
	else if (kind == MPI_DIST_GRAPH)
		mpi.Dist_graph_neighbors_count(c, in, out, &weighted);
}

static int64_t op_intern(const char *name, bool commutes, uint64_t key)
{
	struct trace_op *def;
	uint32_t i;

	for (i = 0; i < handles.n_op; i++)
		if (!strcmp(handles.op_def[i].name, name) && handles.op_def[i].commutes == commutes)
			goto out;
	def = realloc(handles.op_def, (handles.n_op + 1) * sizeof(*def));
	if (!def)
		return TRACE_NULL;
	handles.op_def = def;
	def[i] = (struct trace_op){.name = strdup(name), .commutes = commutes};
	if (!def[i].name)
		return TRACE_NULL;
	handles.n_op++;
out:
	hmap_put(&handles.op, key, (int32_t)i);
	return i;
}

int64_t op_define(MPI_Op op)
{
	const char *name = mpilib_op_name(op);
	int commutes = 0;

	if (op == MPI_OP_NULL || mpi.Op_commutative(op, &commutes) != MPI_SUCCESS)
		return TRACE_NULL;
	return op_intern(name ? name : "user", commutes, HANDLE_KEY(op));
}

/* Addresses of constants are no handles: those are addresses of the library, or small numbers. */
int64_t own_define(const char *name)
{
	return op_intern(name, false, (uint64_t)(uintptr_t)name + 1);
}

int handles_begin(void)
{
	if (mpi.Comm_group(mpi.world, &world_group) != MPI_SUCCESS)
		return -1;
	return comm_define(mpi.world) == 0 && comm_define(mpi.self) >= 0 ? 0 : -1;
}

void handles_define(struct trace_defs *d)
{
	d->comm = handles.comm_def;
	d->n_comm = handles.n_comm;
	d->type = handles.type_def;
	d->n_type = handles.n_type;
	d->op = handles.op_def;
	d->n_op = handles.n_op;
	d->win = handles.win_def;
	d->n_win = handles.n_win;
	d->file = handles.file_def;
	d->n_file = handles.n_file;
}
