/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A rank's calls made from their values, one after the other: requests and communicators as they come and go. */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "model/inputs/pattern.h"
#include "trace/functions.h"


int pattern_play_begin(struct pattern_play *p, struct pattern_set *set, uint32_t ranks)
{
	*p = (struct pattern_play){.set = set, .ranks = ranks, .comm_of = malloc((set->n + 1u) * sizeof(*p->comm_of))};
	for (uint32_t i = 0; p->comm_of && i < set->n; i++)
		p->comm_of[i] = TRACE_NULL;
	if (p->comm_of && pattern_objects_begin(&p->objects, set->n) == 0)
		return 0;
	pattern_play_end(p);
	return -1;
}

void pattern_play_end(struct pattern_play *p)
{
	free(p->request);
	free(p->comm_of);
	free(p->made_by);
	pattern_objects_end(&p->objects);
	*p = (struct pattern_play){0};
}

bool pattern_walk_next(struct pattern_walk *w)
{
	const struct trace_fn_info *fn = &trace_fn[w->pattern->fn];

	if (w->i >= fn->n_param)
		return false;
	w->kind = fn->param[w->i++].kind;
	w->n = 1;
	if (trace_kind_is_array(w->kind))
		w->n = (uint32_t)w->val[w->pos++];
	w->at = w->val + w->pos;
	w->pos += w->n;
	return true;
}

/* ---- requests ---- */

int64_t pattern_play_request_of(const struct pattern_play *p, uint32_t made_by, bool oldest)
{
	int64_t best = TRACE_NULL;

	for (uint32_t i = 0; i < p->n_request; i++) {
		const struct pattern_request *r = &p->request[i];

		if (r->used && r->made_by == made_by && (r->active || r->persistent) &&
		    (best < 0 || (r->age < p->request[best].age) == oldest))
			best = i;
	}
	return best;
}

uint32_t pattern_play_active(const struct pattern_play *p, bool by_age, int64_t *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n_request; i++) {
		uint32_t k = n;

		if (!p->request[i].used || !p->request[i].active)
			continue;
		for (; by_age && k && p->request[out[k - 1]].age > p->request[i].age; k--)
			out[k] = out[k - 1];
		out[k] = i;
		n++;
	}
	return n;
}

static int64_t free_slot(const struct pattern_play *p)
{
	uint32_t i = 0;

	while (i < p->n_request && p->request[i].used)
		i++;
	return i;
}

static int use_slot(struct pattern_play *p, int64_t slot, uint32_t pattern)
{
	const char *name = trace_fn[p->set->pattern[pattern].fn].name;
	bool persistent = strstr(name, "_init") != NULL;

	if (slot == TRACE_NULL)
		return 0;
	if (slot < 0 || slot >= PATTERN_REQUESTS)
		return -1;
	if (ARRAY_ROOM_ZEROED(p->request, p->n_request, (size_t)slot + 1) != 0)
		return -1;
	p->request[slot] = (struct pattern_request){true, !persistent, persistent, pattern, ++p->age};
	return 0;
}

static struct pattern_request *request_at(struct pattern_play *p, int64_t slot)
{
	return slot >= 0 && slot < p->n_request && p->request[slot].used ? &p->request[slot] : NULL;
}

static void complete(struct pattern_play *p, int64_t slot)
{
	struct pattern_request *r = request_at(p, slot);

	if (r && r->persistent)
		r->active = false;
	else if (r)
		r->used = false;
}

static int use_comm(struct pattern_play *p, int64_t comm, uint32_t pattern)
{
	uint32_t *m;

	p->comm_of[pattern] = comm;
	if (comm < 0)
		return 0;
	if (comm >= p->n_comm) {
		m = realloc(p->made_by, ((size_t)comm + 1) * sizeof(*m));
		if (!m)
			return -1;
		for (int64_t i = p->n_comm; i <= comm; i++)
			m[i] = PATTERN_NONE;
		p->made_by = m;
		p->n_comm = (uint32_t)comm + 1;
	}
	p->made_by[comm] = pattern;
	return 0;
}

