/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See past_memory.h. Texts are kept once and named by numbers; a key, a family and a kin have lists of their runs. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/array.h"
#include "common/hash_table.h"
#include "predictor/store/past_memory.h"

#define NOTHING 0 /* number of the empty text */

struct row {
	int64_t submit_time;
	double elapsed_s, pred_s, lo_s, hi_s, pred_scale;
	uint32_t jobid, uid;
	uint32_t key, family, kin, vars, candidate; /* numbers of texts */
	uint32_t array_job, array_task;
	int pred_kind;
	enum run_evidence evidence;
	bool told;
};

struct list {
	uint32_t *row; /* owned; by submit_time, then by jobid */
	uint32_t n, room;
};

enum list_of { OF_KEY, OF_FAMILY, OF_KIN, LISTS };

struct text {
	char *text; /* owned */
	struct list runs[LISTS];
	bool drifted; /* it is the key of a drift */
};

struct user {
	uint32_t uid;
	struct list runs;
};

struct change {
	uint32_t key, candidate;
	struct drift drift;
};

struct group {
	uint64_t id;
	struct ladder_group of;
};

struct past_memory {
	struct row *row;
	struct text *text;
	struct user *user;
	struct change *change;
	struct group *group;
	uint32_t n_group, group_room;
	uint32_t n_row, row_room, n_text, text_room, n_user, user_room, n_change, change_room;
	struct hash_table rows, texts, users, changes, groups;
};

/* ---- texts and users ---- */

static uint64_t pair_hash(uint64_t a, uint64_t b)
{
	uint64_t pair[2] = {a, b};

	return XXH3_64bits(pair, sizeof(pair));
}

static uint32_t text_find(const struct past_memory *m, const char *text)
{
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(&m->texts, XXH3_64bits(text, strlen(text)), at, i)
		if (!strcmp(m->text[i].text, text))
			return i;
	return HASH_TABLE_NONE;
}

/* HASH_TABLE_NONE if memory runs out. */
static uint32_t text_keep(struct past_memory *m, const char *text)
{
	uint32_t i = text_find(m, text);

	if (i != HASH_TABLE_NONE)
		return i;
	if (ARRAY_ROOM_ZEROED(m->text, m->text_room, m->n_text + 1) < 0 || !(m->text[m->n_text].text = strdup(text)))
		return HASH_TABLE_NONE;
	i = m->n_text++;
	return hash_table_add(&m->texts, XXH3_64bits(text, strlen(text)), i) < 0 ? HASH_TABLE_NONE : i;
}

static struct user *user_find(const struct past_memory *m, uint32_t uid)
{
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(&m->users, pair_hash(uid, 0), at, i)
		if (m->user[i].uid == uid)
			return &m->user[i];
	return NULL;
}

static struct user *user_keep(struct past_memory *m, uint32_t uid)
{
	struct user *u = user_find(m, uid);

	if (u)
		return u;
	if (ARRAY_ROOM_ZEROED(m->user, m->user_room, m->n_user + 1) < 0 || hash_table_add(&m->users, pair_hash(uid, 0), m->n_user) < 0)
		return NULL;
	m->user[m->n_user].uid = uid;
	return &m->user[m->n_user++];
}

/* ---- lists ---- */

/* How many rows of the list lie before (submit_time, jobid). */
static uint32_t list_place(const struct past_memory *m, const struct list *l, int64_t submit_time, uint32_t jobid)
{
	uint32_t low = 0, high = l->n;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct row *r = &m->row[l->row[middle]];

		if (r->submit_time < submit_time || (r->submit_time == submit_time && r->jobid < jobid))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int list_add(const struct past_memory *m, struct list *l, uint32_t row)
{
	uint32_t at = list_place(m, l, m->row[row].submit_time, m->row[row].jobid);

	if (ARRAY_ROOM(l->row, l->room, l->n + 1) < 0)
		return -1;
	memmove(l->row + at + 1, l->row + at, (l->n - at) * sizeof(*l->row));
	l->row[at] = row;
	l->n++;
	return 0;
}

static void list_drop(const struct past_memory *m, struct list *l, uint32_t row)
{
	uint32_t at = list_place(m, l, m->row[row].submit_time, m->row[row].jobid);

	memmove(l->row + at, l->row + at + 1, (l->n - at - 1) * sizeof(*l->row));
	l->n--;
}

/* ---- life ---- */

struct past_memory *past_memory_create(void)
{
	struct past_memory *m = calloc(1, sizeof(*m));

	if (m && text_keep(m, "") != NOTHING) {
		past_memory_destroy(m);
		return NULL;
	}
	return m;
}

void past_memory_destroy(struct past_memory *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; i < m->n_text; i++) {
		free(m->text[i].text);
		for (int of = 0; of < LISTS; of++)
			free(m->text[i].runs[of].row);
	}
	for (uint32_t i = 0; i < m->n_user; i++)
		free(m->user[i].runs.row);
	free(m->row);
	free(m->text);
	free(m->user);
	free(m->change);
	free(m->group);
	hash_table_free(&m->rows);
	hash_table_free(&m->texts);
	hash_table_free(&m->users);
	hash_table_free(&m->changes);
	hash_table_free(&m->groups);
	free(m);
}

