/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A rank's calls made from their values, one after the other: requests and communicators as they come and go. */
#include <stdlib.h>
#include <string.h>

#include "predictor/inputs/pattern.h"
#include "trace/functions.h"

#define REQUESTS_FIRST 16u

int pattern_play_begin(struct pattern_play *p, const struct pattern_set *set, uint32_t ranks)
{
	*p = (struct pattern_play){.set = set, .ranks = ranks, .comm_of = malloc((set->n + 1u) * sizeof(*p->comm_of))};
	for (uint32_t i = 0; p->comm_of && i < set->n; i++)
		p->comm_of[i] = TRACE_NULL;
	return p->comm_of ? 0 : -1;
}

void pattern_play_end(struct pattern_play *p)
{
	free(p->request);
	free(p->comm_of);
	free(p->made_by);
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
	if (slot >= p->n_request) {
		uint32_t n = p->n_request ? p->n_request : REQUESTS_FIRST;
		struct pattern_request *r;

		while (n <= slot)
			n *= 2;
		r = realloc(p->request, n * sizeof(*r));
		if (!r)
			return -1;
		memset(r + p->n_request, 0, (n - p->n_request) * sizeof(*r));
		p->request = r;
		p->n_request = n;
	}
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

static void put(struct making *m, int64_t v)
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
	put(m, comm);
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
		put(m, 0);
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

	put(m, 0);
	for (uint32_t i = 0; i < m->n_reqs; i++) {
		int64_t slot = m->out[m->reqs + i];

		if (slot >= 0 && slot < m->p->n_request && m->p->request[slot].used && m->p->request[slot].active)
			put(m, slot);
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
	put(m, n);
	for (uint32_t i = 0; i < n && !m->why; i++)
		put(m, pattern_play_count(k->rules, sum, n, i));
}

static void make_literal(struct making *m, const struct pattern_param *k, bool list)
{
	if (!k->same)
		refuse(m, list ? "has a list that is another from call to call" : "has a parameter that no value says");
	if (list)
		put(m, k->n);
	for (uint32_t i = 0; i < k->n && !m->why; i++) {
		int64_t v = k->at == PATTERN_NONE || i >= 3 ? CALL_MISSING : value_at(m, k->at + i);

		put(m, v == CALL_MISSING ? k->literal[i] : v);
	}
}

static void make_type(struct making *m, const struct pattern_param *k)
{
	int64_t type = k->literal[0];
	int64_t bytes = k->at == PATTERN_NONE ? CALL_MISSING : value_at(m, k->at);

	if (!k->same || (type >= 0 && bytes != CALL_MISSING && bytes != m->p->set->defs.type[type].size))
		refuse(m, "has a derived datatype that is another from run to run");
	put(m, type);
}

static void make_param(struct making *m, const struct pattern_param *k)
{
	int64_t v;

	switch (k->kind) {
	case TK_COMM:
		make_comm(m, k);
		break;
	case TK_NEWCOMM:
		put(m, m->p->make_comm ? m->p->make_comm(m->p->arg, (uint32_t)(m->pattern - m->p->set->pattern)) : TRACE_NULL);
		break;
	case TK_NEWREQ:
		put(m, free_slot(m->p));
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
		put(m, v);
		for (int64_t i = 0; i < v; i++)
			put(m, TRACE_NULL);
		break;
	case TK_ASRC:
	case TK_ATAG:
		put(m, TRACE_NULL);
		break;
	case TK_COUNTS:
		make_counts(m, k);
		break;
	case TK_TYPE:
	case TK_NEWTYPE:
		make_type(m, k);
		break;
	default:
		if (trace_kind_is_array(k->kind) || k->at == PATTERN_NONE) {
			make_literal(m, k, trace_kind_is_array(k->kind));
			break;
		}
		v = value_at(m, k->at);
		put(m, v == CALL_MISSING ? TRACE_UNDEFINED : v);
	}
}

uint32_t pattern_play_make(struct pattern_play *p, uint32_t pattern, const int64_t *value, int64_t out[PATTERN_VALUES], const char **why)
{
	struct making m = {.p = p, .pattern = &p->set->pattern[pattern], .value = value, .out = out, .n_comm = p->ranks,
			   .why = p->set->pattern[pattern].why};

	for (uint32_t i = 0; i < trace_fn[m.pattern->fn].n_param && !m.why; i++)
		make_param(&m, &m.pattern->param[i]);
	*why = m.why;
	return m.why ? 0 : m.n;
}