static enum pattern_object object_kind(uint8_t kind)
{
	return kind == TK_WIN || kind == TK_NEWWIN ? POBJ_WIN : kind == TK_FILE || kind == TK_NEWFILE ? POBJ_FILE : POBJ_TYPE;
}

int pattern_play_made(struct pattern_play *p, uint32_t pattern, const int64_t *val)
{
	struct pattern_walk w = {.pattern = &p->set->pattern[pattern], .val = val};
	const char *name = trace_fn[w.pattern->fn].name;
	uint8_t cls = trace_fn[w.pattern->fn].cls;

	while (pattern_walk_next(&w)) {
		if (w.kind == TK_NEWREQ && use_slot(p, w.at[0], pattern) < 0)
			return -1;
		if (w.kind == TK_NEWCOMM && use_comm(p, w.at[0], pattern) < 0)
			return -1;
		if (w.kind == TK_NEWTYPE || w.kind == TK_NEWWIN || w.kind == TK_NEWFILE)
			pattern_objects_made(&p->objects, object_kind(w.kind), pattern, w.at[0]);
		if ((w.kind == TK_WIN && !strcmp(name, "MPI_Win_free")) || (w.kind == TK_FILE && !strcmp(name, "MPI_File_close")))
			pattern_objects_freed(&p->objects, object_kind(w.kind), w.at[0]);
		for (uint32_t i = 0; w.kind == TK_DONE && i < w.n; i++)
			complete(p, w.at[i]);
		for (uint32_t i = 0; cls == TC_START && i < w.n; i++)
			if (request_at(p, w.at[i]))
				request_at(p, w.at[i])->active = true;
		if (w.kind == TK_REQ && !strcmp(name, "MPI_Request_free") && request_at(p, w.at[0]))
			request_at(p, w.at[0])->used = false;
		if (w.kind == TK_COMM && p->free_comm && (!strcmp(name, "MPI_Comm_free") || !strcmp(name, "MPI_Comm_disconnect")))
			p->free_comm(p->arg, w.at[0]);
	}
	return 0;
}

/* ---- making a call ---- */

struct making {
	struct pattern_play *p;
	const struct pattern *pattern;
	const int64_t *value;
	int64_t *out;
	uint32_t n, n_comm; /* values so far; processes of the call's communicator */
	int64_t comm;	    /* which that is */
	uint32_t reqs, n_reqs; /* where its requests are */
	const char *why;
};

static int64_t value_at(const struct making *m, uint32_t at)
{
	return at < m->pattern->n_value ? m->value[at] : CALL_MISSING;
}

static void refuse(struct making *m, const char *why)
{
	if (!m->why)
		m->why = why;
}

static void put_argument(struct making *m, int64_t v)
{
	if (m->n == PATTERN_VALUES)
		refuse(m, "has too many values");
	else
		m->out[m->n++] = v;
}

static void make_comm(struct making *m, const struct pattern_param *k)
{
	int64_t comm = k->made_by ? m->p->comm_of[k->made_by[0]] : k->literal[0];
	int64_t size = value_at(m, k->at);

	if (k->made_by && comm < 0)
		refuse(m, "uses a communicator that was not made");
	else if (k->made_by && (k->at == PATTERN_NONE || size < 1 || size > m->p->ranks))
		refuse(m, "uses a communicator of which it is not known who is in it");
	else if (k->made_by && m->p->use_comm &&
		 m->p->use_comm(m->p->arg, comm, size, value_at(m, k->at + 1), value_at(m, k->at + 2)) < 0)
		refuse(m, "uses a communicator whose processes are not evenly apart, or are others in other calls");
	m->n_comm = k->made_by ? (uint32_t)size : comm == 0 ? m->p->ranks : 1;
	m->comm = comm;
	put_argument(m, comm);
}

/* By one rule; how many, PATTERN_NONE where they do not fit. */
static uint32_t requests_by(const struct making *m, const struct pattern_param *k, uint8_t rule, int64_t *out, uint32_t room)
{
	if (rule & (PREQ_BY_AGE | PREQ_BY_SLOT))
		return m->p->n_request <= room ? pattern_play_active(m->p, rule == PREQ_BY_AGE, out) : PATTERN_NONE;
	if (k->n > room)
		return PATTERN_NONE;
	for (uint32_t i = 0; i < k->n; i++)
		out[i] = rule == PREQ_LITERAL		    ? k->literal[i]
			 : k->made_by[i] == PATTERN_NONE ? TRACE_NULL
							    : pattern_play_request_of(m->p, k->made_by[i], rule == PREQ_OLDEST);
	return k->n;
}

