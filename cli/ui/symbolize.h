/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of call sites: function and line from the debug information or symbol table of the module (libdw). */
#ifndef PRECEDENT_CLI_SYMBOLIZE_H
#define PRECEDENT_CLI_SYMBOLIZE_H

#include <stddef.h>

#include "trace/format/defs.h"

struct symbolizer;

struct symbolizer *symbolizer_create(void); /* NULL: without libdw's help names are module+offset */
void symbolizer_destroy(struct symbolizer *s);

/* "main (heat.c:42)", "pair_lj_cut (liblammps.so.0)", or "heat+0x1234". A module whose build id has changed since the run
 * is not asked. Returns buf. s may be NULL. */
const char *symbolizer_frame(struct symbolizer *s, const struct trace_defs *d, const struct trace_site *site,
			     uint32_t frame, char *buf, size_t size); /* that frame of it, 0 is the innermost */
/* The caller of MPI. If that is a library, and a line of the program that called it is known, the line comes first:
 * "main (ex2.c:150) via VecNorm_MPI (libpetsc.so)". */
const char *symbolizer_site(struct symbolizer *s, const struct trace_defs *d, const struct trace_site *site, char *buf,
			    size_t size);

#endif
