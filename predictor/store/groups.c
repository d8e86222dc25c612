/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups of similar runs as rows: see groups.h. A row is the struct itself; a row of another size is of another
 * version. */
#include <string.h>
#define XXH_STATIC_LINKING_ONLY /* a state on the stack */
#include <xxhash.h>

#include "predictor/store/groups.h"
#include "predictor/store/internal.h"

#define ID_DIGITS 12
#define ID_MASK	  ((UINT64_C(1) << 4 * ID_DIGITS) - 1)

_Static_assert(LADDER_RUNGS == 7, "Q_GROUPS_GET has a place for each rung");
_Static_assert(COMMENT_GROUPS_MAX == LADDER_RUNGS * ID_DIGITS + 1, "a group id for each rung");
_Static_assert(sizeof(struct ladder_group) == 4 * sizeof(uint16_t) + (LADDER_RUNS + 2) * sizeof(float), "no padding");

/* ---- ids ---- */

/* Each text with its length in front, so that no two lists of texts are the same bytes. */
static void hash_text(XXH3_state_t *h, const char *text)
{
	uint64_t n = text ? strlen(text) : 0;

	XXH3_64bits_update(h, &n, sizeof(n));
	if (n)
		XXH3_64bits_update(h, text, n);
}

static uint64_t id_of(enum ladder_rung rung, const struct group_job *job, const uint32_t number[2], const char *a,
		      const char *b)
{
	uint32_t head[] = {rung, rung == LADDER_ACCOUNT ? 0 : job->uid, number[0], number[1]};
	XXH3_state_t h;
	uint64_t id;

	XXH3_64bits_reset(&h);
	XXH3_64bits_update(&h, head, sizeof(head));
	hash_text(&h, job->partition);
	hash_text(&h, a);
	hash_text(&h, b);
	id = XXH3_64bits_digest(&h) & ID_MASK;
	return id ? id : 1;
}

static uint64_t script_id_of(enum ladder_rung rung, const struct group_job *job, uint64_t hash)
{
	const uint32_t halves[2] = {(uint32_t)hash, (uint32_t)(hash >> 32)};

	return hash ? id_of(rung, job, halves, NULL, NULL) : 0;
}

static bool given(const char *text)
{
	return text && *text;
}

void group_ids_of(const struct group_job *job, struct group_ids *ids)
{
	static const uint32_t none[2];
	const uint32_t shape[2] = {job->nodes ? job->nodes : 1, job->limit_min};

	memset(ids, 0, sizeof(*ids));
	if (!given(job->partition))
		return;
	ids->id[LADDER_SCRIPT] = script_id_of(LADDER_SCRIPT, job, job->text);
	ids->id[LADDER_NUMBERS] = script_id_of(LADDER_NUMBERS, job, job->pattern);
	if (given(job->command))
		ids->id[LADDER_COMMAND] = id_of(LADDER_COMMAND, job, none, job->command, job->work_dir);
	if (given(job->name))
		ids->id[LADDER_NAME] = id_of(LADDER_NAME, job, none, job->name, job->work_dir);
	ids->id[LADDER_SHAPE] = id_of(LADDER_SHAPE, job, shape, NULL, NULL);
	ids->id[LADDER_USER] = id_of(LADDER_USER, job, none, NULL, NULL);
	if (given(job->account))
		ids->id[LADDER_ACCOUNT] = id_of(LADDER_ACCOUNT, job, none, job->account, NULL);
}

void group_ids_format(const struct group_ids *ids, char out[COMMENT_GROUPS_MAX])
{
	for (unsigned i = 0; i < COMMENT_GROUPS_MAX - 1; i++)
		out[i] = "0123456789abcdef"[ids->id[i / ID_DIGITS] >> 4 * (ID_DIGITS - 1 - i % ID_DIGITS) & 15];
	out[COMMENT_GROUPS_MAX - 1] = '\0';
}