/* All rules that held in the traces have to say the same; that the slots are always the same is one only without others. */
static void make_requests(struct making *m, const struct pattern_param *k, bool list)
{
	uint8_t rules = k->rules & ~PREQ_LITERAL ? k->rules & (uint8_t)~PREQ_LITERAL : k->rules;
	uint32_t at = m->n, n = PATTERN_NONE;

	if (list)
		put_argument(m, 0);
	m->reqs = m->n;
	for (uint8_t rule = PREQ_LITERAL; rule <= PREQ_OLDEST && !m->why; rule <<= 1) {
		bool first = n == PATTERN_NONE;
		int64_t *out = m->out + m->reqs + (first ? 0 : n);
		uint32_t more;

		if (!(rules & rule))
			continue;
		more = requests_by(m, k, rule, out, PATTERN_VALUES - m->reqs - (first ? 0 : n));
		if (more == PATTERN_NONE)
			refuse(m, "has too many requests");
		else if (first)
			n = more;
		else if (more != n || memcmp(out, m->out + m->reqs, n * sizeof(*out)))
			refuse(m, "uses requests that the traces do not tell: name more of them");
	}
	if (n == PATTERN_NONE || (!list && n != 1)) {
		refuse(m, "uses requests that follow no rule in the traces");
		n = 0;
	}
	m->n += n;
	m->n_reqs = n;
	if (list && at < PATTERN_VALUES)
		m->out[at] = n;
}

/* All that are active; a call that takes whichever come first may have one at most. */
static void make_done(struct making *m)
{
	const char *name = trace_fn[m->pattern->fn].name;
	bool chance = strstr(name, "any") || strstr(name, "some");
	uint32_t at = m->n;

	put_argument(m, 0);
	for (uint32_t i = 0; i < m->n_reqs; i++) {
		int64_t slot = m->out[m->reqs + i];

		if (slot >= 0 && slot < m->p->n_request && m->p->request[slot].used && m->p->request[slot].active)
			put_argument(m, slot);
	}
	if (m->why)
		return;
	m->out[at] = m->n - at - 1;
	if (chance && m->out[at] > 1)
		refuse(m, "takes whichever request is complete first");
}

int64_t pattern_play_count(uint8_t rule, int64_t sum, uint32_t n, uint32_t i)
{
	if (rule & PCOUNTS_SHARE)
		return sum / n + (i < sum % n);
	return (int64_t)((__int128)sum * (i + 1) / n - (__int128)sum * i / n);
}

static void make_counts(struct making *m, const struct pattern_param *k)
{
	int64_t sum = value_at(m, k->at);
	uint32_t n = k->full && (sum || !k->empty) ? m->n_comm : 0;

	if (k->at == PATTERN_NONE || (n && (sum == CALL_MISSING || sum < 0 || !k->rules)))
		refuse(m, "has counts for ranks that follow no rule in the traces");
	put_argument(m, n);
	for (uint32_t i = 0; i < n && !m->why; i++)
		put_argument(m, pattern_play_count(k->rules, sum, n, i));
}

static void make_literal(struct making *m, const struct pattern_param *k, bool list)
{
	if (!k->same)
		refuse(m, list ? "has a list that is another from call to call" : "has a parameter that no value says");
	if (list)
		put_argument(m, k->n);
	for (uint32_t i = 0; i < k->n && !m->why; i++) {
		int64_t v = k->at == PATTERN_NONE || i >= 3 ? CALL_MISSING : value_at(m, k->at + i);

		put_argument(m, v == CALL_MISSING ? k->literal[i] : v);
	}
}

static void make_use(struct making *m, const struct pattern_param *k)
{
	const char *why = NULL;

	put_argument(m, k->seen && k->literal[0] < 0 ? k->literal[0]
					     : pattern_makers_find(k->makers, &m->p->objects, object_kind(k->kind), &why));
	if (why)
		refuse(m, why);
}

