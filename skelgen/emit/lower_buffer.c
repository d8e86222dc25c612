/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Buffers of calls, their counts, and the arrays of counts, displacements and datatypes. */
#include <string.h>

#include "skelgen/emit/lower_call.h"

#define SPARSE (1 << 20) /* bytes: a receive with no more room gets all of it */

/* ---- counts ---- */

/* A count means something where its datatype does. */
struct count_arg {
	const char *count, *type;
};

static const struct count_arg sent = {"count", "type"}, received = {"rcount", "rtype"};

/* Is this count of this call what a message is received with? */
static bool is_room(const struct leaf_ctx *c, const struct count_arg *a)
{
	uint8_t cls = trace_fn[c->leaf->fn].cls;

	return a == &sent ? cls == TC_RECV || cls == TC_IRECV : cls == TC_SENDRECV || cls == TC_ISEND;
}

/* The recorded count; more where threads make the call's message another one (rooms.h). */
static int64_t count_of(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k,
			const struct count_arg *a)
{
	int64_t count = call_named(r->d, k->sym, a->count, 0), type = call_named(r->d, k->sym, a->type, TRACE_NULL);
	uint64_t least = is_room(c, a) ? skel_room(&c->e->plan->rooms, r->rank, k->sym) : 0, size, n;

	if (least == 0 || type < 0 || type >= r->d->n_type || r->d->type[type].size <= 0)
		return count;
	size = (uint64_t)r->d->type[type].size;
	n = (least + size - 1) / size;
	return n > (uint64_t)count && n <= INT32_MAX ? (int64_t)n : count;
}

static bool value_count(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k,
			const void *arg, int64_t *out)
{
	const struct count_arg *a = arg;
	int64_t t;

	*out = count_of(c, r, k, a);
	return value_type(c, r, k, a->type, &t);
}

/* ---- buffers ---- */

static bool inplace_is_receive(const struct leaf_ctx *c)
{
	const char *name = trace_fn[c->leaf->fn].name;

	return strncmp(name, "MPI_Scatter", 11) == 0 || strncmp(name, "MPI_Iscatter", 12) == 0;
}

/* Ranks on which the program gave MPI_IN_PLACE for this side. Comments: the operations that put_inplace() appended. */
enum in_place {
	IN_PLACE_NOWHERE,   /* nothing */
	IN_PLACE_SOMEWHERE, /* the condition and MPI_IN_PLACE; the buffer and OPS_CHOOSE must follow */
	IN_PLACE_EVERYWHERE /* MPI_IN_PLACE */
};

static enum in_place put_inplace(struct leaf_ctx *c, bool receive, struct code *out)
{
	int64_t given;
	bool constant;

	if (!lower_has_param(c, "inplace") || inplace_is_receive(c) != receive)
		return IN_PLACE_NOWHERE;
	constant = value_is_constant(c, value_named, "inplace", 0, &given);
	if (constant && !given)
		return IN_PLACE_NOWHERE;
	if (!constant && lower_where(c, value_named, "inplace", out) != 0)
		lower_named(c, "inplace", VALUE_INT, out);
	code_named(out, "MPI_IN_PLACE");
	return constant ? IN_PLACE_EVERYWHERE : IN_PLACE_SOMEWHERE;
}

/* Number of the buffer: 0, 1 for the blocking calls; the request's own for the others, SKEL_SLOT of skel.h. */
static void put_buffer_slot(struct leaf_ctx *c, bool receive, struct code *out)
{
	if (!lower_has_param(c, "req") || trace_fn[c->leaf->fn].cls == TC_LOCAL) {
		code_int(out, receive);
		return;
	}
	code_int(out, 2);
	code_int(out, 2);
	lower_slot(c, "req", out);
	code_op(out, OPS_MUL, 0);
	code_op(out, OPS_ADD, 0);
	if (receive) {
		code_int(out, 1);
		code_op(out, OPS_ADD, 0);
	}
}

