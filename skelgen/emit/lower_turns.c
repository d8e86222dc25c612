/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See lower_turns.h. Counts without a short expression become a record of each rank in skel.c.data. */
#include "skelgen/emit/lower_turns.h"

#include <stdlib.h>
#include <string.h>

/* ---- when ---- */

/* Executions of the parent's body on a rank. Executions that are left out do not count. */
static uint64_t body_executions(const struct skel_node *parent, uint32_t rank, uint64_t all)
{
	uint32_t index = rank_set_index(&parent->ranks, rank);
	const struct skel_turns *t = parent->turns != NULL ? &parent->turns[index] : NULL;
	uint64_t sum = 0, begin = 0;

	if (t == NULL || t->n_run == 0)
		return all;
	for (uint32_t i = 0; i < t->n_run; i++) {
		sum += (t->run_end[i] - begin) * t->run_turns[i];
		begin = t->run_end[i];
	}
	return sum;
}

static uint64_t executions(const struct skel_node *n, uint32_t index)
{
	if (n->kind == SKEL_LEAF)
		return n->by_rank[index].n_occ;
	return n->turns != NULL && n->turns[index].n_run > 0 ? n->turns[index].run_end[n->turns[index].n_run - 1] : 0;
}

static uint64_t spans_length(const struct tree_spans *s, uint64_t all)
{
	uint64_t sum = s->always ? all : 0;

	for (uint32_t i = 0; i < s->n; i++)
		sum += s->at[i].end - s->at[i].begin;
	return sum;
}

int lower_when_open(const struct emit *e, const struct skel_node *n, struct lower_when *out)
{
	uint32_t i = 0;

	memset(out, 0, sizeof *out);
	if (!e->tree->optional || n->kind == SKEL_SEQ || (n->kind == SKEL_LOOP && lower_turns_vary(e, n)))
		return 0;
	out->n = rank_set_count(&n->ranks);
	out->rank = calloc(out->n + 1u, sizeof *out->rank);
	if (out->rank == NULL)
		return -1;
	for (uint32_t r = rank_set_first(&n->ranks); r != UINT32_MAX; r = rank_set_next(&n->ranks, r), i++) {
		uint64_t all = executions(n, i);

		if (tree_spans_of(n, i, &out->rank[i]) != 0) {
			lower_when_close(out);
			return -1;
		}
		if (!out->rank[i].always && spans_length(&out->rank[i], all) < body_executions(n->parent, r, all))
			out->conditional = true;
	}
	if (!out->conditional)
		lower_when_close(out);
	return 0;
}

void lower_when_close(struct lower_when *w)
{
	for (uint32_t i = 0; w->rank != NULL && i < w->n; i++)
		free(w->rank[i].at);
	free(w->rank);
	memset(w, 0, sizeof *w);
}

static bool same_spans(const struct tree_spans *a, const struct tree_spans *b)
{
	return a->always == b->always && a->n == b->n &&
	       (a->n == 0 || memcmp(a->at, b->at, a->n * sizeof *a->at) == 0);
}

bool lower_when_same(const struct lower_when *a, const struct lower_when *b)
{
	if (a->conditional != b->conditional || a->n != b->n)
		return false;
	for (uint32_t i = 0; a->conditional && i < a->n; i++)
		if (!same_spans(&a->rank[i], &b->rank[i]))
			return false;
	return true;
}

/* "n of every period": every span as long as the first, at the same distance, from the first period to the last. */
static bool put_every(const struct tree_spans *s, uint64_t all, struct code *out)
{
	uint64_t period, first, length;

	if (s->n < 3)
		return false;
	period = s->at[1].begin - s->at[0].begin;
	first = s->at[0].begin;
	length = s->at[0].end - first;
	if (first + length > period || (first + s->n * period < all))
		return false;
	for (uint32_t i = 0; i < s->n; i++) {
		uint64_t end = s->at[i].begin + length;

		if (s->at[i].begin != first + i * period || s->at[i].end != (end < all ? end : all))
			return false;
	}
	code_int(out, (int64_t)period);
	code_int(out, (int64_t)first);
	code_int(out, (int64_t)length);
	code_call(out, "skel_every");
	return true;
}

/* Append an expression that holds on one rank's spans; false when it would be long. */
static bool put_spans(const struct tree_spans *s, uint64_t all, struct code *out)
{
	if (s->always || s->n > 1)
		return !s->always && put_every(s, all, out);
	code_int(out, (int64_t)s->at[0].begin);
	code_int(out, (int64_t)s->at[0].end - 1);
	code_call(out, "skel_between");
	return true;
}

