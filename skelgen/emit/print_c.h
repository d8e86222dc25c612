/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the program of skel.ops as C: declarations, run() and main(). */
#ifndef PRECEDENT_SKELGEN_EMIT_PRINT_C_H
#define PRECEDENT_SKELGEN_EMIT_PRINT_C_H

#include "skelgen/emit/program.h"

/* file: the result of program_file for p. The comments come from p. */
void print_c(const struct ops_file *file, const struct program *p, struct text *out);

#endif