static bool value_others(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k,
			 const void *arg, int64_t *out)
{
	int64_t id = call_named(r->d, k->sym, "comm", TRACE_NULL);
	const struct trace_comm *m;

	(void)c;
	(void)arg;
	if (id < 0 || id >= r->d->n_comm)
		return false;
	m = &r->d->comm[id];
	*out = m->kind == TCOMM_INTER ? m->remote.n : m->members.n;
	return true;
}

static bool is_neighbourhood(const struct leaf_ctx *c)
{
	return strstr(trace_fn[c->leaf->fn].name, "eighbor") != NULL;
}

/* How many blocks of c or C the buffer has. */
static void put_blocks(struct leaf_ctx *c, struct code *out)
{
	int64_t id;

	if (is_neighbourhood(c)) {
		lower_comm(c, "comm", out);
		code_call(out, "skel_neighbours");
	} else if (value_is_constant(c, value_named, "comm", 0, &id) && id == 0) {
		code_op(out, OPS_SIZE, 0);
	} else {
		lower_value(c, value_others, NULL, VALUE_INT, out);
	}
}

/* What MPI does not look at on this rank is recorded as a count of 0: the buffer is as small. */
static bool value_recorded_count(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k,
				 const void *arg, int64_t *out)
{
	const struct count_arg *a = arg;
	int64_t t;

	(void)c;
	*out = value_type(c, r, k, a->type, &t) ? count_of(c, r, k, a) : 0;
	return true;
}

/* Root and communicator such that "rank == root" says who looks at the count. */
static bool only_root_counts(const struct leaf_ctx *c, const struct count_arg *a, int64_t *root)
{
	int64_t comm;

	if (!lower_has_param(c, "root") || !value_is_constant(c, value_named, "comm", 1, &comm) || comm != 0 ||
	    !value_is_constant(c, value_named, "root", -1, root) || *root < 0)
		return false;
	for (uint32_t i = 0; i < c->n_rank; i++)
		for (uint32_t k = 0; k < c->rank[i].n_case; k++) {
			int64_t t;
			bool looks = value_type(c, &c->rank[i], &c->rank[i].kase[k], a->type, &t);

			if (looks != (c->rank[i].rank == *root))
				return false;
		}
	return c->n_rank > 1;
}

/* Data of a send, in bytes; 0 for other calls. */
static int64_t bytes_sent(const struct trace_defs *d, uint32_t sym)
{
	uint8_t cls = trace_fn[d->sigs.sig[sym].fn].cls;
	int64_t count = call_named(d, sym, "count", 0), type = call_named(d, sym, "type", TRACE_NULL), bytes;

	if ((cls != TC_SEND && cls != TC_ISEND && cls != TC_SENDRECV) || count <= 0 || type < 0 || type >= d->n_type ||
	    __builtin_mul_overflow(count, d->type[type].size, &bytes) ||
	    __builtin_mul_overflow(bytes, call_named(d, sym, "partitions", 1), &bytes))
		return 0;
	return bytes;
}

/* At least 1. */
static int64_t longest_sent(struct emit *e)
{
	int64_t longest = 1;

	for (uint32_t r = 0; e->sent_bytes == 0 && r < e->tree->n_ranks; r++) {
		const struct trace_defs *d = skel_defs(e->tree, r);

		for (uint32_t i = 0; i < d->sigs.n; i++)
			longest = bytes_sent(d, i) > longest ? bytes_sent(d, i) : longest;
	}
	if (e->sent_bytes == 0)
		e->sent_bytes = longest;
	return e->sent_bytes;
}

/*
 * Some programs receive with a count far above that of any message. Memory for such a count would be many times what
 * the program uses. To make the memory would take longer than the program runs.
 * Returns the most elements that a message can bring, or -1 if the receive has little room beyond them.
 */
static int64_t elements_used(struct leaf_ctx *c, const struct count_arg *a)
{
	int64_t used = 0, spare = 0;

	for (uint32_t i = 0; is_room(c, a) && i < c->n_rank; i++)
		for (uint32_t k = 0; k < c->rank[i].n_case; k++) {
			const struct leaf_rank *r = &c->rank[i];
			int64_t type = call_named(r->d, r->kase[k].sym, a->type, TRACE_NULL);
			int64_t size = type >= 0 && type < r->d->n_type ? r->d->type[type].size : 0;
			int64_t count = count_of(c, r, &r->kase[k], a), n;

			if (size <= 0 || count <= SPARSE / size)
				continue;
			n = (longest_sent(c->e) + size - 1) / size;
			used = n > used ? n : used;
			spare = count / 2 > n && count - n > spare ? count - n : spare;
		}
	return spare > 0 ? used : -1;
}

