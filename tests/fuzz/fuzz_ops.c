/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzes the check of skel.ops. If the check passes, the interpreter must find operands, arrays and records, and the
 * operations can be printed as C. The checksums of the file and of its values are corrected first, so that inputs get
 * beyond them. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "skelgen/emit/print_c.h"
#include "skelgen/runtime/data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sum_of(const uint64_t *w, uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += w[i];
	return sum;
}

/* Read the records of the values. */
static uint64_t use_data(const uint64_t *d)
{
	const uint64_t *gap = d + DATA_HEADER, *vary = gap + data_table(d[2] * d[3]);
	const uint64_t *array = vary + data_table(d[2] * d[4]), *w = d + d[9] + 1;
	uint64_t sum = sum_of(array + data_table(d[5]), d[8] * DATA_MIX);

	for (uint64_t i = 0; i < d[2] * d[3]; i++) {
		const uint64_t *r = d + data_offset(gap, i);

		if (r != d)
			sum += sum_of(r, DATA_GAP + (r[1] >> 32) * (uint32_t)r[1] + (r[4] >> 32) * (uint32_t)r[4]);
	}
	for (uint64_t i = 0; i < d[2] * d[4]; i++) {
		const uint64_t *r = d + data_offset(vary, i);

		for (uint64_t k = 0; r != d && k < r[0]; k++)
			sum += sum_of(r + 3 + 2 * r[0] + r[3 + 2 * k + 1] * r[1], r[1]);
	}
	for (uint64_t i = 0; i < d[5]; i++)
		sum += sum_of(d + data_offset(array, i) + 1, (d[data_offset(array, i)] + 1) / 2);
	for (uint64_t i = 0; d[9] != 0 && i < d[d[9]]; i++) {
		uint64_t n = DATA_LOOP + w[DATA_LOOP_WINDOWS] * DATA_WINDOW;

		sum += sum_of(w, n);
		w += n;
	}
	return sum;
}

static uint64_t print(const struct ops_file *f)
{
	const struct program p = {.n_named = (uint32_t)f->n_array / 2};
	struct text c = {.len = 0};
	uint64_t n;

	print_c(f, &p, &c);
	n = c.failed ? 0 : strlen(c.data);
	text_free(&c);
	return n;
}

/* Read everything that a run may read. */
static uint64_t use(const struct ops_file *f)
{
	uint64_t sum = strlen(f->name) + use_data(f->data) + print(f);
	char takes[OPS_MAX_ARGS];

	for (uint64_t i = 0; i < f->n_array; i++) {
		uint64_t n = ops_array_length(f->array[i]);

		if (n > 0)
			sum += ((const uint8_t *)f->values[i])[n * (ops_array_kind(f->array[i]) == 'A'	 ? 8
								    : ops_array_kind(f->array[i]) == 'I' ? 4
													 : 1) -
							       1];
	}
	for (uint64_t i = 0; i < f->n_code; i++) {
		sum += (uint64_t)ops_takes(f->code[i], takes);
		i += OPS_OP(f->code[i]) == OPS_INT || OPS_OP(f->code[i]) == OPS_REAL;
	}
	return sum;
}

/* Correct the checksum of the values at the position in the section table, if that position is valid. */
static void data_seal(uint64_t *word, uint64_t n)
{
	uint64_t at = OPS_HEAD;

	for (int s = OPS_H_NAME; s < OPS_H_DATA; s++) {
		if (word[s] > n - at)
			return;
		at += word[s];
	}
	if (word[OPS_H_DATA] != n - at || n - at < DATA_HEADER)
		return;
	word[at] = DATA_MAGIC;
	word[at + 1] = DATA_VERSION;
	word[at + 6] = n - at;
	word[at + 7] = 0;
	word[at + 7] = XXH3_64bits(word + at, (n - at) * sizeof *word);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t n = size / 8, *word = malloc(8 * n + 8);
	struct ops_file f;
	const char *why;

	if (word == NULL)
		return 0;
	memcpy(word, data, 8 * n);
	if (n >= OPS_HEAD) {
		word[OPS_H_MAGIC] = OPS_MAGIC;
		word[OPS_H_VERSION] = OPS_VERSION;
		word[OPS_H_WORDS] = n;
		data_seal(word, n);
		word[OPS_H_HASH] = ops_hash(word, n);
	}
	if (ops_check(word, n, &f, &why) == 0) {
		if (use(&f) == UINT64_MAX)
			abort();
		ops_file_free(&f);
	}
	free(word);
	return 0;
}
