/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes the text of a model over inputs. An accepted text can be written, and is accepted again. Its estimate for
 * any numbers is a valid estimate or none. The first bytes are the numbers.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/estimate/scaling_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text, again[SCALING_TEXT_MAX], words[64];
	double vars[SCALING_VARS_MAX] = {0};
	struct scaling_model l, back;
	struct estimate e;
	unsigned n = size && data[0] % 5 < 4 ? data[0] % 5 : SCALING_VARS_MAX;

	if (size < 1 + 4 * sizeof(double))
		return 0;
	memcpy(vars, data + 1, 4 * sizeof(double));
	data += 1 + 4 * sizeof(double);
	size -= 1 + 4 * sizeof(double);
	text = strndup((const char *)data, size);
	if (!text)
		return 0;
	if (scaling_parse(text, &l, NULL) == 0) {
		scaling_format(&l, again, sizeof(again));
		if (again[0] && scaling_parse(again, &back, NULL) < 0)
			abort();
		scaling_words(&l, words, sizeof(words));
		for (unsigned i = 0; i < l.n_vars && n < 4; i++) /* numbers within the ranges */
			vars[i] = l.lo[i] + (l.hi[i] - l.lo[i]) * n / 3;
		if (scaling_predict(&l, vars, l.n_vars, &e, NULL) == 0 && estimate_check(&e, NULL) < 0)
			abort();
	}
	free(text);
	return 0;
}
