/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The call that did not return: see salvage_call.h. The spill file is user data, so every number is checked. */
#include "trace/salvage/salvage_call.h"

#include <stdlib.h>
#include <string.h>

#include "trace/format/in_call.h"
#include "trace/format/python.h"
#include "trace/functions.h"

/* ---- parameters ---- */

static int64_t rank_of(const struct spill_header *h, int32_t r)
{
	return r >= 0 ? r : r == h->any_source ? TRACE_ANY_SOURCE : r == h->proc_null ? TRACE_PROC_NULL : TRACE_ROOT;
}

/* Index of a handle in the file's list, or TRACE_NULL. */
static int64_t handle_index(const uint64_t *handle, uint32_t n, uint64_t object)
{
	if (!object)
		return TRACE_NULL;
	for (uint32_t i = 0; i < n && i < SPILL_OBJECTS_MAX; i++) /* a freed one has no handle there */
		if (handle[i] == object)
			return i;
	return TRACE_NULL;
}

/* Bytes of a blocking send; 0: not known. */
static uint64_t bytes_sent(const struct spill_live *live, uint32_t count)
{
	for (uint32_t i = 0; i < SPILL_TYPES_MAX && live->type[i].handle; i++)
		if (live->type[i].handle == live->enter_type && live->type[i].size <= UINT32_MAX)
			return count * live->type[i].size;
	return 0;
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

/* Index of the module of this address in the definitions; a new module is added. */
static uint32_t add_module(const struct spill_module *m, const struct trace_defs *defs, struct journal_reader *j)
{
	struct trace_module module = {.path = (char *)m->path, .build_id = ""};
	struct trace_defs one = {.module = &module, .n_module = 1};

	for (uint32_t k = 0; k < defs->n_module; k++)
		if (!strcmp(defs->module[k].path, m->path))
			return k;
	append_defs(j, TDEF_MODULE, &one);
	return j->n[TDEF_MODULE] - 1;
}

/* Add a call site of these n return addresses, up to the first one outside of all modules. Returns UINT32_MAX if the
 * first address is outside. */
static uint32_t add_site(const struct salvage_rank *s, const struct trace_defs *defs, struct journal_reader *j,
			 const uint64_t *address, uint32_t n)
{
	struct trace_site site = {.n_frame = 0};
	struct trace_defs one = {.site = &site, .n_site = 1};

	for (uint32_t i = 0; i < n; i++) {
		const struct spill_module *m = module_at(s, address[i]);

		if (!m)
			break;
		site.module[i] = add_module(m, defs, j);
		site.offset[i] = address[i] - m->base;
		site.hash = site.hash * 31 + site.offset[i] + 1;
		site.n_frame++;
	}
	if (!site.n_frame)
		return UINT32_MAX;
	append_defs(j, TDEF_SITE, &one);
	return j->n[TDEF_SITE] - 1;
}

/* Calls from all lines of Python return to one address: who called is not known from it. */
static bool has_python(const struct trace_defs *d, const struct trace_site *site)
{
	uint32_t last = site->n_frame ? site->module[site->n_frame - 1] : UINT32_MAX;

	return last < d->n_module && trace_python_name(d->module[last].build_id);
}

static uint32_t find_site(const struct salvage_rank *s, const struct trace_defs *defs, struct journal_reader *j)
{
	uint64_t address = s->live->enter_address;

	for (uint32_t i = defs->n_site; i-- > 0;)
		if (journal_address(j, i) == address && !has_python(defs, &defs->site[i]))
			return i;
	return add_site(s, defs, j, &address, 1);
}

/* ---- where the rank computed ---- */

uint32_t salvage_places_read(const struct salvage_rank *s, const struct trace_defs *defs, struct journal_reader *j,
			     uint64_t events, uint32_t *site)
{
	const struct spill_live *live = s->live;
	uint64_t end = live->n_place, address[TRACE_PLACES_MAX][2];
	uint32_t n = 0;

	for (uint64_t i = 0; i < TRACE_PLACES_MAX && i < end; i++) {
		const struct spill_place *p = &live->place[(end - 1 - i) % SPILL_PLACES_MAX];
		uint32_t k = 0;

		if (p->event != events)
			continue;
		while (k < n && (address[k][0] != p->pc + 1 || address[k][1] != p->caller))
			k++;
		address[n][0] = p->pc + 1;
		address[n][1] = p->caller;
		site[n] = k < n ? site[k] : add_site(s, defs, j, address[n], 1 + (p->caller != 0));
		n += site[n] != UINT32_MAX;
	}
	return n;
}

/* ---- the call ---- */

static void read_group(const struct salvage_rank *s, struct trace_group *out)
{
	const uint8_t *bit = s->window + s->header.group_at;

	if (!s->live->n_group || !(out->rank = malloc(s->header.world_size * sizeof(*out->rank))))
		return;
	for (uint32_t i = 0; i < s->header.world_size; i++)
		if (bit[i / 8] >> i % 8 & 1)
			out->rank[out->n++] = i;
}

bool salvage_call_read(const struct salvage_rank *s, const struct trace_defs *defs, struct journal_reader *j,
		       struct trace_in_call *out)
{
	const struct spill_live *live = s->live;
	const struct spill_header *h = &s->header;
	uint32_t fn = SPILL_CALL_FN(live->enter_call), low = (uint32_t)live->enter_peers;
	int32_t tag = SPILL_CALL_TAG(live->enter_call), high = (int32_t)(live->enter_peers >> 32);

	*out = (struct trace_in_call){.comm = TRACE_NULL,
				      .win = TRACE_NULL,
				      .file = TRACE_NULL,
				      .dst = TRACE_IN_CALL_NONE,
				      .src = TRACE_IN_CALL_NONE,
				      .tag = TRACE_IN_CALL_NONE,
				      .site = UINT32_MAX};
	if (!live->enter_call || fn >= TRACE_FN_N || h->functions != trace_fn_hash())
		return false;
	out->inside = true;
	out->fn = fn;
	if (trace_fn[fn].cls == TC_WAIT)
		out->requests = (int32_t)low > 0 ? low : 0;
	else if (trace_fn_has_param(fn, TK_DST) || trace_fn_has_param(fn, TK_ROOT))
		out->dst = rank_of(h, (int32_t)low);
	if (trace_fn_has_param(fn, TK_SRC))
		out->src = rank_of(h, high);
	if (trace_fn[fn].cls == TC_SEND)
		out->bytes = bytes_sent(live, (uint32_t)high);
	if (trace_fn_has_param(fn, TK_TAG))
		out->tag = tag == h->any_tag ? TRACE_ANY_TAG : tag;
	if (trace_fn_has_param(fn, TK_COMM))
		out->comm = handle_index(live->comm, defs->n_comm, live->enter_object);
	else if (trace_fn_has_param(fn, TK_WIN))
		out->win = handle_index(live->win, defs->n_win, live->enter_object);
	else if (trace_fn_has_param(fn, TK_FILE))
		out->file = handle_index(live->file, defs->n_file, live->enter_object);
	if (fn == FN_MPI_Win_lock)
		out->lock = high == TLOCK_EXCLUSIVE || high == TLOCK_SHARED ? (uint8_t)high : 0;
	if (fn == FN_MPI_Win_start)
		read_group(s, &out->group);
	out->site = find_site(s, defs, j);
	return true;
}

/* ---- its signature ---- */

#define VALUES_MAX 32 /* parameters of a function; MPI_Alltoallw has 10 */

/* Number of the function in the journal's list of names; a new name is appended. */
static uint32_t name_function(struct journal_reader *j, const char *name)
{
	struct rdbuf in = {.data = j->part[TDEF_FN].data, .len = j->part[TDEF_FN].len};
	size_t len = strlen(name);

	for (uint32_t i = 0; i < j->n[TDEF_FN]; i++) {
		uint64_t n = rdbuf_uv(&in);
		const void *p = rdbuf_bytes(&in, n);

		if (p && n == len && !memcmp(p, name, n))
			return i;
	}
	buf_put_str(&j->part[TDEF_FN], name);
	return j->n[TDEF_FN]++;
}

/* The value of a parameter as the program passed it, or the value that is no object. */
static int64_t value_of(const struct trace_in_call *c, uint8_t kind)
{
	switch (kind) {
	case TK_COMM: return c->comm;
	case TK_WIN: return c->win;
	case TK_FILE: return c->file;
	case TK_DST: case TK_ROOT: return c->dst;
	case TK_SRC: return c->src;
	case TK_TAG: return c->tag;
	case TK_TYPE: case TK_OP: case TK_REQ: case TK_ASRC: case TK_ATAG:
	case TK_NEWCOMM: case TK_NEWTYPE: case TK_NEWREQ: case TK_NEWWIN: case TK_NEWFILE:
		return TRACE_NULL;
	default: /* a number, or the length of an array */
		return 0;
	}
}

bool salvage_call_define(struct journal_reader *j, const struct trace_in_call *c)
{
	const struct trace_fn_info *fn = &trace_fn[c->fn];
	struct trace_sig sig = {.fn = (uint16_t)c->fn, .site = c->site, .n_interned = fn->n_param};
	int64_t value[VALUES_MAX];
	struct trace_defs one = {.sigs = {.sig = &sig, .n = 1, .pool = value}};

	if (c->site == UINT32_MAX || fn->n_param > VALUES_MAX)
		return false;
	for (uint32_t i = 0; i < fn->n_param; i++) {
		uint8_t kind = fn->param[i].kind;

		value[i] = value_of(c, kind);
		if (value[i] == TRACE_IN_CALL_NONE ||
		    ((kind == TK_COMM || kind == TK_WIN || kind == TK_FILE) && value[i] < 0))
			return false;
	}
	trace_defs_encode_one(&one, TDEF_SIG, 0, name_function(j, fn->name), &j->part[TDEF_SIG]);
	j->n[TDEF_SIG]++;
	return true;
}
