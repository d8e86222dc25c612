/* SPDX-License-Identifier: GPL-2.0-or-later */
/* skel.ops: the skeleton for machines without a compiler. skel.c is printed from it (print_c.h). */
#ifndef PRECEDENT_SKELGEN_EMIT_PROGRAM_H
#define PRECEDENT_SKELGEN_EMIT_PROGRAM_H

#include "common/errbuf.h"
#include "skelgen/emit/code.h"

/* A whole skeleton. */
struct program {
	const char *name;
	uint64_t field[OPS_F_N];
	struct code_arrays array;
	uint32_t n_named;     /* arrays that the C source declares; those behind them stand where they are used */
	struct code code;
	const uint64_t *data; /* the words of skel.c.data */
	size_t n_data;
};

void program_real(struct program *p, enum ops_field field, double v);

/* words: the file, malloced. file: the result of ops_check, to be freed with ops_file_free.
 * Returns 0 on success, -1 if the operations cannot be run or without memory (err says why). */
int program_file(const struct program *p, uint64_t **words, struct ops_file *file, struct errbuf *err);

#endif
