/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The check of skel.ops: whatever it lets pass has operands, arrays and records where the interpreter will look. The
 * checksum is put right first, or nothing would get beyond it. */
#include <stdlib.h>
#include <string.h>

#include "skelgen/replay/ops.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Touch all that a run may. */
static uint64_t use(const struct ops_file *f)
{
	uint64_t sum = strlen(f->name);
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
