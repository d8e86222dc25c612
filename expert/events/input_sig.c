/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signatures as the rules see them: see input_impl.h. */
#include <stdlib.h>
#include <string.h>

#include "expert/events/input_impl.h"
#include "trace/functions.h"

/* Who gets what from whom, by the name of the function without MPI_, I and _init. */
static uint32_t collective_type(const struct input_types *t, const char *name, size_t len)
{
	const struct {
		const char *name;
		uint32_t type;
	} table[] = {{"barrier", t->barrier},	  {"bcast", t->from_one},      {"scatter", t->from_one},
		     {"scatterv", t->from_one},	  {"reduce", t->to_one},       {"gather", t->to_one},
		     {"gatherv", t->to_one},	  {"allreduce", t->to_all},    {"allgather", t->to_all},
		     {"allgatherv", t->to_all},	  {"alltoall", t->to_all},     {"alltoallv", t->to_all},
		     {"alltoallw", t->to_all},	  {"reduce_scatter", t->to_all}, {"reduce_scatter_block", t->to_all},
		     {"scan", t->scan},		  {"exscan", t->scan}};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (strlen(table[i].name) == len && !strncasecmp(table[i].name, name, len))
			return table[i].type;
	return MSG_NONE;
}

static bool ends_with_init(const char *name)
{
	size_t n = strlen(name);

	return n > 5 && !strcmp(name + n - 5, "_init");
}

static void decode_collective(struct input *in, const struct trace_fn_info *fn, struct input_sig *s)
{
	const char *name = fn->name + 4;
	size_t n;

	s->persistent = ends_with_init(name);
	n = strlen(name) - (s->persistent ? 5 : 0);
	if (fn->cls == TC_ICOLL && !s->persistent) {
		name++;
		n--;
	}
	s->starts_request = fn->cls == TC_ICOLL;
	if (n > 9 && !strncasecmp(name, "neighbor_", 9)) {
		s->kind = IK_NEIGHBOURS;
		return;
	}
	s->type = collective_type(&in->type, name, n);
	if (s->type != MSG_NONE) /* else a type that this version does not know */
		s->kind = IK_COLL;
	else
		s->persistent = s->starts_request = false;
}

/* Reading and writing together is what the name says; all of TC_FILE is. */
static void decode_file(struct input *in, const struct trace_fn_info *fn, const struct trace_defs *d, struct input_sig *s)
{
	const char *all = strstr(fn->name, "_all"), *end = strstr(fn->name, "_end"), *seek = strstr(fn->name, "_seek");

	s->is_file = true;
	if (s->file < 0 || s->file >= (int64_t)d->n_file || end)
		return;
	s->comm_index = d->file[s->file].comm;
	s->is_write = strstr(fn->name, "write");
	s->kind = all || strstr(fn->name, "_ordered") || (fn->cls == TC_FILE && (!seek || strstr(fn->name, "_shared"))) ? IK_FILE_COLL
	      : fn->cls == TC_IO ? IK_FILE : IK_OTHER;
	s->type = s->kind == IK_FILE_COLL ? in->type.file_coll : in->type.file;
	s->starts_request = s->kind == IK_FILE_COLL && s->request >= 0;
}

static void decode_sync(struct input *in, const char *name, struct input_sig *s)
{
	static const struct {
		const char *name;
		uint8_t kind;
	} table[] = {{"MPI_Win_lock", IK_LOCK},   {"MPI_Win_unlock", IK_UNLOCK},	   {"MPI_Win_post", IK_POST}, {"MPI_Win_start", IK_START},
		     {"MPI_Win_complete", IK_COMPLETE}, {"MPI_Win_wait", IK_WAIT}, {"MPI_Win_test", IK_WAIT},
		     {"MPI_Win_fence", IK_FENCE}, {"MPI_Win_lock_all", IK_LOCK_ALL}, {"MPI_Win_unlock_all", IK_UNLOCK_ALL},
		     {"MPI_Win_flush", IK_FLUSH}, {"MPI_Win_flush_all", IK_FLUSH}, {"MPI_Win_flush_local", IK_FLUSH},
		     {"MPI_Win_flush_local_all", IK_FLUSH}};
	const uint32_t types[] = {[IK_LOCK] = in->type.lock,   [IK_UNLOCK] = in->type.unlock,	  [IK_POST] = in->type.post,
				  [IK_START] = in->type.start, [IK_COMPLETE] = in->type.complete, [IK_WAIT] = in->type.wait,
				  [IK_FENCE] = in->type.fence, [IK_LOCK_ALL] = in->type.lock,
				  [IK_UNLOCK_ALL] = in->type.unlock, [IK_FLUSH] = in->type.lock};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (!strcmp(table[i].name, name)) {
			s->kind = table[i].kind;
			s->type = types[s->kind];
		}
}

