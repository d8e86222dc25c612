/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Do the records of skel.c.data inside skel.ops lie inside it? The runtime, which reads data that are linked into a
 * skeleton, takes that for granted. */
#include <stdlib.h>
#include <string.h>

#include "skelgen/replay/check.h"
#include "skelgen/runtime/data.h"

struct data_tables {
	const uint64_t *word;
	uint64_t n_word, ranks, n_gap, n_vary, n_array, n_mix;
};

static int tables_find(struct data_tables *t)
{
	uint64_t head;

	if (t->n_word < DATA_HEADER || t->word[0] != DATA_MAGIC || t->word[1] != DATA_VERSION ||
	    t->word[2] != t->ranks || t->word[6] > t->n_word)
		return -1;
	t->n_gap = t->word[3];
	t->n_vary = t->word[4];
	t->n_array = t->word[5];
	t->n_mix = t->word[8];
	if (t->n_gap > t->n_word || t->n_vary > t->n_word || t->n_array > t->n_word || t->n_mix > t->n_word)
		return -1;
	/* At most 2^27 words and 2^24 ranks: nothing here can overflow. */
	head = DATA_HEADER + t->ranks * (t->n_gap + t->n_vary) + t->n_array + DATA_MIX * t->n_mix;
	return head <= t->n_word ? 0 : -1;
}

/* Does a record of `head` words, then `more` times `each`, begin at off and end inside? */
static int lies_inside(const struct data_tables *t, uint64_t off, uint64_t head, uint64_t more, uint64_t each)
{
	uint64_t left;

	if (off > t->n_word || head > t->n_word - off)
		return 0;
	left = t->n_word - off - head;
	return each == 0 || more <= left / each;
}

static int gap_fits(const struct data_tables *t, uint64_t off)
{
	if (!lies_inside(t, off, DATA_GAP, 0, 0))
		return 0;
	return lies_inside(t, off, DATA_GAP, t->word[off + 1] >> 32, t->word[off + 1] & UINT32_MAX);
}

/* Runs end in ascending order, or a look-up would not; each names a variant that is there. */
static int vary_fits(const struct data_tables *t, uint64_t off, uint64_t *least_columns)
{
	const uint64_t *r;
	uint64_t n_run, left;

	if (!lies_inside(t, off, 3, 0, 0) || !lies_inside(t, off, 3, t->word[off], 2))
		return 0;
	r = t->word + off;
	n_run = r[0];
	left = t->n_word - off - 3 - 2 * n_run;
	if (n_run == 0 || r[1] == 0 || r[2] == 0 || r[1] > left || r[2] > left / r[1])
		return 0;
	for (uint64_t i = 0; i < n_run; i++)
		if (r[3 + 2 * i + 1] >= r[2] || (i > 0 && r[3 + 2 * i] < r[3 + 2 * (i - 1)]))
			return 0;
	if (r[1] < *least_columns)
		*least_columns = r[1];
	return 1;
}

static int array_fits(const struct data_tables *t, uint64_t off)
{
	return lies_inside(t, off, 1, 0, 0) && t->word[off] <= INT32_MAX &&
	       lies_inside(t, off, 1, (t->word[off] + 1) / 2, 1);
}

static int windows_fit(const struct data_tables *t, uint64_t off)
{
	uint64_t n_loop, at = off + 1;

	if (off == 0)
		return 1;
	if (!lies_inside(t, off, 1, 0, 0))
		return 0;
	n_loop = t->word[off];
	for (uint64_t i = 0; i < n_loop; i++) {
		uint64_t n;

		if (!lies_inside(t, at, DATA_LOOP, 0, 0))
			return 0;
		n = t->word[at + DATA_LOOP_WINDOWS];
		if (!lies_inside(t, at, DATA_LOOP, n, DATA_WINDOW))
			return 0;
		at += DATA_LOOP + n * DATA_WINDOW;
	}
	return 1;
}

static int records_fit(const struct data_tables *t, uint64_t *columns)
{
	const uint64_t *gap = t->word + DATA_HEADER, *vary = gap + t->ranks * t->n_gap;
	const uint64_t *array = vary + t->ranks * t->n_vary;

	for (uint64_t i = 0; i < t->ranks * t->n_gap; i++)
		if (gap[i] != 0 && !gap_fits(t, gap[i]))
			return 0;
	for (uint64_t i = 0; i < t->ranks * t->n_vary; i++)
		if (vary[i] != 0 && !vary_fits(t, vary[i], &columns[i % t->n_vary]))
			return 0;
	for (uint64_t i = 0; i < t->n_array; i++)
		if (!array_fits(t, array[i]))
			return 0;
	return windows_fit(t, t->word[9]);
}

uint64_t *ops_data_check(const struct ops_file *f, uint64_t *n_vary, const char **why)
{
	struct data_tables t = {.word = f->data, .n_word = f->n_data, .ranks = f->word[OPS_H_FIELDS + OPS_F_n_ranks]};
	uint64_t *columns = NULL;

	if (tables_find(&t) != 0) {
		*why = "its values are not whole";
		return NULL;
	}
	columns = malloc((t.n_vary + 1) * sizeof *columns);
	if (columns == NULL) {
		*why = "there is no memory for it";
		return NULL;
	}
	memset(columns, 0xff, (t.n_vary + 1) * sizeof *columns);
	*n_vary = t.n_vary;
	if (!records_fit(&t, columns)) {
		*why = "its values are damaged";
		free(columns);
		return NULL;
	}
	return columns;
}