/* ---- writing ---- */

static uint32_t row_find(const struct past_memory *m, uint32_t jobid, int64_t submit_time)
{
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(&m->rows, pair_hash(jobid, (uint64_t)submit_time), at, i)
		if (m->row[i].jobid == jobid && m->row[i].submit_time == submit_time)
			return i;
	return HASH_TABLE_NONE;
}

static void row_unlist(struct past_memory *m, uint32_t i)
{
	const uint32_t texts[LISTS] = {m->row[i].key, m->row[i].family, m->row[i].kin};
	struct user *u = user_find(m, m->row[i].uid);

	for (int of = 0; of < LISTS; of++)
		if (texts[of] != NOTHING)
			list_drop(m, &m->text[texts[of]].runs[of], i);
	if (u)
		list_drop(m, &u->runs, i);
}

static int row_list(struct past_memory *m, uint32_t i)
{
	const uint32_t texts[LISTS] = {m->row[i].key, m->row[i].family, m->row[i].kin};
	struct user *u = user_keep(m, m->row[i].uid);

	for (int of = 0; of < LISTS; of++)
		if (texts[of] != NOTHING && list_add(m, &m->text[texts[of]].runs[of], i) < 0)
			return -1;
	return u ? list_add(m, &u->runs, i) : -1;
}

/* The row of the run: its old one without its lists, or a new one. HASH_TABLE_NONE if memory runs out. */
static uint32_t row_take(struct past_memory *m, const struct store_run *r)
{
	uint32_t i = row_find(m, r->jobid, r->submit_time);

	if (i != HASH_TABLE_NONE) {
		row_unlist(m, i);
		return i;
	}
	if (ARRAY_ROOM(m->row, m->row_room, m->n_row + 1) < 0 ||
	    hash_table_add(&m->rows, pair_hash(r->jobid, (uint64_t)r->submit_time), m->n_row) < 0)
		return HASH_TABLE_NONE;
	return m->n_row++;
}

int past_memory_run(struct past_memory *m, const struct store_run *r)
{
	struct row row = {
		.submit_time = r->submit_time,
		.elapsed_s = r->elapsed_s,
		.pred_s = r->pred_s,
		.lo_s = r->lo_s,
		.hi_s = r->hi_s,
		.pred_scale = r->pred_scale > 0 ? r->pred_scale : 1, /* as runs.c writes it */
		.jobid = r->jobid,
		.uid = r->uid,
		.key = text_keep(m, r->key),
		.family = text_keep(m, r->family),
		.kin = text_keep(m, r->kin),
		.vars = text_keep(m, r->vars),
		.candidate = text_keep(m, r->candidate),
		.array_job = r->array_job,
		.array_task = r->array_task,
		.pred_kind = r->pred_kind,
		.evidence = run_evidence_of(r->end_state, r->restarts),
		.told = r->hi_s > 0 && !strcmp(r->candidate, r->pred_candidate),
	};
	uint32_t i;

	if (row.key == HASH_TABLE_NONE || row.family == HASH_TABLE_NONE || row.kin == HASH_TABLE_NONE || row.vars == HASH_TABLE_NONE ||
	    row.candidate == HASH_TABLE_NONE)
		return -1;
	i = row_take(m, r);
	if (i == HASH_TABLE_NONE)
		return -1;
	m->row[i] = row;
	return row_list(m, i);
}

/* HASH_TABLE_NONE: there is none. */
static uint32_t change_find(const struct past_memory *m, uint32_t key, uint32_t candidate)
{
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(&m->changes, pair_hash(key, candidate), at, i)
		if (m->change[i].key == key && m->change[i].candidate == candidate)
			return i;
	return HASH_TABLE_NONE;
}

int past_memory_drift(struct past_memory *m, const char *key, const char *candidate, const struct drift *d)
{
	struct change c = {text_keep(m, key), text_keep(m, candidate), *d};
	uint32_t i;

	if (c.key == HASH_TABLE_NONE || c.candidate == HASH_TABLE_NONE)
		return -1;
	i = change_find(m, c.key, c.candidate);
	if (i == HASH_TABLE_NONE) {
		if (ARRAY_ROOM(m->change, m->change_room, m->n_change + 1) < 0 ||
		    hash_table_add(&m->changes, pair_hash(c.key, c.candidate), m->n_change) < 0)
			return -1;
		i = m->n_change++;
	}
	m->change[i] = c;
	m->text[c.key].drifted = true;
	return 0;
}