static void make_type(struct making *m, const struct pattern_param *k)
{
	int64_t type = k->literal[0];
	int64_t bytes = k->at == PATTERN_NONE ? CALL_MISSING : value_at(m, k->at);
	bool derived = type >= 0 && !m->p->set->defs.type[type].name;

	if (derived && k->makers->n) {
		make_use(m, k);
		type = m->n ? m->out[m->n - 1] : TRACE_NULL;
		if (!m->why && (type < 0 || (bytes != CALL_MISSING && bytes != m->p->set->defs.type[type].size)))
			refuse(m, "has a derived datatype of another size than it was made with: the model is wrong there");
		return;
	}
	if (!k->same || (type >= 0 && bytes != CALL_MISSING && bytes != m->p->set->defs.type[type].size))
		refuse(m, "has a derived datatype that is another from run to run, and is not made in one place");
	put_argument(m, type);
}

/* Contents of the datatype that is made, where they are values; t has those of the first one. */
static void take_contents(struct making *m, const struct pattern_param *k, struct trace_type *t)
{
	uint32_t ints = call_type_ints(t), addrs = call_type_addrs(t), at = k->at;
	int64_t *measure[] = {&t->size, &t->lb, &t->extent};

	for (uint32_t i = 0; call_type_measured(t) && i < 3; i++)
		*measure[i] = value_at(m, at++);
	for (uint32_t i = 0; i < ints; i++)
		t->integer[i] = value_at(m, at++);
	for (uint32_t i = 0; i < addrs; i++)
		t->addr[i] = value_at(m, at++);
	for (uint32_t i = k->at; i < at; i++)
		if (value_at(m, i) == CALL_MISSING)
			refuse(m, "makes a datatype, and the model does not say of what: fit it anew");
	for (uint32_t i = 0; i < t->n_sub; i++) {
		const char *why = NULL;

		if (!m->p->set->defs.type[t->sub[i]].name)
			t->sub[i] = (uint32_t)pattern_makers_find(&k->makers[i], &m->p->objects, POBJ_TYPE, &why);
		if (why)
			refuse(m, why);
	}
}

static void make_new_type(struct making *m, const struct pattern_param *k)
{
	struct pattern_set *set = m->p->set;
	struct trace_type t;
	int64_t *numbers;
	uint32_t *sub, index;

	if (k->other)
		refuse(m, "makes a datatype of which more is another from call to call than its first numbers");
	if (m->why || k->literal[0] < 0 || set->defs.type[k->literal[0]].name) {
		put_argument(m, k->literal[0]);
		return;
	}
	t = set->defs.type[k->literal[0]];
	numbers = malloc(((size_t)t.n_int + t.n_addr + 1) * sizeof(*numbers));
	sub = malloc((t.n_sub + 1u) * sizeof(*sub));
	if (numbers && sub) {
		memcpy(numbers, t.integer, t.n_int * sizeof(*numbers));
		memcpy(numbers + t.n_int, t.addr, t.n_addr * sizeof(*numbers));
		memcpy(sub, t.sub, t.n_sub * sizeof(*sub));
		t.integer = numbers;
		t.addr = numbers + t.n_int;
		t.sub = sub;
		take_contents(m, k, &t);
		if (!m->why && pattern_type_measure(&t, set->defs.type, set->defs.n_type) < 0)
			refuse(m, "makes a datatype of parts that no datatype has: the model is wrong there");
		index = m->why ? UINT32_MAX : pattern_type_put(set, &t);
		put_argument(m, index);
		if (index == UINT32_MAX)
			refuse(m, "makes a datatype for which there is no memory");
	} else {
		refuse(m, "makes a datatype for which there is no memory");
	}
	free(numbers);
	free(sub);
}

static void make_window(struct making *m, const struct pattern_param *k)
{
	int64_t kind = value_at(m, k->at), size = value_at(m, k->at + 1), unit = value_at(m, k->at + 2);
	struct trace_win w = {.kind = (uint8_t)kind, .comm = (uint32_t)m->comm, .size = (uint64_t)size, .disp_unit = (uint32_t)unit};

	if (k->at == PATTERN_NONE || m->comm < 0 || kind < 0 || kind > TWIN_DYNAMIC || size < 0 || unit < 1 || unit > INT32_MAX)
		refuse(m, "makes a window, and the model does not say of what, or is wrong there: fit it anew");
	else
		put_argument(m, pattern_objects_window(&m->p->objects, &w));
}

