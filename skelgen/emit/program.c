/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The layout of skel.ops, which skelgen/replay/ops.h describes. */
#include "skelgen/emit/program.h"

#include <stdlib.h>
#include <string.h>

void program_real(struct program *p, enum ops_field field, double v)
{
	memcpy(&p->field[field], &v, sizeof v);
}

static uint64_t *words_copy(uint64_t *to, const uint64_t *from, size_t n)
{
	if (n > 0)
		memcpy(to, from, n * sizeof *to);
	return to + n;
}

int program_file(const struct program *p, uint64_t **words, struct ops_file *file, struct errbuf *err)
{
	const struct code *entry = &p->array.entry, *value = &p->array.value;
	size_t name = strlen(p->name) / 8 + 1, n = OPS_HEAD + name + entry->n + value->n + p->code.n + p->n_data;
	bool failed = p->code.failed || entry->failed || value->failed || n > OPS_MAX_WORDS;
	uint64_t *f = *words = failed ? NULL : calloc(n, sizeof *f), *at;
	const char *why;

	if (f == NULL)
		return err_set(err, "no memory for %zu operations", p->code.n);
	f[OPS_H_MAGIC] = OPS_MAGIC;
	f[OPS_H_VERSION] = OPS_VERSION;
	f[OPS_H_WORDS] = n;
	f[OPS_H_NAME] = name;
	f[OPS_H_ARRAYS] = entry->n;
	f[OPS_H_VALUES] = value->n;
	f[OPS_H_CODE] = p->code.n;
	f[OPS_H_DATA] = p->n_data;
	words_copy(f + OPS_H_FIELDS, p->field, OPS_F_N);
	at = f + OPS_HEAD;
	memcpy(at, p->name, strlen(p->name));
	at = words_copy(at + name, entry->word, entry->n);
	at = words_copy(at, value->word, value->n);
	at = words_copy(at, p->code.word, p->code.n);
	words_copy(at, p->data, p->n_data);
	f[OPS_H_HASH] = ops_hash(f, n);
	if (ops_check(f, n, file, &why) == 0)
		return 0;
	free(f);
	*words = NULL;
	return err_set(err, "the operations of the skeleton cannot be run: %s", why);
}
