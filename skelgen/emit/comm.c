/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that make communicators. Each is made again with the members, in the order, that the trace recorded: by the
 * same call where its arguments are recorded and say so, else by a split with a colour per new communicator and the
 * recorded places as keys.
 */
#include <string.h>

#include "skelgen/emit/call.h"

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

static void put_new(struct leaf_ctx *c, struct text *out)
{
	text_put(out, "&comm[");
	emit_value(c, value_named, "newcomm", VALUE_INT, out);
	text_put(out, "]");
}

static void put_split(struct leaf_ctx *c, bool recorded, struct text *out)
{
	text_put(out, "skel_comm_split(");
	emit_comm(c, "comm", out);
	text_put(out, ", ");
	emit_value(c, value_named, "newcomm", VALUE_INT, out);
	text_put(out, ", ");
	emit_value(c, recorded ? value_named : value_colour, recorded ? "color" : NULL, VALUE_INT, out);
	text_put(out, ", ");
	emit_value(c, recorded ? value_named : value_key, recorded ? "key" : NULL, VALUE_INT, out);
	text_put(out, ")");
}

/* "MPI_X(comm, &comm[k])", with one value in between unless `middle` is NULL. */
static void put_simple(struct leaf_ctx *c, const char *call, const char *middle, struct text *out)
{
	text_put(out, "%s(", call);
	emit_comm(c, "comm", out);
	if (middle != NULL) {
		text_put(out, ", ");
		emit_value(c, value_named, middle, VALUE_INT, out);
	}
	text_put(out, ", ");
	put_new(c, out);
	text_put(out, ")");
}

static bool array_param(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k,
			const void *name, const int64_t **v, uint32_t *n)
{
	struct sig_walk w;

	(void)c;
	*n = 0;
	*v = NULL;
	sig_walk_begin(&w, r->d, k->sym);
	while (sig_walk_next(&w))
		if (trace_kind_is_array(w.kind) && strcmp(w.name, name) == 0) {
			*v = w.val;
			*n = w.n;
		}
	return true;
}

/* Two arrays and the length of the first before them. */
static void put_arrays(struct leaf_ctx *c, const char *first, const char *second, struct text *out)
{
	struct text a = {.len = 0}, b = {.len = 0}, n = {.len = 0};

	emit_array(c, array_param, first, &a, &n);
	emit_array(c, array_param, second, &b, NULL);
	text_put(out, "%s, %s, %s", text_get(&n), text_get(&a), text_get(&b));
	text_free(&a);
	text_free(&b);
	text_free(&n);
}