int past_memory_drift_of(const struct past_memory *m, const char *key, const char *candidate, struct drift *out)
{
	uint32_t k = text_find(m, key), c = k == HASH_TABLE_NONE || !m->text[k].drifted ? HASH_TABLE_NONE : text_find(m, candidate);
	uint32_t i = c == HASH_TABLE_NONE ? HASH_TABLE_NONE : change_find(m, k, c);

	if (i == HASH_TABLE_NONE)
		return 0;
	*out = m->change[i].drift;
	return 1;
}

/* ---- groups ---- */

/* HASH_TABLE_NONE: there is none. The id is a hash. */
static uint32_t group_find(const struct past_memory *m, uint64_t id)
{
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(&m->groups, id, at, i)
		if (m->group[i].id == id)
			return i;
	return HASH_TABLE_NONE;
}

int past_memory_group(struct past_memory *m, uint64_t id, const struct ladder_group *g)
{
	uint32_t i = group_find(m, id);

	if (i == HASH_TABLE_NONE) {
		if (ARRAY_ROOM(m->group, m->group_room, m->n_group + 1) < 0 || hash_table_add(&m->groups, id, m->n_group) < 0)
			return -1;
		i = m->n_group++;
	}
	m->group[i] = (struct group){id, *g};
	return 0;
}

const struct ladder_group *past_memory_group_of(const struct past_memory *m, uint64_t id)
{
	uint32_t i = group_find(m, id);

	return i == HASH_TABLE_NONE ? NULL : &m->group[i].of;
}

/* ---- reading ---- */

static bool is_within_change(const struct past_memory *m, const struct row *r, uint32_t key)
{
	uint32_t i = m->text[key].drifted ? change_find(m, key, r->candidate) : HASH_TABLE_NONE;

	return i != HASH_TABLE_NONE && r->submit_time >= m->change[i].drift.since && r->submit_time <= m->change[i].drift.acted;
}

/* memccpy is a call. gcc copies a short text of unknown length by "rep movs", which takes many times as long. */
static void text_copy(const struct text *t, char *out, size_t size)
{
	if (!memccpy(out, t->text, '\0', size))
		out[size - 1] = '\0';
}

static void row_read(const struct past_memory *m, const struct row *r, unsigned at, struct store_past *out)
{
	out->jobid = r->jobid;
	out->submit_time = r->submit_time;
	text_copy(&m->text[r->key], out->key, sizeof(out->key));
	text_copy(&m->text[r->vars], out->vars, sizeof(out->vars));
	out->evidence = r->evidence;
	out->actual_s = r->elapsed_s;
	out->told = r->told;
	out->pred_s = r->told && !r->array_job ? r->pred_s : 0;
	out->lo_s = r->lo_s;
	out->hi_s = r->hi_s;
	out->pred_kind = r->pred_kind;
	out->pred_scale = r->pred_scale;
	out->array_job = r->array_job;
	out->array_task = r->array_task;
	text_copy(&m->text[r->candidate], out->candidate, sizeof(out->candidate));
	out->row = at;
	out->drifted = r->told && (is_within_change(m, r, r->key) || is_within_change(m, r, r->kin));
}

static const struct list *list_of(const struct past_memory *m, const struct store_past_filter *f)
{
	enum list_of of = f->key ? OF_KEY : f->family ? OF_FAMILY : OF_KIN;
	const char *text = f->key ? f->key : f->family ? f->family : f->kin;
	const struct user *u;
	uint32_t i;

	if (text) {
		i = text_find(m, text);
		return i == HASH_TABLE_NONE ? NULL : &m->text[i].runs[of];
	}
	u = user_find(m, f->uid);
	return u ? &u->runs : NULL;
}

int past_memory_read(const struct past_memory *m, const struct store_past_filter *f, struct store_past *out, size_t max)
{
	const struct list *l = list_of(m, f);
	uint32_t candidate = f->candidate ? text_find(m, f->candidate) : HASH_TABLE_NONE;
	uint32_t kin = !f->key && f->family && f->kin ? text_find(m, f->kin) : HASH_TABLE_NONE;
	uint32_t except = !f->key && !f->family && !f->kin && f->except ? text_find(m, f->except) : HASH_TABLE_NONE;
	size_t rows = f->max_rows ? f->max_rows : STORE_PAST_WINDOW * max, n = 0;
	uint32_t at = !l ? 0 : f->before ? list_place(m, l, f->before, 0) : l->n;

	for (unsigned i = 0; i < rows && at > 0 && n < max; i++) {
		const struct row *r = &m->row[l->row[--at]];

		if ((f->candidate && r->candidate != candidate) || !(r->elapsed_s > 0) || r->submit_time < f->since ||
		    (!f->key && f->family && f->kin && r->kin != kin) || r->family == except || r->evidence == RUN_NO_EVIDENCE)
			continue;
		row_read(m, r, i, &out[n++]);
	}
	return (int)n;
}
