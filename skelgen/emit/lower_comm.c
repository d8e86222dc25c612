/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that make communicators. A communicator is made again with the members that the trace recorded, in their order.
 * The same call does it where its arguments are recorded. Elsewhere a split does it: a colour for each new communicator,
 * the recorded places as keys.
 */
#include <string.h>

#include "skelgen/emit/lower_call.h"

static const struct trace_comm *comm_named(const struct leaf_rank *r, const struct leaf_case *k, const char *name)
{
	int64_t id = call_named(r->d, k->sym, name, TRACE_NULL);

	return id >= 0 && id < r->d->n_comm ? &r->d->comm[id] : NULL;
}

static const struct trace_comm *comm_made(const struct leaf_rank *r, const struct leaf_case *k)
{
	return comm_named(r, k, "newcomm");
}

static uint32_t place_in(const struct trace_group *g, uint32_t rank)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->rank[i] == rank)
			return i;
	return UINT32_MAX;
}

/* The first member's world rank: no other new communicator of the same call has it. */
static bool value_colour(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k,
			 const void *arg, int64_t *out)
{
	const struct trace_comm *m = comm_made(r, k);

	(void)c;
	(void)arg;
	if (m == NULL || m->members.n == 0)
		return false;
	*out = m->members.rank[0];
	return true;
}

static bool value_key(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k, const void *arg,
		      int64_t *out)
{
	const struct trace_comm *m = comm_made(r, k);

	(void)c;
	(void)arg;
	if (m == NULL)
		return false;
	*out = place_in(&m->members, r->rank);
	return true;
}

/* Are the members, in order, the first ones of the parent, in order? */
static bool keeps_order(const struct leaf_ctx *c)
{
	for (uint32_t i = 0; i < c->n_rank; i++)
		for (uint32_t k = 0; k < c->rank[i].n_case; k++) {
			const struct trace_comm *m = comm_made(&c->rank[i], &c->rank[i].kase[k]);
			const struct trace_comm *p = comm_named(&c->rank[i], &c->rank[i].kase[k], "comm");

			if (m == NULL)
				continue;
			if (p == NULL || p->members.n < m->members.n ||
			    memcmp(p->members.rank, m->members.rank, m->members.n * sizeof *m->members.rank) != 0)
				return false;
		}
	return true;
}

static bool all_get_one(const struct leaf_ctx *c)
{
	for (uint32_t i = 0; i < c->n_rank; i++)
		for (uint32_t k = 0; k < c->rank[i].n_case; k++)
			if (comm_made(&c->rank[i], &c->rank[i].kase[k]) == NULL)
				return false;
	return true;
}

static void put_new(struct leaf_ctx *c, struct code *out)
{
	lower_named(c, "newcomm", VALUE_INT, out);
	code_op(out, OPS_PLACE, OPS_COMM);
}

static void put_split(struct leaf_ctx *c, bool recorded, struct code *out)
{
	lower_comm(c, "comm", out);
	lower_named(c, "newcomm", VALUE_INT, out);
	lower_value(c, recorded ? value_named : value_colour, recorded ? "color" : NULL, VALUE_INT, out);
	lower_value(c, recorded ? value_named : value_key, recorded ? "key" : NULL, VALUE_INT, out);
	code_call(out, "skel_comm_split");
}

/* The array in the parameter of this name, and its length before it. */
static void put_array(struct leaf_ctx *c, const char *name, bool length, struct code *out)
{
	struct array_value a = lower_array(c, array_named, name);

	if (length)
		array_put_length(&a, out);
	array_put(&a, out);
}

/* Topologies are what neighbourhood collectives need; the ranks have been placed already, so never again. */
static bool put_topology(struct leaf_ctx *c, const char *name, struct code *out)
{
	bool cart = strcmp(name, "MPI_Cart_create") == 0, graph = strcmp(name, "MPI_Graph_create") == 0;
	bool adjacent = strcmp(name, "MPI_Dist_graph_create_adjacent") == 0;

	if (!keeps_order(c) || !all_get_one(c))
		return false;
	if (!cart && !graph && !adjacent && strcmp(name, "MPI_Dist_graph_create") != 0)
		return false;
	lower_comm(c, "comm", out);
	if (cart || graph) {
		put_array(c, cart ? "dims" : "index", true, out);
		put_array(c, cart ? "periods" : "edges", false, out);
	} else {
		put_array(c, "sources", true, out);
		if (adjacent)
			code_named(out, "skel_unweighted");
		else
			put_array(c, "degrees", false, out);
		put_array(c, "destinations", adjacent, out);
		code_named(out, "skel_unweighted");
		code_named(out, "MPI_INFO_NULL");
	}
	code_int(out, 0);
	put_new(c, out);
	code_call(out, name);
	return true;
}

