/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that are valid on all ranks, for the matching of messages: communicators by content, channels, and
 * decoded signatures. */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/array.h"
#include "common/hash_table.h"
#include "trace/functions.h"
#include "trace/messages/messages_coll.h"

/* ---- communicators ---- */

struct known_comm {
	uint32_t rank, index;
};

static uint64_t group_hash(const struct trace_group *g)
{
	return XXH3_64bits(g->rank, g->n * sizeof(*g->rank)) ^ g->n;
}

/* The hash is the same from both sides of an intercommunicator. */
static uint64_t comm_hash(const struct trace_comm *c)
{
	return (group_hash(&c->members) + (c->kind == TCOMM_INTER ? group_hash(&c->remote) : 0)) * 31 + c->ordinal * 2u +
	       c->kind;
}

static bool group_same(const struct trace_group *a, const struct trace_group *b)
{
	return a->n == b->n && (!a->n || !memcmp(a->rank, b->rank, a->n * sizeof(*a->rank)));
}

static bool comm_same(const struct trace_comm *a, const struct trace_comm *b)
{
	if (a->kind != b->kind || a->ordinal != b->ordinal)
		return false;
	if (a->kind == TCOMM_INTRA)
		return group_same(&a->members, &b->members);
	return (group_same(&a->members, &b->members) && group_same(&a->remote, &b->remote)) ||
	       (group_same(&a->members, &b->remote) && group_same(&a->remote, &b->members));
}

static int name_comms(struct msg_names *n)
{
	struct hash_table table = {0};
	struct known_comm *known = NULL;
	uint32_t cap = 0, at, k;
	int rv = 0;

	for (uint32_t r = 0; r < n->n_ranks && rv == 0; r++) {
		const struct trace_defs *d = &trace_get_rank(n->t, r)->defs;

		n->comm[r] = malloc((d->n_comm + 1ull) * sizeof(*n->comm[r]));
		rv = n->comm[r] ? 0 : -1;
		for (uint32_t i = 0; i < d->n_comm && rv == 0; i++) {
			uint64_t h = comm_hash(&d->comm[i]);

			HASH_TABLE_FOR_EACH(&table, h, at, k)
				if (comm_same(&trace_get_rank(n->t, known[k].rank)->defs.comm[known[k].index], &d->comm[i]))
					break;
			if (k == HASH_TABLE_NONE) {
				k = n->n_comm;
				rv = ARRAY_ROOM(known, cap, k + 1) | hash_table_add(&table, h, k);
				if (rv == 0)
					known[n->n_comm++] = (struct known_comm){r, i};
			}
			n->comm[r][i] = k;
		}
	}
	hash_table_free(&table);
	free(known);
	return rv;
}

int msg_names_build(struct msg_names *n, const struct trace *t)
{
	*n = (struct msg_names){.t = t, .n_ranks = trace_n_ranks(t)};
	n->comm = calloc(n->n_ranks + 1ull, sizeof(*n->comm));
	return n->comm ? name_comms(n) : -1;
}

void msg_names_free(struct msg_names *n)
{
	for (uint32_t r = 0; n->comm && r < n->n_ranks; r++)
		free(n->comm[r]);
	free(n->comm);
	free(n->channel);
	hash_table_free(&n->known_channel);
	*n = (struct msg_names){0};
}

/* ---- channels ---- */

static uint32_t channel_hash(uint32_t comm, uint32_t src, uint32_t dst, int32_t tag)
{
	uint64_t h = ((uint64_t)src << 32 | dst) * 0x9e3779b97f4a7c15ull;

	h = (h ^ (h >> 29) ^ ((uint64_t)comm << 32 | (uint32_t)tag)) * 0xbf58476d1ce4e5b9ull;
	return (uint32_t)(h >> 32);
}

static uint32_t channel_find(struct msg_names *n, const struct msg_channel *key, bool *failed)
{
	uint32_t hash = channel_hash(key->comm, key->src, key->dst, key->tag), at, i;

	HASH_TABLE_FOR_EACH(&n->known_channel, hash, at, i) {
		const struct msg_channel *c = &n->channel[i];

		if (c->comm == key->comm && c->src == key->src && c->dst == key->dst && c->tag == key->tag)
			return i;
	}
	if (ARRAY_ROOM(n->channel, n->cap_channel, n->n_channel + 1) != 0 ||
	    hash_table_add(&n->known_channel, hash, n->n_channel) != 0) {
		*failed = true;
		return MSG_NONE;
	}
	n->channel[n->n_channel] = *key;
	return n->n_channel++;
}

