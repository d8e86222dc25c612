/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The call that did not return: see salvage_call.h. The spill file is user data, so every number is checked. */
#include "trace/salvage/salvage_call.h"

#include <string.h>

#include "trace/functions.h"

/* ---- parameters ---- */

static bool has_param(uint32_t fn, enum trace_kind kind)
{
	for (uint32_t i = 0; i < trace_fn[fn].n_param; i++)
		if (trace_fn[fn].param[i].kind == kind)
			return true;
	return false;
}

/* The last parameter of this kind, or TRACE_NULL. If a call sends and receives, the receive's parameters come
 * last. */
static int64_t last_value(const struct trace_defs *d, uint32_t symbol, uint8_t kind)
{
	int64_t value = TRACE_NULL;
	struct sig_walk w;

	sig_walk_begin(&w, d, symbol);
	while (sig_walk_next(&w))
		if (w.kind == kind)
			value = *w.val;
	return value;
}

bool salvage_call_is(const struct trace_defs *d, uint32_t symbol, const struct trace_in_call *c)
{
	uint8_t dst = has_param(c->fn, TK_DST) ? TK_DST : TK_ROOT;

	return d->sigs.sig[symbol].fn == c->fn && (!has_param(c->fn, dst) || last_value(d, symbol, dst) == c->dst) &&
	       (!has_param(c->fn, TK_SRC) || last_value(d, symbol, TK_SRC) == c->src) &&
	       (!has_param(c->fn, TK_TAG) || last_value(d, symbol, TK_TAG) == c->tag) &&
	       (c->comm < 0 || last_value(d, symbol, TK_COMM) == c->comm) &&
	       (c->win < 0 || last_value(d, symbol, TK_WIN) == c->win);
}

static int64_t rank_of(const struct spill_header *h, int32_t r)
{
	return r >= 0 ? r : r == h->any_source ? TRACE_ANY_SOURCE : r == h->proc_null ? TRACE_PROC_NULL : TRACE_ROOT;
}

/* Index of a handle in the file's list, or TRACE_NULL. */
static int64_t handle_index(const uint64_t *handle, uint32_t n, uint64_t object)
{
	if (!object)
		return TRACE_NULL;
	/* backwards, since a handle may have been reused */
	for (uint32_t i = n < SPILL_OBJECTS_MAX ? n : SPILL_OBJECTS_MAX; i-- > 0;)
		if (handle[i] == object)
			return i;
	return TRACE_NULL;
}

/* ---- the call site ---- */

static void append_defs(struct journal_reader *j, enum trace_def_kind kind, const struct trace_defs *d)
{
	trace_defs_encode_one(d, kind, 0, 0, &j->part[kind]);
	j->n[kind]++;
}

static const struct spill_module *module_at(const struct salvage_rank *s, uint64_t address)
{
	const struct spill_module *m = (const void *)(s->window + s->header.module_at);

	for (uint32_t i = 0; i < s->header.n_module; i++)
		if (address >= m[i].lo && address < m[i].hi && m[i].base <= m[i].lo &&
		    memchr(m[i].path, '\0', sizeof(m[i].path)))
			return &m[i];
	return NULL;
}

/* Add a call site of one frame, and its module if it is new. Returns UINT32_MAX if no module contains the address. */
static uint32_t add_one_frame_site(const struct salvage_rank *s, const struct trace_defs *defs, struct journal_reader *j, uint64_t address)
{
	const struct spill_module *m = module_at(s, address);
	struct trace_module module = {.build_id = ""};
	struct trace_site site = {.n_frame = 1};
	struct trace_defs one = {.module = &module, .site = &site, .n_module = 1, .n_site = 1};
	uint32_t k = 0;

	if (!m)
		return UINT32_MAX;
	while (k < defs->n_module && strcmp(defs->module[k].path, m->path) != 0)
		k++;
	if (k == defs->n_module) {
		module.path = (char *)m->path;
		append_defs(j, TDEF_MODULE, &one);
	}
	site.module[0] = k;
	site.offset[0] = address - m->base;
	site.hash = site.offset[0] + 1;
	append_defs(j, TDEF_SITE, &one);
	return defs->n_site;
}

static uint32_t find_site(const struct salvage_rank *s, const struct trace_defs *defs, struct journal_reader *j)
{
	uint64_t address = s->live->enter_address;

	for (uint32_t i = defs->n_site; i-- > 0;)
		if (journal_address(j, i) == address)
			return i;
	return add_one_frame_site(s, defs, j, address);
}

/* ---- the call ---- */

bool salvage_call_read(const struct salvage_rank *s, const struct trace_defs *defs, struct journal_reader *j,
		       struct trace_in_call *out)
{
	const struct spill_live *live = s->live;
	const struct spill_header *h = &s->header;
	uint32_t fn = SPILL_CALL_FN(live->enter_call), low = (uint32_t)live->enter_peers;
	int32_t tag = SPILL_CALL_TAG(live->enter_call), high = (int32_t)(live->enter_peers >> 32);

	*out = (struct trace_in_call){.comm = TRACE_NULL, .win = TRACE_NULL, .dst = TRACE_IN_CALL_NONE,
				      .src = TRACE_IN_CALL_NONE, .tag = TRACE_IN_CALL_NONE, .site = UINT32_MAX};
	if (!live->enter_call || fn >= TRACE_FN_N || h->functions != trace_fn_hash())
		return false;
	out->inside = true;
	out->fn = fn;
	if (trace_fn[fn].cls == TC_WAIT)
		out->requests = (int32_t)low > 0 ? low : 0;
	else if (has_param(fn, TK_DST) || has_param(fn, TK_ROOT))
		out->dst = rank_of(h, (int32_t)low);
	if (has_param(fn, TK_SRC))
		out->src = rank_of(h, high);
	if (has_param(fn, TK_TAG))
		out->tag = tag == h->any_tag ? TRACE_ANY_TAG : tag;
	if (has_param(fn, TK_COMM))
		out->comm = handle_index(live->comm, defs->n_comm, live->enter_object);
	else if (has_param(fn, TK_WIN))
		out->win = handle_index(live->win, defs->n_win, live->enter_object);
	out->site = find_site(s, defs, j);
	return true;
}
