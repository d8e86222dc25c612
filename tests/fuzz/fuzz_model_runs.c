/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes models of runs. The first byte is the number of ranks; the rest is a model file without its last line, which is
 * added with the right hash. An accepted model must answer for every rank within bounds, and the text of its rules must
 * be written back the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "model/inputs/foresee.h"
#include "model/induce/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void words(const struct foresee *f)
{
	for (uint32_t i = 0; i < f->n_doubts; i++) {
		const struct learnt_doubt *d = &f->doubt[i];
		char a[600], b[600];
		struct rule_guard guard;
		struct rule rule;

		for (int k = 0; k < 2; k++) {
			if (d->kind == DOUBT_GUARDS || (d->kind == DOUBT_ORDER && !d->counted[k])) {
				rule_guard_write(&d->guard[k], f->feature, a, sizeof(a));
				if (rule_guard_read(a, f->feature, f->n_features, &guard) < 0)
					__builtin_trap();
				rule_guard_write(&guard, f->feature, b, sizeof(b));
				rule_guard_format(&guard, f->feature, b, 20);
			} else {
				rule_write(&d->rule[k], f->feature, a, sizeof(a));
				if (rule_read(a, f->feature, f->n_features, &rule) < 0)
					__builtin_trap();
				rule_format(&rule, f->feature, b, 20);
			}
		}
	}
}

static int stop(void *arg, uint32_t point, double time_s, const double *var)
{
	struct foresee *f = arg;
	uint32_t at[CALL_VALUES];

	(void)time_s;
	(void)var;
	if (point >= f->m->n_points || foresee_values(f->m, point, at) > CALL_VALUES)
		__builtin_trap();
	return 1;
}

static void ask(const struct model *m, uint32_t ranks, bool anyway)
{
	const char *name[FEATURE_VARS_MAX];
	double value[FEATURE_VARS_MAX];
	struct errbuf err = {""};
	struct foresee f;
	struct foresee_sink sink = {stop, &f};
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->n_inputs && n < FEATURE_VARS_MAX; i++) {
		if (strchr(m->input[i].name, '(') || !strncmp(m->input[i].name, "rank", 4))
			continue;
		name[n] = m->input[i].name;
		value[n++] = m->input[i].hi + ranks;
	}
	if (foresee_open(&f, m, ranks, name, value, n, anyway, &err) < 0) {
		if (!*err.text)
			__builtin_trap();
		return;
	}
	words(&f);
	if (m->n_graphs == 1 && foresee_place(&f, ranks / 2, &err) < 0 && !*err.text)
		__builtin_trap();
	for (uint32_t r = 0; r < ranks; r++) /* up to its first call, or within the steps of the model that have none */
		if (m->n_graphs == 1 && foresee_rank(&f, r, &sink, NULL, NULL, &err) < 0 && !*err.text)
			__builtin_trap();
	foresee_close(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct errbuf err = {""};
	struct model *m;
	char *text;
	size_t len;

	if (!size || !(text = malloc(size + 64)))
		return 0;
	memcpy(text, data + 1, size - 1);
	len = size - 1 + (size_t)sprintf(text + size - 1, "end %016llx\n", (unsigned long long)XXH3_64bits(data + 1, size - 1));
	m = model_parse(text, len, &err);
	if (m) {
		ask(m, 1 + data[0] % 9, false);
		ask(m, 1 + data[0] % 9, true);
	}
	model_destroy(m);
	free(text);
	return 0;
}
