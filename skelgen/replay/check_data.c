/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Do the records of skel.c.data inside skel.ops lie inside it, and do their numbers make sense? The runtime, which reads
 * data that are linked into a skeleton, takes that for granted. */
#define XXH_INLINE_ALL
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "skelgen/replay/check.h"
#include "skelgen/runtime/compute.h"
#include "skelgen/runtime/data.h"
#include "skelgen/runtime/sampled.h"

#define HASH       7 /* its place */
#define MOST_NS    1e18
#define MOST_BYTES 1e15
#define MOST_TURNS ((uint64_t)1 << 53) /* of a loop; exact as a double */

struct data_tables {
	const uint64_t *word;
	uint64_t n_word, ranks, n_loops, n_gap, n_vary, n_array, n_mix;
	uint8_t *seen;    /* a bit for each word: the record that begins there has been looked at; and for each loop */
	uint64_t n_seen, looked; /* bytes; words that have been looked at for that */
};

static double as_double(uint64_t w)
{
	double v;

	memcpy(&v, &w, sizeof v);
	return v;
}

/* Of all words with 0 in its own place. */
static uint64_t data_hash(const uint64_t *word, uint64_t n)
{
	XXH3_state_t state;
	const uint64_t zero = 0;

	XXH3_64bits_reset(&state);
	XXH3_64bits_update(&state, word, HASH * sizeof *word);
	XXH3_64bits_update(&state, &zero, sizeof zero);
	XXH3_64bits_update(&state, word + HASH + 1, (n - HASH - 1) * sizeof *word);
	return XXH3_64bits_digest(&state);
}

static int tables_find(struct data_tables *t)
{
	uint64_t head;

	if (t->n_word < DATA_HEADER || t->word[0] != DATA_MAGIC || t->word[1] != DATA_VERSION ||
	    t->word[2] != t->ranks || t->word[6] != t->n_word ||
	    t->word[HASH] != data_hash(t->word, t->n_word))
		return -1;
	t->n_gap = t->word[3];
	t->n_vary = t->word[4];
	t->n_array = t->word[5];
	t->n_mix = t->word[8];
	if (t->n_gap > t->n_word || t->n_vary > t->n_word || t->n_array > t->n_word || t->n_mix < 1 ||
	    t->n_mix > COMPUTE_MIXES)
		return -1;
	/* At most 2^27 words and 2^24 ranks: nothing here can overflow. */
	head = DATA_HEADER + data_table(t->ranks * t->n_gap) + data_table(t->ranks * t->n_vary) +
	       data_table(t->n_array) + DATA_MIX * t->n_mix;
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

/* Ranks may share a record, which is looked at once. Records lie beside each other: together they are no longer than
 * all words, and looking at them ends. 1: this one, of n words, is to be looked at. */
static int is_new(struct data_tables *t, uint64_t off, uint64_t n)
{
	if (t->seen[off / 8] >> off % 8 & 1)
		return 0;
	t->seen[off / 8] |= (uint8_t)(1u << off % 8);
	t->looked += n;
	return 1;
}

static int gap_fits(struct data_tables *t, uint64_t off)
{
	const uint64_t *r;
	uint64_t n, entries;

	if (!lies_inside(t, off, DATA_GAP, 0, 0))
		return 0;
	r = t->word + off;
	if (!lies_inside(t, off, DATA_GAP, r[1] >> 32, r[1] & UINT32_MAX))
		return 0;
	n = (r[1] >> 32) * (r[1] & UINT32_MAX);
	if (n == 0 || !lies_inside(t, off, DATA_GAP + n, r[4] >> 32, r[4] & UINT32_MAX))
		return 0;
	entries = (r[4] >> 32) * (r[4] & UINT32_MAX);
	n += entries;
	if (!is_new(t, off, DATA_GAP + n))
		return 1;
	if ((r[3] != 0) != (entries != 0) || r[2] >= t->n_mix || t->looked > t->n_word)
		return 0;
	for (uint64_t i = 0; i < n; i++) {
		double ns = as_double(r[DATA_GAP + i]);

		if (!(ns >= -MOST_NS && ns <= MOST_NS))
			return 0;
	}
	return 1;
}

/* Runs end in ascending order, or a look-up would not; each names a variant that is there. */
static int vary_fits(struct data_tables *t, uint64_t off, uint64_t *least_columns)
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
	if (r[1] < *least_columns)
		*least_columns = r[1];
	if (!is_new(t, off, 3 + 2 * n_run))
		return 1;
	if (t->looked > t->n_word)
		return 0;
	for (uint64_t i = 0; i < n_run; i++)
		if (r[3 + 2 * i + 1] >= r[2] || (i > 0 && r[3 + 2 * i] < r[3 + 2 * (i - 1)]))
			return 0;
	return 1;
}

static int array_fits(const struct data_tables *t, uint64_t off)
{
	return lies_inside(t, off, 1, 0, 0) && t->word[off] <= INT32_MAX &&
	       lies_inside(t, off, 1, (t->word[off] + 1) / 2, 1);
}