static void make_file(struct making *m, const struct pattern_param *k)
{
	int64_t mode = value_at(m, k->at), number[CALL_FILE_NUMBERS];
	char name[4096];

	for (uint32_t i = 0; i < CALL_FILE_NUMBERS; i++)
		number[i] = value_at(m, k->at + 1 + i);
	if (k->file.other)
		refuse(m, "opens files of other names from call to call, by more than numbers in their last part");
	else if (k->at == PATTERN_NONE || m->comm < 0 || mode < 0 || mode > INT32_MAX ||
		 pattern_name_make(&k->file, number, CALL_FILE_NUMBERS, name, sizeof(name)) < 0)
		refuse(m, "opens a file, and the model does not say which, or is wrong there: fit it anew");
	else
		put_argument(m, pattern_objects_file(&m->p->objects, (uint32_t)m->comm, (int32_t)mode, name));
}

/* A parameter of any other kind: a list, a value of the model, or the same in all calls. */
static void make_other(struct making *m, const struct pattern_param *k)
{
	int64_t v;

	if (trace_kind_is_array(k->kind) || k->at == PATTERN_NONE) {
		make_literal(m, k, trace_kind_is_array(k->kind));
		return;
	}
	v = value_at(m, k->at);
	if (k->kind == TK_DISP && v == CALL_MISSING && k->literal[0] != TRACE_UNDEFINED)
		refuse(m, "has a displacement of which the model says nothing: fit it anew");
	put_argument(m, v == CALL_MISSING ? TRACE_UNDEFINED : v);
}

static void make_param(struct making *m, const struct pattern_param *k)
{
	int64_t v;

	switch (k->kind) {
	case TK_COMM:
		make_comm(m, k);
		break;
	case TK_NEWCOMM:
		put_argument(m, m->p->make_comm ? m->p->make_comm(m->p->arg, (uint32_t)(m->pattern - m->p->set->pattern)) : TRACE_NULL);
		break;
	case TK_NEWREQ:
		put_argument(m, free_slot(m->p));
		break;
	case TK_REQ:
	case TK_REQS:
		make_requests(m, k, k->kind == TK_REQS);
		break;
	case TK_DONE:
		make_done(m);
		break;
	case TK_ASRCS:
	case TK_ATAGS:
		v = m->out[m->reqs + m->n_reqs]; /* as many as there are done */
		put_argument(m, v);
		for (int64_t i = 0; i < v; i++)
			put_argument(m, TRACE_NULL);
		break;
	case TK_ASRC:
	case TK_ATAG:
		v = k->at == PATTERN_NONE ? CALL_MISSING : value_at(m, k->at);
		put_argument(m, v == CALL_MISSING ? TRACE_NULL : v);
		break;
	case TK_WIN:
	case TK_FILE:
		make_use(m, k);
		break;
	case TK_NEWWIN:
		make_window(m, k);
		break;
	case TK_NEWFILE:
		make_file(m, k);
		break;
	case TK_NEWTYPE:
		make_new_type(m, k);
		break;
	case TK_COUNTS:
		make_counts(m, k);
		break;
	case TK_TYPE:
		make_type(m, k);
		break;
	default:
		make_other(m, k);
	}
}

uint32_t pattern_play_make(struct pattern_play *p, uint32_t pattern, const int64_t *value, int64_t out[PATTERN_VALUES], const char **why)
{
	struct making m = {.p = p, .pattern = &p->set->pattern[pattern], .value = value, .out = out, .n_comm = p->ranks, .comm = TRACE_NULL,
			   .why = p->set->pattern[pattern].why};

	for (uint32_t i = 0; i < trace_fn[m.pattern->fn].n_param && !m.why; i++)
		make_param(&m, &m.pattern->param[i]);
	*why = m.why;
	return m.why ? 0 : m.n;
}