int group_ids_parse(const char *text, struct group_ids *ids)
{
	memset(ids, 0, sizeof(*ids));
	if (strlen(text) != COMMENT_GROUPS_MAX - 1 || text[strspn(text, "0123456789abcdef")])
		return -1;
	for (unsigned i = 0; i < COMMENT_GROUPS_MAX - 1; i++) {
		uint64_t digit = (uint64_t)(text[i] <= '9' ? text[i] - '0' : text[i] - 'a' + 10);

		ids->id[i / ID_DIGITS] = ids->id[i / ID_DIGITS] << 4 | digit;
	}
	return 0;
}

/* ---- rows ---- */

/* A row that no run can have made counts as none. Returns whether it is one. */
static bool row_take(const void *row, size_t size, struct ladder_group *g)
{
	if (size != sizeof(*g))
		return false;
	memcpy(g, row, sizeof(*g));
	if (ladder_group_valid(g))
		return true;
	memset(g, 0, sizeof(*g));
	return false;
}

static int groups_of_memory(const struct store *s, const struct group_ids *ids, struct ladder_group out[LADDER_RUNGS])
{
	int found = 0;

	for (unsigned r = 0; r < LADDER_RUNGS; r++) {
		const struct ladder_group *g = ids->id[r] ? past_memory_group_of(s->past, ids->id[r]) : NULL;

		found += g && row_take(g, sizeof(*g), &out[r]);
	}
	return found;
}

/* One statement for all, so that the plugin begins one transaction. */
int store_groups_get(struct store *s, const struct group_ids *ids, struct ladder_group out[LADDER_RUNGS],
		     struct errbuf *err)
{
	sqlite3_stmt *st;
	int found = 0, rv;

	memset(out, 0, LADDER_RUNGS * sizeof(*out));
	if (s->past)
		return groups_of_memory(s, ids, out);
	st = store_stmt(s, Q_GROUPS_GET, err);
	if (!st)
		return -1;
	for (unsigned r = 0; r < LADDER_RUNGS; r++)
		sqlite3_bind_int64(st, (int)r + 1, (int64_t)ids->id[r]);
	while ((rv = store_step(s, st, "cannot read groups of runs", err)) == 1) {
		uint64_t id = (uint64_t)sqlite3_column_int64(st, 0);

		for (unsigned r = 0; r < LADDER_RUNGS; r++)
			if (id && ids->id[r] == id)
				found += row_take(sqlite3_column_blob(st, 1), (size_t)sqlite3_column_bytes(st, 1), &out[r]);
	}
	sqlite3_reset(st);
	return rv < 0 ? -1 : found;
}

static int group_put(struct store *s, uint64_t id, const struct ladder_group *g, const struct group_run *run,
		     struct errbuf *err)
{
	sqlite3_stmt *st;

	if (s->past)
		return past_memory_group(s->past, id, g) < 0 ? store_past_full(s, err) : 0;
	st = store_stmt(s, Q_GROUP_PUT, err);
	if (!st)
		return -1;
	sqlite3_bind_int64(st, 1, (int64_t)id);
	sqlite3_bind_blob(st, 2, g, sizeof(*g), SQLITE_STATIC);
	sqlite3_bind_int64(st, 3, run->end_time);
	sqlite3_bind_int64(st, 4, run->uid);
	return store_run_stmt(s, st, "cannot write a group of runs", err) < 0 ? -1 : 0;
}

int store_groups_add(struct store *s, const struct group_ids *ids, const struct group_run *run, struct errbuf *err)
{
	enum ladder_end end = ladder_end_of(run->end_state, run->elapsed_s);
	struct ladder_group g[LADDER_RUNGS];

	if (end == LADDER_NOTHING)
		return 0;
	if (store_begin(s, err) < 0)
		return -1;
	if (store_groups_get(s, ids, g, err) < 0)
		goto fail;
	for (unsigned r = 0; r < LADDER_RUNGS; r++) {
		if (!ids->id[r])
			continue;
		ladder_group_add(&g[r], run->elapsed_s, end);
		if (group_put(s, ids->id[r], &g[r], run, err) < 0)
			goto fail;
	}
	return store_commit(s, err);
fail:
	store_rollback(s);
	return -1;
}