static uint32_t member(const struct trace_defs *d, uint32_t comm, int64_t rank)
{
	const struct trace_comm *c = comm < d->n_comm ? &d->comm[comm] : NULL;

	return c && rank >= 0 && rank < (int64_t)c->members.n ? c->members.rank[rank] : MSG_NONE;
}

/* Who takes part, and who the root is: with an intercommunicator, both its groups, and a root of one of them. */
static void place_collective(struct input *in, uint32_t rank, struct input_sig *s)
{
	const struct trace_defs *d = &trace_get_rank(in->t, rank)->defs;
	const struct trace_comm *c = s->comm_index < d->n_comm ? &d->comm[s->comm_index] : NULL;

	if (!c || (c->kind != TCOMM_INTRA && s->kind != IK_COLL)) {
		s->kind = IK_OTHER;
		s->persistent = s->starts_request = false;
		return;
	}
	s->comm = in->names.comm[rank][s->comm_index];
	s->size = c->members.n + (c->kind == TCOMM_INTER ? c->remote.n : 0);
	s->is_root = s->root == TRACE_ROOT;
	if (s->is_root)
		s->root = rank;
	else if (s->root < 0)
		s->root = -1;
	else if (c->kind == TCOMM_INTER)
		s->root = s->root < (int64_t)c->remote.n ? (int64_t)c->remote.rank[s->root] : -1;
	else
		s->root = (int64_t)member(d, s->comm_index, s->root);
	s->is_root = s->root == (int64_t)rank;
	s->place = 0;
	while (s->type == in->type.scan && s->place < c->members.n && c->members.rank[s->place] != rank)
		s->place++;
}

/* Ranks of the communicator to ranks of the world; kinds that cannot be told become others. */
static void place(struct input *in, uint32_t rank, struct input_sig *s)
{
	const struct trace_defs *d = &trace_get_rank(in->t, rank)->defs;

	if (s->kind == IK_COLL || s->kind == IK_NEIGHBOURS || s->kind == IK_FILE_COLL || (s->kind == IK_WINDOW && s->comm_index < d->n_comm)) {
		place_collective(in, rank, s);
	} else if (s->kind >= IK_LOCK) {
		if (s->window < 0 || s->window >= (int64_t)d->n_win) {
			s->kind = IK_OTHER;
			return;
		}
		s->comm_index = d->win[s->window].comm;
		if (s->kind == IK_LOCK && s->is_exclusive)
			in->locks_exclude = true;
		s->target = member(d, s->comm_index, s->target);
		if (s->kind == IK_FLUSH && s->target == (int64_t)MSG_NONE)
			s->target = -1;
	}
}

/* Parameters that matter here. *count and *datatype: the first of each. */
static bool read_params(const struct trace_defs *d, uint32_t sym, struct input_sig *s, int64_t *count, int64_t *datatype)
{
	bool has_newwin = false;
	struct sig_walk w;

	sig_walk_begin(&w, d, sym);
	while (sig_walk_next(&w)) {
		switch (w.kind) {
		case TK_COMM: s->comm_index = *w.val < 0 ? MSG_NONE : (uint32_t)*w.val; break;
		case TK_ROOT: s->root = *w.val; break;
		case TK_NEWREQ: s->request = *w.val; break;
		case TK_WIN: s->window = *w.val; break;
		case TK_NEWWIN: s->window = *w.val; has_newwin = true; break;
		case TK_FILE:
		case TK_NEWFILE: s->file = *w.val; break;
		case TK_COUNT: *count = *count < 0 ? *w.val : *count; break;
		case TK_TYPE: *datatype = *datatype < 0 ? *w.val : *datatype; break;
		case TK_DST: s->target = *w.val; break;
		case TK_INT:
			if (!strcmp(w.name, "type"))
				s->is_exclusive = *w.val == TLOCK_EXCLUSIVE;
			break;
		case TK_INTS:
			if (!strcmp(w.name, "group")) {
				s->group = w.val;
				s->n_group = w.n;
			}
			break;
		default: break;
		}
	}
	return has_newwin;
}