static void put_buffer(struct leaf_ctx *c, bool receive, const struct count_arg *a, bool blocks, struct code *out)
{
	int64_t type, root, used = elements_used(c, a);
	bool rooted = only_root_counts(c, a, &root);

	if (value_is_constant(c, value_type, a->type, TRACE_NULL, &type) && type == TRACE_NULL) {
		code_named(out, "NULL");
		return;
	}
	put_buffer_slot(c, receive, out);
	if (rooted) {
		code_op(out, OPS_RANK, 0);
		code_int(out, root);
		code_op(out, OPS_EQ, 0);
	}
	lower_value(c, rooted ? value_count : value_recorded_count, a, VALUE_INT, out);
	if (blocks) {
		put_blocks(c, out);
		code_op(out, OPS_MUL, 0);
	}
	if (rooted) {
		code_int(out, 0);
		code_op(out, OPS_CHOOSE, 0);
	}
	lower_datatype(c, a->type, out);
	if (used >= 0)
		code_int(out, used);
	code_call(out, used >= 0 ? "skel_buf_part" : "skel_buf");
}

/* ---- arrays ---- */

/* MPI looks at no array of length 0. */
static bool array_looked_at(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k,
			    const void *name, const int64_t **v, uint32_t *n)
{
	return array_named(c, r, k, name, v, n) && *n > 0;
}

/* Datatypes per peer by global number. */
static bool array_types(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k,
			const void *arg, const int64_t **v, uint32_t *n)
{
	const int64_t *w;
	int64_t *made;

	if (!array_looked_at(c, r, k, arg, &w, n) || (made = leaf_ctx_values(c, *n)) == NULL)
		return false;
	for (uint32_t i = 0; i < *n; i++) {
		bool known = w[i] >= 0 && w[i] < r->d->n_type;

		made[i] = known ? (int64_t)c->e->tree->globals->type[r->rank][w[i]] : TRACE_NULL;
		if (known)
			lower_use_type(c->e, made[i]);
	}
	c->e->types_indexed = true;
	*v = made;
	return true;
}

/* One element that no call reads. */
static bool array_unread(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k, const void *arg,
			 const int64_t **v, uint32_t *n)
{
	(void)c;
	(void)r;
	(void)k;
	*v = arg;
	*n = 1;
	return true;
}

/* Where an array parameter is; an array of the file is put there once. MPI libraries refuse NULL even where no process
 * has a neighbour. */
static const struct array_value *array_of_call(struct leaf_ctx *c, const char *name)
{
	static const int64_t no_count = 0, no_type = TRACE_NULL;
	bool types = strstr(name, "types") != NULL;
	int i = 0;

	while (i < LEAF_ARRAYS - 1 && c->array[i].name != NULL && strcmp(c->array[i].name, name) != 0)
		i++;
	if (c->array[i].name == NULL) {
		c->array[i].name = name;
		c->array[i].value = lower_array(c, types ? array_types : array_looked_at, name);
		if (c->array[i].value.where == ARRAY_NULL && is_neighbourhood(c))
			c->array[i].value = lower_array(c, array_unread, types ? &no_type : &no_count);
	}
	return &c->array[i].value;
}

/* "function(array, length)", for displacements and datatypes; NULL without an array. */
static void put_made_of(struct leaf_ctx *c, const char *function, const char *name, struct code *out)
{
	const struct array_value *a = array_of_call(c, name);

	array_put(a, out);
	if (a->where == ARRAY_NULL)
		return;
	array_put_length(a, out);
	code_call(out, function);
}

static void put_displs_bytes(struct leaf_ctx *c, bool wide, const char *name, const char *types, struct code *out)
{
	const struct array_value *a = array_of_call(c, name);

	array_put(a, out);
	if (a->where == ARRAY_NULL)
		return;
	put_made_of(c, "skel_types", types, out);
	array_put_length(a, out);
	code_call(out, wide ? "skel_displs_aint" : "skel_displs_bytes");
}