static void put_record(struct emit *e, uint32_t vary, uint32_t rank, const struct tree_spans *s)
{
	static const int64_t rows[2] = {0, 1};
	uint64_t *end = malloc((2 * (size_t)s->n + 2) * sizeof *end);
	uint32_t *row = malloc((2 * (size_t)s->n + 2) * sizeof *row), n = 0;

	for (uint32_t i = 0; end != NULL && row != NULL && i < s->n; i++) {
		if (s->at[i].begin > 0) {
			end[n] = s->at[i].begin;
			row[n++] = 0;
		}
		end[n] = s->at[i].end;
		row[n++] = 1;
	}
	if (end != NULL && row != NULL) {
		end[n] = UINT64_MAX;
		row[n++] = s->always;
		emit_data_vary(e->data, vary, rank, end, row, n, rows, 2, 1);
	} else {
		e->no_memory = true;
	}
	free(end);
	free(row);
}

void lower_when_put(struct emit *e, const struct skel_node *n, const struct lower_when *w, struct code *out)
{
	bool same = true;
	uint32_t vary, i = 0;

	for (i = 1; i < w->n; i++)
		same &= same_spans(&w->rank[i], &w->rank[0]) && executions(n, i) == executions(n, 0);
	if (same && put_spans(&w->rank[0], executions(n, 0), out))
		return;
	vary = emit_data_new_vary(e->data);
	i = 0;
	for (uint32_t r = rank_set_first(&n->ranks); r != UINT32_MAX; r = rank_set_next(&n->ranks, r), i++)
		put_record(e, vary, r, &w->rank[i]);
	code_int(out, vary);
	code_call(out, "skel_happens");
}

/* ---- turns ---- */

bool lower_turns_vary(const struct emit *e, const struct skel_node *loop)
{
	uint32_t index = 0;

	if (loop->turns == NULL)
		return false;
	for (uint32_t r = rank_set_first(&loop->ranks); r != UINT32_MAX; r = rank_set_next(&loop->ranks, r), index++) {
		const struct skel_turns *t = &loop->turns[index];
		uint64_t count = skel_loop_count(e->tree, loop, r, index);

		for (uint32_t i = 0; i < t->n_run; i++)
			if (t->run_turns[i] != 0 && t->run_turns[i] != count)
				return true;
	}
	return false;
}

/* first + step for each execution? */
static bool put_progress(const struct skel_turns *t, struct code *out)
{
	long long first, step;

	if (t->n_run < 3)
		return false;
	first = (long long)t->run_turns[0];
	step = (long long)t->run_turns[1] - first;
	for (uint32_t i = 0; i < t->n_run; i++)
		if (t->run_end[i] != i + 1u || (long long)t->run_turns[i] != first + step * i)
			return false;
	code_int(out, first);
	code_int(out, step);
	code_call(out, "skel_progress");
	return true;
}

static bool same_turns(const struct skel_turns *a, const struct skel_turns *b)
{
	return a->n_run == b->n_run && memcmp(a->run_end, b->run_end, a->n_run * sizeof *a->run_end) == 0 &&
	       memcmp(a->run_turns, b->run_turns, a->n_run * sizeof *a->run_turns) == 0;
}

static void put_turns_record(struct emit *e, uint32_t vary, uint32_t rank, const struct skel_turns *t, uint64_t count)
{
	uint32_t n = t->n_run > 0 ? t->n_run : 1, *row = malloc(n * sizeof *row);
	int64_t *value = malloc(n * sizeof *value);
	uint64_t always = UINT64_MAX;

	if (row == NULL || value == NULL) {
		e->no_memory = true;
		goto done;
	}
	for (uint32_t i = 0; i < n; i++) {
		row[i] = i;
		value[i] = (int64_t)(t->n_run > 0 ? t->run_turns[i] : count);
	}
	emit_data_vary(e->data, vary, rank, t->n_run > 0 ? t->run_end : &always, row, n, value, n, 1);
done:
	free(row);
	free(value);
}

void lower_turns_put(struct emit *e, const struct skel_node *loop, struct code *out)
{
	uint32_t n = rank_set_count(&loop->ranks), vary, i = 0;
	bool same = true;

	for (i = 1; i < n; i++)
		same &= same_turns(&loop->turns[i], &loop->turns[0]);
	if (same && put_progress(&loop->turns[0], out))
		return;
	vary = emit_data_new_vary(e->data);
	i = 0;
	for (uint32_t r = rank_set_first(&loop->ranks); r != UINT32_MAX; r = rank_set_next(&loop->ranks, r), i++)
		put_turns_record(e, vary, r, &loop->turns[i], skel_loop_count(e->tree, loop, r, i));
	code_int(out, vary);
	code_call(out, "skel_turns");
}
