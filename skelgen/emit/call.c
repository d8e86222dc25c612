/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls, from the templates of template.c: what stands for each of their parameters. */
#include "skelgen/emit/call.h"

#include <string.h>

/* ---- values ---- */

static bool value_source(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k,
			 const void *arg, int64_t *out)
{
	(void)c;
	(void)r;
	*out = arg != NULL ? k->tag : k->source;
	return true;
}

/* Global number of the datatype in the parameter; nothing is asked of a null one. */
static bool value_type(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k,
		       const void *name, int64_t *out)
{
	int64_t t = call_named(r->d, k->sym, name, TRACE_NULL);

	if (t < 0 || t >= r->d->n_type)
		return false;
	*out = c->e->tree->globals->type[r->rank][t];
	return true;
}

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

static bool value_op(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k, const void *arg,
		     int64_t *out)
{
	(void)c;
	(void)arg;
	*out = call_named(r->d, k->sym, "op", TRACE_NULL);
	return *out >= 0 && *out < r->d->n_op;
}

/* ---- handles ---- */

void emit_comm(struct leaf_ctx *c, const char *name, struct code *out)
{
	int64_t id;

	if (value_is_constant(c, value_named, name, 0, &id) && (id == 0 || id == 1)) {
		code_named(out, id == 0 ? "MPI_COMM_WORLD" : "MPI_COMM_SELF");
		return;
	}
	emit_named(c, name, VALUE_INT, out);
	code_op(out, OPS_HANDLE, OPS_COMM);
}

static void use_type(struct emit *e, int64_t id)
{
	e->type_used[id] = true;
}

void emit_datatype(struct leaf_ctx *c, const char *name, struct code *out)
{
	int64_t id, v;

	if (value_is_constant(c, value_type, name, -1, &id)) {
		if (id < 0) {
			code_named(out, "MPI_BYTE");
			return;
		}
		const char *known = type_c_name(skel_global_type(c->e->tree, c->e->tree->globals, (uint32_t)id));

		use_type(c->e, id);
		if (known != NULL)
			code_named(out, known);
		else
			code_handle(out, OPS_TYPE, id);
		return;
	}
	c->e->types_indexed = true;
	for (uint32_t i = 0; i < c->n_rank; i++)
		for (uint32_t k = 0; k < c->rank[i].n_case; k++)
			if (value_type(c, &c->rank[i], &c->rank[i].kase[k], name, &v))
				use_type(c->e, v);
	emit_value(c, value_type, name, VALUE_INT, out);
	code_op(out, OPS_HANDLE, OPS_TYPE);
}

/* The operation of the first rank that names one: all ranks name the same. */
static void put_op(struct leaf_ctx *c, struct code *out)
{
	for (uint32_t i = 0; i < c->n_rank; i++) {
		int64_t o;

		if (!value_op(c, &c->rank[i], &c->rank[i].kase[0], NULL, &o))
			continue;
		const char *known = op_c_name(&c->rank[i].d->op[o]);

		if (known != NULL) {
			code_named(out, known);
		} else {
			code_int(out, c->rank[i].d->op[o].commutes != 0);
			code_call(out, "skel_op");
		}
		return;
	}
	code_named(out, "MPI_OP_NULL");
}

bool emit_has_param(const struct leaf_ctx *c, const char *name)
{
	const struct trace_fn_info *f = &trace_fn[c->leaf->fn];

	for (uint32_t i = 0; i < f->n_param; i++)
		if (strcmp(f->param[i].name, name) == 0)
			return true;
	return false;
}

/* Number of the call's request slot. */
static void put_slot(struct leaf_ctx *c, const char *name, struct code *out)
{
	for (uint32_t i = 0; i < c->n_rank; i++)
		for (uint32_t k = 0; k < c->rank[i].n_case; k++) {
			int64_t q = call_named(c->rank[i].d, c->rank[i].kase[k].sym, name, TRACE_NULL);

			c->e->max_slot = q > c->e->max_slot ? q : c->e->max_slot;
		}
	emit_named(c, name, VALUE_INT, out);
}

/* ---- buffers ---- */

static bool inplace_is_receive(const struct leaf_ctx *c)
{
	const char *name = trace_fn[c->leaf->fn].name;

	return strncmp(name, "MPI_Scatter", 11) == 0 || strncmp(name, "MPI_Iscatter", 12) == 0;
}

/* Whether the program gave MPI_IN_PLACE for this side: everywhere (it is appended), nowhere, or in some cases (the
 * condition and MPI_IN_PLACE are appended, the buffer and OPS_CHOOSE must follow). */