static void put_buffer_v(struct leaf_ctx *c, bool receive, const char *name, const char *type, struct code *out)
{
	const struct array_value *a = array_of_call(c, name);

	if (a->where == ARRAY_NULL) {
		code_named(out, "NULL");
		return;
	}
	put_buffer_slot(c, receive, out);
	array_put(a, out);
	array_put_length(a, out);
	lower_datatype(c, type, out);
	code_call(out, "skel_buf_v");
}

static void put_buffer_w(struct leaf_ctx *c, bool receive, const char *name, const char *types, struct code *out)
{
	const struct array_value *a = array_of_call(c, name);

	if (a->where == ARRAY_NULL) {
		code_named(out, "NULL");
		return;
	}
	put_buffer_slot(c, receive, out);
	array_put(a, out);
	put_made_of(c, "skel_types", types, out);
	array_put_length(a, out);
	code_call(out, "skel_buf_w");
}

/* ---- parameters ---- */

/* A buffer, unless the program gave MPI_IN_PLACE for it. */
static void put_buffer_part(struct leaf_ctx *c, char part, struct code *out)
{
	bool receive = strchr("DRNFIUO", part) != NULL;
	enum in_place in_place = put_inplace(c, receive, out);

	if (in_place == IN_PLACE_EVERYWHERE)
		return;
	switch (part) {
	case 'S':
	case 'D':
		put_buffer(c, receive, &sent, false, out);
		break;
	case 'A':
	case 'O':
		put_buffer(c, receive, &sent, true, out);
		break;
	case 'R':
		put_buffer(c, receive, &received, false, out);
		break;
	case 'N':
		put_buffer(c, receive, &received, true, out);
		break;
	case 'E':
	case 'U':
		put_buffer_v(c, receive, "counts", "type", out);
		break;
	case 'F':
		put_buffer_v(c, receive, "rcounts", "rtype", out);
		break;
	case 'H':
		put_buffer_w(c, receive, "counts", "types", out);
		break;
	default:
		put_buffer_w(c, receive, "rcounts", "rtypes", out);
		break;
	}
	if (in_place == IN_PLACE_SOMEWHERE)
		code_op(out, OPS_CHOOSE, 0);
}

/* Partitions times the count of each. */
static void put_buffer_of_partitions(struct leaf_ctx *c, struct code *out)
{
	put_buffer_slot(c, false, out);
	lower_named(c, "partitions", VALUE_INT, out);
	lower_value(c, value_count, &sent, VALUE_INT, out);
	code_op(out, OPS_MUL, 0);
	lower_datatype(c, "type", out);
	code_call(out, "skel_buf");
}

bool lower_buffer_part(struct leaf_ctx *c, char part, struct code *out)
{
	switch (part) {
	case 'c':
	case 'C':
		lower_value(c, value_count, part == 'c' ? &sent : &received, VALUE_INT, out);
		return true;
	case 'P':
		put_buffer_of_partitions(c, out);
		return true;
	case 'n':
		array_put_length(array_of_call(c, "partitions"), out);
		array_put(array_of_call(c, "partitions"), out);
		return true;
	case 'v':
	case 'x':
		array_put(array_of_call(c, "counts"), out);
		return true;
	case 'V':
	case 'X':
		array_put(array_of_call(c, "rcounts"), out);
		return true;
	case 'w':
	case 'W':
		put_made_of(c, "skel_displs", part == 'w' ? "counts" : "rcounts", out);
		return true;
	case '1':
	case 'y':
		put_displs_bytes(c, part == '1', "counts", "types", out);
		return true;
	case '2':
	case 'Y':
		put_displs_bytes(c, part == '2', "rcounts", "rtypes", out);
		return true;
	case 'z':
	case 'Z':
		put_made_of(c, "skel_types", part == 'z' ? "types" : "rtypes", out);
		return true;
	default:
		if (strchr("SDRANEFHIUO", part) == NULL)
			return false;
		put_buffer_part(c, part, out);
		return true;
	}
}