/* An event only when it found something: before it others may have asked in vain. */
static bool is_poll(const char *name)
{
	return !strncmp(name, "MPI_Test", 8) || !strcmp(name, "MPI_Iprobe") || !strcmp(name, "MPI_Improbe") ||
	       !strcmp(name, "MPI_Win_test");
}

static void decode(struct input *in, uint32_t rank, uint32_t sym, struct input_sig *s)
{
	const struct trace_defs *d = &trace_get_rank(in->t, rank)->defs;
	const struct trace_fn_info *fn = &trace_fn[d->sigs.sig[sym].fn];
	int64_t count = -1, datatype = -1;
	bool has_newwin;

	*s = (struct input_sig){.type = MSG_NONE, .comm_index = MSG_NONE, .root = -1, .window = -1, .file = -1, .target = -1,
				.request = -1, .site = d->sigs.sig[sym].site};
	s->function = engine_string(in->e, fn->name);
	if (s->function == UINT32_MAX)
		s->function = 0;
	s->sends_and_receives = fn->cls == TC_SENDRECV || !strncmp(fn->name, "MPI_Isendrecv", 13);
	s->is_poll = is_poll(fn->name);
	s->is_synchronous = strstr(fn->name, "ssend") || strstr(fn->name, "Ssend");
	has_newwin = read_params(d, sym, s, &count, &datatype);
	if (count > 0 && count <= INT32_MAX && datatype >= 0 && datatype < (int64_t)d->n_type && d->type[datatype].size > 0 &&
	    d->type[datatype].size <= INT32_MAX)
		s->bytes = count * d->type[datatype].size;
	if (fn->cls == TC_COLL || fn->cls == TC_ICOLL)
		decode_collective(in, fn, s);
	else if (fn->cls == TC_FILE || fn->cls == TC_IO)
		decode_file(in, fn, d, s);
	else if (fn->cls == TC_WIN && has_newwin && s->window >= 0 && s->window < (int64_t)d->n_win) {
		s->kind = IK_WINDOW;
		s->type = in->type.window;
	} else if (fn->cls == TC_SYNC)
		decode_sync(in, fn->name, s);
	else if (d->sigs.sig[sym].fn == FN_Precedent_call || d->sigs.sig[sym].fn == FN_Precedent_return)
		s->kind = d->sigs.sig[sym].fn == FN_Precedent_call ? IK_OWN_CALL : IK_OWN_RETURN;
	else if (!strcmp(fn->name, "MPI_Probe") || !strcmp(fn->name, "MPI_Iprobe"))
		s->kind = IK_PROBE;
	place(in, rank, s);
}

struct input_sig *input_decode_rank(struct input *in, uint32_t rank)
{
	uint32_t n = trace_get_rank(in->t, rank)->defs.sigs.n;
	struct input_sig *s = malloc((n + 1ull) * sizeof(*s));

	for (uint32_t i = 0; s && i < n; i++)
		decode(in, rank, i, &s[i]);
	return s;
}

/* ---- topologies ---- */

static int neighbours(uint32_t **list, uint32_t *n_list, const struct trace_comm *c, const int64_t *rank, uint32_t n)
{
	free(*list);
	*n_list = 0;
	*list = malloc((n + 1ull) * sizeof(**list));
	if (!*list)
		return -1;
	for (uint32_t i = 0; i < n; i++)
		(*list)[(*n_list)++] = rank[i] >= 0 && rank[i] < (int64_t)c->members.n ? c->members.rank[rank[i]] : MSG_NONE;
	return 0;
}