static bool array_members(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k,
			  const void *arg, const int64_t **v, uint32_t *n)
{
	const struct trace_comm *m = comm_made(r, k);
	int64_t *w;

	(void)arg;
	if (m == NULL || (w = leaf_ctx_values(c, m->members.n)) == NULL)
		return false;
	for (uint32_t i = 0; i < m->members.n; i++)
		w[i] = m->members.rank[i];
	*v = w;
	*n = m->members.n;
	return true;
}

/* MPI_Comm_create_from_group has no parent. All ranks of a trace are in MPI_COMM_WORLD. */
static void put_group(struct leaf_ctx *c, bool has_parent, struct code *out)
{
	struct array_value a = lower_array(c, array_members, NULL);

	if (has_parent)
		lower_comm(c, "comm", out);
	else
		code_named(out, "MPI_COMM_WORLD");
	lower_named(c, "newcomm", VALUE_INT, out);
	array_put(&a, out);
	array_put_length(&a, out);
	if (has_parent)
		lower_named(c, "tag", VALUE_INT, out);
	else
		code_int(out, 0); /* a thread makes one at a time */
	code_call(out, "skel_comm_group");
}

/* Where the rank is not the leader MPI looks at neither the peer communicator nor the remote leader. */
static bool value_leading(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k,
			  const void *name, int64_t *out)
{
	(void)c;
	*out = call_named(r->d, k->sym, name, TRACE_NULL);
	return call_named(r->d, k->sym, "peer", TRACE_NULL) >= 0;
}

static void put_intercomm(struct leaf_ctx *c, struct code *out)
{
	lower_comm(c, "comm", out);
	lower_named(c, "leader", VALUE_INT, out);
	lower_value(c, value_leading, "peer", VALUE_INT, out);
	code_op(out, OPS_HANDLE, OPS_COMM);
	lower_value(c, value_leading, "remote", VALUE_INT, out);
	lower_named(c, "tag", VALUE_INT, out);
	put_new(c, out);
	code_call(out, "MPI_Intercomm_create");
}

int lower_comm_call(struct leaf_ctx *c, struct code *out, const char **why)
{
	const char *name = trace_fn[c->leaf->fn].name;
	bool nonblocking = strncmp(name, "MPI_Comm_idup", 13) == 0;
	int64_t made;

	if (strcmp(name, "MPI_Comm_free") == 0 || strcmp(name, "MPI_Comm_disconnect") == 0) {
		lower_named(c, "comm", VALUE_INT, out); /* the place of the handle, which lower_comm names by its constant */
		code_op(out, OPS_PLACE, OPS_COMM);
		code_call(out, name);
	} else if (strcmp(name, "MPI_Comm_create_group") == 0 || strcmp(name, "MPI_Comm_create_from_group") == 0) {
		if (value_is_constant(c, value_named, "newcomm", TRACE_NULL, &made) && made == TRACE_NULL) {
			*why = "its communicator is not known";
			return -1;
		}
		put_group(c, lower_has_param(c, "comm"), out);
	} else if (strcmp(name, "MPI_Intercomm_create") == 0) {
		put_intercomm(c, out);
	} else if (strcmp(name, "MPI_Intercomm_merge") == 0) {
		lower_comm(c, "comm", out);
		lower_named(c, "high", VALUE_INT, out);
		put_new(c, out);
		code_call(out, name);
	} else if (nonblocking || strncmp(name, "MPI_Comm_dup", 12) == 0) {
		lower_comm(c, "comm", out);
		put_new(c, out);
		if (nonblocking) {
			lower_named(c, "req", VALUE_INT, out);
			code_op(out, OPS_PLACE, OPS_REQ);
		}
		code_call(out, nonblocking ? "MPI_Comm_idup" : "MPI_Comm_dup");
	} else if (!put_topology(c, name, out)) {
		put_split(c, strcmp(name, "MPI_Comm_split") == 0, out);
	}
	return 1;
}