/* Topologies are what neighbourhood collectives need; the ranks have been placed already, so never again. */
static bool put_topology(struct leaf_ctx *c, const char *name, struct text *out)
{
	struct text d = {.len = 0}, n = {.len = 0};

	if (!keeps_order(c) || !all_get_one(c))
		return false;
	if (strcmp(name, "MPI_Cart_create") == 0 || strcmp(name, "MPI_Graph_create") == 0) {
		bool cart = name[4] == 'C';

		text_put(out, "%s(", name);
		emit_comm(c, "comm", out);
		text_put(out, ", ");
		put_arrays(c, cart ? "dims" : "index", cart ? "periods" : "edges", out);
		text_put(out, ", 0, ");
	} else if (strcmp(name, "MPI_Dist_graph_create_adjacent") == 0) {
		text_put(out, "MPI_Dist_graph_create_adjacent(");
		emit_comm(c, "comm", out);
		emit_array(c, array_param, "sources", &d, &n);
		text_put(out, ", %s, %s, skel_unweighted, ", text_get(&n), text_get(&d));
		text_reset(&d);
		text_reset(&n);
		emit_array(c, array_param, "destinations", &d, &n);
		text_put(out, "%s, %s, skel_unweighted, MPI_INFO_NULL, 0, ", text_get(&n), text_get(&d));
		text_free(&d);
		text_free(&n);
	} else if (strcmp(name, "MPI_Dist_graph_create") == 0) {
		text_put(out, "MPI_Dist_graph_create(");
		emit_comm(c, "comm", out);
		text_put(out, ", ");
		put_arrays(c, "sources", "degrees", out);
		emit_array(c, array_param, "destinations", &d, NULL);
		text_put(out, ", %s, skel_unweighted, MPI_INFO_NULL, 0, ", text_get(&d));
		text_free(&d);
	} else {
		return false;
	}
	put_new(c, out);
	text_put(out, ")");
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

static void put_group(struct leaf_ctx *c, struct text *out)
{
	struct text a = {.len = 0}, n = {.len = 0};

	emit_array(c, array_members, NULL, &a, &n);
	text_put(out, "skel_comm_group(");
	emit_comm(c, "comm", out);
	text_put(out, ", ");
	emit_value(c, value_named, "newcomm", VALUE_INT, out);
	text_put(out, ", %s, %s, ", text_get(&a), text_get(&n));
	emit_value(c, value_named, "tag", VALUE_INT, out);
	text_put(out, ")");
	text_free(&a);
	text_free(&n);
}

/* Where the rank is not the leader MPI looks at neither the peer communicator nor the remote leader. */
static bool value_leading(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k,
			  const void *name, int64_t *out)
{
	(void)c;
	*out = call_named(r->d, k->sym, name, TRACE_NULL);
	return call_named(r->d, k->sym, "peer", TRACE_NULL) >= 0;
}

static void put_intercomm(struct leaf_ctx *c, struct text *out)
{
	text_put(out, "MPI_Intercomm_create(");
	emit_comm(c, "comm", out);
	text_put(out, ", ");
	emit_value(c, value_named, "leader", VALUE_INT, out);
	text_put(out, ", comm[");
	emit_value(c, value_leading, "peer", VALUE_INT, out);
	text_put(out, "], ");
	emit_value(c, value_leading, "remote", VALUE_INT, out);
	text_put(out, ", ");
	emit_value(c, value_named, "tag", VALUE_INT, out);
	text_put(out, ", ");
	put_new(c, out);
	text_put(out, ")");
}

/* Freed: the handle's place, which emit_comm would name by its constant. */
static void put_free(struct leaf_ctx *c, const char *name, struct text *out)
{
	text_put(out, "%s(&comm[", name);
	emit_value(c, value_named, "comm", VALUE_INT, out);
	text_put(out, "])");
}

int emit_comm_call(struct leaf_ctx *c, struct text *out, const char **why)
{
	const char *name = trace_fn[c->leaf->fn].name;
	int64_t made;

	if (strcmp(name, "MPI_Comm_free") == 0 || strcmp(name, "MPI_Comm_disconnect") == 0) {
		put_free(c, name, out);
		return 1;
	}
	if (value_is_constant(c, value_named, "newcomm", TRACE_NULL, &made) && made == TRACE_NULL &&
	    strcmp(name, "MPI_Comm_create_group") == 0) {
		*why = "its communicator is not known";
		return -1;
	}
	if (strcmp(name, "MPI_Comm_create_group") == 0) {
		put_group(c, out);
	} else if (strcmp(name, "MPI_Intercomm_create") == 0) {
		put_intercomm(c, out);
	} else if (strcmp(name, "MPI_Intercomm_merge") == 0) {
		put_simple(c, name, "high", out);
	} else if (strncmp(name, "MPI_Comm_idup", 13) == 0) {
		put_simple(c, "MPI_Comm_idup", NULL, out);
		out->data[--out->len] = '\0';
		text_put(out, ", &req[");
		emit_value(c, value_named, "req", VALUE_INT, out);
		text_put(out, "])");
	} else if (strncmp(name, "MPI_Comm_dup", 12) == 0) {
		put_simple(c, "MPI_Comm_dup", NULL, out);
	} else if (!put_topology(c, name, out)) {
		put_split(c, strcmp(name, "MPI_Comm_split") == 0, out);
	}
	return 1;
}