/* World rank of a peer in a communicator; in an intercommunicator, of a peer in the remote group. MSG_NONE: no
 * such peer. */
static uint32_t world_rank(const struct trace_rank *k, uint32_t comm, int64_t peer)
{
	const struct trace_comm *c;
	const struct trace_group *g;

	if (comm >= k->defs.n_comm)
		return MSG_NONE;
	c = &k->defs.comm[comm];
	g = c->kind == TCOMM_INTER ? &c->remote : &c->members;
	return peer < (int64_t)g->n ? g->rank[peer] : MSG_NONE;
}

uint32_t msg_channel_of(struct msg_names *n, uint32_t rank, uint32_t comm, int64_t peer, int64_t tag, bool sends,
			bool *failed)
{
	uint32_t peer_rank = peer < 0 ? MSG_NONE : world_rank(trace_get_rank(n->t, rank), comm, peer);
	struct msg_channel key = {.s_head = MSG_NONE, .s_tail = MSG_NONE, .r_head = MSG_NONE, .r_tail = MSG_NONE};

	if (peer_rank >= n->n_ranks || tag < 0 || tag > INT32_MAX)
		return MSG_NONE;
	key.comm = n->comm[rank][comm];
	key.src = sends ? rank : peer_rank;
	key.dst = sends ? peer_rank : rank;
	key.tag = (int32_t)tag;
	return channel_find(n, &key, failed);
}

/* ---- signatures ---- */

/* The parameters of a call that matter for messages. count_at: places in sigtable_amounts(). reqs_at and the like:
 * places in sigtable_row(). */
struct fields {
	int64_t comm, dst, src, asrc, tag[2], atag, type[2], newreq, req;
	uint32_t count_at[2];
	int n_tag, n_count, n_type;
	bool has_src, has_dst, has_newreq, has_req;
	uint32_t reqs_at, done_at, asrcs_at, atags_at;
	uint32_t n_reqs, n_done, n_asrcs, n_atags;
};

static void read_fields(const struct trace_defs *d, uint32_t sym, struct fields *f)
{
	const int64_t *amounts = sigtable_amounts(&d->sigs, sym), *values = sigtable_row(&d->sigs, sym);
	struct sig_walk w;

	*f = (struct fields){.comm = TRACE_NULL, .asrc = TRACE_NULL, .atag = TRACE_NULL, .newreq = TRACE_NULL,
			     .req = TRACE_NULL, .reqs_at = MSG_NONE, .done_at = MSG_NONE, .asrcs_at = MSG_NONE,
			     .atags_at = MSG_NONE};
	sig_walk_begin(&w, d, sym);
	while (sig_walk_next(&w)) {
		switch (w.kind) {
		case TK_COMM: f->comm = *w.val; break;
		case TK_DST: f->dst = *w.val; f->has_dst = true; break;
		case TK_SRC: f->src = *w.val; f->has_src = true; break;
		case TK_ASRC: f->asrc = *w.val; break;
		case TK_ATAG: f->atag = *w.val; break;
		case TK_TAG:
			if (f->n_tag < 2)
				f->tag[f->n_tag++] = *w.val;
			break;
		case TK_COUNT:
			if (f->n_count < 2)
				f->count_at[f->n_count++] = (uint32_t)(w.val - amounts);
			break;
		case TK_TYPE:
			if (f->n_type < 2)
				f->type[f->n_type++] = *w.val;
			break;
		case TK_NEWREQ: f->newreq = *w.val; f->has_newreq = true; break;
		case TK_REQ: f->req = *w.val; f->has_req = true; break;
		case TK_REQS: f->reqs_at = (uint32_t)(w.val - values); f->n_reqs = w.n; break;
		case TK_DONE: f->done_at = (uint32_t)(w.val - values); f->n_done = w.n; break;
		case TK_ASRCS: f->asrcs_at = (uint32_t)(w.val - values); f->n_asrcs = w.n; break;
		case TK_ATAGS: f->atags_at = (uint32_t)(w.val - values); f->n_atags = w.n; break;
		default: break;
		}
	}
}