enum in_place { IN_PLACE_NOWHERE, IN_PLACE_SOMEWHERE, IN_PLACE_EVERYWHERE };

static enum in_place put_inplace(struct leaf_ctx *c, bool receive, struct code *out)
{
	int64_t given;
	bool constant;

	if (!emit_has_param(c, "inplace") || inplace_is_receive(c) != receive)
		return IN_PLACE_NOWHERE;
	constant = value_is_constant(c, value_named, "inplace", 0, &given);
	if (constant && !given)
		return IN_PLACE_NOWHERE;
	if (!constant && emit_where(c, value_named, "inplace", out) != 0)
		emit_named(c, "inplace", VALUE_INT, out);
	code_named(out, "MPI_IN_PLACE");
	return constant ? IN_PLACE_EVERYWHERE : IN_PLACE_SOMEWHERE;
}

/* Number of the buffer: 0, 1 for the blocking calls; the request's own for the others, SKEL_SLOT of skel.h. */
static void put_buffer_slot(struct leaf_ctx *c, bool receive, struct code *out)
{
	if (!emit_has_param(c, "req") || trace_fn[c->leaf->fn].cls == TC_LOCAL) {
		code_int(out, receive);
		return;
	}
	code_int(out, 2);
	code_int(out, 2);
	put_slot(c, "req", out);
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

/* How many blocks of $c or $C the buffer has. */
static void put_blocks(struct leaf_ctx *c, struct code *out)
{
	int64_t id;

	if (is_neighbourhood(c)) {
		emit_comm(c, "comm", out);
		code_call(out, "skel_neighbours");
	} else if (value_is_constant(c, value_named, "comm", 0, &id) && id == 0) {
		code_op(out, OPS_SIZE, 0);
	} else {
		emit_value(c, value_others, NULL, VALUE_INT, out);
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

	if (!emit_has_param(c, "root") || !value_is_constant(c, value_named, "comm", 1, &comm) || comm != 0 ||
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

static void put_buffer(struct leaf_ctx *c, bool receive, const struct count_arg *a, bool blocks, struct code *out)
{
	int64_t type, root;
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
	emit_value(c, rooted ? value_count : value_recorded_count, a, VALUE_INT, out);
	if (blocks) {
		put_blocks(c, out);
		code_op(out, OPS_MUL, 0);
	}
	if (rooted) {
		code_int(out, 0);
		code_op(out, OPS_CHOOSE, 0);
	}
	emit_datatype(c, a->type, out);
	code_call(out, "skel_buf");
}

/* ---- arrays ---- */

static bool array_named(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k,
			const void *name, const int64_t **v, uint32_t *n)
{
	struct sig_walk w;

	(void)c;
	*v = NULL;
	*n = 0;
	sig_walk_begin(&w, r->d, k->sym);
	while (sig_walk_next(&w))
		if (trace_kind_is_array(w.kind) && strcmp(w.name, name) == 0) {
			*v = w.val;
			*n = w.n;
		}
	return *n > 0;
}

/* Datatypes per peer by global number. */
static bool array_types(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k,
			const void *arg, const int64_t **v, uint32_t *n)
{
	const int64_t *w;
	int64_t *made;

	if (!array_named(c, r, k, arg, &w, n) || (made = leaf_ctx_values(c, *n)) == NULL)
		return false;
	for (uint32_t i = 0; i < *n; i++) {
		bool known = w[i] >= 0 && w[i] < r->d->n_type;

		made[i] = known ? (int64_t)c->e->tree->globals->type[r->rank][w[i]] : TRACE_NULL;
		if (known)
			use_type(c->e, made[i]);
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
		c->array[i].value = emit_array(c, types ? array_types : array_named, name);
		if (c->array[i].value.where == ARRAY_NULL && is_neighbourhood(c))
			c->array[i].value = emit_array(c, array_unread, types ? &no_type : &no_count);
	}
	return &c->array[i].value;
}

static void put_counts(struct leaf_ctx *c, const char *name, struct code *out)
{
	array_put(array_of_call(c, name), out);
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
	emit_datatype(c, type, out);
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

/* ---- templates ---- */

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

static void put_value_part(struct leaf_ctx *c, char part, struct code *out)
{
	bool receives = emit_has_param(c, "src");

	switch (part) {
	case 'm':
		emit_comm(c, "comm", out);
		break;
	case 'd':
		emit_named(c, "dst", VALUE_PEER, out);
		break;
	case 's':
		emit_value(c, value_source, NULL, VALUE_PEER, out);
		break;
	case 'g':
		if (receives && !emit_has_param(c, "dst"))
			emit_value(c, value_source, "tag", VALUE_TAG, out);
		else
			emit_named(c, "tag", VALUE_TAG, out);
		break;
	case 'G':
		emit_value(c, value_source, "tag", VALUE_TAG, out);
		break;
	case 'r':
		emit_named(c, "root", VALUE_ROOT, out);
		break;
	case 'o':
		put_op(c, out);
		break;
	case 'c':
		emit_value(c, value_count, &sent, VALUE_INT, out);
		break;
	default:
		emit_value(c, value_count, &received, VALUE_INT, out);
		break;
	}
}

static void put_partition_part(struct leaf_ctx *c, char part, struct code *out)
{
	const char *const name = part == 'p' ? "partitions" : part == 'i' ? "partition" : part == 'j' ? "low" :
				 part == 'k' ? "high" : "level";

	switch (part) {
	case 'n':
		array_put_length(array_of_call(c, "partitions"), out);
		array_put(array_of_call(c, "partitions"), out);
		break;
	case 'P':
		put_buffer_slot(c, false, out);
		emit_named(c, "partitions", VALUE_INT, out);
		emit_value(c, value_count, &sent, VALUE_INT, out);
		code_op(out, OPS_MUL, 0);
		emit_datatype(c, "type", out);
		code_call(out, "skel_buf");
		break;
	default:
		emit_named(c, name, VALUE_INT, out);
		break;
	}
}

static void put_part(struct leaf_ctx *c, char part, struct code *out)
{
	switch (part) {
	case 'q':
		put_slot(c, "req", out);
		code_op(out, OPS_PLACE, OPS_REQ);
		break;
	case '5':
		put_slot(c, "req", out);
		code_op(out, OPS_HANDLE, OPS_REQ);
		break;
	case 'M':
		put_slot(c, "message", out);
		code_op(out, OPS_PLACE, OPS_MESSAGE);
		break;
	case '_':
		code_named(out, "MPI_STATUS_IGNORE");
		break;
	case '-':
		code_named(out, "MPI_INFO_NULL");
		break;
	case 't':
		emit_datatype(c, "type", out);
		break;
	case 'T':
		emit_datatype(c, "rtype", out);
		break;
	case 'v':
	case 'x':
		put_counts(c, "counts", out);
		break;
	case 'V':
	case 'X':
		put_counts(c, "rcounts", out);
		break;
	case 'w':
		put_made_of(c, "skel_displs", "counts", out);
		break;
	case 'W':
		put_made_of(c, "skel_displs", "rcounts", out);
		break;
	case '1':
	case 'y':
		put_displs_bytes(c, part == '1', "counts", "types", out);
		break;
	case '2':
	case 'Y':
		put_displs_bytes(c, part == '2', "rcounts", "rtypes", out);
		break;
	case 'z':
		put_made_of(c, "skel_types", "types", out);
		break;
	case 'Z':
		put_made_of(c, "skel_types", "rtypes", out);
		break;
	default:
		if (strchr("pijknlP", part) != NULL)
			put_partition_part(c, part, out);
		else if (strchr("uabefhBKL34Q", part) != NULL)
			emit_win_part(c, part, out);
		else if (strchr("SDRANEFHIUO", part) != NULL)
			put_buffer_part(c, part, out);
		else
			put_value_part(c, part, out);
		break;
	}
}

/* ---- requests by list ---- */

static bool array_done(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k, const void *arg,
		       const int64_t **v, uint32_t *n)
{
	(void)c;
	(void)arg;
	*v = call_done_slots(r->d, k->sym, n);
	return true;
}

static bool value_only_slot(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k,
			    const void *arg, int64_t *out)
{
	const int64_t *v;
	uint32_t n;

	array_done(c, r, k, arg, &v, &n);
	*out = n > 0 ? v[0] : TRACE_NULL;
	return true;
}

/* Does the call name exactly one request wherever it is made? */
static bool one_slot(struct leaf_ctx *c)
{
	const int64_t *v;
	uint32_t n;

	for (uint32_t i = 0; i < c->n_rank; i++)
		for (uint32_t k = 0; k < c->rank[i].n_case; k++) {
			v = call_done_slots(c->rank[i].d, c->rank[i].kase[k].sym, &n);
			if (n != 1 || v[0] < 0)
				return false;
		}
	return true;
}

static bool in_a_row(const int64_t *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (v[i] < 0 || v[i] != v[0] + i)
			return false;
	return true;
}

/* Waits wait for what was completed, starts start what was given. */
static int put_request_list(struct leaf_ctx *c, struct code *out)
{
	bool start = trace_fn[c->leaf->fn].cls == TC_START;
	struct array_value a;
	const int64_t *v;
	uint32_t n;

	if (one_slot(c)) {
		emit_value(c, value_only_slot, NULL, VALUE_INT, out);
		code_op(out, OPS_PLACE, OPS_REQ);
		if (!start)
			code_named(out, "MPI_STATUS_IGNORE");
		code_call(out, start ? "MPI_Start" : "MPI_Wait");
		return 1;
	}
	if (array_is_constant(c, array_done, NULL, &v, &n)) {
		if (n == 0)
			return 0;
		if (in_a_row(v, n)) {
			code_int(out, n);
			code_int(out, v[0]);
			code_op(out, OPS_PLACE, OPS_REQ);
			if (!start)
				code_named(out, "MPI_STATUSES_IGNORE");
			code_call(out, start ? "MPI_Startall" : "MPI_Waitall");
			return 1;
		}
	}
	a = emit_array(c, array_done, NULL);
	array_put_length(&a, out);
	array_put(&a, out);
	code_call(out, start ? "skel_start_all" : "skel_wait");
	return 1;
}

/* Longest buffered send of the leaf, in bytes. */
static void note_bsend(struct leaf_ctx *c)
{
	for (uint32_t i = 0; i < c->n_rank; i++)
		for (uint32_t k = 0; k < c->rank[i].n_case; k++) {
			const struct trace_defs *d = c->rank[i].d;
			int64_t t = call_named(d, c->rank[i].kase[k].sym, "type", TRACE_NULL), bytes;

			if (t < 0 || t >= d->n_type)
				continue;
			bytes = call_named(d, c->rank[i].kase[k].sym, "count", 0) * d->type[t].size;
			c->e->bsend_bytes = bytes > c->e->bsend_bytes ? bytes : c->e->bsend_bytes;
		}
}

/* Does the call name a request or message that the recorder did not know? */
static bool has_unknown_slot(const struct leaf_ctx *c)
{
	const struct trace_fn_info *f = &trace_fn[c->leaf->fn];

	for (uint32_t p = 0; p < f->n_param; p++) {
		if (f->param[p].kind != TK_NEWREQ && f->param[p].kind != TK_REQ)
			continue;
		for (uint32_t i = 0; i < c->n_rank; i++)
			for (uint32_t k = 0; k < c->rank[i].n_case; k++)
				if (call_named(c->rank[i].d, c->rank[i].kase[k].sym, f->param[p].name, TRACE_NULL) < 0)
					return true;
	}
	return false;
}

/* Is it there from MPI-4 on? */
static bool is_mpi4(const char *name)
{
	static const char *const names[] = {"MPI_Isendrecv", "MPI_Psend_init", "MPI_Precv_init", "MPI_Pready",
					    "MPI_Parrived"};
	size_t n = strlen(name);

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return n > 5 && strcmp(name + n - 5, "_init") == 0 && strstr(name, "end_init") == NULL &&
	       strcmp(name, "MPI_Recv_init") != 0;
}

int emit_call(struct leaf_ctx *c, struct code *out, const char **why)
{
	const struct trace_fn_info *f = &trace_fn[c->leaf->fn];
	struct call_template t = emit_template(f->name);

	*why = NULL;
	if (has_unknown_slot(c)) {
		*why = "its request is not known";
		return f->cls == TC_LOCAL ? 0 : -1;
	}
	if (strstr(f->name, "bsend") != NULL || strstr(f->name, "Bsend") != NULL)
		note_bsend(c);
	if (f->cls == TC_WAIT || f->cls == TC_START)
		return put_request_list(c, out);
	if (f->cls == TC_COMM)
		return emit_comm_call(c, out, why);
	if (!emit_win_known(c)) {
		*why = "its window is not known";
		return -1;
	}
	if (f->cls == TC_WIN)
		return emit_win_call(c, out, why);
	if (f->cls == TC_RMA)
		emit_win_note(c);
	c->e->mpi4 = is_mpi4(f->name) ? f->name : c->e->mpi4;
	if (t.call != NULL) {
		for (const char *part = t.parts; *part != '\0'; part++)
			put_part(c, *part, out);
		code_call(out, t.call);
		return 1;
	}
	if (f->cls == TC_LOCAL || f->cls == TC_INIT || f->cls == TC_FINALIZE)
		return 0;
	*why = "this function is not reproduced";
	return -1;
}
