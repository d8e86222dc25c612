/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the program of skel.ops as C: declarations, run() and main(). */
#ifndef PRECEDENT_SKELGEN_EMIT_PRINT_C_H
#define PRECEDENT_SKELGEN_EMIT_PRINT_C_H

#include "skelgen/emit/ops.h"

/* file: what program_file made of p, whose comments are printed too. */
void print_c(const struct ops_file *file, const struct program *p, struct text *out);

#endif