/* The n-th count and datatype. */
static struct msg_amount amount_of(const struct trace_defs *d, const struct fields *f, int nth)
{
	if (nth >= f->n_count || nth >= f->n_type || f->type[nth] < 0 || f->type[nth] >= (int64_t)d->n_type)
		return (struct msg_amount){.at = MSG_NONE};
	return (struct msg_amount){f->count_at[nth], (uint32_t)f->type[nth]};
}

static void decode_send(struct msg_names *n, uint32_t rank, const struct fields *f, struct msg_op *op, bool *failed)
{
	op->send = msg_channel_of(n, rank, op->comm, f->dst, f->tag[0], true, failed);
	op->sent = amount_of(&trace_get_rank(n->t, rank)->defs, f, 0);
}

/* known: the call itself records the source and tag of a wildcard. */
static void decode_receive(struct msg_names *n, uint32_t rank, const struct fields *f, int64_t tag, bool known,
			   struct msg_op *op, bool *failed)
{
	int64_t src = f->src;

	op->receives = true;
	op->src = src;
	op->tag = tag;
	op->wild = src != TRACE_PROC_NULL && (src == TRACE_ANY_SOURCE || tag == TRACE_ANY_TAG);
	if (op->wild && known) {
		src = src == TRACE_ANY_SOURCE ? f->asrc : src;
		tag = tag == TRACE_ANY_TAG ? f->atag : tag;
		op->wild = false;
		op->lost = src == TRACE_NULL || (tag < 0 && src != TRACE_PROC_NULL);
	}
	if (op->wild && src >= 0)
		op->from = world_rank(trace_get_rank(n->t, rank), op->comm, src);
	if (!op->wild && !op->lost)
		op->recv = msg_channel_of(n, rank, op->comm, src, tag, false, failed);
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && !strcmp(s + n - k, end);
}

/* Partitioned calls have a count per partition. */
static bool is_partitioned(const struct trace_fn_info *fn)
{
	return !strcmp(fn->name, "MPI_Precv_init");
}

static uint8_t action_of(const struct trace_fn_info *fn, const struct fields *f)
{
	switch (fn->cls) {
	case TC_SEND: return f->has_dst ? MSG_SEND : MSG_NOTHING;
	case TC_RECV: return f->has_src ? MSG_RECV : f->has_req ? MSG_MRECV : MSG_NOTHING;
	case TC_SENDRECV: return f->has_src && f->has_dst && !f->has_newreq ? MSG_SENDRECV : MSG_NOTHING;
	case TC_ISEND: return !f->has_dst ? MSG_OTHER : ends_with(fn->name, "_init") ? MSG_SEND_INIT : MSG_SEND;
	case TC_IRECV:
		if (!f->has_src)
			return f->has_req ? MSG_IMRECV : MSG_OTHER;
		return ends_with(fn->name, "_init") ? MSG_RECV_INIT : MSG_IRECV;
	case TC_START: return MSG_START;
	case TC_WAIT: return MSG_DONE;
	case TC_COLL: return MSG_COLL;
	case TC_PROBE: return f->has_newreq ? MSG_MPROBE : MSG_NOTHING;
	case TC_LOCAL:
		if (f->has_req && !strcmp(fn->name, "MPI_Request_free"))
			return MSG_FREE;
		if (f->has_req && !strcmp(fn->name, "MPI_Cancel"))
			return MSG_CANCEL;
		break;
	default: break;
	}
	return f->has_newreq ? MSG_OTHER : MSG_NOTHING;
}