/* Before and behind in each dimension of a grid, the last of which goes fastest. */
static int grid(struct input_topology *t, const struct trace_comm *c, int64_t me, const int64_t *dims, const int64_t *periods,
		uint32_t n)
{
	int64_t list[2 * 64], stride = 1;

	if (n > 64)
		return 0;
	for (uint32_t i = n; i-- > 0;) {
		int64_t size = dims[i] > 0 ? dims[i] : 1, at = me / stride % size;

		if (stride > INT32_MAX / size)
			return 0;
		list[2 * i] = at > 0 ? me - stride : periods[i] ? me + (size - 1) * stride : -1;
		list[2 * i + 1] = at < size - 1 ? me + stride : periods[i] ? me - (size - 1) * stride : -1;
		stride *= size;
	}
	return neighbours(&t->from, &t->n_from, c, list, 2 * n) < 0 ? -1 : neighbours(&t->to, &t->n_to, c, list, 2 * n);
}

/* index[i]: the end of the edges of rank i. */
static int graph(struct input_topology *t, const struct trace_comm *c, int64_t me, const int64_t *index, uint32_t n_index,
		 const int64_t *edges, uint32_t n_edges)
{
	int64_t begin = me > 0 && me <= (int64_t)n_index ? index[me - 1] : 0, end = me < (int64_t)n_index ? index[me] : 0;

	if (begin < 0 || end < begin || end > (int64_t)n_edges)
		return 0;
	if (neighbours(&t->from, &t->n_from, c, edges + begin, (uint32_t)(end - begin)) < 0)
		return -1;
	return neighbours(&t->to, &t->n_to, c, edges + begin, (uint32_t)(end - begin));
}

static int topology(const struct trace_defs *d, uint32_t rank, uint32_t sym, struct input_topology *all)
{
	static const char *const name[] = {"dims", "periods", "index", "edges", "sources", "destinations"};
	const int64_t *list[6] = {NULL};
	uint32_t n[6] = {0}, old = MSG_NONE, made = MSG_NONE, me = 0;
	struct sig_walk w;

	sig_walk_begin(&w, d, sym);
	while (sig_walk_next(&w)) {
		if (w.kind == TK_COMM)
			old = *w.val < 0 ? MSG_NONE : (uint32_t)*w.val;
		if (w.kind == TK_NEWCOMM)
			made = *w.val < 0 ? MSG_NONE : (uint32_t)*w.val;
		for (int i = 0; i < 6 && w.kind == TK_INTS; i++)
			if (!strcmp(w.name, name[i])) {
				list[i] = w.val;
				n[i] = w.n;
			}
	}
	if (made >= d->n_comm || old >= d->n_comm)
		return 0;
	while (me < d->comm[made].members.n && d->comm[made].members.rank[me] != rank)
		me++;
	if (list[0] && list[1] && n[0] == n[1])
		return grid(&all[made], &d->comm[made], me, list[0], list[1], n[0]);
	if (list[2] && list[3])
		return graph(&all[made], &d->comm[made], me, list[2], n[2], list[3], n[3]);
	if (!list[4] || !list[5])
		return 0;
	if (neighbours(&all[made].from, &all[made].n_from, &d->comm[old], list[4], n[4]) < 0)
		return -1;
	return neighbours(&all[made].to, &all[made].n_to, &d->comm[old], list[5], n[5]);
}

void input_topologies_free(struct input_topology *t, uint32_t n)
{
	for (uint32_t i = 0; t && i < n; i++) {
		free(t[i].from);
		free(t[i].to);
	}
	free(t);
}

struct input_topology *input_topologies(struct input *in, uint32_t rank)
{
	const struct trace_defs *d = &trace_get_rank(in->t, rank)->defs;
	struct input_topology *t = calloc(d->n_comm + 1ull, sizeof(*t));

	for (uint32_t i = 0; t && i < d->sigs.n; i++)
		if (trace_fn[d->sigs.sig[i].fn].cls == TC_COMM && topology(d, rank, i, t) < 0) {
			input_topologies_free(t, d->n_comm);
			return NULL;
		}
	return t;
}
