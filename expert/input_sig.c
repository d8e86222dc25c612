/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signatures as the rules see them: see input_impl.h. */
#include <stdlib.h>
#include <string.h>

#include "expert/input_impl.h"
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
	s->type = collective_type(&in->type, name, n);
	if (s->type == MSG_NONE)
		return; /* of neighbours, and of what is to come */
	s->kind = IK_COLL;
	s->starts_request = fn->cls == TC_ICOLL;
}

static void decode_sync(struct input *in, const char *name, struct input_sig *s)
{
	static const struct {
		const char *name;
		uint8_t kind;
	} table[] = {{"MPI_Win_lock", IK_LOCK},   {"MPI_Win_unlock", IK_UNLOCK},	   {"MPI_Win_post", IK_POST}, {"MPI_Win_start", IK_START},
		     {"MPI_Win_complete", IK_COMPLETE}, {"MPI_Win_wait", IK_WAIT}, {"MPI_Win_test", IK_WAIT}};
	const uint32_t types[] = {[IK_LOCK] = in->type.lock,   [IK_UNLOCK] = in->type.unlock,	  [IK_POST] = in->type.post,
				  [IK_START] = in->type.start, [IK_COMPLETE] = in->type.complete, [IK_WAIT] = in->type.wait};

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

/* Ranks of the communicator to ranks of the world; kinds that cannot be told become others. */
static void place(struct input *in, uint32_t rank, struct input_sig *s)
{
	const struct trace_defs *d = &trace_get_rank(in->t, rank)->defs;

	if (s->kind == IK_COLL || (s->kind == IK_WINDOW && s->comm_index < d->n_comm)) {
		if (s->comm_index >= d->n_comm || d->comm[s->comm_index].kind != TCOMM_INTRA) {
			s->kind = IK_OTHER;
			return;
		}
		s->comm = in->names.comm[rank][s->comm_index];
		s->size = d->comm[s->comm_index].members.n;
		s->root = s->root < 0 ? -1 : (int64_t)member(d, s->comm_index, s->root);
		s->is_root = s->root == (int64_t)rank;
	} else if (s->kind >= IK_LOCK) {
		if (s->window < 0 || s->window >= (int64_t)d->n_win) {
			s->kind = IK_OTHER;
			return;
		}
		s->comm_index = d->win[s->window].comm;
		s->target = member(d, s->comm_index, s->target);
	}
}

static void decode(struct input *in, uint32_t rank, uint32_t sym, struct input_sig *s)
{
	const struct trace_defs *d = &trace_get_rank(in->t, rank)->defs;
	const struct trace_fn_info *fn = &trace_fn[d->sigs.sig[sym].fn];
	int64_t count = -1, datatype = -1;
	bool has_newwin = false;
	struct sig_walk w;

	*s = (struct input_sig){.type = MSG_NONE, .comm_index = MSG_NONE, .root = -1, .window = -1, .target = -1, .request = -1,
				.site = d->sigs.sig[sym].site};
	s->function = engine_string(in->e, fn->name);
	if (s->function == UINT32_MAX)
		s->function = 0;
	s->sends_and_receives = fn->cls == TC_SENDRECV;
	sig_walk_begin(&w, d, sym);
	while (sig_walk_next(&w)) {
		switch (w.kind) {
		case TK_COMM: s->comm_index = *w.val < 0 ? MSG_NONE : (uint32_t)*w.val; break;
		case TK_ROOT: s->root = *w.val; break;
		case TK_NEWREQ: s->request = *w.val; break;
		case TK_WIN: s->window = *w.val; break;
		case TK_NEWWIN: s->window = *w.val; has_newwin = true; break;
		case TK_COUNT: count = count < 0 ? *w.val : count; break;
		case TK_TYPE: datatype = datatype < 0 ? *w.val : datatype; break;
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
	if (count > 0 && count <= INT32_MAX && datatype >= 0 && datatype < (int64_t)d->n_type && d->type[datatype].size > 0 &&
	    d->type[datatype].size <= INT32_MAX)
		s->bytes = count * d->type[datatype].size;
	if (fn->cls == TC_COLL || fn->cls == TC_ICOLL)
		decode_collective(in, fn, s);
	else if (fn->cls == TC_WIN && has_newwin && s->window >= 0 && s->window < (int64_t)d->n_win) {
		s->kind = IK_WINDOW;
		s->type = in->type.window;
	} else if (fn->cls == TC_SYNC)
		decode_sync(in, fn->name, s);
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