/* Shares, the time off the processor, threads; then sizes. */
static int mix_fits(const uint64_t *w)
{
	double sum = 0;

	for (int i = 0; i < DATA_MIX; i++) {
		double most = i <= DATA_MIX_OFF_CPU ? 1 : i == DATA_MIX_THREADS ? 1e6 : MOST_BYTES, v = as_double(w[i]);

		if (!(v >= 0 && v <= most))
			return 0;
		sum += i < CLASS_N ? v : 0;
	}
	return sum > 0.9 && sum < 1.1;
}

/* A time, or a sum. */
static int is_size(double v)
{
	return v >= 0 && v <= 1e30;
}

static int window_fits(const uint64_t *w)
{
	return w[0] <= MOST_TURNS && w[1] <= 1 && w[2] >= 1 && w[2] <= UINT32_MAX && w[3] <= MOST_TURNS &&
	       w[4] <= UINT32_MAX && is_size(as_double(w[5]));
}

/* What the windows of a loop say before the first of them. */
static int loop_fits(const struct data_tables *t, const uint64_t *w)
{
	if (w[DATA_LOOP_NUMBER] >= t->n_loops || w[DATA_LOOP_WINDOWS] < 1 || w[DATA_LOOP_WINDOWS] > SAMPLED_MAX ||
	    w[DATA_LOOP_TREND] > 1 || w[DATA_LOOP_KNOWN] > MOST_TURNS)
		return 0;
	for (int i = DATA_LOOP_RATE; i <= DATA_LOOP_TRACED; i++)
		if (!is_size(as_double(w[i])))
			return 0;
	return as_double(w[DATA_LOOP_RATE]) <= 1;
}

/* Windows are the last that there is. A loop has them once. */
static int windows_fit(struct data_tables *t, uint64_t off)
{
	uint64_t n_loop, at = off + 1;

	if (off == 0)
		return 1;
	if (!lies_inside(t, off, 1, 0, 0))
		return 0;
	n_loop = t->word[off];
	memset(t->seen, 0, t->n_seen);
	for (uint64_t i = 0; i < n_loop; i++) {
		const uint64_t *w = t->word + at;
		uint64_t n;

		if (!lies_inside(t, at, DATA_LOOP, 0, 0) || !loop_fits(t, w))
			return 0;
		n = w[DATA_LOOP_WINDOWS];
		if (!lies_inside(t, at, DATA_LOOP, n, DATA_WINDOW) || !is_new(t, w[DATA_LOOP_NUMBER], 0))
			return 0;
		for (uint64_t k = 0; k < n; k++)
			if (!window_fits(w + DATA_LOOP + k * DATA_WINDOW))
				return 0;
		at += DATA_LOOP + n * DATA_WINDOW;
	}
	return n_loop > 0 && at == t->n_word;
}

static int records_fit(struct data_tables *t, uint64_t *columns)
{
	const uint64_t *gap = t->word + DATA_HEADER, *vary = gap + data_table(t->ranks * t->n_gap);
	const uint64_t *array = vary + data_table(t->ranks * t->n_vary), *mix = array + data_table(t->n_array);

	for (uint64_t i = 0; i < t->ranks * t->n_gap; i++)
		if (data_offset(gap, i) != 0 && !gap_fits(t, data_offset(gap, i)))
			return 0;
	memset(t->seen, 0, t->n_seen);
	for (uint64_t i = 0; i < t->ranks * t->n_vary; i++)
		if (data_offset(vary, i) != 0 && !vary_fits(t, data_offset(vary, i), &columns[i % t->n_vary]))
			return 0;
	for (uint64_t i = 0; i < t->n_array; i++)
		if (!array_fits(t, data_offset(array, i)))
			return 0;
	for (uint64_t i = 0; i < t->n_mix; i++)
		if (!mix_fits(mix + i * DATA_MIX))
			return 0;
	return windows_fit(t, t->word[9]);
}

uint64_t *ops_data_check(const struct ops_file *f, uint64_t *n_vary, const char **why)
{
	struct data_tables t = {.word = f->data, .n_word = f->n_data, .ranks = f->word[OPS_H_FIELDS + OPS_F_n_ranks],
				.n_loops = f->word[OPS_H_FIELDS + OPS_F_n_loops]};
	uint64_t *columns = NULL;

	if (tables_find(&t) != 0) {
		*why = "its values are not whole";
		return NULL;
	}
	columns = malloc((t.n_vary + 1) * sizeof *columns);
	t.n_seen = (t.n_word > t.n_loops ? t.n_word : t.n_loops) / 8 + 1;
	t.seen = calloc(t.n_seen, 1);
	if (columns == NULL || t.seen == NULL) {
		*why = "there is no memory for it";
		goto failed;
	}
	memset(columns, 0xff, (t.n_vary + 1) * sizeof *columns);
	*n_vary = t.n_vary;
	if (!records_fit(&t, columns)) {
		*why = "its values are damaged";
		goto failed;
	}
	free(t.seen);
	return columns;
failed:
	free(t.seen);
	free(columns);
	return NULL;
}