static void decode_signature(struct msg_names *n, uint32_t rank, uint32_t sym, struct msg_op *op, bool *failed)
{
	const struct trace_defs *d = &trace_get_rank(n->t, rank)->defs;
	const struct trace_fn_info *fn = &trace_fn[d->sigs.sig[sym].fn];
	struct fields f;

	read_fields(d, sym, &f);
	*op = (struct msg_op){.action = action_of(fn, &f), .comm = f.comm >= 0 ? (uint32_t)f.comm : MSG_NONE,
			      .send = MSG_NONE, .recv = MSG_NONE, .from = MSG_NONE, .slot = f.newreq, .message = f.req,
			      .sent.at = MSG_NONE, .room.at = MSG_NONE, .slots_at = MSG_NONE, .sources_at = MSG_NONE,
			      .tags_at = MSG_NONE};
	if (!is_partitioned(fn))
		op->room = amount_of(d, &f, f.n_count > 1);
	switch (op->action) {
	case MSG_SEND:
	case MSG_SEND_INIT:
		decode_send(n, rank, &f, op, failed);
		if (f.has_src) /* MPI_Isendrecv */
			decode_receive(n, rank, &f, f.tag[f.n_tag > 1], false, op, failed);
		break;
	case MSG_SENDRECV:
		decode_send(n, rank, &f, op, failed);
		decode_receive(n, rank, &f, f.tag[f.n_tag > 1], true, op, failed);
		break;
	case MSG_RECV:
	case MSG_MPROBE:
		decode_receive(n, rank, &f, f.tag[0], true, op, failed);
		break;
	case MSG_IRECV:
	case MSG_RECV_INIT:
		decode_receive(n, rank, &f, f.tag[0], false, op, failed);
		break;
	case MSG_START:
		op->slots_at = f.reqs_at;
		op->n_slots = f.n_reqs;
		break;
	case MSG_DONE:
		op->slots_at = f.done_at;
		op->n_slots = f.n_done;
		op->sources_at = f.n_asrcs == f.n_done ? f.asrcs_at : MSG_NONE;
		op->tags_at = f.n_atags == f.n_done ? f.atags_at : MSG_NONE;
		break;
	case MSG_COLL:
		op->action = MSG_NOTHING;
		coll_decode(trace_get_rank(n->t, rank), rank, sym, op);
		break;
	default:
		break;
	}
}

/* Returns the index of the effect, which is added if it is new; MSG_NONE if memory runs out. */
static uint32_t op_find(struct msg_ops *ops, struct hash_table *known, const struct msg_op *op)
{
	uint64_t hash = XXH3_64bits(op, sizeof *op);
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(known, hash, at, i)
		if (memcmp(&ops->op[i], op, sizeof *op) == 0)
			return i;
	if (ARRAY_ROOM(ops->op, ops->cap, ops->n + 1) != 0 || hash_table_add(known, hash, ops->n) != 0)
		return MSG_NONE;
	ops->op[ops->n] = *op;
	return ops->n++;
}

int msg_ops_build(struct msg_ops *ops, struct msg_names *n, uint32_t rank)
{
	struct hash_table known = {0};
	bool failed = false;

	ops->d = &trace_get_rank(n->t, rank)->defs;
	ops->of = malloc((ops->d->sigs.n + 1ull) * sizeof *ops->of);
	for (uint32_t s = 0; ops->of && s < ops->d->sigs.n && !failed; s++) {
		struct msg_op op;

		decode_signature(n, rank, s, &op, &failed);
		ops->of[s] = op_find(ops, &known, &op);
		failed |= ops->of[s] == MSG_NONE;
	}
	hash_table_free(&known);
	return ops->of && !failed ? 0 : -1;
}

void msg_ops_free(struct msg_ops *ops)
{
	free(ops->of);
	free(ops->op);
	*ops = (struct msg_ops){0};
}

static uint64_t amount_bytes(const struct msg_ops *ops, uint32_t sym, struct msg_amount a, uint64_t unknown)
{
	int64_t count, size;

	if (a.at == MSG_NONE)
		return unknown;
	count = sigtable_amounts(&ops->d->sigs, sym)[a.at];
	size = ops->d->type[a.type].size;
	return count > 0 && size > 0 ? (uint64_t)count * (uint64_t)size : 0;
}

uint64_t msg_bytes(const struct msg_ops *ops, uint32_t sym)
{
	return amount_bytes(ops, sym, msg_op_of(ops, sym)->sent, 0);
}

uint64_t msg_room(const struct msg_ops *ops, uint32_t sym)
{
	return amount_bytes(ops, sym, msg_op_of(ops, sym)->room, UINT64_MAX);
}

struct msg_slots msg_slots_of(const struct msg_ops *ops, uint32_t sym)
{
	const struct msg_op *op = msg_op_of(ops, sym);

	const int64_t *v = sigtable_row(&ops->d->sigs, sym);

	return (struct msg_slots){op->slots_at == MSG_NONE ? NULL : v + op->slots_at,
				  op->sources_at == MSG_NONE ? NULL : v + op->sources_at,
				  op->tags_at == MSG_NONE ? NULL : v + op->tags_at, op->n_slots};
}
